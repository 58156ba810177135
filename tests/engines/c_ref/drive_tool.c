/* Calls the command emu_ref with changed descriptors, in this process: gen, fill, check and descriptor, whole runs of main.
 *
 * drive_tool FOLDER BYTES [SEED]: until so many bytes of texts were changed. A file that is refused gives one line on stderr, exit code 2
 * and nothing on stdout; rows that are made must be found right by check; a text that is written is written again as it was. FOLDER: for
 * files. Prints one line: runs, changed bytes, files that were loaded, how many runs gave exit codes 0 to 3, and a checksum of all output.
 * A run that hangs is ended by a signal. */
#define _POSIX_C_SOURCE 200809L
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"

#define main tool_main
#include "tool/main.c"
#undef main

enum { MOST_OUT = 1 << 22, SECONDS = 120, CHECKED_AGAIN = 4 };

static const char *const contracts[] = {
    "decode/e2m1", "decode/drawn_2", "convert/e2m1/rne/nvidia", "convert/e4m3/sr_add8/ocp_saturate",
    "quantize/mxfp4_torchao_floor", "quantize/if4_mae", "quantize/ufp4_sr", "dequantize/mxfp4_torchao_floor/torchao", "dequantize/if4_mae/f46",
    "dequantize/ufp4_sr/exact", "transform/rht16_te", "transform/rht16_ufp4", "layout/mxfp4/sf128x4", "dot/hopper_fp8/e4m3xe5m2",
    "dot/cdna3_fp8/e4m3fnuzxe4m3fnuz", "dot/int64_narrow/e1m2xe1m2/16", "dot/promote_narrow/e1m2xint4/32", "dot/nv_like_narrow/e1m2xint4/ue4m3/16",
    "accumulate/hopper_fp8/e4m3xe4m3", "dot/drawn_261", "dot/drawn_276", "dot/drawn_345/ue4m3", "accumulate/drawn_261",
};
enum { CONTRACTS = sizeof contracts / sizeof *contracts };

/* What the sound descriptor gives: whole rows, and the input columns alone. */
static char *rows_of[CONTRACTS], *inputs_of[CONTRACTS];

static struct {
    char path[5][512]; /* descriptor, stdin, stdout, stderr, rows of gen */
    char out[MOST_OUT + 1];
    char said[MOST_OUT + 1];
    FILE *report;
    uint64_t codes[4];
    uint64_t loaded;
    uint64_t checksum;
    uint64_t run;
} all;

enum { DESCRIPTOR, IN, OUT, SAID };

static void fail(const char *why)
{
    fprintf(all.report, "run %llu: %s\nstdout: %.300s\nstderr: %.300s\n", (unsigned long long)all.run, why, all.out, all.said);
    exit(1);
}

static void put_file(int place, const char *text, size_t length)
{
    FILE *file = fopen(all.path[place], "wb");
    if (!file || fwrite(text, 1, length, file) != length || fclose(file))
        exit(9);
}

static void get_file(int place, char *text)
{
    FILE *file = fopen(all.path[place], "rb");
    size_t length = file ? fread(text, 1, MOST_OUT, file) : 0;
    if (!file || length == MOST_OUT)
        exit(9);
    text[length] = 0;
    fclose(file);
}

static void add_text(const char *text)
{
    while (*text)
        all.checksum = (all.checksum ^ (unsigned char)*text++) * 0x100000001B3u;
}

/* One run of the command on the descriptor and the stdin that lie there; what it prints is in all.out and all.said. */
static int call(const char *command, const char *contract, int has_descriptor)
{
    char words[8][512] = {"emu_ref", "", "", "--descriptor", "", "--random", "2"};
    char *list[9];
    int count = 0, code;
    snprintf(words[1], sizeof words[1], "%s", command);
    snprintf(words[2], sizeof words[2], "%s", contract ? contract : "");
    snprintf(words[4], sizeof words[4], "%s", all.path[DESCRIPTOR]);
    for (int i = 0; i < 7; i++) {
        int is_there = i < 2 || (contract && i == 2) || (has_descriptor && (i == 3 || i == 4));
        if (i > 4)
            is_there = strcmp(command, "gen") == 0 && strncmp(contract, "layout", 6) != 0;
        if (is_there)
            list[count++] = words[i];
    }
    list[count] = NULL;
    if (!freopen(all.path[IN], "rb", stdin) || !freopen(all.path[OUT], "wb", stdout) || !freopen(all.path[SAID], "wb", stderr))
        exit(9);
    alarm(SECONDS);
    code = tool_main(count, list);
    alarm(0);
    fflush(stdout);
    fflush(stderr);
    get_file(OUT, all.out);
    get_file(SAID, all.said);
    if (code < 0 || code > 3)
        fail("an exit code that the command does not have");
    if ((code == EXIT_BAD) != (all.said[0] != 0))
        fail("exit code 2 and a line on stderr go together");
    for (const char *line = all.said; *line; line = strchr(line, '\n') + 1) {
        if (strncmp(line, "emu_ref: ", 9) != 0 || !strchr(line, '\n'))
            fail("stderr holds something that is no line of the command");
    }
    return code;
}

static int line_count(const char *text)
{
    int count = 0;
    for (; *text; text++)
        count += *text == '\n';
    return count;
}

/* Rows of the sound descriptor for each contract. */
static void make_rows_of_all(void)
{
    for (int i = 0; i < CONTRACTS; i++) {
        options given = {0};
        operation op;
        put_file(IN, "", 0);
        if (call("gen", contracts[i], 1))
            fail("the sound descriptor gives no rows");
        rows_of[i] = strcpy(block(strlen(all.out) + 1), all.out);
        inputs_of[i] = block(strlen(all.out) + 1);
        inputs_of[i][0] = 0;
        given.descriptor = all.path[DESCRIPTOR];
        given.what = contracts[i];
        if (load_descriptor(&given) || make_operation(&given, &op))
            fail("the sound descriptor is refused");
        for (char *line = strtok(all.out, "\n"); line && *line == 'a'; line = strtok(NULL, "\n")) {
            const char *at = line + 1, *gap = "";
            for (int32_t place = 0; place < op.count; place++) {
                if (op.columns[place].role == ROLE_IN || op.columns[place].role == ROLE_R) {
                    strcat(inputs_of[i], gap);
                    strncat(inputs_of[i], at + 1, (size_t)op.columns[place].digits);
                    gap = " ";
                }
                at += 1 + op.columns[place].digits;
            }
            strcat(inputs_of[i], "\n");
        }
    }
}

/* Does the library load this text? */
static int is_loaded(const char *text, size_t length)
{
    static uint64_t memory[1 << 21];
    const emu_library *library;
    emu_fault fault;
    return emu_load_descriptor(text, length, memory, sizeof memory, &library, &fault) == EMU_OK;
}

static void check_refused(int code)
{
    if (code != EXIT_BAD || all.out[0] || line_count(all.said) != 1 || strlen(all.said) > 1024)
        fail("a descriptor that is refused: one line, exit code 2, nothing on stdout");
}

/* What was written is read once more: rows by check, a descriptor by descriptor. */
static void read_again(const char *command, const char *contract)
{
    static char before[MOST_OUT + 1];
    int is_text = strcmp(command, "descriptor") == 0, code;
    strcpy(before, all.out);
    put_file(IN, before, strlen(before));
    code = call(is_text ? command : "check", contract, !is_text);
    if (is_text ? code != EXIT_EQUAL || strcmp(before, all.out) != 0 : code != EXIT_EQUAL && code != EXIT_NOTHING)
        fail("what was written is not right when it is read");
}

static void run_once(stream *random)
{
    static const char *const commands[] = {"gen", "fill", "check", "descriptor"};
    const char *command = commands[below(random, 4)];
    int place = (int)below(random, CONTRACTS), code, is_sound, is_text = strcmp(command, "descriptor") == 0;
    size_t length;
    char *text = any_text(random, &length, 1);
    const char *given = is_text ? text : strcmp(command, "fill") == 0 ? inputs_of[place] : rows_of[place];
    put_file(DESCRIPTOR, text, length);
    put_file(IN, given, is_text ? length : strlen(given));
    is_sound = is_loaded(text, length);
    code = call(command, is_text ? NULL : contracts[place], !is_text);
    free(text);
    if (!is_sound)
        check_refused(code);
    else if (is_text && code)
        fail("a descriptor that can be loaded can be written");
    else if (strcmp(command, "check") != 0 && !code && one_in(random, CHECKED_AGAIN))
        read_again(command, is_text ? NULL : contracts[place]);
    all.loaded += (uint64_t)is_sound;
    all.codes[code]++;
    add_text(all.out);
    add_text(is_sound ? all.said : strchr(all.said + 9, ':')); /* without the name of the file */
}

int main(int argc, char **argv)
{
    static const char *const names[] = {"descriptor", "stdin", "stdout", "stderr"};
    uint64_t bytes = argc > 2 ? strtoull(argv[2], NULL, 10) : 0, seed = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    stream plain = {1, 0};
    size_t length;
    char *text;
    all.report = fdopen(dup(1), "w");
    if (!bytes || !all.report)
        return 3;
    for (int i = 0; i < 4; i++)
        snprintf(all.path[i], sizeof all.path[i], "%s/%s", argv[1], names[i]);
    text = any_text(&plain, &length, 0);
    put_file(DESCRIPTOR, text, length);
    free(text);
    make_rows_of_all();
    while (changed_bytes < bytes) {
        stream random = {seed << 48 ^ all.run << 16, 0};
        run_once(&random);
        all.run++;
    }
    fprintf(all.report, "runs %llu, changed bytes %llu, loaded %llu, exit codes %llu %llu %llu %llu, checksum %016llx\n", (unsigned long long)all.run,
            (unsigned long long)changed_bytes, (unsigned long long)all.loaded, (unsigned long long)all.codes[0], (unsigned long long)all.codes[1],
            (unsigned long long)all.codes[2], (unsigned long long)all.codes[3], (unsigned long long)all.checksum);
    return fclose(all.report) ? 9 : 0;
}
