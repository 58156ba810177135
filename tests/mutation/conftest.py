"""What may kill a mutant of the spec: the loader, witnesses, measured rows of libraries, the golden digest of what an object does."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from emu.cli.witness import faults
from emu.errors import EmuError, SpecError
from emu.spec import KINDS, get, names
from emu.spec.loader import read
from emu.spec.registry import isolated, replaced, shipped_root
from emu.testing.behaviour import behaviour
from emu.testing.mutants import Mutant, validated

TESTS = Path(__file__).resolve().parents[1]
GOLDEN = Path(__file__).with_name("golden.yaml")


def module_of(name: str) -> ModuleType:
    """A test module of the exact column, for its rows and the function that checks one."""
    spec = importlib.util.spec_from_file_location(f"rows_{name}", TESTS / "exact_column" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Judges:
    """Says what kills a mutant; everything an unchanged spec passes."""

    def __init__(self) -> None:
        self.golden = {(row["kind"], row["id"]): row["digest"] for row in read(GOLDEN).data["digests"]} if GOLDEN.exists() else {}
        self.blocks, self.converts = module_of("test_exact_block"), module_of("test_exact_convert")
        everything = [get(kind, name) for kind in KINDS for name in names(kind)]
        self.users = {(thing.kind, thing.id): [] for thing in everything}
        for thing in everything:
            for key in {(kind, name) for kind, name, _ in thing.references()}:
                self.users[key].append((thing.kind, thing.id))

    def kill(self, mutant: Mutant) -> str:
        """What kills a mutant: loader, witness, rows, golden; "" when nothing does."""
        try:
            model = validated(mutant)
            with replaced(model):
                return next((name for name, failed in self.checks(mutant.kind, mutant.id) if self.fails(failed)), "")
        except SpecError:
            return "loader"

    def fails(self, failed: Callable[[], bool]) -> bool:
        """Whether a check fails; an error of emu or a failed assertion is a failure."""
        try:
            return failed()
        except (EmuError, AssertionError):
            return True

    def checks(self, kind: str, name: str) -> Iterator[tuple[str, Callable[[], bool]]]:
        """Name and check, the quick ones first."""
        reach = self.reach((kind, name))
        for key in reach[:8]:
            yield "witness", lambda key=key: any(fault is not None for _, fault in faults(get(*key)))
        yield "rows", lambda: self.rows_fail(kind, name)
        for key in reach[:8]:
            yield "golden", lambda key=key: behaviour(get(*key)) != self.golden[key]

    def reach(self, key: tuple[str, str]) -> list[tuple[str, str]]:
        """The object, then what names it, nearest first."""
        found = [key]
        for item in found:
            found += [user for user in self.users[item] if user not in found]
        return found

    def rows_fail(self, kind: str, name: str) -> bool:
        """Whether a measured row of a library comes out otherwise."""
        if kind == "recipe":
            for library, recipe, row, given in self.blocks.KEPT:
                if recipe == name:
                    self.blocks.test_measured_row(library, recipe, row, given)
        if kind == "conversion":
            for group in self.converts.SINGLE:
                if self.converts.policy_name(group) == name:
                    self.converts.test_row(group)
        return False


@pytest.fixture(scope="session")
def judges() -> Iterator[Judges]:
    """The judges, on the shipped spec alone."""
    with isolated(shipped_root()):
        yield Judges()


def golden_text() -> str:
    """The golden file as the spec of now gives it."""
    lines = [
        "# What every object does to fixed inputs, as one digest. Regenerate: EMU_GOLDEN=write pytest tests/mutation -k golden",
        "digests:",
    ]
    for kind in KINDS:
        lines += [f'  - {{kind: "{kind}", id: "{name}", digest: "{behaviour(get(kind, name))}"}}' for name in names(kind)]
    return "\n".join(lines) + "\n"


@pytest.fixture
def golden() -> tuple[Path, str]:
    """The golden file and the text it should have."""
    with isolated(shipped_root()):
        return GOLDEN, golden_text()


@pytest.fixture(scope="session")
def known_survivors() -> dict[str, str]:
    """Mutants that nothing kills -> why that is right or accepted."""
    found: dict[str, str] = {}
    groups: Any = read(Path(__file__).with_name("survivors.yaml")).data["survivors"]
    for group in groups:
        for name in group["mutants"]:
            assert name not in found, f"{name} is listed twice"
            found[name] = group["why"]
    return found
