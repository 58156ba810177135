"""Layout and packing of a quantize kernel, found without supposing a recipe.

A matrix of few kinds of blocks in a pseudo-random order is asked. Under the right view the scale of a block depends on its kind alone,
and the code of an element on the kind and the lane's value alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import lcm
from typing import Any, Final

import numpy as np

from emu.base import philox
from emu.base.errors import OperandError, TargetError
from emu.check.model import Target
from emu.engines.numpy.layout import places
from emu.identify.model import Axis
from emu.identify.quantize_calls import View, Views, as_given, ask
from emu.identify.rows import KEY, Bits
from emu.spec.models import Layout
from emu.spec.registry import get, names

KINDS: Final = 8
SIZE: Final = (128, 256)
STEP: Final = 64  # elements of one kind side by side: no block is wider
PARTS: Final = (8, 6, 5, 4, 3, 2, 1, 0, -8, -6, -5, -4, -3, -2, -1, 7)  # eighths of the maximum in the lanes of a kind
UNKNOWN: Final = "no known view: the answers do not follow the blocks"
UNDECIDED: Final = "order in a pair not decided by plain blocks: elements are rotated or mixed"
PADDED: Final = (128, 128)
LARGEST: Final = 0x40800000  # 4, the largest number of the question, as binary32


@dataclass(frozen=True)
class Found:
    """What the layout is, and the question that told.

    views: how answers are read.   block: rows and columns of one scale; None for a kernel that gives values alone.   axes: in words.
    x, answers: the matrix that was asked, and the answers as they came.
    """

    views: Views
    block: tuple[int, int] | None
    axes: tuple[Axis, ...]
    x: Bits
    answers: dict[str, Bits]


def find_layout(target: Target, tall: int = 1, multiple: tuple[int, int] = (1, 1)) -> Found:
    """Return the layout of a kernel's answers. tall: rows that share a kind, for tiles.

    multiple: rows and columns that the kernel needs, where that is known.
    Raises: TargetError, OperandError (a multiple that is too large).
    """
    if any(whole % unit for whole, unit in zip(SIZE, multiple, strict=True)):
        raise OperandError(f"identify: matrices of {SIZE[0]} x {SIZE[1]} are asked: give a multiple that divides them")
    kinds, x = question(target.source or "fp32", tall)
    answers, size = _asked(target, x, multiple)
    if "codes" not in answers:
        why = "unobservable here: the kernel gives values, no codes"
        return Found(Views(size=size), None, (Axis("layout", "packing", why),), x, answers)
    given = answers["codes"]
    codes, said_codes = _first(_code_views(given, x.shape), lambda shown: _consistent_codes(shown, kinds, tall))
    if said_codes == UNKNOWN and _consistent_codes(unpacked_low(given) if given.shape != x.shape else given, kinds, tall, falling=False):
        codes, said_codes = (unpacked_low if given.shape != x.shape else as_given), UNDECIDED
    axes = [Axis("layout", "packing", said_codes)]
    scale: View = as_given
    block = None
    if "scale" in answers:
        array = answers["scale"]
        scale, said, block = _scale_view(array, kinds, tall)
        axes.append(Axis("layout", "scales", said))
        if scale not in (as_given, transposed):
            size = lcm(size[0], PADDED[0]), lcm(size[1], PADDED[1])
    return Found(Views(codes, scale, size, tuple(axis.finding for axis in axes)), block, tuple(axes), x, answers)


def question(source: str, tall: int) -> tuple[Bits, Bits]:
    """Return kinds [128 / tall, 4] and x [128, 256]: kind k has the maximum 2^(2 - k) and the parts of it in PARTS, over and over."""
    count = SIZE[0] // tall * (SIZE[1] // STEP)
    words = philox.words(KEY, count, 0, philox.stream_of("identify_layout"))
    kinds = (words % KINDS).astype(np.int64).reshape(SIZE[0] // tall, -1)
    parts = np.array(PARTS * (STEP // len(PARTS)), np.float32) / np.float32(8)
    lanes = np.stack([np.float32(4) / np.float32(1 << kind) * parts for kind in range(KINDS)])
    values = np.repeat(lanes[kinds], tall, axis=0).reshape(SIZE)
    bits = values.view(np.uint32)
    if source == "fp32":
        return kinds, bits
    if source == "bf16":
        return kinds, (bits >> 16).astype(np.uint16)
    return kinds, values.astype(np.float16).view(np.uint16)


def _asked(target: Target, x: Bits, multiple: tuple[int, int]) -> tuple[dict[str, Bits], tuple[int, int]]:
    """Ask once; and, where no multiple is known, whether a matrix of one row is taken: else questions are padded to multiples of 128."""
    random = np.zeros(x.shape, np.uint32)
    answers = ask(target, x, LARGEST, random, (1, 1))
    if multiple != (1, 1):
        return answers, multiple
    try:
        ask(target, x[:1, :64], LARGEST, random[:1, :64], (1, 1))
    except TargetError as error:
        if error.verdict not in ("raises", "shape"):
            raise
        return answers, PADDED
    return answers, (1, 1)


def _first(views: Iterator[tuple[str, View, Bits | None]], good: Callable[[Bits], bool]) -> tuple[View, str]:
    for says, view, shown in views:
        if shown is not None and good(shown):
            return view, says
    return as_given, UNKNOWN


def _code_views(given: Bits, size: tuple[int, ...]) -> Iterator[tuple[str, View, Bits | None]]:
    """Yield (words, view, codes under it)."""
    whole = given.shape == size
    packed = given.ndim == 2 and given.shape == (size[0], size[1] // 2)
    yield "low nibble first", as_given, given if whole else None
    yield "high nibble first (pairs exchanged)", swapped, swapped(given) if whole else None
    yield "bytes, low nibble first", unpacked_low, unpacked_low(given) if packed else None
    yield "bytes, high nibble first", unpacked_high, unpacked_high(given) if packed else None


def swapped(codes: Bits) -> Bits:
    """Exchange the codes of each pair."""
    return codes.reshape(codes.shape[0], -1, 2)[:, :, ::-1].reshape(codes.shape)


def unpacked_low(codes: Bits) -> Bits:
    """Split bytes, the low nibble first."""
    return np.stack([codes & 0xF, codes >> 4], axis=-1).reshape(codes.shape[0], -1)


def unpacked_high(codes: Bits) -> Bits:
    """Split bytes, the high nibble first."""
    return swapped(unpacked_low(codes))


def _consistent_codes(codes: Bits, kinds: Bits, tall: int, falling: bool = True) -> bool:
    """Tell whether an element's code follows from its kind and lane; falling: and falls as the lanes fall."""
    lanes = codes.reshape(kinds.shape[0], tall, kinds.shape[1], STEP).transpose(0, 2, 1, 3)[:, :, 0]
    for kind in range(KINDS):
        same = lanes[kinds == kind]
        if len(same) and (same != same[0]).any():
            return False
        if len(same) and falling and not _falls(same[0]):
            return False
    return True


def _falls(codes: Bits) -> bool:
    """Tell whether magnitudes of the first eight lanes fall: as codes, all of one sign."""
    low = codes[:8].astype(np.int64) & 7
    return bool((np.diff(low) <= 0).all()) and bool(low[0] > low[7])


def _scale_view(array: Bits, kinds: Bits, tall: int) -> tuple[View, str, tuple[int, int] | None]:
    for shape in _block_shapes(array.size):
        for says, view in _scale_views(array, shape):
            try:
                shown = view(array)
            except (ValueError, IndexError):
                continue
            if shown.shape == (SIZE[0] // shape[0], SIZE[1] // shape[1]) and _consistent_scales(shown, kinds, shape, tall):
                return view, says, shape
    return as_given, UNKNOWN, next(iter(_block_shapes(array.size)), None)


def _block_shapes(count: int) -> Iterator[tuple[int, int]]:
    """Yield the tiles that a number of scales may belong to."""
    yield from ((rows, columns) for rows in (1, 16) for columns in (16, 32, 64) if (SIZE[0] // rows) * (SIZE[1] // columns) == count)


def _scale_views(array: Bits, shape: tuple[int, int]) -> Iterator[tuple[str, View]]:
    """Yield (words, view): as given, transposed, and every scale layout of the spec."""
    plain = (SIZE[0] // shape[0], SIZE[1] // shape[1])
    if array.shape == plain:
        yield "row_major", as_given
    if array.shape == plain[::-1]:
        yield "transposed", transposed
    yield "transposed in memory", transposed_memory
    for name in names("layout"):
        layout: Layout = get("layout", name)
        if layout.facts.holds == "scales" and name != "row_major":
            yield name, _read_as(layout)
            yield f"row_major where {name} was stated", _stored_as(layout)


def transposed(scales: Bits) -> Bits:
    """Exchange rows and columns."""
    return scales.T


def transposed_memory(scales: Bits) -> Bits:
    """Read memory column by column."""
    return scales.reshape(-1).reshape(scales.shape[::-1]).T


def _read_as(layout: Layout) -> View:
    def view(scales: Bits) -> Bits:
        out: Bits = scales.reshape(-1)[places(scales.shape[0], scales.shape[1], layout)]
        return out

    return view


def _stored_as(layout: Layout) -> View:
    def view(scales: Bits) -> Bits:
        out = np.zeros(scales.size, scales.dtype)
        out[places(scales.shape[0], scales.shape[1], layout).reshape(-1)] = scales.reshape(-1)
        return out.reshape(scales.shape)

    return view


def _consistent_scales(scales: Bits, kinds: Bits, shape: tuple[int, int], tall: int) -> bool:
    """Tell whether a scale follows from the kind with the largest maximum in its tile: the smallest number."""
    rows = np.repeat(kinds, tall, axis=0).reshape(SIZE[0] // shape[0], shape[0], -1).min(axis=1)
    return _function_of(np.repeat(rows, STEP // shape[1], axis=1), scales)


def _function_of(kinds: np.ndarray[Any, Any], scales: Bits) -> bool:
    found = [set(scales[kinds == kind].tolist()) for kind in range(KINDS)]
    present = [values for values in found if values]
    return all(len(values) == 1 for values in present) and len({next(iter(values)) for values in present}) > 1
