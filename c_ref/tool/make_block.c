/* make_block.c: the columns of quantize, dequantize and transform: one tile, or one rotation, a row. */
#include "tool.h"

enum { ACROSS = 16 }; /* elements of a row where a tile is one: their scale is that of the row, or of the tensor */

static int32_t is_element(const emu_program *program) { return program->tile_rows == 1 && program->tile_columns == 1; }

int32_t columns_of(const emu_program *program) { return is_element(program) ? ACROSS : program->tile_columns; }

/* Parts of one tile that a level or register of rows x columns has. */
int32_t parts_of(const emu_program *program, int32_t rows, int32_t columns)
{
    return (rows ? program->tile_rows / rows : 1) * (columns ? columns_of(program) / columns : 1);
}

/* The register of the first maximum over a whole block, tile or row; -1 where the program takes none. */
static int32_t find_amax_register(const emu_program *program)
{
    int32_t whole = is_element(program) ? 0 : program->tile_columns; /* 0: as wide as the row is */
    for (int32_t i = 0; i < program->step_count; i++) {
        const emu_register *out = &program->registers[program->steps[i].out];
        if (program->steps[i].operation == EMU_OP_AMAX && out->columns == whole &&
            (out->rows == 1 || out->rows == program->tile_rows))
            return program->steps[i].out;
    }
    return -1;
}

static const emu_rounding *find_drawing_rounding(const emu_program *program)
{
    for (int32_t i = 0; i < program->step_count; i++) {
        if (program->steps[i].random >= 0)
            return program->steps[i].rounding;
    }
    return NULL;
}

static void add_random(operation *op, int32_t n)
{
    const emu_word *word = op->recipe->word;
    if (op->program.random < 0)
        return;
    op->rounding = find_drawing_rounding(&op->program);
    if (word)
        add_column(op, "r", ROLE_R, n / word->lanes, word->bits, NULL, 0);
    else
        add_column(op, "r", ROLE_R, n, op->rounding->random_bits, NULL, 0);
}

static void add_level(operation *op, int32_t place, int32_t role, const char *name, int32_t any_nan)
{
    const emu_level *level = &op->levels[place];
    int32_t parts = parts_of(&op->program, level->rows, level->columns);
    int32_t made = add_column(op, name, role, parts, stored_bits(level->format), level->format, any_nan);
    if (made >= 0)
        op->columns[made].level = place;
}

/* The quantize program with one level more: the register whose maximum is the stage `amax`. */
static void add_amax(operation *op)
{
    emu_level extra = {0, 0, 0, NULL};
    extra.reg = find_amax_register(&op->program);
    if (extra.reg < 0)
        return;
    extra.rows = op->program.registers[extra.reg].rows;
    extra.columns = op->program.registers[extra.reg].columns;
    extra.format = op->program.arithmetic;
    op->levels[op->program.level_count] = extra;
    op->amax = op->program.level_count;
    op->program.level_count++;
    add_column(op, "amax", ROLE_STAGE, 1, stored_bits(extra.format), extra.format, 1);
}

/* Take recipe and program; 0 where there is none. The operation is a struct of its own, so `levels` points into it. */
static int take_program(operation *op, const char *recipe, const char *profile)
{
    const emu_program *program = emu_find_program_in(op->library, recipe, profile);
    op->recipe = emu_find_recipe_in(op->library, recipe);
    if (!program || !op->recipe || program->tile_rows * program->tile_columns > MAX_LANES || program->level_count >= MAX_LEVELS)
        return 0;
    op->program = *program;
    memcpy(op->levels, program->levels, sizeof *program->levels * (size_t)program->level_count);
    op->amax = -1;
    return 1;
}

int make_quantize(const char *recipe, operation *op)
{
    int32_t n;
    op->op = OP_QUANTIZE;
    op->source = emu_find_format_in(op->library, op->source_id);
    if (!op->source || !take_program(op, recipe, NULL))
        return op->source ? unknown("recipe", recipe) : unknown("format", op->source_id);
    n = op->program.tile_rows * columns_of(&op->program);
    add_column(op, "x", ROLE_IN, n, stored_bits(op->source), op->source, 0);
    if (op->program.tensor_amax >= 0)
        add_column(op, "ts", ROLE_IN, 1, 32, emu_find_format("fp32"), 0);
    if (op->program.tail != EMU_TAIL_ERROR && op->program.tile_rows == 1)
        add_column(op, "n_valid", ROLE_IN, 1, 8, NULL, 0);
    add_random(op, n);
    add_column(op, "codes", ROLE_OUT, n, stored_bits(op->recipe->element), op->recipe->element, 0);
    for (int32_t pass = 0; pass < 2; pass++) {
        for (int32_t place = 0; place < op->program.level_count; place++) {
            const char *name = op->recipe->levels[place];
            if ((strcmp(name, "scale") != 0) == pass && op->levels[place].reg != op->program.tensor_amax)
                add_level(op, place, ROLE_OUT, name, op->levels[place].format == op->program.arithmetic);
        }
    }
    add_amax(op);
    return 0;
}

int make_dequantize(const char *recipe, const char *profile, operation *op)
{
    int32_t n;
    op->op = OP_DEQUANTIZE;
    op->result = emu_find_format_in(op->library, op->result_id);
    if (!op->result || !take_program(op, recipe, profile))
        return op->result ? unknown("recipe with this profile", recipe) : unknown("format", op->result_id);
    n = op->program.tile_rows * columns_of(&op->program);
    op->source = op->recipe->element;
    add_column(op, "codes", ROLE_IN, n, stored_bits(op->source), op->source, 0);
    for (int32_t pass = 0; pass < 2; pass++) {
        for (int32_t place = 0; place < op->program.level_count; place++) {
            int32_t is_tensor = op->levels[place].rows == 0 && op->levels[place].columns == 0;
            if (is_tensor == pass)
                add_level(op, place, ROLE_IN, is_tensor ? "ts" : op->recipe->levels[place], 0);
        }
    }
    add_column(op, "y", ROLE_OUT, n, stored_bits(op->result), op->result, 1);
    return 0;
}

int make_transform(const char *id, operation *op)
{
    char name[4] = "b0";
    op->op = OP_TRANSFORM;
    op->source = emu_find_format_in(op->library, op->source_id);
    op->transform = emu_find_transform_in(op->library, id);
    if (!op->source || !op->transform)
        return op->source ? unknown("transform", id) : unknown("format", op->source_id);
    op->result = op->transform->result;
    add_column(op, "x", ROLE_IN, op->transform->size, stored_bits(op->source), op->source, 0);
    add_column(op, "sgn", ROLE_IN, op->transform->size, 1, NULL, 0);
    add_column(op, "y", ROLE_OUT, op->transform->size, stored_bits(op->transform->result), op->transform->result, 1);
    for (int32_t stride = 1; op->transform->order == EMU_SUM_BUTTERFLY && stride < op->transform->size; stride *= 2) {
        add_column(op, name, ROLE_STAGE, op->transform->size, stored_bits(op->transform->sum_format), op->transform->sum_format, 1);
        name[1]++;
    }
    return 0;
}
