/* dot: what follows the last step: tensor scales and C. One rounding to the grid of D for each operation, in binary64: a product of two
 * results is exact there, and a sum is rounded to odd, so that the rounding after it sees what was lost. */
#include "kernels.h"

typedef struct number {
    double value;
    uint8_t state; /* EMU_STATE_* */
} number;

static number load(const emu_dot *plan, const void *codes, size_t place) {
    emu_dot_row row;
    number found;
    row.any = 0;
    emu_dot_load(plan, codes, place, &row, 0);
    found.value = row.c[0], found.state = row.state[0];
    return found;
}

/* To nearest even on the grid of D; beyond its largest number infinity. */
static number rounded(const emu_dot *plan, number x) {
    const double lowest = emu_power(plan->d_lowest), leading = emu_as_double(emu_double_bits(x.value) & EMU_EXPONENT);
    const double largest = emu_dot_largest(plan);
    if (x.state)
        return x;
    x.value = emu_cut(x.value, (leading > lowest ? leading : lowest) * emu_power(-plan->d_frac_bits), 0.0);
    if (x.value > largest || x.value < -largest)
        x.state = x.value > 0.0 ? EMU_STATE_PLUS : EMU_STATE_MINUS;
    return x;
}

static int is_negative(number x) { return x.state ? x.state == EMU_STATE_MINUS : (int)(emu_double_bits(x.value) >> 63); }

static int is_zero(number x) { return !x.state && !(x.value < 0.0 || x.value > 0.0); }

static int is_nan(number x) { return (x.state & EMU_STATE_NAN) != 0; }

static number product(number x, number y) {
    number found;
    found.value = 0.0, found.state = 0;
    if (is_nan(x) || is_nan(y) || (x.state && is_zero(y)) || (y.state && is_zero(x)))
        found.state = EMU_STATE_NAN;
    else if (x.state || y.state)
        found.state = is_negative(x) != is_negative(y) ? EMU_STATE_MINUS : EMU_STATE_PLUS;
    else
        found.value = x.value * y.value;
    return found;
}

/* x + y rounded to odd: where bits are lost, the last bit that is kept is 1. */
static number sum(number x, number y) {
    number found;
    double total, shadow, error;
    uint64_t bits;
    found.value = 0.0, found.state = x.state | y.state;
    if (found.state)
        return found;
    total = x.value + y.value;
    shadow = total - x.value;
    error = (x.value - (total - shadow)) + (y.value - shadow);
    bits = emu_double_bits(total);
    if ((error < 0.0 || error > 0.0) && !(bits & 1))
        bits += (error > 0.0) == (total > 0.0) ? 1u : (uint64_t)-1;
    found.value = emu_as_double(bits);
    return found;
}

int32_t emu_dot_epilogue(const emu_dot *plan, uint32_t alpha, const void *d, const void *c, size_t count, int32_t fused, void *out) {
    const uint16_t narrow = (uint16_t)alpha;
    number by;
    int32_t error;
    if (plan == NULL || d == NULL || out == NULL || (plan->d_bytes != 2 && plan->d_bytes != 4))
        return EMU_KERNEL_ARGUMENT;
    error = emu_check_floats();
    if (error)
        return error;
    by = plan->d_bytes == 4 ? load(plan, &alpha, 0) : load(plan, &narrow, 0);
    for (size_t i = 0; i < count; i++) {
        number found = product(by, load(plan, d, i));
        emu_dot_row row;
        if (c == NULL || !fused)
            found = rounded(plan, found);
        if (c != NULL)
            found = rounded(plan, sum(found, load(plan, c, i)));
        row.c[0] = found.state ? 0.0 : found.value, row.state[0] = found.state;
        emu_dot_store(plan, &row, 0, out, i);
    }
    return EMU_KERNEL_OK;
}
