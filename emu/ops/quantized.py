"""Quantized: codes, levels and the recipe that made them; packing, reading back, and one file per tensor."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu.arrays.rows import Rows, axis_back, axis_last, pack_nibbles, unpack_nibbles
from emu.arrays.values import Codes, float_dtype, format_of_dtype
from emu.base.errors import EmuError, FileError, ShapeError
from emu.base.inputs import check_regular, parse_json
from emu.engines.exact.decode import decode_code
from emu.engines.parts import thread_count
from emu.engines.run import run_dequantize
from emu.ops.interop import array_of, is_tensor, takes_tensors
from emu.spec import derive, digest, get
from emu.spec.ieee import binary_format
from emu.spec.models import Block, Format, Recipe


@dataclass(frozen=True, eq=False)
class Level:
    """One level of side data.

    codes: unsigned, read-only; the shape of the tensor with each axis divided by what shares a code, () for a tensor level.
    format: of the codes.   granularity: tensor, row, tile, block, or sub and the elements that share a code, such as sub8.
    meaning: multiply, divide or flag.
    """

    name: str
    codes: Codes
    format: str
    granularity: str
    meaning: str

    def __repr__(self) -> str:
        """Say name, shape, format, what shares a code, and the first codes."""
        codes = array_of(self.codes) if is_tensor(self.codes) else self.codes
        return level_line(self.name, codes, self.format, self.granularity, self.meaning)


@dataclass(frozen=True, eq=False)
class Quantized:
    """A quantized tensor.

    codes: uint8, read-only, one element per byte, the shape of x (the blocked axis padded where the recipe keeps its padding).
    levels: outermost first.   shape: of x.   axis, row_axis: blocked axis and the other side of a tile.
    Made from a tensor of torch, codes and the codes of the levels are tensors on its device, and what the methods return is too.
    """

    codes: Codes
    levels: tuple[Level, ...]
    recipe: Recipe
    shape: tuple[int, ...]
    axis: int = -1
    row_axis: int = -2

    def __repr__(self) -> str:
        """Say recipe, shape, bytes, levels and the first block; no array is printed whole."""
        plain = _without_tensors(self) if is_tensor(self.codes) else self
        where = "" if plain is self else f", tensors on {getattr(self.codes, 'device', '?')}"
        element: Format = get("format", self.block.element_formats[0])
        side = sum(int(np.asarray(level.codes).nbytes) for level in plain.levels)
        head = f"Quantized {self.recipe.id}, shape {self.shape}, blocks of {self.block.facts.shape[1]} along axis {self.axis}{where}"
        size = f"  {plain.pack().nbytes:,} bytes of {'/'.join(self.block.element_formats)} codes, {side:,} bytes of levels"
        lines = [head, size, *(f"  {level!r}" for level in plain.levels)]
        first = axis_last(plain.codes, self.axis).reshape(-1)[: self.block.facts.shape[1]]
        line = values_line(first, element) if len(self.block.element_formats) == 1 else codes_line(first, element)
        return "\n".join([*lines, f"  first block: codes {line}"])

    def with_arrays(self, change: Callable[[Any], Any]) -> Quantized:
        """Return the same tensor with every array of codes changed by a function, such as to another library's kind of array."""
        levels = tuple(replace(level, codes=change(level.codes)) for level in self.levels)
        return replace(self, codes=change(self.codes), levels=levels)

    @property
    def block(self) -> Block:
        """The block format."""
        block: Block = get("block", self.recipe.facts.block)
        return block

    @property
    def scales(self) -> Codes:
        """Codes of the innermost multiplying or dividing level that is finer than the tensor."""
        found = [level for level in self.levels if level.meaning != "flag" and level.granularity != "tensor"]
        if not found:
            raise ShapeError(f"block {self.block.id} has no scale level")
        return next((level.codes for level in found if level.name == "scale"), found[-1].codes)

    @property
    def tensor_scale(self) -> Codes | None:
        """Code of the tensor level (0-dimensional), or None where the block has none."""
        return next((level.codes for level in self.levels if level.granularity == "tensor"), None)

    @property
    def T(self) -> Quantized:  # noqa: N802
        """The transpose of a matrix: the same codes and levels, blocked along the other axis. Raises: ShapeError (no matrix)."""
        if len(self.shape) != 2:
            raise ShapeError(f"only a matrix has a transpose here, not {len(self.shape)} axes")
        transposed = tuple(replace(level, codes=level.codes.T if level.codes.ndim == 2 else level.codes) for level in self.levels)
        axis, row_axis = 1 - self.axis % 2, 1 - self.row_axis % 2
        return replace(self, codes=self.codes.T, levels=transposed, shape=self.shape[::-1], axis=axis, row_axis=row_axis)

    @takes_tensors
    def dequantize(self, dtype: Any = np.float32, profile: str | None = None, engine: str = "auto", jobs: int = 1) -> NDArray[Any]:
        """Return the values, shape of x.

        dtype: float16, bfloat16, float32 or float64 (binary32 values widened), of NumPy or torch.
        profile: order of operations; None: the recipe's first.   jobs: threads, 1 to 256; same bits.
        Each step is rounded as the program says, then once to dtype, nearest even. Padding is cut off.
        A recipe with a transform gives values of the rotated tensor.   Raises: SpecError (profile), EngineError.
        """
        wanted = format_of_dtype(dtype)
        widened = binary_format(wanted) == "binary64"
        to: Format = get("format", "fp32") if widened else wanted
        self._check_shape()
        rows = Rows.of(self.codes, self.axis, self.row_axis)
        levels = {level.name: rows.like(level.codes) for level in self.levels}
        codes = run_dequantize(self.recipe, rows.matrix, levels, profile=profile, result=to, engine=engine, jobs=thread_count(jobs))
        out = rows.restore(codes)[tuple(slice(0, length) for length in self.shape)]
        values = np.ascontiguousarray(out).view(float_dtype(to)).reshape(self.shape)
        return values.astype(np.float64) if widened else values

    def _check_shape(self) -> None:
        """Hold the codes to the shape. Raises: ShapeError (an axis that is shorter, or padded where nothing pads it)."""
        rows, columns = self.block.facts.shape
        ndim, tiles = len(self.shape), {self.axis % max(len(self.shape), 1): columns}
        if ndim > 1:
            tiles[self.row_axis % ndim] = rows
        padded = tuple(-(-length // tiles.get(number, 1)) * tiles.get(number, 1) for number, length in enumerate(self.shape))
        if self.codes.shape not in (self.shape, padded) and ndim > 1:
            raise ShapeError(f"codes of shape {self.codes.shape} are none of a tensor of shape {self.shape} under recipe {self.recipe.id}")

    @takes_tensors
    def pack(self) -> Codes:
        """Return element codes as the block packs them: two per byte along the blocked axis, element 2k in the low nibble.

        The blocked axis is last in the result; an odd length leaves the last high nibble 0. Formats of other widths: one code per byte.
        """
        moved = np.ascontiguousarray(axis_last(self.codes, self.axis))
        return pack_nibbles(moved) if packs_nibbles(self.block) else moved

    @takes_tensors
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write one .safetensors file: packed codes, levels, and the recipe's id and digest. Whole or not at all.

        Raises: FileError (the path exists, or cannot be written).
        """
        arrays = {"codes": self.pack(), **{f"level.{level.name}": np.asarray(level.codes, order="C") for level in self.levels}}
        about = {
            "recipe": self.recipe.id,
            "digest": digest(self.recipe),
            "shape": list(self.shape),
            "codes_shape": list(self.codes.shape),
            "axis": self.axis,
            "row_axis": self.row_axis,
            "sha256": checksum(arrays["codes"], {level.name: arrays[f"level.{level.name}"] for level in self.levels}),
        }
        write_safetensors(Path(path), arrays, {"emu_quantized": json.dumps(about, sort_keys=True)})

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Quantized:
        """Read a file that save wrote.

        Raises: FileError (not such a file; damaged bytes; a recipe whose facts changed), SpecError (unknown recipe).
        """
        arrays, metadata = read_safetensors(Path(path))
        try:
            about = parse_json(metadata["emu_quantized"])
            recipe: Recipe = get("recipe", about["recipe"])
            if digest(recipe) != about["digest"]:
                raise FileError(f"{path}: written under other facts of recipe {recipe.id}: quantize again, or load that spec")
            levels = {name.removeprefix("level."): array for name, array in arrays.items() if name != "codes"}
            if checksum(arrays["codes"], levels) != about["sha256"]:
                raise FileError(f"{path}: its bytes are not those that were written: the file is damaged, quantize again")
            shape, codes_shape = stored_shape(about["shape"]), stored_shape(about["codes_shape"])
            axis, row_axis = stored_axis(about["axis"], shape), stored_axis(about["row_axis"], shape)
            codes = unpacked(arrays["codes"], recipe, codes_shape, axis)
            return make_quantized(codes, levels, recipe, shape, axis, row_axis)
        except EmuError:
            raise
        except (KeyError, TypeError, ValueError, IndexError, AttributeError):
            raise FileError(f"{path}: not a file written by Quantized.save") from None


def _without_tensors(q: Quantized) -> Quantized:
    """Return a Quantized of NumPy arrays."""
    return q.with_arrays(lambda codes: array_of(codes) if is_tensor(codes) else codes)


def make_quantized(codes: Codes, levels: dict[str, Codes], recipe: Recipe, shape: tuple[int, ...], axis: int, row_axis: int) -> Quantized:
    """Return a Quantized with read-only arrays; levels by name, in the block's order. Raises: KeyError when one is missing."""
    block: Block = get("block", recipe.facts.block)
    found = []
    for facts in block.facts.levels:
        granularity = facts.granularity if isinstance(facts.granularity, str) else f"sub{facts.granularity.sub}"
        found.append(Level(facts.name, _frozen(levels[facts.name]), facts.format, granularity, facts.meaning))
    return Quantized(_frozen(codes), tuple(found), recipe, shape, axis, row_axis)


def _frozen(array: Codes) -> Codes:
    view = array.view()
    view.setflags(write=False)
    return view


def packs_nibbles(block: Block) -> bool:
    """Tell whether a block puts two codes of 4 bits in a byte."""
    return block.facts.packing != "none" and derive.codes(get("format", block.element_formats[0])).bits == 4


def unpacked(packed: Codes, recipe: Recipe, shape: tuple[int, ...], axis: int) -> Codes:
    """Return element codes of a given shape from what Quantized.pack made of them. Raises: ValueError (another shape or dtype)."""
    if not -len(shape) <= axis < len(shape):
        raise ValueError(f"axis {axis} is none of {len(shape)}")
    lengths = [*shape[: axis % len(shape)], *shape[axis % len(shape) + 1 :], shape[axis]]
    if packs_nibbles(get("block", recipe.facts.block)):
        packed = unpack_nibbles(packed, shape[axis])
    if packed.dtype != np.uint8 or list(packed.shape) != lengths:
        raise ValueError(f"codes have shape {list(packed.shape)}, not {lengths}")
    return axis_back(packed, axis)


def checksum(codes: Codes, levels: Mapping[str, Codes]) -> str:
    """Return the sha256 of packed codes and the codes of levels, with names, dtypes and shapes; a file keeps it beside them."""
    found = hashlib.sha256()
    for name, array in (("codes", codes), *sorted(levels.items())):
        found.update(f"{name} {array.dtype.name} {list(array.shape)}\n".encode())
        found.update(np.ascontiguousarray(array, array.dtype.newbyteorder("<")).reshape(-1).view(np.uint8).data)
    return found.hexdigest()


def stored_shape(lengths: object) -> tuple[int, ...]:
    """Return a shape that the metadata of a file names. Raises: ValueError (no list of lengths, or one that no memory holds)."""
    if not isinstance(lengths, list | tuple) or not all(type(length) is int and 0 <= length < 1 << 48 for length in lengths):
        raise ValueError(f"{str(lengths)[:80]} is no shape")
    return tuple(lengths)


def stored_axis(axis: object, shape: tuple[int, ...]) -> int:
    """Return an axis that the metadata of a file names. Raises: ValueError (no axis of a tensor of this shape)."""
    if type(axis) is not int or not (-len(shape) <= axis < len(shape) or (len(shape) == 1 and axis == -2)):
        raise ValueError(f"{str(axis)[:80]} is no axis of {len(shape)} dimensions")
    return axis


def write_safetensors(path: Path, arrays: dict[str, Any], metadata: dict[str, str]) -> None:
    """Write a .safetensors file whole or not at all. Raises: FileError (exists, cannot be written)."""
    from safetensors.numpy import save

    from emu.base.atomic import whole_file

    with whole_file(path) as stream:
        stream.write(save(arrays, metadata))


def read_safetensors(path: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """Return arrays and metadata of a .safetensors file. Raises: FileError (missing, truncated, foreign)."""
    from safetensors import SafetensorError, safe_open

    try:
        check_regular(path)
        with safe_open(str(path), framework="numpy") as file:
            return {name: file.get_tensor(name) for name in file.keys()}, dict(file.metadata() or {})  # noqa: SIM118
    except (OSError, SafetensorError) as error:
        raise FileError(f"{path}: cannot read as .safetensors: {getattr(error, 'strerror', None) or str(error).splitlines()[0]}") from None


# What a Quantized prints of its arrays: the ends of each level, and the first block as codes and as values of their format.


_MOST = 16  # elements of a block
_FEW = 4  # codes of a level


def level_line(name: str, codes: Codes, fmt: str, granularity: str, meaning: str) -> str:
    """Return one line on a level: format, what shares a code, shape, the first codes."""
    model: Format = get("format", fmt)
    array = np.asarray(codes)
    count = "one" if array.ndim == 0 else " x ".join(str(length) for length in array.shape)
    shared = f"{granularity.removeprefix('sub')} elements" if granularity.startswith("sub") else granularity
    return f"level {name} ({meaning}): {count} {fmt} per {shared}: {values_line(array.reshape(-1), model, _FEW)}"


def values_line(codes: Codes, fmt: Format, most: int = _MOST) -> str:
    """Return the first codes in hexadecimal and what they mean on their own."""
    more = " ..." if codes.size > most else ""
    return f"{codes_line(codes, fmt, most)} = {' '.join(_value(int(code), fmt) for code in codes[:most])}{more}"


def codes_line(codes: Codes, fmt: Format, most: int = _MOST) -> str:
    """Return the first codes in hexadecimal."""
    digits = -(-(derive.codes(fmt).bits + derive.unused_high_bits(fmt)) // 4)
    return " ".join(f"{int(code):0{digits}X}" for code in codes[:most]) + (" ..." if codes.size > most else "")


def _value(code: int, fmt: Format) -> str:
    try:
        value: Any = decode_code(code, fmt)
    except EmuError:
        return "?"
    if value.kind != "finite":
        return str("-inf" if value.kind == "inf" and value.sign else value.kind)
    if value.is_zero:
        return "-0" if value.sign else "0"
    return f"{float(value.signed):.6g}"


__all__ = ["Level", "Quantized", "make_quantized", "pack_nibbles", "packs_nibbles", "unpack_nibbles", "unpacked"]
