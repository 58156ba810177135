// quantize_rotated: blocks with a binary32 scale, rotated first or not: UFP4.
//
//   rotate16       16-point Hadamard transform by butterflies in binary32, times 1/4, rounded to bf16
//   quantize_fs    scale = maximum / LARGEST in binary32, elements divided by it; ROTATE: of the rotated block
//
// Lane i has the bits WIDTH * i and up. Combinational; it holds 64 adders and 17 dividers: a design would use fewer, one after the other.

// Level l adds and subtracts lanes that are 2^l apart, each result rounded. signs: bit i set negates lane i first.
// level: the lanes after each level, level l in the bits 512 * l and up.
module rotate16 (
    input  logic [511:0]  x,
    input  logic [15:0]   signs,
    output logic [2047:0] level,
    output logic [255:0]  y
);
    localparam [31:0] QUARTER = 32'h3e800000;
    wire [511:0] signed_x;
    genvar lane, at;
    generate
        for (lane = 0; lane < 16; lane = lane + 1) begin : g_sign
            assign signed_x[32*lane +: 32] = {x[32*lane+31] ^ signs[lane], x[32*lane +: 31]};
        end
        for (at = 0; at < 4; at = at + 1) begin : g_level
            wire [511:0] lanes;
            if (at == 0) begin : g_first
                assign lanes = signed_x;
            end else begin : g_next
                assign lanes = level[512*(at-1) +: 512];
            end
            for (lane = 0; lane < 16; lane = lane + 1) begin : g_lane
                if (((lane >> at) & 1) == 0) begin : g_pair
                    localparam OTHER = lane + (1 << at);
                    wire [31:0] a = lanes[32*lane +: 32];
                    wire [31:0] b = lanes[32*OTHER +: 32];
                    fp32_add plus (.a(a), .b(b), .c(level[512*at+32*lane +: 32]));
                    fp32_add minus (.a(a), .b({~b[31], b[30:0]}), .c(level[512*at+32*OTHER +: 32]));
                end
            end
        end
        for (lane = 0; lane < 16; lane = lane + 1) begin : g_result
            wire [31:0] scaled;
            fp32_mul quarter (.a(level[1536+32*lane +: 32]), .b(QUARTER), .c(scaled));
            wire        up = scaled[15] & (scaled[14:0] != 0 | scaled[16]);
            wire        is_nan = scaled[30:0] > 31'h7f800000;
            assign y[16*lane +: 16] = is_nan ? 16'h7fc0 : scaled[31:16] + {15'd0, up};    // a carry walks into the exponent, up to Inf
        end
    endgenerate
endmodule

// n_valid: lanes 0 .. n_valid - 1 exist, the others count as zero and keep their codes.
module quantize_fs #(
    parameter SRC_FRAC_BITS = 7,
    parameter DST_EXP_BITS = 1,
    parameter DST_FRAC_BITS = 2,
    parameter DST_BIAS = 1,
    parameter DST_BITS = 1 + DST_EXP_BITS + DST_FRAC_BITS,
    parameter ROTATE = 1,
    parameter [31:0] LARGEST = 32'h3fe00000,
    parameter WIDTH = SRC_FRAC_BITS + 9
) (
    input  logic [16*WIDTH-1:0]    x,
    input  logic [7:0]             n_valid,
    output logic [16*DST_BITS-1:0] codes,
    output logic [31:0]            scale,
    output logic [31:0]            amax
);
    localparam [31:0] ONE = 32'h3f800000;
    wire [511:0] wide, block;
    genvar lane;
    generate
        for (lane = 0; lane < 16; lane = lane + 1) begin : g_wide
            if (WIDTH == 32) begin : g_fp32
                assign wide[32*lane +: 32] = lane < n_valid ? x[WIDTH*lane +: WIDTH] : 32'd0;
            end else begin : g_bf16
                assign wide[32*lane +: 32] = lane < n_valid ? {x[WIDTH*lane +: WIDTH], {(32-WIDTH){1'b0}}} : 32'd0;
            end
        end
        if (ROTATE != 0) begin : g_rotated
            wire [2047:0] level;
            wire [255:0]  y;
            rotate16 rotate (.x(wide), .signs(16'd0), .level(level), .y(y));
            for (lane = 0; lane < 16; lane = lane + 1) begin : g_lane
                assign block[32*lane +: 32] = {y[16*lane +: 16], 16'd0};
            end
            wire unused = &{1'b0, level};
        end else begin : g_plain
            assign block = wide;
        end
    endgenerate

    block_amax #(.LANES(16), .SRC_FRAC_BITS(23)) take_amax (.x(block), .amax(amax));
    wire [31:0] unit;
    fp32_div take_unit (.a(amax), .b(LARGEST), .c(unit));
    assign scale = unit[30:0] == 0 ? ONE : unit;             // a zero block

    generate
        for (lane = 0; lane < 16; lane = lane + 1) begin : g_lane
            wire [31:0] scaled;
            fp32_div divide (.a(block[32*lane +: 32]), .b(scale), .c(scaled));
            convert4 #(
                .DST_EXP_BITS(DST_EXP_BITS), .DST_FRAC_BITS(DST_FRAC_BITS), .DST_BIAS(DST_BIAS), .NAN_POSITIVE(0), .NAN_NEGATIVE(0)
            ) element (.x(scaled), .exp_down(10'sd0), .r(1'b0), .y(codes[lane*DST_BITS +: DST_BITS]));
        end
    endgenerate
endmodule
