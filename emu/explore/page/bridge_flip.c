/* bridge_flip.c: the nearest other value of one element with which a recipe gives it another code or scale. Values are numbered in order,
 * 0 for zero, by the magnitudes that emu_encode_magnitude counts; each that is tried is quantized whole by emu_quantize. */
#include "bridge.h"

enum { NEAR = 4096, APART = 65536, MOST_LEVELS = 16 };

typedef struct search {
    const emu_program *program;
    const emu_format *source;
    emu_matrix x, random, codes, levels[MOST_LEVELS];
    const uint32_t *tensor_amax;
    const uint64_t *signs;
    uint64_t *workspace;
    size_t words;
    size_t element;
    int32_t negative_zero;
    uint64_t kept[MOST_LEVELS + 1]; /* the element's code and the codes of its levels; an open one is ~0 */
} search;

static uint64_t seen(const emu_matrix *matrix, size_t place) { return matrix->open[place] ? ~0ull : ((uint64_t *)matrix->codes)[place]; }

static int32_t quantized(search *work)
{
    return emu_quantize(work->program, work->source, &work->x, work->tensor_amax, work->random.codes ? &work->random : NULL, work->signs,
                        &work->codes, work->levels, work->workspace, work->words);
}

/* The code of the element, or of level i - 1 above it. */
static uint64_t told(const search *work, int32_t i)
{
    size_t row = work->element / work->x.columns, column = work->element % work->x.columns;
    if (!i)
        return seen(&work->codes, row * work->codes.columns + column);
    const emu_level *level = &work->program->levels[i - 1];
    size_t down = level->rows ? row / (size_t)level->rows : 0, across = level->columns ? column / (size_t)level->columns : 0;
    return seen(&work->levels[i - 1], down * work->levels[i - 1].columns + across);
}

/* Quantize with value `index` in the element's place; *other 1: its code or one of its scales is not what it was. */
static int32_t attempt(search *work, int64_t index, int32_t *other)
{
    uint64_t *element = (uint64_t *)work->x.codes + work->element;
    int32_t sign = index < 0 || (!index && work->negative_zero);
    int32_t error = emu_encode_magnitude(work->source, sign, (uint64_t)(index < 0 ? -index : index), element);
    if (!error)
        error = quantized(work);
    *other = 0;
    for (int32_t i = 0; !error && i <= work->program->level_count; i++)
        *other |= told(work, i) != work->kept[i];
    return error;
}

/* Steps from value `from` on, +1 or -1 a time, to the first that is other: out[0], 0 where there is none; out[1] the steps up to which all
 * were tried one by one: every one of a source of 16 bits; out[2] 1: it went on in larger steps. Of a wider source, beyond NEAR steps every
 * APART-th value is tried (of binary32: those of bfloat16), and the last; between the last that was as before and the first that was not,
 * halves. x: 64 bits a code; random: an integer for each, or NULL; signs: as of ex_trace; the element is left at another value. */
EXPORT(ex_flip)
int32_t ex_flip(const emu_program *program, const emu_format *source, uint64_t *x, size_t rows, size_t columns, const uint32_t *tensor_amax,
                uint32_t *random, const uint64_t *signs, size_t element, int64_t from, int32_t negative_zero, int32_t step, int64_t *out)
{
    size_t tall = padded(rows, program->tile_rows), wide = padded(columns, program->tile_columns), most_cells = tall * wide, words = 0;
    int32_t drops = program->tail == EMU_TAIL_DROP;
    int32_t error = emu_count_workspace(program, columns, &words), other = 0;
    if (error)
        return error;
    uint64_t *cells = ex_room((most_cells * 9 + 16) * (size_t)(program->level_count + 1)), most = 0;
    search work = {program, source, {x, 8, rows, columns, NULL}, {random, 4, rows, columns, NULL}, {0}, {{0}}, tensor_amax, signs,
                   ex_room(words * 8), words, element, negative_zero, {0}};
    if (!cells || !work.workspace)
        return EMU_ERROR_SPACE;
    uint8_t *open = (uint8_t *)(cells + most_cells * (size_t)(program->level_count + 1));
    work.codes = (emu_matrix){cells, 8, drops ? rows : tall, drops ? columns : wide, open};
    for (int32_t i = 0; i < program->level_count; i++) {
        const emu_level *level = &program->levels[i];
        size_t place = most_cells * (size_t)(i + 1);
        work.levels[i] = (emu_matrix){cells + place, 8, parts(level->rows, tall), parts(level->columns, wide), open + place};
    }
    if ((error = quantized(&work)))
        return error;
    for (int32_t i = 0; i <= program->level_count; i++)
        work.kept[i] = told(&work, i);
    if ((error = emu_max_magnitude(source, step < 0, &most)))
        return error;
    int64_t steps = (int64_t)most - step * from, same = 0, next = 0, near = steps > 2 * APART ? NEAR : steps;
    for (out[0] = out[1] = out[2] = 0; !error && !other && next < steps;) {
        same = next;
        int64_t beyond = next < near ? 1 : APART - ((from + step * next) * step % APART + APART) % APART;
        next = next + beyond < steps ? next + beyond : steps;
        error = attempt(&work, from + step * next, &other);
        out[1] = next <= near ? next : out[1];
        out[2] = next > near;
    }
    while (!error && other && next - same > 1) {
        int64_t middle = same + (next - same) / 2;
        int32_t there = 0;
        error = attempt(&work, from + step * middle, &there);
        *(there ? &next : &same) = middle;
    }
    out[0] = other ? next : 0;
    return error;
}
