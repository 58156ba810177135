/* Philox4x32-10 as emu/base/philox.py has it: the low bits of consecutive words, a byte each. */
#include "kernels.h"

enum { ROUNDS = 10, LANES = 64 };

EMU_INLINE void blocks(uint64_t first, size_t count, uint64_t key, uint64_t stream, uint32_t mask, uint8_t *restrict out, int32_t form) {
    uint32_t word[4][LANES];
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    (void)form;
    for (uint32_t i = 0; i < LANES; i++) {
        word[0][i] = (uint32_t)(first + i);
        word[1][i] = (uint32_t)((first + i) >> 32);
        word[2][i] = (uint32_t)stream;
        word[3][i] = (uint32_t)(stream >> 32);
    }
    for (int32_t round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < LANES; i++) {
            const uint64_t a = (uint64_t)word[0][i] * 0xD2511F53u, b = (uint64_t)word[2][i] * 0xCD9E8D57u;
            word[0][i] = (uint32_t)(b >> 32) ^ word[1][i] ^ k0;
            word[1][i] = (uint32_t)b;
            word[2][i] = (uint32_t)(a >> 32) ^ word[3][i] ^ k1;
            word[3][i] = (uint32_t)a;
        }
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    for (size_t i = 0; i < count; i++)
        for (size_t lane = 0; lane < 4; lane++)
            out[4 * i + lane] = (uint8_t)(word[lane][i] & mask);
}

EMU_FORMS(blocks, (uint64_t first, size_t count, uint64_t key, uint64_t stream, uint32_t mask, uint8_t *restrict out), first, count, key,
          stream, mask, out)

int32_t emu_random_bytes(int32_t form, uint64_t key, uint64_t stream, size_t groups, uint32_t mask, uint8_t *out) {
    if (out == NULL || mask > 255)
        return EMU_KERNEL_ARGUMENT;
    if (!emu_has_form(form))
        return EMU_KERNEL_FORM;
    for (size_t first = 0; first < groups; first += LANES) {
        const size_t count = groups - first < LANES ? groups - first : LANES;
        EMU_RUN(form, blocks, first, count, key, stream, mask, out + 4 * first);
    }
    return EMU_KERNEL_OK;
}
