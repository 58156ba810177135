// quantize_block: one block of numbers -> element codes and the block scale, step by step as the recipe in spec/recipe says.
//
//   block_amax    the largest magnitude of the lanes, as binary32
//   quantize_mx   E8M0 scale, a power of two taken from the exponent of the maximum: an element only moves its exponent
//   quantize_nv   UE4M3 scale below a binary32 tensor maximum: every step of the recipe is one rounded binary32 operation
//
// Lane i has the bits WIDTH * i and up. The source is bf16 or fp32: SRC_FRAC_BITS 7 or 23. Combinational.

// Magnitudes compare as integers; a NaN lies above Inf, so it wins.
module block_amax #(
    parameter LANES = 16,
    parameter SRC_FRAC_BITS = 7,
    parameter WIDTH = SRC_FRAC_BITS + 9
) (
    input  logic [LANES*WIDTH-1:0] x,
    output logic [31:0]            amax
);
    logic [WIDTH-2:0] largest;
    integer           lane;
    always @* begin
        largest = {(WIDTH-1){1'b0}};
        for (lane = 0; lane < LANES; lane = lane + 1)
            if (x[lane*WIDTH +: WIDTH-1] > largest) largest = x[lane*WIDTH +: WIDTH-1];
    end
    wire [31:0] widened = {1'b0, largest, {(32-WIDTH){1'b0}}};
    assign amax = widened > 32'h7f800000 ? 32'h7fc00000 : widened;
endmodule

// RULE: how the scale follows from exponent field E and fraction M of the maximum, EMAX being the exponent of the largest element:
//   0 floor  E - EMAX      1 ceil  the same, E + 1 where M > 0      2 even  the same after half of an element's last place was added
//   3 rceil  maximum / LARGEST, rounded up to a power of two
// Rules 0 to 2 store code 0 but divide by 2^-126; rule 3 stores code 0 and divides by 1. A NaN gives the scale code 255; its element codes
// mean nothing.
module quantize_mx #(
    parameter LANES = 32,
    parameter SRC_FRAC_BITS = 7,
    parameter DST_EXP_BITS = 2,
    parameter DST_FRAC_BITS = 1,
    parameter DST_BIAS = 1,
    parameter DST_BITS = 1 + DST_EXP_BITS + DST_FRAC_BITS,
    parameter RULE = 0,
    parameter EMAX = 2,
    parameter [31:0] LARGEST = 32'h40c00000,
    parameter WIDTH = SRC_FRAC_BITS + 9
) (
    input  logic [LANES*WIDTH-1:0]    x,
    output logic [LANES*DST_BITS-1:0] codes,
    output logic [7:0]                scale,
    output logic [31:0]               amax
);
    block_amax #(.LANES(LANES), .SRC_FRAC_BITS(SRC_FRAC_BITS)) take_amax (.x(x), .amax(amax));

    wire [31:0] half_place = 32'd1 << (22 - DST_FRAC_BITS);
    wire [31:0] nudged = RULE == 2 ? amax + half_place : amax;
    wire [8:0]  field = {1'b0, nudged[30:23]} + {8'd0, RULE == 1 && nudged[22:0] != 0};
    localparam [8:0] EMAX_9 = EMAX;
    wire [8:0]  lowered = field < EMAX_9 ? 9'd0 : field - EMAX_9;

    wire [31:0] unit;
    generate
        if (RULE == 3) begin : g_divide
            fp32_div divide (.a(amax), .b(LARGEST), .c(unit));
        end else begin : g_no_divide
            assign unit = 32'd0;
        end
    endgenerate
    // up to a power of two; below 2^-126 the code 0 stands for 2^-127, half of the smallest normal number
    wire       above = unit[30:23] == 0 ? unit[22:0] > 23'h400000 : unit[22:0] != 0;
    wire [7:0] raised = unit[30:23] == 8'd255 ? 8'd254 : unit[30:23] + {7'd0, above};

    wire is_nan = amax == 32'h7fc00000;
    assign scale = is_nan ? 8'd255 : RULE == 3 ? raised : lowered[7:0];

    wire [7:0]        used = scale != 0 ? scale : RULE == 3 ? 8'd127 : 8'd1;
    wire signed [9:0] exp_down = $signed({2'd0, used}) - 10'sd127;
    genvar lane;
    generate
        for (lane = 0; lane < LANES; lane = lane + 1) begin : g_lane
            convert4 #(
                .SRC_FRAC_BITS(SRC_FRAC_BITS), .DST_EXP_BITS(DST_EXP_BITS), .DST_FRAC_BITS(DST_FRAC_BITS), .DST_BIAS(DST_BIAS)
            ) element (.x(x[lane*WIDTH +: WIDTH]), .exp_down(exp_down), .r(1'b0), .y(codes[lane*DST_BITS +: DST_BITS]));
        end
    endgenerate
    wire unused = &{1'b0, unit[31], nudged[31], lowered[8]};
endmodule

// ts: the tensor maximum. n_valid: lanes 0 .. n_valid - 1 exist, the others count as zero.
//   ENCODE         largest scale * largest element, binary32: the tensor maximum becomes it
//   AMAX_FACTOR    1 / largest element, rounded to binary32
//   LARGEST        largest element, binary32
module quantize_nv #(
    parameter LANES = 16,
    parameter SRC_FRAC_BITS = 7,
    parameter DST_EXP_BITS = 2,
    parameter DST_FRAC_BITS = 1,
    parameter DST_BIAS = 1,
    parameter DST_BITS = 1 + DST_EXP_BITS + DST_FRAC_BITS,
    parameter [31:0] ENCODE = 32'h45280000,
    parameter [31:0] AMAX_FACTOR = 32'h3e2aaaab,
    parameter [31:0] LARGEST = 32'h40c00000,
    parameter WIDTH = SRC_FRAC_BITS + 9
) (
    input  logic [LANES*WIDTH-1:0]    x,
    input  logic [31:0]               ts,
    input  logic [7:0]                n_valid,
    output logic [LANES*DST_BITS-1:0] codes,
    output logic [7:0]                scale,
    output logic [31:0]               amax
);
    localparam [31:0] ONE = 32'h3f800000;
    localparam [31:0] FLT_MAX = 32'h7f7fffff;
    localparam [31:0] SCALE_MAX = 32'h43e00000;              // 448

    // min(v, FLT_MAX): the one number above it is +Inf; a NaN stays
    function automatic [31:0] finite(input [31:0] v);
        finite = v == 32'h7f800000 ? FLT_MAX : v;
    endfunction
    // clamp(v, -most, most); a NaN stays
    function automatic [31:0] clamp(input [31:0] v, input [30:0] most);
        clamp = v[30:0] > most && v[30:0] <= 31'h7f800000 ? {v[31], most} : v;
    endfunction

    wire [LANES*WIDTH-1:0] valid;
    block_amax #(.LANES(LANES), .SRC_FRAC_BITS(SRC_FRAC_BITS)) take_amax (.x(valid), .amax(amax));

    // once a tensor: a design would keep these three
    wire [31:0] ratio, amax_multiplier, tensor_factor;
    fp32_div take_ratio (.a(ENCODE), .b(ts), .c(ratio));
    wire [31:0] ratio_finite = finite(ratio);
    wire [31:0] tensor_multiplier = ratio_finite[30:0] == 0 ? ONE : ratio_finite;
    fp32_mul take_amax_multiplier (.a(tensor_multiplier), .b(AMAX_FACTOR), .c(amax_multiplier));
    fp32_div take_tensor_factor (.a(ONE), .b(tensor_multiplier), .c(tensor_factor));

    // once a block: the scale, what it is worth, and its reciprocal
    wire [31:0] scale_raw, scale_value, factor, reciprocal;
    wire [3:0]  scale_class;
    fp32_mul take_scale (.a(amax), .b(amax_multiplier), .c(scale_raw));
    convert4 #(
        .DST_EXP_BITS(4), .DST_FRAC_BITS(3), .DST_BIAS(7), .DST_SIGNED(0), .MAX_CODE(126), .NAN_POSITIVE(127), .NAN_NEGATIVE(127)
    ) round_scale (.x(clamp(finite(scale_raw), SCALE_MAX[30:0])), .exp_down(10'sd0), .r(1'b0), .y(scale[6:0]));
    assign scale[7] = 1'b0;
    decode4 #(.EXP_BITS(4), .FRAC_BITS(3), .BIAS(7), .SIGNED(0), .NAN_MAGNITUDE(127)) take_value (
        .code(scale[6:0]), .fp32(scale_value), .cls(scale_class)
    );
    fp32_mul take_factor (.a(scale_value), .b(tensor_factor), .c(factor));
    fp32_div take_reciprocal (.a(ONE), .b(factor), .c(reciprocal));
    wire [31:0] multiplier = finite(reciprocal);

    genvar lane;
    generate
        for (lane = 0; lane < LANES; lane = lane + 1) begin : g_lane
            wire [31:0] scaled;
            wire [31:0] clamped = clamp(scaled, LARGEST[30:0]);
            wire [31:0] plus_zero = clamped[30:0] == 0 ? 32'd0 : clamped;    // -0 becomes 0
            assign valid[lane*WIDTH +: WIDTH] = lane < n_valid ? x[lane*WIDTH +: WIDTH] : {WIDTH{1'b0}};
            fp32_mul scale_element (.a({valid[lane*WIDTH +: WIDTH], {(32-WIDTH){1'b0}}}), .b(multiplier), .c(scaled));
            convert4 #(
                .DST_EXP_BITS(DST_EXP_BITS), .DST_FRAC_BITS(DST_FRAC_BITS), .DST_BIAS(DST_BIAS), .NAN_POSITIVE(0), .NAN_NEGATIVE(0)
            ) element (.x(plus_zero), .exp_down(10'sd0), .r(1'b0), .y(codes[lane*DST_BITS +: DST_BITS]));
        end
    endgenerate
    wire unused = &{1'b0, scale_class};
endmodule
