/* philox.c: Philox4x32-10 random words by place, with no state (Salmon and others, SC 2011). */
#include "philox.h"

uint32_t philox_word(uint64_t key, uint64_t place)
{
    uint32_t c[4] = {(uint32_t)(place / 4), (uint32_t)(place / 4 >> 32), 0, 0};
    uint32_t k[2] = {(uint32_t)key, (uint32_t)(key >> 32)};
    for (int i = 0; i < 10; i++) {
        uint64_t first = (uint64_t)0xD2511F53 * c[0];
        uint64_t second = (uint64_t)0xCD9E8D57 * c[2];
        c[0] = (uint32_t)(second >> 32) ^ c[1] ^ k[0];
        c[1] = (uint32_t)second;
        c[2] = (uint32_t)(first >> 32) ^ c[3] ^ k[1];
        c[3] = (uint32_t)first;
        k[0] += 0x9E3779B9;
        k[1] += 0xBB67AE85;
    }
    return c[place % 4];
}
