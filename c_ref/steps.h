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
    uint64_t sign_bit;       /* mask, 0 where there is none */
    int32_t is_signed;       /* a sign bit, two's complement, or a codebook */
    uint64_t largest[2];     /* largest finite magnitude by sign */
    uint64_t inf_magnitude;  /* 0: no Inf */
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
int32_t emu_is_nan_code(const emu_grid *grid, uint64_t code);
int32_t emu_check_destination(const emu_grid *grid);
int32_t emu_is_code(const emu_grid *grid, uint64_t code);

/* decode.c */
void emu_decode(const emu_grid *grid, uint64_t code, emu_value *value);

/* round.c, codebook.c */
typedef struct emu_discarded {
    uint64_t top;      /* floor(f * 2^N) */
    int32_t next_bit;  /* the bit of f below those */
    int32_t rest;      /* 1: something below that bit */
} emu_discarded;

int32_t emu_goes_up(const emu_rounding *rounding, int32_t sign, int32_t is_odd, const emu_discarded *discarded, uint32_t random);
void emu_round(const emu_grid *grid, const emu_rounding *rounding, const emu_value *value, uint32_t random, emu_rounded *rounded);
void emu_round_to_codebook(const emu_format *format, const emu_rounding *rounding, const emu_value *value, uint32_t random,
                           emu_rounded *rounded);
uint64_t emu_codebook_end(const emu_format *format, int32_t sign);

/* overflow.c */
void emu_take_special(const emu_special *special, uint64_t *code, uint8_t *open);
void emu_overflow(const emu_grid *grid, const emu_rounding *rounding, const emu_policy *policy, int32_t sign, const emu_rounded *rounded,
                  uint64_t *code, uint8_t *open);
void emu_overflow_infinite(const emu_grid *grid, const emu_policy *policy, int32_t sign, uint64_t *code, uint8_t *open);

/* encode.c */
uint64_t emu_attach_sign(const emu_grid *grid, int32_t sign, uint64_t magnitude);
int32_t emu_encode(const emu_grid *grid, const emu_value *value, uint64_t *code);

#endif
