// dut for the bench of `convert`: convert4, or with `EMU_PIPE convert4_pipe. Formats, rounding and policy: the defines of units.yaml.
module dut (
    input  logic                                 clk,
    input  logic                                 rst,
    input  logic                                 in_valid,
    input  logic [`SRC_EXP_BITS+`SRC_FRAC_BITS:0] x,
`ifdef RANDOM_BITS
    input  logic [`RANDOM_BITS-1:0]              r,
`endif
    output logic                                 out_valid,
    output logic [`DST_BITS-1:0]                 y
);
`ifdef RANDOM_BITS
    localparam R_BITS = `RANDOM_BITS;
`else
    localparam R_BITS = 1;
    wire [0:0] r = 1'b0;
`endif
`ifdef EMU_PIPE
    convert4_pipe #(
`else
    convert4 #(
`endif
        .SRC_EXP_BITS(`SRC_EXP_BITS), .SRC_FRAC_BITS(`SRC_FRAC_BITS), .SRC_BIAS(`SRC_BIAS), .DST_EXP_BITS(`DST_EXP_BITS),
        .DST_FRAC_BITS(`DST_FRAC_BITS), .DST_BIAS(`DST_BIAS), .DST_SIGNED(`DST_SIGNED), .DST_TWOS_COMPLEMENT(`DST_TWOS_COMPLEMENT),
        .MAX_CODE(`MAX_CODE), .NAN_POSITIVE(`NAN_POSITIVE), .NAN_NEGATIVE(`NAN_NEGATIVE), .ROUND(`ROUND), .RANDOM_BITS(R_BITS)
    ) converter (
`ifdef EMU_PIPE
        .clk(clk), .rst(rst), .in_valid(in_valid), .out_valid(out_valid),
`endif
        .x(x), .exp_down(10'sd0), .r(r), .y(y)
    );
`ifndef EMU_PIPE
    wire unused = &{1'b0, clk, rst};
    assign out_valid = in_valid;
`endif
endmodule
