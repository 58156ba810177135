/* types.c: what each register of a program holds: values of the arithmetic, or codes; those of a select are of the format of one arm. */
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

/* Element codes from outside: any decoding step says the format, and a flag may choose. */
static int32_t is_given_code(const emu_program *program, int32_t reg)
{
    return program->values >= 0 && reg == program->codes;
}

/* 1: codes of `format` may stand in a register after `count` steps: it, or an arm of the selects that it comes from, has that format or is
 * given. format NULL: given ones alone. */
static int32_t may_hold(const emu_program *program, int32_t count, const emu_format *const *types, int32_t reg, const emu_format *format)
{
    uint8_t reaches[EMU_MAX_REGISTERS] = {0};
    reaches[reg] = 1;
    for (int32_t i = count - 1; i >= 0; i--) {
        const emu_step *step = &program->steps[i];
        int32_t arms = emu_count_args(step) - 2;
        if (step->operation == EMU_OP_SELECT && reaches[step->out])
            reaches[step->args[arms]] = reaches[step->args[arms + 1]] = 1;
    }
    for (int32_t i = 0; i < program->register_count; i++) {
        if (reaches[i] && (is_given_code(program, i) || (format && types[i] && emu_same_format(types[i], format))))
            return 1;
    }
    return 0;
}

static int32_t is_code(const emu_program *program, int32_t count, const emu_format *const *types, int32_t reg)
{
    return types[reg] ? !is_value(program, types, reg) : may_hold(program, count, types, reg, NULL);
}

/* The code that a step decodes; given element codes get the format of the first step that does. */
static int32_t type_code(const emu_program *program, int32_t number, const emu_format **types)
{
    const emu_step *step = &program->steps[number];
    int32_t reg = step->args[0];
    if (!types[reg] && is_given_code(program, reg))
        types[reg] = step->format;
    return is_code(program, number, types, reg) && may_hold(program, number, types, reg, step->format);
}

/* Both arms of a select are values, or codes of one width. */
static int32_t are_arms_sound(const emu_program *program, int32_t number, const emu_format *const *types)
{
    const int32_t *arms = &program->steps[number].args[emu_count_args(&program->steps[number]) - 2];
    const emu_format *yes = types[arms[0]], *no = types[arms[1]];
    if (is_value(program, types, arms[0]) || is_value(program, types, arms[1]))
        return yes == no;
    if (!is_code(program, number, types, arms[0]) || !is_code(program, number, types, arms[1]))
        return 0;
    return !yes || !no || emu_stored_bits(yes) == emu_stored_bits(no);
}

static int32_t take_arguments(const emu_program *program, int32_t number, const emu_format **types)
{
    const emu_step *step = &program->steps[number];
    const emu_operation *words = &emu_operations[step->operation];
    int32_t count = emu_count_args(step), values = words->takes == EMU_TAKES_ARMS ? count - 2 : count;
    if (words->takes == EMU_TAKES_CODES)
        return type_code(program, number, types);
    for (int32_t i = 0; i < values; i++) {
        if (!is_value(program, types, step->args[i]))
            return 0;
    }
    return words->takes == EMU_TAKES_VALUES || are_arms_sound(program, number, types);
}

/* Of two arms the first, or the one whose format is known. */
static const emu_format *arms_type(const emu_format *const *types, const int32_t *arms)
{
    return types[arms[0]] ? types[arms[0]] : types[arms[1]];
}

static const emu_format *result_type(const emu_program *program, const emu_step *step, const emu_format *const *types)
{
    switch (emu_operations[step->operation].gives) {
    case EMU_GIVES_CODES:
        return step->format;
    case EMU_GIVES_E8M0:
        return &e8m0;
    case EMU_GIVES_ARMS:
        return arms_type(types, &step->args[emu_count_args(step) - 2]);
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
        int32_t reg = program->levels[i].reg;
        const emu_format *wanted = level_type(program, &program->levels[i]);
        if (!types[reg] || is_value(program, types, reg) != (wanted == program->arithmetic) ||
            !may_hold(program, program->step_count, types, reg, wanted))
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
        if (!take_arguments(program, i, types))
            return EMU_ERROR_PROGRAM;
        types[program->steps[i].out] = result_type(program, &program->steps[i], types);
    }
    return are_results_typed(program, types) ? EMU_OK : EMU_ERROR_PROGRAM;
}
