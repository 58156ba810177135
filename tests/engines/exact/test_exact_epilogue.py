"""The reference model of what follows a sum: rows by hand in Fractions, where the order of roundings shows in the bits."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from pydantic import ValidationError

from emu.engines.exact.epilogue import factor_code, scaled
from emu.spec import derive, get
from emu.spec.levels import binary32_plan
from emu.spec.models.levels import EpilogueFacts

NVFP4 = Fraction(1, 6 * 6 * 448 * 448)
C = 0x34149B93  # fl(NVFP4)


def rules(scales: Any, factor: Any = "scales", **more: Any) -> EpilogueFacts:
    return EpilogueFacts(**{"alpha": "rne", "d": "rne", "c_place": "after", "fused": "no", "scales": scales, "factor": factor} | more)


def code(number: Fraction) -> int:
    """A positive normal number in binary32, to nearest even."""
    exp = 0
    while number >= 2 << 23:
        number, exp = number / 2, exp + 1
    while number < 1 << 23:
        number, exp = number * 2, exp - 1
    return (exp + 23 + 126 << 23) + round(number)  # the hidden bit adds one to the exponent


def value(word: int) -> Fraction:
    return Fraction((word & 0x7FFFFF) | 1 << 23) * Fraction(2) ** ((word >> 23) - 150)


def times(*words: int) -> int:
    """Products of two, one after the other, each rounded."""
    first, *rest = words
    for word in rest:
        first = code(value(first) * value(word))
    return first


def test_the_factor_is_rounded_once() -> None:
    plan = binary32_plan()
    assert factor_code(NVFP4, rules("together"), plan) == C == code(NVFP4)
    third, ninth = Fraction(1, 3), Fraction(1, 9)
    assert factor_code(ninth, rules("together"), plan) == code(ninth) != times(code(third), code(third))
    assert factor_code(NVFP4, rules("together", alpha="ru"), plan) == C + (value(C) < NVFP4)


def test_each_order_has_its_own_bits() -> None:
    """1 * c under the scales 3 and 7: the least integers that tell all orders apart."""
    plan, (one, three, seven) = binary32_plan(), (code(Fraction(number)) for number in (1, 3, 7))
    wanted = {
        ("together", True): times(times(one, C), times(three, seven)),
        ("a_first", False): times(one, C, three, seven),
        ("b_first", False): times(one, C, seven, three),
    }
    assert sorted(wanted.values()) == [0x36430C30, 0x36430C31, 0x36430C32]
    for (order, single), found in wanted.items():
        assert scaled(one, three, seven, single, NVFP4, None, rules(order, "sum_first"), plan) == found
    for single, order in ((True, "together"), (False, "a_first")):
        mixed = rules("together_or_a_first", "sum_first")
        assert scaled(one, three, seven, single, NVFP4, None, mixed, plan) == wanted[order, single]


def test_the_factor_multiplies_alpha_last_or_the_sum_first() -> None:
    plan, (third, five) = binary32_plan(), (code(Fraction(1, 3)), code(Fraction(5)))
    sums = code(Fraction(11, 7))
    alpha = times(times(third, five), C)
    assert alpha == 0x3477ADF6 != times(times(third, C), five)
    last = scaled(sums, third, five, True, NVFP4, None, rules("together", "alpha_last"), plan)
    first = scaled(sums, third, five, True, NVFP4, None, rules("together", "sum_first"), plan)
    assert (last, first) == (times(sums, alpha), times(times(sums, C), times(third, five)))
    assert scaled(sums, third, five, True, NVFP4, None, rules("together"), plan) == times(sums, times(third, five))


@pytest.mark.parametrize("order", ["a_first", "b_first"])
def test_an_operand_without_such_a_scale_is_left_out(order: str) -> None:
    plan, (sums, three) = binary32_plan(), (code(Fraction(5, 3)), code(Fraction(3)))
    for a, b in ((three, None), (None, three)):
        assert scaled(sums, a, b, True, NVFP4, None, rules(order), plan) == times(sums, three)


def test_c_is_added_behind_the_last_product() -> None:
    plan, (one, seven), c = binary32_plan(), (code(Fraction(number)) for number in (1, 7)), 0x35800000
    for fused, found in (("no", 0x3701C71C), ("yes", 0x3701C71D)):
        facts = rules("together_or_a_first", "sum_first", fused=fused)
        assert scaled(one, seven, seven, True, NVFP4, c, facts, plan) == found


def test_a_factor_in_alpha_needs_an_alpha() -> None:
    for order in ("a_first", "b_first", "together_or_a_first"):
        with pytest.raises(ValidationError, match="alpha_last multiplies the product of both scales: scales must be together"):
            rules(order, "alpha_last")


def test_the_shipped_factors_are_those_of_the_library() -> None:
    """Transformer Engine multiplies by 1 / (6 * 6 * max * max), max 448 or 256: the exact product of the factors of the blocks."""
    for name, largest in (("nvfp4", 448), ("nvfp4_row", 448), ("nvfp4_tile16", 448), ("nvfp4_256", 256)):
        assert derive.parse_exact(get("block", name).facts.factor) == Fraction(1, 6 * largest)
