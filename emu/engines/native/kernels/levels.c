/* levels: datapaths of levels whose products, alone or summed exactly, go one after the other into a running register of 2 to 64 bits in
 * fixed point or of a float format; EMU_DOT_LANES outputs side by side.
 *
 * Terms are exact in binary64. A float register is a binary64 number: the sum of it and a term is rounded to odd at 53 bits, which the
 * rounding to the at most 24 bits of the register cannot tell from the exact sum. A register in fixed point is an int64_t in its own unit.
 * NaN and infinity of operands go through float sums as IEEE 754 has them; for registers in fixed point, and where they decide before
 * anything is added, they are looked for in the rows that have them. */
#include "levels.h"

enum { LANES = EMU_DOT_LANES };

/* x / 2^shift, down; an arithmetic shift of 64 bits is what AVX2 lacks. */
EMU_INLINE uint64_t shifted_down(uint64_t x, int32_t shift) { return ((x + EMU_MINUS) >> shift) - (EMU_MINUS >> shift); }

/* The rounded sum of a register in fixed point and a term in its finest units. */
EMU_INLINE uint64_t rounded_units(const emu_levels *plan, uint64_t value, uint64_t term) {
    const uint64_t base = value + shifted_down(term, plan->shift);
    const uint64_t bias = plan->bias + ((0 - (base & 1u)) & plan->bias_odd) + ((0 - (base >> 63)) & plan->bias_minus);
    return value + shifted_down(term + bias, plan->shift);
}

/* The sum of one lot's products, rounded and scaled as the plan says. */
EMU_INLINE void lot_of(const emu_levels_job *work, size_t width, const float *restrict a, const float *restrict b, const float *restrict scale_a,
                       const float *restrict scale_b, size_t first, size_t count, double *restrict term) {
    const size_t lane_a = width > 1;
    const emu_levels *plan = work->plan;
    emu_sum_lot(plan->narrow, width, a, b, first, count, term);
    if (plan->holds_products && plan->product.mode == EMU_HOLD_CUT)
        for (size_t lane = 0; lane < LANES; lane++)
            term[lane] = emu_held(&plan->product, term[lane], EMU_HOLD_CUT);
    else if (plan->holds_products)
        for (size_t lane = 0; lane < LANES; lane++)
            term[lane] = emu_held(&plan->product, term[lane], plan->product.mode);
    if (plan->summed)
        for (size_t lane = 0; lane < LANES; lane++)
            term[lane] += 0.0; /* the zero of an exact sum is +0 */
    if (plan->block) {
        const size_t block = first / (size_t)plan->block;
        for (size_t lane = 0; lane < LANES; lane++)
            term[lane] *= (double)scale_a[block * width + lane * lane_a] * (double)scale_b[block * LANES + lane];
    }
}

/* The running value of a float register over all K, from what it starts with. */
EMU_INLINE void chain_float(const emu_levels_job *work, size_t width, const float *a, const float *b, const float *scale_a, const float *scale_b,
                            double *restrict value, int32_t mode) {
    const emu_levels *plan = work->plan;
    const emu_hold_float hold = plan->held;
    const size_t lot = (size_t)plan->lot;
    for (size_t first = 0; first < work->k; first += lot) {
        double term[LANES];
        lot_of(work, width, a, b, scale_a, scale_b, first, work->k - first < lot ? work->k - first : lot, term);
        if (first == 0 && plan->starts_first)
            for (size_t lane = 0; lane < LANES; lane++)
                value[lane] = emu_held(&hold, term[lane], mode);
        else if (mode == EMU_HOLD_BY_MASKS)
            for (size_t lane = 0; lane < LANES; lane++)
                value[lane] = emu_held(&hold, emu_odd_sum_down(value[lane], term[lane], hold.downward), mode);
        else
            for (size_t lane = 0; lane < LANES; lane++)
                value[lane] = emu_held(&hold, emu_odd_sum(value[lane], term[lane]), mode);
    }
}

/* One addition into a register in fixed point, in two's complement. wide: the register has more than 62 bits, so that int64_t may be left. */
EMU_INLINE uint64_t added(const emu_levels *plan, uint64_t before, uint64_t units, int64_t *over, int32_t beyond, int wide) {
    const uint64_t sum = plan->shift ? rounded_units(plan, before, units) : before + units;
    const uint64_t high = ~(uint64_t)0 >> (65 - plan->bits), low = ~high;
    uint64_t inside;
    if (beyond == EMU_BEYOND_WRAPS)
        return ((sum + high + 1u) & (high + high + 1u)) - high - 1u;
    if (wide) { /* beyond 64 bits the sign is that of what was there */
        const uint64_t lost = 0 - (((before ^ sum) & (units ^ sum)) >> 63), end = emu_chosen(0 - (before >> 63), low, high);
        const int64_t full = (int64_t)emu_chosen(lost, end, sum);
        inside = (uint64_t)(full > (int64_t)high ? (int64_t)high : full < (int64_t)low ? (int64_t)low : full);
        if (beyond != EMU_BEYOND_STOPS)
            *over = *over ? *over : inside != (uint64_t)full || lost ? ((int64_t)inside < 0 ? -1 : 1) : 0;
        return inside;
    }
    inside = emu_chosen(emu_below(high, sum), high, sum);
    return emu_chosen(emu_below(inside, low), low, inside);
}

/* The same of a register in fixed point. over: -1 or 1 in lanes that once went beyond it. */
EMU_INLINE void chain_fixed(const emu_levels_job *work, size_t width, const float *a, const float *b, const float *scale_a, const float *scale_b,
                            int64_t *restrict value, int64_t *restrict over, int32_t beyond, int wide) {
    const emu_levels plan = *work->plan;
    const size_t lot = (size_t)plan.lot;
    for (size_t first = 0; first < work->k; first += lot) {
        double term[LANES];
        lot_of(work, width, a, b, scale_a, scale_b, first, work->k - first < lot ? work->k - first : lot, term);
        for (size_t lane = 0; lane < LANES; lane++) {
            const uint64_t bits = emu_double_bits(term[lane] * plan.per_unit + emu_as_double(FINEST_OF_BIG));
            value[lane] = (int64_t)added(&plan, (uint64_t)value[lane], (bits - FINEST_OF_BIG) << plan.lift, over + lane, beyond, wide);
        }
    }
}

/* The same of a register of at most 31 bits and terms of at most 24, none of which is rounded or scaled, that stops at its ends or wraps. */
EMU_INLINE void chain_short(const emu_levels_job *work, size_t width, const float *a, const float *b, int64_t *restrict value, int32_t beyond) {
    const emu_levels *plan = work->plan;
    const size_t lot = (size_t)plan->lot;
    const float per_unit = (float)plan->per_unit * (float)((uint32_t)1 << plan->lift);
    const int32_t high = (int32_t)(~(uint32_t)0 >> (33 - plan->bits)), low = -high - 1, spare = 32 - plan->bits;
    int32_t units[LANES] = {0};
    for (size_t first = 0; first < work->k; first += lot) {
        float term[LANES];
        emu_sum_narrow(width, a, b, first, work->k - first < lot ? work->k - first : lot, term);
        for (size_t lane = 0; lane < LANES; lane++) {
            const int32_t sum = units[lane] + (int32_t)(term[lane] * per_unit), below = sum > high ? high : sum;
            units[lane] = beyond == EMU_BEYOND_WRAPS ? (int32_t)((uint32_t)sum << spare) >> spare : below < low ? low : below;
        }
    }
    for (size_t lane = 0; lane < LANES; lane++)
        value[lane] = units[lane];
}

EMU_INLINE void run_fixed(const emu_levels_job *work, size_t width, const float *a, const float *b, const float *scale_a, const float *scale_b,
                          int64_t *restrict value, int64_t *restrict over) {
    const int wide = work->plan->bits > 62, is_short = work->plan->is_short;
    if (work->plan->beyond == EMU_BEYOND_WRAPS && is_short)
        chain_short(work, width, a, b, value, EMU_BEYOND_WRAPS);
    else if (work->plan->beyond == EMU_BEYOND_WRAPS)
        chain_fixed(work, width, a, b, scale_a, scale_b, value, over, EMU_BEYOND_WRAPS, 0);
    else if (is_short)
        chain_short(work, width, a, b, value, EMU_BEYOND_STOPS);
    else if (work->plan->beyond == EMU_BEYOND_STOPS && !wide)
        chain_fixed(work, width, a, b, scale_a, scale_b, value, over, EMU_BEYOND_STOPS, 0);
    else
        chain_fixed(work, width, a, b, scale_a, scale_b, value, over, work->plan->beyond, 1);
}

/* All K of a row of lanes: what the register holds as a number, rounded to odd at 53 bits. */
EMU_INLINE void run_lanes(const emu_levels_job *work, size_t width, size_t row, size_t block, double *restrict value, int64_t *restrict over,
                          int32_t form) {
    const float *a = work->left.value + row * work->k * width, *b = work->right.value + block * work->k * LANES;
    const float *scale_a = work->left.scale + row * work->blocks * width, *scale_b = work->right.scale + block * work->blocks * LANES;
    const emu_levels *plan = work->plan;
    (void)form;
    if (plan->bits) {
        int64_t units[LANES] = {0};
        run_fixed(work, width, a, b, scale_a, scale_b, units, over);
        for (size_t lane = 0; lane < LANES; lane++) {
            const int64_t upper = units[lane] >> 32, lower = units[lane] & 0xFFFFFFFF;
            value[lane] = emu_odd_sum((double)upper * 4294967296.0, (double)lower) * plan->unit;
        }
    } else if (plan->held.mode == EMU_HOLD_SINGLE) {
        chain_float(work, width, a, b, scale_a, scale_b, value, EMU_HOLD_SINGLE);
    } else if (plan->held.mode == EMU_HOLD_NEAREST) {
        chain_float(work, width, a, b, scale_a, scale_b, value, EMU_HOLD_NEAREST);
    } else if (plan->held.mode == EMU_HOLD_CUT) {
        chain_float(work, width, a, b, scale_a, scale_b, value, EMU_HOLD_CUT);
    } else {
        chain_float(work, width, a, b, scale_a, scale_b, value, EMU_HOLD_BY_MASKS);
    }
}

EMU_INLINE void run_row(const emu_levels_job *work, size_t row, size_t block, double *restrict value, int64_t *restrict over, int32_t form) {
    run_lanes(work, 1, row, block, value, over, form);
}

EMU_INLINE void run_pair(const emu_levels_job *work, size_t row, size_t block, double *restrict value, int64_t *restrict over, int32_t form) {
    run_lanes(work, LANES, row, block, value, over, form);
}

EMU_FORMS(run_row, (const emu_levels_job *work, size_t row, size_t block, double *restrict value, int64_t *restrict over), work, row, block, value, over)
EMU_FORMS(run_pair, (const emu_levels_job *work, size_t row, size_t block, double *restrict value, int64_t *restrict over), work, row, block, value, over)

static float number_at(const emu_level_operand *format, const void *codes, size_t place) {
    if (format->bytes == 4)
        return emu_as_float(((const uint32_t *)codes)[place]);
    return emu_as_float(format->words[emu_code_at(codes, format->bytes, place)]);
}

static int is_finite(float value) { return (emu_as_bits(value) & EMU_INFINITY) != EMU_INFINITY; }

/* Numbers of an operand or its scales in rows of lanes; lanes that no row fills hold 0. */
static void decode(const emu_level_operand *format, const void *codes, size_t rows, size_t count, size_t width, float *value, uint8_t *special) {
    const size_t full = (rows + width - 1) / width * width;
    for (size_t row = 0; row < full; row++)
        for (size_t i = 0; i < count; i++) {
            const float found = row < rows ? number_at(format, codes, row * count + i) : 0.0f;
            value[(row / width * count + i) * width + row % width] = found;
            special[row] |= !is_finite(found);
        }
}

static size_t padded(size_t bytes) { return (bytes + 63) / 64 * 64; }

static size_t operand_bytes(size_t rows, size_t k, size_t blocks) {
    return padded(rows * k * sizeof(float)) + padded(rows * blocks * sizeof(float)) + padded(rows);
}

static emu_levels_operand read_operand(const emu_levels *plan, const emu_level_operand *format, const void *codes, const void *scales, size_t rows,
                            size_t k, size_t width, uint8_t **room) {
    const size_t blocks = plan->block ? k / (size_t)plan->block : 0, full = emu_dot_padded_rows(rows);
    emu_levels_operand out;
    out.value = (float *)(void *)*room;
    out.scale = (float *)(void *)(*room + padded(full * k * sizeof(float)));
    out.special = *room + padded(full * k * sizeof(float)) + padded(full * blocks * sizeof(float));
    *room += operand_bytes(full, k, blocks);
    memset(out.special, 0, full);
    decode(format, codes, rows, k, width, out.value, out.special);
    if (blocks)
        decode(&plan->scale, scales, rows, blocks, width, out.scale, out.special);
    return out;
}

/* What NaN and infinite operands of one output make of its products. */
static emu_decision decided(const emu_levels_job *work, size_t row, size_t width_a, size_t column) {
    const size_t base_a = row / width_a, lane_a = row % width_a, base_b = column / LANES, lane_b = column % LANES;
    emu_decision found = {0.0, 0, 0, 0};
    for (size_t k = 0; k < work->k; k++) {
        const size_t block = work->plan->block ? k / (size_t)work->plan->block : 0;
        const float *scale_a = work->left.scale + (base_a * work->blocks + block) * width_a + lane_a;
        const float *scale_b = work->right.scale + (base_b * work->blocks + block) * LANES + lane_b;
        emu_decide_product(&found, work->plan, work->left.value[(base_a * work->k + k) * width_a + lane_a],
                           work->right.value[(base_b * work->k + k) * LANES + lane_b], work->plan->block ? *scale_a : 0.0f,
                           work->plan->block ? *scale_b : 0.0f);
    }
    return found;
}

/* The code of a number that the format of the result holds. */
static uint32_t encoded(const emu_levels *plan, double value) {
    const uint64_t bits = emu_double_bits(value), minus = bits >> 63;
    const double size = emu_as_double(bits & ~EMU_MINUS);
    const int32_t field = (int32_t)((bits & ~EMU_MINUS) >> 52) - 1023, exp = field > plan->d_lowest ? field : plan->d_lowest;
    if (emu_is_special(bits))
        return bits & 0xFFFFFFFFFFFFFu ? plan->d_nan : plan->d_inf | (minus ? plan->d_sign : 0u);
    return ((uint32_t)(size * emu_power(plan->d_frac_bits - exp)) + ((uint32_t)(exp - plan->d_lowest) << plan->d_frac_bits)) |
           (minus ? plan->d_sign : 0u);
}

/* C where it enters at the end, the rounding of the result, and what operands decided before. Returns whether the row has no result.
 * flags: raised by the levels, in and out; NULL where none is asked for. */
static int finish(const emu_levels_job *work, size_t row, size_t width_a, size_t column, size_t place, double value, int64_t over, const double *c,
                  uint32_t *d, uint8_t *flags) {
    const emu_levels *plan = work->plan;
    const int special = work->left.special[row] | work->right.special[column];
    const size_t last = plan->tree ? (size_t)plan->tree->count + 1 : 0;
    emu_decision decision = {0.0, 0, 0, 0};
    double before, bar = 0.0;
    if (over && plan->beyond == EMU_BEYOND_INFINITE)
        value = over < 0 ? -emu_as_double(EMU_EXPONENT) : emu_as_double(EMU_EXPONENT);
    if (special && (plan->once || plan->bits))
        decision = decided(work, row, width_a, column);
    if (plan->once && c != NULL)
        emu_decide(&decision, c[place]);
    before = decision.found;
    if (over && plan->beyond == EMU_BEYOND_FAILS && !emu_is_special(emu_double_bits(before)))
        return 1;
    if (flags != NULL && plan->once && emu_is_special(emu_double_bits(before))) {
        const int invalid = emu_is_invalid(&decision) || (c != NULL && emu_double_signals(c[place]));
        *flags = invalid ? emu_flag_at(plan, EMU_FLAG_INVALID, last) : 0; /* no level is asked */
    }
    if (emu_is_special(emu_double_bits(before)))
        value = before;
    if (plan->out_plus_c && !(plan->once && emu_is_special(emu_double_bits(before)))) {
        const double sum = emu_odd_sum_down(value, c[place], plan->out.downward);
        const int invalid = (emu_is_nan(sum) && !emu_is_nan(value) && !emu_is_nan(c[place])) || emu_double_signals(c[place]);
        if (flags != NULL && invalid)
            *flags |= emu_flag_at(plan, EMU_FLAG_INVALID, last);
        value = sum;
    }
    if (plan->out.mode == EMU_HOLD_DRAWS)
        bar = emu_bar(&plan->out, work->random[place * (size_t)plan->tree->words + (size_t)plan->tree->out_place]);
    if (flags != NULL && emu_goes_beyond(&plan->out, value, bar))
        *flags |= emu_flag_at(plan, EMU_FLAG_OVERFLOW, last);
    d[place] = encoded(plan, emu_held_by(&plan->out, value, plan->out.mode, bar));
    return 0;
}

static int is_levels_valid(const emu_levels *plan, size_t k, const void *scale_a, const void *scale_b, const double *c) {
    const emu_level_operand *formats[3] = {&plan->a, &plan->b, &plan->scale};
    for (int i = 0; i < (plan->block ? 3 : 2); i++)
        if (formats[i]->bytes != 4 && ((formats[i]->bytes != 1 && formats[i]->bytes != 2) || formats[i]->words == NULL))
            return 0;
    if (plan->lot < 1 || plan->block < 0 || plan->bits < 0 || plan->bits == 1 || plan->bits > 64 || k == 0)
        return 0;
    if (plan->block && (k % (size_t)plan->block || scale_a == NULL || scale_b == NULL))
        return 0;
    if (plan->is_short && (plan->bits < 2 || plan->bits > 31 || plan->shift || plan->lift > 29 || plan->block || plan->holds_products))
        return 0;
    if (plan->shift < 0 || plan->shift > 62 || plan->lift < 0 || plan->lift > 62)
        return 0;
    if (plan->tree && !emu_tree_valid(plan->tree, k))
        return 0;
    return c != NULL || !(plan->out_plus_c || plan->starts_c);
}

size_t emu_levels_room(const emu_levels *plan, size_t rows, size_t columns, size_t k) {
    const size_t blocks = plan->block ? k / (size_t)plan->block : 0;
    const size_t both = operand_bytes(emu_dot_padded_rows(rows), k, blocks) + operand_bytes(emu_dot_padded_rows(columns), k, blocks);
    return both + (plan->tree ? emu_tree_room(plan->tree, k) : 0);
}

int32_t emu_levels_panel(int32_t form, const emu_levels *plan, const void *a, const void *b, const void *scale_a, const void *scale_b,
                         size_t rows, size_t columns, size_t k, int32_t paired, const double *c, const uint32_t *random, uint32_t *d,
                         uint8_t *flags, size_t *failed, void *room) {
    const size_t width = paired ? LANES : 1, groups = paired ? (rows + LANES - 1) / LANES : rows;
    uint8_t *next = room;
    emu_levels_job work;
    int32_t error;
    if (plan == NULL || a == NULL || b == NULL || d == NULL || failed == NULL || room == NULL || (paired && rows != columns) ||
        !is_levels_valid(plan, k, scale_a, scale_b, c) || (plan->tree && plan->tree->words && random == NULL) || (flags != NULL && !plan->tree))
        return EMU_KERNEL_ARGUMENT;
    if (!emu_has_form(form))
        return EMU_KERNEL_FORM;
    error = emu_check_floats();
    if (error)
        return error;
    work.plan = plan, work.k = k, work.rows = rows, work.columns = columns;
    work.blocks = plan->block ? k / (size_t)plan->block : 0;
    work.left = read_operand(plan, &plan->a, a, scale_a, rows, k, width, &next);
    work.right = read_operand(plan, &plan->b, b, scale_b, columns, k, LANES, &next);
    work.random = random, work.stack = next;
    *failed = (size_t)-1;
    for (size_t block = 0; block * LANES < columns; block++)
        for (size_t row = paired ? block : 0; row < (paired ? block + 1 : groups); row++) {
            const size_t left = columns - block * LANES, count = left < LANES ? left : LANES;
            const size_t output = paired ? block * LANES : row * columns + block * LANES;
            double value[LANES] = {0.0};
            int64_t over[LANES] = {0};
            uint8_t raised[LANES] = {0}, *told = flags ? raised : NULL;
            for (size_t lane = 0; plan->starts_c && lane < count; lane++) {
                const double start = c[output + lane];
                value[lane] = plan->loads_c ? emu_held(&plan->held, start, plan->held.mode) : start;
            }
            if (told)
                emu_tree_run_flags(&work, width, row, block, output, count, value, over, told);
            else if (plan->tree)
                emu_tree_run(form, &work, width, row, block, output, count, value, over);
            else if (paired)
                EMU_RUN(form, run_pair, &work, row, block, value, over);
            else
                EMU_RUN(form, run_row, &work, row, block, value, over);
            for (size_t lane = 0; lane < count; lane++) {
                const size_t column = block * LANES + lane, place = output + lane;
                if (finish(&work, paired ? column : row, width, column, place, value[lane], over[lane], c, d, told ? told + lane : NULL))
                    *failed = place < *failed ? place : *failed;
                if (flags)
                    flags[place] = raised[lane];
            }
        }
    return EMU_KERNEL_OK;
}
