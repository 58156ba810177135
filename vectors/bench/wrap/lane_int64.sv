// dut for the bench of `dot`: lane_int64 as one instruction that is a whole chain. Formats and widths come from the defines of units.yaml.
module dut (
    input  logic                     clk,
    input  logic                     rst,
    input  logic                     in_valid,
    input  logic [255:0]             a,
    input  logic [512/`BLOCK-1:0]    sa,
    input  logic [255:0]             b,
    input  logic [512/`BLOCK-1:0]    sb,
    input  logic [31:0]              c,
`ifdef EMU_STAGES
    output logic [`PRODUCT_BITS+3:0] u0_sg0, u0_sg1, u0_sg2, u0_sg3,
    output logic [`TERM_BITS-1:0]    u0_tm0, u0_tm1, u0_tm2, u0_tm3,
    output logic [3:0]               u0_lv,
    output logic [63:0]              u0_xa0, u0_xa1, u0_xa2, u0_xa3,
    output logic [63:0]              u0_s,
`endif
    output logic                     out_valid,
    output logic [31:0]              d
);
    wire [4*(`PRODUCT_BITS+4)-1:0] sg;
    wire [4*`TERM_BITS-1:0]        tm;
    wire [3:0]                     lv;
    wire [255:0]                   xa;
    wire [63:0]                    acc;
    wire                           ovf;

    lane_int64 #(
        .A_EXP_BITS(`A_EXP_BITS), .A_FRAC_BITS(`A_FRAC_BITS), .A_TWOS_COMPLEMENT(`A_TWOS_COMPLEMENT),
        .B_EXP_BITS(`B_EXP_BITS), .B_FRAC_BITS(`B_FRAC_BITS), .B_TWOS_COMPLEMENT(`B_TWOS_COMPLEMENT), .PRODUCT_BITS(`PRODUCT_BITS),
        .SCALE_BITS(`SCALE_BITS), .SCALE_FRAC_BITS(`SCALE_FRAC_BITS), .SCALE_BIAS(`SCALE_BIAS), .TERM_BITS(`TERM_BITS),
        .TERM_FRAC_BITS(`TERM_FRAC_BITS), .BLOCK(`BLOCK), .OWN_STATE(1)
    ) unit (
        .clk(clk), .rst(rst), .in_valid(in_valid), .first(1'b1), .a(a), .sa(sa), .b(b), .sb(sb), .c(c), .acc_in(64'd0),
        .out_valid(out_valid), .d(d), .ovf(ovf), .acc(acc), .sg(sg), .tm(tm), .lv(lv), .xa(xa)
    );
`ifdef EMU_STAGES
    assign {u0_sg3, u0_sg2, u0_sg1, u0_sg0} = sg;
    assign {u0_tm3, u0_tm2, u0_tm1, u0_tm0} = tm;
    assign u0_lv = lv;
    assign {u0_xa3, u0_xa2, u0_xa1, u0_xa0} = xa;
    assign u0_s = acc;
    wire unused = ovf;
`else
    wire unused = &{1'b0, sg, tm, lv, xa, acc, ovf};
`endif
endmodule
