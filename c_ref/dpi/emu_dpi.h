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

/* decode: code -> value_class EMU_ZERO .. EMU_OPEN, and value = significand * 2^lsb_exp, negative where sign is 1. */
int32_t emu_dpi_decode(const char *format, uint64_t code, int32_t *value_class, int32_t *sign, uint64_t *significand, int32_t *lsb_exp);

/* decode to a code of a wider format, such as fp32 bits. */
int32_t emu_dpi_decode_to(const char *format, const char *result, uint64_t code, uint64_t *decoded);

/* convert: open 0 the code stands, 1 nobody knows it, 2 the described library raises. random: 0 where the rounding draws none. */
int32_t emu_dpi_convert(const char *source, const char *destination, const char *rounding, const char *policy, uint64_t code,
                        uint32_t random, uint64_t *converted, uint8_t *open);

/* cdef end */

#ifdef __cplusplus
}
#endif

#endif
