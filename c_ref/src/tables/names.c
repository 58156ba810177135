/* names.c: id or alias -> descriptor, of a library first, then of the shipped spec. */
#include "tables.h"

static int32_t is_same(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

static const emu_named_format *find_format_row(const emu_named_format *row, const char *id)
{
    while (row->name && !is_same(row->name, id))
        row++;
    return row->name ? row : NULL;
}

/* A row of a library, else one of the shipped spec. */
static const emu_named_format *find_format_in(const emu_library *library, const char *id)
{
    const emu_named_format *row = id && library ? find_format_row(library->formats, id) : NULL;
    return row || !id ? row : find_format_row(emu_formats, id);
}

const emu_format *emu_find_format_in(const emu_library *library, const char *id)
{
    const emu_named_format *row = find_format_in(library, id);
    return row ? row->format : NULL;
}

const emu_format *emu_find_format(const char *id)
{
    return emu_find_format_in(NULL, id);
}

static const emu_rounding *find_rounding(const emu_named_rounding *row, const char *id)
{
    while (row->name && !is_same(row->name, id))
        row++;
    return row->rounding;
}

const emu_rounding *emu_find_rounding_in(const emu_library *library, const char *id)
{
    const emu_rounding *found = id && library ? find_rounding(library->roundings, id) : NULL;
    return found || !id ? found : find_rounding(emu_roundings, id);
}

const emu_rounding *emu_find_rounding(const char *id)
{
    return emu_find_rounding_in(NULL, id);
}

static const emu_word *find_word(const emu_named_word *row, const char *rounding)
{
    while (row->name && !is_same(row->name, rounding))
        row++;
    return row->word;
}

/* A rounding of the library has the words that it says, or none. */
const emu_word *emu_find_word_in(const emu_library *library, const char *rounding)
{
    if (!rounding)
        return NULL;
    if (library && find_rounding(library->roundings, rounding))
        return find_word(library->words, rounding);
    return find_word(emu_words, rounding);
}

const emu_word *emu_find_word(const char *rounding)
{
    return emu_find_word_in(NULL, rounding);
}

static const emu_policy *find_policy(const emu_named_policy *row, const char *id, const char *destination)
{
    while (row->name && !(is_same(row->name, id) && is_same(row->destination, destination)))
        row++;
    return row->policy;
}

const emu_policy *emu_find_policy_in(const emu_library *library, const char *id, const char *destination)
{
    const emu_named_format *format = find_format_in(library, destination);
    const emu_policy *found;
    if (!id || !format)
        return NULL;
    found = library ? find_policy(library->policies, id, format->id) : NULL;
    return found ? found : find_policy(emu_policies, id, format->id);
}

const emu_policy *emu_find_policy(const char *id, const char *destination)
{
    return emu_find_policy_in(NULL, id, destination);
}

static const emu_transform *find_transform(const emu_named_transform *row, const char *id)
{
    while (row->name && !is_same(row->name, id))
        row++;
    return row->transform;
}

const emu_transform *emu_find_transform_in(const emu_library *library, const char *id)
{
    const emu_transform *found = id && library ? find_transform(library->transforms, id) : NULL;
    return found || !id ? found : find_transform(emu_transforms, id);
}

const emu_transform *emu_find_transform(const char *id)
{
    return emu_find_transform_in(NULL, id);
}

static const emu_block *find_block(const emu_named_block *row, const char *id)
{
    while (row->name && !is_same(row->name, id))
        row++;
    return row->block;
}

const emu_block *emu_find_block_in(const emu_library *library, const char *id)
{
    const emu_block *found = id && library ? find_block(library->blocks, id) : NULL;
    return found || !id ? found : find_block(emu_blocks, id);
}

static const emu_layout *find_layout(const emu_named_layout *row, const char *id)
{
    while (row->name && !is_same(row->name, id))
        row++;
    return row->layout;
}

const emu_layout *emu_find_layout_in(const emu_library *library, const char *id)
{
    const emu_layout *found = id && library ? find_layout(library->layouts, id) : NULL;
    return found || !id ? found : find_layout(emu_layouts, id);
}

static const emu_named_recipe *find_recipe_row(const emu_named_recipe *row, const char *id)
{
    while (row->name && !is_same(row->name, id))
        row++;
    return row->name ? row : NULL;
}

const emu_recipe *emu_find_recipe_in(const emu_library *library, const char *id)
{
    const emu_named_recipe *row = id && library ? find_recipe_row(library->recipes, id) : NULL;
    if (!row && id)
        row = find_recipe_row(emu_recipes, id);
    return row ? row->recipe : NULL;
}

const emu_recipe *emu_find_recipe(const char *id)
{
    return emu_find_recipe_in(NULL, id);
}

static const emu_program *find_program(const emu_named_program *row, const char *id, const char *profile)
{
    for (; row->name; row++) {
        int32_t is_wanted = profile && row->profile ? is_same(row->profile, profile) : !profile && !row->profile;
        if (is_wanted && is_same(row->name, id))
            break;
    }
    return row->program;
}

/* A recipe of the library has its own programs alone. */
const emu_program *emu_find_program_in(const emu_library *library, const char *recipe, const char *profile)
{
    const emu_named_recipe *row = recipe && library ? find_recipe_row(library->recipes, recipe) : NULL;
    if (row)
        return find_program(library->programs, row->id, profile);
    row = recipe ? find_recipe_row(emu_recipes, recipe) : NULL;
    return row ? find_program(emu_programs, row->id, profile) : NULL;
}

const emu_program *emu_find_program(const char *recipe, const char *profile)
{
    return emu_find_program_in(NULL, recipe, profile);
}
