/* datapath.h: what the files of the dot product share. Private: descriptors have been checked before any of these runs. */
#ifndef EMU_DATAPATH_H
#define EMU_DATAPATH_H

#include "wide.h"

/* What a factor is besides its number. An infinite one has the significand 1 or -1, NaN and open ones 0. */
enum { EMU_FACTOR_INFINITE = 1, EMU_FACTOR_NAN = 2, EMU_FACTOR_OPEN = 4 };

/* An operand code: significand * 2^(exp - frac_bits of its format). */
typedef struct emu_factor {
    int64_t significand;
    int32_t exp;
    int32_t flags;
} emu_factor;

/* How codes of one operand are read. Codes of one byte come from a table. */
typedef struct emu_operand {
    emu_grid grid;
    int32_t frac_bits;
    int32_t min_exp;    /* least exponent that a code names */
    int32_t max_exp;
    int32_t lsb_exp;    /* min_exp - frac_bits: every value is a multiple of 2^lsb_exp */
    uint64_t top;       /* significand of the largest magnitude; its exponent is max_exp */
    uint64_t widest;    /* largest significand of all finite codes */
    int32_t flushes;
    int32_t ignores_unused_bits;
    int32_t in_units;   /* 1: significands are shifted to units of 2^lsb_exp, and exp is min_exp */
    int32_t has_table;
    int32_t is_plain;   /* 1: no code is special, and units holds the significands */
    emu_factor table[256];
    int32_t units[256];
} emu_operand;

/* A datapath with what follows from it. */
typedef struct emu_path {
    const emu_datapath *facts;
    emu_widths widths;
    emu_operand a;
    emu_operand b;
    emu_operand scale;  /* nothing of it is read without scales */
    emu_operand result;
    int32_t term_count; /* of a step */
    int32_t term_lsb;   /* of terms whose factors have exponents of 0 */
    int32_t is_small;   /* 1: the sum of a step (EMU_UNLIMITED: of products alone, at step_sum_lsb_exp) fits 62 bits */
    int32_t limbs;      /* of a sum */
    emu_limit limit;    /* the one that a refused datapath passes */
} emu_path;

/* The operands of one row, or of a part of it. */
typedef struct emu_strip {
    const emu_matrix *a;
    const emu_matrix *b;
    const emu_matrix *scale_a;
    const emu_matrix *scale_b;
    size_t row_a;
    size_t row_b;
} emu_strip;

/* path.c: checks and derives. */
int32_t emu_make_path(const emu_datapath *datapath, emu_path *path);

/* widths.c */
void emu_measure_operand(emu_operand *operand);
int32_t emu_measure(emu_path *path);

/* level_reach.c: integer bits of the largest sum of a step of terms up to largest * 2^exp, F known; -1: it is too long to tell. */
int32_t emu_step_bits(emu_path *path, uint64_t largest, int32_t exp);

/* factors.c */
void emu_make_operand(const emu_format *format, int32_t flushes, int32_t ignores_unused_bits, emu_operand *operand);
void emu_fill_table(emu_operand *operand, int32_t in_units);
emu_factor emu_decode_factor(const emu_operand *operand, uint64_t code);

static inline emu_factor emu_factor_of(const emu_operand *operand, uint64_t code)
{
    return operand->has_table ? operand->table[code] : emu_decode_factor(operand, code);
}

/* A code of a matrix, quickly where codes are bytes. */
static inline uint64_t emu_code_at(const emu_matrix *matrix, size_t place)
{
    return matrix->bytes == 1 ? ((const uint8_t *)matrix->codes)[place] : emu_read(matrix, place);
}

/* terms.c: the terms of the step that starts at product `start`; returns the flags of all operands together. */
int32_t emu_make_terms(const emu_path *path, const emu_strip *strip, size_t start, emu_term *terms);

/* special.c: 0, or nan_code or an infinity in *code: what NaN and Inf among `count` products from `start` and C make. */
int32_t emu_find_special(const emu_path *path, const emu_strip *strip, size_t start, size_t count, const emu_factor *c, uint64_t *code);

/* round_sum.c */
int64_t emu_align(int64_t significand, int32_t places, int32_t mode);
uint64_t emu_round_kept(const emu_grid *grid, const emu_rounding *rounding, int32_t keep, const emu_value *top, uint32_t random);
uint64_t emu_round_top(const emu_path *path, const emu_value *top);
uint64_t emu_round_small(const emu_path *path, int64_t total, int32_t lsb_exp);
uint64_t emu_round_wide(const emu_path *path, const emu_wide *total, int32_t lsb_exp);

/* step.c: what a step leaves for a reader; `stages` may be NULL. */
void emu_keep_number(emu_wide *kept, int64_t value);
void emu_keep_terms(emu_stages *stages, const emu_term *terms, int32_t count);

/* step.c: terms and C -> the code of the step. */
uint64_t emu_aligned_step(const emu_path *path, const emu_term *terms, const emu_factor *c, emu_stages *stages);
uint64_t emu_exact_step(const emu_path *path, const emu_term *terms, const emu_factor *c, emu_stages *stages);
void emu_add_terms(const emu_path *path, const emu_term *terms, emu_wide *total, int32_t lsb_exp, emu_stages *stages);

/* late.c */
uint64_t emu_added_step(const emu_path *path, const emu_term *terms, const emu_factor *c, emu_stages *stages);
uint64_t emu_realigned_step(const emu_path *path, const emu_term *terms, const emu_factor *c, emu_stages *stages);

/* register.c: the whole row; EMU_OK, EMU_ERROR_OPEN or EMU_ERROR_OVERFLOW. */
int32_t emu_accumulate(const emu_path *path, const emu_strip *strip, uint64_t c, uint64_t *code, emu_stages *stages);

/* promote.c: one group. acc, result: codes. Returns EMU_OK or EMU_ERROR_OPEN. */
int32_t emu_promote_step(const emu_path *path, const emu_strip *strip, size_t start, uint64_t acc, uint64_t *code, emu_stages *stages);

/* epilogue.c: a value rounded to a code of the result format as IEEE 754 has it; a NaN is the datapath's. */
uint64_t emu_round_ieee(const emu_path *path, const emu_rounding *rounding, const emu_value *value);

#endif
