"""The torch engine behind NumPy arrays: codes in, codes out, no copy on the way in where the memory allows. CPU only."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from numpy.typing import NDArray

from emu.engines.torch import block, datapath, datapath_promote
from emu.engines.torch import convert as conversion
from emu.engines.torch import operate as operations
from emu.engines.torch import transform as rotation
from emu.engines.torch.tensors import from_int64, to_int64
from emu.spec.datapath import DatapathPlan
from emu.spec.models import Format, Policy, Recipe, Rounding, Transform
from emu.spec.models.levels import EpilogueFacts

Codes = NDArray[Any]


def tensor_of(array: Codes) -> torch.Tensor:
    """Return an array of codes as a tensor that shares its memory (a copy where a stride is negative)."""
    if any(stride < 0 for stride in array.strides):
        array = array.copy()  # of one element too, whose stride NumPy leaves as it is in what it calls contiguous
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # read-only arrays: nothing in this engine writes into its operands
        return torch.from_numpy(array)


def maybe_tensor(array: Codes | None) -> torch.Tensor | None:
    """Return an array of codes as a tensor, None for None."""
    return None if array is None else tensor_of(array)


def convert(codes: Codes, source: Format, fmt: Format, rounding: Rounding, policy: Policy, random: Codes | None = None) -> Codes:
    """Convert codes. Raises: as conversion.convert."""
    found: Codes = conversion.convert(tensor_of(codes), source, fmt, rounding, policy, maybe_tensor(random)).numpy()
    return found


def decode(codes: Codes, fmt: Format, result: Format) -> Codes:
    """Decode codes to codes of a wider float format. Raises: as conversion.decode."""
    found: Codes = conversion.decode(tensor_of(codes), fmt, result).numpy()
    return found


def operate(name: str, codes: Sequence[Codes], formats: Sequence[Format], to: Format, rounding: Rounding, policy: Policy) -> Codes:
    """Operate on codes of one shape: codes or truth values. Raises: as operate.operate."""
    found: Codes = operations.operate(name, [tensor_of(part) for part in codes], formats, to, rounding, policy).numpy()
    return found


def transform(codes: Codes, source: Format, chosen: Transform, signs: int | None = None) -> Codes:
    """Rotate codes. Raises: as rotation.transform."""
    found: Codes = rotation.transform(tensor_of(codes), source, chosen, signs).numpy()
    return found


def quantize(
    recipe: Recipe, codes: Codes, source: Format, *, tensor_amax: int | None = None, random: Codes | None = None, signs: int | None = None
) -> tuple[Codes, dict[str, Codes]]:
    """Quantize a matrix of codes. Raises: as block.quantize."""
    found = block.quantize(recipe, tensor_of(codes), source, tensor_amax=tensor_amax, random=maybe_tensor(random), signs=signs)
    return found.codes.numpy(), {name: level.numpy() for name, level in found.levels.items()}


def dequantize(
    recipe: Recipe, codes: Codes, levels: Mapping[str, Codes], *, profile: str | None = None, result: Format | None = None
) -> Codes:
    """Dequantize a matrix of codes. Raises: as block.dequantize."""
    given = {name: tensor_of(level) for name, level in levels.items()}
    found: Codes = block.dequantize(recipe, tensor_of(codes), given, profile=profile, result=result, known=True).numpy()
    return found


def dot(a: Codes, b: Codes, scale_a: Codes | None, scale_b: Codes | None, c: Codes, plan: DatapathPlan) -> Codes:
    """Return dot products of rows in pairs. Raises: as datapath.check_codes and datapath.dot."""
    given = tensor_of(a), tensor_of(b), maybe_tensor(scale_a), maybe_tensor(scale_b)
    datapath.check_codes(*given, plan)
    found: Codes = datapath.dot(*given, tensor_of(c), plan).numpy()
    return found


def matmul(a: Codes, b: Codes, scale_a: Codes | None, scale_b: Codes | None, c: Codes | None, plan: DatapathPlan, jobs: int = 1) -> Codes:
    """Return A times B transposed plus C; torch has threads of its own, jobs says nothing here. Raises: as dot."""
    given = tensor_of(a), tensor_of(b), maybe_tensor(scale_a), maybe_tensor(scale_b)
    datapath.check_codes(*given, plan)
    found: Codes = datapath.matmul(*given, maybe_tensor(c), plan).numpy()
    return found


def alpha(scale_a: int, scale_b: int, facts: EpilogueFacts, plan: DatapathPlan) -> int:
    """Return alpha = round(scale a * scale b): binary32 codes of the multipliers in, code out."""
    return datapath_promote.alpha(scale_a, scale_b, facts, plan)


def epilogue(d: Codes, alpha: int, c: Codes | None, facts: EpilogueFacts, plan: DatapathPlan) -> Codes:
    """Return the codes of alpha * D, then + C where the epilogue adds it."""
    addend = None if c is None else to_int64(tensor_of(c))
    return _codes(datapath_promote.epilogue(to_int64(tensor_of(d)), alpha, addend, facts, plan), plan)


def add(x: Codes, y: Codes, plan: DatapathPlan) -> Codes:
    """Return x + y in the result format, to nearest even."""
    return _codes(datapath_promote.add_results(to_int64(tensor_of(x)), to_int64(tensor_of(y)), plan), plan)


def _codes(found: torch.Tensor, plan: DatapathPlan) -> Codes:
    codes: Codes = from_int64(found, plan.d).numpy()
    return codes
