/* gen_dot.c: stimuli of one instruction a row: element pairs, every scale code, special and edge C, cancellation, full scale; or draws. */
#include "gen.h"

enum { MOST_CODES = 256, EDGES = 10, RANDOM_WORDS = MAX_DRAWS / 2 - MAX_LANES };

static uint64_t *lanes_of(sink *out, const char *name)
{
    int32_t place = find_column(out->op, name);
    return place < 0 ? NULL : out->made.lanes[place];
}

static uint64_t sign_bit_of(const emu_format *format)
{
    if (format->format_class == EMU_INTEGER)
        return format->integer_sign == EMU_SIGN_MAGNITUDE ? (uint64_t)1 << (format->bits - 1) : 0;
    return format->format_class == EMU_FLOAT && format->has_sign ? (uint64_t)1 << (format->exp_bits + format->frac_bits) : 0;
}

static uint64_t largest_of(const emu_format *format)
{
    uint64_t magnitude = 0;
    emu_max_magnitude(format, 0, &magnitude);
    return magnitude;
}

/* The code of 2^exp, or of the largest value. */
static uint64_t power_of(const emu_format *format, int32_t exp)
{
    emu_value value = {EMU_NORMAL, 0, 0, 1};
    uint64_t code = 0;
    value.lsb_exp = exp;
    return emu_encode_value(format, &value, &code) ? largest_of(format) : code;
}

static void set_all(uint64_t *lanes, int32_t count, uint64_t code)
{
    for (int32_t i = 0; lanes && i < count; i++)
        lanes[i] = code;
}

static int32_t blocks_of(const operation *op)
{
    return op->datapath.scale ? op->datapath.k / op->datapath.block : 0;
}

/* Zeros under scales of 1, C = +0, drawn random integers; a row of accumulate is a chain of its own. */
static void clear_row(sink *out)
{
    const operation *op = out->op;
    memset(out->made.lanes, 0, sizeof out->made.lanes[0] * (size_t)op->count);
    for (int32_t i = 0; i < 2 && op->datapath.scale; i++)
        set_all(lanes_of(out, i ? "sb" : "sa"), blocks_of(op), power_of(op->datapath.scale, 0));
    for (int32_t i = 0, place = find_column(op, "r"); place >= 0 && i < op->columns[place].lanes; i++)
        out->made.lanes[place][i] = draw(out, RANDOM_WORDS + (uint64_t)i, op->random_bits);
    if (op->op == OP_ACCUMULATE && !op->has_levels)
        lanes_of(out, "first")[0] = lanes_of(out, "last")[0] = 1;
}

/* Bits of a code, those left out that nobody knows. */
static int32_t known_bits(const emu_format *format)
{
    return stored_bits(format) - (format->format_class == EMU_FLOAT ? format->unused_high_bits : 0);
}

/* Codes that stand for all of a format: every one of a narrow format, else about as many over its whole range. */
static uint64_t code_of(const emu_format *format, uint64_t number)
{
    int32_t bits = known_bits(format);
    return bits <= 8 ? number & low_bits(bits) : number << (bits - 8) | (number & 1);
}

static uint64_t count_of(const emu_format *format, uint64_t most)
{
    uint64_t count = known_bits(format) < 8 ? low_bits(known_bits(format)) + 1 : MOST_CODES;
    return count < most ? count : most;
}

/* Each code of A with codes of B that move on, in a lane that moves on; a second product of 1 * 1 beside it. */
static int pair_rows(sink *out)
{
    const emu_datapath *facts = &out->op->datapath;
    uint64_t each = count_of(facts->b, 16), step = count_of(facts->b, MOST_CODES) / each;
    for (uint64_t first = 0; first < count_of(facts->a, MOST_CODES); first++) {
        for (uint64_t second = 0; second < each; second++) {
            int32_t lane = (int32_t)((first * each + second) % (uint64_t)facts->k);
            clear_row(out);
            lanes_of(out, "a")[(lane + 1) % facts->k] = power_of(facts->a, 0);
            lanes_of(out, "b")[(lane + 1) % facts->k] = power_of(facts->b, 0);
            lanes_of(out, "a")[lane] = code_of(facts->a, first);
            lanes_of(out, "b")[lane] = code_of(facts->b, (second * step + first) % count_of(facts->b, MOST_CODES));
            if (emit_row(out))
                return EXIT_BAD;
        }
    }
    return 0;
}

/* Every code of one scale of A over products of 1, over zeros, and under a small term of another block that it may push out. */
static int scale_rows(sink *out)
{
    const emu_datapath *facts = &out->op->datapath;
    for (uint64_t i = 0; facts->scale && i < 3 * count_of(facts->scale, MOST_CODES); i++) {
        int32_t last = facts->k - 1;
        clear_row(out);
        set_all(lanes_of(out, "a"), i % 3 ? facts->k : 0, power_of(facts->a, 0));
        set_all(lanes_of(out, "b"), i % 3 ? facts->k : 0, power_of(facts->b, 0));
        lanes_of(out, "sa")[0] = code_of(facts->scale, i / 3);
        if (i % 3 == 2) { /* block 0 cancels; the smallest product is left */
            lanes_of(out, "b")[0] = power_of(facts->b, 0) ^ sign_bit_of(facts->b);
            lanes_of(out, "a")[last] = 1;
            lanes_of(out, "sb")[blocks_of(out->op) - 1] = 1;
        }
        if (emit_row(out))
            return EXIT_BAD;
    }
    return 0;
}

/* C: zeros, smallest, largest, Inf, NaN of both signs, over no product, over full scale of both signs, and over a sum that C cancels. */
static int addend_rows(sink *out)
{
    const emu_datapath *facts = &out->op->datapath;
    const emu_format *format = out->op->addend ? out->op->addend : facts->result;
    uint64_t hidden = (uint64_t)1 << format->frac_bits, inf = low_bits(format->exp_bits) << format->frac_bits;
    const uint64_t edges[EDGES] = {0, 1, hidden - 1, hidden, hidden + 1, inf - 1, inf, inf + 1, inf | hidden >> 1, power_of(format, 0)};
    for (int32_t i = 0; i < 8 * EDGES; i++) {
        uint64_t a = i & 2 ? largest_of(facts->a) : 0, sign = i & 4 ? sign_bit_of(facts->b) : 0;
        clear_row(out);
        set_all(lanes_of(out, "a"), facts->k, a);
        set_all(lanes_of(out, "b"), facts->k, largest_of(facts->b) | sign);
        if (i & 4 && facts->scale) {
            set_all(lanes_of(out, "sa"), blocks_of(out->op), largest_of(facts->scale));
            set_all(lanes_of(out, "sb"), blocks_of(out->op), largest_of(facts->scale));
        }
        set_all(lanes_of(out, "c"), 1, (edges[i / 8] | (i & 1 ? sign_bit_of(format) : 0)) & low_bits(known_bits(format)));
        if (emit_row(out))
            return EXIT_BAD;
    }
    return 0;
}

int directed_dot_rows(sink *out)
{
    return pair_rows(out) || scale_rows(out) || addend_rows(out) ? EXIT_BAD : 0;
}

/* One drawn code: any bits; or, for scales and C of odd rows, near 1 with an exponent of 4 bits. */
static uint64_t draw_code(const sink *out, uint64_t word, const emu_format *format, int32_t is_near)
{
    uint64_t code = draw(out, word, known_bits(format));
    if (!is_near || format->format_class == EMU_INTEGER)
        return code;
    return power_of(format, (int32_t)(draw(out, word + 1, 4)) - 8) |
           (code & (format->format_class == EMU_FLOAT ? low_bits(format->frac_bits) | sign_bit_of(format) : 0));
}

/* Even rows: any bits everywhere, so NaN and infinity too where a format has them. Odd rows: numbers of one size; a quarter cancels. */
int random_dot_row(sink *out)
{
    const emu_datapath *facts = &out->op->datapath;
    static const char *const names[5] = {"a", "b", "sa", "sb", "c"};
    const emu_format *const formats[5] = {facts->a, facts->b, facts->scale, facts->scale, out->op->addend};
    int32_t is_near = out->rows % 2 == 1, half = facts->k / 2;
    uint64_t word = 0;
    clear_row(out);
    for (int32_t i = 0; i < 5; i++) {
        int32_t place = find_column(out->op, names[i]);
        for (int32_t lane = 0; place >= 0 && lane < out->op->columns[place].lanes; lane++, word += 2)
            out->made.lanes[place][lane] = draw_code(out, word, formats[i], is_near && (i > 1 || stored_bits(formats[i]) > 6));
    }
    for (int32_t lane = 0; out->rows % 4 == 3 && lane < half; lane++) {
        lanes_of(out, "a")[half + lane] = lanes_of(out, "a")[lane];
        lanes_of(out, "b")[half + lane] = lanes_of(out, "b")[lane] ^ sign_bit_of(facts->b);
    }
    return emit_row(out);
}
