"""Rows of float registers in which one bit decides: they go through every place, for any file, and C gives the exact answers."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import pytest
from support.running import small_plan

from emu.contracts import parse
from emu.contracts.dot.codes import Codes, Draw
from emu.contracts.levels import one_bit
from emu.contracts.levels.contract import LevelsContract
from emu.contracts.levels.field import Field
from emu.contracts.levels.rows import LevelsRow, answer, run_rows
from emu.contracts.levels.walk import walk
from emu.engines.exact.levels import Number
from emu.engines.exact.round import floor_log2
from emu.spec.levels import LevelsPlan, rounding_of

NAMES = ("bf16_register", "bf16_register_random", "fp16_register")


def plan_of(name: str) -> LevelsPlan:
    op = parse(f"dot/{name}")
    assert isinstance(op, LevelsContract) and op.plan.c is not None
    return op.plan


def rows_of(plan: LevelsPlan, name: str) -> list[LevelsRow]:
    field = Field(plan, plan.facts.k)
    return [one_bit.MAKERS[name](field, Draw(7, number)).row() for number in range(one_bit.counts(field)[name])]


def lost_parts(plan: LevelsPlan, name: str) -> set[Fraction]:
    """What the roundings of numbers lose, of a unit."""
    told = [walk(row, plan).roundings for row in rows_of(plan, name)]
    return {item.point.lost for roundings in told for item in roundings if isinstance(item.before, Number) and item.point is not None}


@pytest.mark.parametrize("name", NAMES)
def test_every_distance_every_lost_part_and_every_nan_bit_is_there(name: str) -> None:
    plan = plan_of(name)
    frac, half = Codes(plan.a).frac_bits, Fraction(1, 2)
    alone = lost_parts(plan, "lone_product")
    assert {Fraction(1, 1 << place) for place in range(1, 2 * frac)} <= alone | {1 - part for part in alone}
    lost = lost_parts(plan, "lost_part")
    assert half in lost
    for sign in (1, -1):
        assert len(lost & {half + sign * Fraction(1, 1 << place) for place in range(2, 2 * frac)}) >= frac - 2
    pairs = lost_parts(plan, "lost_pair")
    assert sum(0 < abs(part - half) < Fraction(1, 1 << frac) for part in pairs) >= 3 and any(
        0 < part < Fraction(1, 1 << frac) for part in pairs
    )
    field = Field(plan, plan.facts.k)
    given = [
        (side, code)
        for row in rows_of(plan, "nan_bit")
        for side, codes in zip("abc", (row.a, row.b, (row.c or 0,)), strict=True)
        for code in codes
    ]
    seen = {(side, code & field.a.full) for side, code in given if not field.a.is_finite(code)}
    assert seen == {(side, 1 << place) for side in "abc" for place in range(frac)}


@pytest.mark.parametrize("name", NAMES)
def test_any_number_of_leading_bits_cancels_and_results_are_subnormal_too(name: str) -> None:
    plan = plan_of(name)
    codes = Codes(plan.a)
    depths, subnormal, vanished = set(), 0, 0
    for row in rows_of(plan, "lone_sum"):
        values = [codes.value(a) * codes.value(b) for a, b in zip(row.a, row.b, strict=True)] + [codes.value(row.c or 0)]
        total, most = abs(sum(values, Fraction(0))), max(abs(value) for value in values)
        if total:
            depths.add(floor_log2(abs(most)) - floor_log2(abs(total)))
            subnormal += total < Fraction(1, 1 << -codes.min_exp)
            vanished += total < Fraction(1, 2 << -codes.lsb_exp)
    assert set(range(1, 2 * codes.frac_bits)) <= depths
    assert subnormal >= 20 and vanished >= 5


@pytest.mark.parametrize("name", NAMES)
def test_a_product_that_is_half_a_unit_is_a_tie(name: str) -> None:
    """The third row of eight for each number of lost bits: where there are such factors, half is lost, also below several bits."""
    plan = plan_of(name)
    rows = rows_of(plan, "lost_part")
    each = len(rows) // 8
    told = [walk(row, plan).roundings for row in rows[2 * each : 3 * each]]
    assert sum(any(item.point is not None and item.point.lost == Fraction(1, 2) for item in items) for items in told) >= 5


def test_random_words_just_carry_or_just_do_not() -> None:
    plan, found = plan_of("bf16_register_random"), Counter[int]()
    for row in rows_of(plan, "lost_part"):
        for item in walk(row, plan).roundings:
            rounding = rounding_of(item.hold or "exact")
            if item.word is not None and rounding is not None and item.point is not None and item.point.lost:
                top = 1 << rounding.random_bits
                found[item.word + int(item.point.lost * top) - top] += 1
    assert found[0] >= 50 and found[-1] >= 50, found


@pytest.mark.parametrize("rounding", ["rne", "rz", "sr_add8"])
def test_a_users_register_of_eight_bits_has_them(rounding: str) -> None:
    """Every category, and the exact answers of all rows are those of C."""
    plan = small_plan(rounding)
    field = Field(plan, plan.facts.k)
    assert list(one_bit.counts(field)) == list(one_bit.MAKERS)
    rows = [row for name in one_bit.MAKERS for row in rows_of(plan, name)]
    assert len(set(rows)) > 150
    assert [answer(row, plan) for row in rows] == run_rows(rows, plan, "c_ref")


def test_datapaths_without_a_float_register_have_no_such_suite() -> None:
    suites = {name: [inputs.suite for inputs in parse(f"dot/{name}").suites()] for name in ("int20_wrap", "bf16_register", "bf16_pairwise")}
    assert ["sums" in found for found in suites.values()] == [False, True, True]


def held_and_product(row: LevelsRow, codes: Codes) -> tuple[Fraction, Fraction] | None:
    """What the register holds before the last product that is not zero, and that product; None where there are more or fewer."""
    values = [codes.value(row.c or 0), *(codes.value(a) * codes.value(b) for a, b in zip(row.a, row.b, strict=True))]
    left = [value for value in values if value]
    return (left[0], left[1]) if len(left) == 2 else None


@pytest.mark.parametrize("name", NAMES)
def test_the_register_is_the_number_before_or_behind_what_a_product_undoes(name: str) -> None:
    """Neighbours: of eight turns the second holds the number next nearer to zero than the product, the sixth the one next farther."""
    plan = plan_of(name)
    codes, field = Codes(plan.a), Field(plan, plan.facts.k)
    steps = {1: Counter[int](), 5: Counter[int]()}
    for number, row in enumerate(rows_of(plan, "lone_sum")):
        turn, found = number // one_bit._depths(field) % 8, held_and_product(row, codes)
        if turn in steps and found is not None:
            x, product = found
            assert (x < 0) != (product < 0)
            steps[turn][codes.below(abs(x)) - codes.below(abs(product))] += 1
    each = one_bit._depths(field)
    assert steps[1][-1] >= each and set(steps[1]) == {-1}, steps
    assert steps[5][1] >= each - 1 and set(steps[5]) == {1}, steps


@pytest.mark.parametrize("name", NAMES)
def test_pairs_lie_beside_a_number_and_beside_a_tie_in_turn(name: str) -> None:
    """The sum of a pair loses almost no part of a unit, or almost all, in even turns, and almost half of one in odd turns.

    Of normal factors whose significands have a product below 2: one of 2 or more loses a bit more, a subnormal factor has other bits.
    In the first two rows of a turn a product may lie anywhere.
    """
    plan = plan_of(name)
    codes, beside_a_tie = Codes(plan.a), {0: Counter[bool](), 1: Counter[bool]()}
    for number, row in enumerate(rows_of(plan, "lost_pair")):
        found = held_and_product(row, codes)
        factors = [(codes.value(a), codes.value(b)) for a, b in zip(row.a, row.b, strict=True)]
        turn, below = divmod(number, codes.frac_bits + 1)
        if found is None or below < 2 or turn % 4 == 3:
            continue
        total, (a, b) = abs(found[0] + found[1]), next((a, b) for a, b in factors if a * b == found[1])
        exps = [floor_log2(abs(factor)) for factor in (a, b)]
        if min(exps) >= codes.min_exp and sum(exps) == floor_log2(total):
            lost = total / Fraction(2) ** (floor_log2(total) - codes.frac_bits) % 1
            beside_a_tie[turn % 2][Fraction(1, 4) < lost < Fraction(3, 4)] += 1
    assert beside_a_tie[0][False] >= 5 and beside_a_tie[1][True] >= 5, beside_a_tie
    assert not beside_a_tie[0][True] and not beside_a_tie[1][False], beside_a_tie


@pytest.mark.parametrize(("name", "searched"), [("fp32_fma_chain", False), ("bf16_register", True)])
def test_factors_end_in_the_bits_that_are_asked_for(name: str, searched: bool) -> None:
    """As few bits as a fraction has are found without a search, so of binary32 too; more only where all factors are tried."""
    field = Field(plan_of(name), 1)
    a, b = field.a.frac_bits, field.b.frac_bits
    assert (max(a, b) <= one_bit.SEARCHED) == searched
    for number, lost in enumerate(range(1, min(a, b) + 1)):
        for part in {0, 1, (1 << lost >> 1) % (1 << lost), (1 << lost) - 1}:
            found = one_bit._factors(field, lost, part, Draw(5, number))
            assert found is not None and found[0] < 1 << a and found[1] < 1 << b
            assert ((1 << a) + found[0]) * ((1 << b) + found[1]) % (1 << lost) == part
    assert (one_bit._factors(field, min(a, b) + 1, 1, Draw(5, 0)) is not None) == searched
