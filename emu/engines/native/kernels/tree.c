/* levels, one by one: a node of a level takes the values of its children, a term at a time, down to the products; EMU_DOT_LANES outputs side
 * by side. What each word means is said in docs/datapath_levels.md; which datapaths come here, in
 * emu/engines/native/levels_tree.py.
 *
 * A value is a binary64 number and the exponent that it names, where a level above asks for it; DEAD where it does not raise E. */
#include "levels.h"

/* 1 in tree_flags.c alone, which is this file once more. */
#ifndef EMU_TREE_RAISES
#define EMU_TREE_RAISES 0
#endif

enum { LANES = EMU_DOT_LANES, DEAD = EMU_TREE_DEAD, LIVE = DEAD / 2 };

typedef struct emu_tree_lanes {
    double value[LANES];
    int32_t exp[LANES];
} lanes;

typedef struct context {
    const emu_levels_job *work;
    const emu_tree *tree;
    const float *a, *b, *scale_a, *scale_b;
    size_t width, output, count; /* lanes of an operand; the first output and how many there are */
    size_t nodes[EMU_TREE_LEVELS + 1], children[EMU_TREE_LEVELS + 1]; /* of each level */
    lanes *terms[EMU_TREE_LEVELS + 1];
    const lanes *c;
    int any_special;
    int64_t *over;
    uint8_t *flags; /* raised so far by each lane, where EMU_TREE_RAISES */
} context;

/* The exponent that a number of a format names: that of its leading bit, between two ends. */
EMU_INLINE int32_t named(double x, int32_t low, int32_t high) {
    const uint64_t size = emu_double_bits(x) & ~EMU_MINUS;
    const int32_t exp = (int32_t)(size >> 52) - 1023, inside = exp < low ? low : exp > high ? high : exp;
    return size - 1 < EMU_EXPONENT - 1 ? inside : DEAD;
}

/* A sum brought back into `bits` bits of whole units, in two's complement; below 2^51 of them before. */
EMU_INLINE double wrapped(double x, double unit, double per_unit, int32_t bits) {
    const uint64_t units = emu_double_bits(x * per_unit + emu_as_double(FINEST_OF_BIG)) - FINEST_OF_BIG, half = (uint64_t)1 << (bits - 1);
    const uint64_t inside = ((units + half) & (half + half - 1)) - half;
    return (emu_as_double(FINEST_OF_BIG + inside) - emu_as_double(FINEST_OF_BIG)) * unit;
}

/* A number in whole units, by->mode being `mode`; what has 2^51 of them and more has no bits below, and NaN and infinity stay. */
EMU_INLINE double in_units_by(const emu_hold_float *by, double x, double unit, int32_t mode, double bar) {
    const uint64_t bits = emu_double_bits(x), sign = bits & EMU_MINUS, size = bits & ~EMU_MINUS;
    const double whole = emu_whole_units(by, emu_as_double(size), unit, unit * EMU_BIG, 0 - (sign >> 63), mode, bar);
    return emu_as_double(emu_chosen(emu_below(size, emu_double_bits(unit * (EMU_BIG / 2))), emu_double_bits(whole), size) | sign);
}

EMU_INLINE double in_units(const emu_hold_float *by, double x, double unit, double bar) { return in_units_by(by, x, unit, by->mode, bar); }

static uint32_t word_of(const context *at, const emu_tree_level *level, size_t node, size_t turn, size_t lane) {
    const size_t place = (size_t)level->places[node * (size_t)level->turns + turn];
    return lane < at->count ? at->work->random[(at->output + lane) * (size_t)at->tree->words + place] : 0;
}

/* Raise a flag of a level in lanes where a condition is not 0. */
static void raise_flag(const context *at, int32_t flag, const emu_tree_level *level, const int *where) {
    const uint8_t raised = emu_flag_at(at->work->plan, flag, (size_t)(level - at->tree->levels));
    for (size_t lane = 0; lane < LANES; lane++)
        at->flags[lane] |= where[lane] ? raised : 0;
}

/* NV where a product of values that are no NaN is one. */
static void raise_vanished(const context *at, const emu_tree_level *level, const lanes *x, const lanes *y) {
    int invalid[LANES];
    for (size_t lane = 0; lane < LANES; lane++)
        invalid[lane] = emu_is_nan(x->value[lane] * y->value[lane]) && !emu_is_nan(x->value[lane]) && !emu_is_nan(y->value[lane]);
    raise_flag(at, EMU_FLAG_INVALID, level, invalid);
}

/* NV where an element signals. Scales never do: formats with the NaNs of IEEE 754 have infinities, which no scale has where flags are raised. */
static void raise_signals(const context *at, const emu_level_operand *format, const emu_tree_level *level, const float *from, size_t width,
                          size_t place) {
    int invalid[LANES];
    for (size_t lane = 0; lane < LANES; lane++)
        invalid[lane] = emu_float_signals(format, from[place * width + (width > 1 ? lane : 0)]);
    raise_flag(at, EMU_FLAG_INVALID, level, invalid);
}

/* NV where C signals at the level that it enters. */
static void raise_signals_c(const context *at, const emu_tree_level *level) {
    int invalid[LANES];
    for (size_t lane = 0; lane < LANES; lane++)
        invalid[lane] = emu_double_signals(at->c->value[lane]);
    raise_flag(at, EMU_FLAG_INVALID, level, invalid);
}

/* NV where infinities of both signs are among terms and the running value. */
static void raise_both(const context *at, const emu_tree_level *level, const lanes *terms, size_t count, const lanes *running) {
    int invalid[LANES];
    for (size_t lane = 0; lane < LANES; lane++) {
        emu_decision seen = {0.0, 0, 0, 0};
        for (size_t i = 0; i < count; i++)
            emu_decide(&seen, terms[i].value[lane]);
        if (running != NULL)
            emu_decide(&seen, running->value[lane]);
        invalid[lane] = emu_is_invalid(&seen);
    }
    raise_flag(at, EMU_FLAG_INVALID, level, invalid);
}

EMU_INLINE void hold_fixed(const context *at, const emu_tree_hold *hold, const emu_tree_level *level, lanes *x, const double *bar) {
    const double per_unit = 1.0 / hold->unit;
    const int32_t bits = hold->below;
    int beyond[LANES] = {0};
    for (size_t lane = 0; lane < LANES; lane++) {
        double found = in_units(&hold->by, x->value[lane], hold->unit, bar[lane]) + 0.0;
        if (!emu_is_special(emu_double_bits(found)) && (found > hold->high || found < hold->low)) {
            beyond[lane] = 1;
            if (hold->beyond == EMU_BEYOND_WRAPS)
                found = wrapped(found, hold->unit, per_unit, bits);
            else if (hold->beyond == EMU_BEYOND_INFINITE)
                found = found < 0.0 ? -emu_as_double(EMU_EXPONENT) : emu_as_double(EMU_EXPONENT);
            else if (hold->beyond == EMU_BEYOND_FAILS)
                at->over[lane] = 1;
            else
                found = found < 0.0 ? hold->low : hold->high;
        }
        x->value[lane] = found;
        x->exp[lane] = named(found, 0, 0);
    }
    if (EMU_TREE_RAISES)
        raise_flag(at, EMU_FLAG_OVERFLOW, level, beyond);
}

/* What a register or a cut leaves of values. A function of its own in each form, as are scales and products below: inlined wherever a node
 * has one, they are half a minute of the compiler's time. */
EMU_INLINE void hold_some(const context *at, const emu_tree_hold *hold, const emu_tree_level *level, size_t node, size_t turn, lanes *x,
                          int32_t form) {
    double bar[LANES] = {0.0};
    (void)form;
    if (hold->by.mode == EMU_HOLD_DRAWS)
        for (size_t lane = 0; lane < LANES; lane++)
            bar[lane] = emu_bar(&hold->by, word_of(at, level, node, turn, lane));
    if (hold->kind == EMU_KEEPS_FIXED) {
        hold_fixed(at, hold, level, x, bar);
        return;
    }
    if (hold->kind == EMU_KEEPS_BELOW) {
        for (size_t lane = 0; lane < LANES; lane++) {
            const int32_t exp = x->exp[lane] < LIVE ? 0 : x->exp[lane];
            x->value[lane] = in_units(&hold->by, x->value[lane], emu_power(exp - hold->below), bar[lane]);
        }
        for (size_t lane = 0; !level->float_zero && lane < LANES; lane++)
            x->value[lane] += hold == &level->hold ? 0.0 : -0.0; /* a sum that is cut to zero is +0 */
        return;
    }
    if (EMU_TREE_RAISES && hold->kind == EMU_KEEPS_FLOAT) {
        int beyond[LANES];
        for (size_t lane = 0; lane < LANES; lane++)
            beyond[lane] = emu_goes_beyond(&hold->by, x->value[lane], bar[lane]);
        raise_flag(at, EMU_FLAG_OVERFLOW, level, beyond);
    }
    if (hold->by.mode == EMU_HOLD_SINGLE)
        for (size_t lane = 0; lane < LANES; lane++)
            x->value[lane] = emu_held(&hold->by, x->value[lane], EMU_HOLD_SINGLE);
    else if (hold->by.mode == EMU_HOLD_NEAREST)
        for (size_t lane = 0; lane < LANES; lane++)
            x->value[lane] = emu_held(&hold->by, x->value[lane], EMU_HOLD_NEAREST);
    else if (hold->by.mode == EMU_HOLD_CUT)
        for (size_t lane = 0; lane < LANES; lane++)
            x->value[lane] = emu_held(&hold->by, x->value[lane], EMU_HOLD_CUT);
    else if (hold->by.mode == EMU_HOLD_DRAWS)
        for (size_t lane = 0; lane < LANES; lane++)
            x->value[lane] = emu_held_by(&hold->by, x->value[lane], EMU_HOLD_DRAWS, bar[lane]);
    else
        for (size_t lane = 0; lane < LANES; lane++)
            x->value[lane] = emu_held(&hold->by, x->value[lane], EMU_HOLD_BY_MASKS);
    if (hold->kind == EMU_KEEPS_FLOAT && at->tree->names)
        for (size_t lane = 0; lane < LANES; lane++)
            x->exp[lane] = named(x->value[lane], hold->low_exp, hold->high_exp);
}

EMU_FORMS(hold_some, (const context *at, const emu_tree_hold *hold, const emu_tree_level *level, size_t node, size_t turn, lanes *x),
          at, hold, level, node, turn, x)

EMU_INLINE void hold_lanes(const context *at, const emu_tree_hold *hold, const emu_tree_level *level, size_t node, size_t turn, lanes *x,
                           int32_t form) {
    if (hold->kind != EMU_KEEPS)
        EMU_RUN(form, hold_some, at, hold, level, node, turn, x);
}

/* x times y: exponents add, and are those of a dead value where one of them is. */
EMU_INLINE void times(const context *at, lanes *x, const lanes *y) {
    for (size_t lane = 0; lane < LANES; lane++)
        x->value[lane] *= y->value[lane];
    if (at->tree->names)
        for (size_t lane = 0; lane < LANES; lane++)
            x->exp[lane] = x->exp[lane] < LIVE || y->exp[lane] < LIVE ? DEAD : x->exp[lane] + y->exp[lane];
}

/* `count` lanes of an operand or its scales at `place` of K or of the blocks. */
EMU_INLINE void read_lanes(const context *at, const emu_level_operand *format, const float *from, size_t width, size_t place, lanes *x) {
    for (size_t lane = 0; lane < LANES; lane++)
        x->value[lane] = (double)from[place * width + (width > 1 ? lane : 0)];
    if (at->tree->names)
        for (size_t lane = 0; lane < LANES; lane++)
            x->exp[lane] = named(x->value[lane], format->low_exp, format->high_exp);
}

EMU_INLINE size_t first_product(const context *at, size_t number, size_t node) {
    for (; number; number--) {
        const size_t every = (size_t)at->tree->levels[number].every, group = node / every;
        node = group * at->children[number] * every + node % every;
    }
    return node;
}

/* Block scales, where they multiply the values of a level. */
EMU_INLINE void scale_lanes(const context *at, size_t number, size_t node, size_t turn, lanes *x, int32_t form) {
    const emu_tree_level *level = &at->tree->levels[number];
    const emu_levels *plan = at->work->plan;
    const size_t block = first_product(at, number, node) / (size_t)plan->block;
    lanes first, second, before;
    int nan[LANES];
    uint8_t flags[LANES];
    if (EMU_TREE_RAISES)
        memcpy(flags, at->flags, sizeof flags);
    read_lanes(at, &plan->scale, at->scale_a, at->width, block, &first);
    read_lanes(at, &plan->scale, at->scale_b, LANES, block, &second);
    for (size_t lane = 0; plan->live_nan && lane < LANES; lane++)
        nan[lane] = emu_is_special(emu_double_bits(first.value[lane])) || emu_is_special(emu_double_bits(second.value[lane]));
    hold_lanes(at, &level->scale.each, level, node, turn, &first, form);
    hold_lanes(at, &level->scale.each, level, node, turn + 1, &second, form);
    if (EMU_TREE_RAISES)
        raise_vanished(at, level, &first, &second);
    times(at, &first, &second);
    hold_lanes(at, &level->scale.product, level, node, turn + 2, &first, form);
    if (plan->live_nan)
        before = *x;
    if (EMU_TREE_RAISES)
        raise_vanished(at, level, x, &first);
    times(at, x, &first);
    hold_lanes(at, &level->scale.term, level, node, turn + 3, x, form);
    for (size_t lane = 0; plan->live_nan && lane < LANES; lane++)
        if (nan[lane] && before.exp[lane] < LIVE && !emu_is_special(emu_double_bits(before.value[lane])))
        {
            x->value[lane] = before.value[lane], x->exp[lane] = DEAD;
            if (EMU_TREE_RAISES)
                at->flags[lane] = flags[lane];
        }
}

EMU_FORMS(scale_lanes, (const context *at, size_t number, size_t node, size_t turn, lanes *x), at, number, node, turn, x)

EMU_INLINE void product(const context *at, size_t k, lanes *x, int32_t form) {
    const emu_tree_level *level = &at->tree->levels[0];
    const emu_levels *plan = at->work->plan;
    lanes other;
    read_lanes(at, &plan->a, at->a, at->width, k, x);
    read_lanes(at, &plan->b, at->b, LANES, k, &other);
    if (EMU_TREE_RAISES) {
        raise_signals(at, &plan->a, level, at->a, at->width, k);
        raise_signals(at, &plan->b, level, at->b, LANES, k);
        raise_vanished(at, level, x, &other);
    }
    times(at, x, &other);
    hold_lanes(at, &level->hold, level, k, 0, x, form);
    if (level->scale.by)
        EMU_RUN(form, scale_lanes, at, 0, k, 1, x);
}

EMU_FORMS(product, (const context *at, size_t k, lanes *x), at, k, x)

/* What an exact sum of products of finite numbers names where it is not the largest exponent: whether one of them is not zero. */
EMU_INLINE void name_products(const context *at, size_t width, size_t first, size_t count, lanes *sum) {
    const size_t lane_a = width > 1;
    uint32_t live[LANES] = {0};
    for (size_t k = first; k < first + count; k++)
        for (size_t lane = 0; lane < LANES; lane++) {
            const uint32_t one = emu_as_bits(at->a[k * width + lane * lane_a]) & EMU_MAGNITUDE, other = emu_as_bits(at->b[k * LANES + lane]);
            live[lane] |= other & EMU_MAGNITUDE & (0 - ((one + EMU_MAGNITUDE) >> 31));
        }
    for (size_t lane = 0; lane < LANES; lane++)
        sum->exp[lane] = live[lane] ? 0 : DEAD;
}

/* Sums of neighbouring products of which no word says more; a zero is +0. */
EMU_INLINE void sum_products(const context *at, size_t first, size_t count, lanes *sum, int32_t form) {
    const emu_tree_level *level = &at->tree->levels[1];
    (void)form;
    if (at->tree->names && at->width > 1)
        name_products(at, LANES, first, count, sum);
    else if (at->tree->names)
        name_products(at, 1, first, count, sum);
    if (at->width > 1)
        emu_sum_lot(at->work->plan->narrow, LANES, at->a, at->b, first, count, sum->value);
    else
        emu_sum_lot(at->work->plan->narrow, 1, at->a, at->b, first, count, sum->value);
    for (size_t lane = 0; lane < LANES; lane++)
        sum->value[lane] += 0.0;
    for (size_t lane = 0; at->tree->names && !level->cancelled_counts && lane < LANES; lane++)
        sum->exp[lane] = sum->value[lane] < 0.0 || sum->value[lane] > 0.0 ? sum->exp[lane] : DEAD;
}

EMU_FORMS(sum_products, (const context *at, size_t first, size_t count, lanes *sum), at, first, count, sum)

/* What zeros were added: bits of all magnitudes, and the signs that all or some of them have. */
typedef struct signs {
    uint64_t some[LANES], all[LANES];
} signs;

EMU_INLINE void see_nothing(signs *seen) {
    for (size_t lane = 0; lane < LANES; lane++)
        seen->some[lane] = 0, seen->all[lane] = EMU_MINUS;
}

EMU_INLINE void see(const lanes *x, signs *seen) {
    for (size_t lane = 0; lane < LANES; lane++) {
        seen->some[lane] |= emu_double_bits(x->value[lane]);
        seen->all[lane] &= emu_double_bits(x->value[lane]);
    }
}

/* The sign of a sum that is zero: that of equal zeros; else plus, or minus where the rounding goes down. */
EMU_INLINE void sign_zeros(const emu_tree_level *level, const signs *seen, lanes *sum) {
    const uint64_t minus = level->float_zero ? EMU_MINUS : 0, downward = level->float_zero ? level->downward : 0;
    for (size_t lane = 0; lane < LANES; lane++) { /* masks: of choices the compiler makes branches */
        const uint64_t bits = emu_double_bits(sum->value[lane]), some = seen->some[lane], other = (some ^ EMU_MINUS) | (seen->all[lane] ^ EMU_MINUS);
        const uint64_t all_minus = ((other | (0 - other)) >> 63) - 1, not_plus = 0 - ((some | (0 - some)) >> 63);
        const uint64_t zero = 0 - (((bits & ~EMU_MINUS) - 1) >> 63);
        sum->value[lane] = emu_as_double(emu_chosen(zero, emu_chosen(all_minus, minus, downward & not_plus), bits));
    }
}

/* What an exact sum names: one of the largest exponents, or 0. */
EMU_INLINE void name_sum(const emu_tree_level *level, size_t count, const lanes *terms, const lanes *running, lanes *sum) {
    int32_t exps[LANES];
    memcpy(exps, terms[0].exp, sizeof exps);
    for (size_t i = 1; i < count + (running != NULL); i++) {
        const int32_t *other = i < count ? terms[i].exp : running->exp;
        for (size_t lane = 0; lane < LANES; lane++)
            exps[lane] = exps[lane] > other[lane] ? exps[lane] : other[lane];
    }
    for (size_t lane = 0; lane < LANES; lane++)
        sum->exp[lane] = level->names_largest ? exps[lane] : exps[lane] < LIVE ? DEAD : 0;
}

/* Terms and, where it is not NULL, the running value: exact, as binary64 or rounded to odd. */
EMU_INLINE void add_exactly(const context *at, const emu_tree_level *level, size_t count, const lanes *running, lanes *sum) {
    const lanes *terms = at->terms[level - at->tree->levels];
    signs seen;
    see_nothing(&seen);
    if (at->tree->names)
        name_sum(level, count, terms, running, sum);
    memmove(sum->value, terms[0].value, sizeof sum->value);
    see(sum, &seen);
    for (size_t i = 1; i < count; i++) {
        see(terms + i, &seen);
        for (size_t lane = 0; lane < LANES; lane++) {
            const double value = terms[i].value[lane];
            sum->value[lane] = i + 1 == count && running == NULL ? emu_odd_sum(sum->value[lane], value) : sum->value[lane] + value;
        }
    }
    if (running != NULL) {
        see(running, &seen);
        for (size_t lane = 0; lane < LANES; lane++)
            sum->value[lane] = emu_odd_sum(sum->value[lane], running->value[lane]);
    }
    sign_zeros(level, &seen, sum);
}

/* The same where a sum has more bits. A part of it adds what is whole in its unit of what coarser ones leave of each value, so that none is
 * rounded; then it keeps what is at most half a unit of the part above it, and from the finest part up every sum is rounded to odd. */
EMU_INLINE void add_parts(const context *at, const emu_tree_level *level, size_t count, const lanes *running, lanes *sum) {
    const lanes *terms = at->terms[level - at->tree->levels];
    const size_t parts = (size_t)level->parts;
    double part[EMU_TREE_PARTS][LANES], plain[LANES] = {0.0}, total[LANES];
    signs seen;
    if (at->tree->names)
        name_sum(level, count, terms, running, sum);
    memset(part, 0, parts * sizeof *part);
    see_nothing(&seen);
    for (size_t i = 0; i < count + (running != NULL); i++) {
        const lanes *x = i < count ? terms + i : running;
        double left[LANES];
        see(x, &seen);
        for (size_t lane = 0; lane < LANES; lane++)
            left[lane] = x->value[lane], plain[lane] += x->value[lane];
        for (size_t number = 0; number < parts; number++)
            for (size_t lane = 0; lane < LANES; lane++) {
                const double whole = (left[lane] + level->big[number]) - level->big[number];
                part[number][lane] += whole, left[lane] -= whole;
            }
    }
    for (size_t number = parts - 1; number; number--)
        for (size_t lane = 0; lane < LANES; lane++) {
            const double above = (part[number][lane] + level->big[number - 1]) - level->big[number - 1];
            part[number][lane] -= above, part[number - 1][lane] += above;
        }
    memcpy(total, part[parts - 1], sizeof total);
    for (size_t number = parts - 1; number; number--)
        for (size_t lane = 0; lane < LANES; lane++)
            total[lane] = emu_odd_sum(part[number - 1][lane], total[lane]);
    for (size_t lane = 0; lane < LANES; lane++) /* NaN and infinity have no parts */
        sum->value[lane] = emu_is_special(emu_double_bits(plain[lane])) ? plain[lane] : total[lane];
    sign_zeros(level, &seen, sum);
}

/* The larger of exponents that alignment sees, so far and of these values: of the leading bit where that is asked for and there is one. */
EMU_INLINE void raise_exps(const emu_tree_level *level, const lanes *x, int32_t *exps) {
    int32_t seen[LANES];
    memcpy(seen, x->exp, sizeof seen);
    for (size_t lane = 0; level->normalised && lane < LANES; lane++) {
        const int32_t leading = named(x->value[lane], -2000, 2000);
        seen[lane] = seen[lane] < LIVE || leading < LIVE ? seen[lane] : leading;
    }
    for (size_t lane = 0; lane < LANES; lane++) { /* a mask: of the choice the compiler makes branches */
        const uint32_t dead = 0 - ((uint32_t)(seen[lane] - LIVE) >> 31);
        const int32_t exp = (int32_t)(((uint32_t)DEAD & dead) | ((uint32_t)(seen[lane] + level->raised) & ~dead));
        exps[lane] = exp > exps[lane] ? exp : exps[lane];
    }
}

/* Numbers in whole units of each lane. */
EMU_INLINE void in_lanes(const emu_hold_float *by, const double *x, const double *unit, double *out, int32_t form) {
    (void)form;
    if (by->mode == EMU_HOLD_CUT)
        for (size_t lane = 0; lane < LANES; lane++)
            out[lane] = in_units_by(by, x[lane], unit[lane], EMU_HOLD_CUT, 0.0);
    else if (by->mode == EMU_HOLD_NEAREST)
        for (size_t lane = 0; lane < LANES; lane++)
            out[lane] = in_units_by(by, x[lane], unit[lane], EMU_HOLD_NEAREST, 0.0);
    else
        for (size_t lane = 0; lane < LANES; lane++)
            out[lane] = in_units_by(by, x[lane], unit[lane], EMU_HOLD_BY_MASKS, 0.0);
}

EMU_FORMS(in_lanes, (const emu_hold_float *by, const double *x, const double *unit, double *out), by, x, unit, out)

/* What a cut of its own leaves of the running value. */
EMU_INLINE void cut_running(const emu_tree_level *level, const lanes *running, const int32_t *largest, double *left, int32_t form) {
    double unit[LANES];
    for (size_t lane = 0; lane < LANES; lane++)
        unit[lane] = emu_power(largest[lane] - level->running_bits);
    EMU_RUN(form, in_lanes, &level->running, running->value, unit, left);
    for (size_t lane = 0; level->running_drop >= 0 && lane < LANES; lane++)
        if (running->exp[lane] < largest[lane] - level->running_drop && !emu_is_special(emu_double_bits(running->value[lane])))
            left[lane] = 0.0;
}

/* Terms and the running value in units of 2^(E - F), and their sum. */
EMU_INLINE void add_aligned(const context *at, const emu_tree_level *level, size_t count, const lanes *running, lanes *sum, int32_t form) {
    const lanes *terms = at->terms[level - at->tree->levels];
    signs seen;
    double total[LANES] = {0.0}, unit[LANES], left[LANES];
    int32_t largest[LANES], exps[LANES];
    int beyond[LANES] = {0};
    see_nothing(&seen);
    for (size_t lane = 0; lane < LANES; lane++)
        exps[lane] = running != NULL && running->exp[lane] > LIVE ? running->exp[lane] : DEAD;
    for (size_t i = 0; i < count; i++)
        raise_exps(level, terms + i, exps);
    for (size_t lane = 0; lane < LANES; lane++) {
        largest[lane] = level->has_floor && level->floor > exps[lane] ? level->floor : exps[lane];
        largest[lane] = largest[lane] < LIVE ? 0 : largest[lane];
        unit[lane] = emu_power(largest[lane] - level->frac_bits);
    }
    for (size_t i = 0; i < count + (running != NULL); i++) {
        const lanes *x = i < count ? terms + i : running;
        see(x, &seen);
        if (x == running && level->running_cut) {
            cut_running(level, running, largest, left, form);
            EMU_RUN(form, in_lanes, &level->cut, left, unit, left);
        } else {
            EMU_RUN(form, in_lanes, &level->cut, x->value, unit, left);
        }
        for (size_t lane = 0; lane < LANES; lane++)
            total[lane] += left[lane];
    }
    for (size_t lane = 0; level->wraps && lane < LANES; lane++)
        if (!emu_is_special(emu_double_bits(total[lane]))) {
            const double inside = wrapped(total[lane], unit[lane], 1.0 / unit[lane], level->wraps);
            beyond[lane] = inside < total[lane] || inside > total[lane];
            total[lane] = inside;
        }
    for (size_t lane = 0; lane < LANES; lane++) {
        sum->value[lane] = total[lane];
        sum->exp[lane] = exps[lane] < LIVE ? DEAD : largest[lane];
    }
    if (EMU_TREE_RAISES)
        raise_flag(at, EMU_FLAG_OVERFLOW, level, beyond);
    sign_zeros(level, &seen, sum);
}

EMU_INLINE void add(const context *at, const emu_tree_level *level, size_t count, const lanes *running, lanes *sum, int32_t form) {
    if (EMU_TREE_RAISES)
        raise_both(at, level, at->terms[level - at->tree->levels], count, running);
    if (level->is_aligned)
        add_aligned(at, level, count, running, sum, form);
    else if (level->parts)
        add_parts(at, level, count, running, sum);
    else
        add_exactly(at, level, count, running, sum);
    for (size_t lane = 0; at->tree->names && !level->cancelled_counts && lane < LANES; lane++)
        sum->exp[lane] = sum->value[lane] < 0.0 || sum->value[lane] > 0.0 ? sum->exp[lane] : DEAD;
}

/* What NaN and infinite numbers among products `from` up to `to` add up to. width, scaled: constants, so that each has a loop of its own. */
EMU_INLINE void add_special(const context *at, size_t from, size_t to, size_t width, int scaled, double *found) {
    const emu_levels *plan = at->work->plan;
    const size_t lane_a = width > 1;
    const uint64_t live = plan->live_nan ? ~(uint64_t)0 : 0; /* of a zero a NaN scale makes nothing */
    for (size_t k = from; k < to; k++) {
        const size_t block = scaled ? k / (size_t)plan->block : 0;
        const float *a = at->a + k * width, *b = at->b + k * LANES, *scale_a = at->scale_a + block * width, *scale_b = at->scale_b + block * LANES;
        for (size_t lane = 0; lane < LANES; lane++) {
            const double exact = (double)a[lane * lane_a] * (double)b[lane];
            const uint64_t own = emu_double_bits(exact) & ~EMU_MINUS, zero = live & (0 - ((own - 1) >> 63));
            const uint64_t bits = emu_double_bits(scaled ? exact * (double)scale_a[lane * lane_a] * (double)scale_b[lane] : exact);
            found[lane] += emu_as_double(bits & ~zero & (0 - emu_is_special(bits)));
        }
    }
}

/* What NaN and infinite operands of the products of some children, and a running value that is one of them, make of an addition: their sum,
 * 0 where all is finite. invalid: whether NV is raised, where EMU_TREE_RAISES. */
EMU_INLINE void decide(const context *at, size_t number, size_t first, size_t count, const lanes *running, double *found, int *invalid,
                       int32_t form) {
    const emu_levels *plan = at->work->plan;
    const size_t from = first_product(at, number - 1, first), to = from + count * (at->work->k / at->nodes[number - 1]);
    (void)form;
    for (size_t lane = 0; EMU_TREE_RAISES && lane < LANES; lane++) {
        const size_t lane_a = at->width > 1 ? lane : 0;
        emu_decision met = {0.0, 0, 0, 0};
        emu_decide(&met, running->value[lane]);
        for (size_t k = from; at->any_special && k < to; k++) {
            const size_t block = plan->block ? k / (size_t)plan->block : 0;
            emu_decide_product(&met, plan, at->a[k * at->width + lane_a], at->b[k * LANES + lane],
                               plan->block ? at->scale_a[block * at->width + lane_a] : 0.0f,
                               plan->block ? at->scale_b[block * LANES + lane] : 0.0f);
        }
        found[lane] = met.found, invalid[lane] = emu_is_invalid(&met);
    }
    if (EMU_TREE_RAISES)
        return;
    for (size_t lane = 0; lane < LANES; lane++) {
        const uint64_t bits = emu_double_bits(running->value[lane]);
        found[lane] = emu_as_double(bits & (0 - emu_is_special(bits)));
    }
    if (at->any_special && plan->block && at->width > 1)
        add_special(at, from, to, LANES, 1, found);
    else if (at->any_special && plan->block)
        add_special(at, from, to, 1, 1, found);
    else if (at->any_special && at->width > 1)
        add_special(at, from, to, LANES, 0, found);
    else if (at->any_special)
        add_special(at, from, to, 1, 0, found);
}

EMU_FORMS(decide, (const context *at, size_t number, size_t first, size_t count, const lanes *running, double *found, int *invalid),
          at, number, first, count, running, found, invalid)

#define EMU_TREE_NODE (const context *at, size_t number, size_t node, lanes *out)
#if EMU_X86_FORMS
EMU_APART EMU_FOR_AVX2 static void node_value_1 EMU_TREE_NODE;
EMU_APART EMU_FOR_AVX512 static void node_value_2 EMU_TREE_NODE;
#endif
EMU_APART static void node_value_0 EMU_TREE_NODE;

EMU_INLINE void child(const context *at, size_t number, size_t node, lanes *out, int32_t form) {
    if (number == 0)
        EMU_RUN(form, product, at, node, out);
    else
        EMU_RUN(form, node_value, at, number, node, out);
}

/* The running value of a chain. */
EMU_INLINE void chain(const context *at, size_t number, size_t node, size_t start, lanes *running, int32_t form) {
    const emu_tree_level *level = &at->tree->levels[number];
    const size_t children = at->children[number], by = (size_t)level->by, every = (size_t)level->every;
    size_t turn = 0;
    for (size_t lane = 0; lane < LANES; lane++)
        running->value[lane] = 0.0, running->exp[lane] = DEAD;
    if (level->starts_c) {
        *running = *at->c;
        if (EMU_TREE_RAISES)
            raise_signals_c(at, level);
        if (level->loads_c)
            hold_lanes(at, &level->hold, level, node, turn++, running, form);
    }
    for (size_t first = 0; first < children; first += by) {
        const size_t count = children - first < by ? children - first : by;
        lanes *terms = at->terms[number], sum;
        double before[LANES];
        int invalid[LANES];
        uint8_t flags[LANES];
        for (size_t lane = 0; level->flushes && lane < LANES; lane++)
            if (running->value[lane] < level->normal && running->value[lane] > -level->normal) {
                running->value[lane] = emu_as_double(emu_double_bits(running->value[lane]) & EMU_MINUS);
                running->exp[lane] = DEAD;
            }
        if (level->decides)
            EMU_RUN(form, decide, at, number, start + first * every, count, running, before, invalid);
        if (EMU_TREE_RAISES)
            memcpy(flags, at->flags, sizeof flags);
        for (size_t i = 0; i < count; i++)
            child(at, number - 1, start + (first + i) * every, terms + i, form);
        add(at, level, count, first || !level->starts_first ? running : NULL, &sum, form);
        hold_lanes(at, &level->hold, level, node, turn++, &sum, form);
        for (size_t lane = 0; level->decides && lane < LANES; lane++)
            if (emu_is_special(emu_double_bits(before[lane]))) {
                sum.value[lane] = before[lane], sum.exp[lane] = DEAD;
                if (EMU_TREE_RAISES) /* the levels below are not asked */
                    at->flags[lane] = flags[lane] | (invalid[lane] ? emu_flag_at(at->work->plan, EMU_FLAG_INVALID, number) : 0);
            }
        *running = sum;
    }
}

/* Neighbours two by two, then their sums. A sum waits until its neighbour is there: `height` rounds deep, number `index` of its round; what
 * is left over at the end joins the sums before it in turn. */
EMU_INLINE void pairs(const context *at, size_t number, size_t node, size_t start, lanes *out, int32_t form) {
    const emu_tree_level *level = &at->tree->levels[number];
    const size_t children = at->children[number], every = (size_t)level->every;
    lanes *terms = at->terms[number], *waits = terms + 2; /* the two of an addition, then what waits */
    size_t height[EMU_TREE_PAIRS], index[EMU_TREE_PAIRS], turns[EMU_TREE_PAIRS], depth = 0;
    size_t left = children, before = 0;
    for (size_t round = 0; round < EMU_TREE_PAIRS; round++) {
        turns[round] = before;
        before += left / 2;
        left -= left / 2;
    }
    for (size_t i = 0; i < children; i++) {
        child(at, number - 1, start + i * every, waits + depth, form);
        height[depth] = 0, index[depth] = i, depth++;
        while (depth > 1 && (height[depth - 1] == height[depth - 2] || i + 1 == children)) {
            const size_t round = height[depth - 2];
            lanes sum;
            terms[0] = waits[depth - 2], terms[1] = waits[depth - 1];
            add(at, level, 2, NULL, &sum, form);
            hold_lanes(at, &level->hold, level, node, turns[round] + index[depth - 2] / 2, &sum, form);
            depth--;
            waits[depth - 1] = sum, height[depth - 1] = round + 1, index[depth - 1] /= 2;
        }
    }
    *out = waits[0];
    if (children == 1) {
        terms[0] = waits[0];
        add_exactly(at, level, 1, NULL, out);
        hold_lanes(at, &level->hold, level, node, 0, out, form);
    }
}

EMU_INLINE void node_value(const context *at, size_t number, size_t node, lanes *out, int32_t form) {
    const emu_tree_level *level = &at->tree->levels[number];
    const size_t every = (size_t)level->every, children = at->children[number];
    const size_t start = node / every * children * every + node % every;
    if (level->add == EMU_ADDS_CHAIN) {
        chain(at, number, node, start, out, form);
    } else if (level->add == EMU_ADDS_PAIRS) {
        pairs(at, number, node, start, out, form);
    } else if (number == 1 && at->tree->plain && !EMU_TREE_RAISES && !(at->tree->names && at->any_special)) {
        EMU_RUN(form, sum_products, at, start, children, out);
    } else {
        lanes *terms = at->terms[number];
        for (size_t i = 0; i < children; i++)
            child(at, number - 1, start + i * every, terms + i, form);
        if (EMU_TREE_RAISES && level->plus_c)
            raise_signals_c(at, level);
        add(at, level, children, level->plus_c ? at->c : NULL, out, form);
        hold_lanes(at, &level->hold, level, node, 0, out, form);
    }
    if (level->scale.by)
        EMU_RUN(form, scale_lanes, at, number, node, (size_t)level->turns - 4, out);
}

EMU_FORMS(node_value, EMU_TREE_NODE, at, number, node, out)

/* The values that a node of each level takes, and how many nodes there are. Returns 0 where the levels do not cover K. */
static int shape_of(const emu_tree *tree, size_t k, size_t *nodes, size_t *children) {
    size_t count = k;
    nodes[0] = k, children[0] = 1;
    for (size_t number = 1; number <= (size_t)tree->count; number++) {
        const emu_tree_level *level = &tree->levels[number];
        if (level->every < 1 || level->of < 0)
            return 0;
        const size_t every = (size_t)level->every, of = level->of ? (size_t)level->of : count / every;
        if (of < 1 || count % (of * every))
            return 0;
        count /= of;
        nodes[number] = count, children[number] = of;
    }
    return count == 1;
}

/* Values that lie side by side while a node of a level is added. */
static size_t kept(const emu_tree_level *level, size_t children) {
    if (level->add == EMU_ADDS_CHAIN)
        return (size_t)level->by < children ? (size_t)level->by : children;
    return level->add == EMU_ADDS_PAIRS ? 2 + EMU_TREE_PAIRS : children;
}

EMU_INLINE void run(int32_t form, const emu_levels_job *work, size_t width, size_t row, size_t block, size_t output, size_t count,
                    double *value, int64_t *over, uint8_t *flags) {
    const emu_tree *tree = work->plan->tree;
    lanes *next = (lanes *)(void *)work->stack;
    lanes c, found;
    context at;
    at.work = work, at.tree = tree, at.width = width, at.output = output, at.count = count, at.c = &c, at.over = over, at.flags = flags;
    at.a = work->left.value + row * work->k * width, at.b = work->right.value + block * work->k * LANES;
    at.scale_a = work->left.scale + row * work->blocks * width, at.scale_b = work->right.scale + block * work->blocks * LANES;
    shape_of(tree, work->k, at.nodes, at.children);
    for (size_t number = 1; number <= (size_t)tree->count; number++) {
        at.terms[number] = next;
        next += kept(&tree->levels[number], at.children[number]);
    }
    at.any_special = 0;
    for (size_t lane = 0; lane < LANES; lane++) {
        at.any_special |= work->right.special[block * LANES + lane] | work->left.special[width > 1 ? block * LANES + lane : row];
        c.value[lane] = value[lane], c.exp[lane] = named(value[lane], tree->c_low, tree->c_high);
    }
    EMU_RUN(form, node_value, &at, (size_t)tree->count, 0, &found);
    memcpy(value, found.value, sizeof found.value);
}

#if EMU_TREE_RAISES
void emu_tree_run_flags(const emu_levels_job *work, size_t width, size_t row, size_t block, size_t output, size_t count, double *value,
                        int64_t *over, uint8_t *flags) {
    run(EMU_PORTABLE, work, width, row, block, output, count, value, over, flags);
}
#else
void emu_tree_run(int32_t form, const emu_levels_job *work, size_t width, size_t row, size_t block, size_t output, size_t count,
                  double *value, int64_t *over) {
    run(form, work, width, row, block, output, count, value, over, NULL);
}

int emu_tree_valid(const emu_tree *tree, size_t k) {
    size_t nodes[EMU_TREE_LEVELS + 1], children[EMU_TREE_LEVELS + 1];
    if (tree->count < 1 || tree->count > EMU_TREE_LEVELS || !shape_of(tree, k, nodes, children))
        return 0;
    for (size_t number = 1; number <= (size_t)tree->count; number++)
        if ((tree->levels[number].add == EMU_ADDS_CHAIN && tree->levels[number].by < 1) || tree->levels[number].parts < 0 ||
            tree->levels[number].parts > EMU_TREE_PARTS)
            return 0;
    return 1;
}

size_t emu_tree_room(const emu_tree *tree, size_t k) {
    size_t nodes[EMU_TREE_LEVELS + 1], children[EMU_TREE_LEVELS + 1], count = 0;
    if (!emu_tree_valid(tree, k) || !shape_of(tree, k, nodes, children))
        return 0;
    for (size_t number = 1; number <= (size_t)tree->count; number++)
        count += kept(&tree->levels[number], children[number]);
    return count * sizeof(lanes);
}
#endif
