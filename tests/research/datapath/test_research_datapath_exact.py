"""Exact sums and the judgement of results, against fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest

from emu.base.errors import OperandError, ShapeError
from emu.engines.exact.decode import decode_code
from emu.ops.operands import Operand
from emu.spec import derive, get
from research.datapath.exact import ExactSums, errors, exact_sums, rounded, ulp_exp


def operand(codes: np.ndarray, scales: np.ndarray | None, element: str, scale: str | None, block: int) -> Operand:
    return Operand(codes, scales, get("format", element), block, None if scale is None else get("format", scale))


def drawn(element: str, scale: str | None, block: int, rows: int, blocks: int, seed: int) -> Operand:
    draw = np.random.default_rng(seed)
    codes = draw.integers(0, 16, (rows, blocks * (block or 16)), dtype=np.uint8)
    if scale is None:
        return operand(codes, None, element, None, 0)
    facts = derive.codes(get("format", scale))
    scales = draw.integers(0, facts.max_code + 1, (rows, blocks)).astype(np.uint64 if scale == "fp32" else np.uint8)
    return operand(codes, scales, element, scale, block)


def by_fractions(a: Operand, b: Operand, i: int, j: int) -> Fraction:
    def values(item: Operand, row: int) -> list[Fraction]:
        out = [decode_code(int(code), item.format).signed for code in item.codes[row]]
        if item.scales is None:
            return out
        return [value * decode_code(int(item.scales[row, k // item.block]), item.scale_format).signed for k, value in enumerate(out)]

    return sum((x * y for x, y in zip(values(a, i), values(b, j), strict=True)), Fraction(0))


@pytest.mark.parametrize("element", ["e2m1", "e1m2", "int4"])
@pytest.mark.parametrize(("scale", "block"), [("ue4m3", 16), ("ue5m3", 16), ("e8m0", 32), ("fp32", 16), (None, 0)])
def test_sums_equal_fractions(element: str, scale: str | None, block: int) -> None:
    a, b = drawn(element, scale, block, 3, 4, 1), drawn(element, scale, block, 2, 4, 2)
    found = exact_sums(a, b)
    assert found.numbers.shape == (3, 2)
    for i in range(3):
        for j in range(2):
            assert found.numbers[i, j] * Fraction(2) ** found.lsb_exp == by_fractions(a, b, i, j)
    assert all(isinstance(number, int) for number in found.numbers.reshape(-1))


def test_zero_scales_and_the_whole_range() -> None:
    """Scales at both ends and zero: the range is too wide for a word of 64 bits with E8M0, and a zero scale has no exponent."""
    codes = np.full((1, 64), 7, np.uint8)
    for scale, ends in (("e8m0", [0, 254]), ("ue4m3", [0, 126]), ("ue5m3", [1, 254])):
        block = 32
        a = operand(codes, np.array([ends], np.uint8), "e2m1", scale, block)
        assert exact_sums(a, a).numbers[0, 0] * Fraction(2) ** exact_sums(a, a).lsb_exp == by_fractions(a, a, 0, 0)


def test_lengths_must_agree() -> None:
    a, b = drawn("e2m1", "ue4m3", 16, 1, 4, 1), drawn("e2m1", "ue4m3", 16, 1, 8, 1)
    with pytest.raises(ShapeError, match="they must be equal"):
        exact_sums(a, b)


@pytest.mark.parametrize(
    ("number", "exp", "ulp", "nearest", "cut"),
    [
        (5, 0, 0, 5, 5),
        (5, 0, 1, 2, 2),
        (7, 0, 1, 4, 3),
        (-7, 0, 1, -4, -3),
        (-5, 0, 1, -2, -2),
        (3, 2, 0, 12, 12),
        (1, -1, 1, 0, 0),
        (0, 5, 9, 0, 0),
    ],
)
def test_rounded(number: int, exp: int, ulp: int, nearest: int, cut: int) -> None:
    assert (rounded(number, exp, ulp), rounded(number, exp, ulp, toward_zero=True)) == (nearest, cut)


@pytest.mark.parametrize(
    ("number", "exp", "wanted"),
    [(1, 0, -23), ((1 << 24) - 1, 0, 0), (1 << 24, 0, 1), (1, -126, -149), (1, -140, -149), (0, 0, -149), (-3, 5, -17)],
)
def test_ulp_of_binary32(number: int, exp: int, wanted: int) -> None:
    assert ulp_exp(number, exp, get("format", "fp32")) == wanted


def test_errors_of_known_results() -> None:
    """Exact 1 + 2^-24 (a tie) and -3: nearest is 1 and -3; one ulp above 1 and -3 - 2^-22 are wrong by half an ulp and an ulp."""
    sums = ExactSums(np.array([[(1 << 24) + 1, -3 << 24]], object), -24)
    good = np.array([[1.0, -3.0]], np.float32).view(np.uint32)
    bad = good + np.uint32(1)
    first, second = errors(good, sums, "fp32"), errors(bad, sums, "fp32")
    assert (first.nearest, first.largest_ulp, first.mean_ulp, first.outputs) == (1.0, 0.5, -0.25, 2)
    assert (second.nearest, second.largest_ulp, second.mean_ulp) == (0.0, 1.0, 0.75)
    assert second.rms_ulp == math.sqrt(0.625)
    assert first.relative < second.relative


def test_infinite_results_have_no_error() -> None:
    sums = ExactSums(np.array([[1]], object), 0)
    with pytest.raises(OperandError, match="a result is inf"):
        errors(np.array([[0x7F800000]], np.uint32), sums, "fp32")
