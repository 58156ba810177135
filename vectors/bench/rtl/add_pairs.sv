// add_pairs: one level of a balanced adder tree, neighbours first: lane 2i with lane 2i + 1. Signed lanes; a sum is one bit wider: exact.
module add_pairs #(
    parameter PAIRS = 8,
    parameter BITS = 9
) (
    input  logic [2*PAIRS*BITS-1:0]   lanes,
    output logic [PAIRS*(BITS+1)-1:0] sums
);
    genvar i;
    generate
        for (i = 0; i < PAIRS; i = i + 1) begin : pair
            wire signed [BITS-1:0] even = lanes[2*i*BITS+:BITS];
            wire signed [BITS-1:0] odd = lanes[(2*i+1)*BITS+:BITS];
            assign sums[i*(BITS+1)+:BITS+1] = (BITS+1)'(even) + (BITS+1)'(odd);
        end
    endgenerate
endmodule
