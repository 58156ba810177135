/* normals.h: convert once more, for what arrays are full of: normal codes of a float format, to a signed float or integer grid, by a mode
 * that draws nothing. No branch depends on the data but the one that finds such a code. The answers of the mode and of overflow are those
 * of emu_goes_up and emu_overflow, asked once an array (normals.c); the place of a value is found anew. Everything else goes through the
 * steps of convert.c, and a test compares the two.
 */
#ifndef EMU_NORMALS_H
#define EMU_NORMALS_H

#include "cuts.h"

enum { EMU_WIDEST_SHIFT = 62, EMU_NO_EXP = 1 << 24 };

typedef struct emu_normals {
    uint64_t source_sign_bit;
    int64_t source_frac_bits;
    int64_t source_bias;
    uint64_t first_normal;       /* the magnitudes first_normal .. first_normal + normal_count - 1 are taken */
    uint64_t normal_count;
    int64_t frac_bits;           /* a binade has 2^frac_bits magnitudes; integer: 0 */
    int64_t precision;           /* exp - ulp_exp above the lowest binade; integer: more than any exp - unit_exp */
    int64_t lowest_ulp_exp;
    int64_t highest_exp;         /* every value of this exponent is beyond the maximum; a float that wraps: EMU_NO_EXP, above every one */
    uint64_t takes_next;         /* bit 6 * sign + 2 * EMU_LESS_THAN_HALF .. + (the lower magnitude is odd) */
    uint64_t largest[2];
    uint64_t beyond[2];          /* code of what is above `largest`, by sign; wrapped: `largest` has all bits, nothing is */
    uint64_t sign_bit;
    int64_t negates;             /* 1: two's complement */
    uint64_t code_mask;
} emu_normals;

/* Everything one conversion needs, checked. */
enum { EMU_CHUNK = 256 };
enum { EMU_ALL_BY_STEPS = 0, EMU_NORMALS_BY_PLACE = 1, EMU_NORMALS_BY_CUTS = 2 };

typedef struct emu_conversion {
    emu_grid from;
    emu_grid to;
    const emu_rounding *rounding;
    const emu_policy *policy;
    int32_t has_plan; /* EMU_ALL_BY_STEPS ..: which loop normal codes take */
    emu_normals plan; /* by cuts: the fields of the source */
    emu_cuts cuts;
} emu_conversion;

/* Returns the has_plan of a conversion whose first four fields are set, and makes the plan. In normals.c. */
int32_t emu_plan_normals(emu_conversion *job);

/* Convert at most EMU_CHUNK codes in place; returns how many of them are open or refused. In convert.c. */
size_t emu_convert_chunk(const emu_conversion *job, uint64_t *codes, const uint32_t *random, size_t count, uint8_t *states);

/* 1 or 0 */
static inline uint64_t emu_is_normal(const emu_normals *plan, uint64_t code)
{
    return (code & ~plan->source_sign_bit) - plan->first_normal < plan->normal_count;
}

static inline int64_t emu_smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t emu_larger(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline uint64_t emu_convert_normal(const emu_normals *plan, uint64_t code)
{
    uint64_t fraction_mask = plan->first_normal - 1, magnitude = code & ~plan->source_sign_bit;
    uint64_t sign = (code & plan->source_sign_bit) != 0;
    uint64_t significand = plan->first_normal | (magnitude & fraction_mask);
    /* beyond the maximum the exponent need not grow: the shift of an integer grid would shrink to nothing, the place pass 64 bits */
    int64_t exp = emu_smaller((int64_t)(magnitude >> plan->source_frac_bits) - plan->source_bias, plan->highest_exp);
    int64_t ulp_exp = emu_larger(exp - plan->precision, plan->lowest_ulp_exp);
    uint64_t shift = (uint64_t)emu_smaller(ulp_exp - exp + plan->source_frac_bits, EMU_WIDEST_SHIFT);
    uint64_t kept = significand >> shift, lower = kept << shift, way = ((kept + 1) << shift) - lower, rest = significand - lower;
    uint64_t place = ((uint64_t)(ulp_exp - plan->lowest_ulp_exp) << plan->frac_bits) + kept;
    uint64_t above_half = 2 * rest > way, from_half = 2 * rest >= way, inexact = rest != 0;
    uint64_t next = plan->takes_next >> (6 * sign + 2 * (above_half + from_half) + (place & 1)) & inexact;
    uint64_t rounded = place + next, negated = sign & (uint64_t)plan->negates;
    uint64_t signed_code = (((rounded ^ (0 - negated)) + negated) & plan->code_mask) | (plan->sign_bit & (0 - sign));
    uint64_t largest = sign ? plan->largest[1] : plan->largest[0], beyond = sign ? plan->beyond[1] : plan->beyond[0];
    return rounded > largest ? beyond : signed_code;
}

#endif
