"""Asking a quantize kernel: calls in, answers by row out, under a view of their layout. Not here: finding the view (layout.py)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from emu.base.errors import TargetError
from emu.check.model import Target
from emu.identify.rows import Bits, Call

View = Callable[[Bits], Bits]


def as_given(array: Bits) -> Bits:
    """Return an array as it is."""
    return array


@dataclass(frozen=True)
class Views:
    """How the answers of a kernel become codes [rows, n] and scales [rows, n / block]. size: rows and columns are padded to multiples."""

    codes: View = as_given
    scale: View = as_given
    size: tuple[int, int] = (1, 1)
    words: tuple[str, ...] = field(default=())


def ask(target: Target, x: Bits, amax: int | None, random: Bits | None, size: tuple[int, int], signs: int = 0) -> dict[str, Bits]:
    """Return the raw answers of a kernel for a matrix, padded with zeros to a multiple of `size`. Raises: TargetError."""
    rows, columns = (-(-have // unit) * unit for have, unit in zip(x.shape, size, strict=True))
    operands: dict[str, Any] = {"x": _padded(x, rows, columns), "signs": np.array(signs, np.uint32)}
    if amax is not None:
        operands["tensor_amax"] = np.array(amax, np.uint32)
    if random is not None:
        operands["random"] = _padded(random, rows, columns)
    return {name: np.asarray(array) for name, array in target(operands).items()}


def _padded(array: Bits, rows: int, columns: int) -> Bits:
    out = np.zeros((rows, columns), array.dtype)
    out[: array.shape[0], : array.shape[1]] = array
    return out


def answers_of(
    target: Target, calls: Sequence[Call], views: Views, tile: tuple[int, int], count: int, random_bits: int
) -> dict[str, np.ndarray[Any, Any]]:
    """Return the answers by row: codes [count, elements], levels and values likewise; OPEN where a row was not asked.

    random_bits: of the integers handed in, 0 for none.   Raises: TargetError (also for an array of the wrong shape).
    """
    out: dict[str, np.ndarray[Any, Any]] = {}
    for call in calls:
        drawn = call.random & np.uint32((1 << random_bits) - 1) if random_bits else None
        found = ask(target, call.x, call.amax, drawn, views.size, call.signs)
        for name, array in found.items():
            part = _by_tile(name, array, views, tile, call)[: len(call.numbers)]
            out.setdefault(name, np.full((count, part.shape[1]), -1, np.int64))[list(call.numbers)] = part
    return out


def _by_tile(name: str, array: Bits, views: Views, tile: tuple[int, int], call: Call) -> np.ndarray[Any, Any]:
    """Return one answer by tile: [tiles of the call, codes of a tile]; the padding cut off."""
    rows, columns = call.x.shape
    count = rows // tile[0]
    if name in ("codes", "values"):
        shown = views.codes(array) if name == "codes" else array
        _check(name, shown.ndim == 2 and shown.shape[0] >= rows and shown.shape[1] >= columns, shown)
        return shown[:rows, :columns].reshape(count, -1).astype(np.int64)
    if array.size == 1:
        return np.repeat(array.reshape(1, 1).astype(np.int64), count, axis=0)
    shown = views.scale(array) if name == "scale" else array
    tall, wide = _up(rows, views.size[0]), _up(columns, views.size[1])
    _check(name, shown.ndim == 2 and shown.shape[0] > 0 and tall % shown.shape[0] == 0, shown)
    per_row = tall // shown.shape[0]
    _check(name, rows % per_row == 0, shown)
    kept = max(shown.shape[1] * columns // wide, 1)
    return shown[: rows // per_row, :kept].reshape(count, -1).astype(np.int64)


def _up(have: int, unit: int) -> int:
    return -(-have // unit) * unit


def _check(name: str, good: bool, array: Bits) -> None:
    if not good:
        raise TargetError(
            "shape", f"identify: {name} has shape {array.shape}, which does not fit what was asked: hand out one code per place"
        )
