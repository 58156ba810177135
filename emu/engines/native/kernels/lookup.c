/* convert, to codes of up to 8 bits: a table over 16-bit source codes. Indices of binary32 sources, rounded to odd into bf16, are made a
 * chunk at a time by vector code; the look-ups are plain loads, which no form has in vectors of bytes. */
#include "kernels.h"

EMU_INLINE void odd_indices(const uint32_t *restrict x, size_t count, uint16_t *restrict index, int32_t form) {
    (void)form;
    for (size_t i = 0; i < count; i++)
        index[i] = emu_odd_bf16(x[i]);
}

EMU_FORMS(odd_indices, (const uint32_t *restrict x, size_t count, uint16_t *restrict index), x, count, index)

static void look_up(const uint8_t *restrict table, const uint16_t *restrict index, size_t count, uint8_t *restrict out) {
    for (size_t i = 0; i < count; i++)
        out[i] = table[index[i]];
}

static uint8_t marks_of(const uint8_t *restrict table, const uint16_t *restrict index, size_t count) {
    uint8_t seen = 0;
    for (size_t i = 0; i < count; i++)
        seen |= table[index[i]];
    return seen;
}

int32_t emu_convert_8bit(int32_t form, const uint8_t *table, const uint8_t *marks_table, int32_t source, const void *x, size_t count,
                         uint8_t *codes, uint8_t *marks) {
    uint16_t made[EMU_CHUNK];
    if (table == NULL || x == NULL || codes == NULL || marks == NULL || source < EMU_SOURCE_FP32 || source > EMU_SOURCE_FP16)
        return EMU_KERNEL_ARGUMENT;
    if (!emu_has_form(form))
        return EMU_KERNEL_FORM;
    *marks = 0;
    for (size_t start = 0; start < count; start += EMU_CHUNK) {
        const size_t n = count - start < EMU_CHUNK ? count - start : EMU_CHUNK;
        const uint16_t *index = source == EMU_SOURCE_FP32 ? made : (const uint16_t *)x + start;
        if (source == EMU_SOURCE_FP32)
            EMU_RUN(form, odd_indices, (const uint32_t *)x + start, n, made);
        look_up(table, index, n, codes + start);
        if (marks_table != NULL)
            *marks |= marks_of(marks_table, index, n);
    }
    return EMU_KERNEL_OK;
}
