/* sha256.c: SHA-256 (FIPS 180-4): the last line of a descriptor, and the digest of the rows in the RESULT line of emu_ref. */
#include "sha256.h"

#include <string.h>

static const uint32_t round_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotate(uint32_t word, int count)
{
    return word >> count | word << (32 - count);
}

static void expand(const uint8_t *block, uint32_t *words)
{
    for (int i = 0; i < 16; i++)
        words[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 | (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        uint32_t low = rotate(words[i - 15], 7) ^ rotate(words[i - 15], 18) ^ words[i - 15] >> 3;
        uint32_t high = rotate(words[i - 2], 17) ^ rotate(words[i - 2], 19) ^ words[i - 2] >> 10;
        words[i] = words[i - 16] + low + words[i - 7] + high;
    }
}

static void mix(uint32_t *state, const uint8_t *block)
{
    uint32_t words[64];
    uint32_t v[8];
    expand(block, words);
    memcpy(v, state, sizeof v);
    for (int i = 0; i < 64; i++) {
        uint32_t high = rotate(v[4], 6) ^ rotate(v[4], 11) ^ rotate(v[4], 25);
        uint32_t first = v[7] + high + ((v[4] & v[5]) ^ (~v[4] & v[6])) + round_constants[i] + words[i];
        uint32_t low = rotate(v[0], 2) ^ rotate(v[0], 13) ^ rotate(v[0], 22);
        uint32_t second = low + ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
        for (int k = 7; k > 0; k--)
            v[k] = v[k - 1];
        v[4] += first;
        v[0] = first + second;
    }
    for (int i = 0; i < 8; i++)
        state[i] += v[i];
}

void emu_sha256_begin(emu_sha256 *hash)
{
    const uint32_t start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    memset(hash, 0, sizeof *hash);
    memcpy(hash->state, start, sizeof start);
}

void emu_sha256_add(emu_sha256 *hash, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        hash->block[hash->bytes % 64] = (uint8_t)text[i];
        hash->bytes++;
        if (hash->bytes % 64 == 0)
            mix(hash->state, hash->block);
    }
}

void emu_sha256_end(emu_sha256 *hash, char hex[65])
{
    uint64_t bits = 8 * hash->bytes;
    char length[8];
    for (int i = 0; i < 8; i++)
        length[i] = (char)(bits >> (56 - 8 * i) & 255);
    emu_sha256_add(hash, "\x80", 1);
    while (hash->bytes % 64 != 56)
        emu_sha256_add(hash, "", 1);
    emu_sha256_add(hash, length, 8);
    for (int i = 0; i < 64; i++)
        hex[i] = "0123456789abcdef"[hash->state[i / 8] >> (28 - 4 * (i % 8)) & 15];
    hex[64] = 0;
}
