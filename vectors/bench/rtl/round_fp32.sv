// round_fp32: a signed integer -> binary32, rounded once: toward zero, or with NEAREST to nearest, ties to the even code.
//
// top_exp: exponent of the sign bit's place, so value = total * 2^(top_exp - (WIDTH - 1)). The leading one moves up to that place, but no
// further than exponent -126: below it the result is subnormal. So top_exp >= -126 is wanted, and that is what the floor of E is for.
// Beyond the largest number: infinity of the sign. A zero, also one that a negative sum is cut to, is +0.
module round_fp32 #(
    parameter WIDTH = 49,
    parameter NEAREST = 0
) (
    input  logic signed [WIDTH-1:0] total,
    input  logic signed [9:0]       top_exp,
    output logic [31:0]             rounded
);
    wire             sign = total[WIDTH-1];
    wire [WIDTH-1:0] magnitude = sign ? -total : total;

    // up by 2^k places where so many leading bits are zero and `most` allows it: left = min(leading zeros, most)
    localparam BITS = $clog2(WIDTH);
    localparam [9:0] ALL = (1 << BITS) - 1;
    wire [9:0]        most = top_exp + 10'sd126;
    logic [WIDTH-1:0] moved;
    logic [BITS-1:0]  left, rest;
    integer           k;
    always @* begin
        moved = magnitude;
        left = {BITS{1'b0}};
        rest = (most > ALL) ? ALL[BITS-1:0] : most[BITS-1:0];
        for (k = BITS - 1; k >= 0; k = k - 1)
            if (rest >> k != 0 && moved >> (WIDTH - (1 << k)) == 0) begin
                moved = moved << (1 << k);
                left[k] = 1'b1;
                rest[k] = 1'b0;                              // where a higher bit is left, `most` does not bind any more
            end
    end
    wire             is_normal = moved[WIDTH-1];

    // significand, and what is lost below it
    wire [22:0]      fraction = moved[WIDTH-2-:23];
    wire             guard = moved[WIDTH-25];
    wire             sticky = |moved[WIDTH-26:0];
    wire             up = NEAREST != 0 && guard && (sticky || fraction[0]);

    // 10 bits of exponent field: it may pass 255, and a carry out of the fraction enters it
    wire [9:0]       exp_field = is_normal ? top_exp + 10'sd127 - 10'(left) : 10'd0;
    wire [32:0]      code = {exp_field, fraction} + 33'(up);
    wire             is_beyond = code[32:23] >= 10'd255;
    wire             is_zero = code == 33'd0;
    assign rounded = {sign && !is_zero, is_beyond ? {8'hff, 23'd0} : code[30:0]};
endmodule
