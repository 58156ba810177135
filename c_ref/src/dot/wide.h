/* wide.h: sums of fixed size in two's complement, the low limb first. `count`: how many limbs of the number are in use; what falls off the
 * top is lost, so the caller chooses enough of them. */
#ifndef EMU_WIDE_H
#define EMU_WIDE_H

#include "../steps.h"

void emu_wide_clear(emu_wide *number, int32_t count);

/* number += value * 2^shift, shift >= 0. */
void emu_wide_add_shifted(emu_wide *number, int32_t count, int64_t value, int32_t shift);

/* number * 2^shift, shift >= 0. */
void emu_wide_shift_left(emu_wide *number, int32_t count, int32_t shift);

/* 1: -2^(bits - 1) <= number < 2^(bits - 1). */
int32_t emu_wide_fits(const emu_wide *number, int32_t count, int32_t bits);

/* The number modulo 2^bits, as two's complement of so many bits. */
void emu_wide_wrap(emu_wide *number, int32_t count, int32_t bits);

/* sign, significand * 2^lsb_exp: the top 64 bits of the magnitude; what lies below them leaves a 1 at the end. 0 gives significand 0. */
void emu_wide_top(const emu_wide *number, int32_t count, emu_value *top);

/* All limbs beyond `count` as the sign has them: for a reader who looks at the whole number. */
void emu_wide_extend(emu_wide *number, int32_t count);

/* Numbers that are not negative, all limbs in use. length: bits up to the leading one; spare: zeros below the lowest one, 0 of 0. */
int32_t emu_wide_length(const emu_wide *number);
int32_t emu_wide_spare(const emu_wide *number);
void emu_wide_shift_right(emu_wide *number, int32_t shift);
void emu_wide_multiply(const emu_wide *a, const emu_wide *b, emu_wide *product);

/* sum += number, or its negative. */
void emu_wide_add(emu_wide *sum, const emu_wide *number, int32_t negates);

#endif
