/* Kernels of the engine `native`: the hot operations as plain loops that compilers turn into vector code. Private to this folder; the
 * declarations between the markers are what Python sees. What a result must be is said by the spec and c_ref/emu_ref.h; the thresholds,
 * tables and steps that the kernels take are derived from the spec in emu/native/thresholds.py and emu/native/plan.py.
 *
 * Every loop is compiled in several forms, for the vector instructions that machines have; a form is chosen at run time by its number, so
 * that a test can call each one. Floats: single binary32 operations where a recipe names them, compiled with -ffp-contract=off.
 * No allocation, no globals, no state.
 */
#ifndef EMU_KERNELS_H
#define EMU_KERNELS_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* cdef begin */

enum { EMU_PORTABLE = 0, EMU_AVX2 = 1, EMU_AVX512 = 2 };

/* argument: a pointer is NULL or a number out of range; form: not compiled, or this machine lacks its instructions; flushed, rounding,
 * wider: the process flushes subnormals, does not round to nearest even, or evaluates binary32 in a wider format. */
enum {
    EMU_KERNEL_OK = 0,
    EMU_KERNEL_ARGUMENT = 1,
    EMU_KERNEL_FORM = 2,
    EMU_KERNEL_FLUSHED = 3,
    EMU_KERNEL_ROUNDING = 4,
    EMU_KERNEL_WIDER = 5
};

enum { EMU_SOURCE_FP32 = 0, EMU_SOURCE_BF16 = 1, EMU_SOURCE_FP16 = 2 };
enum { EMU_MARK_OPEN = 16, EMU_MARK_REFUSED = 32, EMU_MAX_THRESHOLDS = 24 };

/* A conversion to 4 bits as a step function of a 16-bit magnitude (bf16 for fp32 sources, rounded to odd, else the source itself):
 * a magnitude takes codes[k], k the number of `at` that are <= it. Low byte: the code for sign 0, high byte: for sign 1; a byte may
 * hold a mark beside or instead of its code. */
typedef struct emu_thresholds {
    int32_t count; /* 0..EMU_MAX_THRESHOLDS */
    uint16_t at[24];
    uint16_t codes[25];
} emu_thresholds;

/* The best form of this machine. */
int32_t emu_best_form(void);

/* EMU_KERNEL_OK when this process computes binary32 as IEEE 754 says, to nearest even. */
int32_t emu_check_floats(void);

/* convert: source codes -> 4-bit codes, a byte each, or two in a byte, element 2k in the low nibble (an odd count leaves 0 above the
 * last). marks: all marks of the elements ORed; where it is not 0, codes hold anything. */
int32_t emu_convert_4bit(int32_t form, const emu_thresholds *thresholds, int32_t source, const void *x, size_t count, int32_t packed,
                         uint8_t *codes, uint8_t *marks);

/* convert to codes of up to 8 bits, a byte each. table: 65536 codes by source code, of binary32 by its bf16 code after rounding to odd.
 * marks_table: the marks of each, NULL: none has any. */
int32_t emu_convert_8bit(int32_t form, const uint8_t *table, const uint8_t *marks_table, int32_t source, const void *x, size_t count,
                         uint8_t *codes, uint8_t *marks);

/* decode: 4-bit codes, bytes below 16 or packed, -> table[code]. */
int32_t emu_decode_4bit(int32_t form, const uint32_t *table, const uint8_t *codes, size_t count, int32_t packed, uint32_t *values);

/* The largest magnitude code (the code without its sign bit) of `count` codes: of the largest magnitude, or a NaN's if there is one. */
int32_t emu_amax(int32_t form, int32_t source, const void *x, size_t count, uint32_t *magnitude);

/* The steps of a recipe between the maximum of a block and the factor of its elements, on a register of lanes for each name: binary32 bits,
 * or codes. Arithmetic is one binary32 operation. What each operation and test means is said in emu/spec/programs/steps.py. */
enum {
    EMU_STEP_ADD = 0,
    EMU_STEP_SUB = 1,
    EMU_STEP_MUL = 2,
    EMU_STEP_DIV = 3,
    EMU_STEP_MIN = 4,
    EMU_STEP_MAX = 5,
    EMU_STEP_CLAMP = 6,
    EMU_STEP_ABS = 7,
    EMU_STEP_NEG = 8,
    EMU_STEP_SELECT = 9,
    EMU_STEP_CAST = 10,
    EMU_STEP_DECODE = 11,
    EMU_STEP_E8M0 = 12,
    EMU_STEP_CAST_FLOAT = 13,  /* cast to an unsigned float format, nearest even, saturating, by arithmetic that equals the table */
    EMU_STEP_DECODE_FLOAT = 14 /* decode of one, by arithmetic */
};
enum { EMU_NAN_PROPAGATES = 0, EMU_NAN_DROPS = 1 };
enum { EMU_TEST_ZERO = 0, EMU_TEST_NAN = 1, EMU_TEST_INF = 2, EMU_TEST_NEG = 3, EMU_TEST_LT = 4, EMU_TEST_LE = 5, EMU_TEST_GE = 6 };
enum { EMU_RULE_FLOOR = 0, EMU_RULE_CEIL = 1, EMU_RULE_EVEN = 2, EMU_RULE_FIELD_UP = 3 };
enum { EMU_LANES = 256, EMU_MAX_REGISTERS = 64 };

typedef struct emu_kernel_step {
    int32_t operation; /* EMU_STEP_* */
    int32_t out;       /* register */
    int32_t args[4];   /* registers; as many as the operation reads */
    int32_t variant;   /* min, max, clamp: EMU_NAN_*; select: EMU_TEST_*, its tested arguments first; e8m0: EMU_RULE_* */
    int32_t emax;      /* e8m0 */
    int32_t frac_bits; /* e8m0 even, cast and decode of a float: 0..22 */
    int32_t bias;      /* cast and decode of a float: 0..126 */
    int32_t largest;   /* cast of a float: the largest finite code */
    int32_t nan;       /* cast and decode of a float: the code of NaN; -1: none */
    int32_t sign_bit;  /* signed casts and decodes: the number of the sign bit */
    uint32_t wraps;    /* signed casts, wrapped: the bits that a code keeps */
    const uint8_t *codes;   /* casts: 65536 codes by bf16 code, the value rounded to odd */
    const uint32_t *values; /* decodes: 256 values */
} emu_kernel_step;

/* A rotation of 16 elements by the Hadamard matrix; what the orders of additions mean is said in emu/spec/models/transform.py. */
enum { EMU_SUM_BUTTERFLY = 0, EMU_SUM_SEQUENTIAL = 1, EMU_SUM_EXACT = 2 };

typedef struct emu_rotation {
    int32_t order;  /* EMU_SUM_* */
    int32_t result; /* EMU_SOURCE_FP32 or EMU_SOURCE_BF16 */
    uint32_t signs; /* bit i set: element i is negated first */
    uint32_t scale; /* binary32 bits of a power of two */
} emu_rotation;

/* transform: groups of 16 source codes -> binary32 bits (of bf16 numbers where the result is bf16), NaN canonical. left: a byte for each
 * group, 1 where an exact sum does not fit binary64 and the group is not done. */
int32_t emu_rotate(int32_t form, const emu_rotation *rotation, int32_t source, const void *x, size_t groups, uint32_t *y, uint8_t *left);

/* A rounding that draws, on the grid of a format. adds: 1: the random bits are added to the discarded ones; 0: random * ulp / 2^bits is
 * added by one binary32 operation; what is left is cut. */
typedef struct emu_stochastic {
    int32_t adds;
    int32_t bits;       /* random bits of an element, 1..8 */
    int32_t drop;       /* bits of a binary32 fraction below the grid of normal numbers, bits..23 */
    uint32_t lowest;    /* binary32 bits of the lowest normal number; Inf for a format of integers */
    uint32_t top;       /* of a number of the grid above the largest: what is larger is cut to it */
    uint32_t least_ulp; /* of the spacing below the lowest normal number */
    float unit;         /* the same number */
    float per_unit;     /* 1 / unit */
    float parts;        /* 2^bits / unit */
    float share;        /* 2^-bits */
} emu_stochastic;

/* What quantize does with each block: its maximum, `steps` from there to a factor, then each element times or by the factor, to 4 bits. */
typedef struct emu_kernel_plan {
    int32_t block;          /* elements: a power of two, 2..EMU_LANES */
    int32_t register_count; /* 1..EMU_MAX_REGISTERS */
    const uint32_t *initial;      /* a value for each register: constants, and what is known of the tensor */
    int32_t once_count;
    const emu_kernel_step *once;  /* steps that are the same for all blocks */
    int32_t step_count;
    const emu_kernel_step *steps;
    const emu_rotation *rotation; /* of the elements, first; NULL: none; a block is then 16, the order not exact */
    int32_t amax;           /* register: maximum of the block */
    int32_t drops;          /* EMU_NAN_* of that maximum */
    int32_t factor;         /* register */
    int32_t divides;        /* 1: element / factor, 0: element * factor */
    const emu_stochastic *stochastic; /* how elements are rounded; NULL: nothing is drawn */
    const emu_thresholds *thresholds;
    int32_t level_count;    /* 0..4 levels of one code a block */
    int32_t levels[4];      /* register */
    int32_t level_bytes[4]; /* 1: a code; 4: a binary32 value, NaN canonical */
} emu_kernel_plan;

/* Steps that only tiles have. signed: of a float format with a sign, the numbers as they are; variant: EMU_TO_*.
 * open: a NaN gives EMU_TILE_OPEN, which decodes to NaN.   nearest: codes[k] for values[k], `largest` of them; arguments: value, unit; sign_bit: not 0: values are 0 and
 * above, and each has its negative where that bit is set.
 * sum: variant: EMU_ADDS_*.   amax, sum: of `terms` rows each. */
enum {
    EMU_STEP_CAST_SIGNED = 15,
    EMU_STEP_DECODE_SIGNED = 16,
    EMU_STEP_CAST_OPEN = 17,
    EMU_STEP_DECODE_OPEN = 18,
    EMU_STEP_ROUND_BF16 = 19,
    EMU_STEP_ROUND_GRID = 20,
    EMU_STEP_MUL_BF16 = 21,
    EMU_STEP_DIV_BF16 = 22,
    EMU_STEP_NEAREST = 23,
    EMU_STEP_AMAX = 24,
    EMU_STEP_SUM = 25,
    EMU_STEP_CLAMP_NUMBERS = 26, /* clamp whose bounds are no NaN */
    EMU_STEP_CAST_INTEGER = 27,  /* to nearest even, to two's complement of `sign_bit` + 1 bits, saturating at `largest` and -`emax` */
    EMU_STEP_DECODE_INTEGER = 28
};
enum { EMU_TO_EVEN = 0, EMU_TO_ZERO = 1, EMU_TO_AWAY = 2, EMU_TO_EVEN_WRAPPED = 3 };
enum { EMU_ADDS_IN_TURN = 0, EMU_ADDS_IN_HALVES = 1, EMU_ADDS_AS_TREE = 2 };
enum { EMU_ACROSS = 64, EMU_TILE_TERMS = 256, EMU_TILE_PARTS = 6, EMU_TILE_OPEN = 256 };

/* A step on tiles side by side. Its registers are numbers of rows in a room, each of one lane for each tile; row r of the result reads row
 * r >> shift[k] of argument k. */
typedef struct emu_tile_step {
    emu_kernel_step step;
    int32_t rows;     /* of the result */
    int32_t terms;    /* amax, sum: rows of the argument that one row of the result takes */
    int32_t shift[4];
} emu_tile_step;

/* What comes out of a tile: a matrix of rows x columns. */
typedef struct emu_tile_part {
    int32_t row;   /* the first in the room; value k of a tile is in row k >> shift */
    int32_t rows, columns;
    int32_t shift;
    int32_t bytes; /* 1: a code; 4: a binary32 value, NaN canonical */
} emu_tile_part;

typedef struct emu_tile_plan {
    int32_t rows, columns; /* elements of a tile; columns <= EMU_TILE_TERMS */
    int32_t room_rows;
    int32_t x;             /* the first row of the elements */
    int32_t once_count;
    const emu_tile_step *once;
    int32_t step_count;
    const emu_tile_step *steps;
    int32_t part_count;    /* 1..EMU_TILE_PARTS */
    emu_tile_part parts[6];
} emu_tile_plan;

/* Steps alone, on a room. */
int32_t emu_run_tiles(int32_t form, const emu_tile_step *steps, int32_t step_count, int32_t room_rows, uint32_t *room);

/* quantize a matrix of tiles; along_rows: 0: row-major memory, 1: column-major. room: room_rows rows, those of constants filled.
 * outputs: a matrix for each part, in the memory order of x.   open: 1 where a code is open. */
int32_t emu_quantize_tiles(int32_t form, const emu_tile_plan *plan, int32_t source, const void *x, size_t tiles_down, size_t tiles_right,
                           int32_t along_rows, void *const *outputs, uint32_t *room, uint8_t *open);

/* Steps alone, on `count` lanes of registers[EMU_MAX_REGISTERS][EMU_LANES]. */
int32_t emu_run_steps(int32_t form, const emu_kernel_step *steps, int32_t step_count, int32_t count, uint32_t *registers);

/* quantize a matrix of rows x columns in row-major memory, along the columns (along_rows = 0; columns a multiple of the block) or along the
 * rows (1; rows a multiple). codes: a byte for each element; levels: for each block, in the orientation of x. tensor: a value for each
 * register after the once-steps. marks: as in emu_convert_4bit. random: a byte for each element, for a plan that draws, else NULL. */
int32_t emu_quantize_4bit(int32_t form, const emu_kernel_plan *plan, int32_t source, const void *x, size_t rows, size_t columns,
                          int32_t along_rows, const uint8_t *random, uint8_t *codes, void *const *levels, uint32_t *tensor,
                          uint8_t *marks);

/* Low bits of the first 4 * groups words of a key and a stream (emu/base/philox.py), a byte each. */
int32_t emu_random_bytes(int32_t form, uint64_t key, uint64_t stream, size_t groups, uint32_t mask, uint8_t *out);

/* What dequantize does with each block: `steps` from its levels to factors, then the value of each code times or by the factors in turn. */
typedef struct emu_back_plan {
    int32_t block;
    int32_t register_count;
    const uint32_t *initial;     /* a value for each register: constants, and levels of the tensor */
    int32_t once_count;
    const emu_kernel_step *once;
    int32_t step_count;
    const emu_kernel_step *steps;
    int32_t level_count;         /* 0..4 levels of codes that lie in memory */
    int32_t levels[4];           /* register */
    int32_t level_bytes[4];      /* 1 or 4 */
    int32_t level_shifts[4];     /* 0..16: 1 << shift blocks in a row share a code */
    const uint32_t *values;      /* of the 16 codes */
    int32_t count;               /* 0..4 factors */
    int32_t divides[4];          /* 1: value / factor, 0: value * factor */
    int32_t factors[4];          /* register */
} emu_back_plan;

/* dequantize a matrix in the orientation of emu_quantize_4bit. values: binary32 bits. */
int32_t emu_dequantize_4bit(int32_t form, const emu_back_plan *plan, const uint8_t *codes, size_t rows, size_t columns, int32_t along_rows,
                            void *const *levels, uint32_t *values);

/* A dot product with aligned terms, as a plan of emu/spec/datapath.py fixes it. Terms are products, or sums of groups; a term is an integer
 * that binary32 holds, times 2^(its exponent - low_bits). */
enum { EMU_DOT_LANES = 32, EMU_DOT_MAX_TERMS = 16, EMU_DOT_DEAD = -(1 << 20) };
enum { EMU_KIND_NUMBER = 0, EMU_KIND_NAN = 1, EMU_KIND_INF = 2, EMU_KIND_ZERO = 4, EMU_KIND_MINUS = 8 };

/* A format of at most 16 bits by code. significand: an integer with its sign, in units of 2^(exp - fraction bits), for groups in units of
 * the finest element; 0 for NaN and Inf.   exp: EMU_DOT_DEAD for zero, NaN and Inf.   kind: EMU_KIND_*, ORed. */
typedef struct emu_dot_format {
    int32_t bytes; /* of a code: 1 or 2 */
    const float *significand;
    const int32_t *exp;
    const uint8_t *kind;
} emu_dot_format;

typedef struct emu_dot {
    emu_dot_format a, b, scale;
    int32_t step;      /* products of one fused step; a multiple of the group */
    int32_t group;     /* 16 or 32: sums of groups; 1: single products */
    int32_t block;     /* elements of one scale, a multiple of the group; 0: no scales */
    int32_t frac_bits; /* F */
    int32_t low_bits;
    int32_t raised;    /* added to the exponent of a term */
    int32_t floor;     /* least E */
    int32_t nearest;   /* 1: the result is rounded to nearest even; 0: toward zero */
    int32_t keep;      /* fraction bits kept */
    int32_t d_bytes;   /* of a code of C and D: 2 or 4 */
    int32_t d_frac_bits;
    int32_t d_lowest;  /* exponent of the smallest normal number */
    uint32_t d_max, d_inf, d_nan, d_sign; /* codes; d_sign: mask */
} emu_dot;

/* Bytes that emu_dot_panel needs of `room`, for columns up to `columns`. */
size_t emu_dot_room(const emu_dot *plan, size_t rows, size_t columns, size_t k);

/* d = A * B transposed + d, for each output one chain over K. a: codes [rows, k]; b: [columns, k]; scales [rows or columns, k / block];
 * d: codes [rows] of which each has `d_stride` elements to the next. paired: 1: row i of A with row i of B, d[rows]; columns = rows. */
int32_t emu_dot_panel(int32_t form, const emu_dot *plan, const void *a, const void *b, const uint8_t *scale_a, const uint8_t *scale_b,
                      size_t rows, size_t columns, size_t k, int32_t paired, void *d, size_t d_stride, void *room);

/* alpha * d, then + c where c is not NULL, all codes of C and D, each operation rounded to nearest even; fused: both rounded once.
 * Zeros as IEEE 754 has them. */
int32_t emu_dot_epilogue(const emu_dot *plan, uint32_t alpha, const void *d, const void *c, size_t count, int32_t fused, void *out);

/* A float format as binary64 numbers, and a rounding to it. up_*: masks, all ones where a number moves away from zero: up_plus, up_minus:
 * that lost something and has this sign; half: at least half a unit; more: more; tie: at least half of a unit, the last bit 1; even: that lost
 * something, the last bit 0. */
/* Nearest: to even, infinity beyond the largest; single: the same in binary32. */
enum { EMU_HOLD_BY_MASKS = 0, EMU_HOLD_NEAREST = 1, EMU_HOLD_CUT = 2, EMU_HOLD_DRAWS = 3, EMU_HOLD_SINGLE = 4 };

/* How a random word decides, of `random_bits`: the top bits of what is lost plus the word carry; the word is below it; it is rounded first. */
enum { EMU_DRAW_ADD = 0, EMU_DRAW_CMP = 1, EMU_DRAW_HALF = 2 };

typedef struct emu_hold_float {
    double kept, kept_big; /* 2^-fraction bits kept; 2^52 times that */
    double lowest;  /* smallest normal number */
    double largest; /* a number above it becomes beyond_plus or beyond_minus */
    double beyond_plus, beyond_minus;
    double flushed; /* what is smaller becomes zero; 0: nothing; by masks alone */
    double zero;    /* 0: zeros become +0; -0: they keep their sign */
    int32_t mode;   /* EMU_HOLD_* */
    uint64_t up_plus, up_minus, up_half, up_more, up_tie, up_even;
    uint64_t downward; /* mask of the sign: a zero sum of numbers that are no equal zeros is -0 */
    int32_t draws, random_bits; /* EMU_DRAW_*, where the mode draws */
} emu_hold_float;

/* Codes of 1 or 2 bytes and the binary32 bits of each; of 4 bytes: binary32 codes. The exponents that codes name lie between two. */
typedef struct emu_level_operand {
    int32_t bytes;
    const uint32_t *words;
    int32_t low_exp, high_exp;
    int32_t signals; /* 1: NaNs whose quiet bit is 0 signal; words of other codes hold quiet ones */
} emu_level_operand;

/* Exception flags of a row of levels, and of which levels each is reported: the sum of 2^i, 0 products, as listed, then the result. */
enum { EMU_FLAG_INVALID = 1, EMU_FLAG_OVERFLOW = 2 };

enum { EMU_BEYOND_STOPS = 0, EMU_BEYOND_WRAPS = 1, EMU_BEYOND_INFINITE = 2, EMU_BEYOND_FAILS = 3 };

/* What a number is brought to. cut: bits below the exponent that it names; fixed: whole units between two ends. Rounded as `by` says. */
enum { EMU_KEEPS = 0, EMU_KEEPS_FLOAT = 1, EMU_KEEPS_DIGITS = 2, EMU_KEEPS_BELOW = 3, EMU_KEEPS_FIXED = 4 };

typedef struct emu_tree_hold {
    int32_t kind;       /* EMU_KEEPS_* */
    emu_hold_float by;
    int32_t low_exp, high_exp; /* float: of the exponents that its numbers name */
    int32_t below;             /* bits */
    double unit, low, high;    /* fixed */
    int32_t beyond;            /* EMU_BEYOND_* */
} emu_tree_hold;

typedef struct emu_tree_scale {
    int32_t by; /* 1: block scales multiply here */
    emu_tree_hold each, product, term;
} emu_tree_scale;

enum { EMU_ADDS_EXACT = 0, EMU_ADDS_ALIGNED = 1, EMU_ADDS_CHAIN = 2, EMU_ADDS_PAIRS = 3 };
enum { EMU_TREE_DEAD = -(1 << 20), EMU_TREE_LEVELS = 16, EMU_TREE_PAIRS = 40, EMU_TREE_PARTS = 24 };

/* One level. Level 0 is the products: of it only `hold`, `scale`, `turns` and `places` count. */
typedef struct emu_tree_level {
    int32_t add;             /* EMU_ADDS_* */
    int32_t of, every;       /* values of one node, 0: all; 1: neighbours, n: every n-th */
    int32_t by;              /* chain: values of one addition */
    int32_t starts_first, starts_c, loads_c, plus_c, decides; /* decides: NaN and infinite operands, before each addition */
    int32_t flushes;         /* chain: subnormal running values are zeros, of a format whose smallest normal number is `normal` */
    double normal;
    int32_t is_aligned, normalised, raised, frac_bits, has_floor, floor;
    emu_hold_float cut;      /* rounding of terms */
    int32_t wraps;           /* bits of the adder; 0: its sums do not wrap */
    int32_t running_cut, running_bits, running_drop; /* 1: the running value is cut by itself; drop: -1: never dropped */
    emu_hold_float running;
    int32_t parts;           /* of a sum that has more bits than binary64: each has a unit, the first the coarsest; 0: it has no more */
    double big[EMU_TREE_PARTS]; /* 1.5 * 2^52 units of each part */
    int32_t names_largest, cancelled_counts;
    int32_t float_zero;      /* 1: a zero sum has a sign */
    uint64_t downward;       /* as in emu_hold_float */
    emu_tree_hold hold;
    emu_tree_scale scale;
    int32_t turns;           /* roundings of one node */
    const int32_t *places;   /* [nodes][turns]: the random word of each; NULL: none draws */
} emu_tree_level;

typedef struct emu_tree {
    int32_t count;        /* levels above the products */
    int32_t names;        /* 1: exponents that values name matter */
    int32_t words;        /* random words of an output */
    int32_t out_place;    /* that of the result */
    int32_t c_low, c_high; /* exponents that C names */
    int32_t plain;        /* 1: level 1 sums neighbouring products, and no word says more of them */
    emu_tree_level levels[17];
} emu_tree;

/* A datapath of levels: lots of products summed exactly go into one running register. emu/engines/native/levels.py says which ones. */
typedef struct emu_levels {
    emu_level_operand a, b, scale;
    int32_t lot;    /* products that one addition takes */
    int32_t narrow; /* 1: binary32 holds every sum of a lot, or of products that a plain tree sums */
    int32_t summed; /* 1: a level sums the products of a lot */
    int32_t block;  /* products of one scale; 0: no scales */
    int32_t holds_products;
    emu_hold_float product; /* what a product is rounded to */
    int32_t bits;   /* of a register in fixed point; 0: a float format */
    int32_t beyond; /* EMU_BEYOND_* of it */
    int32_t is_short; /* 1: 31 bits hold it and every sum, terms are narrow, nothing is rounded or scaled, it stops at its ends or wraps */
    double per_unit, unit; /* 1 / finest unit of terms; unit of the register */
    int32_t lift, shift;  /* units of the register are 2^lift times finer, or 2^shift times coarser, than those of terms */
    uint64_t bias, bias_odd, bias_minus; /* added to a term before its low bits are cut: always, to an odd sum, to a negative one */
    emu_hold_float held, out; /* a float register; the result */
    int32_t starts_first, starts_c, loads_c, out_plus_c;
    int32_t once;   /* 1: NaN and infinity of the operands decide before anything is added */
    int32_t live_nan; /* 1: a NaN scale counts only where its values are live; of a tree alone */
    const emu_tree *tree; /* levels one by one, in the place of lots and a register; NULL: as said above */
    uint32_t invalid_levels, overflow_levels; /* that raise a flag; of a tree alone */
    int32_t d_frac_bits, d_lowest;
    uint32_t d_inf, d_nan, d_sign;
} emu_levels;

/* Bytes that emu_levels_panel needs of `room`. */
size_t emu_levels_room(const emu_levels *plan, size_t rows, size_t columns, size_t k);

/* Operands as in emu_dot_panel. c: values of C as d is, NULL: there is none.   d: codes [rows, columns], or [rows] for pairs.
 * random: words [outputs, tree->words], NULL: none.   failed: the first output without a result, or SIZE_MAX.
 * c: a NaN of it that signals has its quiet bit clear.   flags: EMU_FLAG_* of each output, NULL: not asked for. */
int32_t emu_levels_panel(int32_t form, const emu_levels *plan, const void *a, const void *b, const void *scale_a, const void *scale_b,
                         size_t rows, size_t columns, size_t k, int32_t paired, const double *c, const uint32_t *random, uint32_t *d,
                         uint8_t *flags, size_t *failed, void *room);

/* What the memory of this machine allows: reads 4 bytes and writes 1 for each element, and does nothing else. */
int32_t emu_read_4_write_1(int32_t form, const uint32_t *x, size_t count, uint8_t *bytes);

/* cdef end */

#define EMU_INLINE static inline
#define EMU_APART
#define EMU_FOR_AVX2
#define EMU_FOR_AVX512
#define EMU_X86_FORMS 0
#define EMU_PREFETCH(address) (void)(address)
#define EMU_ALIGNED /* memory that vectors read and write: one that lies on two cache lines takes twice as long */
#if defined(__GNUC__)
#undef EMU_ALIGNED
#define EMU_ALIGNED __attribute__((aligned(64)))
#undef EMU_INLINE
#undef EMU_PREFETCH
#define EMU_PREFETCH(address) __builtin_prefetch(address)
#define EMU_INLINE static inline __attribute__((always_inline, unused))
#if !defined(__clang__)
#undef EMU_APART
#define EMU_APART __attribute__((noipa))
#endif
#if defined(__x86_64__) && (defined(__clang__) || __GNUC__ >= 8) && !defined(EMU_ONE_FORM)
#undef EMU_FOR_AVX2
#undef EMU_FOR_AVX512
#undef EMU_X86_FORMS
#define EMU_X86_FORMS 1
#define EMU_FOR_AVX2 __attribute__((target("avx2,bmi2")))
#if defined(__clang__)
#define EMU_FOR_AVX512 __attribute__((target("avx2,bmi2,avx512f,avx512bw,avx512vl,avx512dq"), min_vector_width(512)))
#else
#define EMU_FOR_AVX512 __attribute__((target("avx2,bmi2,avx512f,avx512bw,avx512vl,avx512dq,prefer-vector-width=512")))
#endif
#endif
#endif

/* The forms of a loop: `body` is always inlined, its last argument is the number of the form. EMU_RUN calls the wanted one.
 * EMU_APART: gcc 12.2 with -O3 drops calls of such functions after specialising them for constant arguments (-fno-ipa-cp keeps them), so
 * each form is kept apart from what calls it. */
#if EMU_X86_FORMS
#define EMU_FORMS(body, parameters, ...)                                                \
    EMU_APART static void body##_0 parameters { body(__VA_ARGS__, EMU_PORTABLE); }            \
    EMU_APART EMU_FOR_AVX2 static void body##_1 parameters { body(__VA_ARGS__, EMU_AVX2); }   \
    EMU_APART EMU_FOR_AVX512 static void body##_2 parameters { body(__VA_ARGS__, EMU_AVX512); }
#define EMU_RUN(form, body, ...) \
    ((form) == EMU_AVX512 ? body##_2(__VA_ARGS__) : (form) == EMU_AVX2 ? body##_1(__VA_ARGS__) : body##_0(__VA_ARGS__))
#else
#define EMU_FORMS(body, parameters, ...) \
    EMU_APART static void body##_0 parameters { body(__VA_ARGS__, EMU_PORTABLE); }
#define EMU_RUN(form, body, ...) ((void)(form), body##_0(__VA_ARGS__))
#endif

/* Elements that are worked on at a time, so that what lies between two passes stays in the nearest cache. */
enum { EMU_CHUNK = 8192 };

/* The chain of convert.c on magnitudes with signs that are at hand as 16 bits; marks are ORed in. */
void emu_chain(int32_t form, const emu_thresholds *thresholds, const uint16_t *x, size_t count, uint8_t *codes, uint8_t *marks);

/* Source codes as binary32 bits, exact. */
void emu_widen(int32_t form, int32_t source, const void *x, size_t count, uint32_t *bits);

/* Rotations of groups that lie one after another, and in place on rows[element][group], signs already applied; up to EMU_LANES groups. */
enum { EMU_ROTATED = 16 };
void emu_rotate_groups(int32_t form, const emu_rotation *rotation, const uint32_t *x, size_t groups, uint32_t *y, uint8_t *left);
void emu_rotate_rows(int32_t form, const emu_rotation *rotation, uint32_t (*rows)[EMU_LANES], size_t groups, uint8_t *left);

/* Elements scaled by the factors of their blocks, or of their lanes, and rounded by random bits: bf16 numbers of the grid. */
void emu_draw_blocks(int32_t form, const emu_stochastic *how, const uint32_t *x, const uint8_t *random, const uint32_t *factors,
                     size_t blocks, size_t block, int32_t divides, uint16_t *scaled);
void emu_draw_row(int32_t form, const emu_stochastic *how, const uint32_t *x, const uint8_t *random, const uint32_t *factors, size_t width,
                  int32_t divides, uint16_t *scaled);

/* The same bits as a float, and back. */
EMU_INLINE float emu_as_float(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

EMU_INLINE uint32_t emu_as_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

#define EMU_MAGNITUDE 0x7FFFFFFFu
#define EMU_INFINITY 0x7F800000u
#define EMU_CANONICAL_NAN 0x7FC00000u

/* Whether a form can run here. */
static inline int emu_has_form(int32_t form) { return form >= EMU_PORTABLE && form <= emu_best_form(); }

/* One of two words, without a branch, so that loops of any form are vectorised. */
EMU_INLINE uint32_t emu_either(int32_t which, uint32_t yes, uint32_t no) {
    const uint32_t mask = 0 - (uint32_t)which;
    return (yes & mask) | (no & ~mask);
}

/* Binary32 rounded to odd into bf16: the low bits are cut, and the last bit kept says whether one of them was set.
 * Drawn in docs/how_it_works.md#one-table-and-rounding-to-odd */
EMU_INLINE uint16_t emu_odd_bf16(uint32_t bits) { return (uint16_t)((((bits & 0xFFFFu) + 0xFFFFu) | bits) >> 16); }

/* Binary64 and its bits. */
EMU_INLINE double emu_as_double(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

EMU_INLINE uint64_t emu_double_bits(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* 2^exp, -1022 <= exp <= 1023. */
EMU_INLINE double emu_power(int32_t exp) { return emu_as_double((uint64_t)(uint32_t)(exp + 1023) << 52); }

#define EMU_MINUS 0x8000000000000000u
#define EMU_EXPONENT 0x7FF0000000000000u
#define EMU_BIG 4503599627370496.0 /* 2^52 */

/* A number cut toward zero to a multiple of `unit`, a power of two; below 2^52 of them. Adding 2^52 units leaves no bit below the unit,
 * rounded to nearest even; `back` is subtracted where that went beyond: the unit, or 0 to stay with the nearest. */
EMU_INLINE double emu_cut(double x, double unit, double back) {
    const uint64_t bits = emu_double_bits(x);
    const double size = emu_as_double(bits & ~EMU_MINUS), whole = (size + EMU_BIG * unit) - EMU_BIG * unit;
    /* all ones where whole > size; a comparison would be a branch, and gcc would not vectorise the loops */
    const uint64_t beyond = 0 - (emu_double_bits(size - whole) >> 63);
    return emu_as_double(emu_double_bits(whole - emu_as_double(emu_double_bits(back) & beyond)) | (bits & EMU_MINUS));
}

/* dot: what its files share. An operand in rows of `width` lanes: width EMU_DOT_LANES, a value for each output; or 1, one for all. */
typedef struct emu_dot_operand {
    float *value;   /* [row][k][width] */
    int32_t *exp;   /* [row][term][width] */
    uint32_t *bits; /* [row][term][width]: which elements of a group are not zero */
    uint8_t *flags; /* [row][step][width]: EMU_STATE_NAN, EMU_HAS_INF */
} emu_dot_operand;

typedef struct emu_dot_shape {
    size_t k, terms, steps; /* terms and steps of all K */
    size_t step_terms;
} emu_dot_shape;

/* What is known of an output that is no number. HAS_INF: an element of the step is infinite. */
enum { EMU_STATE_PLUS = 1, EMU_STATE_MINUS = 2, EMU_STATE_NAN = 4, EMU_HAS_INF = 8 };

/* What the outputs of one row of lanes carry from step to step: finite values of C, and what is NaN or infinite. */
typedef struct emu_dot_row {
    double c[EMU_DOT_LANES];
    uint8_t state[EMU_DOT_LANES];
    uint8_t any; /* whether a state is not 0 */
} emu_dot_row;

emu_dot_shape emu_dot_shape_of(const emu_dot *plan, size_t k);
size_t emu_dot_operand_bytes(const emu_dot_shape *of, size_t rows);

/* Decodes an operand into arrays at *room, and moves it behind them. */
emu_dot_operand emu_dot_decode(const emu_dot *plan, const emu_dot_format *format, const void *codes, const uint8_t *scales, size_t rows,
                               size_t width, const emu_dot_shape *of, uint8_t **room);

/* The largest number of D. */
double emu_dot_largest(const emu_dot *plan);

/* C from its code into a lane, and D out of it. */
void emu_dot_load(const emu_dot *plan, const void *d, size_t place, emu_dot_row *out, size_t lane);
void emu_dot_store(const emu_dot *plan, const emu_dot_row *from, size_t lane, void *d, size_t place);

/* Rows filled up to whole lanes. */
static inline size_t emu_dot_padded_rows(size_t rows) { return (rows + EMU_DOT_LANES - 1) / EMU_DOT_LANES * EMU_DOT_LANES; }

static inline uint32_t emu_code_at(const void *codes, int32_t bytes, size_t place) {
    return bytes == 1 ? ((const uint8_t *)codes)[place] : ((const uint16_t *)codes)[place];
}

/* Lane 0 from `initial` and the once-steps, the steps checked but not run, then every lane like lane 0. Refuses as emu_check_floats does. */
int32_t emu_start_registers(int32_t form, const uint32_t *initial, int32_t count, const emu_kernel_step *once, int32_t once_count,
                            const emu_kernel_step *steps, int32_t step_count, uint32_t registers[][EMU_LANES]);

#endif
