// dut for the bench of `dot`: lane_nv_like. Formats, scales and widths come from the defines of units.yaml. `EMU_PIPE: three registers.
`ifdef EMU_PIPE
`define LANE_PIPELINE 1
`else
`define LANE_PIPELINE 0
`endif
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
    output logic [4:0]               u0_lv,
    output logic [`F+`I:0]           u0_xa0, u0_xa1, u0_xa2, u0_xa3,
    output logic [`F+`I:0]           u0_xc,
    output logic [11:0]              u0_e,
    output logic [`F+`I:0]           u0_s,
    output logic [31:0]              u0_rs,
`endif
    output logic                     out_valid,
    output logic [31:0]              d
);
    wire [4*(`PRODUCT_BITS+4)-1:0] sg;
    wire [4*`TERM_BITS-1:0]        tm;
    wire [4:0]                     lv;
    wire [4*(`F+`I+1)-1:0]         xa;
    wire [`F+`I:0]                 xc, s;
    wire signed [9:0]              e;

    lane_nv_like #(
        .A_EXP_BITS(`A_EXP_BITS), .A_FRAC_BITS(`A_FRAC_BITS), .A_TWOS_COMPLEMENT(`A_TWOS_COMPLEMENT),
        .B_EXP_BITS(`B_EXP_BITS), .B_FRAC_BITS(`B_FRAC_BITS), .B_TWOS_COMPLEMENT(`B_TWOS_COMPLEMENT), .PRODUCT_BITS(`PRODUCT_BITS),
        .SCALE_BITS(`SCALE_BITS), .SCALE_FRAC_BITS(`SCALE_FRAC_BITS), .SCALE_BIAS(`SCALE_BIAS), .TERM_BITS(`TERM_BITS),
        .TERM_FRAC_BITS(`TERM_FRAC_BITS), .F(`F), .I(`I), .BLOCK(`BLOCK), .PIPELINE(`LANE_PIPELINE)
    ) unit (
        .clk(clk), .rst(rst), .in_valid(in_valid), .a(a), .sa(sa), .b(b), .sb(sb), .c(c), .out_valid(out_valid), .d(d),
        .sg(sg), .tm(tm), .lv(lv), .xa(xa), .xc(xc), .e(e), .s(s)
    );
`ifdef EMU_STAGES
    assign {u0_sg3, u0_sg2, u0_sg1, u0_sg0} = sg;
    assign {u0_tm3, u0_tm2, u0_tm1, u0_tm0} = tm;
    assign u0_lv = lv;
    assign {u0_xa3, u0_xa2, u0_xa1, u0_xa0} = xa;
    assign u0_xc = xc;
    assign u0_e = 12'(e);
    assign u0_s = s;
    assign u0_rs = d;
`else
    wire unused = &{1'b0, sg, tm, lv, xa, xc, e, s};
`endif
endmodule
