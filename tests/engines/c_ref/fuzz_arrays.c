/* Calls of the functions on arrays and matrices. Memory comes in blocks of the exact size, so that a sanitizer sees every step beyond. */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

enum { MOST = 24 };

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
        const void *from = each == 1 ? (void *)&one : each == 2 ? (void *)&two : each == 4 ? (void *)&four : (void *)&code;
        memcpy(made.codes + i * each, from, each);
    }
    return made;
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

static uint64_t *codes_of(stream *random, const emu_format *format, size_t count)
{
    uint64_t *codes = block(count * sizeof *codes);
    for (size_t i = 0; i < count; i++)
        codes[i] = some_code(random, format);
    return codes;
}

static void add_words(tally *all, const uint64_t *words, size_t count)
{
    for (size_t i = 0; i < count; i++)
        add_to(all, words[i]);
}

void fuzz_decode_array(stream *random, tally *all)
{
    emu_format format;
    size_t count = (size_t)below(random, MOST);
    any_format(random, &format, 8);
    packed codes = packed_codes(random, &format, count);
    uint64_t *significand = block(count * 8);
    uint8_t *sign = block(count), *value_class = block(count);
    int32_t *lsb_exp = block(count * 4);
    int null = null_of(random, 5);
    int32_t error = emu_decode_array(&format, null == 0 ? NULL : codes.codes, count, null == 1 ? NULL : sign,
                                     null == 2 ? NULL : significand, null == 3 ? NULL : lsb_exp, null == 4 ? NULL : value_class);
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

void fuzz_decode_to_array(stream *random, tally *all)
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

void fuzz_convert_array(stream *random, tally *all)
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
    int32_t error = emu_convert_array(&source, &destination, &rounding, &policy, null == 0 ? NULL : codes.codes,
                                      gives_random ? drawn : NULL, count, null == 1 ? NULL : converted.codes, gives_open ? open : NULL);
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

void fuzz_split_words(stream *random, tally *all)
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

void fuzz_calculate_array(stream *random, tally *all)
{
    emu_format format, to;
    emu_rounding rounding;
    size_t count = (size_t)below(random, MOST);
    int32_t operation = one_in(random, 30) ? wild_number(random) : (int32_t)below(random, 11);
    int32_t variant = one_in(random, 30) ? wild_number(random) : (int32_t)below(random, 2);
    arithmetic_format(random, &format, 16);
    arithmetic_format(random, &to, 16);
    any_rounding(random, &rounding, one_in(random, 20), 16);
    int has_ties = one_in(random, 12); /* binary32 to fp16, half of the codes half way */
    if (has_ties) {
        operation = EMU_OP_ROUND;
        format = *emu_find_format("fp32");
        to = *emu_find_format("fp16");
    }
    uint64_t *a = codes_of(random, &format, count), *b = codes_of(random, &format, count), *c = codes_of(random, &format, count);
    uint64_t *result = block(count * 8);
    for (size_t i = 0; has_ties && i < count; i++)
        a[i] = (a[i] & 0x80FFF000) + 0x38000000;
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

void fuzz_transform_matrix(stream *random, tally *all)
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
    emu_matrix x = {block(rows * columns * (size_t)bytes), bytes, rows, columns, NULL};
    emu_matrix y = {block(rows * columns * 8), 8, rows, columns, NULL};
    for (size_t i = 0; i < rows * columns; i++) {
        uint64_t code = some_code(random, &source);
        memcpy((uint8_t *)x.codes + i * (size_t)bytes, &code, (size_t)bytes); /* the low bytes, on a little-endian machine */
    }
    if (one_in(random, 30))
        y.rows = y.rows ? y.rows - 1 : 0;
    if (one_in(random, 30))
        y.columns = y.columns ? y.columns - 1 : 0;
    void *room = y.codes;
    if (one_in(random, 50))
        *(one_in(random, 2) ? &x.bytes : &y.bytes) = 3;
    if (one_in(random, 50))
        y.codes = NULL;
    if (one_in(random, 30))
        y.bytes = 1;
    int null = null_of(random, 5);
    int32_t error = emu_transform_matrix(null == 0 ? NULL : &source, null == 1 ? NULL : &transform, gives_signs ? signs : NULL,
                                         null == 2 ? NULL : &x, null == 3 ? NULL : &y);
    add_error(all, error);
    for (size_t i = 0; !error && i < y.rows * y.columns * (size_t)y.bytes; i++)
        add_to(all, ((const uint8_t *)y.codes)[i]);
    free(x.codes);
    free(room);
}

/* A float: of few bits, with infinities and without, or one of arithmetic; now and then what is none. */
static void any_number(stream *random, emu_format *format)
{
    static const char *const listed[] = {"e2m1", "e4m3fn", "e5m2", "e8m0", "e6m2", "binary3p1se", "binary8p3se", "binary8p4sf", "binary6p3ue", "int4"};
    const emu_format *found = emu_find_format(listed[below(random, sizeof listed / sizeof *listed)]);
    if (found && !one_in(random, 4))
        *format = *found;
    else if (one_in(random, 2))
        arithmetic_format(random, format, 16);
    else
        any_format(random, format, 16);
}

void fuzz_operate_array(stream *random, tally *all)
{
    emu_format from[EMU_MAX_OPERANDS], to;
    emu_rounding rounding;
    emu_policy policy;
    emu_operand_codes operands[EMU_MAX_OPERANDS];
    packed codes[EMU_MAX_OPERANDS];
    size_t count = (size_t)below(random, MOST);
    int32_t operation = one_in(random, 30) ? wild_number(random) : (int32_t)below(random, 37);
    int null = null_of(random, 9), is_one = one_in(random, 2);
    any_number(random, &to);
    any_rounding(random, &rounding, one_in(random, 20), 16);
    any_policy(random, &policy, &to, 16);
    for (int i = 0; i < EMU_MAX_OPERANDS; i++) {
        any_number(random, &from[i]);
        if (is_one)
            from[i] = from[0];
        codes[i] = packed_codes(random, &from[i], count);
        operands[i].format = null == i ? NULL : &from[i];
        operands[i].codes = null == i + 4 ? NULL : codes[i].codes;
    }
    void *result = block(count * 8);
    uint8_t *open = block(count);
    int32_t error = emu_operate_array(operation, operands, &to, &rounding, &policy, count, null == 8 ? NULL : result, open);
    add_error(all, error);
    for (size_t i = 0; !error && i < count; i++)
        add_to(all, ((uint8_t *)result)[i] + open[i]);
    if (error && error != EMU_ERROR_OPEN)
        keeps_words(all, result, count);
    for (int i = 0; i < EMU_MAX_OPERANDS; i++)
        free(codes[i].memory);
    free(result);
    free(open);
}
