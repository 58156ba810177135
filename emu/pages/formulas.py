"""Steps of recipe programs as formulas: what each computes, what it is rounded to, where it lives."""

from __future__ import annotations

from typing import Any

from emu.contracts.numbers import decimal_text
from emu.engines.exact.decode import decode_code
from emu.spec import Format, derive
from emu.spec.programs.program import Extent, Instruction, Program
from emu.spec.programs.steps import words_of

_IN_THE_FORMULA = ("out", "op", "args", "to", "round", "overflow", "at", "test", "format")


def expression(item: Instruction, step: Any, program: Program) -> str:
    """Return the right side of a step; step: the model that the instruction came from."""
    return words_of(step, [_argument(text, program.arithmetic) for text in step.args]) + _detail(item, step, program)


def _argument(text: str, arithmetic: Format) -> str:
    if text[0] not in "-0123456789":
        return text
    if not text.startswith("0x"):
        return f"({text})" if "/" in text else text
    return f"{text} ({decimal_text(decode_code(derive.encode_constant(text, arithmetic), arithmetic))})"


def _detail(item: Instruction, step: Any, program: Program) -> str:
    """What a reader must know beside the operation: rounding, overflow, NaN rule, order."""
    parts = []
    if item.op in ("cast", "round") or getattr(step, "to", None) or getattr(step, "round", None):
        mode = item.rounding or program.rounding
        parts.append(f"to {item.to.id if item.to else program.arithmetic.id}, {mode.id}")
    if item.op == "cast":
        parts.append(f"overflow {step.overflow}")
    if item.op == "round" and step.overflow == "none":
        parts.append("no maximum")
    parts += [f"{key} {value}" for key, value in step if key not in _IN_THE_FORMULA and value is not None]
    return f" ({', '.join(parts)})" if parts else ""


def place_text(place: Extent, program: Program) -> str:
    """Return a place in words: tensor, row, tile, block, element, or how many elements."""
    rows, columns = program.block.facts.shape
    known = {(0, 0): "tensor", (1, 0): "row", (1, 1): "element", (1, columns): "block", (rows, columns): "block" if rows == 1 else "tile"}
    return known.get((place.rows, place.columns), f"{place.columns} elements" if place.rows == 1 else f"{place.rows}x{place.columns}")


def emitted(emit: Any) -> str:
    """Return the last step in words."""
    if hasattr(emit, "values"):
        return f"values = {emit.values}"
    return ", ".join([f"codes = {emit.codes}", *(f"{level} = {name}" for level, name in emit.levels.items())])
