"""Products of codes through a datapath of the spec, in the place of float32 products of values."""

from __future__ import annotations

from typing import Any

import torch
from numpy.typing import NDArray

from emu.base.errors import EmuError, SpecError
from emu.nn.operand import Codes
from emu.ops import Order, matmul
from emu.ops.quantized import Quantized, make_quantized
from emu.spec.models import Block, Training
from emu.spec.registry import get
from emu.spec.training import GEMMS, Operand, plan_of

ORDER = Order(tail="zero_pad")


def check_datapath(training: str | Training, datapath: str) -> None:
    """Check that a datapath takes every pair of operands, by multiplying one block of zeros. Raises: SpecError (it does not), OpenError."""
    get("datapath", datapath)
    plan = plan_of(training)
    for gemm in GEMMS:
        first, second = plan.pair(gemm)
        if first.recipe is not None and second.recipe is not None:
            zeros = [_zeros(item) for item in (first, second)]
            product(gemm, (first, zeros[0]), (second, zeros[1]), datapath)


def _zeros(operand: Operand) -> Codes:
    from emu.torch.api import quantize

    assert operand.recipe is not None
    lines, length = max(operand.rows, 16), max(operand.multiple, 16)
    random = torch.zeros(lines * length, dtype=torch.int32) if operand.random_bits else None
    q = quantize(torch.ones(lines, length), operand.recipe, random=random)
    codes, levels = (q.codes, q.levels) if operand.axis == 1 else (q.codes.T, {name: level.T for name, level in q.levels.items()})
    return Codes(operand.recipe, codes, levels, torch.empty(0))


def product(gemm: str, a: tuple[Operand, Codes], b: tuple[Operand, Codes], datapath: str) -> torch.Tensor:
    """Return the product of two quantized operands as a datapath computes it, ascending along K, zeros up to a whole instruction.

    Returns: float32 [rows, columns], on the device of the codes.   Exactness: equals emu.matmul, and so the reference model, bit for bit.
    Raises: SpecError (formats and blocks that the datapath does not take), OpenError.
    """
    left, right = _quantized(*a), _quantized(*b)
    if gemm == "fprop":
        right = right.T
    if gemm == "wgrad":
        left = left.T
    found: NDArray[Any] = matmul(left, right, datapath, order=ORDER)
    device = None if a[1].codes is None else a[1].codes.device
    return torch.from_numpy(found.astype("float32")).to(device)


def _quantized(operand: Operand, found: Codes) -> Quantized:
    """Return codes and levels as emu.quantize gives them."""
    assert found.recipe is not None and found.codes is not None
    codes = found.codes.cpu().contiguous().numpy()
    block: Block = get("block", found.recipe.facts.block)
    tensor_levels, levels = [level.name for level in block.facts.levels if level.granularity == "tensor"], {}
    for name, level in found.levels.items():
        array = level.cpu().contiguous().numpy()
        levels[name] = array.view(f"u{array.dtype.itemsize}").reshape(() if name in tensor_levels else array.shape)
    return make_quantized(codes, levels, found.recipe, tuple(codes.shape), operand.axis, 1 - operand.axis)


def refused(error: EmuError, label: str, datapath: str) -> SpecError:
    """Return the error of a layer whose datapath does not take its operands."""
    return SpecError(f"{label}: gemm={datapath!r}: {error}: use gemm='fp32', or a datapath that takes these formats")
