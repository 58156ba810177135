"""The largest magnitude of a matrix, after a rotation or not. An integer maximum: the order of the tiles does not matter."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from emu.engines.torch.transform import sign_mask
from emu.engines.torch.triton.bits import canonical, largest_magnitude
from emu.engines.torch.triton.hadamard import rotate
from emu.engines.torch.triton.launch import Launch, check_device, matrix_bits, tile_shape
from emu.engines.torch.triton.program import rotation
from emu.engines.torch.triton.tiles import load_tile
from emu.spec.models import Transform
from emu.spec.registry import get

SIZE = 16


@triton.jit
def amax_kernel(x, out, signs, rows, columns, source: tl.constexpr, turn: tl.constexpr, height: tl.constexpr, width: tl.constexpr):
    """Raise out (int32, the bits of a float32 magnitude) to the maximum of a tile. turn: facts of a rotation, or ()."""
    row = tl.program_id(0).to(tl.int64) * height + tl.arange(0, height)[:, None]
    column = tl.program_id(1).to(tl.int64) * width + tl.arange(0, width)[None, :]
    tile = load_tile(x, row, column, rows, columns, source)
    if len(turn) != 0:
        tile = rotate(tile, signs, turn)
    found = largest_magnitude(tl.reshape(tile, (1, height * width)), 1, False)
    tl.atomic_max(out, tl.max(canonical(found).to(tl.int32, bitcast=True)))


def prepare_amax(x: torch.Tensor, out: torch.Tensor, rotate: str | Transform | None, signs: int | None) -> Launch:
    """Return the launch that raises out, int32 [1] of zero, to the bits of the maximum. Raises: as amax."""
    bits, source = matrix_bits(x)
    rows, columns = x.shape
    chosen: Transform | None = None if rotate is None else get("transform", rotate)
    height, width = tile_shape(rows, columns, SIZE, amax_kernel)
    constants = {"source": source, "turn": () if chosen is None else rotation(chosen), "height": height, "width": width}
    mask = 0 if chosen is None else sign_mask(chosen, signs)
    arguments = {"x": bits, "out": out, "signs": mask, "rows": rows, "columns": columns}
    return Launch(amax_kernel, (-(-rows // height), -(-columns // width)), arguments, constants)


def amax(x: torch.Tensor, *, rotate: str | Transform | None = None, signs: int | None = None) -> torch.Tensor:
    """Return the largest magnitude of a matrix as float32 [1]; any NaN gives the canonical NaN.

    x: float32, bfloat16 or float16 [R, C].
    rotate: the transform that groups of 16 elements of a row go through first; a short last group is padded with +0.
    Raises: OperandError (dtype, signs), ShapeError, EngineError (device, a rotation that the kernels lack).
    Exactness: equals emu.amax of emu.transform.   Tests: tests/engines/torch/triton/test_triton_quantize.py.
    """
    check_device(x, amax_kernel)
    out = torch.zeros(1, dtype=torch.int32, device=x.device)
    prepare_amax(x, out, rotate, signs).run()
    return out.view(torch.float32)
