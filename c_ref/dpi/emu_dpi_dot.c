/* emu_dpi_dot.c: packed vectors of one row -> a row of the reference, of a chain of fused steps or of a datapath of levels. */
#include "../src/tables/tables.h"
#include "../tool/shared.h"
#include "emu_dpi_private.h"

enum { MOST_NUMBERS = 1024 };

/* A datapath, its rows and operands. */
typedef struct lane_row {
    int32_t has_levels;
    emu_datapath fused;
    emu_levels levels;
    const emu_format *a, *b, *scale, *c;
    int32_t block;
    int32_t any_nan;
    emu_row_size measure;
    uint64_t codes[4][EMU_DPI_LANES];
    uint64_t random[EMU_DPI_LANES];
    emu_matrix operands[4]; /* A, B, scales of A, scales of B */
} lane_row;

/* EMU_ERROR_SHAPE: no row of so many products; 0: the shortest. */
static int32_t measure(int32_t products, lane_row *row)
{
    size_t whole;
    if (products < 0)
        return EMU_ERROR_SHAPE;
    if (row->has_levels)
        return products ? emu_measure_level_row(&row->levels, (size_t)products, &row->measure)
                        : emu_shortest_level_row(&row->levels, 1, EMU_DPI_LANES, &row->measure);
    whole = emu_whole_products(row->fused.k, row->fused.block);
    row->measure.products = products ? (size_t)products : whole;
    row->measure.draws = 0;
    row->measure.numbers = 0;
    row->measure.most_bits = 0;
    return row->measure.products % whole ? EMU_ERROR_SHAPE : EMU_OK;
}

static int32_t find_row(int32_t handle, const char *name, int32_t products, lane_row *row)
{
    const emu_library *library;
    int32_t error = emu_dpi_find_library(handle, &library);
    if (error)
        return error;
    if (!name || !*name)
        return emu_dpi_unknown(handle, "a datapath", name);
    row->has_levels = emu_find_datapath_in(library, name, &row->fused) != EMU_OK;
    if (row->has_levels && emu_find_levels_in(library, name, &row->levels))
        return emu_dpi_unknown(handle, "a datapath with these operands", name);
    row->a = row->has_levels ? row->levels.a : row->fused.a;
    row->b = row->has_levels ? row->levels.b : row->fused.b;
    row->scale = row->has_levels ? row->levels.scale : row->fused.scale;
    row->c = row->has_levels ? row->levels.c : row->fused.result;
    row->block = row->has_levels ? row->levels.block : row->fused.block;
    row->any_nan = row->has_levels ? emu_find_levels_row(library, name)->any_nan : row->fused.any_nan;
    return emu_dpi_end(measure(products, row), name);
}

/* Lanes of the vectors as matrices of one row. */
static int32_t unpack_row(const uint32_t *const vectors[4], const uint32_t *random, lane_row *row)
{
    const emu_format *const formats[4] = {row->a, row->b, row->scale, row->scale};
    int32_t products = (int32_t)row->measure.products, draws = (int32_t)row->measure.draws;
    if (row->measure.products > EMU_DPI_LANES || row->measure.draws > EMU_DPI_LANES || row->measure.numbers > MOST_NUMBERS ||
        !emu_dpi_fits(draws, row->measure.most_bits))
        return EMU_ERROR_SPACE;
    for (int32_t i = 0; i < 4; i++) {
        int32_t lanes = i < 2 ? products : products / (row->scale ? row->block : 1);
        if (!formats[i])
            continue;
        if (!emu_dpi_fits(lanes, emu_stored_bits(formats[i])))
            return EMU_ERROR_SPACE;
        emu_dpi_unpack(vectors[i], 0, emu_stored_bits(formats[i]), lanes, row->codes[i]);
        row->operands[i] = emu_dpi_matrix(row->codes[i], 1, lanes, NULL);
    }
    emu_dpi_unpack(random, 0, row->measure.most_bits, draws, row->random);
    return EMU_OK;
}

/* One row of levels; open as in emu_dpi_convert. */
static int32_t run_levels(lane_row *row, const emu_matrix *c, const emu_matrix *d, uint64_t *raised, uint8_t *open)
{
    emu_number numbers[MOST_NUMBERS];
    uint32_t order[EMU_DPI_LANES];
    emu_matrix random = emu_dpi_matrix(row->random, 1, (int32_t)row->measure.draws, NULL), flags = emu_dpi_matrix(raised, 1, 1, NULL);
    int32_t reports = (row->levels.invalid_levels | row->levels.overflow_levels) != 0, error;
    size_t bad;
    error = emu_dot_levels_flags(&row->levels, &row->operands[0], &row->operands[1], row->scale ? &row->operands[2] : NULL,
                                 row->scale ? &row->operands[3] : NULL, row->c ? c : NULL, row->measure.draws ? &random : NULL, d,
                                 reports ? &flags : NULL, order, numbers, MOST_NUMBERS, &bad);
    if (error != EMU_ERROR_OPEN && error != EMU_ERROR_OVERFLOW && error != EMU_ERROR_REFUSED)
        return error;
    *open = error == EMU_ERROR_REFUSED ? 2 : 1;
    return EMU_OK;
}

int32_t emu_dpi_dot_in(int32_t handle, const char *datapath, int32_t products, const emu_bits a, const emu_bits scale_a, const emu_bits b,
                       const emu_bits scale_b, uint64_t c, const emu_bits random, uint64_t *d, uint32_t *flags, uint8_t *open)
{
    const uint32_t *const vectors[4] = {a, b, scale_a, scale_b};
    uint64_t result = 0, raised = 0;
    uint8_t unknown = 0;
    emu_matrix addend, out;
    lane_row row;
    int32_t error = find_row(handle, datapath, products, &row);
    if (error)
        return error;
    error = unpack_row(vectors, random, &row);
    if (error)
        return emu_dpi_end(error, datapath);
    addend = emu_dpi_matrix(&c, 1, 1, NULL);
    out = emu_dpi_matrix(&result, 1, 1, row.has_levels ? NULL : &unknown);
    if (row.has_levels)
        error = run_levels(&row, &addend, &out, &raised, &unknown);
    else
        error = emu_dot(&row.fused, &row.operands[0], &row.operands[1], row.scale ? &row.operands[2] : NULL,
                        row.scale ? &row.operands[3] : NULL, &addend, &out, NULL);
    if (error)
        return emu_dpi_end(error, datapath);
    *d = unknown ? 0 : result;
    *flags = unknown ? 0 : (uint32_t)raised;
    *open = unknown;
    return EMU_OK;
}

int32_t emu_dpi_dot_row_in(int32_t handle, const char *datapath, int32_t products, int32_t *row_products, int32_t *draws,
                           int32_t *draw_bits, uint32_t *flags, uint8_t *any_nan)
{
    lane_row row;
    int32_t error = find_row(handle, datapath, products, &row);
    if (error)
        return error;
    *row_products = (int32_t)row.measure.products;
    *draws = (int32_t)row.measure.draws;
    *draw_bits = row.measure.most_bits;
    *flags = 0;
    if (row.has_levels)
        *flags = (row.levels.invalid_levels ? EMU_RAISED_INVALID : 0U) | (row.levels.overflow_levels ? EMU_RAISED_OVERFLOW : 0U);
    *any_nan = row.any_nan != 0;
    return EMU_OK;
}

int32_t emu_dpi_dot(const char *datapath, const emu_bits a, const emu_bits scale_a, const emu_bits b, const emu_bits scale_b, uint64_t c,
                    uint64_t *d, uint8_t *open)
{
    static const emu_bits none;
    uint32_t flags;
    return emu_dpi_dot_in(EMU_DPI_SHIPPED, datapath, 0, a, scale_a, b, scale_b, c, none, d, &flags, open);
}
