"""Exact tails of the binomial distribution, and Holm's step-down rule, in integers: the false-alarm rate is what it says.

Source: S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6, 1979. No floats here.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import comb


def lower_tail(count: int, draws: int, chance: Fraction) -> Fraction:
    """Return P(X <= count) for X binomial(draws, chance), exactly. Raises: ValueError (a chance outside 0 .. 1)."""
    if not 0 <= chance <= 1:
        raise ValueError(f"chance {chance} lies outside 0 .. 1")
    if count < 0:
        return Fraction(0)
    if count >= draws or not chance:
        return Fraction(1)
    if chance == 1:
        return Fraction(0)
    hit, miss = chance.numerator, chance.denominator - chance.numerator
    term = miss**draws
    total = term
    for done in range(count):
        term = term * (draws - done) * hit // ((done + 1) * miss)
        total += term
    return Fraction(total, chance.denominator**draws)


def p_value(count: int, draws: int, chance: Fraction) -> Fraction:
    """Return the two-sided p-value of `count` hits: twice the smaller tail, at most 1; P(p_value <= a) <= a for every a.

    The shorter sum is taken; the other tail is 1 minus it plus the term in common.
    """
    if chance in (0, 1):
        return Fraction(int(count == draws * chance))
    if 2 * count > draws:
        count, chance = draws - count, 1 - chance
    below = lower_tail(count, draws, chance)
    at = comb(draws, count) * chance**count * (1 - chance) ** (draws - count)
    return min(Fraction(1), 2 * min(below, 1 - below + at))


def holm(p_values: Sequence[Fraction], rate: Fraction) -> list[bool]:
    """Return which hypotheses are rejected so that the chance of one false rejection among all is at most `rate`, however they depend."""
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    out = [False] * len(p_values)
    for rank, place in enumerate(order):
        if p_values[place] * (len(p_values) - rank) > rate:
            break
        out[place] = True
    return out
