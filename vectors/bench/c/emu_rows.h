/* Golden rows in plain C99: what a `.desc` file says, and the rows of a `.tv` or `.mem` file, checked word by word. No library. */
#ifndef EMU_ROWS_H
#define EMU_ROWS_H

#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { EMU_WORDS = 128, EMU_COLUMNS = 512, EMU_LINE = 1 << 17 };

/* A column's bits: bit i is bit i % 32 of w[i / 32]. Element j of a packed column of b-bit elements begins at bit j * b. */
typedef struct {
    uint32_t w[EMU_WORDS];
} emu_bits;

typedef struct {
    char name[64], role[16], format[64];
    int bits, digits;
} emu_column;

typedef struct {
    char stem[192], rows_sha256[65];
    unsigned long rows;
    int count; /* columns, the guard among them */
    emu_column columns[EMU_COLUMNS];
    emu_bits values[EMU_COLUMNS]; /* of the row that emu_next_row read last */
} emu_suite;

/* Your design. in: the columns with role `in` and `r`, out: those with role `out`, in the order of the file; out comes as zeros. */
void dut(const emu_bits *in, emu_bits *out);

/* Read a `.desc` file. Returns 0, or -1 after one line on stderr. */
int emu_read_desc(emu_suite *suite, const char *path);

/* Read the next line of a file into suite->values. taken: rows read before.
   Returns 1: a row; 0: the trailer, and nothing after it; -1: a defect, after one line on stderr; *reason is then "guard" or "count". */
int emu_next_row(emu_suite *suite, FILE *file, unsigned long taken, const char **reason);

/* The place of a column by its name, or -1. */
int emu_find_column(const emu_suite *suite, const char *name);

/* Whether a lane holds a NaN; format is fp32, bf16 or fp16. */
int emu_is_nan(const char *format, uint32_t lane);

/* Bits of a lane of those formats; 0 for others. */
int emu_lane_bits(const char *format);

#ifdef __cplusplus
}
#endif
#endif
