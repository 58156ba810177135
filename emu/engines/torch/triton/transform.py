"""Rotation of 16 consecutive elements of a matrix."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from emu.base.errors import ShapeError
from emu.engines.torch.transform import sign_mask
from emu.engines.torch.triton.bits import FRAC_BITS, canonical
from emu.engines.torch.triton.hadamard import rotate
from emu.engines.torch.triton.launch import Launch, check_device, matrix_bits, tile_shape
from emu.engines.torch.triton.program import rotation
from emu.engines.torch.triton.tiles import load_tile
from emu.spec.ieee import is_binary32
from emu.spec.models import Transform
from emu.spec.registry import get


@triton.jit
def transform_kernel(x, out, signs, rows, columns, source: tl.constexpr, turn: tl.constexpr, height: tl.constexpr, width: tl.constexpr):
    """Store the rotated tile: int32 bits of float32, or int16 bits of a shorter format with its exponents."""
    row = tl.program_id(0).to(tl.int64) * height + tl.arange(0, height)[:, None]
    column = tl.program_id(1).to(tl.int64) * width + tl.arange(0, width)[None, :]
    bits = canonical(rotate(load_tile(x, row, column, rows, columns, source), signs, turn))
    inside = (row < rows) & (column < columns)
    if len(turn[2]) == 0:
        tl.store(out + row * columns + column, bits.to(tl.int32, bitcast=True), mask=inside)
    else:
        tl.store(out + row * columns + column, (bits >> (FRAC_BITS - turn[2][0])).to(tl.int16), mask=inside)


def prepare_transform(x: torch.Tensor, out: torch.Tensor, transform: Transform, signs: int | None) -> Launch:
    """Return the launch that fills out, integers of the result's bits. Raises: as transform."""
    bits, source = matrix_bits(x)
    rows, columns = x.shape
    height, width = tile_shape(rows, columns, transform.facts.size, transform_kernel)
    constants = {"source": source, "turn": rotation(transform), "height": height, "width": width}
    arguments = {"x": bits, "out": out, "signs": sign_mask(transform, signs), "rows": rows, "columns": columns}
    return Launch(transform_kernel, (-(-rows // height), -(-columns // width)), arguments, constants)


def transform(x: torch.Tensor, transform: str | Transform, *, signs: int | None = None) -> torch.Tensor:
    """Rotate each 16 consecutive elements of the rows of a matrix.

    x: float32, bfloat16 or float16 [R, C], C a multiple of 16.   signs: bit i negates element i, for a transform that takes them.
    Returns: float32 or bfloat16, as the transform says; NaN canonical.
    Raises: OperandError (dtype, signs), ShapeError (length), EngineError (device, a transform that the kernels lack).
    Exactness: equals emu.transform.   Source: the transform's sources.   Tests: tests/engines/torch/triton/test_triton_transform.py.
    """
    chosen: Transform = get("transform", transform)
    check_device(x, transform_kernel)
    if x.ndim != 2 or x.shape[1] % chosen.facts.size:
        raise ShapeError(f"transform {chosen.id} rotates {chosen.facts.size} elements: the rows of x must be a multiple of it")
    narrow = not is_binary32(get("format", chosen.facts.result))
    out = torch.empty(x.shape, dtype=torch.int16 if narrow else torch.int32, device=x.device)
    prepare_transform(x, out, chosen, signs).run()
    return out.view(torch.bfloat16 if narrow else torch.float32)
