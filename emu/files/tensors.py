"""Reading tensor files: names, shapes and dtypes at once, values one tensor at a time.

Not here: files of quantized tensors (stored.py), writing (writers.py).
"""

from __future__ import annotations

import json
import math
import tokenize
import zipfile
import zlib
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Protocol, Self

import ml_dtypes  # registers bfloat16 and the narrow floats, which safetensors hands out
import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from emu.base.errors import FileError
from emu.base.inputs import check_regular

SUFFIXES = (".npy", ".npz", ".safetensors")
_NAMES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "BOOL": "bool"}
_NARROW = {  # what the library cannot hand out as NumPy arrays: their bytes are read here
    "F8_E4M3": np.dtype(ml_dtypes.float8_e4m3fn),
    "F8_E5M2": np.dtype(ml_dtypes.float8_e5m2),
    "F8_E8M0": np.dtype(ml_dtypes.float8_e8m0fnu),
}
_EXPANDS = {zipfile.ZIP_STORED: 1, zipfile.ZIP_DEFLATED: 1032}  # how many bytes a packed one can become at most
MOST_UNPACKED = 1 << 28  # bytes that an archive may become, however small it is
MOST_RATIO = 64  # a larger one: times its own size; weights become 2 to 10 times as long
_INTEGERS = {f"{letter}{bits}": f"{word}{bits}" for letter, word in (("I", "int"), ("U", "uint")) for bits in (8, 16, 32, 64)}
# What NumPy, zipfile and safetensors raise for damaged and hostile files: encrypted or unknown members, unclosed headers, absurd numbers.
_DAMAGED = (
    OSError, ValueError, TypeError, KeyError, EOFError, OverflowError, RuntimeError, SyntaxError, tokenize.TokenError, SafetensorError,
    zipfile.BadZipFile, zlib.error,
)  # fmt: skip
assert np.dtype(ml_dtypes.bfloat16).itemsize == 2


class TensorInfo(NamedTuple):
    """What a file says of one tensor; dtype: NumPy's name (float32, bfloat16, int64), or the file's own word."""

    name: str
    shape: tuple[int, ...]
    dtype: str


class _Reader(Protocol):
    """One open file."""

    def infos(self) -> list[TensorInfo]: ...

    def read(self, name: str) -> NDArray[Any]: ...


class TensorFile:
    """One or several open tensor files.

    tensors: what is in it, in the file's order.   read(name): one tensor, native byte order; a read-only view of the file for .npy.
    Use it as a context manager. Made by open_tensors.
    """

    def __init__(self, path: Path, stack: ExitStack, readers: list[tuple[Path, _Reader]]) -> None:
        self.path = path
        self._stack = stack
        self._owner: dict[str, _Reader] = {}
        found: list[TensorInfo] = []
        for part, reader in readers:
            for info in reader.infos():
                if info.name in self._owner:
                    raise FileError(f"{part}: tensor {info.name} is in another file of {path} too: name one file")
                self._owner[info.name] = reader
                found.append(info)
        self.tensors = tuple(found)

    def read(self, name: str) -> NDArray[Any]:
        """Return one tensor. Raises: FileError (no such tensor, damaged data)."""
        if name not in self._owner:
            raise FileError(f"{self.path}: no tensor {name!r}")
        array = self._owner[name].read(name)
        return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.close()


def open_tensors(path: str | Path) -> TensorFile:
    """Open a .npy, .npz or .safetensors file, or a folder with .safetensors files.

    path: the suffix decides how it is read; a folder gives the tensors of every .safetensors file in it (if none: below it).
    Returns: a TensorFile; only headers were read. A .npy file holds one tensor, named "".
    Raises: FileError (missing, unreadable, truncated, foreign, another suffix, pickled objects).
    Tests: tests/files/test_files_tensors.py.
    """
    root = Path(path)
    stack = ExitStack()
    try:
        return TensorFile(root, stack, [(part, _open(part, stack)) for part in _parts(root)])
    except BaseException:
        stack.close()
        raise


def _parts(root: Path) -> list[Path]:
    if root.is_dir():
        found = sorted(root.glob("*.safetensors")) or sorted(root.rglob("*.safetensors"))
        if not found:
            raise FileError(f"{root}: a folder without .safetensors files: name a {', '.join(SUFFIXES)} file")
        return found
    if root.suffix not in SUFFIXES:
        raise FileError(f"{root}: is no tensor file: give {', '.join(SUFFIXES)} or a folder")
    return [root]


def _open(path: Path, stack: ExitStack) -> _Reader:
    try:
        if not check_regular(path):
            raise FileError(f"{path}: is empty")
        if path.suffix == ".npy":
            return _Npy(path)
        return _Npz(path, stack) if path.suffix == ".npz" else _Safetensors(path, stack)
    except _DAMAGED as error:
        raise _unreadable(path, error) from None


def _unreadable(path: Path, error: Exception) -> FileError:
    if isinstance(error, FileError):
        return error
    why = getattr(error, "strerror", None) or " ".join(str(error).split())[:160] or type(error).__name__
    kind = "" if isinstance(error, OSError) and error.errno else f" as {path.suffix} (truncated or foreign)"
    return FileError(f"{path}: cannot read{kind}: {why}")


class _Npy:
    """One array, mapped into memory."""

    def __init__(self, path: Path) -> None:
        mapped = np.load(path, mmap_mode="r", allow_pickle=False)
        if not isinstance(mapped, np.ndarray):
            raise FileError(f"{path}: is a zip archive, not .npy: rename it to .npz")
        self.array = mapped.view(np.ndarray)

    def infos(self) -> list[TensorInfo]:
        return [TensorInfo("", self.array.shape, self.array.dtype.name)]

    def read(self, name: str) -> NDArray[Any]:
        return self.array


class _Npz:
    """A zip archive of .npy members."""

    def __init__(self, path: Path, stack: ExitStack) -> None:
        self.path = path
        self.archive = stack.enter_context(zipfile.ZipFile(path))
        self.members = {item.filename.removesuffix(".npy"): item.filename for item in self.archive.infolist()}
        foreign = next((name for name in self.members.values() if not name.endswith(".npy")), None)
        if foreign is not None:
            raise FileError(f"{path}: member {foreign} is no .npy array: not a NumPy archive")
        size, unpacked = path.stat().st_size, sum(item.file_size for item in self.archive.infolist())
        if unpacked > max(MOST_UNPACKED, MOST_RATIO * size):
            raise FileError(
                f"{path}: its {size} bytes become {unpacked}, more than {MOST_RATIO} times as many: where it is yours, save it without "
                "compression (numpy.savez)"
            )
        self.headers = [self._header(name) for name in self.members]

    def _header(self, name: str) -> TensorInfo:
        packed = self.archive.getinfo(self.members[name])
        if packed.file_size > min(packed.compress_size, self.path.stat().st_size) * _EXPANDS.get(packed.compress_type, 0):
            raise FileError(f"{self.path}: member {name} claims {packed.file_size} bytes in {packed.compress_size}: not a NumPy archive")
        with self.archive.open(self.members[name]) as stream:
            version = np.lib.format.read_magic(stream)
            read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
            shape, _, dtype = read(stream)
            size = stream.tell() + math.prod(shape) * dtype.itemsize
        if not dtype.hasobject and size != packed.file_size:
            raise FileError(f"{self.path}: member {name} is not as long as its header says")
        return TensorInfo(name, shape, dtype.name)

    def infos(self) -> list[TensorInfo]:
        return self.headers

    def read(self, name: str) -> NDArray[Any]:
        try:
            with self.archive.open(self.members[name]) as stream:
                array: NDArray[Any] = np.lib.format.read_array(stream, allow_pickle=False)
                stream.read(1)  # the end of the member, where its checksum is compared
                return array
        except _DAMAGED as error:
            raise _unreadable(self.path, error) from None


class _Safetensors:
    """A .safetensors file, mapped into memory by its library."""

    def __init__(self, path: Path, stack: ExitStack) -> None:
        self.path = path
        self.file = stack.enter_context(safe_open(str(path), framework="numpy"))

    def infos(self) -> list[TensorInfo]:
        found = []
        for name in self.file.keys():  # noqa: SIM118 - this object is no mapping
            part = self.file.get_slice(name)
            word = str(part.get_dtype())
            found.append(TensorInfo(name, tuple(part.get_shape()), _NAMES.get(word) or _INTEGERS.get(word, word)))
        return found

    def read(self, name: str) -> NDArray[Any]:
        try:
            narrow = _NARROW.get(str(self.file.get_slice(name).get_dtype()))
            array: NDArray[Any] = self.file.get_tensor(name) if narrow is None else self._bytes(name).view(narrow)
        except _DAMAGED as error:
            raise _unreadable(self.path, error) from None
        return array

    def _bytes(self, name: str) -> NDArray[Any]:
        """Return a tensor of one byte an element (the library checked the header when it opened the file)."""
        with self.path.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            entry = json.loads(stream.read(length))[name]
            first, end = entry["data_offsets"]
            stream.seek(8 + length + first)
            return np.frombuffer(stream.read(end - first), np.uint8).reshape(entry["shape"])
