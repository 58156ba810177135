/* wide.c: sums of fixed size in two's complement. */
#include "wide.h"

static uint64_t sign_of(const emu_wide *number, int32_t count)
{
    return (number->limbs[count - 1] >> 63) ? UINT64_MAX : 0;
}

void emu_wide_clear(emu_wide *number, int32_t count)
{
    for (int32_t i = 0; i < count; i++)
        number->limbs[i] = 0;
}

/* a + b + *carry; *carry is what leaves at the top. */
static uint64_t add_limb(uint64_t a, uint64_t b, uint64_t *carry)
{
    uint64_t partial = a + b, sum = partial + *carry;
    *carry = (partial < a) | (sum < partial);
    return sum;
}

void emu_wide_add_shifted(emu_wide *number, int32_t count, int64_t value, int32_t shift)
{
    int32_t first = shift / 64, places = shift % 64;
    uint64_t bits = (uint64_t)value, sign = value < 0 ? UINT64_MAX : 0, carry = 0;
    uint64_t low = bits << places, high = places ? bits >> (64 - places) | sign << places : sign;
    for (int32_t i = first; i < count; i++)
        number->limbs[i] = add_limb(number->limbs[i], i == first ? low : i == first + 1 ? high : sign, &carry);
}

void emu_wide_shift_left(emu_wide *number, int32_t count, int32_t shift)
{
    int32_t whole = shift / 64, places = shift % 64;
    for (int32_t i = count - 1; i >= 0; i--) {
        uint64_t here = i >= whole ? number->limbs[i - whole] : 0, below = i > whole ? number->limbs[i - whole - 1] : 0;
        number->limbs[i] = places ? here << places | below >> (64 - places) : here;
    }
}

void emu_wide_wrap(emu_wide *number, int32_t count, int32_t bits)
{
    int32_t top = (bits - 1) / 64, places = (bits - 1) % 64;
    uint64_t low = emu_low_bits(places + 1);
    if (top >= count)
        return;
    number->limbs[top] = number->limbs[top] >> places & 1 ? number->limbs[top] | ~low : number->limbs[top] & low;
    emu_wide_extend(number, top + 1);
}

int32_t emu_wide_fits(const emu_wide *number, int32_t count, int32_t bits)
{
    emu_wide wrapped = *number;
    emu_wide_wrap(&wrapped, count, bits);
    for (int32_t i = 0; i < count; i++) {
        if (wrapped.limbs[i] != number->limbs[i])
            return 0;
    }
    return 1;
}

void emu_wide_extend(emu_wide *number, int32_t count)
{
    uint64_t sign = sign_of(number, count);
    for (int32_t i = count; i < EMU_WIDE_LIMBS; i++)
        number->limbs[i] = sign;
}

/* Limb i of the magnitude. `below`: 1 while every limb under it is 0. */
static uint64_t limb_of_magnitude(const emu_wide *number, int32_t i, uint64_t sign, int32_t below)
{
    return sign ? ~number->limbs[i] + (uint64_t)below : number->limbs[i];
}

void emu_wide_top(const emu_wide *number, int32_t count, emu_value *top)
{
    uint64_t sign = sign_of(number, count), high, low, rest = 0;
    int32_t lowest = 0, place = count - 1, length;
    top->sign = sign != 0;
    while (lowest < count && !number->limbs[lowest])
        lowest++; /* of the limbs that are not 0 */
    top->significand = 0;
    top->lsb_exp = 0;
    top->value_class = lowest < count ? EMU_NORMAL : EMU_ZERO;
    if (lowest == count)
        return;
    while (place > lowest && !limb_of_magnitude(number, place, sign, 0))
        place--;
    high = limb_of_magnitude(number, place, sign, place == lowest);
    length = emu_bit_length(high);
    top->significand = high;
    top->lsb_exp = 64 * place;
    if (place > lowest && length < 64) {
        low = limb_of_magnitude(number, place - 1, sign, place - 1 == lowest);
        top->significand = high << (64 - length) | low >> length;
        top->lsb_exp -= 64 - length;
        rest = low & emu_low_bits(length);
        place--;
    }
    top->significand |= (rest != 0) | (place > lowest);
}

int32_t emu_wide_length(const emu_wide *number)
{
    int32_t place = EMU_WIDE_LIMBS - 1;
    while (place > 0 && !number->limbs[place])
        place--;
    return 64 * place + emu_bit_length(number->limbs[place]);
}

int32_t emu_wide_spare(const emu_wide *number)
{
    int32_t place = 0;
    uint64_t limb;
    while (place < EMU_WIDE_LIMBS && !number->limbs[place])
        place++;
    if (place == EMU_WIDE_LIMBS)
        return 0;
    limb = number->limbs[place];
    return 64 * place + emu_bit_length(limb & (0 - limb)) - 1;
}

void emu_wide_shift_right(emu_wide *number, int32_t shift)
{
    int32_t whole = shift / 64, places = shift % 64;
    for (int32_t i = 0; i < EMU_WIDE_LIMBS; i++) {
        int32_t from = i < EMU_WIDE_LIMBS - whole ? i + whole : EMU_WIDE_LIMBS;
        uint64_t here = from < EMU_WIDE_LIMBS ? number->limbs[from] : 0, above = from < EMU_WIDE_LIMBS - 1 ? number->limbs[from + 1] : 0;
        number->limbs[i] = places ? here >> places | above << (64 - places) : here;
    }
}

/* Digit i of 32 bits. */
static uint64_t digit_of(const emu_wide *number, int32_t i)
{
    return number->limbs[i / 2] >> 32 * (i % 2) & UINT32_MAX;
}

void emu_wide_multiply(const emu_wide *a, const emu_wide *b, emu_wide *product)
{
    uint32_t digits[2 * EMU_WIDE_LIMBS + 2] = {0}; /* what lies beyond the limbs is 0 */
    int32_t last = (emu_wide_length(a) + 31) / 32, other = (emu_wide_length(b) + 31) / 32;
    for (int32_t i = 0; i < last; i++) {
        uint64_t carry = 0;
        for (int32_t j = 0; j < other; j++) {
            uint64_t sum = digit_of(a, i) * digit_of(b, j) + digits[i + j] + carry;
            digits[i + j] = (uint32_t)(sum & UINT32_MAX);
            carry = sum >> 32;
        }
        digits[i + other] = (uint32_t)carry;
    }
    for (int32_t i = 0; i < EMU_WIDE_LIMBS; i++)
        product->limbs[i] = digits[2 * i] | (uint64_t)digits[2 * i + 1] << 32;
}

void emu_wide_add(emu_wide *sum, const emu_wide *number, int32_t negates)
{
    uint64_t carry = negates != 0, flip = negates ? UINT64_MAX : 0;
    for (int32_t i = 0; i < EMU_WIDE_LIMBS; i++)
        sum->limbs[i] = add_limb(sum->limbs[i], number->limbs[i] ^ flip, &carry);
}
