/* factors.c: operand codes of a dot product as significand and nominal exponent. */
#include "datapath.h"

/* Least and largest exponent and significands of the finite codes. */
static void measure_float(emu_operand *operand)
{
    const emu_grid *grid = &operand->grid;
    uint64_t largest = grid->largest[0], hidden = (uint64_t)1 << grid->frac_bits;
    int32_t first = 0, field = (int32_t)(largest >> grid->frac_bits), is_normal = field > 0 || !grid->has_subnormals;
    while (!grid->has_subnormals && !grid->frac_bits && first < field && emu_is_nan_code(grid, (uint64_t)first))
        first++; /* a power of two whose lowest codes are NaN */
    operand->frac_bits = grid->frac_bits;
    operand->min_exp = first + grid->lowest_exp;
    operand->max_exp = is_normal && grid->has_subnormals ? field - 1 + grid->lowest_exp : field + grid->lowest_exp;
    operand->top = (largest & (hidden - 1)) | (is_normal ? hidden : 0);
    operand->widest = field > grid->has_subnormals ? 2 * hidden - 1 : operand->top;
}

void emu_make_operand(const emu_format *format, int32_t flushes, int32_t ignores_unused_bits, emu_operand *operand)
{
    emu_derive_grid(format, &operand->grid);
    operand->flushes = flushes;
    operand->ignores_unused_bits = ignores_unused_bits;
    operand->in_units = 0;
    operand->has_table = 0;
    operand->is_plain = 0;
    if (operand->grid.is_float) {
        measure_float(operand);
    } else {
        operand->frac_bits = 0;
        operand->min_exp = operand->max_exp = format->unit_exp;
        operand->top = operand->grid.largest[operand->grid.is_signed];
        operand->widest = operand->top;
    }
    operand->lsb_exp = operand->min_exp - operand->frac_bits;
}

emu_factor emu_decode_factor(const emu_operand *operand, uint64_t code)
{
    emu_factor factor = {0, operand->min_exp, 0};
    emu_value value;
    emu_decode(&operand->grid, operand->ignores_unused_bits ? code & emu_low_bits(operand->grid.code_bits) : code, &value);
    if (value.value_class == EMU_OPEN) {
        factor.flags = EMU_FACTOR_OPEN;
    } else if (value.value_class == EMU_NAN) {
        factor.flags = EMU_FACTOR_NAN;
    } else if (value.value_class == EMU_INFINITE) {
        factor.flags = EMU_FACTOR_INFINITE;
        factor.significand = value.sign ? -1 : 1;
    } else if (value.value_class == EMU_NORMAL || (value.value_class == EMU_SUBNORMAL && !operand->flushes)) {
        factor.significand = value.sign ? -(int64_t)value.significand : (int64_t)value.significand;
        factor.exp = value.lsb_exp + operand->frac_bits;
    }
    if (operand->in_units && !factor.flags && factor.significand) {
        factor.significand *= (int64_t)1 << (factor.exp - operand->min_exp);
        factor.exp = operand->min_exp;
    }
    return factor;
}

void emu_fill_table(emu_operand *operand, int32_t in_units)
{
    operand->in_units = in_units;
    operand->has_table = operand->grid.code_bytes == 1;
    operand->is_plain = operand->has_table && in_units;
    for (uint64_t code = 0; operand->has_table && code < 256; code++) {
        emu_factor factor = emu_decode_factor(operand, code);
        int32_t is_code = emu_is_code(&operand->grid, code);
        operand->table[code] = factor;
        operand->units[code] = (int32_t)(factor.significand % INT32_MAX);
        if (is_code && (factor.flags || operand->units[code] != factor.significand))
            operand->is_plain = 0;
    }
}
