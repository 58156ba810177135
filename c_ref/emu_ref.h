/* emu_ref.h: the one public header of the C reference: decode, convert, transform, quantize, dequantize, dot products.
 *
 * Integers only: no floating-point type, no libm, no allocation, no global state. Every function is re-entrant and works on descriptors,
 * so a format, a recipe or a datapath that exists only in a user's YAML file runs here unchanged.
 *
 * Words. code: unsigned integer as stored. value: significand * 2^lsb_exp with a sign. magnitude: the code of |value| with the sign bit
 * left out; on float, exponent and integer grids magnitudes ascend one by one with |value| and go on past the format's largest one until
 * overflow is applied, so "the next value" is magnitude + 1 and a carry into the exponent needs no care.
 *
 * Steps: decode_code, round_value, overflow_magnitude, encode_magnitude; convert_code composes them.
 * Every function returns EMU_OK (0) or an EMU_ERROR_* number; on an error it has written nothing, unless its comment says otherwise.
 */
#ifndef EMU_REF_H
#define EMU_REF_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* cdef begin */

enum {
    EMU_OK = 0,
    EMU_ERROR_NULL = 1,     /* a required pointer is NULL */
    EMU_ERROR_FORMAT = 2,   /* a format descriptor contradicts itself, passes a limit named below, or cannot be used that way */
    EMU_ERROR_ROUNDING = 3, /* a rounding descriptor is out of range or does not fit the destination */
    EMU_ERROR_POLICY = 4,   /* unknown overflow word or rule, a code too wide, Inf or NaN asked of a format that has none */
    EMU_ERROR_CODE = 5,     /* an input code has bits above the format's width */
    EMU_ERROR_RANDOM = 6,   /* random integers missing, unwanted, or not below 2^random_bits */
    EMU_ERROR_GRID = 7,     /* encode: the value is not a value of the format */
    EMU_ERROR_OPEN = 8,     /* the result is open and there is no place to say so */
    EMU_ERROR_REFUSED = 9,  /* the described library raises and there is no place to say so */
    EMU_ERROR_PROGRAM = 10, /* a program, step or transform descriptor contradicts itself or passes a limit named below */
    EMU_ERROR_SHAPE = 11,   /* matrices that do not fit each other, or a length that the tail rule forbids */
    EMU_ERROR_SPACE = 12,   /* the workspace is too small */
    EMU_ERROR_DATAPATH = 13, /* a datapath descriptor contradicts itself or passes a limit named below */
    EMU_ERROR_OVERFLOW = 14, /* the accumulator of a datapath does not hold the sum */
    EMU_ERROR_NAME = 15,     /* no such datapath, or it does not take that choice of operands */
    EMU_ERROR_DESCRIPTOR = 16, /* a descriptor file: emu_fault says in which line, what is wrong and how to mend it */
    EMU_ERROR_LAYOUT = 17    /* a layout whose digits do not follow on one another, or passes a limit named below */
};

enum { EMU_MAX_NAN_CODES = 16, EMU_MAX_CODEBOOK = 256, EMU_MAX_RANDOM_BITS = 32, EMU_MAX_VALUE_BITS = 61 };

/* Format descriptor; a key that a class does not name is ignored.
 *
 * float:    from the top: unused_high_bits that must be 0, a sign bit where has_sign is 1, exp_bits, frac_bits. With exponent field E,
 *           fraction field M and m = frac_bits:  E > 0: (2^m + M) * 2^(E - bias - m);  E = 0: M * 2^(1 - bias - m).
 *           subnormals 0: E = 0 is a normal binade too, and the format has no zero.
 *           exp_bits 1..15, frac_bits 0..62, their sum at most 63, unused_high_bits 0..7, |bias| <= 2^20. nan ieee needs inf ieee.
 *           inf top: Inf has the magnitude above the largest number; every magnitude above that is NaN.
 * integer:  `bits` 1..63, sign included; value = integer * 2^unit_exp.
 * exponent: `bits` 1..16, no sign; value = 2^(code - bias).
 * codebook: value of code i = values[i] * 2^unit_exp, 2^bits values, bits 1..8, |values[i]| < 2^EMU_MAX_VALUE_BITS, |unit_exp| <= 2^20.
 *           As a destination it needs a zero if it has values of both signs.
 */
enum { EMU_FLOAT = 0, EMU_INTEGER = 1, EMU_EXPONENT = 2, EMU_CODEBOOK = 3 };
enum { EMU_TWOS_COMPLEMENT = 0, EMU_SIGN_MAGNITUDE = 1, EMU_UNSIGNED = 2 };
enum { EMU_INF_NONE = 0, EMU_INF_IEEE = 1, EMU_INF_TOP = 2 };  /* ieee: exponent field all ones, fraction zero; top: the highest magnitude not NaN */
enum { EMU_NAN_NONE = 0, EMU_NAN_IEEE = 1, EMU_NAN_LIST = 2 }; /* ieee: exponent field all ones, fraction not zero */
enum { EMU_TIE_EVEN_CODE = 0, EMU_TIE_LOWER = 1, EMU_TIE_AWAY = 2 };

typedef struct emu_format {
    int32_t format_class;     /* EMU_FLOAT .. EMU_CODEBOOK */
    int32_t bits;             /* integer, exponent, codebook: width of a code */
    int32_t has_sign;         /* float: 0 or 1 */
    int32_t exp_bits;         /* float */
    int32_t frac_bits;        /* float */
    int32_t bias;             /* float, exponent */
    int32_t subnormals;       /* float: 0 or 1 */
    int32_t neg_zero;         /* float: 1: sign 1 with magnitude 0 is -0; 0: the format has one zero or none */
    int32_t unused_high_bits; /* float: a code that sets one of them is open */
    int32_t inf;              /* float: EMU_INF_* */
    int32_t nan;              /* float, exponent: EMU_NAN_* */
    int32_t nan_count;        /* EMU_NAN_LIST: 1..EMU_MAX_NAN_CODES */
    uint64_t nan_codes[16];   /* EMU_NAN_LIST: whole codes, the canonical one first */
    int32_t integer_sign;     /* integer: EMU_TWOS_COMPLEMENT .. EMU_UNSIGNED */
    int32_t unit_exp;         /* integer, codebook: the unit is 2^unit_exp */
    int32_t tie;              /* codebook: EMU_TIE_*, what the choice EMU_TO_EVEN_CODE means for a value half way */
    int32_t minus_zero_code;  /* codebook: the code of -0, whose values[] entry is 0; -1: there is none */
    const int64_t *values;    /* codebook: read only, must outlive every call that uses the descriptor */
} emu_format;

/* A decoded value. Classes are numbered as in the `cls` column of the golden vectors; open: nobody knows what the code means. */
enum { EMU_ZERO = 0, EMU_SUBNORMAL = 1, EMU_NORMAL = 2, EMU_INFINITE = 3, EMU_NAN = 4, EMU_OPEN = 5 };

typedef struct emu_value {
    int32_t value_class;  /* EMU_ZERO .. EMU_OPEN */
    int32_t sign;         /* 1: negative; kept for zero, infinity and NaN */
    int32_t lsb_exp;      /* value = significand * 2^lsb_exp; 0 unless subnormal or normal */
    uint64_t significand; /* 0 unless subnormal or normal, else not 0 */
} emu_value;

/* Rounding descriptor. f in [0, 1): the discarded part of |value| as a fraction of the way to the next magnitude. f = 0 never moves.
 *
 * add = EMU_ADD_NONE: `choice[sign]` says what to do for f < 1/2, f = 1/2, f > 1/2; keep: the lower magnitude, next: the one above it,
 *   to_even_code and to_odd_code: the one of the two whose code is even or odd (a codebook: at f = 1/2 alone, by its tie rule).
 *   rne keep to_even_code next; rna keep next next; rz keep keep keep; ru + next next next, - keep; rd mirrored; odd to_odd_code thrice.
 * Else r is the random integer of the element, N = random_bits, 0 <= r < 2^N, and the next magnitude is taken when
 *   EMU_ADD_CARRY    floor(f * 2^N) + r >= 2^N
 *   EMU_ADD_COMPARE  r < f * 2^N
 *   EMU_ADD_HALF     f * 2^N + r + 1/2 >= 2^N
 *   EMU_ADD_NEAREST  n + r >= 2^N, n: the integer nearest to f * 2^N, ties to even
 *   EMU_ADD_TE_FMA   no such test: t = |value| + r * 2^-N * (way to the next magnitude), rounded once to binary32, ties to even, and the
 *                    result is the magnitude at or below t. Not for a codebook.
 */
enum { EMU_KEEP = 0, EMU_NEXT = 1, EMU_TO_EVEN_CODE = 2, EMU_TO_ODD_CODE = 3 };
enum { EMU_LESS_THAN_HALF = 0, EMU_AT_HALF = 1, EMU_MORE_THAN_HALF = 2 };
enum { EMU_ADD_NONE = 0, EMU_ADD_CARRY = 1, EMU_ADD_COMPARE = 2, EMU_ADD_HALF = 3, EMU_ADD_TE_FMA = 4, EMU_ADD_NEAREST = 5 };
enum { EMU_STOP_AT_MAX = 0, EMU_GO_AWAY = 1, EMU_STOP_AT_ODD = 2 }; /* EMU_STOP_AT_ODD: at the maximum where its code is odd, else away */

typedef struct emu_rounding {
    int32_t choice[2][3];  /* [sign][EMU_LESS_THAN_HALF .. EMU_MORE_THAN_HALF]: EMU_KEEP .. EMU_TO_ODD_CODE */
    int32_t add;           /* EMU_ADD_* */
    int32_t random_bits;   /* N, 1..32; 0 for EMU_ADD_NONE */
    int32_t beyond_max[2]; /* [sign]: where the words ieee_inf and ieee_nan send a finite overflow: EMU_STOP_AT_MAX .. EMU_STOP_AT_ODD */
} emu_rounding;

/* Overflow words: what becomes of a magnitude above the largest finite one, C, and of an infinite source.
 *   saturate  C, sign kept, for both           inf  Inf, sign kept, for both           nan  the overflow_nan code, for both
 *   ieee_inf  finite source: Inf or C as the rounding's beyond_max[sign] says; infinite source: Inf
 *   ieee_nan  the same with the overflow_nan code in the place of Inf
 *   wrap      finite source: sign bit OR low bits of the unbounded magnitude (two's complement: low bits of the integer); Inf: C
 * A codebook takes saturate alone: its ends.
 */
enum { EMU_SATURATE = 0, EMU_TO_INF = 1, EMU_TO_NAN = 2, EMU_IEEE_INF = 3, EMU_IEEE_NAN = 4, EMU_WRAP = 5 };

/* The result of a special source: the plain rule; this code; nobody knows it; the described library raises. EMU_BY_ROUNDED is for
 * `negative` alone: this code for Inf (unless inf[1] says another) and for a number that rounds, as a negative one, to something other than
 * code 0; code 0 where it rounds to that, or where the rounding stops at the end of a range whose code is 0. */
enum { EMU_BY_RULE = 0, EMU_BY_CODE = 1, EMU_IS_OPEN = 2, EMU_IS_REFUSED = 3, EMU_BY_ROUNDED = 4 };

typedef struct emu_special {
    int32_t rule;  /* EMU_BY_RULE .. EMU_BY_ROUNDED */
    uint64_t code; /* EMU_BY_CODE, EMU_BY_ROUNDED */
} emu_special;

/* Policy for one destination. Pairs are indexed by sign, [0] positive, [1] negative. A destination without sign drops the sign of
 * everything but NaN and zero before the pair is read (a codebook keeps it). Order: nan, negative, zero, inf, then round and overflow. */
typedef struct emu_policy {
    int32_t overflow;            /* EMU_SATURATE .. EMU_WRAP */
    emu_special nan[2];          /* source is NaN; EMU_BY_RULE is an error */
    emu_special negative;        /* destination without sign, source negative and neither zero nor NaN; by rule: the sign is dropped */
    emu_special zero[2];         /* source is a zero; by rule: zero, -0 where both have it; the smallest code where there is no zero */
    emu_special inf[2];          /* source is Inf; by rule: the overflow word */
    emu_special overflow_nan[2]; /* needed by the words nan and ieee_nan: EMU_BY_RULE is then an error */
} emu_policy;

/* Result of rounding on a grid without bounds. */
typedef struct emu_rounded {
    uint64_t magnitude; /* unbounded magnitude, its low 64 bits; codebook: the code, an end where the value lies outside */
    int32_t beyond;     /* 1: the magnitude does not fit 64 bits, or passes every exponent field */
    int32_t inexact;    /* 1: the rounded value differs from the value */
} emu_rounded;

/* Operations of programs. Each gives its exact result, rounded once. Values are codes of the program's arithmetic format: a float with
 * sign, -0, ieee Inf and NaN, exp_bits <= 11, frac_bits <= 57. Every NaN among them is the canonical one: its sign and payload carry no
 * meaning. The formats that results are rounded to have Inf and NaN, and all their values are values of the arithmetic. Casts give at
 * most 63 bits.
 *
 *   add sub mul div fma   IEEE 754 rules for zero, Inf and NaN; fma is a * b + c. Rounded to `format` with `rounding`, which draws nothing;
 *                         beyond its maximum as EMU_IEEE_INF says.
 *   abs neg               the sign alone.
 *   min max clamp         of two equal values (also +0 and -0) the first; clamp v low high = min(max(v, low), high).
 *                         variant EMU_NAN_PROPAGATE: a NaN argument gives NaN; EMU_NAN_DROP: the other argument.
 *   round                 to `format` with `rounding`; variant EMU_BOUNDED: overflow as EMU_IEEE_INF; EMU_UNBOUNDED: the grid goes on
 *                         without a maximum, and what passes the arithmetic's maximum is Inf.
 *   pow2                  2^n of an integral value: +0 below the smallest subnormal of the arithmetic, Inf beyond its maximum.
 *                         EMU_ERROR_GRID where n is not integral.
 *   log2                  binary32 to nearest even, correctly rounded: of zero -Inf, of a negative number NaN.
 *   e8m0_rule             magnitude in binary32 -> E8M0 code (bias 127, NaN 0xFF) by variant EMU_RULE_*, see block of the rules below.
 *   cast                  value -> code of `format` with `rounding` under `policy`; `random`: register of the random integers.
 *   nearest               [v, unit]: the first code of `format`, at most 8 bits, whose value is finite and whose error is least:
 *                         |value * unit - v|, the product and the difference rounded to the arithmetic with `rounding`; NaN is not less.
 *   wrap                  code of `format`, at most 16 bits, whose bits are an integral value modulo 2^bits; open for NaN and Inf.
 *                         EMU_ERROR_GRID where it is not integral.
 *   decode                code of `format` -> value, which must be one of the arithmetic (else EMU_ERROR_GRID). A code that a cast left
 *                         open gives NaN; a given code with an unused high bit set is EMU_ERROR_OPEN.
 *   select                [u, (v,) if true, if false] by variant EMU_TEST_*; v only for LT LE GE. A comparison with NaN is false; NEG is
 *                         false for -0 and NaN. The arms are both values or both codes.
 *   amax                  largest magnitude of the parts of args[0] inside one part of out; variant EMU_NAN_PROPAGATE, or EMU_NAN_DROP
 *                         (NaN only where all are).
 *   sum                   of the same parts, row by row, from +0; variant EMU_SUM_SEQUENTIAL: each addition rounded; EMU_SUM_HALVES: the second
 *                         half added to the first, lane by lane, then as before (an even number of parts); EMU_SUM_TREE: halves
 *                         until one is left (no +0; a power of two of parts); EMU_SUM_EXACT: rounded once.
 *   transform             each `transform->size` neighbouring elements of a row.
 */
enum {
    EMU_OP_ADD = 0, EMU_OP_SUB = 1, EMU_OP_MUL = 2, EMU_OP_DIV = 3, EMU_OP_FMA = 4, EMU_OP_ABS = 5, EMU_OP_NEG = 6, EMU_OP_MIN = 7,
    EMU_OP_MAX = 8, EMU_OP_CLAMP = 9, EMU_OP_ROUND = 10, EMU_OP_POW2 = 11, EMU_OP_E8M0_RULE = 12, EMU_OP_CAST = 13, EMU_OP_DECODE = 14,
    EMU_OP_SELECT = 15, EMU_OP_AMAX = 16, EMU_OP_SUM = 17, EMU_OP_TRANSFORM = 18,
    EMU_OP_LOG2 = 19, EMU_OP_NEAREST = 20, EMU_OP_WRAP = 21
};
enum { EMU_NAN_PROPAGATE = 0, EMU_NAN_DROP = 1 };
enum { EMU_BOUNDED = 0, EMU_UNBOUNDED = 1 };
enum { EMU_SUM_EXACT = 0, EMU_SUM_SEQUENTIAL = 1, EMU_SUM_TREE = 2, EMU_SUM_HALVES = 3, EMU_SUM_BUTTERFLY = 4 };
enum { EMU_TEST_NAN = 0, EMU_TEST_INF = 1, EMU_TEST_ZERO = 2, EMU_TEST_NEG = 3, EMU_TEST_LT = 4, EMU_TEST_LE = 5, EMU_TEST_GE = 6 };

/* Rules on the binary32 fields of a magnitude; NaN gives 0xFF. With exponent field E and fraction field M:
 *   FLOOR     clamp(E - 127 - emax, -127, 128) + 127
 *   CEIL      the same with E + 1 where M > 0
 *   EVEN      the same as FLOOR after 2^(22 - frac_bits) is added to the bits
 *   FIELD_UP  min(E, or E + 1 where M > 0; 255)
 */
enum { EMU_RULE_FLOOR = 0, EMU_RULE_CEIL = 1, EMU_RULE_EVEN = 2, EMU_RULE_FIELD_UP = 3 };

/* y = result(scale * H * diag(signs) * x) with H[i][j] = (-1)^popcount(i & j), ties to even at every rounding.
 * EMU_SUM_EXACT: one rounding of the scaled sum; SEQUENTIAL: from +0, j = 0, 1, ..., each addition rounded to sum_format, then scaled;
 * BUTTERFLY: strides 1, 2, 4, ..., (a, b) -> (a + b, a - b), each rounded, then scaled. The scaled value is rounded to sum_format, then to
 * result. sum_format is within the limits of an arithmetic format; so is the format of x, or sum_format holds its values; result has Inf
 * and NaN. */
typedef struct emu_transform {
    int32_t size;      /* 2..256, a power of two */
    int32_t order;     /* EMU_SUM_EXACT, EMU_SUM_SEQUENTIAL or EMU_SUM_BUTTERFLY */
    uint64_t signs[4]; /* bit i % 64 of signs[i / 64] set: element i is negated first */
    int32_t scale_exp; /* scale = 2^scale_exp, -1024..1024 */
    const emu_format *sum_format;
    const emu_format *result;
} emu_transform;

/* A register of a program: one cell for each part of `rows` x `columns` of the padded matrix, 0: all of them. Rows are 0, 1 or the tile's;
 * columns 0 or a divisor of the tile's. Cells are codes; of which format, the steps that write and read them say. */
typedef struct emu_register {
    int32_t rows;
    int32_t columns;
    int32_t is_constant; /* 1: rows = columns = 0, holds `bits`, and no step writes it */
    uint64_t bits;
} emu_register;

/* One step. Its result lives at the part of register `out`; parts of the arguments hold it (amax and sum: the other way round). */
typedef struct emu_step {
    int32_t operation; /* EMU_OP_* */
    int32_t out;       /* a register that no earlier step has written */
    int32_t args[4];   /* registers already set; unused ones -1 */
    int32_t random;    /* cast: register, -1 where the rounding draws none */
    int32_t variant;   /* see the operations */
    int32_t emax;      /* e8m0_rule */
    int32_t frac_bits; /* e8m0_rule EVEN: 0..22 */
    const emu_format *format;       /* arithmetic, round (EMU_UNBOUNDED: an integer, or at most 50 frac_bits), cast, nearest, wrap, decode */
    const emu_rounding *rounding;   /* arithmetic, round, sum, cast, nearest */
    const emu_policy *policy;       /* cast */
    const emu_transform *transform; /* transform */
} emu_step;

/* One level of side data: the register that holds it and the part of the matrix that one of its codes covers. */
typedef struct emu_level {
    int32_t reg;
    int32_t rows;
    int32_t columns;
    const emu_format *format;
} emu_level;

/* A length that is no multiple of the tile: is an error; is filled up with zeros that stay in the result; that are cut off again. */
enum { EMU_TAIL_ERROR = 0, EMU_TAIL_KEEP = 1, EMU_TAIL_DROP = 2 };

/* A quantize program reads x, tensor_amax and random and writes codes and the levels; a dequantize program reads codes and the levels and
 * writes values. Registers that a program has not are -1. */
typedef struct emu_program {
    const emu_format *arithmetic;
    int32_t tile_rows;
    int32_t tile_columns;
    int32_t tail;              /* EMU_TAIL_* */
    int32_t finite_only;       /* 1: with a NaN or Inf in x every result is open */
    uint64_t tensor_amax_min;  /* binary32 bits: below it, but not zero, every result is open; 0: no such bound */
    int32_t x;
    int32_t tensor_amax;
    int32_t random;
    int32_t codes;
    int32_t values;
    int32_t register_count;    /* 1..1024 */
    int32_t step_count;        /* 0..1024 */
    int32_t level_count;       /* 0..16 */
    const emu_register *registers;
    const emu_step *steps;
    const emu_level *levels;   /* outermost first */
    const char *const *names;  /* of the registers, for who shows a trace, NULL for a constant's; NULL: they have none */
} emu_program;

/* A row-major matrix of codes, each in `bytes` 1, 2, 4 or 8 of this machine's order. */
typedef struct emu_matrix {
    void *codes;    /* arguments are only read */
    int32_t bytes;
    size_t rows;
    size_t columns;
    uint8_t *open;  /* results: a byte for each code, 1: nobody knows it (it is 0 then); NULL: such a code is EMU_ERROR_OPEN */
} emu_matrix;

/* A block format: the shape of a tile, what its elements may be, and its side data. */
typedef struct emu_block_level {
    const char *name;
    const emu_format *format;
    int32_t rows;    /* the part of the matrix that one code covers, 0: all of them */
    int32_t columns;
} emu_block_level;

typedef struct emu_block {
    int32_t rows;
    int32_t columns;
    int32_t element_count;             /* 2: a flag level chooses; codes of both have one width */
    const emu_format *const *elements;
    int32_t level_count;
    const emu_block_level *levels;     /* outermost first */
} emu_block;

/* A layout: where a code lies. Its place is a number whose digits, the fastest first, are taken from its row and its index in the row:
 * a digit is axis / step mod count, and weighs the product of the counts before it. The steps and counts of an axis follow on one another
 * (1, count, count * count, ...); its last digit, by step, has count 0: the rest of the axis, padded to a multiple of that step. */
enum { EMU_MAX_DIGITS = 32, EMU_MAX_SIDE = 4096 };

typedef struct emu_digit {
    int32_t is_row; /* 1: of the row; 0: of the index */
    int32_t step;   /* 1..EMU_MAX_SIDE */
    int32_t count;  /* 2..EMU_MAX_SIDE; 0: the rest */
    int32_t down;   /* 1: count - 1 minus that, so that the last value comes first; 0 where count is 0 */
} emu_digit;

typedef struct emu_layout {
    int32_t holds_scales; /* 1: codes of the innermost level; 0: element codes */
    int32_t code_bits;    /* 4 or 8; places count codes, the low nibble of a byte first */
    int32_t digit_count;  /* 2..EMU_MAX_DIGITS */
    const emu_digit *digits;
} emu_layout;

/* Datapaths: how a matrix instruction sums products, adds C and rounds.
 *
 * A finite operand is significand * 2^(exp - frac_bits) with the exponent that its code names: a subnormal keeps the lowest one. K is cut
 * into fused steps of `step` products; D of one step is C of the next. One step:
 *   1 NaN and Inf: a NaN element, C or scale, Inf * 0, and infinities of both signs give nan_code; infinities of one sign that infinity.
 *   2 terms. EMU_APPLY_GROUP: the exact sum of each group of products times both scales; its exponent is that of the scales, whatever the
 *     sum is; live where a product and both scales are not zero. Else each product times its scales, live where it is not zero.
 *     exponent_raise is added to the exponent of each term; normalised 1: the exponent of its leading bit is taken first.
 *   3 E is the largest exponent of a live term and of C (where it is not zero), and at least the floor.
 *   4 every term and C is cut to a multiple of 2^(E - frac_bits) by align_mode, and they are added.
 *   5 the sum is rounded to D: `keep` fraction bits by `rounding`, gradual subnormals; beyond the maximum Inf, or the maximum.
 * With frac_rule EMU_UNLIMITED steps 3 and 4 lose nothing.
 *
 * c_kind: where C joins. EMU_C_ALIGNED: as above. EMU_C_ADDED: D = round(round(exact sum) + C). EMU_C_REALIGNED: product r goes to part
 *   r % split; a part is summed under its own largest exponent with frac_bits, toward zero; parts are joined under the largest of all,
 *   then C (0: nothing where its exponent is lower by more than drop_below), all downwards, with f2 fraction bits. EMU_C_LAST: terms of all
 *   of K are added exactly in a register of accumulator_bits that starts at 0; C is added once and the sum rounded.
 * EMU_APPLY_PROMOTE: acc = C; for each group acc = sum(acc + term(P * scale_product(sA * sB))) with the exact sum P, in the result format,
 *   which holds every P. ieee_zero is 1 there.
 *
 * frac_rule, integer_rule, floor_rule: EMU_STATED: the field that follows. EMU_DERIVED: frac_bits: as many as the exact sum of products
 * needs; integer_bits: those at 2^0 and above of the largest sum (also with the scales of widest_scale), the adder has frac_bits +
 * integer_bits + 1; floor: smallest normal exponent of D - integer_bits. EMU_UNLIMITED: nothing is lost; no width is stated; no floor.
 */
enum { EMU_MAX_TERMS = 1024, EMU_MAX_SPLIT = 8, EMU_WIDE_LIMBS = 20 };
enum { EMU_APPLY_NONE = 0, EMU_APPLY_GROUP = 1, EMU_APPLY_PRODUCT = 2, EMU_APPLY_PROMOTE = 3 };
enum { EMU_STATED = 0, EMU_DERIVED = 1, EMU_UNLIMITED = 2 };
enum { EMU_ALIGN_RZ = 0, EMU_ALIGN_RD = 1, EMU_ALIGN_RNE = 2 }; /* on the magnitude toward zero; downwards; to nearest, ties to even */
enum { EMU_C_ALIGNED = 0, EMU_C_ADDED = 1, EMU_C_REALIGNED = 2, EMU_C_LAST = 3 };

/* Limits: no codebooks; elements have a zero; result: float with sign, -0, ieee Inf and NaN, no unused bits, exp_bits <= 11,
 * frac_bits <= 57. A term, its scales included, has at most 62 bits; a sum at most 64 * EMU_WIDE_LIMBS, its sign included. At most
 * EMU_MAX_TERMS terms in a step. Flags are 0 or 1. */
typedef struct emu_datapath {
    const emu_format *a;             /* of the elements */
    const emu_format *b;
    const emu_format *scale;         /* NULL: EMU_APPLY_NONE */
    const emu_format *widest_scale;  /* NULL: scale */
    const emu_format *result;        /* of C and D */
    int32_t k;                       /* products of one instruction */
    int32_t step;                    /* divides k */
    int32_t group;                   /* divides step; 1 but for EMU_APPLY_GROUP and PROMOTE, there it divides block */
    int32_t split;                   /* EMU_C_REALIGNED: 1..EMU_MAX_SPLIT, divides step; else 1 */
    int32_t block;                   /* elements that share a scale; 0 without scales */
    int32_t apply;                   /* EMU_APPLY_* */
    int32_t ignores_unused_bits;     /* flag: unused high bits of a scale; else such a scale is EMU_ERROR_OPEN */
    int32_t is_normalised;           /* flag */
    int32_t exponent_raise;          /* -1024..1024 */
    int32_t frac_rule;               /* F */
    int32_t frac_bits;               /* 0..1024 */
    int32_t integer_rule;            /* I */
    int32_t integer_bits;            /* 0..1024 */
    int32_t floor_rule;
    int32_t floor_exp;               /* least E */
    int32_t align_mode;              /* EMU_ALIGN_* */
    int32_t wraps;                   /* flag: the sum is taken modulo 2^(F + I + 1), as two's complement */
    int32_t cancelled_group_counts;  /* flag: a group of products that are not zero is live where their sum is 0 */
    int32_t c_kind;                  /* EMU_C_* */
    int32_t f2;                      /* EMU_C_REALIGNED */
    int32_t drop_below;
    int32_t accumulator_bits;        /* EMU_C_LAST: 8..1024 */
    const emu_rounding *scale_product; /* EMU_APPLY_PROMOTE: roundings of its three operations */
    const emu_rounding *term;
    const emu_rounding *sum;
    int32_t is_fused;                /* flag: term and addition are rounded once, by `sum` */
    const emu_rounding *rounding;    /* of the result; draws nothing */
    int32_t keep;                    /* 0..frac_bits of the result; the bits below are 0 */
    int32_t saturates;               /* flag: beyond the maximum stays there; else Inf, in every mode */
    int32_t flushes_elements;        /* flags: subnormals are read as zero, a subnormal result is zero */
    int32_t flushes_scales;
    int32_t flushes_c;
    int32_t flushes_result;
    int32_t nan_scale_live;          /* flag: a NaN scale counts only with a product that is not zero; else always */
    int32_t ieee_zero;               /* flag: a negative sum that rounds to 0 gives -0; else every zero is +0 */
    int32_t any_nan;                 /* flag: nobody knows the sign and payload of a NaN result; nan_code stands for it */
    uint64_t nan_code;               /* of the result */
} emu_datapath;

/* What follows from a datapath. Bits are without the sign; product, group_sum and term are integers in their own units. */
typedef struct emu_widths {
    int32_t frac_bits;      /* F; -1: nothing is lost */
    int32_t integer_bits;   /* I; -1: not stated */
    int32_t needed_bits;    /* I of the largest sum; -1 where nothing is aligned */
    int32_t has_floor;
    int32_t floor_exp;
    int32_t product_bits;
    int32_t group_sum_bits;
    int32_t term_bits;
    int32_t step_sum_bits;    /* of the exact sum of a step, its unit the finest term; EMU_APPLY_PROMOTE: of a group */
    int32_t step_sum_lsb_exp;
    int32_t exact_lsb_exp;    /* divides every term and every C */
    int32_t sum_bits;         /* of aligned terms and their sum, the sign included; the adder's or the register's where there is one */
    int32_t part_bits;        /* EMU_C_REALIGNED: of the sum of a part, the sign included */
} emu_widths;

/* Two's complement, the low limb first. */
typedef struct emu_wide {
    uint64_t limbs[20];
} emu_wide;

/* One term: significand * 2^lsb_exp. */
typedef struct emu_term {
    int64_t significand;
    int64_t group_sum; /* before the scales */
    int32_t exp;       /* what it raises E to */
    int32_t lsb_exp;
    int32_t is_live;
} emu_term;

/* Datapaths written in levels: each adds lots of values of the level below to one; level 0 is the products. The last level leaves one value,
 * which is brought to the format of the result. A value is a number with the exponent that it names and whether it is live (does it raise
 * the exponent of an aligned addition above), or NaN or an infinity, which no register loses.
 *
 * A product names the sum of the exponents of its codes and is live where no factor is zero; an exact sum names 0 (or the largest of its
 * live terms) and is live where one of them is; an aligned sum names E; scales add theirs; a number held in a float format names that of
 * its code, in fixed point 0, and is live where it is not 0; a cut one names what it named.
 *
 * Aligned: E is the largest exponent of a live term and of the running value, at least the floor, 0 where there is neither; every term is
 * cut to a multiple of 2^(E - frac_bits) and they are added. frac_rule, integer_rule, floor_rule: as in emu_datapath, floor with the
 * format that holds the sum, for the sums of one instruction.
 */
enum { EMU_MAX_SUM_LEVELS = 16 };
enum { EMU_HOLD_EXACT = 0, EMU_HOLD_FLOAT = 1, EMU_HOLD_FIXED = 2, EMU_HOLD_CUT = 3 };
enum { EMU_BEYOND_INF = 0, EMU_BEYOND_IEEE = 1, EMU_BEYOND_MAX = 2, EMU_BEYOND_WRAP = 3, EMU_BEYOND_ERROR = 4,
       EMU_BEYOND_SYMMETRIC = 5 };
enum { EMU_SUM_AT_ONCE = 0, EMU_SUM_ALIGNED = 1, EMU_SUM_CHAIN = 2, EMU_SUM_PAIRWISE = 3 };
enum { EMU_OF_COUNT = 0, EMU_OF_ALL = 1, EMU_OF_BLOCK = 2 };
enum { EMU_START_ZERO = 0, EMU_START_FIRST = 1, EMU_START_C = 2 };

/* What a value is rounded to. A rounding of NULL: nothing is ever lost; where something is, the row is EMU_ERROR_DATAPATH. None is
 * EMU_ADD_TE_FMA or EMU_ADD_NEAREST, or has EMU_STOP_AT_ODD; in a float format random_bits + frac_bits <= 61. */
typedef struct emu_hold {
    int32_t kind;                 /* EMU_HOLD_*; float: signed, with subnormals; fixed: two's complement of `bits`; cut: exponents without end */
    const emu_rounding *rounding;
    const emu_format *format;     /* float */
    const emu_policy *policy;     /* float: what NaN, Inf, zero and overflow become; NULL: as keep, beyond and flushes say */
    int32_t keep;                 /* float: fraction bits that are kept */
    int32_t beyond;               /* float: EMU_BEYOND_INF, IEEE (as the rounding says) or MAX; fixed: INF, MAX, WRAP, ERROR or SYMMETRIC (no further below zero than above) */
    int32_t flushes;              /* float, flag: a subnormal result is zero */
    int32_t bits;                 /* fixed: 2..512, the sign included; cut: bits kept from the leading one on, or below 2^exp */
    int32_t is_fraction;          /* cut, flag: below 2^exp */
    int32_t unit_rule;            /* fixed: EMU_STATED or EMU_DERIVED: the finest unit of what is added */
    int32_t unit_exp;
} emu_hold;

/* Both scales multiply a value: each, their product, and the value times that, held. */
typedef struct emu_scaling {
    int32_t applies;              /* flag */
    emu_hold each;
    emu_hold product;
    emu_hold term;
} emu_scaling;

typedef struct emu_alignment {
    const emu_rounding *cut;      /* of a term that loses bits; draws nothing */
    int32_t frac_rule;            /* EMU_STATED or EMU_DERIVED */
    int32_t frac_bits;
    int32_t integer_rule;
    int32_t integer_bits;
    int32_t floor_rule;
    int32_t floor_exp;
    int32_t is_normalised;        /* flag: a term names the exponent of its leading bit */
    int32_t exponent_raise;       /* -1024..1024, of every term but the running value */
    int32_t wraps;                /* flag: modulo 2^(frac_bits + integer_bits + 1), as two's complement */
    const emu_rounding *running;  /* cut of the running value, to running_bits below 2^E, before it is cut as the others; NULL: as the others */
    int32_t running_bits;
    int32_t drop_below;           /* with `running`: it is dropped where its exponent is lower than E by more than this; -1: never */
} emu_alignment;

typedef struct emu_sum_level {
    int32_t of_rule;              /* EMU_OF_*: how many values are added to one; all: the whole of K; block: those of one scale block */
    int32_t of;
    int32_t every;                /* 1: neighbours; n: every n-th */
    int32_t add;                  /* EMU_SUM_* */
    int32_t by;                   /* chain: values that one addition takes */
    int32_t start;                /* chain: EMU_START_* */
    int32_t plus_c;               /* flag, at once and aligned: C is one more term */
    int32_t aligns;               /* flag: additions align; EMU_SUM_ALIGNED has it, EMU_SUM_AT_ONCE has it not */
    int32_t names_largest;        /* flag: an exact sum names the largest exponent of its live terms, else 0; not of a chain */
    int32_t cancelled_counts;     /* flag: a sum of 0 of live terms is live */
    emu_alignment align;
    emu_hold hold;
    emu_scaling scaling;
    const char *name;             /* for who shows a trace; NULL: none */
} emu_sum_level;

/* Limits: as in emu_datapath; every sum, before it is held, has at most 1,080 bits for one instruction. C enters at one place, and scales
 * multiply at one, where there are any. */
typedef struct emu_levels {
    const emu_format *a;          /* of the elements */
    const emu_format *b;
    const emu_format *scale;      /* NULL: none */
    const emu_format *widest_scale; /* the offered scale with the largest significand; NULL: scale */
    const emu_format *c;          /* NULL: none */
    int32_t block;                /* elements that share a scale; 0 without scales */
    int32_t k;                    /* products of one instruction */
    int32_t ignores_unused_bits;  /* flags, as in emu_datapath; flushes_c: also of the running value that C started */
    int32_t flushes_elements;
    int32_t flushes_scales;
    int32_t flushes_c;
    int32_t per_add;              /* flag: each addition makes NaN and Inf; else the operands decide first: of each addition that C started, or
                                     of the row */
    int32_t nan_scale_live;
    int32_t ieee_zero;
    uint64_t nan_code;            /* of the result; unused where `out` has a policy */
    emu_hold product;
    emu_scaling product_scaling;
    int32_t level_count;          /* 1..EMU_MAX_SUM_LEVELS */
    const emu_sum_level *levels;
    emu_hold out;                 /* EMU_HOLD_FLOAT */
    int32_t out_plus_c;           /* flag: C is added to the last value */
    int32_t invalid_levels;       /* bit i: level i raises EMU_RAISED_INVALID; 0 products, then the levels, then the result */
    int32_t overflow_levels;      /* the same of EMU_RAISED_OVERFLOW; in both, no `out` or hold has a policy */
    int32_t signals_a;            /* flags: a NaN without the leading bit of its fraction signals, in formats with EMU_NAN_IEEE */
    int32_t signals_b;
    int32_t signals_scale;
    int32_t signals_c;
} emu_levels;

/* Exception flags of a row. Invalid: a signalling NaN, infinity times zero, infinities of both signs in one addition; where the operands
 * decide first, the level of the addition that they decide raises it, of a whole row the result. Overflow: beyond a register, or a width
 * that wraps. */
enum { EMU_RAISED_INVALID = 1, EMU_RAISED_OVERFLOW = 2 };

/* sign, magnitude * 2^lsb_exp. */
typedef struct emu_number {
    int32_t special;  /* 0, EMU_NAN or EMU_INFINITE */
    int32_t sign;     /* 1: below zero */
    int32_t negative; /* 1: a zero in its place is -0, where zeros have a sign */
    int32_t live;
    int32_t exp;      /* that it names */
    int32_t lsb_exp;
    emu_wide magnitude;
} emu_number;

/* The stages of one fused step. A datapath leaves 0 what it has not; special: EMU_NAN or EMU_INFINITE decided, all others are 0. */
typedef struct emu_stages {
    emu_term *terms;       /* given: room for the terms of a step, or NULL */
    emu_wide *aligned;     /* given: as many, or NULL; EMU_C_REALIGNED: one, the joined parts */
    int32_t term_count;
    int32_t special;
    int32_t exp;           /* E */
    int32_t lsb_exp;       /* of aligned, aligned_c and total */
    emu_wide aligned_c;
    emu_wide total;        /* the sum; EMU_C_LAST: the register */
    int64_t parts[8];      /* EMU_C_REALIGNED: the sum of each */
    uint64_t part_code;    /* EMU_C_ADDED, PROMOTE: the sum of products as a code */
    uint64_t scale_code;   /* PROMOTE: the product of the scales */
    uint64_t term_code;    /* PROMOTE */
    uint64_t code;         /* the result of the step; EMU_C_LAST: 0 */
} emu_stages;

/* Tensor scales: alpha = scale a * scale b; D' = alpha * D; c_after: then + C, by `d` again. is_fused: alpha * D + C is rounded once. */
typedef struct emu_epilogue_facts {
    const emu_rounding *alpha;
    const emu_rounding *d;
    int32_t c_after;
    int32_t is_fused;
} emu_epilogue_facts;

/* Checks alone. A rounding and a policy are checked for their destination. */
int32_t emu_check_format(const emu_format *format);
int32_t emu_check_rounding(const emu_rounding *rounding, const emu_format *destination);
int32_t emu_check_policy(const emu_policy *policy, const emu_format *destination);

/* C: the largest finite magnitude of a sign (two's complement has one more on the negative side). Not for a codebook. */
int32_t emu_max_magnitude(const emu_format *format, int32_t sign, uint64_t *magnitude);

/* decode: code -> value; exact, no policy. */
int32_t emu_decode_code(const emu_format *format, uint64_t code, emu_value *value);

/* round: zero, subnormal or normal value -> magnitude on the destination's grid continued without a maximum. random: r, 0 where the mode
 * draws none. A destination without sign drops it first: rd acts as rz, ru as away from zero. A destination without zero takes its
 * smallest magnitude for zero and for everything below that magnitude, in every mode. */
int32_t emu_round_value(const emu_format *destination, const emu_rounding *rounding, const emu_value *value, uint32_t random,
                        emu_rounded *rounded);

/* overflow: rounded magnitude of a finite source -> code, within the format. open: 0 the code stands, 1 it is open, 2 it is refused. */
int32_t emu_overflow_magnitude(const emu_format *destination, const emu_rounding *rounding, const emu_policy *policy, int32_t sign,
                               const emu_rounded *rounded, uint64_t *code, uint8_t *open);

/* encode: magnitude and sign -> code, low bits only. The sign bit is ORed in, two's complement negates; a zero magnitude loses its sign
 * where the format has a zero and no -0; without sign bit the sign is dropped. Not for a codebook. */
int32_t emu_encode_magnitude(const emu_format *format, int32_t sign, uint64_t magnitude, uint64_t *code);

/* encode: value -> the code that means it, EMU_ERROR_GRID if none does. NaN gives the canonical code: positive and quiet (fraction 10..0)
 * for EMU_NAN_IEEE, the first of the list for EMU_NAN_LIST. */
int32_t emu_encode_value(const emu_format *format, const emu_value *value, uint64_t *code);

/* convert: decode, round, overflow, encode under a policy, rounded once, from any format to any format. random as in emu_round_value.
 * open: 0 the code stands, 1 it is open, 2 it is refused (*converted is 0 for both). */
int32_t emu_convert_code(const emu_format *source, const emu_format *destination, const emu_rounding *rounding, const emu_policy *policy,
                         uint64_t code, uint32_t random, uint64_t *converted, uint8_t *open);

/* What a code takes in the arrays below: 1, 2, 4 or 8 bytes, the smallest that holds the format's width, unused high bits included. */
int32_t emu_code_bytes(const emu_format *format, int32_t *bytes);

/* The same on arrays of `count` elements, count >= 0; pointers must not be NULL, but for random and open. Codes lie as emu_code_bytes says,
 * in this machine's byte order, at any alignment. Codes and random integers are checked before anything is written.
 * decode_array: code -> the fields of emu_value, one array each.
 * decode_to_array: code -> the code of another format that means the same value. EMU_ERROR_GRID where there is none, EMU_ERROR_OPEN where
 *   the code is open; elements before that one have been written.
 * convert_array: random: r per element, NULL where the mode draws none. open: a byte per element as above; NULL: an open or refused
 *   element is EMU_ERROR_OPEN or EMU_ERROR_REFUSED, elements before it have been written. */
int32_t emu_decode_array(const emu_format *format, const void *codes, size_t count, uint8_t *sign, uint64_t *significand, int32_t *lsb_exp,
                         uint8_t *value_class);
int32_t emu_decode_to_array(const emu_format *format, const emu_format *result, const void *codes, size_t count, void *decoded);
int32_t emu_convert_array(const emu_format *source, const emu_format *destination, const emu_rounding *rounding, const emu_policy *policy,
                          const void *codes, const uint32_t *random, size_t count, void *converted, uint8_t *open);

/* Random integers out of shared words: element i takes lane i % lanes of words[i / lanes], the bits of a lane are the word's bits
 * positions[lane * random_bits + 0, 1, ...], most significant first. words: one per `lanes` elements, rounded up. lanes 1..64,
 * random_bits 1..32, positions 0..63. */
int32_t emu_split_words(const uint64_t *words, const uint8_t *positions, int32_t lanes, int32_t random_bits, size_t count,
                        uint32_t *random);

/* One operation, EMU_OP_ADD .. EMU_OP_CLAMP or EMU_OP_ROUND, on arrays: operands are codes of `format`, results codes of `to`; from abs to
 * clamp they are codes of `format`, and to and rounding may be NULL. b and c may be NULL where the operation has fewer operands. variant as
 * in a step, but round only with its maximum. */
int32_t emu_calculate_array(int32_t operation, const emu_format *format, const emu_format *to, const emu_rounding *rounding,
                            int32_t variant, const uint64_t *a, const uint64_t *b, const uint64_t *c, size_t count, uint64_t *result);

/* Operations on numbers, as IEEE P3109's draft defines them (interim report 4.0, 4.10 to 4.16, 5.5): the exact result, projected once. From
 * CONVERT to SCALED_MULTIPLY: a code of `to`, by rounding, which draws nothing, and policy. COMPARE and IS: 1 or 0, a byte each; a comparison
 * with NaN is 0. NEXT: a code of the operand's format, which has NaN and at most 8 bits; NaN beyond the last number. to, rounding and policy
 * may be NULL for these. Operands of SCALED: scale, number, scale, number. Zero has no sign: -0 is read as 0, what rounds to zero is +0, and
 * the reciprocal of zero is NaN.
 * EMU_ERROR_FORMAT: no float; a significand of more than EMU_OPERATE_BITS, the hidden bit included; a scale and its number of more than
 * EMU_OPERATE_PRODUCT_BITS together.
 * EMU_ERROR_PROGRAM: no such operation.
 * open: a byte per element: 0 the code stands, 1 it is open, 2 it is refused. EMU_ERROR_OPEN: an operand is a code that nobody knows; elements
 * before it have been written. */
enum {
    EMU_DO_CONVERT = 0, EMU_DO_NEGATE = 1, EMU_DO_ABS = 2, EMU_DO_RECIP = 3, EMU_DO_ADD = 4, EMU_DO_SUBTRACT = 5, EMU_DO_MULTIPLY = 6,
    EMU_DO_FMA = 7, EMU_DO_FAA = 8, EMU_DO_MINIMUM = 9, EMU_DO_MAXIMUM = 10, EMU_DO_MINIMUM_NUMBER = 11, EMU_DO_MAXIMUM_NUMBER = 12,
    EMU_DO_MINIMUM_MAGNITUDE = 13, EMU_DO_MAXIMUM_MAGNITUDE = 14, EMU_DO_MINIMUM_MAGNITUDE_NUMBER = 15,
    EMU_DO_MAXIMUM_MAGNITUDE_NUMBER = 16, EMU_DO_MINIMUM_FINITE = 17, EMU_DO_MAXIMUM_FINITE = 18, EMU_DO_SCALED_ADD = 19,
    EMU_DO_SCALED_SUBTRACT = 20, EMU_DO_SCALED_MULTIPLY = 21, EMU_DO_COMPARE_LESS = 22, EMU_DO_COMPARE_LESS_EQUAL = 23,
    EMU_DO_COMPARE_EQUAL = 24, EMU_DO_COMPARE_GREATER = 25, EMU_DO_COMPARE_GREATER_EQUAL = 26, EMU_DO_IS_ZERO = 27, EMU_DO_IS_ONE = 28,
    EMU_DO_IS_NAN = 29, EMU_DO_IS_INFINITE = 30, EMU_DO_IS_FINITE = 31, EMU_DO_IS_SIGN_MINUS = 32, EMU_DO_IS_NORMAL = 33,
    EMU_DO_IS_SUBNORMAL = 34, EMU_DO_NEXT_GREATER_THAN = 35, EMU_DO_NEXT_LESS_THAN = 36
};
enum { EMU_MAX_OPERANDS = 4, EMU_OPERATE_BITS = 58, EMU_OPERATE_PRODUCT_BITS = 64 };

typedef struct emu_operand_codes {
    const emu_format *format;
    const void *codes; /* as emu_code_bytes says */
} emu_operand_codes;

int32_t emu_operate_array(int32_t operation, const emu_operand_codes *operands, const emu_format *to, const emu_rounding *rounding,
                          const emu_policy *policy, size_t count, void *result, uint8_t *open);

/* transform: codes of `source` -> codes of transform->result, each group of `size` along the rows; x and y have one shape, columns a
 * multiple of size. signs: four words instead of the transform's own, or NULL. */
int32_t emu_check_transform(const emu_transform *transform);
int32_t emu_transform_matrix(const emu_format *source, const emu_transform *transform, const uint64_t *signs, const emu_matrix *x,
                             const emu_matrix *y);

/* layout: the place of the code of a row and an index in a tensor of rows x codes, counted in codes from its start. rows and codes below
 * 2^31; row and index inside the tensor, else EMU_ERROR_SHAPE. */
int32_t emu_check_layout(const emu_layout *layout);
int32_t emu_layout_place(const emu_layout *layout, uint64_t row, uint64_t index, uint64_t rows, uint64_t codes, uint64_t *place);

/* size: how many places the tensor takes, padding included. locate: the inverse of place; one of row and index lies outside the tensor where
 * the place is padding. EMU_ERROR_SHAPE: a side that is 0 or not below 2^31, a place behind the end. */
int32_t emu_layout_size(const emu_layout *layout, uint64_t rows, uint64_t codes, uint64_t *size);
int32_t emu_layout_locate(const emu_layout *layout, uint64_t place, uint64_t rows, uint64_t codes, uint64_t *row, uint64_t *index);

/* How many 64-bit words of workspace quantize and dequantize need for a matrix of so many columns; nothing need be in them. */
int32_t emu_check_program(const emu_program *program);

/* What each register holds, register_count of them: the arithmetic format for values; the format of its codes, of a select between codes of
 * two formats that of the first arm, though a step may decode it by either; NULL for random integers, and for given element codes that no
 * step decodes. EMU_ERROR_PROGRAM where a value stands for a code, a code for a value, a code for one of another format, or where the arms
 * of a select are of two widths; the interpreter does not ask. */
int32_t emu_type_registers(const emu_program *program, const emu_format **types);
int32_t emu_count_workspace(const emu_program *program, size_t columns, size_t *words);

/* quantize: codes of `source`, whose values must be values of the arithmetic, -> element codes and levels, blocks along the rows.
 * tensor_amax: binary32 bits, NULL: taken from x (NaN if x holds one); a negative or unwanted one is EMU_ERROR_GRID. random: one integer
 * for each element of x, NULL where the program draws none. signs: as above, for every transform step. codes: padded shape, or that of x
 * under EMU_TAIL_DROP. levels: level_count matrices of the padded shape divided by their parts; a coarser register is repeated. On an
 * error the results hold anything. */
int32_t emu_quantize(const emu_program *program, const emu_format *source, const emu_matrix *x, const uint32_t *tensor_amax,
                     const emu_matrix *random, const uint64_t *signs, const emu_matrix *codes, const emu_matrix *levels,
                     uint64_t *workspace, size_t words);

/* dequantize: element codes and levels -> codes of `result`, each value rounded once more to it, ties to even. values: shape of codes. */
int32_t emu_dequantize(const emu_program *program, const emu_matrix *codes, const emu_matrix *levels, const emu_format *result,
                       const emu_matrix *values, uint64_t *workspace, size_t words);

/* Traces: the same programs on the same operands, and what every register holds at the end; a step writes one register, and none is written
 * twice, so this is what each step left. registers: register_count matrices of the padded shape divided by the parts of each (1 where it
 * covers all), 8 bytes a code; cells are codes as emu_type_registers says, or random integers; `open` as in a result. An input that the
 * sources leave open marks every cell. On an error the results hold anything. */
int32_t emu_trace_quantize(const emu_program *program, const emu_format *source, const emu_matrix *x, const uint32_t *tensor_amax,
                           const emu_matrix *random, const uint64_t *signs, const emu_matrix *registers, uint64_t *workspace, size_t words);
int32_t emu_trace_dequantize(const emu_program *program, const emu_matrix *codes, const emu_matrix *levels, const emu_matrix *registers,
                             uint64_t *workspace, size_t words);

/* Dot products. Codes of matrices are in the formats of the datapath, in any of the four sizes; a code with bits above its format is
 * EMU_ERROR_CODE. A row of scales has a code for each block; scale_a and scale_b are NULL without scales. A result that nobody knows (an
 * unused bit of a code, an accumulator that overflows) is marked in d->open, or is EMU_ERROR_OPEN or EMU_ERROR_OVERFLOW where that is NULL;
 * results before it have been written.
 * dot: row i of A with row i of B and code i of C (one column) -> code i of D (one column). stages: NULL, or one for each fused step, row
 *   after row. matmul: row i of A with row j of B (N x K) and C (M x N, NULL: +0) -> D (M x N), one chain over K. */
int32_t emu_check_datapath(const emu_datapath *datapath);
int32_t emu_derive_widths(const emu_datapath *datapath, emu_widths *widths);
int32_t emu_dot(const emu_datapath *datapath, const emu_matrix *a, const emu_matrix *b, const emu_matrix *scale_a, const emu_matrix *scale_b,
                const emu_matrix *c, const emu_matrix *d, emu_stages *stages);
int32_t emu_matmul(const emu_datapath *datapath, const emu_matrix *a, const emu_matrix *b, const emu_matrix *scale_a,
                   const emu_matrix *scale_b, const emu_matrix *c, const emu_matrix *d);

/* EMU_C_LAST: what ends a chain: register * 2^step_sum_lsb_exp + C, rounded; NaN and infinite C as in a dot product. A register beyond
 * accumulator_bits is EMU_ERROR_OVERFLOW. So a chain can be cut: the register after a part is `total` of its last stage. */
int32_t emu_finish_register(const emu_datapath *datapath, const emu_wide *total, uint64_t c, uint64_t *code);

/* After the last instruction, on codes of the result format: IEEE 754 rules, zeros included; a NaN is the datapath's nan_code. c: NULL
 * where there is nothing to add or C was in the dot product. add_results: ties to even, to join parts of K. x, y, c, d have one shape. */
int32_t emu_alpha(const emu_datapath *datapath, const emu_epilogue_facts *facts, uint64_t scale_a, uint64_t scale_b, uint64_t *alpha);
int32_t emu_epilogue(const emu_datapath *datapath, const emu_epilogue_facts *facts, const emu_matrix *x, uint64_t alpha, const emu_matrix *c,
                     const emu_matrix *d);
int32_t emu_add_results(const emu_datapath *datapath, const emu_matrix *x, const emu_matrix *y, const emu_matrix *d);

/* Datapaths of levels. count: for rows of so many products, the random integers of a row and the numbers of workspace. dot: as emu_dot; c is
 * NULL where there is no C, random (NULL where nothing draws) has a row of integers for each row, in the order instruction, level, node,
 * then as they happen; a rounding belongs to the instruction of the last product that it sees. order: room for as many words as a row
 * draws, workspace: for `numbers` numbers; nothing need be in them. A result that nobody knows is EMU_ERROR_OPEN, one that a policy refuses
 * EMU_ERROR_REFUSED, a register that overflows EMU_ERROR_OVERFLOW; rows before it have been written, and *row is its number. */
int32_t emu_check_dot_levels(const emu_levels *levels);
int32_t emu_count_dot_levels(const emu_levels *levels, size_t products, size_t *draws, size_t *numbers);
int32_t emu_dot_levels(const emu_levels *levels, const emu_matrix *a, const emu_matrix *b, const emu_matrix *scale_a,
                       const emu_matrix *scale_b, const emu_matrix *c, const emu_matrix *random, const emu_matrix *d, uint32_t *order,
                       emu_number *workspace, size_t numbers, size_t *row);

/* The same with the exception flags of each row, EMU_RAISED_*: flags [rows, 1], NULL: not asked for. */
int32_t emu_dot_levels_flags(const emu_levels *levels, const emu_matrix *a, const emu_matrix *b, const emu_matrix *scale_a,
                             const emu_matrix *scale_b, const emu_matrix *c, const emu_matrix *random, const emu_matrix *d,
                             const emu_matrix *flags, uint32_t *order, emu_number *workspace, size_t numbers, size_t *row);

/* The trace of one row of a datapath of levels: operands as in emu_dot_levels with a single row, and what each node of each level leaves.
 * stages: room for `count` numbers; known: a byte each, 1: the stage was made; 0: NaN or infinity decided above it, or an error came first.
 * find_stage: the place of one. level 0: the products, node: which; level l: node of level l (nodes are counted in the order of K),
 * addition -1: what the node leaves, scales included; of a chain also 0, 1, ...: the running value after that addition.
 * level level_count + 1, node 0, addition -1: how many stages there are. EMU_ERROR_SHAPE: no such stage in a row of so many products. */
int32_t emu_find_stage(const emu_levels *levels, size_t products, int32_t level, size_t node, int64_t addition, size_t *place);
int32_t emu_trace_levels(const emu_levels *levels, const emu_matrix *a, const emu_matrix *b, const emu_matrix *scale_a,
                         const emu_matrix *scale_b, const emu_matrix *c, const emu_matrix *random, const emu_matrix *d, uint32_t *order,
                         emu_number *workspace, size_t numbers, emu_number *stages, uint8_t *known, size_t count);

/* Elements that share random words: element i takes lane i % lanes of word i / lanes; see emu_split_words for the positions. */
typedef struct emu_word {
    int32_t lanes;
    int32_t bits;             /* of a word */
    int32_t random_bits;      /* of a lane */
    const uint8_t *positions; /* lanes * random_bits of them */
} emu_word;

/* What names say of a recipe's programs. */
typedef struct emu_recipe {
    const char *block;         /* id of the block format */
    const emu_format *element; /* of the codes; where a flag chooses between formats, the first: they have one width */
    int32_t element_count;     /* how many formats the flag chooses from; 1: no such flag */
    int32_t level_count;
    const char *const *levels; /* names, outermost first, as in the levels of the programs */
    const emu_word *word;      /* the random integers come in such words; NULL: one for each element, or none */
} emu_recipe;

/* Named descriptors: what the shipped spec says, as constants (tables.c). Arguments: an id of the spec, or an alias. NULL when there is no
 * such object, when C cannot run it (tables.c names those), or when an argument is NULL.
 * emu_find_word: of a rounding whose elements share random words. emu_find_policy: what it says of one destination.
 * emu_find_program: profile NULL: the quantize program; else the dequantize program of that profile. */
const emu_format *emu_find_format(const char *id);
const emu_rounding *emu_find_rounding(const char *id);
const emu_word *emu_find_word(const char *rounding);
const emu_policy *emu_find_policy(const char *id, const char *destination);
const emu_transform *emu_find_transform(const char *id);
const emu_recipe *emu_find_recipe(const char *id);
const emu_program *emu_find_program(const char *recipe, const char *profile);

/* A datapath of the spec with its operands chosen -> *datapath. name: the id or an alias, then, each behind a slash, what that datapath
 * leaves free: formats of A and B, of the scales, elements of a block: "blackwell_mxf4nvf4_b16_ue4m3", "nv_like/e1m2xe1m2/ue4m3/16". */
int32_t emu_find_datapath(const char *name, emu_datapath *datapath);

/* Descriptor files: objects that the shipped spec does not have, as text; docs/descriptors.md says how it reads. Facts alone stand there:
 * all that follows from them is derived here. A library is what one file says; it lies in the caller's memory and keeps nothing of the text.
 *
 * emu_measure_descriptor: how many bytes of memory a text of at most EMU_MAX_DESCRIPTOR bytes needs, whatever it says.
 * emu_load_descriptor: text -> *library. memory: so many bytes, aligned as malloc does it; it must outlive every use of the library.
 *   fault: the first line that is refused and why; on every error but EMU_ERROR_NULL. *library is written on success alone.
 * emu_write_descriptor: library -> the canonical text of what it holds, byte for byte that of `emu export descriptor`, without remarks.
 *   text: room for so many bytes, no 0 is put behind the last. *length: how long the text is, also on EMU_ERROR_SPACE, where nothing is
 *   written to `text`; text NULL: only that is asked. */
enum { EMU_MAX_DESCRIPTOR = 1048576 };

typedef struct emu_library emu_library;

typedef struct emu_fault {
    int32_t line;   /* 1: the first; 0: no line of its own */
    char text[252]; /* what: how to mend it */
} emu_fault;

int32_t emu_measure_descriptor(const char *text, size_t length, size_t *bytes);
int32_t emu_load_descriptor(const char *text, size_t length, void *memory, size_t bytes, const emu_library **library, emu_fault *fault);
int32_t emu_write_descriptor(const emu_library *library, char *text, size_t bytes, size_t *length);

/* As the functions above, but of a library first; what it does not have is one of the shipped spec. library NULL: the shipped spec alone. */
const emu_format *emu_find_format_in(const emu_library *library, const char *id);
const emu_rounding *emu_find_rounding_in(const emu_library *library, const char *id);
const emu_policy *emu_find_policy_in(const emu_library *library, const char *id, const char *destination);
const emu_word *emu_find_word_in(const emu_library *library, const char *rounding);
const emu_transform *emu_find_transform_in(const emu_library *library, const char *id);
const emu_block *emu_find_block_in(const emu_library *library, const char *id);
const emu_layout *emu_find_layout_in(const emu_library *library, const char *id);
const emu_recipe *emu_find_recipe_in(const emu_library *library, const char *id);
const emu_program *emu_find_program_in(const emu_library *library, const char *recipe, const char *profile);
int32_t emu_find_datapath_in(const emu_library *library, const char *name, emu_datapath *datapath);

/* A datapath of levels with its operands chosen -> *levels; name: as for a fused one. The shipped spec has none as constants. */
int32_t emu_find_levels_in(const emu_library *library, const char *name, emu_levels *levels);

/* cdef end */

#ifdef __cplusplus
}
#endif

#endif
