/* emu_dpi.h: the reference by name and with plain arguments, for SystemVerilog, where structs and arrays of emu_ref.h cannot go.
 *
 * emu_ref_pkg.sv imports these functions and those of emu_ref.h that take descriptors alone; it is generated from both headers.
 * Every function returns EMU_OK or an EMU_ERROR_* number; EMU_ERROR_NULL too for a name that the spec does not have.
 */
#ifndef EMU_DPI_H
#define EMU_DPI_H

#include "../emu_ref.h"

#ifdef __cplusplus
extern "C" {
#endif

/* cdef begin */

/* A packed vector: lane i of width w in bits w*i+w-1 : w*i, as in the golden vectors. Wide enough for a tile of 256 lanes of 32 bits. */
enum { EMU_DPI_BITS = 8192 };
typedef uint32_t emu_bits[EMU_DPI_BITS / 32];

/* decode: code -> value_class EMU_ZERO .. EMU_OPEN, and value = significand * 2^lsb_exp, negative where sign is 1. */
int32_t emu_dpi_decode(const char *format, uint64_t code, int32_t *value_class, int32_t *sign, uint64_t *significand, int32_t *lsb_exp);

/* decode to a code of a wider format, such as fp32 bits. */
int32_t emu_dpi_decode_to(const char *format, const char *result, uint64_t code, uint64_t *decoded);

/* convert: open 0 the code stands, 1 nobody knows it, 2 the described library raises. random: 0 where the rounding draws none. */
int32_t emu_dpi_convert(const char *source, const char *destination, const char *rounding, const char *policy, uint64_t code,
                        uint32_t random, uint64_t *converted, uint8_t *open);

/* quantize one tile: x has `columns` elements of `source` a row (all of the tile's, or fewer where the recipe pads), row after row.
 * tensor_amax: fp32 bits, ignored where the recipe reads none. random: one integer or word each, ignored where the recipe draws none.
 * levels: all levels of the recipe's block, the outermost in the low bits, so {scale, tensor} for NVFP4. open: 1: nobody knows some result;
 * such a code is 0. */
int32_t emu_dpi_quantize(const char *recipe, const char *source, const emu_bits x, int32_t columns, uint32_t tensor_amax,
                         const emu_bits random, emu_bits codes, emu_bits levels, uint8_t *open);

/* dequantize one whole tile; levels as quantize gives them. EMU_ERROR_OPEN where a level code is open. */
int32_t emu_dpi_dequantize(const char *recipe, const char *profile, const char *result, const emu_bits codes, const emu_bits levels,
                           emu_bits values);

/* transform `size` elements; signs: bit i set: element i is negated first, as in the column sgn of the golden vectors. */
int32_t emu_dpi_transform(const char *transform, const char *source, const emu_bits x, const emu_bits signs, emu_bits y);

/* dot: one instruction of a datapath (its name as emu_find_datapath takes it): a and b have k elements, the scales one code for each block
 * (ignored without scales), c and *d are codes of the result format. open: 1: nobody knows the result (it is 0). Its stages: emu_dot. */
int32_t emu_dpi_dot(const char *datapath, const emu_bits a, const emu_bits scale_a, const emu_bits b, const emu_bits scale_b, uint64_t c,
                    uint64_t *d, uint8_t *open);

/* cdef end */

#ifdef __cplusplus
}
#endif

#endif
