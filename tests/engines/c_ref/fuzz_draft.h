/* A random program being written, with all that its descriptors point to. */
#ifndef FUZZ_DRAFT_H
#define FUZZ_DRAFT_H

#include "fuzz.h"

enum { MOST_REGISTERS = 1026, MOST_STEPS = 1026, MOST_LEVELS = 18, GROWN = 24, CONSTANTS = 3, NOTHING = -1 };

typedef struct part {
    int32_t rows, columns;
} part;

typedef struct draft {
    emu_program program;
    emu_register registers[MOST_REGISTERS];
    emu_step steps[MOST_STEPS];
    emu_level levels[MOST_LEVELS];
    const emu_format *formats[MOST_REGISTERS]; /* of a register's codes */
    emu_format arithmetic, narrow[3], wide, codes[4];
    emu_rounding roundings[GROWN + 8];
    emu_policy policies[GROWN + 8];
    emu_transform transforms[GROWN + 8];
    int32_t given_count; /* registers that are set before the first step */
    int32_t random_bits; /* of the one rounding that draws, 0: none yet */
} draft;

/* Typed straight-line steps that are mostly sound; one draft in `broken_in` has one field broken. */
void draft_quantize(stream *random, draft *d, uint64_t broken_in);
void draft_dequantize(stream *random, draft *d, uint64_t broken_in);

#endif
