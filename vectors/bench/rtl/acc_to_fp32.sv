// acc_to_fp32: D = rne(acc * 2^LSB_EXP + C), the exact sum rounded once. acc: 64-bit register; C: finite binary32 as fp32_fields gives it.
//
// Both meet in one window from 26 places below the register to 26 above it:
//     below it, C leaves a sticky bit: the register is not zero, so 24 bits of the sum and its guard bit lie in the window
//     above it, C is the result: the register is less than a quarter of the last place of C
//     a register of zero leaves C as it is, subnormal or not; zero is +0
module acc_to_fp32 #(
    parameter LSB_EXP = -22
) (
    input  logic signed [63:0] acc,
    input  logic [31:0]        c,
    input  logic signed [24:0] sig_c,
    input  logic signed [9:0]  exp_c,
    output logic [31:0]        d
);
    localparam MARGIN = 26;
    localparam WIDTH = MARGIN + 64 + MARGIN + 3;             // carry, sign, sticky
    localparam LOW = LSB_EXP - MARGIN + 23;                  // exponent of a C whose last bit is the last of the window
    localparam HIGH = LSB_EXP + 63 + MARGIN;                 // from here on the register cannot move C

    // C at its highest place in the window, 25 places more below, then down to where it belongs
    localparam PLACES = HIGH - 1 - LOW + 25;
    localparam SPAN = WIDTH - 1 + 25;
    wire signed [9:0]       down = 10'(HIGH - 1) - exp_c;
    wire signed [SPAN-1:0]  top = SPAN'(sig_c) << PLACES;
    wire signed [SPAN-1:0]  moved = top >>> down[8:0];
    wire signed [WIDTH-2:0] part_c = moved[SPAN-1:25];
    wire                    sticky = (down > 10'(PLACES)) ? sig_c != 25'sd0 : |moved[24:0];

    wire signed [WIDTH-2:0] part_acc = {{(WIDTH-1-64-MARGIN){acc[63]}}, acc, {MARGIN{1'b0}}};
    wire signed [WIDTH-2:0] sum = part_acc + part_c;
    wire signed [WIDTH-1:0] total = {sum, sticky};

    wire [31:0] rounded;
    round_fp32 #(.WIDTH(WIDTH), .NEAREST(1)) finish (.total(total), .top_exp(10'(LSB_EXP - MARGIN - 1 + WIDTH - 1)), .rounded(rounded));
    assign d = (acc == 64'sd0 || exp_c >= 10'(HIGH)) ? ((sig_c == 25'sd0) ? 32'd0 : c) : rounded;
endmodule
