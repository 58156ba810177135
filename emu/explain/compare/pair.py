"""Two datapaths on common operands: which choices both take, and how long a row must be for both."""

from __future__ import annotations

import math
from typing import Any

from emu.base.errors import SpecError
from emu.contracts.dot.rows import choices_of
from emu.contracts.dot.variants import deciding
from emu.spec import get
from emu.spec.datapath import DatapathPlan, known_facts, pairs, resolve
from emu.spec.models import Datapath


def common_plans(
    first: str | Datapath, second: str | Datapath, a: Any = None, b: Any = None, scale: Any = None, block: int | None = None
) -> tuple[DatapathPlan, DatapathPlan]:
    """Return the plans of two datapaths with the same operands.

    first, second: ids, names of plans (id/e1m2xe1m2/ue4m3/16) or models.   a, b, scale, block: choices for both; what both take in one
    way only may be left out.   Raises: SpecError (no operands in common, several of them, results of different formats), OpenError.
    """
    given: dict[str, Any] = {"a": _id(a), "b": _id(b), "scale": _id(scale), "block": block}
    one, chosen = choices_of(first, given)
    two, chosen = choices_of(second, chosen)
    names = f"{one.id} and {two.id}"
    left, right = known_facts(one), known_facts(two)
    if (left.c, left.d) != (right.c, right.d):
        raise SpecError(f"{names}: C and D are {left.d} in the one, {right.d} in the other: their results are not comparable")
    both = [pair for pair in pairs(left) if pair in pairs(right)]
    fits = [pair for pair in both if chosen["a"] in (None, pair[0]) and chosen["b"] in (None, pair[1])]
    pair = _only(names, "operands", [f"{x} x {y}" for x, y in fits], [f"{x} x {y}" for x, y in both], fits)
    scales = _shared(names, "scale formats", left.scale.formats, right.scale.formats, chosen["scale"])
    blocks = _shared(names, "block sizes", left.scale.blocks, right.scale.blocks, chosen["block"])
    return resolve(one, pair[0], pair[1], scales, blocks), resolve(two, pair[0], pair[1], scales, blocks)


def _id(thing: Any) -> Any:
    return None if thing is None else get("format", thing).id


def _shared(names: str, what: str, left: tuple[Any, ...], right: tuple[Any, ...], wanted: Any) -> Any:
    """Return the wanted one of what both offer, or the only one; None where neither has any."""
    if not left and not right:
        return None
    both = [item for item in left if item in right]
    fits = [item for item in both if wanted in (None, item)]
    return _only(names, what, [str(item) for item in fits], [str(item) for item in both], fits)


def _only(names: str, what: str, fits: list[str], both: list[str], items: list[Any]) -> Any:
    if not both:
        raise SpecError(f"{names} have no {what} in common: there is nothing to compare")
    if not fits:
        raise SpecError(f"{names} do not both take these {what}: they share {', '.join(both)}")
    if len(fits) > 1:
        raise SpecError(f"{names} share several {what}: name one of {', '.join(fits)}")
    return items[0]


def common_k(first: DatapathPlan, second: DatapathPlan) -> int:
    """Return the shortest K that is a whole number of instructions of both, and of blocks."""
    return math.lcm(first.facts.k, second.facts.k, max(first.block, 1))


def same_by_facts(first: DatapathPlan, second: DatapathPlan) -> bool:
    """Tell whether two plans are equal for every input because every fact that decides a bit is the same.

    Facts that cannot matter once the operands are chosen are left out: which other formats are offered, and the epilogue.
    """
    return deciding(first) == deciding(second)
