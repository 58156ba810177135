/* transform.c: the randomized Hadamard rotation of groups of elements, with its order of additions. */
#include "../steps.h"

enum { EMU_MAX_GROUP = 256, EMU_MAX_SCALE_EXP = 1024 };

int32_t emu_check_transform(const emu_transform *transform)
{
    emu_grid sum, result;
    int32_t error, sized, ordered;
    if (!transform)
        return EMU_ERROR_NULL;
    error = emu_make_grid(transform->sum_format, &sum);
    if (!error)
        error = emu_make_grid(transform->result, &result);
    if (error)
        return error;
    sized = transform->size >= 2 && transform->size <= EMU_MAX_GROUP && !(transform->size & (transform->size - 1)) &&
            transform->scale_exp >= -EMU_MAX_SCALE_EXP && transform->scale_exp <= EMU_MAX_SCALE_EXP;
    ordered = transform->order == EMU_SUM_EXACT || transform->order == EMU_SUM_SEQUENTIAL || transform->order == EMU_SUM_BUTTERFLY;
    if (!sized || !ordered)
        return EMU_ERROR_PROGRAM;
    if (!emu_is_arithmetic(&sum) || !result.is_float || !result.inf_magnitude || transform->result->nan == EMU_NAN_NONE)
        return EMU_ERROR_FORMAT;
    return EMU_OK;
}

/* H[i][j] = -1: i and j have an odd number of ones in common. */
static int32_t is_minus(int32_t i, int32_t j)
{
    int32_t common = i & j;
    common ^= common >> 4;
    common ^= common >> 2;
    return (common ^ common >> 1) & 1;
}

static uint64_t flip(const emu_grid *grid, uint64_t code)
{
    return emu_is_nan_code(grid, code) ? code : code ^ grid->sign_bit;
}

/* Scale a sum, round it to the sum's format and to the result's. */
static uint64_t finish(const emu_grid *sum, const emu_grid *result, const emu_transform *transform, emu_value *value)
{
    uint64_t code;
    if (value->value_class == EMU_NORMAL || value->value_class == EMU_SUBNORMAL)
        value->lsb_exp += transform->scale_exp;
    code = emu_round_to_code(sum, &emu_ties_to_even, value);
    emu_decode(sum, code, value);
    return emu_round_to_code(result, &emu_ties_to_even, value);
}

static void rotate_exactly(const emu_grid *grid, const emu_grid *sum, const emu_grid *result, const emu_transform *transform,
                           const uint64_t *codes, uint64_t *rotated)
{
    for (int32_t i = 0; i < transform->size; i++) {
        emu_accumulator total;
        emu_value value;
        emu_start_sum(&total, grid);
        for (int32_t j = 0; j < transform->size; j++) {
            emu_decode(grid, codes[j], &value);
            value.sign ^= is_minus(i, j);
            emu_add_term(&total, &value);
        }
        emu_end_sum(&total, 0, &value);
        rotated[i] = finish(sum, result, transform, &value);
    }
}

/* A sum plus a term of another format, rounded once. */
static uint64_t add_mixed(const emu_arithmetic *add, const emu_grid *grid, uint64_t total, uint64_t term)
{
    emu_value x, y, exact;
    if (grid == add->grid)
        return emu_calculate(add, EMU_OP_ADD, total, term, 0);
    emu_decode(add->grid, total, &x);
    emu_decode(grid, term, &y);
    emu_add(&x, &y, add->rounding, &exact);
    return emu_round_to_code(add->to, add->rounding, &exact);
}

static void rotate_in_order(const emu_arithmetic *add, const emu_grid *grid, int32_t size, const uint64_t *codes, uint64_t *sums)
{
    for (int32_t i = 0; i < size; i++) {
        sums[i] = 0; /* +0 */
        for (int32_t j = 0; j < size; j++)
            sums[i] = add_mixed(add, grid, sums[i], is_minus(i, j) ? flip(grid, codes[j]) : codes[j]);
    }
}

/* Strides 1, 2, 4, ...; the first one adds elements, the others sums. */
static void rotate_by_butterflies(const emu_arithmetic *add, const emu_grid *grid, int32_t size, const uint64_t *codes, uint64_t *sums)
{
    const emu_grid *from = grid;
    for (int32_t i = 0; i < size; i++)
        sums[i] = codes[i];
    for (int32_t stride = 1; stride < size; stride *= 2) {
        emu_arithmetic level = *add;
        level.grid = from;
        level.is_binary32 = add->is_binary32 && from == add->grid;
        for (int32_t i = 0; i < size; i++) {
            uint64_t a = sums[i], b = sums[i + (i & stride ? 0 : stride)];
            if (i & stride)
                continue;
            sums[i] = emu_calculate(&level, EMU_OP_ADD, a, b, 0);
            sums[i + stride] = emu_calculate(&level, EMU_OP_SUB, a, b, 0);
        }
        from = add->grid;
    }
}

/* Codes of `grid` as codes of the sum's format where it holds them all: then every addition has one format. */
static const emu_grid *carry_all(const emu_grid *grid, const emu_grid *sum, int32_t size, const uint64_t *codes, uint64_t *carried)
{
    for (int32_t i = 0; i < size; i++) {
        if (emu_carry(grid, sum, codes[i], &carried[i]))
            return NULL;
    }
    return sum;
}

void emu_rotate(const emu_grid *grid, const emu_transform *transform, const uint64_t *signs, const uint64_t *codes, uint64_t *scratch,
                uint64_t *rotated)
{
    uint64_t *carried = scratch + transform->size;
    emu_grid sum, result;
    emu_arithmetic add;
    emu_derive_grid(transform->sum_format, &sum);
    emu_derive_grid(transform->result, &result);
    emu_make_arithmetic(&sum, &sum, &emu_ties_to_even, &add);
    for (int32_t i = 0; i < transform->size; i++)
        scratch[i] = signs[i / 64] >> (i % 64) & 1 ? flip(grid, codes[i]) : codes[i];
    if (transform->order == EMU_SUM_EXACT) {
        rotate_exactly(grid, &sum, &result, transform, scratch, rotated);
        return;
    }
    if (carry_all(grid, &sum, transform->size, scratch, carried)) {
        grid = &sum;
        scratch = carried;
    }
    if (transform->order == EMU_SUM_SEQUENTIAL)
        rotate_in_order(&add, grid, transform->size, scratch, rotated);
    else
        rotate_by_butterflies(&add, grid, transform->size, scratch, rotated);
    for (int32_t i = 0; i < transform->size; i++) {
        emu_value value;
        emu_decode(&sum, rotated[i], &value);
        rotated[i] = finish(&sum, &result, transform, &value);
    }
}

static int32_t check_matrices(const emu_matrix *x, const emu_matrix *y, int32_t size)
{
    if (!emu_is_matrix(x) || !emu_is_matrix(y))
        return EMU_ERROR_NULL;
    return x->rows == y->rows && x->columns == y->columns && x->columns % (size_t)size == 0 ? EMU_OK : EMU_ERROR_SHAPE;
}

/* The codes of one group, of the source or, where that is no arithmetic format, of the sum's format. */
static int32_t read_group(const emu_matrix *x, size_t first, const emu_grid *source, const emu_grid *grid, int32_t size, uint64_t *codes)
{
    for (int32_t i = 0; i < size; i++) {
        uint64_t code = emu_read(x, first + (size_t)i);
        int32_t error = emu_is_code(source, code) ? EMU_OK : EMU_ERROR_CODE;
        if (!error && source != grid)
            error = emu_carry(source, grid, code, &code);
        if (error)
            return error;
        codes[i] = emu_canonical(grid, code);
    }
    return EMU_OK;
}

int32_t emu_transform_matrix(const emu_format *source, const emu_transform *transform, const uint64_t *signs, const emu_matrix *x,
                             const emu_matrix *y)
{
    uint64_t codes[EMU_MAX_GROUP], scratch[2 * EMU_MAX_GROUP], rotated[EMU_MAX_GROUP];
    emu_grid from, sum;
    const emu_grid *grid;
    int32_t error = emu_check_transform(transform);
    if (!error)
        error = emu_make_grid(source, &from);
    if (!error)
        error = check_matrices(x, y, transform->size);
    if (error)
        return error;
    emu_derive_grid(transform->sum_format, &sum);
    grid = emu_is_arithmetic(&from) ? &from : &sum;
    for (size_t first = 0; first < x->rows * x->columns; first += (size_t)transform->size) {
        error = read_group(x, first, &from, grid, transform->size, codes);
        if (error)
            return error;
        emu_rotate(grid, transform, signs ? signs : transform->signs, codes, scratch, rotated);
        for (int32_t i = 0; i < transform->size; i++)
            emu_write(y, first + (size_t)i, rotated[i]);
    }
    return EMU_OK;
}
