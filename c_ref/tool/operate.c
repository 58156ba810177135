/* operate.c: an operation on one to four numbers: its columns, and one row. */
#include "../src/operate/operate.h"
#include "tool.h"

/* By EMU_DO_*. */
static const char *const NAMES[] = {
    "convert", "negate", "abs", "recip", "add", "subtract", "multiply", "fma", "faa", "minimum", "maximum", "minimum_number",
    "maximum_number", "minimum_magnitude", "maximum_magnitude", "minimum_magnitude_number", "maximum_magnitude_number",
    "minimum_finite", "maximum_finite", "scaled_add", "scaled_subtract", "scaled_multiply", "compare_less", "compare_less_equal",
    "compare_equal", "compare_greater", "compare_greater_equal", "is_zero", "is_one", "is_nan", "is_infinite", "is_finite",
    "is_sign_minus", "is_normal", "is_subnormal", "next_greater_than", "next_less_than",
};
enum { NAME_COUNT = sizeof NAMES / sizeof NAMES[0] };

static int32_t find_name(const char *name)
{
    for (int32_t place = 0; place < NAME_COUNT; place++) {
        if (strcmp(NAMES[place], name) == 0)
            return place;
    }
    return -1;
}

/* One format for all operands, or as many as there are, each behind an x. */
static int take_operands(const char *formats, int32_t count, operation *op)
{
    char text[MAX_NAME];
    char *at = text;
    op->operands[0] = emu_find_format_in(op->library, formats);
    for (int32_t place = 1; op->operands[0] && place < count; place++)
        op->operands[place] = op->operands[0];
    if (op->operands[0])
        return 0;
    if (count == 1 || !strchr(formats, 'x'))
        return unknown("format", formats);
    memcpy(text, formats, strlen(formats) + 1);
    for (int32_t place = 0; place < count; place++) {
        char *end = strchr(at, 'x');
        if (!end != (place == count - 1))
            return complain(formats, "not a format, nor one for each operand: <a>x<b>");
        if (end)
            *end = 0;
        op->operands[place] = emu_find_format_in(op->library, at);
        if (!op->operands[place])
            return unknown("format", at);
        at = end ? end + 1 : at;
    }
    return 0;
}

static int32_t code_bits(const emu_format *format)
{
    return stored_bits(format) - (format->format_class == EMU_FLOAT ? format->unused_high_bits : 0);
}

static int32_t has_many_nan(const emu_format *format)
{
    return format->nan == EMU_NAN_IEEE || (format->nan == EMU_NAN_LIST && format->nan_count > 1);
}

static int32_t gives_truth(const operation *op)
{
    return op->operation > EMU_DO_SCALED_MULTIPLY && op->operation < EMU_DO_NEXT_GREATER_THAN;
}

int make_operate(const char *name, const char *formats, const char *to, const char *rounding, const char *policy, operation *op)
{
    static const char *const words[2][EMU_MAX_OPERANDS] = {{"a", "b", "c", ""}, {"scale_a", "a", "scale_b", "b"}};
    int32_t count;
    op->op = OP_OPERATE;
    op->operation = find_name(name);
    if (op->operation < 0)
        return complain(name, "no such operation on numbers");
    if ((op->operation <= EMU_DO_SCALED_MULTIPLY) != (to != NULL))
        return complain(name, to ? "gives no number to project: leave format, rounding and policy out"
                                 : "gives a number: name its format, rounding and policy");
    count = emu_count_operands(op->operation);
    if (take_operands(formats, count, op))
        return EXIT_BAD;
    for (int32_t place = 0; place < count; place++)
        add_column(op, words[count == EMU_MAX_OPERANDS][place], ROLE_IN, 1, stored_bits(op->operands[place]), op->operands[place], 0);
    op->result = op->operands[0];
    if (op->operation > EMU_DO_SCALED_MULTIPLY) {
        int32_t is_truth = gives_truth(op);
        add_column(op, "y", ROLE_OUT, 1, is_truth ? 1 : code_bits(op->result), is_truth ? NULL : op->result,
                   !is_truth && has_many_nan(op->result));
        return 0;
    }
    op->result = emu_find_format_in(op->library, to);
    op->rounding = emu_find_rounding_in(op->library, rounding);
    op->policy = emu_find_policy_in(op->library, policy, to);
    if (!op->result)
        return unknown("format", to);
    if (!op->rounding || !op->policy)
        return op->rounding ? unknown("policy for this format", policy) : unknown("rounding", rounding);
    add_column(op, "y", ROLE_OUT, 1, code_bits(op->result), op->result, has_many_nan(op->result));
    return 0;
}

/* part: <operation>, where a number comes out followed by _<policy>_<rounding>; source and result are the stem's. */
int make_operate_from_stem(const char *part, operation *op)
{
    for (int32_t place = 0; place < NAME_COUNT; place++) {
        size_t length = strlen(NAMES[place]), size = strlen(part);
        if (strcmp(part, NAMES[place]) == 0)
            return make_operate(part, op->source_id, NULL, NULL, NULL, op);
        if (size <= length || part[length] != '_' || strncmp(part, NAMES[place], length) != 0)
            continue;
        for (size_t cut = length + 2; cut + 1 < size; cut++) {
            char policy[MAX_NAME];
            if (part[cut] != '_')
                continue;
            memcpy(policy, part + length + 1, cut - length - 1);
            policy[cut - length - 1] = 0;
            if (emu_find_rounding_in(op->library, part + cut + 1) && emu_find_policy_in(op->library, policy, op->result_id))
                return make_operate(NAMES[place], op->source_id, op->result_id, part + cut + 1, policy, op);
        }
    }
    return unknown(emu_find_format_in(op->library, op->result_id) ? "operation with policy and rounding" : "format",
                   emu_find_format_in(op->library, op->result_id) ? part : op->result_id);
}

int32_t derive_operate(const operation *op, row *made)
{
    emu_operand_codes operands[EMU_MAX_OPERANDS];
    uint64_t memory[EMU_MAX_OPERANDS + 1] = {0, 0, 0, 0, 0};
    int32_t count = emu_count_operands(op->operation), out = find_column(op, "y"), first = out - count, bytes, error;
    for (int32_t place = 0; place < count; place++) {
        if (emu_code_bytes(op->operands[place], &bytes))
            return EMU_ERROR_FORMAT;
        emu_store_codes(&memory[place], bytes, 0, 1, &made->lanes[first + place][0]);
        operands[place].format = op->operands[place];
        operands[place].codes = &memory[place];
    }
    error = emu_operate_array(op->operation, operands, op->result, op->rounding, op->policy, 1, &memory[count], &made->unknown[out][0]);
    if (error == EMU_ERROR_OPEN)
        made->unknown[out][0] = 1;
    if (error || made->unknown[out][0])
        return error == EMU_ERROR_OPEN ? EMU_OK : error;
    bytes = 1;
    if (!gives_truth(op) && emu_code_bytes(op->result, &bytes))
        return EMU_ERROR_FORMAT;
    emu_load_codes(&memory[count], bytes, 0, 1, &made->lanes[out][0]);
    return EMU_OK;
}
