// fp32_fields: binary32 bits -> signed significand, exponent, class; value = significand * 2^(exp - 23). Subnormals keep -126.
module fp32_fields (
    input  logic [31:0]        x,
    output logic signed [24:0] significand,
    output logic signed [9:0]  exp,
    output logic               inf,
    output logic               nan
);
    wire        is_normal = x[30:23] != 8'd0;
    wire        is_top = x[30:23] == 8'hff;
    wire [24:0] magnitude = {1'b0, is_normal, x[22:0]};
    assign significand = x[31] ? -magnitude : magnitude;
    assign exp = {2'b00, is_normal ? x[30:23] : 8'd1} - 10'd127;
    assign inf = is_top && x[22:0] == 23'd0;
    assign nan = is_top && x[22:0] != 23'd0;
endmodule
