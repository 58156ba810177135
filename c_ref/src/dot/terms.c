/* terms.c: the terms of one fused step: exact products, exact sums of groups, scales applied. Nothing is rounded here. */
#include "datapath.h"

/* The product of both scales of a block. The exponent is that of the two codes. */
static emu_factor multiply_scales(const emu_path *path, const emu_strip *strip, size_t block)
{
    emu_factor x = emu_factor_of(&path->scale, emu_code_at(strip->scale_a, strip->row_a * strip->scale_a->columns + block));
    emu_factor y = emu_factor_of(&path->scale, emu_code_at(strip->scale_b, strip->row_b * strip->scale_b->columns + block));
    x.significand *= y.significand;
    x.exp += y.exp;
    x.flags |= y.flags;
    return x;
}

/* Scales along a row: those of the product that is next; 1 without scales. */
typedef struct scale_walk {
    size_t block;
    int32_t left; /* products before the next block */
    emu_factor scales;
} scale_walk;

static scale_walk start_scales(const emu_path *path, const emu_strip *strip, size_t start)
{
    scale_walk walk = {0, INT32_MAX, {1, 0, 0}};
    if (path->facts->scale) {
        walk.block = start / (size_t)path->facts->block;
        walk.left = path->facts->block - (int32_t)(start % (size_t)path->facts->block);
        walk.scales = multiply_scales(path, strip, walk.block);
    }
    return walk;
}

/* Go on by `count` products, before the product that is next is read. */
static void pass_scales(const emu_path *path, const emu_strip *strip, int32_t count, scale_walk *walk)
{
    walk->left -= count;
    if (walk->left < 0) {
        walk->left += path->facts->block;
        walk->scales = multiply_scales(path, strip, ++walk->block);
    }
}

/* The exponent of a term: the nominal one, or that of its leading bit; raised. Its value stays. */
static void finish_term(const emu_path *path, int32_t exp, emu_term *term)
{
    uint64_t magnitude = term->significand < 0 ? 0 - (uint64_t)term->significand : (uint64_t)term->significand;
    if (path->facts->is_normalised && magnitude)
        exp = term->lsb_exp + emu_bit_length(magnitude) - 1;
    term->exp = exp + path->facts->exponent_raise;
}

/* The exact sum of a group in units of the finest product. *any: not 0 where a product is not zero. Codes of one byte, none special. */
static int64_t sum_plain(const emu_path *path, const uint8_t *a, const uint8_t *b, int64_t *any)
{
    int64_t sum = 0, seen = 0;
    for (int32_t i = 0; i < path->facts->group; i++) {
        int64_t product = (int64_t)path->a.units[a[i]] * path->b.units[b[i]];
        sum += product;
        seen |= product;
    }
    *any = seen;
    return sum;
}

/* The same for any codes. */
static int64_t sum_group(const emu_path *path, const emu_strip *strip, size_t start, int64_t *any, int32_t *flags)
{
    size_t from_a = strip->row_a * strip->a->columns + start, from_b = strip->row_b * strip->b->columns + start;
    int64_t sum = 0;
    *any = 0;
    if (strip->a->bytes == 1 && strip->b->bytes == 1 && path->a.is_plain && path->b.is_plain)
        return sum_plain(path, (const uint8_t *)strip->a->codes + from_a, (const uint8_t *)strip->b->codes + from_b, any);
    for (size_t i = 0; i < (size_t)path->facts->group; i++) {
        emu_factor x = emu_factor_of(&path->a, emu_code_at(strip->a, from_a + i));
        emu_factor y = emu_factor_of(&path->b, emu_code_at(strip->b, from_b + i));
        sum += x.significand * y.significand;
        *any |= x.significand * y.significand;
        *flags |= x.flags | y.flags;
    }
    return sum;
}

static int32_t make_groups(const emu_path *path, const emu_strip *strip, size_t start, emu_term *terms)
{
    scale_walk walk = start_scales(path, strip, start);
    int32_t flags = 0, group = path->facts->group;
    int64_t any;
    for (int32_t i = 0; i < path->term_count; i++) {
        pass_scales(path, strip, group, &walk);
        terms[i].group_sum = sum_group(path, strip, start + (size_t)i * (size_t)group, &any, &flags);
        terms[i].significand = terms[i].group_sum * walk.scales.significand;
        terms[i].lsb_exp = path->term_lsb + walk.scales.exp;
        terms[i].is_live = (path->facts->cancelled_group_counts ? any : terms[i].group_sum) && walk.scales.significand;
        finish_term(path, walk.scales.exp, &terms[i]);
        flags |= walk.scales.flags;
    }
    return flags;
}

int32_t emu_make_terms(const emu_path *path, const emu_strip *strip, size_t start, emu_term *terms)
{
    size_t from_a = strip->row_a * strip->a->columns + start, from_b = strip->row_b * strip->b->columns + start;
    scale_walk walk;
    int32_t flags = 0;
    if (path->facts->apply == EMU_APPLY_GROUP)
        return make_groups(path, strip, start, terms);
    walk = start_scales(path, strip, start);
    for (size_t i = 0; i < (size_t)path->term_count; i++) {
        emu_factor x = emu_factor_of(&path->a, emu_code_at(strip->a, from_a + i));
        emu_factor y = emu_factor_of(&path->b, emu_code_at(strip->b, from_b + i));
        int32_t exp;
        if (path->facts->scale)
            pass_scales(path, strip, 1, &walk);
        exp = x.exp + y.exp + walk.scales.exp;
        terms[i].group_sum = x.significand * y.significand;
        terms[i].significand = terms[i].group_sum * walk.scales.significand;
        terms[i].lsb_exp = path->term_lsb + exp;
        terms[i].is_live = terms[i].significand != 0;
        finish_term(path, exp, &terms[i]);
        flags |= x.flags | y.flags | walk.scales.flags;
    }
    return flags;
}
