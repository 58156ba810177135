/* What a careful author of kernels writes in an hour, for finite numbers alone: one loop over whole arrays, thresholds instead of tables, no
 * intrinsics. The compiler makes vectors of it. tools/bench measures emu beside it, and compares the answers first. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define MAGNITUDE 0x7FFFFFFFu

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The E2M1 code nearest to x, ties to even, saturating: how many middles of neighbours lie below, and the sign. */
static uint8_t e2m1(float x)
{
    float a = float_of(bits_of(x) & MAGNITUDE);
    int code = (a > 0.25f) + (a >= 0.75f) + (a > 1.25f) + (a >= 1.75f) + (a > 2.5f) + (a >= 3.5f) + (a > 5.0f);
    return (uint8_t)(code | (int)(bits_of(x) >> 31) << 3);
}

void plain_convert(const float *x, uint8_t *codes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        codes[i] = e2m1(x[i]);
}

static float e2m1_value(uint32_t code)
{
    uint32_t exponent = code >> 1 & 3, half = code & 1;
    uint32_t magnitude = exponent ? (exponent + 126) << 23 | half << 22 : half * 0x3F000000u;
    return float_of(magnitude | (code & 8) << 28);
}

void plain_decode(const uint8_t *codes, float *y, size_t count)
{
    for (size_t i = 0; i < count; i++)
        y[i] = e2m1_value(codes[i]);
}

/* MXFP4 with the scale rounded down: 2^(exponent of the block's maximum - 2). */
void plain_mxfp4(const float *x, uint8_t *codes, uint8_t *scales, size_t blocks)
{
    for (size_t block = 0; block < blocks; block++) {
        const float *from = x + 32 * block;
        uint32_t amax = 0;
        for (int i = 0; i < 32; i++) {
            uint32_t a = bits_of(from[i]) & MAGNITUDE;
            amax = a > amax ? a : amax;
        }
        int scale = (int)(amax >> 23) - 2;
        scale = scale < 0 ? 0 : scale;
        scales[block] = (uint8_t)scale;
        float divisor = float_of(scale ? (uint32_t)scale << 23 : 1u << 23);
        for (int i = 0; i < 32; i++)
            codes[32 * block + (size_t)i] = e2m1(from[i] / divisor);
    }
}

/* The value of an unsigned E4M3 code. */
static float ue4m3_value(uint32_t code)
{
    uint32_t exponent = code >> 3;
    return exponent ? float_of((exponent + 120) << 23 | (code & 7) << 20) : (float)code * 0x1p-9f;
}

/* The E4M3 code nearest to x >= 0, ties to even, at most 448. */
static uint32_t ue4m3(float x)
{
    x = x < 448.0f ? x : 448.0f;
    if (x < 0x1p-6f)
        return bits_of(x + 0x1p14f) - bits_of(0x1p14f);
    uint32_t bits = bits_of(x);
    return (bits + 0x7FFFF + (bits >> 20 & 1) >> 20) - (120 << 3);
}

/* NVFP4 as Transformer Engine's reference quantizer has it; returns the tensor's maximum. */
float plain_nvfp4(const float *x, uint8_t *codes, uint8_t *scales, size_t blocks)
{
    uint32_t most = 0;
    for (size_t i = 0; i < 16 * blocks; i++) {
        uint32_t a = bits_of(x[i]) & MAGNITUDE;
        most = a > most ? a : most;
    }
    float tensor = 2688.0f / float_of(most), raw = tensor * (1.0f / 6), back = 1.0f / tensor;
    for (size_t block = 0; block < blocks; block++) {
        const float *from = x + 16 * block;
        uint32_t amax = 0;
        for (int i = 0; i < 16; i++) {
            uint32_t a = bits_of(from[i]) & MAGNITUDE;
            amax = a > amax ? a : amax;
        }
        uint32_t scale = ue4m3(float_of(amax) * raw);
        scales[block] = (uint8_t)scale;
        float multiplier = 1.0f / (ue4m3_value(scale) * back);
        multiplier = multiplier < 0x1.fffffep127f ? multiplier : 0x1.fffffep127f;
        for (int i = 0; i < 16; i++) {
            float scaled = from[i] * multiplier;
            codes[16 * block + (size_t)i] = e2m1(scaled + 0.0f); /* -0 becomes 0 */
        }
    }
    return float_of(most);
}

void plain_nvfp4_back(const uint8_t *codes, const uint8_t *scales, float tensor, float *y, size_t blocks)
{
    for (size_t block = 0; block < blocks; block++) {
        float factor = ue4m3_value(scales[block]) * tensor * float_of(0x39C30C31);
        for (int i = 0; i < 16; i++)
            y[16 * block + (size_t)i] = e2m1_value(codes[16 * block + (size_t)i]) * factor;
    }
}
