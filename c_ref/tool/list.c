/* list.c: emu_ref list: every name that a contract can be made of, one a line; aliases behind their id. */
#include "../tables.h"
#include "tool.h"

/* Prints a name of a kind: an id, or an alias with the id that it stands for. */
static void print_name(const char *kind, const char *name, const char *id)
{
    if (strcmp(name, id) == 0)
        printf("%s %s\n", kind, id);
    else
        printf("%s %s = %s\n", kind, name, id);
}

int run_list(void)
{
    for (const emu_named_format *item = emu_formats; item->name; item++)
        print_name("format", item->name, item->id);
    for (const emu_named_rounding *item = emu_roundings; item->name; item++)
        print_name("rounding", item->name, item->id);
    for (const emu_named_policy *item = emu_policies; item->name; item++)
        printf("policy %s to %s\n", item->name, item->destination);
    for (const emu_named_recipe *item = emu_recipes; item->name; item++)
        print_name("recipe", item->name, item->id);
    for (const emu_named_program *item = emu_programs; item->name; item++) {
        if (item->profile)
            printf("profile %s/%s\n", item->name, item->profile);
    }
    for (const emu_named_transform *item = emu_transforms; item->name; item++)
        print_name("transform", item->name, item->id);
    return fflush(stdout) ? complain("list", "cannot write") : EXIT_EQUAL;
}
