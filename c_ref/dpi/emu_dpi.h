/* emu_dpi.h: the reference by name and with plain arguments, for SystemVerilog, where structs and arrays of emu_ref.h cannot go.
 *
 * emu_ref_pkg.sv imports these functions and those of emu_ref.h that take descriptors alone; it is generated from both headers.
 * Every function returns EMU_OK or an error number: EMU_ERROR_* of emu_ref.h, EMU_ERROR_NAME for a name that there is not or that is of
 * another kind, EMU_DPI_ERROR_*. On an error results are as they were, and emu_dpi_fault says in one line what was wrong.
 *
 * Functions that end in _in take the handle of a descriptor file (docs/descriptors.md), so that formats, recipes, layouts and datapaths of
 * your own go by name too; what the file does not have is one of the shipped spec. Those without take the shipped spec alone.
 * To be called from one thread at a time, as simulators call imported functions.
 */
#ifndef EMU_DPI_H
#define EMU_DPI_H

#include "../emu_ref.h"

#ifdef __cplusplus
extern "C" {
#endif

/* cdef begin */

enum { EMU_DPI_ERROR_HANDLE = 64, EMU_DPI_ERROR_FILE = 65 }; /* of no open library; a file that cannot be read */

/* open: a descriptor file -> handle above 0, or the negative of an error number. Memory: one piece for each open library, no more than
 * emu_measure_descriptor says; close gives it back. The handle EMU_DPI_SHIPPED is always open: the shipped spec alone. */
enum { EMU_DPI_SHIPPED = 0, EMU_DPI_LIBRARIES = 64 };
int32_t emu_dpi_open(const char *path);
int32_t emu_dpi_close(int32_t handle);

/* The last error, until the next: one line that says what, where and how to mend it, empty before the first one; and, of a file that was
 * refused, the number of its line, else 0. */
const char *emu_dpi_fault(void);
int32_t emu_dpi_fault_line(void);

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

/* The same with the objects of a library. */
int32_t emu_dpi_decode_in(int32_t handle, const char *format, uint64_t code, int32_t *value_class, int32_t *sign, uint64_t *significand,
                          int32_t *lsb_exp);
int32_t emu_dpi_decode_to_in(int32_t handle, const char *format, const char *result, uint64_t code, uint64_t *decoded);
int32_t emu_dpi_convert_in(int32_t handle, const char *source, const char *destination, const char *rounding, const char *policy,
                           uint64_t code, uint32_t random, uint64_t *converted, uint8_t *open);
int32_t emu_dpi_quantize_in(int32_t handle, const char *recipe, const char *source, const emu_bits x, int32_t columns,
                            uint32_t tensor_amax, const emu_bits random, emu_bits codes, emu_bits levels, uint8_t *open);
int32_t emu_dpi_dequantize_in(int32_t handle, const char *recipe, const char *profile, const char *result, const emu_bits codes,
                              const emu_bits levels, emu_bits values);
int32_t emu_dpi_transform_in(int32_t handle, const char *transform, const char *source, const emu_bits x, const emu_bits signs, emu_bits y);

/* layouts: as emu_layout_place, emu_layout_size and emu_layout_locate, by name. */
int32_t emu_dpi_layout_place_in(int32_t handle, const char *layout, uint64_t row, uint64_t index, uint64_t rows, uint64_t codes,
                                uint64_t *place);
int32_t emu_dpi_layout_size_in(int32_t handle, const char *layout, uint64_t rows, uint64_t codes, uint64_t *size);
int32_t emu_dpi_layout_locate_in(int32_t handle, const char *layout, uint64_t place, uint64_t rows, uint64_t codes, uint64_t *row,
                                 uint64_t *index);

/* dot: one row of a datapath, a chain of fused steps or of levels. products: of the row, at most 256; 0: one instruction, or as many as its
 * levels and blocks need. c: ignored where there is none. random: the integers of a row in the order of emu_dot_levels, lanes of draw_bits
 * as the column r of the golden vectors; ignored where nothing draws. *d: a code of the result; flags: EMU_RAISED_* of the row, 0 where the
 * datapath reports none. open as in emu_dpi_convert (d and flags are 0 then); also where an accumulator does not hold its sum.
 * dot_row: what such a row takes: its products, how many integers of at most how many bits, the flags that it may raise, and whether of a
 * NaN result only the class is known. */
int32_t emu_dpi_dot_in(int32_t handle, const char *datapath, int32_t products, const emu_bits a, const emu_bits scale_a, const emu_bits b,
                       const emu_bits scale_b, uint64_t c, const emu_bits random, uint64_t *d, uint32_t *flags, uint8_t *open);
int32_t emu_dpi_dot_row_in(int32_t handle, const char *datapath, int32_t products, int32_t *row_products, int32_t *draws,
                           int32_t *draw_bits, uint32_t *flags, uint8_t *any_nan);

/* cdef end */

#ifdef __cplusplus
}
#endif

#endif
