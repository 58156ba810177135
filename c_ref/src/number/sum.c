/* sum.c: exact sums of values of one arithmetic format, as a two's complement integer of as many words as the format's range needs. */
#include "../steps.h"

void emu_start_sum(emu_accumulator *sum, const emu_grid *grid)
{
    const emu_accumulator empty = {0};
    *sum = empty;
    sum->lsb_exp = 1 - grid->bias - grid->frac_bits;
    sum->limb_count = ((1 << grid->exp_bits) + grid->frac_bits) / 64 + 2; /* and at least 64 bits for carries and the sign */
}

/* Add the two words, or subtract them, from limb `first` on. */
static void add_words(emu_accumulator *sum, int32_t first, uint64_t low, uint64_t high, int32_t negative)
{
    uint64_t carry = 0;
    for (int32_t i = first; i < sum->limb_count; i++) {
        uint64_t word = i == first ? low : i == first + 1 ? high : 0, limb = sum->limbs[i];
        if (negative) {
            uint64_t difference = limb - word;
            uint64_t borrow = limb < word || difference < carry;
            sum->limbs[i] = difference - carry;
            carry = borrow;
        } else {
            uint64_t partial = limb + word;
            uint64_t over = partial < limb;
            sum->limbs[i] = partial + carry;
            carry = over || sum->limbs[i] < partial;
        }
        if (i > first && !carry)
            return;
    }
}

void emu_add_term(emu_accumulator *sum, const emu_value *term)
{
    int32_t shift = term->lsb_exp - sum->lsb_exp;
    if (term->value_class == EMU_NAN) {
        sum->has_nan = 1;
    } else if (term->value_class == EMU_INFINITE) {
        sum->has_inf[term->sign] = 1;
    } else if (term->value_class == EMU_ZERO) {
        sum->has_zero[term->sign] = 1;
    } else {
        uint64_t high = shift % 64 ? term->significand >> (64 - shift % 64) : 0;
        sum->has_finite = 1;
        add_words(sum, shift / 64, term->significand << shift % 64, high, term->sign);
    }
}

static void negate(emu_accumulator *sum)
{
    uint64_t carry = 1;
    for (int32_t i = 0; i < sum->limb_count; i++) {
        sum->limbs[i] = ~sum->limbs[i] + carry;
        carry = carry && !sum->limbs[i];
    }
}

/* The magnitude in the limbs as 64 bits; what lies below them leaves a 1 at the end. */
static void take_top(const emu_accumulator *sum, emu_value *total)
{
    int32_t top = sum->limb_count - 1, length, rest = 0;
    while (top > 0 && !sum->limbs[top])
        top--;
    total->significand = sum->limbs[top];
    total->lsb_exp = sum->lsb_exp + 64 * top;
    length = emu_bit_length(total->significand);
    if (top > 0 && length < 64) {
        total->significand = total->significand << (64 - length) | sum->limbs[top - 1] >> length;
        total->lsb_exp -= 64 - length;
        rest = (sum->limbs[top - 1] & emu_low_bits(length)) != 0;
        top--;
    }
    while (!rest && top > 0)
        rest = sum->limbs[--top] != 0;
    total->significand |= (uint64_t)rest;
}

void emu_end_sum(const emu_accumulator *sum, int32_t down, emu_value *total)
{
    const emu_value nothing = {EMU_ZERO, 0, 0, 0};
    emu_accumulator work = *sum;
    *total = nothing;
    if (sum->has_nan || (sum->has_inf[0] && sum->has_inf[1])) {
        total->value_class = EMU_NAN;
        return;
    }
    if (sum->has_inf[0] || sum->has_inf[1]) {
        total->value_class = EMU_INFINITE;
        total->sign = sum->has_inf[1];
        return;
    }
    total->sign = (int32_t)(work.limbs[work.limb_count - 1] >> 63);
    if (total->sign)
        negate(&work);
    take_top(&work, total);
    if (total->significand) {
        total->value_class = EMU_NORMAL;
        return;
    }
    total->lsb_exp = 0;
    total->sign = !sum->has_finite && sum->has_zero[0] != sum->has_zero[1] ? sum->has_zero[1] : down;
}

/* The second half added to the first, lane by lane, again and again until `least` are left in scratch. */
static void add_halves(const emu_arithmetic *arithmetic, const uint64_t *codes, size_t count, size_t least, uint64_t *scratch)
{
    for (size_t i = 0; i < count; i++)
        scratch[i] = codes[i];
    for (size_t half = count / 2; half >= least; half /= 2) {
        for (size_t i = 0; i < half; i++)
            scratch[i] = emu_calculate(arithmetic, EMU_OP_ADD, scratch[i], scratch[i + half], 0);
    }
}

uint64_t emu_sum(const emu_arithmetic *arithmetic, int32_t order, const uint64_t *codes, size_t count, uint64_t *scratch)
{
    emu_accumulator sum;
    emu_value total;
    uint64_t code = 0; /* +0 */
    if (order == EMU_SUM_TREE) {
        add_halves(arithmetic, codes, count, 1, scratch);
        return scratch[0];
    }
    if (order == EMU_SUM_HALVES) {
        add_halves(arithmetic, codes, count, count / 2, scratch);
        codes = scratch;
        count /= 2;
    }
    if (order != EMU_SUM_EXACT) {
        for (size_t i = 0; i < count; i++)
            code = emu_calculate(arithmetic, EMU_OP_ADD, code, codes[i], 0);
        return code;
    }
    emu_start_sum(&sum, arithmetic->grid);
    sum.has_zero[0] = 1; /* it starts from +0 */
    for (size_t i = 0; i < count; i++) {
        emu_decode(arithmetic->grid, codes[i], &total);
        emu_add_term(&sum, &total);
    }
    emu_end_sum(&sum, emu_rounds_down(arithmetic->rounding), &total);
    return emu_round_to_code(arithmetic->to, arithmetic->rounding, &total);
}
