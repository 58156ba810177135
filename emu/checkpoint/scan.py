"""One pass over a stored tensor without the original: what its blocks hold, and what no writer would have left there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu.checkpoint.facts import element_bits
from emu.checkpoint.read import StoredRows, StoredTensor
from emu.spec import derive, get
from emu.spec.models import Block, Format

SHOWN = 3  # rows of a fault
TILE = 16  # rows that a 2-D recipe gives one scale


@dataclass
class Scan:
    """What a tensor holds.

    blocks: how many.   pairs: int64 [256, magnitudes], blocks by scale code and largest magnitude code, those with a set flag left out.
    first: (scale, magnitude) -> row and block where the pair is first met.   flagged: blocks with a set high bit.
    minus_zero: codes of -0.   tiled: are the scales of every 16 rows equal.   faults: text of each damage -> first places.
    """

    pairs: NDArray[np.int64]
    blocks: int = 0
    first: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)
    flagged: int = 0
    minus_zero: int = 0
    tiled: bool = True
    faults: dict[str, tuple[int, list[str]]] = field(default_factory=dict)


def scan_tensor(tensor: StoredTensor) -> Scan:
    """Count what a tensor holds, some rows at a time."""
    found = Scan(np.zeros((256, 1 << element_bits(tensor.block) - 1), np.int64))
    for rows in tensor.chunks():
        _count(found, tensor, rows)
    bits = tensor.tensor_bits
    if bits is not None and not 0 < bits < 0x7F800000:
        _fault(found, f"the tensor factor is {_binary32(bits)}", np.ones((1, 1), bool), 0, lambda row, block: f"bits {bits:08X}")
    return found


def _count(found: Scan, tensor: StoredTensor, rows: StoredRows) -> None:
    columns, fmt = tensor.block.facts.shape[1], tensor.scale_format
    codes = rows.codes.reshape(len(rows.codes), -1, columns)
    bits, magnitudes = element_bits(tensor.block), found.pairs.shape[1]
    top = (codes & magnitudes - 1).max(-1)
    high = tensor.store.facts.high_bit
    plain = rows.flags == 0 if high == "flag" else np.ones_like(rows.flags, bool)
    found.blocks += top.size
    found.flagged += int((rows.flags != 0).sum())
    found.minus_zero += int((codes[plain] == magnitudes).sum())
    index = rows.scales.astype(np.int64) * magnitudes + top
    counts = np.bincount(index[plain], minlength=found.pairs.size).reshape(found.pairs.shape)
    for scale, size in zip(*np.nonzero((found.pairs == 0) & (counts > 0)), strict=True):
        row, block = np.argwhere(plain & (index == scale * magnitudes + size))[0]
        found.first[int(scale), int(size)] = rows.first + int(row), int(block)
    found.pairs += counts
    if found.tiled:
        whole = rows.scales[: len(rows.scales) // TILE * TILE].reshape(-1, TILE, rows.scales.shape[1])
        found.tiled = bool(len(whole) and (whole == whole[:, :1]).all())

    def shown(row: int, block: int) -> str:
        return f"scale {rows.scales[row, block]:02X}, codes {codes_text(codes[row, block], bits)}"

    if tensor.store.facts.nan_scale in ("nan", "refused"):
        _fault(found, "a NaN scale", np.isin(rows.scales, nan_codes(fmt)), rows.first, shown)
    if bits > 4:
        _fault(
            found,
            "an element that is NaN, infinite or no code of its format",
            np.asarray(~finite_codes(tensor.block)[codes].all(-1)),
            rows.first,
            shown,
        )
    if high == "refused":
        _fault(found, "a scale with bit 7 set, which is negative or no scale", rows.flags != 0, rows.first, shown)
    if derive.codes(fmt).bits < 8:
        _fault(found, "codes that are not zero under the scale zero", (rows.scales == 0) & (top > 0), rows.first, shown)


def nan_codes(fmt: Format) -> list[int]:
    """Return the codes of a format of at most 8 bits that are NaN."""
    return [code for code in range(1 << derive.codes(fmt).bits) if derive.is_nan_code(code, fmt)]


def finite_codes(block: Block) -> NDArray[np.bool_]:
    """Return which bytes are finite codes of the elements of a block; of both formats where a flag chooses. bool [256]."""
    formats = [get("format", name) for name in block.element_formats]
    return np.array([all(derive.is_finite_code(code, fmt) for fmt in formats) for code in range(256)])


def codes_text(codes: NDArray[np.uint8], bits: int) -> str:
    """Return element codes in hex: digits side by side where one is enough, else bytes."""
    return "".join(f"{code:X}" for code in codes.tolist()) if bits <= 4 else codes.tobytes().hex(" ").upper()


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
