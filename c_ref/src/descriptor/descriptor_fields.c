/* descriptor_fields.c: the lines of one object into its struct and back, as a table of fields says; references to objects above. */
#include "descriptor.h"

const char *const emu_no_yes[] = {"no", "yes", NULL};

static const char *const special_words[] = {"rule", NULL, "open", "refused"}; /* by EMU_BY_RULE .. EMU_IS_REFUSED; NULL: a code */

const emu_format *emu_read_format(emu_reader *reader, int32_t place)
{
    const emu_named_format *row = reader->library->formats;
    while (row->name && !emu_is_word(reader, place, row->name))
        row++;
    if (!row->name)
        emu_refuse(reader, "no format above has the id", place, "write the formats that the file uses under formats");
    return row->format;
}

const emu_format *emu_read_arithmetic(emu_reader *reader, int32_t place)
{
    const emu_format *format = emu_read_format(reader, place);
    if (!reader->error && format->format_class == EMU_FLOAT) {
        emu_refuse_beyond(reader, "exp_bits of the format", format->exp_bits, EMU_MOST_EXP_BITS);
        emu_refuse_beyond(reader, "frac_bits of the format", format->frac_bits, EMU_MOST_FRAC_BITS);
    }
    return format;
}

const char *emu_id_of(const emu_library *library, const emu_format *format)
{
    const emu_named_format *row = library->formats;
    while (row->format != format)
        row++;
    return row->name;
}

const emu_rounding *emu_read_rounding(emu_reader *reader, int32_t place)
{
    const emu_named_rounding *row = reader->library->roundings;
    while (row->name && !emu_is_word(reader, place, row->name))
        row++;
    if (!row->name)
        emu_refuse(reader, "no rounding above has the id", place, "write the roundings that the file uses under roundings");
    return row->rounding;
}

const emu_transform *emu_read_transform(emu_reader *reader, int32_t place)
{
    const emu_named_transform *row = reader->library->transforms;
    while (row->name && !emu_is_word(reader, place, row->name))
        row++;
    if (!row->name)
        emu_refuse(reader, "no transform above has the id", place, "write the transforms that the file uses under transforms");
    return row->transform;
}

/* A code that a policy gives once a number is rounded is written with this behind it. */
static const char rounded[] = "_rounded";
enum { ROUNDED_SIZE = sizeof rounded - 1 };

static int32_t ends_as_rounded(const emu_reader *reader, int32_t place)
{
    int32_t size = reader->sizes[place], i = 0;
    while (size > ROUNDED_SIZE && i < ROUNDED_SIZE && reader->words[place][size - ROUNDED_SIZE + i] == rounded[i])
        i++;
    return i == ROUNDED_SIZE;
}

void emu_read_special(emu_reader *reader, int32_t place, emu_special *special)
{
    int32_t rule = EMU_IS_REFUSED;
    while (rule >= EMU_BY_RULE && !(special_words[rule] && emu_is_word(reader, place, special_words[rule])))
        rule--;
    special->rule = rule < EMU_BY_RULE ? EMU_BY_CODE : rule;
    if (special->rule == EMU_BY_CODE && ends_as_rounded(reader, place)) {
        special->rule = EMU_BY_ROUNDED;
        reader->sizes[place] -= ROUNDED_SIZE;
    }
    if (special->rule == EMU_BY_CODE || special->rule == EMU_BY_ROUNDED)
        special->code = emu_read_hex(reader, place);
}

/* The value at `place` of the line, the number `place` - 1 of the field. */
static void read_value(emu_reader *reader, const emu_field *field, int32_t place, void *object)
{
    size_t number = (size_t)place - 1;
    void *to = (char *)object + field->place;
    switch (field->kind) {
    case EMU_FIELD_NUMBER:
        ((int32_t *)to)[number] = (int32_t)emu_read_integer(reader, place, field->low, field->high);
        break;
    case EMU_FIELD_WORD:
        ((int32_t *)to)[number] = emu_read_word(reader, place, field->names);
        break;
    case EMU_FIELD_HEX:
        ((uint64_t *)to)[number] = emu_read_hex(reader, place);
        break;
    case EMU_FIELD_SPECIAL:
        emu_read_special(reader, place, (emu_special *)to + number);
        break;
    case EMU_FIELD_FORMAT:
        *(const emu_format **)to = emu_read_format(reader, place);
        break;
    case EMU_FIELD_ARITHMETIC:
        *(const emu_format **)to = emu_read_arithmetic(reader, place);
        break;
    default:
        *(const emu_rounding **)to = emu_read_rounding(reader, place);
        break;
    }
}

/* The object has this line: what it depends on stands before it. */
static int32_t is_there(const emu_field *field, const void *object)
{
    for (int32_t i = 0; i < 2; i++) {
        if (field->is[i] && !(field->is[i] >> *(const int32_t *)((const char *)object + field->when[i]) & 1))
            return 0;
    }
    return 1;
}

void emu_read_fields(emu_reader *reader, const emu_field *fields, void *object)
{
    for (const emu_field *field = fields; field->key && !reader->error; field++) {
        if (!is_there(field, object) || !emu_read_line(reader, field->key, field->count))
            continue;
        for (int32_t place = 1; place <= field->count; place++)
            read_value(reader, field, place, object);
    }
}

void emu_write_format(emu_writer *writer, const emu_format *format)
{
    emu_write_word(writer, format ? emu_id_of(writer->library, format) : "none");
}

void emu_write_rounding(emu_writer *writer, const emu_rounding *rounding)
{
    const emu_named_rounding *row = writer->library->roundings;
    while (rounding && row->rounding != rounding)
        row++;
    emu_write_word(writer, rounding ? row->name : "none");
}

void emu_write_special(emu_writer *writer, const emu_special *special)
{
    if (special->rule == EMU_BY_CODE || special->rule == EMU_BY_ROUNDED)
        emu_write_hex(writer, special->code);
    if (special->rule == EMU_BY_ROUNDED)
        emu_append(writer, rounded);
    else if (special->rule != EMU_BY_CODE)
        emu_write_word(writer, special_words[special->rule]);
}

static void write_value(emu_writer *writer, const emu_field *field, int32_t number, const void *object)
{
    const void *from = (const char *)object + field->place;
    switch (field->kind) {
    case EMU_FIELD_NUMBER:
        emu_write_integer(writer, ((const int32_t *)from)[number]);
        break;
    case EMU_FIELD_WORD:
        emu_write_word(writer, field->names[((const int32_t *)from)[number]]);
        break;
    case EMU_FIELD_HEX:
        emu_write_hex(writer, ((const uint64_t *)from)[number]);
        break;
    case EMU_FIELD_SPECIAL:
        emu_write_special(writer, (const emu_special *)from + number);
        break;
    case EMU_FIELD_FORMAT:
    case EMU_FIELD_ARITHMETIC:
        emu_write_format(writer, *(const emu_format *const *)from);
        break;
    default:
        emu_write_rounding(writer, *(const emu_rounding *const *)from);
        break;
    }
}

void emu_write_fields(emu_writer *writer, const emu_field *fields, const void *object)
{
    for (const emu_field *field = fields; field->key; field++) {
        if (!is_there(field, object))
            continue;
        emu_write_key(writer, field->key);
        for (int32_t number = 0; number < field->count; number++)
            write_value(writer, field, number, object);
    }
}
