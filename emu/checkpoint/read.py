"""A stored tensor as codes and levels: rows of it at a time, whatever the store's names, packing and order are."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from emu.arrays.rows import unpack_codes, unpack_halves
from emu.base.errors import FileError
from emu.checkpoint.container import Container
from emu.checkpoint.described import check_described
from emu.checkpoint.facts import (
    BYTES,
    Grid,
    block_of,
    bytes_of,
    grid_of,
    known_orders,
    known_packings,
    scale_extent,
    scale_format,
    size_of_records,
    stored_bits,
    tensor_level,
    unit_of,
    untiled,
)
from emu.checkpoint.layout import UNSTATED, Order, Packing, Stated, order_of, packing_of, row_period, scales_of_rows
from emu.checkpoint.store import Match, at, within
from emu.ops.quantized import Quantized
from emu.spec import derive
from emu.spec.models import Block, Checkpoint, Format
from emu.spec.models.checkpoint import WORDS

CHUNK = 1 << 18  # elements
Codes = NDArray[np.uint8]
Scales = NDArray[Any]


class StoredRows(NamedTuple):
    """Some rows of a tensor.

    codes: uint8 [r, n], one each.   scales: [r, blocks], of a tile or the whole tensor once for each row; uint8 without the high bit, or
    uint16 or uint32 where a scale has as many bits.   flags: uint8 [r, blocks], the high bit.
    """

    first: int
    codes: Codes
    scales: Scales
    flags: Codes


@dataclass(frozen=True)
class StoredTensor:
    """One quantized weight. match: its store.   shape: of the weight.   order: of its scales.   packing: of its codes.

    others: stores it fits as well.
    """

    container: Container
    match: Match
    shape: tuple[int, ...]
    order: Order
    packing: Packing
    others: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Name of the weight in a file that is not quantized."""
        return self.match.weight

    @property
    def store(self) -> Checkpoint:
        """The store."""
        return self.match.store

    @property
    def block(self) -> Block:
        """The store's first block format."""
        return block_of(self.store)

    @property
    def rows(self) -> int:
        """Rows of the tensor, all leading axes together."""
        return math.prod(self.shape[:-1])

    @property
    def grid(self) -> Grid:
        """How the scales lie."""
        return grid_of(self.store, self.shape)

    @property
    def scale_format(self) -> Format:
        """Format of the scales."""
        return scale_format(self.store)

    @property
    def tensor_bits(self) -> int | None:
        """Raw binary32 bits of the tensor factor as stored; None where the store has none."""
        level = tensor_level(self.store)
        return None if level is None else int(self.container.raw(self.match.parts[level.level]).view("<u4")[0])

    def chunks(self, most: int | None = None) -> Iterator[StoredRows]:
        """Yield the tensor some rows at a time, from the top. most: stop after about so many elements."""
        step = row_step(self.shape[-1])
        for first in range(0, self.rows, step):
            if most is not None and first * self.shape[-1] >= most:
                return
            yield self.take(first, min(step, self.rows - first))

    def same(self, other: StoredTensor) -> bool:
        """Tell whether another weight of this shape has the same codes, scales and flags."""
        return all(
            np.array_equal(one.codes, two.codes) and np.array_equal(one.scales, two.scales) and np.array_equal(one.flags, two.flags)
            for one, two in zip(self.chunks(), other.chunks(), strict=True)
        )

    def take(self, first: int, count: int) -> StoredRows:
        """Return some rows. first: a multiple of the period of the order of scales."""
        codes, raw = self._record(first, count) if self.store.facts.record is not None else self._parts(first, count)
        bits = derive.codes(self.scale_format).bits
        if bits >= 8:
            return StoredRows(first, codes, raw, np.zeros(raw.shape, np.uint8))
        return StoredRows(first, codes, raw & np.uint8((1 << bits) - 1), (raw >> bits).astype(np.uint8))

    def _parts(self, first: int, count: int) -> tuple[Codes, Scales]:
        packed = self.container.raw(self.match.parts["codes"]).reshape(self.rows, -1)[first : first + count]
        raw, grid = _raw_scales(self.container, self.match), self.grid
        if grid.tall == 1:
            scales = scales_of_rows(raw, self.order, first, count, grid.columns)
        else:
            above, below = first // grid.tall, -(-(first + count) // grid.tall)
            tiles = scales_of_rows(raw, self.order, above, below - above, grid.columns)
            scales = tiles[np.arange(first, first + count) // grid.tall - above]
        codes = unpack_codes(packed, stored_bits(self.store))
        if self.packing.name == "high_nibble_first":
            codes = np.ascontiguousarray(codes.reshape(count, -1, 2)[:, :, ::-1]).reshape(count, -1)
        return codes, scales

    def _record(self, first: int, count: int) -> tuple[Codes, Codes]:
        assert self.store.facts.record is not None
        elements, columns, length = self.store.facts.record.elements, self.block.facts.shape[1], self.shape[-1]
        scales = elements // columns
        unit = scales + bytes_of(self.store, elements)
        raw = self.container.raw(self.match.parts["record"]).reshape(self.rows, length // elements, unit)[first : first + count]
        codes = unpack_halves(raw[..., scales:].reshape(count, -1, columns // 2)).reshape(count, length)
        return codes, np.ascontiguousarray(raw[..., :scales]).reshape(count, -1)


def _raw_scales(container: Container, match: Match) -> Scales:
    """Return all scales as a view of the file, in its order; the native order of bytes."""
    level = next(item.level for item in match.store.facts.levels if item.meaning == "scale")
    entry = match.parts[level]
    return container.raw(entry).view(BYTES[WORDS[entry.dtype]])


def scale_bytes(rows: StoredRows, fmt: Format, tall: int = 1) -> Codes:
    """Return the scales of some rows as they are stored: with what stood above their bits. uint8 [r, bytes].

    tall: rows that share a scale; then those of the first row of each that begins here.
    """
    bits = derive.codes(fmt).bits
    scales, flags = (part[-rows.first % tall :: tall] for part in (rows.scales, rows.flags))
    if bits < 8:
        return (scales | flags << bits).astype(np.uint8)
    return np.ascontiguousarray(scales.astype(BYTES[scales.dtype.itemsize], copy=False)).view(np.uint8)


def spread(scales: Scales, columns: int, length: int) -> Scales:
    """Return the scale of each element of some rows. scales: [r, blocks].   columns: elements of a block; the last may have fewer."""
    return np.repeat(scales, columns, axis=1)[:, :length]


def of_rows(found: Quantized) -> tuple[Codes, Scales, Codes | None]:
    """Return codes, scales and flags of some quantized rows, as StoredRows has them; no flags where the block has none.

    found: of a matrix, in rows. The codes may be padded in its columns.
    """
    height, level = found.shape[0], found.block.scale_level
    scales = next(item.codes for item in found.levels if item.name == level.name)
    tall = scale_extent(found.block).rows
    rows = np.broadcast_to(scales, (height, 1)) if tall == 0 else np.repeat(scales, tall, axis=0)[:height]
    flags = next((item.codes for item in found.levels if item.meaning == "flag"), None)
    return found.codes[:height], rows, flags


def row_step(length: int) -> int:
    """Return how many rows are read at once: a multiple of every period of rows that an order of scales has."""
    period = math.lcm(*map(row_period, known_orders()))
    return max(CHUNK // max(length, 1) // period, 1) * period


def in_bytes(store: Checkpoint) -> bool:
    """Tell whether the scales of a store are bytes along a row: wider words, and scales of tiles of elements, lie row by row."""
    scale = next((item for item in store.facts.levels if item.meaning == "scale"), None)
    return scale is not None and WORDS[scale.dtypes[0]] == 1 and scale_extent(block_of(store)).rows == 1


def told(container: Container, name: str, opened: StoredTensor | str, stated: Stated) -> StoredTensor:
    """Return a weight as open_tensor gave it. Raises: FileError (why it has no reading; an order that nothing tells)."""
    doubt = opened if isinstance(opened, str) else undecided(opened, stated)
    if isinstance(opened, str) or doubt is not None:
        raise FileError(f"{container.path}: {name}: {doubt}")
    return opened


def undecided(tensor: StoredTensor, stated: Stated = UNSTATED) -> str | None:
    """Return what neither a file nor its bytes say of the order of a weight, and how to state it; None: nothing is in doubt.

    stated: what was stated; where it is not what the file shows, that is returned.
    """
    packing, order = tensor.packing if stored_bits(tensor.store) == 4 else None, tensor.order if in_bytes(tensor.store) else None
    for name, side in ((stated.packing, packing), (stated.scale_layout, order)):
        if side is not None and name not in (None, side[0]):
            return f"{name} is stated, it is {side[0]} ({side.why})"
    sides = (("which nibble of a byte is first", "--packing", tensor.packing.name, tensor.packing),
             ("in which order its scales lie", "--scale-layout", tensor.order.layout, tensor.order))  # fmt: skip
    doubts = [(what, f"{option} {' or '.join((name, *side.others))}") for what, option, name, side in sides if side.others]
    if not doubts:
        return None
    what, how = (" and ".join(texts) for texts in zip(*doubts, strict=True))
    return f"neither the file nor its bytes say {what}: state {how}"


def readings(tensor: StoredTensor) -> Iterator[StoredTensor]:
    """Yield a weight in each pair of orders that nothing excludes, the one that was read first."""
    for packing in (tensor.packing, *(tensor.packing._replace(name=name) for name in tensor.packing.others)):
        for order in (tensor.order, *(tensor.order._replace(layout=name, padded=None) for name in tensor.order.others)):
            yield replace(tensor, packing=packing, order=order)


def open_tensor(container: Container, fitting: tuple[Match, ...], stated: Stated = UNSTATED) -> StoredTensor | str:
    """Return a weight ready to be read, or what is wrong with the shapes of its parts, or beside them.

    fitting: the stores that its names fit; where several do, the shapes of the parts tell, then bit 7 of the scales, which some stores
    use and others refuse.   stated: orders, for a weight whose own nothing else tells.
    Raises: FileError (a file of emu quantize whose blocks no store of a library has, or whose header contradicts it).
    """
    found = [(item, _opened(container, item, (), stated)) for item in fitting] if len(fitting) > 1 else []
    shaped = tuple(item for item, opened in found if not isinstance(opened, str))
    if found and not shaped:
        texts: dict[str, list[str]] = {}
        for item, opened in found:
            texts.setdefault(str(opened), []).append(item.store.id)
        return "; ".join(f"{text} ({', '.join(stores)})" for text, stores in texts.items())
    return _opened(container, *_told_by_flags(container, shaped or fitting), stated)


def _opened(container: Container, match: Match, others: tuple[str, ...], stated: Stated) -> StoredTensor | str:
    """Return a weight as one store holds it, or what is wrong with the shapes of its parts, or beside them."""
    check_described(container, match, unit_of(match.store))
    shape = _shape(match)
    if isinstance(shape, str):
        return shape
    beside = _contradicted(container, match)
    if beside is not None:
        return beside
    grid = grid_of(match.store, shape)
    tensor = tensor_level(match.store)
    if tensor is not None and match.parts[tensor.level].elements != 1:
        return f"{match.parts[tensor.level].name} has shape {list(match.parts[tensor.level].shape)}: one number was expected"
    if match.store.facts.record is not None:
        ahead = Order("row_major", None, "separated", "scales stand before their codes")
        return StoredTensor(container, match, shape, ahead, packing_of(match.store.facts.packing, (), None, None), others)
    wrong = _misshapen(match, shape)
    if wrong is not None:
        return wrong
    raw, facts, tiles = _raw_scales(container, match), match.store.facts, _declared_tiles(container, match)
    known = known_orders() if in_bytes(match.store) else ()
    order = order_of(raw, grid.rows, grid.columns, facts.scale_layouts, tiles, known, match.declared, stated.scale_layout)
    if isinstance(order, str):
        return order
    if order.layout != "row_major" and len(shape) > 2:
        return "scales of a stack of matrices in tiles: how the stack is tiled is not known"
    packing = packing_of(facts.packing, known_packings(stored_bits(match.store)), match.declared, stated.packing)
    return StoredTensor(container, match, shape, order, packing, others)


def _contradicted(container: Container, match: Match) -> str | None:
    """Return what else of the file says that its values are others than those read here, or None."""
    entries = [container.entries.get(match.module + suffix) for suffix in match.store.facts.zeros]
    set_ = next((entry for entry in entries if entry is not None and container.raw(entry).any()), None)
    if set_ is not None:
        return f"{set_.name} is not zero: the library subtracts it from the codes, here it is not read"
    keys, extent = match.store.facts.sides_key or (), scale_extent(block_of(match.store))
    words = (None, [*extent], "x".join(map(str, extent)))  # compressed-tensors reads 128x128 as [128, 128]
    said = [(name, found) for name, data in container.config.items() if keys for found in at(data, keys) if found not in words]
    if said:
        return f"{said[0][0]}: {'.'.join(keys)} = {said[0][1]}: {[*extent]} was expected"
    for name, data in container.config.items():
        for keys in match.store.facts.group_keys:
            for way in (within(match.store, keys, match.module), keys):
                found = [number for number in at(data, way) if number is not None]
                if found and extent.columns not in found:
                    return f"{name}: {'.'.join(way)} = {found[0]}: {extent.columns} was expected"
                if found:
                    break
    return None


def _told_by_flags(container: Container, fitting: tuple[Match, ...]) -> tuple[Match, tuple[str, ...]]:
    flagged = [item for item in fitting if item.store.facts.high_bit == "flag"]
    plain = [item for item in fitting if item.store.facts.high_bit != "flag"]
    if not flagged or not plain:
        return fitting[0], tuple(item.store.id for item in fitting[1:])
    raw = container.raw(next(entry for role, entry in flagged[0].parts.items() if role == "scale"))
    if bool((raw >> 7).any()):
        return flagged[0], ()
    return plain[0], tuple(item.store.id for item in (*plain[1:], *flagged))


def _shape(match: Match) -> tuple[int, ...] | str:
    """Return the shape of the weight, or what is wrong."""
    facts, columns = match.store.facts, block_of(match.store).facts.shape[1]
    entry = match.parts["record" if facts.record is not None else "codes"]
    shape = entry.shape
    if facts.codes is not None and facts.codes.grouped == "yes":
        if len(shape) < 2 or shape[-1] != bytes_of(match.store, columns):
            return f"{entry.name} has shape {list(shape)}: its last axis must be the {bytes_of(match.store, columns)} bytes of a block"
        shape = (*shape[:-2], shape[-2] * columns)
    elif facts.codes is not None and shape:
        elements, over = divmod(shape[-1] * WORDS[entry.dtype] * 8, stored_bits(match.store))
        if over:
            return f"{entry.name} has shape {list(shape)}: its last axis holds no whole number of codes of {stored_bits(match.store)} bits"
        shape = (*shape[:-1], elements)
    unit = unit_of(match.store)
    if not shape or 0 in shape or shape[-1] % unit:
        return f"{entry.name} has shape {list(entry.shape)}: rows of whole units of {unit} elements were expected"
    if facts.record is not None and entry.size != size_of_records(match.store, shape):
        return f"{entry.name} has {entry.size} bytes for shape {list(shape)}"
    return (1, *shape) if len(shape) == 1 else shape


def _misshapen(match: Match, shape: tuple[int, ...]) -> str | None:
    """Return what is wrong with the shape of scales that are not simply blocks of a row; None: nothing, or their count tells."""
    extent, grid = scale_extent(block_of(match.store)), grid_of(match.store, shape)
    entry = match.parts[next(item.level for item in match.store.facts.levels if item.meaning == "scale")]
    if extent.rows == 0:
        return None if entry.elements == 1 else f"{entry.name} has shape {list(entry.shape)}: one number was expected"
    if extent.rows == 1 and extent.columns:
        turned = len(shape) == 2 and grid.columns != shape[0] and entry.shape == (grid.columns, shape[0])
        return f"{entry.name} has shape {list(entry.shape)}, transposed: {[shape[0], grid.columns]} was expected" if turned else None
    stack = untiled(match.store, shape)
    if stack is not None:
        return stack
    wanted = (*shape[:-2], -(-shape[-2] // extent.rows), grid.columns)
    return None if entry.shape == wanted else f"{entry.name} has shape {list(entry.shape)}: {list(wanted)} was expected"


def _declared_tiles(container: Container, match: Match) -> bool | None:
    """Return what the header says of tiles, of this weight or of all; None when it says nothing. Raises: FileError (no true or false)."""
    key = match.store.facts.swizzle_key
    if key is None:
        return None
    about: Any = container.metadata.get(match.weight, container.metadata)
    inner = about.get("_data", {}) if isinstance(about, Mapping) else None
    where = f"{match.parts['codes'].path}: the header says of {match.weight}"
    if not isinstance(inner, Mapping):
        raise FileError(f"{where} no JSON object, in its entry or under _data there: is {key} true or false? write the file again")
    said = next((data[key] for data in (about, inner) if key in data), None)
    if said is not None and not isinstance(said, bool):
        raise FileError(f"{where} {key} = {str(said)[:40]!r}: true or false was expected")
    return said
