"""layout: row and index of a code -> its place in memory, for one tensor whose sides divide no tile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from emu.engines.exact.layout import place
from emu.engines.numpy.layout import places
from emu.spec.contract import Contract
from emu.spec.models import Block, Layout
from emu.spec.registry import get
from emu.vectors.files.columns import Column, layout_of
from emu.vectors.files.columns import Layout as Columns
from emu.vectors.files.rows import Answer, Input
from emu.vectors.operation import Batch, Values, present

ROWS: Final = 132  # of the tensor: a whole tile of rows and a part of the next
BLOCKS: Final = 6  # of a row: a whole tile of scales and a part of the next
AXIS_BITS, PLACE_BITS = 16, 32


class LayoutRows:
    """layout/<block>/<layout>."""

    def __init__(self, contract: Contract) -> None:
        self.contract = contract
        self.block: Block = get("block", contract.parts[0])
        self.order: Layout = get("layout", contract.parts[1])
        self.src, self.dst, self.part = self.block.id, self.order.id, self.order.id

    @property
    def codes(self) -> int:
        """Codes of a row: one per block, or one per element."""
        return BLOCKS * (1 if self.order.facts.holds == "scales" else self.block.facts.shape[1])

    @property
    def layout(self) -> Columns:
        """row, idx -> off."""
        unit = "bytes" if self.order.facts.code_bits == 8 else "nibbles, the low one of a byte first"
        what = "scale" if self.order.facts.holds == "scales" else "element"
        return layout_of(
            [
                Column("row", "in", AXIS_BITS, means=f"row of a tensor of {ROWS} rows"),
                Column("idx", "in", AXIS_BITS, means=f"{what} of the row, which holds {self.codes}"),
                Column("off", "out", PLACE_BITS, means=f"place from the start of the tensor in {unit}"),
            ]
        )

    def exact(self, values: Values) -> Answer:
        """Return the place."""
        return ((place(values[0], values[1], ROWS, self.codes, self.order),),)

    def engines(self) -> dict[str, Batch]:
        """fast: the whole tensor at once, by folding memory."""
        return present({"numpy": self.fast})

    def fast(self, rows: Sequence[Values]) -> list[Answer | None]:
        """Look the places up in the tensor that NumPy laid out."""
        found = places(ROWS, self.codes, self.order)
        return [((int(found[row, idx]),),) for row, idx in rows]

    def described(self) -> dict[str, Any]:
        """Nothing rounds or overflows here."""
        return {}


def cases(op: LayoutRows) -> list[Input]:
    """Return every code of the tensor, row by row."""
    return [Input("all", _flags(op, row, idx), (row, idx)) for row in range(ROWS) for idx in range(op.codes)]


def _flags(op: LayoutRows, row: int, idx: int) -> tuple[str, ...]:
    """Return what a code is about: the first or last of a digit's round, or one of a tile that padding fills."""
    found = ["code_place"]
    for digit in op.order.facts.digits:
        at = row if digit.axis == "row" else idx
        if digit.step > 1 and at % digit.step in (0, digit.step - 1):
            found.append("tile_edge")
        if digit.count is None and digit.step > 1 and at // digit.step == (ROWS if digit.axis == "row" else op.codes) // digit.step:
            found.append("padded_tile")
    return tuple(dict.fromkeys(found))
