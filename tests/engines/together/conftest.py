"""Asking every engine of the table the same question, the reference model first: bits or the kind of error, nothing else is compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

from emu.base.errors import EmuError, EngineError
from emu.engines import run as engine_run
from emu.engines import table as engine_table
from emu.spec.models import Format, Recipe, Transform
from emu.spec.registry import get

Outcome = Any  # arrays by name, or the class of an EmuError


def engines_of(operation: str, *facts: Any) -> list[str]:
    """Engines that say they can do it, the reference model left out."""
    found = [row.engine for row in engine_table.TABLE if row.operation == operation and row.engine != "exact" and row.can(*facts)]
    return list(dict.fromkeys(found))


def outcome(run: Callable[[], dict[str, Any]]) -> Outcome:
    """What a call gives: arrays by name, or the kind of error."""
    try:
        return run()
    except EmuError as error:
        return type(error)


def same(found: Outcome, wanted: Outcome) -> bool:
    """Whether two outcomes are one: equal bits of equal width, or equal kinds of error; an engine may refuse what the first one refuses."""
    if isinstance(found, type) or isinstance(wanted, type):
        return found is wanted or (found is EngineError and isinstance(wanted, type))
    return found.keys() == wanted.keys() and all(
        found[name].dtype == wanted[name].dtype and np.array_equal(found[name], wanted[name]) for name in wanted
    )


class Compared(NamedTuple):
    """The reference model's outcome, and who agreed with it."""

    wanted: Outcome
    engines: tuple[str, ...]

    @property
    def gave_bits(self) -> bool:
        """Whether there were bits to compare."""
        return not isinstance(self.wanted, type)


class Judge:
    """Runs an operation on every engine; the first of them judges the others."""

    def __init__(self, first: str = "exact") -> None:
        self.first = first

    def all_agree(self, what: str, names: list[str], ask: Callable[[str], dict[str, Any]]) -> Compared:
        wanted = outcome(lambda: ask(self.first))
        for name in names:
            if name != self.first:
                found = outcome(lambda name=name: ask(name))
                assert same(found, wanted), f"{what}: {name} differs from {self.first}: {shown(found, wanted)}"
        return Compared(wanted, tuple(names))

    def quantize(self, recipe: Recipe, codes: Any, source: Format, **operands: Any) -> Compared:
        def ask(engine: str) -> dict[str, Any]:
            elements, levels = engine_run.run_quantize(recipe, codes, source, engine=engine, **operands)
            return {"codes": elements, **levels}

        return self.all_agree(f"quantize/{recipe.id} from {source.id}", engines_of("quantize", recipe, source), ask)

    def dequantize(self, recipe: Recipe, codes: Any, levels: dict[str, Any], profile: str | None, result: Format) -> Compared:
        def ask(engine: str) -> dict[str, Any]:
            return {"values": engine_run.run_dequantize(recipe, codes, levels, profile=profile, result=result, engine=engine)}

        return self.all_agree(f"dequantize/{recipe.id}/{profile} to {result.id}", engines_of("dequantize", recipe, profile), ask)

    def transform(self, chosen: Transform, codes: Any, source: Format, signs: int | None) -> Compared:
        def ask(engine: str) -> dict[str, Any]:
            return {"rotated": engine_run.run_transform(codes, source, chosen, signs, engine)}

        return self.all_agree(f"transform/{chosen.id} from {source.id}", engines_of("transform", chosen, source), ask)

    def convert(self, codes: Any, source: Format, fmt: Format, rounding: Any, policy: Any, random: Any = None) -> Compared:
        def ask(engine: str) -> dict[str, Any]:
            return {"codes": engine_run.run_convert(codes, source, fmt, rounding, policy, random, engine)}

        what = f"convert/{fmt.id}/{rounding.id}/{policy.id} from {source.id}"
        return self.all_agree(what, engines_of("convert", source, fmt, rounding, policy), ask)


def shown(found: Outcome, wanted: Outcome) -> str:
    """The first difference, short."""
    if isinstance(found, type) or isinstance(wanted, type):
        return f"{found if isinstance(found, type) else 'bits'}, not {wanted if isinstance(wanted, type) else 'bits'}"
    for name in wanted:
        places = np.argwhere(found[name] != wanted[name]) if found[name].shape == wanted[name].shape else []
        if len(places):
            place = tuple(places[0])
            return f"{name}{[int(i) for i in place]} is {int(found[name][place]):#x}, not {int(wanted[name][place]):#x}"
    return "shape, dtype or level names"


@pytest.fixture(scope="session")
def judge() -> Judge:
    """The reference model against every engine of the table."""
    return Judge()


@pytest.fixture(scope="session")
def quick_judge() -> Judge:
    """The NumPy engine against the others: for spaces that the reference model cannot walk in time."""
    return Judge("numpy")


@pytest.fixture(scope="session")
def fp32() -> Format:
    """The usual source."""
    fmt: Format = get("format", "fp32")
    return fmt
