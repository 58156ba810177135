/* round.c: the checks of a rounding, and the software rounder of EMU_ADD_TE_FMA. The step itself, emu_round, is in round.h. */
#include "../steps.h"

int32_t emu_check_rounding(const emu_rounding *rounding, const emu_format *destination)
{
    int32_t is_codebook;
    if (!rounding || !destination)
        return EMU_ERROR_NULL;
    is_codebook = destination->format_class == EMU_CODEBOOK;
    if (rounding->add < EMU_ADD_NONE || rounding->add > EMU_ADD_NEAREST || (is_codebook && rounding->add == EMU_ADD_TE_FMA))
        return EMU_ERROR_ROUNDING;
    if (rounding->add == EMU_ADD_NONE ? rounding->random_bits != 0 : rounding->random_bits < 1 || rounding->random_bits > EMU_MAX_RANDOM_BITS)
        return EMU_ERROR_ROUNDING;
    for (int32_t sign = 0; sign < 2; sign++) {
        if (rounding->beyond_max[sign] < EMU_STOP_AT_MAX || rounding->beyond_max[sign] > EMU_STOP_AT_ODD)
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
    emu_discard(bits, shift, 0, &discarded);
    kept += (uint64_t)(discarded.next_bit && (discarded.rest || (kept & 1)));
    sum->significand = kept;
    sum->lsb_exp = lsb_exp + shift;
}

void emu_place_after_fma(const emu_grid *grid, const emu_rounding *rounding, const emu_value *value, uint32_t random, emu_place *where)
{
    emu_value sum = *value;
    add_in_binary32(value, random, where->ulp_exp - rounding->random_bits, &sum);
    emu_find_place(grid, &sum, emu_bit_length(sum.significand), where);
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
