// lane_nv_like: 64 products of 4-bit codes under block scales, plus C, as one fused step: D = rz(C + sum), binary32.
//
// terms    four exact group sums times both scales (group_term), C as it is
// align    E = the largest exponent of a live term, no lower than FLOOR; every term is cut to F fraction bits below E
// sum      F + I + 1 bits: I holds the largest sum, nothing can overflow
// round    toward zero, subnormals kept, beyond the largest number infinity, zero is +0 (round_fp32)
// special  a NaN scale or C: NaN, also where the block is zero; else an infinite C: that infinity
//
// F, I and the widths come from the datapath's page; the same lane is blackwell_mxf4nvf4_b16_ue4m3 and, with E8M0 scales, mxf4.
// BLOCK: elements per scale, 16 or 32. PIPELINE = 1: registers behind terms, align and sum, so D comes after 3 clocks; 0: no clock.
// The stage outputs leave together with d.
module lane_nv_like #(
    parameter A_EXP_BITS = 2,
    parameter A_FRAC_BITS = 1,
    parameter A_TWOS_COMPLEMENT = 0,
    parameter B_EXP_BITS = 2,
    parameter B_FRAC_BITS = 1,
    parameter B_TWOS_COMPLEMENT = 0,
    parameter PRODUCT_BITS = 9,
    parameter SCALE_BITS = 7,
    parameter SCALE_FRAC_BITS = 3,
    parameter SCALE_BIAS = 7,
    parameter TERM_BITS = 20,
    parameter TERM_FRAC_BITS = 8,                            // of both elements and both scales
    parameter F = 35,
    parameter I = 13,
    parameter BLOCK = 16,
    parameter PIPELINE = 0,
    parameter SUM_BITS = PRODUCT_BITS + 4,
    parameter WIDTH = F + I + 1
) (
    input  logic                      clk,
    input  logic                      rst,
    input  logic                      in_valid,
    input  logic [255:0]              a,
    input  logic [64*8/BLOCK-1:0]     sa,
    input  logic [255:0]              b,
    input  logic [64*8/BLOCK-1:0]     sb,
    input  logic [31:0]               c,
    output logic                      out_valid,
    output logic [31:0]               d,
    output logic [4*SUM_BITS-1:0]     sg,
    output logic [4*TERM_BITS-1:0]    tm,
    output logic [4:0]                lv,
    output logic [4*WIDTH-1:0]        xa,
    output logic [WIDTH-1:0]          xc,
    output logic signed [9:0]         e,
    output logic [WIDTH-1:0]          s
);
    localparam signed [9:0] FLOOR = -126 - I;
    localparam [31:0] NAN = 32'h7fffffff;

    genvar g;

    // terms
    wire [4*SUM_BITS-1:0]  sums;
    wire [4*TERM_BITS-1:0] terms;
    wire [4*10-1:0]        exps;
    wire [3:0]             lives, nans;
    wire signed [24:0]     sig_c;
    wire signed [9:0]      exp_c;
    wire                   inf_c, nan_c;
    generate
        for (g = 0; g < 4; g = g + 1) begin : group
            group_term #(
                .A_EXP_BITS(A_EXP_BITS), .A_FRAC_BITS(A_FRAC_BITS), .A_TWOS_COMPLEMENT(A_TWOS_COMPLEMENT),
                .B_EXP_BITS(B_EXP_BITS), .B_FRAC_BITS(B_FRAC_BITS), .B_TWOS_COMPLEMENT(B_TWOS_COMPLEMENT), .PRODUCT_BITS(PRODUCT_BITS),
                .SCALE_BITS(SCALE_BITS), .SCALE_FRAC_BITS(SCALE_FRAC_BITS), .SCALE_BIAS(SCALE_BIAS), .TERM_BITS(TERM_BITS)
            ) unit (
                .a(a[64*g+:64]), .b(b[64*g+:64]), .scale_a(sa[16*g/BLOCK*8+:8]), .scale_b(sb[16*g/BLOCK*8+:8]),
                .sum(sums[SUM_BITS*g+:SUM_BITS]), .term(terms[TERM_BITS*g+:TERM_BITS]), .exp(exps[10*g+:10]),
                .live(lives[g]), .nan(nans[g])
            );
        end
    endgenerate
    fp32_fields addend (.x(c), .significand(sig_c), .exp(exp_c), .inf(inf_c), .nan(nan_c));
    wire [4:0] lives_c = {sig_c != 25'sd0, lives};
    wire [2:0] special = {|nans || nan_c, inf_c, c[31]};

    // registers 1
    localparam CUT1 = 4*TERM_BITS + 4*10 + 5 + 25 + 10 + 3;
    wire [4*TERM_BITS-1:0] terms1;
    wire [4*10-1:0]        exps1;
    wire [4:0]             lives1;
    wire signed [24:0]     sig_c1;
    wire signed [9:0]      exp_c1;
    wire [2:0]             special1;
    delay #(.BITS(CUT1), .DEPTH(PIPELINE)) cut1 (
        .clk(clk), .d({terms, exps, lives_c, sig_c, exp_c, special}), .q({terms1, exps1, lives1, sig_c1, exp_c1, special1}));

    // align
    logic signed [9:0] largest;
    integer            i;
    always @* begin
        largest = FLOOR;
        for (i = 0; i < 4; i = i + 1)
            if (lives1[i] && $signed(exps1[10*i+:10]) > largest) largest = exps1[10*i+:10];
        if (lives1[4] && exp_c1 > largest) largest = exp_c1;
    end
    wire [4*WIDTH-1:0] aligned;
    wire [WIDTH-1:0]   aligned_c;
    generate
        for (g = 0; g < 4; g = g + 1) begin : shifter
            align_term #(.BITS(TERM_BITS), .LEFT(F - TERM_FRAC_BITS), .WIDTH(WIDTH)) unit (
                .term(terms1[TERM_BITS*g+:TERM_BITS]), .places(largest - exps1[10*g+:10]), .aligned(aligned[WIDTH*g+:WIDTH]));
        end
    endgenerate
    align_term #(.BITS(25), .LEFT(F - 23), .WIDTH(WIDTH)) shifter_c (.term(sig_c1), .places(largest - exp_c1), .aligned(aligned_c));

    // registers 2
    wire [4*WIDTH-1:0] aligned2;
    wire [WIDTH-1:0]   aligned_c2;
    wire signed [9:0]  largest2;
    wire [2:0]         special2;
    delay #(.BITS(5*WIDTH+10+3), .DEPTH(PIPELINE)) cut2 (
        .clk(clk), .d({aligned, aligned_c, largest, special1}), .q({aligned2, aligned_c2, largest2, special2}));

    // sum
    wire [WIDTH-1:0] total = ((aligned2[0+:WIDTH] + aligned2[WIDTH+:WIDTH])
        + (aligned2[2*WIDTH+:WIDTH] + aligned2[3*WIDTH+:WIDTH])) + aligned_c2;

    // registers 3
    wire signed [WIDTH-1:0] total3;
    wire signed [9:0]       largest3;
    wire [2:0]              special3;
    delay #(.BITS(WIDTH+10+3), .DEPTH(PIPELINE)) cut3 (.clk(clk), .d({total, largest2, special2}), .q({total3, largest3, special3}));

    // round and special
    wire [31:0] rounded;
    round_fp32 #(.WIDTH(WIDTH)) finish (.total(total3), .top_exp(largest3 + 10'(I)), .rounded(rounded));
    assign d = special3[2] ? NAN : special3[1] ? {special3[0], 8'hff, 23'd0} : rounded;

    delay_valid #(.DEPTH(3*PIPELINE)) valid (.clk(clk), .rst(rst), .d(in_valid), .q(out_valid));
    delay #(.BITS(4*SUM_BITS+4*TERM_BITS+5), .DEPTH(3*PIPELINE)) show1 (.clk(clk), .d({sums, terms, lives_c}), .q({sg, tm, lv}));
    delay #(.BITS(5*WIDTH+10), .DEPTH(2*PIPELINE)) show2 (.clk(clk), .d({aligned, aligned_c, largest}), .q({xa, xc, e}));
    delay #(.BITS(WIDTH), .DEPTH(PIPELINE)) show3 (.clk(clk), .d(total), .q(s));
endmodule
