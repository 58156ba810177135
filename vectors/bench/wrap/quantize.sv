// dut for the bench of `quantize`: quantize_mx, or with `TENSOR_MAXIMUM quantize_nv. Formats and constants: the defines of units.yaml.
module dut (
    input  logic                                  clk,
    input  logic                                  rst,
    input  logic                                  in_valid,
    input  logic [`LANES*(`SRC_FRAC_BITS+9)-1:0]  x,
`ifdef TENSOR_MAXIMUM
    input  logic [31:0]                           ts,
    input  logic [7:0]                            n_valid,
`endif
    output logic                                  out_valid,
    output logic [`LANES*`DST_BITS-1:0]           codes,
    output logic [7:0]                            scale
`ifdef EMU_STAGES
    , output logic [31:0]                         amax
`endif
);
`ifndef EMU_STAGES
    wire [31:0] amax;
`endif
`ifdef TENSOR_MAXIMUM
    quantize_nv #(
        .LANES(`LANES), .SRC_FRAC_BITS(`SRC_FRAC_BITS), .DST_EXP_BITS(`DST_EXP_BITS), .DST_FRAC_BITS(`DST_FRAC_BITS),
        .DST_BIAS(`DST_BIAS), .ENCODE(`ENCODE), .AMAX_FACTOR(`AMAX_FACTOR), .LARGEST(`LARGEST)
    ) quantizer (.x(x), .ts(ts), .n_valid(n_valid), .codes(codes), .scale(scale), .amax(amax));
`else
    quantize_mx #(
        .LANES(`LANES), .SRC_FRAC_BITS(`SRC_FRAC_BITS), .DST_EXP_BITS(`DST_EXP_BITS), .DST_FRAC_BITS(`DST_FRAC_BITS),
        .DST_BIAS(`DST_BIAS), .RULE(`RULE), .EMAX(`EMAX), .LARGEST(`LARGEST)
    ) quantizer (.x(x), .codes(codes), .scale(scale), .amax(amax));
`endif
    wire unused = &{1'b0, clk, rst, amax};
    assign out_valid = in_valid;
endmodule
