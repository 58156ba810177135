"""One pass over a stored tensor without the original: what its blocks hold, and what no writer would have left there."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu.checkpoint.facts import element_bits, scale_extent
from emu.checkpoint.read import StoredRows, StoredTensor, scale_bytes
from emu.ops.functions import convert, decode
from emu.spec import derive, get
from emu.spec.models import Block, Format

SHOWN = 3  # rows of a fault
MOST = 64  # codes of a block that are shown
WITHIN = ("fp32", "bf16")  # types in which code and scale are multiplied; a result of another type is not looked at
TILE = 16  # rows that a 2-D recipe gives one scale


@dataclass
class Scan:
    """What a tensor holds.

    blocks: how many.   pairs: int64 [256, magnitudes], blocks by scale code and largest magnitude code, those with a set flag left out;
    of scales wider than a byte nothing is counted.
    first: (scale, magnitude) -> row and block where the pair is first met.   flagged: blocks with a set high bit.
    minus_zero: codes of -0.   tiled: are the scales of every 16 rows equal, where each row has several of its own.
    faults: text of each damage -> first places.
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
    tiled = tensor.grid.tall == 1 and scale_extent(tensor.block).columns > 0
    found = Scan(np.zeros((256, 1 << element_bits(tensor.block) - 1), np.int64), tiled=tiled)
    for rows in tensor.chunks():
        _count(found, tensor, rows)
    bits = tensor.tensor_bits
    if bits is not None and not 0 < bits < 0x7F800000:
        _fault(found, f"the tensor factor is {_binary32(bits)}", np.ones((1, 1), bool), 0, lambda row, block: f"bits {bits:08X}")
    return found


def _count(found: Scan, tensor: StoredTensor, rows: StoredRows) -> None:
    grid, fmt = tensor.grid, tensor.scale_format
    over = -rows.codes.shape[1] % grid.wide
    codes = np.pad(rows.codes, ((0, 0), (0, over))) if over else rows.codes
    codes = codes.reshape(len(codes), grid.columns, grid.wide)
    bits, magnitudes = element_bits(tensor.block), found.pairs.shape[1]
    top = (codes & magnitudes - 1).max(-1)
    high = tensor.store.facts.high_bit
    plain = rows.flags == 0 if high == "flag" else np.ones_like(rows.flags, bool)
    wide = derive.codes(fmt).bits > 8
    begins = ((rows.first + np.arange(len(codes))) % grid.tall == 0)[:, None]  # a scale of several rows is counted once
    found.blocks += scale_bytes(rows, fmt, grid.tall).size // rows.scales.itemsize
    found.flagged += int((rows.flags != 0).sum())
    found.minus_zero += int((codes[plain] == magnitudes).sum())
    if not wide:
        _pairs(found, rows, top, plain)
    if found.tiled:
        whole = rows.scales[: len(rows.scales) // TILE * TILE].reshape(-1, TILE, rows.scales.shape[1])
        found.tiled = bool(len(whole) and (whole == whole[:, :1]).all())

    def shown(row: int, block: int) -> str:
        return f"scale {rows.scales[row, block]:0{2 * rows.scales.itemsize}X}, codes {codes_text(codes[row, block, :MOST], bits)}"

    nan = nan_places(rows.scales, fmt)
    if tensor.store.facts.nan_scale in ("nan", "refused"):
        _fault(found, "a NaN scale", nan & begins, rows.first, shown)
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
    if wide:
        sign = rows.scales.dtype.type(derive.codes(fmt).sign_bit)
        infinite = rows.scales & ~sign == derive.codes(fmt).inf
        _fault(found, "a scale that is infinite", infinite & begins, rows.first, shown)
        negative = (rows.scales & sign != 0) & ~infinite & ~nan
        _fault(found, "a scale that is negative", negative & begins, rows.first, shown)
        within = tensor.store.facts.product if tensor.store.facts.product in WITHIN else WITHIN[0]
        with np.errstate(over="ignore", invalid="ignore"):  # 4 bits by 24: exact in binary64
            values = decode(top, tensor.block.element_formats[0]).astype(np.float64) * decode(rows.scales, fmt).astype(np.float64)
            read = np.isinf(decode(convert(values, within, policy="ieee"), within).astype(np.float64))
        _fault(found, f"a value that its reader takes for infinite, in {within}", read & ~infinite, rows.first, shown)
    if derive.codes(fmt).bits != 8:
        _fault(found, "codes that are not zero under the scale zero", (rows.scales == 0) & (top > 0), rows.first, shown)


def _pairs(found: Scan, rows: StoredRows, top: NDArray[np.uint8], plain: NDArray[np.bool_]) -> None:
    """Count pairs of scale code and largest magnitude code. top, plain: [r, blocks]."""
    magnitudes = found.pairs.shape[1]
    index = rows.scales.astype(np.int64) * magnitudes + top
    counts = np.bincount(index[plain], minlength=found.pairs.size).reshape(found.pairs.shape)
    for scale, size in zip(*np.nonzero((found.pairs == 0) & (counts > 0)), strict=True):
        row, block = np.argwhere(plain & (index == scale * magnitudes + size))[0]
        found.first[int(scale), int(size)] = rows.first + int(row), int(block)
    found.pairs += counts


def nan_places(codes: NDArray[Any], fmt: Format) -> NDArray[np.bool_]:
    """Return which codes of a format are NaN. Shape of codes."""
    mask, top, listed = derive.nan_codes(fmt)
    return np.asarray(codes.astype(np.int64) & mask > top) | np.isin(codes, list(listed))


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
