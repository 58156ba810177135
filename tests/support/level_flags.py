"""Exception flags of datapaths of levels: engines against the reference model, on drawn datapaths and rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from random import Random
from typing import Any

import numpy as np
from support.level_compare import rows_of, together
from support.level_samples import drawn_datapath, flagged

from emu.base.errors import EmuError
from emu.engines.exact.levels import dot
from emu.spec.levels import LevelsPlan, level_plans_of


def compare(engines: Mapping[str, Any], seeds: Iterable[int], rows: int) -> Counter[tuple[str, int]]:
    """Count (engine, flags) of rows of drawn datapaths that were equal. engines: name -> module with dot and can_levels."""
    seen: Counter[tuple[str, int]] = Counter()
    for seed in seeds:
        model = flagged(drawn_datapath(seed), Random(seed))
        if model is not None:
            seen += compare_plan(engines, next(level_plans_of(model)), Random(seed), rows)
    return seen


def compare_plan(engines: Mapping[str, Any], plan: LevelsPlan, rng: Random, rows: int) -> Counter[tuple[str, int]]:
    """Count (engine, flags) of drawn and directed rows of one datapath that were equal."""
    seen: Counter[tuple[str, int]] = Counter()
    for row in rows_of(plan, rng, rows):
        try:
            want = dot(row.a, row.b, row.scale_a, row.scale_b, row.c, row.random, plan)
        except EmuError:
            continue
        for name, engine in engines.items():
            if engine.can_levels(plan):
                raised = np.full(1, 255, np.uint8)
                code = together(lambda *given: engine.dot(*given, flags=raised), plan, [row])  # noqa: B023
                assert (int(code[0]), int(raised[0])) == (want.code, want.flags), (name, plan.facts, row)
                seen[name, want.flags] += 1
    return seen
