/* widths.c: fraction and integer bits, floor and the width of sums, from the formats of a datapath. */
#include "datapath.h"

enum { MOST_TERM_BITS = 62, MOST_SMALL_BITS = 62, MOST_FRAC_BITS = 1024 };

/* A non-negative integer times a power of two. */
typedef struct emu_size {
    uint64_t bits;
    int32_t exp;
} emu_size;

/* Largest magnitude as an integer of 2^lsb_exp; exponents beyond any limit are refused by its length. */
static emu_size largest_of(const emu_operand *operand)
{
    emu_size size = {operand->top, operand->max_exp - operand->min_exp};
    return size;
}

static emu_size multiply(emu_size a, emu_size b)
{
    emu_size product = {a.bits * b.bits, a.exp + b.exp};
    return product;
}

static const char term_bits[] = "bits of a term";

/* 1: the product fits 62 bits; *a becomes it. name: of what it measures. */
static int32_t times(emu_size *a, emu_size b, const char *name, emu_limit *limit)
{
    if (!emu_is_within(limit, name, emu_bit_length(a->bits) + emu_bit_length(b.bits), MOST_TERM_BITS))
        return 0;
    *a = multiply(*a, b);
    return 1;
}

static int32_t length_of(emu_size size)
{
    return size.bits ? emu_bit_length(size.bits) + size.exp : 0;
}

static emu_size whole(uint64_t bits)
{
    emu_size size = {bits, 0};
    return size;
}

/* The largest element: an integer of its own unit in a group, else a significand. */
static emu_size largest_element(const emu_path *path, const emu_operand *operand)
{
    int32_t is_grouped = path->facts->apply == EMU_APPLY_GROUP || path->facts->apply == EMU_APPLY_PROMOTE;
    return is_grouped ? largest_of(operand) : whole(operand->widest);
}

/* I of the largest sum of a step relative to E, with scales whose largest significand is widest * 2^-frac_bits. */
static int32_t count_integer_bits(emu_path *path, uint64_t widest, int32_t frac_bits, int32_t *bits)
{
    emu_limit *limit = &path->limit;
    int32_t below = path->a.frac_bits + path->b.frac_bits + 2 * frac_bits;
    emu_size size = multiply(largest_element(path, &path->a), largest_element(path, &path->b));
    if (!times(&size, whole(widest), term_bits, limit) || !times(&size, whole(widest), term_bits, limit) ||
        !times(&size, whole((uint64_t)path->facts->group), term_bits, limit))
        return 0;
    below -= path->facts->apply == EMU_APPLY_GROUP ? path->a.min_exp + path->b.min_exp : 0; /* the exponent of a group is that of its scales */
    *bits = emu_step_bits(path, size.bits, size.exp - below);
    return 0 <= *bits && emu_is_within(limit, "integer bits of a sum", *bits, MOST_FRAC_BITS);
}

/* F such that the finest product is kept under the largest exponent that a product can have. */
static int32_t exact_frac_bits(const emu_path *path)
{
    const emu_operand *a = &path->a, *b = &path->b;
    int32_t top = path->facts->apply == EMU_APPLY_GROUP ? 0 : a->max_exp + b->max_exp;
    int32_t lsb_exp = a->lsb_exp + b->lsb_exp;
    if (path->facts->scale) {
        top += 2 * path->scale.max_exp;
        lsb_exp += 2 * path->scale.lsb_exp;
    }
    return top + path->facts->exponent_raise - lsb_exp;
}

/* Bits of product, group sum, term and exact sum of a step. */
static int32_t measure_exact(emu_path *path)
{
    emu_widths *widths = &path->widths;
    emu_limit *limit = &path->limit;
    int32_t has_scale = path->facts->scale && path->facts->apply != EMU_APPLY_PROMOTE;
    emu_size one = has_scale ? whole(path->scale.widest) : whole(1), size = largest_element(path, &path->a);
    emu_size step = multiply(largest_of(&path->a), largest_of(&path->b)); /* no longer than what is checked below */
    if (!times(&size, largest_element(path, &path->b), term_bits, limit))
        return 0;
    widths->product_bits = length_of(size);
    if (!times(&size, whole((uint64_t)path->facts->group), term_bits, limit))
        return 0;
    widths->group_sum_bits = length_of(size);
    if (!times(&size, one, term_bits, limit) || !times(&size, one, term_bits, limit))
        return 0;
    widths->term_bits = length_of(size);
    if (has_scale)
        step = multiply(step, multiply(largest_of(&path->scale), largest_of(&path->scale)));
    if (!times(&step, whole((uint64_t)path->facts->step), "bits of the sum of a step", limit))
        return 0;
    widths->step_sum_bits = length_of(step);
    widths->step_sum_lsb_exp = path->a.lsb_exp + path->b.lsb_exp + (has_scale ? 2 * path->scale.lsb_exp : 0);
    widths->exact_lsb_exp = widths->step_sum_lsb_exp < path->result.lsb_exp ? widths->step_sum_lsb_exp : path->result.lsb_exp;
    return emu_is_within(limit, term_bits, widths->term_bits, MOST_TERM_BITS);
}

/* I, F and the floor of a datapath that aligns. */
static int32_t measure_aligned(emu_path *path)
{
    const emu_datapath *facts = path->facts;
    emu_widths *widths = &path->widths;
    int32_t wider = 0;
    emu_operand *scale = &path->scale;
    widths->frac_bits = facts->frac_rule == EMU_DERIVED ? exact_frac_bits(path) : facts->frac_bits;
    if (!count_integer_bits(path, facts->scale ? scale->widest : 1, facts->scale ? scale->frac_bits : 0, &widths->needed_bits))
        return 0;
    if (facts->scale && facts->widest_scale) {
        emu_operand widest;
        emu_make_operand(facts->widest_scale, 0, 0, &widest);
        if (!count_integer_bits(path, widest.widest, widest.frac_bits, &wider))
            return 0;
    }
    if (wider > widths->needed_bits)
        widths->needed_bits = wider;
    if (facts->integer_rule != EMU_UNLIMITED)
        widths->integer_bits = facts->integer_rule == EMU_DERIVED ? widths->needed_bits : facts->integer_bits;
    widths->has_floor = facts->floor_rule != EMU_UNLIMITED;
    if (facts->floor_rule == EMU_STATED)
        widths->floor_exp = facts->floor_exp;
    else if (facts->floor_rule == EMU_DERIVED)
        widths->floor_exp = path->result.min_exp - widths->integer_bits;
    return widths->frac_bits >= 0 && emu_is_within(&path->limit, "fraction bits", widths->frac_bits, MOST_FRAC_BITS) &&
           (facts->floor_rule != EMU_DERIVED || widths->integer_bits >= 0);
}

/* Bits of an aligned sum, its sign included. A term that is rounded up, or normalised, stays below 2 * 2^F. */
static int32_t aligned_bits(const emu_path *path)
{
    int32_t needed = path->widths.needed_bits, terms = emu_bit_length((uint64_t)path->term_count + 1) + 1;
    int32_t normal = terms + 1 + (path->facts->exponent_raise < 0 ? -path->facts->exponent_raise : 0);
    if (path->facts->is_normalised && normal > needed)
        needed = normal;
    return path->widths.frac_bits + (needed > terms ? needed : terms) + 3;
}

/* Bits of the widest exact sum, its sign included. */
static int32_t exact_bits(const emu_path *path)
{
    const emu_widths *widths = &path->widths;
    int32_t sum = widths->step_sum_bits, c = path->result.max_exp - widths->exact_lsb_exp + 2;
    if (path->facts->c_kind == EMU_C_LAST && path->facts->accumulator_bits > sum)
        sum = path->facts->accumulator_bits;
    sum += widths->step_sum_lsb_exp - widths->exact_lsb_exp;
    return (sum > c ? sum : c) + 2;
}

/* Bits of exact stages: of any sum of products, and of C where it is one of the terms; the sign included. */
static int32_t exact_stage_bits(const emu_path *path)
{
    const emu_widths *widths = &path->widths;
    int32_t sum = widths->step_sum_bits + widths->step_sum_lsb_exp - widths->exact_lsb_exp;
    int32_t c_lsb = path->result.max_exp - path->result.frac_bits - widths->exact_lsb_exp, c = c_lsb + path->result.frac_bits + 1;
    if (path->facts->c_kind != EMU_C_ALIGNED)
        return sum + 1;
    return sum >= c ? sum + 2 : c + 1 + (sum > c_lsb); /* all ones, and the largest C */
}

/* The same where parts are joined and C is aligned again: integer bits of the largest sum with C. */
static void measure_realigned(emu_path *path)
{
    const emu_datapath *facts = path->facts;
    uint64_t product = path->a.widest * path->b.widest, sum = product * (uint64_t)facts->step;
    int32_t below = path->a.frac_bits + path->b.frac_bits, shared = path->result.frac_bits < below ? path->result.frac_bits : below;
    uint64_t carries = (sum & emu_low_bits(below)) > emu_low_bits(below) >> shared;
    path->widths.sum_bits = emu_bit_length((sum >> below) + 1 + carries) + facts->f2 + 1;
    path->widths.part_bits = emu_bit_length(product * (uint64_t)(facts->step / facts->split) >> below) + path->widths.frac_bits + 1;
}

static void measure_stages(emu_path *path)
{
    const emu_datapath *facts = path->facts;
    emu_widths *widths = &path->widths;
    if (facts->c_kind == EMU_C_REALIGNED)
        measure_realigned(path);
    else if (facts->c_kind == EMU_C_LAST)
        widths->sum_bits = facts->accumulator_bits;
    else if (facts->frac_rule == EMU_UNLIMITED)
        widths->sum_bits = exact_stage_bits(path);
    else
        widths->sum_bits = widths->frac_bits + (widths->integer_bits < 0 ? widths->needed_bits : widths->integer_bits) + 1;
}

/* Is every sum of a group a number of the result format. */
static int32_t holds_group_sum(const emu_path *path)
{
    const emu_operand *result = &path->result;
    int32_t bits = path->widths.group_sum_bits, lsb_exp = path->a.lsb_exp + path->b.lsb_exp;
    return bits <= result->frac_bits + 1 && lsb_exp >= result->lsb_exp && bits + lsb_exp <= result->max_exp + 1;
}

int32_t emu_measure(emu_path *path)
{
    const emu_widths nothing = {-1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    int32_t bits;
    path->widths = nothing;
    path->is_small = 0;
    path->limbs = 1;
    if (!measure_exact(path))
        return EMU_ERROR_DATAPATH;
    if (path->facts->apply == EMU_APPLY_PROMOTE)
        return holds_group_sum(path) ? EMU_OK : EMU_ERROR_DATAPATH;
    if (path->facts->frac_rule != EMU_UNLIMITED && !measure_aligned(path))
        return EMU_ERROR_DATAPATH;
    measure_stages(path);
    bits = path->facts->frac_rule == EMU_UNLIMITED ? exact_bits(path) : aligned_bits(path);
    if (path->facts->c_kind == EMU_C_REALIGNED) /* one word does it */
        return emu_is_within(&path->limit, "bits of a realigned sum", bits + path->facts->f2 - path->widths.frac_bits, MOST_SMALL_BITS)
                   ? EMU_OK
                   : EMU_ERROR_DATAPATH;
    if (!emu_is_within(&path->limit, "bits of a sum", bits, 64 * EMU_WIDE_LIMBS))
        return EMU_ERROR_DATAPATH;
    path->limbs = (bits + 63) / 64;
    path->is_small = (path->facts->frac_rule == EMU_UNLIMITED ? path->widths.step_sum_bits : bits) <= MOST_SMALL_BITS;
    return EMU_OK;
}
