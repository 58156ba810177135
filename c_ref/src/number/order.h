/* order.h: codes of an arithmetic format compared, and their NaN. Inline: the loops of programs live on it. */
#ifndef EMU_ORDER_H
#define EMU_ORDER_H

#include "../steps.h"

static inline uint64_t emu_nan_of(const emu_grid *grid)
{
    return grid->format->nan == EMU_NAN_LIST ? grid->format->nan_codes[0] : grid->inf_magnitude | (uint64_t)1 << (grid->frac_bits - 1);
}

static inline uint64_t emu_canonical(const emu_grid *grid, uint64_t code)
{
    return emu_is_nan_code(grid, code) ? emu_nan_of(grid) : code;
}

/* What comparing needs of an arithmetic format; by value, so that a loop keeps it in registers. */
typedef struct emu_ends {
    uint64_t sign_bit;
    uint64_t inf;
    uint64_t nan; /* the canonical one */
} emu_ends;

static inline emu_ends emu_ends_of(const emu_grid *grid)
{
    emu_ends ends = {grid->sign_bit, grid->inf_magnitude, emu_nan_of(grid)};
    return ends;
}

static inline int32_t emu_is_nan(emu_ends ends, uint64_t code)
{
    return (code & ~ends.sign_bit) > ends.inf;
}

/* Ordered like the values; both zeros give 0. Not for NaN. */
static inline int64_t emu_order(emu_ends ends, uint64_t code)
{
    int64_t magnitude = (int64_t)(code & ~ends.sign_bit);
    return code & ends.sign_bit ? -magnitude : magnitude;
}

/* Of two arguments of which one is NaN. drop: it gives way to the other; else it is the result. */
static inline uint64_t emu_settle_nan(emu_ends ends, uint64_t a, uint64_t b, int32_t drop)
{
    uint64_t other = emu_is_nan(ends, a) ? b : a;
    return !drop || emu_is_nan(ends, other) ? ends.nan : other;
}

/* min and max; of two equal values the first. */
static inline uint64_t emu_smaller_code(emu_ends ends, uint64_t a, uint64_t b, int32_t drop)
{
    uint64_t smaller = emu_order(ends, b) < emu_order(ends, a) ? b : a;
    return emu_is_nan(ends, a) | emu_is_nan(ends, b) ? emu_settle_nan(ends, a, b, drop) : smaller;
}

static inline uint64_t emu_larger_code(emu_ends ends, uint64_t a, uint64_t b, int32_t drop)
{
    uint64_t larger = emu_order(ends, a) < emu_order(ends, b) ? b : a;
    return emu_is_nan(ends, a) | emu_is_nan(ends, b) ? emu_settle_nan(ends, a, b, drop) : larger;
}

/* The test of a select; v is looked at by LT, LE and GE alone. */
static inline int32_t emu_holds(emu_ends ends, int32_t test, uint64_t u, uint64_t v)
{
    int32_t unordered = emu_is_nan(ends, u) | (test >= EMU_TEST_LT && emu_is_nan(ends, v));
    int64_t a = emu_order(ends, u), b = emu_order(ends, v);
    switch (test) {
    case EMU_TEST_NAN:
        return unordered;
    case EMU_TEST_INF:
        return (u & ~ends.sign_bit) == ends.inf;
    case EMU_TEST_ZERO:
        return a == 0;
    case EMU_TEST_NEG:
        return !unordered && a < 0;
    case EMU_TEST_LT:
        return !unordered && a < b;
    case EMU_TEST_LE:
        return !unordered && a <= b;
    default:
        return !unordered && a >= b;
    }
}

#endif
