/* nvfp4_te_ref in C, right when every field of the fault is zero. Not to be copied into a product: it is slow and made to be broken. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { RATIO = 1, AMAX_MULTIPLIER, SCALE_RAW, TENSOR_FACTOR, FACTOR, RECIPROCAL, SCALED };
enum { OVER_ROW_ENDS = 1, ODD_LAST_BLOCK, COLUMNS_256, COLUMNS_1024, BEYOND_THE_ROW, PAST_THE_END, ROWS_16_BITS, BLOCKS_16_BITS, NO_ZEROS,
       LAST_LANE, SCALE_TRANSPOSED, PAIRS, STATIC_AMAX, ODD_ROWS };

struct fault { int step; unsigned rate; int direction; int rule; };

static float bits_to_float(uint32_t bits) { float value; memcpy(&value, &bits, 4); return value; }
static uint32_t float_to_bits(float value) { uint32_t bits; memcpy(&bits, &value, 4); return bits; }

static float off(float value, float a, float b, int step, const struct fault *f) {
    if (step != f->step) return value;
    uint32_t mixed = (float_to_bits(a) * 0x85EBCA6Bu ^ float_to_bits(b)) * 0x9E3779B1u, bits = float_to_bits(value);
    mixed ^= mixed >> 15;
    if (mixed % f->rate || (bits & 0x7FFFFFFFu) < 2 || (bits & 0x7FFFFFFFu) >= 0x7F7FFFFFu) return value;
    return bits_to_float(bits + (uint32_t)f->direction);
}

static uint8_t e4m3(float value) { /* 0 .. 448 or NaN, to nearest, ties to even */
    if (value != value) return 0x7F;
    if (value < 0.015625f) return (uint8_t)lrintf(value * 512.0f);
    int exponent;
    float fraction = frexpf(value, &exponent);
    long steps = lrintf(fraction * 16.0f); /* 8 .. 16 */
    return (uint8_t)((exponent + 5) * 8 + steps);
}

static float e4m3_value(uint8_t code) {
    if (code == 0x7F) return bits_to_float(0x7FC00000u);
    return code < 8 ? (float)code / 512.0f : ldexpf((float)(8 + (code & 7)), (code >> 3) - 10);
}

static uint8_t e2m1(float value) {
    static const float upper[] = {0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5.0f};
    if (value != value) return 0;
    float magnitude = fabsf(value);
    int code = 0;
    while (code < 7 && (magnitude > upper[code] || (magnitude == upper[code] && code % 2))) code++;
    return (uint8_t)(code | (value < 0 ? 8 : 0));
}

static float least(float value, float most) { return value != value ? value : value < most ? value : most; }

static void quantize(const float *x, size_t rows, size_t columns, float amax, uint8_t *codes, uint8_t *scale, const struct fault *f) {
    const float largest = bits_to_float(0x7F7FFFFFu);
    static float kept;
    if (f->rule == STATIC_AMAX) { if (kept == 0) kept = amax; amax = kept; }
    float multiplier = least(off(2688.0f / amax, 2688.0f, amax, RATIO, f), largest);
    if (multiplier == 0) multiplier = 1;
    float sixth = bits_to_float(0x3E2AAAABu), by_amax = off(multiplier * sixth, multiplier, sixth, AMAX_MULTIPLIER, f);
    float tensor_factor = off(1.0f / multiplier, 1.0f, multiplier, TENSOR_FACTOR, f);
    size_t blocks = (columns + 15) / 16;
    for (size_t row = 0; row < (f->rule == ROWS_16_BITS ? (uint16_t)rows : rows); row++)
        for (size_t block = 0; block < (f->rule == BLOCKS_16_BITS ? (uint16_t)blocks : blocks); block++) {
            float top = 0;
            size_t end = f->rule == LAST_LANE ? 15 : 16;
            for (size_t lane = 0; lane < end; lane++) {
                size_t column = block * 16 + lane;
                if (column >= columns && !(f->rule == OVER_ROW_ENDS && row + 1 < rows) && f->rule != BEYOND_THE_ROW) break;
                float one = fabsf(x[row * columns + column]);
                if (one != one) { top = one; break; }
                if (one > top) top = one;
            }
            float raw = least(off(top * by_amax, top, by_amax, SCALE_RAW, f), largest);
            uint8_t code = e4m3(least(raw, 448.0f));
            float value = e4m3_value(code), factor = off(value * tensor_factor, value, tensor_factor, FACTOR, f);
            float reciprocal = least(off(1.0f / factor, 1.0f, factor, RECIPROCAL, f), largest);
            size_t where = row * blocks + block;
            if (f->rule == SCALE_TRANSPOSED && rows > 128) where = block * rows + row;
            scale[where] = code;
            if ((f->rule == ODD_LAST_BLOCK && blocks % 2 && blocks > 1 && block == blocks - 1) || (f->rule == ODD_ROWS && rows % 2 && row == rows - 1))
                reciprocal = 0;
            for (size_t lane = 0; lane < 16 && (block * 16 + lane < columns || f->rule == PAST_THE_END); lane++) {
                size_t column = block * 16 + lane;
                if (f->rule == PAST_THE_END && column >= columns) { if (row == rows - 1) codes[row * columns + column] = 0; continue; }
                if ((f->rule == COLUMNS_256 && column >= 256) || (f->rule == COLUMNS_1024 && column >= 1024)) { codes[row * columns + column] = 0; continue; }
                float scaled = off(x[row * columns + column] * reciprocal, x[row * columns + column], reciprocal, SCALED, f);
                uint8_t out = e2m1(scaled);
                if (f->rule == PAIRS && block == 3) column ^= column + 1 < columns || column % 2 ? 1 : 0;
                if (f->rule == NO_ZEROS && out == 0) continue;
                codes[row * columns + column] = out;
            }
        }
}

#define KERNEL(name, step, rate, direction, rule)                                                                                      \
    void name(const float *x, size_t rows, size_t columns, float amax, uint8_t *codes, uint8_t *scale) {                               \
        const struct fault f = {step, rate, direction, rule};                                                                          \
        quantize(x, rows, columns, amax, codes, scale, &f);                                                                            \
    }

#include "kernels.inc"
