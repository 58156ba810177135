/* gen_block.c: stimuli of one tile or rotation a row: single elements, ramps, every exponent, thresholds of the scale and of an element,
 * specials, every level code; or draws. Elements not named are zero. */
#include "gen.h"

enum { MOST_THRESHOLDS = 512, NEAR = 2, WINDOW = 4 };

/* The first column of a role; every tile has one for its elements. */
static int32_t elements_of(const operation *op)
{
    int32_t place = 0;
    while (op->columns[place].role != ROLE_IN)
        place++;
    return place;
}

/* The code of 2^exp in a format that has it, else of its largest value. */
static uint64_t power_code(const emu_format *format, int32_t exp)
{
    emu_value value = {EMU_NORMAL, 0, 0, 1};
    uint64_t code = 0;
    value.lsb_exp = exp;
    if (emu_encode_value(format, &value, &code))
        emu_max_magnitude(format, 0, &code);
    return code;
}

static uint64_t sign_of(const emu_format *format)
{
    return format->format_class == EMU_FLOAT && format->has_sign ? (uint64_t)1 << (format->exp_bits + format->frac_bits) : 0;
}

/* A row of zeros: the tensor maximum 2^10, all lanes valid, levels 1 (flags 0), the transform's own signs. */
static void clear_row(sink *out)
{
    const operation *op = out->op;
    memset(&out->made, 0, sizeof out->made);
    for (int32_t place = 0; place < op->count; place++) {
        const column *col = &op->columns[place];
        if (col->role != ROLE_IN)
            continue;
        if (strcmp(col->name, "n_valid") == 0)
            out->made.lanes[place][0] = (uint64_t)columns_of(&op->program);
        else if (strcmp(col->name, "ts") == 0)
            out->made.lanes[place][0] = power_code(col->format, op->op == OP_QUANTIZE ? 10 : 0);
        for (int32_t lane = 0; lane < col->lanes; lane++) {
            if (strcmp(col->name, "sgn") == 0)
                out->made.lanes[place][lane] = op->transform->signs[lane / 64] >> (lane % 64) & 1;
            else if (col->level >= 0 && col->lane_bits > 1)
                out->made.lanes[place][lane] = power_code(col->format, 0);
        }
    }
}

/* All results of the row as one number, to see where they change; only_levels: without the elements. */
static uint64_t look(sink *out, int32_t only_levels)
{
    const operation *op = out->op;
    uint64_t seen = 14695981039346656037u;
    if (derive_row(op, &out->made))
        return 0;
    for (int32_t place = 0; place < op->count; place++) {
        if (op->columns[place].role != ROLE_OUT || (only_levels && op->columns[place].level < 0))
            continue;
        for (int32_t lane = 0; lane < op->columns[place].lanes; lane++)
            seen = (seen ^ (out->made.lanes[place][lane] * 2 + out->made.unknown[place][lane])) * 1099511628211u;
    }
    return seen;
}

static uint64_t look_at(sink *out, int32_t lane, uint64_t code, int32_t only_levels)
{
    out->made.lanes[elements_of(out->op)][lane] = code;
    return look(out, only_levels);
}

/* Rows with `lane` on both sides of each code in from .. end where the results change, as far as they change in steps. */
static int lane_thresholds(sink *out, int32_t lane, uint64_t from, uint64_t end, int32_t only_levels)
{
    int32_t place = elements_of(out->op);
    for (int32_t count = 0; count < MOST_THRESHOLDS && from < end; count++) {
        uint64_t low = from, high = end, seen = look_at(out, lane, from, only_levels);
        if (look_at(out, lane, end, only_levels) == seen)
            return 0;
        while (high - low > 1) {
            uint64_t middle = low + (high - low) / 2;
            if (look_at(out, lane, middle, only_levels) == seen)
                low = middle;
            else
                high = middle;
        }
        for (uint64_t code = low < NEAR ? 0 : low - NEAR; code <= high + NEAR && code <= end; code++) {
            out->made.lanes[place][lane] = code;
            if (emit_row(out))
                return EXIT_BAD;
        }
        from = high;
    }
    return 0;
}

/* One element alone: every exponent with three fractions in a lane that moves on, both signs; so all specials too. */
static int single_rows(sink *out)
{
    int32_t place = elements_of(out->op), lane = 0;
    const emu_format *source = out->op->source;
    uint64_t ones = low_bits(source->frac_bits);
    for (uint64_t exp_field = 0; exp_field <= low_bits(source->exp_bits); exp_field++) {
        for (int32_t i = 0; i < 6; i++) {
            uint64_t fraction = i % 3 == 0 ? 0 : i % 3 == 1 ? ones >> 1 : ones;
            clear_row(out);
            out->made.lanes[place][lane] = exp_field << source->frac_bits | fraction | (i >= 3 ? sign_of(source) : 0);
            lane = (lane + 1) % out->op->columns[place].lanes;
            if (emit_row(out))
                return EXIT_BAD;
        }
    }
    return 0;
}

/* All elements a value, with each tensor maximum that is special: zero, smallest, largest, Inf, NaN. */
static int maximum_rows(sink *out)
{
    const uint64_t special[6] = {0, 1, 0x00800000, 0x7f7fffff, 0x7f800000, 0x7fc00000};
    int32_t ts = find_column(out->op, "ts"), place = elements_of(out->op);
    for (int32_t i = 0; i < (ts < 0 ? 1 : 6); i++) {
        for (int32_t exp = -2; exp <= 2; exp++) {
            clear_row(out);
            for (int32_t lane = 0; lane < out->op->columns[place].lanes; lane++)
                out->made.lanes[place][lane] = power_code(out->op->source, exp);
            if (ts >= 0)
                out->made.lanes[ts][0] = special[i];
            if (emit_row(out))
                return EXIT_BAD;
        }
    }
    return 0;
}

static int quantize_rows(sink *out)
{
    uint64_t largest = power_code(out->op->source, 2);
    uint64_t sign = sign_of(out->op->source);
    if (single_rows(out) || maximum_rows(out))
        return EXIT_BAD;
    clear_row(out);
    if (lane_thresholds(out, 0, 0, power_code(out->op->source, 10), 1))
        return EXIT_BAD;
    for (int32_t i = 0; i < 2; i++) {
        clear_row(out);
        out->made.lanes[elements_of(out->op)][0] = largest;
        if (lane_thresholds(out, 1, i ? sign : 0, (i ? sign : 0) | largest, 0))
            return EXIT_BAD;
    }
    return 0;
}

/* Every code of each narrow level over a ramp of element codes, and special values of the wide ones. */
static int dequantize_rows(sink *out)
{
    const uint64_t special[8] = {0, 1, 0x00800000, 0x3f800001, 0x7f7fffff, 0x7f800000, 0x7fc00000, 0x39c30c31};
    int32_t place = elements_of(out->op);
    for (int32_t at = 0; at < out->op->count; at++) {
        const column *level = &out->op->columns[at];
        uint64_t count = level->lane_bits <= 8 ? low_bits(level->lane_bits) + 1 : 8;
        for (uint64_t code = 0; level->level >= 0 && code < count; code++) {
            clear_row(out);
            for (int32_t lane = 0; lane < out->op->columns[place].lanes; lane++)
                out->made.lanes[place][lane] = ((uint64_t)lane + code) & low_bits(out->op->columns[place].lane_bits);
            for (int32_t lane = 0; lane < level->lanes; lane++)
                out->made.lanes[at][lane] = level->lane_bits <= 8 ? code : special[code];
            if (emit_row(out))
                return EXIT_BAD;
        }
    }
    return 0;
}

int directed_tile_rows(sink *out)
{
    if (out->op->op == OP_DEQUANTIZE)
        return dequantize_rows(out);
    return out->op->op == OP_QUANTIZE ? quantize_rows(out) : single_rows(out) || maximum_rows(out) ? EXIT_BAD : 0;
}

/* A drawn element: any bits in even rows, else one of WINDOW binades below 2^2. */
static uint64_t draw_element(const sink *out, uint64_t word, const column *col)
{
    const emu_format *format = out->op->source;
    uint64_t code = draw(out, word, col->lane_bits);
    if (out->rows % 2 == 0 || out->op->op == OP_DEQUANTIZE || format->format_class != EMU_FLOAT)
        return code;
    return power_code(format, 2 - (int32_t)(draw(out, word + 1, 2) % WINDOW)) | (code & (low_bits(format->frac_bits) | sign_of(format)));
}

int random_tile_row(sink *out)
{
    uint64_t word = 0;
    clear_row(out);
    for (int32_t place = 0; place < out->op->count; place++) {
        const column *col = &out->op->columns[place];
        if ((col->role != ROLE_IN && col->role != ROLE_R) || strcmp(col->name, "sgn") == 0)
            continue;
        for (int32_t lane = 0; lane < col->lanes; lane++, word += 2) {
            if (strcmp(col->name, "n_valid") == 0)
                out->made.lanes[place][lane] = out->rows % 4 == 3 ? 1 + draw(out, word, 8) % (uint64_t)columns_of(&out->op->program)
                                                                  : (uint64_t)columns_of(&out->op->program);
            else if (strcmp(col->name, "ts") == 0)
                out->made.lanes[place][lane] = power_code(col->format, (int32_t)(draw(out, word, 4)) - 4) | draw(out, word + 1, 23);
            else if (place == elements_of(out->op))
                out->made.lanes[place][lane] = draw_element(out, word, col);
            else
                out->made.lanes[place][lane] = draw(out, word, col->lane_bits);
        }
    }
    return emit_row(out);
}
