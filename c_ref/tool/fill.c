/* fill.c: emu_ref fill: reads rows with the input columns alone, prints whole rows and the trailer. */
#include "tool.h"

/* Read one input column at `*at`, past one space where it is not the first; 0 when it is not there. */
static int take_column(const column *col, const char *line, size_t *at, uint64_t *lanes)
{
    size_t start = *at + (*at > 0);
    if ((*at > 0 && line[*at] != ' ') || strlen(line) < start + (size_t)col->digits)
        return 0;
    *at = start + (size_t)col->digits;
    return parse_column(col, line + start, lanes) == LINE_FINE;
}

/* How long a line with the input columns alone is. */
static size_t inputs_length(const operation *op)
{
    size_t length = 0;
    for (int32_t place = 0; place < op->count; place++) {
        if (op->columns[place].role == ROLE_IN || op->columns[place].role == ROLE_R)
            length += (size_t)op->columns[place].digits + 1;
    }
    return length - 1;
}

/* Fill one line; 0, or the name of the column that is wrong. */
static const char *fill_line(const operation *op, const char *line, row *made)
{
    size_t at = 0;
    memset(made->lanes, 0, sizeof made->lanes[0] * (size_t)op->count);
    if (line[0] == 'a' && line[1] == ' ' && strlen(line) == inputs_length(op) + 2)
        at = 1; /* a guard in front is fine */
    for (int32_t place = 0; place < op->count; place++) {
        if ((op->columns[place].role == ROLE_IN || op->columns[place].role == ROLE_R) &&
            !take_column(&op->columns[place], line, &at, made->lanes[place]))
            return op->columns[place].name;
    }
    if (line[at])
        return "end of the line";
    return derive_row(op, made) ? "inputs that the reference refuses" : NULL;
}

int run_fill(const options *given, const operation *op)
{
    char line[MAX_LINE + 1];
    row made;
    uint64_t rows = 0;
    int found;
    (void)given;
    while ((found = read_line(stdin, line)) == 1) {
        const char *wrong = fill_line(op, line, &made);
        if (wrong) {
            fprintf(stderr, "emu_ref: line %llu: %s: give the input columns in hex, one space between them\n", (unsigned long long)rows + 1,
                    wrong);
            return EXIT_BAD;
        }
        fwrite(line, 1, print_row(op, &made, line), stdout);
        rows++;
    }
    if (found)
        return complain("fill", "the last line has no line end, is too long, or is not ASCII");
    if (!rows)
        return complain("fill", "no rows");
    fwrite(line, 1, print_trailer(op, rows, line), stdout);
    return fflush(stdout) ? complain("fill", "cannot write") : EXIT_EQUAL;
}
