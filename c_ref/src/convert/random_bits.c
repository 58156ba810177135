/* random_bits.c: the random integer of each element out of words that several elements share. */
#include "../steps.h"

int32_t emu_split_words(const uint64_t *words, const uint8_t *positions, int32_t lanes, int32_t random_bits, size_t count, uint32_t *random)
{
    if (!words || !positions || !random)
        return EMU_ERROR_NULL;
    if (lanes < 1 || lanes > 64 || random_bits < 1 || random_bits > EMU_MAX_RANDOM_BITS)
        return EMU_ERROR_ROUNDING;
    for (int32_t i = 0; i < lanes * random_bits; i++) {
        if (positions[i] > 63)
            return EMU_ERROR_ROUNDING;
    }
    for (size_t i = 0; i < count; i++) {
        uint64_t word = words[i / (size_t)lanes];
        const uint8_t *lane = positions + i % (size_t)lanes * (size_t)random_bits;
        uint32_t bits = 0;
        for (int32_t place = 0; place < random_bits; place++)
            bits = bits << 1 | (uint32_t)(word >> lane[place] & 1);
        random[i] = bits;
    }
    return EMU_OK;
}
