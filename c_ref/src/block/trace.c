/* trace.c: the registers of a program as matrices, for traces. */
#include "block.h"

/* A register as a level that it would be. */
static emu_level level_of(const emu_program *program, int32_t reg)
{
    emu_level found = {reg, program->registers[reg].rows, program->registers[reg].columns, NULL};
    return found;
}

int32_t emu_check_registers(const emu_job *work, const emu_matrix *registers)
{
    if (!registers)
        return EMU_ERROR_NULL;
    for (int32_t i = 0; i < work->program->register_count; i++) {
        const emu_register *place = &work->program->registers[i];
        size_t rows = place->rows ? work->rows / (size_t)place->rows : 1;
        size_t columns = place->columns ? work->columns / (size_t)place->columns : 1;
        if (!emu_is_matrix(&registers[i]))
            return EMU_ERROR_NULL;
        if (registers[i].bytes != 8 || !emu_is_shape(&registers[i], rows, columns))
            return EMU_ERROR_SHAPE;
    }
    return EMU_OK;
}

int32_t emu_store_registers(const emu_job *work, size_t top, size_t left, const emu_matrix *registers)
{
    int32_t error = EMU_OK;
    for (int32_t i = 0; !error && i < work->program->register_count; i++) {
        emu_level level = level_of(work->program, i);
        error = emu_store_level(work, &level, top, left, &registers[i]);
    }
    return error;
}
