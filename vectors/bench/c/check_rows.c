/* check_rows: golden rows against your C function `dut`, without Python.
 *
 *   check_rows STEM                  STEM.desc, STEM.tv; before them the self-test on STEM.neg.mem, where one bit is wrong
 *   check_rows DESC ROWS COUNT       rows of your own with the columns of DESC, as `emu_ref fill` prints them; `-`: stdin
 *
 * Exit code: 0 PASS after a passed self-test, 1 FAIL, 2 misuse, bad file or failed self-test, 3 nothing compared.
 */
#include "emu_rows.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    unsigned long taken, compared, mismatch, masked;
    const char *reason;
} score;

static emu_suite suite;

static void print_hex(const emu_bits *value, int digits)
{
    for (int at = digits - 1; at >= 0; at--)
        printf("%x", (unsigned)(value->w[at / 8] >> (4 * (at % 8)) & 15));
}

/* Whether two columns differ under the mask; lanes with a NaN kind take any NaN. */
static int differs(int place, const emu_bits *got)
{
    char name[80];
    snprintf(name, sizeof name, "m_%s", suite.columns[place].name);
    emu_bits mask = suite.values[emu_find_column(&suite, name)];
    name[0] = 'k';
    int kind = emu_find_column(&suite, name), lane_bits = emu_lane_bits(suite.columns[place].format);
    for (int lane = 0; kind >= 0 && lane * lane_bits < suite.columns[place].bits; lane++) {
        int bit = lane * lane_bits;
        uint32_t ones = (lane_bits == 32 ? 0xffffffffu : 0xffffu) << bit % 32, *bits = &mask.w[bit / 32];
        if ((suite.values[kind].w[lane / 8] >> (4 * (lane % 8)) & 15) && *bits & ones) {
            if (!emu_is_nan(suite.columns[place].format, (got->w[bit / 32] & ones) >> bit % 32))
                return 1;
            *bits &= ~ones;
        }
    }
    for (int word = 0; word < EMU_WORDS; word++)
        if ((got->w[word] ^ suite.values[place].w[word]) & mask.w[word])
            return 1;
    return 0;
}

static int is_open(void)
{
    uint32_t any = 0;
    char name[80];
    for (int place = 0; place < suite.count; place++)
        if (strcmp(suite.columns[place].role, "out") == 0) {
            snprintf(name, sizeof name, "m_%s", suite.columns[place].name);
            const emu_bits *mask = &suite.values[emu_find_column(&suite, name)];
            for (int word = 0; word < EMU_WORDS; word++)
                any |= mask->w[word];
        }
    return any == 0;
}

static void print_mismatch(int place, const emu_bits *got, unsigned long tc)
{
    char name[80];
    int comma = 0;
    snprintf(name, sizeof name, "m_%s", suite.columns[place].name);
    int mask = emu_find_column(&suite, name);
    printf("MISMATCH suite=%s tc=%lu out=%s in=", suite.stem, tc, suite.columns[place].name);
    for (int in = 0; in < suite.count; in++)
        if (strcmp(suite.columns[in].role, "in") == 0 || strcmp(suite.columns[in].role, "r") == 0) {
            printf(comma++ ? "," : "");
            print_hex(&suite.values[in], suite.columns[in].digits);
        }
    printf(" want=");
    print_hex(&suite.values[place], suite.columns[place].digits);
    printf(" got=");
    print_hex(got, suite.columns[place].digits);
    printf(" mask=");
    print_hex(&suite.values[mask], suite.columns[mask].digits);
    printf("\n");
}

/* Give one row to the design and compare. lines: MISMATCH lines that may still be printed. */
static void judge_row(score *now, int *lines)
{
    static emu_bits in[EMU_COLUMNS], out[EMU_COLUMNS];
    int ins = 0, outs = 0, wrong = 0;
    for (int place = 0; place < suite.count; place++)
        if (strcmp(suite.columns[place].role, "in") == 0 || strcmp(suite.columns[place].role, "r") == 0)
            in[ins++] = suite.values[place];
    memset(out, 0, sizeof out);
    dut(in, out);
    if (is_open()) {
        now->masked++;
        return;
    }
    now->compared++;
    for (int place = 0; place < suite.count; place++)
        if (strcmp(suite.columns[place].role, "out") == 0 && differs(place, &out[outs++])) {
            wrong = 1;
            if ((*lines)-- > 0)
                print_mismatch(place, &out[outs - 1], now->taken);
        }
    now->mismatch += (unsigned long)wrong;
}

/* Run a whole file; count: rows there must be, 0: as many as the trailer says (the self-test file). */
static score run(const char *path, unsigned long count, int lines)
{
    score now = {0, 0, 0, 0, "none"};
    const char *reason;
    FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "r");
    int more = file ? 1 : -1;
    if (!file)
        fprintf(stderr, "%s: cannot be read\n", path);
    reason = "guard";
    while (more > 0 && (more = emu_next_row(&suite, file, now.taken, &reason)) > 0) {
        now.taken++;
        judge_row(&now, &lines);
    }
    if (file && file != stdin)
        fclose(file);
    if (more < 0)
        now.reason = reason;
    else if (now.taken == 0 || (count && now.taken != count))
        now.reason = "count";
    else if (now.mismatch)
        now.reason = "mismatch";
    return now;
}

static int verdict(const score *now)
{
    int pass = strcmp(now->reason, "none") == 0, differ = strcmp(now->reason, "mismatch") == 0;
    if (pass && now->compared == 0) {
        printf("RESULT BADFILE reason=count");
        pass = 0;
    } else
        printf("RESULT %s reason=%s", pass ? "PASS" : differ ? "FAIL" : "BADFILE", now->reason);
    printf(" suite=%s rows_sha256=%s compared=%lu mismatch=%lu x=0 masked=%lu\n", suite.stem, suite.rows_sha256, now->compared,
           now->mismatch, now->masked);
    return pass ? 0 : differ ? 1 : strcmp(now->reason, "none") == 0 ? 3 : 2;
}

int main(int argc, char **argv)
{
    char path[3][1024];
    if (argc == 4) {
        char *end;
        unsigned long count = strtoul(argv[3], &end, 10);
        if (*end || count == 0 || emu_read_desc(&suite, argv[1]) < 0)
            return 2;
        snprintf(suite.rows_sha256, sizeof suite.rows_sha256, "-"); /* rows of your own: not those of the suite */
        score now = run(argv[2], count, 3);
        return verdict(&now);
    }
    if (argc != 2 || strlen(argv[1]) > 1000) {
        fprintf(stderr, "usage: check_rows STEM | check_rows DESC ROWS COUNT\n");
        return 2;
    }
    snprintf(path[0], sizeof path[0], "%s.desc", argv[1]);
    snprintf(path[1], sizeof path[1], "%s.neg.mem", argv[1]);
    snprintf(path[2], sizeof path[2], "%s.tv", argv[1]);
    if (emu_read_desc(&suite, path[0]) < 0)
        return 2;
    score tested = run(path[1], 0, 0), now = run(path[2], suite.rows, 3);
    int code = verdict(&now);
    if (code == 0 && (strcmp(tested.reason, "mismatch") != 0 || tested.mismatch != 1)) {
        fprintf(stderr, "%s: the self-test found %lu wrong rows, not 1 (%s)\n", path[1], tested.mismatch, tested.reason);
        return 2;
    }
    return code;
}
