// dut for a product of two elements: multiply4. Formats and width come from the defines of units.yaml. There is no suite of its own:
// the exhaustive check and the formal models use it.
module dut (
    input  logic                            clk,
    input  logic                            rst,
    input  logic                            in_valid,
    input  logic [3:0]                      a,
    input  logic [3:0]                      b,
    output logic                            out_valid,
    output logic signed [`PRODUCT_BITS-1:0] p
);
    multiply4 #(
        .A_EXP_BITS(`A_EXP_BITS), .A_FRAC_BITS(`A_FRAC_BITS), .A_TWOS_COMPLEMENT(`A_TWOS_COMPLEMENT),
        .B_EXP_BITS(`B_EXP_BITS), .B_FRAC_BITS(`B_FRAC_BITS), .B_TWOS_COMPLEMENT(`B_TWOS_COMPLEMENT), .PRODUCT_BITS(`PRODUCT_BITS)
    ) unit (.a(a), .b(b), .product(p));
    wire unused = &{1'b0, clk, rst};
    assign out_valid = in_valid;
endmodule
