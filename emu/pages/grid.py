"""What a grid does to values, exactly: its points, the bins that nearest rounding makes, and the bias of each bin."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

from emu.base.caches import Cache
from emu.base.errors import OperandError
from emu.engines.exact.decode import decode_code
from emu.engines.exact.encode import encode_value
from emu.engines.exact.value import Value, finite
from emu.spec import Format, derive, digest

TABLE_BITS = 8


class Bin(NamedTuple):
    """The values that round to one grid point; at both ends of the grid the bin is cut at the point itself."""

    value: Fraction
    low: Fraction
    high: Fraction

    @property
    def mean(self) -> Fraction:
        """The mean of a uniform density inside the bin."""
        return (self.low + self.high) / 2

    @property
    def bias(self) -> Fraction:
        """Rounded value minus mean, on the magnitude: negative where reading the code back shrinks."""
        return abs(self.value) - abs(self.mean) if self.value else Fraction(0)


@dataclass(frozen=True)
class Grid:
    """The distinct finite values of a format of at most 8 bits, ascending, and whether negative ones mirror the positive."""

    values: tuple[Fraction, ...]
    mirrored: bool

    def bins(self) -> list[Bin]:
        """Return the bins of nearest rounding that have a neighbour on both sides; for a mirrored grid from zero upwards."""
        points = self.values
        found = [Bin(b, (a + b) / 2, (b + c) / 2) for a, b, c in zip(points, points[1:], points[2:], strict=False)]
        return [item for item in found if not self.mirrored or item.value >= 0]


def values_of(fmt: Format) -> list[Value]:
    """Return the value of every code, code 0 first."""
    return [decode_code(code, fmt) for code in range(1 << derive.codes(fmt).bits)]


_grids: Cache[str, Grid] = Cache("emu.pages.grid._grids", 512)  # digest of a format's facts -> its grid


def grid(fmt: Format) -> Grid | None:
    """Return the grid of a format; None for one of more than 8 bits."""
    if derive.codes(fmt).bits > TABLE_BITS:
        return None
    known = _grids.get(digest(fmt))
    if known is None:
        numbers = sorted({value.signed for value in values_of(fmt) if value.kind == "finite"})
        mirrored = numbers[0] < 0 and set(numbers) == {-number for number in numbers}
        known = _grids.keep(digest(fmt), Grid(tuple(numbers), mirrored))
    return known


def holds(fmt: Format, points: Grid) -> bool:
    """Tell whether every value of a grid is a value of a format."""
    own = grid(fmt)
    if own is not None:
        return set(points.values) <= set(own.values)
    try:
        for value in points.values:
            encode_value(finite(value), fmt)
    except OperandError:
        return False
    return True


def is_uniform(points: Grid) -> bool:
    """Tell whether all neighbours are equally far apart."""
    return len({b - a for a, b in zip(points.values, points.values[1:], strict=False)}) == 1
