/* level_reach.c: what the values of each level reach, and what follows: fraction and integer bits, floors, units, widths. */
#include "bound.h"

/* What values can be: multiples of 2^lsb_exp that name exponents from min_exp to max_exp; the largest magnitude, and the largest
 * |value| * 2^-exp. */
typedef struct reach {
    int32_t lsb_exp;
    int32_t min_exp;
    int32_t max_exp;
    bound largest;
    bound significand;
} reach;

static reach reach_of(const emu_format *format)
{
    emu_operand operand;
    reach found;
    emu_make_operand(format, 0, 0, &operand);
    found.lsb_exp = operand.lsb_exp;
    found.min_exp = operand.min_exp;
    found.max_exp = operand.max_exp;
    found.largest = bound_of(operand.top, operand.max_exp - operand.frac_bits);
    found.significand = bound_of(operand.widest, -operand.frac_bits);
    return found;
}

static reach product_of(const reach *a, const reach *b)
{
    reach product;
    product.lsb_exp = a->lsb_exp + b->lsb_exp;
    product.min_exp = a->min_exp + b->min_exp;
    product.max_exp = a->max_exp + b->max_exp;
    product.largest = times(&a->largest, &b->largest);
    product.significand = times(&a->significand, &b->significand);
    return product;
}

/* `count` values (0: as repeated) added exactly to `other` (NULL: nothing). */
static reach sum_of(const reach *values, size_t count, const reach *other, int32_t names_largest)
{
    reach sum = *values;
    sum.largest = repeated(&values->largest, count);
    sum.significand = repeated(&values->significand, count);
    if (other) {
        sum.lsb_exp = emu_least(sum.lsb_exp, other->lsb_exp);
        sum.min_exp = emu_least(sum.min_exp, other->min_exp);
        sum.max_exp = emu_most(sum.max_exp, other->max_exp);
        sum.largest = plus(&sum.largest, &other->largest);
        sum.significand = plus(&sum.significand, &other->significand);
    }
    if (!names_largest) {
        sum.min_exp = sum.max_exp = 0;
        sum.significand = sum.largest;
    }
    return sum;
}

/* Bits of a sum in its finest unit: 0 where C has room for them. */
static int32_t check_width(const reach *sum, emu_limit *limit)
{
    return emu_is_within(limit, "bits of a sum", sum->largest.top - sum->lsb_exp, MOST_SUM_BITS) ? EMU_OK : EMU_ERROR_DATAPATH;
}

/* What a register leaves; *unit_exp of one in fixed point. */
static int32_t hold_reach(const emu_hold *hold, reach *values, int32_t *unit_exp, emu_limit *limit)
{
    const bound two = bound_of(1, 1);
    *unit_exp = 0;
    if (hold->kind == EMU_HOLD_FLOAT) {
        *values = reach_of(hold->format);
    } else if (hold->kind == EMU_HOLD_FIXED) {
        *unit_exp = hold->unit_rule == EMU_DERIVED ? values->lsb_exp : hold->unit_exp;
        if (!emu_is_within(limit, "bits of a sum in units of a register", values->largest.top - *unit_exp, MOST_SUM_BITS))
            return EMU_ERROR_DATAPATH;
        values->min_exp = values->max_exp = 0;
        values->significand = values->largest;
        if (*unit_exp > values->lsb_exp || !is_within(&values->largest, hold->bits - 1, *unit_exp)) {
            values->lsb_exp = *unit_exp;
            values->largest = values->significand = bound_of(1, hold->bits - 1 + *unit_exp);
        }
    } else if (hold->kind == EMU_HOLD_CUT && hold->is_fraction) {
        const bound unit = bound_of(1, -hold->bits), last = bound_of(1, values->max_exp - hold->bits);
        values->lsb_exp = emu_most(values->lsb_exp, values->min_exp - hold->bits);
        values->largest = plus(&values->largest, &last);
        values->significand = plus(&values->significand, &unit);
    } else if (hold->kind == EMU_HOLD_CUT) {
        values->largest = times(&values->largest, &two);
        values->significand = times(&values->significand, &two);
    }
    return EMU_OK;
}

/* What values times both scales reach. */
static int32_t scale_reach(const emu_levels *facts, const emu_scaling *scaling, reach *values, emu_limit *limit)
{
    reach one, widest, both;
    int32_t unit_exp, error;
    if (!scaling->applies)
        return EMU_OK;
    one = reach_of(scaling->each.kind == EMU_HOLD_FLOAT ? scaling->each.format : facts->scale);
    both = product_of(&one, &one);
    if (facts->widest_scale && scaling->each.kind == EMU_HOLD_EXACT) {
        widest = reach_of(facts->widest_scale);
        both.significand = times(&widest.significand, &widest.significand);
    }
    (void)hold_reach(&scaling->product, &both, &unit_exp, limit); /* nothing, or a float format */
    *values = product_of(values, &both);
    error = check_width(values, limit);
    return error ? error : hold_reach(&scaling->term, values, &unit_exp, limit);
}

static int32_t is_toward_zero(const emu_rounding *rounding)
{
    int32_t moves = rounding->beyond_max[0] | rounding->beyond_max[1];
    for (int32_t i = 0; i < 6; i++)
        moves |= rounding->choice[i / 3][i % 3];
    return !moves;
}

/* What no sum of `terms` aligned terms exceeds, in units of 2^E. one: of a term over the exponent that it names, which a normalised one has
 * below 2.   frac_bits: F where each term may be rounded up by a unit, else -1. */
static bound aligned_sum(const bound *one, int32_t is_normalised, size_t terms, int32_t exponent_raise, int32_t frac_bits)
{
    const bound normal = bound_of(1, 1), spare = bound_of(terms, -frac_bits), raised = bound_of(1, -exponent_raise);
    bound total = repeated(is_normalised ? &normal : one, terms);
    total = times(&total, &raised);
    return frac_bits < 0 ? total : plus(&total, &spare);
}

/* Integer bits of such a sum, with a C that is a float: below the sum + 2; -1: it is too long to tell. */
static int32_t bits_of_sum(const bound *total, int32_t has_c, emu_limit *limit)
{
    emu_wide floor = total->bits, one = {{1}};
    int32_t has_fraction = total->exp < 0 && emu_wide_spare(&total->bits) < -total->exp;
    if (!total->is_known || total->top > MOST_SUM_BITS) {
        (void)emu_is_within(limit, "bits of an aligned sum", total->top - emu_least(total->exp, 0), MOST_SUM_BITS);
        return -1;
    }
    if (total->exp < 0)
        emu_wide_shift_right(&floor, -total->exp);
    else
        emu_wide_shift_left(&floor, EMU_WIDE_LIMBS, total->exp);
    for (int32_t i = 0; has_c && i <= has_fraction; i++)
        emu_wide_add(&floor, &one, 0);
    return emu_wide_length(&floor);
}

/* Bits at 2^E and above of the largest sum of `terms` values and the running value (NULL: none); -1: it is too long to tell. An integer
 * names 0, so that E is 0 at least. */
static int32_t needed_bits(const emu_alignment *words, const reach *values, size_t terms, const reach *running, int32_t is_integer,
                           int32_t frac_bits, emu_limit *limit)
{
    const int32_t rounds_up = !is_toward_zero(words->cut);
    bound total = aligned_sum(&values->significand, words->is_normalised, terms, words->exponent_raise, rounds_up ? frac_bits : -1);
    if (running && is_integer) {
        const bound unit = bound_of(1, 0);
        total = plus(&total, &running->significand);
        if (rounds_up || (words->running && !is_toward_zero(words->running)))
            total = plus(&total, &unit);
    }
    return bits_of_sum(&total, running && !is_integer, limit);
}

int32_t emu_step_bits(emu_path *path, uint64_t largest, int32_t exp)
{
    const emu_datapath *facts = path->facts;
    const bound one = bound_of(largest, exp);
    const int32_t rounds_up = facts->frac_rule != EMU_UNLIMITED && facts->align_mode != EMU_ALIGN_RZ;
    const bound total = aligned_sum(&one, facts->is_normalised, (size_t)path->term_count, facts->exponent_raise,
                                    rounds_up ? path->widths.frac_bits : -1);
    return bits_of_sum(&total, facts->c_kind == EMU_C_ALIGNED, &path->limit);
}

/* F, I and the floor of an aligned addition of `terms` values, and what its sums reach. running: NULL where there is no running value. */
static int32_t align_reach(const emu_sum_level *level, size_t terms, const reach *running, int32_t is_integer, emu_level_plan *plan,
                           reach *values, emu_limit *limit)
{
    const emu_alignment *words = &level->align;
    int32_t needed, bits, low = values->min_exp, top = values->max_exp, wide = 0;
    const bound two = bound_of(1, 1);
    bound spare;
    reach sum = *values;
    plan->frac_bits = words->frac_rule == EMU_DERIVED ? values->max_exp + words->exponent_raise - values->lsb_exp : words->frac_bits;
    if (plan->frac_bits < 0 || !emu_is_within(limit, "fraction bits", plan->frac_bits, MOST_SUM_BITS))
        return EMU_ERROR_DATAPATH;
    needed = needed_bits(words, values, terms, running, is_integer, plan->frac_bits, limit);
    bits = words->integer_rule == EMU_STATED ? words->integer_bits : needed;
    if (words->integer_rule != EMU_UNLIMITED &&
        (needed < 0 || (!words->wraps && !emu_is_within(limit, "integer bits that a sum needs", needed, bits))))
        return EMU_ERROR_DATAPATH;
    plan->adder_bits = plan->frac_bits + bits + 1;
    plan->has_floor = words->floor_rule != EMU_UNLIMITED;
    if (words->floor_rule == EMU_STATED)
        plan->floor_exp = words->floor_exp;
    else if (words->floor_rule == EMU_DERIVED)
        plan->floor_exp = reach_of(level->hold.format).min_exp - bits;
    if (running) {
        sum.lsb_exp = emu_least(sum.lsb_exp, running->lsb_exp);
        low = emu_least(low, running->min_exp);
        top = emu_most(top, running->max_exp);
        wide = emu_most(wide, running->significand.top);
    }
    top += emu_most(words->exponent_raise, 0);
    if (plan->has_floor) {
        top = emu_most(top, plan->floor_exp);
        low = emu_most(low, plan->floor_exp);
    }
    spare = bound_of(terms + 1, top - plan->frac_bits);
    sum.largest = repeated(&values->largest, terms);
    sum.largest = running ? plus(&sum.largest, &running->largest) : sum.largest;
    sum.largest = plus(&sum.largest, &spare);
    spare.exp -= top;
    spare.top -= top;
    spare = plus(&spare, running && is_integer && running->significand.top >= two.top ? &running->significand : &two);
    sum.significand = repeated(values->significand.top < 2 ? &two : &values->significand, terms);
    sum.significand = plus(&sum.significand, &spare);
    sum.min_exp = low;
    sum.max_exp = top;
    sum.lsb_exp = emu_most(sum.lsb_exp, low - plan->frac_bits - (words->is_normalised ? 1 << 12 : 0));
    wide = emu_most(wide, sum.significand.top) + emu_most(0, -words->exponent_raise) + 1;
    *values = sum;
    wide += emu_most(plan->frac_bits, words->running ? words->running_bits : 0);
    return emu_is_within(limit, "bits of an aligned sum", wide, MOST_SUM_BITS) ? EMU_OK : EMU_ERROR_DATAPATH;
}

/* What a level leaves of values; `count` of them come to one in an instruction. */
static int32_t level_reach(const emu_levels *facts, const emu_sum_level *level, size_t count, emu_level_plan *plan, reach *values,
                           emu_limit *limit)
{
    int32_t is_chain = level->add == EMU_SUM_CHAIN, repeats = level->add >= EMU_SUM_CHAIN, is_float = level->hold.kind == EMU_HOLD_FLOAT;
    int32_t takes_c = level->plus_c | (is_chain & (level->start == EMU_START_C)), error;
    reach c = takes_c ? reach_of(facts->c) : *values, own = is_float ? reach_of(level->hold.format) : c;
    int32_t is_integer = takes_c && !(is_float && is_chain) && facts->c->format_class != EMU_FLOAT;
    size_t terms = is_chain ? (size_t)level->by : repeats ? 2 : count;
    if (level->aligns) {
        error = align_reach(level, terms, is_float && is_chain ? &own : takes_c ? &c : NULL, is_integer, plan, values, limit);
    } else {
        count = level->of_rule == EMU_OF_ALL ? 0 : count;
        *values = repeats && is_float ? sum_of(values, terms, &own, 0) : sum_of(values, count, takes_c ? &c : NULL, level->names_largest);
        error = check_width(values, limit);
    }
    plan->sum_lsb_exp = values->lsb_exp;
    if (!error)
        error = hold_reach(&level->hold, values, &plan->unit_exp, limit);
    return error ? error : scale_reach(facts, &level->scaling, values, limit);
}

int32_t emu_measure_levels(emu_level_path *path, const emu_shape *shape)
{
    const emu_levels *facts = path->facts;
    reach a = reach_of(facts->a), b = reach_of(facts->b), values = product_of(&a, &b), c;
    emu_limit *limit = &path->limit;
    int32_t error = check_width(&values, limit);
    if (!error)
        error = hold_reach(&facts->product, &values, &path->product_unit_exp, limit);
    if (!error)
        error = scale_reach(facts, &facts->product_scaling, &values, limit);
    for (int32_t i = 0; i < facts->level_count && !error; i++)
        error = level_reach(facts, &facts->levels[i], shape->of[i + 1], &path->plans[i], &values, limit);
    if (!error && facts->out_plus_c) {
        c = reach_of(facts->c);
        values = sum_of(&values, 1, &c, 0);
        error = check_width(&values, limit);
    }
    return error;
}
