// lane_int64: 64 products of 4-bit codes under UE4M3 scales into a 64-bit fixed-point register; at the end D = rne(register + C).
//
// One instruction a clock; `first` starts a chain at 0, `last` ends it. Nothing is rounded before D, so no order of sums matters.
// The register's unit is 2^LSB_EXP, the finest product under the finest scales: a term moves up by its exponent alone.
// d, out_valid, the stages: one clock after the instruction. d means the end of a chain when `last` was set.
// OWN_STATE = 1: the register is the state. 0: acc_in is, and the register only shows what came out: a bench can check each row alone.
// A NaN scale makes the whole chain NaN. ovf: the register has passed 64 bits since `first`; it does not come back by itself.
module lane_int64 #(
    parameter A_EXP_BITS = 1,
    parameter A_FRAC_BITS = 2,
    parameter A_TWOS_COMPLEMENT = 0,
    parameter B_EXP_BITS = 1,
    parameter B_FRAC_BITS = 2,
    parameter B_TWOS_COMPLEMENT = 0,
    parameter PRODUCT_BITS = 7,
    parameter SCALE_BITS = 7,
    parameter SCALE_FRAC_BITS = 3,
    parameter SCALE_BIAS = 7,
    parameter TERM_BITS = 19,
    parameter TERM_FRAC_BITS = 10,                           // of both elements and both scales
    parameter BLOCK = 16,
    parameter OWN_STATE = 1,
    parameter SUM_BITS = PRODUCT_BITS + 4
) (
    input  logic                   clk,
    input  logic                   rst,
    input  logic                   in_valid,
    input  logic                   first,
    input  logic [255:0]           a,
    input  logic [64*8/BLOCK-1:0]  sa,
    input  logic [255:0]           b,
    input  logic [64*8/BLOCK-1:0]  sb,
    input  logic [31:0]            c,
    input  logic [63:0]            acc_in,
    output logic                   out_valid,
    output logic [31:0]            d,
    output logic                   ovf,
    output logic [63:0]            acc,
    output logic [4*SUM_BITS-1:0]  sg,
    output logic [4*TERM_BITS-1:0] tm,
    output logic [3:0]             lv,
    output logic [255:0]           xa
);
    localparam LEAST = 2 * (1 - SCALE_BIAS);                 // exponent of a term under two subnormal scales
    localparam LSB_EXP = LEAST - TERM_FRAC_BITS;
    localparam [31:0] NAN = 32'h7fffffff;

    // terms, each moved to the unit of the register
    wire [4*SUM_BITS-1:0]  sums;
    wire [4*TERM_BITS-1:0] terms;
    wire [3:0]             lives, nans;
    wire [255:0]           moved;
    genvar g;
    generate
        for (g = 0; g < 4; g = g + 1) begin : group
            wire signed [TERM_BITS-1:0] term;
            wire signed [9:0]           exp;
            group_term #(
                .A_EXP_BITS(A_EXP_BITS), .A_FRAC_BITS(A_FRAC_BITS), .A_TWOS_COMPLEMENT(A_TWOS_COMPLEMENT),
                .B_EXP_BITS(B_EXP_BITS), .B_FRAC_BITS(B_FRAC_BITS), .B_TWOS_COMPLEMENT(B_TWOS_COMPLEMENT), .PRODUCT_BITS(PRODUCT_BITS),
                .SCALE_BITS(SCALE_BITS), .SCALE_FRAC_BITS(SCALE_FRAC_BITS), .SCALE_BIAS(SCALE_BIAS), .TERM_BITS(TERM_BITS)
            ) unit (
                .a(a[64*g+:64]), .b(b[64*g+:64]), .scale_a(sa[16*g/BLOCK*8+:8]), .scale_b(sb[16*g/BLOCK*8+:8]),
                .sum(sums[SUM_BITS*g+:SUM_BITS]), .term(term), .exp(exp), .live(lives[g]), .nan(nans[g])
            );
            wire [9:0] places = exp - 10'(LEAST);
            assign terms[TERM_BITS*g+:TERM_BITS] = term;
            assign moved[64*g+:64] = 64'(term) << places;
        end
    endgenerate

    // the register: 64 bits and one more to see an overflow
    reg [63:0] acc_r;
    reg        nan_r, ovf_r;
    wire [63:0] state = first ? 64'd0 : (OWN_STATE != 0) ? acc_r : acc_in;
    wire [64:0] sum = (({moved[63], moved[63:0]} + {moved[127], moved[127:64]})
        + ({moved[191], moved[191:128]} + {moved[255], moved[255:192]})) + {state[63], state};
    wire        overflows = sum[64] != sum[63];
    wire        keeps = !first && OWN_STATE != 0;
    always @(posedge clk)
        if (in_valid) begin
            acc_r <= sum[63:0];
            nan_r <= |nans || (keeps && nan_r);
            ovf_r <= overflows || (keeps && ovf_r);
        end

    // the end of a chain: C once, one rounding
    wire [31:0]        c1;
    wire signed [24:0] sig_c;
    wire signed [9:0]  exp_c;
    wire               inf_c, nan_c;
    wire [31:0]        rounded;
    delay #(.BITS(32), .DEPTH(1)) cut (.clk(clk), .d(c), .q(c1));
    fp32_fields addend (.x(c1), .significand(sig_c), .exp(exp_c), .inf(inf_c), .nan(nan_c));
    acc_to_fp32 #(.LSB_EXP(LSB_EXP)) finish (.acc(acc_r), .c(c1), .sig_c(sig_c), .exp_c(exp_c), .d(rounded));
    assign d = (nan_r || nan_c) ? NAN : inf_c ? c1 : rounded;
    assign acc = acc_r;
    assign ovf = ovf_r;

    delay_valid #(.DEPTH(1)) valid (.clk(clk), .rst(rst), .d(in_valid), .q(out_valid));
    delay #(.BITS(4*SUM_BITS+4*TERM_BITS+4+256), .DEPTH(1)) show (.clk(clk), .d({sums, terms, lives, moved}), .q({sg, tm, lv, xa}));
endmodule
