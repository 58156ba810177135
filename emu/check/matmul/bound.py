"""Bounds that a standard states for a product: is each error inside? TOSA 1.1 (draft, cd5acdd): its dot product of block-scaled operands.

An output may differ from the exact sum by ABS_BOUND units, a unit the larger of 2^(-1-f) times the sum of abs(a) abs(b) and the least
normal number of the result, f its fraction bits; squared errors in units may add up to VARIANCE_ERROR_BOUND times the outputs.
TOSA raises each magnitude to the least normal number of its element first; of block-scaled types it does not say whether before or after
the scale. An output that only such a wider bound lets through is open: neither inside nor outside.
Rationals throughout. The numbers, their source and what nobody stated are data: bound.yaml. Not here, as nothing that was read states them:
TOSA's own data sets (its Appendix A), and the bound on the sum of errors, which holds for some of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Final

import numpy as np
from pydantic import ValidationError

from emu.base.errors import OperandError, SpecError
from emu.check.matmul.numbers import Bits, Exact, Ints, bit_length, exact_of, in_units, product
from emu.check.matmul.pair import Pair, Side
from emu.check.matmul.sets import Operands
from emu.engines.exact.decode import decode_code
from emu.engines.exact.value import power_of_two
from emu.spec import derive
from emu.spec.faults import first_fault
from emu.spec.ieee import is_binary32
from emu.spec.known import shipped_root, source_ids
from emu.spec.loader import Document, fault, read
from emu.spec.models import common
from emu.spec.models.common import OpenPoint, Part, SourceRef, Status
from emu.spec.models.format import ExponentFacts, FloatFacts

OF_KERNELS: Final = ("c", "alpha", "beta", "offsets", "sizes")  # what the product of a standard has not
OUTPUTS: Final = (32, 32, 3)  # rows, columns, blocks: more than the 1,000 outputs that TOSA asks for


class _Operands(Part):
    block: int
    element_bits: int


class _Growing(Part):
    """factor * max(n, min(n, length) * 2^power), n products."""

    factor: common.Exact
    length: int
    power: int

    def at(self, length: int) -> Fraction:
        """Return it for a number of products."""
        grown: int = max(length, min(length, self.length) << self.power)
        return derive.parse_exact(self.factor) * grown


class Stated(Part):
    """What a standard states of a product, as bound.yaml has it."""

    title: str
    status: Status
    sources: tuple[SourceRef, ...]
    operands: _Operands
    abs_error: _Growing
    squared_errors: _Growing
    open: tuple[OpenPoint, ...]


def bounds_of(document: Document) -> dict[str, Stated]:
    """Return the bounds of a file by name. Raises: SpecError with file and line (a key, a status or a source that is unknown)."""
    found = {}
    for name, data in document.data.items():
        try:
            found[name] = Stated.model_validate(data)
        except ValidationError as error:
            raise SpecError(first_fault(error, Stated, document, (name,))) from None
        for number, source in enumerate(found[name].sources):
            if source.ref not in source_ids((shipped_root(),)):
                raise fault(document, (name, "sources", number, "ref"), f"source {source.ref!r} is not in sources.yaml")
    return found


STATED: Final = bounds_of(read(Path(__file__).with_name("bound.yaml")))


@dataclass(frozen=True)
class Judged:
    """A tensor of outputs. ratio: largest error over its bound, of a finite output; place: where it is, or where the first one outside is.

    outside, open: how many.   squares: sum of squared errors in units over its bound, of outputs that are neither outside nor open.
    """

    ratio: Fraction
    place: tuple[int, int]
    outside: int
    open: int
    squares: Fraction


def check_pair(name: str, pair: Pair, wants: tuple[str, ...]) -> None:
    """Refuse what the bound does not speak of. Raises: OperandError."""
    if name not in STATED:
        raise OperandError(f"bound {name!r} is unknown: {' or '.join(STATED)}")
    if not is_binary32(pair.out):
        raise OperandError(f"bound {name}: results are binary32, not {pair.out.id}: write matmul/<a>/<b>/fp32")
    block, bits = STATED[name].operands.block, STATED[name].operands.element_bits
    for side in (pair.a, pair.b):
        scaled = side.scale is not None and isinstance(side.scale.facts, ExponentFacts) and (side.size, side.rows) == (block, 1)
        if not scaled or side.tensor or not isinstance(side.element.facts, FloatFacts) or derive.codes(side.element).bits > bits:
            raise OperandError(f"bound {name}: blocks of {block} floats of at most {bits} bits with an E8M0 scale: {side.block.id} is none")
    own = next((item for item in OF_KERNELS if item in wants), None)
    if own is not None:
        raise OperandError(f"bound {name}: its product has no {own}: wrap the kernel in one that takes a and b alone")


def judged(name: str, pair: Pair, asked: Operands, values: Bits) -> Judged:
    """Return how far outputs are from the exact sums.

    name: of the bound.   values: float64 [M, N]; NaN and Inf are outside unless a sum may overflow.
    """
    facts = pair.out.facts
    assert isinstance(facts, FloatFacts)
    length = asked.a.shape[1]
    allowed, part, least = STATED[name].abs_error.at(length), power_of_two(-1 - facts.frac_bits), power_of_two(1 - facts.bias)
    top = Fraction(decode_code(derive.codes(pair.out).max_code, pair.out).signed) * (1 + part / (2 - 2 * part))  # and half a step
    wide: tuple[Ints, Ints] | None = None
    worst, place, first, outside, undecided, squares = Fraction(-1), (0, 0), None, 0, 0, Fraction(0)
    for i, j in np.ndindex(*values.shape):
        unit = power_of_two(int(asked.unit[i, j]))
        size = int(asked.room[i, j]) * unit
        if size * (1 + allowed * part) >= top:  # it may overflow inside the bound: no limit
            continue
        if not np.isfinite(values[i, j]):
            outside, first = outside + 1, first or (i, j)
            continue
        error = abs(Fraction(float(values[i, j])) - int(asked.sums[i, j]) * unit)
        ratio = error / (allowed * max(size * part, least)) if size else Fraction(int(error > 0) * 2)
        if ratio > worst:
            worst, place = ratio, (i, j)
        if ratio > 1:
            wide = wide or _raised(pair, asked)
            room = allowed * max(int(wide[0][i, j]) * power_of_two(int(wide[1][i, j])) * part, least)
            undecided, outside = undecided + (error <= room), outside + (error > room)
            first = first or ((i, j) if error > room else None)
        else:
            squares += (ratio * allowed) ** 2
    room = STATED[name].squared_errors.at(length) * max(values.size, 1)
    return Judged(max(worst, Fraction(0)), first or place, outside, undecided, squares / room)


def _raised(pair: Pair, asked: Operands) -> tuple[Ints, Ints]:
    """Return sums of raised magnitudes and the exponents of their units, [M, N]: raised before the scale, and after it."""
    (x, unit_x), (y, unit_y) = (
        in_units(_magnitudes(side, codes, scales)) for side, codes, scales in ((pair.a, asked.a, asked.sa), (pair.b, asked.b, asked.sb))
    )
    return product(x, y), unit_x[:, None] + unit_y[None, :]


def _magnitudes(side: Side, codes: Bits, scales: Bits | None) -> Exact:
    facts = side.element.facts
    assert isinstance(facts, FloatFacts)
    low = 1 - facts.bias

    def raised(x: Exact) -> Exact:
        below = (x.n == 0) | (bit_length(x.n) - 1 + x.e < low)
        return Exact(np.where(below, 1, np.abs(x.n)), np.where(below, low, x.e), np.where(below, low, x.nominal))

    assert scales is not None
    element = raised(exact_of(codes, side.element))
    powers = np.repeat(np.asarray(scales, np.int64) - _one(side), side.size, axis=1)[:, : codes.shape[1]]
    return raised(Exact(element.n, element.e + powers, element.nominal + powers))


def _one(side: Side) -> int:
    """Return the scale code of 1."""
    assert side.scale is not None and isinstance(side.scale.facts, ExponentFacts)
    return side.scale.facts.bias
