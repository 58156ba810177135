/* emu_dpi_dot.c: packed vectors of one instruction -> a row of the reference. */
#include "emu_dpi.h"

enum { MAX_PRODUCTS = 256 };

static int32_t stored_bits(const emu_format *format)
{
    if (format->format_class == EMU_FLOAT)
        return format->has_sign + format->exp_bits + format->frac_bits + format->unused_high_bits;
    return format->bits;
}

/* Lanes of a packed vector as a matrix of one row. */
static emu_matrix unpack(const emu_format *format, const uint32_t *packed, int32_t lanes, uint64_t *codes)
{
    emu_matrix made = {codes, 8, 1, (size_t)lanes, NULL};
    int32_t at = 0, bits = stored_bits(format);
    for (int32_t lane = 0; lane < lanes; lane++) {
        codes[lane] = 0;
        for (int32_t bit = 0; bit < bits; bit++, at++)
            codes[lane] |= (uint64_t)(packed[at / 32] >> (at % 32) & 1) << bit;
    }
    return made;
}

int32_t emu_dpi_dot(const char *datapath, const emu_bits a, const emu_bits scale_a, const emu_bits b, const emu_bits scale_b, uint64_t c,
                    uint64_t *d, uint8_t *open)
{
    uint64_t codes[4][MAX_PRODUCTS], result = 0;
    emu_datapath found;
    emu_matrix x, y, scales[2], addend = {&c, 8, 1, 1, NULL}, out = {&result, 8, 1, 1, open};
    int32_t error = !datapath || !d || !open ? EMU_ERROR_NULL : emu_find_datapath(datapath, &found);
    if (error)
        return error;
    if (found.k > MAX_PRODUCTS || found.block > found.k)
        return EMU_ERROR_SPACE;
    x = unpack(found.a, a, found.k, codes[0]);
    y = unpack(found.b, b, found.k, codes[1]);
    if (found.scale) {
        scales[0] = unpack(found.scale, scale_a, found.k / found.block, codes[2]);
        scales[1] = unpack(found.scale, scale_b, found.k / found.block, codes[3]);
    }
    error = emu_dot(&found, &x, &y, found.scale ? &scales[0] : NULL, found.scale ? &scales[1] : NULL, &addend, &out, NULL);
    if (!error)
        *d = result;
    return error;
}
