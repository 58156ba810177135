"""Quantize a matrix along its rows and along its columns, each tile loaded once. One direction alone: quantize.py."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
import triton
import triton.language as tl

from emu.base.errors import OperandError
from emu.engines.torch.triton.bits import canonical, to_values
from emu.engines.torch.triton.hadamard import rotate
from emu.engines.torch.triton.launch import Launch, check_device, interpreted, matrix_bits, power_of_two
from emu.engines.torch.triton.program import kernel_program
from emu.engines.torch.triton.quantize import QuantizedTensors
from emu.engines.torch.triton.side import Side, check_open, check_random, make_side, tensor_amax_of
from emu.engines.torch.triton.tiles import load_random, load_tile, quantize_tile
from emu.spec.models import Layout, Recipe, Transform
from emu.spec.registry import get


class BothSides(NamedTuple):
    """rows: of x.   columns: of x transposed, so its codes are [C, R]."""

    rows: QuantizedTensors
    columns: QuantizedTensors


@triton.jit
def row_and_column_kernel(
    x, amax0, random0, codes0, level00, level01, signs0, stored0,
    amax1, random1, codes1, level10, level11, signs1, stored1, flag, rows, columns,
    source: tl.constexpr, turn0: tl.constexpr, draw0: tl.constexpr, side0: tl.constexpr,
    turn1: tl.constexpr, draw1: tl.constexpr, side1: tl.constexpr, height: tl.constexpr, width: tl.constexpr,
):  # fmt: skip
    """Quantize one tile twice: as it lies, and transposed. The random integer of an element is that of its place in x on both sides."""
    first_row, first_column = tl.program_id(0).to(tl.int64) * height, tl.program_id(1).to(tl.int64) * width
    row, column = first_row + tl.arange(0, height)[:, None], first_column + tl.arange(0, width)[None, :]
    tile, one = load_tile(x, row, column, rows, columns, source), tl.zeros((1, 1, 1), tl.int32)
    drawn = load_random(random0, row, column, rows, columns, draw0)
    rotated = to_values(canonical(rotate(tile, signs0, turn0))) if len(turn0) != 0 else tile
    maximum = to_values(tl.load(amax0 + one))
    quantize_tile(rotated, drawn, maximum, signs0, row, column, rows, stored0, codes0, level00, level01, flag, side0)
    across = tl.trans(tile)
    drawn = tl.trans(load_random(random1, row, column, rows, columns, draw1))
    rotated = to_values(canonical(rotate(across, signs1, turn1))) if len(turn1) != 0 else across
    row, column = first_column + tl.arange(0, width)[:, None], first_row + tl.arange(0, height)[None, :]
    maximum = to_values(tl.load(amax1 + one))
    quantize_tile(rotated, drawn, maximum, signs1, row, column, columns, stored1, codes1, level10, level11, flag, side1)


def prepare_both(x: torch.Tensor, sides: tuple[Side, Side], amaxes: tuple[torch.Tensor, torch.Tensor], flag: torch.Tensor) -> Launch:
    """Return the launch that fills the outputs of both sides. amaxes: int32 [1] each.   flag: see prepare_quantize."""
    bits, source = matrix_bits(x)
    rows, columns = x.shape
    arguments: dict[str, Any] = {"x": bits, "flag": flag, "rows": rows, "columns": columns}
    constants: dict[str, Any] = {"source": source}
    for number, (side, amax) in enumerate(zip(sides, amaxes, strict=True)):
        mine = {"amax": amax, "random": side.random, "codes": side.codes, "signs": side.signs}
        arguments |= {f"{name}{number}": value for name, value in {**mine, "stored": side.width}.items()}
        arguments |= {f"level{number}0": side.levels[0], f"level{number}1": side.levels[-1]}
        constants |= {f"turn{number}": side.turn, f"draw{number}": side.draw, f"side{number}": side.constant}
    least = [max(side.program.lanes, 16) for side in sides]
    most = 512 if interpreted(row_and_column_kernel) else 64
    width, height = (max(lanes, min(power_of_two(n), most)) for lanes, n in zip(least, (columns, rows), strict=True))
    grid = (-(-rows // height), -(-columns // width))
    return Launch(row_and_column_kernel, grid, arguments, {**constants, "height": height, "width": width})


def quantize_both(
    x: torch.Tensor,
    recipe: str | Recipe,
    column_recipe: str | Recipe | None = None,
    *,
    rotate: str | Transform | None = None,
    column_rotate: str | Transform | None = None,
    signs: int | None = None,
    column_signs: int | None = None,
    tensor_amax: torch.Tensor | None = None,
    column_tensor_amax: torch.Tensor | None = None,
    random: torch.Tensor | None = None,
    column_random: torch.Tensor | None = None,
    key: int | None = None,
    stream: int = 0,
    column_stream: int | None = None,
    packed: bool = False,
    scale_layout: str | Layout = "row_major",
    check: bool = True,
) -> BothSides:
    """Quantize a matrix along its rows and, transposed, along its columns, in one pass over it.

    x, and each operand of the rows: as for quantize; those of the columns have a name of their own, and a recipe that may be another.
    random, column_random: of the shape of x; the integer of an element is indexed by its row-major place in x on both sides.
    key: of both sides that draw; column_stream: None: stream, so both sides draw the same words.
    Returns: rows as quantize(x), columns as quantize(x.T), with codes [C, R].
    Exactness: equals emu.quantize of x and of its transpose bit for bit.
    Raises: as quantize.   Tests: tests/engines/torch/triton/test_triton_row_and_column.py.
    """
    check_device(x, row_and_column_kernel)
    second = recipe if column_recipe is None else column_recipe
    keys = _keys((recipe, second), (random, column_random), key)
    shared: dict[str, Any] = {"packed": packed, "layout": scale_layout, "drawn_in": tuple(x.shape)}
    mine = make_side(x, recipe, rotate=rotate, signs=signs, random=random, key=keys[0], stream=stream, **shared)
    column_operands: dict[str, Any] = {"rotate": column_rotate, "signs": column_signs, "random": column_random, "key": keys[1]}
    other = make_side(x.T, second, stream=stream if column_stream is None else column_stream, **column_operands, **shared)
    amaxes = tensor_amax_of(x, mine, tensor_amax, check), tensor_amax_of(x.T, other, column_tensor_amax, check)
    if check:
        check_random(mine)
        check_random(other)
    flag = torch.zeros(1, dtype=torch.int32, device=x.device)
    prepare_both(x, (mine, other), amaxes, flag).run()
    if check:
        check_open(mine if mine.program.may_open else other, flag)
    return BothSides(QuantizedTensors(mine.codes, mine.stored_levels()), QuantizedTensors(other.codes, other.stored_levels()))


def _keys(recipes: tuple[Any, Any], random: tuple[Any, Any], key: int | None) -> list[int | None]:
    """Return the key of each side: of those that draw and have no operand. Raises: OperandError where none does."""
    wants = [kernel_program(get("recipe", r)).random_bits > 0 and drawn is None for r, drawn in zip(recipes, random, strict=True)]
    if key is not None and not any(wants):
        raise OperandError("neither side draws random bits from a key: leave key out")
    return [key if wanted else None for wanted in wants]
