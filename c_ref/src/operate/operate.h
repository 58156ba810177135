/* operate.h: what the files of the operations on numbers share. */
#ifndef EMU_OPERATE_H
#define EMU_OPERATE_H

#include "../steps.h"

/* operate.c: how many operands an operation EMU_DO_* takes. */
int32_t emu_count_operands(int32_t operation);

/* numbers.c. v: the operands, their zeros and NaN without sign. */
int32_t emu_compare_numbers(emu_value a, emu_value b);
emu_value emu_operate_numbers(int32_t operation, const emu_value *v);
int32_t emu_is_so(int32_t operation, const emu_value *v);

#endif
