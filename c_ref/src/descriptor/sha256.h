/* sha256.h: SHA-256 of a text in pieces. Private. */
#ifndef EMU_SHA256_H
#define EMU_SHA256_H

#include <stddef.h>
#include <stdint.h>

typedef struct emu_sha256 {
    uint32_t state[8];
    uint64_t bytes;
    uint8_t block[64];
} emu_sha256;

void emu_sha256_begin(emu_sha256 *hash);
void emu_sha256_add(emu_sha256 *hash, const char *text, size_t length);
void emu_sha256_end(emu_sha256 *hash, char hex[65]);

#endif
