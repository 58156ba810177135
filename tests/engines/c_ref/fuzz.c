/* Calls every public function of the reference with sound, extreme and broken arguments.
 *
 * fuzz NAME COUNT [FIRST]: the function without "emu_" (or "all"), how many calls, and the number of the first. Every call must return
 * EMU_OK or an EMU_ERROR_*, and one that fails must have written nothing where the header says so. Prints a line for each function: its
 * name, the checksum of all results, and how many calls returned each error (a name that is not found counts as EMU_ERROR_NULL). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

enum { BROKEN = 4 };

static void fuzz_check_format(stream *random, tally *all)
{
    emu_format format;
    any_format(random, &format, 2);
    add_error(all, emu_check_format(or_null(random, &format, 100)));
}

static void fuzz_code_bytes(stream *random, tally *all)
{
    emu_format format;
    int32_t bytes = 77;
    any_format(random, &format, BROKEN);
    int null = null_of(random, 2);
    int32_t error = emu_code_bytes(null == 0 ? NULL : &format, null == 1 ? NULL : &bytes);
    add_error(all, error);
    add_to(all, (uint64_t)bytes);
    all->is_broken |= error && bytes != 77;
}

static void fuzz_check_rounding(stream *random, tally *all)
{
    emu_format format;
    emu_rounding rounding;
    any_format(random, &format, BROKEN);
    any_rounding(random, &rounding, 1, BROKEN);
    int null = null_of(random, 2);
    add_error(all, emu_check_rounding(null == 0 ? NULL : &rounding, null == 1 ? NULL : &format));
}

static void fuzz_check_policy(stream *random, tally *all)
{
    emu_format format;
    emu_policy policy;
    any_format(random, &format, 8);
    any_policy(random, &policy, &format, BROKEN);
    int null = null_of(random, 2);
    add_error(all, emu_check_policy(null == 0 ? NULL : &policy, null == 1 ? NULL : &format));
}

static void fuzz_max_magnitude(stream *random, tally *all)
{
    emu_format format;
    uint64_t magnitude = UNTOUCHED;
    any_format(random, &format, BROKEN);
    int null = null_of(random, 2);
    int32_t error = emu_max_magnitude(null == 0 ? NULL : &format, (int32_t)below(random, 2), null == 1 ? NULL : &magnitude);
    add_error(all, error);
    if (error)
        keeps_words(all, &magnitude, 1);
    else
        add_to(all, magnitude);
}

void add_value(tally *all, const emu_value *value)
{
    add_to(all, (uint64_t)(value->value_class * 2 + value->sign));
    add_to(all, value->significand);
    add_to(all, (uint64_t)(int64_t)value->lsb_exp);
}

static void fuzz_decode_code(stream *random, tally *all)
{
    emu_format format;
    emu_value value = {7, 7, 7, 7};
    any_format(random, &format, BROKEN);
    int null = null_of(random, 2);
    int32_t error = emu_decode_code(null == 0 ? NULL : &format, some_code(random, &format), null == 1 ? NULL : &value);
    add_error(all, error);
    if (error)
        all->is_broken |= value.value_class != 7;
    else
        add_value(all, &value);
}

static void fuzz_round_value(stream *random, tally *all)
{
    emu_format format;
    emu_rounding rounding;
    emu_value value;
    emu_rounded rounded = {UNTOUCHED, 0, 0};
    any_format(random, &format, 8);
    any_rounding(random, &rounding, 1, 8);
    any_value(random, &value, 8);
    int null = null_of(random, 4);
    int32_t error = emu_round_value(null == 0 ? NULL : &format, null == 1 ? NULL : &rounding, null == 2 ? NULL : &value,
                                    drawn_for(random, &rounding), null == 3 ? NULL : &rounded);
    add_error(all, error);
    if (error) {
        keeps_words(all, &rounded.magnitude, 1);
        return;
    }
    add_to(all, rounded.magnitude);
    add_to(all, (uint64_t)(rounded.beyond * 2 + rounded.inexact));
}

static void fuzz_overflow_magnitude(stream *random, tally *all)
{
    emu_format format;
    emu_rounding rounding;
    emu_policy policy;
    emu_rounded rounded;
    uint64_t code = UNTOUCHED;
    uint8_t open = 0;
    any_format(random, &format, 8);
    any_rounding(random, &rounding, 1, 8);
    any_policy(random, &policy, &format, 8);
    rounded.magnitude = some_code(random, &format);
    rounded.magnitude += below(random, 3);
    rounded.beyond = one_in(random, 8);
    rounded.inexact = (int32_t)below(random, 2);
    int null = null_of(random, 6);
    int32_t error = emu_overflow_magnitude(null == 0 ? NULL : &format, null == 1 ? NULL : &rounding, null == 2 ? NULL : &policy,
                                           (int32_t)below(random, 2), null == 3 ? NULL : &rounded, null == 4 ? NULL : &code,
                                           null == 5 ? NULL : &open);
    add_error(all, error);
    if (error)
        keeps_words(all, &code, 1);
    else
        add_to(all, code + open);
}

static void fuzz_encode_magnitude(stream *random, tally *all)
{
    emu_format format;
    uint64_t code = UNTOUCHED;
    any_format(random, &format, BROKEN);
    int null = null_of(random, 2);
    int32_t sign = (int32_t)below(random, 2);
    uint64_t word = next_word(random);
    int32_t error = emu_encode_magnitude(null == 0 ? NULL : &format, sign, word >> below(random, 64), null == 1 ? NULL : &code);
    add_error(all, error);
    if (error)
        keeps_words(all, &code, 1);
    else
        add_to(all, code);
}

static void fuzz_encode_value(stream *random, tally *all)
{
    emu_format format;
    emu_value value;
    uint64_t code = UNTOUCHED;
    any_format(random, &format, BROKEN);
    any_value(random, &value, BROKEN);
    if (one_in(random, 2) && emu_check_format(&format) == EMU_OK)
        emu_decode_code(&format, some_code(random, &format), &value);
    int null = null_of(random, 3);
    int32_t error = emu_encode_value(null == 0 ? NULL : &format, null == 1 ? NULL : &value, null == 2 ? NULL : &code);
    add_error(all, error);
    if (error)
        keeps_words(all, &code, 1);
    else
        add_to(all, code);
}

static void fuzz_convert_code(stream *random, tally *all)
{
    emu_format source, destination;
    emu_rounding rounding;
    emu_policy policy;
    uint64_t code = UNTOUCHED;
    uint8_t open = 0;
    any_format(random, &source, 16);
    any_format(random, &destination, 16);
    any_rounding(random, &rounding, 1, 16);
    any_policy(random, &policy, &destination, 16);
    int null = null_of(random, 6);
    uint64_t given = some_code(random, &source);
    int32_t error = emu_convert_code(null == 0 ? NULL : &source, null == 1 ? NULL : &destination, null == 2 ? NULL : &rounding,
                                     null == 3 ? NULL : &policy, given, drawn_for(random, &rounding), null == 4 ? NULL : &code,
                                     null == 5 ? NULL : &open);
    add_error(all, error);
    if (error)
        keeps_words(all, &code, 1);
    else
        add_to(all, code + open);
}

static void fuzz_check_transform(stream *random, tally *all)
{
    emu_format sum, result;
    emu_transform transform;
    arithmetic_format(random, &sum, BROKEN);
    arithmetic_format(random, &result, BROKEN);
    any_transform(random, &transform, &sum, &result, BROKEN);
    add_error(all, emu_check_transform(or_null(random, &transform, 100)));
}

static const struct {
    const char *name;
    void (*call)(stream *random, tally *all);
} functions[] = {
#define FUNCTION(name) {#name, fuzz_##name}
    FUNCTION(check_format), FUNCTION(check_rounding), FUNCTION(check_policy), FUNCTION(code_bytes),
    FUNCTION(max_magnitude), FUNCTION(decode_code), FUNCTION(round_value), FUNCTION(overflow_magnitude),
    FUNCTION(encode_magnitude), FUNCTION(encode_value), FUNCTION(convert_code), FUNCTION(decode_array),
    FUNCTION(decode_to_array), FUNCTION(convert_array), FUNCTION(split_words), FUNCTION(calculate_array),
    FUNCTION(check_transform), FUNCTION(transform_matrix), FUNCTION(check_program), FUNCTION(count_workspace),
    FUNCTION(quantize), FUNCTION(dequantize), FUNCTION(find_format), FUNCTION(find_rounding),
    FUNCTION(find_word), FUNCTION(find_policy), FUNCTION(find_transform), FUNCTION(find_recipe),
    FUNCTION(find_program), FUNCTION(check_datapath), FUNCTION(derive_widths), FUNCTION(dot),
    FUNCTION(matmul), FUNCTION(alpha), FUNCTION(epilogue), FUNCTION(add_results),
    FUNCTION(find_datapath), FUNCTION(finish_register), FUNCTION(check_dot_levels), FUNCTION(count_dot_levels),
    FUNCTION(dot_levels), FUNCTION(dot_levels_flags), FUNCTION(measure_descriptor), FUNCTION(load_descriptor), FUNCTION(write_descriptor), FUNCTION(find_format_in),
    FUNCTION(find_rounding_in), FUNCTION(find_policy_in), FUNCTION(find_datapath_in), FUNCTION(find_levels_in),
    FUNCTION(check_layout), FUNCTION(layout_place), FUNCTION(layout_size), FUNCTION(layout_locate), FUNCTION(type_registers), FUNCTION(find_word_in),
    FUNCTION(find_transform_in), FUNCTION(find_block_in), FUNCTION(find_layout_in), FUNCTION(find_recipe_in),
    FUNCTION(find_program_in), FUNCTION(find_stage), FUNCTION(trace_levels), FUNCTION(trace_quantize),
    FUNCTION(trace_dequantize), FUNCTION(operate_array),
};

int main(int argc, char **argv)
{
    uint64_t count = argc >= 3 ? strtoull(argv[2], NULL, 10) : 0, first = argc == 4 ? strtoull(argv[3], NULL, 10) : 0;
    int done = 0;
    for (size_t k = 0; count && k < sizeof functions / sizeof *functions; k++) {
        tally all = {0, {0}, 0};
        if (strcmp(argv[1], "all") && strcmp(argv[1], functions[k].name))
            continue;
        for (uint64_t i = first; i < first + count; i++) {
            stream random = {(k + 1) << 56 ^ i << 16, 0};
            functions[k].call(&random, &all);
            if (all.is_broken) {
                printf("%s: call %llu broke its contract\n", functions[k].name, (unsigned long long)i);
                return 1;
            }
        }
        printf("%s %016llx", functions[k].name, (unsigned long long)all.checksum);
        for (int error = 0; error < 18; error++)
            printf(" %llu", (unsigned long long)all.errors[error]);
        printf("\n");
        done++;
    }
    return done ? 0 : 3;
}
