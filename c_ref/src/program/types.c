/* types.c: what each register of a program holds: values of the arithmetic, or codes of one format. */
#include "../steps.h"

static const emu_format e8m0 = {EMU_EXPONENT, 8, 0, 0, 0, 127, 0, 0, 0, EMU_INF_NONE, EMU_NAN_LIST, 1, {0xFF}, 0, 0, 0, 0, NULL};

/* Levels that are coded in the arithmetic are values. */
static const emu_format *level_type(const emu_program *program, const emu_level *level)
{
    return emu_same_format(level->format, program->arithmetic) ? program->arithmetic : level->format;
}

/* A register that a step takes as a value. */
static int32_t is_value(const emu_program *program, const emu_format *const *types, int32_t reg)
{
    return types[reg] == program->arithmetic;
}

/* The code that a step decodes; given element codes get the format of the first step that does. */
static int32_t type_code(const emu_program *program, const emu_step *step, const emu_format **types)
{
    int32_t reg = step->args[0];
    if (!types[reg] && program->values >= 0 && reg == program->codes)
        types[reg] = step->format;
    if (!types[reg] || is_value(program, types, reg))
        return 0;
    if (program->values >= 0 && reg == program->codes) /* a flag may choose the format */
        return 1;
    return emu_same_format(types[reg], step->format);
}

static int32_t take_arguments(const emu_program *program, const emu_step *step, const emu_format **types)
{
    const emu_operation *words = &emu_operations[step->operation];
    int32_t count = emu_count_args(step), values = words->takes == EMU_TAKES_ARMS ? count - 2 : count;
    if (words->takes == EMU_TAKES_CODES)
        return type_code(program, step, types);
    for (int32_t i = 0; i < values; i++) {
        if (!is_value(program, types, step->args[i]))
            return 0;
    }
    if (words->takes == EMU_TAKES_VALUES)
        return 1;
    return types[step->args[values]] && types[step->args[values + 1]] &&
           is_value(program, types, step->args[values]) == is_value(program, types, step->args[values + 1]);
}

static const emu_format *result_type(const emu_program *program, const emu_step *step, const emu_format *const *types)
{
    switch (emu_operations[step->operation].gives) {
    case EMU_GIVES_CODES:
        return step->format;
    case EMU_GIVES_E8M0:
        return &e8m0;
    case EMU_GIVES_ARMS:
        return types[step->args[emu_count_args(step) - 2]];
    default:
        return program->arithmetic;
    }
}

static void type_given(const emu_program *program, const emu_format **types)
{
    for (int32_t i = 0; i < program->register_count; i++)
        types[i] = program->registers[i].is_constant ? program->arithmetic : NULL;
    if (program->x >= 0)
        types[program->x] = program->arithmetic;
    if (program->tensor_amax >= 0)
        types[program->tensor_amax] = program->arithmetic;
    for (int32_t i = 0; program->values >= 0 && i < program->level_count; i++)
        types[program->levels[i].reg] = level_type(program, &program->levels[i]);
}

static int32_t are_results_typed(const emu_program *program, const emu_format *const *types)
{
    if (program->values >= 0)
        return is_value(program, types, program->values);
    for (int32_t i = 0; i < program->level_count; i++) {
        const emu_format *found = types[program->levels[i].reg], *wanted = level_type(program, &program->levels[i]);
        if (!found || (found == program->arithmetic) != (wanted == program->arithmetic) || !emu_same_format(found, wanted))
            return 0;
    }
    return types[program->codes] && !is_value(program, types, program->codes);
}

int32_t emu_type_registers(const emu_program *program, const emu_format **types)
{
    int32_t error = emu_check_program(program);
    if (error)
        return error;
    if (!types)
        return EMU_ERROR_NULL;
    type_given(program, types);
    for (int32_t i = 0; i < program->step_count; i++) {
        const emu_step *step = &program->steps[i];
        if (!take_arguments(program, step, types))
            return EMU_ERROR_PROGRAM;
        types[step->out] = result_type(program, step, types);
    }
    return are_results_typed(program, types) ? EMU_OK : EMU_ERROR_PROGRAM;
}
