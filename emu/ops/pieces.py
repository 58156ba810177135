"""Many arrays quantized in pieces by whatever maps a function over tasks: threads, or workers that know the same spec and see no file."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TypeVar

from emu.base.errors import EmuError
from emu.engines.parts import Found
from emu.engines.pieces import Piece, join_pieces, pieces_of, quantize_piece
from emu.ops.functions import QuantizeTask
from emu.ops.quantized import Quantized
from emu.spec.carried import InOrder

Item = TypeVar("Item")


def quantize_in_pieces(
    mapped: InOrder, items: Iterable[Item], task_of: Callable[[Item], QuantizeTask], whole: Callable[[Item], Quantized], engine: str
) -> Iterator[Quantized]:
    """Yield each item quantized, in their order, with the bits of one piece. Items are drawn as their pieces are.

    mapped: as emu.spec.carried.workers gives it.   task_of: reads an item.   engine: as quantize.
    whole: quantizes an item in this process: one that does not go in pieces of a bounded size, and one that is refused, so that the message
    names the place in the whole.   Raises: as whole, and as mapped.   Tests: tests/ops/test_api_pieces.py.
    """
    under_way: deque[tuple[Item, QuantizeTask | None, int, int]] = deque()  # item, task, axis of the cut, pieces

    def pieces() -> Iterator[Piece | None]:
        for item in items:
            try:
                task = task_of(item)
                axis, found = pieces_of(task.recipe, task.rows.matrix, task.source, engine=engine, **task.operands)
            except EmuError:
                task, axis, found = None, 0, []
            under_way.append((item, task, axis, max(1, len(found))))
            yield from found
            if not found:
                yield None

    results = mapped(_one, pieces())
    for first in results:
        item, task, axis, count = under_way.popleft()
        found = [one for one in (first, *islice(results, count - 1)) if one is not None]
        if task is None or len(found) < count:
            yield whole(item)
        else:
            yield task.made(*join_pieces(task.recipe, axis, found))


def _one(piece: Piece | None) -> Found | None:
    """Quantize a piece on a worker; None: the whole is done elsewhere."""
    return None if piece is None else quantize_piece(piece)
