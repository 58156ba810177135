/* logarithm.c: log2 of a binary32 number, correctly rounded to binary32, in integers.
 *
 * log2(1.f) digit by digit: y = 1.f; y * y reaches 2 or not, which is the next digit, and y * y or half of it goes on. y has 127 fraction
 * bits; what each square loses is worth at most 2^-126 for the first digit and half as much for each later one, and the digits are cut off
 * behind the 96th: they are wrong by less than 2^-95 in all. The logarithm of a binary32 number that is no power of two is irrational, so
 * what follows the digits is never 0. Of all numbers none has a logarithm nearer to a tie than 2^-54, and an engine that goes another way
 * gives the same for every significand (tests/engines/together/test_differential_logarithm.py). */
#include "binary32.h"

enum { LIMBS = 4, DIGITS = 96 };

/* y^2 of y = limbs * 2^-127 (lowest limb first), which is at least 1 and below 2; returns whether it reaches 2, and leaves it or its half. */
static uint32_t square(uint32_t *y)
{
    uint32_t product[2 * LIMBS] = {0}, reaches_two;
    for (int32_t i = 0; i < LIMBS; i++) {
        uint64_t carry = 0;
        for (int32_t j = 0; j < LIMBS; j++) {
            carry += (uint64_t)y[i] * y[j] + product[i + j];
            product[i + j] = (uint32_t)carry;
            carry >>= 32;
        }
        product[i + LIMBS] = (uint32_t)carry;
    }
    reaches_two = product[2 * LIMBS - 1] >> 31;
    for (int32_t i = 0; i < LIMBS; i++)
        y[i] = reaches_two ? product[i + LIMBS] : product[i + LIMBS] << 1 | product[i + LIMBS - 1] >> 31;
    return reaches_two;
}

/* Digits behind the point of log2(significand * 2^-23), the first 32 in digits[2], the last in digits[0]. */
static void take_digits(uint32_t significand, uint32_t *digits)
{
    uint32_t y[LIMBS] = {0, 0, 0, significand << 8};
    for (int32_t count = 0; count < DIGITS; count++) {
        uint32_t *limb = &digits[2 - count / 32];
        *limb = *limb << 1 | square(y);
    }
}

uint32_t emu_b32_log2(uint32_t a)
{
    uint32_t limbs[LIMBS] = {0}, sign = 0;
    uint64_t top = 0;
    int32_t leading, exp;
    emu_b32_parts x;
    if (!(a & EMU_B32_MAGNITUDE))
        return EMU_B32_INF | ~(uint32_t)EMU_B32_MAGNITUDE;
    if (a > EMU_B32_INF)
        return EMU_B32_NAN; /* negative, or NaN */
    if (a == EMU_B32_INF)
        return a;
    x = emu_b32_take_apart(a);
    exp = x.exp - 127;
    if (x.significand != 0x800000)
        take_digits((uint32_t)x.significand, limbs);
    if (exp < 0) { /* the magnitude is -exp - 0.digits */
        uint64_t borrow = 0;
        sign = ~(uint32_t)EMU_B32_MAGNITUDE;
        for (int32_t i = 0; i < 3; i++) {
            borrow = (uint64_t)0 - limbs[i] - borrow;
            limbs[i] = (uint32_t)borrow;
            borrow = borrow >> 63;
        }
        limbs[3] = (uint32_t)(-exp - (int32_t)borrow);
    } else {
        limbs[3] = (uint32_t)exp;
    }
    for (leading = 127; leading > 0 && !(limbs[leading / 32] >> leading % 32 & 1); leading--) {
    }
    for (int32_t bit = leading; bit > leading - 62 && bit >= 0; bit--)
        top = top << 1 | (limbs[bit / 32] >> bit % 32 & 1);
    if (leading < 61)
        top <<= 61 - leading;
    return !top ? 0 : emu_b32_put_together(sign, leading - DIGITS + 127, top << 1 | (x.significand != 0x800000));
}
