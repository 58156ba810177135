/* gen_code.c: stimuli of one code a row: every code; each exponent and each threshold of the rounding with its neighbours; draws. */
#include "gen.h"

enum { NEAR = 3, SHOWN_BITS = 8 };

static uint64_t sign_bit(const emu_format *format)
{
    return format->format_class == EMU_FLOAT && format->has_sign ? (uint64_t)1 << (format->exp_bits + format->frac_bits) : 0;
}

static int emit_code(sink *out, uint64_t code, uint64_t random)
{
    int32_t in = find_column(out->op, out->op->op == OP_DECODE ? "code" : "x");
    int32_t drawn = find_column(out->op, "r");
    out->made.lanes[in][0] = code;
    if (drawn >= 0)
        out->made.lanes[drawn][0] = random;
    return emit_row(out);
}

static uint64_t result_of(const sink *out, uint64_t code, uint64_t random)
{
    uint64_t converted = 0;
    uint8_t open = 0;
    const operation *op = out->op;
    emu_convert_code(op->source, op->result, op->rounding, op->policy, code, (uint32_t)random, &converted, &open);
    return converted << 8 | open;
}

/* A code with the random integers that matter: none drawn, or 0, 1, the largest and both sides of the one where the result changes. */
static int emit_draws(sink *out, uint64_t code)
{
    int32_t bits = out->op->op == OP_DECODE ? 0 : out->op->rounding->random_bits;
    uint64_t low = 0;
    uint64_t high = low_bits(bits);
    int fault;
    if (!bits)
        return emit_code(out, code, 0);
    fault = emit_code(out, code, 0) || emit_code(out, code, 1) || emit_code(out, code, high);
    if (fault || result_of(out, code, low) == result_of(out, code, high))
        return fault;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (result_of(out, code, middle) == result_of(out, code, 0))
            low = middle;
        else
            high = middle;
    }
    return emit_code(out, code, low) || emit_code(out, code, high);
}

/* The magnitude that a source code is rounded to, cut to its top bits for wide results and two above the largest one. */
static uint64_t step_of(const operation *op, uint64_t code)
{
    emu_value value;
    emu_rounded rounded = {0, 0, 0};
    uint64_t most = UINT64_MAX;
    int32_t cut = stored_bits(op->result) > SHOWN_BITS ? stored_bits(op->result) - SHOWN_BITS : 0;
    emu_decode_code(op->source, code, &value);
    emu_round_value(op->result, op->rounding, &value, 0, &rounded);
    if (op->result->format_class == EMU_CODEBOOK)
        return rounded.magnitude;
    emu_max_magnitude(op->result, value.sign, &most);
    if (rounded.beyond || rounded.magnitude > most + 1)
        rounded.magnitude = most + 2;
    return rounded.magnitude >> cut;
}

/* The last code at or after `from` that is rounded as `from` is; the codes ascend with the magnitude. */
static uint64_t last_like(const operation *op, uint64_t from, uint64_t end)
{
    uint64_t low = from;
    uint64_t high = end;
    if (step_of(op, from) == step_of(op, end))
        return end;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (step_of(op, middle) == step_of(op, from))
            low = middle;
        else
            high = middle;
    }
    return low;
}

/* The first code at or after `from` that is rounded as `end` is. */
static uint64_t first_like(const operation *op, uint64_t from, uint64_t end)
{
    uint64_t low = from;
    uint64_t high = end;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (step_of(op, middle) == step_of(op, end))
            high = middle;
        else
            low = middle;
    }
    return high;
}

/* Codes around each threshold of one sign, and one in the middle between two. */
static int threshold_rows(sink *out, uint64_t sign)
{
    uint64_t most = 0;
    uint64_t from = sign;
    emu_max_magnitude(out->op->source, 0, &most);
    while (from < (sign | most)) {
        uint64_t last = last_like(out->op, from, sign | most);
        uint64_t low = last - sign < NEAR ? sign : last - NEAR;
        if (emit_draws(out, from + (last - from) / 2))
            return EXIT_BAD;
        for (uint64_t code = low; code <= last + NEAR && code <= (sign | most); code++) {
            if (emit_draws(out, code))
                return EXIT_BAD;
        }
        from = last + 1;
    }
    return 0;
}

/* Every exponent field with five fractions: zeros, subnormals, Inf, quiet and signalling NaN are among them. */
static int exponent_rows(sink *out)
{
    const emu_format *source = out->op->source;
    uint64_t ones = low_bits(source->frac_bits);
    uint64_t fractions[5] = {0, 1, ones >> 1, (ones >> 1) + 1, ones};
    for (uint64_t exp_field = 0; exp_field <= low_bits(source->exp_bits); exp_field++) {
        for (int32_t place = 0; place < 5; place++) {
            uint64_t code = exp_field << source->frac_bits | (fractions[place] & ones);
            if (emit_draws(out, code) || (sign_bit(source) && emit_draws(out, code | sign_bit(source))))
                return EXIT_BAD;
        }
    }
    return 0;
}

int all_code_rows(sink *out)
{
    int32_t bits = stored_bits(out->op->source);
    if (bits > WIDEST)
        return complain("--all", "the source has more than 16 bits: use --directed or --random N");
    if (find_column(out->op, "r") >= 0)
        return complain("--all", "the rounding draws: use --directed or --random N");
    for (uint64_t code = 0; code <= low_bits(bits); code++) {
        if (emit_code(out, code, 0))
            return EXIT_BAD;
    }
    return 0;
}

int directed_code_rows(sink *out)
{
    const emu_format *source = out->op->source;
    if (source->format_class != EMU_FLOAT) {
        for (uint64_t code = 0; code <= low_bits(stored_bits(source)); code++) {
            if (emit_draws(out, code))
                return EXIT_BAD;
        }
        return 0;
    }
    if (exponent_rows(out))
        return EXIT_BAD;
    if (out->op->op == OP_DECODE)
        return 0;
    return threshold_rows(out, 0) || (sign_bit(source) && threshold_rows(out, sign_bit(source))) ? EXIT_BAD : 0;
}

/* Even rows: any bits. Odd rows: a code between the first threshold and the last one, and one binade on either side. */
int random_code_row(sink *out)
{
    const operation *op = out->op;
    uint64_t code = draw(out, 0, stored_bits(op->source));
    uint64_t most = 0;
    if (out->rows % 2 && op->op == OP_CONVERT && op->source->format_class == EMU_FLOAT) {
        uint64_t binade = (uint64_t)1 << op->source->frac_bits;
        uint64_t low, high;
        emu_max_magnitude(op->source, 0, &most);
        low = last_like(op, 0, most);
        high = first_like(op, low, most);
        low = low < binade ? 0 : low - binade;
        high = most - high < binade ? most : high + binade;
        code = low + (code >> 1) % (high - low + 1);
        code |= draw(out, 1, 1) ? sign_bit(op->source) : 0;
    }
    return emit_code(out, code, draw(out, 2, op->rounding ? op->rounding->random_bits : 0));
}
