/* quantize.c: a whole matrix, its tail, the tensor's maximum, open inputs, and the bands that the interpreter runs. */
#include <string.h>

#include "block.h"
#include "../program/loops.h"
#include "../convert/normals.h"

static const emu_format binary32 = {EMU_FLOAT, 0, 1, 8, 23, 127, 1, 1, 0, EMU_INF_IEEE, EMU_NAN_IEEE, 0, {0}, 0, 0, 0, -1, NULL};

static size_t padded_length(size_t length, int32_t tile)
{
    return (length + (size_t)tile - 1) / (size_t)tile * (size_t)tile;
}

int32_t emu_open_job(const emu_program *program, const emu_matrix *elements, const uint64_t *signs, uint64_t *workspace, size_t words,
                     emu_job *work)
{
    int32_t error = emu_check_program(program);
    if (error)
        return error;
    if (!emu_is_matrix(elements))
        return EMU_ERROR_NULL;
    if (!elements->rows || !elements->columns || elements->rows > SIZE_MAX / 65536)
        return EMU_ERROR_SHAPE;
    work->program = program;
    work->rows = padded_length(elements->rows, program->tile_rows);
    work->columns = padded_length(elements->columns, program->tile_columns);
    emu_derive_grid(program->arithmetic, &work->grid);
    if (program->tail == EMU_TAIL_ERROR && (work->rows != elements->rows || work->columns != elements->columns))
        return EMU_ERROR_SHAPE;
    return emu_open_band(program, work->columns, signs, workspace, words, &work->band);
}

int32_t emu_is_shape(const emu_matrix *matrix, size_t rows, size_t columns)
{
    return matrix->rows == rows && matrix->columns == columns;
}

int32_t emu_check_levels(const emu_job *work, const emu_matrix *levels)
{
    if (work->program->level_count && !levels)
        return EMU_ERROR_NULL;
    for (int32_t i = 0; i < work->program->level_count; i++) {
        const emu_level *level = &work->program->levels[i];
        size_t rows = level->rows ? work->rows / (size_t)level->rows : 1;
        size_t columns = level->columns ? work->columns / (size_t)level->columns : 1;
        if (!emu_is_matrix(&levels[i]))
            return EMU_ERROR_NULL;
        if (!emu_is_shape(&levels[i], rows, columns))
            return EMU_ERROR_SHAPE;
    }
    return EMU_OK;
}

/* `count` codes of x from `place` on, as codes of the arithmetic. */
static int32_t load_values(const emu_job *work, const emu_matrix *x, size_t place, size_t count, uint64_t *codes)
{
    uint64_t all = 0;
    int32_t error = EMU_OK;
    emu_load_codes(x->codes, x->bytes, place, count, codes);
    if (!work->same) {
        for (size_t i = 0; !error && i < count; i++)
            error = emu_is_code(&work->from, codes[i]) ? emu_carry(&work->from, &work->grid, codes[i], &codes[i]) : EMU_ERROR_CODE;
        return error;
    }
    for (size_t i = 0; i < count; i++)
        all |= codes[i];
    emu_make_canonical(emu_ends_of(&work->grid), codes, count);
    return emu_is_code(&work->from, all) ? EMU_OK : EMU_ERROR_CODE;
}

/* The largest magnitude of x; NaN if there is one. */
static int32_t find_amax(const emu_job *work, const emu_matrix *x, uint64_t *amax)
{
    const size_t total = x->rows * x->columns;
    uint64_t codes[EMU_CHUNK];
    *amax = 0;
    for (size_t start = 0; start < total; start += EMU_CHUNK) {
        size_t count = total - start < EMU_CHUNK ? total - start : EMU_CHUNK;
        int32_t error = load_values(work, x, start, count, codes);
        if (error)
            return error;
        emu_find_largest(emu_ends_of(&work->grid), 0, codes, count, amax);
    }
    return EMU_OK;
}

/* The tensor's maximum, given or found, in its register; *open 1: the sources leave this input open. */
static int32_t settle_tensor(const emu_job *work, const emu_matrix *x, const uint32_t *tensor_amax, int32_t *open)
{
    const emu_program *program = work->program;
    uint64_t found = 0, amax = 0;
    emu_grid single;
    int32_t error = EMU_OK;
    emu_derive_grid(&binary32, &single);
    *open = 0;
    if (tensor_amax && (program->tensor_amax < 0 || (*tensor_amax >> 31 && !emu_is_nan_code(&single, *tensor_amax))))
        return EMU_ERROR_GRID;
    if (program->finite_only || (program->tensor_amax >= 0 && !tensor_amax) || program->x < 0) /* x that nothing reads is checked too */
        error = find_amax(work, x, &found);
    if (!error && tensor_amax)
        error = emu_carry(&single, &work->grid, *tensor_amax, &amax);
    if (error)
        return error;
    amax = tensor_amax ? amax : found;
    *open = program->finite_only && found >= work->grid.inf_magnitude;
    if (program->tensor_amax < 0)
        return EMU_OK;
    *emu_cells_of(&work->band, program->tensor_amax) = amax;
    if (amax && program->tensor_amax_min) {
        uint64_t least;
        error = emu_carry(&single, &work->grid, program->tensor_amax_min, &least);
        *open = *open || amax < least;
    }
    return error;
}

/* x and the random integers of a band; beyond the end of the matrix zeros. */
static int32_t load_elements(const emu_job *work, const emu_matrix *x, const emu_matrix *random, size_t top, size_t left)
{
    const emu_program *program = work->program;
    size_t width = x->columns - left < work->band.columns ? x->columns - left : work->band.columns; /* a band begins inside x */
    for (size_t i = 0; i < (size_t)program->tile_rows; i++) {
        size_t count = top + i < x->rows ? width : 0, place = (top + i) * x->columns + left;
        int32_t error = EMU_OK;
        if (program->x >= 0) {
            uint64_t *values = emu_cell_at(&work->band, program->x, i, 0);
            error = load_values(work, x, place, count, values);
            memset(values + count, 0, (work->band.columns - count) * sizeof *values);
        }
        if (program->random >= 0) {
            uint64_t *drawn = emu_cell_at(&work->band, program->random, i, 0);
            emu_load_codes(random->codes, random->bytes, place, count, drawn);
            memset(drawn + count, 0, (work->band.columns - count) * sizeof *drawn);
        }
        if (error)
            return error;
    }
    return EMU_OK;
}

int32_t emu_store(const emu_matrix *matrix, size_t place, uint64_t cell)
{
    int32_t is_open = cell == EMU_OPEN_CELL;
    if (is_open && !matrix->open)
        return EMU_ERROR_OPEN;
    if (!is_open && cell > emu_low_bits(8 * matrix->bytes))
        return EMU_ERROR_CODE;
    emu_write(matrix, place, is_open ? 0 : cell);
    if (matrix->open)
        matrix->open[place] = (uint8_t)is_open;
    return EMU_OK;
}

/* Write neighbouring cells: at once where none of them is open. */
static int32_t store_row(const emu_matrix *matrix, size_t place, const uint64_t *cells, size_t count)
{
    uint64_t all = 0;
    int32_t error = EMU_OK;
    for (size_t i = 0; i < count; i++)
        all |= cells[i];
    if (all <= emu_low_bits(8 * matrix->bytes) && all != EMU_OPEN_CELL) {
        emu_store_codes(matrix->codes, matrix->bytes, place, count, cells);
        if (matrix->open)
            memset(matrix->open + place, 0, count);
        return EMU_OK;
    }
    for (size_t i = 0; !error && i < count; i++)
        error = emu_store(matrix, place + i, cells[i]);
    return error;
}

/* Element codes of a band, but for a tail that is cut off. */
static int32_t store_codes(const emu_job *work, size_t top, size_t left, const emu_matrix *codes)
{
    const emu_register *place = &work->program->registers[work->program->codes];
    size_t width = codes->columns - left < work->band.columns ? codes->columns - left : work->band.columns;
    int32_t error = EMU_OK;
    for (size_t i = 0; !error && i < (size_t)work->program->tile_rows && top + i < codes->rows; i++) {
        size_t first = (top + i) * codes->columns + left;
        if (place->columns == 1)
            error = store_row(codes, first, emu_cell_at(&work->band, work->program->codes, i, 0), width);
        for (size_t j = 0; !error && place->columns != 1 && j < width; j++)
            error = emu_store(codes, first + j, *emu_cell_at(&work->band, work->program->codes, i, j));
    }
    return error;
}

int32_t emu_store_level(const emu_job *work, const emu_level *level, size_t top, size_t left, const emu_matrix *codes)
{
    size_t row_step = level->rows ? (size_t)level->rows : work->rows, column_step = level->columns ? (size_t)level->columns : work->columns;
    int32_t error = EMU_OK;
    for (size_t i = 0; i < (size_t)work->program->tile_rows; i += row_step) {
        for (size_t j = 0; !error && j < work->band.columns; j += column_step) {
            size_t place = (top + i) / row_step * codes->columns + (left + j) / column_step;
            error = emu_store(codes, place, *emu_cell_at(&work->band, level->reg, i, j));
        }
    }
    return error;
}

static int32_t store_results(const emu_job *work, size_t top, size_t left, const emu_matrix *codes, const emu_matrix *levels)
{
    int32_t error = store_codes(work, top, left, codes);
    for (int32_t i = 0; !error && i < work->program->level_count; i++)
        error = emu_store_level(work, &work->program->levels[i], top, left, &levels[i]);
    return error;
}

int32_t emu_store_open(const emu_matrix *matrix)
{
    int32_t error = EMU_OK;
    for (size_t place = 0; !error && place < matrix->rows * matrix->columns; place++)
        error = emu_store(matrix, place, EMU_OPEN_CELL);
    return error;
}

static int32_t check_operands(const emu_program *program, const emu_matrix *x, const emu_matrix *random)
{
    if ((random != NULL) != (program->random >= 0))
        return EMU_ERROR_RANDOM;
    if (random && !emu_is_matrix(random))
        return EMU_ERROR_NULL;
    return random && !emu_is_shape(random, x->rows, x->columns) ? EMU_ERROR_SHAPE : EMU_OK;
}

/* registers: of a trace; NULL: codes and levels are the results. */
static int32_t quantize_bands(emu_job *work, const emu_matrix *x, const emu_matrix *random, const emu_matrix *codes,
                              const emu_matrix *levels, const emu_matrix *registers)
{
    int32_t error = EMU_OK, is_first = 1;
    for (size_t top = 0; !error && top < work->rows; top += (size_t)work->program->tile_rows) {
        for (size_t left = 0; !error && left < work->columns; left += work->band.widest) {
            work->band.columns = work->columns - left < work->band.widest ? work->columns - left : work->band.widest;
            error = load_elements(work, x, random, top, left);
            if (!error)
                error = emu_run_band(&work->band, is_first);
            if (!error)
                error = registers ? emu_store_registers(work, top, left, registers) : store_results(work, top, left, codes, levels);
            is_first = 0;
        }
    }
    return error;
}

/* Checks what quantize and its trace share, and finds the maximum of the tensor. */
static int32_t open_quantize(const emu_program *program, const emu_format *source, const emu_matrix *x, const emu_matrix *random,
                             const uint64_t *signs, uint64_t *workspace, size_t words, emu_job *work)
{
    int32_t error = emu_open_job(program, x, signs, workspace, words, work);
    if (!error)
        error = emu_make_grid(source, &work->from);
    if (error)
        return error;
    if (program->values >= 0)
        return EMU_ERROR_PROGRAM;
    work->same = emu_is_binary32(&work->from) && emu_is_binary32(&work->grid);
    return check_operands(program, x, random);
}

int32_t emu_quantize(const emu_program *program, const emu_format *source, const emu_matrix *x, const uint32_t *tensor_amax,
                     const emu_matrix *random, const uint64_t *signs, const emu_matrix *codes, const emu_matrix *levels,
                     uint64_t *workspace, size_t words)
{
    emu_job work;
    int32_t open = 0, cut, error = open_quantize(program, source, x, random, signs, workspace, words, &work);
    if (error)
        return error;
    if (!emu_is_matrix(codes))
        return EMU_ERROR_NULL;
    cut = program->tail == EMU_TAIL_DROP;
    if (!emu_is_shape(codes, cut ? x->rows : work.rows, cut ? x->columns : work.columns))
        return EMU_ERROR_SHAPE;
    error = emu_check_levels(&work, levels);
    if (!error)
        error = settle_tensor(&work, x, tensor_amax, &open);
    if (!error && !open)
        return quantize_bands(&work, x, random, codes, levels, NULL);
    if (!error)
        error = emu_store_open(codes);
    for (int32_t i = 0; !error && i < program->level_count; i++)
        error = emu_store_open(&levels[i]);
    return error;
}

int32_t emu_trace_quantize(const emu_program *program, const emu_format *source, const emu_matrix *x, const uint32_t *tensor_amax,
                           const emu_matrix *random, const uint64_t *signs, const emu_matrix *registers, uint64_t *workspace, size_t words)
{
    emu_job work;
    int32_t open = 0, error = open_quantize(program, source, x, random, signs, workspace, words, &work);
    if (!error)
        error = emu_check_registers(&work, registers);
    if (!error)
        error = settle_tensor(&work, x, tensor_amax, &open);
    if (!error && !open)
        return quantize_bands(&work, x, random, NULL, NULL, registers);
    for (int32_t i = 0; !error && i < program->register_count; i++)
        error = emu_store_open(&registers[i]);
    return error;
}
