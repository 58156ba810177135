/* operate.h: what the files of the operations on numbers share. */
#ifndef EMU_OPERATE_H
#define EMU_OPERATE_H

#include "../steps.h"

enum { EMU_EXACT_BITS = 64 /* of a value */, EMU_SUM_BITS = 58 /* of the significands that sums take, and of a result */ };

/* numbers.c. v: the operands, their zeros and NaN without sign. */
int32_t emu_compare_numbers(emu_value a, emu_value b);
emu_value emu_operate_numbers(int32_t operation, const emu_value *v);
int32_t emu_is_so(int32_t operation, const emu_value *v);

#endif
