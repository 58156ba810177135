/* columns.c: the columns of a row: inputs, random operands, outputs, stages, then a mask for each result, then a kind where NaN is free. */
#include "tool.h"

enum { MIN_DIGITS = 5, KIND_BITS = 4 };

/* Return the place of the new column, or -1 where there is no room. */
int32_t add_column(operation *op, const char *name, int32_t role, int32_t lanes, int32_t lane_bits, const emu_format *format,
                   int32_t any_nan)
{
    column *col = &op->columns[op->count];
    int32_t cells = (lane_bits + 63) / 64;
    if (op->count >= MAX_COLUMNS || lanes * cells > MAX_LANES || strlen(name) >= sizeof col->name)
        return -1;
    memset(col, 0, sizeof *col);
    memcpy(col->name, name, strlen(name) + 1);
    col->role = role;
    col->lanes = lanes;
    col->lane_bits = lane_bits;
    col->cells = cells;
    col->digits = (lanes * lane_bits + 3) / 4;
    col->level = -1;
    col->any_nan = any_nan;
    col->format = format;
    return op->count++;
}

static int is_result(const column *col)
{
    return col->role == ROLE_OUT || col->role == ROLE_STAGE;
}

static void add_companion(operation *op, int32_t place, int32_t role)
{
    column of = op->columns[place];
    char name[sizeof of.name + 2] = "m_";
    int32_t made;
    name[0] = role == ROLE_MASK ? 'm' : 'k';
    memcpy(name + 2, of.name, strlen(of.name) + 1);
    made = add_column(op, name, role, of.lanes, role == ROLE_MASK ? of.lane_bits : KIND_BITS, NULL, 0);
    if (made >= 0)
        op->columns[made].of = place;
}

/* Add masks, kinds, and in front a pad where a row would be too narrow for the trailer's count. */
void finish_columns(operation *op)
{
    int32_t given = op->count;
    int32_t digits = 0;
    for (int32_t place = 0; place < given; place++) {
        if (is_result(&op->columns[place]))
            add_companion(op, place, ROLE_MASK);
    }
    for (int32_t place = 0; place < given; place++) {
        if (op->columns[place].any_nan)
            add_companion(op, place, ROLE_KIND);
    }
    for (int32_t place = 0; place < op->count; place++)
        digits += op->columns[place].digits;
    if (digits < MIN_DIGITS && add_column(op, "pad", ROLE_PAD, 1, 4 * (MIN_DIGITS - digits), NULL, 0) >= 0) {
        column pad = op->columns[op->count - 1];
        memmove(&op->columns[1], &op->columns[0], sizeof pad * (size_t)(op->count - 1));
        op->columns[0] = pad;
        for (int32_t place = 1; place < op->count; place++)
            op->columns[place].of += 1;
    }
}

/* Return the place of a column, or -1. */
int32_t find_column(const operation *op, const char *name)
{
    for (int32_t place = 0; place < op->count; place++) {
        if (strcmp(op->columns[place].name, name) == 0)
            return place;
    }
    return -1;
}

/* Derive masks and kinds of a row whose results are there; a lane that nobody knows is 0 with mask 0. */
void finish_row(const operation *op, row *made)
{
    for (int32_t place = 0; place < op->count; place++) {
        const column *col = &op->columns[place];
        const column *of = &op->columns[col->of];
        if (col->role != ROLE_MASK && col->role != ROLE_KIND)
            continue;
        for (int32_t at = 0; at < col->lanes * of->cells; at++) {
            int known = !made->unknown[col->of][at / of->cells];
            int32_t bits = of->lane_bits - 64 * (at % of->cells); /* from this word on */
            if (!known)
                made->lanes[col->of][at] = 0;
            if (col->role == ROLE_MASK)
                made->lanes[place][at] = known ? (uint64_t)-1 >> (bits < 64 ? 64 - bits : 0) : 0;
            else
                made->lanes[place][at] = known && value_class(of->format, made->lanes[col->of][at]) == EMU_NAN;
        }
    }
}
