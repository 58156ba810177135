// scale8: block scale code -> significand, exponent, NaN; value = significand * 2^(exp - FRAC_BITS). NaN: all BITS ones.
//
// BITS = 7, FRAC_BITS = 3, BIAS = 7     UE4M3; bit 7 of the byte is ignored
// BITS = 8, FRAC_BITS = 3, BIAS = 15    UE5M3
// BITS = 8, FRAC_BITS = 0, BIAS = 127   E8M0: a power of two, code 0 is 2^-127 and not zero
//
// Subnormal codes keep the lowest exponent, 1 - BIAS, and are not normalised.
module scale8 #(
    parameter BITS = 7,
    parameter FRAC_BITS = 3,
    parameter BIAS = 7
) (
    input  logic [7:0]         code,
    output logic [FRAC_BITS:0] significand,
    output logic signed [9:0]  exp,
    output logic               nan
);
    wire [7:0] magnitude = code & 8'((1 << BITS) - 1);
    wire [7:0] exp_field = magnitude >> FRAC_BITS;
    wire       is_subnormal = FRAC_BITS != 0 && exp_field == 8'd0;

    generate
        if (FRAC_BITS == 0) begin : power
            assign significand = 1'b1;
        end else begin : float
            assign significand = {!is_subnormal, magnitude[FRAC_BITS-1:0]};
        end
    endgenerate
    assign exp = {2'b00, is_subnormal ? 8'd1 : exp_field} - 10'(BIAS);
    assign nan = magnitude == 8'((1 << BITS) - 1);
endmodule
