/* layout.c: the columns of a layout, one code a row: its row and its index in the row -> its place. */
#include "gen.h"

enum { ROWS = 132, BLOCKS = 6, AXIS_BITS = 16, PLACE_BITS = 32 }; /* the tensor of the golden vectors: no side is a multiple of a tile */

int make_layout(const char *block, const char *id, operation *op)
{
    const emu_block *found = emu_find_block_in(op->library, block);
    op->op = OP_LAYOUT;
    op->layout = emu_find_layout_in(op->library, id);
    if (!found || !op->layout)
        return found ? unknown("layout", id) : unknown("block", block);
    op->codes = BLOCKS * (op->layout->holds_scales ? 1 : (uint64_t)found->columns);
    add_column(op, "row", ROLE_IN, 1, AXIS_BITS, NULL, 0);
    add_column(op, "idx", ROLE_IN, 1, AXIS_BITS, NULL, 0);
    add_column(op, "off", ROLE_OUT, 1, PLACE_BITS, NULL, 0);
    return 0;
}

int32_t derive_layout(const operation *op, row *made)
{
    return emu_layout_place(op->layout, made->lanes[0][0], made->lanes[1][0], ROWS, op->codes, &made->lanes[2][0]);
}

int layout_rows(sink *out)
{
    for (uint64_t at = 0; at < ROWS * out->op->codes; at++) {
        out->made.lanes[0][0] = at / out->op->codes;
        out->made.lanes[1][0] = at % out->op->codes;
        if (emit_row(out))
            return EXIT_BAD;
    }
    return 0;
}
