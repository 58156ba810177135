/* datapath_names.c: the name of a datapath with its choices -> descriptor. */
#include "tables.h"

enum { LONGEST_NAME = 64 };

/* Take the text up to a slash, or to `until`, or to the end; *text goes on behind it. Returns 0 where it is too long. */
static int32_t take(const char **text, char until, char *piece)
{
    int32_t length = 0;
    while (**text && **text != '/' && **text != until) {
        if (length == LONGEST_NAME - 1)
            return 0;
        piece[length++] = *(*text)++;
    }
    piece[length] = 0;
    return 1;
}

/* Step over one character. */
static int32_t skip(const char **text, char wanted)
{
    if (**text != wanted)
        return 0;
    (*text)++;
    return 1;
}

static int32_t is_same(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

static const emu_named_datapath *find_row(const emu_named_datapath *row, const char *piece)
{
    while (row->name && !is_same(row->name, piece))
        row++;
    return row->name ? row : NULL;
}

/* Take "/<format>"; its place among the scales, -1 where it is not there. */
static int32_t take_scale(const emu_library *library, const char **text, const emu_choices *choices)
{
    char piece[LONGEST_NAME];
    const emu_format *format;
    if (!skip(text, '/') || !take(text, 0, piece))
        return -1;
    format = emu_find_format_in(library, piece);
    for (int32_t i = 0; i < choices->scale_count; i++) {
        if (format && choices->scales[i] == format)
            return i;
    }
    return -1;
}

/* Take "/<format>x<format>". */
static int32_t take_pair(const emu_library *library, const char **text, const emu_choices *choices)
{
    char first[LONGEST_NAME], second[LONGEST_NAME];
    const emu_format *a, *b;
    if (!skip(text, '/') || !take(text, 'x', first) || !skip(text, 'x') || !take(text, 0, second))
        return -1;
    a = emu_find_format_in(library, first);
    b = emu_find_format_in(library, second);
    for (int32_t i = 0; i < choices->pair_count; i++) {
        if (a && b && choices->pairs[2 * i] == a && choices->pairs[2 * i + 1] == b)
            return i;
    }
    return -1;
}

/* Take "/<number>". */
static int32_t take_block(const char **text, const emu_choices *choices)
{
    int32_t number = 0;
    if (!skip(text, '/') || **text == '0')
        return -1;
    for (; **text >= '0' && **text <= '9' && number < 1 << 20; (*text)++)
        number = 10 * number + (**text - '0');
    for (int32_t i = 0; i < choices->block_count; i++) {
        if (choices->blocks[i] == number)
            return i;
    }
    return -1;
}

static int32_t count_of(int32_t count)
{
    return count ? count : 1;
}

int32_t emu_count_choices(const emu_choices *choices)
{
    return choices->pair_count * count_of(choices->scale_count) * count_of(choices->block_count);
}

/* A choice taken apart: formats of A, B and the scales (NULL without them), and the block (0). */
typedef struct choice {
    const emu_format *a;
    const emu_format *b;
    const emu_format *scale;
    int32_t block;
} choice;

static choice take_apart(const emu_choices *choices, int32_t number)
{
    int32_t blocks = count_of(choices->block_count), scales = count_of(choices->scale_count);
    int32_t block = number % blocks, scale = number / blocks % scales, pair = number / blocks / scales;
    choice found = {choices->pairs[2 * pair], choices->pairs[2 * pair + 1], NULL, 0};
    if (choices->scale_count)
        found.scale = choices->scales[scale];
    if (choices->block_count)
        found.block = choices->blocks[block];
    return found;
}

void emu_choose_datapath(const emu_named_datapath *row, int32_t number, emu_datapath *datapath)
{
    choice found = take_apart(row->choices, number);
    *datapath = *row->facts;
    datapath->a = found.a;
    datapath->b = found.b;
    datapath->scale = found.scale;
    datapath->block = found.block;
    datapath->step = datapath->step ? datapath->step : datapath->block;
    datapath->group = datapath->group ? datapath->group : datapath->block;
}

void emu_choose_levels(const emu_named_levels *row, int32_t number, emu_levels *levels)
{
    choice found = take_apart(row->choices, number);
    *levels = *row->facts;
    levels->a = found.a;
    levels->b = found.b;
    levels->scale = found.scale;
    levels->block = found.block;
}

/* The number of the choice that the rest of a name says, -1 where it says none. */
static int32_t find_choice(const emu_library *library, const char *name, const emu_choices *choices)
{
    int32_t pair = 0, scale = 0, block = 0;
    if ((choices->pair_count > 1 && (pair = take_pair(library, &name, choices)) < 0) ||
        (choices->scale_count > 1 && (scale = take_scale(library, &name, choices)) < 0) ||
        (choices->block_count > 1 && (block = take_block(&name, choices)) < 0) || *name)
        return -1;
    return (pair * count_of(choices->scale_count) + scale) * count_of(choices->block_count) + block;
}

int32_t emu_find_datapath_in(const emu_library *library, const char *name, emu_datapath *datapath)
{
    const emu_named_datapath *row;
    char piece[LONGEST_NAME];
    int32_t number;
    if (!name || !datapath)
        return EMU_ERROR_NULL;
    if (!take(&name, 0, piece))
        return EMU_ERROR_NAME;
    row = library ? find_row(library->datapaths, piece) : NULL;
    if (!row && !(row = find_row(emu_datapaths, piece)))
        return EMU_ERROR_NAME;
    number = find_choice(library, name, row->choices);
    if (number < 0)
        return EMU_ERROR_NAME;
    emu_choose_datapath(row, number, datapath);
    return EMU_OK;
}

const emu_named_levels *emu_find_levels_row(const emu_library *library, const char *name)
{
    const emu_named_levels *row;
    char piece[LONGEST_NAME];
    if (!library || !take(&name, 0, piece))
        return NULL;
    row = library->levels;
    while (row->name && !is_same(row->name, piece))
        row++;
    return row->name ? row : NULL;
}

int32_t emu_find_levels_in(const emu_library *library, const char *name, emu_levels *levels)
{
    const emu_named_levels *row;
    int32_t number;
    if (!name || !levels)
        return EMU_ERROR_NULL;
    row = emu_find_levels_row(library, name);
    if (!row)
        return EMU_ERROR_NAME;
    while (*name && *name != '/')
        name++;
    number = find_choice(library, name, row->choices);
    if (number < 0)
        return EMU_ERROR_NAME;
    emu_choose_levels(row, number, levels);
    return EMU_OK;
}

int32_t emu_find_datapath(const char *name, emu_datapath *datapath)
{
    return emu_find_datapath_in(NULL, name, datapath);
}
