"""The frozen selection: which suites `vectors/` holds as files, and which as digests. The rules are data: frozen.yaml."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final, NamedTuple

from emu.base.caches import bounded
from emu.contracts.contract import stored_bits
from emu.spec.loader import read
from emu.spec.registry import get
from emu.vectors.suites.plan import KILLS, SuitePlan, plans

RULES: Final = Path(__file__).with_name("frozen.yaml")


class Selection(NamedTuple):
    """shipped: plans whose files are kept.   digests: plans of which only the digest is kept."""

    shipped: tuple[SuitePlan, ...]
    digests: tuple[SuitePlan, ...]


@bounded(1)
def rules() -> dict[str, tuple[Mapping[str, Any], ...]]:
    """Return operation -> its rules, in order; those of kill suites under their names. Raises: SpecError (a malformed file)."""
    found: dict[str, tuple[Mapping[str, Any], ...]] = read(RULES).data
    return found


def selection() -> Selection:
    """Return the frozen selection of the loaded spec, sorted by stem."""
    kept: dict[str, list[SuitePlan]] = {"files": [], "digests": []}
    for plan in sorted(plans(), key=lambda plan: plan.stem):
        own = rules().get(plan.suite if plan.suite in KILLS else plan.operation.name.op, ())
        chosen = next((rule for rule in own if _fits(rule, plan)), None)
        if chosen is not None:
            kept[chosen["keep"]].append(plan)
    return Selection(tuple(kept["files"]), tuple(kept["digests"]))


def frozen_kills() -> set[str]:
    """Return the stems, without their suite, whose kill suite is kept: its rows do not change."""
    return {stem for rule in rules()["kill"] for stem in rule["stems"]}


def _fits(rule: Mapping[str, Any], plan: SuitePlan) -> bool:
    """Tell whether everything that a rule says holds of a plan."""
    op = plan.operation
    words = {"suites": plan.suite, "src": op.src, "dst": op.dst, "stems": plan.stem.rpartition("__")[0]}
    if any(key in rule and word not in rule[key] for key, word in words.items()):
        return False
    if "bits" in rule and not rule["bits"][0] <= stored_bits(get("format", op.name.parts[0])) <= rule["bits"][1]:
        return False
    if "lanes" in rule and op.layout.columns[0].lanes > rule["lanes"]:
        return False
    return any(fnmatchcase(name, pattern) for name in _named(plan) for pattern in rule.get("named", ("*",)))


def _named(plan: SuitePlan) -> list[str]:
    """Return every contract that the rows of a plan belong to, without the operation."""
    return [name.partition("/")[2] for name in plan.named()]


def missing() -> list[str]:
    """Return contracts that the selection names and the spec does not have."""
    known = {(plan.operation.name.op, name) for plan in plans() for name in _named(plan)}
    named = [(op, name) for op, chosen in rules().items() for rule in chosen for name in rule.get("named", ())]
    return [name for op, name in dict.fromkeys(named) if "*" not in name and (op, name) not in known]
