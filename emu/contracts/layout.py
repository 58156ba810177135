"""layout: row and index of a code -> its place in memory, for one tensor whose sides divide no tile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, ClassVar, Final, Self

from emu.base.caches import lazy
from emu.contracts import suites
from emu.contracts.columns import Column, layout_of
from emu.contracts.columns import Layout as Columns
from emu.contracts.contract import Batch, Contract, Deviation, Values, entry, present
from emu.contracts.rows import Answer, Input
from emu.contracts.suites import Inputs, smoke
from emu.engines.exact.layout import place
from emu.engines.numpy.layout import places
from emu.spec.contract import ContractName
from emu.spec.models import Block, Layout, SpecObject
from emu.spec.registry import get, names

ROWS: Final = 132  # of the tensor: a whole tile of rows and a part of the next
BLOCKS: Final = 6  # of a row: a whole tile of scales and a part of the next
AXIS_BITS, PLACE_BITS = 16, 32


FIRST_BLOCKS: Final = ("nvfp4", "mxfp4")
SMOKE: Final = 64  # rows of the smoke suite


@dataclass(frozen=True, eq=False)
class LayoutContract(Contract):
    """layout/<block>/<layout>."""

    block: Block
    order: Layout
    examples: ClassVar[tuple[str, ...]] = ("layout",)

    @classmethod
    def of(cls, name: ContractName, given: str = "") -> Self:
        """Return the contract of a name; nothing is left open."""
        block, order = get("block", name.parts[0]), get("layout", name.parts[1])
        return cls(name, block.id, order.id, order.id, block, order)

    @classmethod
    def precedence(cls, name: ContractName) -> tuple[Any, ...]:
        """Well-known blocks first."""
        block = name.parts[0]
        return (FIRST_BLOCKS.index(block) if block in FIRST_BLOCKS else len(FIRST_BLOCKS), str(name))

    def suites(self) -> Iterator[Inputs]:
        """Every code of the tensor, and some of them."""
        made = lru_cache(maxsize=1)(self.directed)
        few = lru_cache(maxsize=1)(lambda: smoke(made(), SMOKE))
        yield Inputs("smoke", suites.about(False, f"at most {SMOKE} of all codes of the tensor", "layout.smoke"), few)
        yield Inputs("all", suites.about(True, "every code of one tensor", "layout.all"), made)

    def directed(self, stream: str = "") -> list[Input]:
        """Return every code of the tensor, row by row."""
        return [Input("all", _flags(self, row, idx), (row, idx)) for row in range(ROWS) for idx in range(self.codes)]

    @property
    def codes(self) -> int:
        """Codes of a row: one per block, or one per element."""
        return BLOCKS * (1 if self.order.facts.holds == "scales" else self.block.facts.shape[1])

    @lazy
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

    @classmethod
    def replay(cls, thing: SpecObject, example: Any) -> str | None:
        """A code lies where it is written."""
        assert isinstance(thing, Layout)
        found = place(example.row, example.idx, example.rows, example.codes, thing)
        return None if found == example.place else f"row {example.row}, index {example.idx}: place {found}, not {example.place}"

    def deviations(self) -> Iterator[Deviation]:
        """Another order of codes of the same width, row and index exchanged."""
        for name in names("layout"):
            other: Layout = get("layout", name)
            if other.id != self.order.id and other.facts.holds == self.order.facts.holds:
                yield Deviation(f"codes lie as {name}", "digit 0", replace(self, order=other).exact)
        yield Deviation("row and idx are exchanged", "digit 0", lambda values: self.exact(values[::-1]))

    def trace(self, values: Values, lane: int = 0) -> Any:
        """Each digit of the place with its weight, the fastest first, and their sum."""
        at, size = dict(zip(("row", "idx"), values, strict=True)), {"row": ROWS, "idx": self.codes}
        out, weight = [], 1
        for number, digit in enumerate(self.order.facts.digits):
            padded = -(-size[digit.axis] // digit.step)
            value, count = at[digit.axis] // digit.step, padded if digit.count is None else digit.count
            value = value if digit.count is None else value % count
            value = count - 1 - value if digit.order == "down" else value
            told = f"{value} of {count}, weighs {weight}: {value * weight}"
            out.append(entry(f"digit {number}", "divide", f"{digit.axis} {at[digit.axis]}", f"/ {digit.step} -> {told}"))
            weight *= count
        return [*out, entry("off", "sum", "place", str(self.exact(values)[0][0]))]

    def engines(self) -> dict[str, Batch]:
        """numpy: the whole tensor at once, by folding memory."""
        return present({"numpy": self.numpy})

    def numpy(self, rows: Sequence[Values]) -> list[Answer | None]:
        """Look the places up in the tensor that NumPy laid out."""
        found = places(ROWS, self.codes, self.order)
        return [((int(found[row, idx]),),) for row, idx in rows]


def _flags(op: LayoutContract, row: int, idx: int) -> tuple[str, ...]:
    """Return what a code is about: the first or last of a digit's round, or one of a tile that padding fills."""
    found = ["code_place"]
    for digit in op.order.facts.digits:
        at = row if digit.axis == "row" else idx
        if digit.step > 1 and at % digit.step in (0, digit.step - 1):
            found.append("tile_edge")
        if digit.count is None and digit.step > 1 and at // digit.step == (ROWS if digit.axis == "row" else op.codes) // digit.step:
            found.append("padded_tile")
    return tuple(dict.fromkeys(found))
