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
    const emu_kernel_step step = {.operation = EMU_STEP_DIV, .out = 2, .args = {1}, .nan = -1};
    const emu_kernel_plan plan = {block, 3, initial, 0, NULL, 1, &step, rotation, 1, 0, 2, divides, NULL, &chain, 2, {2, 1}, {4, 1}};
    const size_t count = rows * columns, width = source == EMU_SOURCE_FP32 ? 4 : 2;
    void *x = filled(count * width, 6), *levels[2] = {malloc(4 * (count / (size_t)block)), malloc(count / (size_t)block)};
    uint8_t *codes = malloc(count), marks;
    uint32_t tensor[EMU_MAX_REGISTERS];
    if (columns % (size_t)block == 0)
        CHECK(emu_quantize_4bit(form, &plan, source, x, rows, columns, 0, NULL, codes, levels, tensor, &marks));
    if (rows % (size_t)block == 0)
        CHECK(emu_quantize_4bit(form, &plan, source, x, rows, columns, 1, NULL, codes, levels, tensor, &marks));
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

static int dots(int32_t form, size_t rows, size_t columns, int32_t group, int32_t block, int32_t bytes, int32_t d_bytes) {
    const size_t entries = bytes == 1 ? 256 : 65536, k = 128, scales = block ? k / (size_t)block : 0;
    float *significand = malloc(entries * sizeof *significand);
    int32_t *exp = malloc(entries * sizeof *exp);
    uint8_t *kind = malloc(entries);
    for (size_t code = 0; code < entries; code++) {
        const int is_special = code % 64 == 63;
        significand[code] = is_special ? 0.0f : (float)(code % 16) - 8.0f;
        exp[code] = is_special || code % 16 == 8 ? EMU_DOT_DEAD : (int32_t)(code / 16 % 16) - 8;
        kind[code] = is_special ? (code % 128 == 127 && group == 1 ? EMU_KIND_INF : EMU_KIND_NAN) : code % 16 == 8 ? EMU_KIND_ZERO : 0;
    }
    const emu_dot_format format = {bytes, significand, exp, kind}, scale = {1, significand, exp, kind};
    const uint32_t wide = d_bytes == 4;
    const emu_dot plan = {format, format, scale, 32, group, block, group == 1 ? 25 : 35, 12, 0, -139, 1, wide ? 23 : 10, d_bytes,
                          wide ? 23 : 10, wide ? -126 : -14, wide ? 0x7F7FFFFFu : 0x7BFFu, wide ? 0x7F800000u : 0x7C00u,
                          wide ? 0x7FFFFFFFu : 0x7FFFu, wide ? 0x80000000u : 0x8000u};
    void *a = filled(rows * k * (size_t)bytes, 8), *b = filled(columns * k * (size_t)bytes, 9);
    uint8_t *of_a = filled(rows * scales, 10), *of_b = filled(columns * scales, 11);
    void *d = filled(rows * columns * (size_t)d_bytes, 12), *pairs = filled(rows * (size_t)d_bytes, 13);
    void *room = malloc(emu_dot_room(&plan, rows, columns, k)), *room_of_pairs = malloc(emu_dot_room(&plan, rows, rows, k));
    CHECK(emu_dot_panel(form, &plan, a, b, of_a, of_b, rows, columns, k, 0, d, columns, room));
    CHECK(emu_dot_panel(form, &plan, a, a, of_a, of_a, rows, rows, k, 1, pairs, 1, room_of_pairs));
    CHECK(emu_dot_epilogue(&plan, wide ? 0x40490FDBu : 0x4248u, pairs, pairs, rows, (int32_t)rows % 2, pairs));
    free(significand), free(exp), free(kind), free(a), free(b), free(of_a), free(of_b);
    free(d), free(pairs), free(room), free(room_of_pairs);
    return 0;
}

static int levels(int32_t form, size_t rows, size_t columns, size_t k, int32_t bits, int32_t beyond, int32_t mode, int32_t block) {
    const emu_hold_float hold = {0.0078125, 35184372088832.0, 1.1754943508222875e-38, 3.3895313892515355e38, 1e300, 1e300, 0.0, 0.0, mode,
                                 0, ~(uint64_t)0, 0, 0, 0, 0, 0};
    uint32_t words[256];
    for (size_t code = 0; code < 256; code++)
        words[code] = code == 255 && bits == 0 ? 0x7F800000u : (uint32_t)(0x3F800000u + ((code & 15u) << 20) + ((code >> 7) << 31));
    const emu_level_operand format = {1, words};
    const size_t blocks = block ? k / (size_t)block : 0;
    emu_levels plan;
    void *a = filled(rows * k, 14), *b = filled(columns * k, 15), *of_a = filled(rows * blocks, 16), *of_b = filled(columns * blocks, 17);
    uint32_t *d = malloc(4 * rows * columns), *pairs = malloc(4 * rows);
    double *c = calloc(rows * columns, sizeof *c);
    size_t failed;
    memset(&plan, 0, sizeof plan);
    plan.a = plan.b = plan.scale = format;
    plan.lot = block ? block : 1, plan.block = block, plan.summed = block > 0, plan.narrow = 1;
    plan.bits = bits, plan.beyond = beyond, plan.per_unit = 1024.0, plan.unit = 0.0009765625;
    plan.shift = bits > 40 ? 0 : 5, plan.bias = 15, plan.bias_odd = 1, plan.lift = bits > 40 ? 20 : 0;
    plan.held = plan.out = hold, plan.out_plus_c = 1, plan.once = rows % 2, plan.d_frac_bits = 7, plan.d_lowest = -126;
    plan.d_inf = 0x7F80u, plan.d_nan = 0x7FC0u, plan.d_sign = 0x8000u;
    void *room = malloc(emu_levels_room(&plan, rows, columns, k)), *room_of_pairs = malloc(emu_levels_room(&plan, rows, rows, k));
    CHECK(emu_levels_panel(form, &plan, a, b, of_a, of_b, rows, columns, k, 0, c, NULL, d, NULL, &failed, room));
    CHECK(emu_levels_panel(form, &plan, a, a, of_a, of_a, rows, rows, k, 1, c, NULL, pairs, NULL, &failed, room_of_pairs));
    free(a), free(b), free(of_a), free(of_b), free(d), free(pairs), free(c), free(room), free(room_of_pairs);
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
            if (dots(form, n % 70 + 1, n % 90 + 1, 16, 32, 1, 4) || dots(form, n % 40 + 1, n % 50 + 1, 1, 0, 2, 2) ||
                dots(form, n % 33 + 1, n % 65 + 1, 1, 32, 1, 4) || dots(form, n % 65 + 1, n % 33 + 1, 32, 32, 1, 2))
                return 1;
            for (int32_t way = 0; way < 4; way++)
                if (levels(form, n % 40 + 1, n % 70 + 1, n % 19 + 1, 0, 0, way % 3, 0) ||
                    levels(form, n % 40 + 1, n % 34 + 1, 16 * (n % 5 + 1), way % 2 ? 24 : 64, way, 0, way < 2 ? 16 : 0))
                    return 1;
        }
    }
    printf("%ld calls\n", calls);
    return 0;
}
