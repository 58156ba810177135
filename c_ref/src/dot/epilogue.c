/* epilogue.c: what follows a dot product: tensor scales, C, and sums of partial results; each operation rounded once to the result format. */
#include "datapath.h"

uint64_t emu_round_ieee(const emu_path *path, const emu_rounding *rounding, const emu_value *value)
{
    return value->value_class == EMU_NAN ? path->facts->nan_code : emu_round_to_code(&path->result.grid, rounding, value);
}

/* Check the datapath and its epilogue; NULL: ties to even, no epilogue. */
static int32_t prepare(const emu_datapath *datapath, const emu_epilogue_facts *facts, emu_path *path)
{
    const emu_rounding *roundings[2];
    int32_t error = emu_make_path(datapath, path);
    if (error || !facts)
        return error;
    roundings[0] = facts->alpha;
    roundings[1] = facts->d;
    for (int32_t i = 0; i < 2 && !error; i++) {
        error = emu_check_rounding(roundings[i], datapath->result);
        if (!error && roundings[i]->add != EMU_ADD_NONE)
            error = EMU_ERROR_ROUNDING;
    }
    if (!error && ((facts->c_after | facts->is_fused) & ~1))
        error = EMU_ERROR_DATAPATH;
    return error;
}

/* x, y and d are of one shape, y may be missing; codes fit the format. */
static int32_t check_matrices(const emu_path *path, const emu_matrix *x, const emu_matrix *y, const emu_matrix *d)
{
    const emu_grid *grid = &path->result.grid;
    if (!emu_is_matrix(x) || !emu_is_matrix(d) || (y && !emu_is_matrix(y)))
        return EMU_ERROR_NULL;
    if (x->rows != d->rows || x->columns != d->columns || (y && (y->rows != d->rows || y->columns != d->columns)) ||
        8 * d->bytes < grid->code_bits)
        return EMU_ERROR_SHAPE;
    for (size_t i = 0; i < x->rows * x->columns; i++) {
        if (!emu_is_code(grid, emu_read(x, i)) || (y && !emu_is_code(grid, emu_read(y, i))))
            return EMU_ERROR_CODE;
    }
    return EMU_OK;
}

int32_t emu_alpha(const emu_datapath *datapath, const emu_epilogue_facts *facts, uint64_t scale_a, uint64_t scale_b, uint64_t *alpha)
{
    emu_path path;
    emu_value x, y, product;
    int32_t error = facts && alpha ? prepare(datapath, facts, &path) : EMU_ERROR_NULL;
    if (error)
        return error;
    if (!emu_is_code(&path.result.grid, scale_a) || !emu_is_code(&path.result.grid, scale_b))
        return EMU_ERROR_CODE;
    emu_decode(&path.result.grid, scale_a, &x);
    emu_decode(&path.result.grid, scale_b, &y);
    emu_multiply(&x, &y, &product);
    *alpha = emu_round_ieee(&path, facts->alpha, &product);
    return EMU_OK;
}

int32_t emu_epilogue(const emu_datapath *datapath, const emu_epilogue_facts *facts, const emu_matrix *x, uint64_t alpha, const emu_matrix *c,
                     const emu_matrix *d)
{
    emu_path path;
    emu_value factor, value, addend, result;
    int32_t error = facts ? prepare(datapath, facts, &path) : EMU_ERROR_NULL;
    if (!error)
        error = check_matrices(&path, x, c, d);
    if (!error && c && !facts->c_after)
        error = EMU_ERROR_DATAPATH;
    if (!error && !emu_is_code(&path.result.grid, alpha))
        error = EMU_ERROR_CODE;
    if (error)
        return error;
    emu_decode(&path.result.grid, alpha, &factor);
    for (size_t i = 0; i < x->rows * x->columns; i++) {
        emu_decode(&path.result.grid, emu_read(x, i), &value);
        if (c)
            emu_decode(&path.result.grid, emu_read(c, i), &addend);
        if (c && facts->is_fused) {
            emu_multiply_add(&factor, &value, &addend, facts->d, &result);
        } else {
            emu_multiply(&factor, &value, &result);
            if (c) {
                emu_decode(&path.result.grid, emu_round_ieee(&path, facts->d, &result), &value);
                emu_add(&value, &addend, facts->d, &result);
            }
        }
        emu_write(d, i, emu_round_ieee(&path, facts->d, &result));
    }
    return EMU_OK;
}

int32_t emu_add_results(const emu_datapath *datapath, const emu_matrix *x, const emu_matrix *y, const emu_matrix *d)
{
    emu_path path;
    emu_value first, second, sum;
    int32_t error = prepare(datapath, NULL, &path);
    if (!error)
        error = y ? check_matrices(&path, x, y, d) : EMU_ERROR_NULL;
    if (error)
        return error;
    for (size_t i = 0; i < x->rows * x->columns; i++) {
        emu_decode(&path.result.grid, emu_read(x, i), &first);
        emu_decode(&path.result.grid, emu_read(y, i), &second);
        emu_add(&first, &second, &emu_ties_to_even, &sum);
        emu_write(d, i, emu_round_ieee(&path, &emu_ties_to_even, &sum));
    }
    return EMU_OK;
}
