/* emu_dpi_tile.c: packed vectors of one tile -> matrices of the reference, and back. */
#include "emu_dpi_private.h"

enum { MAX_LEVELS = 16, MAX_WORDS = 1 << 14 };

/* The program of a recipe: profile NULL: that which quantizes. */
static int32_t find_program(int32_t handle, const char *recipe, const char *profile, const emu_recipe **named, const emu_program **program)
{
    const emu_library *library;
    int32_t error = emu_dpi_find_recipe(handle, recipe, named);
    if (!error)
        error = emu_dpi_find_library(handle, &library);
    if (error)
        return error;
    *program = emu_find_program_in(library, recipe, profile);
    return *program ? EMU_OK : emu_dpi_unknown(handle, "a profile of this recipe", profile ? profile : recipe);
}

/* The levels of one tile. */
typedef struct level_tiles {
    uint64_t codes[MAX_LEVELS][EMU_DPI_LANES];
    uint8_t open[MAX_LEVELS][EMU_DPI_LANES];
    emu_matrix matrices[MAX_LEVELS];
} level_tiles;

/* Lay out the levels, filled from `packed` where it is given; EMU_ERROR_SPACE when the tile or its levels pass a limit. */
static int32_t open_levels(const emu_program *program, const uint32_t *packed, level_tiles *held)
{
    int32_t at = 0;
    size_t words = 0;
    if (program->tile_rows * program->tile_columns > EMU_DPI_LANES || program->level_count > MAX_LEVELS ||
        emu_count_workspace(program, (size_t)program->tile_columns, &words) || words > MAX_WORDS)
        return EMU_ERROR_SPACE;
    for (int32_t i = 0; i < program->level_count; i++) {
        const emu_level *level = &program->levels[i];
        int32_t rows = level->rows ? program->tile_rows / level->rows : 1;
        int32_t columns = level->columns ? program->tile_columns / level->columns : 1;
        if (at + rows * columns * emu_stored_bits(level->format) > EMU_DPI_BITS)
            return EMU_ERROR_SPACE;
        held->matrices[i] = emu_dpi_matrix(held->codes[i], rows, columns, held->open[i]);
        if (packed)
            emu_dpi_unpack(packed, at, emu_stored_bits(level->format), rows * columns, held->codes[i]);
        at += rows * columns * emu_stored_bits(level->format);
    }
    return EMU_OK;
}

/* Pack the levels and say whether one of their codes is open. */
static uint8_t close_levels(const emu_program *program, const level_tiles *held, uint32_t *packed)
{
    int32_t at = 0;
    uint8_t open = 0;
    for (int32_t i = 0; i < program->level_count; i++) {
        int32_t lanes = (int32_t)(held->matrices[i].rows * held->matrices[i].columns);
        at = emu_dpi_pack(held->codes[i], at, emu_stored_bits(program->levels[i].format), lanes, packed);
        for (int32_t lane = 0; lane < lanes; lane++)
            open = open || held->open[i][lane];
    }
    return open;
}

static const emu_rounding *find_drawing_rounding(const emu_program *program)
{
    for (int32_t i = 0; i < program->step_count; i++) {
        if (program->steps[i].random >= 0)
            return program->steps[i].rounding;
    }
    return NULL;
}

/* Random integers of a program that draws. */
static int32_t take_random(const emu_program *program, const emu_word *word, const uint32_t *packed, int32_t count, uint64_t *random)
{
    const emu_rounding *rounding = find_drawing_rounding(program);
    uint32_t split[EMU_DPI_LANES];
    int32_t error;
    if (!rounding)
        return EMU_OK;
    if (!emu_dpi_fits(word ? (count + word->lanes - 1) / word->lanes : count, word ? word->bits : rounding->random_bits))
        return EMU_ERROR_SPACE;
    if (!word) {
        emu_dpi_unpack(packed, 0, rounding->random_bits, count, random);
        return EMU_OK;
    }
    emu_dpi_unpack(packed, 0, word->bits, (count + word->lanes - 1) / word->lanes, random);
    error = emu_split_words(random, word->positions, word->lanes, word->random_bits, (size_t)count, split);
    for (int32_t i = 0; !error && i < count; i++)
        random[i] = split[i];
    return error;
}

/* Elements and random integers of one tile. */
typedef struct tile {
    uint64_t x[EMU_DPI_LANES];
    uint64_t random[EMU_DPI_LANES];
    uint64_t codes[EMU_DPI_LANES];
    uint8_t open[EMU_DPI_LANES];
    uint64_t workspace[MAX_WORDS];
} tile;

/* Run the program on a tile; kept: how many codes a row has afterwards. */
static int32_t run_tile(const emu_program *program, const emu_format *format, int32_t columns, uint32_t tensor_amax, tile *work,
                        level_tiles *held, int32_t *kept)
{
    emu_matrix x = emu_dpi_matrix(work->x, program->tile_rows, columns, NULL);
    emu_matrix random = emu_dpi_matrix(work->random, program->tile_rows, columns, NULL);
    emu_matrix codes;
    *kept = program->tail == EMU_TAIL_DROP ? columns : program->tile_columns;
    codes = emu_dpi_matrix(work->codes, program->tile_rows, *kept, work->open);
    return emu_quantize(program, format, &x, program->tensor_amax < 0 ? NULL : &tensor_amax, program->random < 0 ? NULL : &random, NULL,
                        &codes, held->matrices, work->workspace, MAX_WORDS);
}

int32_t emu_dpi_quantize_in(int32_t handle, const char *recipe, const char *source, const emu_bits x, int32_t columns,
                            uint32_t tensor_amax, const emu_bits random, emu_bits codes, emu_bits levels, uint8_t *open)
{
    const emu_recipe *named;
    const emu_format *format;
    const emu_program *program;
    tile work;
    level_tiles held;
    int32_t error = find_program(handle, recipe, NULL, &named, &program), lanes, kept = 0;
    if (!error)
        error = emu_dpi_find_format(handle, source, &format);
    if (error)
        return error;
    error = open_levels(program, NULL, &held);
    if (!error && (columns < 1 || columns > program->tile_columns))
        error = EMU_ERROR_SHAPE;
    lanes = error ? 0 : program->tile_rows * columns;
    if (!error && (!emu_dpi_fits(lanes, emu_stored_bits(format)) ||
                   !emu_dpi_fits(program->tile_rows * program->tile_columns, emu_stored_bits(named->element))))
        error = EMU_ERROR_SPACE;
    if (!error)
        error = take_random(program, named->word, random, lanes, work.random);
    if (error)
        return emu_dpi_end(error, recipe);
    emu_dpi_unpack(x, 0, emu_stored_bits(format), lanes, work.x);
    error = run_tile(program, format, columns, tensor_amax, &work, &held, &kept);
    if (error)
        return emu_dpi_end(error, recipe);
    emu_dpi_clear(codes);
    emu_dpi_clear(levels);
    emu_dpi_pack(work.codes, 0, emu_stored_bits(named->element), program->tile_rows * kept, codes);
    *open = close_levels(program, &held, levels);
    for (int32_t lane = 0; lane < program->tile_rows * kept; lane++)
        *open = *open || work.open[lane];
    return EMU_OK;
}

int32_t emu_dpi_dequantize_in(int32_t handle, const char *recipe, const char *profile, const char *result, const emu_bits codes,
                              const emu_bits levels, emu_bits values)
{
    const emu_recipe *named;
    const emu_format *format;
    const emu_program *program;
    uint64_t elements[EMU_DPI_LANES], made[EMU_DPI_LANES], workspace[MAX_WORDS];
    emu_matrix in, out;
    level_tiles held;
    int32_t error = find_program(handle, recipe, profile ? profile : "", &named, &program), lanes;
    if (!error)
        error = emu_dpi_find_format(handle, result, &format);
    if (error)
        return error;
    error = open_levels(program, levels, &held);
    lanes = error ? 0 : program->tile_rows * program->tile_columns;
    if (!error && (!emu_dpi_fits(lanes, emu_stored_bits(format)) || !emu_dpi_fits(lanes, emu_stored_bits(named->element))))
        error = EMU_ERROR_SPACE;
    if (error)
        return emu_dpi_end(error, recipe);
    emu_dpi_unpack(codes, 0, emu_stored_bits(named->element), lanes, elements);
    in = emu_dpi_matrix(elements, program->tile_rows, program->tile_columns, NULL);
    out = emu_dpi_matrix(made, program->tile_rows, program->tile_columns, NULL);
    error = emu_dequantize(program, &in, held.matrices, format, &out, workspace, MAX_WORDS);
    if (error)
        return emu_dpi_end(error, recipe);
    emu_dpi_clear(values);
    emu_dpi_pack(made, 0, emu_stored_bits(format), lanes, values);
    return EMU_OK;
}

int32_t emu_dpi_transform_in(int32_t handle, const char *transform, const char *source, const emu_bits x, const emu_bits signs, emu_bits y)
{
    const emu_transform *found;
    const emu_format *format;
    uint64_t elements[EMU_DPI_LANES], made[EMU_DPI_LANES], mask[4];
    emu_matrix in, out;
    int32_t error = emu_dpi_find_transform(handle, transform, &found);
    if (!error)
        error = emu_dpi_find_format(handle, source, &format);
    if (error)
        return error;
    if (!emu_dpi_fits(found->size, emu_stored_bits(format)) || !emu_dpi_fits(found->size, emu_stored_bits(found->result)))
        return emu_dpi_end(EMU_ERROR_SPACE, transform);
    emu_dpi_unpack(x, 0, emu_stored_bits(format), found->size, elements);
    in = emu_dpi_matrix(elements, 1, found->size, NULL);
    out = emu_dpi_matrix(made, 1, found->size, NULL);
    emu_dpi_unpack(signs, 0, 64, 4, mask);
    error = emu_transform_matrix(format, found, mask, &in, &out);
    if (error)
        return emu_dpi_end(error, transform);
    emu_dpi_clear(y);
    emu_dpi_pack(made, 0, emu_stored_bits(found->result), found->size, y);
    return EMU_OK;
}

int32_t emu_dpi_quantize(const char *recipe, const char *source, const emu_bits x, int32_t columns, uint32_t tensor_amax,
                         const emu_bits random, emu_bits codes, emu_bits levels, uint8_t *open)
{
    return emu_dpi_quantize_in(EMU_DPI_SHIPPED, recipe, source, x, columns, tensor_amax, random, codes, levels, open);
}

int32_t emu_dpi_dequantize(const char *recipe, const char *profile, const char *result, const emu_bits codes, const emu_bits levels,
                           emu_bits values)
{
    return emu_dpi_dequantize_in(EMU_DPI_SHIPPED, recipe, profile, result, codes, levels, values);
}

int32_t emu_dpi_transform(const char *transform, const char *source, const emu_bits x, const emu_bits signs, emu_bits y)
{
    return emu_dpi_transform_in(EMU_DPI_SHIPPED, transform, source, x, signs, y);
}
