/* Kernels of the engine `native`: the hot operations as plain loops that compilers turn into vector code. Private to this folder; the
 * declarations between the markers are what Python sees. What a result must be is said by the spec and c_ref/emu_ref.h; the thresholds,
 * tables and steps that the kernels take are derived from the spec in emu/native/thresholds.py and emu/native/plan.py.
 *
 * Every loop is compiled in several forms, for the vector instructions that machines have; a form is chosen at run time by its number, so
 * that a test can call each one. Floats: single binary32 operations where a recipe names them, compiled with -ffp-contract=off.
 * No allocation, no globals, no state.
 */
#ifndef EMU_KERNELS_H
#define EMU_KERNELS_H

#include <stddef.h>
#include <stdint.h>

/* cdef begin */

enum { EMU_PORTABLE = 0, EMU_AVX2 = 1, EMU_AVX512 = 2 };

/* argument: a pointer is NULL or a number out of range; form: not compiled, or this machine lacks its instructions; flushed, rounding,
 * wider: the process flushes subnormals, does not round to nearest even, or evaluates binary32 in a wider format. */
enum {
    EMU_KERNEL_OK = 0,
    EMU_KERNEL_ARGUMENT = 1,
    EMU_KERNEL_FORM = 2,
    EMU_KERNEL_FLUSHED = 3,
    EMU_KERNEL_ROUNDING = 4,
    EMU_KERNEL_WIDER = 5
};

enum { EMU_SOURCE_FP32 = 0, EMU_SOURCE_BF16 = 1, EMU_SOURCE_FP16 = 2 };
enum { EMU_MARK_OPEN = 16, EMU_MARK_REFUSED = 32, EMU_MAX_THRESHOLDS = 24 };

/* A conversion to 4 bits as a step function of a 16-bit magnitude (bf16 for fp32 sources, rounded to odd, else the source itself):
 * a magnitude takes codes[k], k the number of `at` that are <= it. Low byte: the code for sign 0, high byte: for sign 1; a byte may
 * hold a mark beside or instead of its code. */
typedef struct emu_thresholds {
    int32_t count; /* 0..EMU_MAX_THRESHOLDS */
    uint16_t at[24];
    uint16_t codes[25];
} emu_thresholds;

/* The best form of this machine. */
int32_t emu_best_form(void);

/* EMU_KERNEL_OK when this process computes binary32 as IEEE 754 says, to nearest even. */
int32_t emu_check_floats(void);

/* convert: source codes -> 4-bit codes, a byte each, or two in a byte, element 2k in the low nibble (an odd count leaves 0 above the
 * last). marks: all marks of the elements ORed; where it is not 0, codes hold anything. */
int32_t emu_convert_4bit(int32_t form, const emu_thresholds *thresholds, int32_t source, const void *x, size_t count, int32_t packed,
                         uint8_t *codes, uint8_t *marks);

/* decode: 4-bit codes, bytes below 16 or packed, -> table[code]. */
int32_t emu_decode_4bit(int32_t form, const uint32_t *table, const uint8_t *codes, size_t count, int32_t packed, uint32_t *values);

/* What the memory of this machine allows: reads 4 bytes and writes 1 for each element, and does nothing else. */
int32_t emu_read_4_write_1(int32_t form, const uint32_t *x, size_t count, uint8_t *bytes);

/* cdef end */

#define EMU_INLINE static inline
#define EMU_FOR_AVX2
#define EMU_FOR_AVX512
#define EMU_X86_FORMS 0
#if defined(__GNUC__)
#undef EMU_INLINE
#define EMU_INLINE static inline __attribute__((always_inline, unused))
#if defined(__x86_64__)
#undef EMU_FOR_AVX2
#undef EMU_FOR_AVX512
#undef EMU_X86_FORMS
#define EMU_X86_FORMS 1
#define EMU_FOR_AVX2 __attribute__((target("avx2,bmi2")))
#if defined(__clang__)
#define EMU_FOR_AVX512 __attribute__((target("avx2,bmi2,avx512f,avx512bw,avx512vl,avx512dq"), min_vector_width(512)))
#else
#define EMU_FOR_AVX512 __attribute__((target("avx2,bmi2,avx512f,avx512bw,avx512vl,avx512dq,prefer-vector-width=512")))
#endif
#endif
#endif

/* The forms of a loop: `body` is always inlined, its last argument is the number of the form. EMU_RUN calls the wanted one. */
#if EMU_X86_FORMS
#define EMU_FORMS(body, parameters, ...)                                                \
    static void body##_0 parameters { body(__VA_ARGS__, EMU_PORTABLE); }                \
    EMU_FOR_AVX2 static void body##_1 parameters { body(__VA_ARGS__, EMU_AVX2); }       \
    EMU_FOR_AVX512 static void body##_2 parameters { body(__VA_ARGS__, EMU_AVX512); }
#define EMU_RUN(form, body, ...) \
    ((form) == EMU_AVX512 ? body##_2(__VA_ARGS__) : (form) == EMU_AVX2 ? body##_1(__VA_ARGS__) : body##_0(__VA_ARGS__))
#else
#define EMU_FORMS(body, parameters, ...) \
    static void body##_0 parameters { body(__VA_ARGS__, EMU_PORTABLE); }
#define EMU_RUN(form, body, ...) body##_0(__VA_ARGS__)
#endif

/* Elements that are worked on at a time, so that what lies between two passes stays in the nearest cache. */
enum { EMU_CHUNK = 4096 };

/* The chain of convert.c on magnitudes with signs that are at hand as 16 bits; marks are ORed in. */
void emu_chain(int32_t form, const emu_thresholds *thresholds, const uint16_t *x, size_t count, uint8_t *codes, uint8_t *marks);

/* Whether a form can run here. */
static inline int emu_has_form(int32_t form) { return form >= EMU_PORTABLE && form <= emu_best_form(); }

/* Binary32 rounded to odd into bf16: the low bits are cut, and the last bit kept says whether one of them was set. */
EMU_INLINE uint16_t emu_odd_bf16(uint32_t bits) { return (uint16_t)((((bits & 0xFFFFu) + 0xFFFFu) | bits) >> 16); }

#endif
