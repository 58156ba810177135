"""Streaming writers of .npy, .npz and .safetensors: one tensor in memory at a time, the file whole or not at all."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from emu.base.atomic import whole_file
from emu.base.errors import FileError
from emu.files.tensors import SUFFIXES

_FLOATS = {"float64": "F64", "float32": "F32", "float16": "F16", "bfloat16": "BF16"}
_NARROW = {"float8_e4m3fn": "F8_E4M3", "float8_e5m2": "F8_E5M2", "float8_e8m0fnu": "F8_E8M0", "bool": "BOOL"}
_WORDS = {**_FLOATS, **_NARROW, **{f"{word}{bits}": f"{word[0].upper()}{bits}" for word in ("uint", "int") for bits in (8, 16, 32, 64)}}
_ALIGN = 8
_EPOCH = (1980, 1, 1, 0, 0, 0)


class TensorWriter(Protocol):
    """An open output file."""

    def put(self, name: str, array: NDArray[Any]) -> None:
        """Append one tensor. Raises: FileError (a name twice, a dtype the file kind cannot hold, more than one tensor for .npy)."""


@contextlib.contextmanager
def tensor_writer(path: str | Path, force: bool = False, metadata: Mapping[str, str] | None = None) -> Iterator[TensorWriter]:
    """Open a new tensor file by its suffix; it appears when the block ends without an error.

    metadata: text values for .safetensors; read when the block ends, so it may grow until then.
    Raises: FileError (suffix, exists without force, cannot be written).   Tests: tests/files/test_files_writers.py.
    """
    target = Path(path)
    if target.suffix not in SUFFIXES:
        raise FileError(f"{target}: the suffix must be one of {', '.join(SUFFIXES)}")
    with whole_file(target, force) as stream:
        if target.suffix == ".npy":
            single = _NpyWriter(stream, target)
            yield single
            single.finish()
        elif target.suffix == ".npz":
            with zipfile.ZipFile(stream, "w") as archive:
                yield _NpzWriter(archive, target)
        else:
            with tempfile.TemporaryFile(dir=target.parent) as payload:
                writer = _SafetensorsWriter(payload, target)
                yield writer
                writer.finish(stream, metadata or {})


def _no_bfloat16(array: NDArray[Any], path: Path) -> None:
    if array.dtype.kind == "V":
        raise FileError(f"{path}: {path.suffix} cannot say {array.dtype.name}: write .safetensors, or another dtype")


class _NpyWriter:
    """Exactly one array."""

    def __init__(self, stream: IO[bytes], path: Path) -> None:
        self.stream, self.path, self.count = stream, path, 0

    def put(self, name: str, array: NDArray[Any]) -> None:
        if self.count:
            raise FileError(f"{self.path}: .npy holds one tensor: write .npz or .safetensors")
        _no_bfloat16(array, self.path)
        np.lib.format.write_array(self.stream, array, allow_pickle=False)
        self.count = 1

    def finish(self) -> None:
        if not self.count:
            raise FileError(f"{self.path}: no tensor to write")


class _NpzWriter:
    """Members in the order of put, stored without compression, no dates."""

    def __init__(self, archive: zipfile.ZipFile, path: Path) -> None:
        self.archive, self.path = archive, path

    def put(self, name: str, array: NDArray[Any]) -> None:
        member = f"{name or 'array'}.npy"
        if member in self.archive.NameToInfo:
            raise FileError(f"{self.path}: tensor {name} twice")
        _no_bfloat16(array, self.path)
        with self.archive.open(zipfile.ZipInfo(member, _EPOCH), "w", force_zip64=True) as stream:
            np.lib.format.write_array(stream, array, allow_pickle=False)


class _SafetensorsWriter:
    """Data first, to a nameless file; the header, which must stand before it, once it is known."""

    def __init__(self, payload: IO[bytes], path: Path) -> None:
        self.payload, self.path = payload, path
        self.header: dict[str, Any] = {}
        self.offset = 0

    def put(self, name: str, array: NDArray[Any]) -> None:
        name = name or "array"
        if name in self.header or name == "__metadata__":
            raise FileError(f"{self.path}: tensor {name} twice")
        if array.dtype.name not in _WORDS:
            raise FileError(f"{self.path}: .safetensors is not written with dtype {array.dtype.name} here")
        data = np.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"), copy=False))
        self.payload.write(data.reshape(-1).view(np.uint8).data)
        end = self.offset + data.nbytes
        self.header[name] = {"dtype": _WORDS[array.dtype.name], "shape": list(array.shape), "data_offsets": [self.offset, end]}
        self.offset = end

    def finish(self, stream: IO[bytes], metadata: Mapping[str, str]) -> None:
        stream.write(_head({**({"__metadata__": dict(metadata)} if metadata else {}), **self.header}))
        self.payload.flush()
        self.payload.seek(0, os.SEEK_SET)
        shutil.copyfileobj(self.payload, stream, 1 << 20)


class Planned(NamedTuple):
    """A tensor whose size is known before its bytes are. dtype: word of the .safetensors header.   data: makes its bytes, part by part."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    size: int
    data: Callable[[], Iterable[NDArray[np.uint8]]]


def write_planned(path: Path, tensors: Sequence[Planned], metadata: Mapping[str, str]) -> None:
    """Write a .safetensors file, whole or not at all, some bytes in memory at a time. Raises: FileError (a name twice, as whole_file)."""
    header: dict[str, Any] = {"__metadata__": dict(metadata)} if metadata else {}
    place = 0
    for item in tensors:
        if item.name in header:
            raise FileError(f"{path}: tensor {item.name} twice")
        header[item.name] = {"dtype": item.dtype, "shape": list(item.shape), "data_offsets": [place, place + item.size]}
        place += item.size
    with whole_file(path) as stream:
        stream.write(_head(header))
        for item in tensors:
            write_data(stream, item, path)


def write_data(stream: IO[bytes], item: Planned, path: Path) -> None:
    """Write the bytes of a tensor, part by part. path: of the file, for messages. Raises: FileError (another number than was announced)."""
    size = 0
    for part in item.data():
        size += stream.write(np.ascontiguousarray(part).reshape(-1).data)
    if size != item.size:
        raise FileError(f"{path}: tensor {item.name} has {size} bytes, {item.size} were announced: please report this")


def _head(header: Mapping[str, Any]) -> bytes:
    """Return the bytes before the data of a .safetensors file."""
    text = json.dumps(header, separators=(",", ":")).encode("utf-8")
    text += b" " * (-len(text) % _ALIGN)
    return len(text).to_bytes(8, "little") + text
