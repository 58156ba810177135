/* gen.h: what the makers of stimuli share. */
#ifndef EMU_GEN_H
#define EMU_GEN_H

#include "tool.h"

enum { WIDEST = 16, MAX_DRAWS = 4096 };

/* Where rows go. */
typedef struct sink {
    const operation *op;
    uint64_t key;
    uint64_t rows;
    row made;
    char line[MAX_LINE + 1];
} sink;

int emit_row(sink *out);
uint64_t draw(const sink *out, uint64_t word, int32_t count);
uint64_t low_bits(int32_t count);

/* gen_code.c: decode and convert, one code a row. */
int all_code_rows(sink *out);
int directed_code_rows(sink *out);
int random_code_row(sink *out);

/* gen_block.c: quantize, dequantize and transform, one tile or rotation a row. */
int directed_tile_rows(sink *out);
int random_tile_row(sink *out);

/* layout.c: every code of the tensor. */
int layout_rows(sink *out);

/* gen_dot.c: dot and accumulate, one instruction a row. */
int directed_dot_rows(sink *out);
int random_dot_row(sink *out);

#endif
