/* decode.h: code -> value, one element; exact, no policy. The checked entry points are in decode.c. Included by steps.h. */
#ifndef EMU_DECODE_H
#define EMU_DECODE_H

static inline int32_t emu_is_nan_code(const emu_grid *grid, uint64_t code)
{
    const emu_format *format = grid->format;
    if (!grid->is_float || format->nan == EMU_NAN_NONE)
        return 0;
    if (format->nan == EMU_NAN_IEEE)
        return (code & ~grid->sign_bit) > grid->inf_magnitude;
    for (int32_t i = 0; i < format->nan_count; i++) {
        if (format->nan_codes[i] == code)
            return 1;
    }
    return 0;
}

static inline void emu_decode_float(const emu_grid *grid, uint64_t code, emu_value *value)
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

static inline void emu_decode_integer(const emu_grid *grid, uint64_t code, emu_value *value)
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

static inline void emu_decode_codebook(const emu_format *format, uint64_t code, emu_value *value)
{
    int64_t units = format->values[code];
    value->value_class = units ? EMU_NORMAL : EMU_ZERO;
    value->sign = units < 0 || (int64_t)code == format->minus_zero_code;
    value->significand = (uint64_t)(units < 0 ? -units : units);
    value->lsb_exp = units ? format->unit_exp : 0;
}

static inline void emu_decode(const emu_grid *grid, uint64_t code, emu_value *value)
{
    const emu_value nothing = {EMU_OPEN, 0, 0, 0};
    *value = nothing;
    if (code > emu_low_bits(grid->code_bits))
        return;
    if (grid->is_float)
        emu_decode_float(grid, code, value);
    else if (grid->format->format_class == EMU_INTEGER)
        emu_decode_integer(grid, code, value);
    else
        emu_decode_codebook(grid->format, code, value);
}

/* Bit length of the significand of a decoded value. A normal float has all its bits: no search. */
static inline int32_t emu_significand_bits(const emu_grid *grid, const emu_value *value)
{
    return grid->is_float && value->value_class == EMU_NORMAL ? grid->frac_bits + 1 : emu_bit_length(value->significand);
}

#endif
