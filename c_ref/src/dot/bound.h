/* bound.h: numbers that are not negative, and as long as sums can be, for the reach of levels. */
#ifndef EMU_BOUND_H
#define EMU_BOUND_H

#include "levels.h"

enum { MOST_SUM_BITS = 1080 };

/* A number that is not negative: below 2^top, and bits * 2^exp where that is known: where it is not too long. */
typedef struct bound {
    int32_t top;
    int32_t is_known;
    int32_t exp;
    emu_wide bits;
} bound;

static bound bound_of(uint64_t bits, int32_t exp)
{
    bound found = {0, 1, 0, {{0}}};
    found.top = emu_bit_length(bits) + exp;
    found.exp = exp;
    found.bits.limbs[0] = bits;
    return found;
}

static bound times(const bound *a, const bound *b)
{
    bound product = {0, 0, 0, {{0}}};
    product.top = a->top + b->top;
    product.exp = a->exp + b->exp;
    product.is_known = a->is_known & b->is_known & (emu_wide_length(&a->bits) + emu_wide_length(&b->bits) <= MOST_SUM_BITS);
    if (product.is_known)
        emu_wide_multiply(&a->bits, &b->bits, &product.bits);
    return product;
}

static bound plus(const bound *a, const bound *b)
{
    bound sum = *a;
    emu_wide more = b->bits;
    sum.top = emu_most(a->top, b->top) + 1;
    sum.exp = emu_least(a->exp, b->exp);
    sum.is_known = a->is_known & b->is_known & (sum.top - sum.exp <= MOST_SUM_BITS);
    if (sum.is_known) {
        emu_wide_shift_left(&more, EMU_WIDE_LIMBS, b->exp - sum.exp);
        emu_wide_shift_left(&sum.bits, EMU_WIDE_LIMBS, a->exp - sum.exp);
        emu_wide_add(&sum.bits, &more, 0);
        sum.top = emu_wide_length(&sum.bits) + sum.exp;
    }
    return sum;
}

/* count: 0 for 2^64, as many as K can have. */
static bound repeated(const bound *one, size_t count)
{
    const bound many = count ? bound_of(count, 0) : bound_of(1, 64);
    return times(one, &many);
}

/* Is a number at most 2^bits - 1 units of 2^unit_exp? */
static int32_t is_within(const bound *one, int32_t bits, int32_t unit_exp)
{
    const bound unit = bound_of(1, unit_exp), next = plus(one, &unit);
    return next.is_known & (next.top - 1 + (emu_wide_spare(&next.bits) + 1 < emu_wide_length(&next.bits)) <= bits + unit_exp);
}

#endif
