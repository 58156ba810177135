/* decode.c: the checked entry points of decode. The step itself, emu_decode, is in decode.h. */
#include "../steps.h"

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

int32_t emu_decode_array(const emu_format *format, const void *codes, size_t count, uint8_t *sign, uint64_t *significand, int32_t *lsb_exp,
                         uint8_t *value_class)
{
    emu_grid grid;
    int32_t error = emu_make_grid(format, &grid);
    if (!error && (!codes || !sign || !significand || !lsb_exp || !value_class))
        error = EMU_ERROR_NULL;
    if (!error)
        error = emu_check_codes(&grid, codes, count);
    if (error)
        return error;
    for (size_t i = 0; i < count; i++) {
        emu_value value;
        uint64_t code;
        emu_load_codes(codes, grid.code_bytes, i, 1, &code);
        emu_decode(&grid, code, &value);
        sign[i] = (uint8_t)value.sign;
        significand[i] = value.significand;
        lsb_exp[i] = value.lsb_exp;
        value_class[i] = (uint8_t)value.value_class;
    }
    return EMU_OK;
}
