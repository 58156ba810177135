/* encode.c: a magnitude with a sign, or a value of the format -> code. */
#include "../steps.h"

static int32_t encode_nan(const emu_grid *grid, uint64_t *code)
{
    const emu_format *format = grid->format;
    if (!grid->is_float || format->nan == EMU_NAN_NONE)
        return EMU_ERROR_GRID;
    *code = format->nan == EMU_NAN_LIST ? format->nan_codes[0] : grid->inf_magnitude | (uint64_t)1 << (grid->frac_bits - 1);
    return EMU_OK;
}

static int32_t encode_finite(const emu_grid *grid, const emu_value *value, uint64_t *code)
{
    const emu_rounding toward_zero = {{{0, 0, 0}, {0, 0, 0}}, EMU_ADD_NONE, 0, {0, 0}};
    emu_rounded rounded;
    emu_value decoded;
    uint64_t found, last = grid->is_float ? emu_low_bits(grid->exp_bits + grid->frac_bits) : grid->largest[value->sign];
    emu_round(grid, &toward_zero, value, 0, &rounded);
    if (grid->format->format_class == EMU_CODEBOOK)
        found = rounded.magnitude;
    else
        found = emu_attach_sign(grid, value->sign, rounded.magnitude);
    if (rounded.inexact || (grid->format->format_class != EMU_CODEBOOK && (rounded.beyond || rounded.magnitude > last)))
        return EMU_ERROR_GRID;
    emu_decode(grid, found, &decoded);
    if (decoded.value_class > EMU_NORMAL || decoded.sign != value->sign)
        return EMU_ERROR_GRID;
    *code = found;
    return EMU_OK;
}

int32_t emu_encode(const emu_grid *grid, const emu_value *value, uint64_t *code)
{
    if (value->value_class == EMU_NAN)
        return encode_nan(grid, code);
    if (value->value_class == EMU_OPEN)
        return EMU_ERROR_OPEN;
    if (value->value_class != EMU_INFINITE)
        return encode_finite(grid, value, code);
    if (!grid->inf_magnitude || (value->sign && !grid->is_signed))
        return EMU_ERROR_GRID;
    *code = emu_attach_sign(grid, value->sign, grid->inf_magnitude);
    return EMU_OK;
}

int32_t emu_encode_magnitude(const emu_format *format, int32_t sign, uint64_t magnitude, uint64_t *code)
{
    emu_grid grid;
    int32_t error = emu_make_grid(format, &grid);
    if (error)
        return error;
    if (!code)
        return EMU_ERROR_NULL;
    if (format->format_class == EMU_CODEBOOK)
        return EMU_ERROR_FORMAT;
    *code = emu_attach_sign(&grid, sign != 0, magnitude);
    return EMU_OK;
}

int32_t emu_encode_value(const emu_format *format, const emu_value *value, uint64_t *code)
{
    emu_grid grid;
    int32_t error = emu_make_grid(format, &grid);
    if (error)
        return error;
    if (!value || !code)
        return EMU_ERROR_NULL;
    if (value->value_class < EMU_ZERO || value->value_class > EMU_OPEN || value->sign < 0 || value->sign > 1)
        return EMU_ERROR_GRID;
    if (value->value_class <= EMU_NORMAL && ((value->value_class == EMU_ZERO) != (value->significand == 0) ||
                                             value->lsb_exp < -(1 << 22) || value->lsb_exp > 1 << 22))
        return EMU_ERROR_GRID;
    return emu_encode(&grid, value, code);
}
