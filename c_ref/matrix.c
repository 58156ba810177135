/* matrix.c: single codes of a matrix. */
#include "steps.h"

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
