// Units whose operands are E2M1 or E1M2, chosen for each side by one bit: uniform_a, uniform_b = 1 is E1M2. They are measured, not shipped;
// a test compares each mode with the lane of vectors/bench/rtl that has this format alone.

// One product, a signed integer in units of both finest values: quarters, eighths or sixteenths.
module multiply_both (
    input  logic [3:0]        a,
    input  logic [3:0]        b,
    input  logic              uniform_a,
    input  logic              uniform_b,
    output logic signed [8:0] product
);
    wire       normal_a = a[2:1] != 0;
    wire       normal_b = b[2:1] != 0;
    wire [2:0] sig_a = uniform_a ? a[2:0] : {1'b0, normal_a, a[0]};
    wire [2:0] sig_b = uniform_b ? b[2:0] : {1'b0, normal_b, b[0]};
    wire [1:0] shift_a = normal_a && !uniform_a ? a[2:1] - 2'd1 : 2'd0;
    wire [1:0] shift_b = normal_b && !uniform_b ? b[2:1] - 2'd1 : 2'd0;
    wire [7:0] unshifted = 8'(sig_a) * 8'(sig_b);
    wire [7:0] magnitude = unshifted << ({1'b0, shift_a} + {1'b0, shift_b});
    assign product = (a[3] ^ b[3]) ? -{1'b0, magnitude} : {1'b0, magnitude};
endmodule

// The exact sum of 16 products; any: some product is not zero. As dot16.
module dot_both (
    input  logic [63:0]        a,
    input  logic [63:0]        b,
    input  logic               uniform_a,
    input  logic               uniform_b,
    output logic signed [12:0] sum,
    output logic               any
);
    wire [16*9-1:0] products;
    wire [15:0]     nonzero;
    wire [8*10-1:0] sums2;
    wire [4*11-1:0] sums4;
    wire [2*12-1:0] sums8;
    genvar i;
    generate
        for (i = 0; i < 16; i = i + 1) begin : lane
            multiply_both multiply (
                .a(a[4*i+:4]), .b(b[4*i+:4]), .uniform_a(uniform_a), .uniform_b(uniform_b), .product(products[9*i+:9]));
            assign nonzero[i] = |products[9*i+:9];
        end
    endgenerate
    add_pairs #(.PAIRS(8), .BITS(9))  level1 (.lanes(products), .sums(sums2));
    add_pairs #(.PAIRS(4), .BITS(10)) level2 (.lanes(sums2), .sums(sums4));
    add_pairs #(.PAIRS(2), .BITS(11)) level3 (.lanes(sums4), .sums(sums8));
    add_pairs #(.PAIRS(1), .BITS(12)) level4 (.lanes(sums8), .sums(sum));
    assign any = |nonzero;
endmodule

// 64 products, UE4M3 scales, C: lane_nv_like with F = 35 and the integer bits of E2M1. A term of E1M2 has its last bit one place lower for
// each uniform side, so it moves down by as many places more; the floor of the exponent is that of the format.
module lane_both (
    input  logic [255:0] a,
    input  logic [31:0]  sa,
    input  logic [255:0] b,
    input  logic [31:0]  sb,
    input  logic [31:0]  c,
    input  logic         uniform_a,
    input  logic         uniform_b,
    output logic [31:0]  d
);
    localparam F = 35;
    localparam I = 13;
    localparam WIDTH = F + I + 1;
    localparam TERM_BITS = 20;
    localparam TERM_FRAC_BITS = 8;                           // of E2M1 on both sides
    localparam [31:0] NAN = 32'h7fffffff;

    wire [1:0]             below = {1'b0, uniform_a} + {1'b0, uniform_b};
    wire signed [9:0]      floor_exp = uniform_a && uniform_b ? -10'sd136 : uniform_a || uniform_b ? -10'sd138 : -10'sd139;
    wire [4*TERM_BITS-1:0] terms;
    wire [4*10-1:0]        exps;
    wire [3:0]             lives, nans;
    wire [5*WIDTH-1:0]     aligned;
    wire signed [24:0]     sig_c;
    wire signed [9:0]      exp_c;
    wire                   inf_c, nan_c;
    logic signed [9:0]     largest;
    genvar g;
    generate
        for (g = 0; g < 4; g = g + 1) begin : group
            wire signed [12:0] sum;
            wire               any, nan_a, nan_b;
            wire [3:0]         sig_a, sig_b;
            wire signed [9:0]  exp_a, exp_b;
            dot_both dot (.a(a[64*g+:64]), .b(b[64*g+:64]), .uniform_a(uniform_a), .uniform_b(uniform_b), .sum(sum), .any(any));
            scale8 #(.BITS(7), .FRAC_BITS(3), .BIAS(7)) left (.code(sa[8*g+:8]), .significand(sig_a), .exp(exp_a), .nan(nan_a));
            scale8 #(.BITS(7), .FRAC_BITS(3), .BIAS(7)) right (.code(sb[8*g+:8]), .significand(sig_b), .exp(exp_b), .nan(nan_b));
            wire [7:0]         factor = 8'(sig_a) * 8'(sig_b);
            wire signed [8:0]  signed_factor = {1'b0, factor};
            assign terms[TERM_BITS*g+:TERM_BITS] = TERM_BITS'(sum) * TERM_BITS'(signed_factor);
            assign exps[10*g+:10] = exp_a + exp_b;
            assign lives[g] = any && factor != 0;
            assign nans[g] = nan_a || nan_b;
            align_term #(.BITS(TERM_BITS), .LEFT(F - TERM_FRAC_BITS), .WIDTH(WIDTH)) shifter (
                .term(terms[TERM_BITS*g+:TERM_BITS]), .places(largest - exps[10*g+:10] + 10'(below)), .aligned(aligned[WIDTH*g+:WIDTH]));
        end
    endgenerate
    fp32_fields addend (.x(c), .significand(sig_c), .exp(exp_c), .inf(inf_c), .nan(nan_c));
    align_term #(.BITS(25), .LEFT(F - 23), .WIDTH(WIDTH)) shifter_c (
        .term(sig_c), .places(largest - exp_c), .aligned(aligned[4*WIDTH+:WIDTH]));

    integer i;
    always @* begin
        largest = floor_exp;
        for (i = 0; i < 4; i = i + 1)
            if (lives[i] && $signed(exps[10*i+:10]) > largest) largest = exps[10*i+:10];
        if (sig_c != 25'sd0 && exp_c > largest) largest = exp_c;
    end

    wire signed [WIDTH-1:0] total = ((aligned[0+:WIDTH] + aligned[WIDTH+:WIDTH])
        + (aligned[2*WIDTH+:WIDTH] + aligned[3*WIDTH+:WIDTH])) + aligned[4*WIDTH+:WIDTH];
    wire [31:0] rounded;
    round_fp32 #(.WIDTH(WIDTH)) finish (.total(total), .top_exp(largest + 10'(I)), .rounded(rounded));
    assign d = (|nans || nan_c) ? NAN : inf_c ? {c[31], 8'hff, 23'd0} : rounded;
endmodule
