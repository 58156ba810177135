/* decode: 4-bit codes -> values of 32 bits, through a table of 16. */
#include "kernels.h"

/* GCC turns its vector extension into one permutation of 16 lanes (AVX-512) or two of 8 (AVX2); what is left over goes through the table.
 * Clang has no permutation by variable lanes in C: there the portable loop serves. */
#if EMU_X86_FORMS && !defined(__clang__)
#define EMU_PERMUTES 1
typedef uint32_t lanes16 __attribute__((vector_size(64)));
typedef uint32_t lanes8 __attribute__((vector_size(32)));

EMU_INLINE size_t permute16(const uint32_t *table, const uint8_t *restrict codes, size_t count, uint32_t *restrict values) {
    lanes16 whole, index;
    size_t i = 0;
    memcpy(&whole, table, sizeof whole);
    for (; i + 16 <= count; i += 16) {
        for (int lane = 0; lane < 16; lane++)
            index[lane] = codes[i + (size_t)lane] & 15;
        index = __builtin_shuffle(whole, index);
        memcpy(values + i, &index, sizeof index);
    }
    return i;
}

EMU_INLINE size_t permute8(const uint32_t *table, const uint8_t *restrict codes, size_t count, uint32_t *restrict values) {
    lanes8 low, high, index, upper;
    size_t i = 0;
    memcpy(&low, table, sizeof low);
    memcpy(&high, table + 8, sizeof high);
    for (; i + 8 <= count; i += 8) {
        for (int lane = 0; lane < 8; lane++)
            index[lane] = codes[i + (size_t)lane] & 15;
        upper = (lanes8)(index > 7);
        index = (__builtin_shuffle(low, index) & ~upper) | (__builtin_shuffle(high, index) & upper);
        memcpy(values + i, &index, sizeof index);
    }
    return i;
}
#endif

EMU_INLINE void look_up(const uint32_t *table, const uint8_t *restrict codes, size_t count, uint32_t *restrict values, int32_t form) {
    size_t i = 0;
#ifdef EMU_PERMUTES
    if (form == EMU_AVX512)
        i = permute16(table, codes, count, values);
    if (form == EMU_AVX2)
        i = permute8(table, codes, count, values);
#endif
    (void)form;
    for (; i < count; i++)
        values[i] = table[codes[i] & 15];
}

EMU_INLINE void unpack(const uint8_t *restrict packed, size_t pairs, uint8_t *restrict codes, int32_t form) {
    (void)form;
    for (size_t i = 0; i < pairs; i++) {
        codes[2 * i] = packed[i] & 15;
        codes[2 * i + 1] = packed[i] >> 4;
    }
}

EMU_FORMS(look_up, (const uint32_t *table, const uint8_t *restrict codes, size_t count, uint32_t *restrict values), table, codes, count,
          values)
EMU_FORMS(unpack, (const uint8_t *restrict packed, size_t pairs, uint8_t *restrict codes), packed, pairs, codes)

int32_t emu_decode_4bit(int32_t form, const uint32_t *table, const uint8_t *codes, size_t count, int32_t packed, uint32_t *values) {
    uint8_t chunk[EMU_CHUNK];
    if (table == NULL || codes == NULL || values == NULL)
        return EMU_KERNEL_ARGUMENT;
    if (!emu_has_form(form))
        return EMU_KERNEL_FORM;
    if (!packed) {
        EMU_RUN(form, look_up, table, codes, count, values);
        return EMU_KERNEL_OK;
    }
    for (size_t start = 0; start < count; start += EMU_CHUNK) {
        const size_t n = count - start < EMU_CHUNK ? count - start : EMU_CHUNK;
        EMU_RUN(form, unpack, codes + start / 2, n / 2, chunk);
        if (n % 2)
            chunk[n - 1] = codes[(start + n) / 2] & 15;
        EMU_RUN(form, look_up, table, chunk, n, values + start);
    }
    return EMU_KERNEL_OK;
}
