/* cuts.c: the cuts of a codebook and the codes at and between them. Its step is in cuts.h, which says what it is for. */
#include "cuts.h"

/* The code that a number of quarter units is rounded to. */
static uint8_t ask(const emu_grid *to, const emu_rounding *rounding, int64_t quarters)
{
    emu_value value = {EMU_NORMAL, quarters < 0, to->format->unit_exp - 2, (uint64_t)(quarters < 0 ? -quarters : quarters)};
    emu_rounded rounded;
    if (!quarters)
        value.value_class = EMU_ZERO;
    emu_round_to_codebook(to, rounding, &value, emu_bit_length(value.significand), 0, &rounded);
    return (uint8_t)rounded.magnitude;
}

void emu_plan_cuts(const emu_grid *to, const emu_rounding *rounding, emu_cuts *plan)
{
    const int64_t *values = to->format->values;
    int32_t last = 2 * (1 << to->format->bits) - 1; /* one more than the last cut's number */
    for (int32_t i = 0; i < EMU_MAX_CUTS; i++)
        plan->cut[i] = i < last ? values[to->ascending[i / 2]] + values[to->ascending[(i + 1) / 2]] : INT64_MAX;
    for (int32_t i = 0; i < last; i++) {
        plan->at[i] = ask(to, rounding, 2 * plan->cut[i]);
        plan->below[i] = ask(to, rounding, i ? plan->cut[i - 1] + plan->cut[i] : 2 * plan->cut[0] - 1);
    }
    plan->at[last] = plan->below[last] = ask(to, rounding, 2 * plan->cut[last - 1] + 1);
    plan->steps = to->format->bits + 1;
    plan->half_exp = (int64_t)to->format->unit_exp - 1;
}
