// dut for the bench of `decode`: decode4. The format comes from the defines of units.yaml.
module dut (
    input  logic                   clk,
    input  logic                   rst,
    input  logic                   in_valid,
    input  logic [`SRC_BITS-1:0]   code,
    output logic                   out_valid,
    output logic [31:0]            fp32,
    output logic [3:0]             cls
);
    decode4 #(
        .EXP_BITS(`SRC_EXP_BITS), .FRAC_BITS(`SRC_FRAC_BITS), .BIAS(`SRC_BIAS), .SIGNED(`SRC_SIGNED),
        .TWOS_COMPLEMENT(`SRC_TWOS_COMPLEMENT), .INTEGER(`SRC_INTEGER)
    ) decoder (.code(code), .fp32(fp32), .cls(cls));
    wire unused = &{1'b0, clk, rst};
    assign out_valid = in_valid;
endmodule
