/* special.c: NaN and infinity among the operands of a step. */
#include "datapath.h"

/* What has been seen: infinite terms by sign, and whether the answer is NaN already. */
typedef struct found {
    int32_t is_nan;
    int32_t infinite[2];
} found;

/* One product with its scales, or C with ones. is_live: no element is zero. */
static void look_at(const emu_path *path, const emu_factor *factors, int32_t count, int32_t is_live, found *seen)
{
    int32_t infinite = 0, zero = 0, negative = 0;
    for (int32_t i = 0; i < count; i++) {
        int32_t is_scale = i >= 2;
        if (factors[i].flags & EMU_FACTOR_NAN) {
            seen->is_nan |= !is_scale || is_live || !path->facts->nan_scale_live;
            continue; /* where it does not count, an infinite factor meets a zero element all the same */
        }
        infinite |= factors[i].flags & EMU_FACTOR_INFINITE;
        zero |= factors[i].significand == 0;
        negative ^= factors[i].significand < 0;
    }
    if (infinite && zero)
        seen->is_nan = 1;
    else if (infinite)
        seen->infinite[negative] = 1;
}

int32_t emu_find_special(const emu_path *path, const emu_strip *strip, size_t start, size_t count, const emu_factor *c, uint64_t *code)
{
    const emu_grid *grid = &path->result.grid;
    found seen = {0, {0, 0}};
    look_at(path, c, 1, 1, &seen);
    for (size_t i = start; i < start + count; i++) {
        emu_factor factors[4] = {emu_factor_of(&path->a, emu_code_at(strip->a, strip->row_a * strip->a->columns + i)),
                                 emu_factor_of(&path->b, emu_code_at(strip->b, strip->row_b * strip->b->columns + i))};
        int32_t is_live = (factors[0].significand || (factors[0].flags & EMU_FACTOR_NAN)) &&
                          (factors[1].significand || (factors[1].flags & EMU_FACTOR_NAN));
        if (path->facts->scale) {
            size_t block = i / (size_t)path->facts->block;
            factors[2] = emu_factor_of(&path->scale, emu_code_at(strip->scale_a, strip->row_a * strip->scale_a->columns + block));
            factors[3] = emu_factor_of(&path->scale, emu_code_at(strip->scale_b, strip->row_b * strip->scale_b->columns + block));
        }
        look_at(path, factors, path->facts->scale ? 4 : 2, is_live, &seen);
    }
    if (seen.is_nan || (seen.infinite[0] && seen.infinite[1]))
        *code = path->facts->nan_code;
    else if (seen.infinite[0] || seen.infinite[1])
        *code = grid->inf_magnitude | (seen.infinite[1] ? grid->sign_bit : 0);
    else
        return 0;
    return seen.is_nan || (seen.infinite[0] && seen.infinite[1]) ? EMU_NAN : EMU_INFINITE;
}
