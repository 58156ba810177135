"""A .gguf file: its header read, within what the file holds; written as a stream of parts, the file whole or not at all."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Final, NamedTuple

from emu.base.atomic import whole_file
from emu.base.errors import FileError
from emu.base.inputs import check_regular
from emu.files.writers import Planned, write_data

PLAIN: Final = {"F32": 0, "F16": 1, "I8": 24, "I16": 25, "I32": 26, "I64": 27, "F64": 28, "BF16": 30}  # type -> its number
_VERSION, _ALIGN, _AXES, _NAME = 3, 32, 4, 63
_UINT32, _TEXT, _LIST = 4, 8, 9  # numbers of the types of metadata
_SIZES: Final = {0: 1, 1: 1, 2: 2, 3: 2, _UINT32: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}  # bytes of a number of each other type
_DEEPEST = 4  # lists in lists
# number of a tensor type: its name, elements in a block, bytes of a block. Source: gguf 0.19.0, constants.py, GGMLQuantizationType and
# GGML_QUANT_SIZES, which follow ggml.h and ggml-common.h.
_TYPES: Final[dict[int, tuple[str, int, int]]] = {
    0: ("F32", 1, 4), 1: ("F16", 1, 2), 2: ("Q4_0", 32, 18), 3: ("Q4_1", 32, 20), 6: ("Q5_0", 32, 22), 7: ("Q5_1", 32, 24),
    8: ("Q8_0", 32, 34), 9: ("Q8_1", 32, 40), 10: ("Q2_K", 256, 84), 11: ("Q3_K", 256, 110), 12: ("Q4_K", 256, 144), 13: ("Q5_K", 256, 176),
    14: ("Q6_K", 256, 210), 15: ("Q8_K", 256, 292), 16: ("IQ2_XXS", 256, 66), 17: ("IQ2_XS", 256, 74), 18: ("IQ3_XXS", 256, 98),
    19: ("IQ1_S", 256, 50), 20: ("IQ4_NL", 32, 18), 21: ("IQ3_S", 256, 110), 22: ("IQ2_S", 256, 82), 23: ("IQ4_XS", 256, 136),
    24: ("I8", 1, 1), 25: ("I16", 1, 2), 26: ("I32", 1, 4), 27: ("I64", 1, 8), 28: ("F64", 1, 8), 29: ("IQ1_M", 256, 56),
    30: ("BF16", 1, 2), 34: ("TQ1_0", 256, 54), 35: ("TQ2_0", 256, 66), 39: ("MXFP4", 32, 17), 40: ("NVFP4", 64, 36), 41: ("Q1_0", 128, 18),
}  # fmt: skip


class Tensor(NamedTuple):
    """A tensor of a .gguf file. type: its name.   shape: in elements, slowest axis first.   start, size: bytes of the file."""

    name: str
    type: str
    shape: tuple[int, ...]
    start: int
    size: int


def read_gguf(path: Path) -> list[Tensor]:
    """Return the tensors of a .gguf file of version 2 or 3, little-endian; only the header is read.

    Every length that the header claims is compared with what is left of the file before anything is read or kept: time and memory are
    those of the file's size, whatever it claims. Words of metadata are passed over, but general.alignment.
    Raises: FileError (truncated, foreign, big-endian, a type that is not known, tensors that overlap or are not aligned, a name twice).
    Source: ggml 0.25.3, docs/gguf.md.   Tests: tests/checkpoint/test_checkpoint_gguf_hostile.py.
    """
    try:
        size = check_regular(path)
        with path.open("rb") as stream:
            return _Head(stream, size).tensors()
    except (OSError, ValueError) as error:
        if isinstance(error, FileError):
            raise
        why = getattr(error, "strerror", None) or str(error)
        raise FileError(f"{path}: cannot read as .gguf (truncated or foreign): {why[:160]}") from None


class _Head:
    """The header of a .gguf file, from its first byte on. left: bytes of the file that are not read yet. Every method raises ValueError."""

    def __init__(self, stream: IO[bytes], size: int) -> None:
        self.stream, self.size, self.left, self.align = stream, size, size, _ALIGN

    def tensors(self) -> list[Tensor]:
        if self.bytes(4) != b"GGUF":
            raise ValueError("it does not begin with GGUF")
        version = self.number(4)
        if version not in (2, _VERSION):
            big = ", big-endian" if int.from_bytes(version.to_bytes(4, "little"), "big") in (2, _VERSION) else ""
            raise ValueError(f"its version is {version}{big}: versions 2 and {_VERSION} are read, little-endian")
        count, words = self.number(8), self.number(8)
        self.fit(24 * count + 13 * words, f"its header claims {count} tensors and {words} words of metadata")
        self.words(words)
        known: dict[str, tuple[str, tuple[int, ...], int, int]] = {}
        for _ in range(count):
            name = self.text("a tensor's name")
            if name in known:
                raise ValueError(f"tensor {name[:64]} is there twice")
            known[name] = self.tensor(name[:64])
        start = -(-(self.size - self.left) // self.align) * self.align
        found = [Tensor(name, kind, shape, start + place, size) for name, (kind, shape, place, size) in known.items()]
        self.check_places(found)
        return found

    def words(self, count: int) -> None:
        """Pass over the words of metadata."""
        names = set[str]()
        for _ in range(count):
            name, kind = self.text("a key"), self.number(4)
            if name in names:
                raise ValueError(f"key {name[:64]} is there twice")
            names.add(name)
            if name != "general.alignment":
                self.skip_values(kind, 1, 0)
                continue
            self.align = self.number(4) if kind == _UINT32 else 0
            if self.align < 1 or self.align & (self.align - 1) or self.align > self.size:
                raise ValueError("its alignment is no power of two that the file has room for")

    def skip_values(self, kind: int, count: int, depth: int) -> None:
        """Pass over values of one type. depth: lists around them."""
        if kind in _SIZES:
            self.skip(count * _SIZES[kind], f"{count} numbers")
        elif kind == _TEXT:
            self.fit(8 * count, f"{count} texts")
            for _ in range(count):
                self.skip(self.number(8), "a text")
        elif kind == _LIST and depth < _DEEPEST:
            self.fit(12 * count, f"{count} lists")
            for _ in range(count):
                inner, many = self.number(4), self.number(8)
                self.skip_values(inner, many, depth + 1)
        else:
            raise ValueError(f"type {kind} of a word of metadata" + (": lists in lists, too deep" if kind == _LIST else " is not known"))

    def tensor(self, name: str) -> tuple[str, tuple[int, ...], int, int]:
        """Read what is said of a tensor: its type, shape, place in the data and size."""
        axes = self.number(4)
        if axes > _AXES:
            raise ValueError(f"tensor {name} has {axes} axes: at most {_AXES}")
        shape = tuple(self.number(8) for _ in range(axes))
        number, place = self.number(4), self.number(8)
        if number not in _TYPES:
            raise ValueError(f"tensor {name} is of type {number}, which is not known")
        kind, block, size = _TYPES[number]
        if block > 1 and (not shape or shape[0] % block):
            raise ValueError(f"tensor {name} has no rows of whole {kind} blocks of {block}")
        return kind, shape[::-1], place, math.prod(shape) // block * size

    def check_places(self, found: Sequence[Tensor]) -> None:
        """Refuse tensors beyond the end of the file, in each other's place, or not aligned."""
        end = 0
        for item in sorted(found, key=lambda item: (item.start, item.size)):
            name = item.name[:64]
            if item.start % self.align:
                raise ValueError(f"tensor {name} does not begin at a multiple of {self.align} bytes")
            if item.size and item.start < end:
                raise ValueError(f"tensor {name} lies in the place of another")
            if item.start + item.size > self.size:
                raise ValueError(f"the file ends inside tensor {name}")
            end = max(end, item.start + item.size)

    def fit(self, size: int, what: str) -> None:
        if size > self.left:
            raise ValueError(f"{what}, of {size} bytes at least, where {self.left} are left")

    def bytes(self, size: int, what: str = "its header goes on") -> bytes:
        self.fit(size, what)
        found = self.stream.read(size)
        if len(found) != size:
            raise ValueError("it became shorter while it was read")
        self.left -= size
        return found

    def skip(self, size: int, what: str) -> None:
        self.fit(size, what)
        self.stream.seek(size, 1)
        self.left -= size

    def number(self, size: int) -> int:
        return int.from_bytes(self.bytes(size), "little")

    def text(self, what: str) -> str:
        return self.bytes(self.number(8), what).decode()


def write_gguf(path: Path, tensors: Sequence[Planned], words: Mapping[str, str | int], types: Mapping[str, int]) -> None:
    """Write a .gguf file of version 3, little-endian, whole or not at all, some bytes in memory at a time.

    tensors: their shapes in elements, the slowest axis first; the file has the fastest one first.   words: metadata; a number is a uint32.
    types: numbers of the tensor types besides those of PLAIN.
    Raises: FileError (a name twice or longer than 63 bytes, no axis or more than 4, a type that such a file does not have, as whole_file).
    Source: ggml 0.25.3, docs/gguf.md; gguf 0.19.0, gguf_writer.py.   Tests: tests/checkpoint/test_checkpoint_gguf.py.
    """
    numbers = PLAIN | dict(types)
    head = [b"GGUF", _number(_VERSION, 4), _number(len(tensors), 8), _number(len(words), 8)]
    for key, word in words.items():
        head += (
            [_text(key), _number(_TEXT, 4), _text(word)] if isinstance(word, str) else [_text(key), _number(_UINT32, 4), _number(word, 4)]
        )
    place, names = 0, set[str]()
    for item in tensors:
        _check(path, item, names, numbers)
        names.add(item.name)
        head += [_text(item.name), _number(len(item.shape), 4), *(_number(side, 8) for side in item.shape[::-1])]
        head += [_number(numbers[item.dtype], 4), _number(place, 8)]
        place += _up(item.size)
    start = b"".join(head)
    with whole_file(path) as stream:
        stream.write(start + bytes(_up(len(start)) - len(start)))
        for item in tensors:
            write_data(stream, item, path)
            stream.write(bytes(_up(item.size) - item.size))


def _check(path: Path, item: Planned, names: set[str], numbers: Mapping[str, int]) -> None:
    if item.name in names:
        raise FileError(f"{path}: tensor {item.name} twice")
    if len(item.name.encode()) > _NAME:
        raise FileError(f"{path}: {item.name}: a name of a .gguf file has at most {_NAME} bytes: rename the tensor")
    if not 1 <= len(item.shape) <= _AXES or not math.prod(item.shape):
        raise FileError(
            f"{path}: {item.name} has shape {list(item.shape)}: a tensor of a .gguf file has 1 to {_AXES} axes and is not empty"
        )
    if item.dtype not in numbers:
        raise FileError(f"{path}: {item.name} is {item.dtype}, which no .gguf file holds: store it as F32 or BF16")


def _number(value: int, size: int) -> bytes:
    return value.to_bytes(size, "little")


def _text(text: str) -> bytes:
    data = text.encode()
    return _number(len(data), 8) + data


def _up(size: int) -> int:
    """Return a size with its padding."""
    return -(-size // _ALIGN) * _ALIGN
