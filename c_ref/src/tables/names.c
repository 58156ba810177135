/* names.c: id or alias -> descriptor of the shipped spec. */
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

const emu_word *emu_find_word(const char *rounding)
{
    const emu_named_word *row = emu_words;
    while (rounding && row->name && !is_same(row->name, rounding))
        row++;
    return rounding ? row->word : NULL;
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

const emu_transform *emu_find_transform(const char *id)
{
    const emu_named_transform *row = emu_transforms;
    while (id && row->name && !is_same(row->name, id))
        row++;
    return id ? row->transform : NULL;
}

const emu_layout *emu_find_layout(const char *id)
{
    const emu_named_layout *row = emu_layouts;
    while (id && row->name && !is_same(row->name, id))
        row++;
    return id ? row->layout : NULL;
}

static const emu_named_recipe *find_recipe_row(const char *id)
{
    const emu_named_recipe *row = emu_recipes;
    if (!id)
        return NULL;
    while (row->name && !is_same(row->name, id))
        row++;
    return row->name ? row : NULL;
}

const emu_recipe *emu_find_recipe(const char *id)
{
    const emu_named_recipe *row = find_recipe_row(id);
    return row ? row->recipe : NULL;
}

const emu_program *emu_find_program(const char *recipe, const char *profile)
{
    const emu_named_recipe *named = find_recipe_row(recipe);
    const emu_named_program *row = emu_programs;
    if (!named)
        return NULL;
    for (; row->name; row++) {
        int32_t is_wanted = profile && row->profile ? is_same(row->profile, profile) : !profile && !row->profile;
        if (is_wanted && is_same(row->name, named->id))
            break;
    }
    return row->program;
}
