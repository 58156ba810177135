// delay: DEPTH registers in a row; 0 is a wire. Data only: `delay_valid` has the reset.
module delay #(
    parameter BITS = 1,
    parameter DEPTH = 1
) (
    input  logic            clk,
    input  logic [BITS-1:0] d,
    output logic [BITS-1:0] q
);
    generate
        if (DEPTH == 0) begin : wires
            wire unused = clk;
            assign q = d;
        end else begin : registers
            reg [DEPTH*BITS-1:0] held;
            always @(posedge clk) held <= (DEPTH*BITS)'({held, d});
            assign q = held[(DEPTH-1)*BITS+:BITS];
        end
    endgenerate
endmodule
