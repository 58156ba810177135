/* codebook.c: round a value to a list of values. Neighbours are taken in value order; the tie rule belongs to the format. */
#include "steps.h"

/* -1, 0, 1: |value| against an integer number of units, both sides exact. */
static int32_t compare_magnitude(const emu_value *value, int32_t unit_exp, uint64_t units)
{
    int32_t value_bits = emu_bit_length(value->significand), unit_bits = emu_bit_length(units), difference;
    uint64_t a, b;
    if (!value->significand || !units)
        return (value->significand != 0) - (units != 0);
    difference = (value->lsb_exp + value_bits) - (unit_exp + unit_bits);
    if (difference)
        return difference < 0 ? -1 : 1;
    a = value->significand << (64 - value_bits);
    b = units << (64 - unit_bits);
    return (a > b) - (a < b);
}

static uint64_t absolute(int64_t units)
{
    return units < 0 ? (uint64_t)-units : (uint64_t)units;
}

/* -1, 0, 1: the signed value against an entry of the list. Zeros of both signs are equal. */
static int32_t compare(const emu_value *value, int32_t unit_exp, int64_t units)
{
    int32_t value_sign = value->significand ? (value->sign ? -1 : 1) : 0;
    int32_t units_sign = (units > 0) - (units < 0);
    if (value_sign != units_sign)
        return value_sign < units_sign ? -1 : 1;
    return value_sign < 0 ? -compare_magnitude(value, unit_exp, absolute(units)) : compare_magnitude(value, unit_exp, absolute(units));
}

/* The order of the list: by value, -0 before +0, then by code. 1: entry a comes after entry b. */
static int32_t comes_after(const emu_format *format, int32_t a, int32_t b)
{
    if (format->values[a] != format->values[b])
        return format->values[a] > format->values[b];
    if (a == format->minus_zero_code || b == format->minus_zero_code)
        return b == format->minus_zero_code && a != b;
    return a > b;
}

uint64_t emu_codebook_end(const emu_format *format, int32_t sign)
{
    int32_t end = 0;
    for (int32_t code = 1; code < 1 << format->bits; code++) {
        if (comes_after(format, code, end) != sign)
            end = code;
    }
    return (uint64_t)end;
}

/* The code of a value that is in the list, -1 if it is not; of two zeros the one with the value's sign. */
static int32_t find_equal(const emu_format *format, const emu_value *value)
{
    int32_t found = -1;
    for (int32_t code = 0; code < 1 << format->bits; code++) {
        if (compare(value, format->unit_exp, format->values[code]) != 0)
            continue;
        if (!value->significand && value->sign == (code == format->minus_zero_code))
            return code;
        if (found < 0 || comes_after(format, found, code))
            found = code;
    }
    return found;
}

/* The last entry below the value and the first one above it; -1 where there is none. */
static void find_neighbours(const emu_format *format, const emu_value *value, int32_t *low, int32_t *high)
{
    *low = *high = -1;
    for (int32_t code = 0; code < 1 << format->bits; code++) {
        if (compare(value, format->unit_exp, format->values[code]) > 0) {
            if (*low < 0 || comes_after(format, code, *low))
                *low = code;
        } else if (*high < 0 || comes_after(format, *high, code)) {
            *high = code;
        }
    }
}

/* (|value| - near) / gap as a binary fraction, by long division: one quotient bit a step, one more bit of the value a step. */
static void divide_gap(const emu_value *value, int32_t unit_exp, uint64_t near, uint64_t gap, int32_t bits, emu_discarded *discarded)
{
    int32_t shift = unit_exp - value->lsb_exp; /* low bits of the significand below one unit */
    uint64_t units = shift > 0 ? emu_shift_right(value->significand, shift) : emu_shift_left(value->significand, -shift);
    uint64_t remainder = units - near;
    discarded->top = 0;
    for (int32_t step = 0; step <= bits; step++) {
        uint64_t quotient_bit;
        shift--;
        remainder = 2 * remainder + (shift >= 0 ? emu_shift_right(value->significand, shift) & 1 : 0);
        quotient_bit = remainder >= gap;
        remainder -= quotient_bit ? gap : 0;
        if (step < bits)
            discarded->top = 2 * discarded->top + quotient_bit;
        else
            discarded->next_bit = (int32_t)quotient_bit;
    }
    discarded->rest = remainder != 0 || (shift > 0 && (value->significand & emu_low_bits(shift)) != 0);
}

static int32_t break_tie(const emu_format *format, int32_t low, int32_t high, int32_t far)
{
    if (format->tie == EMU_TIE_LOWER)
        return low;
    if (format->tie == EMU_TIE_AWAY)
        return far;
    return low % 2 == 0 ? low : high;
}

void emu_round_to_codebook(const emu_format *format, const emu_rounding *rounding, const emu_value *value, uint32_t random,
                           emu_rounded *rounded)
{
    int32_t low, high, near, far, code = find_equal(format, value);
    emu_discarded discarded;
    rounded->beyond = 0;
    rounded->inexact = code < 0;
    if (code < 0) {
        find_neighbours(format, value, &low, &high);
        if (low < 0 || high < 0) {
            rounded->beyond = 1;
            code = (int32_t)emu_codebook_end(format, low < 0);
        } else {
            near = value->sign ? high : low;
            far = value->sign ? low : high;
            divide_gap(value, format->unit_exp, absolute(format->values[near]), absolute(format->values[far] - format->values[near]),
                       rounding->random_bits, &discarded);
            if (rounding->add == EMU_ADD_NONE && discarded.next_bit && !discarded.rest &&
                rounding->choice[value->sign][EMU_AT_HALF] == EMU_TO_EVEN_CODE)
                code = break_tie(format, low, high, far);
            else
                code = emu_goes_up(rounding, value->sign, 0, &discarded, random) ? far : near;
        }
    }
    rounded->magnitude = (uint64_t)code;
}
