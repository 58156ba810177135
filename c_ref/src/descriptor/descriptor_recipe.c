/* descriptor_recipe.c: recipes of a descriptor, read and written: the programs that quantize and dequantize a block. */
#include "descriptor.h"

enum { MOST_RECIPES = 4096, MOST_PROGRAMS = 64 };

static const char *const tails[] = {"error", "keep", "drop", NULL};

static const emu_field program_fields[] = {
    {.key = "tail", .kind = EMU_FIELD_WORD, .count = 1, .place = offsetof(emu_program, tail), .names = tails},
    {.key = "finite_only", .kind = EMU_FIELD_WORD, .count = 1, .place = offsetof(emu_program, finite_only), .names = emu_no_yes},
    {.key = "tensor_amax_min", .kind = EMU_FIELD_HEX, .count = 1, .place = offsetof(emu_program, tensor_amax_min)},
    {.key = NULL},
};

/* What names say of a recipe: out of its block, and of the random words of the rounding that draws. */
static void describe(emu_reader *reader, const char *block_id, const emu_block *block, const emu_program *quantize, emu_recipe *recipe)
{
    const char **levels = emu_take(reader, (size_t)block->level_count * sizeof *levels);
    if (reader->error)
        return;
    for (int32_t i = 0; i < block->level_count; i++)
        levels[i] = block->levels[i].name;
    recipe->block = block_id;
    recipe->element = block->elements[0];
    recipe->element_count = block->element_count;
    recipe->level_count = block->level_count;
    recipe->levels = levels;
    for (int32_t i = quantize->step_count - 1; i >= 0; i--) {
        const emu_named_rounding *row = reader->library->roundings;
        if (quantize->steps[i].random < 0)
            continue;
        while (row->rounding != quantize->steps[i].rounding)
            row++;
        recipe->word = emu_find_word_in(reader->library, row->name);
    }
}

static const emu_named_block *read_block(emu_reader *reader, int32_t place)
{
    const emu_named_block *row = reader->library->blocks;
    while (row->name && !emu_is_word(reader, place, row->name))
        row++;
    if (!row->name)
        emu_refuse(reader, "no block above has the id", place, "write the blocks that the file uses under blocks");
    return row->name ? row : NULL;
}

/* The programs of a recipe: `quantize`, then `dequantize <profile>` each. */
static void read_programs(emu_reader *reader, const emu_block *block, const emu_program *shared, const char *id, emu_named_program *rows,
                          emu_program *programs, int32_t count)
{
    for (int32_t i = 0; i < count && emu_read_line(reader, i ? "dequantize" : "quantize", i > 0); i++) {
        for (int32_t j = 1; j < i; j++) {
            if (emu_is_word(reader, 1, rows[j].profile))
                emu_refuse(reader, "a second profile with the name", 1, "give it a name of its own");
        }
        rows[i].profile = i ? emu_read_id(reader, 1) : NULL;
        emu_load_program(reader, block, shared, i > 0, &programs[i]);
        if (reader->error)
            return;
        rows[i].name = id;
        rows[i].program = &programs[i];
    }
}

static int32_t read_recipe(emu_reader *reader, emu_named_recipe *row, emu_recipe *recipe, emu_named_program *rows)
{
    const emu_named_block *block = read_block(reader, 2);
    emu_program shared = {0}, *programs;
    int32_t count;
    const char *id = row->name;
    if (!block)
        return 0;
    shared.tile_rows = block->block->rows;
    shared.tile_columns = block->block->columns;
    emu_read_fields(reader, program_fields, &shared);
    count = emu_read_count(reader, "programs", 1, MOST_PROGRAMS);
    programs = emu_take(reader, (size_t)count * sizeof *programs);
    if (!reader->error)
        read_programs(reader, block->block, &shared, id, rows, programs, count);
    if (!reader->error)
        describe(reader, block->id, block->block, &programs[0], recipe);
    row->recipe = recipe;
    return count;
}

void emu_load_recipes(emu_reader *reader)
{
    int32_t count = emu_read_count(reader, "recipes", 0, MOST_RECIPES), most = reader->error ? 0 : (reader->lines - reader->line) / 8, used = 0;
    emu_named_recipe *rows = emu_take(reader, ((size_t)count + 1) * sizeof *rows);
    emu_recipe *recipes = emu_take(reader, (size_t)count * sizeof *recipes);
    emu_named_program *programs = emu_take(reader, ((size_t)(count ? most : 0) + 1) * sizeof *programs); /* one has eight lines at least */
    reader->library->recipes = rows;
    reader->library->programs = programs;
    for (int32_t i = 0; i < count && emu_read_line(reader, "recipe", 2); i++) {
        const char *id = emu_read_new_id(reader, rows, sizeof *rows, i);
        rows[i].id = id;
        if (reader->error)
            return;
        rows[i].name = id;
        used += read_recipe(reader, &rows[i], &recipes[i], &programs[used]);
    }
}

void emu_save_recipes(emu_writer *writer)
{
    const emu_named_recipe *row = writer->library->recipes;
    const emu_named_program *program = writer->library->programs; /* those of a recipe follow on one another, in the order of the recipes */
    emu_write_count(writer, "recipes", emu_count_rows(row, sizeof *row));
    for (; row->name; row++) {
        int32_t count = 0;
        while (program[count].name == row->name)
            count++;
        emu_write_line(writer, "recipe", row->name);
        emu_write_word(writer, row->recipe->block);
        emu_write_fields(writer, program_fields, program->program);
        emu_write_count(writer, "programs", count);
        for (; program->name == row->name; program++) {
            emu_write_key(writer, program->profile ? "dequantize" : "quantize");
            if (program->profile)
                emu_write_word(writer, program->profile);
            emu_save_program(writer, row->recipe, program->program);
        }
    }
}
