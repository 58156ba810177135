"""Change any one fact of the spec: something fails. What nothing notices is listed, with the reason, in survivors.yaml."""

import hashlib
from collections import Counter
from typing import Any

import pytest
from support.mutants import Mutant, mutants

from emu.spec import KINDS, get, names

SEED = 20260117
SUBSET = {
    "format": 70,
    "rounding": 60,
    "policy": 80,
    "block": 50,
    "layout": 30,
    "transform": 20,
    "recipe": 40,
    "datapath": 60,
    "instruction": 60,
    "coverage": 8,
    "checkpoint": 40,
    "training": 40,
    "series": 40,
    "epilogue": 8,
}


def all_mutants(kind: str) -> list[Mutant]:
    return [mutant for name in names(kind) for mutant in mutants(get(kind, name))]


def subset(kind: str) -> list[Mutant]:
    """A seeded choice, the same on every machine."""
    return sorted(all_mutants(kind), key=lambda mutant: hashlib.sha256(f"{SEED}/{mutant}".encode()).digest())[: SUBSET[kind]]


def judge(found: list[Mutant], judges: Any, known: dict[str, str]) -> tuple[Counter[str], list[str]]:
    """Count the killers of the mutants that are not listed as survivors, and name those that nothing kills."""
    killers = {str(mutant): judges.kill(mutant) for mutant in found if str(mutant) not in known}
    return Counter(killers.values()), [name for name, killer in killers.items() if not killer]


@pytest.mark.cases(0, 5)
@pytest.mark.parametrize("kind", KINDS)
def test_a_seeded_subset(kind: str, judges: Any, known_survivors: dict[str, str]) -> None:
    found = subset(kind)
    killers, new = judge(found, judges, known_survivors)
    assert new == [], f"no check notices these changes (killers of the others: {dict(killers)}): add a example, or list them with a reason"
    least = len(found) // (8 if kind == "instruction" else 5)  # the loader sees most: facts of an instruction must agree
    least = -1 if kind == "layout" else least  # digits that do not follow on one another load at no step or count but their own
    least = 0 if kind == "training" else least  # which recipe an operand has is a plain fact: examples show what follows from it alone
    least = 2 if kind == "series" else least  # a rule makes many members, and the loader reads them all
    seen = killers["example"] + killers["rows"] + (killers["golden"] if kind == "datapath" else 0)  # its golden digest is of directed rows
    refused = killers["loader"] or kind == "coverage"  # its names have no meaning for the loader: worked examples show what they mean
    assert len(found) == SUBSET[kind] and refused and seen > least


@pytest.mark.mutants
@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in KINDS for name in names(kind)])
def test_every_mutant(kind: str, name: str, judges: Any, known_survivors: dict[str, str]) -> None:
    found = list(mutants(get(kind, name)))
    _, new = judge(found, judges, known_survivors)
    assert new == []
    assert len(found) >= 4 or hasattr(get(kind, name).facts, "unknown")


def test_listed_survivors_are_mutants(known_survivors: dict[str, str]) -> None:
    every = {str(mutant) for kind in KINDS for mutant in all_mutants(kind)}
    assert [name for name in known_survivors if name not in every] == []
    assert len(every) > 6000 and len(known_survivors) * 6 < len(every)


@pytest.mark.mutants
def test_listed_survivors_survive(judges: Any, known_survivors: dict[str, str]) -> None:
    """A listed mutant that is killed by now leaves the list; a seeded choice of them, because each runs every check."""
    every = {str(mutant): mutant for kind in KINDS for mutant in all_mutants(kind)}
    chosen = sorted(known_survivors, key=lambda name: hashlib.sha256(f"{SEED}/{name}".encode()).digest())[:80]
    assert [name for name in chosen if judges.kill(every[name])] == []


@pytest.mark.mutants
def test_the_unchanged_spec_passes_every_judge(judges: Any) -> None:
    failed = [
        (kind, name, judge) for kind in KINDS for name in names(kind) for judge, check in judges.checks(kind, name) if judges.fails(check)
    ]
    assert failed == []
