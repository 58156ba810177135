"""One side of a quantization: program, rotation, operands and outputs of the rows, or of the columns seen as rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from emu.base import philox
from emu.base.errors import OpenError, OperandError
from emu.engines.torch.transform import sign_mask
from emu.engines.torch.triton.amax import amax
from emu.engines.torch.triton.launch import check_matrix, fp32_code, layout_digits, layout_size
from emu.engines.torch.triton.program import KernelProgram, kernel_program, rotation
from emu.spec.models import Layout, Recipe, Transform
from emu.spec.programs.program import padded_size, quantize_program
from emu.spec.registry import get

INFINITY = 0x7F800000


@dataclass(frozen=True)
class Side:
    """What a kernel needs for one direction: compile-time facts, operands, and the outputs it fills.

    size: rows and columns of the matrix as this side sees it.   turn: rotation before the program, or ().   draw: see tiles.load_random.
    constant: see tiles.quantize_tile.   levels: int32 for binary32, else uint8.
    """

    recipe: Recipe
    program: KernelProgram
    size: tuple[int, int]
    rotate: Transform | None
    turn: tuple[Any, ...]
    draw: tuple[str, int, bool]
    constant: tuple[Any, ...]
    signs: int
    random: torch.Tensor
    codes: torch.Tensor
    levels: tuple[torch.Tensor, ...]
    width: int

    def stored_levels(self) -> tuple[torch.Tensor, ...]:
        """Return the levels with binary32 ones as float32."""
        return tuple(level.view(torch.float32) if level.dtype == torch.int32 else level for level in self.levels)


def make_side(
    x: torch.Tensor,
    recipe: str | Recipe,
    *,
    rotate: str | Transform | None,
    signs: int | None,
    random: torch.Tensor | None,
    key: int | None,
    stream: int,
    packed: bool,
    layout: str | Layout,
    drawn_in: tuple[int, ...] | None = None,
) -> Side:
    """Return one side of a matrix whose rows it quantizes.

    drawn_in: shape whose row-major places index the random integers; None: that of x.   Raises: as quantize.
    """
    chosen: Recipe = get("recipe", recipe)
    program = kernel_program(chosen)
    check_matrix(x)
    rows, columns = x.shape
    padded = padded_size(chosen, rows, columns)[1]
    width = columns if chosen.facts.tail == "zero_pad_drop" else padded
    if packed and width % 2:
        raise OperandError(f"x has {columns} columns: packed codes need an even number of stored elements")
    turn_model: Transform | None = None if rotate is None else get("transform", rotate)
    mask, turn = _rotation(chosen, program, turn_model, signs)
    draw, drawn = _draw(chosen, program, x.device, tuple(drawn_in or x.shape), random, key, stream)
    digits = layout_digits(layout)
    constant = (program.steps, program.codes, program.levels, program.lanes, bool(program.random_bits), program.may_open, packed, digits)
    codes = torch.empty((rows, width // 2 if packed else width), dtype=torch.uint8, device=x.device)
    levels = tuple(_level(program, number, rows, padded, digits, x.device) for number in range(len(program.levels)))
    return Side(chosen, program, (rows, columns), turn_model, turn, draw, constant, mask, drawn, codes, levels, width)


def _rotation(recipe: Recipe, program: KernelProgram, before: Transform | None, signs: int | None) -> tuple[int, tuple[Any, ...]]:
    """Return the sign mask and the facts of a rotation before the program. Raises: OperandError (two rotations, signs without one)."""
    own = recipe.transforms
    if own and before is not None:
        raise OperandError(f"recipe {recipe.id} rotates by {own[0]} itself: leave rotate out")
    if not own and before is None:
        if signs is not None:
            raise OperandError(f"recipe {recipe.id} rotates nothing: leave signs out")
        return 0, ()
    return sign_mask(before or get("transform", own[0]), signs), () if before is None else rotation(before)


def _draw(
    recipe: Recipe,
    program: KernelProgram,
    device: torch.device,
    shape: tuple[int, ...],
    random: torch.Tensor | None,
    key: int | None,
    stream: int,
) -> tuple[tuple[str, int, bool], torch.Tensor]:
    """Return how random integers come, and what the kernel reads: the integers, or the four halves of key and stream.

    Raises: OperandError (missing, twice, unwanted, wrong shape, key too wide).
    """
    none = torch.zeros(1, dtype=torch.int32, device=device)
    if not program.random_bits:
        if random is not None or key is not None:
            raise OperandError(f"recipe {recipe.id} draws no random bits: leave random and key out")
        return ("none", 0, False), none
    if (random is None) == (key is None):
        raise OperandError(f"recipe {recipe.id} draws {program.random_bits} bits per element: give random or key, one of them")
    if random is None:
        philox.check_key(key or 0, stream)
        halves = [(value or 0) >> shift & 0xFFFFFFFF for value in (key, stream) for shift in (0, 32)]
        seed = torch.tensor(halves, dtype=torch.int64, device=device).to(torch.int32)
        return ("philox", program.random_bits, shape[1] % 4 == 0), seed
    if tuple(random.shape) != shape or random.dtype.is_floating_point or random.dtype in (torch.bool, torch.complex64):
        raise OperandError(f"random is {random.dtype} {tuple(random.shape)}: give an integer for each element of x")
    kept = random if random.dtype in (torch.uint8, torch.int32) else random.to(torch.int64)
    return ("operand", program.random_bits, False), kept.contiguous()


def _level(program: KernelProgram, number: int, rows: int, padded: int, digits: Any, device: Any) -> torch.Tensor:
    """Return the memory of one level; the padding of a scale layout is 0."""
    _, is_code, per_tensor = program.levels[number]
    dtype, blocks = torch.uint8 if is_code else torch.int32, padded // program.lanes
    if per_tensor:
        return torch.zeros(1, dtype=dtype, device=device)
    size = layout_size(rows, blocks, digits)
    memory = torch.zeros(size, dtype=dtype, device=device)
    return memory.view(rows, blocks) if size == rows * blocks else memory


def tensor_amax_of(x: torch.Tensor, side: Side, given: torch.Tensor | None, check: bool) -> torch.Tensor:
    """Return the bits of the tensor maximum, int32 [1]. Raises: OperandError (dtype, negative, unwanted), OpenError (domain)."""
    reads = quantize_program(side.recipe).reads("tensor_amax")
    if not reads and given is not None:
        raise OperandError(f"recipe {side.recipe.id} reads no tensor_amax: leave it out")
    if given is not None and (given.dtype != torch.float32 or given.numel() != 1 or given.device != x.device):
        raise OperandError(f"tensor_amax is {given.dtype} {tuple(given.shape)} on {given.device}: give one float32 number where x is")
    if given is None:
        found = amax(x, rotate=side.rotate, signs=_given_signs(side)) if reads else torch.zeros(1, device=x.device)
    else:
        found = given.reshape(1)
    if check:
        _check_domain(x, side, found, given is not None)
    return found.view(torch.int32)


def _given_signs(side: Side) -> int | None:
    """Return the sign mask where the transform takes one."""
    return side.signs if side.rotate is not None and side.rotate.facts.signs_operand == "yes" else None


def _check_domain(x: torch.Tensor, side: Side, found: torch.Tensor, was_given: bool) -> None:
    """Raise OperandError for a negative maximum, OpenError for input that the recipe's sources leave open."""
    domain, code = side.recipe.facts.domain, fp32_code(found)
    if was_given and code >> 31 and code & 0x7FFFFFFF <= INFINITY:
        raise OperandError("tensor_amax is a maximum of magnitudes: it cannot be negative")
    least = domain.tensor_amax_min
    is_open = least is not None and 0 < code < int(least, 16)
    if domain.non_finite == "no" and not is_open:
        is_open = fp32_code(amax(x)) >= INFINITY
    if is_open:
        raise OpenError(_open_text(side))


def check_random(side: Side) -> None:
    """Raise OperandError where an explicit random integer has too many bits."""
    if side.draw[0] == "operand" and bool((side.random >> side.draw[1] != 0).any()):
        raise OperandError(f"random must be in 0 .. {(1 << side.draw[1]) - 1} for recipe {side.recipe.id}")


def check_open(side: Side, flag: torch.Tensor) -> None:
    """Raise OpenError where an element has no known code."""
    if side.program.may_open and int(flag.item()):
        raise OpenError(_open_text(side))


def _open_text(side: Side) -> str:
    return (
        f"quantize/{side.recipe.id}: this input has results that the sources leave open (NaN, Inf or a tensor maximum outside its domain)"
    )
