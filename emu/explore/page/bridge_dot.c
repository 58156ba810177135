/* bridge_dot.c: dot products for the page, fused or in levels, with what each stage leaves. Operands are 64 bits a code, one row; a machine
 * lies in memory that who asks gives back (ex_mark, ex_release). */
#include "bridge.h"

EXPORT(ex_fused) const emu_datapath *ex_fused(const emu_library *library, const char *name)
{
    emu_datapath *machine = ex_room(sizeof *machine);
    return !machine || emu_find_datapath_in(library, name, machine) ? NULL : machine;
}

EXPORT(ex_levels) const emu_levels *ex_levels(const emu_library *library, const char *name)
{
    emu_levels *machine = ex_room(sizeof *machine);
    return !machine || emu_find_levels_in(library, name, machine) ? NULL : machine;
}

static int64_t address(const void *place) { return (int64_t)(uintptr_t)place; }

/* Formats of A, B, scales, C and D (0: none), products of an instruction, elements that share a scale, level_count; then of a fused one. */
EXPORT(ex_fused_facts) int32_t ex_fused_facts(const emu_datapath *machine, int64_t *out)
{
    emu_widths widths;
    int32_t error = emu_derive_widths(machine, &widths);
    const void *formats[] = {machine->a, machine->b, machine->scale, machine->result, machine->result};
    for (int32_t i = 0; i < 5; i++)
        out[i] = address(formats[i]);
    out[5] = machine->k;
    out[6] = machine->block;
    out[7] = 0;
    out[8] = machine->step;
    out[9] = machine->group;
    out[10] = machine->c_kind;
    out[11] = machine->apply;
    out[12] = widths.frac_bits;
    out[13] = widths.integer_bits;
    out[14] = widths.has_floor;
    out[15] = widths.floor_exp;
    out[16] = machine->accumulator_bits;
    out[17] = widths.step_sum_lsb_exp;
    return error;
}

EXPORT(ex_levels_facts) void ex_levels_facts(const emu_levels *machine, int64_t *out)
{
    const void *formats[] = {machine->a, machine->b, machine->scale, machine->c, machine->out.format};
    for (int32_t i = 0; i < 5; i++)
        out[i] = address(formats[i]);
    out[5] = machine->k;
    out[6] = machine->block;
    out[7] = machine->level_count;
    out[8] = machine->product_scaling.applies;
    out[9] = machine->out_plus_c;
    out[10] = machine->invalid_levels || machine->overflow_levels;
}

/* One row of codes; NULL where there is none. */
static const emu_matrix *row_of(emu_matrix *matrix, void *codes, int32_t bytes, size_t count)
{
    *matrix = (emu_matrix){codes, bytes, 1, count, NULL};
    return codes ? matrix : NULL;
}

/* out: the code of D, whether nobody knows it, and (traced) where the stages of each fused step lie. */
EXPORT(ex_dot)
int32_t ex_dot(const emu_datapath *machine, uint64_t *a, uint64_t *b, uint64_t *scale_a, uint64_t *scale_b, uint64_t *c, size_t k,
               int32_t traced, uint64_t *out)
{
    emu_matrix rows[6];
    uint8_t open = 0;
    size_t step = (size_t)machine->step, blocks = machine->block ? k / (size_t)machine->block : 0, steps = k / step;
    emu_stages *stages = traced ? ex_room(sizeof *stages * (steps + 1)) : NULL;
    int32_t error;
    for (size_t i = 0; stages && i < steps; i++) {
        stages[i].terms = ex_room(sizeof(emu_term) * step);
        stages[i].aligned = ex_room(sizeof(emu_wide) * step);
        if (!stages[i].terms || !stages[i].aligned)
            return EMU_ERROR_SPACE;
    }
    out[0] = 0;
    row_of(&rows[5], out, 8, 1);
    rows[5].open = &open;
    error = emu_dot(machine, row_of(&rows[0], a, 8, k), row_of(&rows[1], b, 8, k), row_of(&rows[2], scale_a, 8, blocks),
                    row_of(&rows[3], scale_b, 8, blocks), row_of(&rows[4], c, 8, 1), &rows[5], stages);
    out[1] = open;
    out[2] = (uint64_t)(uintptr_t)stages;
    return error;
}

/* What a register that holds `total` gives where it is read out with C; EMU_ERROR_OVERFLOW: it does not hold that. */
EXPORT(ex_read_out) int32_t ex_read_out(const emu_datapath *machine, const emu_wide *total, uint64_t c, uint64_t *out)
{
    return emu_finish_register(machine, total, c, out);
}

/* terms, special, E, lsb_exp, codes (part, scale, term, result), 8 parts, then where aligned_c and total lie. */
EXPORT(ex_stage) void ex_stage(const emu_stages *stages, size_t number, int64_t *out)
{
    const emu_stages *here = &stages[number];
    out[0] = here->term_count;
    out[1] = here->special;
    out[2] = here->exp;
    out[3] = here->lsb_exp;
    out[4] = (int64_t)here->part_code;
    out[5] = (int64_t)here->scale_code;
    out[6] = (int64_t)here->term_code;
    out[7] = (int64_t)here->code;
    for (int32_t i = 0; i < 8; i++)
        out[8 + i] = here->parts[i];
    out[16] = address(&here->aligned_c);
    out[17] = address(&here->total);
}

/* significand, group_sum, exponent, lsb_exp, live, where the aligned one lies. */
EXPORT(ex_term) void ex_term(const emu_stages *stages, size_t number, size_t term, int64_t *out)
{
    const emu_term *here = &stages[number].terms[term];
    out[0] = here->significand;
    out[1] = here->group_sum;
    out[2] = here->exp;
    out[3] = here->lsb_exp;
    out[4] = here->is_live;
    out[5] = address(&stages[number].aligned[term]);
}

/* Two results joined, as parts of K are. */
EXPORT(ex_join) int32_t ex_join(const emu_datapath *machine, uint64_t x, uint64_t y, uint64_t *out)
{
    emu_matrix rows[3];
    return emu_add_results(machine, row_of(&rows[0], &x, 8, 1), row_of(&rows[1], &y, 8, 1), row_of(&rows[2], out, 8, 1));
}

EXPORT(ex_draws) int32_t ex_draws(const emu_levels *machine, size_t k, uint64_t *out)
{
    size_t draws = 0, numbers = 0;
    int32_t error = emu_count_dot_levels(machine, k, &draws, &numbers);
    out[0] = draws;
    return error;
}

/* out: the code of D, flags raised, and (traced) where the stages lie, and whether each was made. */
EXPORT(ex_dot_levels)
int32_t ex_dot_levels(const emu_levels *machine, uint64_t *a, uint64_t *b, uint64_t *scale_a, uint64_t *scale_b, uint64_t *c,
                      uint32_t *random, size_t k, int32_t traced, uint64_t *out)
{
    emu_matrix rows[8];
    size_t draws = 0, numbers = 0, count = 0, number, blocks = machine->block ? k / (size_t)machine->block : 0;
    int32_t error = emu_count_dot_levels(machine, k, &draws, &numbers);
    if (!error)
        error = emu_find_stage(machine, k, machine->level_count + 1, 0, -1, &count);
    if (error)
        return error;
    uint32_t *order = ex_room(sizeof *order * (draws + 1));
    emu_number *workspace = ex_room(sizeof *workspace * (numbers + 1)), *stages = traced ? ex_room(sizeof *stages * (count + 1)) : NULL;
    uint8_t *known = traced ? ex_room(count + 1) : NULL;
    if (!order || !workspace || (traced && (!stages || !known)))
        return EMU_ERROR_SPACE;
    const emu_matrix *given[] = {row_of(&rows[0], a, 8, k), row_of(&rows[1], b, 8, k), row_of(&rows[2], scale_a, 8, blocks),
                                 row_of(&rows[3], scale_b, 8, blocks), row_of(&rows[4], c, 8, 1), row_of(&rows[5], draws ? random : NULL, 4, draws)};
    row_of(&rows[6], &out[0], 8, 1);
    row_of(&rows[7], &out[1], 8, 1);
    out[0] = out[1] = 0;
    out[2] = (uint64_t)(uintptr_t)stages;
    out[3] = (uint64_t)(uintptr_t)known;
    if (traced)
        error = emu_trace_levels(machine, given[0], given[1], given[2], given[3], given[4], given[5], &rows[6], order, workspace, numbers,
                                 stages, known, count);
    return error ? error
                 : emu_dot_levels_flags(machine, given[0], given[1], given[2], given[3], given[4], given[5], &rows[6], &rows[7], order,
                                        workspace, numbers, &number);
}

/* A level of a row of k products: values of a lot, lots, additions of a chain (0: no chain), how many one takes, how the chain starts,
 * whether C is a term, whether operands are aligned, whether scales apply; returns its name. */
EXPORT(ex_level) const char *ex_level(const emu_levels *machine, size_t k, int32_t level, int64_t *out)
{
    const emu_sum_level *here = &machine->levels[level - 1];
    emu_shape shape;
    if (emu_make_shape(machine, k, &shape))
        return NULL;
    out[0] = (int64_t)shape.of[level];
    out[1] = (int64_t)shape.nodes[level];
    out[2] = here->add == EMU_SUM_CHAIN ? (out[0] + here->by - 1) / here->by : 0;
    out[3] = here->by;
    out[4] = here->start;
    out[5] = here->plus_c;
    out[6] = here->aligns;
    out[7] = here->scaling.applies;
    return here->name;
}

/* Child number i of a node: a node of the level below, or a product. */
EXPORT(ex_child) size_t ex_child(const emu_levels *machine, size_t k, int32_t level, size_t node, size_t i)
{
    emu_shape shape;
    return emu_make_shape(machine, k, &shape) ? 0 : emu_child(machine, &shape, level, node, i);
}

EXPORT(ex_find_stage)
int32_t ex_find_stage(const emu_levels *machine, size_t k, int32_t level, size_t node, int32_t addition, uint64_t *out)
{
    size_t place = 0;
    int32_t error = emu_find_stage(machine, k, level, node, addition, &place);
    out[0] = place;
    return error;
}

/* A number of a stage: special, sign, a zero's sign, live, exponent, lsb_exp, where the magnitude lies. */
EXPORT(ex_number) void ex_number(const emu_number *stages, size_t place, int64_t *out)
{
    const emu_number *here = &stages[place];
    out[0] = here->special;
    out[1] = here->sign;
    out[2] = here->negative;
    out[3] = here->live;
    out[4] = here->exp;
    out[5] = here->lsb_exp;
    out[6] = address(&here->magnitude);
}
