/* Random programs for the fuzz driver: typed straight-line steps that are mostly sound, some with one field broken. */
#include <string.h>

#include "fuzz_draft.h"

static int holds(part outer, part inner)
{
    int rows = !outer.rows || (inner.rows && outer.rows % inner.rows == 0);
    return rows && (!outer.columns || (inner.columns && outer.columns % inner.columns == 0));
}

static part part_of(const draft *d, int32_t reg)
{
    const part found = {d->registers[reg].rows, d->registers[reg].columns};
    return found;
}

static part any_part(stream *random, const draft *d)
{
    part found = {1, 1};
    int32_t columns = d->program.tile_columns;
    switch (below(random, 8)) {
    case 0: found.rows = d->program.tile_rows; found.columns = columns; break;
    case 1: found.columns = 0; break;
    case 2: found.rows = found.columns = 0; break;
    case 3: found.columns = columns; break;
    case 4: while (columns % (found.columns = 1 + (int32_t)below(random, (uint64_t)columns))) {} break;
    case 5: found.rows = d->program.tile_rows; break;
    default: break;
    }
    return found;
}

static int32_t add_register(draft *d, part place, const emu_format *format)
{
    int32_t reg = d->program.register_count++;
    d->registers[reg].rows = place.rows;
    d->registers[reg].columns = place.columns;
    d->formats[reg] = format;
    return reg;
}

static int is_power(int32_t number)
{
    return (number & (number - 1)) == 0;
}

/* Whether parts of `inner` can be reduced to one of `outer`. */
static int reduces_to(part inner, part outer, int32_t operation)
{
    if (!holds(outer, inner) || holds(inner, outer))
        return 0;
    return operation != EMU_OP_SUM || is_power(outer.columns / inner.columns) || outer.columns % 3 == 0;
}

/* A register that is set and whose parts hold `place`, of values (is_code 0) or codes; NOTHING where there is none. */
static int32_t pick(stream *random, const draft *d, part place, int is_code, int32_t operation)
{
    int reduces = operation == EMU_OP_AMAX || operation == EMU_OP_SUM;
    int32_t found = NOTHING;
    uint64_t seen = 0;
    for (int32_t reg = 0; reg < d->program.register_count; reg++) {
        int fits = reduces ? reduces_to(part_of(d, reg), place, operation) : holds(part_of(d, reg), place);
        if (operation == EMU_OP_TRANSFORM)
            fits = fits && (one_in(random, 40) || (d->registers[reg].rows == 1 && d->registers[reg].columns == 1));
        if (fits && reg != d->program.random && (d->formats[reg] != &d->arithmetic) == is_code && below(random, ++seen) == 0)
            found = reg;
    }
    return found;
}

static void any_operation(stream *random, draft *d, emu_step *step, part *place)
{
    static const int32_t weighted[] = {0, 1, 2, 2, 3, 4, 5, 6, 7, 8, 9, 9, 10, 10, 12, 13, 13, 13, 13,
                                       14, 14, 14, 15, 15, 15, 16, 16, 16, 17, 18};
    static const int32_t variants[] = {1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 1, 4, 1, 1, 7, 2, 4, 1};
    step->operation = weighted[below(random, sizeof weighted / sizeof *weighted)];
    if (one_in(random, 60))
        step->operation = EMU_OP_POW2;
    step->variant = (int32_t)below(random, (uint64_t)variants[step->operation]);
    *place = any_part(random, d);
    if (step->operation == EMU_OP_TRANSFORM)
        place->rows = place->columns = 1;
    while ((step->operation == EMU_OP_AMAX && !place->rows) || (step->operation == EMU_OP_SUM && (place->rows != 1 || !place->columns)))
        *place = any_part(random, d);
}

/* The format of the result: the arithmetic, a narrower one, or any code format. */
static void set_formats(stream *random, draft *d, emu_step *step, part *place, int32_t k)
{
    int32_t op = step->operation;
    step->rounding = &d->roundings[k];
    any_rounding(random, &d->roundings[k], one_in(random, 100), 300);
    if (op <= EMU_OP_FMA || op == EMU_OP_ROUND || op == EMU_OP_SUM)
        step->format = one_in(random, 3) ? &d->narrow[below(random, 3)] : &d->arithmetic;
    if (op == EMU_OP_ROUND && step->variant == EMU_UNBOUNDED && d->codes[k % 4].format_class == EMU_FLOAT)
        step->format = &d->codes[k % 4];
    if (op == EMU_OP_CAST) {
        step->format = &d->codes[below(random, 4)];
        step->policy = &d->policies[k];
        any_policy(random, &d->policies[k], step->format, 300);
        if (d->program.random >= 0 && (d->random_bits == 0 || one_in(random, 2))) {
            any_rounding(random, &d->roundings[k], 1, 0);
            if (d->random_bits && d->roundings[k].random_bits)
                d->roundings[k].random_bits = d->random_bits;
            step->random = d->roundings[k].random_bits ? d->program.random : NOTHING;
            if (step->random != NOTHING)
                place->rows = place->columns = 1;
            d->random_bits = d->roundings[k].random_bits ? d->roundings[k].random_bits : d->random_bits;
        }
    }
    if (op == EMU_OP_TRANSFORM) {
        step->transform = &d->transforms[k];
        any_transform(random, &d->transforms[k], &d->arithmetic, one_in(random, 2) ? &d->arithmetic : &d->narrow[below(random, 3)], 0);
        if (one_in(random, 30))
            d->transforms[k].result = d->transforms[k].sum_format = &d->wide;
        while (d->program.tile_columns % d->transforms[k].size && d->transforms[k].size > 2)
            d->transforms[k].size /= 2;
    }
    step->emax = one_in(random, 60) ? wild_number(random) : (int32_t)below(random, 12) - 4;
    step->frac_bits = one_in(random, 60) ? wild_number(random) : (int32_t)below(random, 4);
}

static int32_t arguments_of(const emu_step *step)
{
    static const int32_t counts[] = {2, 2, 2, 2, 3, 1, 1, 2, 2, 3, 1, 1, 1, 1, 1, 3, 1, 1, 1};
    return counts[step->operation] + (step->operation == EMU_OP_SELECT && step->variant >= EMU_TEST_LT);
}

/* Append one step; its register, or NOTHING where no register fits. */
static int32_t add_step(stream *random, draft *d, int32_t operation)
{
    static const emu_step empty = {0, 0, {NOTHING, NOTHING, NOTHING, NOTHING}, NOTHING, 0, 0, 0, NULL, NULL, NULL, NULL};
    emu_step step = empty;
    part place;
    const emu_format *result = &d->arithmetic;
    int32_t k = d->program.step_count, arms;
    any_operation(random, d, &step, &place);
    if (operation != NOTHING) {
        step.operation = operation;
        step.variant = 0;
    }
    set_formats(random, d, &step, &place, k);
    arms = step.operation == EMU_OP_SELECT && one_in(random, 3);
    for (int32_t i = 0; i < arguments_of(&step); i++) {
        int is_code = step.operation == EMU_OP_DECODE || (arms && i >= arguments_of(&step) - 2);
        step.args[i] = pick(random, d, place, is_code, step.operation);
        if (step.args[i] == NOTHING)
            return NOTHING;
        if (step.operation == EMU_OP_POW2 && !one_in(random, 8))
            step.args[i] = d->given_count - CONSTANTS;
    }
    if (step.operation == EMU_OP_DECODE)
        step.format = d->formats[step.args[0]];
    if (step.operation == EMU_OP_CAST)
        result = step.format;
    if (step.operation == EMU_OP_E8M0_RULE && d->arithmetic.frac_bits != 23)
        return NOTHING;
    if (step.operation == EMU_OP_E8M0_RULE)
        result = &d->codes[3];
    if (arms)
        result = d->formats[step.args[arguments_of(&step) - 1]];
    step.out = add_register(d, place, result);
    d->steps[d->program.step_count++] = step;
    return step.out;
}

static void start(stream *random, draft *d)
{
    static const emu_format e8m0 = {EMU_EXPONENT, 8, 0, 0, 0, 127, 0, 0, 0, 0, EMU_NAN_LIST, 1, {0xFF}, 0, 0, 0, -1, NULL};
    static const emu_format without = {EMU_FLOAT, 0, 1, 4, 2, 7, 0, 0, 0, 0, EMU_NAN_NONE, 0, {0}, 0, 0, 0, -1, NULL};
    static const int32_t widths[] = {1, 2, 4, 4, 6, 8, 8, 16};
    const emu_program empty = {&d->arithmetic, 1, 1, 0, 0, 0, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, 0, 0, 0,
                               d->registers, d->steps, d->levels, NULL};
    memset(d->registers, 0, (size_t)(d->program.register_count < 0 ? 0 : GROWN + 40) * sizeof *d->registers);
    memset(d->steps, 0, (GROWN + 8) * sizeof *d->steps);
    memset(d->levels, 0, sizeof d->levels);
    memset(d->formats, 0, sizeof d->formats);
    d->program = empty;
    d->random_bits = 0;
    arithmetic_format(random, &d->arithmetic, 200);
    for (int k = 0; k < 3; k++) {
        d->narrow[k] = d->arithmetic;
        if (d->arithmetic.frac_bits > 3)
            d->narrow[k].frac_bits = 1 + (int32_t)below(random, (uint64_t)d->arithmetic.frac_bits - 1);
        if (one_in(random, 20))
            arithmetic_format(random, &d->narrow[k], 4);
        small_format(random, &d->codes[k], 60);
    }
    d->codes[3] = e8m0;
    arithmetic_format(random, &d->wide, 0);
    if (one_in(random, 6)) /* a grid without subnormals */
        d->codes[0] = without;
    d->program.tile_rows = one_in(random, 3) ? 1 + (int32_t)below(random, 4) : 1;
    d->program.tile_columns = one_in(random, 200) ? 1024 : widths[below(random, 8)];
    d->program.tail = (int32_t)below(random, 3);
    d->program.finite_only = one_in(random, 8);
    d->program.tensor_amax_min = one_in(random, 8) ? next_word(random) >> 33 : 0;
}

static void add_constants(stream *random, draft *d)
{
    const part tensor = {0, 0};
    for (int k = 0; k < CONSTANTS; k++) {
        int32_t reg = add_register(d, tensor, &d->arithmetic);
        d->registers[reg].is_constant = 1;
        d->registers[reg].bits = some_code(random, &d->arithmetic);
        if (k == 0 && emu_check_format(&d->arithmetic) == EMU_OK) { /* for pow2 */
            uint64_t word = next_word(random);
            const emu_value whole = {EMU_NORMAL, (int32_t)(word % 2), (int32_t)(word / 2 % 4), 1 + word / 8 % 3};
            emu_encode_value(&d->arithmetic, &whole, &d->registers[reg].bits);
        }
    }
    d->given_count = d->program.register_count;
}

/* A level that holds what a register holds, for every part of the register or finer. */
static void add_level(stream *random, draft *d, int32_t reg)
{
    emu_level *level = &d->levels[d->program.level_count++];
    part place = part_of(d, reg);
    for (int k = 0; k < 6 && one_in(random, 2); k++) {
        part other = any_part(random, d);
        if (holds(part_of(d, reg), other))
            place = other;
    }
    level->reg = reg;
    level->rows = place.rows;
    level->columns = place.columns;
    level->format = d->formats[reg];
}

static void break_program(stream *random, draft *d)
{
    emu_program *p = &d->program;
    emu_step *step = &d->steps[below(random, (uint64_t)p->step_count + 1)];
    emu_register *reg = &d->registers[below(random, (uint64_t)p->register_count)];
    emu_level *level = &d->levels[below(random, (uint64_t)p->level_count + 1)];
    int32_t *fields[] = {&p->tile_rows, &p->tile_columns, &p->tail, &p->finite_only, &p->x, &p->tensor_amax, &p->random, &p->codes,
                         &p->values, &p->register_count, &p->step_count, &p->level_count, &step->operation, &step->out,
                         &step->args[below(random, 4)],
                         &step->random, &step->variant, &step->emax, &step->frac_bits, &reg->rows, &reg->columns, &reg->is_constant,
                         &level->reg, &level->rows, &level->columns, &step->args[0], &step->out, &step->operation};
    uint64_t choice = below(random, 40);
    if (choice < sizeof fields / sizeof *fields) {
        uint32_t neighbour = (uint32_t)*fields[choice] + (one_in(random, 2) ? 1 : UINT32_MAX);
        *fields[choice] = one_in(random, 2) ? wild_number(random) : (int32_t)neighbour;
        return;
    }
    switch (choice) {
    case 28: p->arithmetic = NULL; break;
    case 29: p->registers = NULL; break;
    case 30: p->steps = NULL; break;
    case 31: p->levels = NULL; break;
    case 32: step->format = NULL; break;
    case 33: step->rounding = NULL; break;
    case 34: step->policy = NULL; break;
    case 35: step->transform = NULL; break;
    case 36: level->format = NULL; break;
    case 37: reg->bits = next_word(random); break;
    case 38: p->tensor_amax_min = next_word(random); break;
    default: step->format = &d->codes[below(random, 4)]; break;
    }
}

void draft_quantize(stream *random, draft *d, uint64_t broken_in)
{
    const part element = {1, 1}, tensor = {0, 0};
    int32_t count = 1 + (int32_t)below(random, GROWN - 4);
    start(random, d);
    d->program.x = add_register(d, element, &d->arithmetic);
    if (one_in(random, 2))
        d->program.tensor_amax = add_register(d, tensor, &d->arithmetic);
    if (one_in(random, 3))
        d->program.random = add_register(d, element, NULL);
    add_constants(random, d);
    for (int32_t k = 0; k < count; k++)
        add_step(random, d, NOTHING);
    d->program.codes = pick(random, d, element, 1, NOTHING);
    if (d->program.codes == NOTHING)
        d->program.codes = add_step(random, d, EMU_OP_CAST);
    for (uint64_t k = below(random, 4); k > 0; k--)
        add_level(random, d, (int32_t)below(random, (uint64_t)(d->program.register_count - d->given_count + 1)) + d->given_count - 1);
    if (one_in(random, broken_in))
        break_program(random, d);
}

void draft_dequantize(stream *random, draft *d, uint64_t broken_in)
{
    const part element = {1, 1};
    int32_t count = 1 + (int32_t)below(random, GROWN - 4);
    start(random, d);
    d->program.codes = add_register(d, element, &d->codes[below(random, 3)]);
    for (uint64_t k = below(random, 4); k > 0; k--) {
        const emu_format *format = one_in(random, 2) ? &d->arithmetic : &d->codes[below(random, 4)];
        int32_t reg = add_register(d, any_part(random, d), format);
        emu_level *level = &d->levels[d->program.level_count++];
        level->reg = reg;
        level->rows = d->registers[reg].rows;
        level->columns = d->registers[reg].columns;
        level->format = d->formats[reg];
    }
    add_constants(random, d);
    add_step(random, d, EMU_OP_DECODE);
    for (int32_t k = 0; k < count; k++)
        add_step(random, d, NOTHING);
    d->program.values = pick(random, d, element, 0, NOTHING);
    if (one_in(random, broken_in))
        break_program(random, d);
}
