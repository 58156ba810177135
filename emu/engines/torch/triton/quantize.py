"""Quantize a matrix by a recipe in one pass over it: rotation, block maximum, scale, codes. Both directions at once: row_and_column.py."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl

from emu.engines.torch.triton.bits import canonical, to_values
from emu.engines.torch.triton.hadamard import rotate
from emu.engines.torch.triton.launch import Launch, check_device, matrix_bits, tile_shape
from emu.engines.torch.triton.side import Side, check_open, check_random, make_side, tensor_amax_of
from emu.engines.torch.triton.tiles import load_random, load_tile, quantize_tile
from emu.spec.models import Layout, Recipe, Transform


class QuantizedTensors(NamedTuple):
    """codes: uint8.   levels: outermost first; uint8 codes, or float32 where the level is stored so."""

    codes: torch.Tensor
    levels: tuple[torch.Tensor, ...]


@triton.jit
def quantize_kernel(
    x, amax, random, codes, level0, level1, flag, signs, rows, columns, stored,
    source: tl.constexpr, turn: tl.constexpr, draw: tl.constexpr, side: tl.constexpr, height: tl.constexpr, width: tl.constexpr,
):  # fmt: skip
    """Quantize one tile. stored: columns of the codes.   turn: facts of a rotation before the program, or ()."""
    row = tl.program_id(0).to(tl.int64) * height + tl.arange(0, height)[:, None]
    column = tl.program_id(1).to(tl.int64) * width + tl.arange(0, width)[None, :]
    tile = load_tile(x, row, column, rows, columns, source)
    if len(turn) != 0:
        tile = to_values(canonical(rotate(tile, signs, turn)))
    drawn = load_random(random, row, column, rows, columns, draw)
    maximum = tl.load(amax + tl.zeros((1, 1, 1), tl.int32))
    quantize_tile(tile, drawn, to_values(maximum), signs, row, column, rows, stored, codes, level0, level1, flag, side)


def prepare_quantize(x: torch.Tensor, side: Side, amax: torch.Tensor, flag: torch.Tensor, **operands: Any) -> Launch:
    """Return the launch that fills the outputs of a side.

    amax: int32 [1], bits of the tensor maximum.   flag: int32 [1], raised to 1 by a code that nobody knows.
    """
    bits, source = matrix_bits(x)
    rows, columns = x.shape
    height, width = tile_shape(rows, columns, max(side.program.lanes, 16), quantize_kernel)
    arguments = {
        "x": bits,
        "amax": amax,
        "random": side.random,
        "codes": side.codes,
        "level0": side.levels[0],
        "level1": side.levels[-1],
        "flag": flag,
        "signs": side.signs,
        "rows": rows,
        "columns": columns,
        "stored": side.width,
    }
    constants = {"source": source, "turn": side.turn, "draw": side.draw, "side": side.constant, "height": height, "width": width}
    return Launch(quantize_kernel, (-(-rows // height), -(-columns // width)), arguments, constants)


def quantize(
    x: torch.Tensor,
    recipe: str | Recipe,
    *,
    rotate: str | Transform | None = None,
    signs: int | None = None,
    tensor_amax: torch.Tensor | None = None,
    random: torch.Tensor | None = None,
    key: int | None = None,
    stream: int = 0,
    packed: bool = False,
    scale_layout: str | Layout = "row_major",
    check: bool = True,
) -> QuantizedTensors:
    """Quantize a matrix along its rows under one recipe.

    x: float32, bfloat16 or float16 [R, C].   rotate: a transform before the recipe's program (ufp4 has its own).   signs: of either.
    tensor_amax: float32 [1]; None: the maximum of x, rotated first where `rotate` says so, by a pass of its own.
    random: integers [R, C] for a recipe that draws; or key and stream: Philox words by the row-major place, as emu.base.philox.draw.
    packed: two codes per byte, the even element low.   scale_layout: order of the block scales; padding is 0.
    check: False skips what makes the host wait: open results, range of random, sign of tensor_amax; open codes are then 0xFF.
    Returns: codes uint8 [R, C] (or padded to whole blocks, as the recipe's tail says), levels.
    NaN, Inf: as the recipe's steps say.
    Exactness: equals emu.quantize bit for bit.
    Raises: SpecError, ShapeError (length against the tail rule), OperandError, OpenError, EngineError (device; what the kernels lack).
    Source: the recipe's sources.   Tests: tests/engines/torch/triton/test_triton_quantize.py.
    """
    check_device(x, quantize_kernel)
    side = make_side(x, recipe, rotate=rotate, signs=signs, random=random, key=key, stream=stream, packed=packed, layout=scale_layout)
    maximum = tensor_amax_of(x, side, tensor_amax, check)
    if check:
        check_random(side)
    flag = torch.zeros(1, dtype=torch.int32, device=x.device)
    prepare_quantize(x, side, maximum, flag).run()
    if check:
        check_open(side, flag)
    return QuantizedTensors(side.codes, side.stored_levels())
