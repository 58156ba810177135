/* make_dot.c: the columns of dot and accumulate: one instruction a row, with the stages of every fused step. */
#include "../src/tables/tables.h"
#include "tool.h"

enum { MOST_APART = 8, EXP_BITS = 12 };

static int32_t add_stage(operation *op, int32_t step, const char *what, int32_t lanes, int32_t bits)
{
    char name[40];
    snprintf(name, sizeof name, "u%d_%s", (int)step, what);
    return add_column(op, name, ROLE_STAGE, lanes, bits, NULL, 0);
}

/* One column for each of `count` terms, or one of so many lanes where they are many. */
static void add_terms(operation *op, int32_t step, const char *what, int32_t count, int32_t bits)
{
    char name[16];
    if (count > MOST_APART) {
        add_stage(op, step, what, count, bits);
        return;
    }
    for (int32_t i = 0; i < count; i++) {
        snprintf(name, sizeof name, "%s%d", what, (int)i);
        add_stage(op, step, name, 1, bits);
    }
}

static void add_promote_stages(operation *op, int32_t step, int32_t result_bits)
{
    const char *const names[4] = {"tm0", "p0", "ss", "rs"};
    for (int32_t i = 0; i < 4; i++)
        add_stage(op, step, names[i], 1, result_bits);
}

static void add_realigned_stages(operation *op, int32_t step, int32_t result_bits)
{
    add_stage(op, step, "xa0", 1, op->widths.sum_bits);
    add_stage(op, step, "xc", 1, op->widths.sum_bits);
    add_stage(op, step, "e", 1, EXP_BITS);
    add_stage(op, step, "s", 1, op->widths.sum_bits);
    add_terms(op, step, "p", op->datapath.split, op->widths.part_bits);
    add_stage(op, step, "rs", 1, result_bits);
}

static void add_step_stages(operation *op, int32_t step)
{
    const emu_datapath *facts = &op->datapath;
    int32_t result_bits = stored_bits(facts->result), terms = facts->step / facts->group, has_c = facts->c_kind == EMU_C_ALIGNED;
    if (facts->apply == EMU_APPLY_PROMOTE) {
        add_promote_stages(op, step, result_bits);
        return;
    }
    if (facts->c_kind == EMU_C_REALIGNED) {
        add_realigned_stages(op, step, result_bits);
        return;
    }
    if (facts->apply == EMU_APPLY_GROUP)
        add_terms(op, step, "sg", terms, op->widths.group_sum_bits + 1);
    add_terms(op, step, "tm", terms, op->widths.term_bits + 1);
    add_stage(op, step, "lv", 1, terms + has_c);
    add_terms(op, step, "xa", terms, op->widths.sum_bits);
    if (has_c)
        add_stage(op, step, "xc", 1, op->widths.sum_bits);
    if (facts->frac_rule != EMU_UNLIMITED)
        add_stage(op, step, "e", 1, EXP_BITS);
    add_stage(op, step, "s", 1, op->widths.sum_bits);
    if (facts->c_kind == EMU_C_ADDED)
        add_stage(op, step, "p0", 1, result_bits);
    if (facts->c_kind != EMU_C_LAST)
        add_stage(op, step, "rs", 1, result_bits);
}

static void add_inputs(operation *op)
{
    const emu_datapath *facts = &op->datapath;
    if (op->op == OP_ACCUMULATE) {
        add_column(op, "first", ROLE_IN, 1, 4, NULL, 0);
        add_column(op, "last", ROLE_IN, 1, 4, NULL, 0);
    }
    add_column(op, "a", ROLE_IN, facts->k, stored_bits(facts->a), facts->a, 0);
    if (facts->scale)
        add_column(op, "sa", ROLE_IN, facts->k / facts->block, stored_bits(facts->scale), facts->scale, 0);
    add_column(op, "b", ROLE_IN, facts->k, stored_bits(facts->b), facts->b, 0);
    if (facts->scale)
        add_column(op, "sb", ROLE_IN, facts->k / facts->block, stored_bits(facts->scale), facts->scale, 0);
    add_column(op, "c", ROLE_IN, 1, stored_bits(facts->result), facts->result, 0);
    if (op->op == OP_ACCUMULATE && facts->c_kind == EMU_C_LAST)
        add_column(op, "acc_in", ROLE_IN, 1, facts->accumulator_bits, NULL, 0);
}

int make_dot(int32_t op_code, const char *name, operation *op)
{
    const emu_datapath *facts = &op->datapath;
    op->op = op_code;
    if (emu_find_levels_row(op->library, name))
        return make_levels(name, op);
    if (emu_find_datapath_in(op->library, name, &op->datapath))
        return unknown("datapath with these operands", name);
    op->source = facts->a;
    op->result = op->addend = facts->result;
    if (emu_derive_widths(facts, &op->widths) || facts->k > MAX_LANES || facts->k / facts->step > MAX_STEPS || facts->block > facts->k)
        return complain(name, "too long for a row");
    add_inputs(op);
    add_column(op, "d", ROLE_OUT, 1, stored_bits(facts->result), facts->result, facts->any_nan);
    if (op_code == OP_ACCUMULATE && facts->c_kind == EMU_C_LAST) /* the register in the place of the stages */
        return add_column(op, "acc", ROLE_STAGE, 1, facts->accumulator_bits, NULL, 0) < 0;
    for (int32_t step = 0; step < facts->k / facts->step; step++)
        add_step_stages(op, step);
    return 0;
}

/* 1 when the name is one of a datapath with these formats. */
static int is_choice(const emu_library *library, const char *name, const char *a, const char *b, const char *scale)
{
    const emu_format *first = emu_find_format_in(library, a), *second = emu_find_format_in(library, b);
    const emu_format *both = scale ? emu_find_format_in(library, scale) : NULL;
    emu_datapath found;
    emu_levels levels;
    if (emu_find_levels_in(library, name, &levels) == EMU_OK)
        return levels.a == first && levels.b == second && levels.scale == both;
    return emu_find_datapath_in(library, name, &found) == EMU_OK && found.a == first && found.b == second && found.scale == both;
}

/* A stem says all that was chosen, free or not: try the names that leave out what is not free. block: digits, or NULL. */
static int find_name(const emu_library *library, const char *id, const char *pair, const char *scale, const char *block, char *name)
{
    char first[MAX_NAME], *second;
    memcpy(first, pair, strlen(pair) + 1);
    second = strchr(first, 'x');
    if (!second)
        return 0;
    *second++ = 0;
    for (int32_t parts = 0; parts < 4; parts++) {
        const char *with_pair = parts & 1 ? pair : "", *with_scale = parts & 2 && scale ? scale : "";
        snprintf(name, 2 * MAX_NAME, "%s%s%s%s%s%s%s", id, *with_pair ? "/" : "", with_pair, *with_scale ? "/" : "", with_scale,
                 block ? "/" : "", block ? block : "");
        if (is_choice(library, name, first, second, scale))
            return 1;
    }
    return 0;
}

/* source: <a>x<b> or <a>x<b>_<scale>; part: the id, or the id and _b<block>. */
int make_dot_from_stem(int32_t op_code, const char *source, const char *part, operation *op)
{
    char pair[MAX_NAME], id[MAX_NAME], name[2 * MAX_NAME], *scale, *block = NULL;
    memcpy(pair, source, strlen(source) + 1);
    memcpy(id, part, strlen(part) + 1);
    scale = strchr(pair, '_');
    if (scale)
        *scale++ = 0;
    if (find_name(op->library, id, pair, scale, NULL, name))
        return make_dot(op_code, name, op);
    for (char *at = strstr(id, "_b"); at; at = strstr(at + 2, "_b"))
        block = at;
    if (!block)
        return unknown("datapath with these operands", part);
    *block = 0;
    return find_name(op->library, id, pair, scale, block + 2, name) ? make_dot(op_code, name, op) : unknown("datapath with these operands", part);
}
