/* block.h: what quantize.c and dequantize.c share. */
#ifndef EMU_BLOCK_H
#define EMU_BLOCK_H

#include "../steps.h"

/* A matrix being quantized or dequantized. */
typedef struct emu_job {
    const emu_program *program;
    emu_band band;
    emu_grid from;    /* of x */
    emu_grid grid;    /* of the arithmetic */
    int32_t same;     /* 1: x is coded in the arithmetic */
    size_t rows;      /* padded */
    size_t columns;
} emu_job;

/* Check the program and the sizes of the element matrix, and open the workspace. */
int32_t emu_open_job(const emu_program *program, const emu_matrix *elements, const uint64_t *signs, uint64_t *workspace, size_t words,
                     emu_job *work);
int32_t emu_is_shape(const emu_matrix *matrix, size_t rows, size_t columns);
int32_t emu_check_levels(const emu_job *work, const emu_matrix *levels);
/* Traces: the matrices of all registers against their shapes; the cells of a band; all cells open. */
int32_t emu_check_registers(const emu_job *work, const emu_matrix *registers);
int32_t emu_store_registers(const emu_job *work, size_t top, size_t left, const emu_matrix *registers);
int32_t emu_store_open(const emu_matrix *matrix);
/* The codes of a level in a band; a coarser register is repeated. */
int32_t emu_store_level(const emu_job *work, const emu_level *level, size_t top, size_t left, const emu_matrix *codes);
/* Write a cell; an open one is marked. */
int32_t emu_store(const emu_matrix *matrix, size_t place, uint64_t cell);

#endif
