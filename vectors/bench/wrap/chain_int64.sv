// dut for the bench of `accumulate`: lane_int64, one instruction of a chain a row. The state is acc_in, so every row can be checked alone;
// with `EMU_OWN_STATE it is the register of the design, for +chain=dut. Formats and widths come from the defines of units.yaml.
`ifdef EMU_OWN_STATE
`define LANE_OWN_STATE 1
`else
`define LANE_OWN_STATE 0
`endif
module dut (
    input  logic                  clk,
    input  logic                  rst,
    input  logic                  in_valid,
    input  logic [3:0]            first,
    input  logic [3:0]            last,
    input  logic [255:0]          a,
    input  logic [512/`BLOCK-1:0] sa,
    input  logic [255:0]          b,
    input  logic [512/`BLOCK-1:0] sb,
    input  logic [31:0]           c,
    input  logic [63:0]           acc_in,
`ifdef EMU_STAGES
    output logic [63:0]           acc,
`endif
    output logic                  out_valid,
    output logic [31:0]           d
);
`ifndef EMU_STAGES
    wire [63:0]                    acc;
`endif
    wire [4*(`PRODUCT_BITS+4)-1:0] sg;
    wire [4*`TERM_BITS-1:0]        tm;
    wire [3:0]                     lv;
    wire [255:0]                   xa;
    wire                           ovf;

    lane_int64 #(
        .A_EXP_BITS(`A_EXP_BITS), .A_FRAC_BITS(`A_FRAC_BITS), .A_TWOS_COMPLEMENT(`A_TWOS_COMPLEMENT),
        .B_EXP_BITS(`B_EXP_BITS), .B_FRAC_BITS(`B_FRAC_BITS), .B_TWOS_COMPLEMENT(`B_TWOS_COMPLEMENT), .PRODUCT_BITS(`PRODUCT_BITS),
        .SCALE_BITS(`SCALE_BITS), .SCALE_FRAC_BITS(`SCALE_FRAC_BITS), .SCALE_BIAS(`SCALE_BIAS), .TERM_BITS(`TERM_BITS),
        .TERM_FRAC_BITS(`TERM_FRAC_BITS), .BLOCK(`BLOCK), .OWN_STATE(`LANE_OWN_STATE)
    ) unit (
        .clk(clk), .rst(rst), .in_valid(in_valid), .first(first[0]), .a(a), .sa(sa), .b(b), .sb(sb), .c(c), .acc_in(acc_in),
        .out_valid(out_valid), .d(d), .ovf(ovf), .acc(acc), .sg(sg), .tm(tm), .lv(lv), .xa(xa)
    );
    wire unused = &{1'b0, first[3:1], last, sg, tm, lv, xa, ovf, acc};
endmodule
