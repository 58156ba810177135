/* bridge_rows.c: rows of .tv files. The files of the command emu_ref make them: the columns of a contract, and a whole row of what goes in. */
#include "tool/tool.h"

#include "bridge.h"

static operation contract;
static row made;
static char line[MAX_LINE + 1], told[2 * MAX_NAME + 512];

int complain(const char *what, const char *why)
{
    snprintf(told, sizeof told, "%s: %s", what, why);
    return EXIT_BAD;
}

int unknown(const char *kind, const char *name)
{
    snprintf(told, sizeof told, "%s: no such %s", name, kind);
    return EXIT_BAD;
}

/* The contract that rows are made of from now on, with every column 0. source, result: NULL, fp32. 0, or ex_row_says() is why not. */
EXPORT(ex_contract)
int32_t ex_contract(const emu_library *library, const char *what, const char *source, const char *result)
{
    options given = {.what = what, .source = source, .result = result, .library = library};
    memset(&made, 0, sizeof made);
    return make_operation(&given, &contract);
}

EXPORT(ex_row_says) const char *ex_row_says(void) { return told; }

/* The name of a column, NULL behind the last -> out: role, lanes, bits of a lane, hex digits. */
EXPORT(ex_column) const char *ex_column(int32_t place, int64_t *out)
{
    const column *found = &contract.columns[place];
    if (place >= contract.count)
        return NULL;
    out[0] = found->role;
    out[1] = found->lanes;
    out[2] = found->lane_bits;
    out[3] = found->digits;
    return found->name;
}

/* Put a column that goes in: its hex digits. 0, or they say more bits than it has. */
EXPORT(ex_put) int32_t ex_put(int32_t place, const char *digits) { return parse_column(&contract.columns[place], digits, made.lanes[place]); }

/* Derive the row of what was put in; ex_row_text() is it then, with its line end. */
EXPORT(ex_row) int32_t ex_row(void)
{
    int32_t error = derive_row(&contract, &made);
    line[error ? 0 : print_row(&contract, &made, line)] = 0;
    return error;
}

EXPORT(ex_row_text) const char *ex_row_text(void) { return line; }
