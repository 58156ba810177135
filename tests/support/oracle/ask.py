"""Every engine about rows of a user's datapath, as it is computed and in levels, beside the oracle."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

import numpy as np
from support.oracle.draw import row
from support.oracle.levels import Facts, Refused, Row, decode

from emu.base.errors import OpenError
from emu.engines import datapath as engine_datapath
from emu.engines import table as engine_table
from emu.engines.numpy.convert import code_dtype
from emu.spec import get
from emu.spec.datapath import DatapathPlan, plans_of
from emu.spec.levels import LevelsPlan, level_plans_of
from emu.spec.models import Format
from emu.spec.models.datapath import DatapathFacts

Plan = DatapathPlan | LevelsPlan
Operands = tuple[list[list[int]], int | None]


def plans(name: str) -> list[Plan]:
    """Return the plans of a datapath with one choice of operands: of its fused step where it is one, and of its levels."""
    steps = plans_of(name) if isinstance(get("datapath", name).facts, DatapathFacts) else ()
    return [*list(steps), *level_plans_of(name)]


def engines(plan: Plan) -> list[str]:
    """Return the engines that take a plan."""
    operation = "dot" if isinstance(plan, DatapathPlan) else "levels"
    return [line.engine for line in engine_table.TABLE if line.operation == operation and line.can(plan)]


def answers(plan: Plan, engine: str, rows: Sequence[Operands]) -> list[int | str]:
    """Return the codes that an engine gives for rows of one K, or "refused"."""

    def array(fmt: Format | None, place: int) -> Any:
        return None if fmt is None else np.array([codes[place] for codes, _ in rows], code_dtype(fmt))

    given = [array(fmt, place) for place, fmt in enumerate((plan.a, plan.b, plan.scale, plan.scale))]
    c = None if plan.c is None else np.array([c for _, c in rows], code_dtype(plan.c))
    try:
        if isinstance(plan, DatapathPlan):
            assert c is not None
            found = engine_datapath.run_dot(*given, c, plan, engine)
        else:
            found = engine_datapath.run_levels(*given, c, None, plan, engine)[0]
    except OpenError:
        return ["refused"] if len(rows) == 1 else [answers(plan, engine, [one])[0] for one in rows]
    return [int(code) for code in found]


def compare(files: dict[str, Facts], facts: Facts, name: str, rng: Random, count: int) -> Counter[str]:
    """Compare drawn rows of a loaded datapath with the oracle; count answers by engine and form. Raises: AssertionError."""
    fmt, seen = files[facts["out"]["format"]], Counter[str]()
    rows = [row(rng, files, facts) for _ in range(count)]
    wanted = [oracle(files, facts, one) for one in rows]
    for plan in plans(name):
        form = "step" if isinstance(plan, DatapathPlan) else "levels"
        for engine in engines(plan):
            for k in {len(codes[0]) for codes, _ in rows}:
                chosen = [number for number, (codes, _) in enumerate(rows) if len(codes[0]) == k]
                for number, found in zip(chosen, answers(plan, engine, [rows[number] for number in chosen]), strict=True):
                    said = f"{name}: {engine} as {form}: {show(found)}, not {show(wanted[number])}: {rows[number]} {facts}"
                    assert same(wanted[number], found, fmt), said
                    seen[f"{engine} {form}"] += 1
    return seen


def oracle(files: dict[str, Facts], facts: Facts, one: Operands) -> int | str:
    """Return what the oracle gives: a code, nan or refused."""
    codes, c = one
    scale, block = (facts["scale"]["formats"][0], facts["scale"]["blocks"][0]) if "scale" in facts else (None, 0)
    try:
        return Row(files, facts, (facts["a"][0], facts["b"][0]), codes, c, scale, block).code()
    except Refused:
        return "refused"


def same(want: int | str, found: int | str, fmt: Facts) -> bool:
    """Tell whether an engine gives what the oracle does. fmt: of the result."""
    return isinstance(found, int) and decode(fmt, found).special == "nan" if want == "nan" else found == want


def show(code: int | str) -> str:
    """A code in hexadecimal."""
    return code if isinstance(code, str) else f"{code:#x}"
