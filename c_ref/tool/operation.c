/* operation.c: a contract or the stem of a vector suite -> an operation with its columns. */
#include "tool.h"

enum { MAX_PARTS = 6 };

/* A contract or stem cut into its parts; text holds them. */
typedef struct parts {
    char text[MAX_NAME];
    const char *part[MAX_PARTS];
    int32_t count;
} parts;

int32_t stored_bits(const emu_format *format)
{
    if (format->format_class == EMU_FLOAT)
        return format->has_sign + format->exp_bits + format->frac_bits + format->unused_high_bits;
    return format->bits;
}

/* The class of a code, EMU_OPEN for one that the format does not have. */
int32_t value_class(const emu_format *format, uint64_t code)
{
    emu_value value;
    return emu_decode_code(format, code, &value) ? EMU_OPEN : value.value_class;
}

/* Cut a text at each `separator`; 0 when it does not fit. */
static int cut(const char *text, const char *separator, parts *out)
{
    char *at = out->text;
    if (strlen(text) >= sizeof out->text)
        return 0;
    memcpy(out->text, text, strlen(text) + 1);
    out->count = 0;
    while (out->count < MAX_PARTS) {
        char *end = strstr(at, separator);
        out->part[out->count++] = at;
        if (!end)
            return 1;
        *end = 0;
        at = end + strlen(separator);
    }
    return 0;
}

static int copy_name(char *to, const char *from, size_t length)
{
    if (length >= MAX_NAME)
        return 0;
    memcpy(to, from, length);
    to[length] = 0;
    return 1;
}

/* Stem: cut <source>_to_<result>; contract: --source and --result, fp32 where they are absent. */
static int take_formats(const char *pair, const options *given, operation *op)
{
    const char *source = given->source ? given->source : "fp32";
    const char *result = given->result ? given->result : "fp32";
    const char *to = pair ? strstr(pair, "_to_") : NULL;
    if (pair && !to)
        return 0;
    if (pair)
        return copy_name(op->source_id, pair, (size_t)(to - pair)) && copy_name(op->result_id, to + 4, strlen(to + 4));
    return copy_name(op->source_id, source, strlen(source)) && copy_name(op->result_id, result, strlen(result));
}

static int make_decode(const char *format, operation *op)
{
    op->op = OP_DECODE;
    op->source = emu_find_format_in(op->library, format);
    op->result = emu_find_format("fp32");
    if (!op->source)
        return unknown("format", format);
    add_column(op, "code", ROLE_IN, 1, stored_bits(op->source), op->source, 0);
    add_column(op, "fp32", ROLE_OUT, 1, 32, op->result, 1);
    add_column(op, "cls", ROLE_OUT, 1, 4, NULL, 0);
    return 0;
}

static int make_convert(const char *to, const char *rounding, const char *policy, operation *op)
{
    op->op = OP_CONVERT;
    op->source = emu_find_format_in(op->library, op->source_id);
    op->result = emu_find_format_in(op->library, to);
    op->rounding = emu_find_rounding_in(op->library, rounding);
    op->policy = emu_find_policy_in(op->library, policy, to);
    if (!op->source || !op->result)
        return unknown("format", op->source ? to : op->source_id);
    if (!op->rounding || !op->policy)
        return op->rounding ? unknown("policy for this format", policy) : unknown("rounding", rounding);
    if (emu_check_rounding(op->rounding, op->result))
        return complain(op->name, "the C reference does not round that way");
    add_column(op, "x", ROLE_IN, 1, stored_bits(op->source), op->source, 0);
    if (op->rounding->random_bits)
        add_column(op, "r", ROLE_R, 1, op->rounding->random_bits, NULL, 0);
    add_column(op, "y", ROLE_OUT, 1, stored_bits(op->result) - (op->result->format_class == EMU_FLOAT ? op->result->unused_high_bits : 0),
               op->result, 0);
    return 0;
}

/* Find where the part <first>_<second> of a stem is to be cut: `first` and `second` as `fits` says. */
static int split_part(const char *part, const operation *op, int (*fits)(const operation *, const char *, const char *), parts *out)
{
    size_t length = strlen(part);
    for (size_t place = 1; place + 1 < length && length < sizeof out->text; place++) {
        if (part[place] != '_')
            continue;
        memcpy(out->text, part, length + 1);
        out->text[place] = 0;
        out->part[0] = out->text;
        out->part[1] = out->text + place + 1;
        if (fits(op, out->part[0], out->part[1]))
            return 1;
    }
    return 0;
}

static int is_policy_and_rounding(const operation *op, const char *first, const char *second)
{
    return emu_find_policy_in(op->library, first, op->result_id) && emu_find_rounding_in(op->library, second);
}

static int is_recipe_and_profile(const operation *op, const char *first, const char *second)
{
    return emu_find_program_in(op->library, first, second) != NULL;
}

/* The block format that a stem names must be the recipe's. */
static int check_block(const operation *op, const char *id)
{
    return strcmp(op->recipe->block, id) == 0 ? 0 : complain(id, "not the block format of this recipe");
}

/* What a stem says comes out must be what the operation gives. */
static int check_result(const operation *op, const char *part)
{
    if (op->op == OP_LAYOUT)
        return strcmp(op->result_id, part) == 0 ? 0 : complain(op->result_id, "not the layout of this suite");
    if (op->op == OP_QUANTIZE)
        return check_block(op, op->result_id);
    if (op->op == OP_OPERATE && !op->columns[op->count - 1].format)
        return strcmp(op->result_id, "truth") == 0 ? 0 : complain(op->result_id, "not what comes out: truth does");
    return emu_find_format_in(op->library, op->result_id) == op->result ? 0 : complain(op->result_id, "not the format that comes out here");
}

static int make_named(const parts *stem, operation *op)
{
    parts part;
    if (strcmp(stem->part[0], "decode") == 0 && strcmp(stem->part[2], "exact") == 0)
        return make_decode(op->source_id, op);
    if (strcmp(stem->part[0], "convert") == 0 && split_part(stem->part[2], op, is_policy_and_rounding, &part))
        return make_convert(op->result_id, part.part[1], part.part[0], op);
    if (strcmp(stem->part[0], "convert") == 0 && !emu_find_format_in(op->library, op->result_id))
        return unknown("format", op->result_id);
    if (strcmp(stem->part[0], "quantize") == 0)
        return make_quantize(stem->part[2], op);
    if (strcmp(stem->part[0], "dequantize") == 0 && split_part(stem->part[2], op, is_recipe_and_profile, &part))
        return make_dequantize(part.part[0], part.part[1], op) || check_block(op, op->source_id) ? EXIT_BAD : 0;
    if (strcmp(stem->part[0], "transform") == 0)
        return make_transform(stem->part[2], op);
    if (strcmp(stem->part[0], "dot") == 0 || strcmp(stem->part[0], "accumulate") == 0)
        return make_dot_from_stem(*stem->part[0] == 'd' ? OP_DOT : OP_ACCUMULATE, op->source_id, stem->part[2], op);
    if (strcmp(stem->part[0], "layout") == 0)
        return make_layout(op->source_id, stem->part[2], op);
    if (strcmp(stem->part[0], "operate") == 0)
        return make_operate_from_stem(stem->part[2], op);
    return complain(op->name, "no such suite: <op>__<source>_to_<result>__<contract>__<suite>");
}

static int make_from_stem(const parts *stem, operation *op)
{
    return make_named(stem, op) || check_result(op, stem->part[2]) ? EXIT_BAD : 0;
}

static int make_from_contract(const parts *contract, operation *op)
{
    const char *const *part = contract->part;
    if (contract->count == 2 && strcmp(part[0], "decode") == 0)
        return make_decode(part[1], op);
    if (contract->count == 4 && strcmp(part[0], "convert") == 0)
        return make_convert(part[1], part[2], part[3], op);
    if (contract->count == 2 && strcmp(part[0], "quantize") == 0)
        return make_quantize(part[1], op);
    if (contract->count == 3 && strcmp(part[0], "dequantize") == 0)
        return make_dequantize(part[1], part[2], op);
    if (contract->count == 2 && strcmp(part[0], "transform") == 0)
        return make_transform(part[1], op);
    if (contract->count > 1 && contract->count < MAX_PARTS && (strcmp(part[0], "dot") == 0 || strcmp(part[0], "accumulate") == 0))
        return make_dot(*part[0] == 'd' ? OP_DOT : OP_ACCUMULATE, strchr(op->name, '/') + 1, op);
    if (contract->count == 3 && strcmp(part[0], "layout") == 0)
        return make_layout(part[1], part[2], op);
    if (strcmp(part[0], "operate") == 0 && (contract->count == 3 || contract->count == 6))
        return make_operate(part[1], part[2], contract->count == 6 ? part[3] : NULL, contract->count == 6 ? part[4] : NULL,
                            contract->count == 6 ? part[5] : NULL, op);
    return complain(op->name, "no such contract: decode/<format>, convert/<format>/<rounding>/<policy>, quantize/<recipe>, "
                              "dequantize/<recipe>/<profile>, transform/<transform>, dot/<datapath>, accumulate/<datapath>, "
                              "layout/<block>/<layout> or operate/<operation>/<formats>[/<format>/<rounding>/<policy>]");
}

/* 1 where a contract leaves the format open that an option says; a stem says both. */
static int reads_formats(const options *given, const operation *op)
{
    int opens = strchr(given->what, '/') != NULL;
    if (given->source && !(opens && (op->op == OP_CONVERT || op->op == OP_QUANTIZE || op->op == OP_TRANSFORM)))
        return complain("--source", "says nothing here: leave it out") == EXIT_EQUAL;
    if (given->result && !(opens && op->op == OP_DEQUANTIZE))
        return complain("--result", "says nothing here: leave it out") == EXIT_EQUAL;
    return 1;
}

int make_operation(const options *given, operation *op)
{
    parts found;
    int fault;
    memset(op, 0, sizeof *op);
    op->library = given->library;
    if (!copy_name(op->name, given->what, strlen(given->what)))
        return complain("contract", "too long");
    if (strchr(given->what, '/')) {
        if (!cut(given->what, "/", &found) || !take_formats(NULL, given, op))
            return complain(given->what, "not a contract");
        fault = make_from_contract(&found, op);
    } else {
        if (!cut(given->what, "__", &found) || found.count != 4 || !take_formats(found.part[1], given, op))
            return complain(given->what, "neither a contract (with /) nor the name of a suite (with __)");
        fault = make_from_stem(&found, op);
    }
    if (!fault && !reads_formats(given, op))
        return EXIT_BAD;
    if (!fault)
        finish_columns(op);
    if (op->op == OP_QUANTIZE || op->op == OP_DEQUANTIZE)
        op->program.levels = op->levels;
    return fault;
}
