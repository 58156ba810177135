// multiply4: exact product of two 4-bit codes, a signed integer in units of the product of both finest values.
//
//     E2M1 x E2M1 144 quarters     E1M2 x E1M2 49 sixteenths     INT4 x INT4 64     E2M1 x E1M2 84 eighths
//
// Two INT4 codes meet in one signed multiplier. All others are multiplied as magnitudes: significands first, then the shift of both,
// then the sign. Limits: as element4; PRODUCT_BITS counts the sign bit and is just enough for the largest product.
module multiply4 #(
    parameter A_EXP_BITS = 2,
    parameter A_FRAC_BITS = 1,
    parameter A_TWOS_COMPLEMENT = 0,
    parameter B_EXP_BITS = 2,
    parameter B_FRAC_BITS = 1,
    parameter B_TWOS_COMPLEMENT = 0,
    parameter PRODUCT_BITS = 9
) (
    input  logic [3:0]                     a,
    input  logic [3:0]                     b,
    output logic signed [PRODUCT_BITS-1:0] product
);
    localparam A_SIG = (A_TWOS_COMPLEMENT != 0) ? 4 : A_FRAC_BITS + 1;
    localparam B_SIG = (B_TWOS_COMPLEMENT != 0) ? 4 : B_FRAC_BITS + 1;
    localparam MAG = PRODUCT_BITS - 1;

    generate
        if (A_TWOS_COMPLEMENT != 0 && B_TWOS_COMPLEMENT != 0) begin : integers
            wire signed [3:0] left = a;
            wire signed [3:0] right = b;
            assign product = PRODUCT_BITS'(left) * PRODUCT_BITS'(right);
        end else begin : magnitudes
            wire             sign_a, sign_b;
            wire [A_SIG-1:0] sig_a;
            wire [B_SIG-1:0] sig_b;
            wire [1:0]       shift_a, shift_b;
            element4 #(.EXP_BITS(A_EXP_BITS), .FRAC_BITS(A_FRAC_BITS), .TWOS_COMPLEMENT(A_TWOS_COMPLEMENT)) left (
                .code(a), .sign(sign_a), .significand(sig_a), .shift(shift_a));
            element4 #(.EXP_BITS(B_EXP_BITS), .FRAC_BITS(B_FRAC_BITS), .TWOS_COMPLEMENT(B_TWOS_COMPLEMENT)) right (
                .code(b), .sign(sign_b), .significand(sig_b), .shift(shift_b));

            wire [MAG-1:0] unshifted = MAG'(sig_a) * MAG'(sig_b);
            wire [MAG-1:0] magnitude = unshifted << ({1'b0, shift_a} + {1'b0, shift_b});
            assign product = (sign_a ^ sign_b) ? -{1'b0, magnitude} : {1'b0, magnitude};
        end
    endgenerate
endmodule
