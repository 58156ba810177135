/* lines.c: rows of `.tv` files: `a`, then hex columns with one space between them; the trailer `e` with the count over all columns. */
#include "tool.h"

int read_line(FILE *file, char *line)
{
    int letter;
    int fine = 1;
    size_t length = 0;
    while ((letter = getc(file)) != EOF && letter != '\n') {
        fine = fine && letter >= ' ' && letter < 127 && length + 1 < MAX_LINE;
        if (fine)
            line[length++] = (char)letter;
    }
    line[length] = 0;
    if (letter == EOF)
        return length || !fine ? -1 : 0;
    return fine ? 1 : -1;
}

static int digit_value(char digit)
{
    if (digit >= '0' && digit <= '9')
        return digit - '0';
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

/* The word that holds bit `at` of a column. */
static int32_t cell_of(const column *col, int32_t at)
{
    return at / col->lane_bits * col->cells + at % col->lane_bits / 64;
}

int parse_column(const column *col, const char *digits, uint64_t *lanes)
{
    memset(lanes, 0, sizeof(uint64_t) * (size_t)(col->lanes * col->cells));
    for (int32_t place = 0; place < col->digits; place++) {
        int value = digit_value(digits[place]);
        if (value < 0)
            return digits[place] && strchr("xXzZ?", digits[place]) ? LINE_X : LINE_BAD;
        for (int32_t bit = 0; bit < 4; bit++) {
            int32_t at = 4 * (col->digits - 1 - place) + bit;
            if (!(value >> bit & 1))
                continue;
            if (at >= col->lanes * col->lane_bits)
                return LINE_BAD;
            lanes[cell_of(col, at)] |= (uint64_t)1 << (at % col->lane_bits % 64);
        }
    }
    return LINE_FINE;
}

void print_column(const column *col, const uint64_t *lanes, char *digits)
{
    for (int32_t place = 0; place < col->digits; place++) {
        int32_t value = 0;
        for (int32_t bit = 0; bit < 4; bit++) {
            int32_t at = 4 * (col->digits - 1 - place) + bit;
            if (at < col->lanes * col->lane_bits)
                value |= (int32_t)(lanes[cell_of(col, at)] >> (at % col->lane_bits % 64) & 1) << bit;
        }
        digits[place] = "0123456789abcdef"[value];
    }
    digits[col->digits] = 0;
}

/* LINE_FINE with every column read, or what is wrong; why: the name of the column. */
int parse_row(const operation *op, const char *line, row *made, const char **why)
{
    size_t length = strlen(line);
    size_t at = 1;
    *why = "guard";
    if (line[0] != 'a')
        return LINE_BAD;
    for (int32_t place = 0; place < op->count; place++) {
        const column *col = &op->columns[place];
        int found;
        *why = col->name;
        if (at + 1 + (size_t)col->digits > length || line[at] != ' ')
            return LINE_BAD;
        found = parse_column(col, line + at + 1, made->lanes[place]);
        if (found != LINE_FINE)
            return found;
        at += 1 + (size_t)col->digits;
    }
    *why = "end of the line";
    return at == length ? LINE_FINE : LINE_BAD;
}

/* Print with the line end; return the length. */
size_t print_row(const operation *op, const row *made, char *line)
{
    size_t at = 0;
    line[at++] = 'a';
    for (int32_t place = 0; place < op->count; place++) {
        line[at++] = ' ';
        print_column(&op->columns[place], made->lanes[place], line + at);
        at += (size_t)op->columns[place].digits;
    }
    line[at++] = '\n';
    line[at] = 0;
    return at;
}

size_t print_trailer(const operation *op, uint64_t rows, char *line)
{
    size_t at = 0;
    int32_t left = 0;
    for (int32_t place = 0; place < op->count; place++)
        left += op->columns[place].digits;
    line[at++] = 'e';
    for (int32_t place = 0; place < op->count; place++) {
        line[at++] = ' ';
        for (int32_t digit = 0; digit < op->columns[place].digits; digit++) {
            left--;
            line[at++] = left < 16 ? "0123456789abcdef"[rows >> (4 * left) & 15] : '0';
        }
    }
    line[at++] = '\n';
    line[at] = 0;
    return at;
}
