/* layout.c: the place of a code in memory, and the code of a place. */
#include "../../emu_ref.h"

enum { MOST_STEP = 4096 };
static const uint64_t MOST_SIDE = 0x7FFFFFFF;

/* The digits of one axis, whatever their order: each step is the product of the counts below it, the last digit alone has none. */
static int32_t check_axis(const emu_layout *layout, int32_t axis)
{
    int32_t reach = 1, left = 0, i;
    for (i = 0; i < layout->digit_count; i++)
        left += layout->digits[i].axis == axis;
    if (!left)
        return EMU_ERROR_LAYOUT;
    while (left) {
        const emu_digit *next = NULL;
        int32_t found = 0;
        for (i = 0; i < layout->digit_count; i++) {
            if (layout->digits[i].axis == axis && layout->digits[i].step == reach) {
                next = &layout->digits[i];
                found++;
            }
        }
        if (found != 1 || (next->count == 0) != (left == 1))
            return EMU_ERROR_LAYOUT;
        if (next->count > 0) {
            if (next->count > MOST_STEP / reach)
                return EMU_ERROR_LAYOUT;
            reach *= next->count;
        }
        left--;
    }
    return EMU_OK;
}

int32_t emu_check_layout(const emu_layout *layout)
{
    int32_t i, error;
    if (!layout)
        return EMU_ERROR_NULL;
    if ((layout->code_bits != 4 && layout->code_bits != 8) || layout->digit_count < 2 || layout->digit_count > EMU_MAX_DIGITS)
        return EMU_ERROR_LAYOUT;
    if (layout->word_bits != 0 && layout->word_bits != 16 && layout->word_bits != 32 && layout->word_bits != 64)
        return EMU_ERROR_LAYOUT;
    for (i = 0; i < layout->digit_count; i++) {
        const emu_digit *digit = &layout->digits[i];
        if ((digit->axis != EMU_AXIS_ROW && digit->axis != EMU_AXIS_IDX) || digit->step < 1 || digit->step > MOST_STEP)
            return EMU_ERROR_LAYOUT;
        if (digit->count < 0 || digit->count == 1 || digit->count > MOST_STEP)
            return EMU_ERROR_LAYOUT;
        if ((digit->down != 0 && digit->down != 1) || (digit->down && !digit->count))
            return EMU_ERROR_LAYOUT;
    }
    if ((error = check_axis(layout, EMU_AXIS_ROW)) || (error = check_axis(layout, EMU_AXIS_IDX)))
        return error;
    if (layout->word_bits) {
        int32_t of_a_word = layout->word_bits / layout->code_bits;
        int32_t rest = 1; /* of the codes that lie together, beyond whole words */
        for (i = 0; i < layout->digit_count && layout->digits[i].count; i++)
            rest = rest * layout->digits[i].count % of_a_word;
        if (rest)
            return EMU_ERROR_LAYOUT;
    }
    return EMU_OK;
}

/* How many values a digit has in a tensor of these sides. */
static uint64_t count_of(const emu_digit *digit, uint64_t rows, uint64_t codes)
{
    uint64_t side = digit->axis == EMU_AXIS_ROW ? rows : codes, step = (uint64_t)digit->step;
    return digit->count ? (uint64_t)digit->count : (side + step - 1) / step;
}

static int32_t check_sides(const emu_layout *layout, uint64_t rows, uint64_t codes)
{
    int32_t error = emu_check_layout(layout);
    if (error)
        return error;
    return rows < 1 || codes < 1 || rows > MOST_SIDE || codes > MOST_SIDE ? EMU_ERROR_SHAPE : EMU_OK;
}

int32_t emu_layout_size(const emu_layout *layout, uint64_t rows, uint64_t codes, uint64_t *size)
{
    int32_t error = check_sides(layout, rows, codes), i;
    uint64_t found = 1;
    if (error)
        return error;
    if (!size)
        return EMU_ERROR_NULL;
    for (i = 0; i < layout->digit_count; i++)
        found *= count_of(&layout->digits[i], rows, codes);
    *size = found;
    return EMU_OK;
}

int32_t emu_layout_place(const emu_layout *layout, uint64_t rows, uint64_t codes, uint64_t row, uint64_t idx, uint64_t *place)
{
    int32_t error = check_sides(layout, rows, codes), i;
    uint64_t found = 0, weight = 1;
    if (error)
        return error;
    if (!place)
        return EMU_ERROR_NULL;
    if (row >= rows || idx >= codes)
        return EMU_ERROR_SHAPE;
    for (i = 0; i < layout->digit_count; i++) {
        const emu_digit *digit = &layout->digits[i];
        uint64_t count = count_of(digit, rows, codes);
        uint64_t value = (digit->axis == EMU_AXIS_ROW ? row : idx) / (uint64_t)digit->step % count;
        found += (digit->down ? count - 1 - value : value) * weight;
        weight *= count;
    }
    *place = found;
    return EMU_OK;
}

int32_t emu_layout_locate(const emu_layout *layout, uint64_t rows, uint64_t codes, uint64_t place, uint64_t *row, uint64_t *idx)
{
    uint64_t size = 0, at[2] = {0, 0};
    int32_t error = emu_layout_size(layout, rows, codes, &size), i;
    if (error)
        return error;
    if (!row || !idx)
        return EMU_ERROR_NULL;
    if (place >= size)
        return EMU_ERROR_SHAPE;
    for (i = 0; i < layout->digit_count; i++) {
        const emu_digit *digit = &layout->digits[i];
        uint64_t count = count_of(digit, rows, codes), value = place % count;
        place /= count;
        at[digit->axis] += (digit->down ? count - 1 - value : value) * (uint64_t)digit->step;
    }
    *row = at[EMU_AXIS_ROW];
    *idx = at[EMU_AXIS_IDX];
    return EMU_OK;
}
