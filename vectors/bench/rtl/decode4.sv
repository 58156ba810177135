// decode4: code of a narrow format -> binary32 bits and the class of the value. Exact, no policy.
//
// A code is a sign (SIGNED) above EXP_BITS and FRAC_BITS. With exponent field E and fraction field M:
//     E > 0: (2^FRAC_BITS + M) * 2^(E - BIAS - FRAC_BITS)      E = 0: M * 2^(1 - BIAS - FRAC_BITS)
// A uniform grid of integers is the same circuit with one exponent bit: E = 0 and E = 1 have one spacing.
// TWOS_COMPLEMENT: the magnitude is the negated code; the most negative code then has the exponent field 2, and the formula still holds.
// NAN_MAGNITUDE: the magnitude that is a NaN; beyond every magnitude for a format that has none.
//
// Limits: FRAC_BITS >= 1; no Inf; every value is a normal number of binary32.
module decode4 #(
    parameter EXP_BITS = 2,
    parameter FRAC_BITS = 1,
    parameter BIAS = 1,
    parameter SIGNED = 1,
    parameter TWOS_COMPLEMENT = 0,
    parameter INTEGER = 0,                                   // class: no subnormals among integers
    parameter NAN_MAGNITUDE = 2 << (EXP_BITS + FRAC_BITS),
    parameter BITS = SIGNED + EXP_BITS + FRAC_BITS
) (
    input  logic [BITS-1:0] code,
    output logic [31:0]     fp32,
    output logic [3:0]      cls                              // 0 zero, 1 subnormal, 2 normal, 4 NaN
);
    localparam MAG = EXP_BITS + FRAC_BITS;                   // bits of a magnitude
    localparam BIAS32 = 127;                                 // of binary32
    localparam SIG = FRAC_BITS + 1;                          // significand with its hidden bit

    wire            sign = (SIGNED != 0) ? code[BITS-1] : 1'b0;
    wire [MAG:0]    plain = {1'b0, code[MAG-1:0]};
    wire [MAG:0]    negated = {1'b1, {MAG{1'b0}}} - plain;
    wire [MAG:0]    magnitude = (TWOS_COMPLEMENT != 0 && sign) ? negated : plain;
    wire [EXP_BITS:0] exp_field = magnitude[MAG:FRAC_BITS];
    wire            is_normal = exp_field != 0;
    wire [SIG-1:0]  significand = {is_normal, magnitude[FRAC_BITS-1:0]};
    wire            is_zero = significand == 0;
    wire            is_nan = {{(32-MAG-1){1'b0}}, magnitude} == NAN_MAGNITUDE;

    // normalise: shift the leading one up to the hidden bit and count
    logic [SIG-1:0] normal;
    logic [7:0]     lost_exp;
    integer         step;
    always @* begin
        normal = significand;
        lost_exp = 8'd0;
        for (step = 0; step < FRAC_BITS; step = step + 1)
            if (!normal[SIG-1]) begin
                normal = normal << 1;
                lost_exp = lost_exp + 8'd1;
            end
    end

    localparam signed [31:0] EXP_BASE = BIAS32 - BIAS;
    wire [7:0]  field_of_one = is_normal ? {{(7-EXP_BITS){1'b0}}, exp_field} : 8'd1;
    wire [7:0]  exp32 = EXP_BASE[7:0] + field_of_one - lost_exp;
    wire [22:0] frac32 = {normal[FRAC_BITS-1:0], {(23-FRAC_BITS){1'b0}}};

    assign fp32 = is_nan ? 32'h7fc00000 : is_zero ? {sign, 31'd0} : {sign, exp32, frac32};
    assign cls = is_nan ? 4'd4 : is_zero ? 4'd0 : (is_normal || INTEGER != 0) ? 4'd2 : 4'd1;
endmodule
