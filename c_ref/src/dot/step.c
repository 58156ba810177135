/* step.c: one fused step on finite operands: align to the largest exponent and add, or add without loss; round once. */
#include "datapath.h"

/* The stages of a step as a reader gets them. */
void emu_keep_number(emu_wide *kept, int64_t value)
{
    kept->limbs[0] = (uint64_t)value;
    emu_wide_extend(kept, 1);
}

void emu_keep_terms(emu_stages *stages, const emu_term *terms, int32_t count)
{
    if (!stages)
        return;
    stages->term_count = count;
    for (int32_t i = 0; stages->terms && i < count; i++)
        stages->terms[i] = terms[i];
}

/* E: the largest exponent of what is live, and at least the floor; 0 where there is neither. */
static int32_t find_exp(const emu_path *path, const emu_term *terms, const emu_factor *c)
{
    int32_t exp = path->widths.floor_exp, found = path->widths.has_floor;
    for (int32_t i = 0; i < path->term_count; i++) {
        if (terms[i].is_live && (!found || terms[i].exp > exp)) {
            exp = terms[i].exp;
            found = 1;
        }
    }
    if (c->significand && (!found || c->exp > exp))
        exp = c->exp;
    return exp;
}

/* significand * 2^places added to a wide sum. */
static void add_aligned(const emu_path *path, int64_t significand, int32_t places, emu_wide *total, emu_wide *kept)
{
    if (places <= 0 || !significand) {
        significand = emu_align(significand, places, path->facts->align_mode);
        places = 0;
    }
    emu_wide_add_shifted(total, path->limbs, significand, places);
    if (kept) {
        emu_wide_clear(kept, path->limbs);
        emu_wide_add_shifted(kept, path->limbs, significand, places);
        emu_wide_extend(kept, path->limbs);
    }
}

/* Sums of more than 62 bits. */
static uint64_t add_wide(const emu_path *path, const emu_term *terms, const emu_factor *c, int32_t lsb_exp, emu_stages *stages)
{
    const emu_widths *widths = &path->widths;
    emu_wide total;
    emu_wide_clear(&total, path->limbs);
    for (int32_t i = 0; i < path->term_count; i++)
        add_aligned(path, terms[i].significand, terms[i].lsb_exp - lsb_exp, &total, stages && stages->aligned ? &stages->aligned[i] : NULL);
    add_aligned(path, c->significand, c->exp - path->result.frac_bits - lsb_exp, &total, stages ? &stages->aligned_c : NULL);
    if (path->facts->wraps)
        emu_wide_wrap(&total, path->limbs, widths->frac_bits + widths->integer_bits + 1);
    if (stages) {
        stages->total = total;
        emu_wide_extend(&stages->total, path->limbs);
    }
    return emu_round_wide(path, &total, lsb_exp);
}

/* The sum as an adder of so many bits holds it. */
static int64_t wrap_small(const emu_path *path, int64_t total)
{
    emu_wide number;
    emu_keep_number(&number, total);
    emu_wide_wrap(&number, 1, path->widths.frac_bits + path->widths.integer_bits + 1);
    return (number.limbs[0] >> 63) ? -(int64_t)(0 - number.limbs[0]) : (int64_t)number.limbs[0];
}

static uint64_t add_small(const emu_path *path, const emu_term *terms, const emu_factor *c, int32_t lsb_exp, emu_stages *stages)
{
    int32_t mode = path->facts->align_mode;
    int64_t total = emu_align(c->significand, c->exp - path->result.frac_bits - lsb_exp, mode);
    if (stages)
        emu_keep_number(&stages->aligned_c, total);
    for (int32_t i = 0; i < path->term_count; i++) {
        int64_t aligned = emu_align(terms[i].significand, terms[i].lsb_exp - lsb_exp, mode);
        total += aligned;
        if (stages && stages->aligned)
            emu_keep_number(&stages->aligned[i], aligned);
    }
    if (path->facts->wraps)
        total = wrap_small(path, total);
    if (stages)
        emu_keep_number(&stages->total, total);
    return emu_round_small(path, total, lsb_exp);
}

uint64_t emu_aligned_step(const emu_path *path, const emu_term *terms, const emu_factor *c, emu_stages *stages)
{
    int32_t exp = find_exp(path, terms, c), lsb_exp = exp - path->widths.frac_bits;
    if (stages) {
        stages->exp = exp;
        stages->lsb_exp = lsb_exp;
    }
    return path->is_small ? add_small(path, terms, c, lsb_exp, stages) : add_wide(path, terms, c, lsb_exp, stages);
}

/* The exact sum of the terms, added to *total in units of 2^lsb_exp. */
void emu_add_terms(const emu_path *path, const emu_term *terms, emu_wide *total, int32_t lsb_exp, emu_stages *stages)
{
    const emu_widths *widths = &path->widths;
    int64_t sum = 0;
    if (!path->is_small || stages) {
        for (int32_t i = 0; i < path->term_count; i++)
            add_aligned(path, terms[i].significand, terms[i].lsb_exp - lsb_exp, total,
                        stages && stages->aligned ? &stages->aligned[i] : NULL);
        return;
    }
    for (int32_t i = 0; i < path->term_count; i++)
        sum += emu_align(terms[i].significand, terms[i].lsb_exp - widths->step_sum_lsb_exp, EMU_ALIGN_RZ);
    emu_wide_add_shifted(total, path->limbs, sum, widths->step_sum_lsb_exp - lsb_exp);
}

uint64_t emu_exact_step(const emu_path *path, const emu_term *terms, const emu_factor *c, emu_stages *stages)
{
    int32_t lsb_exp = path->widths.exact_lsb_exp;
    emu_wide total;
    emu_wide_clear(&total, path->limbs);
    emu_add_terms(path, terms, &total, lsb_exp, stages);
    add_aligned(path, c->significand, c->exp - path->result.frac_bits - lsb_exp, &total, stages ? &stages->aligned_c : NULL);
    if (stages) {
        stages->lsb_exp = lsb_exp;
        stages->total = total;
        emu_wide_extend(&stages->total, path->limbs);
    }
    return emu_round_wide(path, &total, lsb_exp);
}
