"""Hypotheses about a machine: a datapath as it stands, with one fact changed, with two; readings of open facts; other datapaths.

A hypothesis is a plan of the reference model, so its answers are right by definition. Not here: which rows tell them apart (probe).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from pathlib import Path
from typing import Any, Final

from emu.base.errors import OpenError, SpecError
from emu.spec import get, names
from emu.spec.checks.datapath import check_plan
from emu.spec.datapath import DatapathPlan, known_facts, pairs, resolve
from emu.spec.ieee import binary_format
from emu.spec.loader import read
from emu.spec.models import Datapath
from emu.spec.models.datapath import DatapathFacts

MOST_CHANGES = 3
Change = tuple[str, Any]  # path of a fact, its new value


@dataclass(frozen=True)
class Hypothesis:
    """A datapath with some facts changed.

    changes: ((path of the fact, value), ...), empty for the datapath as it stands.   also: other datapaths with the same deciding facts.
    """

    plan: DatapathPlan
    changes: tuple[Change, ...] = ()
    also: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """What is supposed, in words."""
        words = [_words(path, value) for path, value in self.changes]
        said = f"{self.plan.datapath.id}: {', '.join(words)}" if words else f"{self.plan.datapath.id} as it stands"
        return f"{said} (= {', '.join(self.also)})" if self.also else said

    def data(self) -> dict[str, Any]:
        """Return datapath and changes as plain data."""
        return {"datapath": self.plan.datapath.id, "changes": dict(self.changes), "text": self.text}


FACTS: Final[dict[str, dict[str, str]]] = {one["fact"]: one for one in read(Path(__file__).with_name("facts.yaml")).data["facts"]}


def _words(path: str, value: Any) -> str:
    """Return what a changed fact says: words of its own for a value, or those of the fact with the value in them."""
    fact = FACTS.get(path, {"words": f"{path} {{}}"})
    return fact.get(str(value), fact["words"]).format(value)


def bases(datapath: str | Datapath, a: Any = None, b: Any = None, scale: Any = None, block: int | None = None) -> list[DatapathPlan]:
    """Return the plans that a probe starts from: the datapath's, or those of its readings where facts of it are open.

    A reading is a datapath that is based on it and says what is open; it must take the chosen operands.
    Raises: SpecError (no reading takes them, a choice is missing), OpenError (nothing is known, and there is no reading).
    """
    model: Datapath = get("datapath", datapath)
    try:
        known_facts(model)
    except OpenError:
        readings = [get("datapath", name) for name in names("datapath") if get("datapath", name).based_on == model.id]
        if not readings:
            raise
        first, second, *_ = (a, b) if a or b else pairs(known_facts(readings[0]))[0]
        out = [resolve(item, first, second, scale, block) for item in readings if _takes(item, first, second)]
        if not out:
            raise SpecError(f"datapath {model.id}: no reading of it takes {first} x {second}") from None
        return out
    return [resolve(model, a, b, scale, block)]


def _takes(model: Datapath, a: str | None, b: str | None) -> bool:
    return any(a in (None, first) and b in (None, second) for first, second in pairs(known_facts(model)))


def hypotheses(plans: Sequence[DatapathPlan], depth: int = 2) -> list[Hypothesis]:
    """Return the hypotheses around some plans, those with the same deciding facts once: as they stand, others, one change, two changes.

    depth: changes at a time, 1 or 2.
    """
    found: dict[str, Hypothesis] = {}
    for plan in plans:
        found.setdefault(deciding(plan), Hypothesis(plan))
    for count in range(1, depth + 1):
        for plan in plans:
            for item in _changed_by(plan, count, few=count > 1):
                found.setdefault(deciding(item.plan), item)
    for plan in plans:
        for other in _others(plan):
            key = deciding(other)
            known = found.setdefault(key, Hypothesis(other))
            if other.datapath.id not in (known.plan.datapath.id, *known.also) or (known.changes and other.datapath.id not in known.also):
                found[key] = replace(known, also=(*known.also, other.datapath.id))
    return list(found.values())


def _others(plan: DatapathPlan) -> Iterator[DatapathPlan]:
    """Every known datapath with the same operands and result whose instruction is as long."""
    for name in names("datapath"):
        model: Datapath = get("datapath", name)
        try:
            facts = known_facts(model)
            other = resolve(model, plan.a, plan.b, plan.scale, plan.block or None)
        except SpecError:
            continue
        if (facts.k, other.c, other.d, other.scale, other.block) == (plan.facts.k, plan.c, plan.d, plan.scale, plan.block):
            yield other


def combined(plan: DatapathPlan) -> Iterator[Hypothesis]:
    """Yield combinations of two facts, then of three with fewer values each: the search of last resort."""
    for count in range(2, MOST_CHANGES + 1):
        yield from _changed_by(plan, count, few=count > 2)


def _changed_by(plan: DatapathPlan, count: int, few: bool) -> Iterator[Hypothesis]:
    values = _values(plan, few)
    for paths in combinations(values, count):
        for chosen in product(*(values[path] for path in paths)):
            item = _changed(plan, tuple(zip(paths, chosen, strict=True)))
            if item is not None:
                yield item


def _values(plan: DatapathPlan, few: bool = False) -> dict[str, list[Any]]:
    """Return path of a fact -> other values that a machine might have. few: those that stand for the rest, to be combined."""
    facts = plan.facts
    out: dict[str, list[Any]]
    if not isinstance(facts.promote, str):
        told = facts.promote.model_dump()
        out = {f"promote.{key}": [other for other in ("rz", "rne") if other != told[key]] for key in ("scale_product", "term", "acc")}
        return out | {"promote.fused": ["no" if facts.promote.fused == "yes" else "yes"]}
    if plan.accumulator is not None:
        return {"round.mode": [mode for mode in ("rz", "rne") if mode != facts.round.mode]}
    out = {}
    if plan.late_c is None:
        out["step"] = [item for item in (plan.step // 2,) if item and item % plan.group == 0]
    if plan.frac_bits is not None:
        near = range(plan.frac_bits - 3, plan.frac_bits + 4)
        wide = range(23, 39) if plan.facts.scale.apply == "group" else (23, 24, 25)
        bits = sorted({*near, *wide} - {plan.frac_bits})
        bits = [item for item in bits if not few or item in (plan.frac_bits - 1, plan.frac_bits + 1, 25)]
        out["align.fraction_bits"] = [*bits, *(["exact"] if plan.late_c is None else [])]
        out["align.rounding"] = [mode for mode in ("rz", "rd", "rne") if mode != facts.align.rounding and plan.late_c is None]
    if plan.floor is not None:
        out["align.floor"] = ["none"] if few else [plan.floor - 1, plan.floor + 1, "none"]
    if facts.scale.apply == "group":
        out["group"] = [size for size in (plan.group // 2, plan.group * 2, 1) if size and plan.block % size == 0]
        if plan.frac_bits is not None:
            out["align.cancelled_group_counts"] = ["no" if facts.align.cancelled_group_counts == "yes" else "yes"]
    if plan.frac_bits is not None and plan.late_c is None:
        out["align.exponent"] = ["normalised" if facts.align.exponent == "nominal" else "nominal"]
        out["late_c"] = ["add"]
    out["round.mode"] = [mode for mode in ("rz", "rne") if mode != facts.round.mode]
    out["round.keep"] = [bits for bits in ((13, 23) if binary_format(plan.d) == "binary32" else ()) if bits != facts.round.keep]
    return {path: values for path, values in out.items() if values}


def changed(plan: DatapathPlan, changes: tuple[Change, ...]) -> Hypothesis | None:
    """Return the datapath with some facts changed, by their paths; None where no datapath has such facts."""
    return _changed(plan, changes)


def _changed(plan: DatapathPlan, changes: tuple[Change, ...]) -> Hypothesis | None:
    """Return a hypothesis, or None where the changes contradict one another or undo one another."""
    given = dict(changes)
    exact = given.get("align.fraction_bits") == "exact" or "late_c" in given
    if exact and any(path.startswith("align.") and path != "align.fraction_bits" for path in given):
        return None
    if exact and ("group" in given or ("late_c" in given and "align.fraction_bits" in given)):
        return None
    facts = plan.facts.model_dump()
    for path, value in changes:
        part, _, key = path.rpartition(".")
        (facts[part] if part else facts)[key] = value
    if exact:
        facts["align"] |= {"fraction_bits": "exact", "floor": "none", "integer_bits": "none", "beyond": "never"}
    if "late_c" in given:
        facts["align"]["include_c"] = "no"
    if "align.floor" not in given and plan.floor is not None and not exact:
        facts["align"]["floor"] = plan.floor
    try:
        model = plan.datapath.model_copy(update={"facts": DatapathFacts.model_validate(facts)})
        other = resolve(model, plan.a, plan.b, plan.scale, plan.block or None)
        check_plan(other)
    except ValueError:  # the model or the check refuses it
        return None
    return Hypothesis(other, changes)


def deciding(plan: DatapathPlan) -> str:
    """Return the facts of a plan that decide a bit, as one canonical text."""
    facts = plan.facts
    out = facts.model_dump(mode="json", exclude={"a", "b", "pairs", "k", "epilogue", "align", "scale"})
    out["align"] = facts.align.model_dump(mode="json", exclude={"fraction_bits", "integer_bits", "floor", "beyond"})
    if plan.frac_bits is None:
        out["align"] = {"include_c": facts.align.include_c}
    out["wraps"] = plan.integer_bits if facts.align.beyond == "wrap" else None
    out["formats"] = [fmt.facts_digest for fmt in (plan.a, plan.b, plan.c, plan.d)]
    scale = plan.scale.facts_digest if plan.scale else None
    out["scales"] = [scale, facts.scale.apply, facts.scale.unused_bits, plan.block]
    out["derived"] = [plan.frac_bits, plan.floor, plan.step, plan.group if plan.frac_bits is not None else None]
    return json.dumps(out, sort_keys=True)
