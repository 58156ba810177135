/* emu_dpi.c: names -> descriptors, then one call of the reference: codes and layouts. */
#include "emu_dpi_private.h"

int32_t emu_dpi_decode_in(int32_t handle, const char *format, uint64_t code, int32_t *value_class, int32_t *sign, uint64_t *significand,
                          int32_t *lsb_exp)
{
    const emu_format *found;
    emu_value value;
    int32_t error = emu_dpi_find_format(handle, format, &found);
    if (error)
        return error;
    error = emu_decode_code(found, code, &value);
    if (error)
        return emu_dpi_end(error, format);
    *value_class = value.value_class;
    *sign = value.sign;
    *significand = value.significand;
    *lsb_exp = value.lsb_exp;
    return EMU_OK;
}

int32_t emu_dpi_decode_to_in(int32_t handle, const char *format, const char *result, uint64_t code, uint64_t *decoded)
{
    const emu_format *found, *to;
    emu_value value;
    int32_t error = emu_dpi_find_format(handle, format, &found);
    if (!error)
        error = emu_dpi_find_format(handle, result, &to);
    if (error)
        return error;
    error = emu_decode_code(found, code, &value);
    if (!error && value.value_class == EMU_OPEN)
        error = EMU_ERROR_OPEN;
    if (!error)
        error = emu_encode_value(to, &value, decoded);
    return emu_dpi_end(error, format);
}

int32_t emu_dpi_convert_in(int32_t handle, const char *source, const char *destination, const char *rounding, const char *policy,
                           uint64_t code, uint32_t random, uint64_t *converted, uint8_t *open)
{
    const emu_format *from, *to;
    const emu_rounding *how;
    const emu_policy *rules;
    int32_t error = emu_dpi_find_format(handle, source, &from);
    if (!error)
        error = emu_dpi_find_format(handle, destination, &to);
    if (!error)
        error = emu_dpi_find_rounding(handle, rounding, &how);
    if (!error)
        error = emu_dpi_find_policy(handle, policy, destination, &rules);
    if (error)
        return error;
    return emu_dpi_end(emu_convert_code(from, to, how, rules, code, random, converted, open), destination);
}

int32_t emu_dpi_layout_place_in(int32_t handle, const char *layout, uint64_t row, uint64_t index, uint64_t rows, uint64_t codes,
                                uint64_t *place)
{
    const emu_layout *found;
    int32_t error = emu_dpi_find_layout(handle, layout, &found);
    return error ? error : emu_dpi_end(emu_layout_place(found, row, index, rows, codes, place), layout);
}

int32_t emu_dpi_layout_size_in(int32_t handle, const char *layout, uint64_t rows, uint64_t codes, uint64_t *size)
{
    const emu_layout *found;
    int32_t error = emu_dpi_find_layout(handle, layout, &found);
    return error ? error : emu_dpi_end(emu_layout_size(found, rows, codes, size), layout);
}

int32_t emu_dpi_layout_locate_in(int32_t handle, const char *layout, uint64_t place, uint64_t rows, uint64_t codes, uint64_t *row,
                                 uint64_t *index)
{
    const emu_layout *found;
    int32_t error = emu_dpi_find_layout(handle, layout, &found);
    return error ? error : emu_dpi_end(emu_layout_locate(found, place, rows, codes, row, index), layout);
}

int32_t emu_dpi_decode(const char *format, uint64_t code, int32_t *value_class, int32_t *sign, uint64_t *significand, int32_t *lsb_exp)
{
    return emu_dpi_decode_in(EMU_DPI_SHIPPED, format, code, value_class, sign, significand, lsb_exp);
}

int32_t emu_dpi_decode_to(const char *format, const char *result, uint64_t code, uint64_t *decoded)
{
    return emu_dpi_decode_to_in(EMU_DPI_SHIPPED, format, result, code, decoded);
}

int32_t emu_dpi_convert(const char *source, const char *destination, const char *rounding, const char *policy, uint64_t code,
                        uint32_t random, uint64_t *converted, uint8_t *open)
{
    return emu_dpi_convert_in(EMU_DPI_SHIPPED, source, destination, rounding, policy, code, random, converted, open);
}
