"""The files of a store: the tensors of each weight under its names and in its packing, shards with an index, the JSON files beside them.

Not here: what a store can hold (hold.py), in which words the JSON files say it (words.py).
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from emu.arrays.rows import pack_codes, pack_halves
from emu.checkpoint.container import Container, Entry
from emu.checkpoint.facts import block_of, bytes_of, grid_of, scale_extent, size_of_records, stored_bits, unit_of
from emu.checkpoint.read import StoredTensor, scale_bytes
from emu.checkpoint.refit import Refitted
from emu.checkpoint.requantize import Requantized
from emu.checkpoint.rescaled import Rescaled
from emu.checkpoint.words import metadata_of, said_in_file, words_of
from emu.files.gguf import write_gguf
from emu.files.writers import Planned, write_planned
from emu.spec.models import Checkpoint
from emu.spec.models.checkpoint import WORDS, Record, Written

SHARD_BYTES: Final = 5_000_000_000  # of one file, where it holds more than one tensor
PART: Final = 1 << 20  # bytes of scales that are read at once
ONE: Final = {"scalar": (), "vector": (1,), "matrix": (1, 1)}  # shape of the one number of a tensor
Weight = StoredTensor | Requantized | Rescaled | Refitted


def module_of(weight: str) -> str:
    """Return the name of a layer: some stores name the weight in a plain file with .weight, some without."""
    return weight.removesuffix(".weight")


def write_store(
    folder: Path,
    store: Checkpoint,
    written: Written,
    weights: Mapping[str, tuple[int, ...]],
    planned: Sequence[Planned],
    kept: Sequence[Entry],
    config: Mapping[str, Any],
) -> None:
    """Write the tensor files of a store, an index where there are several, and the JSON files.

    written: its facts of writing.   weights: the quantized ones: name -> shape.   planned: all tensors, in their order.   kept: the others.
    config: JSON files of the source.   Raises: FileError (as emu.files.writers).
    """
    record = store.facts.record
    if record is not None:
        write_gguf(folder / "model.gguf", planned, said_in_file(written), {record.type: record.number})
        return
    shards = _sharded(planned)
    count = len(shards)
    names = ["model.safetensors"] if count == 1 else [f"model-{i:05d}-of-{count:05d}.safetensors" for i in range(1, count + 1)]
    sides = {module_of(name) + store.facts.weights[0]: grid_of(store, shape)[:2] for name, shape in weights.items()}
    metadata = metadata_of(written, sides, kept)
    for name, items in zip(names, shards, strict=True):
        write_planned(folder / name, items, metadata)
    if count > 1:
        where = {item.name: name for name, items in zip(names, shards, strict=True) for item in items}
        index = {"metadata": {"total_size": sum(item.size for item in planned)}, "weight_map": where}
        (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=1), encoding="utf-8")
    for name, data in sorted(words_of(written, config, kept).items()):
        (folder / name).write_text(json.dumps(data, indent=1), encoding="utf-8")


def planned_weight(
    tensor: Weight, store: Checkpoint, written: Written, factor: int | None, folder: Path, progress: Callable[[str], None]
) -> Iterator[Planned]:
    """Yield the tensors of one weight in another store. It is read once, some rows in memory at a time; scales wait on the disk meanwhile.

    factor: binary32 bits of its tensor factor there; None where the store has none.   folder: where the scales wait.
    progress: takes its name when its codes are written.
    """
    facts, module, grid = store.facts, module_of(tensor.name), grid_of(store, tensor.shape)
    waiting = folder / "scales.part"

    def codes() -> Iterator[NDArray[np.uint8]]:
        progress(tensor.name)
        with waiting.open("wb") as stream:
            for rows in tensor.chunks():
                stream.write(np.ascontiguousarray(scale_bytes(rows, tensor.scale_format, grid.tall)).data)
                yield pack_codes(rows.codes, stored_bits(store))

    def scales() -> Iterator[NDArray[np.uint8]]:
        with waiting.open("rb") as stream:
            while part := stream.read(PART):
                yield np.frombuffer(part, np.uint8)
        waiting.unlink()

    def number(name: str, word: str) -> Planned:
        data = np.array([factor], "<u4").view(np.uint8)
        return Planned(name, word, ONE[written.factor_shape], data.size, partial(iter, [data]))

    if facts.record is not None:
        yield _records(tensor, store, module + (facts.record.suffix or ".weight"), facts.record, progress)
        yield from (number(module + level.suffixes[0], level.dtypes[0]) for level in facts.levels)
        return
    assert facts.codes is not None
    word, columns = facts.codes.dtypes[0], unit_of(store)
    *lead, length = tensor.shape
    grouped = (length // columns, bytes_of(store, columns))
    last = grouped if facts.codes.grouped == "yes" else (bytes_of(store, length) // WORDS[word],)
    yield Planned(module + facts.codes.suffixes[0], word, (*lead, *last), bytes_of(store, math.prod(tensor.shape)), codes)
    for level in facts.levels:
        name, word = module + level.suffixes[0], level.dtypes[0]
        if level.meaning == "scale":
            down = -(-tensor.shape[-2] // (scale_extent(block_of(store)).rows or 1))
            shape = (*lead[:-1], down, grid.columns) if scale_extent(block_of(store)).rows else ONE[written.factor_shape]
            yield Planned(name, word, shape, math.prod(shape) * WORDS[word], scales)
        else:
            yield number(name, word)


def _records(tensor: Weight, store: Checkpoint, name: str, record: Record, progress: Callable[[str], None]) -> Planned:
    """Return codes and scales side by side: of each unit first the scales, then the codes by halves of a block."""
    columns = block_of(store).facts.shape[1]
    scales, half = record.elements // columns, columns // 2

    def units() -> Iterator[NDArray[np.uint8]]:
        progress(tensor.name)
        for rows in tensor.chunks():
            units = (len(rows.codes), tensor.shape[-1] // record.elements)
            packed = pack_halves(rows.codes.reshape(*units, scales, columns)).reshape(*units, scales * half)
            yield np.concatenate([scale_bytes(rows, tensor.scale_format).reshape(*units, scales), packed], -1)

    return Planned(name, record.type, tensor.shape, size_of_records(store, tensor.shape), units)


def copied(container: Container, entry: Entry) -> Planned:
    """Return a tensor that stays as it is."""
    return Planned(entry.name, entry.dtype, entry.shape, entry.size, lambda: iter([container.raw(entry)]))


def _sharded(planned: Sequence[Planned]) -> list[list[Planned]]:
    """Return the tensors of each file: in their order, a new file where one would grow too large."""
    shards: list[list[Planned]] = [[]]
    size = 0
    for item in planned:
        if shards[-1] and size + item.size > SHARD_BYTES:
            shards.append([])
            size = 0
        shards[-1].append(item)
        size += item.size
    return shards
