/* overflow.c: the checks of a policy, and what becomes of an infinite source. The step itself, emu_overflow, is in overflow.h. */
#include "../steps.h"

static int32_t is_special_sound(const emu_special *special, const emu_grid *grid, int32_t may_follow_rule)
{
    if (special->rule == EMU_BY_CODE)
        return emu_is_code(grid, special->code);
    return special->rule == EMU_IS_OPEN || special->rule == EMU_IS_REFUSED || (special->rule == EMU_BY_RULE && may_follow_rule);
}

int32_t emu_check_policy(const emu_policy *policy, const emu_format *destination)
{
    emu_grid grid;
    int32_t error = emu_make_grid(destination, &grid);
    int32_t gives_inf, gives_nan, sound;
    if (error)
        return error;
    if (!policy)
        return EMU_ERROR_NULL;
    gives_inf = policy->overflow == EMU_TO_INF || policy->overflow == EMU_IEEE_INF;
    gives_nan = policy->overflow == EMU_TO_NAN || policy->overflow == EMU_IEEE_NAN;
    if (policy->overflow < EMU_SATURATE || policy->overflow > EMU_WRAP || (gives_inf && !grid.inf_magnitude))
        return EMU_ERROR_POLICY;
    if (gives_nan && (!grid.is_float || destination->nan == EMU_NAN_NONE))
        return EMU_ERROR_POLICY;
    if (destination->format_class == EMU_CODEBOOK && policy->overflow != EMU_SATURATE)
        return EMU_ERROR_POLICY;
    sound = is_special_sound(&policy->negative, &grid, 1) || (policy->negative.rule == EMU_BY_ROUNDED && emu_is_code(&grid, policy->negative.code));
    for (int32_t sign = 0; sign < 2; sign++) {
        sound = sound && is_special_sound(&policy->nan[sign], &grid, 0) && is_special_sound(&policy->zero[sign], &grid, 1) &&
                is_special_sound(&policy->inf[sign], &grid, 1) && is_special_sound(&policy->overflow_nan[sign], &grid, !gives_nan);
    }
    return sound ? EMU_OK : EMU_ERROR_POLICY;
}

void emu_overflow_infinite(const emu_grid *grid, const emu_policy *policy, int32_t sign, uint64_t *code, uint8_t *open)
{
    *open = EMU_CODE_STANDS;
    if (policy->inf[sign].rule != EMU_BY_RULE)
        emu_take_special(&policy->inf[sign], code, open);
    else if (grid->format->format_class == EMU_CODEBOOK)
        *code = emu_codebook_end(grid, sign);
    else
        emu_leave_range(grid, policy, sign, code, open);
}

int32_t emu_overflow_magnitude(const emu_format *destination, const emu_rounding *rounding, const emu_policy *policy, int32_t sign,
                               const emu_rounded *rounded, uint64_t *code, uint8_t *open)
{
    emu_grid grid;
    int32_t error = emu_make_grid(destination, &grid);
    if (!error)
        error = emu_check_rounding(rounding, destination);
    if (!error)
        error = emu_check_policy(policy, destination);
    if (error)
        return error;
    if (!rounded || !code || !open)
        return EMU_ERROR_NULL;
    if (destination->format_class == EMU_CODEBOOK && rounded->magnitude > emu_low_bits(grid.code_bits))
        return EMU_ERROR_GRID;
    emu_overflow(&grid, rounding, policy, sign && grid.is_signed, rounded, code, open);
    return EMU_OK;
}
