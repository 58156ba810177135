/* order.h: codes of an arithmetic format compared, and their NaN. Inline: the loops of programs live on it. */
#ifndef EMU_ORDER_H
#define EMU_ORDER_H

#include "steps.h"

static inline uint64_t emu_nan_of(const emu_grid *grid)
{
    return grid->format->nan == EMU_NAN_LIST ? grid->format->nan_codes[0] : grid->inf_magnitude | (uint64_t)1 << (grid->frac_bits - 1);
}

static inline uint64_t emu_canonical(const emu_grid *grid, uint64_t code)
{
    return emu_is_nan_code(grid, code) ? emu_nan_of(grid) : code;
}

static inline int32_t emu_is_nan(const emu_grid *grid, uint64_t code)
{
    return (code & ~grid->sign_bit) > grid->inf_magnitude;
}

/* Ordered like the values; both zeros give 0. Not for NaN. */
static inline int64_t emu_order(const emu_grid *grid, uint64_t code)
{
    int64_t magnitude = (int64_t)(code & ~grid->sign_bit);
    return code & grid->sign_bit ? -magnitude : magnitude;
}

/* Of two arguments of which one is NaN. drop: it gives way to the other; else it is the result. */
static inline uint64_t emu_settle_nan(const emu_grid *grid, uint64_t a, uint64_t b, int32_t drop)
{
    return drop && !emu_is_nan(grid, a) ? a : drop && !emu_is_nan(grid, b) ? b : emu_nan_of(grid);
}

/* min and max; of two equal values the first. */
static inline uint64_t emu_smaller_code(const emu_grid *grid, uint64_t a, uint64_t b, int32_t drop)
{
    if (emu_is_nan(grid, a) || emu_is_nan(grid, b))
        return emu_settle_nan(grid, a, b, drop);
    return emu_order(grid, b) < emu_order(grid, a) ? b : a;
}

static inline uint64_t emu_larger_code(const emu_grid *grid, uint64_t a, uint64_t b, int32_t drop)
{
    if (emu_is_nan(grid, a) || emu_is_nan(grid, b))
        return emu_settle_nan(grid, a, b, drop);
    return emu_order(grid, a) < emu_order(grid, b) ? b : a;
}

#endif
