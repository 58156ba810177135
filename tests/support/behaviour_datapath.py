"""What a datapath does to fixed rows, by the exact engine. The rows are made from the shipped spec: a changed fact must not change them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product
from math import lcm
from typing import Any, NamedTuple

import numpy as np

from emu.base.errors import EmuError
from emu.contracts.dot.cases import CATEGORIES, applies, rows
from emu.contracts.dot.rows import DotRow
from emu.contracts.suites import spread
from emu.engines.exact.datapath import dot
from emu.engines.exact.encode import encode_value
from emu.engines.exact.levels import dot as level_dot
from emu.engines.exact.value import finite
from emu.spec import derive
from emu.spec.datapath import known_facts, pairs, resolve
from emu.spec.levels import LevelsPlan, level_plans_of
from emu.spec.models import Datapath, Format
from emu.spec.models.levels import DatapathLevels

LEVEL_ROWS, EDGE_ROWS = 24, 60
CHOSEN, ROWS = 4, 3  # choices of operands, rows of a category
SHARP, MORE = ("cancelled_group", "align_edge", "floor_edge", "cancel"), 12  # categories that see most, and their rows


class DotOperands(NamedTuple):
    """Rows of one choice of operands: formats of A and B, scale format, block size, cases."""

    a: str
    b: str
    scale: str | None
    block: int | None
    cases: tuple[DotRow, ...]


def datapath_rows(datapath: Datapath) -> list[DotOperands]:
    """Return the rows of some choices of operands; nothing for a datapath that is not known."""
    try:
        facts = known_facts(datapath)
    except EmuError:
        return []
    every = [
        (a, b, scale, block) for a, b in pairs(facts) for scale in facts.scale.formats or (None,) for block in facts.scale.blocks or (None,)
    ]
    out = []
    for place in spread(len(every), CHOSEN):
        plan = resolve(datapath, *every[place])
        counts = {name: 1 if name == "chain" else MORE if name in SHARP else ROWS for name in CATEGORIES if applies(name, plan)}
        found = [case for name, count in counts.items() for case in rows(name, plan, count)]
        out.append(DotOperands(*every[place], tuple(found)))
    return out


def datapath_runs(datapath: Datapath, given: Sequence[DotOperands]) -> Iterator[Any]:
    """Yield results, stages left out; an error as its class. Of a datapath of levels: of drawn operands, the same ones always."""
    if isinstance(datapath.facts, DatapathLevels):
        yield from _level_runs(datapath)
        return
    try:
        known_facts(datapath)
    except EmuError as error:
        yield type(error).__name__
    for choice in given:
        yield from (_tried(datapath, choice, case) for case in choice.cases)


def _tried(datapath: Datapath, choice: DotOperands, case: DotRow) -> Any:
    try:
        found = dot(*case, resolve(datapath, choice.a, choice.b, choice.scale, choice.block))
    except (EmuError, AssertionError) as error:
        return type(error).__name__
    return found.code, found.accumulator


def _level_runs(datapath: Datapath) -> Iterator[Any]:
    """Yield the codes of drawn rows of every choice of operands, an instruction or a block long."""
    for plan in level_plans_of(datapath):
        for number in range(LEVEL_ROWS):
            rng = np.random.default_rng(number)
            k = lcm(plan.facts.k, plan.block or 1)
            a, b, scale_a, scale_b, c = (
                rng.integers(0, 1 << derive.codes(fmt).bits, count).tolist() if fmt else []
                for fmt, count in (
                    (plan.a, k), (plan.b, k), (plan.scale, k // (plan.block or k)), (plan.scale, k // (plan.block or k)), (plan.c, 1)
                )
            )  # fmt: skip
            words = [int(rng.integers(0, 1 << draw.rounding.random_bits)) for draw in plan.draws(k)]
            if number % 2:  # most values near 1, so that sums neither vanish nor overflow
                a, b = ([code & 1 | one_of(fmt) for code in codes] for codes, fmt in ((a, plan.a), (b, plan.b)))
            yield _level_tried(plan, a, b, scale_a, scale_b, c[0] if c else None, words)
        yield from _level_edges(plan, lcm(plan.facts.k, plan.block or 1))


def _level_edges(plan: LevelsPlan, k: int) -> Iterator[Any]:
    """Yield the codes of rows of two kinds of products, at every pair of places of the first ones, with each kind of C and scales.

    Kinds: zeros of both signs, the smallest and the largest subnormal number, 1, the largest number, infinity and NaN, of both signs.
    """
    kinds = [(x, y) for x in _edges(plan.a) for y in (one_of(plan.b), _edges(plan.b)[-1], derive.codes(plan.b).max_code)]
    sizes = k // (plan.block or k)
    cs = [None] if plan.c is None else _edges(plan.c)
    scales = [(None, None)] if plan.scale is None else [(s, t) for s in _edges(plan.scale) for t in (one_of(plan.scale), s)]
    words = [1 << (draw.rounding.random_bits - 1) for draw in plan.draws(k)]
    every = list(product(kinds, kinds))
    for number, place in enumerate(spread(len(every), EDGE_ROWS)):
        first, second = every[place]
        laid = ([first, second], [first] * (k - 1) + [second], [second] + [first] * (k - 1), [first, second] * (k // 2))[number % 4][:k]
        a, b = ([pair[side] for pair in laid] + [0] * (k - len(laid)) for side in (0, 1))
        left, right = ([code] * sizes if code is not None else [] for code in scales[number % len(scales)])
        yield _level_tried(plan, a, b, left, right, cs[number % len(cs)], words)


def _edges(fmt: Format) -> list[int]:
    """Return codes at the edges of a format: both zeros, the ends of subnormal and normal numbers, 1, infinity, NaN, both signs."""
    codes = derive.codes(fmt)
    fraction = getattr(fmt.facts, "frac_bits", 0)
    found = [
        0,
        1,
        (1 << fraction) - 1,
        1 << fraction,
        one_of(fmt),
        one_of(fmt) + 1,
        codes.max_code,
        *([codes.inf] if codes.inf is not None else []),
    ]
    signed = [code | codes.sign_bit for code in found] if codes.sign_bit else []
    return list(dict.fromkeys([*found, *signed, *codes.nan[:1]]))


def _level_tried(plan: LevelsPlan, *operands: Any) -> Any:
    try:
        return level_dot(*operands, plan).code
    except (EmuError, AssertionError) as error:
        return type(error).__name__


def one_of(fmt: Format) -> int:
    """Return the code of 1."""
    return encode_value(finite(Fraction(1)), fmt)
