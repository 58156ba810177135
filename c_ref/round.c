/* round.c: value -> magnitude on a grid without bounds. The choice sees the discarded part, the sign, the parity of the code and the
 * random bits; it never sees a format's maximum. */
#include "steps.h"

/* Where a value lies: the magnitude at or below it and how far above it the value is. */
typedef struct place {
    uint64_t magnitude;
    int32_t beyond;
    int32_t below_all; /* 1: the format has no zero and the value is below its smallest magnitude */
    int32_t ulp_exp;   /* the way to the next magnitude is 2^ulp_exp */
    int32_t shift;     /* ulp_exp - lsb_exp: that many low bits of the significand are discarded; not positive: none */
} place;

int32_t emu_check_rounding(const emu_rounding *rounding, const emu_format *destination)
{
    int32_t is_codebook;
    if (!rounding || !destination)
        return EMU_ERROR_NULL;
    is_codebook = destination->format_class == EMU_CODEBOOK;
    if (rounding->add < EMU_ADD_NONE || rounding->add > EMU_ADD_TE_FMA || (is_codebook && rounding->add == EMU_ADD_TE_FMA))
        return EMU_ERROR_ROUNDING;
    if (rounding->add == EMU_ADD_NONE ? rounding->random_bits != 0 : rounding->random_bits < 1 || rounding->random_bits > EMU_MAX_RANDOM_BITS)
        return EMU_ERROR_ROUNDING;
    for (int32_t sign = 0; sign < 2; sign++) {
        if (rounding->beyond_max[sign] != EMU_STOP_AT_MAX && rounding->beyond_max[sign] != EMU_GO_AWAY)
            return EMU_ERROR_ROUNDING;
        for (int32_t part = 0; rounding->add == EMU_ADD_NONE && part < 3; part++) {
            int32_t choice = rounding->choice[sign][part];
            if (choice < EMU_KEEP || choice > EMU_TO_ODD_CODE)
                return EMU_ERROR_ROUNDING;
            if (is_codebook && choice >= EMU_TO_EVEN_CODE && (choice != EMU_TO_EVEN_CODE || part != EMU_AT_HALF))
                return EMU_ERROR_ROUNDING;
        }
    }
    return EMU_OK;
}

static void place_float(const emu_grid *grid, const emu_value *value, place *where)
{
    uint64_t hidden = (uint64_t)1 << grid->frac_bits;
    int32_t exp = value->lsb_exp + emu_bit_length(value->significand) - 1;
    uint64_t significand;
    if (exp < grid->lowest_exp)
        where->below_all = !grid->has_zero;
    if (where->below_all)
        return;
    if (exp < grid->lowest_exp)
        exp = grid->lowest_exp;
    where->ulp_exp = exp - grid->frac_bits;
    where->shift = where->ulp_exp - value->lsb_exp;
    significand = where->shift > 0 ? emu_shift_right(value->significand, where->shift) : emu_shift_left(value->significand, -where->shift);
    if (significand < hidden) {
        where->magnitude = significand;
    } else {
        int32_t exp_field = exp + grid->bias;
        where->magnitude = ((uint64_t)exp_field << grid->frac_bits) + significand - hidden;
        where->beyond = exp_field >> grid->exp_bits != 0;
    }
}

static void place_integer(const emu_grid *grid, const emu_value *value, place *where)
{
    where->ulp_exp = grid->format->unit_exp;
    where->shift = where->ulp_exp - value->lsb_exp;
    if (where->shift > 0) {
        where->magnitude = emu_shift_right(value->significand, where->shift);
    } else {
        where->magnitude = emu_shift_left(value->significand, -where->shift);
        where->beyond = emu_bit_length(value->significand) - where->shift > 64;
    }
}

/* A zero value has magnitude 0 everywhere, and nothing is discarded. */
static void find_place(const emu_grid *grid, const emu_value *value, place *where)
{
    const place origin = {0, 0, 0, 0, 0};
    *where = origin;
    if (!value->significand)
        where->below_all = !grid->has_zero;
    else if (grid->is_float)
        place_float(grid, value, where);
    else
        place_integer(grid, value, where);
}

/* The low `shift` bits of a significand as a fraction: `bits` top bits, the next bit, and whether anything is left below. */
static void discard(uint64_t significand, int32_t shift, int32_t bits, emu_discarded *discarded)
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
    discarded->top = emu_shift_right(low, below);
    discarded->next_bit = (int32_t)(emu_shift_right(low, below - 1) & 1);
    discarded->rest = (low & emu_low_bits(below - 1)) != 0;
}

int32_t emu_goes_up(const emu_rounding *rounding, int32_t sign, int32_t is_odd, const emu_discarded *discarded, uint32_t random)
{
    uint64_t carry = rounding->random_bits ? (uint64_t)1 << rounding->random_bits : 0;
    int32_t below_top = discarded->next_bit || discarded->rest;
    int32_t choice;
    if (!discarded->top && !below_top)
        return 0;
    switch (rounding->add) {
    case EMU_ADD_CARRY:
        return discarded->top + random >= carry;
    case EMU_ADD_COMPARE:
        return random < discarded->top || (random == discarded->top && below_top);
    case EMU_ADD_HALF:
        return discarded->top + (uint64_t)discarded->next_bit + random >= carry;
    default:
        break;
    }
    choice = rounding->choice[sign][!discarded->next_bit ? EMU_LESS_THAN_HALF : discarded->rest ? EMU_MORE_THAN_HALF : EMU_AT_HALF];
    return choice == EMU_NEXT || (choice == EMU_TO_EVEN_CODE && is_odd) || (choice == EMU_TO_ODD_CODE && !is_odd);
}

/* significand * 2^lsb_exp with the leading bit moved to bit 61; bits that fall off leave a 1 at the end. */
static uint64_t lead_to_61(uint64_t significand, int32_t *lsb_exp)
{
    int32_t shift = 62 - emu_bit_length(significand);
    *lsb_exp -= shift;
    if (shift >= 0)
        return significand << shift;
    return emu_shift_right(significand, -shift) | ((significand & emu_low_bits(-shift)) != 0);
}

/* Shift right; bits that fall off leave a 1 at the end. */
static uint64_t shift_to_sticky(uint64_t bits, int32_t count)
{
    return emu_shift_right(bits, count) | ((bits & emu_low_bits(count)) != 0);
}

/* One binary32 fma: value + random * 2^step_exp, rounded to 24 bits (fewer for subnormals, no maximum), ties to even. */
static void add_in_binary32(const emu_value *value, uint32_t random, int32_t step_exp, emu_value *sum)
{
    int32_t lsb_exp = value->lsb_exp, small_exp = step_exp, shift;
    uint64_t bits = lead_to_61(value->significand, &lsb_exp), kept;
    emu_discarded discarded;
    if (random) {
        uint64_t small = lead_to_61(random, &small_exp);
        if (small_exp > lsb_exp) {
            bits = shift_to_sticky(bits, small_exp - lsb_exp);
            lsb_exp = small_exp;
        } else {
            small = shift_to_sticky(small, lsb_exp - small_exp);
        }
        bits += small;
    }
    shift = emu_bit_length(bits) - 24;
    if (lsb_exp + shift < -149)
        shift = -149 - lsb_exp;
    kept = emu_shift_right(bits, shift);
    discard(bits, shift, 0, &discarded);
    kept += (uint64_t)(discarded.next_bit && (discarded.rest || (kept & 1)));
    sum->significand = kept;
    sum->lsb_exp = lsb_exp + shift;
}

/* EMU_ADD_TE_FMA for a value off the grid: the place of the binary32 sum. */
static void place_after_fma(const emu_grid *grid, const emu_rounding *rounding, const emu_value *value, uint32_t random, place *where)
{
    emu_value sum = *value;
    add_in_binary32(value, random, where->ulp_exp - rounding->random_bits, &sum);
    find_place(grid, &sum, where);
}

void emu_round(const emu_grid *grid, const emu_rounding *rounding, const emu_value *value, uint32_t random, emu_rounded *rounded)
{
    int32_t sign = grid->is_signed ? value->sign : 0;
    int32_t up = 0;
    emu_discarded discarded;
    place where;
    if (grid->format->format_class == EMU_CODEBOOK) {
        emu_round_to_codebook(grid->format, rounding, value, random, rounded);
        return;
    }
    find_place(grid, value, &where);
    discard(value->significand, where.shift, rounding->random_bits, &discarded);
    rounded->inexact = where.below_all || discarded.top || discarded.next_bit || discarded.rest;
    if (rounding->add == EMU_ADD_TE_FMA && rounded->inexact && !where.below_all)
        place_after_fma(grid, rounding, value, random, &where);
    else
        up = emu_goes_up(rounding, sign, (int32_t)(where.magnitude & 1), &discarded, random);
    rounded->magnitude = where.magnitude + (uint64_t)up;
    rounded->beyond = where.beyond;
}

int32_t emu_round_value(const emu_format *destination, const emu_rounding *rounding, const emu_value *value, uint32_t random,
                        emu_rounded *rounded)
{
    emu_grid grid;
    int32_t error = emu_make_grid(destination, &grid);
    if (!error)
        error = emu_check_destination(&grid);
    if (!error)
        error = emu_check_rounding(rounding, destination);
    if (error)
        return error;
    if (!value || !rounded)
        return EMU_ERROR_NULL;
    if (random > emu_low_bits(rounding->random_bits))
        return EMU_ERROR_RANDOM;
    if (value->value_class < EMU_ZERO || value->value_class > EMU_NORMAL || (value->value_class == EMU_ZERO) != (value->significand == 0) ||
        value->sign < 0 || value->sign > 1 || value->lsb_exp < -(1 << 22) || value->lsb_exp > 1 << 22)
        return EMU_ERROR_GRID;
    emu_round(&grid, rounding, value, random, rounded);
    return EMU_OK;
}
