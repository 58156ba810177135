/* round.h: value -> magnitude on a grid without bounds, one element. The choice sees the discarded part, the sign, the parity of the code
 * and the random bits; it never sees a format's maximum. The checked entry points are in round.c. Included by steps.h.
 *
 * Data decides no branch here that a grid or a mode does not decide already, but for rare values: that keeps the loop over elements fast.
 */
#ifndef EMU_ROUND_H
#define EMU_ROUND_H

/* Where a value lies: the magnitude at or below it and how far above it the value is. */
typedef struct emu_place {
    uint64_t magnitude;
    int32_t beyond;
    int32_t below_all; /* 1: the format has no zero and the value is below its smallest magnitude */
    int32_t ulp_exp;   /* the way to the next magnitude is 2^ulp_exp */
    int32_t shift;     /* ulp_exp - lsb_exp: that many low bits of the significand are discarded; not positive: none */
} emu_place;

/* The discarded part f of a value, in [0, 1). */
typedef struct emu_discarded {
    uint64_t top;      /* floor(f * 2^N) */
    int32_t next_bit;  /* the bit of f below those */
    int32_t rest;      /* 1: something below that bit */
} emu_discarded;

/* `bits`: bit length of the significand. Above the lowest binade the leading bit of the units is the format's hidden one, and each binade
 * has 2^frac_bits magnitudes; in a lowest binade of subnormals the units are the magnitude. */
static inline void emu_place_float(const emu_grid *grid, const emu_value *value, int32_t bits, emu_place *where)
{
    uint64_t hidden = grid->has_subnormals ? 0 : (uint64_t)1 << grid->frac_bits;
    int32_t exp = value->lsb_exp + bits - 1, units_bits;
    uint64_t units;
    where->below_all = exp < grid->lowest_exp && !grid->has_zero;
    if (where->below_all)
        return;
    exp = exp < grid->lowest_exp ? grid->lowest_exp : exp;
    where->ulp_exp = exp - grid->frac_bits;
    where->shift = units_bits = where->ulp_exp - value->lsb_exp;
    units = units_bits > 0 ? emu_shift_right(value->significand, units_bits) : emu_shift_left(value->significand, -units_bits);
    where->magnitude = ((uint64_t)(exp - grid->lowest_exp) << grid->frac_bits) + units - hidden;
    where->beyond = (exp + grid->bias) >> grid->exp_bits != 0;
}

static inline void emu_place_integer(const emu_grid *grid, const emu_value *value, int32_t bits, emu_place *where)
{
    where->ulp_exp = grid->format->unit_exp;
    where->shift = where->ulp_exp - value->lsb_exp;
    if (where->shift > 0) {
        where->magnitude = emu_shift_right(value->significand, where->shift);
    } else {
        where->magnitude = emu_shift_left(value->significand, -where->shift);
        where->beyond = bits - where->shift > 64;
    }
}

/* A zero value has magnitude 0 everywhere, and nothing is discarded. */
static inline void emu_find_place(const emu_grid *grid, const emu_value *value, int32_t bits, emu_place *where)
{
    const emu_place origin = {0, 0, 0, 0, 0};
    *where = origin;
    if (!value->significand)
        where->below_all = !grid->has_zero;
    else if (grid->is_float)
        emu_place_float(grid, value, bits, where);
    else
        emu_place_integer(grid, value, bits, where);
}

/* The low `shift` bits of a significand as a fraction: `bits` top bits, the next bit, and whether anything is left below. */
static inline void emu_discard(uint64_t significand, int32_t shift, int32_t bits, emu_discarded *discarded)
{
    uint64_t low = shift > 0 ? significand & emu_low_bits(shift) : 0;
    int32_t below = shift - bits; /* bits of the fraction under the top ones */
    discarded->top = 0;
    discarded->next_bit = 0;
    discarded->rest = 0;
    if (shift <= 0)
        return;
    if (below <= 0) {
        discarded->top = low << -below;
        return;
    }
    discarded->top = bits ? emu_shift_right(low, below) : 0;
    discarded->next_bit = (int32_t)(emu_shift_right(low, below - 1) & 1);
    discarded->rest = (low & emu_low_bits(below - 1)) != 0;
}

static inline int32_t emu_goes_up(const emu_rounding *rounding, int32_t sign, int32_t is_odd, const emu_discarded *discarded,
                                  uint32_t random)
{
    uint64_t carry = rounding->random_bits ? (uint64_t)1 << rounding->random_bits : 0;
    int32_t below_top = discarded->next_bit | discarded->rest;
    int32_t is_lost = (discarded->top != 0) | below_top;
    int32_t choice;
    uint64_t up;
    switch (rounding->add) {
    case EMU_ADD_CARRY:
        return is_lost & (discarded->top + random >= carry);
    case EMU_ADD_COMPARE:
        return is_lost & ((random < discarded->top) | ((random == discarded->top) & below_top));
    case EMU_ADD_HALF:
        return is_lost & (discarded->top + (uint64_t)discarded->next_bit + random >= carry);
    case EMU_ADD_NEAREST:
        up = (uint64_t)discarded->next_bit & ((uint64_t)discarded->rest | (discarded->top & 1));
        return is_lost & (discarded->top + up + random >= carry);
    default:
        break;
    }
    choice = rounding->choice[sign][discarded->next_bit * (EMU_AT_HALF + discarded->rest)]; /* .. EMU_LESS_THAN_HALF is 0 */
    return is_lost & ((choice == EMU_NEXT) | ((choice == EMU_TO_EVEN_CODE) & is_odd) | ((choice == EMU_TO_ODD_CODE) & !is_odd));
}

/* EMU_ADD_TE_FMA for a value off the grid: the place of the binary32 sum. In round.c. */
void emu_place_after_fma(const emu_grid *grid, const emu_rounding *rounding, const emu_value *value, uint32_t random, emu_place *where);

/* emu_round for a caller that knows the bit length of the significand. */
static inline void emu_round_bits(const emu_grid *grid, const emu_rounding *rounding, const emu_value *value, int32_t bits, uint32_t random,
                                  emu_rounded *rounded)
{
    int32_t sign = grid->is_signed ? value->sign : 0;
    int32_t up = 0;
    emu_discarded discarded;
    emu_place where;
    if (grid->format->format_class == EMU_CODEBOOK) {
        emu_round_to_codebook(grid, rounding, value, bits, random, rounded);
        return;
    }
    emu_find_place(grid, value, bits, &where);
    emu_discard(value->significand, where.shift, rounding->random_bits, &discarded);
    rounded->inexact = where.below_all || discarded.top || discarded.next_bit || discarded.rest;
    if (rounding->add == EMU_ADD_TE_FMA && rounded->inexact && !where.below_all)
        emu_place_after_fma(grid, rounding, value, random, &where);
    else
        up = emu_goes_up(rounding, sign, (int32_t)(where.magnitude & 1), &discarded, random);
    rounded->magnitude = where.magnitude + (uint64_t)up;
    rounded->beyond = where.beyond;
}

static inline void emu_round(const emu_grid *grid, const emu_rounding *rounding, const emu_value *value, uint32_t random,
                             emu_rounded *rounded)
{
    emu_round_bits(grid, rounding, value, emu_bit_length(value->significand), random, rounded);
}

#endif
