"""Opening the files of a checkpoint: names, types and shapes at once, bytes only where they are looked at.

Not here: what the tensors mean (store.py).
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from emu.base.errors import FileError
from emu.base.inputs import check_regular, parse_json, read_json
from emu.files.gguf import read_gguf

CONFIGS = ("config.json", "hf_quant_config.json")
SAID = 1 << 16  # bytes of a tensor that is read as JSON at most
FORMATS = {"F32": ("fp32", "<u4"), "BF16": ("bf16", "<u2"), "F16": ("fp16", "<u2")}  # types that hold numbers as they are


class Entry(NamedTuple):
    """One tensor of a file. dtype: the file's own word.   shape: slowest axis first, in elements."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    path: Path
    start: int
    size: int

    @property
    def elements(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class Container:
    """The files of a checkpoint.

    kind: safetensors or gguf.   entries: name -> Entry.   metadata: of the headers, JSON texts parsed.   config: JSON files beside them.
    """

    path: Path
    kind: str
    entries: Mapping[str, Entry]
    metadata: Mapping[str, Any] = field(default_factory=dict)
    config: Mapping[str, Any] = field(default_factory=dict)

    def raw(self, entry: Entry) -> NDArray[np.uint8]:
        """Return the bytes of a tensor as a read-only view of the file. uint8 [size]."""
        if entry.size == 0:
            return np.zeros(0, np.uint8)
        return np.memmap(entry.path, np.uint8, "r", entry.start, (entry.size,)).view(np.ndarray)

    def said(self, entry: Entry) -> Any:
        """Return the JSON that the bytes of a tensor are; None where they are none, or too many."""
        try:
            return parse_json(self.raw(entry).tobytes()) if entry.size <= SAID else None
        except ValueError:
            return None


def open_checkpoint(path: str | Path) -> Container:
    """Open a .safetensors or .gguf file, an index of several, or a folder that holds them. Only headers are read.

    Raises: FileError (missing, truncated, foreign, a name twice, an index that leaves its folder).
    """
    root = Path(path)
    files, placed = files_of(root)
    kind = files[0].suffix.removeprefix(".")
    entries: dict[str, Entry] = {}
    metadata: dict[str, Any] = {}
    for file in files:
        found, said = (_safetensors if kind == "safetensors" else _gguf)(file)
        for entry in found:
            if entry.name in entries:
                raise FileError(f"{file}: tensor {entry.name} is in {entries[entry.name].path.name} too: name one file")
            entries[entry.name] = entry
        metadata |= said
    for name, file in placed.items():
        if name not in entries or entries[name].path != file:
            raise FileError(f"{root}: the index says that {name} is in {file.name}, which does not hold it: fetch the files again")
    folder = root if root.is_dir() else root.parent
    config = {name: _json(folder / name) for name in CONFIGS if (folder / name).is_file()}
    return Container(root, kind, entries, metadata, config)


def _json(path: Path) -> Any:
    try:
        return read_json(path)
    except (OSError, ValueError) as error:
        raise FileError(f"{path}: cannot read as JSON: {error}") from None


def _safetensors(path: Path) -> tuple[list[Entry], dict[str, Any]]:
    """Read a header; the library checks it against the file first, so that places may be trusted."""
    try:
        check_regular(path)
        with safe_open(str(path), framework="numpy") as file:
            said = dict(file.metadata() or {})
        with path.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            header = parse_json(stream.read(length), once=True)
    except (OSError, SafetensorError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise FileError(f"{path}: cannot read as .safetensors (truncated or foreign): {why}") from None
    entries = []
    for name, about in header.items():
        if name != "__metadata__":
            start, end = about["data_offsets"]
            entries.append(Entry(name, about["dtype"], tuple(about["shape"]), path, 8 + length + start, end - start))
    return entries, {key: _parsed(text) for key, text in said.items()}


def _parsed(text: str) -> Any:
    """Return a text of the metadata as what it holds as JSON, or as it is."""
    try:
        return parse_json(text)
    except ValueError:
        return text


def _gguf(path: Path) -> tuple[list[Entry], dict[str, Any]]:
    return [Entry(item.name, item.type, item.shape, path, item.start, item.size) for item in read_gguf(path)], {}


# Which files make up a checkpoint: one file, a folder, or an index that names them. An index never leads out of its folder.


SUFFIXES = (".safetensors", ".gguf")
INDEX = ".safetensors.index.json"


def files_of(root: Path) -> tuple[list[Path], dict[str, Path]]:
    """Return the tensor files of a checkpoint, and where an index places each tensor ({} without one).

    Raises: FileError (missing, nothing there, kinds mixed, a bad index).
    """
    if not root.exists():
        raise FileError(f"{root}: no such file or folder")
    if root.is_dir():
        indexes = sorted(root.glob(f"*{INDEX}"))
        if len(indexes) > 1:
            raise FileError(f"{root}: holds {len(indexes)} indexes: name one of them")
        if indexes:
            return _indexed(indexes[0])
        for suffix in SUFFIXES:
            found = sorted(root.glob(f"*{suffix}"))
            if found:
                return found, {}
        raise FileError(f"{root}: a folder without {' or '.join(SUFFIXES)} files")
    if root.name.endswith(INDEX):
        return _indexed(root)
    if root.suffix not in SUFFIXES:
        raise FileError(f"{root}: is no checkpoint: give {', '.join(SUFFIXES)}, *{INDEX} or a folder")
    return [root], {}


def _indexed(path: Path) -> tuple[list[Path], dict[str, Path]]:
    placed = _placed(path)
    if not placed:
        raise FileError(f"{path}: names no tensor")
    found = {name: _beside(path, file) for name, file in placed.items()}
    return sorted(set(found.values())), found


def placed_beside(path: Path, name: str) -> str | None:
    """Return the file in which an index beside a file places a tensor that the file lacks; None where no index names it."""
    for index in sorted(path.parent.glob(f"*{INDEX}")) if path.is_file() else ():
        with contextlib.suppress(FileError):
            file = _placed(index).get(name)
            if file is not None and file != path.name:
                return str(file)[:80]
    return None


def _placed(path: Path) -> dict[str, Any]:
    """Return the map of an index: name of a tensor -> what stands for its file. Raises: FileError."""
    try:
        return {str(name): file for name, file in read_json(path)["weight_map"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise FileError(f"{path}: is no index of tensors (weight_map: name -> file): {type(error).__name__}") from None


def _beside(index: Path, name: object) -> Path:
    """Return a file beside an index. Raises: FileError for any name that is no plain file name, and for a missing file."""
    if not isinstance(name, str) or name in ("", ".", "..") or PurePosixPath(name).name != name or PureWindowsPath(name).name != name:
        raise FileError(f"{index}: {name!r} is no plain file name: an index names files of its own folder")
    if Path(name).suffix != ".safetensors":
        raise FileError(f"{index}: {name!r} is no .safetensors file")
    file = index.parent / name
    if not file.is_file():
        raise FileError(f"{index}: names {name}, which is not there: fetch it")
    return file
