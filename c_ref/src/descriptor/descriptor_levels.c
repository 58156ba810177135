/* descriptor_levels.c: datapaths of levels of a descriptor, read and written. */
#include "../dot/levels.h"
#include "descriptor.h"

enum { MOST_PRODUCTS = 1 << 20, MOST_WIDTH = 1 << 14, MOST_BITS = 1 << 20, MOST_LEVELS = (1 << 18) - 1 };

static const char *const hold_kinds[] = {"exact", "float", "fixed", "cut", NULL};
static const char *const beyonds[] = {"inf", "ieee", "saturate", "wrap", "error", "saturate_symmetric", NULL};
static const char *const cuts[] = {"significant", "fraction", NULL};
static const char *const of_rules[] = {"count", "all", "block", NULL};
static const char *const adds[] = {"exact", "aligned", "chain", "pairwise", NULL};
static const char *const starts[] = {"zero", "first", "c", NULL};
static const char *const rules[] = {"stated", "derived", "unlimited", NULL};

#define FLAG(type, name) {.key = #name, .kind = EMU_FIELD_WORD, .count = 1, .place = offsetof(type, name), .names = emu_no_yes}
#define LEVEL(name) .place = offsetof(emu_sum_level, name)
#define ALIGNED .when = {offsetof(emu_sum_level, aligns)}, .is = {1u << 1}
#define STATED(rule) .when = {offsetof(emu_sum_level, aligns), offsetof(emu_sum_level, align.rule)}, .is = {1u << 1, 1u << EMU_STATED}
#define CHAIN .when = {offsetof(emu_sum_level, add)}, .is = {1u << EMU_SUM_CHAIN}

static const emu_field facts_fields[] = {
    {.key = "k", .kind = EMU_FIELD_NUMBER, .count = 1, .place = offsetof(emu_levels, k), .low = 1, .high = MOST_PRODUCTS},
    FLAG(emu_levels, ignores_unused_bits),
    FLAG(emu_levels, flushes_elements),
    FLAG(emu_levels, flushes_scales),
    FLAG(emu_levels, flushes_c),
    FLAG(emu_levels, per_add),
    FLAG(emu_levels, nan_scale_live),
    FLAG(emu_levels, ieee_zero),
    {.key = "nan_code", .kind = EMU_FIELD_HEX, .count = 1, .place = offsetof(emu_levels, nan_code)},
    FLAG(emu_levels, out_plus_c),
    {.key = "invalid_levels", .kind = EMU_FIELD_NUMBER, .count = 1, .place = offsetof(emu_levels, invalid_levels), .high = MOST_LEVELS},
    {.key = "overflow_levels", .kind = EMU_FIELD_NUMBER, .count = 1, .place = offsetof(emu_levels, overflow_levels), .high = MOST_LEVELS},
    FLAG(emu_levels, signals_a),
    FLAG(emu_levels, signals_b),
    FLAG(emu_levels, signals_scale),
    FLAG(emu_levels, signals_c),
    {.key = NULL},
};

static const emu_field level_fields[] = {
    {.key = "of_rule", .kind = EMU_FIELD_WORD, .count = 1, LEVEL(of_rule), .names = of_rules},
    {.key = "of", .kind = EMU_FIELD_NUMBER, .count = 1, LEVEL(of), .low = 1, .high = MOST_PRODUCTS, .when = {offsetof(emu_sum_level, of_rule)},
     .is = {1u << EMU_OF_COUNT}},
    {.key = "every", .kind = EMU_FIELD_NUMBER, .count = 1, LEVEL(every), .low = 1, .high = MOST_PRODUCTS},
    {.key = "add", .kind = EMU_FIELD_WORD, .count = 1, LEVEL(add), .names = adds},
    {.key = "by", .kind = EMU_FIELD_NUMBER, .count = 1, LEVEL(by), .low = 1, .high = MOST_PRODUCTS, CHAIN},
    {.key = "start", .kind = EMU_FIELD_WORD, .count = 1, LEVEL(start), .names = starts, CHAIN},
    FLAG(emu_sum_level, plus_c),
    FLAG(emu_sum_level, names_largest),
    FLAG(emu_sum_level, cancelled_counts),
    FLAG(emu_sum_level, aligns),
    {.key = "cut", .kind = EMU_FIELD_ROUNDING, .count = 1, LEVEL(align.cut), ALIGNED},
    {.key = "frac_rule", .kind = EMU_FIELD_WORD, .count = 1, LEVEL(align.frac_rule), .names = rules, ALIGNED},
    {.key = "frac_bits", .kind = EMU_FIELD_NUMBER, .count = 1, LEVEL(align.frac_bits), .high = MOST_WIDTH, STATED(frac_rule)},
    {.key = "integer_rule", .kind = EMU_FIELD_WORD, .count = 1, LEVEL(align.integer_rule), .names = rules, ALIGNED},
    {.key = "integer_bits", .kind = EMU_FIELD_NUMBER, .count = 1, LEVEL(align.integer_bits), .high = MOST_WIDTH, STATED(integer_rule)},
    {.key = "floor_rule", .kind = EMU_FIELD_WORD, .count = 1, LEVEL(align.floor_rule), .names = rules, ALIGNED},
    {.key = "floor_exp", .kind = EMU_FIELD_NUMBER, .count = 1, LEVEL(align.floor_exp), .low = -MOST_WIDTH, .high = MOST_WIDTH,
     STATED(floor_rule)},
    {.key = "is_normalised", .kind = EMU_FIELD_WORD, .count = 1, LEVEL(align.is_normalised), .names = emu_no_yes, ALIGNED},
    {.key = "exponent_raise", .kind = EMU_FIELD_NUMBER, .count = 1, LEVEL(align.exponent_raise), .low = -1024, .high = 1024, ALIGNED},
    {.key = "wraps", .kind = EMU_FIELD_WORD, .count = 1, LEVEL(align.wraps), .names = emu_no_yes, ALIGNED},
    {.key = NULL},
};

/* The id of a rounding, or none. */
static const emu_rounding *read_rounding(emu_reader *reader, int32_t place)
{
    return emu_is_word(reader, place, "none") ? NULL : emu_read_rounding(reader, place);
}

/* A policy above that says what becomes of special values in a format, or none. */
static const emu_policy *read_policy(emu_reader *reader, int32_t place, const emu_format *format)
{
    const emu_named_policy *row = reader->library->policies;
    const char *id;
    if (reader->error || emu_is_word(reader, place, "none"))
        return NULL;
    id = emu_id_of(reader->library, format);
    while (row->name && !(emu_is_word(reader, place, row->name) && row->destination == id))
        row++;
    if (!row->name)
        emu_refuse(reader, "no policy above says this of the format", place, "write the policies that the file uses under policies");
    return row->policy;
}

static void read_float_hold(emu_reader *reader, emu_hold *hold)
{
    hold->format = emu_read_format(reader, 2);
    hold->rounding = read_rounding(reader, 3);
    hold->keep = (int32_t)emu_read_integer(reader, 4, 0, 62);
    hold->beyond = emu_read_word(reader, 5, beyonds);
    hold->flushes = emu_read_word(reader, 6, emu_no_yes);
    hold->policy = read_policy(reader, 7, hold->format);
    if (reader->error)
        return;
    emu_refuse_beyond(reader, "frac_bits of the format", hold->format->frac_bits, EMU_MOST_HELD_FRAC);
    if (hold->rounding && hold->rounding->random_bits)
        emu_refuse_beyond(reader, "random_bits + frac_bits", hold->rounding->random_bits + hold->format->frac_bits, EMU_MOST_DRAWN_BITS);
}

static void read_fixed_hold(emu_reader *reader, emu_hold *hold)
{
    hold->bits = (int32_t)emu_read_integer(reader, 2, 2, 512);
    hold->unit_rule = emu_is_word(reader, 3, "derived") ? EMU_DERIVED : EMU_STATED;
    if (hold->unit_rule == EMU_STATED)
        hold->unit_exp = (int32_t)emu_read_integer(reader, 3, -MOST_WIDTH, MOST_WIDTH);
    hold->rounding = read_rounding(reader, 4);
    hold->beyond = emu_read_word(reader, 5, beyonds);
}

/* What a value is rounded to, on one line. */
static void read_hold(emu_reader *reader, const char *key, emu_hold *hold)
{
    static const int32_t wanted[] = {1, 7, 5, 4};
    int32_t found = emu_read_values(reader, key, EMU_MOST_WORDS);
    if (!found)
        return;
    hold->kind = emu_read_word(reader, 1, hold_kinds);
    if (!reader->error && found != wanted[hold->kind])
        emu_refuse_key(reader, key);
    if (reader->error || hold->kind == EMU_HOLD_EXACT)
        return;
    if (hold->kind == EMU_HOLD_FLOAT) {
        read_float_hold(reader, hold);
    } else if (hold->kind == EMU_HOLD_FIXED) {
        read_fixed_hold(reader, hold);
    } else {
        hold->is_fraction = emu_read_word(reader, 2, cuts);
        hold->bits = (int32_t)emu_read_integer(reader, 3, 0, MOST_BITS);
        hold->rounding = emu_read_rounding(reader, 4);
    }
}

static void read_scaling(emu_reader *reader, emu_scaling *scaling)
{
    if (!emu_read_line(reader, "applies", 1))
        return;
    scaling->applies = emu_read_word(reader, 1, emu_no_yes);
    if (!scaling->applies)
        return;
    read_hold(reader, "each", &scaling->each);
    read_hold(reader, "product", &scaling->product);
    read_hold(reader, "term", &scaling->term);
}

/* The cut of the running value: none, or a rounding, bits below 2^E, and how far below E it is dropped (-1: never). */
static void read_running(emu_reader *reader, emu_alignment *align)
{
    int32_t found = emu_read_values(reader, "running", EMU_MOST_WORDS);
    align->drop_below = -1;
    if (!found || (found == 1 && emu_is_word(reader, 1, "none")))
        return;
    if (found != 3) {
        emu_refuse_key(reader, "running");
        return;
    }
    align->running = emu_read_rounding(reader, 1);
    align->running_bits = (int32_t)emu_read_integer(reader, 2, 0, MOST_WIDTH);
    align->drop_below = (int32_t)emu_read_integer(reader, 3, -1, MOST_WIDTH);
}

static void read_level(emu_reader *reader, emu_sum_level *level)
{
    level->by = 1;
    emu_read_fields(reader, level_fields, level);
    if (level->aligns)
        read_running(reader, &level->align);
    read_hold(reader, "hold", &level->hold);
    read_scaling(reader, &level->scaling);
}

static void read_levels(emu_reader *reader, emu_levels *facts)
{
    int32_t count = emu_read_count(reader, "level_count", 1, EMU_MAX_SUM_LEVELS);
    emu_sum_level *levels = emu_take(reader, (size_t)count * sizeof *levels);
    facts->level_count = count;
    facts->levels = levels;
    for (int32_t i = 0; i < count && emu_read_line(reader, "level", 1); i++) {
        for (int32_t j = 0; j < i; j++) {
            if (emu_is_word(reader, 1, levels[j].name))
                emu_refuse(reader, "a second level with the name", 1, "give it a name of its own");
        }
        levels[i].name = emu_read_id(reader, 1);
        read_level(reader, &levels[i]);
    }
}

/* Every choice of operands must pass the check of a datapath of levels. */
static void check_choices(emu_reader *reader, const emu_named_levels *row, int32_t line)
{
    for (int32_t i = 0; i < emu_count_choices(row->choices) && !reader->error; i++) {
        emu_levels chosen;
        emu_level_path path;
        int32_t error;
        emu_choose_levels(row, i, &chosen);
        error = emu_make_level_path(&chosen, &path);
        if (error && error != EMU_ERROR_NULL)
            emu_end_limits(reader, line, &path.limit);
        emu_end_object(reader, line, error, "a datapath of levels that contradicts itself or passes a limit",
                       "the limits stand in emu_ref.h at emu_levels");
    }
}

/* The line with the id has been read. */
void emu_load_levels(emu_reader *reader, const char *id, emu_named_levels *row)
{
    int32_t line = reader->line;
    emu_levels *facts = emu_take(reader, sizeof *facts);
    const emu_choices *choices;
    if (!facts)
        return;
    if (emu_read_line(reader, "c", 1) && !emu_is_word(reader, 1, "none"))
        facts->c = emu_read_format(reader, 1);
    emu_read_fields(reader, facts_fields, facts);
    if (emu_read_line(reader, "any_nan", 1))
        row->any_nan = emu_read_word(reader, 1, emu_no_yes);
    read_hold(reader, "products", &facts->product);
    read_scaling(reader, &facts->product_scaling);
    read_levels(reader, facts);
    read_hold(reader, "out", &facts->out);
    choices = reader->error ? NULL : emu_read_choices(reader);
    if (reader->error)
        return;
    row->choices = choices;
    row->facts = facts;
    check_choices(reader, row, line);
    if (!reader->error && choices->scale_count) {
        facts->widest_scale = emu_widest_scale(choices);
        check_choices(reader, row, line);
    }
    row->name = id;
}

static void write_policy(emu_writer *writer, const emu_policy *policy)
{
    const emu_named_policy *row = writer->library->policies;
    while (policy && row->policy != policy)
        row++;
    emu_write_word(writer, policy ? row->name : "none");
}

static void write_hold(emu_writer *writer, const char *key, const emu_hold *hold)
{
    emu_write_line(writer, key, hold_kinds[hold->kind]);
    if (hold->kind == EMU_HOLD_EXACT)
        return;
    if (hold->kind == EMU_HOLD_FLOAT) {
        emu_write_format(writer, hold->format);
        emu_write_rounding(writer, hold->rounding);
        emu_write_integer(writer, hold->keep);
        emu_write_word(writer, beyonds[hold->beyond]);
        emu_write_word(writer, emu_no_yes[hold->flushes]);
        write_policy(writer, hold->policy);
        return;
    }
    if (hold->kind == EMU_HOLD_CUT)
        emu_write_word(writer, cuts[hold->is_fraction]);
    emu_write_integer(writer, hold->bits);
    if (hold->kind == EMU_HOLD_FIXED && hold->unit_rule == EMU_DERIVED)
        emu_write_word(writer, "derived");
    else if (hold->kind == EMU_HOLD_FIXED)
        emu_write_integer(writer, hold->unit_exp);
    emu_write_rounding(writer, hold->rounding);
    if (hold->kind == EMU_HOLD_FIXED)
        emu_write_word(writer, beyonds[hold->beyond]);
}

static void write_scaling(emu_writer *writer, const emu_scaling *scaling)
{
    emu_write_line(writer, "applies", emu_no_yes[scaling->applies]);
    if (!scaling->applies)
        return;
    write_hold(writer, "each", &scaling->each);
    write_hold(writer, "product", &scaling->product);
    write_hold(writer, "term", &scaling->term);
}

static void write_level(emu_writer *writer, const emu_sum_level *level)
{
    emu_write_line(writer, "level", level->name);
    emu_write_fields(writer, level_fields, level);
    if (level->aligns) {
        emu_write_key(writer, "running");
        emu_write_rounding(writer, level->align.running);
        if (level->align.running) {
            emu_write_integer(writer, level->align.running_bits);
            emu_write_integer(writer, level->align.drop_below);
        }
    }
    write_hold(writer, "hold", &level->hold);
    write_scaling(writer, &level->scaling);
}

void emu_save_levels(emu_writer *writer, const emu_named_levels *row)
{
    const emu_levels *facts = row->facts;
    emu_write_line(writer, "levels", row->name);
    emu_write_key(writer, "c");
    emu_write_format(writer, facts->c);
    emu_write_fields(writer, facts_fields, facts);
    emu_write_line(writer, "any_nan", emu_no_yes[row->any_nan]);
    write_hold(writer, "products", &facts->product);
    write_scaling(writer, &facts->product_scaling);
    emu_write_count(writer, "level_count", facts->level_count);
    for (int32_t i = 0; i < facts->level_count; i++)
        write_level(writer, &facts->levels[i]);
    write_hold(writer, "out", &facts->out);
    emu_write_choices(writer, row->choices);
}
