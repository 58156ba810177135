// dut for the bench of `quantize`: quantize_fs. Formats and constants: the defines of units.yaml.
module dut (
    input  logic                              clk,
    input  logic                              rst,
    input  logic                              in_valid,
    input  logic [16*(`SRC_FRAC_BITS+9)-1:0]  x,
    input  logic [7:0]                        n_valid,
    output logic                              out_valid,
    output logic [16*`DST_BITS-1:0]           codes,
    output logic [31:0]                       scale
`ifdef EMU_STAGES
    , output logic [31:0]                     amax
`endif
);
`ifndef EMU_STAGES
    wire [31:0] amax;
`endif
    quantize_fs #(
        .SRC_FRAC_BITS(`SRC_FRAC_BITS), .DST_EXP_BITS(`DST_EXP_BITS), .DST_FRAC_BITS(`DST_FRAC_BITS), .DST_BIAS(`DST_BIAS),
        .ROTATE(`ROTATE), .LARGEST(`LARGEST)
    ) quantizer (.x(x), .n_valid(n_valid), .codes(codes), .scale(scale), .amax(amax));
    wire unused = &{1'b0, clk, rst, amax};
    assign out_valid = in_valid;
endmodule
