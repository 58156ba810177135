"""Damage that the original names: the right scales in other places, the right codes in the other half of their bytes.

A name is given only where the recipe's own bytes, moved so, are the bytes of the whole weight; of a recipe whose codes are not those of
the file, where all of its scales are. Not here: factors of the whole tensor
(compare.py), bytes that no writer leaves (scan.py).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu.base.errors import EmuError
from emu.checkpoint.compare import Original, Outcome, quantized_rows
from emu.checkpoint.facts import element_bits
from emu.checkpoint.read import StoredTensor
from emu.engines.numpy.layout import places
from emu.ops.functions import convert, decode
from emu.spec import derive, get, names
from emu.spec.models import Format, Layout

EXCHANGED = "the nibbles of each byte are exchanged"
ORDERS = (EXCHANGED, "scales lie ")  # damage that may as well be another library's order
SIMPLE = 4096  # denominator at most of a ratio that is named
MOST = 24  # recipes that are tried
Matrix = NDArray[Any]


def named_damage(tensor: StoredTensor, original: Original, outcomes: list[Outcome]) -> str | None:
    """Return what was done to the bytes of one of the nearest recipes, so that those of the weight follow; None: nothing known.

    outcomes: of the comparison, one for each recipe.   Reads the weight once for each recipe that is tried.
    """
    able = [item for item in outcomes if item.refused is None and item.elements]
    near = sorted(able, key=lambda item: min(item.codes / item.elements, item.scales / item.blocks))
    stored = np.concatenate([_with_flags(rows.scales, rows.flags) for rows in tensor.chunks()])[:: tensor.grid.tall]
    found: dict[str, list[str]] = {}
    moved_only: list[str] = []
    for outcome in near[:MOST]:
        try:
            codes, wanted = _compared(tensor, original, outcome)
        except EmuError:
            continue
        moved = next((text for text, each in _moved(wanted, tensor.order.layout) if np.array_equal(each, stored)), None)
        moved = moved if moved is not None else _shifted(wanted, stored)
        scales = moved if moved is not None else _changed(wanted, stored, tensor.scale_format)
        if codes is not None and scales is not None and (codes or scales):
            said = "; ".join(filter(None, [scales, codes, outcome.factor]))
            found.setdefault(said, []).append(outcome.recipe)
        elif moved and codes is None:
            count = f"{outcome.codes} of {outcome.elements} codes are not"
            moved_only.append(f"{moved}: otherwise every scale is as {outcome.recipe} writes it, {count}")
    texts = [f"{said}: otherwise every byte is as {' or '.join(recipes)} writes it" for said, recipes in found.items()]
    return next(iter([*texts, *moved_only]), None)


def _with_flags(scales: Matrix, flags: Matrix | None) -> Matrix:
    return scales if flags is None or scales.itemsize > 1 else np.asarray(scales | flags.astype(np.uint8) << 7, np.uint8)


def _compared(tensor: StoredTensor, original: Original, outcome: Outcome) -> tuple[str | None, Matrix]:
    """Return what was done to the codes ("": nothing; None: nothing known), and the scales that the recipe gives. [rows, blocks]."""
    left = {"": _same, **(_CODES if element_bits(tensor.block) == 4 else {})}
    scales = []
    for rows in tensor.chunks():
        codes, mine, flags = quantized_rows(outcome, original, rows.first, len(rows.codes))
        codes = codes[:, : rows.codes.shape[1]]
        columns = tensor.grid.wide
        left = {text: move for text, move in left.items() if np.array_equal(move(codes, columns), rows.codes)}
        scales.append(_with_flags(mine, flags))
    return next(iter(left), None), np.concatenate(scales)[:: tensor.grid.tall]


def _same(codes: Matrix, _: int) -> Matrix:
    return codes


def _exchanged(codes: Matrix, _: int) -> Matrix:
    return codes.reshape(len(codes), -1, 2)[:, :, ::-1].reshape(codes.shape)


def _halves(codes: Matrix, columns: int) -> Matrix:
    """The halves of a block interleaved, as if it had been packed by halves and is read pair by pair."""
    return codes.reshape(len(codes), -1, 2, columns // 2).transpose(0, 1, 3, 2).reshape(codes.shape)


def _pairs(codes: Matrix, columns: int) -> Matrix:
    return codes.reshape(len(codes), -1, columns // 2, 2).transpose(0, 1, 3, 2).reshape(codes.shape)


_CODES: dict[str, Callable[[Matrix, int], Matrix]] = {
    EXCHANGED: _exchanged,
    "codes are packed by halves of a block and not in pairs": _halves,
    "codes are packed in pairs and not by halves of a block": _pairs,
}


def _moved(scales: Matrix, read: str) -> Iterator[tuple[str, Matrix]]:
    """Yield scales as they are (no text), and in other places, with what was done. read: the layout that the file was read in."""
    yield "", scales
    yield "scales are transposed", scales.T.reshape(scales.shape)
    for name in names("layout"):
        layout: Layout = get("layout", name)
        if layout.facts.holds != "scales" or name == "row_major":
            continue
        rows, blocks = scales.shape
        at = places(rows, blocks, layout)
        if int(at.max()) + 1 == scales.size == len(np.unique(at)):  # no padding: the count of bytes tells nothing
            if read == name:
                yield f"scales lie row by row and not in the order {name}", scales.reshape(-1)[at]
            else:
                tiled = np.empty(scales.size, scales.dtype)
                tiled[at] = scales
                yield f"scales lie in the order {name} and not row by row", tiled.reshape(scales.shape)
            twice = np.empty(scales.size, scales.dtype)
            twice[at] = scales
            if read == name:
                yield f"scales went into the order {name} twice", twice.reshape(scales.shape)
    for size in (2, 4):
        if not scales.shape[1] % size:
            yield (
                f"every {size} scales of a row stand in reverse order",
                scales.reshape(len(scales), -1, size)[:, :, ::-1].reshape(scales.shape),
            )
    yield "the rows of scales stand in reverse order", scales[::-1]
    for by in (1, -1):
        yield f"the scales of each row are shifted by one block to the {'right' if by > 0 else 'left'}", np.roll(scales, by, axis=1)


def _shifted(wanted: Matrix, stored: Matrix) -> str | None:
    """Return by how many rows the scales are shifted, at most half of them; those that came in at the end are not looked at."""
    count = len(wanted)
    for down, last, part in ((True, stored[-1], wanted[::-1]), (False, stored[0], wanted)):
        for by in np.flatnonzero((part == last).all(axis=1)).tolist():
            kept = count - by
            if 0 < by <= count // 2 and np.array_equal(stored[by:] if down else stored[:kept], wanted[:kept] if down else wanted[by:]):
                return f"scales are shifted {'down' if down else 'up'} by {by} {'row' if by == 1 else 'rows'}"
    return None


def _changed(wanted: Matrix, stored: Matrix, fmt: Format) -> str | None:
    """Return what was done to every scale: of those of a byte which number was added to the codes, of wider ones what their values show."""
    if derive.codes(fmt).bits <= 8:
        return _added(wanted, stored)
    mine, theirs = (decode(side, fmt).astype(np.float64) for side in (wanted, stored))
    if not (np.isfinite(mine).all() and np.isfinite(theirs).all() and (mine > 0).all() and (theirs > 0).all()):
        return None
    if np.array_equal(convert(1 / mine, fmt, policy="ieee"), stored):
        return "every scale is its own reciprocal"
    ratio = Fraction(float(theirs.max() / mine.max())).limit_denominator(SIMPLE)
    if np.array_equal(convert(mine * float(ratio), fmt, policy="ieee"), stored):
        return f"every scale is {float(ratio):.9g} times what it should be"
    return None


def _added(wanted: Matrix, stored: Matrix) -> str | None:
    """Return which number was added to every scale code that is not zero."""
    used = wanted > 0
    steps = np.unique(stored[used].astype(np.int64) - wanted[used])
    if len(steps) == 1 and steps[0] and np.array_equal(stored[~used], wanted[~used]):
        return f"every scale code is {abs(int(steps[0]))} too {'large' if steps[0] > 0 else 'small'}"
    return None
