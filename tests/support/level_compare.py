"""Datapaths of levels in an engine that takes arrays, against the exact engine: plans, drawn and directed rows, errors by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any

import numpy as np
from support.level_samples import Row, drawn_row

from emu.base.errors import EmuError, OpenError
from emu.engines.exact import levels as in_exact
from emu.engines.numpy.convert import code_dtype
from emu.spec import derive
from emu.spec.levels import LevelsPlan, level_plans_of
from emu.spec.models import Datapath, Format
from emu.spec.registry import get, names

Dot = Callable[..., Any]  # the dot of an engine: a, b, scale_a, scale_b, c, random, plan
Result = int | str


def all_plans() -> list[LevelsPlan]:
    """The first, middle and last choice of operands of every datapath, a chain of fused steps too."""
    found: list[LevelsPlan] = []
    for name in names("datapath"):
        model: Datapath = get("datapath", name)
        try:
            plans = list(level_plans_of(model))
        except OpenError:  # what nobody knows
            continue
        found += plans if len(plans) < 3 else [plans[0], plans[len(plans) // 2], plans[-1]]
    return found


def exact(plan: LevelsPlan, row: Row) -> Result:
    """Return the code by the reference model, or the name of the error."""
    try:
        return in_exact.dot(row.a, row.b, row.scale_a, row.scale_b, row.c, row.random, plan).code
    except EmuError as error:
        return type(error).__name__


def _array(rows: Sequence[Sequence[int]], fmt: Format) -> np.ndarray:
    return np.array(rows, code_dtype(fmt))


def together(dot: Dot, plan: LevelsPlan, rows: Sequence[Row]) -> np.ndarray:
    """Ask for rows of one length at once."""
    scales = [None if plan.scale is None else _array([row[side] for row in rows], plan.scale) for side in (2, 3)]
    c = None if plan.c is None else np.array([row.c for row in rows], code_dtype(plan.c))
    words = np.array([row.random for row in rows], np.uint32) if rows[0].random else None
    found: np.ndarray = dot(_array([row.a for row in rows], plan.a), _array([row.b for row in rows], plan.b), *scales, c, words, plan)
    return found


def _alone(dot: Dot, plan: LevelsPlan, row: Row) -> Result:
    try:
        return int(together(dot, plan, [row])[0])
    except EmuError as error:
        return type(error).__name__


def _directed(plan: LevelsPlan, like: Row) -> Iterator[Row]:
    """Yield rows with the words of a drawn row: zeros of both signs, subnormals, infinities, NaN, what cancels, and the largest numbers."""
    a, b = derive.codes(plan.a), derive.codes(plan.b)
    c = None if plan.c is None else derive.codes(plan.c)
    k = len(like.a)
    kinds = [(0, 0), (a.sign_bit, 0), (1, b.max_code), (a.max_code, b.max_code), (a.sign_bit | a.max_code, 1)]
    kinds += [(code, b.max_code) for code in (a.inf, *a.nan[:1]) if code is not None]
    for x, y in kinds:
        for sign in (0, a.sign_bit):  # neighbours of opposite signs cancel
            for extra in () if c is None else (0, c.sign_bit, 1, c.max_code, *(code for code in (c.inf, *c.nan[:1]) if code is not None)):
                yield like._replace(a=[x ^ (sign if i & 1 else 0) for i in range(k)], b=[y] * k, c=extra)
            if c is None:
                yield like._replace(a=[x ^ (sign if i & 1 else 0) for i in range(k)], b=[y] * k)


def rows_of(plan: LevelsPlan, rng: Random, count: int) -> list[Row]:
    """Return drawn rows, and directed ones as long as the shortest of them, with its scales and words."""
    drawn = [row for _ in range(count) if (row := drawn_row(plan, rng)) is not None]
    directed = list(_directed(plan, min(drawn, key=lambda row: len(row.a)))) if drawn else []
    return drawn + rng.sample(directed, min(len(directed), 2 * count))


def compare(dot: Dot, plan: LevelsPlan, rng: Random, count: int) -> Counter[str]:
    """Compare rows: those of one length together, what raises alone. Counts results and errors by name."""
    seen: Counter[str] = Counter()
    sets: dict[int, list[tuple[Row, int]]] = {}
    for row in rows_of(plan, rng, count):
        wanted = exact(plan, row)
        seen[wanted if isinstance(wanted, str) else "code"] += 1
        if isinstance(wanted, str):
            assert _alone(dot, plan, row) == wanted, (plan.name, plan.facts, row)
        else:
            sets.setdefault(len(row.a), []).append((row, wanted))
    for pairs in sets.values():
        found = together(dot, plan, [row for row, _ in pairs])
        for (row, wanted), code in zip(pairs, found, strict=True):
            assert int(code) == wanted, (plan.name, plan.facts, row)
    return seen
