"""The numbers that directed blocks of a recipe are made of: element points, the maximum of scale one, source codes near a number."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from emu.contracts.grid import around, code_at, largest, points, source_max
from emu.engines.exact.decode import decode_code
from emu.spec import derive
from emu.spec.ieee import binary_format
from emu.spec.models import Format
from emu.spec.models.block import OneElement
from emu.spec.models.format import ExponentFacts
from emu.spec.registry import get

if TYPE_CHECKING:
    from emu.contracts.quantize.contract import QuantizeContract


class Blocks:
    """Makes lanes of source codes for one recipe and source."""

    def __init__(self, op: QuantizeContract) -> None:
        self.op = op
        self.source = op.source
        self.sign = derive.codes(op.source).sign_bit
        element = op.block.facts.element
        choices = [(element.format, Fraction(1))] if isinstance(element, OneElement) else [
            (item.format, derive.parse_exact(item.factor)) for item in element.choice
        ]  # fmt: skip
        self.elements: list[tuple[Format, Fraction]] = [(get("format", name), factor) for name, factor in choices]
        self.top = largest(self.elements[0][0])
        self.scale = next((get("format", level.format) for level in op.block.facts.levels if level.name == "scale"), None)
        inner = [get("format", level.format) for level in op.block.facts.levels if level.name.startswith("level")]
        self.unit = self.top
        for fmt in inner:
            self.unit *= largest(fmt)
        factor = derive.parse_exact(op.block.facts.factor)
        widest = largest(self.scale) if self.scale is not None and binary_format(self.scale) != "binary32" else Fraction(1)
        self.tensor_unit = 1 / factor if factor != 1 else self.top * widest

    def code(self, number: Fraction | int) -> int:
        """Return the source code at or below a number, signed."""
        number = Fraction(number)
        return code_at(abs(number), self.source) | (self.sign if number < 0 else 0)

    def beside(self, number: Fraction, offsets: tuple[int, ...] = (-1, 0, 1)) -> list[int]:
        """Return source codes around a number; off the grid the codes on each side."""
        return [code for _, code in around(number, self.source, list(offsets))]

    def thresholds(self) -> list[int]:
        """Return source codes of each element midpoint with its neighbours and each value, signs alternating in pairs."""
        found: list[int] = []
        for fmt, factor in self.elements:
            for point in points(fmt):
                if point.magnitude * factor <= self.top:
                    found += self.beside(point.magnitude * factor, (-1, 0, 1) if point.is_tie else (0,))
        return [code | sign for code in dict.fromkeys(found) for sign in (0, self.sign)]

    def ladder(self, maximum: int) -> list[int]:
        """Return n codes: the given maximum first, then falling multiples of it with alternating signs."""
        value = decode_code(maximum, self.source).magnitude
        n = self.op.n
        return [maximum, *(self.code(value * (n - lane) / n * (-1 if lane % 2 else 1)) for lane in range(1, n))]

    def scale_points(self) -> list[tuple[Fraction, str]]:
        """Return (block maximum, flag) where the scale is decided, for a tensor whose scale one is `unit`."""
        if self.scale is None or binary_format(self.scale) == "binary32":
            return []
        if isinstance(self.scale.facts, ExponentFacts):
            return [(part * 4, "scale_rule") for part in (Fraction(1), Fraction(3, 2), Fraction(7, 4), Fraction(15, 8))]
        one, last = code_at(Fraction(1), self.scale), derive.codes(self.scale).max_code
        codes = (0, 1, one, one + 3, last - 1)
        pairs = [(decode_code(code, self.scale).magnitude, decode_code(code + 1, self.scale).magnitude) for code in codes]
        return [((low + high) / 2 * self.unit, "scale_tie") for low, high in pairs]

    @property
    def most(self) -> int:
        """The largest finite source code."""
        return source_max(self.source)
