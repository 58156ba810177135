"""Engine `native`, datapaths of one fused step: by the kernel of such steps (datapath.py), else as the levels of their file (levels.py)."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Final

import numpy as np

from emu.base.caches import Cache
from emu.base.errors import EmuError
from emu.engines.c_ref.call import Codes, code_dtype
from emu.engines.native import datapath, levels
from emu.engines.native.convert import BEST_FORM
from emu.engines.native.datapath import add, alpha, epilogue
from emu.engines.native.tables import is_source
from emu.spec.datapath import DatapathPlan, resolve
from emu.spec.levels import LevelsPlan, resolve_levels

__all__ = ["add", "alpha", "can_dot", "dot", "epilogue", "matmul"]

_plans: Final[Cache[Hashable, LevelsPlan | None]] = Cache("emu.engines.native.dot._plans", 256)


def can_dot(plan: DatapathPlan) -> bool:
    """Tell whether a kernel takes a plan: that of fused steps, or one of levels."""
    return datapath.can_dot(plan) or _in_levels(plan) is not None


def _in_levels(plan: DatapathPlan) -> LevelsPlan | None:
    """Return the plan of the same datapath in levels where its kernel takes it; None: the kernel of fused steps is asked."""
    if plan.key not in _plans:
        _plans.keep(plan.key, _found(plan))
    return _plans[plan.key]


def _found(plan: DatapathPlan) -> LevelsPlan | None:
    register = plan.facts.accumulator != "none"  # whose overflow says more of a fused step
    if datapath.can_dot(plan) or register or not is_source(plan.d):
        return None
    chosen = plan.datapath, plan.a, plan.b, plan.scale, plan.block or None
    try:
        if resolve(*chosen).key != plan.key:  # it was changed beside its datapath, and levels would not say how
            return None
        found = resolve_levels(*chosen)
    except (EmuError, ValueError):  # of a step that levels do not say
        return None
    return found if found.c is not None and levels.can_levels(found) else None


def dot(a: Codes, b: Codes, scale_a: Codes | None, scale_b: Codes | None, c: Codes, plan: DatapathPlan, *, form: int = BEST_FORM) -> Codes:
    """Return the results of a datapath for rows of A and B in pairs; operands, errors and exactness as datapath.dot.

    Tests: tests/engines/native/test_native_dot.py.
    """
    found = _in_levels(plan)
    if found is None:
        return datapath.dot(a, b, scale_a, scale_b, c, plan, form=form)
    return levels.dot(a, b, scale_a, scale_b, c, None, found, form=form)


def matmul(
    a: Codes,
    b: Codes,
    scale_a: Codes | None,
    scale_b: Codes | None,
    c: Codes | None,
    plan: DatapathPlan,
    jobs: int = 1,
    *,
    form: int = BEST_FORM,
) -> Codes:
    """Return A times B transposed plus C: one ascending chain over K for each output; operands, errors and exactness as datapath.matmul."""
    found = _in_levels(plan)
    if found is None:
        return datapath.matmul(a, b, scale_a, scale_b, c, plan, jobs, form=form)
    start = np.zeros((len(a), len(b)), code_dtype(plan.d)) if c is None else c
    return levels.matmul(a, b, scale_a, scale_b, start, found, jobs, form=form)
