/* bridge_tensor.c: a panel of a tensor through a recipe and back, and exact sums of what was lost. A sum is a whole number of 2^LOW in limbs
 * of 32 bits, lowest first: squares of binary32 reach from 2^-298 to 2^256, and 2^40 of them stay below the highest limb. */
#include "bridge.h"

enum { LOW = -320, LIMBS = 24, WORST = 8 };

typedef struct {
    int64_t limb[LIMBS];
} sum;

typedef struct {
    sum error;
    uint64_t row, column; /* of its first element */
} worst_block;

/* What all panels of a tensor add to. x: the values; y: what their codes mean. */
typedef struct {
    sum xx, xy, error;
    uint64_t counts[256]; /* of each element code, where it has at most 8 bits */
    worst_block worst[WORST];
    uint64_t blocks; /* in worst, the largest error first */
} figures;

typedef struct {
    int32_t exp;
    int32_t sign;
    uint64_t odd; /* 0, or without trailing zeros: below 2^32 */
} number;

static void add(sum *to, const number *a, const number *b, int32_t twice, int32_t sign)
{
    uint64_t product = a->odd * b->odd, mask = 0xFFFFFFFFu;
    if (!product)
        return;
    int32_t place = a->exp + b->exp + twice - LOW, shift = place % 32;
    int64_t *limb = to->limb + place / 32, turned = sign != (a->sign != b->sign) ? -1 : 1;
    uint64_t low = (product & mask) << shift, high = (product >> 32) << shift;
    limb[0] += turned * (int64_t)(low & mask);
    limb[1] += turned * (int64_t)((low >> 32) + (high & mask));
    limb[2] += turned * (int64_t)(high >> 32);
}

/* Limbs from 0 to 2^32 - 1 again; what is below zero shows in the highest. */
static void carry(sum *of)
{
    int64_t over = 0;
    for (int32_t i = 0; i < LIMBS; i++) {
        int64_t here = of->limb[i] + over;
        over = i + 1 < LIMBS ? here >> 32 : 0;
        of->limb[i] = here - over * 4294967296;
    }
}

static int32_t is_larger(const sum *a, const sum *b)
{
    for (int32_t i = LIMBS - 1; i >= 0; i--)
        if (a->limb[i] != b->limb[i])
            return a->limb[i] > b->limb[i];
    return 0;
}

static void keep_worst(figures *all, const worst_block *block)
{
    static const sum nothing;
    uint64_t at = all->blocks;
    if (!is_larger(&block->error, &nothing))
        return;
    while (at > 0 && is_larger(&block->error, &all->worst[at - 1].error))
        at--;
    if (at == WORST)
        return;
    all->blocks += all->blocks < WORST;
    for (uint64_t i = all->blocks - 1; i > at; i--)
        all->worst[i] = all->worst[i - 1];
    all->worst[at] = *block;
}

static uint64_t code_at(const emu_matrix *of, size_t place)
{
    const uint8_t *at = (const uint8_t *)of->codes + place * (size_t)of->bytes;
    uint64_t code = 0;
    memcpy(&code, at, (size_t)of->bytes);
    return code;
}

/* EMU_ERROR_GRID: no finite value of at most 32 bits. */
static int32_t number_of(const emu_format *format, uint64_t code, number *out)
{
    emu_value value;
    int32_t error = emu_decode_code(format, code, &value);
    if (error)
        return error;
    if (value.value_class != EMU_ZERO && value.value_class != EMU_SUBNORMAL && value.value_class != EMU_NORMAL)
        return EMU_ERROR_GRID;
    *out = (number){value.lsb_exp, value.sign, value.value_class == EMU_ZERO ? 0 : value.significand};
    for (; out->odd && !(out->odd & 1); out->odd >>= 1)
        out->exp++;
    return out->odd >> 32 || (out->odd && (out->exp < -149 || out->exp > 127)) ? EMU_ERROR_GRID : EMU_OK;
}

EXPORT(ex_figures) figures *ex_figures(void)
{
    figures *all = ex_room(sizeof *all);
    if (all)
        memset(all, 0, sizeof *all);
    return all;
}

EXPORT(ex_sum_at) int64_t *ex_sum_at(figures *all, int32_t number)
{
    return number == 0 ? all->xx.limb : number == 1 ? all->xy.limb : number == 2 ? all->error.limb : all->worst[number - 3].error.limb;
}

EXPORT(ex_counts) uint64_t *ex_counts(figures *all) { return all->counts; }

EXPORT(ex_found) void ex_found(const figures *all, uint64_t *out)
{
    out[0] = all->blocks;
    for (uint64_t i = 0; i < all->blocks; i++) {
        out[1 + 2 * i] = all->worst[i].row;
        out[2 + 2 * i] = all->worst[i].column;
    }
}

/* The place of the first element that is not taken -> out[0], `count` where all are; the place of the largest magnitude -> out[1]. */
EXPORT(ex_scan) int32_t ex_scan(const emu_format *format, void *codes, int32_t bytes, size_t count, uint64_t *out)
{
    emu_matrix given = {codes, bytes, 1, count, NULL};
    int32_t top = 0;
    uint64_t most = 0; /* its digits, from bit 31 down */
    out[0] = count;
    out[1] = 0;
    for (size_t i = 0; i < count; i++) {
        number here;
        int32_t error = number_of(format, code_at(&given, i), &here);
        if (error) {
            out[0] = i;
            return error;
        }
        if (!here.odd)
            continue;
        for (; !(here.odd >> 31); here.odd <<= 1)
            here.exp--;
        if (!most || here.exp > top || (here.exp == top && here.odd > most)) {
            top = here.exp;
            most = here.odd;
            out[1] = i;
        }
    }
    return EMU_OK;
}

/* What stays the same for all codes of a tensor. */
typedef struct {
    const emu_program *program, *back;
    const emu_format *source, *result;
    int32_t bytes;
    const uint32_t *tensor_amax;
} way;

/* Quantize rows x columns codes, dequantize them, and add what they say to `all`. row, column: of the first one. */
static int32_t measure(const way *by, void *x, size_t rows, size_t columns, figures *all, uint64_t row, uint64_t column)
{
    const emu_program *program = by->program, *back = by->back;
    const emu_format *source = by->source, *result = by->result;
    size_t tile = (size_t)program->tile_columns, padded = (columns + tile - 1) / tile * tile, words = 0, more = 0;
    size_t wide = program->tail == EMU_TAIL_DROP ? columns : padded;
    int32_t error = emu_count_workspace(program, columns, &words);
    if (!error)
        error = emu_count_workspace(back, columns, &more);
    if (error)
        return error;
    words = more > words ? more : words;
    emu_matrix *levels = ex_room(sizeof *levels * (size_t)(program->level_count + 1));
    emu_matrix given = {x, by->bytes, rows, columns, NULL}, codes = {ex_room(rows * wide), 1, rows, wide, NULL};
    emu_matrix values = {ex_room(4 * rows * wide), 4, rows, wide, NULL};
    uint64_t *workspace = ex_room(words * 8);
    if (!levels || !codes.codes || !values.codes || !workspace)
        return EMU_ERROR_SPACE;
    for (int32_t i = 0; i < program->level_count; i++) {
        const emu_level *level = &program->levels[i];
        size_t down = level->rows ? rows / (size_t)level->rows : 1, across = level->columns ? padded / (size_t)level->columns : 1;
        levels[i] = (emu_matrix){ex_room(8 * down * across), 8, down, across, NULL};
        if (!levels[i].codes)
            return EMU_ERROR_SPACE;
    }
    error = emu_quantize(program, source, &given, by->tensor_amax, NULL, NULL, &codes, levels, workspace, words);
    if (!error)
        error = emu_dequantize(back, &codes, levels, result, &values, workspace, words);
    if (error)
        return error;
    for (size_t r = 0; r < rows; r++)
        for (size_t first = 0; first < columns; first += tile) {
            worst_block block = {{{0}}, row + r, column + first};
            for (size_t c = first; c < columns && c < first + tile; c++) {
                number a, b;
                error = number_of(source, code_at(&given, r * columns + c), &a);
                if (!error)
                    error = number_of(result, code_at(&values, r * wide + c), &b);
                if (error)
                    return error;
                add(&all->xx, &a, &a, 0, 0);
                add(&all->xy, &a, &b, 0, 0);
                add(&block.error, &a, &a, 0, 0);
                add(&block.error, &a, &b, 1, 1);
                add(&block.error, &b, &b, 0, 0);
                all->counts[code_at(&codes, r * wide + c)]++;
            }
            carry(&block.error);
            for (int32_t i = 0; i < LIMBS; i++)
                all->error.limb[i] += block.error.limb[i];
            keep_worst(all, &block);
        }
    carry(&all->xx);
    carry(&all->xy);
    carry(&all->error);
    return EMU_OK;
}

/* Codes of `source` there and back again, in pieces of rows that the C reference takes where size_t has 32 bits. */
EXPORT(ex_panel)
int32_t ex_panel(const emu_program *program, const emu_program *back, const emu_format *source, const emu_format *result, void *x, int32_t bytes,
                 size_t rows, size_t columns, const uint32_t *tensor_amax, figures *all, uint64_t row, uint64_t column)
{
    const way by = {program, back, source, result, bytes, tensor_amax};
    size_t registers = (size_t)(program->register_count > back->register_count ? program->register_count : back->register_count);
    size_t tile = (size_t)program->tile_columns, most = SIZE_MAX / 65536 / registers / tile * tile;
    if (columns <= most || !most)
        return measure(&by, x, rows, columns, all, row, column);
    for (size_t r = 0; r < rows; r++)
        for (size_t c = 0; c < columns; c += most) {
            uint8_t *mark = ex_mark();
            size_t wide = columns - c < most ? columns - c : most;
            int32_t error = measure(&by, (uint8_t *)x + (r * columns + c) * (size_t)bytes, 1, wide, all, row + r, column + c);
            ex_release(mark);
            if (error)
                return error;
        }
    return EMU_OK;
}
