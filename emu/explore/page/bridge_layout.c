/* bridge_layout.c: which scale an element has, which elements a place scales, and the bytes that a layout makes of codes. A scale is that of
 * a tile of elements; where the layout holds elements the tile is 1 x 1. */
#include "bridge.h"

/* The scale of an element: its place, byte, row and index -> out. rows, codes: of the scales. */
EXPORT(ex_layout_scale)
int32_t ex_layout_scale(const emu_layout *layout, uint64_t tile_rows, uint64_t tile_columns, uint64_t row, uint64_t column, uint64_t rows,
                        uint64_t codes, uint64_t *out)
{
    if (!tile_rows || !tile_columns)
        return EMU_ERROR_SHAPE;
    out[2] = row / tile_rows;
    out[3] = column / tile_columns;
    int32_t error = emu_layout_place(layout, out[2], out[3], rows, codes, &out[0]);
    out[1] = out[0] * (uint64_t)layout->code_bits / 8;
    return error;
}

/* What lies at a place: its byte, row, index, 1 for padding, the lowest bit in its byte, the first and the last element -> out. */
EXPORT(ex_layout_span)
int32_t ex_layout_span(const emu_layout *layout, uint64_t tile_rows, uint64_t tile_columns, uint64_t place, uint64_t rows, uint64_t codes,
                       uint64_t *out)
{
    int32_t error = emu_layout_locate(layout, place, rows, codes, &out[1], &out[2]);
    if (error)
        return error;
    out[0] = place * (uint64_t)layout->code_bits / 8;
    out[3] = out[1] >= rows || out[2] >= codes;
    out[4] = place * (uint64_t)layout->code_bits % 8;
    out[5] = out[1] * tile_rows;
    out[6] = out[2] * tile_columns;
    out[7] = out[5] + tile_rows - 1;
    out[8] = out[6] + tile_columns - 1;
    return EMU_OK;
}

/* The bytes from one on that a layout makes of rows x codes; code (row, index) is digits[index % count]. What lies behind the end or is padding: 0. */
EXPORT(ex_layout_bytes)
int32_t ex_layout_bytes(const emu_layout *layout, const uint8_t *digits, uint64_t count, uint64_t rows, uint64_t codes, uint64_t first, uint64_t bytes,
                        uint8_t *out)
{
    uint64_t size, each = 8 / (uint64_t)layout->code_bits;
    int32_t error = emu_layout_size(layout, rows, codes, &size);
    memset(out, 0, bytes);
    for (uint64_t place = first * each; !error && place < size && place < (first + bytes) * each; place++) {
        uint64_t row, index;
        error = emu_layout_locate(layout, place, rows, codes, &row, &index);
        if (!error && row < rows && index < codes)
            out[place / each - first] |= (uint8_t)(digits[index % count] << place % each * (uint64_t)layout->code_bits);
    }
    return error;
}
