// rotate16_fixed: 16-point Hadamard transform of 16 numbers of bf16 in fixed point, a rotation as a design would build it.
//
// Every number is cut to 15 bits below the largest exponent of the block; four levels of butterflies then add and subtract without loss.
// value = y[lane] * 2^(exp - 127 - 14); a factor of 1/4 is left to the exponent. signs: bit i set negates lane i first.
// Limits: no Inf and no NaN. Bits below 2^-14 of the block's largest power of two are lost.
module butterfly16 #(
    parameter BITS = 16,
    parameter APART = 1
) (
    input  logic [16*BITS-1:0]     x,
    output logic [16*(BITS+1)-1:0] y
);
    genvar i;
    generate
        for (i = 0; i < 16; i = i + 1) begin : lane
            if ((i & APART) == 0) begin : pair
                wire signed [BITS-1:0] first = x[BITS*i+:BITS];
                wire signed [BITS-1:0] second = x[BITS*(i+APART)+:BITS];
                assign y[(BITS+1)*i+:BITS+1] = (BITS+1)'(first) + (BITS+1)'(second);
                assign y[(BITS+1)*(i+APART)+:BITS+1] = (BITS+1)'(first) - (BITS+1)'(second);
            end
        end
    endgenerate
endmodule

module rotate16_fixed (
    input  logic [255:0] x,
    input  logic [15:0]  signs,
    output logic [319:0] y,
    output logic [7:0]   exp
);
    wire [255:0] fixed;
    wire [271:0] level1;
    wire [287:0] level2;
    wire [303:0] level3;
    integer      k;
    always @* begin
        exp = 8'd1;
        for (k = 0; k < 16; k = k + 1)
            if (x[16*k+7+:8] > exp) exp = x[16*k+7+:8];
    end
    genvar i;
    generate
        for (i = 0; i < 16; i = i + 1) begin : lane
            wire [7:0]  field = x[16*i+7+:8];
            wire [14:0] significand = {field != 0, x[16*i+:7], 7'd0};
            wire [14:0] moved = significand >> (exp - (field != 0 ? field : 8'd1));
            assign fixed[16*i+:16] = (x[16*i+15] ^ signs[i]) ? -{1'b0, moved} : {1'b0, moved};
        end
    endgenerate
    butterfly16 #(.BITS(16), .APART(1)) add1 (.x(fixed), .y(level1));
    butterfly16 #(.BITS(17), .APART(2)) add2 (.x(level1), .y(level2));
    butterfly16 #(.BITS(18), .APART(4)) add3 (.x(level2), .y(level3));
    butterfly16 #(.BITS(19), .APART(8)) add4 (.x(level3), .y(y));
endmodule
