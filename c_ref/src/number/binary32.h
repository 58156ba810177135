/* binary32.h: IEEE 754 binary32 arithmetic on bit patterns, ties to even, as small integer routines. Every NaN result is 0x7FC00000. */
#ifndef EMU_BINARY32_H
#define EMU_BINARY32_H

#include "../steps.h"

enum { EMU_B32_INF = 0x7F800000, EMU_B32_NAN = 0x7FC00000, EMU_B32_MAGNITUDE = 0x7FFFFFFF };

/* A finite value that is not zero: significand with its leading bit at bit 23, and the biased exponent of that bit (below 1: subnormal). */
typedef struct emu_b32_parts {
    uint64_t significand;
    int32_t exp;
} emu_b32_parts;

/* logarithm.c */
uint32_t emu_b32_log2(uint32_t a);

static inline int32_t emu_b32_is_nan(uint32_t a)
{
    return (a & EMU_B32_MAGNITUDE) > EMU_B32_INF;
}

/* Right shift by any count; bits that fall off leave a 1 at the end. */
static inline uint64_t emu_b32_jam(uint64_t bits, int32_t count)
{
    return count > 63 ? bits != 0 : bits >> count | ((bits & (((uint64_t)1 << count) - 1)) != 0);
}

static inline emu_b32_parts emu_b32_take_apart(uint32_t a)
{
    uint32_t magnitude = a & EMU_B32_MAGNITUDE;
    emu_b32_parts parts = {(magnitude & 0x7FFFFF) | 0x800000, (int32_t)(magnitude >> 23)};
    if (magnitude < 0x800000) {
        int32_t shift = 24 - emu_bit_length(magnitude);
        parts.significand = (uint64_t)magnitude << shift;
        parts.exp = 1 - shift;
    }
    return parts;
}

/* significand: leading bit at bit 62, whose biased exponent is exp; bit 0 may stand for bits that were lost. Rounds to 24 bits. */
static inline uint32_t emu_b32_put_together(uint32_t sign, int32_t exp, uint64_t significand)
{
    const uint64_t half = (uint64_t)1 << 38;
    uint64_t kept, rest;
    if (exp >= 255)
        return sign | EMU_B32_INF;
    if (exp < 1) {
        significand = emu_b32_jam(significand, 1 - exp);
        exp = 1;
    }
    kept = significand >> 39;
    rest = significand & (2 * half - 1);
    kept += rest > half || (rest == half && (kept & 1));
    return sign | (((uint32_t)(exp - 1) << 23) + (uint32_t)kept); /* a carry goes into the exponent, up to Inf */
}

/* The same for a significand whose leading bit lies anywhere up to bit 62; 0 gives +0. */
static inline uint32_t emu_b32_normalize(uint32_t sign, int32_t exp, uint64_t significand)
{
    int32_t shift = 63 - emu_bit_length(significand);
    if (!significand)
        return 0;
    return emu_b32_put_together(sign, exp - shift, significand << shift);
}

/* Sum of two terms given as significands with leading bits at most at bit 61 and the biased exponent that bit 61 would have. */
static inline uint32_t emu_b32_add_terms(uint32_t sign_a, int32_t exp_a, uint64_t a, uint32_t sign_b, int32_t exp_b, uint64_t b)
{
    int32_t exp = exp_a > exp_b ? exp_a : exp_b;
    a = emu_b32_jam(a, exp - exp_a);
    b = emu_b32_jam(b, exp - exp_b);
    if (sign_a == sign_b)
        return emu_b32_normalize(sign_a, exp + 1, a + b);
    return a >= b ? emu_b32_normalize(sign_a, exp + 1, a - b) : emu_b32_normalize(sign_b, exp + 1, b - a);
}

static inline uint32_t emu_b32_add(uint32_t a, uint32_t b)
{
    uint32_t sign_a = a & ~(uint32_t)EMU_B32_MAGNITUDE, sign_b = b & ~(uint32_t)EMU_B32_MAGNITUDE;
    uint32_t size_a = a ^ sign_a, size_b = b ^ sign_b;
    emu_b32_parts x, y;
    if (size_a >= EMU_B32_INF || size_b >= EMU_B32_INF) {
        if (size_a > EMU_B32_INF || size_b > EMU_B32_INF || (size_a == size_b && sign_a != sign_b))
            return EMU_B32_NAN;
        return size_a == EMU_B32_INF ? a : b;
    }
    if (!size_a || !size_b)
        return size_a ? a : size_b ? b : a & b; /* two zeros: -0 where both are */
    x = emu_b32_take_apart(a);
    y = emu_b32_take_apart(b);
    return emu_b32_add_terms(sign_a, x.exp, x.significand << 38, sign_b, y.exp, y.significand << 38);
}

static inline uint32_t emu_b32_sub(uint32_t a, uint32_t b)
{
    return emu_b32_add(a, b ^ ~(uint32_t)EMU_B32_MAGNITUDE);
}

/* The product of two normal numbers whose product is normal, or passes the maximum by rounding; *is_normal 0: something else. */
static inline uint64_t emu_b32_mul_normal(uint64_t a, uint64_t b, uint64_t *is_normal)
{
    uint64_t exp_a = a >> 23 & 0xFF, exp_b = b >> 23 & 0xFF, sign = (a ^ b) & 0x80000000;
    uint64_t product = ((a & 0x7FFFFF) | 0x800000) * ((b & 0x7FFFFF) | 0x800000); /* leading bit at bit 46 or 47 */
    uint64_t top = product >> 47, biased_twice = exp_a + exp_b + top; /* the result's biased exponent, and 127 more */
    uint64_t kept = top ? product >> 24 : product >> 23, half = top ? 0x800000 : 0x400000, rest = product & (2 * half - 1);
    uint64_t above = rest > half, tie = rest == half, normal_a = exp_a - 1 < 254, normal_b = exp_b - 1 < 254;
    uint64_t normal_result = biased_twice - 128 < 254;
    kept += above | (tie & kept);
    *is_normal = normal_a & normal_b & normal_result;
    return sign | (((biased_twice - 128) << 23) + kept);
}

static inline uint32_t emu_b32_mul(uint32_t a, uint32_t b)
{
    uint32_t sign = (a ^ b) & ~(uint32_t)EMU_B32_MAGNITUDE, size_a = a & EMU_B32_MAGNITUDE, size_b = b & EMU_B32_MAGNITUDE;
    emu_b32_parts x, y;
    uint64_t product;
    int32_t top;
    if (size_a >= EMU_B32_INF || size_b >= EMU_B32_INF)
        return size_a > EMU_B32_INF || size_b > EMU_B32_INF || !size_a || !size_b ? EMU_B32_NAN : sign | EMU_B32_INF;
    if (!size_a || !size_b)
        return sign;
    x = emu_b32_take_apart(a);
    y = emu_b32_take_apart(b);
    product = x.significand * y.significand; /* leading bit at bit 46 or 47 */
    top = (int32_t)(product >> 47);
    return emu_b32_put_together(sign, x.exp + y.exp - 127 + top, product << (16 - top));
}

static inline uint32_t emu_b32_div(uint32_t a, uint32_t b)
{
    uint32_t sign = (a ^ b) & ~(uint32_t)EMU_B32_MAGNITUDE, size_a = a & EMU_B32_MAGNITUDE, size_b = b & EMU_B32_MAGNITUDE;
    emu_b32_parts x, y;
    uint64_t quotient;
    int32_t top;
    if (size_a > EMU_B32_INF || size_b > EMU_B32_INF || (size_a == size_b && (!size_a || size_a == EMU_B32_INF)))
        return EMU_B32_NAN;
    if (size_a == EMU_B32_INF || !size_b)
        return sign | EMU_B32_INF;
    if (!size_a || size_b == EMU_B32_INF)
        return sign;
    x = emu_b32_take_apart(a);
    y = emu_b32_take_apart(b);
    quotient = (x.significand << 39) / y.significand; /* leading bit at bit 38 or 39 */
    top = (int32_t)(quotient >> 39);
    quotient = quotient << 1 | ((x.significand << 39) % y.significand != 0);
    return emu_b32_put_together(sign, x.exp - y.exp + 126 + top, quotient << (23 - top));
}

static inline uint32_t emu_b32_fma(uint32_t a, uint32_t b, uint32_t c)
{
    uint32_t sign = (a ^ b) & ~(uint32_t)EMU_B32_MAGNITUDE, size_a = a & EMU_B32_MAGNITUDE, size_b = b & EMU_B32_MAGNITUDE;
    uint32_t sign_c = c & ~(uint32_t)EMU_B32_MAGNITUDE, size_c = c ^ sign_c;
    emu_b32_parts x, y, z;
    uint64_t product;
    if (size_a >= EMU_B32_INF || size_b >= EMU_B32_INF || size_c >= EMU_B32_INF)
        return emu_b32_add(size_a >= EMU_B32_INF || size_b >= EMU_B32_INF ? emu_b32_mul(a, b) : 0, c);
    if (!size_a || !size_b)
        return emu_b32_add(sign, c);
    x = emu_b32_take_apart(a);
    y = emu_b32_take_apart(b);
    product = x.significand * y.significand << 14; /* leading bit at bit 60 or 61: exact */
    if (!size_c)
        return emu_b32_normalize(sign, x.exp + y.exp - 127 + 2, product);
    z = emu_b32_take_apart(c);
    return emu_b32_add_terms(sign, x.exp + y.exp - 127 + 1, product, sign_c, z.exp, z.significand << 38);
}

/* Ordered like the values; both zeros give 0. Not for NaN. */
static inline int32_t emu_b32_order(uint32_t a)
{
    int32_t magnitude = (int32_t)(a & EMU_B32_MAGNITUDE);
    return a >> 31 ? -magnitude : magnitude;
}

/* Of two equal values the first. drop: a NaN gives way to the other; else it is the result. */
static inline uint32_t emu_b32_min(uint32_t a, uint32_t b, int32_t drop)
{
    if (emu_b32_is_nan(a) || emu_b32_is_nan(b))
        return !drop ? EMU_B32_NAN : !emu_b32_is_nan(a) ? a : !emu_b32_is_nan(b) ? b : EMU_B32_NAN;
    return emu_b32_order(b) < emu_b32_order(a) ? b : a;
}

static inline uint32_t emu_b32_max(uint32_t a, uint32_t b, int32_t drop)
{
    if (emu_b32_is_nan(a) || emu_b32_is_nan(b))
        return !drop ? EMU_B32_NAN : !emu_b32_is_nan(a) ? a : !emu_b32_is_nan(b) ? b : EMU_B32_NAN;
    return emu_b32_order(a) < emu_b32_order(b) ? b : a;
}

static inline uint32_t emu_b32_to_bf16(uint32_t a)
{
    return emu_b32_is_nan(a) ? 0x7FC0 : (a + 0x7FFF + (a >> 16 & 1)) >> 16;
}

static inline uint32_t emu_b32_to_fp16(uint32_t a)
{
    uint32_t sign = a >> 16 & 0x8000, size = a & EMU_B32_MAGNITUDE, kept, rest, half;
    int32_t shift = 13;
    if (size > EMU_B32_INF)
        return 0x7E00;
    if (size >= 0x47800000) /* 65536 */
        return sign | 0x7C00;
    if (size >= 0x38800000) { /* 2^-14 */
        size -= 0x38000000;
    } else {
        shift = 126 - (int32_t)(size >> 23); /* the unit is 2^-24 */
        size = shift > 25 ? 0 : (size & 0x7FFFFF) | 0x800000;
        shift = shift > 25 ? 13 : shift;
    }
    kept = size >> shift;
    half = (uint32_t)1 << (shift - 1);
    rest = size & (2 * half - 1);
    return sign | (kept + (rest > half || (rest == half && (kept & 1))));
}

#endif
