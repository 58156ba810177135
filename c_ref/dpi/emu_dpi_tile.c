/* emu_dpi_tile.c: packed vectors of one tile -> matrices of the reference, and back. */
#include "emu_dpi.h"

enum { MAX_LANES = 256, MAX_LEVELS = 16, MAX_WORDS = 1 << 14 };

static int32_t stored_bits(const emu_format *format)
{
    if (format->format_class == EMU_FLOAT)
        return format->has_sign + format->exp_bits + format->frac_bits + format->unused_high_bits;
    return format->bits;
}

/* Lanes of `bits` bits from bit `at` on; the position after them. */
static int32_t unpack(const uint32_t *packed, int32_t at, int32_t bits, int32_t lanes, uint64_t *codes)
{
    for (int32_t lane = 0; lane < lanes; lane++) {
        codes[lane] = 0;
        for (int32_t bit = 0; bit < bits; bit++, at++)
            codes[lane] |= (uint64_t)(packed[at / 32] >> (at % 32) & 1) << bit;
    }
    return at;
}

static int32_t pack(const uint64_t *codes, int32_t at, int32_t bits, int32_t lanes, uint32_t *packed)
{
    for (int32_t lane = 0; lane < lanes; lane++) {
        for (int32_t bit = 0; bit < bits; bit++, at++)
            packed[at / 32] |= (uint32_t)(codes[lane] >> bit & 1) << (at % 32);
    }
    return at;
}

static void clear(uint32_t *packed)
{
    for (int32_t i = 0; i < EMU_DPI_BITS / 32; i++)
        packed[i] = 0;
}

static emu_matrix matrix_of(uint64_t *codes, int32_t rows, int32_t columns, uint8_t *open)
{
    emu_matrix made;
    made.codes = codes;
    made.bytes = 8;
    made.rows = (size_t)rows;
    made.columns = (size_t)columns;
    made.open = open;
    return made;
}

/* The levels of one tile. */
typedef struct level_tiles {
    uint64_t codes[MAX_LEVELS][MAX_LANES];
    uint8_t open[MAX_LEVELS][MAX_LANES];
    emu_matrix matrices[MAX_LEVELS];
} level_tiles;

/* Lay out the levels, filled from `packed` where it is given; EMU_ERROR_SPACE when the tile or its levels pass a limit. */
static int32_t open_levels(const emu_program *program, const uint32_t *packed, level_tiles *held)
{
    int32_t at = 0;
    size_t words = 0;
    if (program->tile_rows * program->tile_columns > MAX_LANES || program->level_count > MAX_LEVELS ||
        emu_count_workspace(program, (size_t)program->tile_columns, &words) || words > MAX_WORDS)
        return EMU_ERROR_SPACE;
    for (int32_t i = 0; i < program->level_count; i++) {
        const emu_level *level = &program->levels[i];
        int32_t rows = level->rows ? program->tile_rows / level->rows : 1;
        int32_t columns = level->columns ? program->tile_columns / level->columns : 1;
        if (at + rows * columns * stored_bits(level->format) > EMU_DPI_BITS)
            return EMU_ERROR_SPACE;
        held->matrices[i] = matrix_of(held->codes[i], rows, columns, held->open[i]);
        if (packed)
            unpack(packed, at, stored_bits(level->format), rows * columns, held->codes[i]);
        at += rows * columns * stored_bits(level->format);
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
        at = pack(held->codes[i], at, stored_bits(program->levels[i].format), lanes, packed);
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
    uint32_t split[MAX_LANES];
    int32_t error;
    if (!rounding)
        return EMU_OK;
    if (!word) {
        unpack(packed, 0, rounding->random_bits, count, random);
        return EMU_OK;
    }
    unpack(packed, 0, word->bits, (count + word->lanes - 1) / word->lanes, random);
    error = emu_split_words(random, word->positions, word->lanes, word->random_bits, (size_t)count, split);
    for (int32_t i = 0; !error && i < count; i++)
        random[i] = split[i];
    return error;
}

/* Elements and random integers of one tile. */
typedef struct tile {
    uint64_t x[MAX_LANES];
    uint64_t random[MAX_LANES];
    uint64_t codes[MAX_LANES];
    uint8_t open[MAX_LANES];
    uint64_t workspace[MAX_WORDS];
} tile;

/* Run the program on a tile; kept: how many codes a row has afterwards. */
static int32_t run_tile(const emu_program *program, const emu_format *format, int32_t columns, uint32_t tensor_amax, tile *work,
                        level_tiles *held, int32_t *kept)
{
    emu_matrix x = matrix_of(work->x, program->tile_rows, columns, NULL);
    emu_matrix random = matrix_of(work->random, program->tile_rows, columns, NULL);
    emu_matrix codes;
    *kept = program->tail == EMU_TAIL_DROP ? columns : program->tile_columns;
    codes = matrix_of(work->codes, program->tile_rows, *kept, work->open);
    return emu_quantize(program, format, &x, program->tensor_amax < 0 ? NULL : &tensor_amax, program->random < 0 ? NULL : &random, NULL,
                        &codes, held->matrices, work->workspace, MAX_WORDS);
}

int32_t emu_dpi_quantize(const char *recipe, const char *source, const emu_bits x, int32_t columns, uint32_t tensor_amax,
                         const emu_bits random, emu_bits codes, emu_bits levels, uint8_t *open)
{
    const emu_program *program = emu_find_program(recipe, NULL);
    const emu_recipe *named = emu_find_recipe(recipe);
    const emu_format *format = emu_find_format(source);
    tile work;
    level_tiles held;
    int32_t error, lanes, kept = 0;
    if (!program || !named || !format)
        return EMU_ERROR_NULL;
    error = open_levels(program, NULL, &held);
    lanes = program->tile_rows * columns;
    if (!error && (columns < 1 || columns > program->tile_columns))
        error = EMU_ERROR_SHAPE;
    if (!error && stored_bits(format) * lanes > EMU_DPI_BITS)
        error = EMU_ERROR_SPACE;
    if (!error)
        error = take_random(program, named->word, random, lanes, work.random);
    if (error)
        return error;
    unpack(x, 0, stored_bits(format), lanes, work.x);
    error = run_tile(program, format, columns, tensor_amax, &work, &held, &kept);
    if (error)
        return error;
    clear(codes);
    clear(levels);
    pack(work.codes, 0, stored_bits(named->element), program->tile_rows * kept, codes);
    *open = close_levels(program, &held, levels);
    for (int32_t lane = 0; lane < program->tile_rows * kept; lane++)
        *open = *open || work.open[lane];
    return EMU_OK;
}

int32_t emu_dpi_dequantize(const char *recipe, const char *profile, const char *result, const emu_bits codes, const emu_bits levels,
                           emu_bits values)
{
    const emu_program *program = profile ? emu_find_program(recipe, profile) : NULL;
    const emu_recipe *named = emu_find_recipe(recipe);
    const emu_format *format = emu_find_format(result);
    uint64_t elements[MAX_LANES], made[MAX_LANES], workspace[MAX_WORDS];
    emu_matrix in, out;
    level_tiles held;
    int32_t error, lanes;
    if (!program || !named || !format)
        return EMU_ERROR_NULL;
    error = open_levels(program, levels, &held);
    lanes = program->tile_rows * program->tile_columns;
    if (!error && stored_bits(format) * lanes > EMU_DPI_BITS)
        error = EMU_ERROR_SPACE;
    if (error)
        return error;
    unpack(codes, 0, stored_bits(named->element), lanes, elements);
    in = matrix_of(elements, program->tile_rows, program->tile_columns, NULL);
    out = matrix_of(made, program->tile_rows, program->tile_columns, NULL);
    error = emu_dequantize(program, &in, held.matrices, format, &out, workspace, MAX_WORDS);
    if (error)
        return error;
    clear(values);
    pack(made, 0, stored_bits(format), lanes, values);
    return EMU_OK;
}

int32_t emu_dpi_transform(const char *transform, const char *source, const emu_bits x, const emu_bits signs, emu_bits y)
{
    const emu_transform *found = emu_find_transform(transform);
    const emu_format *format = emu_find_format(source);
    uint64_t elements[MAX_LANES], made[MAX_LANES], mask[4];
    emu_matrix in, out;
    int32_t error;
    if (!found || !format)
        return EMU_ERROR_NULL;
    if (stored_bits(format) * found->size > EMU_DPI_BITS || stored_bits(found->result) * found->size > EMU_DPI_BITS)
        return EMU_ERROR_SPACE;
    unpack(x, 0, stored_bits(format), found->size, elements);
    in = matrix_of(elements, 1, found->size, NULL);
    out = matrix_of(made, 1, found->size, NULL);
    unpack(signs, 0, 64, 4, mask);
    error = emu_transform_matrix(format, found, mask, &in, &out);
    if (error)
        return error;
    clear(y);
    pack(made, 0, stored_bits(found->result), found->size, y);
    return EMU_OK;
}
