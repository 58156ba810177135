"""Recipe programs type-checked: every name resolved to a place and a type. What the operations compute is in the engines.

A place is how many rows and columns share one value: tensor, row, tile, block, part of a block, element.
A step lives at the finest place of its arguments; only amax and sum go up, to the place they state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from emu.base.caches import Cache, lazy
from emu.base.errors import ShapeError, SpecError
from emu.spec import derive
from emu.spec.derive import OPEN, EntryCodes
from emu.spec.models import Block, Format, Recipe, Rounding
from emu.spec.models.common import digest_json
from emu.spec.programs.steps import outputs_of, type_step
from emu.spec.programs.types import ELEMENT, TENSOR, Instruction, Typed, extent_of
from emu.spec.registry import digest, get


@dataclass(frozen=True)
class Program:
    """A checked program: given names, instructions, outputs (name -> output name; `values` for a dequantize program)."""

    arithmetic: Format
    rounding: Rounding
    block: Block
    given: Mapping[str, Typed]
    instructions: tuple[Instruction, ...]
    outputs: Mapping[str, str]
    types: Mapping[str, Typed]

    def reads(self, name: str) -> bool:
        """Tell whether the program uses a given name."""
        return any(name in item.reads for item in self.instructions) or name in self.outputs.values()

    @property
    def drawing(self) -> Rounding | None:
        """The rounding with which the program draws random bits, or None; it has one random operand."""
        return next((item.rounding for item in self.instructions if item.rounding is not None and item.rounding.random_bits), None)

    @lazy
    def digest(self) -> str:
        """sha256 of what the program does: two programs of one digest give the same bits."""
        given = {name: [*typed.extent, typed.is_code, *(fmt.facts_digest for fmt in typed.formats)] for name, typed in self.given.items()}
        objects = [self.arithmetic.facts_digest, self.rounding.facts_digest, digest(self.block)]
        return digest_json([objects, given, [item.facts for item in self.instructions], dict(self.outputs)])


_programs: Cache[tuple[str, str | None], Program] = Cache("emu.spec.programs.program._programs", 1024)


def quantize_program(recipe: Recipe) -> Program:
    """Return the checked quantize program. Raises: SpecError naming the step."""
    return _cached(recipe, None)


def dequantize_program(recipe: Recipe, profile: str | None = None) -> Program:
    """Return the checked dequantize program of a profile (None: the first). Raises: SpecError (unknown profile, bad step)."""
    profiles = list(recipe.facts.dequantize)
    if profile is not None and profile not in profiles:
        raise SpecError(f"recipe {recipe.id} has no dequantize profile {profile!r}: one of {', '.join(profiles)}")
    return _cached(recipe, profile or profiles[0])


def _cached(recipe: Recipe, profile: str | None) -> Program:
    key = (digest(recipe), profile)
    found = _programs.get(key)
    return found if found is not None else _programs.keep(key, build(recipe, profile))


class StepFault(SpecError):
    """A fault of one step; `number` is its index in the program, -1 for the program as a whole."""

    def __init__(self, number: int, why: str) -> None:
        super().__init__(why)
        self.number = number


def build(recipe: Recipe, profile: str | None) -> Program:
    """Type-check one program of a recipe. Raises: StepFault."""
    block: Block = get("block", recipe.facts.block)
    arithmetic: Format = get("format", recipe.facts.arithmetic.to)
    rounding: Rounding = get("rounding", recipe.facts.arithmetic.round)
    given = _given(block, arithmetic, decoding=profile is not None)
    steps = recipe.facts.steps if profile is None else recipe.facts.dequantize[profile]
    types: dict[str, Typed] = dict(given)
    instructions: list[Instruction] = []
    if not steps or steps[-1].op != "emit":
        raise StepFault(-1, "a program ends with emit")
    for number, step in enumerate(steps[:-1]):
        try:
            if step.op == "emit":
                raise SpecError("emit must be the last step")
            if step.out in types:
                raise SpecError(
                    f"{step.out} is set twice" if step.out not in given else f"{step.out} is given from outside: choose another name"
                )
            item = type_step(step, types, arithmetic, rounding, block)
        except StepFault:
            raise
        except SpecError as error:
            raise StepFault(number, str(error)) from None
        instructions.append(item)
        types[step.out] = item.type
        _one_draw(number, instructions)
    try:
        outputs = outputs_of(steps[-1], types, block, arithmetic)
    except SpecError as error:
        raise StepFault(len(steps) - 1, str(error)) from None
    return Program(arithmetic, rounding, block, given, tuple(instructions), outputs, types)


def _one_draw(number: int, instructions: list[Instruction]) -> None:
    """Check that the last step, if it draws, reads the same random operand as the earlier ones. Raises: StepFault."""
    modes = [item.rounding for item in instructions if item.rounding is not None and item.rounding.random_bits]
    if modes and modes[-1].facts.random != modes[0].facts.random:
        raise StepFault(number, f"roundings {modes[0].id} and {modes[-1].id} read different random operands: a program has one")


def _given(block: Block, arithmetic: Format, decoding: bool) -> dict[str, Typed]:
    """Return the names a program finds: x, tensor_amax, random; or codes and the levels."""
    if not decoding:
        value = {"x": Typed(ELEMENT, False, (arithmetic,)), "tensor_amax": Typed(TENSOR, False, (arithmetic,))}
        return {**value, "random": Typed(ELEMENT, True, ())}
    found = {"codes": Typed(ELEMENT, True, tuple(get("format", name) for name in block.element_formats))}
    for level in block.facts.levels:
        fmt: Format = get("format", level.format)
        found[level.name] = Typed(extent_of(level.granularity, block), fmt.facts_digest != arithmetic.facts_digest, (fmt,))
    return found


def cast_entry(item: Instruction) -> EntryCodes:
    """Return the policy of a cast step: its own overflow and NaN code; without one the format's NaN, or open."""
    assert item.to is not None
    known, step = derive.codes(item.to).nan, item.step
    nan = int(step.nan, 16) if step.nan is not None else known[0] if known else OPEN
    both = (known[0], known[-1]) if known and step.overflow in ("nan", "ieee_nan") else None
    return EntryCodes(step.overflow, (nan, nan), both)


def padded_size(recipe: Recipe, height: int, width: int) -> tuple[int, int]:
    """Return the size after padding to whole tiles. Raises: ShapeError when the tail rule is `error` and a length does not fit."""
    rows, columns = get("block", recipe.facts.block).facts.shape
    padded = -(-height // rows) * rows, -(-width // columns) * columns
    if padded != (height, width) and recipe.facts.tail == "error":
        raise ShapeError(f"{recipe.id}: {height} x {width} is no multiple of {rows} x {columns}: pad the tensor yourself (tail: error)")
    return padded
