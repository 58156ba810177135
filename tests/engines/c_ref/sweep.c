/* Calls the reference from plain C: every code of a small format, every mode, extreme descriptors; built with sanitizers by the test. */
#include <stdio.h>

#include "emu_ref.h"

static const emu_format e2m1 = {EMU_FLOAT, 0, 1, 2, 1, 1, 1, 1, 0, EMU_INF_NONE, EMU_NAN_NONE, 0, {0}, 0, 0, 0, -1, NULL};
static const emu_format fp32 = {EMU_FLOAT, 0, 1, 8, 23, 127, 1, 1, 0, EMU_INF_IEEE, EMU_NAN_IEEE, 0, {0}, 0, 0, 0, -1, NULL};
static const emu_format fp64 = {EMU_FLOAT, 0, 1, 11, 52, 1023, 1, 1, 0, EMU_INF_IEEE, EMU_NAN_IEEE, 0, {0}, 0, 0, 0, -1, NULL};
static const emu_format widest = {EMU_FLOAT, 0, 1, 15, 48, -1000000, 1, 1, 0, EMU_INF_NONE, EMU_NAN_NONE, 0, {0}, 0, 0, 0, -1, NULL};
static const emu_format narrow = {EMU_FLOAT, 0, 0, 1, 62, 1000000, 0, 0, 0, EMU_INF_NONE, EMU_NAN_NONE, 0, {0}, 0, 0, 0, -1, NULL};
static const emu_format long_integer = {EMU_INTEGER, 63, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0}, EMU_TWOS_COMPLEMENT, -1000, 0, -1, NULL};
static const emu_format power = {EMU_EXPONENT, 16, 0, 0, 0, -1000000, 0, 0, 0, 0, EMU_NAN_NONE, 0, {0}, 0, 0, 0, -1, NULL};
static const int64_t entries[4] = {-2305843009213693951, 0, 1, 2305843009213693951};
static const emu_format codebook = {EMU_CODEBOOK, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0}, 0, -60, EMU_TIE_AWAY, -1, entries};

static const uint64_t patterns[] = {0, 1, 2, 3, 0x3FF, 0x400, 0x7FFFFF, 0x800000, 0x3F800000, 0x40A00001, 0x7F7FFFFF, 0x7F800000, 0x7FC00000, 0x7FFFFFFF};

static uint64_t checksum, count;

static int pass(const emu_format *source, const emu_format *to, const emu_rounding *rounding, const emu_policy *policy, uint64_t code)
{
    uint64_t converted = 0;
    uint8_t open = 0;
    uint32_t random = rounding->random_bits ? (uint32_t)(code * 2654435761u) >> (32 - rounding->random_bits) : 0;
    int32_t error = emu_convert_code(source, to, rounding, policy, code, random, &converted, &open);
    checksum = checksum * 31 + converted + open;
    count++;
    return error == EMU_OK || error == EMU_ERROR_CODE || error == EMU_ERROR_ROUNDING;
}

int main(void)
{
    static const emu_format *formats[] = {&e2m1, &fp32, &fp64, &widest, &narrow, &long_integer, &power, &codebook};
    emu_policy policy = {EMU_SATURATE, {{EMU_IS_OPEN, 0}, {EMU_BY_CODE, 1}}, {0, 0}, {{0, 0}, {0, 0}}, {{0, 0}, {0, 0}}, {{0, 0}, {0, 0}}};
    for (int from = 0; from < 8; from++) {
        for (int to = 0; to < 8; to++) {
            for (int32_t mode = 0; mode < 8; mode++) {
                emu_rounding rounding = {{{mode & 3, mode & 3, 1}, {1, mode & 3, mode & 3}}, mode < 4 ? 0 : mode - 3, mode < 4 ? 0 : 32 - mode, {0, 1}};
                policy.overflow = to == 7 || mode % 2 ? EMU_SATURATE : EMU_WRAP;
                for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
                    for (int32_t shift = 0; shift < 64; shift += 3) {
                        if (!pass(formats[from], formats[to], &rounding, &policy, patterns[i] << shift))
                            return 1;
                        if (!pass(formats[from], formats[to], &rounding, &policy, patterns[i] >> shift))
                            return 1;
                    }
                }
            }
        }
    }
    {
        emu_rounding nearest = {{{EMU_KEEP, EMU_TO_EVEN_CODE, EMU_NEXT}, {EMU_KEEP, EMU_TO_EVEN_CODE, EMU_NEXT}}, 0, 0, {1, 1}};
        uint64_t converted = 0;
        uint8_t open = 0;
        policy.overflow = EMU_SATURATE;
        if (emu_convert_code(&fp32, &e2m1, &nearest, &policy, 0x40A00001, 0, &converted, &open) || converted != 7 || open)
            return 2;
    }
    printf("%llu conversions\n", (unsigned long long)count);
    return count > 100000 ? 0 : 3;
}
