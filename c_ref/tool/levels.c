/* levels.c: the columns of a datapath of levels, one row at a time through the reference: operands and random integers in, the code of D out.
 * What the levels leave on the way (stages): level_stages.c. */
#include "../src/tables/tables.h"
#include "tool.h"

enum { RUN = 4, MOST_NUMBERS = 1024, MOST_STAGES = 4096 };

static void add_operand(operation *op, const char *name, const emu_format *format, const char *scale_name)
{
    const emu_datapath *facts = &op->datapath;
    add_column(op, name, ROLE_IN, facts->k, stored_bits(format), format, 0);
    if (facts->scale)
        add_column(op, scale_name, ROLE_IN, facts->k / facts->block, stored_bits(facts->scale), facts->scale, 0);
}

int make_levels(const char *name, operation *op)
{
    emu_levels *facts = &op->of_levels;
    emu_row_size found;
    if (emu_find_levels_in(op->library, name, facts))
        return unknown("datapath with these operands", name);
    if (emu_shortest_level_row(facts, op->op == OP_ACCUMULATE ? RUN : 1, MAX_LANES, &found) || found.numbers > MOST_NUMBERS ||
        found.draws > MAX_LANES)
        return complain(name, "its levels cover no row that fits here");
    op->has_levels = 1;
    op->random_bits = found.least_bits;
    op->source = op->datapath.a = facts->a;
    op->datapath.b = facts->b;
    op->datapath.scale = facts->scale;
    op->datapath.block = facts->block;
    op->datapath.k = (int32_t)found.products;
    op->result = op->datapath.result = facts->out.format;
    op->addend = facts->c;
    add_operand(op, "a", facts->a, "sa");
    add_operand(op, "b", facts->b, "sb");
    if (facts->c)
        add_column(op, "c", ROLE_IN, 1, stored_bits(facts->c), facts->c, 0);
    if (found.draws)
        add_column(op, "r", ROLE_R, (int32_t)found.draws, found.most_bits, NULL, 0);
    add_column(op, "d", ROLE_OUT, 1, stored_bits(op->result), op->result, emu_find_levels_row(op->library, name)->any_nan);
    if (facts->invalid_levels | facts->overflow_levels)
        add_column(op, "fl", ROLE_OUT, (facts->invalid_levels != 0) + (facts->overflow_levels != 0), 1, NULL, 0);
    return 0;
}

static emu_matrix matrix_of(const operation *op, row *made, const char *name)
{
    int32_t place = find_column(op, name);
    emu_matrix matrix = {place < 0 ? NULL : made->lanes[place], 8, 1, place < 0 ? 0 : (size_t)op->columns[place].lanes, NULL};
    return matrix;
}

static const emu_matrix *or_null(const emu_matrix *matrix)
{
    return matrix->codes ? matrix : NULL;
}

int32_t derive_dot_levels(const operation *op, row *made)
{
    static emu_number numbers[MOST_NUMBERS], stages[MOST_STAGES];
    static uint8_t known[MOST_STAGES];
    emu_matrix a = matrix_of(op, made, "a"), b = matrix_of(op, made, "b"), sa = matrix_of(op, made, "sa"), sb = matrix_of(op, made, "sb");
    emu_matrix c = matrix_of(op, made, "c"), r = matrix_of(op, made, "r"), d = matrix_of(op, made, "d");
    uint32_t order[MAX_LANES];
    size_t bad;
    uint64_t raised = 0;
    emu_matrix flags = {&raised, 8, 1, 1, NULL};
    int32_t out = find_column(op, "d"), flagged = find_column(op, "fl");
    int32_t error = op->wants_stages ? emu_trace_levels(&op->of_levels, &a, &b, or_null(&sa), or_null(&sb), or_null(&c), or_null(&r), &d,
                                                        order, numbers, MOST_NUMBERS, stages, known, MOST_STAGES)
                                     : emu_dot_levels(&op->of_levels, &a, &b, or_null(&sa), or_null(&sb), or_null(&c), or_null(&r), &d,
                                                      order, numbers, MOST_NUMBERS, &bad);
    made->unknown[out][0] = error == EMU_ERROR_OPEN || error == EMU_ERROR_REFUSED || error == EMU_ERROR_OVERFLOW;
    if (made->unknown[out][0])
        memset(known, 0, sizeof known);
    if (op->wants_stages && (!error || made->unknown[out][0]))
        fill_stages(op, stages, known, made);
    if (flagged >= 0 && !error)
        error = emu_dot_levels_flags(&op->of_levels, &a, &b, or_null(&sa), or_null(&sb), or_null(&c), or_null(&r), &d, &flags, order, numbers,
                                     MOST_NUMBERS, &bad);
    for (int32_t lane = 0; flagged >= 0 && lane < op->columns[flagged].lanes; lane++) {
        int32_t flag = lane || !op->of_levels.invalid_levels ? EMU_RAISED_OVERFLOW : EMU_RAISED_INVALID;
        made->lanes[flagged][lane] = (raised & (uint64_t)flag) != 0;
        made->unknown[flagged][lane] = made->unknown[out][0];
    }
    return made->unknown[out][0] ? EMU_OK : error;
}

/* The mask or kind of a stage that stands before it. */
static int take_companion(const char *name, int32_t bits, operation *op)
{
    int32_t of = find_column(op, name + 2), is_mask = name[0] == 'm', made;
    if (of < 0 || op->columns[of].role != ROLE_STAGE || bits != op->columns[of].lanes * (is_mask ? op->columns[of].lane_bits : 4))
        return 0;
    made = add_column(op, name, is_mask ? ROLE_MASK : ROLE_KIND, op->columns[of].lanes, is_mask ? op->columns[of].lane_bits : 4, NULL, 0);
    if (made >= 0)
        op->columns[made].of = of;
    if (!is_mask)
        op->columns[of].any_nan = 1;
    return made >= 0;
}

/* Put the column of a .desc file at the end: one of the contract with these bits, or a stage of a level with its mask and kind. */
static int take_column(const operation *own, const char *name, const char *role, int32_t bits, operation *op)
{
    int32_t place = find_column(own, name);
    if (place < 0 && strcmp(role, "stage") == 0)
        return add_level_stage(name, bits, op) >= 0;
    if (place < 0)
        return (strcmp(role, "mask") == 0 || strcmp(role, "kind") == 0) && take_companion(name, bits, op);
    if (op->count >= MAX_COLUMNS || bits != own->columns[place].lanes * own->columns[place].lane_bits)
        return 0;
    op->columns[op->count++] = own->columns[place];
    return 1;
}

int take_stages(const char *path, operation *op)
{
    static operation own;
    char line[MAX_LINE + 1], name[64], role[16];
    int bits, fine = 1;
    int32_t taken = 0;
    size_t stages = 0;
    FILE *file = fopen(path, "r");
    if (!file)
        return complain(path, "cannot be read");
    own = *op;
    op->count = 0;
    while (fine && read_line(file, line) == 1) {
        if (sscanf(line, "col %63s %15s %d", name, role, &bits) == 3 && strcmp(role, "guard") != 0)
            fine = take_column(&own, name, role, bits, op);
    }
    fclose(file);
    for (int32_t place = 0; place < op->count; place++) {
        column *col = &op->columns[place];
        taken += find_column(&own, col->name) >= 0;
        op->wants_stages = op->wants_stages || col->role == ROLE_STAGE;
        if ((col->role == ROLE_MASK || col->role == ROLE_KIND) && (strcmp(col->name + 2, "d") == 0 || strcmp(col->name + 2, "fl") == 0))
            col->of = find_column(op, col->name + 2);
    }
    if (!fine || taken != own.count)
        return complain(path, "its columns are not those of the contract");
    if (op->wants_stages && (emu_find_stage(&op->of_levels, (size_t)op->datapath.k, op->of_levels.level_count + 1, 0, -1, &stages) ||
                             stages > MOST_STAGES))
        return complain(path, "its rows have more stages than fit here");
    return 0;
}
