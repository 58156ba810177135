/* promote.c: acc = acc + P * (scale a * scale b) for one group, each operation rounded once to the result format. */
#include "datapath.h"

/* The value of a code of the result format; subnormals of scales and C may be read as zero. */
static void read_value(const emu_operand *operand, uint64_t code, emu_value *value)
{
    emu_decode(&operand->grid, operand->ignores_unused_bits ? code & emu_low_bits(operand->grid.code_bits) : code, value);
    if (value->value_class == EMU_SUBNORMAL && operand->flushes) {
        value->value_class = EMU_ZERO;
        value->significand = 0;
        value->lsb_exp = 0;
    }
}

/* Round and read back. */
static uint64_t round_value(const emu_path *path, const emu_rounding *rounding, emu_value *value)
{
    uint64_t code = emu_round_ieee(path, rounding, value);
    emu_decode(&path->result.grid, code, value);
    return code;
}

/* The exact sum P; +0 where it is 0. */
static int32_t sum_products(const emu_path *path, const emu_strip *strip, size_t start, emu_value *sum)
{
    size_t from_a = strip->row_a * strip->a->columns + start, from_b = strip->row_b * strip->b->columns + start;
    int32_t flags = 0;
    int64_t total = 0;
    for (size_t i = 0; i < (size_t)path->facts->group; i++) {
        emu_factor x = emu_factor_of(&path->a, emu_code_at(strip->a, from_a + i));
        emu_factor y = emu_factor_of(&path->b, emu_code_at(strip->b, from_b + i));
        total += x.significand * y.significand;
        flags |= x.flags | y.flags;
    }
    sum->value_class = total ? EMU_NORMAL : EMU_ZERO;
    sum->sign = total < 0;
    sum->significand = total < 0 ? 0 - (uint64_t)total : (uint64_t)total;
    sum->lsb_exp = total ? path->a.lsb_exp + path->b.lsb_exp : 0;
    return flags;
}

int32_t emu_promote_step(const emu_path *path, const emu_strip *strip, size_t start, uint64_t acc, uint64_t *code, emu_stages *stages)
{
    const emu_datapath *facts = path->facts;
    size_t block = start / (size_t)facts->block;
    emu_value part, scale_a, scale_b, scale, term, before, after;
    uint64_t scale_code, term_code;
    int32_t flags = sum_products(path, strip, start, &part);
    read_value(&path->scale, emu_code_at(strip->scale_a, strip->row_a * strip->scale_a->columns + block), &scale_a);
    read_value(&path->scale, emu_code_at(strip->scale_b, strip->row_b * strip->scale_b->columns + block), &scale_b);
    read_value(&path->result, acc, &before);
    if (flags || scale_a.value_class == EMU_OPEN || scale_b.value_class == EMU_OPEN)
        return EMU_ERROR_OPEN;
    emu_multiply(&scale_a, &scale_b, &scale);
    scale_code = round_value(path, facts->scale_product, &scale);
    emu_multiply(&part, &scale, &term);
    term_code = round_value(path, facts->term, &term);
    if (facts->is_fused)
        emu_multiply_add(&part, &scale, &before, facts->sum, &after);
    else
        emu_add(&before, &term, facts->sum, &after);
    *code = round_value(path, facts->sum, &after);
    if (stages) {
        stages->part_code = round_value(path, facts->term, &part);
        stages->scale_code = scale_code;
        stages->term_code = term_code;
    }
    return EMU_OK;
}
