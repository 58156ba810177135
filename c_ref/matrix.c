/* matrix.c: codes of 1, 2, 4 or 8 bytes as 64-bit integers. */
#include "steps.h"

int32_t emu_is_matrix(const emu_matrix *matrix)
{
    return matrix && matrix->codes && (matrix->bytes == 1 || matrix->bytes == 2 || matrix->bytes == 4 || matrix->bytes == 8);
}

uint64_t emu_read(const emu_matrix *matrix, size_t place)
{
    switch (matrix->bytes) {
    case 1:
        return ((const uint8_t *)matrix->codes)[place];
    case 2:
        return ((const uint16_t *)matrix->codes)[place];
    case 4:
        return ((const uint32_t *)matrix->codes)[place];
    default:
        return ((const uint64_t *)matrix->codes)[place];
    }
}

void emu_write(const emu_matrix *matrix, size_t place, uint64_t code)
{
    switch (matrix->bytes) {
    case 1:
        ((uint8_t *)matrix->codes)[place] = (uint8_t)code;
        break;
    case 2:
        ((uint16_t *)matrix->codes)[place] = (uint16_t)code;
        break;
    case 4:
        ((uint32_t *)matrix->codes)[place] = (uint32_t)code;
        break;
    default:
        ((uint64_t *)matrix->codes)[place] = code;
        break;
    }
}
