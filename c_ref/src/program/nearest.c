/* nearest.c: the operation that searches the codes of a format for the one nearest to a value. */
#include "loops.h"

enum { EMU_SEARCHED_CODES = 256 };

/* The finite codes of the step's format in ascending order, and their values as codes of the arithmetic. */
typedef struct candidates {
    int32_t count;
    uint64_t codes[EMU_SEARCHED_CODES];
    uint64_t values[EMU_SEARCHED_CODES];
} candidates;

static int32_t find_candidates(const emu_context *context, candidates *found)
{
    int32_t error = EMU_OK;
    found->count = 0;
    for (uint64_t code = 0; !error && code <= emu_low_bits(context->to.code_bits); code++) {
        emu_value value;
        emu_decode(&context->to, code, &value);
        if (value.value_class == EMU_NAN || value.value_class == EMU_INFINITE)
            continue;
        found->codes[found->count] = code;
        error = emu_encode(&context->grid, &value, &found->values[found->count++]);
    }
    return error;
}

/* One search: |value * unit - v| of every candidate; a later one must be less. */
static uint64_t search(const emu_arithmetic *arithmetic, emu_ends ends, const candidates *all, uint64_t v, uint64_t unit)
{
    uint64_t best = 0, least = ends.nan;
    for (int32_t i = 0; i < all->count; i++) {
        uint64_t product = emu_calculate(arithmetic, EMU_OP_MUL, all->values[i], unit, 0);
        uint64_t error = emu_calculate(arithmetic, EMU_OP_SUB, product, v, 0) & ~ends.sign_bit;
        if (!i || emu_holds(ends, EMU_TEST_LT, error, least)) {
            best = all->codes[i];
            least = error;
        }
    }
    return best;
}

int32_t emu_find_nearest(const emu_context *context, const emu_row *row)
{
    candidates all;
    emu_arithmetic arithmetic;
    int32_t error = find_candidates(context, &all);
    emu_make_arithmetic(&context->grid, &context->grid, context->step->rounding, &arithmetic);
    for (size_t i = 0; !error && i < row->count; i++)
        row->out[i] = search(&arithmetic, emu_ends_of(&context->grid), &all, row->args[0][i], row->args[1][i]);
    return error;
}
