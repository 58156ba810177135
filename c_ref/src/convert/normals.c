/* normals.c: what the loop over normal codes needs, found out once an array. Its step is in normals.h, which says what it is for. */
#include "normals.h"

/* The next magnitude or not, for each sign, part of the way and parity. */
static void ask_mode(const emu_rounding *rounding, emu_normals *plan)
{
    plan->takes_next = 0;
    for (int32_t sign = 0; sign < 2; sign++) {
        for (int32_t part = EMU_LESS_THAN_HALF; part <= EMU_MORE_THAN_HALF; part++) {
            const emu_discarded discarded = {0, part != EMU_LESS_THAN_HALF, part != EMU_AT_HALF};
            for (int32_t is_odd = 0; is_odd < 2; is_odd++)
                plan->takes_next |= (uint64_t)emu_goes_up(rounding, sign, is_odd, &discarded, 0) << (6 * sign + 2 * part + is_odd);
        }
    }
}

/* The code of everything beyond the maximum; 0 when it is open. Wrapped, nothing is beyond: code_mask keeps the low bits. */
static int32_t ask_overflow(const emu_grid *to, const emu_rounding *rounding, const emu_policy *policy, emu_normals *plan)
{
    for (int32_t sign = 0; sign < 2; sign++) {
        const emu_rounded rounded = {to->largest[sign] + 1, 1, 1};
        uint8_t open;
        emu_overflow(to, rounding, policy, sign, &rounded, &plan->beyond[sign], &open);
        if (open)
            return 0;
        plan->largest[sign] = policy->overflow == EMU_WRAP ? UINT64_MAX : to->largest[sign];
    }
    return 1;
}

/* How many normal codes the loop takes: all, but those whose low bits an integer grid wraps and highest_exp would lose. */
static uint64_t count_normals(const emu_grid *from, const emu_grid *to, const emu_policy *policy, const emu_normals *plan)
{
    int64_t last_field = (int64_t)(from->largest[0] >> from->frac_bits), wanted = plan->highest_exp + plan->source_bias;
    if (to->is_float || policy->overflow != EMU_WRAP || wanted >= last_field)
        return from->largest[0] - plan->first_normal + 1;
    return wanted < 1 ? 0 : (uint64_t)wanted << from->frac_bits; /* the exponent fields 1 .. wanted */
}

static void describe_source(const emu_grid *from, emu_normals *plan)
{
    plan->source_sign_bit = from->sign_bit;
    plan->source_frac_bits = from->frac_bits;
    plan->source_bias = from->bias;
    plan->first_normal = (uint64_t)1 << from->frac_bits;
    plan->normal_count = from->largest[0] - plan->first_normal + 1;
}

static int32_t plan_place(const emu_grid *from, const emu_grid *to, const emu_rounding *rounding, const emu_policy *policy,
                          emu_normals *plan)
{
    int32_t unit_exp = to->is_float ? 0 : to->format->unit_exp;
    int32_t precision = to->is_float ? to->frac_bits : emu_bit_length(to->largest[1]) + 1;
    if (!to->is_signed || !to->has_zero || (to->is_float && !to->has_minus_zero))
        return EMU_ALL_BY_STEPS;
    if (precision >= from->frac_bits || !ask_overflow(to, rounding, policy, plan))
        return EMU_ALL_BY_STEPS;
    ask_mode(rounding, plan);
    plan->lowest_ulp_exp = to->is_float ? to->lowest_exp - to->frac_bits : unit_exp;
    plan->highest_exp = unit_exp + precision;
    if (to->is_float)
        plan->highest_exp = policy->overflow == EMU_WRAP ? EMU_NO_EXP : (1 << to->exp_bits) - to->bias;
    plan->precision = to->is_float ? to->frac_bits : precision + 1;
    plan->frac_bits = to->is_float ? to->frac_bits : 0;
    plan->sign_bit = to->sign_bit;
    plan->negates = to->sign_bit == 0;
    plan->code_mask = emu_low_bits(to->code_bits);
    plan->normal_count = count_normals(from, to, policy, plan);
    return EMU_NORMALS_BY_PLACE;
}

int32_t emu_plan_normals(emu_conversion *job)
{
    const emu_grid *from = &job->from;
    if (!from->is_float || !from->has_subnormals || from->format->nan == EMU_NAN_LIST || from->frac_bits > EMU_WIDEST_SHIFT - 2)
        return EMU_ALL_BY_STEPS;
    if (job->rounding->add != EMU_ADD_NONE)
        return EMU_ALL_BY_STEPS;
    describe_source(from, &job->plan);
    if (job->to.format->format_class != EMU_CODEBOOK)
        return plan_place(from, &job->to, job->rounding, job->policy, &job->plan);
    emu_plan_cuts(&job->to, job->rounding, &job->cuts);
    return EMU_NORMALS_BY_CUTS;
}
