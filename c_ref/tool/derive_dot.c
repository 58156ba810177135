/* derive_dot.c: one instruction through the reference, and the stages of every fused step. */
#include "tool.h"

/* What the stages of a row are kept in. */
typedef struct memory {
    emu_stages stages[MAX_STEPS];
    emu_term terms[MAX_LANES];
    emu_wide aligned[MAX_LANES];
} memory;

static emu_matrix matrix_of(const operation *op, row *made, const char *name)
{
    int32_t place = find_column(op, name);
    emu_matrix matrix = {place < 0 ? NULL : made->lanes[place], 8, 1, place < 0 ? 0 : (size_t)op->columns[place].lanes, NULL};
    return matrix;
}

/* A number in two's complement, as many bits as the lane has. */
static void put_wide(const column *col, int32_t lane, const emu_wide *number, uint64_t *lanes)
{
    for (int32_t i = 0; i < col->cells; i++) {
        int32_t bits = col->lane_bits - 64 * i;
        lanes[lane * col->cells + i] = number->limbs[i] & ((uint64_t)-1 >> (bits < 64 ? 64 - bits : 0));
    }
}

static void put_number(const column *col, int32_t lane, int64_t value, uint64_t *lanes)
{
    emu_wide number;
    for (int32_t i = 0; i < EMU_WIDE_LIMBS; i++)
        number.limbs[i] = i == 0 ? (uint64_t)value : value < 0 ? (uint64_t)-1 : 0;
    put_wide(col, lane, &number, lanes);
}

/* Bit i: term i is live; one more on top where C is a term and is not zero. */
static void put_live(const operation *op, const emu_stages *stages, uint64_t c, const column *col, uint64_t *lanes)
{
    emu_value value;
    int32_t is_live, last = stages->term_count;
    memset(lanes, 0, sizeof *lanes * (size_t)col->cells);
    for (int32_t i = 0; i < last; i++)
        lanes[i / 64] |= (uint64_t)(stages->terms[i].is_live != 0) << (i % 64);
    if (op->datapath.c_kind != EMU_C_ALIGNED || emu_decode_code(op->result, c, &value))
        return;
    is_live = value.value_class == EMU_NORMAL || (value.value_class == EMU_SUBNORMAL && !op->datapath.flushes_c);
    lanes[last / 64] |= (uint64_t)is_live << (last % 64);
}

/* The stage called `what` (sg, tm, lv, xa, xc, e, s, p, ss, rs); number: which term, -1: a lane for each. */
static void put_stage(const operation *op, const emu_stages *stages, const char *what, int32_t number, uint64_t c, const column *col,
                      uint64_t *lanes)
{
    int32_t is_promote = op->datapath.apply == EMU_APPLY_PROMOTE, is_realigned = op->datapath.c_kind == EMU_C_REALIGNED;
    if (strcmp(what, "lv") == 0)
        put_live(op, stages, c, col, lanes);
    else if (strcmp(what, "xc") == 0)
        put_wide(col, 0, &stages->aligned_c, lanes);
    else if (strcmp(what, "s") == 0)
        put_wide(col, 0, &stages->total, lanes);
    else if (strcmp(what, "e") == 0)
        put_number(col, 0, stages->exp, lanes);
    else if (strcmp(what, "rs") == 0)
        lanes[0] = stages->code;
    else if (strcmp(what, "ss") == 0)
        lanes[0] = stages->scale_code;
    else if (strcmp(what, "p") == 0 && !is_realigned)
        lanes[0] = stages->part_code;
    else if (strcmp(what, "tm") == 0 && is_promote)
        lanes[0] = stages->term_code;
    else {
        for (int32_t lane = 0; lane < col->lanes; lane++) {
            int32_t i = number < 0 ? lane : number;
            if (strcmp(what, "xa") == 0)
                put_wide(col, lane, &stages->aligned[i], lanes);
            else
                put_number(col, lane, *what == 'p' ? stages->parts[i] : *what == 's' ? stages->terms[i].group_sum : stages->terms[i].significand,
                           lanes);
        }
    }
}

/* Every stage of a row; nobody knows those of a step that NaN or infinity decided. */
static void put_stages(const operation *op, const memory *held, uint64_t c, row *made)
{
    int32_t is_register = op->datapath.c_kind == EMU_C_LAST;
    for (int32_t place = 0; place < op->count; place++) {
        const column *col = &op->columns[place];
        char what[4] = "";
        int step = 0, number = -1;
        if (col->role != ROLE_STAGE || sscanf(col->name, "u%d_%3[a-z]%d", &step, what, &number) < 2)
            continue;
        if (held->stages[is_register ? 0 : step].special)
            memset(made->unknown[place], 1, (size_t)col->lanes);
        else
            put_stage(op, &held->stages[step], what, number, step ? held->stages[step - 1].code : c, col, made->lanes[place]);
    }
}

/* 1 when a scale has a bit above its code: what it means is open, also where the datapath ignores it. */
static int has_open_bit(const operation *op, const emu_matrix *scales)
{
    const emu_format *format = op->datapath.scale;
    int32_t unused = format && format->format_class == EMU_FLOAT ? format->unused_high_bits : 0;
    for (size_t i = 0; unused && i < scales->columns; i++) {
        if (((const uint64_t *)scales->codes)[i] >> (stored_bits(format) - unused))
            return 1;
    }
    return 0;
}

/* The register before the row and what the row adds: d where the chain ends, and the register after it. */
static int32_t put_register(const operation *op, const memory *held, uint64_t c, row *made)
{
    int32_t in = find_column(op, "acc_in"), out = find_column(op, "acc"), d = find_column(op, "d"), error;
    const column *col = &op->columns[out];
    uint64_t carry = 0, code = 0;
    emu_wide sum = held->stages[op->datapath.k / op->datapath.step - 1].total;
    int32_t top = (col->lane_bits - 1) / 64, places = (col->lane_bits - 1) % 64;
    uint64_t sign = made->lanes[in][top] >> places & 1 ? (uint64_t)-1 : 0;
    made->unknown[d][0] = !made->lanes[find_column(op, "last")][0];
    made->unknown[out][0] = held->stages[0].special != 0;
    if (held->stages[0].special)
        return EMU_OK;
    for (int32_t i = 0; i < EMU_WIDE_LIMBS; i++) {
        uint64_t limb = i < top ? made->lanes[in][i] : i == top ? made->lanes[in][i] | (places < 63 ? sign << (places + 1) : 0) : sign;
        uint64_t partial = sum.limbs[i] + limb;
        sum.limbs[i] = partial + carry;
        carry = (partial < limb) | (sum.limbs[i] < partial);
    }
    error = emu_finish_register(&op->datapath, &sum, c, &code);
    if (error && error != EMU_ERROR_OVERFLOW)
        return error;
    if (error)
        made->unknown[d][0] = made->unknown[out][0] = 1;
    made->lanes[d][0] = code;
    put_wide(col, 0, &sum, made->lanes[out]);
    return EMU_OK;
}

int32_t derive_dot(const operation *op, row *made)
{
    emu_matrix a = matrix_of(op, made, "a"), b = matrix_of(op, made, "b"), sa = matrix_of(op, made, "sa"), sb = matrix_of(op, made, "sb");
    emu_matrix c = matrix_of(op, made, "c"), d = matrix_of(op, made, "d");
    int32_t terms, error, out = find_column(op, "d");
    memory held;
    if (op->has_levels)
        return derive_dot_levels(op, made);
    terms = op->datapath.step / op->datapath.group;
    for (int32_t step = 0; step < op->datapath.k / op->datapath.step; step++) {
        held.stages[step].terms = held.terms + step * terms;
        held.stages[step].aligned = held.aligned + step * terms;
    }
    d.open = made->unknown[out];
    error = emu_dot(&op->datapath, &a, &b, sa.codes ? &sa : NULL, sb.codes ? &sb : NULL, &c, &d, held.stages);
    if (error)
        return error;
    if (made->unknown[out][0] || has_open_bit(op, &sa) || has_open_bit(op, &sb)) {
        for (int32_t place = out; place < op->count; place++)
            memset(made->unknown[place], 1, sizeof made->unknown[place]);
        return EMU_OK;
    }
    if (find_column(op, "acc") >= 0)
        return put_register(op, &held, made->lanes[find_column(op, "c")][0], made);
    put_stages(op, &held, made->lanes[find_column(op, "c")][0], made);
    return EMU_OK;
}
