/* steps.h: what the files of the C reference share. Private: descriptors have been checked before any of these runs. */
#ifndef EMU_STEPS_H
#define EMU_STEPS_H

#include "../emu_ref.h"

/* A limit that is passed; name NULL: none is. */
typedef struct emu_limit {
    const char *name;
    int64_t found;
    int64_t most;
} emu_limit;

/* Is a number within a limit? The first that is not is kept. */
static inline int32_t emu_is_within(emu_limit *limit, const char *name, int64_t found, int64_t most)
{
    const emu_limit passed = {name, found, most};
    if (found > most && !limit->name)
        *limit = passed;
    return found <= most;
}

/* Limits of formats that the reader of descriptors names where it finds them. */
enum { EMU_MOST_FLOAT_BITS = 63, EMU_MOST_STORED_BITS = 64, EMU_MOST_EXP_BITS = 11, EMU_MOST_FRAC_BITS = 57, EMU_MOST_HELD_FRAC = 60,
       EMU_MOST_DRAWN_BITS = 61, EMU_MAX_CODE_BITS = 63, EMU_MAX_UNBOUNDED_FRAC = 50, EMU_MAX_SEARCHED_BITS = 8, EMU_MAX_WRAPPED_BITS = 16 };

/* Facts that follow from a format descriptor. */
typedef struct emu_grid {
    const emu_format *format;
    int32_t is_float;        /* float or exponent: the fields below hold */
    int32_t exp_bits;
    int32_t frac_bits;
    int32_t bias;
    int32_t has_subnormals;
    int32_t lowest_exp;      /* exponent of the lowest binade, subnormals included */
    int32_t has_zero;
    int32_t has_minus_zero;
    int32_t code_bits;       /* unused high bits left out */
    int32_t code_bytes;      /* 1, 2, 4 or 8: what a code takes in an array, unused high bits included */
    uint64_t sign_bit;       /* mask, 0 where there is none */
    int32_t is_signed;       /* a sign bit, two's complement, or a codebook */
    uint64_t largest[2];     /* largest finite magnitude by sign */
    uint64_t inf_magnitude;  /* 0: no Inf */
    uint8_t ascending[EMU_MAX_CODEBOOK]; /* codebook: codes by value, -0 before +0; of equal ones the first, repeated */
} emu_grid;

/* The same C compiled for several instruction sets of x86-64, chosen when the library is loaded. Results do not depend on it; tools that
 * watch single instructions want one form: -DEMU_ONE_FORM. */
#if defined(__GNUC__) && __GNUC__ >= 12 && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(EMU_ONE_FORM)
#define EMU_FORMS __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define EMU_FORMS
#endif

static inline uint64_t emu_low_bits(int32_t count)
{
    return count >= 64 ? UINT64_MAX : ((uint64_t)1 << count) - 1;
}

/* Shifts by any non-negative count. */
static inline uint64_t emu_shift_left(uint64_t bits, int32_t count)
{
    return count >= 64 ? 0 : bits << count;
}

static inline uint64_t emu_shift_right(uint64_t bits, int32_t count)
{
    return count >= 64 ? 0 : bits >> count;
}

/* Number of bits up to the leading one; 0 for 0. */
static inline int32_t emu_bit_length(uint64_t bits)
{
    int32_t length = 0;
    for (int32_t step = 32; step > 0; step /= 2) {
        if (bits >> step) {
            bits >>= step;
            length += step;
        }
    }
    return length + (bits != 0);
}

/* format.c; derive: of a format that has been checked */
int32_t emu_make_grid(const emu_format *format, emu_grid *grid);
void emu_derive_grid(const emu_format *format, emu_grid *grid);
int32_t emu_check_destination(const emu_grid *grid);
int32_t emu_is_code(const emu_grid *grid, uint64_t code);
int32_t emu_stored_bits(const emu_format *format);                 /* of a code, unused high bits included */
int32_t emu_same_format(const emu_format *a, const emu_format *b); /* the same facts */

/* arrays.c: codes in an array, `bytes` each; and the check that every one of them has only bits of the format. */
void emu_load_codes(const void *codes, int32_t bytes, size_t start, size_t count, uint64_t *loaded);
void emu_store_codes(void *codes, int32_t bytes, size_t start, size_t count, const uint64_t *stored);
int32_t emu_check_codes(const emu_grid *grid, const void *codes, size_t count);

/* codebook.c */
void emu_sort_codebook(const emu_format *format, uint8_t *ascending);
void emu_round_to_codebook(const emu_grid *grid, const emu_rounding *rounding, const emu_value *value, int32_t bits, uint32_t random,
                           emu_rounded *rounded);
uint64_t emu_codebook_end(const emu_grid *grid, int32_t sign);

/* overflow.c */
void emu_overflow_infinite(const emu_grid *grid, const emu_policy *policy, int32_t sign, uint64_t *code, uint8_t *open);

/* arithmetic.c: exact results on values, their bits below the 64th joined into bit 0. calculate.c: results as codes. */
typedef struct emu_arithmetic { /* what add, sub, mul, div and fma need */
    const emu_grid *grid;         /* of the operands */
    const emu_grid *to;           /* of the result */
    const emu_rounding *rounding;
    int32_t is_binary32;          /* 1: binary32 to binary32, ties to even: binary32.h does it */
    int32_t narrows;              /* 1: binary32 to bf16 or fp16, ties to even: binary32.h rounds a code */
} emu_arithmetic;

void emu_make_arithmetic(const emu_grid *grid, const emu_grid *to, const emu_rounding *rounding, emu_arithmetic *arithmetic);
uint64_t emu_calculate(const emu_arithmetic *arithmetic, int32_t operation, uint64_t a, uint64_t b, uint64_t c);
uint64_t emu_round_code(const emu_arithmetic *arithmetic, uint64_t code);
extern const emu_rounding emu_ties_to_even;
int32_t emu_is_arithmetic(const emu_grid *grid);
int32_t emu_is_binary32(const emu_grid *grid);
int32_t emu_rounds_down(const emu_rounding *rounding);
void emu_add(const emu_value *a, const emu_value *b, const emu_rounding *rounding, emu_value *sum);
void emu_multiply(const emu_value *a, const emu_value *b, emu_value *product);
void emu_divide(const emu_value *a, const emu_value *b, emu_value *quotient);
void emu_multiply_add(const emu_value *a, const emu_value *b, const emu_value *c, const emu_rounding *rounding, emu_value *sum);
uint64_t emu_round_to_code(const emu_grid *to, const emu_rounding *rounding, const emu_value *value);
int32_t emu_carry(const emu_grid *from, const emu_grid *to, uint64_t code, uint64_t *carried);

/* arrays.c: elements of a matrix by their row-major place; what does not fit the width is cut. */
int32_t emu_is_matrix(const emu_matrix *matrix);
uint64_t emu_read(const emu_matrix *matrix, size_t place);
void emu_write(const emu_matrix *matrix, size_t place, uint64_t code);

/* sum.c: an exact sum of values of one arithmetic format, as a two's complement integer. */
enum { EMU_SUM_LIMBS = 36 };

typedef struct emu_accumulator {
    int32_t lsb_exp; /* of bit 0 of limbs[0] */
    int32_t limb_count;
    int32_t has_nan;
    int32_t has_inf[2];  /* by sign */
    int32_t has_zero[2]; /* by sign */
    int32_t has_finite;  /* a term that is not zero */
    uint64_t limbs[EMU_SUM_LIMBS];
} emu_accumulator;

void emu_start_sum(emu_accumulator *sum, const emu_grid *grid);
void emu_add_term(emu_accumulator *sum, const emu_value *term);
void emu_end_sum(const emu_accumulator *sum, int32_t down, emu_value *total);

/* sum.c: of the codes in a stated order; scratch: count words. */
uint64_t emu_sum(const emu_arithmetic *arithmetic, int32_t order, const uint64_t *codes, size_t count, uint64_t *scratch);

/* transform.c: codes of the arithmetic format `grid` in, codes of transform->result out. scratch: 2 * size words. */
void emu_rotate(const emu_grid *grid, const emu_transform *transform, const uint64_t *signs, const uint64_t *codes, uint64_t *scratch,
                uint64_t *rotated);

/* operation.c: the element-wise operations on `count` cells that lie side by side. */
enum { EMU_MAX_ARGS = 4 };
#define EMU_OPEN_CELL UINT64_MAX /* a code that nobody knows */

typedef struct emu_row {
    const uint64_t *args[EMU_MAX_ARGS];
    const uint64_t *random;
    uint64_t *out;
    size_t count;
} emu_row;

/* operations.c: what a step of each operation says beside its registers, for those that read, write and type programs: one line each, by
 * EMU_OP_*. A result is a value, a code of step->format, an E8M0 code, or what the last two arguments are. */
enum { EMU_TAKES_VALUES, EMU_TAKES_CODES, EMU_TAKES_ARMS };
enum { EMU_GIVES_VALUES, EMU_GIVES_CODES, EMU_GIVES_E8M0, EMU_GIVES_ARMS };
enum { EMU_SAYS_FORMAT = 1, EMU_SAYS_ROUNDING = 2, EMU_SAYS_RANDOM = 4, EMU_SAYS_POLICY = 8, EMU_SAYS_E8M0 = 16, EMU_SAYS_TRANSFORM = 32 };

enum { EMU_MAX_REGISTERS = 1024 }; /* of a program */

typedef struct emu_operation {
    const char *name;
    int32_t takes;
    int32_t gives;
    int32_t says;                 /* EMU_SAYS_*, in this order on its line */
    const char *const *variants;  /* words of step->variant, NULL at the end; NULL: it has none */
} emu_operation;

extern const emu_operation emu_operations[]; /* name NULL at the end */

typedef struct emu_context { /* a step with what follows from its descriptors */
    const emu_step *step;
    emu_grid grid;    /* the program's arithmetic */
    emu_grid to;      /* of step->format, where there is one */
    emu_arithmetic arithmetic;
} emu_context;

int32_t emu_count_args(const emu_step *step);
void emu_make_context(const emu_program *program, const emu_step *step, emu_context *context);
int32_t emu_operate(const emu_context *context, const emu_row *row);
int32_t emu_find_nearest(const emu_context *context, const emu_row *row); /* nearest.c */

/* program.c: one band of a matrix, tile_rows high; registers lie in `cells` from their offsets on. */
typedef struct emu_band {
    const emu_program *program;
    const uint64_t *signs; /* NULL: each transform's own */
    size_t columns;        /* of this band */
    size_t widest;         /* of all bands */
    uint64_t *offsets;
    uint64_t *cells;
    uint64_t *scratch;     /* EMU_SCRATCH_ROWS * widest words */
} emu_band;

enum { EMU_SCRATCH_ROWS = 6 };
size_t emu_band_columns(const emu_program *program, size_t columns);
size_t emu_count_cells(const emu_program *program, int32_t reg, size_t columns);
int32_t emu_open_band(const emu_program *program, size_t columns, const uint64_t *signs, uint64_t *workspace, size_t words, emu_band *band);
uint64_t *emu_cells_of(const emu_band *band, int32_t reg);
uint64_t *emu_cell_at(const emu_band *band, int32_t reg, size_t row, size_t column);
int32_t emu_run_band(const emu_band *band, int32_t is_first);

/* encode.c */
int32_t emu_encode(const emu_grid *grid, const emu_value *value, uint64_t *code);

/* convert.c: the composed steps, one element. */
void emu_convert(const emu_grid *source, const emu_grid *destination, const emu_rounding *rounding, const emu_policy *policy, uint64_t code,
                 uint32_t random, uint64_t *converted, uint8_t *open);

/* convert.c: a value -> code, by a rounding that draws nothing. */
void emu_project(const emu_grid *destination, const emu_rounding *rounding, const emu_policy *policy, const emu_value *value,
                 uint64_t *converted, uint8_t *open);

#include "convert/decode.h"
#include "number/order.h"
#include "convert/overflow.h"
#include "convert/round.h"

#endif
