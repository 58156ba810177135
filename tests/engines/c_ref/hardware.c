/* Compares the operations of the reference with this machine's own arithmetic on stratified operands. Floats are allowed here alone.
 *
 * hardware NAME COUNT: the operation (or "all"), and how many operands to nearest even; a third as many in each directed mode.
 * The machine's side: add sub mul div as C does them, fma by fmaf and fma, min and max by `<`, fp16 by vcvtps2ph where the compiler has it
 * (else by _Float16, to nearest alone). bf16 has no such instruction with subnormals: there an integer formula of its own stands in. */
#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "emu_ref.h"

#ifdef __F16C__
#include <immintrin.h>
#endif

enum { BATCH = 2048, NEAREST = 0, TO_ZERO = 1, UP = 2, DOWN = 3, MODES = 4 };

static const char *const mode_names[MODES] = {"rne", "rz", "ru", "rd"};
static const int mode_words[MODES] = {FE_TONEAREST, FE_TOWARDZERO, FE_UPWARD, FE_DOWNWARD};
static const emu_rounding roundings[MODES] = {
    {{{EMU_KEEP, EMU_TO_EVEN_CODE, EMU_NEXT}, {EMU_KEEP, EMU_TO_EVEN_CODE, EMU_NEXT}}, EMU_ADD_NONE, 0, {EMU_GO_AWAY, EMU_GO_AWAY}},
    {{{EMU_KEEP, EMU_KEEP, EMU_KEEP}, {EMU_KEEP, EMU_KEEP, EMU_KEEP}}, EMU_ADD_NONE, 0, {EMU_STOP_AT_MAX, EMU_STOP_AT_MAX}},
    {{{EMU_NEXT, EMU_NEXT, EMU_NEXT}, {EMU_KEEP, EMU_KEEP, EMU_KEEP}}, EMU_ADD_NONE, 0, {EMU_GO_AWAY, EMU_STOP_AT_MAX}},
    {{{EMU_KEEP, EMU_KEEP, EMU_KEEP}, {EMU_NEXT, EMU_NEXT, EMU_NEXT}}, EMU_ADD_NONE, 0, {EMU_STOP_AT_MAX, EMU_GO_AWAY}},
};
#define IEEE(exp, frac, bias) {EMU_FLOAT, 0, 1, exp, frac, bias, 1, 1, 0, EMU_INF_IEEE, EMU_NAN_IEEE, 0, {0}, 0, 0, 0, -1, NULL}
static const emu_format fp32 = IEEE(8, 23, 127), fp64 = IEEE(11, 52, 1023), bf16 = IEEE(8, 7, 127), fp16 = IEEE(5, 10, 15);

typedef struct job {
    const char *name;
    int32_t operation, variant;
    const emu_format *format, *to;
    uint64_t share; /* this part of COUNT: 1 / share */
    int modes;
} job;

static const job jobs[] = {
    {"add", EMU_OP_ADD, 0, &fp32, &fp32, 1, MODES},
    {"sub", EMU_OP_SUB, 0, &fp32, &fp32, 1, MODES},
    {"mul", EMU_OP_MUL, 0, &fp32, &fp32, 1, MODES},
    {"div", EMU_OP_DIV, 0, &fp32, &fp32, 1, MODES},
    {"fma", EMU_OP_FMA, 0, &fp32, &fp32, 1, MODES},
    {"min", EMU_OP_MIN, EMU_NAN_PROPAGATE, &fp32, &fp32, 2, 1},
    {"min", EMU_OP_MIN, EMU_NAN_DROP, &fp32, &fp32, 2, 1},
    {"max", EMU_OP_MAX, EMU_NAN_PROPAGATE, &fp32, &fp32, 2, 1},
    {"max", EMU_OP_MAX, EMU_NAN_DROP, &fp32, &fp32, 2, 1},
    {"clamp", EMU_OP_CLAMP, EMU_NAN_PROPAGATE, &fp32, &fp32, 2, 1},
    {"clamp", EMU_OP_CLAMP, EMU_NAN_DROP, &fp32, &fp32, 2, 1},
    {"sign", EMU_OP_ABS, 0, &fp32, &fp32, 10, 1},
    {"sign", EMU_OP_NEG, 0, &fp32, &fp32, 10, 1},
    {"round", EMU_OP_ROUND, EMU_BOUNDED, &fp32, &bf16, 1, MODES},
    {"round", EMU_OP_ROUND, EMU_BOUNDED, &fp32, &fp16, 1, MODES},
    {"narrow", EMU_OP_MUL, 0, &fp32, &bf16, 10, MODES},
    {"narrow", EMU_OP_MUL, 0, &fp32, &fp16, 10, MODES},
    {"wide", EMU_OP_ADD, 0, &fp64, &fp64, 10, MODES},
    {"wide", EMU_OP_SUB, 0, &fp64, &fp64, 10, MODES},
    {"wide", EMU_OP_MUL, 0, &fp64, &fp64, 10, MODES},
    {"wide", EMU_OP_DIV, 0, &fp64, &fp64, 10, MODES},
    {"wide", EMU_OP_FMA, 0, &fp64, &fp64, 10, MODES},
};

static float float_of(uint64_t bits)
{
    uint32_t word = (uint32_t)bits;
    float value;
    memcpy(&value, &word, sizeof value);
    return value;
}

static uint64_t bits_of_float(float value)
{
    uint32_t word;
    memcpy(&word, &value, sizeof word);
    return word;
}

static double double_of(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static uint64_t bits_of_double(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* bf16 by the carry of an addition to the bits. */
static uint64_t to_bf16(float value, int mode)
{
    uint32_t bits = (uint32_t)bits_of_float(value), sign = bits >> 31;
    const uint32_t added[MODES] = {0x7FFF + (bits >> 16 & 1), 0, sign ? 0 : 0xFFFF, sign ? 0xFFFF : 0};
    return isnan(value) ? 0x7FC0 : (bits + added[mode]) >> 16;
}

#if defined __F16C__
static const int fp16_modes = MODES;
static const char fp16_by[] = "vcvtps2ph";
static uint64_t to_fp16(float value)
{
    return _cvtss_sh(value, _MM_FROUND_CUR_DIRECTION);
}
#elif defined __FLT16_MAX__
static const int fp16_modes = 1;
static const char fp16_by[] = "_Float16";
static uint64_t to_fp16(float value)
{
    __extension__ _Float16 narrow = (_Float16)value;
    uint16_t word;
    memcpy(&word, &narrow, sizeof word);
    return word;
}
#else
static const int fp16_modes = 0;
static const char fp16_by[] = "nothing";
static uint64_t to_fp16(float value)
{
    return isnan(value) != 0;
}
#endif

static float smaller(float a, float b, int32_t variant)
{
    if (isnan(a) || isnan(b))
        return variant == EMU_NAN_PROPAGATE ? NAN : isnan(a) ? b : a;
    return b < a ? b : a;
}

static float larger(float a, float b, int32_t variant)
{
    if (isnan(a) || isnan(b))
        return variant == EMU_NAN_PROPAGATE ? NAN : isnan(a) ? b : a;
    return a < b ? b : a;
}

static float in_float(int32_t operation, int32_t variant, float a, float b, float c)
{
    switch (operation) {
    case EMU_OP_ADD: return a + b;
    case EMU_OP_SUB: return a - b;
    case EMU_OP_MUL: return a * b;
    case EMU_OP_DIV: return a / b;
    case EMU_OP_FMA: return fmaf(a, b, c);
    case EMU_OP_MIN: return smaller(a, b, variant);
    case EMU_OP_MAX: return larger(a, b, variant);
    case EMU_OP_CLAMP: return smaller(larger(a, b, variant), c, variant);
    case EMU_OP_ABS: return fabsf(a);
    case EMU_OP_NEG: return -a;
    default: return a;
    }
}

static double in_double(int32_t operation, double a, double b, double c)
{
    switch (operation) {
    case EMU_OP_ADD: return a + b;
    case EMU_OP_SUB: return a - b;
    case EMU_OP_MUL: return a * b;
    case EMU_OP_DIV: return a / b;
    default: return fma(a, b, c);
    }
}

/* The exact product of two floats, a double, as a float rounded to odd: one more rounding to at most 22 bits sees all it needs. */
static float product_to_odd(float a, float b)
{
    volatile double exact = (double)a * (double)b; /* volatile: nothing moves across the change of mode */
    volatile float cut;
    int mode = fegetround();
    fesetround(FE_TOWARDZERO);
    cut = (float)exact;
    fesetround(mode);
    if (isnan(exact) || isinf(exact) || !islessgreater((double)cut, exact))
        return cut;
    return float_of(bits_of_float(cut) | 1);
}

/* The machine's answer in the current rounding mode. */
static uint64_t on_machine(const job *work, int mode, uint64_t a, uint64_t b, uint64_t c)
{
    float value;
    if (work->format == &fp64)
        return bits_of_double(in_double(work->operation, double_of(a), double_of(b), double_of(c)));
    if (work->to != &fp32 && work->operation == EMU_OP_MUL)
        value = product_to_odd(float_of(a), float_of(b));
    else
        value = in_float(work->operation, work->variant, float_of(a), float_of(b), float_of(c));
    return work->to == &fp32 ? bits_of_float(value) : work->to == &bf16 ? to_bf16(value, mode) : to_fp16(value);
}

/* Counter-based generator: splitmix64. */
static uint64_t mix(uint64_t counter)
{
    uint64_t word = counter * 0x9E3779B97F4A7C15u;
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9u;
    word = (word ^ word >> 27) * 0x94D049BB133111EBu;
    return word ^ word >> 31;
}

/* A fraction field: zeros, ones, a short one, a small one, one bit, a tie and its neighbours at some place, or any. */
static uint64_t fraction(const emu_format *format, uint64_t random)
{
    uint64_t all = ((uint64_t)1 << format->frac_bits) - 1, place = (uint64_t)1 << (random >> 50) % (uint64_t)format->frac_bits;
    switch (random >> 61) {
    case 0: return random >> 60 & 1 ? 0 : all;
    case 1: return random & all & ~(place - 1);
    case 2: return random & all & (place - 1);
    case 3: return place;
    case 4: return ((random & all & ~(2 * place - 1)) + place + random % 3 - 1) & all;
    default: return random & all;
    }
}

static uint64_t pack(const emu_format *format, uint64_t sign, int64_t exp_field, uint64_t frac)
{
    int64_t top = ((int64_t)1 << format->exp_bits) - 1;
    uint64_t field = (uint64_t)(exp_field < 0 ? 0 : exp_field > top ? top : exp_field);
    return (sign & 1) << (format->exp_bits + format->frac_bits) | field << format->frac_bits | frac;
}

/* Zeros, subnormals, ends of the normals, one and its neighbours, Inf, quiet and signalling NaN, of both signs. */
static uint64_t special(const emu_format *format, uint64_t random)
{
    uint64_t hidden = (uint64_t)1 << format->frac_bits, one = pack(format, 0, format->bias, 0);
    uint64_t inf = pack(format, 0, (int64_t)1 << format->exp_bits, 0);
    const uint64_t list[] = {0,       1,       hidden - 1, hidden, hidden + 1, hidden / 2, inf - 1,          inf,
                             inf + 1, one - 1, one,        one + 1, inf - hidden, 2 * hidden, inf + hidden / 2, inf + hidden - 1};
    return list[random & 15] | (random >> 4 & 1) << (format->exp_bits + format->frac_bits);
}

/* Exponent fields of b (and a, for sums) so that the result lies at the lower or the upper end of the range. */
static void near_end(const job *work, int is_upper, uint64_t random, int64_t *a, int64_t *b)
{
    int64_t frac = work->format->frac_bits, bias = work->format->bias, top = ((int64_t)1 << work->format->exp_bits) - 1;
    int64_t wanted = is_upper ? top - 3 + (int64_t)(random % 5) : (int64_t)(random % (uint64_t)(frac + 8)) - frac - 4;
    if (work->operation == EMU_OP_MUL || work->operation == EMU_OP_FMA) {
        *b = wanted + bias - *a;
    } else if (work->operation == EMU_OP_DIV) {
        *b = *a + bias - wanted;
    } else {
        *a = is_upper ? top - 1 - (int64_t)(random & 1) : (int64_t)(random & 3);
        *b = is_upper ? top - 1 - (int64_t)(random >> 1 & 1) : (int64_t)(random >> 2 & 3);
    }
}

/* The i-th operands. Eight kinds in turn: every pair of exponent fields twice (c anywhere, c near the product), cancellation, ties, the
 * lower end, the upper end, specials, any bits. */
static void draw(const job *work, uint64_t i, uint64_t operand[3])
{
    const emu_format *format = work->format;
    uint64_t r[3] = {mix(3 * i + 1), mix(3 * i + 2), mix(3 * i + 3)}, turn = i / 8, some = mix(i ^ 0x5555555555555555u);
    int64_t count = (int64_t)1 << format->exp_bits, frac = format->frac_bits, bias = format->bias;
    int64_t field[3] = {(int64_t)turn % count, (int64_t)turn / count % count, (int64_t)(r[2] >> 30) % count};
    uint64_t low = ((uint64_t)1 << (frac / 2)) - 1, sign = (uint64_t)1 << (format->exp_bits + frac);
    int32_t is_product = work->operation == EMU_OP_MUL || work->operation == EMU_OP_FMA;
    int kind = (int)(i % 8);
    if (kind == 3 && !is_product && work->operation != EMU_OP_DIV)
        field[1] = field[0] - frac + 3 - (int64_t)(some % 8);
    if (kind == 4 || kind == 5)
        near_end(work, kind == 5, some, &field[0], &field[1]);
    if (kind != 0 && kind != 7)
        field[2] = field[0] + field[1] - bias + (int64_t)(some >> 8) % (2 * frac + 10) - frac - 5;
    for (int k = 0; k < 3; k++) {
        operand[k] = kind == 7 ? r[k] & (2 * sign - 1) : pack(format, r[k] >> 40, field[k], fraction(format, r[k]));
        if (kind == 3 && k < 2)
            operand[k] &= ~low;
        if (kind == 6 && some >> k & 1)
            operand[k] = special(format, r[k]);
    }
    if (kind == 2 && work->operation == EMU_OP_FMA) {
        const job product = {"", EMU_OP_MUL, 0, format, format, 1, 1};
        operand[2] = ((on_machine(&product, NEAREST, operand[0], operand[1], 0) ^ sign) + some % 5 - 2) & (2 * sign - 1);
    } else if (kind == 2) {
        uint64_t distance = some & 1 ? some % 9 - 4 : (some >> 4) % 7 << (frac - 2);
        operand[1] = ((operand[0] ^ (some >> 20 & 1 ? sign : 0)) + distance) & (2 * sign - 1);
    } else if (kind == 3 && work->operation == EMU_OP_DIV) {
        const job product = {"", EMU_OP_MUL, 0, format, format, 1, 1};
        operand[0] = on_machine(&product, NEAREST, operand[0], operand[1], 0);
    }
}

static int is_nan(const emu_format *format, uint64_t code)
{
    uint64_t inf = pack(format, 0, (int64_t)1 << format->exp_bits, 0);
    return (code & ~((uint64_t)1 << (format->exp_bits + format->frac_bits))) > inf;
}

/* A NaN of the machine, whatever its bits, is the canonical one of the reference: quiet and positive. */
static int differs(const emu_format *to, uint64_t mine, uint64_t machine)
{
    if (is_nan(to, machine))
        return mine != (pack(to, 0, (int64_t)1 << to->exp_bits, (uint64_t)1 << (to->frac_bits - 1)));
    return mine != machine;
}

static int compare(const job *work, int mode, uint64_t first, uint64_t count)
{
    static uint64_t a[BATCH], b[BATCH], c[BATCH], mine[BATCH], machine[BATCH];
    for (uint64_t start = 0; start < count; start += BATCH) {
        size_t size = count - start < BATCH ? (size_t)(count - start) : BATCH;
        for (size_t i = 0; i < size; i++) {
            uint64_t operand[3];
            draw(work, first + start + i, operand);
            a[i] = operand[0];
            b[i] = operand[1];
            c[i] = operand[2];
        }
        fesetround(mode_words[mode]);
        for (size_t i = 0; i < size; i++)
            machine[i] = on_machine(work, mode, a[i], b[i], c[i]);
        fesetround(FE_TONEAREST);
        if (emu_calculate_array(work->operation, work->format, work->to, &roundings[mode], work->variant, a, b, c, size, mine))
            return 2;
        for (size_t i = 0; i < size; i++) {
            if (differs(work->to, mine[i], machine[i])) {
                printf("%s %s: %llx %llx %llx: reference %llx, machine %llx\n", work->name, mode_names[mode], (unsigned long long)a[i],
                       (unsigned long long)b[i], (unsigned long long)c[i], (unsigned long long)mine[i], (unsigned long long)machine[i]);
                return 1;
            }
        }
    }
    return 0;
}

int main(int argc, char **argv)
{
    uint64_t asked = argc == 3 ? strtoull(argv[2], NULL, 10) : 0, compared = 0;
    for (size_t k = 0; asked && k < sizeof jobs / sizeof *jobs; k++) {
        const job *work = &jobs[k];
        int modes = work->to == &fp16 && fp16_modes < work->modes ? fp16_modes : work->modes;
        if (strcmp(argv[1], "all") && strcmp(argv[1], work->name))
            continue;
        for (int mode = 0; mode < modes; mode++) {
            uint64_t count = asked / work->share / (mode == NEAREST ? 1 : 3);
            int fault = compare(work, mode, mode == NEAREST ? 0 : asked * (uint64_t)mode, count);
            if (fault)
                return fault;
            compared += count;
        }
    }
    printf("%llu compared; fp16 by %s\n", (unsigned long long)compared, fp16_by);
    return compared ? 0 : 3;
}
