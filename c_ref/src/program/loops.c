/* loops.c: see loops.h. */
#include "loops.h"

#include "../number/binary32.h"

EMU_FORMS void emu_make_canonical(emu_ends ends, uint64_t *codes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        codes[i] = emu_is_nan(ends, codes[i]) ? ends.nan : codes[i];
}

EMU_FORMS void emu_change_sign(emu_ends ends, int32_t operation, const uint64_t *codes, size_t count, uint64_t *restrict out)
{
    const uint64_t keep = operation == EMU_OP_ABS ? ~ends.sign_bit : UINT64_MAX, flip = operation == EMU_OP_NEG ? ends.sign_bit : 0;
    for (size_t i = 0; i < count; i++)
        out[i] = emu_is_nan(ends, codes[i]) ? codes[i] : (codes[i] & keep) ^ flip;
}

EMU_FORMS void emu_compare_rows(emu_ends ends, int32_t operation, int32_t drop, const uint64_t *const args[], size_t count,
                                uint64_t *restrict out)
{
    const uint64_t *a = args[0], *b = args[1], *c = args[2];
    if (operation == EMU_OP_MIN) {
        for (size_t i = 0; i < count; i++)
            out[i] = emu_smaller_code(ends, a[i], b[i], drop);
    } else if (operation == EMU_OP_MAX) {
        for (size_t i = 0; i < count; i++)
            out[i] = emu_larger_code(ends, a[i], b[i], drop);
    } else {
        for (size_t i = 0; i < count; i++)
            out[i] = emu_smaller_code(ends, emu_larger_code(ends, a[i], b[i], drop), c[i], drop);
    }
}

EMU_FORMS void emu_select_rows(emu_ends ends, int32_t test, const uint64_t *const args[], size_t count, uint64_t *restrict out)
{
    const uint64_t *u = args[0], *v = test >= EMU_TEST_LT ? args[1] : args[0];
    const uint64_t *yes = args[test >= EMU_TEST_LT ? 2 : 1], *no = args[test >= EMU_TEST_LT ? 3 : 2];
    if (test == EMU_TEST_ZERO) {
        for (size_t i = 0; i < count; i++)
            out[i] = emu_holds(ends, EMU_TEST_ZERO, u[i], v[i]) ? yes[i] : no[i];
    } else {
        for (size_t i = 0; i < count; i++)
            out[i] = emu_holds(ends, test, u[i], v[i]) ? yes[i] : no[i];
    }
}

/* Magnitudes are ordered as integers, NaN above all: so it wins, unless it is dropped. */
EMU_FORMS size_t emu_find_largest(emu_ends ends, int32_t drop, const uint64_t *codes, size_t count, uint64_t *largest)
{
    const uint64_t limit = drop ? ends.inf : UINT64_MAX;
    uint64_t found = *largest, numbers = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t magnitude = codes[i] & ~ends.sign_bit, counted = magnitude <= limit ? magnitude : 0;
        numbers += magnitude <= limit;
        found = counted > found ? counted : found;
    }
    *largest = found;
    return (size_t)numbers;
}

/* First as if every product were one of normal numbers; the others, which are rare, once more by the whole rule. */
EMU_FORMS void emu_multiply_rows(const uint64_t *a, const uint64_t *b, size_t count, uint64_t *restrict out)
{
    uint64_t others = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t is_normal;
        out[i] = emu_b32_mul_normal(a[i], b[i], &is_normal);
        others |= is_normal ^ 1;
    }
    for (size_t i = 0; others && i < count; i++)
        out[i] = emu_b32_mul((uint32_t)a[i], (uint32_t)b[i]);
}

void emu_divide_rows(const uint64_t *a, const uint64_t *b, size_t count, uint64_t *restrict out)
{
    for (size_t i = 0; i < count; i++)
        out[i] = emu_b32_div((uint32_t)a[i], (uint32_t)b[i]);
}
