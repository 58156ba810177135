/* dequantize.c: element codes and levels of a whole matrix -> values, band by band. */
#include "block.h"

/* Element codes of a band; zeros where a cut tail ends. */
static void load_codes(const emu_job *work, const emu_matrix *codes, size_t top, size_t left)
{
    for (size_t i = 0; work->program->codes >= 0 && i < (size_t)work->program->tile_rows; i++) {
        uint64_t *cells = emu_cell_at(&work->band, work->program->codes, i, 0);
        for (size_t j = 0; j < work->band.columns; j++) {
            int32_t inside = top + i < codes->rows && left + j < codes->columns;
            cells[j] = inside ? emu_read(codes, (top + i) * codes->columns + left + j) : 0;
        }
    }
}

/* The codes of a level in a band; NaN becomes the canonical one, for a level that is coded in the arithmetic. */
static int32_t load_level(const emu_job *work, const emu_level *level, const emu_matrix *codes, size_t top, size_t left)
{
    size_t row_step = level->rows ? (size_t)level->rows : work->rows, column_step = level->columns ? (size_t)level->columns : work->columns;
    emu_grid grid;
    emu_derive_grid(level->format, &grid);
    for (size_t i = 0; i < (size_t)work->program->tile_rows; i += row_step) {
        for (size_t j = 0; j < work->band.columns; j += column_step) {
            uint64_t code = emu_read(codes, (top + i) / row_step * codes->columns + (left + j) / column_step);
            if (!emu_is_code(&grid, code))
                return EMU_ERROR_CODE;
            *emu_cell_at(&work->band, level->reg, i, j) = emu_canonical(&grid, code);
        }
    }
    return EMU_OK;
}

static int32_t load_quantized(const emu_job *work, const emu_matrix *codes, const emu_matrix *levels, size_t top, size_t left)
{
    int32_t error = EMU_OK;
    load_codes(work, codes, top, left);
    for (int32_t i = 0; !error && i < work->program->level_count; i++)
        error = load_level(work, &work->program->levels[i], &levels[i], top, left);
    return error;
}

static int32_t store_values(const emu_job *work, const emu_grid *result, size_t top, size_t left, const emu_matrix *values)
{
    for (size_t i = 0; i < (size_t)work->program->tile_rows && top + i < values->rows; i++) {
        for (size_t j = 0; j < work->band.columns && left + j < values->columns; j++) {
            emu_value value;
            int32_t error;
            emu_decode(&work->grid, *emu_cell_at(&work->band, work->program->values, i, j), &value);
            error = emu_store(values, (top + i) * values->columns + left + j, emu_round_to_code(result, &emu_ties_to_even, &value));
            if (error)
                return error;
        }
    }
    return EMU_OK;
}

/* registers: of a trace; NULL: values are the result, in the format `to`. */
static int32_t dequantize_bands(emu_job *work, const emu_matrix *codes, const emu_matrix *levels, const emu_grid *to,
                                const emu_matrix *values, const emu_matrix *registers)
{
    int32_t is_first = 1, error = EMU_OK;
    for (size_t top = 0; !error && top < work->rows; top += (size_t)work->program->tile_rows) {
        for (size_t left = 0; !error && left < work->columns; left += work->band.widest) {
            work->band.columns = work->columns - left < work->band.widest ? work->columns - left : work->band.widest;
            error = load_quantized(work, codes, levels, top, left);
            if (!error)
                error = emu_run_band(&work->band, is_first);
            if (!error)
                error = registers ? emu_store_registers(work, top, left, registers) : store_values(work, to, top, left, values);
            is_first = 0;
        }
    }
    return error;
}

int32_t emu_dequantize(const emu_program *program, const emu_matrix *codes, const emu_matrix *levels, const emu_format *result,
                       const emu_matrix *values, uint64_t *workspace, size_t words)
{
    emu_job work;
    emu_grid to;
    int32_t error = emu_open_job(program, codes, NULL, workspace, words, &work);
    if (!error)
        error = emu_make_grid(result, &to);
    if (error)
        return error;
    if (program->values < 0)
        return EMU_ERROR_PROGRAM;
    if (!to.is_float || !to.inf_magnitude || result->nan == EMU_NAN_NONE)
        return EMU_ERROR_FORMAT;
    if (!emu_is_matrix(values))
        return EMU_ERROR_NULL;
    if (!emu_is_shape(values, codes->rows, codes->columns))
        return EMU_ERROR_SHAPE;
    error = emu_check_levels(&work, levels);
    return error ? error : dequantize_bands(&work, codes, levels, &to, values, NULL);
}

int32_t emu_trace_dequantize(const emu_program *program, const emu_matrix *codes, const emu_matrix *levels, const emu_matrix *registers,
                             uint64_t *workspace, size_t words)
{
    emu_job work;
    int32_t error = emu_open_job(program, codes, NULL, workspace, words, &work);
    if (!error && program->values < 0)
        error = EMU_ERROR_PROGRAM;
    if (!error)
        error = emu_check_levels(&work, levels);
    if (!error)
        error = emu_check_registers(&work, registers);
    return error ? error : dequantize_bands(&work, codes, levels, NULL, NULL, registers);
}
