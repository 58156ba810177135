/* emu_dpi_packed.c: packed vectors <-> arrays of codes. */
#include "emu_dpi_private.h"

int32_t emu_dpi_unpack(const uint32_t *packed, int32_t at, int32_t bits, int32_t lanes, uint64_t *codes)
{
    for (int32_t lane = 0; lane < lanes; lane++) {
        codes[lane] = 0;
        for (int32_t bit = 0; bit < bits; bit++, at++)
            codes[lane] |= (uint64_t)(packed[at / 32] >> (at % 32) & 1) << bit;
    }
    return at;
}

int32_t emu_dpi_pack(const uint64_t *codes, int32_t at, int32_t bits, int32_t lanes, uint32_t *packed)
{
    for (int32_t lane = 0; lane < lanes; lane++) {
        for (int32_t bit = 0; bit < bits; bit++, at++)
            packed[at / 32] |= (uint32_t)(codes[lane] >> bit & 1) << (at % 32);
    }
    return at;
}

void emu_dpi_clear(uint32_t *packed)
{
    for (int32_t i = 0; i < EMU_DPI_BITS / 32; i++)
        packed[i] = 0;
}

int32_t emu_dpi_fits(int32_t lanes, int32_t bits)
{
    return lanes <= EMU_DPI_LANES && lanes * bits <= EMU_DPI_BITS;
}

emu_matrix emu_dpi_matrix(uint64_t *codes, int32_t rows, int32_t columns, uint8_t *open)
{
    emu_matrix made;
    made.codes = codes;
    made.bytes = 8;
    made.rows = (size_t)rows;
    made.columns = (size_t)columns;
    made.open = open;
    return made;
}
