"""Stochastic rounding by a target that draws its own random numbers: mean, buckets and independence against the contract's distribution.

Each input is asked many times. From the random operand of the contract follows an exact chance for each of the two codes it can become;
counts are judged by exact binomial tails (binomial.py), all tests of a check together by Holm's rule at a false-alarm rate of RATE.
Independence is judged by how often pairs of draws agree: two draws of chances p and q agree with p q + (1 - p)(1 - q), and no element is
in two pairs of one test, so that the number of pairs that agree is binomial.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import comb
from typing import TYPE_CHECKING, Final

import numpy as np

from emu.check.report.model import Example, Failure
from emu.contracts.form import Arrays, Bits, Form, expect, integer_dtype

if TYPE_CHECKING:
    from emu.check.run import _Checker

RATE: Final = Fraction(1, 10**6)
DRAWS: Final = 1024  # of each input in one call
CALLS: Final = 2
PARTS: Final = (Fraction(1, 16), Fraction(1, 4), Fraction(1, 2), Fraction(3, 4), Fraction(15, 16))  # of an interval of the grid
FAMILIES: Final = ("mean", "bucket", "neighbours", "calls")


@dataclass(frozen=True)
class Test:
    """One test. family: of FAMILIES.   hits of draws were seen where the chance is `chance`."""

    family: str
    what: str
    hits: int
    draws: int
    chance: Fraction


def judge_distribution(checker: _Checker) -> list[Failure]:
    """Ask many times, test, and return one failure per family with a rejected test. Raises: TargetError."""
    row, half = checker.form.intervals(PARTS), checker.form.intervals((Fraction(1, 2),))
    if row is None:
        checker.report.notes.append("the distribution is not judged: the contract names no inputs at known parts of an interval")
        return []
    if hidden(checker) and checker.form.draws is not None and checker.form.draws.random_operand[0] > 1:
        checker.report.notes.append("the distribution is not judged: the target gives values alone, and elements share random integers")
        return []
    first, second, chance = chances(checker, row)
    answers = [ask_again(checker, row) for _ in range(CALLS)]
    checker.report.compared += sum(answer.size for answer in answers)
    found = buckets(np.concatenate(answers), first, second, chance)
    found += means(np.concatenate(answers), first, second, chance)
    found += independence(checker, half)
    return judged(checker, found)


def hidden(checker: _Checker) -> bool:
    """Tell whether the target gives values and no codes: those are judged then."""
    return "codes" not in checker.answered


def chances(checker: _Checker, row: Bits) -> tuple[Bits, Bits, list[Fraction]]:
    """Return, for each place of a row of inputs, the code under random 0, that under the largest integer, and the chance of the first.

    The code changes at most once as the integer grows; the place of the change is found by halving.
    """
    form = checker.form
    assert form.draws is not None
    bits = form.draws.random_bits
    least, most = np.zeros(row.shape, np.uint64), np.full(row.shape, (1 << bits) - 1, np.uint64)
    first, second = under(checker, row, least), under(checker, row, most)
    low, high = least.astype(object), most.astype(object)  # first holds at low; where the codes differ, not at high
    while bool(((high - low > 1) & (first != second)).any()):
        middle = (low + high) // 2
        same = under(checker, row, middle.astype(np.uint64)) == first
        low, high = np.where(same, middle, low), np.where(same, high, middle)
    return first, second, [Fraction(1) if a == b else Fraction(int(top), 1 << bits) for a, b, top in zip(first, second, high, strict=True)]


def under(checker: _Checker, row: Bits, random: Bits) -> Bits:
    """Return the codes of a row of inputs under one integer for each place."""
    form = checker.form
    assert form.draws is not None
    if form.draws.random_operand[0] > 1:
        return form.each(row, random)
    operands = shaped(form, row, 1)
    operands["random"] = random.astype(integer_dtype(None, form.draws.random_bits)).reshape(operands[form.main].shape)
    name = "values" if hidden(checker) else "codes"
    found = expect(form, operands, "auto", checker.target.result, checker.profile, name == "values")
    return found.arrays[name].reshape(-1)[: row.size]


def shaped(form: Form, row: Bits, count: int) -> dict[str, Bits]:
    """Return the operands of a row of inputs, `count` times, without the random operand."""
    whole = np.tile(row, (count, 1))
    operands: dict[str, Bits] = {form.main: whole.reshape(-1) if form.by_row else whole}
    if "tensor_amax" in form.extras:
        operands["tensor_amax"] = form.unit_amax()
    return {**operands, **form.own_signs}


def ask_again(checker: _Checker, row: Bits) -> Bits:
    """Return the codes of DRAWS times a row of inputs, [DRAWS, places]. Raises: TargetError."""
    operands = shaped(checker.form, row, DRAWS)
    got: Arrays = checker.call(operands)
    return got["values" if hidden(checker) else "codes"].reshape(DRAWS, -1)[:, : row.size]


def buckets(answers: Bits, first: Bits, second: Bits, chance: list[Fraction]) -> list[Test]:
    """Return one test for each place: how often its first code came."""
    found = []
    for place, expected in enumerate(chance):
        if expected == 1:
            continue  # what cannot move is judged as bits
        hits = int(np.count_nonzero(answers[:, place] == first[place]))
        found.append(
            Test(
                "bucket", f"place {place}, code {first[place]:#x} of {first[place]:#x} and {second[place]:#x}", hits, len(answers), expected
            )
        )
    return found


def means(answers: Bits, first: Bits, second: Bits, chance: list[Fraction]) -> list[Test]:
    """Return one test for each chance: all places with it together, up against down."""
    found = []
    for expected in sorted(set(chance) - {Fraction(1)}):
        places = [place for place, other in enumerate(chance) if other == expected]
        hits = int(np.count_nonzero(answers[:, places] == first[places]))
        found.append(Test("mean", f"{len(places)} places with the chance {expected}", hits, len(answers) * len(places), expected))
    return found


def independence(checker: _Checker, half: Bits | None) -> list[Test]:
    """Return tests of neighbours at several distances, and of the same place in two calls; inputs about half way between codes."""
    if half is None or not half.size:
        checker.report.notes.append("independence is not judged: the source has no number half way between codes")
        return []
    first, _, chance = chances(checker, half)
    answers = [(ask_again(checker, half) == first).reshape(-1) for _ in range(2)]
    checker.report.compared += 2 * answers[0].size
    place = np.arange(answers[0].size)
    found = []
    for lag in sorted({1, 2, 3, 4, 8, 16, 32, 64, 128, 256, 1024, half.size, place.size // 2}):
        left = place[(place // lag % 2 == 0) & (place + lag < place.size)]  # no element is in two pairs
        found += _equal("neighbours", f"elements {lag} apart are equal", (answers[0], left), (answers[0], left + lag), chance)
    return found + _equal("calls", "the same element in two calls is equal", (answers[0], place), (answers[1], place), chance)


def _equal(family: str, what: str, one: tuple[Bits, Bits], other: tuple[Bits, Bits], chance: list[Fraction]) -> list[Test]:
    """Return the test of how often pairs agree, over the pairs with the commonest chance of it; none where nothing can move."""
    size = len(chance)
    table = {(a, b): p * q + (1 - p) * (1 - q) for a, p in enumerate(chance) for b, q in enumerate(chance) if p != 1 and q != 1}
    pair = one[1] % size * size + other[1] % size
    kinds, counts = np.unique(pair, return_counts=True)
    weight: dict[Fraction, int] = {}
    for kind, count in zip(kinds.tolist(), counts.tolist(), strict=True):
        if divmod(kind, size) in table:
            weight[table[divmod(kind, size)]] = weight.get(table[divmod(kind, size)], 0) + count
    if not weight:
        return []
    expected = max(weight, key=lambda item: weight[item])
    chosen = np.isin(pair, [a * size + b for (a, b), found in table.items() if found == expected])
    hits = int(np.count_nonzero(one[0][one[1][chosen]] == other[0][other[1][chosen]]))
    return [Test(family, what, hits, int(chosen.sum()), expected)]


def judged(checker: _Checker, tests: list[Test]) -> list[Failure]:
    """Apply Holm's rule to all tests; return a failure for each family with a rejected one."""
    values = [p_value(test.hits, test.draws, test.chance) for test in tests]
    rejected = holm(values, RATE)
    out = []
    for family in FAMILIES:
        mine = [place for place, test in enumerate(tests) if test.family == family]
        if not mine:
            continue
        bad = [place for place in mine if rejected[place]]
        rule = f"exact binomial tails, Holm over {len(tests)} tests, false-alarm rate at most {RATE}"
        checker.report.statistics.append({"name": family, "tests": len(mine), "rejected": len(bad), "rule": rule})
        if bad:
            checker.report.differing += len(bad)
            out.append(_failure(family, tests[min(bad, key=lambda place: values[place])], len(bad), min(values[place] for place in bad)))
    return out


def _failure(family: str, test: Test, count: int, value: Fraction) -> Failure:
    below = next((power for power in range(1, 400) if value * 10**power >= 1), 400) - 1
    step = f"{test.what}: {test.hits} of {test.draws}, the contract's chance is {test.chance}; p-value below 10^-{below}"
    want, got = f"{test.chance * test.draws} of {test.draws} in the mean", f"{test.hits} of {test.draws}"
    return Failure("random", family, count, Example({}, family, want, got, f"{test.draws} draws", (step,)))


# Exact tails of the binomial distribution, and Holm's step-down rule, in integers: the false-alarm rate is what it says.
# Source: S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6, 1979. No floats here.


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
