/* format.c: checks of a format descriptor, and the facts that follow from it. */
#include "../steps.h"

enum { EMU_MAX_EXPONENT = 1 << 20 };

static int32_t is_between(int32_t number, int32_t low, int32_t high)
{
    return low <= number && number <= high;
}

static int32_t is_exponent(int32_t number)
{
    return is_between(number, -EMU_MAX_EXPONENT, EMU_MAX_EXPONENT);
}

static int32_t nan_list_fits(const emu_format *format, int32_t code_bits)
{
    if (format->nan != EMU_NAN_LIST)
        return 1;
    if (!is_between(format->nan_count, 1, EMU_MAX_NAN_CODES))
        return 0;
    for (int32_t i = 0; i < format->nan_count; i++) {
        if (format->nan_codes[i] > emu_low_bits(code_bits))
            return 0;
    }
    return 1;
}

static int32_t is_float_sound(const emu_format *format)
{
    int32_t sized = is_between(format->exp_bits, 1, 15) && is_between(format->frac_bits, 0, 62) && format->exp_bits + format->frac_bits <= EMU_MOST_FLOAT_BITS;
    int32_t worded = is_between(format->has_sign, 0, 1) && is_between(format->subnormals, 0, 1) && is_between(format->neg_zero, 0, 1) &&
                     is_between(format->inf, EMU_INF_NONE, EMU_INF_TOP) && is_between(format->nan, EMU_NAN_NONE, EMU_NAN_LIST) &&
                     is_between(format->unused_high_bits, 0, 7) && is_exponent(format->bias);
    if (!sized || !worded)
        return 0;
    int32_t code_bits = format->has_sign + format->exp_bits + format->frac_bits;
    if (code_bits + format->unused_high_bits > EMU_MOST_STORED_BITS || (format->neg_zero && !(format->has_sign && format->subnormals)))
        return 0;
    if (format->nan == EMU_NAN_IEEE && (format->inf != EMU_INF_IEEE || format->frac_bits == 0))
        return 0;
    return nan_list_fits(format, code_bits);
}

static int32_t is_codebook_sound(const emu_format *format)
{
    const int64_t limit = (int64_t)1 << EMU_MAX_VALUE_BITS;
    if (!is_between(format->bits, 1, 8) || !is_exponent(format->unit_exp) || !is_between(format->tie, EMU_TIE_EVEN_CODE, EMU_TIE_AWAY))
        return 0;
    int32_t count = 1 << format->bits;
    for (int32_t i = 0; i < count; i++) {
        if (format->values[i] <= -limit || format->values[i] >= limit)
            return 0;
    }
    if (format->minus_zero_code == -1)
        return 1;
    return is_between(format->minus_zero_code, 0, count - 1) && format->values[format->minus_zero_code] == 0;
}

int32_t emu_check_format(const emu_format *format)
{
    int32_t sound = 0;
    if (!format || (format->format_class == EMU_CODEBOOK && !format->values))
        return EMU_ERROR_NULL;
    switch (format->format_class) {
    case EMU_FLOAT:
        sound = is_float_sound(format);
        break;
    case EMU_INTEGER:
        sound = is_between(format->bits, 1, 63) && is_between(format->integer_sign, EMU_TWOS_COMPLEMENT, EMU_UNSIGNED) &&
                is_exponent(format->unit_exp);
        break;
    case EMU_EXPONENT:
        sound = is_between(format->bits, 1, 16) && is_exponent(format->bias) && is_between(format->nan, EMU_NAN_NONE, EMU_NAN_LIST) &&
                format->nan != EMU_NAN_IEEE && nan_list_fits(format, format->bits);
        break;
    case EMU_CODEBOOK:
        sound = is_codebook_sound(format);
        break;
    default:
        break;
    }
    return sound ? EMU_OK : EMU_ERROR_FORMAT;
}

/* Float, exponent: the largest magnitude below Inf and below the listed NaN codes at the top. */
static uint64_t largest_float(const emu_grid *grid)
{
    uint64_t magnitude = emu_low_bits(grid->exp_bits + grid->frac_bits);
    if (grid->format->nan == EMU_NAN_IEEE)
        return grid->inf_magnitude - 1;
    while (magnitude > 0 && (emu_is_nan_code(grid, magnitude) || (grid->inf_magnitude && magnitude == grid->inf_magnitude)))
        magnitude--;
    return magnitude;
}

static void make_float(const emu_format *format, emu_grid *grid)
{
    int32_t is_exponent_class = format->format_class == EMU_EXPONENT;
    int32_t has_sign = is_exponent_class ? 0 : format->has_sign;
    grid->is_float = 1;
    grid->exp_bits = is_exponent_class ? format->bits : format->exp_bits;
    grid->frac_bits = is_exponent_class ? 0 : format->frac_bits;
    grid->bias = format->bias;
    grid->has_subnormals = is_exponent_class ? 0 : format->subnormals;
    grid->lowest_exp = grid->has_subnormals - format->bias;
    grid->has_zero = grid->has_subnormals;
    grid->has_minus_zero = is_exponent_class ? 0 : format->neg_zero;
    grid->code_bits = has_sign + grid->exp_bits + grid->frac_bits;
    grid->sign_bit = has_sign ? (uint64_t)1 << (grid->code_bits - 1) : 0;
    grid->is_signed = has_sign;
    if (!is_exponent_class && format->inf == EMU_INF_IEEE)
        grid->inf_magnitude = emu_low_bits(grid->exp_bits) << grid->frac_bits;
    else if (!is_exponent_class && format->inf == EMU_INF_TOP)
        grid->inf_magnitude = largest_float(grid); /* no Inf yet: the highest magnitude that is not NaN */
    grid->largest[0] = grid->largest[1] = largest_float(grid);
}

static void make_integer(const emu_format *format, emu_grid *grid)
{
    int32_t is_unsigned = format->integer_sign == EMU_UNSIGNED;
    grid->has_zero = 1;
    grid->code_bits = format->bits;
    grid->is_signed = !is_unsigned;
    grid->largest[0] = grid->largest[1] = emu_low_bits(is_unsigned ? format->bits : format->bits - 1);
    if (format->integer_sign == EMU_TWOS_COMPLEMENT)
        grid->largest[1] += 1;
    if (format->integer_sign == EMU_SIGN_MAGNITUDE) {
        grid->sign_bit = (uint64_t)1 << (format->bits - 1);
        grid->has_minus_zero = 1;
    }
}

static int32_t bytes_of(int32_t bits)
{
    return bits <= 8 ? 1 : bits <= 16 ? 2 : bits <= 32 ? 4 : 8;
}

void emu_derive_grid(const emu_format *format, emu_grid *grid)
{
    const emu_grid empty = {0};
    *grid = empty;
    grid->format = format;
    if (format->format_class == EMU_INTEGER) {
        make_integer(format, grid);
    } else if (format->format_class == EMU_CODEBOOK) {
        grid->code_bits = format->bits;
        grid->is_signed = 1;
        emu_sort_codebook(format, grid->ascending);
    } else {
        make_float(format, grid);
    }
    grid->code_bytes = bytes_of(grid->code_bits + (format->format_class == EMU_FLOAT ? format->unused_high_bits : 0));
}

int32_t emu_make_grid(const emu_format *format, emu_grid *grid)
{
    int32_t error = emu_check_format(format);
    if (!error)
        emu_derive_grid(format, grid);
    return error;
}

/* A codebook with values of both signs and no zero has no place to round small values to. */
int32_t emu_check_destination(const emu_grid *grid)
{
    const emu_format *format = grid->format;
    int32_t seen[3] = {0, 0, 0}; /* negative, zero, positive */
    if (format->format_class != EMU_CODEBOOK)
        return EMU_OK;
    for (int32_t i = 0; i < 1 << format->bits; i++)
        seen[(format->values[i] > 0) - (format->values[i] < 0) + 1] = 1;
    return seen[0] && seen[2] && !seen[1] ? EMU_ERROR_FORMAT : EMU_OK;
}

int32_t emu_is_code(const emu_grid *grid, uint64_t code)
{
    int32_t unused = grid->format->format_class == EMU_FLOAT ? grid->format->unused_high_bits : 0;
    return code <= emu_low_bits(grid->code_bits + unused);
}

int32_t emu_max_magnitude(const emu_format *format, int32_t sign, uint64_t *magnitude)
{
    emu_grid grid;
    int32_t error = emu_make_grid(format, &grid);
    if (error)
        return error;
    if (!magnitude)
        return EMU_ERROR_NULL;
    if (format->format_class == EMU_CODEBOOK)
        return EMU_ERROR_FORMAT;
    *magnitude = grid.largest[sign != 0];
    return EMU_OK;
}

int32_t emu_code_bytes(const emu_format *format, int32_t *bytes)
{
    emu_grid grid;
    int32_t error = emu_make_grid(format, &grid);
    if (error)
        return error;
    if (!bytes)
        return EMU_ERROR_NULL;
    *bytes = grid.code_bytes;
    return EMU_OK;
}

int32_t emu_stored_bits(const emu_format *format)
{
    if (format->format_class == EMU_FLOAT)
        return format->has_sign + format->exp_bits + format->frac_bits + format->unused_high_bits;
    return format->bits;
}

int32_t emu_same_format(const emu_format *a, const emu_format *b)
{
    int32_t same = a->format_class == b->format_class && a->bits == b->bits && a->has_sign == b->has_sign && a->exp_bits == b->exp_bits &&
                   a->frac_bits == b->frac_bits && a->bias == b->bias && a->subnormals == b->subnormals && a->neg_zero == b->neg_zero &&
                   a->unused_high_bits == b->unused_high_bits && a->inf == b->inf && a->nan == b->nan && a->nan_count == b->nan_count &&
                   a->integer_sign == b->integer_sign && a->unit_exp == b->unit_exp && a->tie == b->tie;
    for (int32_t i = 0; same && a->nan == EMU_NAN_LIST && i < a->nan_count; i++)
        same = a->nan_codes[i] == b->nan_codes[i];
    if (!same || a->format_class != EMU_CODEBOOK)
        return same;
    same = a->minus_zero_code == b->minus_zero_code;
    for (int32_t i = 0; same && i < 1 << a->bits; i++)
        same = a->values[i] == b->values[i];
    return same;
}
