"""A weight whose numbers another store holds under other scales: each block gets a scale and codes that stand for exactly the same numbers.

Which pairs of stores may be tried follows from their blocks: scales that are powers of two on one side, any scales on the other. A tensor
factor, where the other store has one, is a power of two. Not here: the same codes under scales of another type (rescaled.py).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from emu.checkpoint.facts import Grid, block_of, element_bits, grid_of, no_stack, tensor_level, unit_of
from emu.checkpoint.hold import as_stored, nearest
from emu.checkpoint.read import StoredRows, StoredTensor, spread
from emu.checkpoint.rescaled import OtherStore
from emu.engines.exact.convert import convert_value
from emu.engines.exact.decode import decode_code
from emu.engines.exact.round import floor_log2
from emu.engines.exact.value import finite
from emu.spec import derive, get
from emu.spec.models import Checkpoint, Format
from emu.spec.models.format import ExponentFacts

MOST = 5  # bits of a magnitude: those that are there are marked in one word
LARGEST = (2 - Fraction(1, 1 << 23)) * 2**127  # finite binary32 number
Kind = tuple[int, int]  # code of a scale, and a mask of the magnitude codes under it


class Misfit(NamedTuple):
    """A block that no scale of another store can hold. row, block: of the other store's.   why: what was tried."""

    row: int
    block: int
    why: str


def can_refit(mine: Checkpoint, other: Checkpoint) -> bool:
    """Tell whether another store may hold the numbers of one under other scales, by their blocks alone."""
    blocks = block_of(mine), block_of(other)
    if any(len(block.element_formats) != 1 or derive.parse_exact(block.facts.factor) <= 0 for block in blocks):
        return False
    scale, bits = get("format", blocks[0].scale_level.format), element_bits(blocks[0])
    signed = all(_sign(block.element_formats[0]) == 1 << element_bits(block) - 1 for block in blocks)
    alone = tensor_level(mine) is None and len(blocks[0].facts.levels) == 1 and mine.facts.nan_scale != "zero"
    wide, narrow = blocks[0].facts.shape[1], blocks[1].facts.shape[1]
    nested = not narrow % wide or (not wide % narrow and blocks[1].facts.shape[0] == 1)
    return alone and signed and nested and bits <= MOST + 1 and isinstance(scale.facts, ExponentFacts) and blocks[0].facts.shape[0] == 1


def _sign(name: str) -> int:
    return derive.codes(get("format", name)).sign_bit


@dataclass
class Refitted(OtherStore):
    """With other scales and codes that are the same numbers, signs of zero included. Raises: as misfit, never while it is read.

    power: of two, of the tensor factor.   scales: of the other store [rows, columns] where one of them covers several of the weight's;
    else found: kind of a block -> its scale.
    """

    power: int = 0
    found: dict[Kind, int] = field(default_factory=dict)
    scales: NDArray[np.uint32] | None = None

    @cached_property
    def tensor_bits(self) -> int | None:
        """Raw binary32 bits of the new tensor factor; None where the store has none."""
        return None if tensor_level(self.store) is None else nearest(as_stored(Fraction(2) ** self.power, self.store))

    @cached_property
    def grid(self) -> Grid:
        """How the new scales lie."""
        return grid_of(self.store, self.shape)

    def chunks(self) -> Iterator[StoredRows]:
        """Yield the new codes and scales some rows at a time, from the top."""
        sign, length = 1 << element_bits(self.tensor.block) - 1, self.shape[-1]
        new_sign = 1 << element_bits(block_of(self.store)) - 1
        fine = min(self.tensor.grid.wide, self.grid.wide)
        word = np.uint8 if derive.codes(self.scale_format).bits <= 8 else np.dtype(f"u{derive.codes(self.scale_format).bits // 8}")
        for rows in self.tensor.chunks():
            new = self._new_scales(rows)
            old_here = spread(rows.scales, self.tensor.grid.wide, length)[:, ::fine].astype(np.int64)
            new_here = spread(new, self.grid.wide, length)[:, ::fine].astype(np.int64)
            pairs, where = np.unique(old_here << 32 | new_here, return_inverse=True)
            tables = np.array([self._table(pair >> 32, pair & 0xFFFFFFFF) for pair in pairs.tolist()], np.uint8)
            places = spread(where.reshape(old_here.shape), fine, length)
            codes = tables[places, rows.codes & sign - 1] | np.where(rows.codes & sign, np.uint8(new_sign), np.uint8(0))
            yield StoredRows(rows.first, codes, new.astype(word), np.zeros(new.shape, np.uint8))

    def same(self, other: StoredTensor) -> bool:
        """Tell whether a stored weight of this shape has these codes and scales."""
        return all(
            np.array_equal(one.codes, two.codes) and np.array_equal(one.scales, two.scales)
            for one, two in zip(self.chunks(), other.chunks(), strict=True)
        )

    def fit(self) -> Misfit | None:
        """Look for scales of all blocks, and for the tensor factor. Returns: the first block that none holds; None: all have one."""
        if self.grid.tall > 1 or self.grid.wide > self.tensor.grid.wide:
            return self._fit_tiles()
        first: dict[Kind, tuple[int, int]] = {}
        for rows in self.tensor.chunks():
            keys, places = np.unique(self._kinds(rows), return_index=True)
            for key, place in zip(keys.tolist(), places.tolist(), strict=True):
                first.setdefault((key >> 32, key & 0xFFFFFFFF), (rows.first + place // self.grid.columns, place % self.grid.columns))
        for power in self._powers(first):
            self.power, self.found = power, {}
            for kind in first:
                scale = self._scale([kind])
                if scale is None:
                    break
                self.found[kind] = scale
            else:
                return None
        self.power = next(iter(self._powers(first)))
        wrong = next(kind for kind in first if self._scale([kind]) is None)
        return Misfit(*first[wrong], self._why([wrong]))

    def _fit_tiles(self) -> Misfit | None:
        """Look for the scales of blocks that cover several of the weight's."""
        grid, mine = self.grid, self.tensor.grid
        self.scales = np.zeros((grid.rows, grid.columns), np.uint32)
        marks, begun = np.zeros((0, grid.columns, 256), np.uint32), 0
        for rows in self.tensor.chunks():
            last = rows.first + len(rows.codes)
            marks = np.concatenate([marks, np.zeros((-(-last // grid.tall) - begun - len(marks), grid.columns, 256), np.uint32)])
            masks = self._masks(rows.codes, mine.wide)
            tiles = (np.arange(rows.first, last) // grid.tall - begun)[:, None]
            columns = np.arange(masks.shape[1]) * mine.wide // grid.wide
            np.bitwise_or.at(marks, (tiles, columns[None, :], rows.scales.astype(np.int64)), masks)
            done = len(marks) if last == self.tensor.rows else last // grid.tall - begun
            for down, along in np.ndindex(done, grid.columns):
                kinds = [(scale, int(marks[down, along, scale])) for scale in np.flatnonzero(marks[down, along]).tolist()]
                scale = self._scale(kinds)
                if scale is None:
                    return Misfit((begun + down) * grid.tall, along, self._why(kinds))
                self.scales[begun + down, along] = scale
            marks, begun = marks[done:], begun + done
        return None

    def _new_scales(self, rows: StoredRows) -> NDArray[Any]:
        """Return the new scale of each block of some rows, of a tile once for each row. [r, blocks]."""
        if self.scales is not None:
            return np.asarray(self.scales[np.arange(rows.first, rows.first + len(rows.codes)) // self.grid.tall])
        keys, where = np.unique(self._kinds(rows), return_inverse=True)
        found = np.array([self.found[key >> 32, key & 0xFFFFFFFF] for key in keys.tolist()], np.uint32)
        return np.asarray(found[where].reshape(len(rows.codes), -1))

    def _kinds(self, rows: StoredRows) -> NDArray[np.int64]:
        """Return the kind of each of the new blocks of some rows, as one number. int64 [r, blocks]."""
        scales = spread(rows.scales, self.tensor.grid.wide, self.shape[-1])[:, :: self.grid.wide]
        return np.asarray(scales.astype(np.int64) << 32 | self._masks(rows.codes, self.grid.wide))

    def _masks(self, codes: NDArray[np.uint8], wide: int) -> NDArray[np.uint32]:
        magnitudes = codes & np.uint8((1 << element_bits(self.tensor.block) - 1) - 1)
        return np.asarray(np.bitwise_or.reduce((np.uint32(1) << magnitudes.astype(np.uint32)).reshape(len(codes), -1, wide), axis=-1))

    @cached_property
    def _old(self) -> tuple[dict[int, Fraction], list[Fraction]]:
        """Values of the weight's scales that are numbers, and of its magnitudes."""
        fmt, bits = self.tensor.scale_format, element_bits(self.tensor.block)
        factor = derive.parse_exact(self.tensor.block.facts.factor)
        return _numbers(fmt, range(1 << derive.codes(fmt).bits), factor), [
            decode_code(code, get("format", self.tensor.block.element_formats[0])).magnitude for code in range(1 << bits - 1)
        ]

    @cached_property
    def _new(self) -> tuple[list[tuple[Fraction, int]], dict[Fraction, int]]:
        """Values of the other store's scales with their codes, ascending, and its magnitudes: of wide scales the powers of two alone."""
        fmt, block = self.scale_format, block_of(self.store)
        if derive.codes(fmt).bits <= 8:
            scales = _numbers(fmt, range(1 << derive.codes(fmt).bits), Fraction(1))
        else:
            powers = [finite(Fraction(2) ** power) for power in range(-126, 128)]
            scales = _numbers(
                fmt, [convert_value(x, fmt, get("rounding", "rne"), derive.arithmetic_entry(fmt)) for x in powers], Fraction(1)
            )
        factor = Fraction(1) if tensor_level(self.store) is not None else derive.parse_exact(block.facts.factor)
        elements = _numbers(get("format", block.element_formats[0]), range(1 << element_bits(block) - 1), Fraction(1), zero=True)
        return sorted((value * factor, code) for code, value in scales.items()), {value: code for code, value in elements.items()}

    @cached_property
    def _units(self) -> dict[int, Fraction]:
        """Values of the other store's scales, by code."""
        return {code: value for value, code in self._new[0]}

    def _values(self, kinds: Iterable[Kind]) -> set[Fraction] | None:
        """Return the numbers other than zero that stand under some scales, over the tensor factor; None where they are none."""
        scales, magnitudes = self._old
        found = set()
        for scale, mask in kinds:
            inside = {magnitudes[code] for code in range(len(magnitudes)) if mask >> code & 1} - {0}
            if scale not in scales or (inside and max(inside) * scales[scale] > LARGEST):
                return None
            found |= {value * scales[scale] / Fraction(2) ** self.power for value in inside}
        return found

    def _scale(self, kinds: list[Kind]) -> int | None:
        """Return the code of a scale that holds the numbers of a block: that which keeps the codes, else the smallest; None: none does."""
        values, (scales, elements) = self._values(kinds), self._new
        if values is None:
            return None
        same = self._old[0][kinds[0][0]] / Fraction(2) ** self.power
        if not values:
            return min(scales, key=lambda item: abs(item[0] - same))[1]
        low, high = max(values) / max(elements), min(values) / min(set(elements) - {0})
        able = [item for item in scales if low <= item[0] <= high]
        if len(kinds) == 1:
            able.sort(key=lambda item: item[0] != same)
        return next((code for scale, code in able if all(value / scale in elements for value in values)), None)

    def _powers(self, kinds: Iterable[Kind]) -> list[int]:
        """Return the powers of two to try as the tensor factor, first that which gives the largest scale the largest power of two."""
        if tensor_level(self.store) is None:
            return [0]
        here = [self._old[0][scale] for scale, mask in kinds if mask > 1 and scale in self._old[0]] or [Fraction(1)]
        top, bottom = (floor_log2(pick(here)) for pick in (max, min))
        ends = [floor_log2(self._new[0][place][0]) for place in (0, -1)]
        reach = range(bottom - ends[1] - MOST, top - ends[0] + MOST + 1)
        able = [power for power in reach if self._exact(power)]
        return sorted(able, key=lambda power: (abs(power - (top - ends[1])), power)) or [0]

    def _exact(self, power: int) -> bool:
        """Tell whether the other store can say this tensor factor."""
        wanted = as_stored(Fraction(2) ** power, self.store)
        back = decode_code(nearest(wanted), get("format", "fp32"))
        return back.kind == "finite" and back.signed == wanted

    def _why(self, kinds: list[Kind]) -> str:
        values = self._values(kinds)
        if values is None:
            return "a scale there is NaN, or a number beyond binary32"
        largest, smallest = (f"{float(pick(values) * Fraction(2) ** self.power):.6g}" for pick in (max, min))
        return f"magnitudes from {smallest} to {largest} there"

    def _table(self, old: int, new: int) -> list[int]:
        """Return the new code of each magnitude code under a new scale in the place of an old one; 0 for those that are not there."""
        scales, magnitudes = self._old
        unit = scales[old] / Fraction(2) ** self.power / self._units[new]
        return [self._new[1].get(value * unit, 0) for value in magnitudes]


def _numbers(fmt: Format, codes: Iterable[int], factor: Fraction, zero: bool = False) -> dict[int, Fraction]:
    """Return code -> value of the positive finite codes among some, times a factor. zero: and of zero."""
    decoded = {code: decode_code(code, fmt) for code in codes}
    return {code: value.magnitude * factor for code, value in decoded.items()
            if value.kind == "finite" and not value.sign and (value.magnitude or zero)}  # fmt: skip


def refit(tensor: StoredTensor, store: Checkpoint) -> Refitted | str | None:
    """Return a weight under scales of another store that keep every number, or what was tried and which block prevents it; None: no way
    between such blocks is known.

    The weight is read once. Tests: tests/checkpoint/test_checkpoint_refit.py.   Source: the values of both blocks, in the spec.
    """
    if not can_refit(tensor.store, store) or no_stack(store, tensor.shape) is not None or tensor.shape[-1] % unit_of(store):
        return None
    found = Refitted(tensor, store)
    wrong = found.fit()
    if wrong is None:
        return found
    what = f"each scale of {found.scale_format.id}" + (" under a power of two as tensor factor" if tensor_level(store) else "")
    return f"tried {what}: none keeps every number of row {wrong.row} block {wrong.block} ({wrong.why})"
