/* Source codes of 16 bits as binary32, and the largest magnitude of an array. */
#include "kernels.h"

EMU_INLINE void widen_bf16(const uint16_t *restrict x, size_t count, uint32_t *restrict bits, int32_t form) {
    (void)form;
    for (size_t i = 0; i < count; i++)
        bits[i] = (uint32_t)x[i] << 16;
}

/* Moving the fields of binary16 into binary32 leaves the value times 2^-112; one exact product puts it right, subnormals too. */
EMU_INLINE void widen_fp16(const uint16_t *restrict x, size_t count, uint32_t *restrict bits, int32_t form) {
    const float up = emu_as_float(0x77800000u); /* 2^112 */
    (void)form;
    for (size_t i = 0; i < count; i++) {
        const uint32_t magnitude = (uint32_t)(x[i] & 0x7FFF) << 13, sign = (uint32_t)(x[i] & 0x8000) << 16;
        const uint32_t finite = emu_as_bits(emu_as_float(magnitude) * up);
        bits[i] = sign | (magnitude >= 0x0F800000u ? magnitude | EMU_INFINITY : finite);
    }
}

EMU_INLINE void amax32(const uint32_t *restrict x, size_t count, uint32_t *found, int32_t form) {
    uint32_t best = 0;
    (void)form;
    for (size_t i = 0; i < count; i++) {
        const uint32_t magnitude = x[i] & EMU_MAGNITUDE;
        best = magnitude > best ? magnitude : best;
    }
    *found = best;
}

EMU_INLINE void amax16(const uint16_t *restrict x, size_t count, uint32_t *found, int32_t form) {
    uint16_t best = 0;
    (void)form;
    for (size_t i = 0; i < count; i++) {
        const uint16_t magnitude = x[i] & 0x7FFF;
        best = magnitude > best ? magnitude : best;
    }
    *found = best;
}

EMU_FORMS(widen_bf16, (const uint16_t *restrict x, size_t count, uint32_t *restrict bits), x, count, bits)
EMU_FORMS(widen_fp16, (const uint16_t *restrict x, size_t count, uint32_t *restrict bits), x, count, bits)
EMU_FORMS(amax32, (const uint32_t *restrict x, size_t count, uint32_t *found), x, count, found)
EMU_FORMS(amax16, (const uint16_t *restrict x, size_t count, uint32_t *found), x, count, found)

void emu_widen(int32_t form, int32_t source, const void *x, size_t count, uint32_t *bits) {
    if (source == EMU_SOURCE_FP32)
        memcpy(bits, x, count * sizeof *bits);
    else if (source == EMU_SOURCE_BF16)
        EMU_RUN(form, widen_bf16, x, count, bits);
    else
        EMU_RUN(form, widen_fp16, x, count, bits);
}

int32_t emu_amax(int32_t form, int32_t source, const void *x, size_t count, uint32_t *magnitude) {
    if (x == NULL || magnitude == NULL || source < EMU_SOURCE_FP32 || source > EMU_SOURCE_FP16)
        return EMU_KERNEL_ARGUMENT;
    if (!emu_has_form(form))
        return EMU_KERNEL_FORM;
    if (source == EMU_SOURCE_FP32)
        EMU_RUN(form, amax32, x, count, magnitude);
    else
        EMU_RUN(form, amax16, x, count, magnitude);
    return EMU_KERNEL_OK;
}
