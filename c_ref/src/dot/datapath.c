/* datapath.c: dot products and matrix products: rows of codes through a chain of fused steps. */
#include "datapath.h"

static void clear_stages(emu_stages *stages)
{
    const emu_stages nothing = {0};
    emu_term *terms = stages->terms;
    emu_wide *aligned = stages->aligned;
    *stages = nothing;
    stages->terms = terms;
    stages->aligned = aligned;
}

/* One fused step on the codes from product `start` on. */
static int32_t run_step(const emu_path *path, const emu_strip *strip, size_t start, uint64_t c, uint64_t *code, emu_stages *stages)
{
    emu_term terms[EMU_MAX_TERMS];
    emu_factor addend;
    int32_t flags, special;
    if (path->facts->apply == EMU_APPLY_PROMOTE)
        return emu_promote_step(path, strip, start, c, code, stages);
    addend = emu_decode_factor(&path->result, c);
    flags = emu_make_terms(path, strip, start, terms) | addend.flags;
    if (flags & EMU_FACTOR_OPEN)
        return EMU_ERROR_OPEN;
    special = flags ? emu_find_special(path, strip, start, (size_t)path->facts->step, &addend, code) : 0;
    if (special) {
        if (stages)
            stages->special = special;
        return EMU_OK;
    }
    emu_keep_terms(stages, terms, path->term_count);
    if (path->facts->c_kind == EMU_C_REALIGNED)
        *code = emu_realigned_step(path, terms, &addend, stages);
    else if (path->facts->c_kind == EMU_C_ADDED)
        *code = emu_added_step(path, terms, &addend, stages);
    else if (path->facts->frac_rule == EMU_UNLIMITED)
        *code = emu_exact_step(path, terms, &addend, stages);
    else
        *code = emu_aligned_step(path, terms, &addend, stages);
    return EMU_OK;
}

/* One row of A with one of B: a chain over K. */
static int32_t run_row(const emu_path *path, const emu_strip *strip, uint64_t c, uint64_t *code, emu_stages *stages)
{
    size_t count = strip->a->columns, step = (size_t)path->facts->step;
    int32_t error = EMU_OK;
    *code = c;
    for (size_t i = 0; stages && i < count / step; i++)
        clear_stages(&stages[i]);
    if (path->facts->c_kind == EMU_C_LAST)
        return emu_accumulate(path, strip, c, code, stages);
    for (size_t start = 0; start < count && !error; start += step) {
        emu_stages *here = stages ? &stages[start / step] : NULL;
        error = run_step(path, strip, start, *code, code, here);
        if (here)
            here->code = *code;
    }
    return error;
}

/* Every code of a matrix has only bits of its format. */
static int32_t check_matrix(const emu_grid *grid, const emu_matrix *matrix)
{
    if (emu_is_code(grid, emu_low_bits(8 * matrix->bytes)))
        return EMU_OK;
    for (size_t i = 0; i < matrix->rows * matrix->columns; i++) {
        if (!emu_is_code(grid, emu_read(matrix, i)))
            return EMU_ERROR_CODE;
    }
    return EMU_OK;
}

static int32_t has_shape(const emu_matrix *matrix, size_t rows, size_t columns)
{
    return matrix->rows == rows && matrix->columns == columns;
}

/* Check one operand and its scales. */
static int32_t check_operand(const emu_path *path, const emu_operand *operand, const emu_matrix *codes, const emu_matrix *scales)
{
    const emu_datapath *facts = path->facts;
    int32_t error;
    if (!emu_is_matrix(codes) || (facts->scale && !emu_is_matrix(scales)))
        return EMU_ERROR_NULL;
    if (codes->columns == 0 || codes->columns % (size_t)facts->k || (facts->scale == NULL) != (scales == NULL))
        return EMU_ERROR_SHAPE;
    if (scales && (codes->columns % (size_t)facts->block || !has_shape(scales, codes->rows, codes->columns / (size_t)facts->block)))
        return EMU_ERROR_SHAPE;
    error = check_matrix(&operand->grid, codes);
    if (!error && scales)
        error = check_matrix(&path->scale.grid, scales);
    return error;
}

/* Check all operands; C and D have one shape. */
static int32_t check_operands(const emu_path *path, const emu_strip *strip, const emu_matrix *c, const emu_matrix *d)
{
    int32_t error = check_operand(path, &path->a, strip->a, strip->scale_a);
    if (!error)
        error = check_operand(path, &path->b, strip->b, strip->scale_b);
    if (error)
        return error;
    if (!emu_is_matrix(d) || (c && !emu_is_matrix(c)))
        return EMU_ERROR_NULL;
    if (strip->a->columns != strip->b->columns || 8 * d->bytes < path->result.grid.code_bits || (c && !has_shape(c, d->rows, d->columns)))
        return EMU_ERROR_SHAPE;
    return c ? check_matrix(&path->result.grid, c) : EMU_OK;
}

/* Code number `place` of D, or the mark that nobody knows it. */
static int32_t store(const emu_matrix *d, size_t place, int32_t error, uint64_t code)
{
    if (error && !d->open)
        return error;
    if (d->open)
        d->open[place] = error != 0;
    emu_write(d, place, error ? 0 : code);
    return EMU_OK;
}

int32_t emu_dot(const emu_datapath *datapath, const emu_matrix *a, const emu_matrix *b, const emu_matrix *scale_a, const emu_matrix *scale_b,
                const emu_matrix *c, const emu_matrix *d, emu_stages *stages)
{
    emu_strip strip = {a, b, scale_a, scale_b, 0, 0};
    emu_path path;
    int32_t error = emu_make_path(datapath, &path);
    uint64_t code = 0;
    if (!error)
        error = c ? check_operands(&path, &strip, c, d) : EMU_ERROR_NULL;
    if (!error && (a->rows != b->rows || !has_shape(d, a->rows, 1)))
        error = EMU_ERROR_SHAPE;
    if (error)
        return error;
    for (size_t i = 0; i < a->rows && !error; i++) {
        strip.row_a = strip.row_b = i;
        error = run_row(&path, &strip, emu_read(c, i), &code, stages ? stages + i * (a->columns / (size_t)datapath->step) : NULL);
        error = store(d, i, error, code);
    }
    return error;
}

int32_t emu_matmul(const emu_datapath *datapath, const emu_matrix *a, const emu_matrix *b, const emu_matrix *scale_a,
                   const emu_matrix *scale_b, const emu_matrix *c, const emu_matrix *d)
{
    emu_strip strip = {a, b, scale_a, scale_b, 0, 0};
    emu_path path;
    int32_t error = emu_make_path(datapath, &path);
    uint64_t code = 0;
    if (!error)
        error = check_operands(&path, &strip, c, d);
    if (!error && !has_shape(d, a->rows, b->rows))
        error = EMU_ERROR_SHAPE;
    for (size_t i = 0; !error && i < d->rows * d->columns; i++) {
        strip.row_a = i / d->columns;
        strip.row_b = i % d->columns;
        error = run_row(&path, &strip, c ? emu_read(c, i) : 0, &code, NULL);
        error = store(d, i, error, code);
    }
    return error;
}
