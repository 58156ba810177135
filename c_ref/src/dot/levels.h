/* levels.h: what the files of datapaths of levels share. Private: descriptors have been checked before any of these runs. */
#ifndef EMU_LEVELS_H
#define EMU_LEVELS_H

#include "datapath.h"

static inline int32_t emu_most(int32_t a, int32_t b)
{
    return a > b ? a : b;
}

static inline int32_t emu_least(int32_t a, int32_t b)
{
    return a < b ? a : b;
}

/* What follows from one level. */
typedef struct emu_level_plan {
    int32_t frac_bits;  /* aligned: F */
    int32_t adder_bits; /* aligned: F + I + 1, 0 where no width is stated */
    int32_t has_floor;
    int32_t floor_exp;
    int32_t unit_exp;   /* held in fixed point */
    int32_t sum_lsb_exp; /* divides its sums, before they are held */
} emu_level_plan;

/* A datapath of levels with what follows from it. */
typedef struct emu_level_path {
    const emu_levels *facts;
    emu_grid a;
    emu_grid b;
    emu_grid scale; /* nothing of these two is read without scales or C */
    emu_grid c;
    int32_t loads_c; /* flag: C is rounded when it becomes a running value */
    int32_t product_unit_exp;
    emu_level_plan plans[EMU_MAX_SUM_LEVELS];
    emu_limit limit; /* the one that a refused datapath passes */
} emu_level_path;

enum { EMU_MOST_INSTRUCTIONS = 1 << 24 };

/* How many values each level adds to one, for a row of so many products. */
typedef struct emu_shape {
    size_t products;
    size_t of[EMU_MAX_SUM_LEVELS + 1];    /* place 0: the products */
    size_t nodes[EMU_MAX_SUM_LEVELS + 1];
} emu_shape;

/* One row while it is computed. */
typedef struct emu_level_row {
    const emu_level_path *path;
    const emu_levels *facts;
    emu_shape shape;
    emu_strip strip;
    const emu_matrix *random; /* NULL: nothing draws */
    const uint32_t *order;
    emu_number c;
    int32_t c_signals; /* flag */
    int32_t *flags;    /* EMU_RAISED_*: those raised so far */
    emu_number *stages; /* of a trace, and which have been made; NULL: none is wanted */
    uint8_t *known;
} emu_level_row;

/* level_trace.c: where a stage lies, and the stage itself; addition -1: what a node leaves. */
size_t emu_stage_place(const emu_level_path *path, const emu_shape *shape, int32_t level, size_t node, int64_t addition);
void emu_keep_stage(const emu_level_row *row, int32_t level, size_t node, int64_t addition, const emu_number *value);
int32_t emu_make_row_shape(emu_level_row *row, size_t products); /* of a row whose facts are there; EMU_ERROR_SHAPE */
int32_t emu_prepare_levels(const emu_levels *levels, const emu_matrix *a, const emu_matrix *b, const emu_matrix *scale_a,
                           const emu_matrix *scale_b, const emu_matrix *c, const emu_matrix *random, const emu_matrix *d, uint32_t *order,
                           const emu_number *workspace, size_t numbers, emu_level_path *path, emu_level_row *row);
int32_t emu_run_level_rows(emu_level_row *row, const emu_matrix *c, const emu_matrix *d, const emu_matrix *flags, emu_number *workspace,
                           size_t *number);

/* level_operands.c: operands of a row, and what NaN and infinities among them decide before anything is added. *raised: EMU_RAISED_INVALID
 * is added to it. */
typedef struct emu_seen {
    int32_t has_nan;
    int32_t infinite[2];
    int32_t raised; /* EMU_RAISED_INVALID, or 0 */
} emu_seen;
int32_t emu_read_elements(const emu_level_row *row, size_t product, emu_number factors[2]);
int32_t emu_read_scales(const emu_level_row *row, size_t product, emu_number factors[2]);
int32_t emu_elements_signal(const emu_level_row *row, size_t product); /* EMU_RAISED_INVALID, or 0 */
int32_t emu_scales_signal(const emu_level_row *row, size_t product);
void emu_multiply_raising(const emu_number *a, const emu_number *b, emu_number *product, int32_t *raised);
void emu_look_at(const emu_number *number, emu_seen *found);
int32_t emu_look_below(const emu_level_row *row, int32_t level, size_t node, emu_seen *found);
int32_t emu_decide(const emu_seen *found, emu_number *number, int32_t *raised); /* 1: EMU_NAN or EMU_INFINITE in *number; else 0 */

/* level_nodes.c: one row -> the code of D. random: the integer of a rounding, 0 where it draws nothing. */
uint64_t emu_random_of(const emu_level_row *row, const emu_hold *words, int32_t level, size_t node, size_t turn);
int32_t emu_run_level_row(const emu_level_row *row, emu_number *room, uint64_t *code);

/* level_reach.c: fills the plans of a path. */
int32_t emu_measure_levels(emu_level_path *path, const emu_shape *shape);

/* level_path.c: checks and derives. shape: EMU_OK or EMU_ERROR_SHAPE. */
int32_t emu_make_level_path(const emu_levels *levels, emu_level_path *path);
int32_t emu_make_shape(const emu_levels *levels, size_t products, emu_shape *shape);

/* level_draws.c: where random integers go. Level 0: products; level_count + 1: the result. turn: the roundings of a node as they happen. */
size_t emu_count_draws(const emu_level_path *path, const emu_shape *shape);
void emu_order_draws(const emu_level_path *path, const emu_shape *shape, uint32_t *order);
size_t emu_draw_place(const emu_level_path *path, const emu_shape *shape, int32_t level, size_t node, size_t turn);
size_t emu_count_turns(const emu_level_path *path, const emu_shape *shape, int32_t level);
const emu_hold *emu_hold_of(const emu_level_path *path, int32_t level);
const emu_scaling *emu_scaling_of(const emu_level_path *path, int32_t level);
int32_t emu_draws(const emu_hold *hold);

/* level_shape: child number i of a node, and the last product below a node. */
static inline size_t emu_child(const emu_levels *levels, const emu_shape *shape, int32_t level, size_t node, size_t i)
{
    size_t every = (size_t)levels->levels[level - 1].every;
    return (node / every * shape->of[level] + i) * every + node % every;
}

/* level_number.c: numbers, and what registers make of them. A number has no zeros at its end; 0 has lsb_exp 0.
 * shift: the magnitude in units of 2^unit_exp, rounded; EMU_ERROR_DATAPATH where a rounding of NULL would lose something, and beyond
 * EMU_MOST_NUMBER_BITS, which sums reach only where registers without a largest exponent grow by rounding upwards again and again. */
enum { EMU_MOST_NUMBER_BITS = 1112 }; /* a sum of them times both scales fits EMU_WIDE_LIMBS */
int32_t emu_read_number(const emu_grid *grid, uint64_t code, int32_t flushes, int32_t ignores_unused_bits, emu_number *number);
void emu_settle_number(emu_number *number);
void emu_number_of(const emu_wide *sum, int32_t lsb_exp, emu_number *number); /* sets sign, magnitude and lsb_exp */
void emu_multiply_numbers(const emu_number *a, const emu_number *b, emu_number *product);
int32_t emu_shift_rounded(const emu_number *number, int32_t unit_exp, const emu_rounding *rounding, uint32_t random, emu_wide *units);
/* *beyond: set to 1 where a finite value is beyond its register, else left. */
int32_t emu_hold_number(const emu_level_path *path, const emu_hold *hold, int32_t unit_exp, uint32_t random, emu_number *number,
                        int32_t *beyond);
int32_t emu_encode_number(const emu_level_path *path, const emu_hold *hold, uint32_t random, const emu_number *number, uint64_t *code,
                          int32_t *beyond);
/* A NaN that signals, in a format whose NaNs may. */
int32_t emu_is_signalling(const emu_grid *grid, uint64_t code, int32_t may_signal);

/* level_add.c: terms and a running value (NULL: none) to one. level 0: exactly. *raised: what it raises is added to it. */
int32_t emu_add_numbers(const emu_level_path *path, int32_t level, const emu_hold *hold, const emu_number *terms, size_t count,
                        const emu_number *running, emu_number *sum, int32_t *raised);

#endif
