// element4: 4-bit code -> sign, significand and shift; value = (-1)^sign * (significand << shift) in units of the format's finest value.
//
// EXP_BITS = 2, FRAC_BITS = 1   E2M1: 0 1 2 3 4 6 8 12 halves
// EXP_BITS = 1, FRAC_BITS = 2   E1M2: 0 .. 7 quarters; one exponent bit is a uniform grid, the hidden bit is the exponent field itself.
//                               So this is E0M3, too: 0 .. 7 ones
// TWOS_COMPLEMENT = 1           INT4: -8 .. 7; magnitude 8 is the reason for the fourth bit
//
// Limits: no NaN and no Inf, as in every 4-bit format here. -0 has significand 0 and sign 1.
module element4 #(
    parameter EXP_BITS = 2,
    parameter FRAC_BITS = 1,
    parameter TWOS_COMPLEMENT = 0,
    parameter SIG_BITS = (TWOS_COMPLEMENT != 0) ? 4 : FRAC_BITS + 1
) (
    input  logic [3:0]          code,
    output logic                sign,
    output logic [SIG_BITS-1:0] significand,
    output logic [1:0]          shift
);
    assign sign = code[3];
    generate
        if (TWOS_COMPLEMENT != 0) begin : integers
            assign significand = sign ? -code : code;
            assign shift = 2'd0;
        end else if (EXP_BITS == 1) begin : uniform
            assign significand = code[2:0];
            assign shift = 2'd0;
        end else begin : floats
            wire [EXP_BITS-1:0] exp_field = code[2:FRAC_BITS];
            wire                is_normal = exp_field != 0;
            assign significand = {is_normal, code[FRAC_BITS-1:0]};
            assign shift = is_normal ? exp_field - 1'b1 : 2'd0;
        end
    endgenerate
endmodule
