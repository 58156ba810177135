"""Proofs that two documented recipes are equal on a domain: the same steps, or every pair of the bf16 decision space."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from emu.identify.variants import Variant, shape_of
from emu.spec.models.common import digest_json
from emu.spec.program import quantize_program
from emu.spec.registry import get
from emu.vectors import decision

STEPS: Final = "every input: the same steps"
SPACE: Final = "the scale bytes of the bf16 decision space ({} pairs of significands of block and tensor maximum)"
NONE: Final = ""


def equal_documented(pairs: Sequence[tuple[Variant, Variant]]) -> list[list[str]]:
    """Return (first, second, verdict, domain) of pairs that no row separates: equal on a domain, or not separated."""
    return [[first.base, second.base, *_verdict(first, second)] for first, second in pairs]


def _verdict(first: Variant, second: Variant) -> tuple[str, str]:
    if program_digest(first) == program_digest(second):
        return "equal", STEPS
    if _has_decision_space(first) and _has_decision_space(second):
        if np.array_equal(decision.scales(first.recipe), decision.scales(second.recipe)):
            return "equal", SPACE.format(decision.SIZE)
        return "separated", "on the bf16 decision space"
    return "not separated", NONE


def _has_decision_space(item: Variant) -> bool:
    program = quantize_program(item.recipe)
    scale = [level.format for level in program.block.facts.levels if level.name == "scale"]
    return shape_of(item.recipe) == (1, decision.LANES) and program.reads("tensor_amax") and scale == ["ue4m3"]


def program_digest(item: Variant) -> str:
    """Return a digest of what a recipe computes: its steps under names by place, its arithmetic, domain and block without its name."""
    names: dict[str, str] = {}
    steps = []
    for number, step in enumerate(item.recipe.facts.steps[:-1]):
        data = step.model_dump(mode="json", exclude_none=True)
        data["args"] = [names.get(arg, arg) for arg in data["args"]]
        names[data.pop("out")] = f"_{number}"
        steps.append(data)
    emit = item.recipe.facts.steps[-1].model_dump(mode="json")
    outs = [names.get(emit["codes"]), {level: names.get(out, out) for level, out in emit["levels"].items()}]
    facts = item.recipe.facts
    return digest_json([steps, outs, facts.arithmetic.model_dump(), facts.domain.model_dump(), get("block", facts.block).facts_json()])
