/* descriptor_convert.c: formats, roundings and policies of a descriptor, read and written. */
#include "descriptor.h"

enum { MOST_OBJECTS = 4096, MOST_LANES = 64, MOST_EXPONENT = 1 << 20, FLOAT = 1 << EMU_FLOAT, INTEGER = 1 << EMU_INTEGER, EXPONENT = 1 << EMU_EXPONENT,
       CODEBOOK = 1 << EMU_CODEBOOK };

static const char *const classes[] = {"float", "integer", "exponent", "codebook", NULL};
static const char *const integer_signs[] = {"twos_complement", "sign_magnitude", "no", NULL};
static const char *const infs[] = {"none", "ieee", "top", NULL};
static const char *const nans[] = {"none", "ieee", "list", NULL};
static const char *const ties[] = {"even_code", "lower", "away", NULL};
static const char *const choices[] = {"keep", "next", "to_even_code", "to_odd_code", NULL};
static const char *const adds[] = {"none", "carry", "compare", "half", "te_fma", "nearest", NULL};
static const char *const beyonds[] = {"max", "away", "odd_code", NULL};
const char *const emu_overflow_words[] = {"saturate", "inf", "nan", "ieee_inf", "ieee_nan", "wrap", NULL};

#define IN_CLASS(classes) .when = {offsetof(emu_format, format_class)}, .is = {classes}
#define FORMAT_NUMBER(name, least, most, classes) \
    {.key = #name, .kind = EMU_FIELD_NUMBER, .count = 1, .place = offsetof(emu_format, name), .low = (least), .high = (most), IN_CLASS(classes)}
#define FORMAT_WORD(name, list, classes) \
    {.key = #name, .kind = EMU_FIELD_WORD, .count = 1, .place = offsetof(emu_format, name), .names = (list), IN_CLASS(classes)}

static const emu_field format_fields[] = {
    {.key = "class", .kind = EMU_FIELD_WORD, .count = 1, .place = offsetof(emu_format, format_class), .names = classes},
    FORMAT_NUMBER(bits, 1, 63, INTEGER),
    FORMAT_NUMBER(bits, 1, 16, EXPONENT),
    FORMAT_NUMBER(bits, 1, 8, CODEBOOK),
    FORMAT_WORD(has_sign, emu_no_yes, FLOAT),
    FORMAT_NUMBER(exp_bits, 1, 15, FLOAT),
    FORMAT_NUMBER(frac_bits, 0, 62, FLOAT),
    FORMAT_NUMBER(bias, -MOST_EXPONENT, MOST_EXPONENT, FLOAT | EXPONENT),
    FORMAT_WORD(subnormals, emu_no_yes, FLOAT),
    FORMAT_WORD(neg_zero, emu_no_yes, FLOAT),
    FORMAT_NUMBER(unused_high_bits, 0, 7, FLOAT),
    FORMAT_WORD(inf, infs, FLOAT),
    FORMAT_WORD(nan, nans, FLOAT | EXPONENT),
    FORMAT_WORD(integer_sign, integer_signs, INTEGER),
    FORMAT_NUMBER(unit_exp, -MOST_EXPONENT, MOST_EXPONENT, INTEGER | CODEBOOK),
    FORMAT_WORD(tie, ties, CODEBOOK),
    FORMAT_NUMBER(minus_zero_code, -1, 255, CODEBOOK),
    {.key = NULL},
};

#define ROUNDING_WORDS(name, number, member, list) \
    {.key = (name), .kind = EMU_FIELD_WORD, .count = (number), .place = offsetof(emu_rounding, member), .names = (list)}

static const emu_field rounding_fields[] = {
    ROUNDING_WORDS("add", 1, add, adds),
    ROUNDING_WORDS("positive", 3, choice[0], choices),
    ROUNDING_WORDS("negative", 3, choice[1], choices),
    {.key = "random_bits", .kind = EMU_FIELD_NUMBER, .count = 1, .place = offsetof(emu_rounding, random_bits), .low = 1,
     .high = EMU_MAX_RANDOM_BITS, .when = {offsetof(emu_rounding, add)}, .is = {~(1u << EMU_ADD_NONE)}},
    ROUNDING_WORDS("beyond_max", 2, beyond_max, beyonds),
    {.key = NULL},
};

#define POLICY_SPECIAL(name, number) {.key = #name, .kind = EMU_FIELD_SPECIAL, .count = (number), .place = offsetof(emu_policy, name)}

static const emu_field policy_fields[] = {
    {.key = "overflow", .kind = EMU_FIELD_WORD, .count = 1, .place = offsetof(emu_policy, overflow), .names = emu_overflow_words},
    POLICY_SPECIAL(nan, 2),
    POLICY_SPECIAL(negative, 1),
    POLICY_SPECIAL(zero, 2),
    POLICY_SPECIAL(inf, 2),
    POLICY_SPECIAL(overflow_nan, 2),
    {.key = NULL},
};

/* The NaN codes of a list: nan_codes, how many, then each. */
static void read_nan_codes(emu_reader *reader, emu_format *format)
{
    format->nan_count = emu_read_values(reader, "nan_codes", EMU_MAX_NAN_CODES);
    for (int32_t i = 0; i < format->nan_count; i++)
        format->nan_codes[i] = emu_read_hex(reader, i + 1);
}

static void read_values(emu_reader *reader, emu_format *format)
{
    int32_t count = reader->error ? 0 : 1 << format->bits;
    int64_t *values = emu_take(reader, (size_t)count * sizeof *values);
    const int64_t most = ((int64_t)1 << EMU_MAX_VALUE_BITS) - 1;
    for (int32_t i = 0; i < count && emu_read_line(reader, "value", 1); i++)
        values[i] = emu_read_integer(reader, 1, -most, most);
    format->values = values;
}

static int32_t same_word(const emu_word *a, const emu_word *b)
{
    int32_t same = (a == NULL) == (b == NULL);
    if (!a || !same)
        return same;
    same = a->lanes == b->lanes && a->bits == b->bits && a->random_bits == b->random_bits;
    for (int32_t i = 0; same && i < a->lanes * a->random_bits; i++)
        same = a->positions[i] == b->positions[i];
    return same;
}

static int32_t same_rounding(const emu_rounding *a, const emu_rounding *b)
{
    int32_t same = a->add == b->add && a->random_bits == b->random_bits;
    for (int32_t i = 0; i < 2; i++) {
        same = same && a->beyond_max[i] == b->beyond_max[i];
        for (int32_t j = 0; j < 3; j++)
            same = same && a->choice[i][j] == b->choice[i][j];
    }
    return same;
}

static void check_widths(emu_reader *reader, int32_t line, const emu_format *format)
{
    emu_limit limit = {0};
    int32_t bits = format->exp_bits + format->frac_bits;
    if (format->format_class != EMU_FLOAT)
        return;
    emu_is_within(&limit, "exp_bits + frac_bits", bits, EMU_MOST_FLOAT_BITS);
    emu_is_within(&limit, "has_sign + exp_bits + frac_bits + unused_high_bits", bits + format->has_sign + format->unused_high_bits,
                  EMU_MOST_STORED_BITS);
    emu_end_limits(reader, line, &limit);
}

void emu_load_formats(emu_reader *reader)
{
    int32_t count = emu_read_count(reader, "formats", 0, MOST_OBJECTS);
    emu_named_format *rows = emu_take(reader, ((size_t)count + 1) * sizeof *rows);
    emu_format *formats = emu_take(reader, (size_t)count * sizeof *formats);
    reader->library->formats = rows;
    for (int32_t i = 0; i < count && emu_read_line(reader, "format", 1); i++) {
        const char *id = emu_read_new_id(reader, rows, sizeof *rows, i);
        int32_t line = reader->line;
        const emu_format *other;
        emu_read_fields(reader, format_fields, &formats[i]);
        if (formats[i].nan == EMU_NAN_LIST)
            read_nan_codes(reader, &formats[i]);
        if (formats[i].format_class == EMU_CODEBOOK)
            read_values(reader, &formats[i]);
        check_widths(reader, line, &formats[i]);
        other = emu_find_format(id);
        emu_end_object(reader, line, emu_check_format(&formats[i]), "a format whose facts contradict one another",
                       "the limits stand in emu_ref.h at emu_format");
        emu_end_object(reader, line, !reader->error && other && !emu_same_format(other, &formats[i]), emu_shipped_facts, "give it an id of its own");
        rows[i].id = rows[i].name = id;
        rows[i].format = &formats[i];
    }
}

/* Random integers that elements share: lanes and bits of a word (0: each element has its own), then the bits of each lane, highest first. */
static const emu_word *read_word(emu_reader *reader, const emu_rounding *rounding)
{
    emu_word *word;
    uint8_t *positions;
    int32_t lanes;
    if (!emu_read_line(reader, "word", 2))
        return NULL;
    lanes = (int32_t)emu_read_integer(reader, 1, 0, rounding->random_bits ? MOST_LANES : 0);
    emu_read_integer(reader, 2, lanes ? 1 : 0, lanes ? 64 : 0);
    if (!lanes || reader->error)
        return NULL;
    word = emu_take(reader, sizeof *word);
    positions = emu_take(reader, (size_t)lanes * (size_t)rounding->random_bits);
    if (reader->error)
        return NULL;
    word->lanes = lanes;
    word->bits = (int32_t)emu_read_integer(reader, 2, 1, 64);
    word->random_bits = rounding->random_bits;
    word->positions = positions;
    for (int32_t lane = 0; lane < lanes && emu_read_line(reader, "lane", rounding->random_bits); lane++) {
        for (int32_t bit = 0; bit < rounding->random_bits; bit++)
            positions[lane * rounding->random_bits + bit] = (uint8_t)emu_read_integer(reader, bit + 1, 0, word->bits - 1);
    }
    return word;
}

void emu_load_roundings(emu_reader *reader)
{
    int32_t count = emu_read_count(reader, "roundings", 0, MOST_OBJECTS);
    emu_named_rounding *rows = emu_take(reader, ((size_t)count + 1) * sizeof *rows);
    emu_rounding *roundings = emu_take(reader, (size_t)count * sizeof *roundings);
    emu_named_word *words = emu_take(reader, ((size_t)count + 1) * sizeof *words), *next = words;
    reader->library->roundings = rows;
    reader->library->words = words;
    for (int32_t i = 0; i < count && emu_read_line(reader, "rounding", 1); i++) {
        const char *id = emu_read_new_id(reader, rows, sizeof *rows, i);
        int32_t line = reader->line;
        const emu_rounding *other = emu_find_rounding(id);
        const emu_word *word;
        emu_read_fields(reader, rounding_fields, &roundings[i]);
        word = read_word(reader, &roundings[i]);
        emu_end_object(reader, line, !reader->error && other && !(same_rounding(other, &roundings[i]) && same_word(emu_find_word(id), word)),
                       emu_shipped_facts, "give it an id of its own");
        if (word && !reader->error) {
            next->id = next->name = id;
            next->word = word;
            next++;
        }
        rows[i].id = rows[i].name = id;
        rows[i].rounding = &roundings[i];
    }
}

void emu_load_policies(emu_reader *reader)
{
    int32_t count = emu_read_count(reader, "policies", 0, MOST_OBJECTS);
    emu_named_policy *rows = emu_take(reader, ((size_t)count + 1) * sizeof *rows);
    emu_policy *policies = emu_take(reader, (size_t)count * sizeof *policies);
    reader->library->policies = rows;
    for (int32_t i = 0; i < count && emu_read_line(reader, "policy", 2); i++) {
        const char *id = emu_read_id(reader, 1);
        const emu_format *destination = emu_read_format(reader, 2);
        int32_t line = reader->line;
        for (int32_t j = 0; j < i; j++) {
            if (emu_is_word(reader, 1, rows[j].name) && emu_is_word(reader, 2, rows[j].destination))
                emu_refuse(reader, "a second policy with the id and format of one above", 1, "leave one of them out");
        }
        emu_read_fields(reader, policy_fields, &policies[i]);
        if (reader->error)
            return;
        emu_end_object(reader, line, emu_check_policy(&policies[i], destination), "a policy that does not fit its format",
                       "a code has at most the bits of the format, and Inf and NaN can be asked of a format that has them");
        rows[i].name = id;
        rows[i].destination = emu_id_of(reader->library, destination);
        rows[i].policy = &policies[i];
    }
}

void emu_save_formats(emu_writer *writer)
{
    const emu_named_format *row = writer->library->formats;
    emu_write_count(writer, "formats", emu_count_rows(row, sizeof *row));
    for (; row->name; row++) {
        const emu_format *format = row->format;
        emu_write_line(writer, "format", row->name);
        emu_write_fields(writer, format_fields, format);
        if (format->nan == EMU_NAN_LIST)
            emu_write_key(writer, "nan_codes");
        for (int32_t i = 0; i < format->nan_count; i++)
            emu_write_hex(writer, format->nan_codes[i]);
        for (int32_t i = 0; format->format_class == EMU_CODEBOOK && i < 1 << format->bits; i++) {
            emu_write_key(writer, "value");
            emu_write_integer(writer, format->values[i]);
        }
    }
}

static void write_word(emu_writer *writer, const emu_word *word)
{
    emu_write_count(writer, "word", word ? word->lanes : 0);
    emu_write_integer(writer, word ? word->bits : 0);
    for (int32_t lane = 0; word && lane < word->lanes; lane++) {
        emu_write_key(writer, "lane");
        for (int32_t bit = 0; bit < word->random_bits; bit++)
            emu_write_integer(writer, word->positions[lane * word->random_bits + bit]);
    }
}

void emu_save_roundings(emu_writer *writer)
{
    const emu_named_rounding *row = writer->library->roundings;
    const emu_named_word *word = writer->library->words; /* in the order of the roundings that have one */
    emu_write_count(writer, "roundings", emu_count_rows(row, sizeof *row));
    for (; row->name; row++) {
        int32_t has_word = word->name == row->name;
        emu_write_line(writer, "rounding", row->name);
        emu_write_fields(writer, rounding_fields, row->rounding);
        write_word(writer, has_word ? word->word : NULL);
        word += has_word;
    }
}

void emu_save_policies(emu_writer *writer)
{
    const emu_named_policy *row = writer->library->policies;
    emu_write_count(writer, "policies", emu_count_rows(row, sizeof *row));
    for (; row->name; row++) {
        emu_write_line(writer, "policy", row->name);
        emu_write_word(writer, row->destination);
        emu_write_fields(writer, policy_fields, row->policy);
    }
}
