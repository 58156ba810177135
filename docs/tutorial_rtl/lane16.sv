// A design with five faults, for docs/tutorial_rtl.md: each is found there, and mended.
// lane16: two groups of 8 E2M1 products, a group a clock, each scaled by a pair of UE4M3 scales, into a 20-bit register of 1/256 that stops
// at its ends; the register leaves as binary32 after the second group.
module lane16 (
    input  logic        clk, rst, in_valid,
    input  logic [31:0] a, b,                                // 8 codes, the first lowest
    input  logic [7:0]  sa, sb,
    output logic        out_valid,
    output logic [31:0] d
);
    // halves: E2M1 codes are 0 .5 1 1.5 2 3 4 6
    function automatic logic signed [4:0] halves(input logic [3:0] code);
        logic [3:0] size;
        case (code[2:0])
            3'd0: size = 0;
            3'd1: size = 0;
            3'd2: size = 2;
            3'd3: size = 3;
            3'd4: size = 4;
            3'd5: size = 6;
            3'd6: size = 8;
            default: size = 12;
        endcase
        halves = code[3] ? -5'(size) : 5'(size);
    endfunction
    // scale = significand * 2^(exponent - 10); the smallest exponent field has no hidden one
    function automatic logic [3:0] significand(input logic [7:0] scale);
        significand = {scale[6:3] != 0, scale[2:0]};
    endfunction
    function automatic logic [3:0] exponent(input logic [7:0] scale);
        exponent = scale[6:3];
    endfunction

    logic signed [11:0] group;                               // in quarters
    integer i;
    always_comb begin
        group = 0;
        for (i = 0; i < 8; i = i + 1) group = group + halves(a[4*i +: 4]) * halves(b[4*i +: 4]);
    end
    // the term in units of 2^-20, the register in units of 2^-8
    wire signed [59:0] term = (60'(group) * $signed({52'd0, significand(sa)}) * $signed({52'd0, significand(sb)}))
                              << (exponent(sa) + 6'(exponent(sb)) - 6'd2);
    logic signed [19:0] register;
    logic               second, is_nan;
    wire signed [19:0] state = second ? register : 20'sd0;
    wire signed [59:0] sum = (60'(state) <<< 12) + term;
    wire signed [59:0] cut = sum >>> 12;
    wire signed [19:0] held = cut[19:0];
    wire               nan = sa[6:0] == 7'h7f || sb[6:0] == 7'h7f;
    always_ff @(posedge clk) begin
        out_valid <= in_valid && second && !rst;
        if (rst) second <= 1'b0;
        else if (in_valid) begin
            register <= held;
            is_nan <= nan;
            second <= ~second;
        end
    end
    // the register as binary32
    wire [19:0] size = register[19] ? -register : register;
    logic [4:0] top;
    always_comb begin
        top = 0;
        for (i = 0; i < 20; i = i + 1) if (size[i]) top = 5'(i);
    end
    wire [23:0] normal = 24'(size) << (5'd23 - top);
    assign d = is_nan ? 32'h7fc00000 : size == 0 ? 32'd0 : {register[19], 8'(8'd119 + top), normal[22:0]};
endmodule
