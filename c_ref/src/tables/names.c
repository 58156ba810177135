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

static const emu_named_format *find_format_row(const char *id)
{
    const emu_named_format *row = emu_formats;
    if (!id)
        return NULL;
    while (row->name && !is_same(row->name, id))
        row++;
    return row->name ? row : NULL;
}

const emu_format *emu_find_format(const char *id)
{
    const emu_named_format *row = find_format_row(id);
    return row ? row->format : NULL;
}

const emu_rounding *emu_find_rounding(const char *id)
{
    const emu_named_rounding *row = emu_roundings;
    while (id && row->name && !is_same(row->name, id))
        row++;
    return id ? row->rounding : NULL;
}

const emu_word *emu_find_word(const char *rounding)
{
    const emu_named_word *row = emu_words;
    while (rounding && row->name && !is_same(row->name, rounding))
        row++;
    return rounding ? row->word : NULL;
}

const emu_policy *emu_find_policy(const char *id, const char *destination)
{
    const emu_named_format *format = find_format_row(destination);
    const emu_named_policy *row = emu_policies;
    if (!id || !format)
        return NULL;
    while (row->name && !(is_same(row->name, id) && is_same(row->destination, format->id)))
        row++;
    return row->policy;
}

const emu_transform *emu_find_transform(const char *id)
{
    const emu_named_transform *row = emu_transforms;
    while (id && row->name && !is_same(row->name, id))
        row++;
    return id ? row->transform : NULL;
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
