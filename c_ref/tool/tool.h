/* tool.h: what the files of the command emu_ref share. Here stdio is allowed; still no allocation: every size is fixed below. */
#ifndef EMU_TOOL_H
#define EMU_TOOL_H

#include <stdio.h>
#include <string.h>

#include "../emu_ref.h"
#include "../src/descriptor/sha256.h"
#include "philox.h"
#include "shared.h"

enum { MAX_COLUMNS = 160, MAX_LANES = 256, MAX_STEPS = 16, MAX_LINE = 1 << 16, MAX_NAME = 192, MAX_WORDS = 1 << 14, MAX_LEVELS = 17 };

/* Exit codes of the command. */
enum { EXIT_EQUAL = 0, EXIT_DIFFERS = 1, EXIT_BAD = 2, EXIT_NOTHING = 3 };

/* A lane of more than 64 bits takes several words, the low one first. Columns of a row, in the order of the file. in and r are given; out,
 * stage, mask and kind are derived; pad is 0; given stands in a file and is not compared. */
enum { ROLE_PAD, ROLE_IN, ROLE_R, ROLE_OUT, ROLE_STAGE, ROLE_MASK, ROLE_KIND, ROLE_GIVEN };
enum { STAGE_VALUE, STAGE_EXP, STAGE_CLASS, STAGE_LIVE };

typedef struct column {
    char name[20];
    int32_t role;
    int32_t lane_bits;
    int32_t lanes;
    int32_t cells;            /* words of a lane; lanes * cells <= MAX_LANES */
    int32_t digits;
    int32_t of;               /* mask, kind: place of the result they belong to */
    int32_t level;            /* of the program, -1 where it holds none */
    int32_t any_nan;          /* result: a NaN may have any sign and payload */
    int32_t sum_level;        /* stage of a datapath of levels: which level, 0 the products; what of it: STAGE_*; of the running values */
    int32_t stage_part;
    int32_t is_running;
    const emu_format *format; /* any_nan: the format of a lane */
} column;

enum { OP_DECODE, OP_CONVERT, OP_QUANTIZE, OP_DEQUANTIZE, OP_TRANSFORM, OP_DOT, OP_ACCUMULATE, OP_LAYOUT, OP_OPERATE };

/* One contract with its source and result format. */
typedef struct operation {
    char name[MAX_NAME]; /* as the user gave it: contract or stem */
    int32_t op;
    int32_t count;
    column columns[MAX_COLUMNS];
    char source_id[MAX_NAME];
    char result_id[MAX_NAME];
    const emu_library *library; /* of --descriptor, or NULL */
    const emu_format *source;
    const emu_format *result;
    const emu_rounding *rounding; /* convert: its own; quantize: the one that draws, or NULL */
    const emu_policy *policy;
    const emu_transform *transform;
    const emu_recipe *recipe;
    const emu_layout *layout;
    int32_t operation;                            /* operate: EMU_DO_* */
    const emu_format *operands[EMU_MAX_OPERANDS]; /* operate */
    uint64_t codes;               /* layout: of a row of the tensor */
    emu_program program;          /* with `levels` in the place of its own */
    emu_level levels[MAX_LEVELS];
    int32_t amax;                 /* the level that stands for the stage amax, -1 where there is none */
    emu_datapath datapath;
    emu_widths widths;
    const emu_format *addend;     /* dot: of C, or NULL */
    int32_t has_levels;           /* flag: of_levels says the datapath; of `datapath` only operands, k (products of a row) and result are there */
    emu_levels of_levels;
    int32_t random_bits;          /* of_levels: fewest bits of a random integer */
    int32_t wants_stages;         /* of_levels: flag: columns of stages are derived */
} operation;

/* One row. unknown: 1 where nobody knows the lane of a result. */
typedef struct row {
    uint64_t lanes[MAX_COLUMNS][MAX_LANES];
    uint8_t unknown[MAX_COLUMNS][MAX_LANES];
} row;

/* Command line. NULL, or 0, where an option is absent. */
typedef struct options {
    const char *what; /* contract or stem */
    const char *source;
    const char *result;
    const char *desc;
    const char *descriptor;
    const emu_library *library; /* what it says */
    uint64_t random;
    uint64_t key;
    int32_t all;
    int32_t directed;
} options;

/* One line on stderr; both return EXIT_BAD. unknown: a name that `emu_ref list` does not print. */
int complain(const char *what, const char *why);
int unknown(const char *kind, const char *name);

/* load.c: --descriptor; 0, or EXIT_BAD after a line on stderr. run_descriptor: the text on stdin in its canonical form; an exit code. */
int load_descriptor(options *given);
int run_descriptor(void);

/* operation.c: contract or stem -> operation; 0, or EXIT_BAD after a line on stderr. */
int make_operation(const options *given, operation *op);
int32_t stored_bits(const emu_format *format);
int32_t value_class(const emu_format *format, uint64_t code);

/* make_block.c */
int make_quantize(const char *recipe, operation *op);
int make_dequantize(const char *recipe, const char *profile, operation *op);
int make_transform(const char *id, operation *op);
int32_t columns_of(const emu_program *program);
int32_t parts_of(const emu_program *program, int32_t rows, int32_t columns);

/* layout.c: the columns of a layout, and one place. */
int make_layout(const char *block, const char *id, operation *op);
int32_t derive_layout(const operation *op, row *made);

/* operate.c: the columns of an operation on numbers, and one row. */
int make_operate(const char *name, const char *formats, const char *to, const char *rounding, const char *policy, operation *op);
int make_operate_from_stem(const char *part, operation *op);
int32_t derive_operate(const operation *op, row *made);

/* make_dot.c */
int make_dot(int32_t op_code, const char *name, operation *op);
int make_dot_from_stem(int32_t op_code, const char *source, const char *part, operation *op);

/* levels.c. take_stages: columns as the .desc file has them; 0, or EXIT_BAD after a line on stderr. */
int make_levels(const char *name, operation *op);
int32_t derive_dot_levels(const operation *op, row *made);
int take_stages(const char *path, operation *op);

/* level_stages.c: a column of a stage by its name and bits, -1: the name is none of a level; and the lanes of all such columns of a row. */
int32_t add_level_stage(const char *name, int32_t bits, operation *op);
void fill_stages(const operation *op, const emu_number *stages, const uint8_t *known, row *made);

/* columns.c */
int32_t add_column(operation *op, const char *name, int32_t role, int32_t lanes, int32_t lane_bits, const emu_format *format,
                   int32_t any_nan);
void finish_columns(operation *op);
int32_t find_column(const operation *op, const char *name);
void finish_row(const operation *op, row *made);

/* lines.c: text <-> lanes. read_line: 1 a line, 0 end of file, -1 no line end, too long, or a byte that is no ASCII. */
enum { LINE_FINE, LINE_BAD, LINE_X };
int read_line(FILE *file, char *line);
int parse_column(const column *col, const char *digits, uint64_t *lanes);
void print_column(const column *col, const uint64_t *lanes, char *digits);
int parse_row(const operation *op, const char *line, row *made, const char **why);
size_t print_row(const operation *op, const row *made, char *line);
size_t print_trailer(const operation *op, uint64_t rows, char *line);

/* derive.c: fill the results of a row from its inputs, then masks and kinds; EMU_OK or EMU_ERROR_*. */
int32_t derive_row(const operation *op, row *made);
int32_t derive_quantize(const operation *op, row *made);
int32_t derive_dequantize(const operation *op, row *made);
int32_t derive_transform(const operation *op, row *made);
int32_t derive_dot(const operation *op, row *made);

/* desc.c */
typedef struct promise {
    char stem[MAX_NAME];
    uint64_t rows;
    char digest[65];
} promise;
int read_desc(const char *path, const operation *op, promise *out);

/* One file per subcommand; each returns an exit code. */
int run_check(const options *given, const operation *op);
int run_fill(const options *given, const operation *op);
int run_gen(const options *given, const operation *op);
int run_list(void);

#endif
