"""Dot products by the tensor cores of a GPU: 64 x 64 tiles of one instruction's depth, of which the diagonal is kept.

On compute capability 9.0 Triton makes one `wgmma.mma_async` of a tile's product; what it answers is the device's, and is what `emu check`
and `emu identify` ask about. In Triton's interpreter NumPy computes: nothing about a GPU, the data movement only.
"""

from __future__ import annotations

from typing import Any, Final

import torch
import triton
import triton.language as tl

from emu.base.errors import OperandError, ShapeError
from emu.engines.torch.triton.launch import Launch, check_device
from emu.spec.datapath import DatapathPlan, resolve
from emu.spec.ieee import is_binary32, same_facts
from emu.spec.models import Datapath, Format
from emu.spec.registry import get

TILE: Final = 64  # rows of one wgmma instruction
DTYPES: Final = {"fp16": torch.float16, "bf16": torch.bfloat16, "e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}
PRODUCTS: Final = (  # datapath, formats of a and b
    ("hopper_fp16", "fp16", "fp16"),
    ("hopper_fp16", "bf16", "bf16"),
    ("hopper_fp8", "e4m3", "e4m3"),
    ("hopper_fp8", "e4m3", "e5m2"),
    ("hopper_fp8", "e5m2", "e4m3"),
    ("hopper_fp8", "e5m2", "e5m2"),
)


@triton.jit
def diagonal_kernel(a, b, c, out, depth: tl.constexpr, tile: tl.constexpr):
    """Store c[r] + sum over k of a[r, k] * b[r, k] for the rows of one tile. a, b: [rows, depth].   c, out: float32 [rows]."""
    row = tl.program_id(0) * tile + tl.arange(0, tile)
    k = tl.arange(0, depth)
    left = tl.load(a + row[:, None] * depth + k[None, :])
    right = tl.load(b + row[None, :] * depth + k[:, None])
    own = tl.arange(0, tile)[:, None] == tl.arange(0, tile)[None, :]
    start = tl.where(own, tl.load(c + row)[:, None], 0.0)
    found = tl.dot(left, right, start, out_dtype=tl.float32)
    place = row[:, None] + tl.zeros((tile, tile), tl.int32)
    tl.store(out + place, found, mask=own)


def dtype_of(fmt: Format) -> torch.dtype | None:
    """Return the dtype that tensor cores take for the facts of a format, or None."""
    return next((dtype for name, dtype in DTYPES.items() if same_facts(get("format", name), fmt)), None)


def plan_of(datapath: str | Datapath, a: str, b: str) -> DatapathPlan:
    """Return the plan of a product. Raises: OperandError (formats or results that the kernel lacks), SpecError."""
    plan = resolve(get("datapath", datapath), get("format", a), get("format", b), None, None)
    if dtype_of(plan.a) is None or dtype_of(plan.b) is None or not is_binary32(plan.d) or not is_binary32(plan.c):
        raise OperandError(f"{plan.datapath.id} {a} x {b}: tensor cores take {', '.join(DTYPES)} and float32 C and D here")
    return plan


def prepare_dot(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, out: torch.Tensor) -> Launch:
    """Return the launch for whole tiles of rows."""
    arguments: dict[str, Any] = {"a": a, "b": b, "c": c, "out": out}
    return Launch(diagonal_kernel, (a.shape[0] // TILE,), arguments, {"depth": a.shape[1], "tile": TILE})


def dot(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor, *, datapath: str | Datapath, a_format: str, b_format: str) -> torch.Tensor:
    """Return what the device's tensor core gives for dot products of rows, as int32 bits of float32 [rows].

    a, b: codes [rows, K] of their formats, uint8, int16 or uint16; K is the depth of one instruction of the datapath.
    c: int32 bits of float32 [rows].   datapath: an unscaled one with float32 C and D, such as "hopper_fp8".
    NaN, Inf: the device's.   Raises: OperandError (formats, datapath), ShapeError, EngineError (no CUDA tensor).
    Tests: tests/engines/torch/triton/test_triton_wgmma.py.
    """
    plan = plan_of(datapath, a_format, b_format)
    if a.ndim != 2 or a.shape != b.shape or c.shape != a.shape[:1] or a.shape[1] != plan.step:
        raise ShapeError(f"a and b must have shape [rows, {plan.step}], c [rows]: one instruction deep")
    check_device(a, diagonal_kernel)
    rows = a.shape[0]
    whole = -(-rows // TILE) * TILE
    wide = torch.nn.functional.pad(c.view(torch.int32), (0, whole - rows)).view(torch.float32)
    out = torch.empty(whole, dtype=torch.float32, device=a.device)
    prepare_dot(_values(a, a_format, whole), _values(b, b_format, whole), wide, out).run()
    return out[:rows].view(torch.int32)


def _values(codes: torch.Tensor, fmt: str, rows: int) -> torch.Tensor:
    """Return codes as values of their format, rows of zeros below. Raises: OperandError (width)."""
    dtype = dtype_of(get("format", fmt))
    assert dtype is not None  # plan_of has checked it
    if codes.element_size() != dtype.itemsize:
        raise OperandError(f"codes of {fmt} take {dtype.itemsize} bytes, not {codes.element_size()}")
    plain = codes.view(torch.uint8 if dtype.itemsize == 1 else torch.int16)
    return torch.nn.functional.pad(plain, (0, 0, 0, rows - codes.shape[0])).view(dtype)
