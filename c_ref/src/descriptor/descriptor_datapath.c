/* descriptor_datapath.c: datapaths of a descriptor, read and written: the fused ones here, and the operands that a datapath leaves free. */
#include "../dot/datapath.h"
#include "descriptor.h"

enum { MOST_DATAPATHS = 1024, MOST_PAIRS = 64, MOST_SCALES = 16, MOST_BLOCKS = 16, MOST_PRODUCTS = 1 << 20 };

static const char *const applies[] = {"none", "group", "product", "promote", NULL};
static const char *const rules[] = {"stated", "derived", "unlimited", NULL};
static const char *const aligns[] = {"rz", "rd", "rne", NULL};
static const char *const c_kinds[] = {"aligned", "added", "realigned", "last", NULL};

#define NUMBER(name, least, most) \
    {.key = #name, .kind = EMU_FIELD_NUMBER, .count = 1, .place = offsetof(emu_datapath, name), .low = (least), .high = (most)}
#define WORD(name, list) {.key = #name, .kind = EMU_FIELD_WORD, .count = 1, .place = offsetof(emu_datapath, name), .names = (list)}
#define FLAG(name) WORD(name, emu_no_yes)
#define POINTER(name, what) {.key = #name, .kind = (what), .count = 1, .place = offsetof(emu_datapath, name)}
#define NUMBER_WHERE(name, least, most, other, value) \
    {.key = #name, .kind = EMU_FIELD_NUMBER, .count = 1, .place = offsetof(emu_datapath, name), .low = (least), .high = (most), \
     .when = {offsetof(emu_datapath, other)}, .is = {1u << (value)}}
#define PROMOTED(name) \
    {.key = #name, .kind = EMU_FIELD_ROUNDING, .count = 1, .place = offsetof(emu_datapath, name), .when = {offsetof(emu_datapath, apply)}, \
     .is = {1u << EMU_APPLY_PROMOTE}}

static const emu_field datapath_fields[] = {
    POINTER(result, EMU_FIELD_ARITHMETIC),
    NUMBER(k, 1, MOST_PRODUCTS),
    NUMBER(step, 0, MOST_PRODUCTS), /* 0: a block */
    NUMBER(group, 0, MOST_PRODUCTS),
    NUMBER(split, 1, EMU_MAX_SPLIT),
    WORD(apply, applies),
    FLAG(ignores_unused_bits),
    FLAG(is_normalised),
    NUMBER(exponent_raise, -1024, 1024),
    WORD(frac_rule, rules),
    NUMBER_WHERE(frac_bits, 0, 1024, frac_rule, EMU_STATED),
    WORD(integer_rule, rules),
    NUMBER_WHERE(integer_bits, 0, 1024, integer_rule, EMU_STATED),
    WORD(floor_rule, rules),
    NUMBER_WHERE(floor_exp, -(1 << 20), 1 << 20, floor_rule, EMU_STATED),
    WORD(align_mode, aligns),
    FLAG(wraps),
    FLAG(cancelled_group_counts),
    WORD(c_kind, c_kinds),
    NUMBER_WHERE(f2, 0, 1024, c_kind, EMU_C_REALIGNED),
    NUMBER_WHERE(drop_below, 0, 1 << 20, c_kind, EMU_C_REALIGNED),
    NUMBER_WHERE(accumulator_bits, 8, 1024, c_kind, EMU_C_LAST),
    PROMOTED(scale_product),
    PROMOTED(term),
    PROMOTED(sum),
    {.key = "is_fused", .kind = EMU_FIELD_WORD, .count = 1, .place = offsetof(emu_datapath, is_fused), .names = emu_no_yes,
     .when = {offsetof(emu_datapath, apply)}, .is = {1u << EMU_APPLY_PROMOTE}},
    POINTER(rounding, EMU_FIELD_ROUNDING),
    NUMBER(keep, 0, 62),
    FLAG(saturates),
    FLAG(flushes_elements),
    FLAG(flushes_scales),
    FLAG(flushes_c),
    FLAG(flushes_result),
    FLAG(nan_scale_live),
    FLAG(ieee_zero),
    FLAG(any_nan),
    POINTER(nan_code, EMU_FIELD_HEX),
    {.key = NULL},
};

/* Pairs of elements, formats of scales, sizes of blocks, each with its number before it. */
const emu_choices *emu_read_choices(emu_reader *reader)
{
    int32_t count = emu_read_count(reader, "pairs", 1, MOST_PAIRS), both;
    const emu_format **pairs = emu_take(reader, 2 * (size_t)count * sizeof *pairs), **scales;
    emu_choices *choices = emu_take(reader, sizeof *choices);
    int32_t *blocks;
    for (int32_t i = 0; i < count && emu_read_line(reader, "pair", 2); i++) {
        pairs[2 * i] = emu_read_format(reader, 1);
        pairs[2 * i + 1] = emu_read_format(reader, 2);
    }
    both = emu_read_count(reader, "scales", 0, MOST_SCALES);
    scales = emu_take(reader, (size_t)both * sizeof *scales);
    for (int32_t i = 0; i < both && emu_read_line(reader, "scale", 1); i++)
        scales[i] = emu_read_format(reader, 1);
    blocks = emu_take(reader, (size_t)MOST_BLOCKS * sizeof *blocks);
    if (reader->error)
        return NULL;
    choices->pairs = pairs;
    choices->pair_count = count;
    choices->scales = scales;
    choices->scale_count = both;
    choices->block_count = emu_read_count(reader, "blocks", both > 0, both > 0 ? MOST_BLOCKS : 0);
    for (int32_t i = 0; i < choices->block_count && emu_read_line(reader, "block", 1); i++)
        blocks[i] = (int32_t)emu_read_integer(reader, 1, 1, MOST_PRODUCTS);
    choices->blocks = blocks;
    return choices;
}

void emu_write_choices(emu_writer *writer, const emu_choices *choices)
{
    emu_write_count(writer, "pairs", choices->pair_count);
    for (int32_t i = 0; i < choices->pair_count; i++) {
        emu_write_key(writer, "pair");
        emu_write_format(writer, choices->pairs[2 * i]);
        emu_write_format(writer, choices->pairs[2 * i + 1]);
    }
    emu_write_count(writer, "scales", choices->scale_count);
    for (int32_t i = 0; i < choices->scale_count; i++) {
        emu_write_key(writer, "scale");
        emu_write_format(writer, choices->scales[i]);
    }
    emu_write_count(writer, "blocks", choices->block_count);
    for (int32_t i = 0; i < choices->block_count; i++)
        emu_write_count(writer, "block", choices->blocks[i]);
}

/* The offered scale whose codes have the largest significand, the first of them; each has passed the check of a datapath. */
const emu_format *emu_widest_scale(const emu_choices *choices)
{
    const emu_format *found = NULL;
    uint64_t most = 0;
    int32_t most_exp = 0;
    for (int32_t i = 0; i < choices->scale_count; i++) {
        emu_operand operand;
        int32_t exp;
        uint64_t leading;
        emu_make_operand(choices->scales[i], 0, 0, &operand);
        exp = emu_bit_length(operand.widest) - operand.frac_bits;
        leading = operand.widest << (64 - emu_bit_length(operand.widest)) % 64;
        if (!found || exp > most_exp || (exp == most_exp && leading > most)) {
            found = choices->scales[i];
            most = leading;
            most_exp = exp;
        }
    }
    return found;
}

static void check_choices(emu_reader *reader, const emu_named_datapath *row, int32_t line)
{
    for (int32_t j = 0; j < emu_count_choices(row->choices) && !reader->error; j++) {
        emu_datapath chosen;
        emu_path path;
        int32_t error;
        emu_choose_datapath(row, j, &chosen);
        error = emu_make_path(&chosen, &path);
        if (error && error != EMU_ERROR_NULL)
            emu_end_limits(reader, line, &path.limit);
        emu_end_object(reader, line, error, "a datapath that contradicts itself or passes a limit",
                       "the limits stand in emu_ref.h at emu_datapath");
    }
}

static void load_datapath(emu_reader *reader, const char *id, emu_named_datapath *row)
{
    int32_t line = reader->line;
    emu_datapath *facts = emu_take(reader, sizeof *facts);
    const emu_choices *choices;
    if (!facts)
        return;
    emu_read_fields(reader, datapath_fields, facts);
    choices = emu_read_choices(reader);
    if (reader->error)
        return;
    row->choices = choices;
    row->facts = facts;
    check_choices(reader, row, line);
    if (!reader->error && choices->scale_count) {
        facts->widest_scale = emu_widest_scale(choices);
        check_choices(reader, row, line);
    }
    row->id = row->name = id;
}

/* Both forms stand in one section; no two have one id. */
void emu_load_datapaths(emu_reader *reader)
{
    int32_t count = emu_read_count(reader, "datapaths", 0, MOST_DATAPATHS), fused = 0, of_levels = 0;
    emu_named_datapath *rows = emu_take(reader, ((size_t)count + 1) * sizeof *rows);
    emu_named_levels *levels = emu_take(reader, ((size_t)count + 1) * sizeof *levels);
    if (reader->error)
        return;
    reader->library->datapaths = rows;
    reader->library->levels = levels;
    for (int32_t i = 0; i < count && emu_next_line(reader); i++) {
        int32_t has_levels = emu_is_word(reader, 0, "levels");
        if (reader->word_count != 2 || !(has_levels || emu_is_word(reader, 0, "datapath"))) {
            emu_refuse_key(reader, "datapath");
            return;
        }
        emu_refuse_taken(reader, levels, sizeof *levels, of_levels);
        if (has_levels)
            emu_load_levels(reader, emu_read_new_id(reader, rows, sizeof *rows, fused), &levels[of_levels]);
        else
            load_datapath(reader, emu_read_new_id(reader, rows, sizeof *rows, fused), &rows[fused]);
        of_levels += has_levels;
        fused += !has_levels;
    }
}

/* The fused ones first. */
void emu_save_datapaths(emu_writer *writer)
{
    const emu_named_datapath *row = writer->library->datapaths;
    const emu_named_levels *levels = writer->library->levels;
    emu_write_count(writer, "datapaths", emu_count_rows(row, sizeof *row) + emu_count_rows(levels, sizeof *levels));
    for (; row->name; row++) {
        emu_write_line(writer, "datapath", row->name);
        emu_write_fields(writer, datapath_fields, row->facts);
        emu_write_choices(writer, row->choices);
    }
    for (; levels->name; levels++)
        emu_save_levels(writer, levels);
}
