"""In which order the scales of a tensor lie: what the file says, the count of bytes, and what stands in the padding."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from emu.base.errors import OperandError
from emu.checkpoint.facts import known_orders, known_packings
from emu.engines.numpy.layout import places
from emu.spec import get
from emu.spec.models import Layout

Bytes = NDArray[Any]


class Order(NamedTuple):
    """layout: id.   padded: sides of the memory in row-major order, None where it has no padding.   verdict: a word of identification.

    others: orders that nothing excludes beside it, where it is not separated.
    """

    layout: str
    padded: tuple[int, int] | None
    verdict: str
    why: str
    others: tuple[str, ...] = ()


class Packing(NamedTuple):
    """Which code of a byte is first. name: as in spec/checkpoint.   verdict, why, others: as of an Order."""

    name: str
    verdict: str
    why: str
    others: tuple[str, ...] = ()


class Stated(NamedTuple):
    """Orders that somebody states who knows the file; they hold where neither it nor its bytes say them. None: nothing is stated."""

    packing: str | None = None
    scale_layout: str | None = None


UNSTATED: Final = Stated()


def stated_orders(packing: str | None, scale_layout: str | None) -> Stated:
    """Return orders that somebody states, by the ids of the spec or 128x4. Raises: OperandError (a name that no store has)."""
    scale_layout = "sf128x4" if scale_layout == "128x4" else scale_layout
    for option, name, known in (("--packing", packing, known_packings(4)), ("--scale-layout", scale_layout, known_orders())):
        if name not in (None, *known):
            raise OperandError(f"{option} {name}: no store has that order: one of {', '.join(known)}")
    return Stated(packing, scale_layout)


def packing_of(own: str, known: tuple[str, ...], said: str | None, stated: str | None) -> Packing:
    """Return how the codes of a tensor lie in its bytes: what the file says, what is stated, else that of the store, not separated.

    own: of the store.   known: of all stores with codes of as many bits.   said: where the file names its store, or None.
    """
    others = tuple(name for name in known if name != own)
    if said is not None or not others:
        return Packing(own, "separated", "the file says whose it is" if said is not None else "no store has another")
    if stated is not None:
        return Packing(stated, "separated", "as stated")
    return Packing(own, "not separated", "the file does not say whose it is, and exchanged nibbles are the same bytes of a block", others)


def order_of(
    raw: Bytes,
    rows: int,
    blocks: int,
    layouts: tuple[str, ...],
    declared: bool | None,
    known: tuple[str, ...] = (),
    said: str | None = None,
    stated: str | None = None,
) -> Order | str:
    """Return the order of the scales of a tensor, or what is wrong with their count.

    raw: all of them.   rows, blocks: of scales.   layouts: what the store allows.   declared: does the file say "in tiles".
    known: orders that other stores have.   said: where the file says whose it is, which leaves those of the store; None: nowhere.
    stated: the order, where nothing else tells it.
    """
    sides = {name: _sides(get("layout", name), rows, blocks) for name in dict.fromkeys((*layouts, *known)) if name != "row_major"}
    alike = [name for name, (down, along) in sides.items() if raw.size == down * along]
    allowed = layouts if said is not None else tuple(dict.fromkeys((*layouts, *known)))
    fits = [name for name in alike if name in allowed]
    plain = raw.size == rows * blocks and "row_major" in allowed
    if declared is True:
        return Order(fits[0], None, "separated", "the file says so") if fits else _count(raw, rows, blocks)
    if declared is False or not fits:
        if not plain:
            return _count(raw, rows, blocks)
        why = "the file says so" if declared is False else "the file says whose it is" if alike else "one scale a block, none for padding"
        return Order("row_major", None, "separated", why)
    possible = [name for name in allowed if name in fits or (name == "row_major" and plain)]
    if not plain and "row_major" in allowed:
        found = _by_padding(raw, rows, blocks, fits[0], sides[fits[0]])
    elif len(possible) == 1:
        found = Order(fits[0], None, "separated", "the file says whose it is")
    else:
        why = f"no padding to see: {', '.join(possible[1:])} has the same count of bytes"
        found = Order(possible[0], None, "not separated", why, tuple(possible[1:]))
    if found.verdict == "not separated" and stated in (found.layout, *found.others):
        padded = sides[fits[0]] if stated == "row_major" and not plain else None
        return Order(stated, padded, "separated", "as stated")
    return found


def _by_padding(raw: Bytes, rows: int, blocks: int, name: str, sides: tuple[int, int]) -> Order:
    """Tell tiles from padded rows by the zeros that libraries write into the padding."""
    matrix = raw.reshape(sides)
    in_rows = not matrix[rows:].any() and not matrix[:, blocks:].any()
    used = np.zeros(raw.size, bool)
    used[places(rows, blocks, get("layout", name))] = True
    in_tiles = not raw[~used].any()
    if in_rows and not in_tiles:
        return Order("row_major", sides, "separated", "the padding of rows is zero, that of tiles is not")
    if in_tiles and not in_rows:
        return Order(name, None, "separated", "the padding of tiles is zero, that of rows is not")
    return Order(name, None, "not separated", "the padding tells nothing" if in_tiles else "neither padding is zero", ("row_major",))


def _sides(layout: Layout, rows: int, blocks: int) -> tuple[int, int]:
    """Return the sides of a tensor of scales with its padding."""
    down, along = layout.facts.padded_to("row"), layout.facts.padded_to("idx")
    return -(-rows // down) * down, -(-blocks // along) * along


def _count(raw: Bytes, rows: int, blocks: int) -> str:
    return f"{raw.size} scales for {rows} x {blocks} blocks"


def padding_set(raw: Bytes, order: Order, rows: int, blocks: int, step: int) -> int:
    """Return how many bytes of the padding of a tensor's scales are not zero. step: rows looked at together, a multiple of row_period."""
    if order.layout == "row_major":
        return 0  # without padding, or taken for rows because it is zero
    layout: Layout = get("layout", order.layout)
    found = 0
    for first in range(0, rows, step):
        count = min(step, rows - first)
        height, width = _sides(layout, count, blocks)
        part = raw[first * width : (first + height) * width]
        found += int(np.count_nonzero(part)) - int(np.count_nonzero(part[places(count, blocks, layout)]))
    return found


def row_period(layout: str) -> int:
    """Return after how many rows the order of a layout repeats."""
    found: Layout = get("layout", layout)
    return found.facts.padded_to("row")


def scales_of_rows(raw: Bytes, order: Order, first: int, count: int, blocks: int) -> Bytes:
    """Return the scales of some rows. [count, blocks].

    first: a multiple of row_period.   raw: all scales, a view of the file.
    """
    if order.layout == "row_major":
        width = order.padded[1] if order.padded else blocks
        return np.asarray(raw[first * width : (first + count) * width].reshape(count, width)[:, :blocks])
    layout: Layout = get("layout", order.layout)
    height, width = _sides(layout, count, blocks)
    part = raw[first * width : (first + height) * width]
    return np.asarray(part[places(count, blocks, layout)])
