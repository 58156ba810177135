/* gen.c: emu_ref gen: makes stimuli for a contract and prints them filled. Which stimuli: gen_<operation>.c. */
#include "gen.h"

/* Derive the row in the sink and print it. */
int emit_row(sink *out)
{
    if (derive_row(out->op, &out->made))
        return complain(out->op->name, "the reference refuses inputs of its own making");
    fwrite(out->line, 1, print_row(out->op, &out->made, out->line), stdout);
    out->rows++;
    return 0;
}

uint64_t low_bits(int32_t count)
{
    return count >= 64 ? UINT64_MAX : ((uint64_t)1 << count) - 1;
}

/* `count` random bits of the row that is next; `word` numbers the draws of a row. */
uint64_t draw(const sink *out, uint64_t word, int32_t count)
{
    uint64_t place = out->rows * MAX_DRAWS + 2 * word;
    uint64_t both = philox_word(out->key, place) | (uint64_t)philox_word(out->key, place + 1) << 32;
    return both & low_bits(count);
}

static int make_rows(const options *given, sink *out)
{
    int is_code = out->op->op == OP_DECODE || out->op->op == OP_CONVERT, is_dot = out->op->op == OP_DOT || out->op->op == OP_ACCUMULATE;
    if (out->op->op == OP_LAYOUT)
        return given->random || given->directed ? complain("layout", "gen makes every code of one tensor: --all") : layout_rows(out);
    if (out->op->op == OP_OPERATE)
        return complain("operate", "gen makes no rows of it: fill takes yours");
    if (given->random) {
        while (out->rows < given->random) {
            if (is_code ? random_code_row(out) : is_dot ? random_dot_row(out) : random_tile_row(out))
                return EXIT_BAD;
        }
        return 0;
    }
    if (!is_code)
        return given->all ? complain("--all", "only for decode and convert") : is_dot ? directed_dot_rows(out) : directed_tile_rows(out);
    if (given->all || (!given->directed && stored_bits(out->op->source) <= WIDEST && find_column(out->op, "r") < 0))
        return all_code_rows(out);
    return directed_code_rows(out);
}

int run_gen(const options *given, const operation *op)
{
    sink out;
    memset(&out, 0, sizeof out);
    out.op = op;
    out.key = given->key;
    if ((given->all != 0) + (given->directed != 0) + (given->random != 0) > 1)
        return complain("gen", "one of --all, --directed, --random");
    if (make_rows(given, &out))
        return EXIT_BAD;
    fwrite(out.line, 1, print_trailer(op, out.rows, out.line), stdout);
    return fflush(stdout) ? complain("gen", "cannot write") : EXIT_EQUAL;
}
