/* emu_dpi.c: names -> descriptors, then one call of the reference. */
#include "emu_dpi.h"

int32_t emu_dpi_decode(const char *format, uint64_t code, int32_t *value_class, int32_t *sign, uint64_t *significand, int32_t *lsb_exp)
{
    emu_value value;
    int32_t error = emu_decode_code(emu_find_format(format), code, &value);
    if (error)
        return error;
    *value_class = value.value_class;
    *sign = value.sign;
    *significand = value.significand;
    *lsb_exp = value.lsb_exp;
    return EMU_OK;
}

int32_t emu_dpi_decode_to(const char *format, const char *result, uint64_t code, uint64_t *decoded)
{
    emu_value value;
    int32_t error = emu_decode_code(emu_find_format(format), code, &value);
    if (!error && value.value_class == EMU_OPEN)
        error = EMU_ERROR_OPEN;
    return error ? error : emu_encode_value(emu_find_format(result), &value, decoded);
}

int32_t emu_dpi_convert(const char *source, const char *destination, const char *rounding, const char *policy, uint64_t code,
                        uint32_t random, uint64_t *converted, uint8_t *open)
{
    const emu_rounding *how = emu_find_rounding(rounding);
    const emu_policy *rules = emu_find_policy(policy, destination);
    if (!how || !rules)
        return EMU_ERROR_NULL;
    return emu_convert_code(emu_find_format(source), emu_find_format(destination), how, rules, code, random, converted, open);
}
