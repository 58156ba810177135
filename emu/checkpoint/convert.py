"""A checkpoint of one store written as another: the same codes and scales under other names, in another order, with another tensor factor.

Nothing is quantized again: where the other store cannot hold the same numbers, the conversion is refused. What was written is read back and
compared before it gets its name. Not here: which store a checkpoint is (store.py), how its tensors are read (read.py).
"""

from __future__ import annotations

import json
import math
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from emu.arrays.rows import pack_nibbles
from emu.base.errors import FileError, SpecError
from emu.checkpoint.container import Container, Entry, open_checkpoint
from emu.checkpoint.described import bytes_fault, left_out
from emu.checkpoint.read import StoredTensor, block_of, codes_in, open_tensor, scale_format
from emu.checkpoint.store import companions, matches
from emu.engines.exact.convert import convert_value
from emu.engines.exact.decode import decode_code
from emu.engines.exact.value import finite
from emu.files.writers import Planned, write_planned
from emu.spec import derive, get, names
from emu.spec.models import Block, Checkpoint, Format
from emu.spec.models.checkpoint import StoredLevel, Written, WrittenEntry

SHARD_BYTES: Final = 5_000_000_000  # of one file, where it holds more than one tensor


@dataclass
class Converted:
    """What was converted.

    out: the new folder.   store: its store.   weights: names of the converted weights.   kept: of the other tensors, copied byte for byte.
    rounded: weight -> its tensor factor as stored before and after, where the new one is not exactly the same number.
    dropped: tensors beside weights for which the other store has no known place.   absent: tensors of the model that no file here holds.
    """

    out: Path
    store: str
    weights: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    rounded: dict[str, tuple[str, str]] = field(default_factory=dict)
    dropped: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)

    @property
    def lossless(self) -> bool:
        """Does every weight stand for exactly the same numbers?"""
        return not self.rounded


def convert_checkpoint(
    source: str | Path,
    to: str,
    out: str | Path,
    round_factor: bool = False,
    progress: Callable[[str], None] = lambda name: None,
    rest: str | Path | None = None,
) -> Converted:
    """Write a quantized checkpoint as another store, losslessly.

    source: a .safetensors or .gguf file, a folder of them, or an index.   to: id or alias of a store (emu list checkpoints).
    out: a new folder; it appears whole, after what was written was read back and compared, or not at all.
    round_factor: a tensor factor that the other store can only hold rounded (a reciprocal, say) is rounded to nearest even; else it is an
    error.   progress: takes the name of each weight.
    rest: the model before quantization: the tensors that source does not hold are copied from it, and its config.json. A file of
    emu quantize holds the quantized tensors alone.
    Codes and block scales stay as they are, other tensors are copied byte for byte. Tensors that belong to a weight and are no part of it
    (scales of activations) are left out and listed.
    Raises: FileError (not a checkpoint, no weight of a known store, damaged, out exists, numbers that the other store cannot hold),
    SpecError (unknown store, one that nobody knows how to write).   Source: spec/checkpoint.
    Tests: tests/checkpoint/test_checkpoint_convert.py.
    """
    store: Checkpoint = get("checkpoint", to)
    if store.facts.write is None:
        raise SpecError(
            f"checkpoint/{store.id}: what its library wants beside the tensors is not known: convert to {', '.join(_writable())}"
        )
    target = Path(out)
    if os.path.lexists(target):
        raise FileError(f"{target}: exists already: name a new folder")
    if not target.absolute().parent.is_dir():
        raise FileError(f"{target}: no such folder {target.absolute().parent}: make it first")
    container = open_checkpoint(source)
    plan = _Plan(container, store, store.facts.write, round_factor, None if rest is None else open_checkpoint(rest))
    weights, kept = [tensor.name for tensor in plan.tensors], [entry.name for entry in plan.kept]
    done = Converted(target, store.id, weights, kept, plan.rounded, plan.dropped, plan.absent)
    work = Path(tempfile.mkdtemp(prefix=f".{target.name[:80]}.", dir=target.absolute().parent))
    try:
        folder = work / "new"
        folder.mkdir()
        plan.write(folder, progress)
        plan.read_back(folder)
        os.rename(folder, target)
    except OSError as error:
        raise FileError(f"{target}: cannot write: {error.strerror or error}: nothing was left there") from None
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return done


def _writable() -> Iterator[str]:
    """Yield the stores that can be written."""
    for name in names("checkpoint"):
        store: Checkpoint = get("checkpoint", name)
        if store.facts.write is not None:
            yield name


class _Plan:
    """What goes where, decided before a byte is written. Raises: FileError for what the other store cannot hold."""

    def __init__(self, container: Container, store: Checkpoint, write: Written, round_factor: bool, rest: Container | None) -> None:
        self.container, self.store, self.written = container, store, write
        self.block = block_of(store)
        found = matches(container)
        if not found:
            raise FileError(f"{container.path}: holds no 4-bit weight of a known store: nothing to convert")
        self.tensors: list[StoredTensor] = []
        for fitting in found:
            opened = open_tensor(container, fitting)
            if isinstance(opened, str):
                raise FileError(f"{container.path}: {fitting[0].weight}: {opened}")
            fault = bytes_fault(container, opened.match)
            if fault is not None:
                raise FileError(f"{container.path}: {opened.name}: {fault}: quantize again")
            self.tensors.append(opened)
        chosen = [tensor.match for tensor in self.tensors]
        belonging = companions(container, chosen)
        parts = {entry.name for match in chosen for entry in match.parts.values()}
        self.dropped = sorted(belonging - parts)
        self.kept = [entry for name, entry in container.entries.items() if name not in belonging]
        if container.kind != "safetensors" and self.kept:
            raise FileError(
                f"{container.path}: {self.kept[0].name} is no 4-bit weight: tensors of a .{container.kind} file are not copied yet"
            )
        self.config: dict[str, Any] = {**(rest.config if rest else {}), **container.config}
        self._complete(rest)
        self.rounded: dict[str, tuple[str, str]] = {}
        self.factors = {tensor.name: self._factor(tensor, round_factor) for tensor in self.tensors}
        for tensor in self.tensors:
            self._check(tensor)

    def _complete(self, rest: Container | None) -> None:
        """Take what the source lacks from the model before quantization; list what nobody holds."""
        have = {_module(tensor.name) for tensor in self.tensors} | {_module(entry.name) for entry in self.kept}
        lacking = {name for tensor in self.tensors for name in left_out(self.container, tensor.match)}
        if rest is not None:
            if rest.kind != "safetensors" or matches(rest):
                raise FileError(f"{rest.path}: is not the model before quantization (.safetensors without 4-bit weights)")
            self.kept += [entry for name, entry in rest.entries.items() if _module(name) not in have]
            missing = sorted(lacking - set(rest.entries))
            if missing:
                raise FileError(f"{rest.path}: lacks {missing[0]}, which {self.container.path} leaves out: give its model")
            lacking = set()
        self.absent = sorted(lacking)

    def _check(self, tensor: StoredTensor) -> None:
        """Refuse a weight whose codes or scales mean something else in the other store."""
        mine, other = tensor.block, self.block
        same = (mine.facts.shape, mine.element_formats, tensor.scale_format) == (
            other.facts.shape,
            other.element_formats,
            scale_format(self.store),
        )
        if not same:
            raise self._cannot(tensor, f"blocks of {mine.id} are no blocks of {other.id}: quantize the original again (emu quantize)")
        rules = (tensor.store.facts.nan_scale, self.store.facts.nan_scale)
        for rows in tensor.chunks():
            if rows.flags.any() and self.store.facts.high_bit != tensor.store.facts.high_bit:
                raise self._cannot(tensor, f"bit {derive.codes(tensor.scale_format).bits} of a scale is set in row {rows.first} or below")
            asked = rules[0] != rules[1] or "refused" in rules
            nan = [code for code in range(256) if asked and derive.is_nan_code(code, tensor.scale_format)]
            if nan and np.isin(rows.scales, nan).any():
                raise self._cannot(
                    tensor, f"a scale is a NaN code in row {rows.first} or below: {rules[0]} there, {rules[1]} in {self.store.id}"
                )

    def _cannot(self, tensor: StoredTensor, why: str) -> FileError:
        return FileError(f"{self.container.path}: {tensor.name}: {self.store.id} cannot hold it: {why}")

    def _factor(self, tensor: StoredTensor, round_factor: bool) -> int | None:
        """Return binary32 bits of the tensor factor as the other store wants it; None where it has none."""
        value, level = factor_of(tensor), _tensor_level(self.store)
        if level is None:
            if value != 1:
                raise self._cannot(tensor, "it has no tensor factor, and this weight has one that is not 1")
            return None
        meaning = level.meaning
        if meaning == "divisor" and value == 0:
            raise self._cannot(tensor, "its tensor factor is a divisor, and this one is zero")
        wanted = 1 / value if meaning == "divisor" else value
        wanted = wanted / derive.parse_exact(self.block.facts.factor) if meaning == "amax" else wanted
        fp32: Format = get("format", "fp32")
        bits = convert_value(finite(wanted), fp32, get("rounding", "rne"), derive.arithmetic_entry(fp32))
        back = decode_code(bits, fp32)
        if back.kind != "finite" or (back.magnitude == 0) != (wanted == 0):
            raise self._cannot(tensor, f"its tensor factor as a {meaning} is out of the range of binary32")
        if back.signed != wanted:
            if not round_factor:
                raise self._cannot(
                    tensor, f"its tensor factor as a {meaning} is no binary32 number: --round-factor takes the nearest one, values change"
                )
            self.rounded[tensor.name] = (f"{tensor.tensor_bits or 0:08X}", f"{bits:08X}")
        return bits

    def write(self, folder: Path, progress: Callable[[str], None]) -> None:
        """Write the tensor files, an index where there are several, and the JSON files."""
        planned = [item for tensor in self.tensors for item in self._planned(tensor, progress)]
        planned += [Planned(entry.name, entry.dtype, entry.shape, entry.size, self._raw(entry)) for entry in self.kept]
        shards = _sharded(planned)
        names = (
            ["model.safetensors"]
            if len(shards) == 1
            else [f"model-{i:05d}-of-{len(shards):05d}.safetensors" for i in range(1, len(shards) + 1)]
        )
        for name, items in zip(names, shards, strict=True):
            write_planned(folder / name, items, {"format": "pt"})
        if len(names) > 1:
            where = {item.name: name for name, items in zip(names, shards, strict=True) for item in items}
            index = {"metadata": {"total_size": sum(item.size for item in planned)}, "weight_map": where}
            (folder / "model.safetensors.index.json").write_text(json.dumps(index, indent=1), encoding="utf-8")
        self._write_words(folder)

    def _planned(self, tensor: StoredTensor, progress: Callable[[str], None]) -> Iterator[Planned]:
        """Yield the parts of one weight in the other store. Its codes and scales are read anew for each, some rows at a time."""
        facts, shape, columns = self.store.facts, tensor.shape, self.block.facts.shape[1]
        assert facts.codes is not None
        module = _module(tensor.name)
        blocks = shape[-1] // columns
        word = facts.codes.dtypes[0]
        size, grouped = math.prod(shape) // 2, facts.codes.grouped == "yes"
        codes_shape = (*shape[:-1], blocks, columns // 2) if grouped else (*shape[:-1], shape[-1] // codes_in(word))

        def codes() -> Iterator[NDArray[np.uint8]]:
            progress(tensor.name)
            for rows in tensor.chunks():
                yield pack_nibbles(rows.codes).astype(np.uint8, copy=False)

        def scales() -> Iterator[NDArray[np.uint8]]:
            bits = derive.codes(tensor.scale_format).bits
            for rows in tensor.chunks():
                yield rows.scales if bits == 8 else (rows.scales | rows.flags << bits).astype(np.uint8)

        yield Planned(module + facts.codes.suffixes[0], word, codes_shape, size, codes)
        for level in facts.levels:
            name, word = module + level.suffixes[0], level.dtypes[0]
            if level.meaning == "scale":
                yield Planned(name, word, (*shape[:-1], blocks), math.prod(shape[:-1]) * blocks, scales)
            else:
                number = np.array([self.factors[tensor.name]], "<u4").view(np.uint8)
                yield Planned(name, word, (1,) if self.written.factor_shape == "vector" else (), 4, partial(iter, [number]))

    def _raw(self, entry: Entry) -> Callable[[], Iterator[NDArray[np.uint8]]]:
        return lambda: iter([self.container.raw(entry)])

    def _write_words(self, folder: Path) -> None:
        """Write the JSON file by which the library knows the store, and what else the source says in such files."""
        words: dict[str, Any] = {name: dict(data) for name, data in self.config.items() if isinstance(data, dict)}
        words.pop("hf_quant_config.json", None)  # it tells of the store that was
        if "config.json" in words:
            words["config.json"].pop("quantization_config", None)
            words["config.json"].pop("quantization", None)
        file = words.setdefault(self.written.file, {})
        for item in self.written.entries:
            _put(file, item.keys, _said(item))
        if self.written.ignored is not None:
            _put(file, self.written.ignored, sorted(entry.name.removesuffix(".weight") for entry in self.kept if _is_linear(entry)))
        for name, data in sorted(words.items()):
            (folder / name).write_text(json.dumps(data, indent=1), encoding="utf-8")

    def read_back(self, folder: Path) -> None:
        """Compare what was written with the source, code by code. Raises: FileError (the disk, or a fault of emu)."""
        new = open_checkpoint(folder)
        fitting = [tuple(item for item in some if item.store.id == self.store.id) for some in matches(new)]
        found = {_module(items[0].weight): open_tensor(new, items) for items in fitting if items}
        for tensor in self.tensors:
            other = found.get(_module(tensor.name))
            if not isinstance(other, StoredTensor) or other.shape != tensor.shape or other.tensor_bits != self.factors[tensor.name]:
                raise FileError(f"{folder}: {tensor.name} does not come back as it was written: please report this")
            for mine, theirs in zip(tensor.chunks(), other.chunks(), strict=True):
                pairs = ((mine.codes, theirs.codes), (mine.scales, theirs.scales), (mine.flags, theirs.flags))
                if not all(np.array_equal(one, two) for one, two in pairs):
                    raise FileError(f"{folder}: {tensor.name} does not come back as it was written: please report this")
        for entry in self.kept:
            copy = new.entries[entry.name]
            if (copy.dtype, copy.shape) != (entry.dtype, entry.shape) or not np.array_equal(new.raw(copy), self.container.raw(entry)):
                raise FileError(f"{folder}: {entry.name} does not come back as it was written: please report this")


def factor_of(tensor: StoredTensor) -> Fraction:
    """Return what the scales of a weight are multiplied by, exactly. Raises: FileError (NaN, Inf, negative, or zero where it divides)."""
    bits, level = tensor.tensor_bits, _tensor_level(tensor.store)
    if bits is None or level is None:
        return Fraction(1)
    value = decode_code(bits, get("format", "fp32"))
    if value.kind != "finite" or value.sign or (level.meaning == "divisor" and not value.magnitude):
        raise FileError(f"{tensor.container.path}: {tensor.name}: its tensor factor 0x{bits:08X} is no positive number")
    if level.meaning == "divisor":
        return 1 / value.magnitude
    block: Block = tensor.block
    return value.magnitude * derive.parse_exact(block.facts.factor) if level.meaning == "amax" else value.magnitude


def _tensor_level(store: Checkpoint) -> StoredLevel | None:
    """Return the level of a store that holds one number of the whole tensor."""
    return next((item for item in store.facts.levels if item.meaning != "scale"), None)


def _module(weight: str) -> str:
    """Return the name of a layer: some stores name the weight in a plain file with .weight, some without."""
    return weight.removesuffix(".weight")


def _sharded(planned: list[Planned]) -> list[list[Planned]]:
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


def _put(data: dict[str, Any], keys: tuple[str, ...], value: object) -> None:
    """Set an entry of nested objects."""
    for key in keys[:-1]:
        data = data.setdefault(key, {})
    data[keys[-1]] = value


def _said(item: WrittenEntry) -> object:
    """Return what an entry says, as JSON has it."""
    if item.truth is not None:
        return item.truth == "yes"
    return item.word if item.word is not None else item.number if item.number is not None else list(item.words or ())


def _is_linear(entry: Entry) -> bool:
    """Tell whether a tensor is the weight of a linear layer, as far as its name and shape show."""
    return entry.name.endswith(".weight") and len(entry.shape) == 2
