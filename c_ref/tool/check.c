/* check.c: emu_ref check: reads a `.tv` file, derives every row again, prints at most three MISMATCH lines and one RESULT line. */
#include "tool.h"

enum { MOST_LINES = 3 };

/* What a file turned out to be. reason: NULL while it is sound. */
typedef struct report {
    const char *reason;
    uint64_t rows;
    uint64_t compared;
    uint64_t mismatch;
    uint64_t x;
    uint64_t masked;
    int is_signed; /* a .desc file says the digest of the rows: a row that it masks, and that differs, has an erratum */
    char digest[65];
} report;

static int bad_line(report *out, const char *reason, uint64_t line, const char *why)
{
    if (!out->reason)
        out->reason = reason;
    fprintf(stderr, "emu_ref: line %llu: %s\n", (unsigned long long)line, why);
    return 0;
}

/* 1 when a lane of the file is what the reference derived, or another NaN where any will do. */
static int lane_agrees(const operation *op, const row *want, const row *got, int32_t place, int32_t lane)
{
    const column *col = &op->columns[place];
    if (want->lanes[place][lane] == got->lanes[place][lane])
        return 1;
    return col->any_nan && !want->unknown[place][lane] && value_class(col->format, want->lanes[place][lane]) == EMU_NAN &&
           value_class(col->format, got->lanes[place][lane]) == EMU_NAN;
}

static int32_t first_difference(const operation *op, const row *want, const row *got)
{
    for (int32_t place = 0; place < op->count; place++) {
        for (int32_t lane = 0; lane < op->columns[place].lanes * op->columns[place].cells; lane++) {
            if (!lane_agrees(op, want, got, place, lane))
                return place;
        }
    }
    return -1;
}

static void print_difference(const operation *op, const row *want, const row *got, int32_t place, uint64_t number)
{
    char digits[MAX_LINE];
    const char *gap = " in=";
    printf("MISMATCH suite=%s tc=%llu out=%s", op->name, (unsigned long long)number, op->columns[place].name);
    for (int32_t at = 0; at < op->count; at++) {
        if (op->columns[at].role == ROLE_IN || op->columns[at].role == ROLE_R) {
            print_column(&op->columns[at], got->lanes[at], digits);
            printf("%s%s", gap, digits);
            gap = "_";
        }
    }
    print_column(&op->columns[place], want->lanes[place], digits);
    printf(" want=%s", digits);
    print_column(&op->columns[place], got->lanes[place], digits);
    printf(" got=%s", digits);
    for (int32_t at = 0; at < op->count; at++) {
        if (op->columns[at].role == ROLE_MASK && op->columns[at].of == place) {
            print_column(&op->columns[at], want->lanes[at], digits);
            printf(" mask=%s", digits);
        }
    }
    printf("\n");
}

static int is_open_row(const operation *op, const row *made)
{
    for (int32_t place = 0; place < op->count; place++) {
        int32_t count = op->columns[place].role == ROLE_MASK ? op->columns[place].lanes * op->columns[place].cells : 0;
        for (int32_t lane = 0; lane < count; lane++) {
            if (made->lanes[place][lane])
                return 0;
        }
    }
    return 1;
}

/* Compare one row; 0 when the file is no good from here on. */
static int check_row(const operation *op, const char *line, report *out)
{
    row got, want;
    const char *why;
    int32_t place, error, has_erratum;
    int parsed = parse_row(op, line, &got, &why);
    if (parsed != LINE_FINE) {
        out->x += parsed == LINE_X;
        return bad_line(out, parsed == LINE_X ? "x" : "guard", out->rows + 1, why);
    }
    out->rows++;
    memcpy(want.lanes, got.lanes, sizeof got.lanes[0] * (size_t)op->count);
    for (place = 0; place < op->count; place++) {
        if (op->columns[place].role == ROLE_PAD)
            want.lanes[place][0] = 0;
    }
    error = derive_row(op, &want);
    if (error)
        return bad_line(out, "guard", out->rows, "the reference refuses the inputs of this row");
    place = first_difference(op, &want, &got);
    has_erratum = place >= 0 && out->is_signed && is_open_row(op, &got);
    if (has_erratum || is_open_row(op, &want))
        out->masked++;
    else
        out->compared++;
    if (place >= 0 && !has_erratum && ++out->mismatch <= MOST_LINES)
        print_difference(op, &want, &got, place, out->rows);
    return 1;
}

static void check_rows(const operation *op, report *out)
{
    char line[MAX_LINE + 1];
    char trailer[MAX_LINE + 1];
    emu_sha256 hash;
    int found, fine = 1;
    emu_sha256_begin(&hash);
    while (fine && (found = read_line(stdin, line)) == 1 && line[0] != 'e') {
        fine = check_row(op, line, out);
        emu_sha256_add(&hash, line, strlen(line));
        emu_sha256_add(&hash, "\n", 1);
    }
    emu_sha256_end(&hash, out->digest);
    if (!fine)
        return;
    if (found != 1) {
        bad_line(out, "count", out->rows + 1, found ? "cut off, too long, or not ASCII" : "the trailer is missing");
        return;
    }
    print_trailer(op, out->rows, trailer);
    trailer[strlen(trailer) - 1] = 0;
    if (strcmp(line, trailer) != 0)
        bad_line(out, "count", out->rows + 1, "the trailer does not say how many rows there are");
    else if (read_line(stdin, line))
        bad_line(out, "count", out->rows + 2, "something follows the trailer");
}

int run_check(const options *given, const operation *op)
{
    report out;
    promise promised;
    const char *verdict = "PASS";
    memset(&out, 0, sizeof out);
    memset(&promised, 0, sizeof promised);
    out.is_signed = given->desc != NULL;
    if (given->desc && read_desc(given->desc, op, &promised))
        return EXIT_BAD;
    check_rows(op, &out);
    if (given->desc && !out.reason && (out.rows != promised.rows || strcmp(out.digest, promised.digest) != 0))
        bad_line(&out, "count", out.rows + 1, "these are not the rows that the .desc file names");
    if (out.reason)
        verdict = "BADFILE";
    else if (out.mismatch)
        verdict = "FAIL";
    printf("RESULT %s reason=%s suite=%s rows_sha256=%s compared=%llu mismatch=%llu x=%llu masked=%llu\n", verdict,
           out.reason ? out.reason : out.mismatch ? "mismatch" : "none", op->name, out.digest, (unsigned long long)out.compared,
           (unsigned long long)out.mismatch, (unsigned long long)out.x, (unsigned long long)out.masked);
    if (out.reason)
        return EXIT_BAD;
    return out.mismatch ? EXIT_DIFFERS : out.compared ? EXIT_EQUAL : EXIT_NOTHING;
}
