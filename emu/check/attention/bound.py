"""What random operands may give: a proven interval for every output. Integers only; every step is rounded outward.

Scores are exact sums; a kernel's own differ by at most delta = |scale| gamma_(D+6) sum |q k|, gamma_n = n u / (1 - n u), u = 2^-24: D
products and sums, the scale in up to four roundings (its root, multiplied into Q and into K), and two of a change of base. Its P
differs from exp(s - m) by a factor of at most 1 + eta: both deltas, 6 u per unit of distance from the maximum, e = 2^-exp_bits (1 + |x|) of
the exponential, and e + 2 u for each tile, whose running maximum rescales once. With P in floating point the output then differs from
the exact O by at most (2 eta + gamma) / (1 - eta) sum P |V| / sum P and its own rounding.
With a quantized P each value lies in an interval; codes are monotone in the value under one scale, so the dequantized value lies
between those of the two ends where both ends give the block one scale: one code step for a value that straddles a threshold, none for
others. Where the ends give two scales the value lies within half the widest step of the interval, or at the top of the lower grid.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any, Final

import numpy as np

from emu.check.attention.contract import Attention
from emu.check.attention.sets import Question, head_of
from emu.check.matmul.numbers import Bits, exact_of
from emu.engines.exact.decode import decode_code
from emu.spec import derive, get
from emu.spec.models.format import FloatFacts

CANCELLING: Final = 8  # roundings of a score of two products that cancel: sums with zeros are exact
BITS: Final = 160  # fraction bits of a fixed-point number
ONE: Final = 1 << BITS
FINE: Final = 300  # fraction bits of sums of binary64 numbers, whose operands are codes
ULP: Final = Fraction(1, 1 << 24)
TINY: Final = Fraction(1, 1 << 126)  # what a result below the normal range may lose


@dataclass
class Bound:
    """Of one row. low, high: outputs that are allowed, a fraction each.   codes: intervals of dequantized P; steps: P that straddle."""

    low: list[Fraction]
    high: list[Fraction]
    p_low: list[Fraction] = field(default_factory=list)
    p_high: list[Fraction] = field(default_factory=list)
    values: list[tuple[Fraction, Fraction]] = field(default_factory=list)
    straddling: int = 0


def gamma(n: int) -> Fraction:
    """Return the bound of n roundings to nearest in binary32."""
    return n * ULP / (1 - n * ULP)


def exp_of(x: Fraction) -> tuple[Fraction, Fraction]:
    """Return an enclosure of exp(x), x not above 0."""
    low, high = _exp(-_floor(x * ONE)), _exp(_floor(-x * ONE))
    return Fraction(low[0], ONE), Fraction(high[1], ONE)


def _floor(x: Fraction) -> int:
    return x.numerator // x.denominator


def _exp(y: int) -> tuple[int, int]:
    """Return an enclosure of exp(-y / 2^BITS) in units of 2^-BITS: the alternating series of y / 2^h, squared h times."""
    h = max(0, y.bit_length() - BITS + 8)
    r_low, r_high = y >> h, -(-y >> h)
    low = high = term_low = term_high = ONE
    k = 0
    while term_high > 1:
        k += 1
        term_low, term_high = term_low * r_low // (k * ONE), -(-term_high * r_high // (k * ONE))
        low, high = (low + term_low, high + term_high) if k % 2 == 0 else (low - term_high, high - term_low)
    low, high = low - 1, high + 1  # the rest of an alternating series is below its first term
    for _ in range(h):
        low, high = low * low >> BITS, -(-high * high >> BITS)
    return max(low, 0), min(high, ONE)


@dataclass
class _Row:
    """Exact scores of the keys that are seen, -1 elsewhere; error: of the kernel's own score; index: of the keys that are seen."""

    index: list[int]
    score: dict[int, Fraction]
    error: dict[int, Fraction]


def _scores(question: Question, at: tuple[int, int, int], q: Any, k: Any) -> _Row:
    batch, head, row = at
    shape = question.shape
    x, y = q[at], k[batch, head_of(shape, head)]
    sees = question.contract.visible(shape.queries, shape.keys)[row]
    scale = Fraction(question.scale)
    products = x[None, :] * y  # binary64 holds a product of two such operands, and Fraction adds them exactly
    index = [int(key) for key in np.flatnonzero(sees)]
    score = {key: total(products[key]) * scale for key in index}
    slack = abs(scale) * gamma(shape.dim + 6)
    return _Row(index, score, {key: slack * total(np.abs(products[key])) for key in index})


def total(numbers: Any) -> Fraction:
    """Return the exact sum of binary64 numbers."""
    return Fraction(int(whole_numbers(numbers).sum()), 1 << FINE)


def whole_numbers(numbers: Any) -> Any:
    """Return binary64 numbers in units of 2^-FINE, Python integers; all must be whole there."""
    scaled = np.ldexp(np.asarray(numbers, np.float64), FINE)
    assert bool((scaled == np.trunc(scaled)).all()), "a value lies below the unit"
    return np.array([int(number) for number in scaled.reshape(-1)], object).reshape(scaled.shape)


def bound_of(question: Question, at: tuple[int, int, int], cached: dict[str, Any], codes: tuple[Bits, Bits] | None) -> Bound | None:
    """Return what one row of the output may be, or None where the errors are too large to say. codes: P as the kernel exposes it."""
    contract, shape = question.contract, question.shape
    row = _scores(question, at, cached["q"], cached["k"])
    values = cached["v"][at[0], head_of(shape, at[1])]
    top = max(row.score.values())
    tile = contract.tile or shape.keys
    tiles, e = _tiles(question), Fraction(1, 1 << contract.exp_bits)
    slack = max(row.error.values())

    def spread(distance: Fraction, error: Fraction) -> Fraction:
        delta = error + slack + 6 * ULP * distance + (tiles + 1) * (e + 2 * ULP) + e * distance
        return delta + delta * delta if delta < Fraction(1, 2) else Fraction(1)

    eta = {key: spread(top - row.score[key], row.error[key]) for key in row.index}
    if max(eta.values()) >= 1:
        return None
    p = {key: exp_of(row.score[key] - top) for key in row.index}
    steps = gamma(2 * shape.keys + 2 * tiles + 12)
    if contract.p is None:
        rows = whole_numbers(values[row.index])
        below, above = (np.array([int(p[key][side] * ONE) for key in row.index], object) for side in (0, 1))
        smallest, largest = (Fraction(int(part.sum()), ONE) for part in (below, above))
        sizes = [Fraction(int(number), ONE << FINE) / smallest for number in above @ np.abs(rows)]
        mids = [Fraction(int(number), ONE << FINE) / (smallest + largest) for number in (below + above) @ rows]
        worst = max(eta.values())
        held = Fraction(2, 1 << contract.p_bits) if contract.p_bits < 24 else Fraction(0)
        share = (2 * worst + steps + held) / (1 - worst)
        wides = [share * number + (largest - smallest) * 4 * number + shape.keys * TINY * (1 + number) for number in sizes]
        return _rounded([m - w for m, w in zip(mids, wides, strict=True)], [m + w for m, w in zip(mids, wides, strict=True)], contract)
    v = {key: [Fraction(number) for number in values[key].tolist()] for key in row.index}
    return _quantized(question, row, p, v, tile, eta, steps, spread, slack, codes)


def _tiles(question: Question) -> int:
    """Return how often a running maximum may rescale."""
    contract = question.contract
    return -(-question.shape.keys // (contract.tile or 1)) if contract.maximum == "running" else 1


def cancelling(question: Question) -> Any:
    """Return the sum of the sizes of what cancels in a score of 0, times the scale: binary64 [batch, heads, queries], exact."""
    shape = question.shape
    heads = [head_of(shape, head) for head in range(shape.heads)]
    q, k = question.values("q"), question.values("k")[:, heads].swapaxes(-1, -2)
    live = (q @ k == 0) & question.contract.visible(shape.queries, shape.keys)
    return np.where(live, np.abs(q) @ np.abs(k), 0).max(axis=-1) * question.scale


def mean_bound(question: Question, means: Any, size: Any) -> tuple[Any, Any] | None:
    """Return the least and the largest output of an exact question whose scores of 0 cancel, or None where the errors are too large to say.

    means: the exact outputs.   size: of what cancels in each row.   P is not quantized. binary64, rounded outward by 2^-40.
    """
    contract, shape = question.contract, question.shape
    tiles = _tiles(question)
    e = 2.0**-contract.exp_bits
    delta = 2 * float(gamma(CANCELLING)) * size + (tiles + 1) * (e + 2 * float(ULP)) + e
    if bool((delta >= 0.5).any()):
        return None
    eta = delta + delta * delta
    held = 2.0 ** (1 - contract.p_bits) if contract.p_bits < 24 else 0.0
    share = (2 * eta + float(gamma(2 * shape.keys + 2 * tiles + 12)) + held) / (1 - eta)
    heads = [head_of(shape, head) for head in range(shape.heads)]
    most = np.abs(question.values("v"))[:, heads].max(axis=2, keepdims=True)
    wide = (share[..., None] * most + shape.keys * float(TINY) * (1 + most)) * (1 + 2.0**-40) + np.abs(means) * 2.0**-40
    half, least = _steps(contract)
    low, high = means - wide, means + wide
    return low - np.abs(low) * half - least, high + np.abs(high) * half + least


def _quantized(
    question: Question, row: _Row, p: dict[int, tuple[Fraction, Fraction]], v: dict[int, list[Fraction]], tile: int,
    eta: dict[int, Fraction], steps: Fraction, spread: Any, slack: Fraction, codes: tuple[Bits, Bits] | None,
) -> Bound:  # fmt: skip
    contract, keys = question.contract, question.shape.keys
    top = max(row.score.values())
    local: dict[int, Fraction] = {}  # tile -> the maximum when it is met
    running = None
    for number in range(-(-keys // tile)):
        seen = [row.score[key] for key in row.index if number * tile <= key < (number + 1) * tile]
        running = max([*seen, *([] if running is None else [running])], default=None)
        local[number] = top if contract.maximum != "running" or running is None else running
    ends = [(Fraction(0), Fraction(0))] * keys
    for key in row.index:
        distance = local[key // tile] - row.score[key]
        wide = spread(distance, row.error[key])
        least, most = exp_of(-distance)
        ends[key] = (least * (1 - wide), min(most * (1 + wide), Fraction(1)))
    low, high, straddling = _codes(contract, ends)
    found = Bound([], [], low, high, ends, straddling)
    if codes is not None:
        low = high = dequantized(contract, *codes)
    factor = {}
    for number, maximum in local.items():
        factor[number] = (Fraction(1), Fraction(1))
        if contract.maximum == "running":  # of two maxima that lie close together the kernel may take the other
            wide = spread(top - maximum, slack)
            least, most = exp_of(maximum - top)
            factor[number] = (least * (1 - wide), min(most * (1 + wide), Fraction(1)))
    weights = {key: (low[key] * factor[key // tile][0], high[key] * factor[key // tile][1]) for key in row.index}
    if contract.denominator == "codes":
        below, above = (sum((weights[key][side] for key in row.index), Fraction(0)) for side in (0, 1))
    else:
        below = sum((p[key][0] * (1 - eta[key]) for key in row.index), Fraction(0))
        above = sum((p[key][1] * (1 + eta[key]) for key in row.index), Fraction(0))
    for d in range(question.shape.dim):
        parts = [(weights[key][0] * v[key][d], weights[key][1] * v[key][d]) for key in row.index]
        smallest = sum((min(part) for part in parts), Fraction(0))
        largest = sum((max(part) for part in parts), Fraction(0))
        size = sum((max(abs(part[0]), abs(part[1])) for part in parts), Fraction(0)) / below
        wide = steps * 2 * size + keys * TINY * (1 + size)
        found.low.append(min(smallest / below, smallest / above) - wide)
        found.high.append(max(largest / below, largest / above) + wide)
    edges = _rounded(found.low, found.high, contract)
    found.low, found.high = edges.low, edges.high
    return found


def _codes(contract: Attention, ends: list[tuple[Fraction, Fraction]]) -> tuple[list[Fraction], list[Fraction], int]:
    """Return intervals of dequantized P, by the rule of the module, and how many of them are no single value."""
    side = contract.p
    assert side is not None and side.scale is not None
    below = [np.nextafter(np.float32(float(low)), np.float32(0)) if low else np.float32(0) for low, _ in ends]
    above = [np.minimum(np.nextafter(np.float32(float(high)), np.float32(2)), np.float32(1)) if high else np.float32(0) for _, high in ends]
    q = contract.quantize_p(np.array([below, above], np.float32))
    scales = np.asarray(q.scales)
    low, high = (dequantized(contract, q.codes[number], scales[number]) for number in (0, 1))
    table = exact_of(np.arange(1 << derive.codes(side.element).bits), side.element)
    grid = sorted({Fraction(int(n)) * Fraction(2) ** int(e) for n, e in zip(table.n, table.e, strict=True) if n >= 0})
    half = max(b - a for a, b in pairwise(grid)) / 2
    factor = exact_of(scales, side.scale)
    tensor = _multiplier(contract)
    for block in np.flatnonzero(scales[0] != scales[1]).tolist():
        small, large = sorted(Fraction(int(factor.n[i, block])) * Fraction(2) ** int(factor.e[i, block]) * tensor for i in (0, 1))
        for key in range(block * side.size, min((block + 1) * side.size, len(ends))):
            if ends[key][1]:
                low[key] = max(min(Fraction(float(below[key])), grid[-1] * small) - half * large, Fraction(0))
                high[key] = min(Fraction(float(above[key])) + half * large, grid[-1] * large)
    return low, high, sum(a != b for a, b in zip(low, high, strict=True))


def dequantized(contract: Attention, codes: Bits, scales: Bits) -> list[Fraction]:
    """Return the values of a row of P."""
    side = contract.p
    assert side is not None
    found = side.values(np.asarray(codes)[None], np.asarray(scales)[None])
    tensor = _multiplier(contract)
    return [Fraction(int(n)) * Fraction(2) ** int(e) * tensor for n, e in zip(found.n[0], found.e[0], strict=True)]


def _multiplier(contract: Attention) -> Fraction:
    return Fraction(float(np.uint32(contract.p_multiplier).view(np.float32)))


def _rounded(low: list[Fraction], high: list[Fraction], contract: Attention) -> Bound:
    """Widen an interval by the rounding to the format of the result."""
    half, least = (Fraction(step) for step in _steps(contract))
    return Bound([x - abs(x) * half - least for x in low], [x + abs(x) * half + least for x in high])


def _steps(contract: Attention) -> tuple[float, float]:
    """Return half a step of the result for a number of 1, and the least step; powers of two."""
    facts = contract.out.facts
    assert isinstance(facts, FloatFacts)
    return 2.0 ** -(facts.frac_bits + 1), 2.0 ** (1 - facts.bias - facts.frac_bits)


def fraction_of(code: int, fmt: str) -> Fraction | None:
    """Return a finite code as a fraction, None for others."""
    known = get("format", fmt)
    if not derive.is_finite_code(code, known):
        return None
    value = decode_code(code, known)
    return Fraction(0) if value.is_zero else Fraction(value.signed)
