/* dequantize: steps on the levels of each block to the factors of its elements, the table of 16 values, then each element times or by the
 * factors, one binary32 operation each. NaN is canonical. */
#include "kernels.h"

typedef struct scratch {
    uint32_t registers[EMU_MAX_REGISTERS][EMU_LANES];
} scratch;

EMU_INLINE uint32_t applied(uint32_t value, float factor, int32_t divides) {
    const uint32_t bits = emu_as_bits(divides ? emu_as_float(value) / factor : emu_as_float(value) * factor);
    return (bits & EMU_MAGNITUDE) > EMU_INFINITY ? EMU_CANONICAL_NAN : bits;
}

EMU_INLINE void apply_blocks(uint32_t *restrict values, const uint32_t *restrict factors, size_t blocks, size_t block, int32_t divides,
                             int32_t form) {
    (void)form;
    for (size_t b = 0; b < blocks; b++) {
        const float factor = emu_as_float(factors[b]);
        for (size_t i = 0; i < block; i++)
            values[b * block + i] = applied(values[b * block + i], factor, divides);
    }
}

EMU_INLINE void apply_block(uint32_t *restrict values, const uint32_t *restrict factors, size_t blocks, size_t block, int32_t divides,
                            int32_t form) {
    if (divides)
        apply_blocks(values, factors, blocks, block, 1, form);
    else if (block == 16)
        apply_blocks(values, factors, blocks, 16, 0, form);
    else if (block == 4)
        apply_blocks(values, factors, blocks, 4, 0, form);
    else
        apply_blocks(values, factors, blocks, block, 0, form);
}

EMU_INLINE void apply_row(uint32_t *restrict values, const uint32_t *restrict factors, size_t width, int32_t divides, int32_t form) {
    (void)form;
    if (divides)
        for (size_t j = 0; j < width; j++)
            values[j] = applied(values[j], emu_as_float(factors[j]), 1);
    else
        for (size_t j = 0; j < width; j++)
            values[j] = applied(values[j], emu_as_float(factors[j]), 0);
}

EMU_FORMS(apply_block, (uint32_t *restrict values, const uint32_t *restrict factors, size_t blocks, size_t block, int32_t divides), values,
          factors, blocks, block, divides)
EMU_FORMS(apply_row, (uint32_t *restrict values, const uint32_t *restrict factors, size_t width, int32_t divides), values, factors, width,
          divides)

/* Levels of `count` blocks from `first` on into registers, then the steps. */
static void find_factors(int32_t form, const emu_back_plan *plan, void *const *levels, size_t first, size_t count, scratch *room) {
    for (int32_t level = 0; level < plan->level_count; level++) {
        uint32_t *into = room->registers[plan->levels[level]];
        for (size_t i = 0; i < count; i++)
            into[i] = plan->level_bytes[level] == 1 ? ((const uint8_t *)levels[level])[first + i]
                                                    : ((const uint32_t *)levels[level])[first + i];
    }
    emu_run_steps(form, plan->steps, plan->step_count, (int32_t)count, room->registers[0]);
}

static void in_rows(int32_t form, const emu_back_plan *plan, const uint8_t *codes, size_t blocks, void *const *levels, uint32_t *values,
                    scratch *room) {
    const size_t block = (size_t)plan->block, most = EMU_CHUNK / block < EMU_LANES ? EMU_CHUNK / block : EMU_LANES;
    for (size_t first = 0; first < blocks; first += most) {
        const size_t count = blocks - first < most ? blocks - first : most;
        find_factors(form, plan, levels, first, count, room);
        emu_decode_4bit(form, plan->values, codes + first * block, count * block, 0, values + first * block);
        for (int32_t k = 0; k < plan->count; k++)
            EMU_RUN(form, apply_block, values + first * block, room->registers[plan->factors[k]], count, block, plan->divides[k]);
    }
}

static void in_columns(int32_t form, const emu_back_plan *plan, const uint8_t *codes, size_t rows, size_t columns, void *const *levels,
                       uint32_t *values, scratch *room) {
    const size_t block = (size_t)plan->block, most = EMU_LANES;
    for (size_t panel = 0; panel < rows / block; panel++)
        for (size_t left = 0; left < columns; left += most) {
            const size_t count = columns - left < most ? columns - left : most;
            find_factors(form, plan, levels, panel * columns + left, count, room);
            for (size_t row = 0; row < block; row++) {
                const size_t start = (panel * block + row) * columns + left;
                emu_decode_4bit(form, plan->values, codes + start, count, 0, values + start);
                for (int32_t k = 0; k < plan->count; k++)
                    EMU_RUN(form, apply_row, values + start, room->registers[plan->factors[k]], count, plan->divides[k]);
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
        if (plan->levels[level] < 0 || plan->levels[level] >= last || (plan->level_bytes[level] != 1 && plan->level_bytes[level] != 4))
            return 0;
    for (int32_t k = 0; k < plan->count; k++)
        if (plan->factors[k] < 0 || plan->factors[k] >= last)
            return 0;
    return 1;
}

int32_t emu_dequantize_4bit(int32_t form, const emu_back_plan *plan, const uint8_t *codes, size_t rows, size_t columns, int32_t along_rows,
                            void *const *levels, uint32_t *values) {
    scratch room;
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
