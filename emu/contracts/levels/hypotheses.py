"""Hypotheses about a machine with a datapath of levels: as it stands, one fact of a level changed, other datapaths with the same operands.

A hypothesis is a plan of a reference model, so its answers are right by definition. Not here: which rows tell them apart (probe).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from emu.base.errors import EmuError
from emu.contracts.dot import rows as fused
from emu.contracts.dot.variants import Hypothesis
from emu.contracts.levels.deviations import Variant, changed, deciding, variants, words_for
from emu.contracts.levels.rows import LevelsRow, answer, answers
from emu.spec.datapath import DatapathPlan, resolve
from emu.spec.levels import LevelsPlan, resolve_levels
from emu.spec.models import Datapath
from emu.spec.models.levels import DatapathLevels
from emu.spec.registry import get, names

Plan = DatapathPlan | LevelsPlan
Supposed = Hypothesis | Variant


def hypotheses(plan: LevelsPlan, k: int) -> list[Supposed]:
    """Return the hypotheses around a plan, those with the same deciding facts once. k: products of a row, which each of them takes."""
    found: dict[str, Variant] = {deciding(plan): Variant(plan)}
    found |= {deciding(item.plan): item for item in variants(plan) if _covers(item.plan, k)}
    steps = []
    for other in _others(plan, k):
        if isinstance(other, DatapathPlan):
            steps.append(Hypothesis(other))
            continue
        known = found.setdefault(deciding(other), Variant(other))
        if known.plan is not other:
            found[deciding(other)] = replace(known, also=(*known.also, other.datapath.id))
    return [*found.values(), *steps]


def combined(plan: LevelsPlan, k: int) -> Iterator[Variant]:
    """Yield combinations of two changed facts, those that say least first: the search of last resort."""
    pairs = combinations(list(variants(plan)), 2)
    for first, second in sorted(pairs, key=lambda pair: len(pair[0].changes) + len(pair[1].changes)):
        item = changed(plan, (*first.changes, *second.changes), first.stage)
        if item is not None and _covers(item.plan, k):
            yield item


def _covers(plan: LevelsPlan, k: int) -> bool:
    try:
        plan.shape(k)
    except EmuError:
        return False
    return True


def _others(plan: LevelsPlan, k: int) -> Iterator[Plan]:
    """Every other known datapath with the same operands and result that takes rows of K products."""
    other: Plan
    for name in names("datapath"):
        model: Datapath = get("datapath", name)
        in_levels = isinstance(model.facts, DatapathLevels)
        try:
            other = (resolve_levels if in_levels else resolve)(model, plan.a, plan.b, plan.scale, plan.block or None)
        except EmuError:
            continue
        same = (other.c, other.d, other.scale, other.block) == (plan.c, plan.d, plan.scale, plan.block)
        whole = k % other.facts.k == 0 and (not isinstance(other, LevelsPlan) or _covers(other, k))
        if same and whole and model is not plan.datapath:
            yield other


def answers_of(rows: Sequence[LevelsRow], plan: LevelsPlan, other: Plan) -> list[int | None]:
    """Return the result codes of rows under a hypothesis; None where a row is refused.

    plan: whose rows they are: a rounding of `other` takes the random word of the same place.
    """
    if isinstance(other, LevelsPlan):
        return answers([words_for(row, plan, other) for row in rows], other)
    return fused.answers([_fused(row) for row in rows], other)


def answer_of(row: LevelsRow, plan: LevelsPlan, other: Plan) -> int | None:
    """Return the result code of a row by the reference model: see answers_of."""
    return answer(words_for(row, plan, other), other) if isinstance(other, LevelsPlan) else fused.answer(_fused(row), other)


def _fused(row: LevelsRow) -> fused.DotRow:
    return fused.DotRow(row.a, row.b, row.scale_a, row.scale_b, row.c or 0)
