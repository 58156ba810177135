/* decode.c: code -> value; exact, no policy. */
#include "steps.h"

static void decode_float(const emu_grid *grid, uint64_t code, emu_value *value)
{
    uint64_t magnitude = code & ~grid->sign_bit;
    uint64_t fraction = magnitude & emu_low_bits(grid->frac_bits);
    int32_t exp_field = (int32_t)(magnitude >> grid->frac_bits);
    value->sign = (code & grid->sign_bit) != 0;
    if (emu_is_nan_code(grid, code)) {
        value->value_class = EMU_NAN;
    } else if (grid->inf_magnitude && magnitude == grid->inf_magnitude) {
        value->value_class = EMU_INFINITE;
    } else if (exp_field == 0 && grid->has_subnormals) {
        value->value_class = fraction ? EMU_SUBNORMAL : EMU_ZERO;
        value->significand = fraction;
        value->lsb_exp = fraction ? 1 - grid->bias - grid->frac_bits : 0;
        if (!fraction && !grid->has_minus_zero)
            value->sign = 0;
    } else {
        value->value_class = EMU_NORMAL;
        value->significand = ((uint64_t)1 << grid->frac_bits) | fraction;
        value->lsb_exp = exp_field - grid->bias - grid->frac_bits;
    }
}

static void decode_integer(const emu_grid *grid, uint64_t code, emu_value *value)
{
    const emu_format *format = grid->format;
    value->significand = code & ~grid->sign_bit;
    value->sign = (code & grid->sign_bit) != 0;
    if (format->integer_sign == EMU_TWOS_COMPLEMENT && code >> (format->bits - 1)) {
        value->sign = 1;
        value->significand = ((uint64_t)1 << format->bits) - code;
    }
    value->value_class = value->significand ? EMU_NORMAL : EMU_ZERO;
    value->lsb_exp = value->significand ? format->unit_exp : 0;
}

static void decode_codebook(const emu_format *format, uint64_t code, emu_value *value)
{
    int64_t units = format->values[code];
    value->value_class = units ? EMU_NORMAL : EMU_ZERO;
    value->sign = units < 0 || (int64_t)code == format->minus_zero_code;
    value->significand = (uint64_t)(units < 0 ? -units : units);
    value->lsb_exp = units ? format->unit_exp : 0;
}

void emu_decode(const emu_grid *grid, uint64_t code, emu_value *value)
{
    const emu_value nothing = {EMU_OPEN, 0, 0, 0};
    *value = nothing;
    if (code > emu_low_bits(grid->code_bits))
        return;
    if (grid->is_float)
        decode_float(grid, code, value);
    else if (grid->format->format_class == EMU_INTEGER)
        decode_integer(grid, code, value);
    else
        decode_codebook(grid->format, code, value);
}

int32_t emu_decode_code(const emu_format *format, uint64_t code, emu_value *value)
{
    emu_grid grid;
    int32_t error = emu_make_grid(format, &grid);
    if (error)
        return error;
    if (!value)
        return EMU_ERROR_NULL;
    if (!emu_is_code(&grid, code))
        return EMU_ERROR_CODE;
    emu_decode(&grid, code, value);
    return EMU_OK;
}

int32_t emu_decode_array(const emu_format *format, const uint64_t *codes, size_t count, uint8_t *sign, uint64_t *significand,
                         int32_t *lsb_exp, uint8_t *value_class)
{
    emu_grid grid;
    int32_t error = emu_make_grid(format, &grid);
    if (error)
        return error;
    if (!codes || !sign || !significand || !lsb_exp || !value_class)
        return EMU_ERROR_NULL;
    for (size_t i = 0; i < count; i++) {
        if (!emu_is_code(&grid, codes[i]))
            return EMU_ERROR_CODE;
    }
    for (size_t i = 0; i < count; i++) {
        emu_value value;
        emu_decode(&grid, codes[i], &value);
        sign[i] = (uint8_t)value.sign;
        significand[i] = value.significand;
        lsb_exp[i] = value.lsb_exp;
        value_class[i] = (uint8_t)value.value_class;
    }
    return EMU_OK;
}
