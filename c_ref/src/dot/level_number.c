/* level_number.c: numbers of datapaths of levels, and what registers make of them. */
#include "levels.h"

static const emu_rounding toward_zero = {{{0, 0, 0}, {0, 0, 0}}, EMU_ADD_NONE, 0, {0, 0}};

/* Without zeros at its end. */
void emu_settle_number(emu_number *number)
{
    int32_t spare = emu_wide_spare(&number->magnitude);
    if (!emu_wide_length(&number->magnitude)) {
        number->lsb_exp = 0;
        number->sign = 0;
        return;
    }
    emu_wide_shift_right(&number->magnitude, spare);
    number->lsb_exp += spare;
}

static int32_t is_zero(const emu_number *number)
{
    return !number->special && !emu_wide_length(&number->magnitude);
}

/* Of a number that is 0 the sign that a zero would have. */
static int32_t sign_of_number(const emu_number *number)
{
    return is_zero(number) ? number->negative : number->sign;
}

int32_t emu_read_number(const emu_grid *grid, uint64_t code, int32_t flushes, int32_t ignores_unused_bits, emu_number *number)
{
    const emu_number nothing = {0, 0, 0, 0, 0, 0, {{0}}};
    int32_t frac_bits = grid->is_float ? grid->frac_bits : 0;
    emu_value value;
    emu_decode(grid, ignores_unused_bits ? code & emu_low_bits(grid->code_bits) : code, &value);
    *number = nothing;
    if (value.value_class == EMU_OPEN)
        return EMU_ERROR_OPEN;
    number->negative = value.sign;
    if (value.value_class == EMU_NAN || value.value_class == EMU_INFINITE) {
        number->special = value.value_class;
        number->sign = value.value_class == EMU_INFINITE && value.sign;
        return EMU_OK;
    }
    if (value.value_class == EMU_ZERO || (value.value_class == EMU_SUBNORMAL && flushes))
        return EMU_OK;
    number->sign = value.sign;
    number->live = 1;
    number->exp = value.lsb_exp + frac_bits;
    number->lsb_exp = value.lsb_exp;
    number->magnitude.limbs[0] = value.significand;
    emu_settle_number(number);
    return EMU_OK;
}

void emu_multiply_numbers(const emu_number *a, const emu_number *b, emu_number *product)
{
    emu_number found = {0, 0, 0, 0, 0, 0, {{0}}};
    found.negative = sign_of_number(a) != sign_of_number(b);
    if (a->special == EMU_NAN || b->special == EMU_NAN || ((a->special || b->special) && (is_zero(a) || is_zero(b)))) {
        found.special = EMU_NAN;
    } else if (a->special || b->special) {
        found.special = EMU_INFINITE;
        found.sign = found.negative;
    } else {
        found.live = a->live && b->live;
        found.exp = a->exp + b->exp;
        found.lsb_exp = a->lsb_exp + b->lsb_exp;
        found.sign = found.negative;
        emu_wide_multiply(&a->magnitude, &b->magnitude, &found.magnitude);
        emu_settle_number(&found);
    }
    *product = found;
}

int32_t emu_shift_rounded(const emu_number *number, int32_t unit_exp, const emu_rounding *rounding, uint32_t random, emu_wide *units)
{
    const emu_wide one = {{1}};
    int32_t places = unit_exp - number->lsb_exp, window;
    emu_discarded discarded;
    emu_wide low = number->magnitude;
    *units = number->magnitude;
    if (!emu_wide_length(units))
        return EMU_OK;
    if (places <= 0) {
        if (emu_wide_length(units) - places > EMU_MOST_NUMBER_BITS)
            return EMU_ERROR_DATAPATH;
        emu_wide_shift_left(units, EMU_WIDE_LIMBS, -places);
        return EMU_OK;
    }
    if (!rounding)
        return EMU_ERROR_DATAPATH; /* the last bit of a number is 1 */
    emu_wide_shift_right(units, places);
    window = places - rounding->random_bits - 1; /* what follows the point: random_bits of it, one more, the rest */
    if (window >= 0)
        emu_wide_shift_right(&low, window);
    else
        emu_wide_shift_left(&low, EMU_WIDE_LIMBS, -window);
    discarded.top = low.limbs[0] >> 1 & emu_low_bits(rounding->random_bits);
    discarded.next_bit = (int32_t)(low.limbs[0] & 1);
    discarded.rest = window > 0;
    if (emu_goes_up(rounding, number->sign, (int32_t)(units->limbs[0] & 1), &discarded, random))
        emu_wide_add(units, &one, 0);
    return EMU_OK;
}

/* The number as a value: the top 64 bits, a 1 at the end for what lies below them. */
static void top_of(const emu_number *number, emu_value *top)
{
    emu_wide_top(&number->magnitude, EMU_WIDE_LIMBS, top);
    top->sign = sign_of_number(number);
    top->lsb_exp += number->lsb_exp;
}

static int32_t encode_by_policy(const emu_level_path *path, const emu_hold *hold, const emu_grid *grid, uint32_t random,
                                const emu_number *number, uint64_t *code)
{
    const emu_rounding *rounding = hold->rounding ? hold->rounding : &toward_zero;
    const emu_policy *policy = hold->policy;
    uint8_t open = EMU_CODE_STANDS;
    emu_rounded rounded;
    emu_value top;
    top_of(number, &top);
    if (is_zero(number))
        top.sign = path->facts->ieee_zero && number->negative;
    if (number->special == EMU_NAN) {
        emu_take_special(&policy->nan[0], code, &open);
    } else if (is_zero(number) && policy->zero[top.sign].rule != EMU_BY_RULE) {
        emu_take_special(&policy->zero[top.sign], code, &open);
    } else if (number->special) {
        emu_overflow_infinite(grid, policy, number->sign, code, &open);
    } else {
        emu_round(grid, rounding, &top, random, &rounded);
        emu_overflow(grid, rounding, policy, top.sign, &rounded, code, &open);
    }
    if (*code == grid->sign_bit && !path->facts->ieee_zero)
        *code = 0;
    return open == EMU_CODE_STANDS ? EMU_OK : open == EMU_CODE_OPEN ? EMU_ERROR_OPEN : EMU_ERROR_REFUSED;
}

/* The code of a number: overflow, flushed subnormals and the sign of zero as the words say. */
static uint64_t encode_by_words(const emu_level_path *path, const emu_hold *hold, const emu_grid *grid, uint32_t random,
                                const emu_number *number)
{
    const emu_rounding *rounding = hold->rounding ? hold->rounding : &toward_zero;
    uint64_t magnitude = 0;
    emu_value top;
    top_of(number, &top);
    if (top.significand) {
        int32_t exp = top.lsb_exp + emu_bit_length(top.significand) - 1, most = (int32_t)(grid->largest[0] >> grid->frac_bits) + grid->lowest_exp;
        magnitude = exp > most ? UINT64_MAX : emu_round_kept(grid, rounding, hold->keep, &top, random);
    }
    if (magnitude > grid->largest[0]) {
        int32_t stays = hold->beyond == EMU_BEYOND_MAX || (hold->beyond == EMU_BEYOND_IEEE && rounding->beyond_max[top.sign] == EMU_STOP_AT_MAX);
        magnitude = stays ? grid->largest[0] : grid->inf_magnitude;
    }
    if (hold->flushes && magnitude >> grid->frac_bits == 0)
        magnitude = 0;
    if (!magnitude && !path->facts->ieee_zero)
        return 0;
    return emu_attach_sign(grid, top.sign, magnitude);
}

static int32_t same_number(const emu_number *a, const emu_number *b)
{
    emu_wide difference = a->magnitude;
    emu_wide_add(&difference, &b->magnitude, 1);
    return !b->special & (a->lsb_exp == b->lsb_exp) & (a->sign == b->sign) & !emu_wide_length(&difference);
}

int32_t emu_encode_number(const emu_level_path *path, const emu_hold *hold, uint32_t random, const emu_number *number, uint64_t *code)
{
    int32_t error = EMU_OK;
    emu_grid grid;
    emu_derive_grid(hold->format, &grid);
    if (hold->policy)
        error = encode_by_policy(path, hold, &grid, random, number, code);
    else if (number->special == EMU_NAN)
        *code = path->facts->nan_code;
    else if (number->special)
        *code = emu_attach_sign(&grid, number->sign, grid.inf_magnitude);
    else
        *code = encode_by_words(path, hold, &grid, random, number);
    if (!error && !hold->rounding && !number->special) {
        emu_number read;
        emu_read_number(&grid, *code, 0, 0, &read);
        error = same_number(number, &read) ? EMU_OK : EMU_ERROR_DATAPATH;
    }
    return error;
}

static int32_t hold_float(const emu_level_path *path, const emu_hold *hold, uint32_t random, emu_number *number)
{
    emu_grid grid;
    uint64_t code;
    int32_t error;
    if (number->special && !hold->policy)
        return EMU_OK;
    error = emu_encode_number(path, hold, random, number, &code);
    if (error)
        return error;
    emu_derive_grid(hold->format, &grid);
    return emu_read_number(&grid, code, 0, 0, number);
}

void emu_number_of(const emu_wide *sum, int32_t lsb_exp, emu_number *number)
{
    const int32_t sign = (int32_t)(sum->limbs[EMU_WIDE_LIMBS - 1] >> 63);
    emu_wide_clear(&number->magnitude, EMU_WIDE_LIMBS);
    emu_wide_add(&number->magnitude, sum, sign);
    number->sign = sign;
    number->lsb_exp = lsb_exp;
    emu_settle_number(number);
}

/* The end of a register on one side. */
static void end_of_register(int32_t bits, int32_t sign, int32_t is_symmetric, emu_wide *end)
{
    const emu_wide one = {{1}};
    *end = one;
    emu_wide_shift_left(end, EMU_WIDE_LIMBS, bits - 1);
    if (is_symmetric || !sign)
        emu_wide_add(end, &one, 1);
    if (sign) {
        emu_wide size = *end;
        emu_wide_clear(end, EMU_WIDE_LIMBS);
        emu_wide_add(end, &size, 1);
    }
}

static int32_t hold_fixed(const emu_hold *hold, int32_t unit_exp, uint32_t random, emu_number *number)
{
    emu_wide units, held;
    int32_t error = emu_shift_rounded(number, unit_exp, hold->rounding, random, &units), fits;
    if (error)
        return error;
    emu_wide_clear(&held, EMU_WIDE_LIMBS);
    emu_wide_add(&held, &units, number->sign);
    fits = emu_wide_fits(&held, EMU_WIDE_LIMBS, hold->bits) &&
           (hold->beyond != EMU_BEYOND_SYMMETRIC || emu_wide_length(&units) < hold->bits);
    if (!fits && hold->beyond == EMU_BEYOND_ERROR)
        return EMU_ERROR_OVERFLOW;
    if (!fits && hold->beyond == EMU_BEYOND_INF) {
        number->special = EMU_INFINITE;
        return EMU_OK;
    }
    if (!fits && hold->beyond == EMU_BEYOND_WRAP)
        emu_wide_wrap(&held, EMU_WIDE_LIMBS, hold->bits);
    else if (!fits)
        end_of_register(hold->bits, number->sign, hold->beyond == EMU_BEYOND_SYMMETRIC, &held);
    emu_number_of(&held, unit_exp, number);
    number->exp = 0;
    number->live = emu_wide_length(&number->magnitude) != 0;
    number->negative = 0;
    return EMU_OK;
}

static int32_t cut_number(const emu_hold *hold, uint32_t random, emu_number *number)
{
    int32_t length = emu_wide_length(&number->magnitude);
    int32_t unit_exp = hold->is_fraction ? number->exp - hold->bits : number->lsb_exp + length - hold->bits;
    emu_wide units;
    if (unit_exp <= number->lsb_exp)
        return EMU_OK;
    (void)emu_shift_rounded(number, unit_exp, hold->rounding, random, &units); /* it has a rounding, and grows no longer */
    number->magnitude = units;
    number->lsb_exp = unit_exp;
    emu_settle_number(number);
    return EMU_OK;
}

int32_t emu_hold_number(const emu_level_path *path, const emu_hold *hold, int32_t unit_exp, uint32_t random, emu_number *number)
{
    if (hold->kind == EMU_HOLD_EXACT)
        return EMU_OK;
    if (hold->kind == EMU_HOLD_FLOAT)
        return hold_float(path, hold, random, number);
    if (number->special)
        return EMU_OK;
    return hold->kind == EMU_HOLD_FIXED ? hold_fixed(hold, unit_exp, random, number) : cut_number(hold, random, number);
}
