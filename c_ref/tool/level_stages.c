/* level_stages.c: the columns of what each level of a datapath leaves: which number is written how, out of the facts of the levels.
 *
 * v_<level>: what its nodes leave, r_<level>: the running values of a chain; ve, vc, vl, re, rc: the exponent, class (0 number, 1 NaN,
 * 2 +infinity, 3 -infinity), and whether it raises E. The widths are those of the file: a number that does not fit them is a mismatch. */
#include "../src/dot/levels.h"
#include "tool.h"

/* How a value is written: a code of a format; units of 2^unit; `unit` bits below the exponent that it names; `unit` bits from the leading one
 * on, with the exponent of the last. */
enum { AS_CODE, AS_FIXED, AS_FLOATING, AS_CUT, AS_NOTHING };

typedef struct manner {
    int32_t how;
    int32_t unit;
    int32_t names_exp; /* fixed: all the same */
    const emu_format *format;
} manner;

static int32_t frac_bits_of(const emu_format *format)
{
    return format->format_class == EMU_FLOAT ? format->frac_bits : 0;
}

/* After it was held. */
static manner held(manner before, const emu_hold *hold, int32_t unit_exp)
{
    manner after = before;
    if (hold->kind == EMU_HOLD_EXACT)
        return before;
    after.names_exp = 0;
    if (hold->kind == EMU_HOLD_FLOAT) {
        after.how = AS_CODE;
        after.format = hold->format;
    } else if (hold->kind == EMU_HOLD_FIXED) {
        after.how = AS_FIXED;
        after.unit = unit_exp;
    } else if (!hold->is_fraction) {
        after.how = AS_CUT;
        after.unit = hold->bits;
    } else {
        int32_t is_fixed = before.how == AS_FIXED && !before.names_exp;
        after.how = is_fixed ? AS_FIXED : AS_FLOATING;
        after.unit = is_fixed ? -hold->bits : hold->bits;
    }
    return after;
}

/* After the scales. */
static manner scaled(const emu_levels *facts, manner before, const emu_scaling *scaling)
{
    manner after = {AS_FLOATING, 0, 0, NULL};
    int32_t both;
    if (!scaling->applies)
        return before;
    both = 2 * frac_bits_of(scaling->each.kind == EMU_HOLD_FLOAT ? scaling->each.format : facts->scale);
    if (scaling->product.kind == EMU_HOLD_FLOAT)
        both = frac_bits_of(scaling->product.format);
    if (before.how == AS_CUT || before.names_exp)
        after.how = AS_NOTHING;
    else if (before.how == AS_FIXED)
        after.unit = both - before.unit;
    else
        after.unit = both + (before.how == AS_CODE ? frac_bits_of(before.format) : before.unit);
    return held(after, &scaling->term, 0);
}

/* What a level, or with is_running a chain on the way, leaves. */
static manner manner_of(const emu_level_path *path, int32_t level, int32_t is_running)
{
    const emu_levels *facts = path->facts;
    manner found = {AS_FLOATING, 0, 0, NULL};
    if (level == 0) {
        found.unit = frac_bits_of(facts->a) + frac_bits_of(facts->b);
        return scaled(facts, held(found, &facts->product, path->product_unit_exp), &facts->product_scaling);
    }
    const emu_sum_level *words = &facts->levels[level - 1];
    const emu_level_plan *plan = &path->plans[level - 1];
    if (words->aligns) {
        found.unit = plan->frac_bits;
    } else {
        found.how = AS_FIXED;
        found.unit = plan->sum_lsb_exp;
        found.names_exp = words->names_largest;
    }
    found = held(found, &words->hold, plan->unit_exp);
    return is_running ? found : scaled(facts, found, &words->scaling);
}

static size_t count_lanes(const operation *op, int32_t level, int32_t is_running)
{
    size_t nodes = 0, additions = 0, place;
    while (!emu_find_stage(&op->of_levels, (size_t)op->datapath.k, level, nodes, -1, &place))
        nodes++;
    while (is_running && !emu_find_stage(&op->of_levels, (size_t)op->datapath.k, level, 0, (int64_t)additions, &place))
        additions++;
    return is_running ? nodes * additions : nodes;
}

int32_t add_level_stage(const char *name, int32_t bits, operation *op)
{
    const char *parts = "ecl", *at = name + 1;
    int32_t part = STAGE_VALUE, level = -1, is_running = name[0] == 'r', made;
    size_t lanes;
    emu_level_path path;
    manner written;
    if (name[0] != 'v' && !is_running)
        return -1;
    if (*at && strchr(parts, *at) && at[1] == '_')
        part = STAGE_EXP + (int32_t)(strchr(parts, *at++) - parts);
    if (*at++ != '_')
        return -1;
    if (strcmp(at, "product") == 0)
        level = 0;
    for (int32_t i = 0; i < op->of_levels.level_count; i++) {
        if (op->of_levels.levels[i].name && strcmp(at, op->of_levels.levels[i].name) == 0)
            level = i + 1;
    }
    if (level < 0 || emu_make_level_path(&op->of_levels, &path))
        return -1;
    lanes = count_lanes(op, level, is_running);
    written = manner_of(&path, level, is_running);
    if (!lanes || lanes > MAX_LANES || bits < 1 || bits > 64 * EMU_WIDE_LIMBS || (size_t)bits % lanes || written.how == AS_NOTHING)
        return -1;
    made = add_column(op, name, ROLE_STAGE, (int32_t)lanes, bits / (int32_t)lanes, part == STAGE_VALUE ? written.format : NULL, 0);
    if (made >= 0) {
        op->columns[made].sum_level = level;
        op->columns[made].stage_part = part;
        op->columns[made].is_running = is_running;
    }
    return made;
}

/* A signed number of units of 2^unit_exp in two's complement of `bits` bits; 0: it does not fit, or has a finer bit. */
static int32_t write_number(const emu_number *number, int32_t unit_exp, int32_t bits, uint64_t *lane)
{
    emu_wide units = number->magnitude, written = {{0}};
    int32_t shift = number->lsb_exp - unit_exp, length = emu_wide_length(&units), cells = (bits + 63) / 64;
    if (length && (shift < 0 ? emu_wide_spare(&units) < -shift : shift + length > 64 * EMU_WIDE_LIMBS - 1))
        return 0;
    if (length && shift < 0)
        emu_wide_shift_right(&units, -shift);
    else
        emu_wide_shift_left(&units, EMU_WIDE_LIMBS, length ? shift : 0);
    emu_wide_add(&written, &units, number->sign);
    if (!emu_wide_fits(&written, EMU_WIDE_LIMBS, bits))
        return 0;
    for (int32_t i = 0; i < cells; i++)
        lane[i] = written.limbs[i];
    lane[cells - 1] &= UINT64_MAX >> (64 * cells - bits);
    return 1;
}

/* The code of a number, NaN or infinity; 0: the format has none. */
static int32_t write_code(const emu_number *number, const emu_format *format, uint64_t *lane)
{
    emu_value value = {EMU_ZERO, number->sign, 0, 0};
    if (number->special) {
        value.value_class = number->special;
    } else if (emu_wide_length(&number->magnitude)) {
        value.value_class = EMU_NORMAL;
        value.significand = number->magnitude.limbs[0];
        value.lsb_exp = number->lsb_exp;
    } else {
        value.sign = number->negative;
    }
    return emu_encode_value(format, &value, lane) == EMU_OK;
}

/* One lane; 0: nobody knows it. *wrong: it does not fit the widths of the file. */
static int32_t write_lane(const column *col, manner written, const emu_number *number, uint64_t *lane, int32_t *wrong)
{
    int32_t length = emu_wide_length(&number->magnitude), is_zero = !number->special && !length, exp = number->exp, unit = written.unit;
    emu_number exponent = {0, 0, 0, 0, 0, 0, {{0}}};
    if (col->stage_part == STAGE_CLASS) {
        lane[0] = number->special == EMU_NAN ? 1 : number->special ? 2 + (uint64_t)number->sign : 0;
        return 1;
    }
    if (written.how == AS_CODE && col->stage_part == STAGE_VALUE)
        return write_code(number, written.format, lane);
    if (number->special || (written.how == AS_CODE && col->stage_part == STAGE_EXP))
        return 0;
    if (col->stage_part == STAGE_LIVE) {
        lane[0] = (uint64_t)number->live;
        return 1;
    }
    if (written.how == AS_CUT)
        exp = unit = number->lsb_exp + length - written.unit;
    else if (written.how == AS_FLOATING)
        unit = exp - written.unit;
    if (is_zero && !(number->live && written.how != AS_CUT))
        exp = 0;
    if (col->stage_part == STAGE_VALUE) {
        *wrong |= !write_number(number, is_zero ? 0 : unit, col->lane_bits, lane);
        return 1;
    }
    exponent.sign = exp < 0;
    exponent.magnitude.limbs[0] = exp < 0 ? 0 - (uint64_t)(int64_t)exp : (uint64_t)exp;
    *wrong |= !write_number(&exponent, 0, col->lane_bits, lane);
    return 1;
}

void fill_stages(const operation *op, const emu_number *stages, const uint8_t *known, row *made)
{
    emu_level_path path;
    if (emu_make_level_path(&op->of_levels, &path))
        return;
    for (int32_t place = 0; place < op->count; place++) {
        const column *col = &op->columns[place];
        manner written;
        size_t per_node, at;
        if (col->role != ROLE_STAGE)
            continue;
        written = manner_of(&path, col->sum_level, col->is_running);
        per_node = (size_t)col->lanes / count_lanes(op, col->sum_level, 0);
        for (int32_t lane = 0; lane < col->lanes; lane++) {
            int64_t addition = col->is_running ? lane % (int64_t)per_node : -1;
            int32_t wrong = 0;
            emu_find_stage(&op->of_levels, (size_t)op->datapath.k, col->sum_level, (size_t)lane / per_node, addition, &at);
            memset(&made->lanes[place][lane * col->cells], 0, sizeof(uint64_t) * (size_t)col->cells);
            made->unknown[place][lane] = (uint8_t)!(known[at] && write_lane(col, written, &stages[at], &made->lanes[place][lane * col->cells], &wrong));
            if (wrong) /* no lane of the file can be this: the row differs */
                made->lanes[place][lane * col->cells] = ~made->lanes[place][lane * col->cells];
        }
    }
}
