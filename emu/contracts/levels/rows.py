"""Rows of a datapath of levels: codes of one output and its random words, as arrays and as text; what the engines make of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from emu.arrays.values import Codes
from emu.base.errors import EmuError, OpenError, OperandError
from emu.contracts.contract import array_of
from emu.contracts.dot.rows import choices_of, join, split
from emu.engines.datapath import run_levels
from emu.engines.exact.encode import code_of_one
from emu.engines.exact.levels import LevelsDot, dot
from emu.engines.table import TABLE
from emu.spec.levels import LevelsPlan, resolve_levels
from emu.spec.models import Datapath
from emu.spec.models.levels import DatapathLevels
from emu.spec.registry import get

Operands = tuple[Codes, Codes, Codes | None, Codes | None, Codes | None, Codes | None]
REFUSALS = (OpenError, OperandError)  # a register that overflows, a policy that does not say


class LevelsRow(NamedTuple):
    """One row. a, b: element codes.   scale_a, scale_b: one code per block, empty without scales.   c: code of C, None without C.

    random: one word for each rounding that draws, in the order of LevelsPlan.draws.
    """

    a: tuple[int, ...]
    b: tuple[int, ...]
    scale_a: tuple[int, ...] = ()
    scale_b: tuple[int, ...] = ()
    c: int | None = None
    random: tuple[int, ...] = ()

    def texts(self, plan: LevelsPlan) -> dict[str, str]:
        """Return the row as hex strings: a, b, sa, sb (with scales), c (where there is one); random words with commas."""
        out = {"a": join(self.a, plan.a), "b": join(self.b, plan.b)}
        if plan.scale is not None:
            out |= {"sa": join(self.scale_a, plan.scale), "sb": join(self.scale_b, plan.scale)}
        if plan.c is not None and self.c is not None:
            out["c"] = join((self.c,), plan.c)
        return out | ({"random": ",".join(f"{word:x}" for word in self.random)} if self.random else {})

    def key(self) -> tuple[tuple[int, ...], ...]:
        """Return the codes as one sortable key."""
        return (self.a, self.b, self.scale_a, self.scale_b, () if self.c is None else (self.c,), self.random)


def evaluate(row: LevelsRow, plan: LevelsPlan) -> LevelsDot:
    """Return the dot product of a row, by the reference model. Raises: ShapeError, OperandError, OpenError."""
    return dot(*row, plan)


def answer(row: LevelsRow, plan: LevelsPlan) -> int | None:
    """Return the result code of a row; None where it is refused (a register that overflows, an open bit or policy)."""
    try:
        return evaluate(row, plan).code
    except REFUSALS:
        return None


def engines_of(plan: LevelsPlan) -> list[str]:
    """Return the engines beside the reference model that take a datapath of levels; torch stays out of contracts, as for all operations."""
    return [row.engine for row in TABLE if row.operation == "levels" and row.engine not in ("exact", "torch") and row.can(plan)]


def arrays_of(rows: Sequence[LevelsRow], plan: LevelsPlan) -> Operands:
    """Return a, b, scales of a and b (None without scales), c (None without C) and random words (None where nothing draws) of rows."""
    a, b, scale_a, scale_b, c, random = zip(*rows, strict=True)
    scales = [None if plan.scale is None else array_of(codes, plan.scale) for codes in (scale_a, scale_b)]
    words = np.array(random, np.uint64) if random[0] else None
    return array_of(a, plan.a), array_of(b, plan.b), scales[0], scales[1], None if plan.c is None else array_of(c, plan.c), words


def run_rows(rows: Sequence[LevelsRow], plan: LevelsPlan, engine: str) -> list[int | None]:
    """Return the result codes of rows of one K by one engine; None where a row is refused."""
    return [None if found is None else found[0] for found in run_flagged(rows, plan, engine)]


def run_flagged(rows: Sequence[LevelsRow], plan: LevelsPlan, engine: str) -> list[tuple[int, int] | None]:
    """Return the result code and the flags of rows of one K by one engine; None where a row is refused.

    An engine refuses a whole call where one row is refused: the halves are asked again, until what is refused stands alone.
    """
    if not rows:
        return []
    try:
        raised = np.zeros(len(rows), np.uint8)
        codes = run_levels(*arrays_of(rows, plan), plan, engine, None if plan.facts.flags is None else raised)[0]
        return list(zip(codes.tolist(), raised.tolist(), strict=True))
    except REFUSALS:
        if len(rows) == 1:
            return [None]
        half = len(rows) // 2
        return run_flagged(rows[:half], plan, engine) + run_flagged(rows[half:], plan, engine)


def answers(rows: Sequence[LevelsRow], plan: LevelsPlan) -> list[int | None]:
    """Return the result codes of rows of one K, by an engine that takes the plan; None where a row is refused. All give the same bits."""
    return [None if found is None else found[0] for found in flagged_answers(rows, plan)]


def flagged_answers(rows: Sequence[LevelsRow], plan: LevelsPlan) -> list[tuple[int, int] | None]:
    """Return the result codes and flags of rows of one K, as answers."""
    found = next(iter(engines_of(plan)), None)
    if found is not None:
        try:
            return run_flagged(rows, plan, found)
        except EmuError:
            pass
    return [_flagged(row, plan) for row in rows]


def _flagged(row: LevelsRow, plan: LevelsPlan) -> tuple[int, int] | None:
    try:
        made = evaluate(row, plan)
    except REFUSALS:
        return None
    return made.code, made.flags


def row_of(
    plan: LevelsPlan, a: str, b: str, scale_a: str | None, scale_b: str | None, c: str | None, random: str | None = None
) -> LevelsRow:
    """Return the row of hex strings; C left out is +0, scales left out are 1, random words left out are 0.

    random: hexadecimal words with commas.   Raises: OperandError (not hex, too many digits, operands that the datapath does not have).
    """
    first, second = split(a, plan.a, "a"), split(b, plan.b, "b")
    if plan.scale is None and (scale_a is not None or scale_b is not None):
        raise OperandError(f"datapath {plan.datapath.id} takes no scales: leave sa and sb out")
    if plan.c is None and c is not None:
        raise OperandError(f"datapath {plan.datapath.id} has no C: leave c out")
    scales: list[tuple[int, ...]] = [(), ()]
    if plan.scale is not None:
        one = (code_of_one(plan.scale),) * (len(first) // plan.block) if scale_a is None or scale_b is None else ()
        scales = [one if text is None else split(text, plan.scale, name) for text, name in ((scale_a, "sa"), (scale_b, "sb"))]
    addend = None if plan.c is None else 0
    if plan.c is not None and c is not None:
        codes = split(c, plan.c, "c")
        if len(codes) != 1:
            raise OperandError(f"c: {c!r} is no single {plan.c.id} code")
        addend = codes[0]
    words = (0,) * len(plan.draws(len(first))) if random is None else _words(random)
    return LevelsRow(first, second, scales[0], scales[1], addend, words)


def plan_of(text: str | Datapath, a: Any = None, b: Any = None, scale: Any = None, block: int | None = None) -> LevelsPlan:
    """Return the plan of a datapath of levels and its choices, as emu.contracts.dot.rows.plan_of. Raises: SpecError."""
    datapath, given = choices_of(text, {"a": a, "b": b, "scale": scale, "block": block})
    return resolve_levels(datapath, given["a"], given["b"], given["scale"], given["block"])


def in_levels(text: str | Datapath) -> bool:
    """Tell whether a datapath, or the name of a plan, is written in levels. Raises: SpecError (unknown)."""
    model: Datapath = get("datapath", text.partition("/")[0] if isinstance(text, str) else text)
    return isinstance(model.facts, DatapathLevels)


def _words(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(word, 16) for word in text.split(",") if word.strip())
    except ValueError:
        raise OperandError(f"random: {text!r}: write hexadecimal words with commas, in the order of LevelsPlan.draws") from None
