/* level_operands.c: operands of a row of a datapath of levels: read, multiplied, and what NaN and infinities among them decide. */
#include "levels.h"

/* EMU_RAISED_INVALID where a product is NaN of two values that are none. */
static int32_t vanishes(const emu_number *a, const emu_number *b, const emu_number *product)
{
    return product->special == EMU_NAN && a->special != EMU_NAN && b->special != EMU_NAN ? EMU_RAISED_INVALID : 0;
}

void emu_multiply_raising(const emu_number *a, const emu_number *b, emu_number *product, int32_t *raised)
{
    emu_number found;
    emu_multiply_numbers(a, b, &found);
    *raised |= vanishes(a, b, &found);
    *product = found;
}

int32_t emu_elements_signal(const emu_level_row *row, size_t product)
{
    const emu_strip *strip = &row->strip;
    return emu_is_signalling(&row->path->a, emu_read(strip->a, strip->row_a * strip->a->columns + product), row->facts->signals_a) ||
                   emu_is_signalling(&row->path->b, emu_read(strip->b, strip->row_b * strip->b->columns + product), row->facts->signals_b)
               ? EMU_RAISED_INVALID
               : 0;
}

int32_t emu_scales_signal(const emu_level_row *row, size_t product)
{
    const emu_matrix *scales[2] = {row->strip.scale_a, row->strip.scale_b};
    size_t block = product / (size_t)row->facts->block;
    int32_t found = 0;
    for (int32_t side = 0; side < 2; side++)
        found |= emu_is_signalling(&row->path->scale, emu_read(scales[side], row->strip.row_a * scales[side]->columns + block),
                                   row->facts->signals_scale);
    return found ? EMU_RAISED_INVALID : 0;
}

int32_t emu_read_elements(const emu_level_row *row, size_t product, emu_number factors[2])
{
    const emu_strip *strip = &row->strip;
    int32_t flushes = row->facts->flushes_elements;
    int32_t error = emu_read_number(&row->path->a, emu_read(strip->a, strip->row_a * strip->a->columns + product), flushes, 0, &factors[0]);
    return error | emu_read_number(&row->path->b, emu_read(strip->b, strip->row_b * strip->b->columns + product), flushes, 0, &factors[1]);
}

int32_t emu_read_scales(const emu_level_row *row, size_t product, emu_number factors[2])
{
    const emu_matrix *scales[2] = {row->strip.scale_a, row->strip.scale_b};
    size_t block = product / (size_t)row->facts->block;
    int32_t error = EMU_OK;
    for (int32_t side = 0; side < 2; side++)
        error |= emu_read_number(&row->path->scale, emu_read(scales[side], row->strip.row_a * scales[side]->columns + block),
                                 row->facts->flushes_scales, row->facts->ignores_unused_bits, &factors[side]);
    return error;
}

void emu_look_at(const emu_number *number, emu_seen *found)
{
    found->has_nan |= number->special == EMU_NAN;
    found->infinite[number->sign] |= number->special == EMU_INFINITE;
}

static int32_t is_zero(const emu_number *number)
{
    return !number->special && !emu_wide_length(&number->magnitude);
}

static int32_t look_at_product(const emu_level_row *row, size_t product, emu_seen *found)
{
    emu_number factors[4];
    int32_t error = emu_read_elements(row, product, factors), count = 2;
    if (row->facts->scale) {
        int32_t element_nan = factors[0].special == EMU_NAN || factors[1].special == EMU_NAN, scale_nan;
        int32_t is_empty = is_zero(&factors[0]) || is_zero(&factors[1]);
        error |= emu_read_scales(row, product, &factors[2]);
        scale_nan = factors[2].special == EMU_NAN || factors[3].special == EMU_NAN;
        count = scale_nan && !element_nan && is_empty && row->facts->nan_scale_live ? 2 : 4;
        found->raised |= count == 4 ? emu_scales_signal(row, product) : 0;
    }
    found->raised |= emu_elements_signal(row, product);
    for (int32_t i = 1; i < count; i++)
        emu_multiply_raising(&factors[0], &factors[i], &factors[0], &found->raised);
    emu_look_at(&factors[0], found);
    return error;
}

int32_t emu_look_below(const emu_level_row *row, int32_t level, size_t node, emu_seen *found)
{
    int32_t error = EMU_OK;
    if (level == 0)
        return look_at_product(row, node, found);
    for (size_t i = 0; i < row->shape.of[level]; i++)
        error |= emu_look_below(row, level - 1, emu_child(row->facts, &row->shape, level, node, i), found);
    return error;
}

int32_t emu_decide(const emu_seen *found, emu_number *number, int32_t *raised)
{
    const emu_number nothing = {0, 0, 0, 0, 0, 0, {{0}}};
    if (!(found->has_nan | found->infinite[0] | found->infinite[1]))
        return 0;
    *raised |= found->raised | (found->infinite[0] & found->infinite[1] ? EMU_RAISED_INVALID : 0);
    *number = nothing;
    number->special = found->has_nan | (found->infinite[0] & found->infinite[1]) ? EMU_NAN : EMU_INFINITE;
    number->sign = number->special == EMU_INFINITE && found->infinite[1];
    return 1;
}
