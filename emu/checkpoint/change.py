"""How a weight differs between two stores, in numbers: what was converted by quantizing again is compared with what it was made from."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from emu.checkpoint.decoded import Decoder
from emu.checkpoint.facts import ScaleMarks
from emu.checkpoint.read import StoredTensor, spread


@dataclass
class Change:
    """What quantizing a weight again changed. All counts compare exact numbers; -0 is the number 0.

    elements, blocks: of the new weight.   values: elements that stand for another number.   codes: elements whose code stands for another
    number without its scale.   scales: blocks whose scale times tensor factor is another number than before, for any of its elements.
    rounded: elements whose number before is no binary32 number, so that the recipe was given the nearest one.
    error: the largest difference of a value, exactly.   row, element: where it is first.   before, after: the two values there.
    """

    recipe: str
    elements: int = 0
    blocks: int = 0
    values: int = 0
    codes: int = 0
    scales: int = 0
    rounded: int = 0
    error: Fraction = Fraction(0)
    row: int = 0
    element: int = 0
    before: Fraction = Fraction(0)
    after: Fraction = Fraction(0)

    def json(self) -> dict[str, Any]:
        """Return all of it as plain data, numbers as texts such as 3/8."""
        return {name: str(value) if isinstance(value, Fraction) else value for name, value in vars(self).items()}

    def __str__(self) -> str:
        if not self.values:
            return f"all {self.elements} values are the same numbers; {self.codes} codes and {self.scales} of {self.blocks} scales differ"
        counts = f"{self.codes} of {self.elements} codes, {self.scales} of {self.blocks} scales and {self.values} values differ"
        where = f"row {self.row} element {self.element}: {float(self.before):.6g} before, {float(self.after):.6g} after"
        return f"{counts}; largest error {float(self.error):.6g} ({where})"


def change_of(old: StoredTensor, new: StoredTensor, recipe: str) -> Change:
    """Compare a weight with what it was made from; some rows of both are in memory at a time.

    old, new: of one shape.   recipe: what new was quantized by.   Raises: FileError, OperandError (values that are no numbers).
    Tests: tests/checkpoint/test_checkpoint_requantize.py.
    """
    numbers: dict[Fraction, int] = {}
    mine, theirs = Decoder(old, numbers), Decoder(new, numbers)
    found, marks = Change(recipe), ScaleMarks(new.grid)
    for one, two in zip(old.chunks(), new.chunks(), strict=True):
        before, after = mine.places(one), theirs.places(two)
        length = before.shape[1]
        units = [spread(side.units[side.scales(rows)], side.tensor.grid.wide, length) for side, rows in ((mine, one), (theirs, two))]
        differs = mine.ids[before] != theirs.ids[after]
        found.elements += after.size
        starts = np.arange(0, length, new.grid.wide)
        found.values += int(differs.sum())
        found.codes += int((mine.codes[before] != theirs.codes[after]).sum())
        marks.add(np.logical_or.reduceat(units[0] != units[1], starts, axis=1))
        found.rounded += int((~mine.exact[before]).sum())
        if differs.any():
            _largest(found, mine, theirs, before, after, differs, one.first)
    found.scales, found.blocks = marks.count, marks.seen
    return found


def _largest(found: Change, mine: Decoder, theirs: Decoder, before: Any, after: Any, differs: Any, first: int) -> None:
    """Take the largest error of some rows. Binary64 finds the pairs that it may be, with room for its roundings; fractions decide."""
    old, new = mine.near[before], theirs.near[after]
    near, room = np.abs(old - new), (np.abs(old) + np.abs(new)) * 2.0**-51
    least = (near - room)[differs].max()
    places = np.argwhere(differs & (near + room >= least))
    pairs = np.stack([before[tuple(places.T)], after[tuple(places.T)]])
    for place in sorted(np.unique(pairs, axis=1, return_index=True)[1].tolist()):
        one, two = mine.value(int(pairs[0, place])), theirs.value(int(pairs[1, place]))
        if abs(one - two) > found.error:
            row, element = places[place].tolist()
            found.error, found.before, found.after, found.row, found.element = abs(one - two), one, two, first + row, element
