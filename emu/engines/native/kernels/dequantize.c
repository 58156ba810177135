/* dequantize: steps on the levels of each block to the factors of its elements, the table of 16 values, then each element times or by the
 * factors, one binary32 operation each. NaN is canonical. */
#include "kernels.h"

typedef struct scratch {
    uint32_t registers[EMU_MAX_REGISTERS][EMU_LANES];
} scratch;

/* Up to three factors of each block: one binary32 operation for each, in turn. */
typedef struct factors {
    const uint32_t *of[3];
} factors;

EMU_INLINE uint32_t canonical(float value) {
    const uint32_t bits = emu_as_bits(value);
    return (bits & EMU_MAGNITUDE) > EMU_INFINITY ? EMU_CANONICAL_NAN : bits;
}

EMU_INLINE uint32_t applied(uint32_t bits, float first, float second, float third, int32_t count, int32_t divides) {
    float value = divides ? emu_as_float(bits) / first : emu_as_float(bits) * first;
    if (count > 1)
        value = value * second;
    if (count > 2)
        value = value * third;
    return canonical(value);
}

EMU_INLINE void apply_blocks(uint32_t *restrict values, const factors *by, size_t blocks, size_t block, int32_t count, int32_t divides) {
    const uint32_t *restrict f = by->of[0], *restrict g = by->of[1], *restrict h = by->of[2];
    for (size_t b = 0; b < blocks; b++) {
        const float first = emu_as_float(f[b]), second = emu_as_float(g[b]), third = emu_as_float(h[b]);
        for (size_t i = 0; i < block; i++)
            values[b * block + i] = applied(values[b * block + i], first, second, third, count, divides);
    }
}

EMU_INLINE void multiply_blocks(uint32_t *restrict values, const factors *by, size_t blocks, size_t block, int32_t count) {
    if (count == 1)
        apply_blocks(values, by, blocks, block, 1, 0);
    else if (count == 2)
        apply_blocks(values, by, blocks, block, 2, 0);
    else
        apply_blocks(values, by, blocks, block, 3, 0);
}

/* `count` factors that all multiply, or one that divides. block: elements that share a factor; of a row each has its own. */
EMU_INLINE void apply(uint32_t *restrict values, const factors *by, size_t blocks, size_t block, int32_t count, int32_t divides, int32_t form) {
    (void)form;
    if (divides && block == 1)
        apply_blocks(values, by, blocks, 1, 1, 1);
    else if (divides)
        apply_blocks(values, by, blocks, block, 1, 1);
    else if (block == 1)
        multiply_blocks(values, by, blocks, 1, count);
    else if (block == 4)
        multiply_blocks(values, by, blocks, 4, count);
    else if (block == 16)
        multiply_blocks(values, by, blocks, 16, count);
    else
        multiply_blocks(values, by, blocks, block, count);
}

EMU_FORMS(apply, (uint32_t *restrict values, const factors *by, size_t blocks, size_t block, int32_t count, int32_t divides), values, by,
          blocks, block, count, divides)

/* The factors of a plan, in turn: up to three that multiply at a time. NaN stays NaN on the way. */
static void apply_factors(int32_t form, const emu_back_plan *plan, scratch *room, uint32_t *values, size_t blocks, size_t block) {
    for (int32_t k = 0; k < plan->count;) {
        const uint32_t *const one = room->registers[plan->factors[k]];
        factors by = {{one, one, one}};
        int32_t count = 0;
        const int32_t divides = plan->divides[k];
        do
            by.of[count++] = room->registers[plan->factors[k++]];
        while (k < plan->count && !divides && !plan->divides[k] && count < 3);
        EMU_RUN(form, apply, values, &by, blocks, block, count, divides);
    }
}

EMU_INLINE uint32_t level_code(const void *codes, int32_t bytes, size_t at) {
    return bytes == 1 ? ((const uint8_t *)codes)[at] : ((const uint32_t *)codes)[at];
}

/* Codes of a level, for `count` blocks from `first` on: each stands for the 1 << shift blocks of its row that share it. */
static void take_level(const void *codes, int32_t bytes, int32_t shift, size_t first, size_t count, uint32_t *into) {
    if (!shift)
        for (size_t i = 0; i < count; i++)
            into[i] = level_code(codes, bytes, first + i);
    for (size_t i = 0; shift && i < count;) {
        const size_t at = (first + i) >> shift, left = ((at + 1) << shift) - first, end = left < count ? left : count;
        const uint32_t code = level_code(codes, bytes, at);
        while (i < end)
            into[i++] = code;
    }
}

static void in_rows(int32_t form, const emu_back_plan *plan, const uint8_t *codes, size_t blocks, void *const *levels, uint32_t *values,
                    scratch *room) {
    const size_t block = (size_t)plan->block, most = EMU_CHUNK / block < EMU_LANES ? EMU_CHUNK / block : EMU_LANES;
    for (size_t first = 0; first < blocks; first += most) {
        const size_t count = blocks - first < most ? blocks - first : most;
        for (int32_t level = 0; level < plan->level_count; level++)
            take_level(levels[level], plan->level_bytes[level], plan->level_shifts[level], first, count, room->registers[plan->levels[level]]);
        emu_run_steps(form, plan->steps, plan->step_count, (int32_t)count, room->registers[0]);
        emu_decode_4bit(form, plan->values, codes + first * block, count * block, 0, values + first * block);
        apply_factors(form, plan, room, values + first * block, count, block);
    }
}

static void in_columns(int32_t form, const emu_back_plan *plan, const uint8_t *codes, size_t rows, size_t columns, void *const *levels,
                       uint32_t *values, scratch *room) {
    const size_t block = (size_t)plan->block, most = EMU_LANES;
    for (size_t panel = 0; panel < rows / block; panel++)
        for (size_t left = 0; left < columns; left += most) {
            const size_t count = columns - left < most ? columns - left : most;
            for (int32_t level = 0; level < plan->level_count; level++)
                take_level(levels[level], plan->level_bytes[level], 0, (panel >> plan->level_shifts[level]) * columns + left, count,
                           room->registers[plan->levels[level]]);
            emu_run_steps(form, plan->steps, plan->step_count, (int32_t)count, room->registers[0]);
            for (size_t row = 0; row < block; row++) {
                const size_t start = (panel * block + row) * columns + left;
                emu_decode_4bit(form, plan->values, codes + start, count, 0, values + start);
                apply_factors(form, plan, room, values + start, count, 1);
            }
        }
}

static int32_t is_plan_valid(const emu_back_plan *plan) {
    const int32_t block = plan->block, last = plan->register_count;
    if (block < 2 || block > EMU_LANES || (block & (block - 1)) || last < 1 || last > EMU_MAX_REGISTERS || plan->initial == NULL)
        return 0;
    if (plan->values == NULL || plan->level_count < 0 || plan->level_count > 4 || plan->count < 0 || plan->count > 4)
        return 0;
    for (int32_t level = 0; level < plan->level_count; level++)
        if (plan->levels[level] < 0 || plan->levels[level] >= last || (plan->level_bytes[level] != 1 && plan->level_bytes[level] != 4) ||
            plan->level_shifts[level] < 0 || plan->level_shifts[level] > 16)
            return 0;
    for (int32_t k = 0; k < plan->count; k++)
        if (plan->factors[k] < 0 || plan->factors[k] >= last)
            return 0;
    return 1;
}

int32_t emu_dequantize_4bit(int32_t form, const emu_back_plan *plan, const uint8_t *codes, size_t rows, size_t columns, int32_t along_rows,
                            void *const *levels, uint32_t *values) {
    EMU_ALIGNED scratch room;
    int32_t error;
    if (plan == NULL || codes == NULL || levels == NULL || values == NULL || !is_plan_valid(plan))
        return EMU_KERNEL_ARGUMENT;
    if ((along_rows ? rows : columns) % (size_t)plan->block)
        return EMU_KERNEL_ARGUMENT;
    if (!emu_has_form(form))
        return EMU_KERNEL_FORM;
    error = emu_start_registers(form, plan->initial, plan->register_count, plan->once, plan->once_count, plan->steps, plan->step_count,
                                room.registers);
    if (error)
        return error;
    if (along_rows)
        in_columns(form, plan, codes, rows, columns, levels, values, &room);
    else
        in_rows(form, plan, codes, rows * columns / (size_t)plan->block, levels, values, &room);
    return EMU_KERNEL_OK;
}
