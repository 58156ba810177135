/* operation.c: the element-wise operations of programs. A value is a code of the arithmetic format; each result is rounded once. */
#include "../number/binary32.h"
#include "loops.h"
#include "../convert/normals.h"

int32_t emu_count_args(const emu_step *step)
{
    switch (step->operation) {
    case EMU_OP_ADD:
    case EMU_OP_SUB:
    case EMU_OP_MUL:
    case EMU_OP_DIV:
    case EMU_OP_MIN:
    case EMU_OP_MAX:
    case EMU_OP_NEAREST:
        return 2;
    case EMU_OP_FMA:
    case EMU_OP_CLAMP:
        return 3;
    case EMU_OP_SELECT:
        return step->variant >= EMU_TEST_LT ? 4 : 3;
    default:
        return 1;
    }
}

void emu_make_context(const emu_program *program, const emu_step *step, emu_context *context)
{
    int32_t operation = step->operation;
    int32_t has_format = operation <= EMU_OP_FMA || operation == EMU_OP_ROUND || operation == EMU_OP_CAST || operation == EMU_OP_DECODE ||
                         operation >= EMU_OP_NEAREST;
    context->step = step;
    emu_derive_grid(program->arithmetic, &context->grid);
    emu_derive_grid(has_format ? step->format : program->arithmetic, &context->to);
    emu_make_arithmetic(&context->grid, &context->to, step->rounding ? step->rounding : &emu_ties_to_even, &context->arithmetic);
}

/* A code of the step's format, carried in the arithmetic. Values that the arithmetic does not hold are an error. */
static int32_t carry(const emu_context *context, uint64_t code, uint64_t *carried)
{
    return emu_carry(&context->to, &context->grid, code, carried);
}

static int32_t calculate(const emu_context *context, const emu_row *row)
{
    int32_t operation = context->step->operation, error = EMU_OK;
    const uint64_t *a = row->args[0], *b = row->args[1], *c = row->args[2];
    if (context->arithmetic.is_binary32 && operation == EMU_OP_MUL) {
        emu_multiply_rows(a, b, row->count, row->out);
        return EMU_OK;
    }
    if (context->arithmetic.is_binary32 && operation == EMU_OP_DIV) {
        emu_divide_rows(a, b, row->count, row->out);
        return EMU_OK;
    }
    for (size_t i = 0; !error && i < row->count; i++) {
        row->out[i] = emu_calculate(&context->arithmetic, operation, a[i], b[i], c ? c[i] : 0);
        if (!context->arithmetic.is_binary32)
            error = carry(context, row->out[i], &row->out[i]);
    }
    return error;
}

/* A magnitude of the step's format that may pass its maximum, as a code of the arithmetic; beyond that one's maximum Inf. */
static int32_t carry_unbounded(const emu_context *context, int32_t sign, const emu_rounded *rounded, uint64_t *carried)
{
    const emu_grid *to = &context->to, *grid = &context->grid;
    uint64_t exp_field = rounded->magnitude >> to->frac_bits, fraction = rounded->magnitude & emu_low_bits(to->frac_bits);
    int32_t is_normal = exp_field > 0 || !to->has_subnormals;
    emu_value value = {EMU_ZERO, sign, 0, 0};
    value.significand = !to->is_float ? rounded->magnitude : is_normal ? fraction | (uint64_t)1 << to->frac_bits : fraction;
    if (value.significand) {
        value.value_class = EMU_NORMAL;
        value.lsb_exp = to->is_float ? (int32_t)(is_normal ? exp_field : 1) - to->bias - to->frac_bits : to->format->unit_exp;
    }
    if (value.lsb_exp + emu_bit_length(value.significand) > (1 << grid->exp_bits) - 1 - grid->bias) {
        *carried = emu_attach_sign(grid, sign, grid->inf_magnitude);
        return EMU_OK;
    }
    return emu_encode(grid, &value, carried);
}

static int32_t round_one(const emu_context *context, uint64_t code, uint64_t *out)
{
    emu_grid signed_grid = context->to;
    emu_rounded rounded;
    emu_value value;
    if (context->step->variant == EMU_BOUNDED)
        return carry(context, emu_round_code(&context->arithmetic, code), out);
    emu_decode(&context->grid, code, &value);
    *out = code;
    if (value.value_class == EMU_NAN || value.value_class == EMU_INFINITE)
        return EMU_OK;
    if (!context->to.is_float && value.lsb_exp >= context->to.format->unit_exp)
        return EMU_OK; /* a multiple of the unit */
    signed_grid.is_signed = 1; /* the sign stays with the value, whatever the format has */
    emu_round(&signed_grid, context->step->rounding, &value, 0, &rounded);
    return carry_unbounded(context, value.sign, &rounded, out);
}

/* 2^n: n must be integral; what the arithmetic cannot hold is +0 or Inf. */
static int32_t power_of_two(const emu_grid *grid, uint64_t code, uint64_t *out)
{
    const int32_t largest = (1 << grid->exp_bits) - 2 - grid->bias, smallest = 1 - grid->bias - grid->frac_bits;
    emu_value n, power = {EMU_NORMAL, 0, 0, 1};
    int32_t shift;
    emu_decode(grid, code, &n);
    if (n.value_class == EMU_NAN) {
        *out = code;
        return EMU_OK;
    }
    shift = n.lsb_exp < 0 ? -n.lsb_exp : 0;
    if (shift && (n.significand & emu_low_bits(shift)))
        return EMU_ERROR_GRID;
    if (n.value_class == EMU_INFINITE || n.lsb_exp + emu_bit_length(n.significand) > 13) {
        *out = n.sign ? 0 : grid->inf_magnitude;
        return EMU_OK;
    }
    power.lsb_exp = (int32_t)(shift ? emu_shift_right(n.significand, shift) : n.significand << n.lsb_exp);
    power.lsb_exp = n.sign ? -power.lsb_exp : power.lsb_exp;
    if (power.lsb_exp < smallest || power.lsb_exp > largest) {
        *out = power.lsb_exp < smallest ? 0 : grid->inf_magnitude;
        return EMU_OK;
    }
    return emu_encode(grid, &power, out);
}

/* The bits of an integral value modulo 2^bits. */
static int32_t wrap(const emu_context *context, uint64_t code, uint64_t *out)
{
    const uint64_t mask = emu_low_bits(context->to.code_bits);
    emu_value n;
    int32_t shift;
    emu_decode(&context->grid, code, &n);
    *out = EMU_OPEN_CELL;
    if (n.value_class == EMU_NAN || n.value_class == EMU_INFINITE)
        return EMU_OK;
    shift = n.lsb_exp < 0 ? -n.lsb_exp : 0;
    if (n.significand & emu_low_bits(shift))
        return EMU_ERROR_GRID;
    *out = shift ? emu_shift_right(n.significand, shift) : emu_shift_left(n.significand, n.lsb_exp);
    *out = (n.sign ? 0 - *out : *out) & mask;
    return EMU_OK;
}

static uint64_t e8m0_code(const emu_step *step, uint64_t code)
{
    uint32_t bits = (uint32_t)code & EMU_B32_MAGNITUDE;
    int32_t exp_field, fraction;
    if (bits > EMU_B32_INF)
        return 0xFF;
    if (step->variant == EMU_RULE_EVEN)
        bits = (bits + ((uint32_t)1 << (22 - step->frac_bits))) & EMU_B32_INF;
    exp_field = (int32_t)(bits >> 23);
    fraction = (int32_t)(bits & 0x7FFFFF);
    if ((step->variant == EMU_RULE_CEIL || step->variant == EMU_RULE_FIELD_UP) && fraction)
        exp_field++;
    if (step->variant == EMU_RULE_FIELD_UP)
        return (uint64_t)exp_field;
    exp_field -= step->emax;
    return (uint64_t)(exp_field < 0 ? 0 : exp_field > 255 ? 255 : exp_field);
}

static int32_t cast_chunk(const emu_conversion *job, const emu_row *row, size_t start, size_t count)
{
    uint8_t states[EMU_CHUNK];
    uint32_t drawn[EMU_CHUNK];
    uint64_t *out = row->out + start;
    for (size_t i = 0; row->random && i < count; i++) {
        if (row->random[start + i] > emu_low_bits(job->rounding->random_bits))
            return EMU_ERROR_RANDOM;
        drawn[i] = (uint32_t)row->random[start + i];
    }
    for (size_t i = 0; i < count; i++)
        out[i] = row->args[0][start + i];
    if (emu_convert_chunk(job, out, row->random ? drawn : NULL, count, states)) {
        for (size_t i = 0; i < count; i++)
            out[i] = states[i] ? EMU_OPEN_CELL : out[i];
    }
    return EMU_OK;
}

static int32_t cast(const emu_context *context, const emu_row *row)
{
    int32_t error = EMU_OK;
    emu_conversion job;
    job.from = context->grid;
    job.to = context->to;
    job.rounding = context->step->rounding;
    job.policy = context->step->policy;
    job.has_plan = emu_plan_normals(&job);
    for (size_t start = 0; !error && start < row->count; start += EMU_CHUNK)
        error = cast_chunk(&job, row, start, row->count - start < EMU_CHUNK ? row->count - start : EMU_CHUNK);
    return error;
}

static int32_t decode(const emu_context *context, uint64_t code, uint64_t *out)
{
    emu_value value;
    *out = emu_nan_of(&context->grid);
    if (code == EMU_OPEN_CELL)
        return EMU_OK;
    if (!emu_is_code(&context->to, code))
        return EMU_ERROR_CODE;
    emu_decode(&context->to, code, &value);
    return emu_encode(&context->grid, &value, out);
}

static int32_t operate_one_by_one(const emu_context *context, const emu_row *row)
{
    int32_t error = EMU_OK;
    for (size_t i = 0; !error && i < row->count; i++) {
        uint64_t a = row->args[0][i];
        if (context->step->operation == EMU_OP_ROUND)
            error = round_one(context, a, &row->out[i]);
        else if (context->step->operation == EMU_OP_POW2)
            error = power_of_two(&context->grid, a, &row->out[i]);
        else if (context->step->operation == EMU_OP_DECODE)
            error = decode(context, a, &row->out[i]);
        else if (context->step->operation == EMU_OP_WRAP)
            error = wrap(context, a, &row->out[i]);
        else if (context->step->operation == EMU_OP_LOG2)
            row->out[i] = emu_b32_log2((uint32_t)a);
        else
            row->out[i] = e8m0_code(context->step, a);
    }
    return error;
}

int32_t emu_operate(const emu_context *context, const emu_row *row)
{
    const emu_ends ends = emu_ends_of(&context->grid);
    switch (context->step->operation) {
    case EMU_OP_ADD:
    case EMU_OP_SUB:
    case EMU_OP_MUL:
    case EMU_OP_DIV:
    case EMU_OP_FMA:
        return calculate(context, row);
    case EMU_OP_ABS:
    case EMU_OP_NEG:
        emu_change_sign(ends, context->step->operation, row->args[0], row->count, row->out);
        return EMU_OK;
    case EMU_OP_MIN:
    case EMU_OP_MAX:
    case EMU_OP_CLAMP:
        emu_compare_rows(ends, context->step->operation, context->step->variant == EMU_NAN_DROP, row->args, row->count, row->out);
        return EMU_OK;
    case EMU_OP_CAST:
        return cast(context, row);
    case EMU_OP_NEAREST:
        return emu_find_nearest(context, row);
    case EMU_OP_SELECT:
        emu_select_rows(ends, context->step->variant, row->args, row->count, row->out);
        return EMU_OK;
    default:
        return operate_one_by_one(context, row);
    }
}
