"""Columns of a vector word: names, roles, widths, and where each lies in the word of a `.mem` file.

Order: guard, pad (only where a word would be too narrow for the trailer's count), inputs, random operands, outputs, stages,
then one mask column per output and stage, then one kind column per output and stage whose NaN payload is free.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

Role = Literal["guard", "pad", "in", "r", "out", "stage", "mask", "kind"]
MIN_DIGITS: Final = 5  # after the guard, so that the count of a full shard fits
KIND_BITS: Final = 4


@dataclass(frozen=True)
class Column:
    """One column.

    bits: true width; lanes: equal parts of it, lane 0 in the low bits.   format: id of a lane's number format, None for plain integers.
    means: what a value is where the name does not say it.   any_nan: a NaN result may have any payload and sign.
    flags: the exception flags that the bits are, bit 0 first; no file has them: a layout that was read from one has none.
    """

    name: str
    role: Role
    bits: int
    format: str | None = None
    lanes: int = 1
    means: str | None = None
    any_nan: bool = False
    flags: tuple[str, ...] = field(default=(), compare=False)

    @property
    def digits(self) -> int:
        """Hex digits in the files."""
        return -(-self.bits // 4)

    @property
    def lane_bits(self) -> int:
        """Width of one lane."""
        return self.bits // self.lanes


@dataclass(frozen=True)
class Layout:
    """All columns of a word but the guard, in file order."""

    columns: tuple[Column, ...]

    @property
    def inputs(self) -> tuple[Column, ...]:
        """The columns that a bench drives: inputs and random operands."""
        return tuple(column for column in self.columns if column.role in ("in", "r"))

    @property
    def results(self) -> tuple[Column, ...]:
        """The columns that a bench compares: outputs and stages."""
        return tuple(column for column in self.columns if column.role in ("out", "stage"))

    def index(self, name: str) -> int:
        """Return the place of a column among the values of a row. Raises: KeyError."""
        for place, column in enumerate(self.columns):
            if column.name == name:
                return place
        raise KeyError(name)

    @property
    def digits(self) -> int:
        """Hex digits of a word without the guard."""
        return sum(column.digits for column in self.columns)

    @property
    def width(self) -> int:
        """Bits of a word with the guard."""
        return 4 * (self.digits + 1)

    def lsb(self, name: str) -> int:
        """Return the lowest bit of a column in the word."""
        return 4 * sum(column.digits for column in self.columns[self.index(name) + 1 :])

    def described(self) -> list[dict[str, Any]]:
        """Return the `columns` list of the JSON file."""
        top = 4 * self.digits
        out: list[dict[str, Any]] = [{"name": "guard", "role": "guard", "bits": 4, "hex": 1, "msb": top + 3, "lsb": top}]
        for column in self.columns:
            lsb = self.lsb(column.name)
            item = {
                "name": column.name,
                "role": column.role,
                "bits": column.bits,
                "hex": column.digits,
                "msb": lsb + 4 * column.digits - 1,
                "lsb": lsb,
            }
            if column.role in ("in", "r", "out", "stage"):
                item |= {"format": column.format, "lanes": column.lanes, "lane_bits": column.lane_bits}
            if column.means is not None:
                item["means"] = column.means
            out.append(item)
        return out


def layout_of(columns: Sequence[Column]) -> Layout:
    """Return the layout of input and result columns with their mask, kind and pad columns.

    columns: roles in, r, out, stage, in this order.
    """
    results = [column for column in columns if column.role in ("out", "stage")]
    masks = [Column("m_" + column.name, "mask", column.bits) for column in results]
    kinds = [Column("k_" + column.name, "kind", KIND_BITS * column.lanes, lanes=column.lanes) for column in results if column.any_nan]
    rest = [*columns, *masks, *kinds]
    missing = MIN_DIGITS - sum(column.digits for column in rest)
    return Layout((*([Column("pad", "pad", 4 * missing)] if missing > 0 else []), *rest))


def layout_from(described: Sequence[dict[str, Any]]) -> Layout:
    """Return the layout of a JSON `columns` list. Raises: KeyError, TypeError, ValueError for a malformed list."""
    kinds = {str(item["name"]).removeprefix("k_") for item in described if item["role"] == "kind"}
    columns = []
    for item in described[1:]:
        lanes = item.get("lanes", 1)
        if item["role"] == "kind":
            lanes = int(item["bits"]) // KIND_BITS
        columns.append(
            Column(item["name"], item["role"], item["bits"], item.get("format"), lanes, item.get("means"), item["name"] in kinds)
        )
    layout = Layout(tuple(columns))
    if layout.described() != list(described):
        raise ValueError("columns: widths, hex, msb and lsb do not tile the word")
    return layout
