// group_term: one group of 16 products under one scale of each side -> its exact term: sum * scale_a * scale_b.
//
// value = term * 2^(exp - f), f = the fraction bits of both elements and both scales; exp is that of the scales, whatever the sum is.
// live: does the term count for E. It does when a product and both scales are not zero, also where the products cancel.
module group_term #(
    parameter A_EXP_BITS = 2,
    parameter A_FRAC_BITS = 1,
    parameter A_TWOS_COMPLEMENT = 0,
    parameter B_EXP_BITS = 2,
    parameter B_FRAC_BITS = 1,
    parameter B_TWOS_COMPLEMENT = 0,
    parameter PRODUCT_BITS = 9,
    parameter SCALE_BITS = 7,
    parameter SCALE_FRAC_BITS = 3,
    parameter SCALE_BIAS = 7,
    parameter TERM_BITS = 20
) (
    input  logic [63:0]                    a,
    input  logic [63:0]                    b,
    input  logic [7:0]                     scale_a,
    input  logic [7:0]                     scale_b,
    output logic signed [PRODUCT_BITS+3:0] sum,
    output logic signed [TERM_BITS-1:0]    term,
    output logic signed [9:0]              exp,
    output logic                           live,
    output logic                           nan
);
    localparam SIG = SCALE_FRAC_BITS + 1;

    wire             any, nan_a, nan_b;
    wire [SIG-1:0]   sig_a, sig_b;
    wire signed [9:0] exp_a, exp_b;

    dot16 #(
        .A_EXP_BITS(A_EXP_BITS), .A_FRAC_BITS(A_FRAC_BITS), .A_TWOS_COMPLEMENT(A_TWOS_COMPLEMENT),
        .B_EXP_BITS(B_EXP_BITS), .B_FRAC_BITS(B_FRAC_BITS), .B_TWOS_COMPLEMENT(B_TWOS_COMPLEMENT), .PRODUCT_BITS(PRODUCT_BITS)
    ) dot (.a(a), .b(b), .sum(sum), .any(any));
    scale8 #(.BITS(SCALE_BITS), .FRAC_BITS(SCALE_FRAC_BITS), .BIAS(SCALE_BIAS)) left (
        .code(scale_a), .significand(sig_a), .exp(exp_a), .nan(nan_a));
    scale8 #(.BITS(SCALE_BITS), .FRAC_BITS(SCALE_FRAC_BITS), .BIAS(SCALE_BIAS)) right (
        .code(scale_b), .significand(sig_b), .exp(exp_b), .nan(nan_b));

    wire [2*SIG-1:0]    factor = (2*SIG)'(sig_a) * (2*SIG)'(sig_b);
    wire signed [2*SIG:0] signed_factor = {1'b0, factor};
    assign term = TERM_BITS'(sum) * TERM_BITS'(signed_factor);
    assign exp = exp_a + exp_b;
    assign live = any && factor != 0;
    assign nan = nan_a || nan_b;
endmodule
