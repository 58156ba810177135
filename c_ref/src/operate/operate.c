/* operate.c: operations on one to four codes, each projected once; neighbours of a number. The operations themselves are in numbers.c.
 * Source: IEEE P3109 interim report 4.0 (a draft), 4.10 to 4.16 and 5.5. */
#include "operate.h"

enum { LISTED_BITS = 8 }; /* of a format whose neighbours are asked for */

typedef struct emu_job {
    int32_t operation;
    int32_t operands;
    emu_grid from[EMU_MAX_OPERANDS];
    emu_grid to;
    const emu_rounding *rounding;
    const emu_policy *policy;
} emu_job;

/* Zero and NaN without sign. */
static void read_number(const emu_grid *grid, uint64_t code, emu_value *value)
{
    emu_decode(grid, code, value);
    if (value->value_class == EMU_ZERO || value->value_class == EMU_NAN)
        value->sign = 0;
}

/* The nearest number above (step 1) or below (-1) one, infinities among them, of all codes of its format; NaN where there is none. */
static uint64_t neighbour(const emu_grid *grid, const emu_value *value, int32_t step)
{
    uint64_t found = emu_nan_of(grid);
    emu_value best = {EMU_NAN, 0, 0, 0}, other;
    if (value->value_class == EMU_NAN)
        return found;
    for (uint64_t code = 0; code <= emu_low_bits(grid->code_bits); code++) {
        read_number(grid, code, &other);
        if (other.value_class == EMU_NAN || emu_compare_numbers(other, *value) != step)
            continue;
        if (best.value_class == EMU_NAN || emu_compare_numbers(best, other) == step) {
            best = other;
            found = code;
        }
    }
    return found;
}

int32_t emu_count_operands(int32_t operation)
{
    if (operation < EMU_DO_ADD || (operation >= EMU_DO_IS_ZERO && operation <= EMU_DO_NEXT_LESS_THAN))
        return 1;
    if (operation == EMU_DO_FMA || operation == EMU_DO_FAA)
        return 3;
    return operation >= EMU_DO_SCALED_ADD && operation <= EMU_DO_SCALED_MULTIPLY ? 4 : 2;
}

static int32_t gives_number(int32_t operation)
{
    return operation <= EMU_DO_SCALED_MULTIPLY;
}

/* Whether what is computed before the last step fits 64 bits, and the result is rounded to fewer than are kept. */
static int32_t is_exact(const emu_job *job)
{
    const emu_grid *from = job->from;
    int32_t scaled = emu_count_operands(job->operation) == 4, fits = job->to.frac_bits < EMU_OPERATE_BITS;
    for (int32_t i = 0; i < job->operands; i++)
        fits = fits && from[i].frac_bits < EMU_OPERATE_BITS;
    for (int32_t i = 0; scaled && i < EMU_MAX_OPERANDS; i += 2)
        fits = fits && from[i].frac_bits + from[i + 1].frac_bits + 2 <= EMU_OPERATE_PRODUCT_BITS;
    return fits;
}

static int32_t prepare_target(emu_job *job, const emu_format *to)
{
    int32_t error = emu_make_grid(to, &job->to);
    if (!error)
        error = emu_check_rounding(job->rounding, to);
    if (!error)
        error = emu_check_policy(job->policy, to);
    if (error)
        return error;
    if (job->rounding->random_bits)
        return EMU_ERROR_ROUNDING;
    return to->format_class == EMU_FLOAT && is_exact(job) ? EMU_OK : EMU_ERROR_FORMAT;
}

static int32_t prepare(emu_job *job, const emu_operand_codes *operands, const emu_format *to)
{
    if (job->operation < EMU_DO_CONVERT || job->operation > EMU_DO_NEXT_LESS_THAN)
        return EMU_ERROR_PROGRAM;
    if (!operands)
        return EMU_ERROR_NULL;
    job->operands = emu_count_operands(job->operation);
    for (int32_t i = 0; i < job->operands; i++) {
        int32_t error = emu_make_grid(operands[i].format, &job->from[i]);
        if (error)
            return error;
        if (operands[i].format->format_class != EMU_FLOAT || job->from[i].frac_bits >= EMU_OPERATE_BITS)
            return EMU_ERROR_FORMAT;
    }
    if (job->operation >= EMU_DO_NEXT_GREATER_THAN) {
        int32_t listed = job->from[0].code_bits <= LISTED_BITS && operands[0].format->nan != EMU_NAN_NONE;
        return listed ? EMU_OK : EMU_ERROR_FORMAT;
    }
    return gives_number(job->operation) ? prepare_target(job, to) : EMU_OK;
}

/* What is zero, or rounds to it, is +0. */
static void project(const emu_job *job, emu_value value, uint64_t *code, uint8_t *open)
{
    if (value.value_class == EMU_ZERO || value.value_class == EMU_NAN)
        value.sign = 0;
    emu_project(&job->to, job->rounding, job->policy, &value, code, open);
    if (*open == EMU_CODE_STANDS && job->to.has_minus_zero && *code == job->to.sign_bit)
        *code = 0;
}

/* One element. 1: an operand is a code that nobody knows. */
static int32_t operate(const emu_job *job, const uint64_t *codes, uint64_t *code, uint8_t *open)
{
    emu_value values[EMU_MAX_OPERANDS];
    *open = EMU_CODE_STANDS;
    for (int32_t i = 0; i < job->operands; i++) {
        read_number(&job->from[i], codes[i], &values[i]);
        if (values[i].value_class == EMU_OPEN)
            return 1;
    }
    if (gives_number(job->operation))
        project(job, emu_operate_numbers(job->operation, values), code, open);
    else if (job->operation >= EMU_DO_NEXT_GREATER_THAN)
        *code = neighbour(&job->from[0], &values[0], job->operation == EMU_DO_NEXT_GREATER_THAN ? 1 : -1);
    else
        *code = (uint64_t)emu_is_so(job->operation, values);
    return 0;
}

int32_t emu_operate_array(int32_t operation, const emu_operand_codes *operands, const emu_format *to, const emu_rounding *rounding,
                          const emu_policy *policy, size_t count, void *result, uint8_t *open)
{
    emu_job job;
    int32_t error, bytes;
    job.operation = operation;
    job.rounding = rounding;
    job.policy = policy;
    error = prepare(&job, operands, to);
    if (error)
        return error;
    if (!result || !open)
        return EMU_ERROR_NULL;
    for (int32_t i = 0; i < job.operands; i++) {
        error = operands[i].codes ? emu_check_codes(&job.from[i], operands[i].codes, count) : EMU_ERROR_NULL;
        if (error)
            return error;
    }
    bytes = gives_number(operation) ? job.to.code_bytes : operation >= EMU_DO_NEXT_GREATER_THAN ? job.from[0].code_bytes : 1;
    for (size_t i = 0; i < count; i++) {
        uint64_t codes[EMU_MAX_OPERANDS] = {0, 0, 0, 0}, code = 0;
        for (int32_t k = 0; k < job.operands; k++)
            emu_load_codes(operands[k].codes, job.from[k].code_bytes, i, 1, &codes[k]);
        if (operate(&job, codes, &code, &open[i]))
            return EMU_ERROR_OPEN;
        emu_store_codes(result, bytes, i, 1, &code);
    }
    return EMU_OK;
}
