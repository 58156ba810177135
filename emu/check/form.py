"""The form of a contract: its operands and answers with their formats and shapes. Not here: what the answers must be (subject*.py)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from emu.base.errors import OperandError, SpecError
from emu.check.model import Arrays
from emu.spec import derive, get
from emu.spec.contract import Contract, parse, plan_of
from emu.spec.models import Block, Format, Recipe, Rounding, Transform
from emu.spec.models.rounding import Word
from emu.spec.programs.program import extent_of, padded_size, quantize_program

OPERATIONS = ("decode", "convert", "quantize", "dequantize", "transform", "dot")
EXTRAS = ("tensor_amax", "random", "signs")
MAIN = {"decode": "codes", "convert": "codes", "quantize": "x", "dequantize": "codes", "transform": "x", "dot": "a"}
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Form:
    """What goes in and what comes out.

    operands: name -> format, None for plain integers; in the order in which a kernel takes them.
    answers: name -> format, the order in which they are judged; values of a quantize contract are not among them.
    draws: the rounding that draws random integers, or None.   block: of a recipe.
    """

    contract: Contract
    operands: dict[str, Format | None]
    answers: dict[str, Format]
    draws: Rounding | None = None
    block: Block | None = None
    extras: tuple[str, ...] = field(default=())

    @property
    def op(self) -> str:
        """The operation of the contract."""
        return self.contract.op

    def shapes(self, operands: Arrays) -> dict[str, Shape]:
        """Return the shape of every answer to some operands; `values` of quantize and dequantize too."""
        main = operands[MAIN[self.op]].shape
        if self.op == "dot":
            return {"d": main[:1]}
        if self.op in ("decode", "convert", "transform"):
            return dict.fromkeys(self.answers, main)
        if self.op == "dequantize":
            return {"values": main}
        assert self.block is not None
        recipe: Recipe = get("recipe", self.contract.parts[0])
        padded = padded_size(recipe, *main)
        keep = recipe.facts.tail != "zero_pad_drop"
        return {"codes": padded if keep else main, "values": main} | {
            level.name: _parts(padded, extent_of(level.granularity, self.block)) for level in self.block.facts.levels
        }


def _parts(padded: Shape, place: tuple[int, int]) -> Shape:
    """Return how many parts of a place a padded tensor has, along rows and columns; () for the tensor."""
    if place == (0, 0):
        return ()
    return (padded[0] // (place[0] or padded[0]), padded[1] // (place[1] or padded[1]))


def form_of(contract: str | Contract, source: str | None = None, result: str | None = None) -> Form:
    """Return the form of a contract.

    source: id of the format of x, or of the codes to convert; None: fp32.   result: of values; None: fp32.
    Raises: SpecError (unknown names; an operation that check does not judge).
    """
    known = parse(contract) if isinstance(contract, str) else contract
    if known.op not in OPERATIONS:
        raise SpecError(f"check {known}: {known.op} is not judged here: one of {', '.join(OPERATIONS)}")
    to: Format = get("format", result or "fp32")
    given: Format = get("format", source or "fp32")
    if known.op == "decode":
        return Form(known, {"codes": get("format", known.parts[0])}, {"values": to})
    if known.op == "convert":
        rounding: Rounding = get("rounding", known.parts[1])
        draws = rounding if rounding.random_bits else None
        extras = ("random",) if draws else ()
        return Form(known, {"codes": given, **dict.fromkeys(extras)}, {"codes": get("format", known.parts[0])}, draws, None, extras)
    if known.op == "transform":
        turn: Transform = get("transform", known.parts[0])
        extras = ("signs",) if turn.facts.signs_operand != "no" else ()
        return Form(known, {"x": given, **dict.fromkeys(extras)}, {"values": get("format", turn.facts.result)}, extras=extras)
    return _dot(known) if known.op == "dot" else _recipe(known, given, to)


def _dot(contract: Contract) -> Form:
    plan = plan_of(contract)
    operands: dict[str, Format | None] = {"a": plan.a, "b": plan.b}
    operands |= {} if plan.scale is None else {"scale_a": plan.scale, "scale_b": plan.scale}
    return Form(contract, {**operands, "c": plan.c}, {"d": plan.d})


def _recipe(contract: Contract, source: Format, result: Format) -> Form:
    recipe: Recipe = get("recipe", contract.parts[0])
    block: Block = get("block", recipe.facts.block)
    levels = {level.name: get("format", level.format) for level in reversed(block.facts.levels)}  # innermost first
    element: Format = get("format", block.element_formats[0])
    if contract.op == "dequantize":
        return Form(contract, {"codes": element, **levels}, {"values": result}, block=block)
    program = quantize_program(recipe)
    draws = [item.rounding for item in program.instructions if item.rounding is not None and item.rounding.random_bits]
    present = (program.reads("tensor_amax"), bool(draws), takes_signs(recipe))
    extras = tuple(name for name, here in zip(EXTRAS, present, strict=True) if here)
    formats: dict[str, Format | None] = {"tensor_amax": get("format", "fp32")}
    operands = {"x": source} | {name: formats.get(name) for name in extras}
    outermost = {level.name: levels[level.name] for level in block.facts.levels}
    return Form(contract, operands, {**outermost, "codes": element}, draws[0] if draws else None, block, extras)


def takes_signs(recipe: Recipe) -> bool:
    """Tell whether a recipe rotates by signs that the caller hands in."""
    turns: list[Transform] = [get("transform", step.transform) for step in recipe.facts.steps if step.op == "transform"]
    return any(turn.facts.signs_operand != "no" for turn in turns)


def integer_dtype(fmt: Format | None, bits: int = 0) -> str:
    """Return the unsigned dtype of codes of a format, unused high bits included; of integers of `bits` bits where there is none."""
    wide = bits if fmt is None else derive.codes(fmt).bits + derive.unused_high_bits(fmt)
    return "u1" if wide <= 8 else "u2" if wide <= 16 else "u4" if wide <= 32 else "u8"


def draw_bits(rounding: Rounding) -> tuple[int, int]:
    """Return (elements that share one random integer, its bits)."""
    source = rounding.facts.random
    return (source.lanes, source.word) if isinstance(source, Word) else (1, rounding.random_bits)


def check_names(given: Iterable[str], known: Iterable[str], what: str) -> None:
    """Refuse a name that a contract does not have. Raises: OperandError."""
    table = list(known)
    for name in given:
        if name not in table:
            raise OperandError(f"{what} {name!r} is unknown here: one of {', '.join(table)}")
