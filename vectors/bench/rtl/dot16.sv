// dot16: exact sum of 16 products of 4-bit codes, in units of the product of both finest values; nothing is rounded.
//
// Element 0 lies in the low bits of a and b. The tree adds neighbours first, every level one bit wider: PRODUCT_BITS + 4 in all.
// any: some product is not zero. A sum of zero does not say so: products may cancel, and a cancelled group still counts for E.
module dot16 #(
    parameter A_EXP_BITS = 2,
    parameter A_FRAC_BITS = 1,
    parameter A_TWOS_COMPLEMENT = 0,
    parameter B_EXP_BITS = 2,
    parameter B_FRAC_BITS = 1,
    parameter B_TWOS_COMPLEMENT = 0,
    parameter PRODUCT_BITS = 9
) (
    input  logic [63:0]                    a,
    input  logic [63:0]                    b,
    output logic signed [PRODUCT_BITS+3:0] sum,
    output logic                           any
);
    localparam P = PRODUCT_BITS;

    wire [16*P-1:0]    products;
    wire [15:0]        nonzero;
    wire [8*(P+1)-1:0] sums2;
    wire [4*(P+2)-1:0] sums4;
    wire [2*(P+3)-1:0] sums8;

    genvar i;
    generate
        for (i = 0; i < 16; i = i + 1) begin : lane
            multiply4 #(
                .A_EXP_BITS(A_EXP_BITS), .A_FRAC_BITS(A_FRAC_BITS), .A_TWOS_COMPLEMENT(A_TWOS_COMPLEMENT),
                .B_EXP_BITS(B_EXP_BITS), .B_FRAC_BITS(B_FRAC_BITS), .B_TWOS_COMPLEMENT(B_TWOS_COMPLEMENT), .PRODUCT_BITS(P)
            ) multiply (.a(a[4*i+:4]), .b(b[4*i+:4]), .product(products[P*i+:P]));
            assign nonzero[i] = |products[P*i+:P];
        end
    endgenerate

    add_pairs #(.PAIRS(8), .BITS(P))   level1 (.lanes(products), .sums(sums2));
    add_pairs #(.PAIRS(4), .BITS(P+1)) level2 (.lanes(sums2), .sums(sums4));
    add_pairs #(.PAIRS(2), .BITS(P+2)) level3 (.lanes(sums4), .sums(sums8));
    add_pairs #(.PAIRS(1), .BITS(P+3)) level4 (.lanes(sums8), .sums(sum));
    assign any = |nonzero;
endmodule
