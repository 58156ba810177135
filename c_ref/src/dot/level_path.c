/* level_path.c: the checks of a datapath of levels, and its shape. */
#include "levels.h"

enum { MOST_RAISE = 1024, MOST_WIDTH = 1 << 14, MOST_PRODUCTS = 1 << 20, MOST_UNIT = 1 << 14 };

static int32_t is_between(int32_t number, int32_t low, int32_t high)
{
    return (low <= number) & (number <= high);
}

static int32_t is_flag(int32_t number)
{
    return is_between(number, 0, 1);
}

/* Checks */

static int32_t is_sound_rounding(const emu_rounding *rounding, const emu_format *format)
{
    return emu_check_rounding(rounding, format) == EMU_OK && rounding->add < EMU_ADD_TE_FMA && rounding->beyond_max[0] != EMU_STOP_AT_ODD &&
           rounding->beyond_max[1] != EMU_STOP_AT_ODD;
}

static int32_t check_float_hold(const emu_hold *hold)
{
    emu_grid grid;
    const emu_format *format = hold->format;
    int32_t sound;
    if (emu_check_format(format) || format->format_class != EMU_FLOAT || !format->has_sign || !format->subnormals || format->frac_bits > EMU_MOST_HELD_FRAC)
        return EMU_ERROR_FORMAT;
    emu_derive_grid(format, &grid);
    if (hold->policy)
        return emu_check_policy(hold->policy, format);
    sound = is_between(hold->keep, 0, format->frac_bits) & is_flag(hold->flushes) &
            is_between(hold->beyond, grid.inf_magnitude ? EMU_BEYOND_INF : EMU_BEYOND_MAX, EMU_BEYOND_MAX);
    return sound ? EMU_OK : EMU_ERROR_DATAPATH;
}

/* any: a format that roundings are checked for where the hold has none. */
static int32_t check_hold(const emu_hold *hold, const emu_format *any)
{
    int32_t is_float = hold->kind == EMU_HOLD_FLOAT, error = is_float ? check_float_hold(hold) : EMU_OK, sound = 1;
    if (error || hold->kind == EMU_HOLD_EXACT)
        return error;
    if (!is_between(hold->kind, EMU_HOLD_FLOAT, EMU_HOLD_CUT))
        return EMU_ERROR_DATAPATH;
    if (hold->kind == EMU_HOLD_FIXED)
        sound = is_between(hold->bits, 2, 512) & is_between(hold->beyond, EMU_BEYOND_INF, EMU_BEYOND_SYMMETRIC) &
                (hold->beyond != EMU_BEYOND_IEEE) & is_between(hold->unit_rule, EMU_STATED, EMU_DERIVED) &
                is_between(hold->unit_exp, -MOST_UNIT, MOST_UNIT);
    if (hold->kind == EMU_HOLD_CUT)
        sound = is_flag(hold->is_fraction) & is_between(hold->bits, !hold->is_fraction, 1 << 20) & (hold->rounding != NULL);
    if (!sound)
        return EMU_ERROR_DATAPATH;
    if (hold->rounding && (!is_sound_rounding(hold->rounding, is_float ? hold->format : any) ||
                           (is_float && hold->rounding->random_bits + hold->format->frac_bits > EMU_MOST_DRAWN_BITS)))
        return EMU_ERROR_ROUNDING;
    return EMU_OK;
}

static int32_t check_scaling(const emu_scaling *scaling, const emu_format *any)
{
    int32_t error;
    if (!is_flag(scaling->applies))
        return EMU_ERROR_DATAPATH;
    if (!scaling->applies)
        return EMU_OK;
    error = check_hold(&scaling->each, any);
    if (!error)
        error = check_hold(&scaling->product, any);
    if (!error && ((scaling->each.kind > EMU_HOLD_FLOAT) | (scaling->product.kind > EMU_HOLD_FLOAT)))
        error = EMU_ERROR_DATAPATH;
    if (!error && scaling->term.kind == EMU_HOLD_FIXED)
        error = EMU_ERROR_DATAPATH;
    return error ? error : check_hold(&scaling->term, any);
}

static int32_t draws_nothing(const emu_rounding *rounding, const emu_format *any)
{
    return emu_check_rounding(rounding, any) == EMU_OK && rounding->add == EMU_ADD_NONE;
}

static int32_t check_alignment(const emu_sum_level *level, const emu_format *any)
{
    const emu_alignment *words = &level->align;
    int32_t repeats = level->add >= EMU_SUM_CHAIN, derives_floor = words->floor_rule == EMU_DERIVED;
    int32_t sound = is_between(words->frac_rule, EMU_STATED, EMU_DERIVED) & is_between(words->frac_bits, 0, MOST_WIDTH) &
                    is_between(words->integer_rule, EMU_STATED, EMU_UNLIMITED) & is_between(words->integer_bits, 0, MOST_WIDTH) &
                    is_between(words->floor_rule, EMU_STATED, EMU_UNLIMITED) & is_between(words->floor_exp, -MOST_UNIT, MOST_UNIT) &
                    is_flag(words->is_normalised) & is_between(words->exponent_raise, -MOST_RAISE, MOST_RAISE) & is_flag(words->wraps) &
                    is_between(words->running_bits, 0, MOST_WIDTH) & is_between(words->drop_below, -1, MOST_UNIT);
    int32_t stated = words->integer_rule != EMU_UNLIMITED, is_float = level->hold.kind == EMU_HOLD_FLOAT;
    int32_t has_running = (level->add == EMU_SUM_CHAIN) | level->plus_c;
    sound &= (is_float | !repeats) & (stated | !words->wraps) & ((stated & is_float) | !derives_floor) & (has_running | !words->running);
    if (!sound)
        return EMU_ERROR_DATAPATH;
    return draws_nothing(words->cut, any) && (!words->running || draws_nothing(words->running, any)) ? EMU_OK : EMU_ERROR_ROUNDING;
}

static int32_t check_level(const emu_sum_level *level, const emu_format *any)
{
    int32_t is_chain = level->add == EMU_SUM_CHAIN, at_once = level->add <= EMU_SUM_ALIGNED, error;
    int32_t sound = is_between(level->of_rule, EMU_OF_COUNT, EMU_OF_BLOCK) & is_between(level->every, 1, MOST_PRODUCTS) &
                    is_between(level->add, EMU_SUM_AT_ONCE, EMU_SUM_PAIRWISE) & is_flag(level->plus_c) & is_flag(level->aligns) &
                    is_flag(level->names_largest) & is_flag(level->cancelled_counts);
    sound &= (level->of_rule != EMU_OF_COUNT) | is_between(level->of, 1, MOST_PRODUCTS);
    sound &= (!is_chain) | (is_between(level->by, 1, MOST_PRODUCTS) & is_between(level->start, EMU_START_ZERO, EMU_START_C));
    sound &= (at_once | !level->plus_c) & ((level->add != EMU_SUM_ALIGNED) | level->aligns) & ((level->add != EMU_SUM_AT_ONCE) | !level->aligns);
    sound &= !(is_chain & level->names_largest); /* it names what its register names, or 0 */
    sound &= (level->of_rule == EMU_OF_ALL) | !(level->plus_c | (is_chain & (level->start == EMU_START_C)));
    error = sound ? check_hold(&level->hold, any) : EMU_ERROR_DATAPATH;
    if (!error && level->aligns)
        error = check_alignment(level, any);
    return error ? error : check_scaling(&level->scaling, any);
}

/* Formats of operands; *any: one that roundings are checked for. */
static int32_t check_operands(const emu_levels *facts)
{
    const emu_format *elements[2] = {facts->a, facts->b}, *scales[2] = {facts->scale, facts->widest_scale};
    emu_grid grid;
    for (int32_t i = 0; i < 2; i++) {
        if (emu_check_format(elements[i]) || elements[i]->format_class == EMU_CODEBOOK)
            return EMU_ERROR_FORMAT;
        emu_derive_grid(elements[i], &grid);
        if (!grid.has_zero || (scales[i] && (emu_check_format(scales[i]) || scales[i]->format_class == EMU_CODEBOOK)))
            return EMU_ERROR_FORMAT;
    }
    return facts->c && (emu_check_format(facts->c) || facts->c->format_class == EMU_CODEBOOK) ? EMU_ERROR_FORMAT : EMU_OK;
}

static int32_t check_out(const emu_levels *facts)
{
    emu_grid grid;
    int32_t error = facts->out.kind == EMU_HOLD_FLOAT ? check_hold(&facts->out, facts->out.format) : EMU_ERROR_DATAPATH;
    if (error || facts->out.policy)
        return error;
    emu_derive_grid(facts->out.format, &grid);
    return grid.inf_magnitude && emu_is_nan_code(&grid, facts->nan_code) ? EMU_OK : EMU_ERROR_FORMAT;
}

/* C enters at one place and scales multiply at one, where there are any. */
static int32_t check_places(const emu_levels *facts)
{
    int32_t entries = facts->out_plus_c, scaled = facts->product_scaling.applies;
    for (int32_t i = 0; i < facts->level_count; i++) {
        const emu_sum_level *level = &facts->levels[i];
        entries += level->plus_c + (level->add == EMU_SUM_CHAIN && level->start == EMU_START_C);
        scaled += level->scaling.applies;
    }
    return entries == (facts->c != NULL) && scaled == (facts->scale != NULL) ? EMU_OK : EMU_ERROR_DATAPATH;
}

static int32_t has_policy(const emu_hold *hold, const emu_scaling *scaling)
{
    return hold->policy || (scaling && (scaling->each.policy || scaling->product.policy || scaling->term.policy));
}

/* Flags are raised by levels that there are; what a policy says has none; what signals has the NaNs of IEEE 754, with a fraction. */
static int32_t check_flags(const emu_levels *facts)
{
    const emu_format *formats[4] = {facts->a, facts->b, facts->scale, facts->c};
    const int32_t signals[4] = {facts->signals_a, facts->signals_b, facts->signals_scale, facts->signals_c};
    int32_t reports = facts->invalid_levels | facts->overflow_levels, policies = has_policy(&facts->product, &facts->product_scaling);
    for (int32_t i = 0; i < facts->level_count; i++)
        policies |= has_policy(&facts->levels[i].hold, &facts->levels[i].scaling);
    if (reports < 0 || reports >> (facts->level_count + 2) || (reports && (policies || has_policy(&facts->out, NULL))))
        return EMU_ERROR_DATAPATH;
    for (int32_t i = 0; i < 4; i++) {
        if (!is_flag(signals[i]) || (signals[i] && (!formats[i] || (formats[i]->nan == EMU_NAN_IEEE && !formats[i]->frac_bits))))
            return EMU_ERROR_FORMAT;
    }
    return EMU_OK;
}

static int32_t check_facts(const emu_levels *facts)
{
    int32_t error;
    int32_t sound = is_flag(facts->ignores_unused_bits) & is_flag(facts->flushes_elements) & is_flag(facts->flushes_scales) &
                    is_flag(facts->flushes_c) & is_flag(facts->per_add) & is_flag(facts->nan_scale_live) & is_flag(facts->ieee_zero) &
                    is_flag(facts->out_plus_c) & is_between(facts->k, 1, MOST_PRODUCTS) & is_between(facts->block, 0, MOST_PRODUCTS) &
                    is_between(facts->level_count, 1, EMU_MAX_SUM_LEVELS) & ((facts->block == 0) == (facts->scale == NULL));
    if (!sound)
        return EMU_ERROR_DATAPATH;
    error = check_operands(facts);
    if (!error)
        error = check_flags(facts);
    if (!error)
        error = check_out(facts);
    if (!error)
        error = facts->product.kind == EMU_HOLD_EXACT ? EMU_OK : check_hold(&facts->product, facts->out.format);
    if (!error)
        error = check_scaling(&facts->product_scaling, facts->out.format);
    for (int32_t i = 0; i < facts->level_count && !error; i++)
        error = check_level(&facts->levels[i], facts->out.format);
    return error ? error : check_places(facts);
}

/* Shape */

int32_t emu_make_shape(const emu_levels *levels, size_t products, emu_shape *shape)
{
    size_t count = products, wide = 1, block = (size_t)levels->block;
    shape->products = shape->nodes[0] = products;
    shape->of[0] = 1;
    for (int32_t i = 0; i < levels->level_count; i++) {
        const emu_sum_level *level = &levels->levels[i];
        size_t every = (size_t)level->every, of = (size_t)level->of;
        if (level->of_rule == EMU_OF_ALL)
            of = count / every;
        else if (level->of_rule == EMU_OF_BLOCK)
            of = block % wide ? 0 : block / wide;
        if (!of || count % (of * every))
            return EMU_ERROR_SHAPE;
        shape->of[i + 1] = of;
        shape->nodes[i + 1] = count = count / of;
        wide *= of;
    }
    return count == 1 ? EMU_OK : EMU_ERROR_SHAPE;
}

int32_t emu_make_level_path(const emu_levels *levels, emu_level_path *path)
{
    const emu_level_plan nothing = {0, 0, 0, 0, 0, 0};
    const emu_limit none = {0};
    emu_shape shape;
    int32_t error;
    if (!levels || !levels->a || !levels->b || !levels->levels || !levels->out.format)
        return EMU_ERROR_NULL;
    path->limit = none;
    error = check_facts(levels);
    if (!error && emu_make_shape(levels, (size_t)levels->k, &shape))
        error = EMU_ERROR_DATAPATH;
    if (error)
        return error;
    path->facts = levels;
    path->loads_c = 0;
    emu_derive_grid(levels->a, &path->a);
    emu_derive_grid(levels->b, &path->b);
    if (levels->scale)
        emu_derive_grid(levels->scale, &path->scale);
    if (levels->c)
        emu_derive_grid(levels->c, &path->c);
    for (int32_t i = 0; i < levels->level_count; i++) {
        const emu_sum_level *level = &levels->levels[i];
        path->plans[i] = nothing;
        if (level->add == EMU_SUM_CHAIN && level->start == EMU_START_C)
            path->loads_c = level->hold.kind != EMU_HOLD_EXACT &&
                            (level->hold.kind != EMU_HOLD_FLOAT || !emu_same_format(level->hold.format, levels->c));
    }
    return emu_measure_levels(path, &shape);
}

int32_t emu_check_dot_levels(const emu_levels *levels)
{
    emu_level_path path;
    return emu_make_level_path(levels, &path);
}
