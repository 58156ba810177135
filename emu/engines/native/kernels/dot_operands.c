/* dot: operands and results. Codes become values, exponents and flags in the order in which dot.c reads them; the sums become codes. */
#include "kernels.h"

emu_dot_shape emu_dot_shape_of(const emu_dot *plan, size_t k) {
    const size_t group = (size_t)plan->group, step = (size_t)plan->step;
    const emu_dot_shape found = {k, k / group, k / step, step / group};
    return found;
}

static size_t padded(size_t bytes) { return (bytes + 63) / 64 * 64; }

size_t emu_dot_operand_bytes(const emu_dot_shape *of, size_t rows) {
    return padded(rows * of->k * sizeof(float)) + 2 * padded(rows * of->terms * sizeof(int32_t)) + padded(rows * of->steps);
}

static emu_dot_operand place_operand(const emu_dot_shape *of, size_t rows, uint8_t **room) {
    emu_dot_operand out;
    out.value = (float *)(void *)*room;
    *room += padded(rows * of->k * sizeof(float));
    out.exp = (int32_t *)(void *)*room;
    *room += padded(rows * of->terms * sizeof(int32_t));
    out.bits = (uint32_t *)(void *)*room;
    *room += padded(rows * of->terms * sizeof(int32_t));
    out.flags = *room;
    *room += padded(rows * of->steps);
    return out;
}

/* One group or, with group 1, one product's part: values times the scale, exponent, which are not zero, flags. */
static void decode_term(const emu_dot *plan, const emu_dot_format *format, const void *codes, size_t from, const uint8_t *scale,
                        float *value, size_t width, int32_t *exp, uint32_t *bits, uint8_t *flags) {
    const uint8_t scale_kind = scale == NULL ? 0 : plan->scale.kind[*scale];
    const float factor = scale == NULL ? 1.0f : plan->scale.significand[*scale];
    const int32_t scale_exp = scale == NULL ? 0 : plan->scale.exp[*scale];
    uint8_t seen = scale_kind & EMU_KIND_NAN;
    uint32_t nonzero = 0;
    for (size_t k = 0; k < (size_t)plan->group; k++) {
        const uint32_t code = emu_code_at(codes, format->bytes, from + k);
        const float found = format->significand[code] * factor;
        value[k * width] = found;
        nonzero |= (uint32_t)(found < 0.0f || found > 0.0f) << k;
        seen |= format->kind[code] & (EMU_KIND_NAN | EMU_KIND_INF);
        if (plan->group == 1)
            *exp = nonzero ? format->exp[code] + scale_exp : EMU_DOT_DEAD;
    }
    if (plan->group > 1)
        *exp = nonzero ? scale_exp : 0;
    *bits = nonzero;
    *flags |= (uint8_t)((seen & EMU_KIND_NAN ? EMU_STATE_NAN : 0) | (seen & EMU_KIND_INF ? EMU_HAS_INF : 0));
}

/* All rows of an operand; lanes that no row fills hold zeros. */
static void decode_operand(const emu_dot *plan, const emu_dot_format *format, const void *codes, const uint8_t *scales, size_t rows,
                           size_t width, const emu_dot_shape *of, const emu_dot_operand *out) {
    const size_t group = (size_t)plan->group, blocks = plan->block ? of->k / (size_t)plan->block : 0;
    const size_t full = (rows + width - 1) / width * width;
    for (size_t row = 0; row < full; row++) {
        const size_t base = row / width, lane = row % width;
        for (size_t step = 0; step < of->steps; step++)
            out->flags[(base * of->steps + step) * width + lane] = 0;
        for (size_t term = 0; term < of->terms; term++) {
            const size_t place = (base * of->terms + term) * width + lane, first = term * group;
            float *value = out->value + (base * of->k + first) * width + lane;
            uint8_t *flags = out->flags + (base * of->steps + term / of->step_terms) * width + lane;
            if (row < rows) {
                const uint8_t *scale = blocks ? scales + row * blocks + first / (size_t)plan->block : NULL;
                decode_term(plan, format, codes, row * of->k + first, scale, value, width, out->exp + place, out->bits + place, flags);
                continue;
            }
            out->exp[place] = group > 1 ? 0 : EMU_DOT_DEAD;
            out->bits[place] = 0;
            for (size_t k = 0; k < group; k++)
                value[k * width] = 0.0f;
        }
    }
}

emu_dot_operand emu_dot_decode(const emu_dot *plan, const emu_dot_format *format, const void *codes, const uint8_t *scales, size_t rows,
                               size_t width, const emu_dot_shape *of, uint8_t **room) {
    const emu_dot_operand out = place_operand(of, (rows + width - 1) / width * width, room);
    decode_operand(plan, format, codes, scales, rows, width, of, &out);
    return out;
}

static double value_of(const emu_dot *plan, uint32_t magnitude) {
    const uint32_t field = magnitude >> plan->d_frac_bits, fraction = magnitude & ((1u << plan->d_frac_bits) - 1u);
    const uint32_t significand = field ? fraction | 1u << plan->d_frac_bits : fraction;
    return (double)significand * emu_power((int32_t)(field ? field - 1 : 0) + plan->d_lowest - plan->d_frac_bits);
}

double emu_dot_largest(const emu_dot *plan) { return value_of(plan, plan->d_max); }

void emu_dot_load(const emu_dot *plan, const void *d, size_t place, emu_dot_row *out, size_t lane) {
    const uint32_t code = plan->d_bytes == 4 ? ((const uint32_t *)d)[place] : ((const uint16_t *)d)[place];
    const uint32_t magnitude = code & ~plan->d_sign;
    const double value = magnitude <= plan->d_max ? value_of(plan, magnitude) : 0.0;
    out->c[lane] = code & plan->d_sign ? -value : value;
    out->state[lane] = 0;
    if (magnitude > plan->d_max)
        out->state[lane] = magnitude != plan->d_inf ? EMU_STATE_NAN : code & plan->d_sign ? EMU_STATE_MINUS : EMU_STATE_PLUS;
    out->any |= out->state[lane];
}

void emu_dot_store(const emu_dot *plan, const emu_dot_row *from, size_t lane, void *d, size_t place) {
    const uint8_t state = from->state[lane];
    const double value = from->c[lane], size = emu_as_double(emu_double_bits(value) & ~EMU_MINUS);
    const int32_t field = (int32_t)(emu_double_bits(size) >> 52) - 1023, exp = field > plan->d_lowest ? field : plan->d_lowest;
    const uint32_t units = (uint32_t)(size * emu_power(plan->d_frac_bits - exp));
    uint32_t code = units + ((uint32_t)(exp - plan->d_lowest) << plan->d_frac_bits) + (emu_double_bits(value) >> 63 ? plan->d_sign : 0u);
    if (state & EMU_STATE_NAN || state == (EMU_STATE_PLUS | EMU_STATE_MINUS))
        code = plan->d_nan;
    else if (state)
        code = plan->d_inf | (state == EMU_STATE_MINUS ? plan->d_sign : 0u);
    if (plan->d_bytes == 4)
        ((uint32_t *)d)[place] = code;
    else
        ((uint16_t *)d)[place] = (uint16_t)code;
}
