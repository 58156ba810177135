/* layout.c: where in memory the code of a row and an index lies. */
#include "../steps.h"

/* The digits of one axis, by step: each goes on where the one before it ends, and the last has the rest. */
static int32_t is_axis_sound(const emu_layout *layout, int32_t is_row)
{
    int64_t reach = 1; /* step of the digit that must come next; 0: the one with the rest has come */
    int32_t left = 0;
    for (int32_t i = 0; i < layout->digit_count; i++)
        left += layout->digits[i].is_row == is_row;
    if (!left)
        return 0;
    for (; left > 0; left--) {
        const emu_digit *next = NULL;
        for (int32_t i = 0; i < layout->digit_count; i++) {
            if (layout->digits[i].is_row == is_row && layout->digits[i].step == reach)
                next = &layout->digits[i];
        }
        if (!next || (next->count == 0) != (left == 1))
            return 0;
        reach *= next->count;
    }
    return 1;
}

int32_t emu_check_layout(const emu_layout *layout)
{
    if (!layout || !layout->digits)
        return EMU_ERROR_NULL;
    if (layout->digit_count < 2 || layout->digit_count > EMU_MAX_DIGITS || (layout->code_bits != 4 && layout->code_bits != 8) ||
        (layout->holds_scales & ~1))
        return EMU_ERROR_LAYOUT;
    for (int32_t i = 0; i < layout->digit_count; i++) {
        const emu_digit *digit = &layout->digits[i];
        if ((digit->is_row & ~1) || digit->step < 1 || digit->step > EMU_MAX_SIDE || digit->count < 0 || digit->count == 1 ||
            digit->count > EMU_MAX_SIDE)
            return EMU_ERROR_LAYOUT;
    }
    return is_axis_sound(layout, 0) && is_axis_sound(layout, 1) ? EMU_OK : EMU_ERROR_LAYOUT;
}

/* Both axes are padded to less than 2^32, so a place has at most 64 bits. */
int32_t emu_layout_place(const emu_layout *layout, uint64_t row, uint64_t index, uint64_t rows, uint64_t codes, uint64_t *place)
{
    uint64_t found = 0, weight = 1;
    int32_t error = emu_check_layout(layout);
    if (error)
        return error;
    if (!place)
        return EMU_ERROR_NULL;
    if (rows >> 31 || codes >> 31 || row >= rows || index >= codes)
        return EMU_ERROR_SHAPE;
    for (int32_t i = 0; i < layout->digit_count; i++) {
        const emu_digit *digit = &layout->digits[i];
        uint64_t step = (uint64_t)digit->step, value = (digit->is_row ? row : index) / step;
        uint64_t count = digit->count ? (uint64_t)digit->count : ((digit->is_row ? rows : codes) + step - 1) / step;
        found += value % count * weight;
        weight *= count;
    }
    *place = found;
    return EMU_OK;
}
