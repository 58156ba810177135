"""Writing a .gguf file: words of metadata, places of the tensors, bytes; a stream of parts, the file whole or not at all."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from emu.base.atomic import whole_file
from emu.base.errors import FileError
from emu.files.writers import Planned, write_data

PLAIN: Final = {"F32": 0, "F16": 1, "I8": 24, "I16": 25, "I32": 26, "I64": 27, "F64": 28, "BF16": 30}  # type -> its number
_VERSION, _ALIGN, _AXES, _NAME = 3, 32, 4, 63
_UINT32, _TEXT = 4, 8  # numbers of the types of metadata


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
