/* register.c: a fixed-point register through all of K; C is added once, at the end. */
#include "datapath.h"

/* register * 2^lsb_exp + C, rounded. */
static uint64_t finish(const emu_path *path, emu_wide *total, const emu_factor *c)
{
    int32_t lsb_exp = path->widths.exact_lsb_exp;
    emu_wide_shift_left(total, path->limbs, path->widths.step_sum_lsb_exp - lsb_exp);
    emu_wide_add_shifted(total, path->limbs, c->significand, c->exp - path->result.frac_bits - lsb_exp);
    return emu_round_wide(path, total, lsb_exp);
}

int32_t emu_finish_register(const emu_datapath *datapath, const emu_wide *total, uint64_t c, uint64_t *code)
{
    emu_path path;
    emu_factor addend;
    emu_wide sum;
    int32_t error = emu_make_path(datapath, &path);
    if (!error && (!total || !code))
        error = EMU_ERROR_NULL;
    if (!error && datapath->c_kind != EMU_C_LAST)
        error = EMU_ERROR_DATAPATH;
    if (!error && !emu_is_code(&path.result.grid, c))
        error = EMU_ERROR_CODE;
    if (!error && !emu_wide_fits(total, EMU_WIDE_LIMBS, datapath->accumulator_bits))
        error = EMU_ERROR_OVERFLOW;
    if (error)
        return error;
    sum = *total;
    addend = emu_decode_factor(&path.result, c);
    if (addend.flags)
        emu_find_special(&path, NULL, 0, 0, &addend, code);
    else
        *code = finish(&path, &sum, &addend);
    return EMU_OK;
}

int32_t emu_accumulate(const emu_path *path, const emu_strip *strip, uint64_t c, uint64_t *code, emu_stages *stages)
{
    const emu_factor addend = emu_decode_factor(&path->result, c);
    size_t count = strip->a->columns, step = (size_t)path->facts->step;
    int32_t flags = addend.flags, overflows = 0, special;
    emu_wide total;
    emu_wide_clear(&total, path->limbs);
    for (size_t start = 0; start < count; start += step) {
        emu_term terms[EMU_MAX_TERMS];
        emu_stages *here = stages ? &stages[start / step] : NULL;
        flags |= emu_make_terms(path, strip, start, terms);
        emu_keep_terms(here, terms, path->term_count);
        emu_add_terms(path, terms, &total, path->widths.step_sum_lsb_exp, here);
        overflows |= !emu_wide_fits(&total, path->limbs, path->facts->accumulator_bits);
        if (here) {
            here->lsb_exp = path->widths.step_sum_lsb_exp;
            here->total = total;
            emu_wide_extend(&here->total, path->limbs);
        }
    }
    if (flags & EMU_FACTOR_OPEN)
        return EMU_ERROR_OPEN;
    special = flags ? emu_find_special(path, strip, 0, count, &addend, code) : 0;
    if (stages && special)
        stages->special = special;
    if (special)
        return EMU_OK;
    if (overflows)
        return EMU_ERROR_OVERFLOW;
    *code = finish(path, &total, &addend);
    return EMU_OK;
}
