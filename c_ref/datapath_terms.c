/* datapath_terms.c: the terms of one fused step: exact products, exact sums of groups, scales applied. Nothing is rounded here. */
#include "datapath.h"

/* The product of both scales of a product, 1 without scales. The exponent is that of the two codes. */
emu_factor emu_scales_of(const emu_path *path, const emu_strip *strip, size_t product)
{
    emu_factor one = {1, 0, 0}, x, y;
    size_t block;
    if (!path->facts->scale)
        return one;
    block = product / (size_t)path->facts->block;
    x = emu_factor_of(&path->scale, emu_code_at(strip->scale_a, strip->row_a * strip->scale_a->columns + block));
    y = emu_factor_of(&path->scale, emu_code_at(strip->scale_b, strip->row_b * strip->scale_b->columns + block));
    x.significand *= y.significand;
    x.exp += y.exp;
    x.flags |= y.flags;
    return x;
}

/* The exponent of a term: the nominal one, or that of its leading bit; raised. Its value stays. */
static void finish_term(const emu_path *path, int32_t exp, emu_term *term)
{
    uint64_t magnitude = term->significand < 0 ? 0 - (uint64_t)term->significand : (uint64_t)term->significand;
    if (path->facts->is_normalised && magnitude)
        exp = term->lsb_exp + emu_bit_length(magnitude) - 1;
    term->exp = exp + path->facts->exponent_raise;
}

/* The exact sum of a group in units of the finest product. *is_live: one of its products is not zero. */
static int64_t sum_group(const emu_path *path, const emu_strip *strip, size_t start, int32_t *is_live, int32_t *flags)
{
    size_t from_a = strip->row_a * strip->a->columns + start, from_b = strip->row_b * strip->b->columns + start;
    size_t count = (size_t)path->facts->group;
    int64_t sum = 0, any = 0;
    int32_t seen = 0;
    if (strip->a->bytes == 1 && strip->b->bytes == 1 && path->a.has_table && path->b.has_table) {
        const uint8_t *a = (const uint8_t *)strip->a->codes + from_a, *b = (const uint8_t *)strip->b->codes + from_b;
        for (size_t i = 0; i < count; i++) {
            const emu_factor *x = &path->a.table[a[i]], *y = &path->b.table[b[i]];
            int64_t product = x->significand * y->significand;
            sum += product;
            any |= product;
            seen |= x->flags | y->flags;
        }
    } else {
        for (size_t i = 0; i < count; i++) {
            emu_factor x = emu_factor_of(&path->a, emu_read(strip->a, from_a + i));
            emu_factor y = emu_factor_of(&path->b, emu_read(strip->b, from_b + i));
            sum += x.significand * y.significand;
            any |= x.significand * y.significand;
            seen |= x.flags | y.flags;
        }
    }
    *is_live = path->facts->cancelled_group_counts ? any != 0 : sum != 0;
    *flags |= seen;
    return sum;
}

static int32_t make_groups(const emu_path *path, const emu_strip *strip, size_t start, emu_term *terms)
{
    int32_t flags = 0;
    for (int32_t i = 0; i < path->term_count; i++) {
        size_t product = start + (size_t)i * (size_t)path->facts->group;
        emu_factor scales = emu_scales_of(path, strip, product);
        terms[i].group_sum = sum_group(path, strip, product, &terms[i].is_live, &flags);
        terms[i].significand = terms[i].group_sum * scales.significand;
        terms[i].lsb_exp = path->term_lsb + scales.exp;
        terms[i].is_live = terms[i].is_live && scales.significand;
        finish_term(path, scales.exp, &terms[i]);
        flags |= scales.flags;
    }
    return flags;
}

int32_t emu_make_terms(const emu_path *path, const emu_strip *strip, size_t start, emu_term *terms)
{
    size_t from_a = strip->row_a * strip->a->columns + start, from_b = strip->row_b * strip->b->columns + start;
    int32_t flags = 0;
    if (path->facts->apply == EMU_APPLY_GROUP)
        return make_groups(path, strip, start, terms);
    for (size_t i = 0; i < (size_t)path->term_count; i++) {
        emu_factor x = emu_factor_of(&path->a, emu_code_at(strip->a, from_a + i));
        emu_factor y = emu_factor_of(&path->b, emu_code_at(strip->b, from_b + i));
        emu_factor scales = emu_scales_of(path, strip, start + i);
        int32_t exp = x.exp + y.exp + scales.exp;
        terms[i].group_sum = x.significand * y.significand;
        terms[i].significand = terms[i].group_sum * scales.significand;
        terms[i].lsb_exp = path->term_lsb + exp;
        terms[i].is_live = terms[i].significand != 0;
        finish_term(path, exp, &terms[i]);
        flags |= x.flags | y.flags | scales.flags;
    }
    return flags;
}
