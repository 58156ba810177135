"""Scale codecs x grids: does the uniform grid keep its lead when the scale loses its fraction bits.

Source: the paper (arXiv 2606.20381) has binary32 scales and leaves the codec open. Not here: what follows in a matrix product.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from emu.analysis.cells import CODECS, GRIDS, recipe_of
from emu.analysis.report import Report
from emu.analysis.tensor import ROTATION, measure
from emu.spec import Block, get

Tick = Callable[[str], None]


@dataclass(frozen=True)
class Cell:
    """One grid under one scale codec on one tensor. block: elements of a scale.   transform: None as it is.   report: what was lost."""

    data: str
    codec: str
    element: str
    recipe: str
    block: int
    transform: str | None
    report: Report


@dataclass(frozen=True)
class Lead:
    """How far one grid is ahead of another under one codec. db: SQNR of the first less that of the second.   alpha: of both, minus 1."""

    data: str
    codec: str
    transform: str | None
    first: str
    second: str
    db: float
    alpha: tuple[float, float]

    @property
    def wins(self) -> bool:
        """Is the first grid ahead."""
        return self.db > 0

    def text(self) -> str:
        """Return one sentence."""
        way = "rotated" if self.transform else "as it is"
        verb = "leads" if self.wins else "LOSES to"
        return f"{self.data}, {way}: {self.first} {verb} {self.second} with {self.codec} scales by {abs(self.db):.2f} dB"


def cells(
    x: Any,
    *,
    data: str = "x",
    codecs: Sequence[str] = CODECS,
    grids: Sequence[str] = GRIDS,
    rotated: Sequence[bool] = (False, True),
    signs: int | None = None,
    engine: str = "auto",
    tick: Tick = lambda _: None,
) -> Iterator[Cell]:
    """Yield a Cell per codec, grid and rotation for one tensor.

    x: finite float array; its last axis a multiple of 32.   data: name for tables.   rotated: without, with, or both.   signs: as measure.
    Raises: as measure; OperandError (unknown codec or grid).   Tests: tests/analysis/test_shrinkage_scales.py.
    """
    for codec in codecs:
        for element in grids:
            recipe = recipe_of(element, codec)
            block: Block = get("block", recipe.facts.block)
            for turn in rotated:
                tick(f"{data} {recipe.id}")
                transform = ROTATION if turn else None
                report = measure(x, recipe, transform, signs if turn else None, engine=engine, name=data)
                yield Cell(data, codec, element, recipe.id, block.facts.shape[1], transform, report)


def leads(found: Sequence[Cell], first: str = "e1m2", second: str = "e2m1") -> list[Lead]:
    """Return, per data, codec and rotation, how far a grid is ahead of another.

    Cells without a partner, or without figures, are left out.
    """
    partner = {(cell.data, cell.codec, cell.transform): cell.report for cell in found if cell.element == second}
    out = []
    for cell in found:
        other = partner.get((cell.data, cell.codec, cell.transform))
        if cell.element == first and other is not None and cell.report.sqnr_db is not None and other.sqnr_db is not None:
            alpha = (cell.report.alpha_minus_1 or 0.0, other.alpha_minus_1 or 0.0)
            out.append(Lead(cell.data, cell.codec, cell.transform, first, second, cell.report.sqnr_db - other.sqnr_db, alpha))
    return out
