"""dot and matmul of `emu.torch`: rows of codes through a datapath, tensors in and out. Quantized arrays with epilogues: emu.matmul."""

from __future__ import annotations

from typing import Any

import torch

from emu.arrays.values import check_flags
from emu.base.errors import OperandError, ShapeError
from emu.engines.torch import ops
from emu.engines.torch.tensors import float_dtype, name_of, signed_view, to_int64
from emu.spec import derive
from emu.spec.datapath import DatapathPlan
from emu.spec.levels import LevelsPlan
from emu.spec.models import Datapath, Format


def dot(a: torch.Tensor, b: torch.Tensor, datapath: str | Datapath, **operands: Any) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
    """Return the dot product of each row of A with the same row of B, as a datapath computes it: one ascending chain over K.

    a, b: element codes [R, K], K a multiple of the instruction's k.   operands: as matmul; c: [R], random: [R, words].
    Returns: codes of the result, [R]; with flags (codes, flags).
    Raises: as matmul.   Source: the datapath's sources.   Tests: tests/engines/torch.
    """
    return _product(a, b, datapath, pairs=True, **operands)


def matmul(a: torch.Tensor, b: torch.Tensor, datapath: str | Datapath, **operands: Any) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
    """Return A times B transposed plus C, as a datapath computes it: one ascending chain over K for each output.

    a, b: element codes [M, K] and [N, K]: rows of A, columns of B.
    operands: a_scales, b_scales: codes [M, K / block], [N, K / block], where the datapath takes scales; c: codes or floats of its format
    [M, N], None: +0, or nothing where a datapath of levels has no C; a_format, b_format, scale_format: where the datapath leaves them free;
    random: unsigned integers [M, N, words], where a datapath of levels draws, in the order of LevelsPlan.draws;
    flags: True: also return the exception flags of every output, uint8 [M, N]: bit i is the flag i of the datapath's flags.report.
    Returns: codes of the result format [M, N]; with flags (codes, flags).
    Exactness: equals emu.engines.exact.datapath bit for bit, eager and compiled.
    Raises: SpecError, OpenError, ShapeError, OperandError as emu.dot; EngineError (can.dot_fault, can.levels_fault).
    Source: the datapath's sources.   Tests: tests/engines/torch.
    """
    return _product(a, b, datapath, pairs=False, **operands)


def _product(
    a: torch.Tensor,
    b: torch.Tensor,
    datapath: str | Datapath,
    *,
    pairs: bool,
    a_scales: torch.Tensor | None = None,
    b_scales: torch.Tensor | None = None,
    c: torch.Tensor | None = None,
    random: torch.Tensor | None = None,
    a_format: str | Format | None = None,
    b_format: str | Format | None = None,
    scale_format: str | Format | None = None,
    flags: bool = False,
) -> torch.Tensor | tuple[torch.Tensor, torch.Tensor]:
    names = [name_of("datapath", datapath), *("" if x is None else name_of("format", x) for x in (a_format, b_format, scale_format))]
    block = "" if a_scales is None or not a_scales.shape[-1] else str(a.shape[-1] // a_scales.shape[-1])
    plan = ops.plan_named([*names, block])
    _check_shapes(a, b, a_scales, b_scales, plan, pairs)
    shape = (a.shape[0],) if pairs else (a.shape[0], b.shape[0])
    addend = _addend(c, plan, shape, a.device)
    _check_random(random, plan, shape)
    if flags:
        check_flags(plan.datapath)
    found: list[torch.Tensor] = ops.product(a, b, a_scales, b_scales, addend, random, [*names, block], pairs, flags)
    return (found[0], found[1]) if flags else found[0]


def _check_shapes(
    a: torch.Tensor,
    b: torch.Tensor,
    scale_a: torch.Tensor | None,
    scale_b: torch.Tensor | None,
    plan: DatapathPlan | LevelsPlan,
    pairs: bool,
) -> None:
    """Check that lengths fit. Raises: ShapeError."""
    name, k = plan.datapath.id, plan.facts.k
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[1] or (pairs and a.shape[0] != b.shape[0]):
        raise ShapeError(f"datapath {name}: a {tuple(a.shape)} and b {tuple(b.shape)} must be rows of one length")
    if a.shape[1] == 0 or a.shape[1] % k:
        raise ShapeError(f"datapath {name}: K = {a.shape[1]} is no multiple of the {k} products of one instruction: pad with zeros")
    for side, scales, what in ((a, scale_a, "a_scales"), (b, scale_b, "b_scales")):
        wanted = (side.shape[0], side.shape[1] // plan.block) if plan.block else None
        if (None if scales is None else tuple(scales.shape)) != wanted:
            raise ShapeError(f"datapath {name} takes " + (f"{what} of shape {wanted}" if wanted else "no scales: leave them out"))


def _check_random(random: torch.Tensor | None, plan: DatapathPlan | LevelsPlan, shape: tuple[int, ...]) -> None:
    """Check that random words are there for each output of a datapath that takes them. Raises: OperandError, ShapeError."""
    if random is None:
        return
    if isinstance(plan, DatapathPlan):
        raise OperandError(f"random: datapath {plan.datapath.id} draws nothing: leave random out")
    if tuple(random.shape[:-1]) != shape:
        raise ShapeError(f"random: shape {tuple(random.shape)} is not {shape} and the words of each output")


def _addend(c: torch.Tensor | None, plan: DatapathPlan | LevelsPlan, shape: tuple[int, ...], device: torch.device) -> torch.Tensor | None:
    """Return C as codes of its format, of the shape of the outputs. Raises: OperandError (dtype, C where there is none), ShapeError."""
    if plan.c is None and c is not None:
        raise OperandError(f"c: datapath {plan.datapath.id} has no C: leave it out")
    if plan.c is None or c is None:
        return None if plan.c is None or isinstance(plan, DatapathPlan) else torch.zeros(shape, dtype=torch.int64, device=device)
    if c.is_floating_point():
        if c.dtype != float_dtype(plan.c):
            raise OperandError(f"c: dtype {c.dtype} is not taken: give {float_dtype(plan.c)}, or {plan.c.id} codes")
        c = signed_view(c)
    try:
        wide = torch.broadcast_to(to_int64(c), shape)
    except RuntimeError:
        raise ShapeError(f"c: shape {tuple(c.shape)} does not broadcast to {shape}") from None
    return wide & ((1 << derive.codes(plan.c).bits) - 1)
