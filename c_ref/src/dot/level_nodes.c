/* level_nodes.c: one row of a datapath of levels: each node of a level when the level above asks for it. */
#include "levels.h"

uint64_t emu_random_of(const emu_level_row *row, const emu_hold *words, int32_t level, size_t node, size_t turn)
{
    if (!emu_draws(words))
        return 0;
    return emu_read(row->random, row->strip.row_a * row->random->columns +
                                     row->order[emu_draw_place(row->path, &row->shape, level, node, turn)]);
}

/* Flags of a level, where it reports them. level_count + 1: the result. */
static void note(const emu_level_row *row, int32_t raised, int32_t level)
{
    *row->flags |= raised & EMU_RAISED_INVALID & (row->facts->invalid_levels >> level & 1 ? EMU_RAISED_INVALID : 0);
    *row->flags |= raised & EMU_RAISED_OVERFLOW & (row->facts->overflow_levels >> level & 1 ? EMU_RAISED_OVERFLOW : 0);
}

static int32_t hold(const emu_level_row *row, const emu_hold *words, int32_t unit_exp, int32_t level, size_t node, size_t turn,
                    emu_number *number)
{
    int32_t beyond = 0, error;
    error = emu_hold_number(row->path, words, unit_exp, (uint32_t)emu_random_of(row, words, level, node, turn), number, &beyond);
    note(row, beyond ? EMU_RAISED_OVERFLOW : 0, level);
    return error;
}

static int32_t add_numbers(const emu_level_row *row, int32_t level, const emu_hold *words, const emu_number *terms, size_t count,
                           const emu_number *running, emu_number *sum)
{
    int32_t raised = 0, of_result = level > row->facts->level_count, error;
    error = emu_add_numbers(row->path, of_result ? 0 : level, words, terms, count, running, sum, &raised);
    note(row, raised, level);
    return error;
}

/* A value times both scales: each, their product and the result held. */
static int32_t multiply_scales(const emu_level_row *row, int32_t level, size_t node, size_t product, emu_number *value)
{
    const emu_scaling *scaling = emu_scaling_of(row->path, level);
    size_t turn = emu_count_turns(row->path, &row->shape, level);
    emu_number scales[2];
    int32_t error, raised;
    if (!scaling)
        return EMU_OK;
    error = emu_read_scales(row, product, scales);
    if (error)
        return error;
    if ((scales[0].special == EMU_NAN || scales[1].special == EMU_NAN) && !value->special && !value->live && row->facts->nan_scale_live)
        return EMU_OK;
    raised = emu_scales_signal(row, product);
    error = hold(row, &scaling->each, 0, level, node, turn, &scales[0]);
    if (!error)
        error = hold(row, &scaling->each, 0, level, node, turn + 1, &scales[1]);
    emu_multiply_raising(&scales[0], &scales[1], &scales[0], &raised);
    if (!error)
        error = hold(row, &scaling->product, 0, level, node, turn + 2, &scales[0]);
    emu_multiply_raising(value, &scales[0], value, &raised);
    note(row, raised, level);
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
        emu_seen found = {0, {0, 0}, 0};
        int32_t raised = 0;
        error = EMU_OK;
        emu_look_at(running, &found);
        for (size_t i = first; i < first + count; i++)
            error |= emu_look_below(row, level - 1, emu_child(row->facts, &row->shape, level, node, i), &found);
        if (error || emu_decide(&found, running, &raised)) {
            note(row, raised, level);
            return error;
        }
    }
    error = child_values(row, level, node, first, count, room);
    if (!error)
        error = add_numbers(row, level, &words->hold, room, count, has_running ? running : NULL, running);
    return error ? error : hold(row, &words->hold, row->path->plans[level - 1].unit_exp, level, node, turn, running);
}

static int32_t add_chain(const emu_level_row *row, int32_t level, size_t node, emu_number *room, emu_number *value)
{
    const emu_sum_level *words = &row->facts->levels[level - 1];
    const emu_number nothing = {0, 0, 0, 0, 0, 0, {{0}}};
    size_t of = row->shape.of[level], by = (size_t)words->by, turn = 0;
    int32_t error = EMU_OK;
    *value = words->start == EMU_START_C ? row->c : nothing;
    note(row, words->start == EMU_START_C && row->c_signals ? EMU_RAISED_INVALID : 0, level);
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
        error = add_numbers(row, level, words, room, 1, NULL, value);
        return error ? error : hold(row, words, unit_exp, level, node, 0, value);
    }
    for (; left > 1 && !error; left -= left / 2) {
        for (size_t i = 0; i < left / 2 && !error; i++) {
            error = add_numbers(row, level, words, &room[2 * i], 2, NULL, &room[i]);
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
    int32_t error = emu_read_elements(row, product, factors), raised;
    if (error)
        return error;
    raised = emu_elements_signal(row, product);
    emu_multiply_raising(&factors[0], &factors[1], value, &raised);
    note(row, raised, 0);
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
        note(row, words->plus_c && row->c_signals ? EMU_RAISED_INVALID : 0, level);
        if (!error)
            error = add_numbers(row, level, &words->hold, room, row->shape.of[level], words->plus_c ? &row->c : NULL, value);
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
    int32_t carried = 0, last = facts->level_count, error = EMU_OK, decided = 0, raised = 0, beyond = 0;
    emu_number value;
    for (int32_t i = 0; i < last; i++)
        carried |= facts->levels[i].add == EMU_SUM_CHAIN && facts->levels[i].start == EMU_START_C;
    if (!facts->per_add && !carried) {
        emu_seen found = {0, {0, 0}, row->c_signals ? EMU_RAISED_INVALID : 0};
        emu_look_at(&row->c, &found);
        error = emu_look_below(row, last, 0, &found);
        decided = !error && emu_decide(&found, &value, &raised);
    }
    if (!error && !decided)
        error = node_value(row, last, 0, room, &value);
    if (!error && !decided && facts->out_plus_c) {
        raised = row->c_signals ? EMU_RAISED_INVALID : 0;
        error = add_numbers(row, last + 1, &facts->out, &value, 1, &row->c, &value);
    }
    if (!error)
        error = emu_encode_number(row->path, &facts->out, (uint32_t)emu_random_of(row, &facts->out, last + 1, 0, 0), &value, code, &beyond);
    note(row, raised | (beyond ? EMU_RAISED_OVERFLOW : 0), last + 1);
    return error;
}
