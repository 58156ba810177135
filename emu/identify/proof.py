"""Proofs that two variants are equal on a domain: the same steps, every pair of the bf16 decision space, every bf16 block maximum."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from emu.contracts.quantize import decision
from emu.contracts.quantize.edit import is_joint
from emu.contracts.quantize.variants import Variant, shape_of
from emu.engines.c_ref.block import quantize_with_open
from emu.spec import derive
from emu.spec.models.common import digest_json
from emu.spec.programs.program import quantize_program
from emu.spec.registry import get

STEPS: Final = "every input: the same steps"
SPACE: Final = "the scale bytes of the bf16 decision space ({} pairs of significands of block and tensor maximum)"
MAXIMA: Final = "the scale bytes of every bf16 block maximum ({} codes, NaN and Inf too)"
NONE: Final = ""
SIGN: Final = 0x8000  # of bf16


def equal_documented(pairs: Sequence[tuple[Variant, Variant]]) -> list[list[str]]:
    """Return (first, second, verdict, domain) of pairs that no row separates: equal on a domain, or not separated."""
    return [[first.base, second.base, *verdict(first, second)] for first, second in pairs]


def verdict(first: Variant, second: Variant) -> tuple[str, str]:
    """Return what is proven of two variants, by their steps or their scale bytes: (equal, domain), (separated, domain) or not separated."""
    if program_digest(first) == program_digest(second):
        return "equal", STEPS
    if _has_decision_space(first) and _has_decision_space(second):
        scales, domain = (decision.scales(first.recipe), decision.scales(second.recipe)), SPACE.format(decision.SIZE)
    elif _takes_block_alone(first) and _takes_block_alone(second):
        scales, domain = (of_maxima(first), of_maxima(second)), MAXIMA.format(SIGN)
    else:
        return "not separated", NONE
    return ("equal", domain) if np.array_equal(*scales) else ("separated", domain)


def of_maxima(item: Variant) -> NDArray[np.int64]:
    """Return the scale codes of blocks whose largest magnitude is each bf16 code, the other elements zero; OPEN where nobody knows."""
    x = np.zeros((SIGN, shape_of(item.recipe)[1]), np.uint16)
    x[:, 0] = np.arange(SIGN)
    found, marks = quantize_with_open(item.recipe, x, get("format", "bf16"))
    return np.where(marks.levels["scale"] == 1, -1, found.levels["scale"].astype(np.int64))


def _takes_block_alone(item: Variant) -> bool:
    """Tell whether a scale of at most 16 bits follows from its own block, one row high, and is finished before any code."""
    program = quantize_program(item.recipe)
    narrow = [
        level for level in program.block.facts.levels if level.name == "scale" and derive.codes(get("format", level.format)).bits <= 16
    ]
    alone = not program.reads("tensor_amax") and not program.reads("random") and shape_of(item.recipe)[0] == 1
    rotated = bool(item.recipe.transforms)
    return bool(narrow) and alone and not rotated and item.recipe.facts.domain.non_finite == "yes" and not is_joint(item.recipe)


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
