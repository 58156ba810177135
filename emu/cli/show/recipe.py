"""The part of emu show that speaks of recipes: numbered steps, what each is rounded to and where it lives."""

from __future__ import annotations

from typing import Any

from emu.pages.formulas import emitted, expression, place_text
from emu.spec import Block, Recipe, get
from emu.spec.programs.program import Program, dequantize_program, quantize_program


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
        rows.append((item.out, expression(item, step, program), place_text(item.type.extent, program)))
    wide = max((len(name) for name, _, _ in rows), default=0)
    out = [f"  {number:3}. {name.ljust(wide)} = {text}  [{extent}]" for number, (name, text, extent) in enumerate(rows, 1)]
    return [*out, f"  {len(rows) + 1:3}. emit {emitted(steps[-1])}"]
