/* numbers.c: sums, products, extrema, comparisons and classes of exact numbers. Zero has no sign, and NaN has none. */
#include "operate.h"

static const emu_value nan_value = {EMU_NAN, 0, 0, 0};

static int32_t is_finite(const emu_value *value)
{
    return value->value_class <= EMU_NORMAL;
}

static emu_value negative(emu_value value)
{
    if (value.value_class != EMU_ZERO && value.value_class != EMU_NAN)
        value.sign = !value.sign;
    return value;
}

static emu_value magnitude(emu_value value)
{
    value.sign = 0;
    return value;
}

/* -1, 0 or 1: a is below, equal to or above b; neither is NaN. The sign of a difference is exact, even where its last bits are joined. */
int32_t emu_compare_numbers(emu_value a, emu_value b)
{
    emu_value minus = negative(b), difference;
    if (a.value_class == EMU_INFINITE && b.value_class == EMU_INFINITE)
        return b.sign - a.sign;
    emu_add(&a, &minus, &emu_ties_to_even, &difference);
    return difference.value_class == EMU_ZERO ? 0 : difference.sign ? -1 : 1;
}

static emu_value sum_of(emu_value a, emu_value b)
{
    emu_value sum;
    emu_add(&a, &b, &emu_ties_to_even, &sum);
    return sum;
}

static emu_value product_of(emu_value a, emu_value b)
{
    emu_value product;
    emu_multiply(&a, &b, &product);
    return product;
}

static int32_t lead_exp(const emu_value *value)
{
    return value->lsb_exp + emu_bit_length(value->significand);
}

/* a + b + c, exact but for bits below the 64th, of at most EMU_OPERATE_BITS bits each. The two largest first where their sum is exact. Else the
 * second lies so far below the first that the sum cannot vanish, and what the smaller two lose lies below the bits that are kept. */
static emu_value sum_of_three(emu_value a, emu_value b, emu_value c)
{
    emu_value terms[3] = {a, b, c};
    if (!is_finite(&a) || !is_finite(&b) || !is_finite(&c))
        return sum_of(sum_of(a, b), c);
    for (int32_t pass = 0; pass < 2; pass++) {
        for (int32_t i = 0; i < 2; i++) {
            int32_t rises = terms[i + 1].significand && (!terms[i].significand || lead_exp(&terms[i]) < lead_exp(&terms[i + 1]));
            emu_value kept = terms[i];
            if (rises) {
                terms[i] = terms[i + 1];
                terms[i + 1] = kept;
            }
        }
    }
    if (!terms[1].significand || lead_exp(&terms[0]) - terms[1].lsb_exp < EMU_OPERATE_PRODUCT_BITS)
        return sum_of(sum_of(terms[0], terms[1]), terms[2]);
    return sum_of(terms[0], sum_of(terms[1], terms[2]));
}

/* NaN of zero, which has no sign. */
static emu_value reciprocal(emu_value a)
{
    const emu_value one = {EMU_NORMAL, 0, 0, 1};
    emu_value quotient;
    if (a.value_class == EMU_ZERO)
        return nan_value;
    emu_divide(&one, &a, &quotient);
    return quotient;
}

/* up: the larger. drop: NaN gives way to the other. */
static emu_value extreme(emu_value a, emu_value b, int32_t up, int32_t drop)
{
    if (a.value_class == EMU_NAN || b.value_class == EMU_NAN) {
        emu_value other = a.value_class == EMU_NAN ? b : a;
        return drop ? other : nan_value;
    }
    return (up ? emu_compare_numbers(b, a) : emu_compare_numbers(a, b)) > 0 ? b : a;
}

/* By magnitude; of two equal magnitudes the smaller or larger number. */
static emu_value extreme_magnitude(emu_value a, emu_value b, int32_t up, int32_t drop)
{
    int32_t order;
    if (a.value_class == EMU_NAN || b.value_class == EMU_NAN)
        return extreme(a, b, up, drop);
    order = emu_compare_numbers(magnitude(a), magnitude(b));
    if (!order)
        return extreme(a, b, up, drop);
    return (order < 0) != up ? a : b;
}

/* A finite number goes before an infinity, an infinity before NaN. */
static emu_value extreme_finite(emu_value a, emu_value b, int32_t up)
{
    if (is_finite(&a) != is_finite(&b))
        return is_finite(&a) ? a : b;
    return extreme(a, b, up, 1);
}

static emu_value fused(emu_value a, emu_value b, emu_value c)
{
    emu_value sum;
    emu_multiply_add(&a, &b, &c, &emu_ties_to_even, &sum);
    return sum;
}

/* The result of an operation that gives a number, before it is projected. */
emu_value emu_operate_numbers(int32_t operation, const emu_value *v)
{
    switch (operation) {
    case EMU_DO_NEGATE:
        return negative(v[0]);
    case EMU_DO_ABS:
        return magnitude(v[0]);
    case EMU_DO_RECIP:
        return reciprocal(v[0]);
    case EMU_DO_ADD:
        return sum_of(v[0], v[1]);
    case EMU_DO_SUBTRACT:
        return sum_of(v[0], negative(v[1]));
    case EMU_DO_MULTIPLY:
        return product_of(v[0], v[1]);
    case EMU_DO_FMA:
        return fused(v[0], v[1], v[2]);
    case EMU_DO_FAA:
        return sum_of_three(v[0], v[1], v[2]);
    case EMU_DO_MINIMUM:
    case EMU_DO_MAXIMUM:
        return extreme(v[0], v[1], operation == EMU_DO_MAXIMUM, 0);
    case EMU_DO_MINIMUM_NUMBER:
    case EMU_DO_MAXIMUM_NUMBER:
        return extreme(v[0], v[1], operation == EMU_DO_MAXIMUM_NUMBER, 1);
    case EMU_DO_MINIMUM_MAGNITUDE:
    case EMU_DO_MAXIMUM_MAGNITUDE:
        return extreme_magnitude(v[0], v[1], operation == EMU_DO_MAXIMUM_MAGNITUDE, 0);
    case EMU_DO_MINIMUM_MAGNITUDE_NUMBER:
    case EMU_DO_MAXIMUM_MAGNITUDE_NUMBER:
        return extreme_magnitude(v[0], v[1], operation == EMU_DO_MAXIMUM_MAGNITUDE_NUMBER, 1);
    case EMU_DO_MINIMUM_FINITE:
    case EMU_DO_MAXIMUM_FINITE:
        return extreme_finite(v[0], v[1], operation == EMU_DO_MAXIMUM_FINITE);
    case EMU_DO_SCALED_ADD:
        return sum_of(product_of(v[0], v[1]), product_of(v[2], v[3]));
    case EMU_DO_SCALED_SUBTRACT:
        return sum_of(product_of(v[0], v[1]), negative(product_of(v[2], v[3])));
    case EMU_DO_SCALED_MULTIPLY:
        return product_of(product_of(v[0], v[1]), product_of(v[2], v[3]));
    default:
        return v[0];
    }
}

/* Yes or no. A comparison with NaN is no. */
int32_t emu_is_so(int32_t operation, const emu_value *v)
{
    const emu_value one = {EMU_NORMAL, 0, 0, 1};
    int32_t kind = v[0].value_class;
    switch (operation) {
    case EMU_DO_IS_ZERO:
        return kind == EMU_ZERO;
    case EMU_DO_IS_ONE:
        return kind != EMU_NAN && emu_compare_numbers(v[0], one) == 0;
    case EMU_DO_IS_NAN:
        return kind == EMU_NAN;
    case EMU_DO_IS_INFINITE:
        return kind == EMU_INFINITE;
    case EMU_DO_IS_FINITE:
        return is_finite(&v[0]);
    case EMU_DO_IS_SIGN_MINUS:
        return kind != EMU_NAN && v[0].sign;
    case EMU_DO_IS_NORMAL:
        return kind == EMU_NORMAL;
    case EMU_DO_IS_SUBNORMAL:
        return kind == EMU_SUBNORMAL;
    default:
        break;
    }
    if (kind == EMU_NAN || v[1].value_class == EMU_NAN)
        return 0;
    switch (operation) {
    case EMU_DO_COMPARE_LESS:
        return emu_compare_numbers(v[0], v[1]) < 0;
    case EMU_DO_COMPARE_LESS_EQUAL:
        return emu_compare_numbers(v[0], v[1]) <= 0;
    case EMU_DO_COMPARE_EQUAL:
        return emu_compare_numbers(v[0], v[1]) == 0;
    case EMU_DO_COMPARE_GREATER:
        return emu_compare_numbers(v[0], v[1]) > 0;
    default:
        return emu_compare_numbers(v[0], v[1]) >= 0;
    }
}
