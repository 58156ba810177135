"""The part of emu show that speaks of recipes: numbered steps, what each is rounded to and where it lives."""

from __future__ import annotations

from typing import Any

from emu.cli.numbers import decimal_text
from emu.exact.decode import decode_code
from emu.spec import Block, Format, Recipe, derive, get
from emu.spec.program import Instruction, Place, Program, dequantize_program, quantize_program

_SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
_COMPARE = {"lt": "<", "le": "<=", "ge": ">="}


def lines(recipe: Recipe) -> list[str]:
    """Return block, tail, domain and both programs as lines."""
    facts = recipe.facts
    block: Block = get("block", facts.block)
    out = ["", f"block {facts.block} ({block.title}), tail {facts.tail}"]
    if facts.domain.non_finite == "no":
        out.append("open for NaN and Inf: refused")
    if facts.domain.tensor_amax_min is not None:
        out.append(f"open for a tensor maximum below fp32 {facts.domain.tensor_amax_min}: refused")
    out += ["", f"quantize (each result rounded to {facts.arithmetic.to}, {facts.arithmetic.round}, unless it says otherwise)"]
    out += _program(quantize_program(recipe), facts.steps)
    for number, (profile, steps) in enumerate(facts.dequantize.items()):
        out += ["", f"dequantize, profile {profile}{' (default)' if number == 0 else ''}"]
        out += _program(dequantize_program(recipe, profile), steps)
    return out


def _program(program: Program, steps: Any) -> list[str]:
    rows = []
    for item, step in zip(program.instructions, steps, strict=False):
        rows.append((item.out, _expression(item, step, program), _place(item.type.place, program)))
    wide = max((len(name) for name, _, _ in rows), default=0)
    out = [f"  {number:3}. {name.ljust(wide)} = {text}  [{place}]" for number, (name, text, place) in enumerate(rows, 1)]
    emit = steps[-1]
    if hasattr(emit, "values"):
        written = f"values = {emit.values}"
    else:
        written = ", ".join([f"codes = {emit.codes}", *(f"{level} = {name}" for level, name in emit.levels.items())])
    return [*out, f"  {len(rows) + 1:3}. emit {written}"]


def _expression(item: Instruction, step: Any, program: Program) -> str:
    args = [_argument(text, program.arithmetic) for text in step.args]
    if item.op in _SIGNS:
        text = f"{args[0]} {_SIGNS[item.op]} {args[1]}"
    elif item.op == "select":
        text = _select(step.test, args)
    elif item.op == "decode":
        text = f"value of {args[0]}" + (f" as {step.format}" if step.format else "")
    else:
        text = f"{item.op}({', '.join(args)})"
    return text + _detail(item, step, program)


def _argument(text: str, arithmetic: Format) -> str:
    if text[0] not in "-0123456789":
        return text
    if not text.startswith("0x"):
        return text
    return f"{text} ({decimal_text(decode_code(derive.encode_constant(text, arithmetic), arithmetic))})"


def _select(test: str, args: list[str]) -> str:
    condition = f"{args[0]} {_COMPARE[test]} {args[1]}" if test in _COMPARE else f"{args[0]} is {'negative' if test == 'neg' else test}"
    return f"{args[-2]} if {condition} else {args[-1]}"


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
    for key in ("nan", "order", "rule", "emax", "frac_bits", "random", "transform"):
        value = getattr(step, key, None)
        if value is not None:
            parts.append(f"{key} {value}")
    return f" ({', '.join(parts)})" if parts else ""


def _place(place: Place, program: Program) -> str:
    rows, columns = program.block.facts.shape
    known = {(0, 0): "tensor", (1, 0): "row", (1, 1): "element", (1, columns): "block", (rows, columns): "block" if rows == 1 else "tile"}
    return known.get((place.rows, place.columns), f"{place.columns} elements" if place.rows == 1 else f"{place.rows}x{place.columns}")
