"""What the header of a file of emu quantize says of a weight: the axis of its blocks, its padding, whether its bytes are whole.

Not here: the header itself (emu.files.stored), the names of its tensors (spec/checkpoint).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np

from emu.base.errors import FileError
from emu.checkpoint.container import Container, Entry
from emu.checkpoint.facts import bytes_of
from emu.checkpoint.store import Match
from emu.files.stored import StoredTensor, check_version, recipe_of, sha256_fault, tensor_of, whole_metadata
from emu.ops.quantized import checksum
from emu.spec.models import Recipe

WORDS: Final = {"U8": "u1", "U16": "<u2", "U32": "<u4"}  # types that such a file has
NAMELESS: Final = "array"  # what a tensor without a name is called


def check_described(container: Container, match: Match, columns: int) -> None:
    """Refuse a weight of emu quantize that is not stored as libraries store theirs: whole blocks of the last axis, nothing padded.

    columns: elements of a block.   Does nothing for a store whose files do not describe their weights.
    Raises: FileError (another axis, rows that end inside a block, a header that contradicts the tensors, other facts of the recipe).
    """
    about = described(container, match)
    if about is None:
        return
    entry, axes = match.parts["codes"], len(about.shape)
    if about.axis % axes != axes - 1:
        raise _refused(
            entry, match, f"its blocks lie along axis {about.axis}, not along the last one as in other stores: quantize with --axis -1"
        )
    if about.shape[-1] % columns or about.codes_shape != about.shape:
        held = f"padded to {about.codes_shape[-1]}" if about.codes_shape != about.shape else f"no multiple of {columns}"
        raise _refused(entry, match, f"its rows of {about.shape[-1]} elements are {held}, and other stores have no place for that")
    if entry.shape != (*about.shape[:-1], bytes_of(match.store, about.shape[-1])):
        raise _refused(entry, match, f"codes of shape {list(entry.shape)} for a tensor of {list(about.shape)}: quantize again")


def bytes_fault(container: Container, match: Match) -> str | None:
    """Return what is wrong with the bytes of a weight by the checksum in its header; None: nothing, or there is none."""
    found = _described(container, match)
    return None if found is None else _fault(container, match.parts, *found)


def _fault(container: Container, parts: Mapping[str, Entry], about: StoredTensor, recipe: Recipe) -> str | None:
    arrays = {role: container.raw(entry).view(WORDS[entry.dtype]).reshape(entry.shape) for role, entry in parts.items()}
    arrays = {role: array.astype(np.dtype(array.dtype.str).newbyteorder("="), copy=False) for role, array in arrays.items()}
    fault = sha256_fault(checksum(arrays.pop("codes"), arrays), about, recipe)
    return None if fault is None else f"{fault} are not those that emu quantize wrote: damaged"


class Elsewhere(NamedTuple):
    """A tensor of emu quantize whose blocks no store has. fault: what its checksum says of its bytes."""

    name: str
    block: str
    recipe: str
    parts: tuple[str, ...]
    fault: str | None


def elsewhere(container: Container, found: Iterable[Match]) -> Iterator[Elsewhere]:
    """Yield the tensors that a header of emu quantize describes beside the weights that were found.

    Raises: FileError (damaged metadata, a part that is missing), SpecError (unknown recipe).
    """
    matched = list(found)
    named = {match.module for match in matched}
    for key in {match.store.facts.described_by for match in matched} - {None}:
        header = container.metadata[str(key)]
        path = next(match.parts["codes"].path for match in matched if match.store.facts.described_by == key)
        check_version(path, header)
        for name in header["tensors"]:
            module = name or NAMELESS
            if module not in named:
                yield _elsewhere(container, path, header, name, module)


def _elsewhere(container: Container, path: Path, header: Mapping[str, Any], name: str, module: str) -> Elsewhere:
    with whole_metadata(f"{path}: {module}"):
        about = tensor_of(header["tensors"][name], header)
        recipe = recipe_of(path, header, about.recipe)
        names = {"codes": f"{module}.codes"} | {level: f"{module}.level.{level}" for level in about.levels}
        missing = next((part for part in names.values() if part not in container.entries), None)
        if missing is not None:
            raise FileError(f"{path}: {missing} is missing: quantize again")
        fault = _fault(container, {role: container.entries[part] for role, part in names.items()}, about, recipe)
    return Elsewhere(module, recipe.facts.block, recipe.id, tuple(names.values()), fault)


def left_out(container: Container, match: Match) -> tuple[str, ...]:
    """Return the names of the tensors of the model that the file of a weight does not hold."""
    key = match.store.facts.described_by
    found: object = container.metadata[key].get("skipped") if key else None
    return tuple(sorted(map(str, found))) if isinstance(found, dict) else ()


def described(container: Container, match: Match) -> StoredTensor | None:
    """Return what the header says of a weight; None where files of its store say nothing. Raises: FileError, SpecError (unknown recipe)."""
    found = _described(container, match)
    return None if found is None else found[0]


def _described(container: Container, match: Match) -> tuple[StoredTensor, Recipe] | None:
    """Return what the header says of a weight, and the recipe that wrote it."""
    key = match.store.facts.described_by
    if key is None:
        return None
    entry, header = match.parts["codes"], container.metadata[key]
    check_version(entry.path, header)
    with whole_metadata(f"{entry.path}: {match.weight}"):
        said = tensor_of(_entry(header, match.module, entry.path), header)
        recipe = recipe_of(entry.path, header, said.recipe)
        if recipe.facts.block not in match.store.facts.blocks:
            raise ValueError("the block is another one")
        return said, recipe


def _entry(header: Mapping[str, Any], module: str, path: Path) -> Mapping[str, Any]:
    tensors: Mapping[str, Any] = header["tensors"]
    name = "" if module == NAMELESS and module not in tensors else module
    if name not in tensors:
        raise FileError(f"{path}: {module}: the header that was read says nothing of it: name one file of emu quantize, not several")
    found: Mapping[str, Any] = tensors[name]
    return found


def _refused(entry: Entry, match: Match, why: str) -> FileError:
    return FileError(f"{entry.path}: {match.weight}: {why}")
