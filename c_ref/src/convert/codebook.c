/* codebook.c: round a value to a list of values. Neighbours are taken in value order; the tie rule belongs to the format. */
#include "../steps.h"

/* A value in units of the list: sign, the whole units of its magnitude (cut at 2^62, which is above every entry), and what is left. */
typedef struct in_units {
    int64_t whole; /* signed */
    int32_t left;  /* 1: the magnitude lies between `whole` and the next unit */
} in_units;

static in_units count_units(const emu_value *value, int32_t bits, int32_t unit_exp)
{
    const uint64_t limit = (uint64_t)1 << 62;
    int32_t shift = unit_exp - value->lsb_exp; /* low bits of the significand below one unit */
    in_units units = {0, 0};
    uint64_t whole;
    if (value->significand && bits - shift > 62)
        whole = limit;
    else
        whole = shift > 0 ? emu_shift_right(value->significand, shift) : emu_shift_left(value->significand, -shift);
    units.whole = value->sign ? -(int64_t)whole : (int64_t)whole;
    units.left = whole != limit && shift > 0 && (value->significand & emu_low_bits(shift)) != 0;
    return units;
}

static uint64_t absolute(int64_t units)
{
    return units < 0 ? (uint64_t)-units : (uint64_t)units;
}

static int32_t is_same_value(const emu_format *format, int32_t a, int32_t b)
{
    return format->values[a] == format->values[b] && (a == format->minus_zero_code) == (b == format->minus_zero_code);
}

/* The order of the list: by value, -0 before +0, then by code. 1: entry a comes after entry b, another one. */
static int32_t comes_after(const emu_format *format, int32_t a, int32_t b)
{
    if (format->values[a] != format->values[b])
        return format->values[a] > format->values[b];
    if (a == format->minus_zero_code || b == format->minus_zero_code)
        return b == format->minus_zero_code;
    return a > b;
}

void emu_sort_codebook(const emu_format *format, uint8_t *ascending)
{
    for (int32_t code = 0; code < 1 << format->bits; code++) {
        int32_t place = code;
        for (; place > 0 && comes_after(format, ascending[place - 1], code); place--)
            ascending[place] = ascending[place - 1];
        ascending[place] = (uint8_t)code;
    }
    for (int32_t place = 1; place < 1 << format->bits; place++) { /* of several codes of one value the first is given */
        if (is_same_value(format, ascending[place - 1], ascending[place]))
            ascending[place] = ascending[place - 1];
    }
}

uint64_t emu_codebook_end(const emu_grid *grid, int32_t sign)
{
    return grid->ascending[sign ? 0 : (1 << grid->format->bits) - 1];
}

/* How many entries lie below a number of units: by halves. */
static int32_t count_below(const emu_grid *grid, int64_t units)
{
    const int64_t *values = grid->format->values;
    int32_t count = 0;
    for (int32_t step = 1 << grid->format->bits >> 1; step > 0; step /= 2)
        count += values[grid->ascending[count + step - 1]] < units ? step : 0;
    return count + (values[grid->ascending[count]] < units);
}

/* The code of the value that the entries from `place` on hold; of two zeros the one with the value's sign, else the first. */
static int32_t take_equal(const emu_grid *grid, const emu_value *value, int32_t place)
{
    const emu_format *format = grid->format;
    for (int32_t i = place; !value->significand && i < 1 << format->bits && !format->values[grid->ascending[i]]; i++) {
        if (value->sign == (grid->ascending[i] == format->minus_zero_code))
            return grid->ascending[i];
    }
    return grid->ascending[place];
}

/* (|value| - near) / gap as a binary fraction, by long division: one quotient bit a step, one more bit of the value a step. */
static void divide_gap(const emu_value *value, int32_t unit_exp, uint64_t near, uint64_t gap, int32_t bits, emu_discarded *discarded)
{
    int32_t shift = unit_exp - value->lsb_exp; /* low bits of the significand below one unit */
    uint64_t units = shift > 0 ? emu_shift_right(value->significand, shift) : emu_shift_left(value->significand, -shift);
    uint64_t remainder = units - near;
    discarded->top = 0;
    discarded->next_bit = 0;
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

/* A value strictly between two entries. */
static int32_t choose_neighbour(const emu_format *format, const emu_rounding *rounding, const emu_value *value, int32_t low, int32_t high,
                                uint32_t random)
{
    int32_t near = value->sign ? high : low, far = value->sign ? low : high;
    emu_discarded discarded;
    divide_gap(value, format->unit_exp, absolute(format->values[near]), absolute(format->values[far] - format->values[near]),
               rounding->random_bits, &discarded);
    if (rounding->add == EMU_ADD_NONE && discarded.next_bit && !discarded.rest &&
        rounding->choice[value->sign][EMU_AT_HALF] == EMU_TO_EVEN_CODE)
        return break_tie(format, low, high, far);
    return emu_goes_up(rounding, value->sign, 0, &discarded, random) ? far : near;
}

void emu_round_to_codebook(const emu_grid *grid, const emu_rounding *rounding, const emu_value *value, int32_t bits, uint32_t random,
                           emu_rounded *rounded)
{
    const emu_format *format = grid->format;
    in_units units = count_units(value, bits, format->unit_exp);
    /* an entry below a positive value may be `whole` itself where something is left; above a negative one it is not */
    int32_t place = count_below(grid, units.whole + (units.left && !value->sign));
    int32_t count = 1 << format->bits, code;
    rounded->beyond = 0;
    rounded->inexact = 1;
    if (place < count && !units.left && format->values[grid->ascending[place]] == units.whole) {
        code = take_equal(grid, value, place);
        rounded->inexact = 0;
    } else if (place == 0 || place == count) {
        rounded->beyond = 1;
        code = (int32_t)emu_codebook_end(grid, place == 0);
    } else {
        code = choose_neighbour(format, rounding, value, grid->ascending[place - 1], grid->ascending[place], random);
    }
    rounded->magnitude = (uint64_t)code;
}
