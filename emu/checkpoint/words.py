"""What a writer says beside the tensors, so that a library knows the files for its own: JSON files, and metadata of the header."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from emu.checkpoint.container import Entry
from emu.spec.models.checkpoint import Written, WrittenEntry

Sides = tuple[int, int]
PLAIN = {"format": "pt"}  # by which loaders of torch know a file


def metadata_of(written: Written, weights: Mapping[str, Sides], kept: Iterable[Entry]) -> dict[str, str]:
    """Return the metadata of each file of a checkpoint. weights: quantized tensors: name -> how many rows and columns share a scale.
    kept: the others.

    Every file has that of all: a loader that joins the metadata of the files takes one list of names for the whole model.
    """
    header = written.header
    if header is None:
        return PLAIN
    said = {name: json.dumps(_filled({}, header.weight, sides)) for name, sides in weights.items()}
    said |= dict.fromkeys((entry.name for entry in kept if "." in entry.name), json.dumps(_filled({}, header.other)))
    return PLAIN | said | {header.names: json.dumps(list(said))}


def words_of(written: Written, config: Mapping[str, Any], kept: Iterable[Entry]) -> dict[str, Any]:
    """Return the JSON files of a checkpoint: name -> data. config: those of the source, whose other entries stay.   kept: other tensors."""
    words: dict[str, Any] = {name: dict(data) for name, data in config.items() if isinstance(data, dict)}
    words.pop("hf_quant_config.json", None)  # it tells of the store that was
    if "config.json" in words:
        words["config.json"].pop("quantization_config", None)
        words["config.json"].pop("quantization", None)
    file = _filled(words.setdefault(str(written.file), {}), written.entries)
    if written.ignored is not None:
        _put(file, written.ignored, sorted(entry.name.removesuffix(".weight") for entry in kept if _is_linear(entry)))
    return words


def said_in_file(written: Written) -> dict[str, str | int]:
    """Return the words of metadata of a .gguf file."""
    return {item.keys[0]: item.word if item.word is not None else item.number or 0 for item in written.entries}


def _filled(data: dict[str, Any], entries: Iterable[WrittenEntry], sides: Sides = (0, 0)) -> dict[str, Any]:
    """Set entries of an object. Returns: it."""
    for item in entries:
        _put(data, item.keys, list(sides) if item.sides else _said(item))
    return data


def _put(data: dict[str, Any], keys: tuple[str, ...], value: object) -> None:
    """Set an entry of nested objects."""
    for key in keys[:-1]:
        data = data.setdefault(key, {})
    data[keys[-1]] = value


def _said(item: WrittenEntry) -> object:
    """Return what an entry says, as JSON has it."""
    if item.nothing is not None or item.empty is not None:
        return None if item.empty is None else {}
    if item.truth is not None:
        return item.truth == "yes"
    if item.numbers is not None:
        return list(item.numbers)
    return item.word if item.word is not None else item.number if item.number is not None else list(item.words or ())


def _is_linear(entry: Entry) -> bool:
    """Tell whether a tensor is the weight of a linear layer, as far as its name and shape show."""
    return entry.name.endswith(".weight") and len(entry.shape) == 2
