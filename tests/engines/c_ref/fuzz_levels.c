/* Random datapaths of levels, mostly sound, and rows through them. */
#include <stdlib.h>
#include <string.h>

#include "fuzz_datapath.h"

enum { MOST_LEVELS = 3, MOST_ROUNDINGS = 32, MOST_FORMATS = 32 };

/* A datapath of levels with all that it points to. */
typedef struct made_levels {
    emu_levels facts;
    emu_sum_level levels[MOST_LEVELS];
    emu_rounding roundings[MOST_ROUNDINGS];
    emu_format formats[MOST_FORMATS];
    emu_policy policies[MOST_FORMATS];
    size_t rounding_count, format_count;
} made_levels;

static const char *const elements[] = {"e2m1", "int4", "e0m3", "e4m3", "e5m2", "fp16", "bf16", "e4m3fnuz", "int8"};
static const char *const scales[] = {"ue4m3", "e8m0", "ue5m3", "e4m3"};
static const char *const registers[] = {"fp32", "fp32", "fp16", "bf16", "e5m2", "e4m3"};

static const emu_format *format_of(stream *random, made_levels *made, const char *name, uint64_t broken_in)
{
    emu_format *format = &made->formats[made->format_count++];
    *format = *emu_find_format(name);
    if (one_in(random, 12 * broken_in))
        any_format(random, format, 4);
    return format;
}

static const emu_rounding *rounding_of(stream *random, made_levels *made, int may_draw, uint64_t broken_in)
{
    emu_rounding *rounding = &made->roundings[made->rounding_count++];
    any_rounding(random, rounding, may_draw && one_in(random, 3), 20 * broken_in);
    if (rounding->add == EMU_ADD_TE_FMA && !one_in(random, broken_in))
        rounding->add = EMU_ADD_CARRY;
    if (rounding->random_bits > 16 && !one_in(random, broken_in))
        rounding->random_bits = 16;
    return rounding;
}

static void break_number(stream *random, void *facts, size_t first, size_t last)
{
    size_t place = first + 4 * (size_t)below(random, (last - first) / 4 + 1);
    int32_t number = wild_number(random);
    memcpy((char *)facts + place, &number, sizeof number);
}

static void choose_float(stream *random, made_levels *made, emu_hold *hold, int is_out, uint64_t broken_in)
{
    size_t place = made->format_count;
    hold->kind = EMU_HOLD_FLOAT;
    hold->format = format_of(random, made, is_out ? registers[below(random, 5)] : ONE_OF(registers), broken_in);
    hold->rounding = one_in(random, 60) ? NULL : rounding_of(random, made, 1, broken_in);
    hold->keep = one_in(random, 3) ? 1 : hold->format->frac_bits;
    hold->beyond = hold->format->inf == EMU_INF_NONE && !one_in(random, broken_in) ? EMU_BEYOND_MAX : (int32_t)below(random, 3);
    hold->flushes = one_in(random, 4);
    if (one_in(random, 6)) {
        any_policy(random, &made->policies[place], hold->format, 6 * broken_in);
        hold->policy = &made->policies[place];
    }
}

/* most: EMU_HOLD_FLOAT where it is exact or in a float format. */
static void choose_hold(stream *random, made_levels *made, emu_hold *hold, int32_t most, uint64_t broken_in)
{
    static const int32_t fixed[] = {EMU_BEYOND_INF, EMU_BEYOND_MAX, EMU_BEYOND_WRAP, EMU_BEYOND_ERROR, EMU_BEYOND_SYMMETRIC};
    uint64_t choice = below(random, 8);
    memset(hold, 0, sizeof *hold);
    if (choice >= 4 && choice < 6) {
        choose_float(random, made, hold, 0, broken_in);
    } else if (choice == 6 && most > EMU_HOLD_FLOAT) {
        hold->kind = EMU_HOLD_FIXED;
        hold->bits = one_in(random, 3) ? 200 : 2 + (int32_t)below(random, 40);
        hold->beyond = ONE_OF(fixed);
        hold->unit_rule = one_in(random, 2) ? EMU_DERIVED : EMU_STATED;
        hold->unit_exp = (int32_t)below(random, 20) - 15;
        hold->rounding = hold->unit_rule == EMU_DERIVED && !one_in(random, 4) ? NULL : rounding_of(random, made, 1, broken_in);
    } else if (choice == 7 && most > EMU_HOLD_FLOAT) {
        hold->kind = EMU_HOLD_CUT;
        hold->is_fraction = one_in(random, 2);
        hold->bits = 1 + (int32_t)below(random, 30);
        hold->rounding = one_in(random, 30 * broken_in) ? NULL : rounding_of(random, made, 1, broken_in);
    }
    if (one_in(random, 12 * broken_in))
        break_number(random, hold, offsetof(emu_hold, keep), offsetof(emu_hold, unit_exp));
    if (one_in(random, 20 * broken_in))
        hold->kind = wild_number(random);
}

static void choose_scaling(stream *random, made_levels *made, emu_scaling *scaling, uint64_t broken_in)
{
    scaling->applies = one_in(random, 20 * broken_in) ? wild_number(random) : 1;
    choose_hold(random, made, &scaling->each, one_in(random, 4 * broken_in) ? EMU_HOLD_CUT : EMU_HOLD_FLOAT, broken_in);
    choose_hold(random, made, &scaling->product, one_in(random, 4 * broken_in) ? EMU_HOLD_CUT : EMU_HOLD_FLOAT, broken_in);
    choose_hold(random, made, &scaling->term, EMU_HOLD_CUT, broken_in);
    if (scaling->term.kind == EMU_HOLD_FIXED && !one_in(random, broken_in))
        scaling->term.kind = EMU_HOLD_EXACT;
}

static void choose_align(stream *random, made_levels *made, emu_sum_level *level, uint64_t broken_in)
{
    emu_alignment *words = &level->align;
    int32_t is_float = level->hold.kind == EMU_HOLD_FLOAT;
    words->cut = rounding_of(random, made, one_in(random, broken_in), broken_in);
    words->frac_rule = one_in(random, 4);
    words->frac_bits = (int32_t)below(random, one_in(random, 6) ? 300 : 40);
    words->integer_rule = one_in(random, 3) ? EMU_STATED : one_in(random, 2) ? EMU_DERIVED : EMU_UNLIMITED;
    words->wraps = words->integer_rule != EMU_UNLIMITED && one_in(random, 2);
    words->integer_bits = words->wraps ? (int32_t)below(random, 20) : 40;
    words->floor_rule = (int32_t)below(random, 3);
    if (words->floor_rule == EMU_DERIVED && (!is_float || words->integer_rule == EMU_UNLIMITED))
        words->floor_rule = EMU_STATED;
    words->floor_exp = (int32_t)below(random, 300) - 200;
    words->is_normalised = one_in(random, 3);
    words->exponent_raise = one_in(random, 3) ? (int32_t)below(random, 12) - 6 : 0;
    words->drop_below = one_in(random, 2) ? (int32_t)below(random, 30) : -1;
    words->running_bits = (int32_t)below(random, one_in(random, 20) ? 2000 : 40);
    if ((level->add == EMU_SUM_CHAIN || level->plus_c) && one_in(random, 2))
        words->running = rounding_of(random, made, one_in(random, broken_in), broken_in);
    if (one_in(random, 6 * broken_in))
        break_number(random, words, offsetof(emu_alignment, frac_rule), offsetof(emu_alignment, wraps));
}

static void choose_level(stream *random, made_levels *made, emu_sum_level *level, int is_last, uint64_t broken_in)
{
    level->of_rule = is_last ? EMU_OF_ALL : made->facts.scale && one_in(random, 4) ? EMU_OF_BLOCK : EMU_OF_COUNT;
    level->of = one_in(random, 8) ? 3 : 1 << below(random, 3);
    level->every = !is_last && one_in(random, 3) ? 2 : 1;
    level->add = (int32_t)below(random, 4);
    level->by = 1 + (int32_t)below(random, 3);
    level->start = (int32_t)below(random, 2);
    level->names_largest = level->add != EMU_SUM_CHAIN && one_in(random, 3);
    level->cancelled_counts = !one_in(random, 3);
    choose_hold(random, made, &level->hold, EMU_HOLD_CUT, broken_in);
    level->aligns = level->add == EMU_SUM_ALIGNED || (level->add > EMU_SUM_ALIGNED && level->hold.kind == EMU_HOLD_FLOAT && one_in(random, 2));
    if (is_last && made->facts.c && !made->facts.out_plus_c) {
        if (level->add == EMU_SUM_PAIRWISE)
            level->add = EMU_SUM_AT_ONCE, level->aligns = 0;
        if (level->add == EMU_SUM_CHAIN)
            level->start = EMU_START_C;
        else
            level->plus_c = 1;
    }
    if (level->aligns)
        choose_align(random, made, level, broken_in);
    if (one_in(random, 8 * broken_in))
        break_number(random, level, offsetof(emu_sum_level, of_rule), offsetof(emu_sum_level, cancelled_counts));
}

static void any_levels(stream *random, made_levels *made, uint64_t broken_in)
{
    emu_levels *facts = &made->facts;
    memset(made, 0, sizeof *made);
    facts->a = format_of(random, made, ONE_OF(elements), broken_in);
    facts->b = one_in(random, 3) ? facts->a : format_of(random, made, ONE_OF(elements), broken_in);
    facts->level_count = 1 + (int32_t)below(random, MOST_LEVELS);
    facts->levels = made->levels;
    facts->k = 8 << below(random, 3);
    if (one_in(random, 3)) {
        facts->scale = format_of(random, made, ONE_OF(scales), broken_in);
        facts->widest_scale = one_in(random, 2) ? facts->scale : NULL;
        facts->block = 4 << below(random, 2);
    }
    if (!one_in(random, 4))
        facts->c = format_of(random, made, ONE_OF(registers), broken_in);
    facts->out_plus_c = facts->c && one_in(random, 4);
    facts->ignores_unused_bits = one_in(random, 2);
    facts->flushes_elements = one_in(random, 4);
    facts->flushes_scales = one_in(random, 4);
    facts->flushes_c = one_in(random, 3);
    facts->per_add = one_in(random, 2);
    facts->nan_scale_live = one_in(random, 2);
    facts->ieee_zero = one_in(random, 2);
    choose_hold(random, made, &facts->product, EMU_HOLD_CUT, 2 * broken_in);
    for (int32_t i = 0; i < facts->level_count; i++)
        choose_level(random, made, &made->levels[i], i == facts->level_count - 1, broken_in);
    choose_float(random, made, &facts->out, 1, broken_in);
    facts->nan_code = emu_check_format(facts->out.format) ? 0 : ((UINT64_MAX >> (64 - width_of(facts->out.format))) >> 1) | 1;
    if (facts->scale && (facts->level_count == 1 || made->levels[0].of_rule == EMU_OF_COUNT))
        choose_scaling(random, made, facts->level_count > 1 && one_in(random, 2) ? &made->levels[0].scaling : &facts->product_scaling, broken_in);
    else if (facts->scale)
        choose_scaling(random, made, &made->levels[facts->level_count > 2 && one_in(random, 2)].scaling, broken_in);
    if (one_in(random, 10 * broken_in))
        break_number(random, facts, offsetof(emu_levels, block), offsetof(emu_levels, ieee_zero));
    if (one_in(random, 40 * broken_in))
        facts->level_count = wild_number(random) & 1 ? 0 : 17; /* never beyond the array where it is read */
    if (one_in(random, 20 * broken_in))
        facts->nan_code = next_word(random) >> 40;
    if (one_in(random, 30 * broken_in))
        facts->out.kind = (int32_t)below(random, 5);
    if (one_in(random, 30 * broken_in)) {
        const emu_format **formats[] = {&facts->a, &facts->b, &facts->out.format};
        *formats[below(random, 3)] = NULL;
    }
    if (one_in(random, 60 * broken_in))
        facts->levels = NULL;
}

void fuzz_check_dot_levels(stream *random, tally *all)
{
    made_levels made;
    any_levels(random, &made, 3);
    add_error(all, emu_check_dot_levels(or_null(random, &made.facts, 100)));
}

void fuzz_count_dot_levels(stream *random, tally *all)
{
    made_levels made;
    size_t counts[2] = {7, 7};
    any_levels(random, &made, 12);
    int null = null_of(random, 3);
    size_t products = one_in(random, 80) ? (size_t)next_word(random) & ~(size_t)63 : one_in(random, 10) ? (size_t)below(random, 20) : (size_t)(made.facts.k & 63) * ((size_t)below(random, 3) + 1);
    int32_t error = emu_count_dot_levels(null == 0 ? NULL : &made.facts, products, null == 1 ? NULL : counts, null == 2 ? NULL : counts + 1);
    add_error(all, error);
    add_to(all, counts[0] * 1000 + counts[1]);
}

static emu_matrix codes_of(stream *random, const emu_format *format, size_t rows, size_t columns)
{
    int32_t bytes = width_of(format) > 16 ? 4 : width_of(format) > 8 ? 2 : 1;
    emu_matrix made = {block(rows * columns * (size_t)bytes + 1), bytes, rows, columns, NULL};
    uint64_t zero_in = one_in(random, 3) ? 2 : 9, wild_in = one_in(random, 3) ? 8 : 3000;
    for (size_t i = 0; i < rows * columns; i++) {
        uint64_t code = (one_in(random, 3000) ? next_word(random) : some_code(random, format)) & UINT64_MAX >> (64 - width_of(format));
        emu_value value;
        for (int tries = 0; tries < 4 && !one_in(random, wild_in) && !emu_decode_code(format, code, &value) && value.value_class >= EMU_INFINITE;
             tries++)
            code = next_word(random) & UINT64_MAX >> (64 - width_of(format));
        code = one_in(random, 6000) ? next_word(random) : one_in(random, zero_in) ? 0 : code;
        memcpy((uint8_t *)made.codes + i * (size_t)bytes, &code, (size_t)bytes);
    }
    made.rows -= one_in(random, 300) ? 1 : 0;
    made.columns -= columns && one_in(random, 300) ? 1 : 0;
    return made;
}

/* A register of one significant bit that is rounded up doubles with each addition, until nothing holds it. */
static void outgrow(tally *all)
{
    enum { PRODUCTS = 2048 };
    static const emu_rounding up = {{{1, 1, 1}, {1, 1, 1}}, EMU_ADD_NONE, 0, {1, 1}};
    made_levels made;
    emu_number room[1];
    uint8_t codes[PRODUCTS];
    uint32_t d = 0;
    size_t row = 0;
    emu_matrix a = {codes, 1, 1, PRODUCTS, NULL}, result = {&d, 4, 1, 1, NULL};
    memset(&made, 0, sizeof made);
    memset(codes, 1, sizeof codes);
    made.facts.a = made.facts.b = emu_find_format("e2m1");
    made.facts.k = made.facts.level_count = 1;
    made.facts.levels = made.levels;
    made.levels[0].of_rule = EMU_OF_ALL;
    made.levels[0].add = EMU_SUM_CHAIN;
    made.levels[0].every = made.levels[0].by = 1;
    made.levels[0].hold.kind = EMU_HOLD_CUT;
    made.levels[0].hold.bits = 1;
    made.levels[0].hold.rounding = &up;
    made.facts.out.kind = EMU_HOLD_FLOAT;
    made.facts.out.format = emu_find_format("fp32");
    made.facts.nan_code = 0x7FC00000;
    add_error(all, emu_dot_levels(&made.facts, &a, &a, NULL, NULL, NULL, NULL, &result, NULL, room, 1, &row));
}

/* A place that is in the row, but for some calls. */
void fuzz_find_stage(stream *random, tally *all)
{
    made_levels made;
    size_t place = 77;
    any_levels(random, &made, 40);
    size_t products = (size_t)(made.facts.k & 63) * (1 + (size_t)below(random, 2));
    if (one_in(random, 30)) {
        products = (size_t)next_word(random);
        products >>= below(random, 64);
    }
    int32_t level = one_in(random, 30) ? wild_number(random) : (int32_t)below(random, (uint64_t)(made.facts.level_count & 15) + 2);
    size_t node = one_in(random, 3) ? (size_t)below(random, 9) : 0;
    int64_t addition = one_in(random, 3) ? (int64_t)below(random, 5) - 2 : -1;
    int null = null_of(random, 2);
    int32_t error = emu_find_stage(null == 0 ? NULL : &made.facts, products, level, node, addition, null == 1 ? NULL : &place);
    add_error(all, error);
    add_to(all, place);
    all->is_broken |= error && place != 77;
}

/* The stages that were made. */
static void add_stages(tally *all, const emu_number *stages, const uint8_t *known, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        add_to(all, known[i]);
        if (known[i])
            add_to(all, stages[i].magnitude.limbs[0] + (uint64_t)(uint32_t)stages[i].lsb_exp);
    }
}

static void run_levels(stream *random, tally *all, int traces)
{
    made_levels made;
    const emu_levels *facts = &made.facts;
    size_t rows = traces && !one_in(random, 40) ? 1 : (size_t)below(random, 2) + 1, count = 0, draws = 0, numbers = 0, row = 0;
    emu_matrix a, b, scale[2] = {{0}}, c = {0}, words = {0}, d = {0};
    uint32_t *order;
    emu_number *room;
    any_levels(random, &made, 40);
    size_t products = (size_t)(facts->k & 63) * (size_t)(facts->block > facts->k ? 2 : 1 + below(random, 2));
    if (emu_count_dot_levels(facts, products, &draws, &numbers)) {
        add_error(all, emu_check_dot_levels(facts));
        return;
    }
    a = codes_of(random, facts->a, rows, products);
    b = codes_of(random, facts->b, rows, products);
    for (int i = 0; facts->scale && i < 2; i++)
        scale[i] = codes_of(random, facts->scale, rows, products / (size_t)facts->block);
    if (facts->c)
        c = codes_of(random, facts->c, rows, 1);
    d = codes_of(random, facts->out.format, rows, 1);
    words.codes = block(rows * draws * 4 + 1);
    words.bytes = 4;
    words.rows = rows;
    words.columns = draws;
    for (size_t i = 0; i < rows * draws; i++) {
        uint32_t word = one_in(random, 3000) ? UINT32_MAX : (uint32_t)below(random, 2); /* a rounding draws one bit at least */
        memcpy((uint8_t *)words.codes + 4 * i, &word, 4);
    }
    order = block((draws + 1) * sizeof *order);
    room = block((numbers + 1) * sizeof *room);
    int null = null_of(random, 8);
    if (one_in(random, 150)) {
        emu_matrix *matrices[] = {&a, &b, &d};
        matrices[below(random, 3)]->bytes = 3;
    }
    const emu_matrix *scale_a = facts->scale || one_in(random, 100) ? &scale[0] : NULL;
    size_t given = one_in(random, 100) ? 0 : numbers; /* each draw is a statement: arguments have no order */
    int lacks = traces ? null_of(random, 3) : -1;
    if (traces)
        emu_find_stage(facts, products, facts->level_count + 1, 0, -1, &count);
    emu_number *stages = block((count + 1) * sizeof *stages);
    uint8_t *known = block(count + 1);
    const emu_matrix *operands[7] = {null == 0 ? NULL : &a, null == 1 ? NULL : &b, scale_a, facts->scale ? &scale[1] : NULL,
                                     (facts->c != NULL) != (null == 2) ? &c : NULL, (draws > 0) != (null == 3) ? &words : NULL,
                                     null == 4 ? NULL : &d};
    uint32_t *places = null == 5 ? NULL : order;
    emu_number *space = null == 6 ? NULL : room;
    emu_matrix flags = {0};
    flags.codes = block(rows);
    flags.bytes = 1;
    flags.rows = rows;
    flags.columns = 1;
    int32_t error = traces == 1 ? emu_trace_levels(facts, operands[0], operands[1], operands[2], operands[3], operands[4], operands[5], operands[6],
                                                   places, space, given, lacks == 0 ? NULL : stages, lacks == 1 ? NULL : known, lacks == 2 ? 0 : count)
                    : traces ? emu_dot_levels_flags(facts, operands[0], operands[1], operands[2], operands[3], operands[4], operands[5], operands[6],
                                                    lacks == 0 ? NULL : &flags, places, space, given, null == 7 ? NULL : &row)
                           : emu_dot_levels(facts, operands[0], operands[1], operands[2], operands[3], operands[4], operands[5], operands[6], places,
                                            space, given, null == 7 ? NULL : &row);
    add_error(all, error);
    if (!error && traces == 1)
        add_stages(all, stages, known, count);
    for (size_t i = 0; !error && traces == 2 && lacks != 0 && i < rows; i++)
        add_to(all, ((const uint8_t *)flags.codes)[i]);
    free(flags.codes);
    free(stages);
    free(known);
    for (size_t i = 0; !error && i < rows; i++) {
        uint64_t code = 0;
        memcpy(&code, (uint8_t *)d.codes + i * (size_t)d.bytes, (size_t)d.bytes);
        add_to(all, code + row);
    }
    free(a.codes);
    free(b.codes);
    free(scale[0].codes);
    free(scale[1].codes);
    free(c.codes);
    free(d.codes);
    free(words.codes);
    free(order);
    free(room);
}

void fuzz_dot_levels(stream *random, tally *all)
{
    if (one_in(random, 500))
        outgrow(all);
    else
        run_levels(random, all, 0);
}

void fuzz_dot_levels_flags(stream *random, tally *all)
{
    run_levels(random, all, 2);
}

void fuzz_trace_levels(stream *random, tally *all)
{
    run_levels(random, all, 1);
}
