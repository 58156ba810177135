/* convert: source codes -> 4-bit codes, by a chain of compares with the thresholds of emu_thresholds.
 *
 * The chain is written in two ways, on lanes of 16 bits: choose, c = m >= at[k] ? codes[k + 1] : c, and mask,
 * c += -(m >= at[k]) & (codes[k + 1] - codes[k]). Measured with gcc 12 on Zen 4, million elements a second, random bits: AVX-512 3600 and
 * 3140, AVX2 3230 and 2990, SSE2 1540 and 1800; so the portable form masks and the others choose. To measure again:
 * CFLAGS='-DEMU_MASKS(form)=1' pip install . && python -m tools.bench --only "convert e2m1 native", and the same with 0.
 */
#include "kernels.h"

#ifndef EMU_MASKS
#define EMU_MASKS(form) ((form) == EMU_PORTABLE)
#endif

EMU_INLINE uint16_t look_up(uint16_t bits, const int16_t *at, const uint16_t *codes, int count, int32_t form) {
    const int16_t magnitude = (int16_t)(bits & 0x7FFF);
    const uint16_t negative = (uint16_t)((int16_t)bits >> 15);
    uint16_t code = codes[0];
    for (int k = 0; k < count; k++) {
        if (EMU_MASKS(form))
            code = (uint16_t)(code + ((uint16_t) - (magnitude >= at[k]) & (uint16_t)(codes[k + 1] - codes[k])));
        else
            code = magnitude >= at[k] ? codes[k + 1] : code;
    }
    if (form == EMU_AVX512) /* shifts each lane by its own count */
        return (uint16_t)(code >> (negative & 8));
    return (uint16_t)((code & (uint16_t)~negative) | ((code >> 8) & negative));
}

/* A chain of a fixed length, so that its thresholds stay in registers; the ones beyond `count` are never reached. */
EMU_INLINE void chain(const emu_thresholds *thresholds, int length, const void *restrict x, int32_t source, size_t count,
                      uint8_t *restrict codes, uint8_t *marks, int32_t form) {
    int16_t at[EMU_MAX_THRESHOLDS];
    uint16_t values[EMU_MAX_THRESHOLDS + 1], seen = 0;
    const uint32_t *words = x;
    const uint16_t *halves = x;
    values[0] = thresholds->codes[0];
    for (int k = 0; k < length; k++) {
        const int used = k < thresholds->count;
        at[k] = used ? (int16_t)thresholds->at[k] : INT16_MAX;
        values[k + 1] = used ? thresholds->codes[k + 1] : thresholds->codes[thresholds->count];
    }
    if (source == EMU_SOURCE_FP32)
        for (size_t i = 0; i < count; i++) {
            const uint16_t found = look_up(emu_odd_bf16(words[i]), at, values, length, form);
            codes[i] = (uint8_t)found;
            seen |= found;
        }
    else
        for (size_t i = 0; i < count; i++) {
            const uint16_t found = look_up(halves[i], at, values, length, form);
            codes[i] = (uint8_t)found;
            seen |= found;
        }
    *marks |= (uint8_t)(seen & (EMU_MARK_OPEN | EMU_MARK_REFUSED));
}

EMU_INLINE void lengths(const emu_thresholds *thresholds, const void *x, int32_t source, size_t count, uint8_t *codes, uint8_t *marks,
                        int32_t form) {
    if (thresholds->count <= 8)
        chain(thresholds, 8, x, source, count, codes, marks, form);
    else if (thresholds->count <= 10)
        chain(thresholds, 10, x, source, count, codes, marks, form);
    else if (thresholds->count <= 16)
        chain(thresholds, 16, x, source, count, codes, marks, form);
    else
        chain(thresholds, EMU_MAX_THRESHOLDS, x, source, count, codes, marks, form);
}

EMU_INLINE void from_words(const emu_thresholds *t, const void *x, size_t n, uint8_t *codes, uint8_t *marks, int32_t form) {
    lengths(t, x, EMU_SOURCE_FP32, n, codes, marks, form);
}

EMU_INLINE void from_halves(const emu_thresholds *t, const void *x, size_t n, uint8_t *codes, uint8_t *marks, int32_t form) {
    lengths(t, x, EMU_SOURCE_BF16, n, codes, marks, form);
}

EMU_INLINE void pack(const uint8_t *restrict codes, size_t pairs, uint8_t *restrict packed, int32_t form) {
    (void)form;
    for (size_t i = 0; i < pairs; i++)
        packed[i] = (uint8_t)(codes[2 * i] | codes[2 * i + 1] << 4);
}

EMU_FORMS(from_words, (const emu_thresholds *t, const void *x, size_t n, uint8_t *codes, uint8_t *marks), t, x, n, codes, marks)
EMU_FORMS(from_halves, (const emu_thresholds *t, const void *x, size_t n, uint8_t *codes, uint8_t *marks), t, x, n, codes, marks)
EMU_FORMS(pack, (const uint8_t *restrict codes, size_t pairs, uint8_t *restrict packed), codes, pairs, packed)

void emu_chain(int32_t form, const emu_thresholds *thresholds, const uint16_t *x, size_t count, uint8_t *codes, uint8_t *marks) {
    EMU_RUN(form, from_halves, thresholds, x, count, codes, marks);
}

static void packed_chunks(int32_t form, const emu_thresholds *thresholds, int32_t source, const void *x, size_t count, uint8_t *codes,
                          uint8_t *marks) {
    uint8_t chunk[EMU_CHUNK];
    const size_t width = source == EMU_SOURCE_FP32 ? 4 : 2;
    for (size_t start = 0; start < count; start += EMU_CHUNK) {
        const size_t n = count - start < EMU_CHUNK ? count - start : EMU_CHUNK;
        const uint8_t *part = (const uint8_t *)x + start * width;
        if (source == EMU_SOURCE_FP32)
            EMU_RUN(form, from_words, thresholds, part, n, chunk, marks);
        else
            EMU_RUN(form, from_halves, thresholds, part, n, chunk, marks);
        EMU_RUN(form, pack, chunk, n / 2, codes + start / 2);
        if (n % 2)
            codes[(start + n) / 2] = chunk[n - 1];
    }
}

int32_t emu_convert_4bit(int32_t form, const emu_thresholds *thresholds, int32_t source, const void *x, size_t count, int32_t packed,
                         uint8_t *codes, uint8_t *marks) {
    if (thresholds == NULL || x == NULL || codes == NULL || marks == NULL)
        return EMU_KERNEL_ARGUMENT;
    if (thresholds->count < 0 || thresholds->count > EMU_MAX_THRESHOLDS || source < EMU_SOURCE_FP32 || source > EMU_SOURCE_FP16)
        return EMU_KERNEL_ARGUMENT;
    if (!emu_has_form(form))
        return EMU_KERNEL_FORM;
    *marks = 0;
    if (packed)
        packed_chunks(form, thresholds, source, x, count, codes, marks);
    else if (source == EMU_SOURCE_FP32)
        EMU_RUN(form, from_words, thresholds, x, count, codes, marks);
    else
        EMU_RUN(form, from_halves, thresholds, x, count, codes, marks);
    return EMU_KERNEL_OK;
}
