/* Calls every public function of the reference with sound, extreme and broken arguments.
 *
 * fuzz NAME COUNT [FIRST]: the function without "emu_" (or "all"), how many calls, and the number of the first. Every call must return EMU_OK or an EMU_ERROR_*, and one
 * that fails must have written nothing where the header says so. Prints a line for each function: its name, the checksum of all results,
 * and how many calls returned each error. Memory is given in blocks of the exact size, so that a sanitizer sees every step beyond. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

enum { MOST = 24, BROKEN = 4 };

/* What a function sees when it is told to write nothing. */
static const uint64_t untouched = 0xA5A5A5A5A5A5A5A5u;

static void *block(size_t bytes)
{
    void *memory = malloc(bytes ? bytes : 1);
    if (!memory)
        exit(9);
    memset(memory, 0xA5, bytes);
    return memory;
}

static uint64_t *codes_of(stream *random, const emu_format *format, size_t count)
{
    uint64_t *codes = block(count * sizeof *codes);
    for (size_t i = 0; i < count; i++)
        codes[i] = some_code(random, format);
    return codes;
}

/* An array of codes in the bytes that the format takes, at any alignment and with nothing behind it. */
typedef struct packed {
    uint8_t *memory, *codes;
    size_t bytes;
} packed;

static packed packed_room(stream *random, const emu_format *format, size_t count)
{
    packed made = {NULL, NULL, 0};
    int32_t width = width_of(format);
    size_t offset = one_in(random, 4) ? 1 + (size_t)below(random, 7) : 0;
    made.bytes = count * (width > 32 ? 8 : width > 16 ? 4 : width > 8 ? 2 : 1);
    made.memory = block(offset + made.bytes);
    made.codes = made.memory + offset;
    return made;
}

static packed packed_codes(stream *random, const emu_format *format, size_t count)
{
    packed made = packed_room(random, format, count);
    size_t each = count ? made.bytes / count : 1;
    for (size_t i = 0; i < count; i++) {
        uint64_t code = some_code(random, format);
        uint8_t one = (uint8_t)code;
        uint16_t two = (uint16_t)code;
        uint32_t four = (uint32_t)code;
        memcpy(made.codes + i * each, each == 1 ? (void *)&one : each == 2 ? (void *)&two : each == 4 ? (void *)&four : (void *)&code, each);
    }
    return made;
}

/* Which of so many pointers is NULL in this call; mostly none: -1. */
static int null_of(stream *random, uint64_t pointers)
{
    return one_in(random, 25) ? (int)below(random, pointers) : -1;
}

static uint32_t drawn_for(stream *random, const emu_rounding *rounding)
{
    uint64_t word = next_word(random);
    return one_in(random, 200) ? UINT32_MAX : (uint32_t)(word & (((uint64_t)1 << (rounding->random_bits & 31)) - 1));
}

static void add_packed(tally *all, const packed *array)
{
    for (size_t i = 0; i < array->bytes; i++)
        add_to(all, array->codes[i]);
}

static void keeps_packed(tally *all, const packed *array)
{
    for (size_t i = 0; i < array->bytes; i++)
        all->is_broken |= array->codes[i] != 0xA5;
}

static void add_words(tally *all, const uint64_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        add_to(all, words[i]);
}

static void keeps_words(tally *all, const uint64_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        all->is_broken |= words[i] != untouched;
}

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
    uint64_t magnitude = untouched;
    any_format(random, &format, BROKEN);
    int null = null_of(random, 2);
    int32_t error = emu_max_magnitude(null == 0 ? NULL : &format, (int32_t)below(random, 2), null == 1 ? NULL : &magnitude);
    add_error(all, error);
    if (error)
        keeps_words(all, &magnitude, 1);
    else
        add_to(all, magnitude);
}

static void add_value(tally *all, const emu_value *value)
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
    emu_rounded rounded = {untouched, 0, 0};
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
    uint64_t code = untouched;
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
    uint64_t code = untouched;
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
    uint64_t code = untouched;
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
    uint64_t code = untouched;
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

static void fuzz_decode_array(stream *random, tally *all)
{
    emu_format format;
    size_t count = (size_t)below(random, MOST);
    any_format(random, &format, 8);
    packed codes = packed_codes(random, &format, count);
    uint64_t *significand = block(count * 8);
    uint8_t *sign = block(count), *value_class = block(count);
    int32_t *lsb_exp = block(count * 4);
    int null = null_of(random, 5);
    int32_t error = emu_decode_array(&format, null == 0 ? NULL : codes.codes, count, null == 1 ? NULL : sign, null == 2 ? NULL : significand,
                                     null == 3 ? NULL : lsb_exp, null == 4 ? NULL : value_class);
    add_error(all, error);
    for (size_t i = 0; !error && i < count; i++) {
        const emu_value value = {value_class[i], sign[i], lsb_exp[i], significand[i]};
        add_value(all, &value);
    }
    if (error)
        keeps_words(all, significand, count);
    free(codes.memory);
    free(significand);
    free(sign);
    free(value_class);
    free(lsb_exp);
}

static void fuzz_decode_to_array(stream *random, tally *all)
{
    emu_format format, result;
    size_t count = (size_t)below(random, MOST);
    any_format(random, &format, 8);
    if (one_in(random, 2))
        any_format(random, &result, 8);
    else
        arithmetic_format(random, &result, 16);
    packed codes = packed_codes(random, &format, count), decoded = packed_room(random, &result, count);
    int null = null_of(random, 2);
    int32_t error = emu_decode_to_array(&format, &result, null == 0 ? NULL : codes.codes, count, null == 1 ? NULL : decoded.codes);
    add_error(all, error);
    if (!error)
        add_packed(all, &decoded);
    else if (error != EMU_ERROR_GRID && error != EMU_ERROR_OPEN)
        keeps_packed(all, &decoded);
    free(codes.memory);
    free(decoded.memory);
}

static void fuzz_convert_array(stream *random, tally *all)
{
    emu_format source, destination;
    emu_rounding rounding;
    emu_policy policy;
    size_t count = (size_t)below(random, MOST);
    any_format(random, &source, 16);
    any_format(random, &destination, 16);
    any_rounding(random, &rounding, 1, 16);
    any_policy(random, &policy, &destination, 16);
    packed codes = packed_codes(random, &source, count), converted = packed_room(random, &destination, count);
    uint32_t *drawn = block(count * 4);
    uint8_t *open = block(count);
    for (size_t i = 0; i < count; i++)
        drawn[i] = drawn_for(random, &rounding);
    int gives_random = (rounding.random_bits != 0) != one_in(random, 50), gives_open = !one_in(random, 4), null = null_of(random, 2);
    int32_t error = emu_convert_array(&source, &destination, &rounding, &policy, null == 0 ? NULL : codes.codes, gives_random ? drawn : NULL, count,
                                      null == 1 ? NULL : converted.codes, gives_open ? open : NULL);
    add_error(all, error);
    if (!error)
        add_packed(all, &converted);
    else if (error != EMU_ERROR_OPEN && error != EMU_ERROR_REFUSED)
        keeps_packed(all, &converted);
    for (size_t i = 0; !error && gives_open && i < count; i++)
        add_to(all, open[i]);
    free(codes.memory);
    free(converted.memory);
    free(drawn);
    free(open);
}

static void fuzz_split_words(stream *random, tally *all)
{
    int32_t lanes = 1 + (int32_t)below(random, one_in(random, 8) ? 64 : 8), bits = 1 + (int32_t)below(random, one_in(random, 8) ? 32 : 16);
    size_t count = (size_t)below(random, MOST), words = (count + (size_t)lanes - 1) / (size_t)lanes;
    uint64_t *given = block(words * 8);
    uint8_t *positions = block((size_t)(lanes * bits));
    uint32_t *drawn = block(count * 4);
    for (size_t i = 0; i < words; i++)
        given[i] = next_word(random);
    for (int32_t i = 0; i < lanes * bits; i++)
        positions[i] = (uint8_t)below(random, one_in(random, 500) ? 256 : 64);
    int null = null_of(random, 3);
    if (one_in(random, 10)) {
        int32_t *broken = one_in(random, 2) ? &lanes : &bits;
        *broken = one_in(random, 3) ? INT32_MIN : one_in(random, 2) ? 0 : 65;
    }
    int32_t error = emu_split_words(null == 0 ? NULL : given, null == 1 ? NULL : positions, lanes, bits, count, null == 2 ? NULL : drawn);
    add_error(all, error);
    for (size_t i = 0; !error && i < count; i++)
        add_to(all, drawn[i]);
    free(given);
    free(positions);
    free(drawn);
}

static void fuzz_calculate_array(stream *random, tally *all)
{
    emu_format format, to;
    emu_rounding rounding;
    size_t count = (size_t)below(random, MOST);
    int32_t operation = one_in(random, 30) ? wild_number(random) : (int32_t)below(random, 11), variant = one_in(random, 30) ? wild_number(random) : (int32_t)below(random, 2);
    arithmetic_format(random, &format, 16);
    arithmetic_format(random, &to, 16);
    any_rounding(random, &rounding, one_in(random, 20), 16);
    uint64_t *a = codes_of(random, &format, count), *b = codes_of(random, &format, count), *c = codes_of(random, &format, count);
    uint64_t *result = block(count * 8);
    int null = null_of(random, 6), is_narrow = one_in(random, 2);
    int32_t error = emu_calculate_array(operation, &format, null == 0 ? NULL : is_narrow ? &to : &format, null == 1 ? NULL : &rounding,
                                        variant, null == 2 ? NULL : a, null == 3 ? NULL : b, null == 4 ? NULL : c, count,
                                        null == 5 ? NULL : result);
    add_error(all, error);
    if (!error)
        add_words(all, result, count);
    free(a);
    free(b);
    free(c);
    free(result);
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

static void fuzz_transform_matrix(stream *random, tally *all)
{
    static const int32_t widths[] = {8, 8, 8, 4, 2, 1};
    emu_format source, sum, result;
    emu_transform transform;
    uint64_t signs[4];
    arithmetic_format(random, &source, 24);
    arithmetic_format(random, &sum, 24);
    arithmetic_format(random, &result, 24);
    any_transform(random, &transform, &sum, &result, 24);
    size_t size = transform.size > 0 && transform.size <= 256 ? (size_t)transform.size : 2;
    size_t rows = (size_t)below(random, 4), columns = size * (size_t)below(random, 3), gives_signs = below(random, 2);
    columns += one_in(random, 20) ? 1 : 0;
    for (int k = 0; k < 4; k++)
        signs[k] = next_word(random);
    int32_t bytes = widths[below(random, 6)];
    emu_matrix x = {block(rows * columns * (size_t)bytes), bytes, rows, columns, NULL}, y = {block(rows * columns * 8), 8, rows, columns, NULL};
    for (size_t i = 0; i < rows * columns; i++) {
        uint64_t code = some_code(random, &source);
        memcpy((uint8_t *)x.codes + i * (size_t)bytes, &code, (size_t)bytes); /* the low bytes, on a little-endian machine */
    }
    if (one_in(random, 30))
        y.rows = y.rows ? y.rows - 1 : 0;
    if (one_in(random, 50))
        *(one_in(random, 2) ? &x.bytes : &y.bytes) = 3;
    int null = null_of(random, 5);
    int32_t error = emu_transform_matrix(null == 0 ? NULL : &source, null == 1 ? NULL : &transform, gives_signs ? signs : NULL,
                                         null == 2 ? NULL : &x, null == 3 ? NULL : &y);
    add_error(all, error);
    if (!error)
        add_words(all, y.codes, y.rows * y.columns);
    free(x.codes);
    free(y.codes);
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
    FUNCTION(quantize), FUNCTION(dequantize),
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
        for (int error = 0; error < 16; error++)
            printf(" %llu", (unsigned long long)all.errors[error]);
        printf("\n");
        done++;
    }
    return done ? 0 : 3;
}
