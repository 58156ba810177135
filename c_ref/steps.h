/* steps.h: what the files of the C reference share. Private: descriptors have been checked before any of these runs. */
#ifndef EMU_STEPS_H
#define EMU_STEPS_H

#include "emu_ref.h"

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
    uint8_t ascending[EMU_MAX_CODEBOOK]; /* codebook: codes by value, -0 before +0, then by code */
} emu_grid;

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

/* format.c */
int32_t emu_make_grid(const emu_format *format, emu_grid *grid);
int32_t emu_check_destination(const emu_grid *grid);
int32_t emu_is_code(const emu_grid *grid, uint64_t code);

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

/* encode.c */
int32_t emu_encode(const emu_grid *grid, const emu_value *value, uint64_t *code);

/* convert.c: the composed steps, one element. */
void emu_convert(const emu_grid *source, const emu_grid *destination, const emu_rounding *rounding, const emu_policy *policy, uint64_t code,
                 uint32_t random, uint64_t *converted, uint8_t *open);

#include "decode.h"
#include "overflow.h"
#include "round.h"

#endif
