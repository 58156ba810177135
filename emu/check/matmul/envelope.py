"""Random operands: is the error within the bound that holds for every order of summation, and which datapath and order gives these bits?

A diagnostic: a dropped element may stay inside. Outside is a failure. The bound of n terms, p the bits of the accumulator:
gamma (sum of magnitudes + 2^E) + half an ulp of the result, gamma = m u / (1 - m u), m = n + 4 roundings on the longest path;
u = 2^(1 - p) covers rounding to nearest and cutting; 2^E, E the largest nominal exponent of a term, what alignment drops.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from emu.arrays.values import float_dtype
from emu.base.errors import EmuError, OperandError
from emu.check.matmul.epilogue import fma
from emu.check.matmul.numbers import Bits, Draws, Ints, bit_length, exact_of, in_units, product
from emu.check.matmul.pair import Pair
from emu.check.matmul.sets import Limits, Operands, _blocks, _in_range, _scales, palette, windows
from emu.engines.exact.value import power_of_two
from emu.ops.matmul import chains, filled, plan_of
from emu.ops.operands import Operand
from emu.ops.order import Order
from emu.spec import derive, get, names
from emu.spec.models import Format
from emu.spec.models.format import FloatFacts

SPREADS = (18, 12, 8, 6, 5, 4, 1)  # bits of the windows of scales: the widest whose sums the accumulator and the result can hold
NARROW = 100  # an exponent of the largest number under which scales stay near 1
ORDERS = {
    "ascending": Order(tail="zero_pad"), "descending": Order(direction="descending", tail="zero_pad"),
    "split K by 2": Order(split_k=2, tail="zero_pad"), "split K by 4": Order(split_k=4, tail="zero_pad"),
}  # fmt: skip


def drawn(pair: Pair, shape: tuple[int, int, int], limits: Limits, draws: Draws) -> Operands:
    """Return random operands, signed, scales over several powers of two. Raises: OperandError (no scale is allowed)."""
    facts = pair.out.facts
    assert isinstance(facts, FloatFacts)
    most = min(limits.most, (derive.codes(pair.out).max_code >> facts.frac_bits) - facts.bias)
    for spread in SPREADS:
        codes, scales = _drawn(pair, shape, limits, spread, most, draws)
        sums, magnitudes, unit = exact_sums(pair, codes["a"], scales["a"], codes["b"], scales["b"])
        if int((bit_length(magnitudes) + unit).max()) < most:
            return Operands("random", codes["a"], scales["a"], codes["b"], scales["b"], sums, unit, magnitudes, 0, "")
    raise OperandError(f"sums leave the range of {pair.out.id} or of the accumulator")


def _drawn(
    pair: Pair, shape: tuple[int, int, int], limits: Limits, spread: int, most: int, draws: Draws
) -> tuple[dict[str, Bits], dict[str, Any]]:
    """Return codes and scales by side. most: exponent of the largest number of accumulator and result."""
    m, n, k = shape
    colours = {"a": palette(pair.a, limits), "b": palette(pair.b, limits)}
    codes, scales = {}, {}
    for name, side, rows in (("a", pair.a, m), ("b", pair.b, n)):
        # the sum of four draws is near the middle more often: small magnitudes are common, as in weights
        size = np.abs(exact_of(colours[name].short, side.element).n) << 0
        table = colours[name].short[np.argsort(size, kind="stable")]
        at = np.abs(draws.below(len(table), 4, rows, k).sum(axis=0) // 2 - len(table)).clip(0, len(table) - 1)
        codes[name] = table[at].astype(np.uint8)
        found = windows(colours[name], spread, 0)
        kept = _in_range(found, pair, colours, name, 0, limits) if side.scale is not None else found
        if most < NARROW:
            top = [int(exact_of(window.scales, side.scale).nominal.max()) for window in found] if side.scale else []
            kept = [window for window, high in zip(found, top, strict=True) if high == min(top, key=lambda e: abs(e + spread // 2 - 1))]
        scales[name] = _scales(side, [window.scales for window in kept or found], draws, rows, _blocks(side, k))
    return codes, scales


def rows_of(asked: Operands, rows: Ints) -> Operands:
    """Return a product of some rows of a, in an order."""
    fewer = {name: getattr(asked, name)[rows] for name in ("a", "sums", "unit", "room")}
    return replace(asked, sa=None if asked.sa is None else asked.sa[rows], **fewer)


def exact_sums(pair: Pair, a: Bits, sa: Bits | None, b: Bits, sb: Bits | None) -> tuple[Ints, Ints, Ints]:
    """Return sums, sums of magnitudes and the exponent of their units, [M, N]. Raises: OperandError (too long for 62 bits)."""
    (x, unit_x), (y, unit_y) = in_units(pair.a.values(a, sa)), in_units(pair.b.values(b, sb))
    return product(x, y), product(np.abs(x), np.abs(y)), unit_x[:, None] + unit_y[None, :]


def ratios(pair: Pair, asked: Operands, values: Bits, limits: Limits) -> tuple[Fraction, int]:
    """Return the largest error over the bound, and how many are beyond it. values: what the kernel gave, float64; not finite is beyond."""
    if not np.isfinite(values).all():
        return Fraction(1 << 20), int((~np.isfinite(values)).sum())
    a, b = pair.a.values(asked.a, asked.sa), pair.b.values(asked.b, asked.sb)
    most = int(a.nominal.max()) + int(b.nominal.max())
    steps = asked.a.shape[1] + 4
    u = power_of_two(1 - limits.bits)
    if steps * u >= 1:  # so few bits, so many terms: any result is within the bound
        return Fraction(0), 0
    gamma = steps * u / (1 - steps * u)
    facts = pair.out.facts
    assert isinstance(facts, FloatFacts)
    worst, beyond = Fraction(0), 0
    for i, j in np.ndindex(*values.shape):
        unit = power_of_two(int(asked.unit[i, j]))
        wanted = int(asked.sums[i, j]) * unit
        error = abs(Fraction(float(values[i, j])) - wanted)
        if error:
            half = abs(wanted) * power_of_two(-facts.frac_bits) + power_of_two(-facts.bias - facts.frac_bits)
            tiny = steps * power_of_two(limits.least)
            bound = gamma * (int(asked.room[i, j]) * unit + power_of_two(most)) + half + tiny
            worst, beyond = max(worst, error / bound), beyond + (error > bound)
    return worst, beyond


def candidates(pair: Pair, asked: Operands) -> Iterator[tuple[str, Any]]:
    """Yield (name, binary32 result or None where it cannot be had) of every datapath and order that takes these operands."""
    yield "the exact sum, rounded once", np.ldexp(asked.sums.astype(np.float64), asked.unit.astype(np.int32)).astype(np.float32)
    a, b = (_floats(side.values(codes, scales)) for side, codes, scales in ((pair.a, asked.a, asked.sa), (pair.b, asked.b, asked.sb)))
    k = a.shape[1]
    for word, along in (("ascending", range(k)), ("descending", range(k - 1, -1, -1))):
        chain = fused = np.zeros((len(a), len(b)), np.float32)
        for at in along:
            chain = chain + a[:, at, None] * b[None, :, at]
            fused = fma(a[:, at, None], b[None, :, at], fused)
        yield f"binary32, one product after the other, {word}", chain
        yield f"binary32 with fma, one product after the other, {word}", fused
    left, right = (
        Operand(codes.astype(np.uint8), scales, side.element, side.size, side.scale)
        for side, codes, scales in ((pair.a, asked.a, asked.sa), (pair.b, asked.b, asked.sb))
    )
    for name in names("datapath"):
        for word, order in ORDERS.items():
            try:
                plan = plan_of(get("datapath", name), left, right)
                found = chains(filled(left, plan, order), filled(right, plan, order), None, order, plan, "auto", 1)
                yield f"{name}, {word}", found.view(float_dtype(plan.d)).astype(np.float32)
            except EmuError:
                if word == "ascending":
                    break


def _floats(exact: Any) -> Any:
    return np.ldexp(exact.n.astype(np.float64), exact.e.astype(np.int32)).astype(np.float32)


def values_of(bits: Bits, out: Format) -> Bits:
    """Return codes of a result as float64."""
    assert derive.codes(out).bits in (16, 32)
    return bits.view(float_dtype(out)).astype(np.float64)
