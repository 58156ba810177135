/* arrays.c: codes in arrays and matrices. A code takes 1, 2, 4 or 8 bytes in the order of this machine; any alignment. */
#include <string.h>

#include "../steps.h"

void emu_load_codes(const void *codes, int32_t bytes, size_t start, size_t count, uint64_t *loaded)
{
    const unsigned char *from = (const unsigned char *)codes + start * (size_t)bytes;
    uint16_t two;
    uint32_t four;
    switch (bytes) {
    case 1:
        for (size_t i = 0; i < count; i++)
            loaded[i] = from[i];
        break;
    case 2:
        for (size_t i = 0; i < count; i++) {
            memcpy(&two, from + 2 * i, 2);
            loaded[i] = two;
        }
        break;
    case 4:
        for (size_t i = 0; i < count; i++) {
            memcpy(&four, from + 4 * i, 4);
            loaded[i] = four;
        }
        break;
    default:
        memcpy(loaded, from, 8 * count);
        break;
    }
}

void emu_store_codes(void *codes, int32_t bytes, size_t start, size_t count, const uint64_t *stored)
{
    unsigned char *to = (unsigned char *)codes + start * (size_t)bytes;
    uint16_t two;
    uint32_t four;
    switch (bytes) {
    case 1:
        for (size_t i = 0; i < count; i++)
            to[i] = (unsigned char)stored[i];
        break;
    case 2:
        for (size_t i = 0; i < count; i++) {
            two = (uint16_t)stored[i];
            memcpy(to + 2 * i, &two, 2);
        }
        break;
    case 4:
        for (size_t i = 0; i < count; i++) {
            four = (uint32_t)stored[i];
            memcpy(to + 4 * i, &four, 4);
        }
        break;
    default:
        memcpy(to, stored, 8 * count);
        break;
    }
}

int32_t emu_check_codes(const emu_grid *grid, const void *codes, size_t count)
{
    uint64_t code;
    if (emu_is_code(grid, emu_low_bits(8 * grid->code_bytes)))
        return EMU_OK; /* every pattern of those bytes is a code */
    for (size_t i = 0; i < count; i++) {
        emu_load_codes(codes, grid->code_bytes, i, 1, &code);
        if (!emu_is_code(grid, code))
            return EMU_ERROR_CODE;
    }
    return EMU_OK;
}

int32_t emu_is_matrix(const emu_matrix *matrix)
{
    return matrix && matrix->codes && (matrix->bytes == 1 || matrix->bytes == 2 || matrix->bytes == 4 || matrix->bytes == 8);
}

uint64_t emu_read(const emu_matrix *matrix, size_t place)
{
    uint64_t code;
    emu_load_codes(matrix->codes, matrix->bytes, place, 1, &code);
    return code;
}

void emu_write(const emu_matrix *matrix, size_t place, uint64_t code)
{
    emu_store_codes(matrix->codes, matrix->bytes, place, 1, &code);
}
