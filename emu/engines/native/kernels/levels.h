/* levels: what its files share. Numbers are binary64; a sum that does not fit is rounded to odd at 53 bits, which a rounding to at most 50
 * bits after it cannot tell from the exact sum. */
#ifndef EMU_LEVELS_H
#define EMU_LEVELS_H

#include "kernels.h"

#define EMU_LARGEST 1.7976931348623157e308 /* what is larger is infinite */
#define FINEST_OF_BIG 0x4338000000000000u /* 1.5 * 2^52: integers up to 2^51 that are added stand in the low bits */

/* 1 where bits are those of NaN or an infinity. */
EMU_INLINE uint64_t emu_is_special(uint64_t bits) { return ((bits & EMU_EXPONENT) + ((uint64_t)1 << 52)) >> 63; }

/* A choice by a mask, and masks of comparisons below 2^63: written as arithmetic, which every form has for 64 bits. */
EMU_INLINE uint64_t emu_chosen(uint64_t mask, uint64_t yes, uint64_t no) { return (yes & mask) | (no & ~mask); }
EMU_INLINE uint64_t emu_below(uint64_t x, uint64_t y) { return 0 - ((x - y) >> 63); }

/* x + y rounded to odd: the neighbour of the nearest toward what was lost, where that is not odd. NaN and infinity lose nothing. */
EMU_INLINE double emu_odd_sum(double x, double y) {
    const double total = x + y, shadow = total - x, error = (x - (total - shadow)) + (y - shadow);
    const double real = error < EMU_LARGEST ? error : 0.0; /* a choice between numbers: of one between masks gcc makes branches */
    const uint64_t bits = emu_double_bits(total), lost = emu_double_bits(real), inexact = ((lost & ~EMU_MINUS) + ~EMU_MINUS) >> 63;
    return emu_as_double((bits - (inexact & ((bits ^ lost) >> 63))) | inexact);
}

/* The same in a rounding down: a zero that is no sum of equal zeros has the sign `downward`. */
EMU_INLINE double emu_odd_sum_down(double x, double y, uint64_t downward) {
    const double sum = emu_odd_sum(x, y);
    const uint64_t bits = emu_double_bits(sum), zero = 0 - (uint64_t)((bits & ~EMU_MINUS) == 0);
    return emu_as_double(bits | ((emu_double_bits(x) | emu_double_bits(y)) & downward & zero));
}

/* A magnitude in whole units, a power of two; below 2^51 of them. mode: EMU_HOLD_*; minus: mask of the sign. draws: `bar` is the share of a
 * unit from which on, or (compares) beyond which, what is lost goes up. Adding 2^52 units leaves whole ones, to nearest even. */
EMU_INLINE double emu_whole_units(const emu_hold_float *hold, double exact, double unit, double big, uint64_t minus, int32_t mode, double bar) {
    double whole = (exact + big) - big;
    if (mode != EMU_HOLD_NEAREST) {
        const uint64_t up = 0 - (emu_double_bits(exact - whole) >> 63);
        whole -= emu_as_double(emu_double_bits(unit) & up);
    }
    if (mode == EMU_HOLD_BY_MASKS) {
        const double rest = exact - whole, twice = rest + rest - unit;
        const uint64_t some = 0 - (emu_double_bits(0.0 - rest) >> 63), half = (emu_double_bits(twice) >> 63) - 1;
        const uint64_t more = 0 - (emu_double_bits(0.0 - twice) >> 63), odd = 0 - (emu_double_bits(whole + big) & 1u);
        const uint64_t away = (some & emu_chosen(minus, hold->up_minus, hold->up_plus)) | (half & hold->up_half) | (more & hold->up_more) |
                              (half & odd & hold->up_tie) | (some & ~odd & hold->up_even);
        whole += emu_as_double(emu_double_bits(unit) & away);
    } else if (mode == EMU_HOLD_DRAWS) {
        const double over = (exact - whole) - bar * unit;
        const uint64_t reaches = (emu_double_bits(over) >> 63) - 1, beyond = 0 - (emu_double_bits(0.0 - over) >> 63);
        whole += emu_as_double(emu_double_bits(unit) & (hold->draws == EMU_DRAW_CMP ? beyond : reaches));
    }
    return whole;
}

/* A number in a float format, rounded as `mode` and the hold say; NaN and infinity stay. */
EMU_INLINE double emu_held_by(const emu_hold_float *hold, double x, int32_t mode, double bar) {
    if (mode == EMU_HOLD_SINGLE)
        return (double)(float)x + hold->zero;
    const uint64_t bits = emu_double_bits(x), sign = bits & EMU_MINUS, size = bits & ~EMU_MINUS, minus = 0 - (sign >> 63);
    const double exact = emu_as_double(size), exp = emu_as_double(size & EMU_EXPONENT), highest = emu_power(960);
    const double normal = exp > hold->lowest ? exp : hold->lowest, leading = normal < highest ? normal : highest;
    const double whole = emu_whole_units(hold, exact, leading * hold->kept, leading * hold->kept_big, minus, mode, bar);
    double end = hold->beyond_plus, found = whole;
    if (mode != EMU_HOLD_NEAREST)
        end = emu_as_double(emu_chosen(minus, emu_double_bits(hold->beyond_minus), emu_double_bits(end)));
    if (mode == EMU_HOLD_BY_MASKS || mode == EMU_HOLD_DRAWS)
        found = found < hold->flushed ? 0.0 : found;
    found = found > hold->largest ? end : found;
    if (mode != EMU_HOLD_NEAREST)
        found = exact > EMU_LARGEST ? exact : found;
    return emu_as_double(emu_double_bits(found) | sign) + hold->zero;
}

EMU_INLINE double emu_held(const emu_hold_float *hold, double x, int32_t mode) { return emu_held_by(hold, x, mode, 0.0); }

/* The share of a unit that a random word leaves to what is lost. */
EMU_INLINE double emu_bar(const emu_hold_float *hold, uint32_t word) {
    const double share = emu_power(-hold->random_bits);
    if (hold->draws == EMU_DRAW_CMP)
        return (double)word * share;
    return 1.0 - ((double)word + (hold->draws == EMU_DRAW_HALF ? 0.5 : 0.0)) * share;
}

/* A product times both of its scales; where NaN scales count for live products alone, zero stays zero. */
EMU_INLINE double emu_scaled(const emu_levels *plan, double x, double scale_a, double scale_b) {
    const int zero = !(x < 0.0 || x > 0.0) && !emu_is_special(emu_double_bits(x));
    return plan->live_nan && zero ? x : x * scale_a * scale_b;
}

/* Whether a number is a NaN that signals, from its bits. */
EMU_INLINE int emu_float_signals(const emu_level_operand *format, float x) {
    const uint32_t bits = emu_as_bits(x);
    return format->signals && (bits & EMU_INFINITY) == EMU_INFINITY && bits & 0x3FFFFFu && !(bits & 0x400000u);
}

EMU_INLINE int emu_double_signals(double x) {
    const uint64_t bits = emu_double_bits(x);
    return (bits & EMU_EXPONENT) == EMU_EXPONENT && bits & 0x7FFFFFFFFFFFFu && !(bits & 0x8000000000000u);
}

EMU_INLINE int emu_is_nan(double x) { return (emu_double_bits(x) & ~EMU_MINUS) > EMU_EXPONENT; }

/* What NaN and infinite operands make of an addition, as far as they were seen. found: their sum, 0 where all is finite. */
typedef struct emu_decision {
    double found;
    int plus, minus, invalid;
} emu_decision;

EMU_INLINE void emu_decide(emu_decision *so_far, double x) {
    const uint64_t bits = emu_double_bits(x);
    if (!emu_is_special(bits))
        return;
    so_far->found += x;
    so_far->plus |= bits == EMU_EXPONENT;
    so_far->minus |= bits == (EMU_EXPONENT | EMU_MINUS);
}

/* The same of a product and, in a plan with scales, both of them, of whose NaNs none signals: where operands decide, their formats have no infinities. */
EMU_INLINE void emu_decide_product(emu_decision *so_far, const emu_levels *plan, float a, float b, float scale_a, float scale_b) {
    const double exact = (double)a * (double)b, first = (double)scale_a, second = (double)scale_b;
    const double scaled = plan->block ? emu_scaled(plan, exact, first, second) : exact;
    int invalid = emu_float_signals(&plan->a, a) || emu_float_signals(&plan->b, b);
    invalid |= emu_is_nan(exact) && !emu_is_nan((double)a) && !emu_is_nan((double)b);
    if (plan->block && (emu_is_nan(scaled) || emu_is_special(emu_double_bits(exact)))) {
        const double half = exact * first;
        invalid |= emu_is_nan(half) && !emu_is_nan(exact) && !emu_is_nan(first);
        invalid |= emu_is_nan(half * second) && !emu_is_nan(half) && !emu_is_nan(second);
    }
    so_far->invalid |= invalid;
    emu_decide(so_far, scaled);
}

EMU_INLINE int emu_is_invalid(const emu_decision *of) { return of->invalid || (of->plus && of->minus); }

/* Whether a number that is rounded to a float format is beyond its largest. */
EMU_INLINE int emu_goes_beyond(const emu_hold_float *hold, double x, double bar) {
    emu_hold_float open = *hold;
    open.beyond_plus = open.beyond_minus = emu_as_double(EMU_EXPONENT);
    return !emu_is_special(emu_double_bits(x)) && emu_is_special(emu_double_bits(emu_held_by(&open, x, hold->mode, bar)));
}

/* A flag where it is reported of a level. */
EMU_INLINE uint8_t emu_flag_at(const emu_levels *plan, int32_t flag, size_t level) {
    const uint32_t levels = flag == EMU_FLAG_INVALID ? plan->invalid_levels : plan->overflow_levels;
    return levels >> level & 1u ? (uint8_t)flag : 0;
}

typedef struct emu_levels_operand {
    float *value;     /* [row / width][k][width] */
    float *scale;     /* [row / width][block][width] */
    uint8_t *special; /* [row]: an element or a scale is NaN or infinite */
} emu_levels_operand;

typedef struct emu_levels_job {
    const emu_levels *plan;
    emu_levels_operand left, right;
    size_t k, blocks, rows, columns;
    const uint32_t *random; /* [rows][words]; NULL: nothing draws */
    uint8_t *stack;         /* of emu_tree_lanes, emu_tree_room bytes */
} emu_levels_job;

/* The sum of neighbouring products, `count` from `first` on, in binary32. */
EMU_INLINE void emu_sum_narrow(size_t width, const float *restrict a, const float *restrict b, size_t first, size_t count,
                               float *restrict total) {
    const size_t lane_a = width > 1;
    for (size_t lane = 0; lane < EMU_DOT_LANES; lane++)
        total[lane] = a[first * width + lane * lane_a] * b[first * EMU_DOT_LANES + lane];
    for (size_t k = first + 1; k < first + count; k++)
        for (size_t lane = 0; lane < EMU_DOT_LANES; lane++)
            total[lane] += a[k * width + lane * lane_a] * b[k * EMU_DOT_LANES + lane];
}

/* The same as binary64 numbers. narrow: 1: binary32 holds every such sum. */
EMU_INLINE void emu_sum_lot(int32_t narrow, size_t width, const float *restrict a, const float *restrict b, size_t first, size_t count,
                            double *restrict total) {
    const size_t lane_a = width > 1;
    if (narrow) {
        float found[EMU_DOT_LANES];
        emu_sum_narrow(width, a, b, first, count, found);
        for (size_t lane = 0; lane < EMU_DOT_LANES; lane++)
            total[lane] = (double)found[lane];
        return;
    }
    for (size_t lane = 0; lane < EMU_DOT_LANES; lane++)
        total[lane] = (double)a[first * width + lane * lane_a] * (double)b[first * EMU_DOT_LANES + lane];
    for (size_t k = first + 1; k < first + count; k++)
        for (size_t lane = 0; lane < EMU_DOT_LANES; lane++)
            total[lane] += (double)a[k * width + lane * lane_a] * (double)b[k * EMU_DOT_LANES + lane];
}

/* Bytes that a tree needs for the terms of one addition of each level. */
size_t emu_tree_room(const emu_tree *tree, size_t k);

/* Whether levels cover K, and pointers and numbers are in range. */
int emu_tree_valid(const emu_tree *tree, size_t k);

/* All levels for a row of lanes, `count` outputs from `output` on: what the last one leaves. value: C in, where a level takes it; over: set
 * in lanes without a result. */
void emu_tree_run(int32_t form, const emu_levels_job *work, size_t width, size_t row, size_t block, size_t output, size_t count,
                  double *value, int64_t *over);

/* The same in the portable form; flags: of each lane, raised here. */
void emu_tree_run_flags(const emu_levels_job *work, size_t width, size_t row, size_t block, size_t output, size_t count, double *value,
                        int64_t *over, uint8_t *flags);

#endif
