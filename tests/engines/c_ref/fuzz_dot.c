/* Calls of the functions on rows and matrices of codes through a datapath. */
#include <stdlib.h>
#include <string.h>

#include "fuzz_datapath.h"

enum { MOST_ROWS = 3, MOST_STEPS = 3 };

/* A code: special and subnormal ones more often than by chance. */
static uint64_t operand_code(stream *random, const emu_format *format, uint64_t wild_in)
{
    uint64_t all = UINT64_MAX >> (64 - width_of(format)), code = some_code(random, format) & all;
    emu_value value;
    if (one_in(random, wild_in))
        return code;
    for (int tries = 0; tries < 4 && emu_decode_code(format, code, &value) == EMU_OK && value.value_class >= EMU_INFINITE; tries++)
        code = next_word(random) & all;
    return one_in(random, 4) ? 0 : code;
}

static emu_matrix some_matrix(stream *random, const emu_format *format, size_t rows, size_t columns)
{
    int32_t least = width_of(format) > 32 ? 8 : width_of(format) > 16 ? 4 : width_of(format) > 8 ? 2 : 1;
    emu_matrix made = {NULL, one_in(random, 8) ? 8 : least, rows, columns, NULL};
    uint64_t wild_in = one_in(random, 3) ? 6 : 400;
    made.codes = block(rows * columns * (size_t)made.bytes);
    for (size_t i = 0; i < rows * columns; i++) {
        uint64_t code = one_in(random, 4000) ? next_word(random) : operand_code(random, format, wild_in);
        memcpy((uint8_t *)made.codes + i * (size_t)made.bytes, &code, (size_t)made.bytes); /* the low bytes, on a little-endian machine */
    }
    if (one_in(random, 150))
        made.rows++;
    if (one_in(random, 150))
        made.columns = made.columns ? made.columns - 1 : 0;
    if (made.rows > rows)
        made.rows = rows - 1;
    return made;
}

/* Operands of a datapath; what it does not have is NULL. */
typedef struct operands {
    emu_matrix a, b, scale_a, scale_b, c, d;
    emu_matrix *scales[2];
    uint8_t open[MOST_ROWS * MOST_ROWS];
} operands;

static size_t safe(int32_t number, size_t most)
{
    return number > 0 && (size_t)number <= most ? (size_t)number : 1;
}

static void make_operands(stream *random, const emu_datapath *facts, int is_product, operands *made)
{
    size_t rows = (size_t)below(random, MOST_ROWS) + 1, others = is_product ? (size_t)below(random, MOST_ROWS) + 1 : rows;
    size_t k = safe(facts->k, 1 << 14), block = facts->block ? safe(facts->block, 1 << 14) : 0;
    size_t columns = block > k ? block : k * ((size_t)below(random, k > 64 ? 1 : MOST_STEPS) + 1);
    memset(made, 0, sizeof *made);
    made->a = some_matrix(random, facts->a, rows, columns);
    made->b = some_matrix(random, facts->b, others, columns);
    if ((facts->scale && block) || one_in(random, 60)) { /* also unwanted ones */
        const emu_format *scale = facts->scale ? facts->scale : facts->a;
        made->scale_a = some_matrix(random, scale, rows, block ? columns / block : 1);
        made->scale_b = some_matrix(random, scale, others, block ? columns / block : 1);
        made->scales[0] = &made->scale_a;
        made->scales[1] = &made->scale_b;
    }
    made->c = some_matrix(random, facts->result, rows, is_product ? others : 1);
    made->d = some_matrix(random, facts->result, rows, is_product ? others : 1);
    if (one_in(random, 2))
        made->d.open = made->open;
    if (one_in(random, 50)) {
        int32_t bytes = one_in(random, 2) ? 3 : 1;
        emu_matrix *matrices[] = {&made->a, &made->c, &made->d};
        matrices[below(random, 3)]->bytes = bytes;
    }
}

static void free_operands(operands *made)
{
    free(made->a.codes);
    free(made->b.codes);
    free(made->scale_a.codes);
    free(made->scale_b.codes);
    free(made->c.codes);
    free(made->d.codes);
}

static void add_matrix(tally *all, const emu_matrix *matrix)
{
    for (size_t i = 0; i < matrix->rows * matrix->columns * (size_t)matrix->bytes; i++)
        add_to(all, ((const uint8_t *)matrix->codes)[i]);
    for (size_t i = 0; matrix->open && i < matrix->rows * matrix->columns; i++)
        add_to(all, matrix->open[i]);
}

/* Stages for every step; with room for terms, or not. */
static emu_stages *make_stages(stream *random, const emu_datapath *facts, const operands *made, size_t *count)
{
    size_t steps = made->a.columns / safe(facts->step, 1 << 20) * MOST_ROWS + 1, terms = safe(facts->step, 1 << 14);
    emu_stages *stages = block(steps * sizeof *stages);
    int has_terms = !one_in(random, 4);
    for (size_t i = 0; i < steps; i++) {
        stages[i].terms = has_terms ? block(terms * sizeof(emu_term)) : NULL;
        stages[i].aligned = has_terms ? block(terms * sizeof(emu_wide)) : NULL;
    }
    *count = steps;
    return stages;
}

static void free_stages(emu_stages *stages, size_t count)
{
    for (size_t i = 0; stages && i < count; i++) {
        free(stages[i].terms);
        free(stages[i].aligned);
    }
    free(stages);
}

void fuzz_dot(stream *random, tally *all)
{
    made_datapath path;
    operands made;
    emu_stages *stages = NULL;
    size_t count = 0;
    any_datapath(random, &path, 24);
    if (!path.facts.a || !path.facts.b || !path.facts.result) {
        add_error(all, emu_dot(&path.facts, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
        return;
    }
    make_operands(random, &path.facts, 0, &made);
    if (one_in(random, 4))
        stages = make_stages(random, &path.facts, &made, &count);
    int null = null_of(random, 8);
    int32_t error = emu_dot(null == 0 ? NULL : &path.facts, null == 1 ? NULL : &made.a, null == 2 ? NULL : &made.b,
                            null == 3 ? NULL : made.scales[0], null == 4 ? NULL : made.scales[1], null == 5 ? NULL : &made.c,
                            null == 6 ? NULL : &made.d, stages);
    add_error(all, error);
    if (!error)
        add_matrix(all, &made.d);
    for (size_t i = 0; !error && stages && i < made.a.columns / (size_t)path.facts.step; i++) {
        for (int k = 0; k < EMU_WIDE_LIMBS; k++)
            add_to(all, stages[i].total.limbs[k] + stages[i].aligned_c.limbs[k]);
        add_to(all, stages[i].code);
    }
    free_stages(stages, count);
    free_operands(&made);
}

void fuzz_matmul(stream *random, tally *all)
{
    made_datapath path;
    operands made;
    any_datapath(random, &path, 24);
    if (!path.facts.a || !path.facts.b || !path.facts.result) {
        add_error(all, emu_matmul(&path.facts, NULL, NULL, NULL, NULL, NULL, NULL));
        return;
    }
    make_operands(random, &path.facts, 1, &made);
    int null = null_of(random, 8);
    int32_t error = emu_matmul(null == 0 ? NULL : &path.facts, null == 1 ? NULL : &made.a, null == 2 ? NULL : &made.b,
                               null == 3 ? NULL : made.scales[0], null == 4 ? NULL : made.scales[1], one_in(random, 2) ? NULL : &made.c,
                               null == 6 ? NULL : &made.d);
    add_error(all, error);
    if (!error)
        add_matrix(all, &made.d);
    free_operands(&made);
}

void fuzz_finish_register(stream *random, tally *all)
{
    made_datapath path;
    emu_wide total;
    uint64_t code = UNTOUCHED, word = next_word(random);
    int is_negative = one_in(random, 2);
    word >>= below(random, 64);
    any_datapath(random, &path, 24);
    if (!one_in(random, 20))
        emu_find_datapath(one_in(random, 2) ? "int64/e2m1xe2m1/16" : "int64/int4xe1m2/32", &path.facts);
    for (int k = 0; k < EMU_WIDE_LIMBS; k++)
        total.limbs[k] = k == 0 ? (is_negative ? 0 - word : word) : is_negative && word ? UINT64_MAX : 0;
    if (one_in(random, 30))
        total.limbs[below(random, EMU_WIDE_LIMBS)] ^= 1;
    const emu_format *format = path.facts.result ? path.facts.result : emu_find_format("fp32");
    uint64_t c = one_in(random, 60) ? UINT64_MAX : some_code(random, format);
    int null = null_of(random, 3);
    int32_t error = emu_finish_register(null == 0 ? NULL : &path.facts, null == 1 ? NULL : &total, c, null == 2 ? NULL : &code);
    add_error(all, error);
    if (error)
        keeps_words(all, &code, 1);
    else
        add_to(all, code);
}

static void any_epilogue(stream *random, emu_epilogue_facts *facts, emu_rounding *rounding)
{
    for (int k = 0; k < 2; k++)
        any_rounding(random, &rounding[k], one_in(random, 60), 60);
    facts->alpha = or_null(random, &rounding[0], 100);
    facts->d = or_null(random, &rounding[1], 100);
    facts->c_after = one_in(random, 60) ? wild_number(random) : !one_in(random, 6);
    facts->is_fused = one_in(random, 60) ? wild_number(random) : (int32_t)below(random, 2);
}

void fuzz_alpha(stream *random, tally *all)
{
    made_datapath path;
    emu_epilogue_facts facts;
    emu_rounding rounding[2];
    uint64_t alpha = UNTOUCHED;
    any_datapath(random, &path, 24);
    any_epilogue(random, &facts, rounding);
    const emu_format *format = path.facts.result ? path.facts.result : emu_find_format("fp32");
    uint64_t a = one_in(random, 60) ? next_word(random) : some_code(random, format), b = one_in(random, 60) ? UINT64_MAX : some_code(random, format);
    int null = null_of(random, 3);
    int32_t error = emu_alpha(null == 0 ? NULL : &path.facts, null == 1 ? NULL : &facts, a, b, null == 2 ? NULL : &alpha);
    add_error(all, error);
    if (error)
        keeps_words(all, &alpha, 1);
    else
        add_to(all, alpha);
}

/* Three matrices of results; their shapes differ at times. */
static void fuzz_results(stream *random, tally *all, int is_sum)
{
    made_datapath path;
    emu_epilogue_facts facts;
    emu_rounding rounding[2];
    emu_matrix matrices[3];
    any_datapath(random, &path, 24);
    any_epilogue(random, &facts, rounding);
    const emu_format *format = path.facts.result ? path.facts.result : emu_find_format("fp32");
    size_t rows = (size_t)below(random, 3) + 1, columns = (size_t)below(random, 4) + 1;
    for (int k = 0; k < 3; k++)
        matrices[k] = some_matrix(random, format, rows, columns);
    if (one_in(random, 40)) {
        int32_t bytes = one_in(random, 2) ? 1 : 3;
        matrices[below(random, 3)].bytes = bytes;
    }
    uint64_t alpha = one_in(random, 60) ? UINT64_MAX : some_code(random, format);
    const emu_matrix *c = facts.c_after == 1 && one_in(random, 2) ? &matrices[1] : one_in(random, 30) ? &matrices[1] : NULL;
    int null = null_of(random, 4);
    const emu_matrix *x = null == 1 ? NULL : &matrices[0], *y = null == 2 ? NULL : &matrices[1], *d = null == 3 ? NULL : &matrices[2];
    const emu_datapath *datapath = null == 0 ? NULL : &path.facts;
    int32_t error = is_sum ? emu_add_results(datapath, x, y, d) : emu_epilogue(datapath, null == 2 ? NULL : &facts, x, alpha, c, d);
    add_error(all, error);
    if (!error)
        add_matrix(all, &matrices[2]);
    for (int k = 0; k < 3; k++)
        free(matrices[k].codes);
}

void fuzz_epilogue(stream *random, tally *all)
{
    fuzz_results(random, all, 0);
}

void fuzz_add_results(stream *random, tally *all)
{
    fuzz_results(random, all, 1);
}

