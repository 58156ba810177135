/* Random descriptors for the fuzz drivers; fuzz.h says what each promises. */
#include "fuzz.h"

static const int64_t entries[EMU_MAX_CODEBOOK] = {
    0, 1, -1, 7, -9, 3, -3, 12, ((int64_t)1 << 61) - 1, -((int64_t)1 << 61) + 1, 100, -100, 1000, -1000, 5, 6, 0, 2, 4, 8, 16, 32, 64, 128,
};
static const int64_t positive[EMU_MAX_CODEBOOK] = {1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610, 987, 1597};
static const int64_t without_zero[EMU_MAX_CODEBOOK] = {1, -1, 3, -3, 1, -1, 3, -3, 1, -1, 3, -3, 1, -1, 3, -3};
static const int64_t negative[EMU_MAX_CODEBOOK] = {0, -1, -2, -3, -5, -8, -13, -21, -34, -55, -89, -144, -233, -377, -610, -987};
static const int64_t too_low[EMU_MAX_CODEBOOK] = {0, INT64_MIN}, too_high[EMU_MAX_CODEBOOK] = {0, (int64_t)1 << 61};

int32_t width_of(const emu_format *format)
{
    int64_t bits = format->bits;
    if (format->format_class == EMU_FLOAT)
        bits = (int64_t)format->has_sign + format->exp_bits + format->frac_bits + format->unused_high_bits;
    return bits < 1 ? 1 : bits > 64 ? 64 : (int32_t)bits;
}

uint64_t some_code(stream *random, const emu_format *format)
{
    int32_t width = width_of(format);
    uint64_t all = UINT64_MAX >> (64 - width), word = next_word(random), place = (uint64_t)1 << word % (uint64_t)width;
    switch (next_word(random) % 16) {
    case 0: return all;
    case 1: return 0;
    case 2: return place;
    case 3: return place - 1;
    case 4: return all - place;
    case 5: return one_in(random, 200) ? word : all ^ (place - 1);
    case 6: return (all >> 1) - (place - 1);
    case 7: return (word & all & ~(place - 1)) | place; /* a tie where the bits below are cut */
    default: return word & all;
    }
}

static void any_float(stream *random, emu_format *format)
{
    format->has_sign = (int32_t)below(random, 2);
    format->exp_bits = 1 + (int32_t)below(random, one_in(random, 4) ? 15 : 8);
    format->frac_bits = (int32_t)below(random, one_in(random, 4) ? (uint64_t)(64 - format->exp_bits) : 12);
    if (format->frac_bits > 62)
        format->frac_bits = 62;
    format->bias = one_in(random, 4) ? (int32_t)below(random, 2097153) - (1 << 20) : (1 << (format->exp_bits - 1)) - 1;
    format->subnormals = !one_in(random, 6);
    format->neg_zero = format->has_sign && format->subnormals && !one_in(random, 4);
    if (format->has_sign + format->exp_bits + format->frac_bits < 57 && one_in(random, 6))
        format->unused_high_bits = (int32_t)below(random, 8);
    if (one_in(random, 6)) {
        format->inf = EMU_INF_TOP;
        format->nan = one_in(random, 3) ? EMU_NAN_NONE : EMU_NAN_LIST;
    } else if (one_in(random, 3)) {
        format->inf = EMU_INF_IEEE;
        format->nan = format->frac_bits && !one_in(random, 5) ? EMU_NAN_IEEE : EMU_NAN_NONE;
    } else if (one_in(random, 2)) {
        format->nan = EMU_NAN_LIST;
    }
}

static void list_nans(stream *random, emu_format *format)
{
    int32_t bits = format->format_class == EMU_FLOAT ? format->has_sign + format->exp_bits + format->frac_bits : format->bits;
    format->nan_count = 1 + (int32_t)below(random, one_in(random, 8) ? EMU_MAX_NAN_CODES : 2);
    for (int32_t i = 0; i < format->nan_count; i++) {
        uint64_t all = UINT64_MAX >> (64 - (bits > 64 ? 64 : bits));
        format->nan_codes[i] = one_in(random, 3) ? next_word(random) & all : all >> (i & 1);
    }
}

static void any_codebook(stream *random, emu_format *format)
{
    const emu_format empty = {EMU_CODEBOOK, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0}, 0, 0, 0, -1, NULL};
    *format = empty;
    format->bits = 1 + (int32_t)below(random, one_in(random, 8) ? 8 : 4);
    format->values = one_in(random, 8) ? negative : one_in(random, 4) ? positive : entries;
    format->tie = (int32_t)below(random, 3);
    format->unit_exp = one_in(random, 4) ? (int32_t)below(random, 2097153) - (1 << 20) : (int32_t)below(random, 128) - 64;
    format->minus_zero_code = format->values != positive && one_in(random, 3) ? 0 : -1;
}

static void break_format(stream *random, emu_format *format)
{
    int32_t *fields[] = {&format->format_class, &format->bits, &format->has_sign, &format->exp_bits, &format->frac_bits, &format->bias,
                         &format->subnormals, &format->neg_zero, &format->unused_high_bits, &format->inf, &format->nan, &format->nan_count,
                         &format->integer_sign, &format->unit_exp, &format->tie, &format->minus_zero_code};
    uint64_t choice = below(random, 21);
    if (choice < 16)
        *fields[choice] = wild_number(random);
    else if (choice == 16)
        format->nan_codes[format->nan_count & 15] = next_word(random);
    else
        format->values = choice == 17 ? NULL : choice == 18 ? without_zero : choice == 19 ? too_low : too_high;
}

static const emu_format known[] = {
#define FLOAT(sign, exp, frac, bias, inf, nan) {EMU_FLOAT, 0, sign, exp, frac, bias, 1, sign, 0, inf, nan, 0, {0}, 0, 0, 0, -1, NULL}
    FLOAT(1, 8, 23, 127, EMU_INF_IEEE, EMU_NAN_IEEE), FLOAT(1, 2, 1, 1, EMU_INF_NONE, EMU_NAN_NONE),
    FLOAT(1, 8, 7, 127, EMU_INF_IEEE, EMU_NAN_IEEE), FLOAT(1, 5, 10, 15, EMU_INF_IEEE, EMU_NAN_IEEE),
    FLOAT(1, 11, 52, 1023, EMU_INF_IEEE, EMU_NAN_IEEE), FLOAT(1, 1, 2, 1, EMU_INF_NONE, EMU_NAN_NONE),
    FLOAT(1, 5, 2, 15, EMU_INF_IEEE, EMU_NAN_IEEE), FLOAT(1, 3, 0, 3, EMU_INF_NONE, EMU_NAN_NONE),
    {EMU_FLOAT, 0, 1, 4, 3, 7, 1, 1, 0, EMU_INF_NONE, EMU_NAN_LIST, 2, {0x7F, 0xFF}, 0, 0, 0, -1, NULL},
    {EMU_FLOAT, 0, 0, 4, 3, 7, 1, 0, 1, EMU_INF_NONE, EMU_NAN_LIST, 1, {0x7F}, 0, 0, 0, -1, NULL},
    {EMU_FLOAT, 0, 1, 4, 3, 8, 1, 0, 0, EMU_INF_NONE, EMU_NAN_LIST, 1, {0x80}, 0, 0, 0, -1, NULL},
    {EMU_FLOAT, 0, 1, 5, 2, 16, 1, 0, 0, EMU_INF_TOP, EMU_NAN_LIST, 1, {0x80}, 0, 0, 0, -1, NULL},
    {EMU_EXPONENT, 8, 0, 0, 0, 127, 0, 0, 0, 0, EMU_NAN_LIST, 1, {0xFF}, 0, 0, 0, -1, NULL},
    {EMU_INTEGER, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0}, EMU_TWOS_COMPLEMENT, 0, 0, -1, NULL},
    {EMU_INTEGER, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0}, EMU_SIGN_MAGNITUDE, -2, 0, -1, NULL},
};

void any_format(stream *random, emu_format *format, uint64_t broken_in)
{
    const emu_format empty = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0}, 0, 0, 0, -1, NULL};
    *format = empty;
    switch (below(random, 8)) {
    case 0:
    case 1:
        any_float(random, format);
        break;
    case 2:
        format->format_class = EMU_INTEGER;
        format->bits = 1 + (int32_t)below(random, one_in(random, 3) ? 63 : 8);
        format->integer_sign = (int32_t)below(random, 3);
        format->unit_exp = one_in(random, 4) ? (int32_t)below(random, 2097153) - (1 << 20) : (int32_t)below(random, 20) - 10;
        break;
    case 3:
        format->format_class = EMU_EXPONENT;
        format->bits = 1 + (int32_t)below(random, one_in(random, 3) ? 16 : 8);
        format->bias = one_in(random, 4) ? (int32_t)below(random, 2097153) - (1 << 20) : (int32_t)below(random, 256);
        format->nan = one_in(random, 2) ? EMU_NAN_LIST : EMU_NAN_NONE;
        break;
    case 4:
        any_codebook(random, format);
        break;
    default:
        *format = known[below(random, sizeof known / sizeof *known)];
        break;
    }
    if (format->nan == EMU_NAN_LIST && !format->nan_count)
        list_nans(random, format);
    if (one_in(random, broken_in))
        break_format(random, format);
}

void small_format(stream *random, emu_format *format, uint64_t broken_in)
{
    static const int usual[] = {1, 1, 5, 6, 7, 8, 9, 10, 11, 12, 13};
    *format = known[usual[below(random, 11)]];
    if (one_in(random, 8))
        any_codebook(random, format);
    if (one_in(random, broken_in))
        any_format(random, format, 2);
}

void arithmetic_format(stream *random, emu_format *format, uint64_t broken_in)
{
    static const int usual[] = {0, 0, 0, 0, 2, 3, 4, 6};
    *format = known[usual[below(random, 8)]];
    if (one_in(random, 8)) {
        format->exp_bits = 2 + (int32_t)below(random, 10);
        format->frac_bits = 1 + (int32_t)below(random, (uint64_t)(format->exp_bits > 6 ? 62 - format->exp_bits : 58));
        format->bias = (1 << (format->exp_bits - 1)) - 1;
    }
    if (one_in(random, broken_in)) {
        if (one_in(random, 2))
            break_format(random, format);
        else
            any_format(random, format, 2);
    }
}

void any_rounding(stream *random, emu_rounding *rounding, int may_draw, uint64_t broken_in)
{
    static const emu_rounding modes[] = {
        {{{0, 2, 1}, {0, 2, 1}}, 0, 0, {1, 1}}, {{{0, 1, 1}, {0, 1, 1}}, 0, 0, {1, 1}}, {{{0, 0, 0}, {0, 0, 0}}, 0, 0, {0, 0}},
        {{{1, 1, 1}, {0, 0, 0}}, 0, 0, {1, 0}}, {{{0, 0, 0}, {1, 1, 1}}, 0, 0, {0, 1}}, {{{3, 3, 3}, {3, 3, 3}}, 0, 0, {0, 0}},
    };
    *rounding = modes[below(random, 2) ? 0 : below(random, 6)];
    if (may_draw && one_in(random, 3)) {
        rounding->add = 1 + (int32_t)below(random, 4);
        rounding->random_bits = 1 + (int32_t)below(random, one_in(random, 4) ? 32 : 16);
    } else if (one_in(random, 6)) {
        for (int32_t k = 0; k < 6; k++)
            rounding->choice[k / 3][k % 3] = (int32_t)below(random, 4);
    }
    if (one_in(random, broken_in)) {
        uint64_t sign = below(random, 2);
        int32_t *fields[] = {&rounding->add, &rounding->random_bits, &rounding->beyond_max[0], &rounding->beyond_max[1],
                             &rounding->choice[sign][below(random, 3)]};
        uint64_t choice = below(random, 5);
        *fields[choice] = wild_number(random);
    }
}

static emu_special any_special(stream *random, const emu_format *destination, int needs_code)
{
    emu_special special = {EMU_BY_RULE, 0};
    uint64_t choice = below(random, 8);
    if (choice < 4 && !needs_code)
        return special;
    special.rule = choice == 6 ? EMU_IS_OPEN : choice == 7 ? EMU_IS_REFUSED : EMU_BY_CODE;
    special.code = next_word(random) & UINT64_MAX >> (64 - width_of(destination));
    return special;
}

void any_policy(stream *random, emu_policy *policy, const emu_format *destination, uint64_t broken_in)
{
    int32_t is_float = destination->format_class == EMU_FLOAT || destination->format_class == EMU_EXPONENT;
    int32_t has_nan = is_float && destination->nan != EMU_NAN_NONE;
    int32_t has_inf = destination->format_class == EMU_FLOAT && destination->inf != EMU_INF_NONE;
    int32_t word = destination->format_class == EMU_CODEBOOK ? EMU_SATURATE : (int32_t)below(random, 6);
    if (((word == EMU_TO_INF || word == EMU_IEEE_INF) && !has_inf) || ((word == EMU_TO_NAN || word == EMU_IEEE_NAN) && !has_nan))
        word = EMU_SATURATE;
    policy->overflow = word;
    policy->negative = any_special(random, destination, 0);
    for (int sign = 0; sign < 2; sign++) {
        policy->nan[sign] = any_special(random, destination, 1);
        policy->zero[sign] = any_special(random, destination, 0);
        policy->inf[sign] = any_special(random, destination, 0);
        policy->overflow_nan[sign] = any_special(random, destination, word == EMU_TO_NAN || word == EMU_IEEE_NAN);
    }
    if (one_in(random, broken_in)) {
        emu_special *specials[] = {&policy->negative, &policy->nan[0], &policy->nan[1], &policy->zero[0], &policy->inf[1],
                                   &policy->overflow_nan[0]};
        uint64_t choice = below(random, 8);
        if (choice < 6 && one_in(random, 2))
            specials[choice]->rule = wild_number(random);
        else if (choice < 6)
            specials[choice]->code = next_word(random);
        else
            policy->overflow = wild_number(random);
    }
}

void any_value(stream *random, emu_value *value, uint64_t broken_in)
{
    const emu_value zero = {EMU_ZERO, 0, 0, 0};
    *value = zero;
    value->sign = (int32_t)below(random, 2);
    if (!one_in(random, 8)) {
        value->value_class = EMU_NORMAL;
        value->significand = next_word(random);
        value->significand >>= below(random, 64);
        value->lsb_exp = (int32_t)below(random, 300) - 200;
        if (one_in(random, 8))
            value->lsb_exp = (int32_t)below(random, 8388609) - (1 << 22);
        if (!value->significand)
            value->significand = 1;
    } else if (one_in(random, 4)) {
        value->value_class = EMU_SUBNORMAL + (int32_t)below(random, 5);
    }
    if (one_in(random, broken_in)) {
        int32_t *fields[] = {&value->value_class, &value->sign, &value->lsb_exp};
        uint64_t choice = below(random, 3);
        *fields[choice] = wild_number(random);
    }
}

void any_transform(stream *random, emu_transform *transform, const emu_format *sum, const emu_format *result, uint64_t broken_in)
{
    static const int32_t orders[] = {EMU_SUM_EXACT, EMU_SUM_SEQUENTIAL, EMU_SUM_BUTTERFLY};
    transform->size = 1 << (1 + below(random, one_in(random, 50) ? 8 : 4));
    transform->order = orders[below(random, 3)];
    for (int k = 0; k < 4; k++)
        transform->signs[k] = next_word(random);
    transform->scale_exp = one_in(random, 20) ? (int32_t)below(random, 2049) - 1024 : -(int32_t)below(random, 8);
    transform->sum_format = sum;
    transform->result = result;
    if (one_in(random, broken_in)) {
        int32_t *fields[] = {&transform->size, &transform->order, &transform->scale_exp};
        uint64_t choice = below(random, 5);
        if (choice < 3)
            *fields[choice] = wild_number(random);
        else if (choice == 3)
            transform->sum_format = NULL;
        else
            transform->result = NULL;
    }
}
