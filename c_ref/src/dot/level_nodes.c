/* level_nodes.c: one row of a datapath of levels: each node of a level when the level above asks for it. */
#include "levels.h"

uint64_t emu_random_of(const emu_level_row *row, const emu_hold *words, int32_t level, size_t node, size_t turn)
{
    if (!emu_draws(words))
        return 0;
    return emu_read(row->random, row->strip.row_a * row->random->columns +
                                     row->order[emu_draw_place(row->path, &row->shape, level, node, turn)]);
}

/* Operands */

static int32_t read_elements(const emu_level_row *row, size_t product, emu_number factors[2])
{
    const emu_strip *strip = &row->strip;
    int32_t flushes = row->facts->flushes_elements;
    int32_t error = emu_read_number(&row->path->a, emu_read(strip->a, strip->row_a * strip->a->columns + product), flushes, 0, &factors[0]);
    return error | emu_read_number(&row->path->b, emu_read(strip->b, strip->row_b * strip->b->columns + product), flushes, 0, &factors[1]);
}

static int32_t read_scales(const emu_level_row *row, size_t product, emu_number factors[2])
{
    const emu_matrix *scales[2] = {row->strip.scale_a, row->strip.scale_b};
    size_t block = product / (size_t)row->facts->block;
    int32_t error = EMU_OK;
    for (int32_t side = 0; side < 2; side++)
        error |= emu_read_number(&row->path->scale, emu_read(scales[side], row->strip.row_a * scales[side]->columns + block),
                                 row->facts->flushes_scales, row->facts->ignores_unused_bits, &factors[side]);
    return error;
}

/* NaN and infinities of what an addition sees, before anything is added. */
typedef struct seen {
    int32_t has_nan;
    int32_t infinite[2];
} seen;

static void look_at(const emu_number *number, seen *found)
{
    found->has_nan |= number->special == EMU_NAN;
    found->infinite[number->sign] |= number->special == EMU_INFINITE;
}

static int32_t is_zero(const emu_number *number)
{
    return !number->special && !emu_wide_length(&number->magnitude);
}

static int32_t look_at_product(const emu_level_row *row, size_t product, seen *found)
{
    emu_number factors[4];
    int32_t error = read_elements(row, product, factors), count = 2;
    if (row->facts->scale) {
        int32_t element_nan = factors[0].special == EMU_NAN || factors[1].special == EMU_NAN, scale_nan;
        int32_t is_empty = is_zero(&factors[0]) || is_zero(&factors[1]);
        error |= read_scales(row, product, &factors[2]);
        scale_nan = factors[2].special == EMU_NAN || factors[3].special == EMU_NAN;
        count = scale_nan && !element_nan && is_empty && row->facts->nan_scale_live ? 2 : 4;
    }
    for (int32_t i = 1; i < count; i++)
        emu_multiply_numbers(&factors[0], &factors[i], &factors[0]);
    look_at(&factors[0], found);
    return error;
}

static int32_t look_below(const emu_level_row *row, int32_t level, size_t node, seen *found)
{
    int32_t error = EMU_OK;
    if (level == 0)
        return look_at_product(row, node, found);
    for (size_t i = 0; i < row->shape.of[level]; i++)
        error |= look_below(row, level - 1, emu_child(row->facts, &row->shape, level, node, i), found);
    return error;
}

/* What the operands decide: EMU_NAN or EMU_INFINITE in *number, or 0. */
static int32_t decide(const seen *found, emu_number *number)
{
    const emu_number nothing = {0, 0, 0, 0, 0, 0, {{0}}};
    if (!(found->has_nan | found->infinite[0] | found->infinite[1]))
        return 0;
    *number = nothing;
    number->special = found->has_nan | (found->infinite[0] & found->infinite[1]) ? EMU_NAN : EMU_INFINITE;
    number->sign = number->special == EMU_INFINITE && found->infinite[1];
    return 1;
}

/* Levels */

static int32_t hold(const emu_level_row *row, const emu_hold *words, int32_t unit_exp, int32_t level, size_t node, size_t turn,
                    emu_number *number)
{
    return emu_hold_number(row->path, words, unit_exp, (uint32_t)emu_random_of(row, words, level, node, turn), number);
}

/* A value times both scales: each, their product and the result held. */
static int32_t multiply_scales(const emu_level_row *row, int32_t level, size_t node, size_t product, emu_number *value)
{
    const emu_scaling *scaling = emu_scaling_of(row->path, level);
    size_t turn = emu_count_turns(row->path, &row->shape, level);
    emu_number scales[2];
    int32_t error;
    if (!scaling)
        return EMU_OK;
    error = read_scales(row, product, scales);
    if (error)
        return error;
    if ((scales[0].special == EMU_NAN || scales[1].special == EMU_NAN) && !value->special && !value->live && row->facts->nan_scale_live)
        return EMU_OK;
    error = hold(row, &scaling->each, 0, level, node, turn, &scales[0]);
    if (!error)
        error = hold(row, &scaling->each, 0, level, node, turn + 1, &scales[1]);
    emu_multiply_numbers(&scales[0], &scales[1], &scales[0]);
    if (!error)
        error = hold(row, &scaling->product, 0, level, node, turn + 2, &scales[0]);
    emu_multiply_numbers(value, &scales[0], value);
    return error ? error : hold(row, &scaling->term, 0, level, node, turn + 3, value);
}

static int32_t node_value(const emu_level_row *row, int32_t level, size_t node, emu_number *room, emu_number *value);

/* `count` values of the level below, side by side in `room`. */
static int32_t child_values(const emu_level_row *row, int32_t level, size_t node, size_t first, size_t count, emu_number *room)
{
    int32_t error = EMU_OK;
    for (size_t i = 0; i < count && !error; i++)
        error = node_value(row, level - 1, emu_child(row->facts, &row->shape, level, node, first + i), room + count, &room[i]);
    return error;
}

/* The running value as C is read: zero in the place of a subnormal number. */
static void flush(const emu_hold *words, emu_number *running)
{
    emu_grid grid;
    if (words->kind != EMU_HOLD_FLOAT || running->special)
        return;
    emu_derive_grid(words->format, &grid);
    if (running->lsb_exp + emu_wide_length(&running->magnitude) > grid.lowest_exp)
        return;
    running->negative |= running->sign;
    running->live = 0;
    emu_wide_clear(&running->magnitude, EMU_WIDE_LIMBS);
    emu_settle_number(running);
}

/* The running value plus one lot, held. */
static int32_t add_lot(const emu_level_row *row, int32_t level, size_t node, size_t first, size_t count, size_t turn, emu_number *room,
                       emu_number *running, int32_t has_running)
{
    const emu_sum_level *words = &row->facts->levels[level - 1];
    int32_t has_c = words->start == EMU_START_C, error;
    if (has_c && row->facts->flushes_c)
        flush(&words->hold, running);
    if (has_c && !row->facts->per_add) {
        seen found = {0, {0, 0}};
        error = EMU_OK;
        look_at(running, &found);
        for (size_t i = first; i < first + count; i++)
            error |= look_below(row, level - 1, emu_child(row->facts, &row->shape, level, node, i), &found);
        if (error || decide(&found, running))
            return error;
    }
    error = child_values(row, level, node, first, count, room);
    if (!error)
        error = emu_add_numbers(row->path, level, &words->hold, room, count, has_running ? running : NULL, running);
    return error ? error : hold(row, &words->hold, row->path->plans[level - 1].unit_exp, level, node, turn, running);
}

static int32_t add_chain(const emu_level_row *row, int32_t level, size_t node, emu_number *room, emu_number *value)
{
    const emu_sum_level *words = &row->facts->levels[level - 1];
    const emu_number nothing = {0, 0, 0, 0, 0, 0, {{0}}};
    size_t of = row->shape.of[level], by = (size_t)words->by, turn = 0;
    int32_t error = EMU_OK;
    *value = words->start == EMU_START_C ? row->c : nothing;
    if (words->start == EMU_START_C && row->path->loads_c)
        error = hold(row, &words->hold, row->path->plans[level - 1].unit_exp, level, node, turn++, value);
    for (size_t first = 0; first < of && !error; first += by) {
        size_t count = of - first < by ? of - first : by;
        error = add_lot(row, level, node, first, count, turn++, room, value, words->start != EMU_START_FIRST || first > 0);
        if (!error)
            emu_keep_stage(row, level, node, (int64_t)(first / by), value);
    }
    return error;
}

static int32_t add_pairwise(const emu_level_row *row, int32_t level, size_t node, emu_number *room, emu_number *value)
{
    const emu_hold *words = &row->facts->levels[level - 1].hold;
    size_t left = row->shape.of[level], turn = 0;
    int32_t unit_exp = row->path->plans[level - 1].unit_exp, error = child_values(row, level, node, 0, left, room);
    if (!error && left == 1) {
        error = emu_add_numbers(row->path, level, words, room, 1, NULL, value);
        return error ? error : hold(row, words, unit_exp, level, node, 0, value);
    }
    for (; left > 1 && !error; left -= left / 2) {
        for (size_t i = 0; i < left / 2 && !error; i++) {
            error = emu_add_numbers(row->path, level, words, &room[2 * i], 2, NULL, &room[i]);
            if (!error)
                error = hold(row, words, unit_exp, level, node, turn++, &room[i]);
        }
        room[left / 2] = left % 2 ? room[left - 1] : room[left / 2];
    }
    *value = room[0];
    return error;
}

static int32_t product_value(const emu_level_row *row, size_t product, emu_number *value)
{
    emu_number factors[2];
    int32_t error = read_elements(row, product, factors);
    if (error)
        return error;
    emu_multiply_numbers(&factors[0], &factors[1], value);
    error = hold(row, &row->facts->product, row->path->product_unit_exp, 0, product, 0, value);
    if (!error)
        error = multiply_scales(row, 0, product, product, value);
    if (!error)
        emu_keep_stage(row, 0, product, -1, value);
    return error;
}

/* The value of a node; of level 0 a product. room: for the values that it is made of, and what those are made of. */
static int32_t node_value(const emu_level_row *row, int32_t level, size_t node, emu_number *room, emu_number *value)
{
    const emu_sum_level *words;
    size_t first = node;
    int32_t error;
    if (level == 0)
        return product_value(row, node, value);
    words = &row->facts->levels[level - 1];
    if (words->add == EMU_SUM_CHAIN) {
        error = add_chain(row, level, node, room, value);
    } else if (words->add == EMU_SUM_PAIRWISE) {
        error = add_pairwise(row, level, node, room, value);
    } else {
        error = child_values(row, level, node, 0, row->shape.of[level], room);
        if (!error)
            error = emu_add_numbers(row->path, level, &words->hold, room, row->shape.of[level], words->plus_c ? &row->c : NULL, value);
        if (!error)
            error = hold(row, &words->hold, row->path->plans[level - 1].unit_exp, level, node, 0, value);
    }
    for (int32_t below = level; below > 0; below--)
        first = emu_child(row->facts, &row->shape, below, first, 0);
    if (!error)
        error = multiply_scales(row, level, node, first, value);
    if (!error)
        emu_keep_stage(row, level, node, -1, value);
    return error;
}

/* One row -> the code of D. */
int32_t emu_run_level_row(const emu_level_row *row, emu_number *room, uint64_t *code)
{
    const emu_levels *facts = row->facts;
    int32_t carried = 0, last = facts->level_count, error = EMU_OK, decided = 0;
    emu_number value;
    for (int32_t i = 0; i < last; i++)
        carried |= facts->levels[i].add == EMU_SUM_CHAIN && facts->levels[i].start == EMU_START_C;
    if (!facts->per_add && !carried) {
        seen found = {0, {0, 0}};
        look_at(&row->c, &found);
        error = look_below(row, last, 0, &found);
        decided = !error && decide(&found, &value);
    }
    if (!error && !decided)
        error = node_value(row, last, 0, room, &value);
    if (!error && !decided && facts->out_plus_c)
        error = emu_add_numbers(row->path, 0, &facts->out, &value, 1, &row->c, &value);
    return error ? error : emu_encode_number(row->path, &facts->out, (uint32_t)emu_random_of(row, &facts->out, last + 1, 0, 0), &value, code);
}
