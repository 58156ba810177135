/* calculate.c: arithmetic on codes: two codes compared, an exact result rounded to a code, and the operations of programs one by one. */
#include "binary32.h"

const emu_rounding emu_ties_to_even = {{{EMU_KEEP, EMU_TO_EVEN_CODE, EMU_NEXT}, {EMU_KEEP, EMU_TO_EVEN_CODE, EMU_NEXT}}, EMU_ADD_NONE, 0,
                                      {EMU_GO_AWAY, EMU_GO_AWAY}};

int32_t emu_is_arithmetic(const emu_grid *grid)
{
    const emu_format *format = grid->format;
    return format->format_class == EMU_FLOAT && format->inf == EMU_INF_IEEE && format->nan == EMU_NAN_IEEE && grid->has_minus_zero &&
           grid->exp_bits <= EMU_MOST_EXP_BITS && grid->frac_bits <= EMU_MOST_FRAC_BITS;
}

uint64_t emu_round_to_code(const emu_grid *to, const emu_rounding *rounding, const emu_value *value)
{
    int32_t sign = to->is_signed ? value->sign : 0;
    emu_rounded rounded;
    if (value->value_class == EMU_NAN)
        return emu_nan_of(to);
    if (value->value_class == EMU_INFINITE)
        return emu_attach_sign(to, sign, to->inf_magnitude);
    emu_round(to, rounding, value, 0, &rounded);
    if (rounded.beyond || rounded.magnitude > to->largest[sign])
        rounded.magnitude = emu_stops_at(rounding, sign, to->largest[sign]) ? to->largest[sign] : to->inf_magnitude;
    return emu_attach_sign(to, sign, rounded.magnitude);
}

int32_t emu_carry(const emu_grid *from, const emu_grid *to, uint64_t code, uint64_t *carried)
{
    emu_value value;
    emu_decode(from, code, &value);
    return emu_encode(to, &value, carried);
}

static int32_t is_ieee(const emu_grid *grid, int32_t exp_bits, int32_t frac_bits)
{
    int32_t bias = (1 << (exp_bits - 1)) - 1;
    return emu_is_arithmetic(grid) && grid->exp_bits == exp_bits && grid->frac_bits == frac_bits && grid->bias == bias;
}

int32_t emu_is_binary32(const emu_grid *grid)
{
    return is_ieee(grid, 8, 23);
}

static int32_t is_ties_to_even(const emu_rounding *rounding)
{
    int32_t same = rounding->add == EMU_ADD_NONE;
    for (int32_t sign = 0; sign < 2; sign++) {
        same = same && rounding->beyond_max[sign] == EMU_GO_AWAY;
        for (int32_t part = 0; part < 3; part++)
            same = same && rounding->choice[sign][part] == emu_ties_to_even.choice[sign][part];
    }
    return same;
}

void emu_make_arithmetic(const emu_grid *grid, const emu_grid *to, const emu_rounding *rounding, emu_arithmetic *arithmetic)
{
    arithmetic->grid = grid;
    arithmetic->to = to;
    arithmetic->rounding = rounding;
    arithmetic->is_binary32 = emu_is_binary32(grid) && emu_is_binary32(to) && is_ties_to_even(rounding);
    arithmetic->narrows = emu_is_binary32(grid) && is_ties_to_even(rounding) && (is_ieee(to, 8, 7) || is_ieee(to, 5, 10));
}

static uint64_t calculate_binary32(int32_t operation, uint32_t a, uint32_t b, uint32_t c)
{
    switch (operation) {
    case EMU_OP_ADD:
        return emu_b32_add(a, b);
    case EMU_OP_SUB:
        return emu_b32_sub(a, b);
    case EMU_OP_MUL:
        return emu_b32_mul(a, b);
    case EMU_OP_DIV:
        return emu_b32_div(a, b);
    default:
        return emu_b32_fma(a, b, c);
    }
}

/* One of EMU_OP_ADD .. EMU_OP_FMA: codes of the operands' format -> code of the result's format. */
uint64_t emu_calculate(const emu_arithmetic *arithmetic, int32_t operation, uint64_t a, uint64_t b, uint64_t c)
{
    emu_value x, y, z, result;
    if (arithmetic->is_binary32)
        return calculate_binary32(operation, (uint32_t)a, (uint32_t)b, (uint32_t)c);
    emu_decode(arithmetic->grid, a, &x);
    emu_decode(arithmetic->grid, b, &y);
    if (operation == EMU_OP_SUB)
        y.sign = !y.sign;
    if (operation == EMU_OP_MUL) {
        emu_multiply(&x, &y, &result);
    } else if (operation == EMU_OP_DIV) {
        emu_divide(&x, &y, &result);
    } else if (operation == EMU_OP_FMA) {
        emu_decode(arithmetic->grid, c, &z);
        emu_multiply_add(&x, &y, &z, arithmetic->rounding, &result);
    } else {
        emu_add(&x, &y, arithmetic->rounding, &result);
    }
    return emu_round_to_code(arithmetic->to, arithmetic->rounding, &result);
}

uint64_t emu_round_code(const emu_arithmetic *arithmetic, uint64_t code)
{
    emu_value value;
    if (arithmetic->narrows)
        return arithmetic->to->exp_bits == 8 ? emu_b32_to_bf16((uint32_t)code) : emu_b32_to_fp16((uint32_t)code);
    emu_decode(arithmetic->grid, code, &value);
    return emu_round_to_code(arithmetic->to, arithmetic->rounding, &value);
}

/* abs, neg, min, max, clamp, or round with a maximum. */
static uint64_t calculate_plain(const emu_arithmetic *arithmetic, int32_t operation, int32_t drop, uint64_t a, uint64_t b, uint64_t c)
{
    const emu_grid *grid = arithmetic->grid;
    const emu_ends ends = emu_ends_of(grid);
    switch (operation) {
    case EMU_OP_ABS:
        return emu_canonical(grid, a & ~grid->sign_bit);
    case EMU_OP_NEG:
        return emu_canonical(grid, a ^ grid->sign_bit);
    case EMU_OP_MIN:
        return emu_smaller_code(ends, a, b, drop);
    case EMU_OP_MAX:
        return emu_larger_code(ends, a, b, drop);
    case EMU_OP_CLAMP:
        return emu_smaller_code(ends, emu_larger_code(ends, a, b, drop), c, drop);
    default:
        return emu_round_code(arithmetic, a);
    }
}

static int32_t count_operands(int32_t operation)
{
    if (operation == EMU_OP_FMA || operation == EMU_OP_CLAMP)
        return 3;
    return operation == EMU_OP_ABS || operation == EMU_OP_NEG || operation == EMU_OP_ROUND ? 1 : 2;
}

/* Check the operation, its formats and its rounding; rounding and to may be missing where nothing is rounded. */
static int32_t prepare(int32_t operation, const emu_format *format, const emu_format *to, const emu_rounding *rounding, int32_t variant,
                       emu_grid *from, emu_grid *target)
{
    int32_t rounds = operation <= EMU_OP_FMA || operation == EMU_OP_ROUND, error;
    if (operation < EMU_OP_ADD || operation > EMU_OP_ROUND || variant < 0 || variant > (rounds ? 0 : EMU_NAN_DROP))
        return EMU_ERROR_PROGRAM;
    error = emu_make_grid(format, from);
    if (!error && !emu_is_arithmetic(from))
        error = EMU_ERROR_FORMAT;
    if (!error)
        error = emu_make_grid(rounds ? to : format, target);
    if (!error && rounds)
        error = emu_check_rounding(rounding, to);
    if (error)
        return error;
    if (rounds && rounding->random_bits)
        return EMU_ERROR_ROUNDING;
    return target->is_float && target->inf_magnitude && target->format->nan != EMU_NAN_NONE ? EMU_OK : EMU_ERROR_FORMAT;
}

int32_t emu_calculate_array(int32_t operation, const emu_format *format, const emu_format *to, const emu_rounding *rounding,
                            int32_t variant, const uint64_t *a, const uint64_t *b, const uint64_t *c, size_t count, uint64_t *result)
{
    emu_grid from, target;
    emu_arithmetic arithmetic;
    int32_t operands = count_operands(operation), error = prepare(operation, format, to, rounding, variant, &from, &target);
    if (error)
        return error;
    if (!a || !result || (operands > 1 && !b) || (operands > 2 && !c))
        return EMU_ERROR_NULL;
    emu_make_arithmetic(&from, &target, rounding ? rounding : &emu_ties_to_even, &arithmetic);
    for (size_t i = 0; i < count; i++) {
        uint64_t y = operands > 1 ? b[i] : 0, z = operands > 2 ? c[i] : 0;
        if (!emu_is_code(&from, a[i]) || !emu_is_code(&from, y) || !emu_is_code(&from, z))
            return EMU_ERROR_CODE;
        if (operation <= EMU_OP_FMA)
            result[i] = emu_calculate(&arithmetic, operation, a[i], y, z);
        else
            result[i] = calculate_plain(&arithmetic, operation, variant, a[i], y, z);
    }
    return EMU_OK;
}
