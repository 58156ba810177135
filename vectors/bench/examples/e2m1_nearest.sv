// The arithmetic of the examples beside it: bf16 to E2M1, to nearest, ties to the even code; NaN gives 7.
module e2m1_nearest (
    input  logic [15:0] bf16,
    output logic [3:0]  e2m1
);
    wire [14:0] size = bf16[14:0];
    // the midpoints between codes are 0.25 0.75 1.25 1.75 2.5 3.5 5
    wire [2:0] code = (size > 15'h3e80) + (size >= 15'h3f40) + (size > 15'h3fa0) + (size >= 15'h3fe0)
                    + (size > 15'h4020) + (size >= 15'h4060) + (size > 15'h40a0);
    assign e2m1 = size > 15'h7f80 ? 4'h7 : {bf16[15], code};
endmodule
