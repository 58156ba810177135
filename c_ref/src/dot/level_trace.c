/* level_trace.c: what each node of each level of a row leaves, kept while it is computed. */
#include "levels.h"

/* Running values of a node that are stages: one for each addition of a chain. */
static size_t count_additions(const emu_level_path *path, const emu_shape *shape, int32_t level)
{
    const emu_sum_level *words = &path->facts->levels[level - 1];
    if (words->add != EMU_SUM_CHAIN)
        return 0;
    return (shape->of[level] + (size_t)words->by - 1) / (size_t)words->by;
}

/* Products first, then of each level what its nodes leave and, node after node, their running values. */
size_t emu_stage_place(const emu_level_path *path, const emu_shape *shape, int32_t level, size_t node, int64_t addition)
{
    size_t place = level ? shape->products : node;
    for (int32_t below = 1; below < level; below++)
        place += shape->nodes[below] * (1 + count_additions(path, shape, below));
    if (level < 1 || level > path->facts->level_count)
        return place;
    return addition < 0 ? place + node : place + shape->nodes[level] + node * count_additions(path, shape, level) + (size_t)addition;
}

void emu_keep_stage(const emu_level_row *row, int32_t level, size_t node, int64_t addition, const emu_number *value)
{
    size_t place;
    if (!row->stages)
        return;
    place = emu_stage_place(row->path, &row->shape, level, node, addition);
    row->stages[place] = *value;
    row->known[place] = 1;
}

int32_t emu_find_stage(const emu_levels *levels, size_t products, int32_t level, size_t node, int64_t addition, size_t *place)
{
    emu_level_path path;
    emu_level_row row;
    size_t nodes, additions;
    int32_t error = emu_make_level_path(levels, &path);
    row.facts = levels;
    if (!error)
        error = emu_make_row_shape(&row, products);
    if (error)
        return error;
    if (!place)
        return EMU_ERROR_NULL;
    if (level < 0 || level > levels->level_count + 1)
        return EMU_ERROR_SHAPE;
    nodes = level > levels->level_count ? 1 : level ? row.shape.nodes[level] : products;
    additions = level > levels->level_count || !level ? 0 : count_additions(&path, &row.shape, level);
    if (node >= nodes || addition < -1 || (addition >= 0 && (uint64_t)addition >= additions))
        return EMU_ERROR_SHAPE;
    *place = emu_stage_place(&path, &row.shape, level, node, addition);
    return EMU_OK;
}

int32_t emu_trace_levels(const emu_levels *levels, const emu_matrix *a, const emu_matrix *b, const emu_matrix *scale_a,
                         const emu_matrix *scale_b, const emu_matrix *c, const emu_matrix *random, const emu_matrix *d, uint32_t *order,
                         emu_number *workspace, size_t numbers, emu_number *stages, uint8_t *known, size_t count)
{
    emu_level_path path;
    emu_level_row here;
    size_t number;
    int32_t error = emu_prepare_levels(levels, a, b, scale_a, scale_b, c, random, d, order, workspace, numbers, &path, &here);
    if (error)
        return error;
    if (!stages || !known)
        return EMU_ERROR_NULL;
    if (a->rows != 1)
        return EMU_ERROR_SHAPE;
    if (count < emu_stage_place(&path, &here.shape, levels->level_count + 1, 0, -1))
        return EMU_ERROR_SPACE;
    for (size_t i = 0; i < count; i++)
        known[i] = 0;
    here.stages = stages;
    here.known = known;
    return emu_run_level_rows(&here, c, d, workspace, &number);
}
