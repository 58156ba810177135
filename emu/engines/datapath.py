"""Asking the chosen engine for dot products: rows of codes in, codes of the result out. Operands have been checked by the caller."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from emu.arrays.values import Codes
from emu.engines.table import DOT_ENGINES, LEVELS_ENGINES, choose
from emu.spec.datapath import DatapathPlan
from emu.spec.ieee import is_nearest_even
from emu.spec.levels import LevelsPlan
from emu.spec.models.levels import EpilogueFacts
from emu.spec.registry import get

ROWS_AT_ONCE = 1 << 12  # rows of a product by a datapath of levels


def _column(engine: str, modules: dict[str, str] = DOT_ENGINES) -> Any:
    """Return the module of an engine other than the reference model; all have the same functions."""
    if engine == "numpy":
        from emu.engines.numpy.environment import check_environment

        check_environment()
    return import_module(modules[engine])


def run_dot(a: Codes, b: Codes, scale_a: Codes | None, scale_b: Codes | None, c: Codes, plan: DatapathPlan, engine: str) -> Codes:
    """Return the dot product of each row of A with the same row of B.

    a, b: [R, K].   scale_a, scale_b: [R, K / block] or None.   c: [R] codes.   Returns: [R] codes.   Raises: as the engines.
    """
    chosen = choose("dot", engine, plan)
    if chosen != "exact":
        found: Codes = _column(chosen).dot(a, b, scale_a, scale_b, c, plan)
        return found
    from emu.engines.exact.datapath import dot

    return _codes(
        [dot(a[i].tolist(), b[i].tolist(), _row(scale_a, i), _row(scale_b, i), int(c[i]), plan).code for i in range(len(a))], plan
    )


def run_levels(
    a: Codes,
    b: Codes,
    scale_a: Codes | None,
    scale_b: Codes | None,
    c: Codes | None,
    random: Codes | None,
    plan: LevelsPlan,
    engine: str,
    flags: Codes | None = None,
) -> tuple[Codes, list[dict[str, Any]]]:
    """Return the dot product of each row by a datapath of levels, and what each level left of each row.

    a, b: [R, K].   scale_a, scale_b: [R, K / block] or None.   c: [R] codes, None without C.   random: [R, words] or None.
    flags: uint8 [R], filled with the exception flags of each row where the datapath reports any; None: not asked for.
    Returns: [R] codes, R dicts; only the exact engine keeps what levels left, from others the list is empty.   Raises: as the engines.
    """
    chosen = choose("levels", engine, plan)
    if chosen != "exact":
        more = {} if flags is None else {"flags": flags}  # an engine without flags takes no plan that reports them
        codes: Codes = _column(chosen, LEVELS_ENGINES).dot(a, b, scale_a, scale_b, c, random, plan, **more)
        return codes, []
    from emu.engines.exact.levels import dot
    from emu.engines.numpy.convert import code_dtype

    found = [
        dot(a[i].tolist(), b[i].tolist(), _row(scale_a, i), _row(scale_b, i), None if c is None else int(c[i]), _row(random, i), plan)
        for i in range(len(a))
    ]
    if flags is not None:
        flags[:] = [item.flags for item in found]
    return np.array([item.code for item in found], code_dtype(plan.d)), [item.stages for item in found]


def run_levels_matmul(
    a: Codes,
    b: Codes,
    scale_a: Codes | None,
    scale_b: Codes | None,
    c: Codes | None,
    random: Codes | None,
    plan: LevelsPlan,
    engine: str,
    jobs: int = 1,
    flags: Codes | None = None,
) -> Codes:
    """Return a matrix product by a datapath of levels: every output is one row of A and one column of B through all levels.

    a: [M, K].   b: [N, K], the columns of B.   scale_a: [M, K / block], scale_b: [N, K / block], or None.   c: [M * N] codes or None.
    random: [M * N, words] or None.   jobs: threads, same bits.   flags: uint8 [M * N], filled as by run_levels; None: not asked for.
    Returns: [M, N] codes.   Raises: as the engines.
    """
    m, n = len(a), len(b)
    if choose("levels", engine, plan) == "native" and random is None:
        raised = None if flags is None else flags.reshape(m, n)  # a view, which the engine fills
        codes: Codes = _column("native", LEVELS_ENGINES).matmul(
            a, b, scale_a, scale_b, None if c is None else c.reshape(m, n), plan, jobs, raised
        )
        return codes
    parts = [_codes([], plan)]
    step = max(1, ROWS_AT_ONCE // max(n, 1))
    for first in range(0, m, step):  # rows of A, each beside every column of B
        rows, columns = np.repeat(np.arange(first, min(first + step, m)), n), np.tile(np.arange(n), min(step, m - first))
        scales = [None if item is None else item[where] for item, where in ((scale_a, rows), (scale_b, columns))]
        place = slice(first * n, first * n + len(rows))
        given = (None if c is None else c[place], None if random is None else random[place])
        raised = None if flags is None else flags[place]  # a view, which the engine fills
        parts.append(run_levels(a[rows], b[columns], scales[0], scales[1], *given, plan, engine, raised)[0])
    return np.concatenate(parts).reshape(m, n)


def run_matmul(
    a: Codes, b: Codes, scale_a: Codes | None, scale_b: Codes | None, c: Codes | None, plan: DatapathPlan, engine: str, jobs: int = 1
) -> Codes:
    """Return D = A * B + C, each output one ascending chain over K.

    a: [M, K].   b: [N, K], the columns of B.   scale_a: [M, K / block], scale_b: [N, K / block], or None.   c: [M, N] codes; None: +0.
    jobs: threads, same bits.   Returns: [M, N] codes.   Raises: as the engines.
    """
    chosen = choose("dot", engine, plan)
    if chosen != "exact":
        found: Codes = _column(chosen).matmul(a, b, scale_a, scale_b, c, plan, jobs=jobs)
        return found
    from emu.engines.exact.datapath import dot

    rows = [(a[i].tolist(), _row(scale_a, i)) for i in range(len(a))]
    columns = [(b[j].tolist(), _row(scale_b, j)) for j in range(len(b))]
    table = [
        [dot(x, y, sx, sy, 0 if c is None else int(c[i, j]), plan).code for j, (y, sy) in enumerate(columns)]
        for i, (x, sx) in enumerate(rows)
    ]
    return _codes(table, plan)


def _row(scales: Codes | None, i: int) -> list[int]:
    return [] if scales is None else [int(code) for code in scales[i]]


def _codes(found: list[Any], plan: DatapathPlan | LevelsPlan) -> Codes:
    from emu.engines.numpy.convert import code_dtype

    return np.array(found, code_dtype(plan.d))


def _epilogue_engine(engine: str, facts: EpilogueFacts, plan: DatapathPlan) -> str:
    """Return the engine of an epilogue; where the kernels round otherwise than it asks, auto takes the NumPy engine."""
    chosen = choose("dot", engine, plan)
    nearest = all(is_nearest_even(get("rounding", name)) for name in (facts.alpha, facts.d))
    return "numpy" if engine == "auto" and chosen == "native" and not nearest else chosen


def run_alpha(scale_a: int, scale_b: int, facts: EpilogueFacts, plan: DatapathPlan, engine: str) -> int:
    """Return the code of alpha for two binary32 multipliers. Raises: as the engines."""
    chosen = _epilogue_engine(engine, facts, plan)
    if chosen != "exact":
        return int(_column(chosen).alpha(scale_a, scale_b, facts, plan))
    from emu.engines.exact.epilogue import alpha_code

    return alpha_code(scale_a, scale_b, facts, plan)


def run_epilogue(d: Codes, alpha: int, c: Codes | None, facts: EpilogueFacts, plan: DatapathPlan, engine: str) -> Codes:
    """Return alpha * D, then + C where C is given. d, c: binary32 codes of one shape. Raises: as the engines."""
    chosen = _epilogue_engine(engine, facts, plan)
    if chosen != "exact":
        found: Codes = _column(chosen).epilogue(d, alpha, c, facts, plan)
        return found
    from emu.engines.exact.epilogue import epilogue

    addends: list[int | None] = [None] * d.size if c is None else [int(code) for code in c.reshape(-1)]
    flat = [epilogue(int(code), alpha, addend, facts, plan) for code, addend in zip(d.reshape(-1), addends, strict=True)]
    return _codes(flat, plan).reshape(d.shape)


def run_add(x: Codes, y: Codes, plan: DatapathPlan, engine: str) -> Codes:
    """Return x + y in the result format, rounded to nearest even: how partial results are joined. Raises: as the engines."""
    chosen = choose("dot", engine, plan)
    if chosen != "exact":
        found: Codes = _column(chosen).add(x, y, plan)
        return found
    from emu.engines.exact.epilogue import add_codes

    flat = [add_codes(int(p), int(q), plan) for p, q in zip(x.reshape(-1), y.reshape(-1), strict=True)]
    return _codes(flat, plan).reshape(x.shape)
