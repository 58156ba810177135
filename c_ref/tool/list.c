/* list.c: emu_ref list: every name that a contract can be made of, one a line; aliases behind their id. */
#include "../src/tables/tables.h"
#include "tool.h"

/* Prints a name of a kind: an id, or an alias with the id that it stands for. */
static void print_name(const char *kind, const char *name, const char *id)
{
    if (strcmp(name, id) == 0)
        printf("%s %s\n", kind, id);
    else
        printf("%s %s = %s\n", kind, name, id);
}

static const char *id_of(const emu_format *format)
{
    const emu_named_format *item = emu_formats;
    while (item->format != format)
        item++;
    return item->id;
}

/* Every name of a datapath with the operands that it leaves free. */
static void print_datapath(const emu_named_datapath *item)
{
    const emu_choices *choices = item->choices;
    for (int32_t pair = 0; pair < choices->pair_count; pair++) {
        for (int32_t scale = 0; scale == 0 || scale < choices->scale_count; scale++) {
            for (int32_t block = 0; block == 0 || block < choices->block_count; block++) {
                printf("datapath %s", item->name);
                if (choices->pair_count > 1)
                    printf("/%sx%s", id_of(choices->pairs[2 * pair]), id_of(choices->pairs[2 * pair + 1]));
                if (choices->scale_count > 1)
                    printf("/%s", id_of(choices->scales[scale]));
                if (choices->block_count > 1)
                    printf("/%d", (int)choices->blocks[block]);
                if (strcmp(item->name, item->id) != 0)
                    printf(" = %s", item->id);
                printf("\n");
            }
        }
    }
}

int run_list(void)
{
    for (const emu_named_format *item = emu_formats; item->name; item++)
        print_name("format", item->name, item->id);
    for (const emu_named_rounding *item = emu_roundings; item->name; item++)
        print_name("rounding", item->name, item->id);
    for (const emu_named_policy *item = emu_policies; item->name; item++)
        printf("policy %s to %s\n", item->name, item->destination);
    for (const emu_named_block *item = emu_blocks; item->name; item++)
        print_name("block", item->name, item->id);
    for (const emu_named_layout *item = emu_layouts; item->name; item++)
        print_name("layout", item->name, item->id);
    for (const emu_named_recipe *item = emu_recipes; item->name; item++)
        print_name("recipe", item->name, item->id);
    for (const emu_named_program *item = emu_programs; item->name; item++) {
        if (item->profile)
            printf("profile %s/%s\n", item->name, item->profile);
    }
    for (const emu_named_transform *item = emu_transforms; item->name; item++)
        print_name("transform", item->name, item->id);
    for (const emu_named_datapath *item = emu_datapaths; item->name; item++)
        print_datapath(item);
    return fflush(stdout) ? complain("list", "cannot write") : EXIT_EQUAL;
}
