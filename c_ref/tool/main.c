/* main.c: the command emu_ref: reads its arguments, calls one subcommand. */
#include "tool.h"

static const char usage[] =
    "emu_ref check WHAT [--desc FILE]                 < x.tv      derive every row again; one RESULT line\n"
    "emu_ref fill  WHAT                               < inputs    input columns -> whole rows and trailer\n"
    "emu_ref gen   WHAT [--all | --directed | --random N --key K]  rows made here, filled\n"
    "emu_ref list                                                 every name that a contract can be made of\n"
    "emu_ref descriptor                               < file      loads a descriptor file and writes its canonical form\n"
    "WHAT: the stem of a vector suite (name of the file without .tv; --desc FILE names it too), or a contract:\n"
    "  decode/e2m1 convert/e2m1/rne/nvidia quantize/nvfp4_te_ref dequantize/nvfp4_te_ref/te transform/rht16_te\n"
    "  dot/blackwell_mxf4nvf4_b16_ue4m3 dot/nv_like/e1m2xe1m2/ue4m3/16 accumulate/hopper_fp8/e4m3xe4m3\n"
    "  layout/nvfp4/sf128x4 operate/add/e4m3/e5m2/rne/ocp_saturate operate/compare_less/e2m1\n"
    "  with --source FORMAT (of x; default fp32), --result FORMAT (of dequantize; default fp32)\n"
    "  and --descriptor FILE: objects that this build does not have, from `emu export descriptor`\n"
    "exit code: 0 equal or written, 1 differs, 2 bad file or misuse, 3 nothing compared\n";

int complain(const char *what, const char *why)
{
    fprintf(stderr, "emu_ref: %s: %s\n", what, why);
    return EXIT_BAD;
}

int unknown(const char *kind, const char *name)
{
    fprintf(stderr, "emu_ref: %s: no such %s: see emu_ref list\n", name, kind);
    return EXIT_BAD;
}

static int take_number(const char *text, uint64_t *number)
{
    const char *at = text;
    *number = 0;
    do {
        uint64_t digit = (uint64_t)(*at - '0');
        if (*at < '0' || *at > '9')
            return complain(text, "not a number");
        if (*number > (UINT64_MAX - digit) / 10)
            return complain(text, "a number above 2^64 - 1");
        *number = 10 * *number + digit;
    } while (*++at);
    return 0;
}

/* Take one option; `used` is set where it took the word after it. */
static int take_option(const char *name, const char *value, options *given, int *used)
{
    *used = 0;
    if (strcmp(name, "--all") == 0) {
        given->all = 1;
        return 0;
    }
    if (strcmp(name, "--directed") == 0) {
        given->directed = 1;
        return 0;
    }
    *used = 1;
    if (!value)
        return complain(name, "unknown option, or its value is missing");
    if (strcmp(name, "--random") == 0)
        return take_number(value, &given->random);
    if (strcmp(name, "--key") == 0)
        return take_number(value, &given->key);
    if (strcmp(name, "--source") == 0)
        given->source = value;
    else if (strcmp(name, "--result") == 0)
        given->result = value;
    else if (strcmp(name, "--desc") == 0)
        given->desc = value;
    else if (strcmp(name, "--descriptor") == 0)
        given->descriptor = value;
    else
        return complain(name, "unknown option");
    return 0;
}

static int take_arguments(int count, char **words, options *given)
{
    for (int place = 2; place < count; place++) {
        int used;
        if (words[place][0] != '-') {
            if (given->what)
                return complain(words[place], "one contract or stem, not two");
            given->what = words[place];
        } else {
            if (take_option(words[place], place + 1 < count ? words[place + 1] : NULL, given, &used))
                return EXIT_BAD;
            place += used;
        }
    }
    return given->what || given->desc ? 0 : complain("arguments", "name a contract or the stem of a suite");
}

/* Refuse an option that a command does not read. */
static int check_options(const char *command, const options *given)
{
    int makes = strcmp(command, "gen") == 0;
    if (!makes && (given->all || given->directed || given->random || given->key))
        return complain(command, "--all, --directed, --random and --key belong to gen");
    if (makes && given->key && !given->random)
        return complain("--key", "belongs to --random");
    return given->desc && strcmp(command, "check") != 0 ? complain(command, "--desc belongs to check") : EXIT_EQUAL;
}

static int run(const char *command, options *given)
{
    operation op;
    promise promised;
    if (check_options(command, given))
        return EXIT_BAD;
    memset(&promised, 0, sizeof promised);
    if (given->descriptor && load_descriptor(given))
        return EXIT_BAD;
    if (!given->what) {
        if (read_desc(given->desc, NULL, &promised))
            return EXIT_BAD;
        given->what = promised.stem;
    }
    if (make_operation(given, &op))
        return EXIT_BAD;
    if (strcmp(command, "check") == 0 && given->desc && op.has_levels && take_stages(given->desc, &op))
        return EXIT_BAD;
    if (strcmp(command, "check") == 0)
        return run_check(given, &op);
    return strcmp(command, "fill") == 0 ? run_fill(given, &op) : run_gen(given, &op);
}

int main(int count, char **words)
{
    options given;
    memset(&given, 0, sizeof given);
    if (count < 2 || strcmp(words[1], "--help") == 0) {
        fputs(usage, count < 2 ? stderr : stdout);
        return count < 2 ? EXIT_BAD : EXIT_EQUAL;
    }
    if (strcmp(words[1], "list") == 0)
        return count > 2 ? complain(words[2], "list takes no arguments") : run_list();
    if (strcmp(words[1], "descriptor") == 0)
        return count > 2 ? complain(words[2], "descriptor takes no arguments, the file comes on stdin") : run_descriptor();
    if (strcmp(words[1], "check") != 0 && strcmp(words[1], "fill") != 0 && strcmp(words[1], "gen") != 0)
        return complain(words[1], "no such command: check, fill, gen, list or descriptor");
    return take_arguments(count, words, &given) ? EXIT_BAD : run(words[1], &given);
}
