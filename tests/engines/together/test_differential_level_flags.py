"""Exception flags of datapaths of levels: every engine that has them against the reference model, on drawn datapaths and rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from random import Random

import numpy as np
import pytest
from support.level_compare import rows_of, together
from support.level_samples import drawn_datapath, flagged

import emu
from emu.base.errors import EmuError, EngineError, OperandError
from emu.engines.c_ref import levels as c_ref
from emu.engines.exact.levels import dot
from emu.engines.native import levels as native
from emu.engines.numpy import levels as in_numpy
from emu.spec.levels import level_plans_of, resolve_levels

ENGINES = {"c_ref": c_ref, "numpy": in_numpy}


def compare(seeds: Iterable[int], rows: int) -> Counter[tuple[str, int]]:
    """Count (engine, flags) of rows that were equal."""
    seen: Counter[tuple[str, int]] = Counter()
    for seed in seeds:
        model = flagged(drawn_datapath(seed), Random(seed))
        if model is None:
            continue
        plan = next(level_plans_of(model))
        for row in rows_of(plan, Random(seed), rows):
            try:
                want = dot(row.a, row.b, row.scale_a, row.scale_b, row.c, row.random, plan)
            except EmuError:
                continue
            for name, engine in ENGINES.items():
                if engine.can_levels(plan):
                    raised = np.full(1, 255, np.uint8)
                    code = together(lambda *given: engine.dot(*given, flags=raised), plan, [row])  # noqa: B023
                    assert (int(code[0]), int(raised[0])) == (want.code, want.flags), (name, plan.facts, row)
                    seen[name, want.flags] += 1
    return seen


def test_drawn_datapaths_with_flags() -> None:
    seen = compare(range(60), 4)
    assert all(seen[name, flags] for name in ENGINES for flags in (0, 1, 2, 3)), seen


@pytest.mark.exhaustive
def test_more_drawn_datapaths_with_flags() -> None:
    seen = compare(range(1000, 1800), 8)
    assert all(seen[name, flags] > 50 for name in ENGINES for flags in (0, 1, 2, 3)), seen


def test_the_public_function_returns_flags() -> None:
    """2^64 * 2^64 overflows, infinity * 0 is invalid; a third row raises nothing."""
    a = np.array([[0x5F80, 0, 0, 0], [0x7F80, 0, 0, 0], [0x3F80, 0, 0, 0]])
    b = np.array([[0x5F80, 0, 0, 0], [0, 0, 0, 0], [0x3F80, 0, 0, 0]])
    for engine in ("auto", "exact", "numpy", "c_ref"):
        codes, flags = emu.dot(a, b, "rvbna4_flags", flags=True, engine=engine)
        assert (codes.tolist(), flags.tolist()) == ([0x7F800000, 0x7FC00000, 0x3F800000], [2, 1, 0])
    codes, stages, flags = emu.dot(a, b, "rvbna4_flags", flags=True, stages=True)
    assert (len(stages), flags.dtype, flags.tolist()) == (3, np.uint8, [2, 1, 0])
    assert emu.dot(a, b, "rvbna4_flags").tolist() == codes.tolist()


def test_who_has_no_flags_says_so() -> None:
    plan = resolve_levels("rvbna4_flags")
    assert native.fault(plan) == "the result comes with exception flags"
    with pytest.raises(EngineError, match="native"):
        emu.dot([0x3F80] * 4, [0x3F80] * 4, "rvbna4_flags", flags=True, engine="native")
    for name, k in (("rvbna4", 4), ("blackwell_f8f6f4", 32)):
        formats = {} if name == "rvbna4" else {"a_format": "e4m3", "b_format": "e4m3"}
        with pytest.raises(OperandError, match=rf"^flags: datapath {name} reports none: leave flags out$"):
            emu.dot([2] * k, [2] * k, name, flags=True, **formats)
