/* levels.c: dot products of datapaths of levels: the checks of a call, and its rows. */
#include "levels.h"

/* Numbers that a row needs at once: the terms of each level's addition. */
static size_t count_room(const emu_levels *facts, const emu_shape *shape)
{
    size_t room = 0;
    for (int32_t i = 0; i < facts->level_count; i++) {
        const emu_sum_level *level = &facts->levels[i];
        size_t of = shape->of[i + 1], by = (size_t)level->by;
        room += level->add == EMU_SUM_CHAIN && by < of ? by : of;
    }
    return room;
}

/* Every value that scales multiply lies in one block. */
static int32_t lies_in_blocks(const emu_level_row *row)
{
    int32_t level = 1;
    size_t block = (size_t)row->facts->block;
    if (!row->facts->scale || row->facts->product_scaling.applies)
        return 1;
    while (!row->facts->levels[level - 1].scaling.applies)
        level++;
    for (size_t node = 0; node < row->shape.nodes[level]; node++) {
        size_t first = node, last = node;
        for (int32_t below = level; below > 0; below--) {
            first = emu_child(row->facts, &row->shape, below, first, 0);
            last = emu_child(row->facts, &row->shape, below, last, row->shape.of[below] - 1);
        }
        if (first / block != last / block)
            return 0;
    }
    return 1;
}

int32_t emu_make_row_shape(emu_level_row *row, size_t products)
{
    size_t k = (size_t)row->facts->k, block = row->facts->scale ? (size_t)row->facts->block : 1;
    if (products == 0 || products % k || products % block || products / k > EMU_MOST_INSTRUCTIONS ||
        emu_make_shape(row->facts, products, &row->shape) || !lies_in_blocks(row))
        return EMU_ERROR_SHAPE;
    return EMU_OK;
}

int32_t emu_count_dot_levels(const emu_levels *levels, size_t products, size_t *draws, size_t *numbers)
{
    emu_level_path path;
    emu_level_row row;
    int32_t error = emu_make_level_path(levels, &path);
    if (!error && (!draws || !numbers))
        error = EMU_ERROR_NULL;
    if (error)
        return error;
    row.facts = levels;
    error = emu_make_row_shape(&row, products);
    if (error)
        return error;
    *draws = emu_count_draws(&path, &row.shape);
    *numbers = count_room(levels, &row.shape);
    return EMU_OK;
}

/* Every code of an operand has only bits of its format; it is there where the datapath has it, in its shape. */
static int32_t check_matrix(const emu_matrix *matrix, const emu_grid *grid, int32_t is_wanted, size_t rows, size_t columns)
{
    if (!is_wanted)
        return matrix ? EMU_ERROR_SHAPE : EMU_OK;
    if (!matrix || !emu_is_matrix(matrix))
        return EMU_ERROR_NULL;
    if (matrix->rows != rows || matrix->columns != columns)
        return EMU_ERROR_SHAPE;
    for (size_t i = 0; grid && i < rows * columns; i++) {
        if (!emu_is_code(grid, emu_read(matrix, i)))
            return EMU_ERROR_CODE;
    }
    return EMU_OK;
}

static int32_t code_bits(const emu_format *format)
{
    emu_grid grid;
    emu_derive_grid(format, &grid);
    return grid.code_bits;
}

/* Every random integer fits its rounding. */
static int32_t check_random(const emu_level_row *row, size_t rows)
{
    for (int32_t level = 0; level <= row->facts->level_count + 1; level++) {
        const emu_scaling *scaling = emu_scaling_of(row->path, level);
        const emu_hold *holds[5] = {emu_hold_of(row->path, level), scaling ? &scaling->each : NULL, scaling ? &scaling->each : NULL,
                                    scaling ? &scaling->product : NULL, scaling ? &scaling->term : NULL};
        size_t turns = emu_count_turns(row->path, &row->shape, level), all = turns + (scaling ? 4 : 0);
        size_t nodes = level > row->facts->level_count ? 1 : row->shape.nodes[level];
        for (size_t i = 0; i < rows * nodes * all; i++) {
            size_t turn = i % all, node = i / all % nodes;
            const emu_hold *words = holds[turn < turns ? 0 : turn - turns + 1];
            emu_level_row here = *row;
            here.strip.row_a = i / all / nodes;
            if (emu_draws(words) && emu_random_of(&here, words, level, node, turn) > emu_low_bits(words->rounding->random_bits))
                return EMU_ERROR_RANDOM;
        }
    }
    return EMU_OK;
}

/* Checks the operands of rows and readies what computes them. */
int32_t emu_prepare_levels(const emu_levels *levels, const emu_matrix *a, const emu_matrix *b, const emu_matrix *scale_a,
                           const emu_matrix *scale_b, const emu_matrix *c, const emu_matrix *random, const emu_matrix *d, uint32_t *order,
                           const emu_number *workspace, size_t numbers, emu_level_path *path, emu_level_row *row)
{
    const emu_number nothing = {0, 0, 0, 0, 0, 0, {{0}}};
    size_t rows, columns, blocks, draws;
    int32_t error = emu_make_level_path(levels, path);
    if (!error && (!a || !emu_is_matrix(a) || !d || !emu_is_matrix(d) || !workspace))
        error = EMU_ERROR_NULL;
    if (error)
        return error;
    row->path = path;
    row->facts = levels;
    row->random = random;
    row->order = order;
    row->c = nothing;
    row->stages = NULL;
    row->known = NULL;
    rows = a->rows;
    columns = a->columns;
    error = emu_make_row_shape(row, columns);
    if (error)
        return error;
    blocks = levels->scale ? columns / (size_t)levels->block : 0;
    draws = emu_count_draws(path, &row->shape);
    error = check_matrix(a, &path->a, 1, rows, columns);
    if (!error)
        error = check_matrix(b, &path->b, 1, rows, columns);
    if (!error)
        error = check_matrix(scale_a, &path->scale, levels->scale != NULL, rows, blocks);
    if (!error)
        error = check_matrix(scale_b, &path->scale, levels->scale != NULL, rows, blocks);
    if (!error)
        error = check_matrix(c, &path->c, levels->c != NULL, rows, 1);
    if (!error)
        error = check_matrix(random, NULL, draws != 0, rows, draws);
    if (!error && draws && !order)
        error = EMU_ERROR_NULL;
    if (!error && (d->rows != rows || d->columns != 1 || 8 * d->bytes < code_bits(levels->out.format)))
        error = EMU_ERROR_SHAPE;
    if (!error && numbers < count_room(levels, &row->shape))
        error = EMU_ERROR_SPACE;
    if (error)
        return error;
    emu_order_draws(path, &row->shape, order);
    row->strip.a = a;
    row->strip.b = b;
    row->strip.scale_a = scale_a;
    row->strip.scale_b = scale_b;
    return check_random(row, rows);
}

int32_t emu_run_level_rows(emu_level_row *row, const emu_matrix *c, const emu_matrix *d, emu_number *workspace, size_t *number)
{
    int32_t error = EMU_OK;
    for (*number = 0; *number < d->rows && !error; *number += 1) {
        uint64_t code = 0;
        row->strip.row_a = row->strip.row_b = *number;
        if (c)
            error = emu_read_number(&row->path->c, emu_read(c, *number), row->facts->flushes_c, 0, &row->c);
        if (!error)
            error = emu_run_level_row(row, workspace, &code);
        if (error)
            break;
        emu_write(d, *number, code);
    }
    return error;
}

int32_t emu_dot_levels(const emu_levels *levels, const emu_matrix *a, const emu_matrix *b, const emu_matrix *scale_a,
                       const emu_matrix *scale_b, const emu_matrix *c, const emu_matrix *random, const emu_matrix *d, uint32_t *order,
                       emu_number *workspace, size_t numbers, size_t *row)
{
    emu_level_path path;
    emu_level_row here;
    int32_t error = row ? emu_prepare_levels(levels, a, b, scale_a, scale_b, c, random, d, order, workspace, numbers, &path, &here) : EMU_ERROR_NULL;
    return error ? error : emu_run_level_rows(&here, c, d, workspace, row);
}
