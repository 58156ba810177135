/* dot: matrix products whose terms are aligned to a common exponent, EMU_DOT_LANES outputs side by side.
 *
 * Integers are carried in floats: a group sum or a product in binary32 (below 2^24), an aligned sum in binary64 (below 2^51) or, for single
 * products, in 32 bits. Every operation on them is exact, so that the order of additions does not matter; bits are lost in
 * emu_cut and in the conversion to int32_t alone, both toward zero. */
#include "kernels.h"

enum { LANES = EMU_DOT_LANES, PIECE = 16, NO_TERM = -600 };

/* Sums of one group for all lanes. step_a, lane_a: from one element, one lane of A to the next. */
EMU_INLINE void sum_group(const float *restrict a, size_t step_a, size_t lane_a, const float *restrict b, size_t group,
                          float *restrict sum) {
    for (size_t lane = 0; lane < LANES; lane++) {
        float total = 0.0f;
        for (size_t k = 0; k < PIECE; k++)
            total += a[k * step_a + lane * lane_a] * b[k * LANES + lane];
        sum[lane] = total;
    }
    for (size_t first = PIECE; first < group; first += PIECE)
        for (size_t lane = 0; lane < LANES; lane++) {
            float total = 0.0f;
            for (size_t k = 0; k < PIECE; k++)
                total += a[(first + k) * step_a + lane * lane_a] * b[(first + k) * LANES + lane];
            sum[lane] += total;
        }
}

/* The largest exponent of live terms, of C where it is not zero, and of the floor. */
EMU_INLINE void start_exponents(const emu_dot *plan, const double *restrict c, int32_t *restrict top) {
    for (size_t lane = 0; lane < LANES; lane++) {
        const int32_t exp = (int32_t)(emu_double_bits(c[lane]) >> 52 & 0x7FFu) - 1023;
        const int32_t normal = exp > plan->d_lowest ? exp : plan->d_lowest;
        const int32_t live = (c[lane] < 0.0 || c[lane] > 0.0) ? normal : NO_TERM;
        top[lane] = live > plan->floor ? live : plan->floor;
    }
}

EMU_INLINE void add_groups(const emu_dot *plan, size_t terms, const float *restrict a, const int32_t *restrict exp_a,
                           const uint32_t *restrict bits_a, size_t width_a, const float *restrict b, const int32_t *restrict exp_b,
                           const uint32_t *restrict bits_b, int32_t *restrict top, double *restrict total) {
    const size_t group = (size_t)plan->group, lane_a = width_a > 1;
    const int32_t low_bits = plan->low_bits, raised = plan->raised, frac_bits = plan->frac_bits;
    float sums[EMU_DOT_MAX_TERMS][LANES];
    double unit[LANES];
    for (size_t term = 0; term < terms; term++) {
        const int32_t *restrict ea = exp_a + term * width_a, *restrict eb = exp_b + term * LANES;
        const uint32_t *restrict na = bits_a + term * width_a, *restrict nb = bits_b + term * LANES;
        sum_group(a + term * group * width_a, width_a, lane_a, b + term * group * LANES, group, sums[term]);
        for (size_t lane = 0; lane < LANES; lane++) {
            const int32_t exp = ea[lane * lane_a] + eb[lane] + raised;
            const int32_t live = (na[lane * lane_a] & nb[lane]) ? exp : NO_TERM;
            top[lane] = live > top[lane] ? live : top[lane];
        }
    }
    for (size_t lane = 0; lane < LANES; lane++) {
        total[lane] = 0.0;
        unit[lane] = emu_power(top[lane] - frac_bits);
    }
    for (size_t term = 0; term < terms; term++) {
        const int32_t *restrict ea = exp_a + term * width_a, *restrict eb = exp_b + term * LANES;
        for (size_t lane = 0; lane < LANES; lane++)
            total[lane] += emu_cut((double)sums[term][lane] * emu_power(ea[lane * lane_a] + eb[lane] - low_bits), unit[lane], unit[lane]);
    }
}

EMU_INLINE void add_products(const emu_dot *plan, size_t terms, const float *restrict a, const int32_t *restrict exp_a, size_t width_a,
                             const float *restrict b, const int32_t *restrict exp_b, int32_t *restrict top, double *restrict total) {
    const size_t lane_a = width_a > 1;
    const int32_t raised = plan->raised, base = 127 + plan->frac_bits - plan->low_bits, frac_bits = plan->frac_bits;
    for (size_t term = 0; term < terms; term++)
        for (size_t lane = 0; lane < LANES; lane++) {
            const int32_t exp = exp_a[term * width_a + lane * lane_a] + exp_b[term * LANES + lane] + raised;
            top[lane] = exp > top[lane] ? exp : top[lane];
        }
    for (size_t lane = 0; lane < LANES; lane++)
        total[lane] = 0.0;
    for (size_t first = 0; first < terms; first += PIECE) {
        int32_t part[LANES] = {0};
        for (size_t term = first; term < first + PIECE && term < terms; term++)
            for (size_t lane = 0; lane < LANES; lane++) {
                const int32_t exp = exp_a[term * width_a + lane * lane_a] + exp_b[term * LANES + lane];
                const int32_t field = base + exp - top[lane];
                const float unit = emu_as_float((uint32_t)(field > 1 ? field : 1) << 23);
                part[lane] += (int32_t)(a[term * width_a + lane * lane_a] * b[term * LANES + lane] * unit);
            }
        for (size_t lane = 0; lane < LANES; lane++)
            total[lane] += (double)part[lane] * emu_power(top[lane] - frac_bits);
    }
}

/* Adds C and rounds to the grid of D, for finite operands. Returns whether a result is beyond the largest number of D. */
EMU_INLINE int add_and_round(const emu_dot *plan, const int32_t *restrict top, const double *restrict total, double largest,
                             const double *restrict c, double *restrict result) {
    const int32_t frac_bits = plan->frac_bits;
    const double kept = emu_power(-plan->keep), back = plan->nearest ? 0.0 : 1.0;
    const uint64_t limit = emu_double_bits(largest), lowest = emu_double_bits(emu_power(plan->d_lowest));
    uint64_t beyond = 0;
    for (size_t lane = 0; lane < LANES; lane++) {
        const double unit = emu_power(top[lane] - frac_bits), exact = total[lane] + emu_cut(c[lane], unit, unit);
        /* the leading power of two, at least the smallest normal one */
        const uint64_t above = (emu_double_bits(exact) & EMU_EXPONENT) - lowest;
        const double size = emu_as_double(lowest + (above & ((above >> 63) - 1))) * kept;
        const double rounded = emu_cut(exact, size, size * back) + 0.0;
        result[lane] = rounded;
        beyond |= limit - (emu_double_bits(rounded) & ~EMU_MINUS);
    }
    return (int)(beyond >> 63);
}

/* What is NaN, infinite or beyond the largest number: such an output carries its state, and 0. flags: STATE_* of the step's operands. */
static void mark_states(double largest, const uint8_t *flags, emu_dot_row *out) {
    out->any = 1;
    for (size_t lane = 0; lane < LANES; lane++) {
        const double value = out->c[lane];
        const uint8_t before = (uint8_t)(out->state[lane] | flags[lane]);
        const uint8_t beyond = (uint8_t)(value > largest ? EMU_STATE_PLUS : value < -largest ? EMU_STATE_MINUS : 0);
        out->state[lane] = (uint8_t)(before ? before : beyond);
        out->c[lane] = out->state[lane] ? 0.0 : value;
    }
}

/* What infinite elements do to one output: by zero NaN, else infinity of the sign. */
static uint8_t infinite_products(const emu_dot *plan, const void *a, size_t from_a, const void *b, size_t from_b) {
    uint8_t found = 0;
    for (size_t k = 0; k < (size_t)plan->step; k++) {
        const uint8_t x = plan->a.kind[emu_code_at(a, plan->a.bytes, from_a + k)];
        const uint8_t y = plan->b.kind[emu_code_at(b, plan->b.bytes, from_b + k)];
        if ((x | y) & EMU_KIND_INF)
            found |= (x | y) & EMU_KIND_ZERO ? EMU_STATE_NAN : (x ^ y) & EMU_KIND_MINUS ? EMU_STATE_MINUS : EMU_STATE_PLUS;
    }
    return found;
}

typedef struct job {
    const emu_dot *plan;
    const void *a, *b; /* codes */
    emu_dot_shape of;
    emu_dot_operand left, right;
    size_t rows, columns;
    double largest; /* of D */
} job;

/* STATE_* of one step for the outputs of a row of lanes; returns whether there is any. */
static int step_flags(const job *work, size_t width, size_t row, size_t block, size_t step, uint8_t *flags) {
    const uint8_t *of_a = work->left.flags + (row * work->of.steps + step) * width;
    const uint8_t *of_b = work->right.flags + (block * work->of.steps + step) * LANES;
    uint8_t any = 0;
    for (size_t lane = 0; lane < LANES; lane++) {
        flags[lane] = of_a[width > 1 ? lane : 0] | of_b[lane];
        any |= flags[lane];
    }
    for (size_t lane = 0; any & EMU_HAS_INF && lane < LANES; lane++) {
        const size_t row_a = width > 1 ? row * LANES + lane : row, row_b = block * LANES + lane, first = step * (size_t)work->plan->step;
        const uint8_t has_inf = flags[lane] & EMU_HAS_INF;
        flags[lane] &= EMU_STATE_NAN;
        if (has_inf && row_b < work->columns)
            flags[lane] |= infinite_products(work->plan, work->a, row_a * work->of.k + first, work->b, row_b * work->of.k + first);
    }
    return any;
}

/* One fused step of the outputs of a row of lanes. */
EMU_INLINE void run_step(const job *work, size_t width, size_t row, size_t block, size_t step, emu_dot_row *restrict out, int32_t form) {
    const emu_dot *plan = work->plan;
    const size_t size = (size_t)plan->step, terms = work->of.step_terms, term_a = row * work->of.terms + step * terms;
    const size_t term_b = block * work->of.terms + step * terms;
    const float *a = work->left.value + (row * work->of.k + step * size) * width;
    const float *b = work->right.value + (block * work->of.k + step * size) * LANES;
    const int32_t *exp_a = work->left.exp + term_a * width, *exp_b = work->right.exp + term_b * LANES;
    int32_t top[LANES];
    double total[LANES], result[LANES];
    uint8_t flags[LANES];
    int any = step_flags(work, width, row, block, step, flags) | out->any;
    (void)form;
    start_exponents(plan, out->c, top);
    if (plan->group > 1)
        add_groups(plan, terms, a, exp_a, work->left.bits + term_a * width, width, b, exp_b, work->right.bits + term_b * LANES, top, total);
    else
        add_products(plan, terms, a, exp_a, width, b, exp_b, top, total);
    any |= add_and_round(plan, top, total, work->largest, out->c, result);
    memcpy(out->c, result, sizeof result);
    if (any)
        mark_states(work->largest, flags, out);
}

/* A block of columns with all rows: steps outside, so that a step of B stays near. */
EMU_INLINE void run_block(const job *work, size_t block, emu_dot_row *restrict out, int32_t form) {
    for (size_t step = 0; step < work->of.steps; step++)
        for (size_t row = 0; row < work->rows; row++)
            run_step(work, 1, row, block, step, out + row, form);
}

/* A row of lanes of pairs. */
EMU_INLINE void run_pairs(const job *work, size_t block, emu_dot_row *restrict out, int32_t form) {
    for (size_t step = 0; step < work->of.steps; step++)
        run_step(work, LANES, block, block, step, out, form);
}

EMU_FORMS(run_block, (const job *work, size_t block, emu_dot_row *restrict out), work, block, out)
EMU_FORMS(run_pairs, (const job *work, size_t block, emu_dot_row *restrict out), work, block, out)

size_t emu_dot_room(const emu_dot *plan, size_t rows, size_t columns, size_t k) {
    const emu_dot_shape of = emu_dot_shape_of(plan, k);
    const size_t left = emu_dot_padded_rows(rows), right = emu_dot_padded_rows(columns);
    return emu_dot_operand_bytes(&of, left) + emu_dot_operand_bytes(&of, right) + left * sizeof(emu_dot_row);
}

static int is_format_valid(const emu_dot_format *format) {
    return (format->bytes == 1 || format->bytes == 2) && format->significand != NULL && format->exp != NULL && format->kind != NULL;
}

static int is_dot_valid(const emu_dot *plan, size_t k, const uint8_t *scale_a, const uint8_t *scale_b) {
    if (!is_format_valid(&plan->a) || !is_format_valid(&plan->b) || plan->step < 1 || k % (size_t)plan->step)
        return 0;
    if (plan->group != 1 && (plan->group != 16 && plan->group != 32))
        return 0;
    if (plan->step % plan->group || (plan->group > 1 && plan->step / plan->group > EMU_DOT_MAX_TERMS))
        return 0;
    if (plan->block < 0 || (plan->block && (k % (size_t)plan->block || plan->block % plan->group)))
        return 0;
    if (plan->block && (!is_format_valid(&plan->scale) || plan->scale.bytes != 1 || scale_a == NULL || scale_b == NULL))
        return 0;
    if (plan->frac_bits < 0 || plan->frac_bits > (plan->group == 1 ? 25 : 49) || (plan->d_bytes != 2 && plan->d_bytes != 4))
        return 0;
    return plan->keep >= 0 && plan->keep <= plan->d_frac_bits && plan->d_frac_bits >= 1 && plan->d_frac_bits <= 23;
}

static void run_columns(int32_t form, const job *work, void *d, size_t d_stride, emu_dot_row *rows) {
    for (size_t block = 0; block * LANES < work->columns; block++) {
        const size_t left = work->columns - block * LANES, count = left < LANES ? left : LANES;
        for (size_t row = 0; row < work->rows; row++) {
            memset(rows + row, 0, sizeof *rows);
            for (size_t lane = 0; lane < count; lane++)
                emu_dot_load(work->plan, d, row * d_stride + block * LANES + lane, rows + row, lane);
        }
        EMU_RUN(form, run_block, work, block, rows);
        for (size_t row = 0; row < work->rows; row++)
            for (size_t lane = 0; lane < count; lane++)
                emu_dot_store(work->plan, rows + row, lane, d, row * d_stride + block * LANES + lane);
    }
}

static void run_all_pairs(int32_t form, const job *work, void *d, size_t d_stride, emu_dot_row *one) {
    for (size_t block = 0; block * LANES < work->rows; block++) {
        const size_t left = work->rows - block * LANES, count = left < LANES ? left : LANES;
        memset(one, 0, sizeof *one);
        for (size_t lane = 0; lane < count; lane++)
            emu_dot_load(work->plan, d, (block * LANES + lane) * d_stride, one, lane);
        EMU_RUN(form, run_pairs, work, block, one);
        for (size_t lane = 0; lane < count; lane++)
            emu_dot_store(work->plan, one, lane, d, (block * LANES + lane) * d_stride);
    }
}

int32_t emu_dot_panel(int32_t form, const emu_dot *plan, const void *a, const void *b, const uint8_t *scale_a, const uint8_t *scale_b,
                      size_t rows, size_t columns, size_t k, int32_t paired, void *d, size_t d_stride, void *room) {
    uint8_t *next = room;
    emu_dot_row *rows_of_lanes = room;
    job work;
    int32_t error;
    if (plan == NULL || a == NULL || b == NULL || d == NULL || room == NULL || !is_dot_valid(plan, k, scale_a, scale_b))
        return EMU_KERNEL_ARGUMENT;
    if (paired && rows != columns)
        return EMU_KERNEL_ARGUMENT;
    if (!emu_has_form(form))
        return EMU_KERNEL_FORM;
    error = emu_check_floats();
    if (error)
        return error;
    work.plan = plan, work.a = a, work.b = b, work.rows = rows, work.columns = columns;
    work.of = emu_dot_shape_of(plan, k);
    work.largest = emu_dot_largest(plan);
    next += emu_dot_padded_rows(rows) * sizeof(emu_dot_row);
    work.left = emu_dot_decode(plan, &plan->a, a, scale_a, rows, paired ? EMU_DOT_LANES : 1, &work.of, &next);
    work.right = emu_dot_decode(plan, &plan->b, b, scale_b, columns, EMU_DOT_LANES, &work.of, &next);
    if (paired)
        run_all_pairs(form, &work, d, d_stride, rows_of_lanes);
    else
        run_columns(form, &work, d, d_stride, rows_of_lanes);
    return EMU_KERNEL_OK;
}
