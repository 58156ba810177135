/* derive_transform.c: one rotation through the reference, and the codes after each level of a butterfly. */
#include "tool.h"

static void pack_signs(const operation *op, const uint64_t *lanes, uint64_t *words)
{
    memset(words, 0, 4 * sizeof *words);
    for (int32_t i = 0; i < op->transform->size; i++)
        words[i / 64] |= lanes[i] << (i % 64);
}

/* Elements as codes of the sum's format, negated where their sign bit is set; *special 1: a NaN or Inf is among them. */
static int32_t load_elements(const operation *op, const row *made, const uint64_t *x, uint64_t *out, int32_t *special)
{
    const uint64_t *signs = made->lanes[find_column(op, "sgn")];
    int32_t error = EMU_OK;
    *special = 0;
    for (int32_t i = 0; !error && i < op->transform->size; i++) {
        emu_value value;
        error = emu_decode_code(op->source, x[i], &value);
        if (error)
            break;
        *special = *special || value.value_class >= EMU_INFINITE;
        value.sign ^= (int32_t)signs[i];
        error = *special ? EMU_OK : emu_encode_value(op->transform->sum_format, &value, &out[i]);
    }
    return error;
}

/* One level: (a, b) -> (a + b, a - b), `stride` apart, each rounded to the sum's format. */
static int32_t add_pairs(const operation *op, int32_t stride, const uint64_t *in, uint64_t *out)
{
    const emu_format *format = op->transform->sum_format;
    const emu_rounding *rounding = emu_find_rounding("rne");
    int32_t error = EMU_OK;
    for (int32_t i = 0; !error && i < op->transform->size; i++) {
        const uint64_t *low = &in[i & ~stride];
        const uint64_t *high = &in[i | stride];
        int32_t chosen = i & stride ? EMU_OP_SUB : EMU_OP_ADD;
        error = emu_calculate_array(chosen, format, format, rounding, 0, low, high, NULL, 1, &out[i]);
    }
    return error;
}

static int32_t derive_levels(const operation *op, row *made)
{
    uint64_t row_codes[MAX_LANES];
    int32_t special, place = find_column(op, "b0");
    int32_t error = load_elements(op, made, made->lanes[find_column(op, "x")], row_codes, &special);
    const uint64_t *before = row_codes;
    for (int32_t stride = 1; !error && stride < op->transform->size; stride *= 2) {
        if (special)
            memset(made->unknown[place], 1, sizeof made->unknown[place]);
        else
            error = add_pairs(op, stride, before, made->lanes[place]);
        before = made->lanes[place];
        place++;
    }
    return error;
}

int32_t derive_transform(const operation *op, row *made)
{
    uint64_t signs[4];
    emu_matrix x, y;
    int32_t error, out = find_column(op, "y");
    x.codes = made->lanes[find_column(op, "x")];
    y.codes = made->lanes[out];
    x.bytes = y.bytes = 8;
    x.rows = y.rows = 1;
    x.columns = y.columns = (size_t)op->transform->size;
    x.open = NULL;
    y.open = made->unknown[out];
    pack_signs(op, made->lanes[find_column(op, "sgn")], signs);
    error = emu_transform_matrix(op->source, op->transform, signs, &x, &y);
    if (!error && op->transform->order == EMU_SUM_BUTTERFLY)
        error = derive_levels(op, made);
    return error;
}
