// convert4: code of a binary float format -> code of a narrow format, in two combinational parts, and the same with two registers.
//
//   convert4_align   takes the source apart, moves its significand onto the grid of the destination: code below, discarded bits
//   convert4_round   rounds, saturates, puts the sign and the special values in
//   convert4         both, combinational           convert4_pipe   a register after each: two clocks
//
// Magnitude codes of the destination ascend one by one with the value, also from one binade to the next: rounding up is code + 1, and a
// carry out of the fraction walks into the exponent by itself. Codes have a bit more than the format until they saturate.
//
// A uniform grid of integers is the same circuit with one exponent bit (see decode4): E0M3 is {1, 2, BIAS = -1}, and so is the magnitude
// of INT4, which only attaches its sign in another way.
//
// Limits: DST_FRAC_BITS >= 1, SRC_FRAC_BITS > DST_FRAC_BITS; the source has Inf and NaN as IEEE 754, its smallest normal number lies below
// that of the destination; overflow saturates.

// exp_down: the source is read as divided by 2^exp_down (a block scale). Tie it to 0 where there is none. The smallest normal source must
// stay below the smallest normal destination: a subnormal source is not normalised.
module convert4_align #(
    parameter SRC_EXP_BITS = 8,
    parameter SRC_FRAC_BITS = 23,
    parameter SRC_BIAS = 127,
    parameter DST_EXP_BITS = 2,
    parameter DST_FRAC_BITS = 1,
    parameter DST_BIAS = 1,
    parameter LOST = SRC_FRAC_BITS - DST_FRAC_BITS,          // discarded bits that are kept apart; all below them go to one sticky bit
    parameter CODE = DST_EXP_BITS + DST_FRAC_BITS + 1        // magnitude code with one bit for overflow
) (
    input  logic [SRC_EXP_BITS+SRC_FRAC_BITS:0] x,
    input  logic signed [9:0]                   exp_down,
    output logic                                sign,
    output logic                                is_nan,
    output logic                                is_beyond,   // above every code, or infinite
    output logic [CODE-1:0]                     code,        // the code at or below |x|
    output logic [LOST-1:0]                     lost,        // the discarded bits, highest first
    output logic                                sticky       // anything below them
);
    localparam SIG = SRC_FRAC_BITS + 1;                      // source significand with its hidden bit
    localparam WORK = DST_FRAC_BITS + 1 + LOST;              // kept bits, then discarded ones
    localparam PAD = WORK - SIG;                             // 0, or room for more discarded bits than the source has
    localparam signed [31:0] REBIAS = DST_BIAS - SRC_BIAS;

    wire [SRC_EXP_BITS-1:0]  exp_field = x[SRC_EXP_BITS+SRC_FRAC_BITS-1:SRC_FRAC_BITS];
    wire [SRC_FRAC_BITS-1:0] fraction = x[SRC_FRAC_BITS-1:0];
    wire                     is_special = &exp_field;
    wire                     is_normal = |exp_field;
    wire [SRC_EXP_BITS-1:0]  field_of_one = is_normal ? exp_field : {{(SRC_EXP_BITS-1){1'b0}}, 1'b1};

    // exponent field that |x| would have in the destination; at 1 and below the spacing stays that of the subnormals
    wire signed [11:0] exp_src = {{(12-SRC_EXP_BITS){1'b0}}, field_of_one};
    wire signed [11:0] exp_dst = exp_src + $signed(REBIAS[11:0]) - $signed({{2{exp_down[9]}}, exp_down});
    wire signed [11:0] above = exp_dst - 12'sd1;             // binades above the first normal one
    wire               is_low = above < 0;
    wire        [11:0] down = is_low ? -above : 12'd0;       // how far the significand must move down

    wire [WORK-1:0] placed = {{is_normal, fraction}, {PAD{1'b0}}};
    wire            is_tiny = {20'd0, down} >= WORK;         // nothing stays in sight
    wire [WORK-1:0] moved = is_tiny ? {WORK{1'b0}} : placed >> down;
    wire [WORK-1:0] gone = is_tiny ? placed : placed & ~({WORK{1'b1}} << down);

    wire [CODE-1:0] binades = is_low ? {CODE{1'b0}} : {above[DST_EXP_BITS:0], {DST_FRAC_BITS{1'b0}}};
    wire            is_high = !is_low && |above[11:DST_EXP_BITS];

    assign sign = x[SRC_EXP_BITS+SRC_FRAC_BITS];
    assign is_nan = is_special && fraction != 0;
    assign is_beyond = is_special || is_high;
    assign code = binades + {{DST_EXP_BITS{1'b0}}, moved[WORK-1:LOST]};
    assign lost = moved[LOST-1:0];
    assign sticky = gone != 0;
endmodule

// ROUND: 0 rne, ties to the even code; 1 rz; 2 rna, ties away from zero; 3 ru; 4 rd; 5 odd; with f the discarded part as a fraction of the
// way to the next code and N = RANDOM_BITS, it goes up when
//        6 add  floor(f * 2^N) + r >= 2^N      7 cmp  r < f * 2^N      8 half  f * 2^N + r + 1/2 >= 2^N
module convert4_round #(
    parameter DST_EXP_BITS = 2,
    parameter DST_FRAC_BITS = 1,
    parameter DST_SIGNED = 1,
    parameter DST_TWOS_COMPLEMENT = 0,
    parameter [31:0] MAX_CODE = (1 << (DST_EXP_BITS + DST_FRAC_BITS)) - 1,
    parameter [31:0] NAN_POSITIVE = MAX_CODE,
    parameter [31:0] NAN_NEGATIVE = MAX_CODE,
    parameter ROUND = 0,
    parameter RANDOM_BITS = 1,
    parameter LOST = 22,                                     // at least RANDOM_BITS + 1
    parameter CODE = DST_EXP_BITS + DST_FRAC_BITS + 1,
    parameter BITS = DST_SIGNED + DST_EXP_BITS + DST_FRAC_BITS
) (
    input  logic                   sign,
    input  logic                   is_nan,
    input  logic                   is_beyond,
    input  logic [CODE-1:0]        code,
    input  logic [LOST-1:0]        lost,
    input  logic                   sticky,
    input  logic [RANDOM_BITS-1:0] r,
    output logic [BITS-1:0]        y
);
    wire half = lost[LOST-1];                                // the guard bit
    wire rest = |lost[LOST-2:0] | sticky;                    // anything below half
    wire inexact = half | rest;
    wire is_odd = code[0];

    // the random integer meets the top RANDOM_BITS discarded bits; one more bit is enough to add one half
    wire [RANDOM_BITS-1:0] top = lost[LOST-1:LOST-RANDOM_BITS];
    wire                   next_bit = lost[LOST-RANDOM_BITS-1];
    wire                   below_top = |lost[LOST-RANDOM_BITS-1:0] | sticky;
    wire [RANDOM_BITS:0]   sum_add = {1'b0, top} + {1'b0, r};
    wire [RANDOM_BITS+1:0] sum_half = {1'b0, top, next_bit} + {1'b0, r, 1'b1};

    logic up;
    always @*
        case (ROUND)
            0: up = half & (rest | is_odd);
            1: up = 1'b0;
            2: up = half;
            3: up = inexact & ~sign;
            4: up = inexact & sign;
            5: up = inexact & ~is_odd;
            6: up = sum_add[RANDOM_BITS];
            7: up = r < top || (r == top && below_top);
            default: up = sum_half[RANDOM_BITS+1];
        endcase

    // saturate: two's complement reaches one further below zero
    wire [CODE:0]   rounded = {1'b0, code} + {{CODE{1'b0}}, up};
    wire            one_more = DST_TWOS_COMPLEMENT != 0 && sign;
    wire [CODE-1:0] largest = MAX_CODE[CODE-1:0] + {{(CODE-1){1'b0}}, one_more};
    wire            saturates = is_beyond || rounded > {1'b0, largest};
    wire [CODE-1:0] magnitude = saturates ? largest : rounded[CODE-1:0];

    wire [CODE-1:0] minus = ~magnitude + 1'b1;
    wire [CODE-1:0] with_sign = {sign, magnitude[CODE-2:0]};
    wire [CODE-1:0] finite = DST_TWOS_COMPLEMENT != 0 ? (sign ? minus : magnitude) : DST_SIGNED != 0 ? with_sign : magnitude;

    assign y = is_nan ? (sign ? NAN_NEGATIVE[BITS-1:0] : NAN_POSITIVE[BITS-1:0]) : finite[BITS-1:0];
    wire   unused = finite[CODE-1];                          // an unsigned format has no bit for the sign
endmodule

module convert4 #(
    parameter SRC_EXP_BITS = 8,
    parameter SRC_FRAC_BITS = 23,
    parameter SRC_BIAS = 127,
    parameter DST_EXP_BITS = 2,
    parameter DST_FRAC_BITS = 1,
    parameter DST_BIAS = 1,
    parameter DST_SIGNED = 1,
    parameter DST_TWOS_COMPLEMENT = 0,
    parameter [31:0] MAX_CODE = (1 << (DST_EXP_BITS + DST_FRAC_BITS)) - 1,
    parameter [31:0] NAN_POSITIVE = MAX_CODE,
    parameter [31:0] NAN_NEGATIVE = MAX_CODE,
    parameter ROUND = 0,
    parameter RANDOM_BITS = 1,
    parameter BITS = DST_SIGNED + DST_EXP_BITS + DST_FRAC_BITS
) (
    input  logic [SRC_EXP_BITS+SRC_FRAC_BITS:0] x,
    input  logic signed [9:0]                   exp_down,
    input  logic [RANDOM_BITS-1:0]              r,
    output logic [BITS-1:0]                     y
);
    // all discarded bits of the source, and room for the random integer
    localparam LOST = SRC_FRAC_BITS - DST_FRAC_BITS > RANDOM_BITS ? SRC_FRAC_BITS - DST_FRAC_BITS : RANDOM_BITS + 1;
    localparam CODE = DST_EXP_BITS + DST_FRAC_BITS + 1;
    wire            sign, is_nan, is_beyond, sticky;
    wire [CODE-1:0] code;
    wire [LOST-1:0] lost;

    convert4_align #(
        .SRC_EXP_BITS(SRC_EXP_BITS), .SRC_FRAC_BITS(SRC_FRAC_BITS), .SRC_BIAS(SRC_BIAS), .DST_EXP_BITS(DST_EXP_BITS),
        .DST_FRAC_BITS(DST_FRAC_BITS), .DST_BIAS(DST_BIAS), .LOST(LOST)
    ) align (
        .x(x), .exp_down(exp_down), .sign(sign), .is_nan(is_nan), .is_beyond(is_beyond), .code(code), .lost(lost), .sticky(sticky)
    );
    convert4_round #(
        .DST_EXP_BITS(DST_EXP_BITS), .DST_FRAC_BITS(DST_FRAC_BITS), .DST_SIGNED(DST_SIGNED), .DST_TWOS_COMPLEMENT(DST_TWOS_COMPLEMENT),
        .MAX_CODE(MAX_CODE), .NAN_POSITIVE(NAN_POSITIVE), .NAN_NEGATIVE(NAN_NEGATIVE), .ROUND(ROUND), .RANDOM_BITS(RANDOM_BITS), .LOST(LOST)
    ) round (
        .sign(sign), .is_nan(is_nan), .is_beyond(is_beyond), .code(code), .lost(lost), .sticky(sticky), .r(r), .y(y)
    );
endmodule

// One conversion each clock, two clocks later out. Reset empties the pipe; data registers need none.
module convert4_pipe #(
    parameter SRC_EXP_BITS = 8,
    parameter SRC_FRAC_BITS = 23,
    parameter SRC_BIAS = 127,
    parameter DST_EXP_BITS = 2,
    parameter DST_FRAC_BITS = 1,
    parameter DST_BIAS = 1,
    parameter DST_SIGNED = 1,
    parameter DST_TWOS_COMPLEMENT = 0,
    parameter [31:0] MAX_CODE = (1 << (DST_EXP_BITS + DST_FRAC_BITS)) - 1,
    parameter [31:0] NAN_POSITIVE = MAX_CODE,
    parameter [31:0] NAN_NEGATIVE = MAX_CODE,
    parameter ROUND = 0,
    parameter RANDOM_BITS = 1,
    parameter BITS = DST_SIGNED + DST_EXP_BITS + DST_FRAC_BITS
) (
    input  logic                                clk,
    input  logic                                rst,
    input  logic                                in_valid,
    input  logic [SRC_EXP_BITS+SRC_FRAC_BITS:0] x,
    input  logic signed [9:0]                   exp_down,
    input  logic [RANDOM_BITS-1:0]              r,
    output logic                                out_valid,
    output logic [BITS-1:0]                     y
);
    localparam LOST = SRC_FRAC_BITS - DST_FRAC_BITS > RANDOM_BITS ? SRC_FRAC_BITS - DST_FRAC_BITS : RANDOM_BITS + 1;
    localparam CODE = DST_EXP_BITS + DST_FRAC_BITS + 1;
    wire                  sign, is_nan, is_beyond, sticky;
    wire [CODE-1:0]       code;
    wire [LOST-1:0]       lost;
    logic                 valid_1, sign_1, is_nan_1, is_beyond_1, sticky_1;
    logic [CODE-1:0]      code_1;
    logic [LOST-1:0]      lost_1;
    logic [RANDOM_BITS-1:0] r_1;
    wire [BITS-1:0]       y_1;

    convert4_align #(
        .SRC_EXP_BITS(SRC_EXP_BITS), .SRC_FRAC_BITS(SRC_FRAC_BITS), .SRC_BIAS(SRC_BIAS), .DST_EXP_BITS(DST_EXP_BITS),
        .DST_FRAC_BITS(DST_FRAC_BITS), .DST_BIAS(DST_BIAS), .LOST(LOST)
    ) align (
        .x(x), .exp_down(exp_down), .sign(sign), .is_nan(is_nan), .is_beyond(is_beyond), .code(code), .lost(lost), .sticky(sticky)
    );
    convert4_round #(
        .DST_EXP_BITS(DST_EXP_BITS), .DST_FRAC_BITS(DST_FRAC_BITS), .DST_SIGNED(DST_SIGNED), .DST_TWOS_COMPLEMENT(DST_TWOS_COMPLEMENT),
        .MAX_CODE(MAX_CODE), .NAN_POSITIVE(NAN_POSITIVE), .NAN_NEGATIVE(NAN_NEGATIVE), .ROUND(ROUND), .RANDOM_BITS(RANDOM_BITS), .LOST(LOST)
    ) round (
        .sign(sign_1), .is_nan(is_nan_1), .is_beyond(is_beyond_1), .code(code_1), .lost(lost_1), .sticky(sticky_1), .r(r_1), .y(y_1)
    );

    always_ff @(posedge clk) begin
        valid_1 <= rst ? 1'b0 : in_valid;
        out_valid <= rst ? 1'b0 : valid_1;
        {sign_1, is_nan_1, is_beyond_1, code_1, lost_1, sticky_1, r_1} <= {sign, is_nan, is_beyond, code, lost, sticky, r};
        y <= y_1;
    end
endmodule
