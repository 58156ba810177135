/* Every kernel on arrays that end where their memory ends, in every form and many lengths: for the address and undefined sanitizers. */
#include <stdio.h>
#include <stdlib.h>

#include "kernels.h"

#define CHECK(call)                                   \
    do {                                              \
        const int error = (call);                     \
        calls++;                                      \
        if (error) {                                  \
            printf("%s gives %d\n", #call, error);    \
            return 1;                                 \
        }                                             \
    } while (0)

static long calls;

static void *filled(size_t bytes, unsigned seed) {
    uint8_t *memory = malloc(bytes ? bytes : 1);
    for (size_t i = 0; i < bytes; i++) {
        seed = seed * 1103515245u + 12345u;
        memory[i] = (uint8_t)(seed >> 16);
    }
    return memory;
}

static int elementwise(int32_t form, size_t n) {
    const emu_thresholds chain = {9, {1, 0x3E81, 0x3F40, 0x3FA1, 0x3FE0, 0x4021, 0x4060, 0x40A1, 0x7F81}, {0x800, 0x901, 0xA02, 0xB03}};
    const uint32_t table[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    uint32_t *x = filled(4 * n, 1), *values = filled(4 * n, 2), found;
    uint8_t *codes = filled(n, 3), *packed = filled((n + 1) / 2, 4), marks;
    for (int32_t source = EMU_SOURCE_FP32; source <= EMU_SOURCE_FP16; source++) {
        void *given = filled(source == EMU_SOURCE_FP32 ? 4 * n : 2 * n, 5);
        CHECK(emu_convert_4bit(form, &chain, source, given, n, 0, codes, &marks));
        CHECK(emu_convert_4bit(form, &chain, source, given, n, 1, packed, &marks));
        CHECK(emu_amax(form, source, given, n, &found));
        free(given);
    }
    CHECK(emu_decode_4bit(form, table, codes, n, 0, values));
    CHECK(emu_decode_4bit(form, table, packed, n, 1, values));
    CHECK(emu_read_4_write_1(form, x, n, codes));
    free(x), free(values), free(codes), free(packed);
    return 0;
}

static int blocks(int32_t form, int32_t source, int32_t block, size_t rows, size_t columns, const emu_rotation *rotation, int divides) {
    const emu_thresholds chain = {2, {0x3F80, 0x7F81}, {0, 1, 2}};
    const uint32_t initial[4] = {0x40C00000u, 0, 0, 0};
    const emu_kernel_step step = {EMU_STEP_DIV, 2, {1, 0, 0, 0}, 0, 0, 0, 0, 0, -1, NULL, NULL};
    const emu_kernel_plan plan = {block, 3, initial, 0, NULL, 1, &step, rotation, 1, 0, 2, divides, &chain, 2, {2, 1}, {4, 1}};
    const size_t count = rows * columns, width = source == EMU_SOURCE_FP32 ? 4 : 2;
    void *x = filled(count * width, 6), *levels[2] = {malloc(4 * (count / (size_t)block)), malloc(count / (size_t)block)};
    uint8_t *codes = malloc(count), marks;
    uint32_t tensor[EMU_MAX_REGISTERS];
    if (columns % (size_t)block == 0)
        CHECK(emu_quantize_4bit(form, &plan, source, x, rows, columns, 0, codes, levels, tensor, &marks));
    if (rows % (size_t)block == 0)
        CHECK(emu_quantize_4bit(form, &plan, source, x, rows, columns, 1, codes, levels, tensor, &marks));
    free(x), free(levels[0]), free(levels[1]), free(codes);
    return 0;
}

static int groups(int32_t form, size_t n) {
    for (int32_t order = EMU_SUM_BUTTERFLY; order <= EMU_SUM_EXACT; order++)
        for (int32_t source = EMU_SOURCE_FP32; source <= EMU_SOURCE_FP16; source++) {
            const emu_rotation rotation = {order, source == EMU_SOURCE_FP32 ? EMU_SOURCE_FP32 : EMU_SOURCE_BF16, 0xD7E8, 0x3E800000u};
            void *x = filled(16 * n * (source == EMU_SOURCE_FP32 ? 4 : 2), 7);
            uint32_t *y = malloc(64 * n + 1);
            uint8_t *left = malloc(n + 1);
            CHECK(emu_rotate(form, &rotation, source, x, n, y, left));
            free(x), free(y), free(left);
        }
    return 0;
}

int main(void) {
    const emu_rotation rotation = {EMU_SUM_BUTTERFLY, EMU_SOURCE_BF16, 3, 0x3E800000u};
    const size_t lengths[] = {1, 2, 15, 16, 17, 31, 33, 63, 64, 65, 127, 255, 256, 257, 300, 4095, 4096, 4097, 8191};
    for (int32_t form = EMU_PORTABLE; form <= emu_best_form(); form++) {
        for (size_t k = 0; k < sizeof lengths / sizeof lengths[0]; k++) {
            const size_t n = lengths[k];
            if (elementwise(form, n) || groups(form, n % 600 + 1))
                return 1;
            for (int32_t block = 2; block <= EMU_LANES; block *= 2)
                for (int32_t source = EMU_SOURCE_FP32; source <= EMU_SOURCE_FP16; source++)
                    if (blocks(form, source, block, (size_t)block, n % 700 + 1, NULL, 1) ||
                        blocks(form, source, block, n % 70 + 1, (size_t)block, NULL, 0))
                        return 1;
            if (blocks(form, EMU_SOURCE_FP32, 16, 32, n % 600 + 1, &rotation, 0) ||
                blocks(form, EMU_SOURCE_BF16, 16, n % 60 + 1, 48, &rotation, 1))
                return 1;
        }
    }
    printf("%ld calls\n", calls);
    return 0;
}
