/* round_sum.c: alignment of one term, and the rounding of a sum to the result format. */
#include "datapath.h"

/* significand * 2^places as an integer; bits that fall off are rounded: toward zero, downwards, or to nearest even. */
int64_t emu_align(int64_t significand, int32_t places, int32_t mode)
{
    uint64_t magnitude = significand < 0 ? 0 - (uint64_t)significand : (uint64_t)significand, kept, lost, half;
    if (!significand || places == 0)
        return significand;
    if (places > 0) {
        kept = magnitude << places;
        return significand < 0 ? -(int64_t)kept : (int64_t)kept;
    }
    kept = emu_shift_right(magnitude, -places);
    lost = magnitude & emu_low_bits(-places);
    half = places >= -64 ? (uint64_t)1 << (-places - 1) : 0;
    if (mode == EMU_ALIGN_RNE)
        kept += half && (lost > half || (lost == half && (kept & 1)));
    else if (mode == EMU_ALIGN_RD)
        kept += significand < 0 && lost;
    return significand < 0 ? -(int64_t)kept : (int64_t)kept;
}

/* The magnitude, unbounded above: units of 2^(exp - keep), rounded, then moved to the fraction bits of the format. */
uint64_t emu_round_kept(const emu_grid *grid, const emu_rounding *rounding, int32_t keep, const emu_value *top, uint32_t random)
{
    int32_t exp = top->lsb_exp + emu_bit_length(top->significand) - 1, shift;
    uint64_t units;
    emu_discarded discarded;
    if (exp < grid->lowest_exp)
        exp = grid->lowest_exp;
    shift = exp - keep - top->lsb_exp;
    units = shift > 0 ? emu_shift_right(top->significand, shift) : top->significand << -shift;
    emu_discard(top->significand, shift, rounding->random_bits, &discarded);
    units += (uint64_t)emu_goes_up(rounding, top->sign, (int32_t)(units & 1), &discarded, random);
    units <<= grid->frac_bits - keep;
    return ((uint64_t)(exp - grid->lowest_exp) << grid->frac_bits) + units; /* the hidden bit is one exponent more */
}

/* The code of a sum: overflow, flushed subnormals and the sign of zero as the datapath says. */
uint64_t emu_round_top(const emu_path *path, const emu_value *top)
{
    const emu_datapath *facts = path->facts;
    const emu_grid *grid = &path->result.grid;
    uint64_t magnitude;
    if (!top->significand)
        return 0;
    if (top->lsb_exp + emu_bit_length(top->significand) - 1 > path->result.max_exp)
        magnitude = UINT64_MAX;
    else
        magnitude = emu_round_kept(grid, facts->rounding, facts->keep, top, 0);
    if (magnitude > grid->largest[0])
        magnitude = facts->saturates ? grid->largest[0] : grid->inf_magnitude;
    if (facts->flushes_result && magnitude >> grid->frac_bits == 0)
        magnitude = 0;
    if (!magnitude && !facts->ieee_zero)
        return 0;
    return magnitude | (top->sign ? grid->sign_bit : 0);
}

uint64_t emu_round_small(const emu_path *path, int64_t total, int32_t lsb_exp)
{
    emu_value top = {EMU_NORMAL, total < 0, lsb_exp, total < 0 ? 0 - (uint64_t)total : (uint64_t)total};
    return emu_round_top(path, &top);
}

uint64_t emu_round_wide(const emu_path *path, const emu_wide *total, int32_t lsb_exp)
{
    emu_value top;
    emu_wide_top(total, path->limbs, &top);
    top.lsb_exp += lsb_exp;
    return emu_round_top(path, &top);
}
