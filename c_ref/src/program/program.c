/* program.c: the step interpreter. A matrix is run band by band: one tile high, a few tiles wide; a register holds the cells of a band. */
#include "loops.h"

enum { EMU_BAND_ELEMENTS = 8192 };

static size_t parts(int32_t step, size_t length)
{
    return step ? length / (size_t)step : 1;
}

static size_t cell_rows(const emu_program *program, int32_t reg)
{
    return parts(program->registers[reg].rows, (size_t)program->tile_rows);
}

static size_t cell_columns(const emu_program *program, int32_t reg, size_t columns)
{
    return parts(program->registers[reg].columns, columns);
}

size_t emu_count_cells(const emu_program *program, int32_t reg, size_t columns)
{
    return cell_rows(program, reg) * cell_columns(program, reg, columns);
}

/* Columns of a band: all of them where a register covers whole rows, else a few tiles. */
size_t emu_band_columns(const emu_program *program, size_t columns)
{
    size_t tile = (size_t)program->tile_columns, tiles = EMU_BAND_ELEMENTS / (tile * (size_t)program->tile_rows);
    for (int32_t i = 0; i < program->register_count; i++) {
        if (program->registers[i].rows && !program->registers[i].columns)
            return columns;
    }
    tiles = tiles ? tiles : 1;
    return tiles * tile < columns ? tiles * tile : columns;
}

/* The workspace of a program that has been checked. */
static int32_t count_words(const emu_program *program, size_t columns, size_t *words)
{
    size_t tile = (size_t)program->tile_columns, widest;
    if (columns == 0 || columns > SIZE_MAX / 65536 / (size_t)program->register_count)
        return EMU_ERROR_SHAPE;
    widest = emu_band_columns(program, (columns + tile - 1) / tile * tile);
    *words = (size_t)program->register_count + EMU_SCRATCH_ROWS * widest;
    for (int32_t i = 0; i < program->register_count; i++)
        *words += emu_count_cells(program, i, widest);
    return EMU_OK;
}

int32_t emu_count_workspace(const emu_program *program, size_t columns, size_t *words)
{
    int32_t error = emu_check_program(program);
    if (error)
        return error;
    return words ? count_words(program, columns, words) : EMU_ERROR_NULL;
}

int32_t emu_open_band(const emu_program *program, size_t columns, const uint64_t *signs, uint64_t *workspace, size_t words, emu_band *band)
{
    size_t needed = 0, offset = 0;
    emu_grid grid;
    int32_t error = count_words(program, columns, &needed);
    if (error)
        return error;
    if (!workspace)
        return EMU_ERROR_NULL;
    if (words < needed)
        return EMU_ERROR_SPACE;
    emu_derive_grid(program->arithmetic, &grid);
    band->program = program;
    band->signs = signs;
    band->widest = emu_band_columns(program, columns);
    band->offsets = workspace;
    band->cells = workspace + program->register_count;
    for (int32_t i = 0; i < program->register_count; i++) {
        band->offsets[i] = offset;
        if (program->registers[i].is_constant)
            band->cells[offset] = emu_canonical(&grid, program->registers[i].bits);
        offset += emu_count_cells(program, i, band->widest);
    }
    band->scratch = band->cells + offset;
    return EMU_OK;
}

uint64_t *emu_cells_of(const emu_band *band, int32_t reg)
{
    return band->cells + band->offsets[reg];
}

uint64_t *emu_cell_at(const emu_band *band, int32_t reg, size_t row, size_t column)
{
    const emu_register *place = &band->program->registers[reg];
    size_t i = place->rows ? row / (size_t)place->rows : 0, j = place->columns ? column / (size_t)place->columns : 0;
    return emu_cells_of(band, reg) + i * cell_columns(band->program, reg, band->columns) + j;
}

/* The cells of `reg` that hold `count` neighbouring parts of register `out`, from (row, 0) on; copied where one is shared by several. */
static const uint64_t *spread(const emu_band *band, int32_t reg, int32_t out, size_t row, size_t count, uint64_t *scratch)
{
    const emu_register *place = &band->program->registers[reg], *wanted = &band->program->registers[out];
    const uint64_t *cells = emu_cell_at(band, reg, row, 0);
    size_t shared = place->columns ? (size_t)(place->columns / wanted->columns) : count;
    if (shared == 1)
        return cells;
    for (size_t i = 0; i < count; i += shared) {
        for (size_t j = i; j < i + shared; j++)
            scratch[j] = *cells;
        cells++;
    }
    return scratch;
}

static int32_t run_rows(const emu_band *band, const emu_context *context)
{
    const emu_step *step = context->step;
    size_t columns = cell_columns(band->program, step->out, band->columns), rows = cell_rows(band->program, step->out);
    size_t height = (size_t)band->program->registers[step->out].rows;
    int32_t error = EMU_OK;
    for (size_t i = 0; !error && i < rows; i++) {
        emu_row row = {{NULL, NULL, NULL, NULL}, NULL, NULL, 0};
        row.count = columns;
        row.out = emu_cells_of(band, step->out) + i * columns;
        for (int32_t k = 0; k < emu_count_args(step); k++)
            row.args[k] = spread(band, step->args[k], step->out, i * height, columns, band->scratch + (size_t)k * band->widest);
        if (step->random >= 0)
            row.random = spread(band, step->random, step->out, i * height, columns, band->scratch + EMU_MAX_ARGS * band->widest);
        error = emu_operate(context, &row);
    }
    return error;
}

/* The parts of the argument inside one part of the result, row by row: amax of them, or their sum (then they lie in one row). */
static void reduce_part(const emu_band *band, const emu_context *context, size_t row, size_t column, uint64_t *out)
{
    const emu_step *step = context->step;
    const emu_register *inner = &band->program->registers[step->args[0]], *outer = &band->program->registers[step->out];
    size_t last_row = row + (size_t)outer->rows, last_column = outer->columns ? column + (size_t)outer->columns : band->columns;
    size_t row_step = (size_t)inner->rows, column_step = (size_t)inner->columns, count = (last_column - column) / column_step;
    const emu_ends ends = emu_ends_of(&context->grid);
    size_t numbers = 0;
    if (step->operation == EMU_OP_SUM) {
        *out = emu_sum(&context->arithmetic, step->variant, emu_cell_at(band, step->args[0], row, column), count, band->scratch);
        return;
    }
    *out = 0;
    for (size_t i = row; i < last_row; i += row_step)
        numbers += emu_find_largest(ends, step->variant == EMU_NAN_DROP, emu_cell_at(band, step->args[0], i, column), count, out);
    if (!numbers)
        *out = ends.nan;
}

static void reduce(const emu_band *band, const emu_context *context)
{
    const emu_register *outer = &band->program->registers[context->step->out];
    uint64_t *out = emu_cells_of(band, context->step->out);
    for (size_t row = 0; row < (size_t)band->program->tile_rows; row += (size_t)outer->rows) {
        for (size_t column = 0; column < band->columns; column += outer->columns ? (size_t)outer->columns : band->columns)
            reduce_part(band, context, row, column, out++);
    }
}

static int32_t rotate(const emu_band *band, const emu_context *context)
{
    const emu_step *step = context->step;
    const emu_transform *transform = step->transform;
    const uint64_t *signs = band->signs ? band->signs : transform->signs, *x = emu_cells_of(band, step->args[0]);
    uint64_t *y = emu_cells_of(band, step->out);
    size_t count = (size_t)band->program->tile_rows * band->columns, size = (size_t)transform->size;
    emu_grid result;
    int32_t error = EMU_OK;
    emu_derive_grid(transform->result, &result);
    for (size_t i = 0; i < count; i += size) {
        emu_rotate(&context->grid, transform, signs, x + i, band->scratch, y + i);
        for (size_t j = i; !error && j < i + size; j++)
            error = emu_carry(&result, &context->grid, y[j], &y[j]);
    }
    return error;
}

/* Run every step; is_first 0: those that work on the whole tensor have been run with an earlier band. */
int32_t emu_run_band(const emu_band *band, int32_t is_first)
{
    const emu_program *program = band->program;
    int32_t error = EMU_OK;
    for (int32_t i = 0; !error && i < program->step_count; i++) {
        const emu_step *step = &program->steps[i];
        emu_context context;
        if (!is_first && !program->registers[step->out].rows)
            continue;
        emu_make_context(program, step, &context);
        if (step->operation == EMU_OP_TRANSFORM)
            error = rotate(band, &context);
        else if (step->operation == EMU_OP_AMAX || step->operation == EMU_OP_SUM)
            reduce(band, &context);
        else
            error = run_rows(band, &context);
    }
    return error;
}
