/* emu_rows.c: reading of `.desc`, `.tv` and `.mem`. Not here: the verdict (check_rows.c). */
#include "emu_rows.h"

#include <stdlib.h>
#include <string.h>

static int fail(const char *where, const char *what)
{
    fprintf(stderr, "%s: %s\n", where, what);
    return -1;
}

int emu_find_column(const emu_suite *suite, const char *name)
{
    for (int place = 0; place < suite->count; place++)
        if (strcmp(suite->columns[place].name, name) == 0)
            return place;
    return -1;
}

int emu_lane_bits(const char *format)
{
    return strcmp(format, "fp32") == 0 ? 32 : strcmp(format, "bf16") == 0 || strcmp(format, "fp16") == 0 ? 16 : 0;
}

int emu_is_nan(const char *format, uint32_t lane)
{
    uint32_t inf = strcmp(format, "fp32") == 0 ? 0x7f800000u : strcmp(format, "bf16") == 0 ? 0x7f80u : 0x7c00u;
    return (lane & (strcmp(format, "fp32") == 0 ? 0x7fffffffu : 0x7fffu)) > inf;
}

/* Every output has its mask, every NaN kind a format whose NaN we know, and all fits our arrays. */
static int check_columns(const emu_suite *suite, const char *path)
{
    char mask[80];
    int outs = 0;
    if (suite->count < 2 || strcmp(suite->columns[0].role, "guard") != 0)
        return fail(path, "not a .desc file: no column guard");
    for (int place = 0; place < suite->count; place++) {
        const emu_column *column = &suite->columns[place];
        if (column->bits < 1 || column->bits > 32 * EMU_WORDS || column->digits != (column->bits + 3) / 4)
            return fail(path, "a column is wider than EMU_WORDS, or its digits do not fit its bits");
        if (strcmp(column->role, "out") == 0) {
            snprintf(mask, sizeof mask, "m_%s", column->name);
            outs += emu_find_column(suite, mask) > place;
        }
        if (strcmp(column->role, "kind") == 0) {
            int of = emu_find_column(suite, column->name + 2);
            if (of < 0 || emu_lane_bits(suite->columns[of].format) * column->bits != 4 * suite->columns[of].bits)
                return fail(path, "a kind column of a format that this reader does not know");
        }
    }
    return outs ? 0 : fail(path, "no output column with a mask");
}

int emu_read_desc(emu_suite *suite, const char *path)
{
    static char line[EMU_LINE];
    FILE *file = fopen(path, "r");
    int known = 0, wrong = 0;
    memset(suite, 0, sizeof *suite);
    if (!file)
        return fail(path, "cannot be read");
    while (!wrong && fgets(line, sizeof line, file)) {
        emu_column *column = &suite->columns[suite->count];
        if (sscanf(line, "stem %191s", suite->stem) == 1 || sscanf(line, "rows %lu", &suite->rows) == 1 ||
            sscanf(line, "rows_sha256 %64s", suite->rows_sha256) == 1)
            known++;
        else if (suite->count < EMU_COLUMNS && sscanf(line, "col %63s %15s %d %d %63s", column->name, column->role, &column->bits,
                                                      &column->digits, column->format) == 5)
            suite->count++;
        else
            wrong = 1;
    }
    fclose(file);
    if (wrong || known != 3)
        return fail(path, "not a .desc file: stem, rows, rows_sha256, then col lines");
    return check_columns(suite, path);
}

static int digit_of(char letter)
{
    return letter >= '0' && letter <= '9' ? letter - '0' : letter >= 'a' && letter <= 'f' ? letter - 'a' + 10 : -1;
}

/* Read `digits` hex digits; -1 where one is none or a bit lies above the width (a trailer may use every digit). */
static int read_value(const char *text, const emu_column *column, int is_trailer, emu_bits *out)
{
    memset(out, 0, sizeof *out);
    for (int at = 0; at < column->digits; at++) {
        int digit = digit_of(text[at]), bit = 4 * (column->digits - 1 - at);
        if (digit < 0 || (!is_trailer && bit + 4 > column->bits && digit >> (column->bits - bit)))
            return -1;
        out->w[bit / 32] |= (uint32_t)digit << bit % 32;
    }
    return 0;
}

/* Split one line into values. gap: `_` of a .mem, ' ' of a .tv. */
static int read_word(emu_suite *suite, char *line, char gap)
{
    char *at = line;
    for (int place = 0; place < suite->count; place++) {
        const emu_column *column = &suite->columns[place];
        if (strlen(at) < (size_t)column->digits || read_value(at, column, line[0] == 'e', &suite->values[place]) < 0)
            return -1;
        at += column->digits;
        if (place + 1 < suite->count && *at++ != gap)
            return -1;
    }
    return *at == '\0' || (gap == '_' && line[0] == 'a' && strncmp(at, " // tc=", 7) == 0) ? 0 : -1;
}

/* The trailer is one number over all columns. */
static unsigned long trailer_count(const emu_suite *suite, const char *line)
{
    char digits[EMU_LINE];
    size_t used = 0;
    (void)suite;
    for (const char *at = line + 1; *at; at++)
        if (*at != '_' && *at != ' ')
            digits[used++] = *at;
    digits[used] = '\0';
    const char *first = digits + strspn(digits, "0");
    return strlen(first) > 8 ? 0 : strtoul(first, NULL, 16);
}

int emu_next_row(emu_suite *suite, FILE *file, unsigned long taken, const char **reason)
{
    static char line[EMU_LINE];
    *reason = "guard";
    if (!fgets(line, sizeof line, file))
        return fail(suite->stem, "the file ends without a trailer");
    size_t length = strlen(line);
    if (length < 2 || line[length - 1] != '\n')
        return fail(suite->stem, "a line without its line feed, or too long");
    line[length - 1] = '\0';
    char gap = line[1];
    if ((line[0] != 'a' && line[0] != 'e') || (gap != '_' && gap != ' ') || read_word(suite, line, gap) < 0)
        return fail(suite->stem, "a line that is no word of these columns");
    if (line[0] == 'a')
        return 1;
    *reason = "count";
    if (trailer_count(suite, line) != taken || fgetc(file) != EOF)
        return fail(suite->stem, "the trailer does not count the rows before it, or is not the last line");
    return 0;
}
