/* level_add.c: one addition of a datapath of levels: exactly, or brought to one exponent and cut. */
#include "levels.h"

static int32_t is_zero(const emu_number *number)
{
    return !emu_wide_length(&number->magnitude); /* nothing special comes here */
}

/* NaN and infinities among terms: a NaN, or infinities of both signs, give NaN; else infinities of one sign that one. */
static int32_t find_special(const emu_number *terms, size_t count, const emu_number *running, emu_number *sum, int32_t *raised)
{
    int32_t seen[2] = {0, 0}, has_nan = 0;
    const emu_number nothing = {0, 0, 0, 0, 0, 0, {{0}}};
    for (size_t i = 0; i < count + (running != NULL); i++) {
        const emu_number *term = i < count ? &terms[i] : running;
        has_nan |= term->special == EMU_NAN;
        seen[term->sign] |= term->special == EMU_INFINITE;
    }
    *sum = nothing;
    if (seen[0] & seen[1])
        *raised |= EMU_RAISED_INVALID;
    if (has_nan | (seen[0] & seen[1])) {
        sum->special = EMU_NAN;
    } else if (seen[0] | seen[1]) {
        sum->special = EMU_INFINITE;
        sum->sign = sum->negative = seen[1];
    }
    return sum->special;
}

/* The sign of a sum that is zero: that of equal zeros; else plus, or minus where the rounding goes down. Integers have none. */
static int32_t zero_sign(const emu_hold *hold, const emu_number *terms, size_t count, const emu_number *running)
{
    const emu_number *first = terms; /* there is one */
    int32_t equal = 1;
    if (hold->kind != EMU_HOLD_FLOAT)
        return 0;
    for (size_t i = 0; i < count + (running != NULL); i++) {
        const emu_number *term = i < count ? &terms[i] : running;
        equal &= is_zero(term) & (term->negative == first->negative);
    }
    if (equal)
        return first->negative;
    return hold->rounding && emu_rounds_down(hold->rounding);
}

static int32_t add_exactly(int32_t names_largest, const emu_number *terms, size_t count, const emu_number *running, emu_number *sum)
{
    int32_t unit_exp = 0, found = 0, error = EMU_OK;
    emu_wide total, units;
    for (size_t i = 0; i < count + (running != NULL); i++) {
        const emu_number *term = i < count ? &terms[i] : running;
        if (!is_zero(term) && (!found || term->lsb_exp < unit_exp)) {
            unit_exp = term->lsb_exp;
            found = 1;
        }
        if (term->live && names_largest && (!sum->live || term->exp > sum->exp))
            sum->exp = term->exp;
        sum->live |= term->live;
    }
    emu_wide_clear(&total, EMU_WIDE_LIMBS);
    for (size_t i = 0; i < count + (running != NULL); i++) {
        const emu_number *term = i < count ? &terms[i] : running;
        error |= emu_shift_rounded(term, unit_exp, NULL, 0, &units);
        emu_wide_add(&total, &units, term->sign);
    }
    emu_number_of(&total, unit_exp, sum);
    return error;
}

/* The exponent of a term as alignment sees it. */
static int32_t named_exp(const emu_alignment *words, const emu_number *term)
{
    if (words->is_normalised && !is_zero(term))
        return term->lsb_exp + emu_wide_length(&term->magnitude) - 1 + words->exponent_raise;
    return term->exp + words->exponent_raise;
}

/* The running value with its own cut, then as the others. */
static int32_t cut_running(const emu_alignment *words, int32_t exp, const emu_number *running, int32_t unit_exp, emu_wide *units)
{
    emu_number kept = *running;
    int32_t error;
    if (words->drop_below >= 0 && running->exp < exp - words->drop_below) {
        emu_wide_clear(units, EMU_WIDE_LIMBS);
        return EMU_OK;
    }
    error = emu_shift_rounded(running, exp - words->running_bits, words->running, 0, units);
    kept.magnitude = *units;
    kept.lsb_exp = exp - words->running_bits;
    emu_settle_number(&kept);
    return error | emu_shift_rounded(&kept, unit_exp, words->cut, 0, units);
}

static int32_t add_aligned(const emu_level_plan *plan, const emu_alignment *words, const emu_number *terms, size_t count,
                           const emu_number *running, emu_number *sum, int32_t *raised)
{
    int32_t exp = plan->floor_exp, found = plan->has_floor, unit_exp, error = EMU_OK;
    emu_wide total, units;
    for (size_t i = 0; i < count + (running != NULL); i++) {
        const emu_number *term = i < count ? &terms[i] : running;
        int32_t named = i < count ? named_exp(words, term) : term->exp;
        if (term->live && (!found || named > exp)) {
            exp = named;
            found = 1;
        }
        sum->live |= term->live;
    }
    unit_exp = exp - plan->frac_bits;
    emu_wide_clear(&total, EMU_WIDE_LIMBS);
    for (size_t i = 0; i < count; i++) {
        error |= emu_shift_rounded(&terms[i], unit_exp, words->cut, 0, &units);
        emu_wide_add(&total, &units, terms[i].sign);
    }
    if (running) {
        if (words->running)
            error |= cut_running(words, exp, running, unit_exp, &units);
        else
            error |= emu_shift_rounded(running, unit_exp, words->cut, 0, &units);
        emu_wide_add(&total, &units, running->sign);
    }
    if (words->wraps && !emu_wide_fits(&total, EMU_WIDE_LIMBS, plan->adder_bits))
        *raised |= EMU_RAISED_OVERFLOW;
    if (words->wraps)
        emu_wide_wrap(&total, EMU_WIDE_LIMBS, plan->adder_bits);
    sum->exp = exp;
    emu_number_of(&total, unit_exp, sum);
    return error;
}

int32_t emu_add_numbers(const emu_level_path *path, int32_t level, const emu_hold *hold, const emu_number *terms, size_t count,
                        const emu_number *running, emu_number *sum, int32_t *raised)
{
    const emu_sum_level *words = level ? &path->facts->levels[level - 1] : NULL;
    int32_t error = EMU_OK, is_alone = words && words->add == EMU_SUM_PAIRWISE && count == 1; /* nothing is added to it */
    emu_number found;
    if (!find_special(terms, count, running, &found, raised)) {
        if (words && words->aligns && !is_alone)
            error = add_aligned(&path->plans[level - 1], &words->align, terms, count, running, &found, raised);
        else
            error = add_exactly(words && words->names_largest, terms, count, running, &found);
        if (words && !words->cancelled_counts && !is_alone && is_zero(&found))
            found.live = 0;
        found.negative = zero_sign(hold, terms, count, running);
    }
    *sum = found; /* terms may lie there */
    return error;
}
