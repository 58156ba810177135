// fp32: binary32 multiplication, division and addition, correctly rounded to nearest, ties to even, with subnormals on both sides.
//
//   fp32_unpack   code -> sign, class, normalised significand      fp32_pack   normalised significand -> code
//   fp32_mul, fp32_div, fp32_add   c = a * b, a / b, a + b; combinational; every NaN result is 7fc00000
//
// An exponent here is the exponent field that the leading bit would have: 1 to 254 are normal numbers, at 0 and below lie the subnormals.

module fp32_unpack (
    input  logic [31:0]        a,
    output logic               sign,
    output logic               is_zero,
    output logic               is_inf,
    output logic               is_nan,
    output logic signed [10:0] exp,
    output logic [23:0]        significand                   // its top bit is set, except for zero
);
    wire [7:0]  field = a[30:23];
    wire [22:0] fraction = a[22:0];
    wire [23:0] plain = {field != 0, fraction};
    logic [23:0] normal;
    logic [4:0]  moved;
    integer      step;

    // a subnormal moves up by 16, 8, 4, 2, 1
    always @* begin
        normal = plain;
        moved = 5'd0;
        for (step = 4; step >= 0; step = step - 1)
            if ((normal >> (24 - (1 << step))) == 0) begin
                normal = normal << (1 << step);
                moved = moved + (5'd1 << step);
            end
    end

    assign sign = a[31];
    assign is_zero = a[30:0] == 0;
    assign is_inf = (&field) && fraction == 0;
    assign is_nan = (&field) && fraction != 0;
    assign exp = (field == 0 ? 11'sd1 : $signed({3'd0, field})) - $signed({6'd0, moved});
    assign significand = normal;
endmodule

// significand: 24 bits of the number, then two more; sticky: anything below. Value = significand / 2^25 * 2^(exp - 127).
module fp32_pack (
    input  logic               sign,
    input  logic signed [10:0] exp,
    input  logic [25:0]        significand,
    input  logic               sticky,
    output logic [31:0]        code
);
    wire               is_low = exp < 11'sd1;                // subnormal: the significand moves down to the fixed place
    wire signed [10:0] down = is_low ? 11'sd1 - exp : 11'sd0;
    wire               is_tiny = down > 11'sd26;
    wire [25:0]        moved = is_tiny ? 26'd0 : significand >> down[4:0];
    wire [25:0]        gone = is_tiny ? significand : significand & ~(26'h3ffffff << down[4:0]);
    wire [30:0]        below = {is_low ? 8'd0 : exp[7:0], moved[24:2]};
    wire               half = moved[1];
    wire               rest = moved[0] | gone != 0 | sticky;
    wire               up = half & (rest | below[0]);
    wire [30:0]        rounded = below + {30'd0, up};        // a carry walks into the exponent, up to Inf
    assign code = {sign, exp > 11'sd254 ? 31'h7f800000 : rounded};
    wire               unused = moved[25];                   // the hidden bit
endmodule

module fp32_mul (
    input  logic [31:0] a,
    input  logic [31:0] b,
    output logic [31:0] c
);
    wire               sign_a, zero_a, inf_a, nan_a, sign_b, zero_b, inf_b, nan_b;
    wire signed [10:0] exp_a, exp_b;
    wire [23:0]        sig_a, sig_b;
    fp32_unpack take_a (.a(a), .sign(sign_a), .is_zero(zero_a), .is_inf(inf_a), .is_nan(nan_a), .exp(exp_a), .significand(sig_a));
    fp32_unpack take_b (.a(b), .sign(sign_b), .is_zero(zero_b), .is_inf(inf_b), .is_nan(nan_b), .exp(exp_b), .significand(sig_b));

    wire               sign = sign_a ^ sign_b;
    wire [47:0]        product = {24'd0, sig_a} * {24'd0, sig_b};    // 1 .. 4, below 4
    wire [47:0]        normal = product[47] ? product : product << 1;
    wire signed [10:0] exp = exp_a + exp_b - 11'sd127 + $signed({10'd0, product[47]});
    wire [31:0]        packed_code;
    fp32_pack put (.sign(sign), .exp(exp), .significand(normal[47:22]), .sticky(normal[21:0] != 0), .code(packed_code));

    wire is_nan = nan_a | nan_b | (inf_a & zero_b) | (zero_a & inf_b);
    assign c = is_nan ? 32'h7fc00000 : inf_a | inf_b ? {sign, 31'h7f800000} : zero_a | zero_b ? {sign, 31'd0} : packed_code;
endmodule

// One subtraction for each of 27 quotient bits.
module fp32_div (
    input  logic [31:0] a,
    input  logic [31:0] b,
    output logic [31:0] c
);
    wire               sign_a, zero_a, inf_a, nan_a, sign_b, zero_b, inf_b, nan_b;
    wire signed [10:0] exp_a, exp_b;
    wire [23:0]        sig_a, sig_b;
    fp32_unpack take_a (.a(a), .sign(sign_a), .is_zero(zero_a), .is_inf(inf_a), .is_nan(nan_a), .exp(exp_a), .significand(sig_a));
    fp32_unpack take_b (.a(b), .sign(sign_b), .is_zero(zero_b), .is_inf(inf_b), .is_nan(nan_b), .exp(exp_b), .significand(sig_b));

    wire         sign = sign_a ^ sign_b;
    logic [26:0] quotient;                                   // its top bit is worth 1
    logic [24:0] remainder;
    integer      step;
    always @* begin
        remainder = {1'b0, sig_a};
        quotient = 27'd0;
        for (step = 26; step >= 0; step = step - 1) begin
            if (remainder >= {1'b0, sig_b}) begin
                remainder = remainder - {1'b0, sig_b};
                quotient[step] = 1'b1;
            end
            remainder = remainder << 1;
        end
    end

    wire               is_low = !quotient[26];               // below 1: 1/2 at least
    wire [26:0]        normal = is_low ? quotient << 1 : quotient;
    wire signed [10:0] exp = exp_a - exp_b + 11'sd127 - $signed({10'd0, is_low});
    wire [31:0]        packed_code;
    fp32_pack put (.sign(sign), .exp(exp), .significand(normal[26:1]), .sticky(normal[0] | remainder != 0), .code(packed_code));

    wire is_nan = nan_a | nan_b | (inf_a & inf_b) | (zero_a & zero_b);
    assign c = is_nan ? 32'h7fc00000 : inf_a | zero_b ? {sign, 31'h7f800000} : inf_b | zero_a ? {sign, 31'd0} : packed_code;
endmodule

// The smaller operand moves down to the larger one; two bits and a sticky bit below are enough, as only near neighbours cancel far.
module fp32_add (
    input  logic [31:0] a,
    input  logic [31:0] b,
    output logic [31:0] c
);
    wire               swap = b[30:0] > a[30:0];
    wire [31:0]        top = swap ? b : a;
    wire [31:0]        low = swap ? a : b;
    wire               sign_l, zero_l, inf_l, nan_l, sign_s, zero_s, inf_s, nan_s;
    wire signed [10:0] exp_l, exp_s;
    wire [23:0]        sig_l, sig_s;
    fp32_unpack take_l (.a(top), .sign(sign_l), .is_zero(zero_l), .is_inf(inf_l), .is_nan(nan_l), .exp(exp_l), .significand(sig_l));
    fp32_unpack take_s (.a(low), .sign(sign_s), .is_zero(zero_s), .is_inf(inf_s), .is_nan(nan_s), .exp(exp_s), .significand(sig_s));

    wire signed [10:0] down = exp_l - exp_s;
    wire               is_far = down > 11'sd26;
    wire [26:0]        placed = {sig_s, 3'd0};
    wire [26:0]        moved = is_far ? 27'd0 : placed >> down[4:0];
    wire               gone = is_far ? sig_s != 0 : (placed & ~({27{1'b1}} << down[4:0])) != 0;
    wire [27:0]        addend = {1'b0, moved[26:1], moved[0] | gone};
    wire [27:0]        sum = sign_l == sign_s ? {1'b0, sig_l, 3'd0} + addend : {1'b0, sig_l, 3'd0} - addend;

    // the leading bit moves to the top, by 16, 8, 4, 2, 1
    logic [27:0] normal;
    logic [4:0]  up;
    integer      step;
    always @* begin
        normal = sum;
        up = 5'd0;
        for (step = 4; step >= 0; step = step - 1)
            if ((normal >> (28 - (1 << step))) == 0) begin
                normal = normal << (1 << step);
                up = up + (5'd1 << step);
            end
    end

    wire signed [10:0] exp = exp_l + 11'sd1 - $signed({6'd0, up});
    wire [31:0]        packed_code;
    fp32_pack put (.sign(sign_l), .exp(exp), .significand(normal[27:2]), .sticky(normal[1:0] != 0), .code(packed_code));

    wire is_nan = nan_l | nan_s | (inf_l & inf_s & (sign_l != sign_s));
    wire both_minus = sign_l & sign_s;                       // an exact zero is +0, but for -0 and -0
    assign c = is_nan ? 32'h7fc00000 : inf_l ? {sign_l, 31'h7f800000} : sum == 0 ? {both_minus, 31'd0} : packed_code;
    wire unused = &{1'b0, zero_l, zero_s};
endmodule
