/* path.c: the checks of a datapath descriptor, and what follows from it. */
#include "datapath.h"

enum { MOST_RAISE = 1024, MOST_WIDTH = 1024, MOST_EXPONENT = 1 << 22, MOST_PRODUCTS = 1 << 20 };

static int32_t is_between(int32_t number, int32_t low, int32_t high)
{
    return low <= number && number <= high;
}

static int32_t is_flag(int32_t number)
{
    return is_between(number, 0, 1);
}

static int32_t has_sound_words(const emu_datapath *facts)
{
    return is_between(facts->apply, EMU_APPLY_NONE, EMU_APPLY_PROMOTE) && is_between(facts->c_kind, EMU_C_ALIGNED, EMU_C_LAST) &&
           is_between(facts->align_mode, EMU_ALIGN_RZ, EMU_ALIGN_RNE) && is_between(facts->frac_rule, EMU_STATED, EMU_UNLIMITED) &&
           is_between(facts->integer_rule, EMU_STATED, EMU_UNLIMITED) && is_between(facts->floor_rule, EMU_STATED, EMU_UNLIMITED) &&
           is_flag(facts->ignores_unused_bits) && is_flag(facts->is_normalised) && is_flag(facts->wraps) && is_flag(facts->is_fused) &&
           is_flag(facts->cancelled_group_counts) && is_flag(facts->saturates) && is_flag(facts->flushes_elements) &&
           is_flag(facts->flushes_scales) && is_flag(facts->flushes_c) && is_flag(facts->flushes_result) &&
           is_flag(facts->nan_scale_live) && is_flag(facts->ieee_zero) && is_flag(facts->any_nan);
}

static int32_t has_sound_numbers(const emu_datapath *facts)
{
    return is_between(facts->exponent_raise, -MOST_RAISE, MOST_RAISE) && is_between(facts->frac_bits, 0, MOST_WIDTH) &&
           is_between(facts->integer_bits, 0, MOST_WIDTH) && is_between(facts->floor_exp, -MOST_EXPONENT, MOST_EXPONENT) &&
           is_between(facts->k, 1, MOST_PRODUCTS) && is_between(facts->step, 1, facts->k) && is_between(facts->group, 1, facts->step) &&
           is_between(facts->split, 1, EMU_MAX_SPLIT) && is_between(facts->block, 0, MOST_PRODUCTS);
}

/* Products, groups, blocks and parts divide one another. */
static int32_t divides(const emu_datapath *facts, emu_limit *limit)
{
    int32_t is_grouped = facts->apply == EMU_APPLY_GROUP || facts->apply == EMU_APPLY_PROMOTE;
    if (facts->k % facts->step || facts->step % facts->group || facts->step % facts->split || (!is_grouped && facts->group != 1))
        return 0;
    if ((facts->apply == EMU_APPLY_NONE) != (facts->block == 0))
        return 0;
    if (facts->block && ((is_grouped && facts->block % facts->group) || (facts->k % facts->block && facts->block % facts->k)))
        return 0;
    if (facts->apply == EMU_APPLY_PROMOTE)
        return facts->step == facts->group;
    return emu_is_within(limit, "terms of a step", facts->step / facts->group, EMU_MAX_TERMS);
}

/* Keys that exclude one another. */
static int32_t goes_together(const emu_datapath *facts)
{
    int32_t is_exact = facts->frac_rule == EMU_UNLIMITED;
    if (facts->apply == EMU_APPLY_PROMOTE)
        return facts->c_kind == EMU_C_ALIGNED && !facts->flushes_result && !facts->wraps && facts->split == 1 && facts->ieee_zero;
    if ((facts->c_kind == EMU_C_ADDED || facts->c_kind == EMU_C_LAST) && !is_exact)
        return 0;
    if (facts->c_kind == EMU_C_LAST && !is_between(facts->accumulator_bits, 8, MOST_WIDTH))
        return 0;
    if (facts->c_kind != EMU_C_REALIGNED)
        return facts->split == 1 && (!facts->wraps || (!is_exact && facts->integer_rule != EMU_UNLIMITED));
    return facts->apply == EMU_APPLY_NONE && facts->frac_rule == EMU_STATED && facts->floor_rule == EMU_UNLIMITED && !facts->wraps &&
           facts->exponent_raise == 0 && !facts->is_normalised && is_between(facts->f2, facts->frac_bits, MOST_WIDTH) &&
           is_between(facts->drop_below, 0, MOST_EXPONENT);
}

/* The three kinds of formats; grids are of formats that have been checked. */
static int32_t has_sound_formats(const emu_datapath *facts)
{
    const emu_format *elements[2] = {facts->a, facts->b}, *scales[2] = {facts->scale, facts->widest_scale};
    emu_grid grid;
    for (int32_t i = 0; i < 2; i++) {
        if (emu_check_format(elements[i]) || (elements[i]->format_class != EMU_FLOAT && elements[i]->format_class != EMU_INTEGER))
            return 0;
        emu_derive_grid(elements[i], &grid);
        if (!grid.has_zero || (facts->apply == EMU_APPLY_PROMOTE && (grid.inf_magnitude || elements[i]->nan != EMU_NAN_NONE)))
            return 0; /* promote adds products before it looks at anything */
        if (scales[i] && (emu_check_format(scales[i]) ||
                          (scales[i]->format_class != EMU_FLOAT && scales[i]->format_class != EMU_EXPONENT)))
            return 0;
    }
    if ((facts->apply == EMU_APPLY_NONE) != (facts->scale == NULL) || emu_check_format(facts->result))
        return 0;
    emu_derive_grid(facts->result, &grid);
    return emu_is_arithmetic(&grid) && !facts->result->unused_high_bits && is_between(facts->keep, 0, grid.frac_bits) &&
           emu_is_nan_code(&grid, facts->nan_code);
}

/* A rounding of the result that draws nothing. */
static int32_t rounds(const emu_rounding *rounding, const emu_format *result)
{
    return rounding && emu_check_rounding(rounding, result) == EMU_OK && rounding->add == EMU_ADD_NONE;
}

static int32_t has_sound_roundings(const emu_datapath *facts)
{
    if (!rounds(facts->rounding, facts->result))
        return 0;
    if (facts->apply != EMU_APPLY_PROMOTE)
        return 1;
    return rounds(facts->scale_product, facts->result) && rounds(facts->term, facts->result) && rounds(facts->sum, facts->result);
}

int32_t emu_make_path(const emu_datapath *datapath, emu_path *path)
{
    const emu_limit none = {0};
    int32_t error, is_grouped;
    path->limit = none;
    if (!datapath || !datapath->a || !datapath->b || !datapath->result || !datapath->rounding)
        return EMU_ERROR_NULL;
    if (!has_sound_words(datapath) || !has_sound_numbers(datapath) || !divides(datapath, &path->limit) || !goes_together(datapath))
        return EMU_ERROR_DATAPATH;
    if (!has_sound_formats(datapath))
        return EMU_ERROR_FORMAT;
    if (!has_sound_roundings(datapath))
        return EMU_ERROR_ROUNDING;
    path->facts = datapath;
    is_grouped = datapath->apply == EMU_APPLY_GROUP || datapath->apply == EMU_APPLY_PROMOTE;
    path->term_count = datapath->step / datapath->group;
    emu_make_operand(datapath->a, datapath->flushes_elements, 0, &path->a);
    emu_make_operand(datapath->b, datapath->flushes_elements, 0, &path->b);
    emu_make_operand(datapath->result, datapath->flushes_c, 0, &path->result);
    if (datapath->scale)
        emu_make_operand(datapath->scale, datapath->flushes_scales, datapath->ignores_unused_bits, &path->scale);
    error = emu_measure(path);
    if (error)
        return error;
    path->term_lsb = (is_grouped ? path->a.lsb_exp + path->b.lsb_exp : -path->a.frac_bits - path->b.frac_bits) -
                     (datapath->scale ? 2 * path->scale.frac_bits : 0);
    emu_fill_table(&path->a, is_grouped);
    emu_fill_table(&path->b, is_grouped);
    if (datapath->scale)
        emu_fill_table(&path->scale, 0);
    return EMU_OK;
}

int32_t emu_check_datapath(const emu_datapath *datapath)
{
    emu_path path;
    return emu_make_path(datapath, &path);
}

int32_t emu_derive_widths(const emu_datapath *datapath, emu_widths *widths)
{
    emu_path path;
    int32_t error = emu_make_path(datapath, &path);
    if (error)
        return error;
    if (!widths)
        return EMU_ERROR_NULL;
    *widths = path.widths;
    return EMU_OK;
}
