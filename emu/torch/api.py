"""The functions of `emu.torch`: tensors in, tensors out, on their device; names as in `emu`. A compiled graph sees each as one node."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import torch

from emu.base.errors import OperandError, ShapeError
from emu.engines.torch import layout as layouts
from emu.engines.torch import ops
from emu.engines.torch.products import dot, matmul
from emu.engines.torch.tensors import codes_of, format_id, name_of
from emu.ops.layout import layout_named, units
from emu.ops.operations import formats_of
from emu.spec.models import Format, Layout, Policy, Recipe, Rounding, Transform
from emu.spec.operations import result_of


class QuantizedTensor(NamedTuple):
    """What quantize gives. codes: shape of x (the last axis padded where the recipe keeps its padding), one element a byte.

    levels: name -> codes, the shape of x with each axis divided by what shares a code; [1, 1] for a tensor level.   recipe: its name.
    """

    codes: torch.Tensor
    levels: dict[str, torch.Tensor]
    recipe: str


def _source(x: torch.Tensor, source: str | Format | None) -> str:
    """Return the name of the format of x; empty where its dtype says it. Raises: OperandError."""
    if source is not None:
        return name_of("format", source)
    if format_id(x.dtype) is None:
        raise OperandError(f"dtype {x.dtype} is not taken: give a float tensor, or unsigned codes with source=")
    return ""


def convert(
    x: torch.Tensor,
    to: str | Format,
    rounding: str | Rounding = "rne",
    policy: str | Policy = "nvidia",
    source: str | Format | None = None,
    random: torch.Tensor | None = None,
) -> torch.Tensor:
    """Convert values to codes of a format: decode, round, overflow, encode under a policy.

    x: float tensor (16, 32, 64 bits, or a float8 dtype), or integer codes with `source`, on any device.
    random: integers for a rounding that draws: one per element in row-major order, or one word per `lanes` elements.
    NaN, Inf, -0, overflow: as the policy says.   Returns: unsigned codes, shape of x, uint8 for formats of at most 8 bits.
    Exactness: equals emu.convert bit for bit, eager and compiled.   Raises: as emu.convert, but for engine.
    Source: sources of policy and rounding.   Tests: tests/engines/torch.
    """
    mode, rules = name_of("rounding", rounding), name_of("policy", policy)
    found: torch.Tensor = ops.convert(x, name_of("format", to), mode, rules, _source(x, source), random)
    return found


def decode(codes: torch.Tensor, format: str | Format, dtype: torch.dtype = torch.float32) -> torch.Tensor:  # noqa: A002
    """Decode codes to values, exactly.

    codes: integer tensor, any shape, on any device.   format: id or model.
    dtype: torch.float16, bfloat16, float32 or float64; it must hold every value.   NaN, -0: NaN codes give NaN, -0 stays -0.
    Returns: tensor of dtype, shape of codes.   Exactness: equals emu.decode bit for bit, eager and compiled.
    Raises: as emu.decode.   Source: the format's sources.   Tests: tests/engines/torch.
    """
    result = format_id(dtype)
    if result is None:
        raise OperandError(f"dtype {dtype} cannot hold values here: one of float16, bfloat16, float32, float64")
    found: torch.Tensor = ops.decode(codes, name_of("format", format), result)
    return found


def operate(
    name: str,
    *operands: torch.Tensor,
    formats: str | Format | Sequence[str | Format] | None = None,
    to: str | Format | None = None,
    rounding: str | Rounding = "rne",
    policy: str | Policy = "p3109_sat_none",
) -> torch.Tensor:
    """Operate on numbers as the IEEE P3109 draft defines it: the exact result, then one rounding, saturation and encoding.

    name: as emu.operate.   operands: float tensors, or integer codes with `formats`; shapes that broadcast, on one device.
    formats: of codes: one for all operands, or one for each.   to: format of a number; without it the operands' common format.
    Zero has no sign; a comparison with NaN is False.   Returns: unsigned codes of `to` (of the operand's format for a neighbour), or bool.
    Exactness: equals emu.operate bit for bit, eager and compiled.   Raises: as emu.operate, but for engine.
    Source: IEEE P3109 interim report 4.0, 4.5, 4.10 to 4.16, 5.5.   Tests: tests/engines/torch/test_torch_operate.py.
    """
    given = ["" if fmt is None else name_of("format", fmt) for fmt in formats_of(name, operands, formats)]
    if any(not fmt and format_id(x.dtype) is None for x, fmt in zip(operands, given, strict=True)):
        raise OperandError(f"operation {name}: integers are codes: say their formats")
    target, how = result_of(name, [codes_of(x, fmt, "formats")[1] for x, fmt in zip(operands, given, strict=True)], to, rounding)
    try:
        shape = torch.broadcast_shapes(*(x.shape for x in operands))
    except RuntimeError as exc:
        raise ShapeError(f"operation {name}: shapes {', '.join(str(tuple(x.shape)) for x in operands)} do not broadcast") from exc
    wide = [x.expand(shape) for x in operands]
    found: torch.Tensor = ops.operate(wide, name, given, name_of("format", target), name_of("rounding", how), name_of("policy", policy))
    return found


def transform(x: torch.Tensor, transform: str | Transform, signs: int | None = None, source: str | Format | None = None) -> torch.Tensor:
    """Rotate groups of elements of the last axis: the randomized Hadamard transform with a stated order of additions.

    x: float tensor or integer codes with `source`; the last axis is a multiple of the rotation's size.
    signs: bit i negates element i of each group, for a transform that takes them; None: the transform's own.
    Returns: values of the transform's result format, shape of x.   Exactness: equals emu.transform bit for bit, eager and compiled.
    Raises: as emu.transform.   Source: the transform's sources.   Tests: tests/engines/torch.
    """
    found: torch.Tensor = ops.transform(x, name_of("transform", transform), _source(x, source), signs)
    return found


def quantize(
    x: torch.Tensor,
    recipe: str | Recipe,
    source: str | Format | None = None,
    tensor_amax: torch.Tensor | float | None = None,
    random: torch.Tensor | None = None,
    signs: int | None = None,
) -> QuantizedTensor:
    """Quantize a tensor along its last axis to codes and levels under one recipe; rows of a 2-D tile lie along the axis before it.

    x: float tensor or integer codes with `source`, any number of leading axes.   tensor_amax: binary32 value of the tensor maximum;
    None: taken from x.   random: integers, one per row-major element, for recipes that draw.   signs: for a transform that takes them.
    NaN, Inf: as the recipe's steps say.   Exactness: equals emu.quantize bit for bit, eager and compiled.
    Returns: QuantizedTensor: codes of the shape of x, levels by name, the recipe's name.
    Raises: as emu.quantize, but for engine.   Source: the recipe's sources.   Tests: tests/engines/torch.
    """
    if x.ndim == 0:
        raise ShapeError("a scalar has no axis to quantize along: give a tensor of at least one dimension")
    name = name_of("recipe", recipe)
    lead = x.shape[:-1]
    matrix = x.reshape(-1, x.shape[-1])
    found = ops.quantize(matrix, name, _source(x, source), _amax(tensor_amax, x.device), random, signs)
    names = level_names(name)
    levels = {key: _shaped(level, matrix.shape[0], lead) for key, level in zip(names, found[1:], strict=True)}
    return QuantizedTensor(_shaped(found[0], matrix.shape[0], lead), levels, name)


def _amax(given: torch.Tensor | float | None, device: torch.device) -> torch.Tensor | None:
    """Return the tensor maximum as one float32. Raises: OperandError (a number that binary32 does not hold)."""
    if given is None:
        return None
    wide = torch.as_tensor(given, dtype=None if isinstance(given, torch.Tensor) else torch.float64, device=device)
    narrow = wide.to(torch.float32).reshape(())
    if wide.dtype == torch.float64 and bool((narrow.to(torch.float64) != wide.reshape(())) & ~torch.isnan(wide.reshape(()))):
        raise OperandError(f"tensor_amax {given} is no binary32 number: round it first, the recipe does not say how")
    return narrow


def level_names(recipe: str) -> list[str]:
    """Return the names of a recipe's levels, outermost first."""
    from emu.engines.torch.tensors import named
    from emu.spec.registry import get

    return [level.name for level in get("block", named("recipe", recipe).facts.block).facts.levels]


def _shaped(matrix: torch.Tensor, rows: int, lead: torch.Size) -> torch.Tensor:
    """Give a result its leading axes back; one that is coarser than a row stays a matrix unless it divides the last of them."""
    if matrix.shape[0] == rows:
        return matrix.reshape(*lead, matrix.shape[1])
    if len(lead) and matrix.shape[0] > 1 and rows // matrix.shape[0] * matrix.shape[0] == rows:
        return matrix.reshape(*lead[:-1], -1, matrix.shape[1])
    return matrix


def dequantize(q: QuantizedTensor, dtype: torch.dtype = torch.float32, profile: str | None = None) -> torch.Tensor:
    """Return the values that a quantized tensor means, in the shape of its codes.

    q: what emu.torch.quantize returned.   dtype: float16, bfloat16 or float32.   profile: order of operations; None: the recipe's first.
    Each step is rounded as the program says, then once to dtype, nearest even.   Returns: tensor of dtype.
    Raises: as emu.dequantize.   Source: the recipe's sources.   Tests: tests/engines/torch.
    """
    result = format_id(dtype)
    if result is None or dtype == torch.float64:
        raise OperandError(f"dtype {dtype} cannot hold values here: one of float16, bfloat16, float32")
    matrix = q.codes.reshape(-1, q.codes.shape[-1])
    levels = [level.reshape(-1, level.shape[-1]) for level in q.levels.values()]
    found: torch.Tensor = ops.dequantize(matrix, levels, q.recipe, profile or "", result)
    return found.reshape(q.codes.shape)


__all__ = ["QuantizedTensor", "convert", "decode", "dequantize", "dot", "matmul", "operate", "quantize", "transform"]


def to_layout(codes: torch.Tensor, layout: str | Layout) -> torch.Tensor:
    """Write the codes of a matrix, or of several, at the places that a layout gives them; the padding is 0.

    codes: uint8 [..., rows, codes of a row], one code an element, on any device.   layout: id or model.
    Returns: uint8 [..., bytes] on the device of codes; words as their bytes, little-endian: `.view(torch.int32)` reads 32-bit words.
    Exactness: equals emu.to_layout byte for byte.   Raises: OperandError (not uint8, a code too wide), ShapeError (as emu.to_layout).
    Source: the layout's sources.   Tests: tests/engines/torch/test_torch_layout.py.
    """
    order = layout_named(layout)
    _bytes(codes, "codes")
    if codes.ndim < 2:
        raise ShapeError(f"codes of {order.id} have a matrix of rows and codes of a row as their last two axes")
    units(codes.shape[-2], codes.shape[-1], order)
    if order.facts.code_bits == 4 and codes.numel() and int(codes.max()) > 15:
        raise OperandError(f"codes: {order.id} takes integers from 0 to 15")
    return layouts.to_memory(codes, order)


def from_layout(memory: torch.Tensor, layout: str | Layout, rows: int, codes: int) -> torch.Tensor:
    """Read the codes of a matrix, or of several, from memory in the order of a layout: the opposite of to_layout.

    memory: uint8 [..., bytes], on any device.   layout: id or model.   rows, codes: of a matrix, without padding.
    Returns: uint8 [..., rows, codes].   Exactness: equals emu.from_layout.   Raises: OperandError (not uint8), ShapeError (other bytes).
    Source: the layout's sources.   Tests: as to_layout.
    """
    order = layout_named(layout)
    _bytes(memory, "memory")
    wanted = units(rows, codes, order) * (order.facts.word_bits or 8) // 8
    if memory.ndim == 0 or memory.shape[-1] != wanted:
        raise ShapeError(f"{order.id} holds {rows} x {codes} codes in {wanted} bytes, not {memory.shape[-1] if memory.ndim else 'no'}")
    return layouts.from_memory(memory, order, rows, codes)


def _bytes(given: torch.Tensor, name: str) -> None:
    if given.dtype != torch.uint8:
        raise OperandError(f"{name}: a tensor of torch.uint8 is taken, not {given.dtype}")
