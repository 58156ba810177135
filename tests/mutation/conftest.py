"""What may kill a mutant of the spec: the loader, worked examples, measured rows of libraries, the golden digest of what an object does."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support.behaviour import Tensor, behaviour
from support.behaviour_datapath import datapath_rows
from support.mutants import Mutant, validated
from support.mutation import LAYERS, Fault, read_faults
from support.mutation_rows import Shelf

from emu.base.errors import EmuError, SpecError
from emu.cli.examples.run import faults as example_faults
from emu.spec import KINDS, get, names
from emu.spec.loader import read
from emu.spec.registry import isolated, replaced, shipped_root

TESTS = Path(__file__).resolve().parents[1]
GOLDEN = Path(__file__).with_name("golden.yaml")
KILL_ROWS = Path(__file__).with_name("kill_rows.yaml")
CATALOGUE = Path(__file__).with_name("catalogue")


def module_of(name: str) -> ModuleType:
    """A test module of the exact engine, for its rows and the function that checks one."""
    spec = importlib.util.spec_from_file_location(f"rows_{name}", TESTS / "engines" / "exact" / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def kill_rows() -> dict[tuple[str, str], list[Any]]:
    """Inputs of recipes near ties, found by a search for what tells mutants apart: one or more blocks each; directed rows of datapaths."""
    found: dict[tuple[str, str], list[Any]] = {}
    for group in read(KILL_ROWS).data["recipes"]:
        recipe = get("recipe", group["recipe"])
        columns = get("block", recipe.facts.block).facts.shape[1]
        for row in group["rows"]:
            amax = int(row["tensor_amax"], 16) if "tensor_amax" in row else None
            random = folded(row["random"], columns) if "random" in row else None
            wide = columns * row.get("blocks", 1)  # in a row of the tensor
            found.setdefault(("recipe", recipe.id), []).append(Tensor(folded(row["x"], wide), amax, random))
    return found | {("datapath", name): datapath_rows(get("datapath", name)) for name in names("datapath")}


def folded(text: str, columns: int) -> list[list[int]]:
    words = [int(word, 16) for word in text.split()]
    return [words[start : start + columns] for start in range(0, len(words), columns)]


class Judges:
    """Says what kills a mutant; everything an unchanged spec passes."""

    def __init__(self) -> None:
        self.golden = {(row["kind"], row["id"]): row["digest"] for row in read(GOLDEN).data["digests"]} if GOLDEN.exists() else {}
        self.rows = kill_rows()
        self.examples, self.domains = module_of("test_exact_examples"), module_of("test_exact_domain")
        self.blocks, self.converts = module_of("test_exact_block"), module_of("test_exact_convert")
        everything = [get(kind, name) for kind in KINDS for name in names(kind)]
        self.users = {(thing.kind, thing.id): [] for thing in everything}
        for thing in everything:
            for key in {(kind, name) for kind, name, _ in thing.references()}:
                self.users[key].append((thing.kind, thing.id))

    def kill(self, mutant: Mutant) -> str:
        """What kills a mutant: loader, worked example, rows, golden, relations; "" when nothing does."""
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
            yield "example", lambda key=key: any(fault is not None for _, fault in example_faults(get(*key)))
        yield "rows", lambda: self.rows_fail(kind, name)
        for key in reach[:8]:
            yield "golden", lambda key=key: behaviour(get(*key), self.rows.get(key, ())) != self.golden[key]
        yield "relations", lambda: self.relations_fail(kind, name)

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
        if kind == "policy":
            for group in self.converts.SINGLE:
                if self.converts.policy_name(group) == name:
                    self.converts.test_row(group)
        return False

    def relations_fail(self, kind: str, name: str) -> bool:
        """Check a recipe against its block's formula, and the bound of its domain, as the tests of the exact engine do."""
        for number in range(len(get("recipe", name).expect) if kind == "recipe" else 0):
            self.examples.test_block_agrees_with_the_dequantize_program(name, number)
        bounds = {
            "nvfp4_torchao": self.domains.test_tiny_tensor_maximum_of_torchao_is_open_below_the_first_finite_reciprocal,
            "nvfp4_modelopt": self.domains.test_tiny_tensor_maximum_of_modelopt_is_open_while_a_scale_may_exceed_448,
        }
        if name in bounds:
            bounds[name]()
        if name in self.domains.TINY:
            self.domains.test_tiny_tensor_maximum_is_open_below_the_first_finite_reciprocal(name)
        return False


@pytest.fixture(scope="session")
def judges() -> Iterator[Judges]:
    """The judges, on the shipped spec alone."""
    with isolated(shipped_root()):
        yield Judges()


@pytest.fixture(scope="session")
def golden_lines() -> Callable[[str, str], str]:
    """A function: kind and id -> the line of the golden file that the spec of now gives."""
    rows = kill_rows()

    def line(kind: str, name: str) -> str:
        with isolated(shipped_root()):
            return f'  - {{kind: "{kind}", id: "{name}", digest: "{behaviour(get(kind, name), rows.get((kind, name), ()))}"}}'

    return line


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


@pytest.fixture(scope="session")
def faults() -> list[Fault]:
    """The catalogue of seeded faults."""
    return read_faults(CATALOGUE / f"{layer}.yaml" for layer in LAYERS)


@pytest.fixture(scope="session")
def equivalent() -> dict[str, tuple[str, str]]:
    """Faults that no row can show -> proof and reason."""
    return {row["id"]: (row["proof"], row["why"]) for row in read(CATALOGUE / "survivors.yaml").data["survivors"]}


@pytest.fixture(scope="session")
def shelf(checkout: Path) -> Shelf:
    """The suites that judge the seeded faults."""
    planned = {row["stem"]: row["sha256"] for row in read(CATALOGUE / "suites.yaml").data["suites"]}
    return Shelf(checkout / "vectors", planned, Path(__file__).with_name("rows.yaml"), KILL_ROWS)
