/* Calls of the functions on layouts: digits that follow on one another, shuffled, and some that do not. */
#include "fuzz.h"

static emu_digit digits[EMU_MAX_DIGITS];

/* Digits of one axis behind those that are there. */
static void add_axis(stream *random, emu_layout *layout, int32_t is_row)
{
    int32_t step = 1;
    for (int32_t left = (int32_t)below(random, 4); left >= 0; left--) {
        emu_digit digit = {is_row, step, left && step < 512 ? 2 + (int32_t)below(random, 6) : 0, 0};
        digit.down = digit.count && one_in(random, 4);
        digits[layout->digit_count++] = digit;
        step *= digit.count;
        if (!digit.count)
            return;
    }
}

static void any_layout(stream *random, emu_layout *layout, uint64_t broken_in)
{
    layout->holds_scales = (int32_t)below(random, 2);
    layout->code_bits = one_in(random, 2) ? 4 : 8;
    layout->digit_count = 0;
    layout->digits = digits;
    add_axis(random, layout, 0);
    add_axis(random, layout, 1);
    for (int32_t i = layout->digit_count - 1; i > 0; i--) {
        uint64_t other = below(random, (uint64_t)i + 1);
        emu_digit moved = digits[i];
        digits[i] = digits[other];
        digits[other] = moved;
    }
    if (!broken_in || !one_in(random, broken_in))
        return;
    switch (below(random, 8)) {
    case 0: layout->holds_scales = wild_number(random); break;
    case 1: layout->code_bits = wild_number(random); break;
    case 2: layout->digit_count = one_in(random, 2) ? 1 : (int32_t)below(random, EMU_MAX_DIGITS + 2); break;
    case 3: layout->digits = NULL; break;
    case 4: digits[0].is_row = one_in(random, 2) ? !digits[0].is_row : wild_number(random); break;
    case 5: digits[1].step = wild_number(random); break;
    case 6: digits[0].down = wild_number(random); break;
    default: digits[0].count = wild_number(random); break;
    }
}

void fuzz_check_layout(stream *random, tally *all)
{
    emu_layout layout;
    any_layout(random, &layout, 2);
    add_error(all, emu_check_layout(or_null(random, &layout, 100)));
}

/* A word of any length. One draw after the other: the order in which an expression draws is the compiler's. */
static uint64_t short_word(stream *random)
{
    uint64_t word = next_word(random);
    return word >> below(random, 64);
}

void fuzz_layout_place(stream *random, tally *all)
{
    emu_layout layout;
    uint64_t rows = 1 + below(random, 300), codes = 1 + below(random, 300), place = UNTOUCHED;
    uint64_t row = below(random, rows), index = below(random, codes);
    int32_t error;
    any_layout(random, &layout, 12);
    if (one_in(random, 12))
        rows = one_in(random, 2) ? row : short_word(random);
    if (one_in(random, 12))
        index = one_in(random, 2) ? codes : short_word(random);
    if (one_in(random, 30))
        codes = short_word(random);
    const emu_layout *given = or_null(random, &layout, 100);
    error = emu_layout_place(given, row, index, rows, codes, one_in(random, 100) ? NULL : &place);
    add_error(all, error);
    if (error)
        keeps_words(all, &place, 1);
    else
        add_to(all, place);
}

void fuzz_layout_size(stream *random, tally *all)
{
    emu_layout layout;
    uint64_t rows = below(random, 300), codes = below(random, 300), size = UNTOUCHED;
    int32_t error;
    any_layout(random, &layout, 12);
    if (one_in(random, 12))
        rows = short_word(random);
    const emu_layout *given = or_null(random, &layout, 100);
    error = emu_layout_size(given, rows, codes, one_in(random, 100) ? NULL : &size);
    add_error(all, error);
    if (error)
        keeps_words(all, &size, 1);
    else
        add_to(all, size);
}

void fuzz_layout_locate(stream *random, tally *all)
{
    emu_layout layout;
    uint64_t rows = 1 + below(random, 300), codes = 1 + below(random, 300), at[2] = {UNTOUCHED, UNTOUCHED};
    int32_t error;
    any_layout(random, &layout, 12);
    if (one_in(random, 12))
        codes = short_word(random);
    const emu_layout *given = or_null(random, &layout, 100);
    uint64_t place = next_word(random) >> 40;
    place >>= below(random, 24);
    uint64_t *row = one_in(random, 100) ? NULL : &at[0], *code = one_in(random, 100) ? NULL : &at[1];
    error = emu_layout_locate(given, place, rows, codes, row, code);
    add_error(all, error);
    if (error) {
        keeps_words(all, at, 2);
    } else {
        add_to(all, at[0]);
        add_to(all, at[1]);
    }
}
