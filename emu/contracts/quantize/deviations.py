"""Deviations of a quantizer: one step rounded another way, and every rule of the axes that kernels differ on, applied alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from emu.base.errors import EmuError
from emu.contracts.deviation import Deviation
from emu.contracts.quantize.variants import Variant, code_variants, scale_variants
from emu.spec.models import Recipe
from emu.spec.programs.program import quantize_program

if TYPE_CHECKING:
    from emu.contracts.quantize.contract import QuantizeContract

MODES = ("rne", "rz", "rna", "ru", "rd")


def deviations(op: QuantizeContract) -> Iterator[Deviation]:
    """Yield the recipe with one step rounded another way, then with one rule of an axis applied."""
    seen = {op.recipe.facts_digest}
    for text, stage, recipe in (*_rounded(op.recipe), *_ruled(op.recipe)):
        if recipe.facts_digest not in seen:
            seen.add(recipe.facts_digest)
            yield Deviation(text, stage, replace(op, recipe=recipe).exact)


def _rounded(recipe: Recipe) -> Iterator[tuple[str, str, Recipe]]:
    facts = recipe.facts
    for number, step in enumerate(facts.steps):
        if not hasattr(step, "round"):
            continue
        mine = step.round or facts.arithmetic.round
        for mode in MODES:
            if mode != mine:
                steps = (*facts.steps[:number], step.model_copy(update={"round": mode}), *facts.steps[number + 1 :])
                changed = recipe.model_copy(update={"facts": facts.model_copy(update={"steps": steps})})
                name = getattr(step, "out", "")
                try:
                    quantize_program(changed)
                except EmuError:
                    continue
                yield f"step {name} ({step.op}) rounds {mode}, not {mine}", f"step {name}", changed


def _ruled(recipe: Recipe) -> Iterator[tuple[str, str, Recipe]]:
    base = Variant(recipe, recipe.id)
    for stage, found in (("scale", scale_variants(base)), ("codes", code_variants(base))):
        yield from ((item.changes[0][1], stage, item.recipe) for item in found if item.changes)
