// running_int: a running register in fixed point. Each clock adds one product of integers; what leaves BITS bits stops at the end or wraps.
//
// The datapaths spec/datapath/int20_saturate.yaml (SATURATE = 1) and int20_wrap.yaml (SATURATE = 0) are this unit with the parameters below.
// One product a clock while in_valid is set; `first` starts at 0 (start: zero). acc is the register, one clock later; d is its binary32 code,
// which is exact for BITS <= 24 (out: fp32). Products are exact (level 0). The rule of the end is applied after each addition (hold.overflow),
// so that a sum that comes back is not the sum that was meant.
module running_int #(
    parameter IN_BITS = 8,
    parameter BITS = 20,                                     // at least 2 * IN_BITS
    parameter SATURATE = 1
) (
    input  logic                      clk,
    input  logic                      rst,
    input  logic                      in_valid,
    input  logic                      first,
    input  logic signed [IN_BITS-1:0] a,
    input  logic signed [IN_BITS-1:0] b,
    output logic                      out_valid,
    output logic [BITS-1:0]           acc,
    output logic [31:0]               d
);
    wire signed [2*IN_BITS-1:0] product = a * b;
    wire [BITS-1:0] state = first ? {BITS{1'b0}} : acc;
    wire [BITS:0]   sum = {state[BITS-1], state} + {{(BITS+1-2*IN_BITS){product[2*IN_BITS-1]}}, product};
    wire            beyond = sum[BITS] != sum[BITS-1];
    wire [BITS-1:0] held = (SATURATE != 0 && beyond) ? {sum[BITS], {(BITS-1){~sum[BITS]}}} : sum[BITS-1:0];

    always @(posedge clk) begin
        out_valid <= in_valid && !rst;
        if (in_valid) acc <= held;
    end

    // the register as binary32: the highest bit of the magnitude gives the exponent, those below it the fraction
    wire [BITS-1:0] size = acc[BITS-1] ? ~acc + 1'b1 : acc;
    logic [7:0]     exp;
    integer         i;
    always @* begin
        exp = 0;
        for (i = 0; i < BITS; i = i + 1)
            if (size[i]) exp = 8'(127 + i);
    end
    wire [22:0] fraction = 23'(24'(size) << (8'd150 - exp));
    assign d = size == 0 ? 32'd0 : {acc[BITS-1], exp, fraction};
endmodule
