/* Which form runs, whether floats are what they must be, and the machine's own limit. */
#include "kernels.h"

#include <float.h>

int32_t emu_best_form(void) {
#if EMU_X86_FORMS
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("bmi2"))
        return EMU_AVX512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"))
        return EMU_AVX2;
#endif
    return EMU_PORTABLE;
}

static uint32_t product(uint32_t a, uint32_t b) {
    volatile float x = emu_as_float(a), y = emu_as_float(b), z;
    z = x * y;
    return emu_as_bits(z);
}

static uint32_t sum(uint32_t a, uint32_t b) {
    volatile float x = emu_as_float(a), y = emu_as_float(b), z;
    z = x + y;
    return emu_as_bits(z);
}

int32_t emu_check_floats(void) {
#if FLT_EVAL_METHOD != 0
    return EMU_KERNEL_WIDER;
#else
    /* a subnormal operand, a subnormal result; then three sums around half an ulp of 1 */
    if (product(0x00000001u, 0x3F800000u) != 0x00000001u || product(0x00800000u, 0x3F000000u) != 0x00400000u)
        return EMU_KERNEL_FLUSHED;
    if (sum(0x3F800000u, 0x33800000u) != 0x3F800000u || sum(0x3F800000u, 0x33800001u) != 0x3F800001u ||
        sum(0xBF800000u, 0xB3800001u) != 0xBF800001u)
        return EMU_KERNEL_ROUNDING;
    return EMU_KERNEL_OK;
#endif
}

EMU_INLINE void read_4_write_1(const uint32_t *restrict x, size_t count, uint8_t *restrict bytes, int32_t form) {
    (void)form;
    for (size_t i = 0; i < count; i++)
        bytes[i] = (uint8_t)x[i];
}

EMU_FORMS(read_4_write_1, (const uint32_t *restrict x, size_t count, uint8_t *restrict bytes), x, count, bytes)

int32_t emu_read_4_write_1(int32_t form, const uint32_t *x, size_t count, uint8_t *bytes) {
    if (x == NULL || bytes == NULL)
        return EMU_KERNEL_ARGUMENT;
    if (!emu_has_form(form))
        return EMU_KERNEL_FORM;
    EMU_RUN(form, read_4_write_1, x, count, bytes);
    return EMU_KERNEL_OK;
}
