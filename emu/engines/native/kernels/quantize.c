/* quantize: blocks along a row or along a column, a chunk at a time: maxima of the blocks, steps to their factors, elements times or by the
 * factors and rounded to odd, then the chain of convert.c. Each is a loop over a whole chunk, which stays in the nearest caches. */
#include "kernels.h"

/* What lies between the passes over one chunk. */
typedef struct scratch {
    uint32_t registers[EMU_MAX_REGISTERS][EMU_LANES];
    uint32_t factors[EMU_LANES];
    uint32_t values[EMU_CHUNK];
    uint32_t rotated[EMU_ROTATED][EMU_LANES];
    uint8_t left[EMU_LANES];
    uint32_t halved[2][EMU_CHUNK / 2];
    uint16_t scaled[EMU_CHUNK];
    uint8_t codes[EMU_CHUNK];
} scratch;

EMU_INLINE uint32_t merge(uint32_t a, uint32_t b, int32_t drops) {
    const uint32_t most = a > b ? a : b, least = a > b ? b : a;
    return drops && most > EMU_INFINITY ? least : most;
}

/* The larger of the two halves of each group of 2 * half, lane by lane. */
EMU_INLINE void fold(const uint32_t *restrict x, size_t groups, size_t half, uint32_t *restrict y, int32_t drops, int32_t form) {
    (void)form;
    for (size_t group = 0; group < groups; group++)
        for (size_t i = 0; i < half; i++)
            y[group * half + i] = merge(x[2 * group * half + i] & EMU_MAGNITUDE, x[(2 * group + 1) * half + i] & EMU_MAGNITUDE, drops);
}

EMU_INLINE void halve(const uint32_t *restrict x, size_t groups, size_t half, uint32_t *restrict y, int32_t drops, int32_t form) {
    if (drops)
        fold(x, groups, half, y, 1, form);
    else if (half == 16)
        fold(x, groups, 16, y, 0, form);
    else if (half == 8)
        fold(x, groups, 8, y, 0, form);
    else if (half == 4)
        fold(x, groups, 4, y, 0, form);
    else if (half == 1)
        fold(x, groups, 1, y, 0, form);
    else
        fold(x, groups, half, y, 0, form);
}

EMU_INLINE void take_rows(const uint32_t *restrict x, size_t width, size_t rows, size_t stride, int32_t drops, uint32_t *restrict best,
                          int32_t form) {
    (void)form;
    for (size_t j = 0; j < width; j++)
        best[j] = x[j] & EMU_MAGNITUDE;
    for (size_t row = 1; row < rows; row++)
        for (size_t j = 0; j < width; j++)
            best[j] = merge(best[j], x[row * stride + j] & EMU_MAGNITUDE, drops);
}

EMU_INLINE uint16_t scale_one(uint32_t x, float factor, int32_t divides) {
    const float value = emu_as_float(x);
    return emu_odd_bf16(emu_as_bits(divides ? value / factor : value * factor));
}

/* Two blocks of 16 at a time: 32 results of 16 bits fill the widest register. */
EMU_INLINE void scale_pairs(const uint32_t *restrict x, const uint32_t *restrict factors, size_t pairs, int32_t divides,
                            uint16_t *restrict scaled, int32_t form) {
    (void)form;
    for (size_t pair = 0; pair < pairs; pair++) {
        const float one = emu_as_float(factors[2 * pair]), two = emu_as_float(factors[2 * pair + 1]);
        const uint32_t *restrict from = x + 32 * pair;
        for (size_t i = 0; i < 32; i++)
            scaled[32 * pair + i] = scale_one(from[i], i < 16 ? one : two, divides);
    }
}

EMU_INLINE void scale_blocks(const uint32_t *restrict x, const uint32_t *restrict factors, size_t blocks, size_t block, int32_t divides,
                             uint16_t *restrict scaled, int32_t form) {
    (void)form;
    for (size_t b = 0; b < blocks; b++) {
        const float factor = emu_as_float(factors[b]);
        for (size_t i = 0; i < block; i++)
            scaled[b * block + i] = scale_one(x[b * block + i], factor, divides);
    }
}

EMU_INLINE void scale_block(const uint32_t *restrict x, const uint32_t *restrict factors, size_t blocks, size_t block, int32_t divides,
                            uint16_t *restrict scaled, int32_t form) {
    const int paired = block == 16 && form != EMU_PORTABLE;
    const size_t last = paired ? blocks & 1 : 0, even = 16 * (blocks - last);
    if (paired && divides)
        scale_pairs(x, factors, blocks / 2, 1, scaled, form);
    else if (paired)
        scale_pairs(x, factors, blocks / 2, 0, scaled, form);
    else if (block == 32 && divides)
        scale_blocks(x, factors, blocks, 32, 1, scaled, form);
    else if (block == 32)
        scale_blocks(x, factors, blocks, 32, 0, scaled, form);
    else
        scale_blocks(x, factors, blocks, block, divides, scaled, form);
    if (last)
        scale_blocks(x + even, factors + blocks - 1, 1, 16, divides, scaled + even, form);
}

EMU_INLINE void scale_row(const uint32_t *restrict x, const uint32_t *restrict factors, size_t width, int32_t divides,
                          uint16_t *restrict scaled, int32_t form) {
    (void)form;
    if (divides)
        for (size_t j = 0; j < width; j++)
            scaled[j] = scale_one(x[j], emu_as_float(factors[j]), 1);
    else
        for (size_t j = 0; j < width; j++)
            scaled[j] = scale_one(x[j], emu_as_float(factors[j]), 0);
}

/* Replace factors that are all powers of two by their reciprocals, which are exact: a product with one is the quotient. */
EMU_INLINE void invert(uint32_t *restrict factors, size_t count, int32_t *inverted, int32_t form) {
    uint32_t odd = 0;
    (void)form;
    for (size_t i = 0; i < count; i++)
        odd |= (factors[i] & 0x807FFFFFu) | (uint32_t)((factors[i] >> 23) - 1u > 253u); /* not 2^-126 .. 2^127 */
    for (size_t i = 0; i < count && !odd; i++)
        factors[i] = emu_as_bits(1.0f / emu_as_float(factors[i]));
    *inverted = !odd;
}

EMU_FORMS(invert, (uint32_t *restrict factors, size_t count, int32_t *inverted), factors, count, inverted)
EMU_FORMS(halve, (const uint32_t *restrict x, size_t groups, size_t half, uint32_t *restrict y, int32_t drops), x, groups, half, y, drops)
EMU_FORMS(take_rows, (const uint32_t *restrict x, size_t width, size_t rows, size_t stride, int32_t drops, uint32_t *restrict best), x,
          width, rows, stride, drops, best)
EMU_FORMS(scale_block, (const uint32_t *restrict x, const uint32_t *restrict factors, size_t blocks, size_t block, int32_t divides,
                        uint16_t *restrict scaled), x, factors, blocks, block, divides, scaled)
EMU_FORMS(scale_row, (const uint32_t *restrict x, const uint32_t *restrict factors, size_t width, int32_t divides,
                      uint16_t *restrict scaled), x, factors, width, divides, scaled)

/* Maxima of blocks that lie one after another: halves of a block down to 4 lanes, then neighbours, until one is left. Measured on Zen 4,
 * 4096 elements in blocks of 16, nanoseconds: AVX-512 298, against 345 for neighbours all the way and 302 for one block after another; AVX2
 * 478, 504 and 712; SSE2 899, 1133 and 1403. */
static void block_maxima(int32_t form, const emu_kernel_plan *plan, const uint32_t *x, size_t blocks, scratch *room) {
    const uint32_t *from = x;
    size_t left = (size_t)plan->block, turn = 0;
    while (left > 1) {
        left /= 2;
        uint32_t *to = left == 1 ? room->registers[plan->amax] : room->halved[turn];
        const size_t half = left < 4 ? 1 : left;
        EMU_RUN(form, halve, from, blocks * left / half, half, to, plan->drops);
        from = to;
        turn ^= 1;
    }
}

/* A maximum that is NaN is the canonical one; then the steps, and the levels of the blocks. Returns whether elements are divided by what
 * stands in room->factors; else they are multiplied. */
static int32_t find_factors(int32_t form, const emu_kernel_plan *plan, size_t count, void *const *levels, size_t first, scratch *room) {
    uint32_t *amax = room->registers[plan->amax];
    int32_t inverted = 0;
    for (size_t i = 0; i < count; i++)
        amax[i] = amax[i] > EMU_INFINITY ? EMU_CANONICAL_NAN : amax[i];
    emu_run_steps(form, plan->steps, plan->step_count, (int32_t)count, room->registers[0]);
    for (int32_t level = 0; level < plan->level_count; level++) {
        const uint32_t *found = room->registers[plan->levels[level]];
        if (plan->level_bytes[level] == 1) {
            uint8_t *codes = (uint8_t *)levels[level] + first;
            for (size_t i = 0; i < count; i++)
                codes[i] = (uint8_t)found[i];
        } else {
            uint32_t *values = (uint32_t *)levels[level] + first;
            for (size_t i = 0; i < count; i++)
                values[i] = (found[i] & EMU_MAGNITUDE) > EMU_INFINITY ? EMU_CANONICAL_NAN : found[i];
        }
    }
    memcpy(room->factors, room->registers[plan->factor], count * sizeof room->factors[0]);
    if (plan->divides)
        EMU_RUN(form, invert, room->factors, count, &inverted);
    return plan->divides && !inverted;
}

/* Elements from `start` on as binary32: in their place, or widened into the scratch. */
static const uint32_t *values_at(int32_t form, int32_t source, const void *x, size_t start, size_t count, uint32_t *room) {
    if (source == EMU_SOURCE_FP32)
        return (const uint32_t *)x + start;
    emu_widen(form, source, (const uint16_t *)x + start, count, room);
    return room;
}

/* Ask for the elements of the next chunk while this one is scaled: measured 10 % with numbers from memory, a quarter at a time. */
static void prefetch(const uint32_t *x, size_t count) {
    for (size_t i = 0; i < count; i += 16)
        EMU_PREFETCH(x + i);
}

static void blocks_in_rows(int32_t form, const emu_kernel_plan *plan, int32_t source, const void *x, size_t blocks, const uint8_t *random,
                           uint8_t *codes, void *const *levels, uint8_t *marks, scratch *room) {
    const size_t block = (size_t)plan->block;
    const size_t most = EMU_CHUNK / block < EMU_LANES ? EMU_CHUNK / block : EMU_LANES, quarter = most / 4;
    for (size_t first = 0; first < blocks; first += most) {
        const size_t count = blocks - first < most ? blocks - first : most;
        const uint32_t *values = values_at(form, source, x, first * block, count * block, room->values);
        if (plan->rotation != NULL) {
            emu_rotate_groups(form, plan->rotation, values, count, room->rotated[0], room->left);
            values = room->rotated[0];
        }
        block_maxima(form, plan, values, count, room);
        const int32_t divides = find_factors(form, plan, count, levels, first, room);
        for (size_t start = 0, end; start < count; start = end) {
            end = start + quarter < count ? start + quarter : count;
            if (source == EMU_SOURCE_FP32 && first + count + end <= blocks)
                prefetch((const uint32_t *)x + (first + count + start) * block, (end - start) * block);
            if (plan->stochastic != NULL)
                emu_draw_blocks(form, plan->stochastic, values + start * block, random + (first + start) * block, room->factors + start,
                                end - start, block, divides, room->scaled);
            else
                EMU_RUN(form, scale_block, values + start * block, room->factors + start, end - start, block, divides, room->scaled);
            emu_chain(form, plan->thresholds, room->scaled, (end - start) * block, codes + (first + start) * block, marks);
        }
    }
}

/* The rows of a strip of blocks as binary32, `stride` apart: in their place, widened, or rotated. */
static const uint32_t *panel_at(int32_t form, const emu_kernel_plan *plan, int32_t source, const void *x, size_t corner, size_t columns,
                                size_t count, size_t *stride, scratch *room) {
    const size_t block = (size_t)plan->block;
    const uint32_t *values = values_at(form, source, x, corner, count, room->values);
    for (size_t row = 1; row < block; row++)
        values_at(form, source, x, corner + row * columns, count, room->values + row * count);
    *stride = source == EMU_SOURCE_FP32 ? columns : count;
    if (plan->rotation == NULL)
        return values;
    for (size_t row = 0; row < EMU_ROTATED; row++) {
        const uint32_t sign = (plan->rotation->signs >> row & 1) << 31;
        for (size_t j = 0; j < count; j++)
            room->rotated[row][j] = values[row * *stride + j] ^ sign;
    }
    emu_rotate_rows(form, plan->rotation, room->rotated, count, room->left);
    *stride = EMU_LANES;
    return room->rotated[0];
}

static void blocks_in_columns(int32_t form, const emu_kernel_plan *plan, int32_t source, const void *x, size_t rows, size_t columns,
                              const uint8_t *random, uint8_t *codes, void *const *levels, uint8_t *marks, scratch *room) {
    const size_t block = (size_t)plan->block;
    const size_t most = EMU_CHUNK / block < EMU_LANES ? EMU_CHUNK / block : EMU_LANES;
    for (size_t panel = 0; panel < rows / block; panel++)
        for (size_t left = 0; left < columns; left += most) {
            const size_t count = columns - left < most ? columns - left : most, corner = panel * block * columns + left;
            size_t stride;
            const uint32_t *values = panel_at(form, plan, source, x, corner, columns, count, &stride, room);
            EMU_RUN(form, take_rows, values, count, block, stride, plan->drops, room->registers[plan->amax]);
            const int32_t divides = find_factors(form, plan, count, levels, panel * columns + left, room);
            for (size_t row = 0; row < block; row++)
                if (plan->stochastic != NULL)
                    emu_draw_row(form, plan->stochastic, values + row * stride, random + corner + row * columns, room->factors, count,
                                 divides, room->scaled + row * count);
                else
                    EMU_RUN(form, scale_row, values + row * stride, room->factors, count, divides, room->scaled + row * count);
            emu_chain(form, plan->thresholds, room->scaled, block * count, room->codes, marks);
            for (size_t row = 0; row < block; row++)
                memcpy(codes + corner + row * columns, room->codes + row * count, count);
        }
}

static int32_t is_plan_valid(const emu_kernel_plan *plan) {
    const int32_t block = plan->block, last = plan->register_count;
    if (block < 2 || block > EMU_LANES || (block & (block - 1)) || last < 1 || last > EMU_MAX_REGISTERS)
        return 0;
    if (plan->initial == NULL || plan->thresholds == NULL || plan->thresholds->count < 0 || plan->thresholds->count > EMU_MAX_THRESHOLDS)
        return 0;
    if (plan->stochastic != NULL && (plan->stochastic->bits < 1 || plan->stochastic->bits > 8 || plan->stochastic->drop > 23 ||
                                     plan->stochastic->drop < plan->stochastic->bits))
        return 0;
    if (plan->rotation != NULL && (block != EMU_ROTATED || plan->rotation->order == EMU_SUM_EXACT))
        return 0;
    if (plan->amax < 0 || plan->amax >= last || plan->factor < 0 || plan->factor >= last || plan->level_count < 0 || plan->level_count > 4)
        return 0;
    for (int32_t level = 0; level < plan->level_count; level++)
        if (plan->levels[level] < 0 || plan->levels[level] >= last || (plan->level_bytes[level] != 1 && plan->level_bytes[level] != 4))
            return 0;
    return 1;
}

int32_t emu_quantize_4bit(int32_t form, const emu_kernel_plan *plan, int32_t source, const void *x, size_t rows, size_t columns,
                          int32_t along_rows, const uint8_t *random, uint8_t *codes, void *const *levels, uint32_t *tensor,
                          uint8_t *marks) {
    EMU_ALIGNED scratch room;
    int32_t error;
    if (plan == NULL || x == NULL || codes == NULL || levels == NULL || tensor == NULL || marks == NULL || !is_plan_valid(plan) ||
        (plan->stochastic != NULL) != (random != NULL))
        return EMU_KERNEL_ARGUMENT;
    if (source < EMU_SOURCE_FP32 || source > EMU_SOURCE_FP16 || (along_rows ? rows : columns) % (size_t)plan->block)
        return EMU_KERNEL_ARGUMENT;
    if (!emu_has_form(form))
        return EMU_KERNEL_FORM;
    error = emu_start_registers(form, plan->initial, plan->register_count, plan->once, plan->once_count, plan->steps, plan->step_count,
                                room.registers);
    if (error)
        return error;
    for (int32_t k = 0; k < plan->register_count; k++)
        tensor[k] = room.registers[k][0];
    *marks = 0;
    if (along_rows)
        blocks_in_columns(form, plan, source, x, rows, columns, random, codes, levels, marks, &room);
    else
        blocks_in_rows(form, plan, source, x, rows * columns / (size_t)plan->block, random, codes, levels, marks, &room);
    return EMU_KERNEL_OK;
}
