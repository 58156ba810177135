/* emu_dpi_private.h: what the files of this folder share: libraries behind handles, objects by name, packed vectors. */
#ifndef EMU_DPI_PRIVATE_H
#define EMU_DPI_PRIVATE_H

#include "../src/steps.h"
#include "emu_dpi.h"

enum { EMU_DPI_LANES = 256 };

/* emu_dpi_library.c. Each gives EMU_OK, or an error with its line for emu_dpi_fault. */
int32_t emu_dpi_find_library(int32_t handle, const emu_library **library); /* NULL for EMU_DPI_SHIPPED */
int32_t emu_dpi_find_format(int32_t handle, const char *id, const emu_format **found);
int32_t emu_dpi_find_rounding(int32_t handle, const char *id, const emu_rounding **found);
int32_t emu_dpi_find_policy(int32_t handle, const char *id, const char *destination, const emu_policy **found);
int32_t emu_dpi_find_transform(int32_t handle, const char *id, const emu_transform **found);
int32_t emu_dpi_find_layout(int32_t handle, const char *id, const emu_layout **found);
int32_t emu_dpi_find_recipe(int32_t handle, const char *id, const emu_recipe **found);

/* The fault of a name that is none: EMU_ERROR_NAME. kind: what it should be. */
int32_t emu_dpi_unknown(int32_t handle, const char *kind, const char *name);

/* An error that the reference gave for an object becomes the fault; returned as it is. */
int32_t emu_dpi_end(int32_t error, const char *name);

/* emu_dpi_packed.c: lanes of `bits` bits from bit `at` on; the position after them. */
int32_t emu_dpi_unpack(const uint32_t *packed, int32_t at, int32_t bits, int32_t lanes, uint64_t *codes);
int32_t emu_dpi_pack(const uint64_t *codes, int32_t at, int32_t bits, int32_t lanes, uint32_t *packed);
void emu_dpi_clear(uint32_t *packed);
int32_t emu_dpi_fits(int32_t lanes, int32_t bits); /* so many lanes in one vector, and in an array of EMU_DPI_LANES */
emu_matrix emu_dpi_matrix(uint64_t *codes, int32_t rows, int32_t columns, uint8_t *open);

#endif
