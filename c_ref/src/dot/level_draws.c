/* level_draws.c: which rounding takes which random integer of a row. A place counts the roundings that draw level after level, node after
 * node, as they happen; the integers come by instruction first. */
#include "levels.h"

const emu_hold *emu_hold_of(const emu_level_path *path, int32_t level)
{
    const emu_levels *facts = path->facts;
    return level == 0 ? &facts->product : level > facts->level_count ? &facts->out : &facts->levels[level - 1].hold;
}

/* NULL: no scales multiply there. */
const emu_scaling *emu_scaling_of(const emu_level_path *path, int32_t level)
{
    const emu_levels *facts = path->facts;
    const emu_scaling *scaling;
    if (level > facts->level_count)
        return NULL;
    scaling = level == 0 ? &facts->product_scaling : &facts->levels[level - 1].scaling;
    return scaling->applies ? scaling : NULL;
}

int32_t emu_draws(const emu_hold *hold)
{
    return hold->kind != EMU_HOLD_EXACT && hold->rounding && hold->rounding->random_bits;
}

/* Roundings of a node before its scales. */
size_t emu_count_turns(const emu_level_path *path, const emu_shape *shape, int32_t level)
{
    const emu_sum_level *words;
    size_t of;
    if (level == 0 || level > path->facts->level_count)
        return 1;
    words = &path->facts->levels[level - 1];
    of = shape->of[level];
    if (words->add == EMU_SUM_PAIRWISE && of > 1)
        return of - 1;
    if (words->add != EMU_SUM_CHAIN)
        return 1;
    return (of + (size_t)words->by - 1) / (size_t)words->by + (words->start == EMU_START_C && path->loads_c);
}

/* Of the four roundings of a multiplication by scales, the first `count`: how many draw. */
static size_t count_scale_draws(const emu_scaling *scaling, size_t count)
{
    const emu_hold *holds[4];
    size_t found = 0;
    if (!scaling)
        return 0;
    holds[0] = holds[1] = &scaling->each;
    holds[2] = &scaling->product;
    holds[3] = &scaling->term;
    for (size_t i = 0; i < count; i++)
        found += (size_t)emu_draws(holds[i]);
    return found;
}

/* Draws of a node before turn number `turn`. */
static size_t draws_before(const emu_level_path *path, const emu_shape *shape, int32_t level, size_t turn)
{
    size_t turns = emu_count_turns(path, shape, level), own = turn < turns ? turn : turns;
    return own * (size_t)emu_draws(emu_hold_of(path, level)) + count_scale_draws(emu_scaling_of(path, level), turn - own);
}

static size_t nodes_of(const emu_level_path *path, const emu_shape *shape, int32_t level)
{
    return level > path->facts->level_count ? 1 : shape->nodes[level];
}

size_t emu_draw_place(const emu_level_path *path, const emu_shape *shape, int32_t level, size_t node, size_t turn)
{
    size_t place = draws_before(path, shape, level, turn);
    place += node * draws_before(path, shape, level, emu_count_turns(path, shape, level) + 4);
    for (int32_t below = 0; below < level; below++)
        place += shape->nodes[below] * draws_before(path, shape, below, emu_count_turns(path, shape, below) + 4);
    return place;
}

size_t emu_count_draws(const emu_level_path *path, const emu_shape *shape)
{
    return emu_draw_place(path, shape, path->facts->level_count + 1, 1, 0);
}

/* The last product below a node. */
static size_t last_product(const emu_level_path *path, const emu_shape *shape, int32_t level, size_t node)
{
    for (; level > 0; level--)
        node = emu_child(path->facts, shape, level, node, shape->of[level] - 1);
    return node;
}

/* How many children a rounding of a node has seen the last of. */
static size_t children_seen(const emu_level_path *path, const emu_shape *shape, int32_t level, size_t turn)
{
    const emu_sum_level *words = &path->facts->levels[level - 1];
    size_t of = shape->of[level], row = of, width = 1, loads = words->start == EMU_START_C && path->loads_c;
    if (turn >= emu_count_turns(path, shape, level) || words->add <= EMU_SUM_ALIGNED || of == 1)
        return words->add == EMU_SUM_CHAIN && turn < loads ? 0 : of;
    if (words->add == EMU_SUM_CHAIN) {
        size_t seen = (turn + 1 - loads) * (size_t)words->by;
        return turn < loads ? 0 : seen < of ? seen : of;
    }
    for (; turn >= row / 2; row -= row / 2, width *= 2)
        turn -= row / 2;
    row = (2 * turn + 2) * width;
    return row < of ? row : of;
}

/* The instruction of a rounding. */
static size_t instruction_of(const emu_level_path *path, const emu_shape *shape, int32_t level, size_t node, size_t turn)
{
    size_t last = shape->products - 1, seen;
    if (level == 0) {
        last = node;
    } else if (level <= path->facts->level_count) {
        seen = children_seen(path, shape, level, turn);
        last = seen ? last_product(path, shape, level - 1, emu_child(path->facts, shape, level, node, seen - 1)) : 0;
    }
    return last / (size_t)path->facts->k;
}

void emu_order_draws(const emu_level_path *path, const emu_shape *shape, uint32_t *order)
{
    uint32_t next = 0;
    for (size_t instruction = 0; instruction < shape->products / (size_t)path->facts->k; instruction++) {
        for (int32_t level = 0; level <= path->facts->level_count + 1; level++) {
            size_t turns = emu_count_turns(path, shape, level) + 4;
            if (!draws_before(path, shape, level, turns))
                continue;
            for (size_t i = 0; i < nodes_of(path, shape, level) * turns; i++) {
                size_t node = i / turns, turn = i % turns;
                if (draws_before(path, shape, level, turn + 1) != draws_before(path, shape, level, turn) &&
                    instruction_of(path, shape, level, node, turn) == instruction)
                    order[emu_draw_place(path, shape, level, node, turn)] = next++;
            }
        }
    }
}
