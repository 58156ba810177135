"""Codes of matrices into memory in the order of a layout, and back; bytes and words as programs hold them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu.arrays.rows import pack_nibbles, unpack_nibbles
from emu.arrays.values import Codes, plain_array, whole_number
from emu.base.errors import OperandError, ShapeError
from emu.engines.exact.layout import size
from emu.engines.numpy.layout import places
from emu.ops.interop import takes_tensors
from emu.spec import get
from emu.spec.models import Layout

MOST_PLACES = 1 << 40


@takes_tensors
def to_layout(codes: Any, layout: str | Layout) -> Codes:
    """Write the codes of a matrix, or of several, at the places that a layout gives them; the padding is 0.

    codes: integers [..., rows, codes of a row], one code an element, below 2^4 or 2^8 as the layout says; each matrix is laid out alone.
    layout: id or model.   Returns: [..., units]: uint8 bytes, or the unsigned words that the layout names.
    Raises: OperandError (no integers, a code too wide), ShapeError (fewer than two axes, no codes, an order that ends inside a byte).
    Source: the layout's sources.   Tests: tests/ops/test_api_layout.py.
    """
    order = layout_named(layout)
    array = plain_array(codes, "codes")
    most = (1 << order.facts.code_bits) - 1
    if array.dtype.kind not in "iu" or (array.size and (int(array.min()) < 0 or int(array.max()) > most)):
        raise OperandError(f"codes: {order.id} takes integers from 0 to {most}")
    if array.ndim < 2:
        raise ShapeError(f"codes of {order.id} have a matrix of rows and codes of a row as their last two axes")
    rows, width = array.shape[-2:]
    units(rows, width, order)
    memory = np.zeros((*array.shape[:-2], size(rows, width, order)), np.uint8)
    memory[..., places(rows, width, order).reshape(-1)] = array.reshape(*array.shape[:-2], rows * width)
    packed = np.ascontiguousarray(pack_nibbles(memory) if order.facts.code_bits == 4 else memory)
    return packed if order.facts.word_bits is None else packed.view(word_dtype(order)).astype(word_dtype(order).newbyteorder("="))


@takes_tensors
def from_layout(memory: Any, layout: str | Layout, rows: int, codes: int) -> Codes:
    """Read the codes of a matrix, or of several, from memory in the order of a layout: the opposite of to_layout.

    memory: unsigned integers [..., units], what to_layout returns.   layout: id or model.   rows, codes: of a matrix, without padding.
    Returns: uint8 [..., rows, codes], one code an element; what lies in the padding is left out.
    Raises: OperandError (no bytes, or no words of the width that the layout names), ShapeError (another number of units).
    Source: the layout's sources.   Tests: as to_layout.
    """
    order = layout_named(layout)
    return memory_places(memory, order, rows, codes)[..., places(rows, codes, order)]


def memory_places(memory: Any, order: Layout, rows: int, codes: int) -> Codes:
    """Return what lies at every place of memory, the padding included. uint8 [..., places]. Raises: as from_layout."""
    array = plain_array(memory, "memory")
    wanted = units(whole_number(rows, "rows"), whole_number(codes, "codes"), order)
    unit = word_dtype(order)
    if array.dtype.kind not in "iu" or array.dtype.itemsize != unit.itemsize:
        raise OperandError(f"memory of {order.id} is unsigned integers of {unit.itemsize * 8} bits, not {array.dtype.name}")
    if array.ndim == 0 or array.shape[-1] != wanted:
        found = array.shape[-1] if array.ndim else "no"
        raise ShapeError(f"{order.id} holds {rows} x {codes} codes in {wanted} units of {unit.itemsize * 8} bits, not {found}")
    raw = np.ascontiguousarray(array.astype(f"u{unit.itemsize}", copy=False).astype(unit, copy=False)).view(np.uint8)
    return unpack_nibbles(raw, raw.shape[-1] * 2) if order.facts.code_bits == 4 else raw


def units(rows: int, codes: int, order: Layout) -> int:
    """Return how many bytes, or words, a matrix takes. Raises: ShapeError (no codes, too many, an end inside a byte)."""
    if rows < 1 or codes < 1:
        raise ShapeError(f"{order.id}: a matrix of {rows} x {codes} has no codes")
    bits = size(rows, codes, order) * order.facts.code_bits
    if bits > 4 * MOST_PLACES:
        raise ShapeError(f"{order.id}: a matrix of {rows} x {codes} is too large")
    if bits % 8:
        raise ShapeError(f"{order.id}: {rows} x {codes} codes of 4 bits end inside a byte: give rows of an even length")
    return bits // (order.facts.word_bits or 8)


def word_dtype(order: Layout) -> np.dtype[Any]:
    """Return the dtype of the units of memory, little-endian."""
    return np.dtype(f"<u{(order.facts.word_bits or 8) // 8}")


def layout_named(layout: str | Layout) -> Layout:
    """Return a layout by id, alias or model. Raises: SpecError."""
    return layout if isinstance(layout, Layout) else get("layout", layout)


def padding(memory: NDArray[Any], order: Layout, rows: int, codes: int) -> int:
    """Return how many places of padding hold a code that is not 0. memory, rows, codes: as from_layout."""
    lying = memory_places(memory, order, rows, codes).copy()
    lying[..., places(rows, codes, order).reshape(-1)] = 0
    return int(np.count_nonzero(lying))
