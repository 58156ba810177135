/* shared.h: what the command and the functions for SystemVerilog share. */
#ifndef EMU_SHARED_H
#define EMU_SHARED_H

#include "../emu_ref.h"

/* read_text.c: a file into `room` bytes, no more than so many of it; *length: of the whole file where that can be told. 0, or -1: it cannot be read. */
int32_t emu_read_text(const char *path, char *text, size_t room, size_t *length);

/* level_row.c: what a row of a datapath of levels takes. */
typedef struct emu_row_size {
    size_t products;
    size_t draws;       /* random integers */
    size_t numbers;     /* of workspace */
    int32_t most_bits;  /* of a random integer; 0: none is drawn */
    int32_t least_bits; /* the fewest; EMU_MAX_RANDOM_BITS: none is drawn */
} emu_row_size;

/* Rows of `products`. EMU_ERROR_SHAPE: the levels or the blocks do not cover so many. */
int32_t emu_measure_level_row(const emu_levels *levels, size_t products, emu_row_size *row);

/* The shortest row of so many instructions, or of as many more as levels and blocks need; EMU_ERROR_SHAPE: none has at most `most` products. */
int32_t emu_shortest_level_row(const emu_levels *levels, size_t instructions, size_t most, emu_row_size *row);

/* The least number of products that is whole instructions and whole blocks; block 0: there are none. */
size_t emu_whole_products(int32_t k, int32_t block);

#endif
