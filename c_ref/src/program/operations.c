/* operations.c: the table of step operations: how a descriptor writes each, and what it takes and gives. A new operation is a line here. */
#include "../steps.h"

static const char *const nans[] = {"propagate", "drop", NULL};
static const char *const bounds[] = {"bounded", "unbounded", NULL};
static const char *const rules[] = {"floor", "ceil", "even", "field_up", NULL};
static const char *const tests[] = {"nan", "inf", "zero", "neg", "lt", "le", "ge", NULL};
static const char *const sums[] = {"exact", "sequential", "tree", "halves", NULL};

enum { ROUNDED = EMU_SAYS_FORMAT | EMU_SAYS_ROUNDING };

const emu_operation emu_operations[] = {
    [EMU_OP_ADD] = {"add", EMU_TAKES_VALUES, EMU_GIVES_VALUES, ROUNDED, NULL},
    [EMU_OP_SUB] = {"sub", EMU_TAKES_VALUES, EMU_GIVES_VALUES, ROUNDED, NULL},
    [EMU_OP_MUL] = {"mul", EMU_TAKES_VALUES, EMU_GIVES_VALUES, ROUNDED, NULL},
    [EMU_OP_DIV] = {"div", EMU_TAKES_VALUES, EMU_GIVES_VALUES, ROUNDED, NULL},
    [EMU_OP_FMA] = {"fma", EMU_TAKES_VALUES, EMU_GIVES_VALUES, ROUNDED, NULL},
    [EMU_OP_ABS] = {"abs", EMU_TAKES_VALUES, EMU_GIVES_VALUES, 0, NULL},
    [EMU_OP_NEG] = {"neg", EMU_TAKES_VALUES, EMU_GIVES_VALUES, 0, NULL},
    [EMU_OP_MIN] = {"min", EMU_TAKES_VALUES, EMU_GIVES_VALUES, 0, nans},
    [EMU_OP_MAX] = {"max", EMU_TAKES_VALUES, EMU_GIVES_VALUES, 0, nans},
    [EMU_OP_CLAMP] = {"clamp", EMU_TAKES_VALUES, EMU_GIVES_VALUES, 0, nans},
    [EMU_OP_ROUND] = {"round", EMU_TAKES_VALUES, EMU_GIVES_VALUES, ROUNDED, bounds},
    [EMU_OP_POW2] = {"pow2", EMU_TAKES_VALUES, EMU_GIVES_VALUES, 0, NULL},
    [EMU_OP_E8M0_RULE] = {"e8m0_rule", EMU_TAKES_VALUES, EMU_GIVES_E8M0, EMU_SAYS_E8M0, rules},
    [EMU_OP_CAST] = {"cast", EMU_TAKES_VALUES, EMU_GIVES_CODES, ROUNDED | EMU_SAYS_RANDOM | EMU_SAYS_POLICY, NULL},
    [EMU_OP_DECODE] = {"decode", EMU_TAKES_CODES, EMU_GIVES_VALUES, EMU_SAYS_FORMAT, NULL},
    [EMU_OP_SELECT] = {"select", EMU_TAKES_ARMS, EMU_GIVES_ARMS, 0, tests},
    [EMU_OP_AMAX] = {"amax", EMU_TAKES_VALUES, EMU_GIVES_VALUES, 0, nans},
    [EMU_OP_SUM] = {"sum", EMU_TAKES_VALUES, EMU_GIVES_VALUES, EMU_SAYS_ROUNDING, sums},
    [EMU_OP_TRANSFORM] = {"transform", EMU_TAKES_VALUES, EMU_GIVES_VALUES, EMU_SAYS_TRANSFORM, NULL},
    {NULL, 0, 0, 0, NULL},
};
