/* desc.c: what a `.desc` file says: the stem, how many rows, their digest, and the columns. */
#include "tool.h"

/* Read the file; with an operation its columns must be those of the contract. */
int read_desc(const char *path, const operation *op, promise *out)
{
    char line[MAX_LINE + 1], name[64], role[16];
    unsigned long long rows = 0;
    int bits, found, place = -1, fine = 1, told = 0;
    FILE *file = fopen(path, "r");
    if (!file)
        return complain(path, "cannot be read");
    while ((found = read_line(file, line)) == 1) {
        if (sscanf(line, "stem %191s", out->stem) == 1 || sscanf(line, "rows %llu", &rows) == 1 ||
            sscanf(line, "rows_sha256 %64s", out->digest) == 1) {
            told++;
            continue;
        }
        if (sscanf(line, "col %63s %15s %d", name, role, &bits) == 3 && place++ >= 0 && op)
            fine = fine && place <= op->count && strcmp(name, op->columns[place - 1].name) == 0 &&
                   bits == op->columns[place - 1].lanes * op->columns[place - 1].lane_bits;
    }
    fclose(file);
    out->rows = rows;
    if (!out->stem[0])
        return complain(path, "not a .desc file: it names no stem");
    if (found || told != 3)
        return complain(path, "damaged: each line in ASCII with a line end, and stem, rows and rows_sha256 once each");
    if (op && !strchr(op->name, '/') && strcmp(op->name, out->stem) != 0)
        return complain(path, "of another suite than the one that is named");
    return !op || (fine && place == op->count) ? 0 : complain(path, "its columns are not those of the contract");
}
