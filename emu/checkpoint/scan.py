"""One pass over a stored tensor without the original: what its blocks hold, and what no writer would have left there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu.checkpoint.read import StoredRows, StoredTensor
from emu.spec import derive, get
from emu.spec.models import Format

SHOWN = 3  # rows of a fault
TILE = 16  # rows that a 2-D recipe gives one scale


@dataclass
class Scan:
    """What a tensor holds.

    blocks: how many.   pairs: int64 [256, 8], blocks by scale code and largest magnitude code, those with a set flag left out.
    first: (scale, magnitude) -> row and block where the pair is first met.   flagged: blocks with a set high bit.
    minus_zero: codes of -0.   tiled: are the scales of every 16 rows equal.   faults: text of each damage -> first places.
    """

    blocks: int = 0
    pairs: NDArray[np.int64] = field(default_factory=lambda: np.zeros((256, 8), np.int64))
    first: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    flagged: int = 0
    minus_zero: int = 0
    tiled: bool = True
    faults: dict[str, tuple[int, list[str]]] = field(default_factory=dict)

    @property
    def largest_scale(self) -> int | None:
        """The largest scale code that is no NaN and stands over a code that is not zero; None without one."""
        used = np.flatnonzero(self.pairs[:, 1:].sum(1))
        return int(used.max()) if used.size else None


def scan_tensor(tensor: StoredTensor) -> Scan:
    """Count what a tensor holds, some rows at a time."""
    found = Scan()
    for rows in tensor.chunks():
        _count(found, tensor, rows)
    bits = tensor.tensor_bits
    if bits is not None and not 0 < bits < 0x7F800000:
        _fault(found, f"the tensor factor is {_binary32(bits)}", np.ones((1, 1), bool), 0, lambda row, block: f"bits {bits:08X}")
    return found


def _count(found: Scan, tensor: StoredTensor, rows: StoredRows) -> None:
    columns, fmt = tensor.block.facts.shape[1], tensor.scale_format
    codes = rows.codes.reshape(len(rows.codes), -1, columns)
    top = (codes & 7).max(-1)
    high = tensor.store.facts.high_bit
    plain = rows.flags == 0 if high == "flag" else np.ones_like(rows.flags, bool)
    found.blocks += top.size
    found.flagged += int((rows.flags != 0).sum())
    found.minus_zero += int((codes[plain] == 8).sum())
    index = rows.scales.astype(np.int64) * 8 + top
    counts = np.bincount(index[plain], minlength=2048).reshape(256, 8)
    for scale, size in zip(*np.nonzero((found.pairs == 0) & (counts > 0)), strict=True):
        row, block = np.argwhere(plain & (index == scale * 8 + size))[0]
        found.first[int(scale), int(size)] = rows.first + int(row), int(block)
    found.pairs += counts
    if found.tiled:
        whole = rows.scales[: len(rows.scales) // TILE * TILE].reshape(-1, TILE, rows.scales.shape[1])
        found.tiled = bool(len(whole) and (whole == whole[:, :1]).all())

    def shown(row: int, block: int) -> str:
        return f"scale {rows.scales[row, block]:02X}, codes {''.join(f'{code:X}' for code in codes[row, block].tolist())}"

    if tensor.store.facts.nan_scale in ("nan", "refused"):
        _fault(found, "a NaN scale", np.isin(rows.scales, nan_codes(fmt)), rows.first, shown)
    if high == "refused":
        _fault(found, "a scale with bit 7 set, which is negative or no scale", rows.flags != 0, rows.first, shown)
    if derive.codes(fmt).bits < 8:
        _fault(found, "codes that are not zero under the scale zero", (rows.scales == 0) & (top > 0), rows.first, shown)


def nan_codes(fmt: Format) -> list[int]:
    """Return the codes of a format of at most 8 bits that are NaN."""
    return [code for code in range(1 << derive.codes(fmt).bits) if derive.is_nan_code(code, fmt)]


def _fault(found: Scan, text: str, where: NDArray[np.bool_], first: int, shown: Any) -> None:
    count = int(where.sum())
    if count:
        before, places = found.faults.get(text, (0, []))
        new = [f"row {first + row} block {block}: {shown(row, block)}" for row, block in np.argwhere(where)[: SHOWN - len(places)].tolist()]
        found.faults[text] = before + count, [*places, *new]


def _binary32(bits: int) -> str:
    if bits & 0x7FFFFFFF > 0x7F800000:
        return "NaN"
    return "zero" if bits & 0x7FFFFFFF == 0 else "infinite" if bits & 0x7FFFFFFF == 0x7F800000 else "negative"


def element_format(tensor: StoredTensor) -> Format:
    """Return the format of the elements, of flag 0 where a bit chooses."""
    found: Format = get("format", tensor.block.element_formats[0])
    return found
