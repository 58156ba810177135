/* descriptor_program.c: the programs of a recipe, read and written: registers, what is given, and step by step. */
#include "descriptor.h"

enum { MOST_REGISTERS = 1024, MOST_STEPS = 1024, MOST_EMAX = 255, GIVEN = 5 };

static const struct {
    const char *key;
    size_t place; /* of the number of its register */
} given[GIVEN] = {
    {"x", offsetof(emu_program, x)},
    {"tensor_amax", offsetof(emu_program, tensor_amax)},
    {"random", offsetof(emu_program, random)},
    {"codes", offsetof(emu_program, codes)},
    {"values", offsetof(emu_program, values)},
};

/* The number of a register, or -1 where the word is none. */
static int32_t read_register(emu_reader *reader, const emu_program *program, int32_t place, int32_t or_none)
{
    if (or_none && emu_is_word(reader, place, "none"))
        return -1;
    return (int32_t)emu_read_integer(reader, place, 0, program->register_count - 1);
}

static void read_registers(emu_reader *reader, emu_program *program)
{
    int32_t count = emu_read_count(reader, "registers", 1, MOST_REGISTERS);
    emu_register *registers = emu_take(reader, (size_t)count * sizeof *registers);
    const char **names = emu_take(reader, (size_t)count * sizeof *names);
    if (reader->error)
        return;
    for (int32_t i = 0; i < count && emu_next_line(reader); i++) {
        registers[i].is_constant = emu_is_word(reader, 0, "constant");
        if (registers[i].is_constant && reader->word_count == 2) {
            registers[i].bits = emu_read_hex(reader, 1);
        } else if (emu_is_word(reader, 0, "register") && reader->word_count == 4) {
            for (int32_t j = 0; j < i; j++) {
                if (names[j] && emu_is_word(reader, 1, names[j]))
                    emu_refuse(reader, "a second register with the name", 1, "give it a name of its own");
            }
            names[i] = emu_read_id(reader, 1);
            registers[i].rows = (int32_t)emu_read_integer(reader, 2, 0, program->tile_rows);
            registers[i].columns = (int32_t)emu_read_integer(reader, 3, 0, program->tile_columns);
        } else {
            emu_refuse_key(reader, registers[i].is_constant ? "constant" : "register");
        }
    }
    program->register_count = count;
    program->registers = registers;
    program->names = names;
}

/* The policy of a cast, behind its other words: overflow, the codes of NaN, and the NaN of overflow, each for both signs. */
static void read_cast_policy(emu_reader *reader, int32_t place, emu_step *step)
{
    emu_policy *policy = emu_take(reader, sizeof *policy);
    if (!policy)
        return;
    policy->overflow = emu_read_word(reader, place, emu_overflow_words);
    for (int32_t sign = 0; sign < 2; sign++) {
        emu_read_special(reader, place + 1 + sign, &policy->nan[sign]);
        emu_read_special(reader, place + 3 + sign, &policy->overflow_nan[sign]);
    }
    step->policy = policy;
}

/* How many words a step has behind its registers. */
static int32_t count_said(int32_t says)
{
    int32_t count = says & EMU_SAYS_POLICY ? 5 : 0;
    count += says & EMU_SAYS_E8M0 ? 2 : 0;
    for (int32_t one = EMU_SAYS_FORMAT; one <= EMU_SAYS_TRANSFORM; one *= 2)
        count += one != EMU_SAYS_POLICY && one != EMU_SAYS_E8M0 && (says & one);
    return count;
}

static void read_said(emu_reader *reader, const emu_program *program, int32_t says, int32_t place, emu_step *step)
{
    if (says & EMU_SAYS_FORMAT)
        step->format = emu_read_format(reader, place++);
    if (says & EMU_SAYS_ROUNDING)
        step->rounding = emu_read_rounding(reader, place++);
    if (says & EMU_SAYS_RANDOM)
        step->random = read_register(reader, program, place++, 1);
    if (says & EMU_SAYS_E8M0) {
        step->emax = (int32_t)emu_read_integer(reader, place++, -MOST_EMAX, MOST_EMAX);
        step->frac_bits = (int32_t)emu_read_integer(reader, place++, 0, 22);
    }
    if (says & EMU_SAYS_TRANSFORM)
        step->transform = emu_read_transform(reader, place++);
    if (says & EMU_SAYS_POLICY)
        read_cast_policy(reader, place, step);
}

/* The widths of formats that operations take. */
static void check_step(emu_reader *reader, const emu_step *step)
{
    int32_t operation = step->operation;
    emu_grid grid;
    if (reader->error || !step->format)
        return;
    emu_derive_grid(step->format, &grid);
    if (operation == EMU_OP_ROUND && step->variant == EMU_UNBOUNDED && step->format->format_class == EMU_FLOAT)
        emu_refuse_beyond(reader, "frac_bits of the format of an unbounded round", grid.frac_bits, EMU_MAX_UNBOUNDED_FRAC);
    if (operation == EMU_OP_CAST || operation == EMU_OP_DECODE || operation == EMU_OP_NEAREST || operation == EMU_OP_WRAP)
        emu_refuse_beyond(reader, "bits of a code", grid.code_bits, EMU_MAX_CODE_BITS);
    if (operation == EMU_OP_NEAREST)
        emu_refuse_beyond(reader, "bits of a code of nearest", grid.code_bits, EMU_MAX_SEARCHED_BITS);
    if (operation == EMU_OP_WRAP)
        emu_refuse_beyond(reader, "bits of a code of wrap", grid.code_bits, EMU_MAX_WRAPPED_BITS);
}

/* step <operation> <variant>, the register of its result, those of its arguments, then what it says. */
static void read_step(emu_reader *reader, const emu_program *program, emu_step *step)
{
    const emu_operation *words = emu_operations;
    int32_t place = 2, args;
    if (!emu_next_line(reader))
        return;
    if (!emu_is_word(reader, 0, "step") || reader->word_count < 3) {
        emu_refuse_key(reader, "step");
        return;
    }
    while (words->name && !emu_is_word(reader, 1, words->name))
        words++;
    if (!words->name) {
        emu_refuse(reader, "no such operation", 1, "the operations stand in docs/descriptors.md");
        return;
    }
    step->operation = (int32_t)(words - emu_operations);
    step->random = -1;
    if (words->variants)
        step->variant = emu_read_word(reader, place++, words->variants);
    args = emu_count_args(step);
    if (!reader->error && reader->word_count != place + 1 + args + count_said(words->says))
        emu_refuse(reader, "too many or too few words for the operation", 1, "its words stand in docs/descriptors.md");
    if (reader->error)
        return;
    step->out = read_register(reader, program, place++, 0);
    for (int32_t i = 0; i < 4; i++)
        step->args[i] = i < args ? read_register(reader, program, place++, 0) : -1;
    read_said(reader, program, words->says, place, step);
    check_step(reader, step);
}

static void read_steps(emu_reader *reader, emu_program *program)
{
    int32_t count = emu_read_count(reader, "steps", 0, MOST_STEPS);
    emu_step *steps = emu_take(reader, (size_t)count * sizeof *steps);
    for (int32_t i = 0; i < count && !reader->error; i++)
        read_step(reader, program, &steps[i]);
    program->step_count = count;
    program->steps = steps;
}

/* Which registers are given and left, by the names of emu_program, and those of the levels of the block. */
static void read_places(emu_reader *reader, const emu_block *block, emu_program *program)
{
    emu_level *levels = emu_take(reader, (size_t)block->level_count * sizeof *levels);
    for (int32_t i = 0; i < GIVEN && emu_read_line(reader, given[i].key, 1); i++)
        *(int32_t *)((char *)program + given[i].place) = read_register(reader, program, 1, 1);
    for (int32_t i = 0; i < block->level_count && emu_read_line(reader, "level", 2); i++) {
        if (!emu_is_word(reader, 1, block->levels[i].name))
            emu_refuse(reader, "not the level of the block that must come here", 1, "write the levels in the order of the block");
        if (reader->error)
            return;
        levels[i].reg = read_register(reader, program, 2, 0);
        levels[i].rows = block->levels[i].rows;
        levels[i].columns = block->levels[i].columns;
        levels[i].format = block->levels[i].format;
    }
    program->level_count = block->level_count;
    program->levels = levels;
}

/* The codes that a quantize program makes are as wide as the elements of its block. */
static int32_t are_codes_sound(const emu_block *block, const emu_program *program, const emu_format *const *types)
{
    return program->values >= 0 || emu_stored_bits(types[program->codes]) == emu_stored_bits(block->elements[0]);
}

static void check_program(emu_reader *reader, const emu_block *block, const emu_program *program, int32_t wants_values, int32_t line)
{
    const emu_format *types[MOST_REGISTERS];
    if (reader->error)
        return;
    emu_end_object(reader, line, emu_check_program(program) || (program->values >= 0) != wants_values,
                   "a program that contradicts itself or passes a limit", "the limits stand in emu_ref.h at emu_program");
    if (!reader->error)
        emu_end_object(reader, line, emu_type_registers(program, types) || !are_codes_sound(block, program, types),
                       "a program that takes a value for a code, or a code for one of another format", "see emu_type_registers in emu_ref.h");
}

void emu_load_program(emu_reader *reader, const emu_block *block, const emu_program *shared, int32_t wants_values, emu_program *program)
{
    int32_t line = reader->line;
    *program = *shared;
    if (emu_read_line(reader, "arithmetic", 1))
        program->arithmetic = emu_read_arithmetic(reader, 1);
    read_registers(reader, program);
    if (!reader->error)
        read_places(reader, block, program);
    if (!reader->error)
        read_steps(reader, program);
    check_program(reader, block, program, wants_values, line);
}

static void write_register(emu_writer *writer, int32_t number)
{
    if (number < 0)
        emu_write_word(writer, "none");
    else
        emu_write_integer(writer, number);
}

static void write_registers(emu_writer *writer, const emu_program *program)
{
    emu_write_count(writer, "registers", program->register_count);
    for (int32_t i = 0; i < program->register_count; i++) {
        const emu_register *reg = &program->registers[i];
        if (reg->is_constant) {
            emu_write_key(writer, "constant");
            emu_write_hex(writer, reg->bits);
            continue;
        }
        emu_write_line(writer, "register", program->names[i]);
        emu_write_integer(writer, reg->rows);
        emu_write_integer(writer, reg->columns);
    }
}

static void write_transform(emu_writer *writer, const emu_transform *transform)
{
    const emu_named_transform *row = writer->library->transforms;
    while (row->transform != transform)
        row++;
    emu_write_word(writer, row->name);
}

static void write_cast_policy(emu_writer *writer, const emu_policy *policy)
{
    emu_write_word(writer, emu_overflow_words[policy->overflow]);
    for (int32_t sign = 0; sign < 2; sign++)
        emu_write_special(writer, &policy->nan[sign]);
    for (int32_t sign = 0; sign < 2; sign++)
        emu_write_special(writer, &policy->overflow_nan[sign]);
}

static void write_said(emu_writer *writer, int32_t says, const emu_step *step)
{
    if (says & EMU_SAYS_FORMAT)
        emu_write_format(writer, step->format);
    if (says & EMU_SAYS_ROUNDING)
        emu_write_rounding(writer, step->rounding);
    if (says & EMU_SAYS_RANDOM)
        write_register(writer, step->random);
    if (says & EMU_SAYS_E8M0) {
        emu_write_integer(writer, step->emax);
        emu_write_integer(writer, step->frac_bits);
    }
    if (says & EMU_SAYS_TRANSFORM)
        write_transform(writer, step->transform);
    if (says & EMU_SAYS_POLICY)
        write_cast_policy(writer, step->policy);
}

static void write_step(emu_writer *writer, const emu_step *step)
{
    const emu_operation *words = &emu_operations[step->operation];
    int32_t args = emu_count_args(step);
    emu_write_line(writer, "step", words->name);
    if (words->variants)
        emu_write_word(writer, words->variants[step->variant]);
    emu_write_integer(writer, step->out);
    for (int32_t i = 0; i < args; i++)
        emu_write_integer(writer, step->args[i]);
    write_said(writer, words->says, step);
}

void emu_save_program(emu_writer *writer, const emu_recipe *recipe, const emu_program *program)
{
    emu_write_key(writer, "arithmetic");
    emu_write_format(writer, program->arithmetic);
    write_registers(writer, program);
    for (int32_t i = 0; i < GIVEN; i++) {
        emu_write_key(writer, given[i].key);
        write_register(writer, *(const int32_t *)((const char *)program + given[i].place));
    }
    for (int32_t i = 0; i < program->level_count; i++) {
        emu_write_line(writer, "level", recipe->levels[i]);
        emu_write_integer(writer, program->levels[i].reg);
    }
    emu_write_count(writer, "steps", program->step_count);
    for (int32_t i = 0; i < program->step_count; i++)
        write_step(writer, &program->steps[i]);
}
