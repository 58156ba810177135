/* derive_block.c: one tile through quantize or dequantize of the reference. */
#include "tool.h"

/* What the levels of one tile are read from and written to. */
typedef struct tile {
    uint64_t codes[MAX_LEVELS][MAX_LANES];
    uint8_t open[MAX_LEVELS][MAX_LANES];
    emu_matrix levels[MAX_LEVELS];
    uint64_t workspace[MAX_WORDS];
} tile;

static emu_matrix matrix_of(uint64_t *codes, size_t rows, size_t columns, uint8_t *open)
{
    emu_matrix made;
    made.codes = codes;
    made.bytes = 8;
    made.rows = rows;
    made.columns = columns;
    made.open = open;
    return made;
}

static int32_t open_tile(const operation *op, tile *held)
{
    const emu_program *program = &op->program;
    size_t words = 0;
    for (int32_t i = 0; i < program->level_count; i++) {
        size_t rows = (size_t)parts_of(program, op->levels[i].rows, 0);
        held->levels[i] = matrix_of(held->codes[i], rows, (size_t)parts_of(program, 0, op->levels[i].columns), held->open[i]);
    }
    if (emu_count_workspace(program, (size_t)columns_of(program), &words))
        return EMU_ERROR_PROGRAM;
    return words > MAX_WORDS ? EMU_ERROR_SPACE : EMU_OK;
}

/* Random integers of `count` elements, out of the words where the recipe has them. */
static int32_t take_random(const operation *op, const row *made, size_t count, uint64_t *random)
{
    const emu_word *word = op->recipe->word;
    const uint64_t *given = made->lanes[find_column(op, "r")];
    uint32_t split[MAX_LANES];
    int32_t error = EMU_OK;
    if (word)
        error = emu_split_words(given, word->positions, word->lanes, word->random_bits, count, split);
    for (size_t i = 0; i < count; i++)
        random[i] = word ? split[i] : given[i];
    return error;
}

/* Copy the levels into their columns; the first part of the maximum. known: 1 when some result of the row is known. */
static void take_levels(const operation *op, const tile *held, row *made)
{
    int32_t known = 0;
    for (int32_t place = 0; place < op->count; place++) {
        const column *col = &op->columns[place];
        for (int32_t lane = 0; col->role == ROLE_OUT && lane < col->lanes; lane++) {
            if (col->level >= 0) {
                made->lanes[place][lane] = held->codes[col->level][lane];
                made->unknown[place][lane] = held->open[col->level][lane];
            }
            known = known || !made->unknown[place][lane];
        }
    }
    if (op->amax >= 0) {
        int32_t place = find_column(op, "amax");
        made->lanes[place][0] = held->codes[op->amax][0];
        made->unknown[place][0] = (uint8_t)(!known || held->open[op->amax][0]);
    }
}

int32_t derive_quantize(const operation *op, row *made)
{
    const emu_program *program = &op->program;
    int32_t out = find_column(op, "codes"), ts = find_column(op, "ts"), valid = find_column(op, "n_valid"), error;
    size_t rows = (size_t)program->tile_rows, columns = valid < 0 ? (size_t)columns_of(program) : (size_t)made->lanes[valid][0];
    uint64_t random[MAX_LANES];
    uint32_t amax = ts < 0 ? 0 : (uint32_t)made->lanes[ts][0];
    emu_matrix x, drawn, codes;
    tile held;
    error = open_tile(op, &held);
    if (!error && (columns == 0 || columns > (size_t)columns_of(program)))
        error = EMU_ERROR_SHAPE;
    if (!error && program->random >= 0)
        error = take_random(op, made, rows * columns, random);
    if (error)
        return error;
    memset(made->unknown[out], 1, sizeof made->unknown[out]);
    x = matrix_of(made->lanes[find_column(op, "x")], rows, columns, NULL);
    drawn = matrix_of(random, rows, columns, NULL);
    codes = matrix_of(made->lanes[out], rows, program->tail == EMU_TAIL_DROP ? columns : (size_t)columns_of(program), made->unknown[out]);
    error = emu_quantize(program, op->source, &x, ts < 0 ? NULL : &amax, program->random < 0 ? NULL : &drawn, NULL, &codes, held.levels,
                         held.workspace, MAX_WORDS);
    if (!error)
        take_levels(op, &held, made);
    return error;
}

int32_t derive_dequantize(const operation *op, row *made)
{
    size_t rows = (size_t)op->program.tile_rows, columns = (size_t)columns_of(&op->program);
    int32_t out = find_column(op, "y"), error, is_open = 0;
    emu_matrix codes, values;
    tile held;
    error = open_tile(op, &held);
    if (error)
        return error;
    for (int32_t place = 0; place < op->count; place++) {
        if (op->columns[place].level >= 0)
            memcpy(held.codes[op->columns[place].level], made->lanes[place], sizeof made->lanes[place]);
    }
    codes = matrix_of(made->lanes[find_column(op, "codes")], rows, columns, NULL);
    values = matrix_of(made->lanes[out], rows, columns, made->unknown[out]);
    error = emu_dequantize(&op->program, &codes, held.levels, op->result, &values, held.workspace, MAX_WORDS);
    if (error == EMU_ERROR_OPEN) {
        is_open = 1;
        error = EMU_OK;
    }
    for (int32_t lane = 0; lane < op->columns[out].lanes; lane++)
        is_open = is_open || made->unknown[out][lane];
    memset(made->unknown[out], is_open, (size_t)op->columns[out].lanes);
    return error;
}
