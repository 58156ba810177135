/* loops.h: the loops over cells that most of the time goes into. One operation each, no branch that depends on the data. */
#ifndef EMU_LOOPS_H
#define EMU_LOOPS_H

#include "../steps.h"

void emu_make_canonical(emu_ends ends, uint64_t *codes, size_t count);
void emu_change_sign(emu_ends ends, int32_t operation, const uint64_t *codes, size_t count, uint64_t *out);
void emu_compare_rows(emu_ends ends, int32_t operation, int32_t drop, const uint64_t *const args[], size_t count, uint64_t *out);
void emu_select_rows(emu_ends ends, int32_t test, const uint64_t *const args[], size_t count, uint64_t *out);
/* Returns how many cells counted: a NaN does not where it is dropped. */
size_t emu_find_largest(emu_ends ends, int32_t drop, const uint64_t *codes, size_t count, uint64_t *largest);
/* binary32 */
void emu_multiply_rows(const uint64_t *a, const uint64_t *b, size_t count, uint64_t *out);
void emu_divide_rows(const uint64_t *a, const uint64_t *b, size_t count, uint64_t *out);

#endif
