/* arithmetic.c: add, multiply, divide and fma on values. A finite result is exact but for bits below the 64th, which leave a 1 in bit 0:
 * enough to round it once to 58 bits or fewer in every mode. */
#include "../steps.h"

/* 128 bits. */
typedef struct wide {
    uint64_t high;
    uint64_t low;
} wide;

static int32_t wide_bit_length(wide bits)
{
    return bits.high ? 64 + emu_bit_length(bits.high) : emu_bit_length(bits.low);
}

/* By 1 to 127 places. */
static wide shift_left(wide bits, int32_t count)
{
    wide out = {0, 0};
    if (count >= 64) {
        out.high = emu_shift_left(bits.low, count - 64);
    } else {
        out.high = bits.high << count | bits.low >> (64 - count);
        out.low = bits.low << count;
    }
    return out;
}

/* Right shift by any count; bits that fall off leave a 1 at the end. */
static wide jam(wide bits, int32_t count)
{
    wide out = {0, 0};
    int32_t rest;
    if (!count)
        return bits;
    if (count < 64) {
        rest = (bits.low & emu_low_bits(count)) != 0;
        out.high = bits.high >> count;
        out.low = bits.low >> count | bits.high << (64 - count);
    } else {
        rest = bits.low != 0 || (bits.high & emu_low_bits(count - 64)) != 0;
        out.low = emu_shift_right(bits.high, count - 64);
    }
    out.low |= (uint64_t)rest;
    return out;
}

static wide plus(wide a, wide b)
{
    wide out = {a.high + b.high, a.low + b.low};
    out.high += out.low < a.low;
    return out;
}

static wide minus(wide a, wide b)
{
    wide out = {a.high - b.high - (a.low < b.low), a.low - b.low};
    return out;
}

static int32_t is_below(wide a, wide b)
{
    return a.high != b.high ? a.high < b.high : a.low < b.low;
}

/* bits * 2^lsb_exp as a value of at most 64 bits; no bits give a zero. */
static void set_finite(emu_value *value, int32_t sign, wide bits, int32_t lsb_exp)
{
    int32_t excess = wide_bit_length(bits) - 64;
    wide kept = excess > 0 ? jam(bits, excess) : bits;
    value->sign = sign;
    value->significand = kept.low;
    value->value_class = kept.low ? EMU_NORMAL : EMU_ZERO;
    value->lsb_exp = !kept.low ? 0 : excess > 0 ? lsb_exp + excess : lsb_exp;
}

static void set_special(emu_value *value, int32_t value_class, int32_t sign)
{
    value->value_class = value_class;
    value->sign = sign;
    value->lsb_exp = 0;
    value->significand = 0;
}

static wide multiply_64(uint64_t a, uint64_t b)
{
    const uint64_t low = UINT32_MAX;
    uint64_t low_low = (a & low) * (b & low), low_high = (a & low) * (b >> 32), high_low = (a >> 32) * (b & low);
    uint64_t middle = (low_low >> 32) + (low_high & low) + (high_low & low);
    wide out = {(a >> 32) * (b >> 32) + (low_high >> 32) + (high_low >> 32) + (middle >> 32), middle << 32 | (low_low & low)};
    return out;
}

/* (-1)^sign_a * a * 2^exp_a + the same for b; neither is zero. An exact zero is -0 where the mode rounds down, else +0. */
static void add_finite(int32_t sign_a, wide a, int32_t exp_a, int32_t sign_b, wide b, int32_t exp_b, int32_t down, emu_value *sum)
{
    int32_t lead_a = 127 - wide_bit_length(a), lead_b = 127 - wide_bit_length(b), exp;
    wide result;
    a = shift_left(a, lead_a);
    b = shift_left(b, lead_b);
    exp_a -= lead_a;
    exp_b -= lead_b;
    exp = exp_a > exp_b ? exp_a : exp_b;
    a = jam(a, exp - exp_a);
    b = jam(b, exp - exp_b);
    result = sign_a == sign_b ? plus(a, b) : is_below(a, b) ? minus(b, a) : minus(a, b);
    set_finite(sum, sign_a != sign_b && is_below(a, b) ? sign_b : sign_a, result, exp);
    if (!sum->significand)
        sum->sign = down;
}

int32_t emu_rounds_down(const emu_rounding *rounding)
{
    return rounding->choice[1][EMU_LESS_THAN_HALF] == EMU_NEXT && rounding->choice[0][EMU_LESS_THAN_HALF] != EMU_NEXT;
}

/* Sums with NaN, Inf or zero. 1: *sum is set. */
static int32_t add_special(const emu_value *a, const emu_value *b, int32_t down, emu_value *sum)
{
    int32_t opposite = a->value_class == EMU_INFINITE && b->value_class == EMU_INFINITE && a->sign != b->sign;
    if (a->value_class == EMU_NAN || b->value_class == EMU_NAN || opposite)
        set_special(sum, EMU_NAN, 0);
    else if (a->value_class == EMU_ZERO && b->value_class == EMU_ZERO)
        set_special(sum, EMU_ZERO, a->sign == b->sign ? a->sign : down);
    else if (a->value_class == EMU_INFINITE || b->value_class == EMU_ZERO)
        *sum = *a;
    else if (b->value_class == EMU_INFINITE || a->value_class == EMU_ZERO)
        *sum = *b;
    else
        return 0;
    return 1;
}

void emu_add(const emu_value *a, const emu_value *b, const emu_rounding *rounding, emu_value *sum)
{
    wide x = {0, a->significand}, y = {0, b->significand};
    if (!add_special(a, b, emu_rounds_down(rounding), sum))
        add_finite(a->sign, x, a->lsb_exp, b->sign, y, b->lsb_exp, emu_rounds_down(rounding), sum);
}

/* Products with NaN, Inf or zero. 1: *product is set. */
static int32_t multiply_special(const emu_value *a, const emu_value *b, emu_value *product)
{
    int32_t sign = a->sign ^ b->sign, is_zero = a->value_class == EMU_ZERO || b->value_class == EMU_ZERO;
    int32_t is_infinite = a->value_class == EMU_INFINITE || b->value_class == EMU_INFINITE;
    if (a->value_class == EMU_NAN || b->value_class == EMU_NAN || (is_zero && is_infinite))
        set_special(product, EMU_NAN, 0);
    else if (is_zero || is_infinite)
        set_special(product, is_zero ? EMU_ZERO : EMU_INFINITE, sign);
    else
        return 0;
    return 1;
}

void emu_multiply(const emu_value *a, const emu_value *b, emu_value *product)
{
    if (!multiply_special(a, b, product))
        set_finite(product, a->sign ^ b->sign, multiply_64(a->significand, b->significand), a->lsb_exp + b->lsb_exp);
}

void emu_multiply_add(const emu_value *a, const emu_value *b, const emu_value *c, const emu_rounding *rounding, emu_value *sum)
{
    emu_value product;
    wide z = {0, c->significand};
    emu_multiply(a, b, &product);
    if (!add_special(&product, c, emu_rounds_down(rounding), sum))
        add_finite(product.sign, multiply_64(a->significand, b->significand), a->lsb_exp + b->lsb_exp, c->sign, z, c->lsb_exp,
                   emu_rounds_down(rounding), sum);
}

/* Long division of two significands with their leading bits in one place: 63 bits of the quotient, and whether anything is left. */
static void divide_finite(const emu_value *a, const emu_value *b, emu_value *quotient)
{
    int32_t lead = emu_bit_length(a->significand) - emu_bit_length(b->significand);
    uint64_t rest = lead < 0 ? a->significand << -lead : a->significand;
    uint64_t divisor = lead > 0 ? b->significand << lead : b->significand;
    wide bits = {0, 0};
    for (int32_t i = 0; i < 63; i++) {
        uint64_t fits = rest >= divisor;
        bits.low = bits.low << 1 | fits;
        rest = (rest - (fits ? divisor : 0)) << 1;
    }
    bits.low = bits.low << 1 | (rest != 0);
    set_finite(quotient, a->sign ^ b->sign, bits, a->lsb_exp - b->lsb_exp + lead - 63);
}

void emu_divide(const emu_value *a, const emu_value *b, emu_value *quotient)
{
    int32_t sign = a->sign ^ b->sign, both_zero = a->value_class == EMU_ZERO && b->value_class == EMU_ZERO;
    int32_t both_infinite = a->value_class == EMU_INFINITE && b->value_class == EMU_INFINITE;
    if (a->value_class == EMU_NAN || b->value_class == EMU_NAN || both_zero || both_infinite)
        set_special(quotient, EMU_NAN, 0);
    else if (a->value_class == EMU_INFINITE || b->value_class == EMU_ZERO)
        set_special(quotient, EMU_INFINITE, sign);
    else if (a->value_class == EMU_ZERO || b->value_class == EMU_INFINITE)
        set_special(quotient, EMU_ZERO, sign);
    else
        divide_finite(a, b, quotient);
}
