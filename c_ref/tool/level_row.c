/* level_row.c: how long rows of a datapath of levels are, and what they draw. */
#include "shared.h"

enum { MOST_INSTRUCTIONS = 64 };

static void see_hold(const emu_hold *hold, emu_row_size *row)
{
    int32_t bits = hold->rounding ? hold->rounding->random_bits : 0;
    if (bits > row->most_bits)
        row->most_bits = bits;
    if (bits && bits < row->least_bits)
        row->least_bits = bits;
}

static void see_scaling(const emu_scaling *scaling, emu_row_size *row)
{
    see_hold(&scaling->each, row);
    see_hold(&scaling->product, row);
    see_hold(&scaling->term, row);
}

static void see_random(const emu_levels *levels, emu_row_size *row)
{
    row->most_bits = 0;
    row->least_bits = EMU_MAX_RANDOM_BITS;
    see_hold(&levels->product, row);
    see_scaling(&levels->product_scaling, row);
    for (int32_t i = 0; i < levels->level_count; i++) {
        see_hold(&levels->levels[i].hold, row);
        see_scaling(&levels->levels[i].scaling, row);
    }
    see_hold(&levels->out, row);
}

static size_t greatest_divisor(size_t a, size_t b)
{
    return b ? greatest_divisor(b, a % b) : a;
}

size_t emu_whole_products(int32_t k, int32_t block)
{
    size_t products = (size_t)k, together = block > 0 ? (size_t)block : 1;
    return products / greatest_divisor(products, together) * together;
}

int32_t emu_measure_level_row(const emu_levels *levels, size_t products, emu_row_size *row)
{
    if (products == 0 || products % emu_whole_products(levels->k, levels->scale ? levels->block : 0) ||
        emu_count_dot_levels(levels, products, &row->draws, &row->numbers))
        return EMU_ERROR_SHAPE;
    row->products = products;
    see_random(levels, row);
    return EMU_OK;
}

int32_t emu_shortest_level_row(const emu_levels *levels, size_t instructions, size_t most, emu_row_size *row)
{
    size_t size = emu_whole_products(levels->k, levels->scale ? levels->block : 0);
    for (size_t count = instructions; count <= MOST_INSTRUCTIONS && size * count <= most; count++) {
        if (!emu_measure_level_row(levels, size * count, row))
            return EMU_OK;
    }
    return EMU_ERROR_SHAPE;
}
