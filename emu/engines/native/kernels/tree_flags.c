/* levels with exception flags: tree.c once more, in one form, so that a run that reports none pays nothing for them. */
#define EMU_ONE_FORM 1
#define EMU_TREE_RAISES 1
#include "tree.c"
