/* descriptor_block.c: transforms, blocks and layouts of a descriptor, read and written. */
#include "descriptor.h"

enum { MOST_OBJECTS = 4096, MOST_LEVELS = 16, MOST_ELEMENTS = 2 };

const char *const emu_shipped_facts = "what the id means in the shipped spec, but for other facts";

static const char *const orders[] = {"exact", "sequential", "tree", "halves", "butterfly", NULL};
static const char *const contents[] = {"elements", "scales", NULL};
static const char *const axes[] = {"index", "row", "index_down", "row_down", NULL};

#define TRANSFORM(name) .place = offsetof(emu_transform, name)
#define LAYOUT(name) .place = offsetof(emu_layout, name)

static const emu_field transform_fields[] = {
    {.key = "size", .kind = EMU_FIELD_NUMBER, .count = 1, TRANSFORM(size), .low = 2, .high = 256},
    {.key = "order", .kind = EMU_FIELD_WORD, .count = 1, TRANSFORM(order), .names = orders},
    {.key = "signs", .kind = EMU_FIELD_HEX, .count = 4, TRANSFORM(signs)},
    {.key = "scale_exp", .kind = EMU_FIELD_NUMBER, .count = 1, TRANSFORM(scale_exp), .low = -1024, .high = 1024},
    {.key = "sum_format", .kind = EMU_FIELD_ARITHMETIC, .count = 1, TRANSFORM(sum_format)},
    {.key = "result", .kind = EMU_FIELD_FORMAT, .count = 1, TRANSFORM(result)},
    {.key = NULL},
};

static const emu_field layout_fields[] = {
    {.key = "holds", .kind = EMU_FIELD_WORD, .count = 1, LAYOUT(holds_scales), .names = contents},
    {.key = "code_bits", .kind = EMU_FIELD_NUMBER, .count = 1, LAYOUT(code_bits), .low = 4, .high = 8},
    {.key = NULL},
};

static int32_t same_text(const char *a, const char *b)
{
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

static int32_t same_transform(const emu_transform *a, const emu_transform *b)
{
    int32_t same = a->size == b->size && a->order == b->order && a->scale_exp == b->scale_exp &&
                   emu_same_format(a->sum_format, b->sum_format) && emu_same_format(a->result, b->result);
    for (int32_t i = 0; i < 4; i++)
        same = same && a->signs[i] == b->signs[i];
    return same;
}

void emu_load_transforms(emu_reader *reader)
{
    int32_t count = emu_read_count(reader, "transforms", 0, MOST_OBJECTS);
    emu_named_transform *rows = emu_take(reader, ((size_t)count + 1) * sizeof *rows);
    emu_transform *transforms = emu_take(reader, (size_t)count * sizeof *transforms);
    reader->library->transforms = rows;
    for (int32_t i = 0; i < count && emu_read_line(reader, "transform", 1); i++) {
        const char *id = emu_read_new_id(reader, rows, sizeof *rows, i);
        int32_t line = reader->line;
        const emu_transform *other = emu_find_transform(id);
        emu_read_fields(reader, transform_fields, &transforms[i]);
        if (reader->error)
            return;
        emu_end_object(reader, line, emu_check_transform(&transforms[i]), "a transform that contradicts itself or passes a limit",
                       "the limits stand in emu_ref.h at emu_transform");
        emu_end_object(reader, line, other && !same_transform(other, &transforms[i]), emu_shipped_facts, "give it an id of its own");
        rows[i].id = rows[i].name = id;
        rows[i].transform = &transforms[i];
    }
}

void emu_save_transforms(emu_writer *writer)
{
    const emu_named_transform *row = writer->library->transforms;
    emu_write_count(writer, "transforms", emu_count_rows(row, sizeof *row));
    for (; row->name; row++) {
        emu_write_line(writer, "transform", row->name);
        emu_write_fields(writer, transform_fields, row->transform);
    }
}

/* Blocks */

static void read_elements(emu_reader *reader, emu_block *block)
{
    const emu_format **elements = emu_take(reader, MOST_ELEMENTS * sizeof *elements);
    block->element_count = emu_read_values(reader, "elements", MOST_ELEMENTS);
    for (int32_t i = 0; i < block->element_count && !reader->error; i++)
        elements[i] = emu_read_format(reader, i + 1);
    block->elements = elements;
}

static void read_levels(emu_reader *reader, emu_block *block)
{
    int32_t count = emu_read_count(reader, "level_count", 0, MOST_LEVELS);
    emu_block_level *levels = emu_take(reader, (size_t)count * sizeof *levels);
    for (int32_t i = 0; i < count && emu_read_line(reader, "level", 4); i++) {
        levels[i].name = emu_read_new_id(reader, levels, sizeof *levels, i);
        levels[i].format = emu_read_format(reader, 2);
        levels[i].rows = (int32_t)emu_read_integer(reader, 3, 0, block->rows);
        levels[i].columns = (int32_t)emu_read_integer(reader, 4, 0, block->columns);
    }
    block->level_count = count;
    block->levels = levels;
}

/* A level covers the whole tensor, rows, a tile, or parts of a row of a tile; the formats that a flag chooses from have one width. */
static int32_t is_block_sound(const emu_block *block)
{
    int32_t sound = emu_stored_bits(block->elements[0]) == emu_stored_bits(block->elements[block->element_count - 1]);
    for (int32_t i = 0; i < block->level_count; i++) {
        const emu_block_level *level = &block->levels[i];
        int32_t is_whole = level->rows == 0, is_tile = level->rows == block->rows && level->columns == block->columns;
        if (is_whole ? level->columns != 0 : !is_tile && (level->rows != 1 || (level->columns && block->columns % level->columns)))
            sound = 0;
    }
    return sound;
}

static int32_t same_block(const emu_block *a, const emu_block *b)
{
    int32_t same = a->rows == b->rows && a->columns == b->columns && a->element_count == b->element_count && a->level_count == b->level_count;
    for (int32_t i = 0; same && i < a->element_count; i++)
        same = emu_same_format(a->elements[i], b->elements[i]);
    for (int32_t i = 0; same && i < a->level_count; i++)
        same = same_text(a->levels[i].name, b->levels[i].name) && emu_same_format(a->levels[i].format, b->levels[i].format) &&
               a->levels[i].rows == b->levels[i].rows && a->levels[i].columns == b->levels[i].columns;
    return same;
}

void emu_load_blocks(emu_reader *reader)
{
    int32_t count = emu_read_count(reader, "blocks", 0, MOST_OBJECTS);
    emu_named_block *rows = emu_take(reader, ((size_t)count + 1) * sizeof *rows);
    emu_block *blocks = emu_take(reader, (size_t)count * sizeof *blocks);
    reader->library->blocks = rows;
    for (int32_t i = 0; i < count && emu_read_line(reader, "block", 1); i++) {
        const char *id = emu_read_new_id(reader, rows, sizeof *rows, i);
        int32_t line = reader->line;
        const emu_block *other = emu_find_block_in(NULL, id);
        if (emu_read_line(reader, "tile", 2)) {
            blocks[i].rows = (int32_t)emu_read_integer(reader, 1, 1, EMU_MAX_SIDE);
            blocks[i].columns = (int32_t)emu_read_integer(reader, 2, 1, EMU_MAX_SIDE);
        }
        read_elements(reader, &blocks[i]);
        read_levels(reader, &blocks[i]);
        if (reader->error)
            return;
        emu_end_object(reader, line, !is_block_sound(&blocks[i]), "a block whose levels do not divide its tile, or whose elements differ in width",
                       "a level covers 0 0 (all), 1 0 (a row), the tile, or 1 and a divisor of its columns");
        emu_end_object(reader, line, other && !same_block(other, &blocks[i]), emu_shipped_facts, "give it an id of its own");
        rows[i].id = rows[i].name = id;
        rows[i].block = &blocks[i];
    }
}

static void write_block(emu_writer *writer, const emu_block *block)
{
    emu_write_count(writer, "tile", block->rows);
    emu_write_integer(writer, block->columns);
    emu_write_key(writer, "elements");
    for (int32_t i = 0; i < block->element_count; i++)
        emu_write_format(writer, block->elements[i]);
    emu_write_count(writer, "level_count", block->level_count);
    for (int32_t i = 0; i < block->level_count; i++) {
        emu_write_line(writer, "level", block->levels[i].name);
        emu_write_format(writer, block->levels[i].format);
        emu_write_integer(writer, block->levels[i].rows);
        emu_write_integer(writer, block->levels[i].columns);
    }
}

void emu_save_blocks(emu_writer *writer)
{
    const emu_named_block *row = writer->library->blocks;
    emu_write_count(writer, "blocks", emu_count_rows(row, sizeof *row));
    for (; row->name; row++) {
        emu_write_line(writer, "block", row->name);
        write_block(writer, row->block);
    }
}

/* Layouts */

static void read_digits(emu_reader *reader, emu_layout *layout)
{
    int32_t count = emu_read_count(reader, "digits", 2, EMU_MAX_DIGITS);
    emu_digit *digits = emu_take(reader, (size_t)count * sizeof *digits);
    for (int32_t i = 0; i < count && emu_read_line(reader, "digit", 3); i++) {
        int32_t axis = emu_read_word(reader, 1, axes);
        digits[i].is_row = axis & 1;
        digits[i].down = axis >> 1;
        digits[i].step = (int32_t)emu_read_integer(reader, 2, 1, EMU_MAX_SIDE);
        digits[i].count = emu_is_word(reader, 3, "rest") ? 0 : (int32_t)emu_read_integer(reader, 3, 2, EMU_MAX_SIDE);
    }
    layout->digit_count = count;
    layout->digits = digits;
}

static int32_t same_layout(const emu_layout *a, const emu_layout *b)
{
    int32_t same = a->holds_scales == b->holds_scales && a->code_bits == b->code_bits && a->digit_count == b->digit_count;
    for (int32_t i = 0; same && i < a->digit_count; i++)
        same = a->digits[i].is_row == b->digits[i].is_row && a->digits[i].step == b->digits[i].step && a->digits[i].count == b->digits[i].count &&
               a->digits[i].down == b->digits[i].down;
    return same;
}

void emu_load_layouts(emu_reader *reader)
{
    int32_t count = emu_read_count(reader, "layouts", 0, MOST_OBJECTS);
    emu_named_layout *rows = emu_take(reader, ((size_t)count + 1) * sizeof *rows);
    emu_layout *layouts = emu_take(reader, (size_t)count * sizeof *layouts);
    reader->library->layouts = rows;
    for (int32_t i = 0; i < count && emu_read_line(reader, "layout", 1); i++) {
        const char *id = emu_read_new_id(reader, rows, sizeof *rows, i);
        int32_t line = reader->line;
        const emu_layout *other = emu_find_layout_in(NULL, id);
        emu_read_fields(reader, layout_fields, &layouts[i]);
        read_digits(reader, &layouts[i]);
        if (reader->error)
            return;
        emu_end_object(reader, line, emu_check_layout(&layouts[i]), "a layout whose digits do not give each code one place",
                       "steps and counts of an axis follow on one another, its last digit has the rest; codes have 4 or 8 bits");
        emu_end_object(reader, line, other && !same_layout(other, &layouts[i]), emu_shipped_facts, "give it an id of its own");
        rows[i].id = rows[i].name = id;
        rows[i].layout = &layouts[i];
    }
}

void emu_save_layouts(emu_writer *writer)
{
    const emu_named_layout *row = writer->library->layouts;
    emu_write_count(writer, "layouts", emu_count_rows(row, sizeof *row));
    for (; row->name; row++) {
        emu_write_line(writer, "layout", row->name);
        emu_write_fields(writer, layout_fields, row->layout);
        emu_write_count(writer, "digits", row->layout->digit_count);
        for (int32_t i = 0; i < row->layout->digit_count; i++) {
            const emu_digit *digit = &row->layout->digits[i];
            emu_write_line(writer, "digit", axes[digit->is_row | digit->down << 1]);
            emu_write_integer(writer, digit->step);
            if (digit->count)
                emu_write_integer(writer, digit->count);
            else
                emu_write_word(writer, "rest");
        }
    }
}
