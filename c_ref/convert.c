/* convert.c: code of one format -> code of another = decode, round, overflow, encode under a policy. Only composes the steps. */
#include "steps.h"

enum { EMU_IS_OPEN_CODE = 1 };

static void convert(const emu_grid *source, const emu_grid *destination, const emu_rounding *rounding, const emu_policy *policy,
                    uint64_t code, uint32_t random, uint64_t *converted, uint8_t *open)
{
    emu_value value;
    emu_rounded rounded;
    int32_t sign;
    emu_decode(source, code, &value);
    sign = destination->is_signed ? value.sign : 0;
    if (value.value_class == EMU_OPEN) {
        *converted = 0;
        *open = EMU_IS_OPEN_CODE;
    } else if (value.value_class == EMU_NAN) {
        emu_take_special(&policy->nan[value.sign], converted, open);
    } else if (value.sign && !destination->is_signed && value.value_class != EMU_ZERO && policy->negative.rule != EMU_BY_RULE) {
        emu_take_special(&policy->negative, converted, open);
    } else if (value.value_class == EMU_ZERO && policy->zero[value.sign].rule != EMU_BY_RULE) {
        emu_take_special(&policy->zero[value.sign], converted, open);
    } else if (value.value_class == EMU_INFINITE) {
        emu_overflow_infinite(destination, policy, sign, converted, open);
    } else {
        emu_round(destination, rounding, &value, random, &rounded);
        emu_overflow(destination, rounding, policy, sign, &rounded, converted, open);
    }
}

/* Check all four descriptors and make both grids. */
static int32_t prepare(const emu_format *source, const emu_format *destination, const emu_rounding *rounding, const emu_policy *policy,
                       emu_grid *from, emu_grid *to)
{
    int32_t error = emu_make_grid(source, from);
    if (!error)
        error = emu_make_grid(destination, to);
    if (!error)
        error = emu_check_destination(to);
    if (!error)
        error = emu_check_rounding(rounding, destination);
    if (!error)
        error = emu_check_policy(policy, destination);
    return error;
}

int32_t emu_convert_code(const emu_format *source, const emu_format *destination, const emu_rounding *rounding, const emu_policy *policy,
                         uint64_t code, uint32_t random, uint64_t *converted, uint8_t *open)
{
    emu_grid from, to;
    int32_t error = prepare(source, destination, rounding, policy, &from, &to);
    if (error)
        return error;
    if (!converted || !open)
        return EMU_ERROR_NULL;
    if (!emu_is_code(&from, code))
        return EMU_ERROR_CODE;
    if (random > emu_low_bits(rounding->random_bits))
        return EMU_ERROR_RANDOM;
    convert(&from, &to, rounding, policy, code, random, converted, open);
    return EMU_OK;
}

static int32_t check_elements(const emu_grid *from, const emu_rounding *rounding, const uint64_t *codes, const uint32_t *random, size_t count)
{
    if ((random != NULL) != (rounding->random_bits > 0))
        return EMU_ERROR_RANDOM;
    for (size_t i = 0; i < count; i++) {
        if (!emu_is_code(from, codes[i]))
            return EMU_ERROR_CODE;
        if (random && random[i] > emu_low_bits(rounding->random_bits))
            return EMU_ERROR_RANDOM;
    }
    return EMU_OK;
}

int32_t emu_convert_array(const emu_format *source, const emu_format *destination, const emu_rounding *rounding, const emu_policy *policy,
                          const uint64_t *codes, const uint32_t *random, size_t count, uint64_t *converted, uint8_t *open)
{
    emu_grid from, to;
    int32_t error = prepare(source, destination, rounding, policy, &from, &to);
    if (!error && (!codes || !converted))
        error = EMU_ERROR_NULL;
    if (!error)
        error = check_elements(&from, rounding, codes, random, count);
    if (error)
        return error;
    for (size_t i = 0; i < count; i++) {
        uint8_t state = 0;
        convert(&from, &to, rounding, policy, codes[i], random ? random[i] : 0, &converted[i], &state);
        if (open)
            open[i] = state;
        else if (state)
            return state == EMU_IS_OPEN_CODE ? EMU_ERROR_OPEN : EMU_ERROR_REFUSED;
    }
    return EMU_OK;
}

int32_t emu_decode_to_array(const emu_format *format, const emu_format *result, const uint64_t *codes, size_t count, uint64_t *decoded)
{
    emu_grid from, to;
    int32_t error = emu_make_grid(format, &from);
    if (!error)
        error = emu_make_grid(result, &to);
    if (!error && (!codes || !decoded))
        error = EMU_ERROR_NULL;
    for (size_t i = 0; !error && i < count; i++)
        error = emu_is_code(&from, codes[i]) ? EMU_OK : EMU_ERROR_CODE;
    for (size_t i = 0; !error && i < count; i++) {
        emu_value value;
        emu_decode(&from, codes[i], &value);
        error = emu_encode(&to, &value, &decoded[i]);
    }
    return error;
}
