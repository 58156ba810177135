/* check_program.c: what must hold of a program before it runs. */
#include "../steps.h"

enum { EMU_MAX_STEPS = 1024, EMU_MAX_LEVELS = 16, EMU_MAX_TILE = 4096, EMU_MAX_EMAX = 255 };

static int32_t is_register(const emu_program *program, int32_t reg)
{
    return reg >= 0 && reg < program->register_count;
}

static int32_t is_place_sound(const emu_program *program, int32_t rows, int32_t columns)
{
    if (rows == 0)
        return columns == 0;
    return (rows == 1 || rows == program->tile_rows) && columns >= 0 && (columns == 0 || program->tile_columns % columns == 0);
}

/* 1: each part of `inner` lies inside one part of `outer`. */
static int32_t holds(const emu_register *outer, const emu_register *inner)
{
    int32_t rows = outer->rows == 0 || (inner->rows != 0 && outer->rows % inner->rows == 0);
    return rows && (outer->columns == 0 || (inner->columns != 0 && outer->columns % inner->columns == 0));
}

static int32_t is_element(const emu_register *reg)
{
    return reg->rows == 1 && reg->columns == 1;
}

static int32_t check_shape(const emu_program *program)
{
    emu_grid grid;
    int32_t error = emu_make_grid(program->arithmetic, &grid);
    if (error)
        return error;
    if (!emu_is_arithmetic(&grid))
        return EMU_ERROR_FORMAT;
    if (program->tile_rows < 1 || program->tile_rows > EMU_MAX_TILE || program->tile_columns < 1 || program->tile_columns > EMU_MAX_TILE ||
        program->tail < EMU_TAIL_ERROR || program->tail > EMU_TAIL_DROP)
        return EMU_ERROR_PROGRAM;
    if (program->register_count < 1 || program->register_count > EMU_MAX_REGISTERS || program->step_count < 0 ||
        program->step_count > EMU_MAX_STEPS || program->level_count < 0 || program->level_count > EMU_MAX_LEVELS)
        return EMU_ERROR_PROGRAM;
    if (!program->registers || (program->step_count && !program->steps) || (program->level_count && !program->levels))
        return EMU_ERROR_NULL;
    for (int32_t i = 0; i < program->register_count; i++) {
        const emu_register *reg = &program->registers[i];
        if (!is_place_sound(program, reg->rows, reg->columns) || (reg->is_constant && (reg->rows || !emu_is_code(&grid, reg->bits))))
            return EMU_ERROR_PROGRAM;
    }
    return EMU_OK;
}

/* A format that codes are cast to; unused high bits count. */
static int32_t check_code_format(const emu_format *format)
{
    emu_grid grid;
    int32_t error = emu_make_grid(format, &grid);
    return error ? error : emu_is_code(&grid, (uint64_t)1 << EMU_MAX_CODE_BITS) ? EMU_ERROR_FORMAT : EMU_OK;
}

/* The format and rounding of an arithmetic step, of round or of sum, whose format is the arithmetic. */
static int32_t check_rounded(const emu_program *program, const emu_step *step)
{
    const emu_format *format = step->operation == EMU_OP_SUM ? program->arithmetic : step->format;
    int32_t unbounded = step->operation == EMU_OP_ROUND && step->variant == EMU_UNBOUNDED;
    emu_grid to;
    int32_t error = emu_make_grid(format, &to);
    if (!error)
        error = emu_check_rounding(step->rounding, format);
    if (error)
        return error;
    if (step->rounding->random_bits)
        return EMU_ERROR_PROGRAM;
    if (unbounded && format->format_class == EMU_INTEGER)
        return EMU_OK;
    if (format->format_class != EMU_FLOAT)
        return EMU_ERROR_PROGRAM;
    if (unbounded ? to.frac_bits > EMU_MAX_UNBOUNDED_FRAC : !to.inf_magnitude || format->nan == EMU_NAN_NONE)
        return EMU_ERROR_FORMAT;
    return EMU_OK;
}

static int32_t check_cast(const emu_program *program, const emu_step *step)
{
    int32_t error = check_code_format(step->format);
    if (!error)
        error = emu_check_rounding(step->rounding, step->format);
    if (!error)
        error = emu_check_policy(step->policy, step->format);
    if (error)
        return error;
    if ((step->random >= 0) != (step->rounding->random_bits > 0) || (step->random >= 0 && !is_register(program, step->random)))
        return EMU_ERROR_PROGRAM;
    return EMU_OK;
}

/* nearest tries every code and rounds as the arithmetic; wrap gives every code. */
static int32_t check_codes(const emu_program *program, const emu_step *step)
{
    emu_grid to;
    int32_t error = check_code_format(step->format);
    if (error)
        return error;
    emu_derive_grid(step->format, &to);
    if (step->operation == EMU_OP_WRAP)
        return to.code_bits > EMU_MAX_WRAPPED_BITS || to.code_bits < 1 ? EMU_ERROR_FORMAT : EMU_OK;
    error = emu_check_rounding(step->rounding, program->arithmetic);
    if (error)
        return error;
    if (step->rounding->random_bits)
        return EMU_ERROR_ROUNDING;
    return to.code_bits > EMU_MAX_SEARCHED_BITS ? EMU_ERROR_FORMAT : EMU_OK;
}

static int32_t check_transform(const emu_program *program, const emu_step *step)
{
    int32_t error = emu_check_transform(step->transform);
    if (error)
        return error;
    return program->tile_columns % step->transform->size ? EMU_ERROR_PROGRAM : EMU_OK;
}

static int32_t is_variant_sound(const emu_step *step)
{
    switch (step->operation) {
    case EMU_OP_MIN:
    case EMU_OP_MAX:
    case EMU_OP_CLAMP:
    case EMU_OP_AMAX:
        return step->variant == EMU_NAN_PROPAGATE || step->variant == EMU_NAN_DROP;
    case EMU_OP_ROUND:
        return step->variant == EMU_BOUNDED || step->variant == EMU_UNBOUNDED;
    case EMU_OP_SUM:
        return step->variant >= EMU_SUM_EXACT && step->variant <= EMU_SUM_HALVES;
    case EMU_OP_SELECT:
        return step->variant >= EMU_TEST_NAN && step->variant <= EMU_TEST_GE;
    case EMU_OP_E8M0_RULE:
        return step->variant >= EMU_RULE_FLOOR && step->variant <= EMU_RULE_FIELD_UP && step->emax >= -EMU_MAX_EMAX &&
               step->emax <= EMU_MAX_EMAX && step->frac_bits >= 0 && step->frac_bits <= 22;
    default:
        return step->variant == 0;
    }
}

/* What an operation needs beside its arguments. */
static int32_t check_facts(const emu_program *program, const emu_step *step)
{
    emu_grid grid;
    if (step->operation < EMU_OP_ADD || step->operation > EMU_OP_WRAP || !is_variant_sound(step))
        return EMU_ERROR_PROGRAM;
    if (step->operation <= EMU_OP_FMA || step->operation == EMU_OP_ROUND || step->operation == EMU_OP_SUM)
        return check_rounded(program, step);
    if (step->operation == EMU_OP_CAST)
        return check_cast(program, step);
    if (step->operation == EMU_OP_DECODE)
        return emu_check_format(step->format); /* 64 bits too: what looks like an open cell is a NaN of such a format, and decodes alike */
    if (step->operation == EMU_OP_TRANSFORM)
        return check_transform(program, step);
    if (step->operation >= EMU_OP_NEAREST)
        return check_codes(program, step);
    emu_derive_grid(program->arithmetic, &grid);
    if ((step->operation == EMU_OP_E8M0_RULE || step->operation == EMU_OP_LOG2) && !emu_is_binary32(&grid))
        return EMU_ERROR_PROGRAM;
    return EMU_OK;
}

/* A reduction goes from finer parts to a coarser one, a sum stays in one row; a tree sum takes a power of two of parts, one
 * of halves an even number. */
static int32_t is_reduction_sound(const emu_step *step, const emu_register *out, const emu_register *arg)
{
    int32_t terms = out->columns && arg->columns ? out->columns / arg->columns : 0;
    if (!out->rows || !holds(out, arg) || (out->rows == arg->rows && out->columns == arg->columns))
        return 0;
    if (step->operation == EMU_OP_SUM)
        return out->rows == 1 && out->columns != 0 && !(step->variant == EMU_SUM_TREE && (terms & (terms - 1))) &&
               !(step->variant == EMU_SUM_HALVES && terms % 2);
    return 1;
}

static int32_t is_step_sound(const emu_program *program, const emu_step *step, const uint8_t *is_set)
{
    const emu_register *out, *arg;
    int32_t count = emu_count_args(step), goes_up = step->operation == EMU_OP_AMAX || step->operation == EMU_OP_SUM;
    if (!is_register(program, step->out) || is_set[step->out])
        return 0;
    out = &program->registers[step->out];
    for (int32_t i = 0; i < count; i++) {
        if (!is_register(program, step->args[i]) || !is_set[step->args[i]])
            return 0;
        arg = &program->registers[step->args[i]];
        if (goes_up ? !is_reduction_sound(step, out, arg) : !holds(arg, out))
            return 0;
    }
    if (step->operation == EMU_OP_TRANSFORM)
        return is_element(out) && is_element(&program->registers[step->args[0]]);
    if (step->random < 0)
        return 1;
    return step->operation == EMU_OP_CAST && is_set[step->random] && is_element(&program->registers[step->random]) && is_element(out);
}

/* Marks the registers that are given from outside: 1 sound. */
static int32_t give(const emu_program *program, uint8_t *is_set)
{
    const int32_t given[3] = {program->x, program->random, program->values >= 0 ? program->codes : -1};
    for (int32_t i = 0; i < program->register_count; i++)
        is_set[i] = program->registers[i].is_constant != 0;
    for (int32_t i = 0; i < 3; i++) {
        if (given[i] < 0)
            continue;
        if (!is_register(program, given[i]) || is_set[given[i]] || !is_element(&program->registers[given[i]]))
            return 0;
        is_set[given[i]] = 1;
    }
    if (program->tensor_amax >= 0) {
        if (!is_register(program, program->tensor_amax) || is_set[program->tensor_amax] || program->registers[program->tensor_amax].rows)
            return 0;
        is_set[program->tensor_amax] = 1;
    }
    for (int32_t i = 0; i < program->level_count; i++) {
        int32_t reg = program->levels[i].reg;
        if (!is_register(program, reg) || !is_place_sound(program, program->levels[i].rows, program->levels[i].columns))
            return 0;
        if (program->values >= 0 && is_set[reg])
            return 0;
        is_set[reg] = (uint8_t)(is_set[reg] || program->values >= 0);
    }
    return 1;
}

/* The results have been set, and each part of them lies in one cell. */
static int32_t are_results_sound(const emu_program *program, const uint8_t *is_set)
{
    int32_t result = program->values >= 0 ? program->values : program->codes;
    if (!is_register(program, result) || !is_set[result])
        return 0;
    for (int32_t i = 0; i < program->level_count; i++) {
        const emu_level *level = &program->levels[i];
        const emu_register place = {level->rows, level->columns, 0, 0};
        const emu_register *reg = &program->registers[level->reg];
        if (!is_set[level->reg] || !holds(reg, &place) || (program->values >= 0 && !holds(&place, reg)))
            return 0;
    }
    return 1;
}

int32_t emu_check_program(const emu_program *program)
{
    uint8_t is_set[EMU_MAX_REGISTERS];
    int32_t error;
    if (!program)
        return EMU_ERROR_NULL;
    error = check_shape(program);
    if (error)
        return error;
    if (!give(program, is_set))
        return EMU_ERROR_PROGRAM;
    for (int32_t i = 0; i < program->step_count; i++) {
        error = check_facts(program, &program->steps[i]);
        if (error)
            return error;
        if (!is_step_sound(program, &program->steps[i], is_set))
            return EMU_ERROR_PROGRAM;
        is_set[program->steps[i].out] = 1;
    }
    for (int32_t i = 0; i < program->level_count; i++) {
        emu_grid grid;
        error = emu_make_grid(program->levels[i].format, &grid);
        if (error)
            return error;
    }
    return are_results_sound(program, is_set) ? EMU_OK : EMU_ERROR_PROGRAM;
}
