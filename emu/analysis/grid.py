"""The value grid of a format: its distinct values, the midpoints between them, and where a tie goes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Final

import numpy as np

from emu.base.errors import OperandError
from emu.engines.exact.decode import decode_code
from emu.ops import functions as api
from emu.spec import Format, derive, get

WIDEST: Final = 8  # bits of a format whose values are listed


@dataclass(frozen=True)
class Grid:
    """A finite set of values that numbers are rounded to, nearest first.

    name: id of the format, or what the caller said.   values: ascending, +0 and -0 together.
    ties_up: one per midpoint: does a number exactly there go to the upper value.
    """

    name: str
    values: tuple[Fraction, ...]
    ties_up: tuple[bool, ...]

    @property
    def midpoints(self) -> tuple[Fraction, ...]:
        """The borders between neighbouring values, ascending; one less than values."""
        return tuple((low + high) / 2 for low, high in pairwise(self.values))

    @property
    def steps(self) -> tuple[Fraction, ...]:
        """Distances of neighbouring values, ascending by value."""
        return tuple(high - low for low, high in pairwise(self.values))

    @property
    def largest(self) -> Fraction:
        """The largest value: what a block maximum is scaled to."""
        return self.values[-1]

    @property
    def is_uniform(self) -> bool:
        """Are all steps equal."""
        return len(set(self.steps)) == 1

    @property
    def dynamic_range(self) -> Fraction:
        """Largest value divided by the smallest positive one."""
        return self.largest / min(value for value in self.values if value > 0)

    @property
    def balanced(self) -> Grid:
        """The grid without values that reach further on one side than the other does (-8 of a two's complement integer: never used)."""
        end = min(self.values[-1], -self.values[0])
        if end <= 0:
            return self
        kept = [number for number, value in enumerate(self.values) if abs(value) <= end]
        return Grid(self.name, self.values[kept[0] : kept[-1] + 1], self.ties_up[kept[0] : kept[-1]])


def grid_of(fmt: str | Format) -> Grid:
    """Return the grid of a format of the spec, of at most 8 bits; ties as the format's rounding to nearest sends them.

    fmt: id or Format. NaN and Inf codes are left out.   Raises: OperandError (a wider format), SpecError (unknown id).
    Source: the format's facts, through the reference model.   Tests: tests/analysis/test_shrinkage_grid.py.
    """
    chosen: Format = get("format", fmt)
    derived = derive.codes(chosen)
    if derived.bits > WIDEST:
        raise OperandError(f"format {chosen.id} has {derived.bits} bits: a grid is listed for formats of at most {WIDEST} bits")
    found = (decode_code(code, chosen) for code in range(1 << derived.bits))
    values = tuple(sorted({value.signed for value in found if value.kind == "finite"}))
    between = np.array([float((low + high) / 2) for low, high in pairwise(values)])
    rounded = api.decode(api.convert(between, chosen), chosen, np.float64)
    ties = tuple(bool(up) for up in rounded > between)
    return Grid(chosen.id, values, ties)


def grid_from(values: Sequence[Fraction | int | str], name: str = "values") -> Grid:
    """Return the grid of listed values; a tie goes to the value that is an even number of steps from zero (or from the first value).

    values: at least two distinct rationals (`Fraction`, int, or text like "3/2").   Raises: OperandError.
    """
    listed = tuple(sorted({Fraction(value) for value in values}))
    if len(listed) < 2 or len(listed) != len(values):
        raise OperandError(f"grid {name}: {len(listed)} distinct values of {len(values)}: list at least two, each once")
    zero = listed.index(Fraction(0)) if Fraction(0) in listed else 0
    return Grid(name, listed, tuple((number + 1 - zero) % 2 == 0 for number in range(len(listed) - 1)))


def as_grid(grid: Grid | str | Format | Sequence[Fraction | int | str]) -> Grid:
    """Return a Grid: itself, that of a format, or that of listed values."""
    if isinstance(grid, Grid):
        return grid
    return grid_of(grid) if isinstance(grid, str | Format) else grid_from(grid)
