"""Which sets of operands a check of a product asks, and for which shapes. Not here: how a set is made and proven (sets.py, ends.py)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from emu.base.errors import OperandError
from emu.check.matmul.ends import LONG, every_scale, long_rows
from emu.check.matmul.numbers import NARROW, Draws
from emu.check.matmul.pair import Pair
from emu.check.matmul.sets import Limits, Operands, filled, one_hot, summed
from emu.spec import derive

HOT: Final = 2  # of given shapes, how many one-hot rows have
MANY: Final = (1 << 16) + 1  # rows or columns beyond 16 bits, and elements of a row
MOST: Final = 1 << 23  # elements of an operand of a thin shape


def default_shapes(step: int) -> list[tuple[int, int, int]]:
    """Return M, N, K off the tiles of 8 to 256, square and not, and thin ones beyond 8 and 16 bits. step: what K is a multiple of."""
    return [
        (1, 1, step), (5, 3, 3 * step), (17, 33, 2 * step), (64, 64, 4 * step), (33, 17, 5 * step), (65, 129, 9 * step),
        (128, 128, 16 * step), (130, 66, 17 * step), (1, 257, 33 * step), (257, 1, 65 * step), (47, 31, 129 * step),
        *thin_shapes(step),
    ]  # fmt: skip


def thin_shapes(step: int) -> list[tuple[int, int, int]]:
    """Return M, N, K of which one length is beyond 256 or 512 blocks, or beyond 16 bits, and the others are small."""
    found = [(7, 5, 257 * step), (9, 3, 513 * step), (17, 2, -(-MANY // step) * step), (MANY, 1, step), (1, MANY, step)]
    return [shape for shape in found if max(shape[:2]) * shape[2] <= MOST]


def every_set(
    pair: Pair, shapes: list[tuple[int, int, int]], limits: Limits, key: int, left: list[str], given: bool = False, first: int = 0
) -> Iterator[Operands]:
    """Yield the sets of a pair, each proven; one-hot rows first.

    left: takes a line for each set that cannot be had.   given: ask no other shapes, one-hot rows have shapes of their own otherwise.
    first: number of the first shape, which says what goes through windows.
    """
    thin = thin_shapes(step_of(pair))
    draws, ends = Draws(key, f"{pair.text} {limits}"), Draws(key, f"ends {pair.text} {limits}")
    for hot in "ab":
        own = shapes[:HOT] if given else hot_shapes(pair, hot)
        for shape in own:
            yield from _had(left, lambda shape=shape, hot=hot: one_hot(pair, shape, limits, hot, draws))
        side = pair.a if hot == "a" else pair.b
        if side.scale is not None and derive.codes(side.scale).bits > NARROW:
            yield from _had(left, lambda shape=own[-1], hot=hot: one_hot(pair, shape, limits, hot, draws, long=True))
        for turn, asked in enumerate(own if given else [None], first):
            if side.scale is not None:
                yield from _had(left, lambda asked=asked, hot=hot, turn=turn: every_scale(pair, limits, hot, ends, asked, turn))
    for turn, shape in enumerate(shapes, first):
        if is_long(pair, shape):
            yield from _had(left, lambda shape=shape: long_rows(pair, shape, limits, ends))
        wides = "ab"
        if not given and shape in thin:  # one set is enough
            wides = "" if is_long(pair, shape) else "ab"[shape[0] == 1]
        for wide in wides:
            yield from _had(left, lambda wide=wide, shape=shape, turn=turn: summed(pair, shape, limits, wide, turn, draws))
        if len(wides) > 1:
            yield from _had(left, lambda shape=shape, turn=turn: filled(pair, shape, limits, "ab"[turn % 2], draws))


def is_long(pair: Pair, shape: tuple[int, ...]) -> bool:
    """Tell whether rows have more blocks than 8 bits count."""
    return shape[-1] // pair.block > LONG


def step_of(pair: Pair) -> int:
    """Return what K of a shape that emu chooses is a multiple of."""
    return pair.step if pair.step > 8 else 16


def hot_shapes(pair: Pair, hot: str) -> list[tuple[int, int, int]]:
    """Return the shapes of one-hot rows: as many of them as K, one block and three."""
    step = step_of(pair)
    return [(k, 37, k) if hot == "a" else (37, k, k) for k in (step, 3 * step)]


def _had(left: list[str], make: object) -> Iterator[Operands]:
    try:
        yield make()  # type: ignore[operator]
    except OperandError as error:
        left.append(str(error))
