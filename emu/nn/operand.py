"""One operand of one product: rounded to the operand format, filled up, rotated, quantized, and its values back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import torch

from emu.base.errors import EmuError, ShapeError
from emu.engines.run import run_dequantize, run_quantize, run_transform
from emu.engines.torch import convert as conversion
from emu.engines.torch.arithmetic import cut, is_cut
from emu.engines.torch.tensors import codes_of, float_dtype, signed_view, to_int64
from emu.nn import collector, draws
from emu.spec import derive
from emu.spec.models import Format, Recipe
from emu.spec.registry import get
from emu.spec.training import SUMMED, Operand, TrainingPlan
from emu.torch import api as column

FP32: Final[Format] = get("format", "fp32")


@dataclass(frozen=True)
class OperandContext:
    """Whose operand it is, and when. label: the layer's name in messages."""

    plan: TrainingPlan
    label: str
    seed: int
    layer: int
    step: int


@dataclass(frozen=True)
class Codes:
    """A quantized operand. codes: its matrix, padded; levels: by name, as emu.torch.quantize gives them for that matrix.

    recipe: None: it was not quantized; values are then all there is.
    """

    recipe: Recipe | None
    codes: torch.Tensor | None
    levels: dict[str, torch.Tensor]
    values: torch.Tensor


def quantize_operand(matrix: torch.Tensor, operand: Operand, place: OperandContext) -> Codes:
    """Quantize one operand along the axis that its product sums over.

    matrix: float [rows, columns]: x [tokens, in], w [out, in] or dy [tokens, out].
    Returns: codes, levels and float32 values of the rotated, filled up matrix, in its orientation.
    Exactness: codes and levels equal the exact engine's bit for bit.   Raises: as emu.quantize, with the layer's name; ShapeError.
    Tests: tests/nn/test_nn_operands.py.
    """
    given = rounded(matrix.detach(), get("format", place.plan.training.facts.operands))
    signs = draws.signs_of(place.plan, operand, place.seed, place.layer)
    stream = draws.stream_of(place.layer, operand.gemm, operand.name, place.step)
    if operand.recipe is None:
        found = Codes(None, None, {}, given.to(torch.float32))
    else:
        full = filled(given, operand, place)
        try:
            found = (_on_cpu if full.device.type == "cpu" else _on_device)(full, operand, place, signs, stream, given.shape)
        except EmuError as error:
            raise type(error)(f"{place.label}: {operand.key}: {error}") from None
    if collector.is_open():
        collector.note(place.label, operand, place, given, found, signs, stream)
    return found


def filled(given: torch.Tensor, operand: Operand, place: OperandContext) -> torch.Tensor:
    """Return the matrix with zeros up to a multiple along the summed axis. Raises: ShapeError where the training recipe forbids it."""
    length, across = given.shape[operand.axis], given.shape[1 - operand.axis]
    missing = -length % operand.multiple
    kind = "tokens" if SUMMED[operand.gemm] == "tokens" else "features"
    if missing:
        if getattr(place.plan.training.facts.tail, kind) == "error":
            raise ShapeError(refusal(place.label, operand, length))
        given = torch.nn.functional.pad(given, (0, missing) if operand.axis == 1 else (0, 0, 0, missing))
    if across % operand.rows and place.plan.training.facts.tail.features == "error":
        raise ShapeError(refusal(place.label, operand, across, operand.rows))
    return given


def refusal(label: str, operand: Operand, length: int, multiple: int | None = None) -> str:
    """Return the line for a length that no block divides."""
    block = multiple or operand.multiple
    how = f"use multiples of {block}, or list the layer in keep= of convert_model"
    return f"{label}: {operand.key} has length {length}, no multiple of {block}: {how}"


def _drawn(operand: Operand, place: OperandContext, stream: int, shape: torch.Size, device: torch.device) -> torch.Tensor:
    """Return the random integers of the logical matrix, filled up with zeros like it."""
    found = draws.random_tensor(shape[0] * shape[1], operand.random_bits, place.seed, stream, device).reshape(shape)
    missing = -shape[operand.axis] % operand.multiple
    return torch.nn.functional.pad(found, (0, missing) if operand.axis == 1 else (0, 0, 0, missing)) if missing else found


def _on_cpu(full: torch.Tensor, operand: Operand, place: OperandContext, signs: int | None, stream: int, shape: torch.Size) -> Codes:
    """Quantize in memory shared with NumPy by whatever engine is best; blocks along the rows of a view."""
    recipe, source = operand.recipe, get("format", place.plan.training.facts.operands)
    assert recipe is not None
    codes = signed_view(full).numpy().view(f"u{full.element_size()}")
    random = draws.random_matrix(shape, operand, place.seed, stream) if operand.random_bits else None
    if operand.axis == 0:
        codes, random = codes.T, None if random is None else random.T
    if operand.transform is not None:
        codes = run_transform(np.ascontiguousarray(codes), source, operand.transform, signs, "auto")
        source = get("format", operand.transform.facts.result)
    own = signs if operand.rotates else None
    found, levels = run_quantize(recipe, codes, source, engine="auto", random=random, signs=own, tensor_amax=None)
    values = torch.from_numpy(run_dequantize(recipe, found, levels, profile=None, result=FP32, engine="auto").view(np.float32))
    tensors = {
        name: torch.from_numpy(level if level.dtype == np.uint8 else level.view(f"i{level.dtype.itemsize}"))
        for name, level in levels.items()
    }
    return transposed(Codes(recipe, torch.from_numpy(found), tensors, values), operand)


def _on_device(full: torch.Tensor, operand: Operand, place: OperandContext, signs: int | None, stream: int, shape: torch.Size) -> Codes:
    """Quantize by the torch engine, the summed axis last."""
    assert operand.recipe is not None
    matrix = full.T.contiguous() if operand.axis == 0 else full
    if operand.transform is not None:
        matrix = column.transform(matrix, operand.transform, signs)
    random = None
    if operand.random_bits:
        random = _drawn(operand, place, stream, shape, full.device)
        random = (random.T if operand.axis == 0 else random).reshape(-1)
    q = column.quantize(matrix, operand.recipe, random=random, signs=signs if operand.rotates else None)
    values = column.dequantize(q)
    levels = {name: signed_view(level) for name, level in q.levels.items()}
    return transposed(Codes(operand.recipe, q.codes, levels, values), operand)


def transposed(found: Codes, operand: Operand) -> Codes:
    """Return codes, levels and values in the orientation of the operand's matrix, from one whose blocks lie along rows."""
    if operand.axis == 1 or found.codes is None:
        return found
    return Codes(found.recipe, found.codes.T, {name: level.T for name, level in found.levels.items()}, found.values.T)


# Operands rounded to the operand format before they are quantized: on integer bits, nearest even.


def rounded(x: torch.Tensor, to: Format) -> torch.Tensor:
    """Return values rounded to a float format that torch has, nearest even; beyond its maximum Inf, NaN its canonical NaN.

    x: a float tensor; one that has the format already is returned as it is.   Returns: the format's dtype, shape of x.
    Exactness: as a step of the spec's programs rounds, bit for bit.   Tests: tests/nn/test_nn_narrow.py.
    """
    dtype = float_dtype(to)
    assert dtype is not None
    if x.dtype == dtype:
        return x
    codes, source = codes_of(x.contiguous(), "")
    if is_cut(source, to):
        return cut(x.contiguous().view(torch.int32), source, to).to(torch.int16).view(dtype)
    entry = derive.arithmetic_entry(to)
    found = conversion.marked(to_int64(codes).view(-1), source, to, get("rounding", "rne"), entry)
    return found.to(torch.int16 if dtype.itemsize == 2 else torch.int32).view(x.shape).view(dtype)
