/* Calls of the functions on programs, with small tensors. */
#include <stdlib.h>
#include <string.h>

#include "fuzz_draft.h"

static draft drawn;

void fuzz_check_program(stream *random, tally *all)
{
    if (one_in(random, 2))
        draft_quantize(random, &drawn, 2);
    else
        draft_dequantize(random, &drawn, 2);
    add_error(all, emu_check_program(or_null(random, &drawn.program, 100)));
}

void fuzz_count_workspace(stream *random, tally *all)
{
    size_t words = 77, columns = one_in(random, 8) ? SIZE_MAX >> below(random, 63) : (size_t)below(random, 1000);
    draft_quantize(random, &drawn, 8);
    int32_t error = emu_count_workspace(&drawn.program, columns, one_in(random, 100) ? NULL : &words);
    add_error(all, error);
    if (!error)
        add_to(all, words);
    else
        all->is_broken |= words != 77;
}

void fuzz_type_registers(stream *random, tally *all)
{
    const emu_format *types[MOST_REGISTERS];
    int32_t error;
    if (one_in(random, 2))
        draft_quantize(random, &drawn, 12);
    else
        draft_dequantize(random, &drawn, 12);
    const emu_program *given = or_null(random, &drawn.program, 100);
    error = emu_type_registers(given, one_in(random, 100) ? NULL : types);
    add_error(all, error);
    for (int32_t reg = 0; !error && reg < drawn.program.register_count; reg++)
        all->is_broken |= types[reg] && emu_check_format(types[reg]) != EMU_OK;
}

typedef struct tensors {
    emu_matrix x, random, codes, levels[MOST_LEVELS];
    uint64_t *workspace;
    size_t words, padded_rows, padded_columns;
} tensors;

static void *zeros(size_t bytes)
{
    return memset(block(bytes), 0, bytes);
}

static emu_matrix matrix(stream *random, size_t rows, size_t columns, int32_t bits, int is_result)
{
    int32_t least = bits > 32 ? 8 : bits > 16 ? 4 : bits > 8 ? 2 : 1;
    emu_matrix made = {NULL, one_in(random, 4) ? 8 : least, rows, columns, NULL};
    made.codes = zeros(rows * columns * (size_t)made.bytes);
    if (is_result && !one_in(random, 4))
        made.open = block(rows * columns);
    return made;
}

static void fill(const emu_matrix *m, stream *random, const emu_format *format, int32_t random_bits)
{
    for (size_t i = 0; i < m->rows * m->columns; i++) {
        uint64_t code = format ? some_code(random, format) : next_word(random) & (((uint64_t)1 << random_bits) - 1);
        if (m->bytes == 1)
            ((uint8_t *)m->codes)[i] = (uint8_t)code;
        else if (m->bytes == 2)
            ((uint16_t *)m->codes)[i] = (uint16_t)code;
        else if (m->bytes == 4)
            ((uint32_t *)m->codes)[i] = (uint32_t)code;
        else
            ((uint64_t *)m->codes)[i] = code;
    }
}

static void add_matrix(tally *all, const emu_matrix *m)
{
    for (size_t i = 0; i < m->rows * m->columns * (size_t)m->bytes; i++)
        add_to(all, ((const uint8_t *)m->codes)[i]);
    for (size_t i = 0; m->open && i < m->rows * m->columns; i++)
        add_to(all, m->open[i]);
}

static size_t parts(size_t length, int32_t part_length)
{
    return part_length > 0 ? (length + (size_t)part_length - 1) / (size_t)part_length : 1;
}

/* Sizes of a small tensor and memory for all that a call takes; what the draft says may be broken, so nothing of it is trusted. */
static void allocate(stream *random, const draft *d, const emu_format *source, tensors *t, int is_result)
{
    const emu_program *p = &d->program;
    size_t rows = p->tile_rows > 0 && p->tile_rows < 8 ? (size_t)p->tile_rows : 2;
    size_t columns = p->tile_columns > 0 && p->tile_columns < 2000 ? (size_t)p->tile_columns : 4;
    int32_t level_count = p->level_count < 0 || p->level_count > 16 ? 0 : p->level_count;
    int is_exact = p->tail == EMU_TAIL_ERROR && !one_in(random, 20), is_cut = p->tail == EMU_TAIL_DROP;
    t->padded_rows = rows * (1 + below(random, 3));
    t->padded_columns = columns * (1 + below(random, columns < 32 && one_in(random, 100) ? 600 / columns : 3)); /* several bands at times */
    rows = t->padded_rows - (is_exact ? 0 : (size_t)below(random, rows));
    columns = t->padded_columns - (is_exact ? 0 : (size_t)below(random, columns));
    t->x = matrix(random, rows, columns, width_of(source), 0);
    t->random = matrix(random, rows, columns, d->random_bits, 0);
    t->codes = matrix(random, is_cut ? rows : t->padded_rows, is_cut ? columns : t->padded_columns, 8, is_result);
    if (p->codes >= 0 && p->codes < p->register_count && p->codes < MOST_REGISTERS && d->formats[p->codes])
        t->codes.bytes = t->codes.bytes == 8 || width_of(d->formats[p->codes]) > 8 ? 8 : 1;
    free(t->codes.codes);
    t->codes.codes = zeros(t->codes.rows * t->codes.columns * (size_t)t->codes.bytes);
    for (int32_t k = 0; k < MOST_LEVELS; k++) {
        const emu_matrix none = {NULL, 1, 0, 0, NULL};
        t->levels[k] = none;
        if (k < level_count && p->levels)
            t->levels[k] = matrix(random, parts(t->padded_rows, d->levels[k].rows), parts(t->padded_columns, d->levels[k].columns),
                                  d->levels[k].format ? width_of(d->levels[k].format) : 64, is_result);
    }
    if (emu_count_workspace(p, columns, &t->words))
        t->words = (size_t)below(random, 50);
    if (t->words > 100000)
        t->words = 100000;
    t->workspace = block(t->words * 8);
}

/* Shrink or spoil one argument: its description stays true of its memory, but for sizes that no memory has. */
static void spoil(stream *random, tensors *t)
{
    emu_matrix *all[] = {&t->x, &t->codes, &t->levels[0], &t->random, &t->levels[1]};
    emu_matrix *chosen = all[below(random, 5)];
    switch (below(random, 8)) {
    case 6: chosen->rows = SIZE_MAX / 2; break; /* these two lie: a call must refuse them unseen */
    case 7: chosen->columns = SIZE_MAX / 2 - 1; break;
    case 0: t->words = t->words / 2; break;
    case 1: t->words = t->words ? t->words - 1 : 0; break;
    case 2: chosen->rows = chosen->rows ? chosen->rows - 1 : 0; break;
    case 3: chosen->columns = chosen->columns ? chosen->columns - 1 : 0; break;
    case 4: chosen->bytes = chosen->bytes == 1 ? 3 : wild_number(random) <= chosen->bytes ? 1 : 0; break;
    default: chosen->rows = 0; chosen->columns = one_in(random, 2) ? SIZE_MAX : 0; break;
    }
}

static void release(tensors *t)
{
    emu_matrix *all[] = {&t->x, &t->random, &t->codes};
    for (int k = 0; k < 3; k++) {
        free(all[k]->codes);
        free(all[k]->open);
    }
    for (int k = 0; k < MOST_LEVELS; k++) {
        free(t->levels[k].codes);
        free(t->levels[k].open);
    }
    free(t->workspace);
}

void fuzz_quantize(stream *random, tally *all)
{
    tensors t;
    emu_format source;
    uint64_t signs[4];
    uint32_t amax = (uint32_t)next_word(random);
    if (!one_in(random, 30))
        amax &= 0x7FFFFFFF;
    else if (one_in(random, 2))
        amax |= 0x7FC00000;
    for (int k = 0; k < 4; k++)
        signs[k] = next_word(random);
    if (one_in(random, 60))
        draft_dequantize(random, &drawn, 12);
    else
        draft_quantize(random, &drawn, 12);
    source = drawn.arithmetic;
    if (one_in(random, 3))
        small_format(random, &source, 40);
    allocate(random, &drawn, &source, &t, 1);
    fill(&t.x, random, &source, 0);
    fill(&t.random, random, NULL, drawn.random_bits + one_in(random, 60));
    if (one_in(random, 12))
        spoil(random, &t);
    int gives_amax = drawn.program.tensor_amax >= 0 && drawn.arithmetic.frac_bits >= 23 ? one_in(random, 2) : one_in(random, 50);
    int gives_random = (drawn.program.random >= 0) != one_in(random, 50), null = null_of(random, 6), gives_signs = one_in(random, 3);
    int32_t error = emu_quantize(null == 0 ? NULL : &drawn.program, null == 1 ? NULL : &source, null == 2 ? NULL : &t.x,
                                 gives_amax ? &amax : NULL,
                                 gives_random ? &t.random : NULL, gives_signs ? signs : NULL, null == 3 ? NULL : &t.codes,
                                 null == 4 ? NULL : t.levels, null == 5 ? NULL : t.workspace, t.words);
    add_error(all, error);
    if (!error) {
        add_matrix(all, &t.codes);
        for (int32_t k = 0; k < drawn.program.level_count; k++)
            add_matrix(all, &t.levels[k]);
    }
    release(&t);
}

void fuzz_dequantize(stream *random, tally *all)
{
    tensors t;
    emu_format result;
    if (one_in(random, 60))
        draft_quantize(random, &drawn, 12);
    else
        draft_dequantize(random, &drawn, 12);
    arithmetic_format(random, &result, 30);
    allocate(random, &drawn, &result, &t, 0);
    if (drawn.program.codes >= 0 && drawn.program.codes < drawn.program.register_count && drawn.formats[drawn.program.codes])
        fill(&t.codes, random, drawn.formats[drawn.program.codes], 0);
    for (int32_t k = 0; k < MOST_LEVELS && t.levels[k].codes; k++) {
        if (drawn.levels[k].format)
            fill(&t.levels[k], random, drawn.levels[k].format, 0);
    }
    emu_matrix values = matrix(random, t.codes.rows, t.codes.columns, width_of(&result), 1);
    if (one_in(random, 60))
        values.bytes = 1;
    if (one_in(random, 12))
        spoil(random, &t);
    int null = null_of(random, 6);
    int32_t error = emu_dequantize(null == 0 ? NULL : &drawn.program, null == 1 ? NULL : &t.codes, null == 2 ? NULL : t.levels,
                                   null == 3 ? NULL : &result, null == 4 ? NULL : &values, null == 5 ? NULL : t.workspace, t.words);
    add_error(all, error);
    if (!error)
        add_matrix(all, &values);
    free(values.codes);
    free(values.open);
    release(&t);
}

/* Matrices of all registers of a program, in their shapes for most calls. */
static emu_matrix *any_registers(stream *random, const tensors *t)
{
    static emu_matrix made[MOST_REGISTERS];
    int32_t wrong = one_in(random, 30) ? (int32_t)below(random, 8) : -1;
    for (int32_t i = 0; i < MOST_REGISTERS; i++) {
        const emu_matrix none = {NULL, 8, 0, 0, NULL};
        made[i] = none;
        if (i >= drawn.program.register_count)
            continue;
        made[i] = matrix(random, parts(t->padded_rows, drawn.registers[i].rows), parts(t->padded_columns, drawn.registers[i].columns), 64, 0);
        if (!one_in(random, 100))
            made[i].open = block(made[i].rows * made[i].columns);
        if (i == wrong)
            made[i].bytes = one_in(random, 2) ? 4 : 3;
        if (i + 1 == wrong)
            made[i].rows--;
    }
    return made;
}

static void add_registers(tally *all, emu_matrix *registers, int32_t error)
{
    for (int32_t i = 0; i < drawn.program.register_count && i < MOST_REGISTERS; i++) {
        if (!error)
            add_matrix(all, &registers[i]);
        free(registers[i].codes);
        free(registers[i].open);
    }
}

void fuzz_trace_quantize(stream *random, tally *all)
{
    tensors t;
    emu_format source;
    uint32_t amax = (uint32_t)next_word(random) & 0x7FFFFFFF;
    if (one_in(random, 60))
        draft_dequantize(random, &drawn, 0);
    else
        draft_quantize(random, &drawn, 0);
    source = drawn.arithmetic;
    allocate(random, &drawn, &source, &t, 1);
    fill(&t.x, random, &source, 0);
    fill(&t.random, random, NULL, drawn.random_bits + one_in(random, 60));
    if (one_in(random, 30))
        spoil(random, &t);
    emu_matrix *registers = any_registers(random, &t);
    int gives_amax = drawn.program.tensor_amax >= 0 && drawn.arithmetic.frac_bits >= 23 ? one_in(random, 2) : one_in(random, 50);
    int gives_random = (drawn.program.random >= 0) != one_in(random, 50), null = null_of(random, 5);
    int32_t error = emu_trace_quantize(null == 0 ? NULL : &drawn.program, null == 1 ? NULL : &source, null == 2 ? NULL : &t.x,
                                       gives_amax ? &amax : NULL, gives_random ? &t.random : NULL, NULL, null == 3 ? NULL : registers,
                                       null == 4 ? NULL : t.workspace, t.words);
    add_error(all, error);
    add_registers(all, registers, error);
    release(&t);
}

void fuzz_trace_dequantize(stream *random, tally *all)
{
    tensors t;
    if (one_in(random, 60))
        draft_quantize(random, &drawn, 0);
    else
        draft_dequantize(random, &drawn, 0);
    allocate(random, &drawn, &drawn.arithmetic, &t, 0);
    if (drawn.program.codes >= 0 && drawn.formats[drawn.program.codes])
        fill(&t.codes, random, drawn.formats[drawn.program.codes], 0);
    for (int32_t k = 0; k < MOST_LEVELS && t.levels[k].codes; k++) {
        if (drawn.levels[k].format)
            fill(&t.levels[k], random, drawn.levels[k].format, 0);
    }
    if (one_in(random, 30))
        spoil(random, &t);
    emu_matrix *registers = any_registers(random, &t);
    int null = null_of(random, 5);
    int32_t error = emu_trace_dequantize(null == 0 ? NULL : &drawn.program, null == 1 ? NULL : &t.codes, null == 2 ? NULL : t.levels,
                                         null == 3 ? NULL : registers, null == 4 ? NULL : t.workspace, t.words);
    add_error(all, error);
    add_registers(all, registers, error);
    release(&t);
}
