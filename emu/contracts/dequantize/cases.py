"""Which codes and levels a dequantize profile is tried on: all element codes under chosen scales and tensor levels, and random ones."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final

from emu.contracts.grid import code_at, grid_values
from emu.contracts.rows import Input, pack
from emu.contracts.suites import row_words, wide
from emu.spec import derive
from emu.spec.models import Format
from emu.spec.models.block import LevelFacts
from emu.spec.registry import get

if TYPE_CHECKING:
    from emu.contracts.dequantize.contract import DequantizeContract

RANDOM_ROWS: Final = 4096
SPREAD_ROWS: Final = 8
FP32: Final = (0x3F800000, 0x3F124925, 0x40556D1D, 0x45280000, 0x00000001, 0x00800000, 0x7F7FFFFF, 0x00000000, 0x7F800000, 0x7FC00000)


def level_codes(level: LevelFacts) -> list[int]:
    """Return the codes of a level that get rows: ends, subnormal border, one and its neighbour, NaN, and an unused high bit."""
    fmt: Format = get("format", level.format)
    derived = derive.codes(fmt)
    if derived.bits > 16:
        return list(FP32)
    if derived.bits <= 2:
        return list(range(1 << derived.bits))
    if derived.bits > 8:
        one, border = code_at(Fraction(1), fmt), 1 << getattr(fmt.facts, "frac_bits", 0)
        ends = [derived.max_code, derived.max_code - 1, *([] if derived.inf is None else [derived.inf]), *derived.nan[:1]]
        return list(dict.fromkeys([one, one + 1, 0, 1, border - 1, border, *ends]))
    values = grid_values(fmt)
    one = next((extent for extent, value in enumerate(values) if value == 1), 1)
    chosen = [one, one + 1, 0, 1, 7, 8, derived.max_code, derived.max_code - 1, *derived.nan]
    unused = [1 << derived.bits | one] if derive.unused_high_bits(fmt) else []
    return list(dict.fromkeys([*chosen, *unused]))


class Cases:
    """Collects the cases of one profile."""

    def __init__(self, op: DequantizeContract) -> None:
        self.op = op
        self.columns = op.layout.inputs
        self.found: list[Input] = []

    def element_codes(self, turn: int) -> int:
        """Return every element code in turn, one per lane, rotated."""
        column = self.columns[0]
        return pack([(lane + turn) % (1 << column.lane_bits) for lane in range(column.lanes)], column.lane_bits)

    def add(self, group: str, flags: tuple[str, ...], chosen: dict[str, int], comment: str = "") -> None:
        """Take one case. chosen: level -> code for all of its parts; others get the first of level_codes."""
        values = [self.element_codes(len(self.found))]
        for level, column in zip(self.op.levels, self.columns[1:], strict=True):
            code = chosen.get(level.name, level_codes(level)[0])
            lanes = [code] * column.lanes if code >= 0 else [lane & 1 for lane in range(column.lanes)]
            values.append(pack(lanes, column.lane_bits))
        self.found.append(Input(group, flags, tuple(values), comment))


def directed(op: DequantizeContract, stem: str) -> list[Input]:
    """Return the directed cases of a profile."""
    out = Cases(op)
    for level in op.levels:
        fmt: Format = get("format", level.format)
        for code in level_codes(level):
            special = ("nan",) if code < 1 << derive.codes(fmt).bits and derive.is_nan_code(code, fmt) else ()
            out.add(level.name, ("scale_code", *special), {level.name: code})
        if derive.codes(fmt).bits <= 2:
            out.add(level.name, ("scale_code", "lanes"), {level.name: -1})
    if len(op.levels) > 1:
        first, last = op.levels[0], op.levels[-1]
        for code in level_codes(first)[1:8:2]:
            for other in level_codes(last)[1:8:2]:
                out.add("pairs", ("scale_code",), {first.name: code, last.name: other})
    return out.found + [case._replace(group="spread", flags=("spread",)) for case in random(op, stem, 1 << 20, (1 << 20) + SPREAD_ROWS)]


def random(op: DequantizeContract, stem: str, start: int, stop: int) -> list[Input]:
    """Return rows of random codes; levels are drawn below their NaN codes, those of 32 bits with exponents 2^-32 .. 2^31."""
    columns = op.layout.inputs
    sizes = [-(-column.bits // 32) for column in columns]
    out = []
    for words in row_words(stem, start, stop, sum(sizes)):
        values, at = [], 0
        for column, size in zip(columns, sizes, strict=True):
            values.append(wide(words[at : at + size], column.bits))
            at += size
        for extent, level in enumerate(op.levels, 1):
            values[extent] = _tamed(values[extent], level, columns[extent].lanes, columns[extent].lane_bits)
        out.append(Input("random", ("random",), tuple(values)))
    return out


def _tamed(value: int, level: LevelFacts, lanes: int, lane_bits: int) -> int:
    derived = derive.codes(get("format", level.format))
    codes = [value >> (lane * lane_bits) & ((1 << lane_bits) - 1) for lane in range(lanes)]
    if derived.bits > 16:
        codes = [(code & 0x7FFFFF) | (95 + (code >> 23 & 63)) << 23 for code in codes]
    else:
        codes = [code % (derived.max_code + 1) for code in codes]
    return pack(codes, lane_bits)
