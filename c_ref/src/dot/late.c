/* late.c: datapaths whose C joins after the products were summed: rounded first, or by a second alignment. */
#include "datapath.h"

/* P = round(exact sum); D = round(P + C). */
uint64_t emu_added_step(const emu_path *path, const emu_term *terms, const emu_factor *c, emu_stages *stages)
{
    int32_t lsb_exp = path->widths.exact_lsb_exp, to_units = -path->result.frac_bits - lsb_exp;
    emu_wide total;
    uint64_t part;
    emu_factor first;
    emu_wide_clear(&total, path->limbs);
    emu_add_terms(path, terms, &total, lsb_exp, stages);
    part = emu_round_wide(path, &total, lsb_exp);
    first = emu_decode_factor(&path->result, part);
    if (stages) {
        stages->lsb_exp = lsb_exp;
        stages->total = total;
        emu_wide_extend(&stages->total, path->limbs);
        stages->part_code = part;
    }
    if (first.flags)
        return part; /* infinite; C is finite */
    emu_wide_clear(&total, path->limbs);
    emu_wide_add_shifted(&total, path->limbs, first.significand, first.exp + to_units);
    emu_wide_add_shifted(&total, path->limbs, c->significand, c->exp + to_units);
    return emu_round_wide(path, &total, lsb_exp);
}

/* One interleaved part: its sum in units of 2^(exp - F). Returns 0 where all its products are zero. */
static int32_t sum_part(const emu_path *path, const emu_term *terms, int32_t first, int32_t *exp, int64_t *sum)
{
    int32_t split = path->facts->split, is_live = 0;
    *sum = 0;
    for (int32_t i = first; i < path->term_count; i += split) {
        if (terms[i].is_live && (!is_live || terms[i].exp > *exp)) {
            *exp = terms[i].exp;
            is_live = 1;
        }
    }
    for (int32_t i = first; is_live && i < path->term_count; i += split)
        *sum += emu_align(terms[i].significand, terms[i].lsb_exp - *exp + path->widths.frac_bits, EMU_ALIGN_RZ);
    return is_live;
}

uint64_t emu_realigned_step(const emu_path *path, const emu_term *terms, const emu_factor *c, emu_stages *stages)
{
    int32_t exps[EMU_MAX_SPLIT] = {0}, is_live[EMU_MAX_SPLIT], any = 0, joined_exp = c->exp, exp;
    int32_t frac_bits = path->widths.frac_bits, more = path->facts->f2 - frac_bits;
    int64_t sums[EMU_MAX_SPLIT], joined = 0, addend = 0, moved;
    for (int32_t r = 0; r < path->facts->split; r++) {
        is_live[r] = sum_part(path, terms, r, &exps[r], &sums[r]);
        if (is_live[r] && (!any || exps[r] > joined_exp))
            joined_exp = exps[r];
        any |= is_live[r];
    }
    exp = joined_exp > c->exp ? joined_exp : c->exp;
    for (int32_t r = 0; r < path->facts->split; r++)
        joined += is_live[r] ? emu_align(sums[r], exps[r] - joined_exp, EMU_ALIGN_RD) : 0;
    if (c->significand && c->exp >= exp - path->facts->drop_below)
        addend = emu_align(c->significand, c->exp - path->result.frac_bits - exp + frac_bits, EMU_ALIGN_RD);
    moved = emu_align(joined, joined_exp - exp + more, EMU_ALIGN_RD);
    addend = emu_align(addend, more, EMU_ALIGN_RD);
    if (stages) {
        stages->exp = exp;
        stages->lsb_exp = exp - path->facts->f2;
        for (int32_t r = 0; r < path->facts->split; r++)
            stages->parts[r] = sums[r];
        if (stages->aligned)
            emu_keep_number(stages->aligned, moved);
        emu_keep_number(&stages->aligned_c, addend);
        emu_keep_number(&stages->total, moved + addend);
    }
    return emu_round_small(path, moved + addend, exp - path->facts->f2);
}
