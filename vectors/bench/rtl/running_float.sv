// running_float: a running register in a float format. Each clock adds one exact product a * b to it and rounds once: a fused multiply-add.
//
// The datapaths in spec/datapath that are this unit, each with operands, register, C and result of one IEEE-like format:
//   fp32_fma_chain: EXP_BITS 8, FRAC_BITS 23, ROUND 0          bf16_register: 8, 7, 0         fp16_register: 5, 10, 1
//   bf16_register_random: 8, 7, ROUND 2, RANDOM_BITS 8         (ROUND 0: to nearest, ties to even. 1: toward zero. 2: stochastic, sr_add)
// One product a clock while in_valid is set; `first` starts from c (start: c). d is the register, one clock later.
// random is the word of this addition (ROUND 2): the top RANDOM_BITS lost bits plus the word carry into the last place, lower bits are dropped.
// Subnormals are kept. Special values are decided at each addition (special.when: per_add): 0 * inf and inf - inf are NaN, of one code.
// An exact zero is +0 unless both terms are -0; a result that vanishes keeps its sign (special.zero: ieee).
// Beyond the largest number: infinity, and the largest number where ROUND is toward zero (hold.overflow: ieee).
//
// No number is wider than WINDOW + 1 bits. The window hangs below the upper end of the term that can reach higher; what the other term has
// below it becomes one sticky bit. That is enough: a term loses bits only where it is so far below the other one that at most one leading
// bit of the sum can cancel, or where the bits lie below all places of a subnormal result.
module running_float #(
    parameter EXP_BITS = 8,
    parameter FRAC_BITS = 7,
    parameter ROUND = 0,
    parameter RANDOM_BITS = 8
) (
    input  logic                        clk,
    input  logic                        rst,
    input  logic                        in_valid,
    input  logic                        first,
    input  logic [EXP_BITS+FRAC_BITS:0] a,
    input  logic [EXP_BITS+FRAC_BITS:0] b,
    input  logic [EXP_BITS+FRAC_BITS:0] c,
    input  logic [RANDOM_BITS-1:0]      random,
    output logic                        out_valid,
    output logic [EXP_BITS+FRAC_BITS:0] d
);
    localparam BITS = 1 + EXP_BITS + FRAC_BITS;
    localparam P = FRAC_BITS + 1;                            // significand with its leading bit
    localparam WINDOW = 2 * P + RANDOM_BITS + 4;
    localparam E = EXP_BITS + 3;                             // signed exponents, of products too
    localparam BIAS = (1 << (EXP_BITS - 1)) - 1;
    localparam [EXP_BITS-1:0]      ONES = {EXP_BITS{1'b1}};
    localparam [EXP_BITS+FRAC_BITS-1:0] INF = {ONES, {FRAC_BITS{1'b0}}};
    localparam [EXP_BITS+FRAC_BITS-1:0] MAX = INF - 1'b1;
    localparam [BITS-1:0]          NAN = {1'b0, ONES, 1'b1, {(FRAC_BITS-1){1'b0}}};

    // fields: x is the register or c. A subnormal has the exponent of the lowest normal number and no leading bit.
    wire [BITS-1:0]     x = first ? c : d;
    wire [EXP_BITS-1:0] field_a = a[FRAC_BITS+:EXP_BITS], field_b = b[FRAC_BITS+:EXP_BITS], field_x = x[FRAC_BITS+:EXP_BITS];
    wire [P-1:0]        sig_a = {|field_a, a[FRAC_BITS-1:0]}, sig_b = {|field_b, b[FRAC_BITS-1:0]}, sig_x = {|field_x, x[FRAC_BITS-1:0]};
    wire                top_a = &field_a, top_b = &field_b, top_x = &field_x;
    wire                nan_a = top_a && |a[FRAC_BITS-1:0], nan_b = top_b && |b[FRAC_BITS-1:0], nan_x = top_x && |x[FRAC_BITS-1:0];
    wire                inf_p = (top_a || top_b), zero_p = sig_a == 0 || sig_b == 0;
    wire                sign_p = a[BITS-1] ^ b[BITS-1], sign_x = x[BITS-1];
    wire                nan = nan_a || nan_b || nan_x || (inf_p && zero_p) || (inf_p && top_x && sign_p != sign_x);

    // upper ends, in units where the lowest place of a subnormal number is 0: |product| < 2^end_p, |x| < 2^end_x
    wire signed [E-1:0] exp_a = E'(field_a) + E'(field_a == 0), exp_b = E'(field_b) + E'(field_b == 0);
    wire signed [E-1:0] end_x = E'(field_x) + E'(field_x == 0) + E'(P - 1);
    wire signed [E-1:0] end_p = exp_a + exp_b + E'(P - BIAS);
    wire                p_high = !zero_p && end_p > end_x;
    wire signed [E-1:0] high = p_high ? end_p : end_x;
    wire [E-1:0]        down_p = high - end_p, down_x = high - end_x;

    // both terms in the window, the lower one with its sticky bit
    wire [2*P-1:0]      product = sig_a * sig_b;
    wire [2*WINDOW-1:0] wide_p = {product, {(2*WINDOW-2*P){1'b0}}} >> down_p;
    wire [2*WINDOW-1:0] wide_x = {sig_x, {(2*WINDOW-P){1'b0}}} >> down_x;
    wire                far_p = down_p >= E'(WINDOW), far_x = down_x >= E'(WINDOW);
    wire [WINDOW-1:0]   term_p = zero_p ? {WINDOW{1'b0}} : far_p ? WINDOW'(1) : wide_p[2*WINDOW-1:WINDOW] | WINDOW'(|wide_p[WINDOW-1:0]);
    wire [WINDOW-1:0]   term_x = far_x ? WINDOW'(sig_x != 0) : wide_x[2*WINDOW-1:WINDOW] | WINDOW'(|wide_x[WINDOW-1:0]);

    // the sum: sign and magnitude
    wire              minus = sign_p != sign_x;
    wire              x_less = term_x < term_p;
    wire [WINDOW:0]   size = !minus ? {1'b0, term_p} + {1'b0, term_x} : {1'b0, x_less ? term_p - term_x : term_x - term_p};
    wire              zero = size == 0;
    wire              sign = zero ? sign_p && sign_x : x_less ? sign_p : sign_x;

    // the leading bit to the top; where that is below the lowest normal number, down again
    logic [E-1:0] lead;
    integer       i;
    always @* begin
        lead = 0;
        for (i = 0; i < WINDOW + 1; i = i + 1)
            if (size[i]) lead = E'(WINDOW - i);
    end
    wire signed [E-1:0]   exp = high - E'(P - 1) + E'(1) - $signed(lead);          // the exponent field that it wants
    wire                  low = exp < 1;
    wire [E-1:0]          down = low ? E'(1) - exp : E'(0);
    wire [WINDOW:0]       normal = size << lead;
    wire [2*WINDOW+1:0]   wide = {normal, {(WINDOW+1){1'b0}}} >> down;
    wire [WINDOW-1:0]     placed = WINDOW'(wide >> (WINDOW + 1));          // the leading bit is left out: the exponent says it
    wire                  below = (|wide[WINDOW:0]) || (down > E'(WINDOW + 1) && !zero);

    // one rounding
    wire [FRAC_BITS-1:0]     kept = placed[WINDOW-1-:FRAC_BITS];
    wire [WINDOW-P:0]        lost = placed[WINDOW-P:0];
    wire                     rest = |lost[WINDOW-P-1:0] || below;
    wire [RANDOM_BITS:0]     carry = {1'b0, lost[WINDOW-P-:RANDOM_BITS]} + {1'b0, random};
    wire                     up = ROUND == 0 ? lost[WINDOW-P] && (rest || kept[0]) : ROUND == 2 && carry[RANDOM_BITS];
    wire [E+FRAC_BITS-1:0]   code = {low ? E'(0) : exp, kept} + (E+FRAC_BITS)'(up);
    wire                     beyond = code >= (E+FRAC_BITS)'(INF);

    always @(posedge clk) begin
        out_valid <= in_valid && !rst;
        if (in_valid)
            d <= nan ? NAN
                : inf_p ? {sign_p, INF}
                : top_x ? x
                : zero ? {sign, {(BITS-1){1'b0}}}
                : beyond ? {sign, ROUND == 1 ? MAX : INF}
                : {sign, code[BITS-2:0]};
    end
endmodule
