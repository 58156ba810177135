"""Rows of a dot product: codes of one output, as hexadecimal text and back; and the choice of a datapath by text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from emu.arrays.values import Codes
from emu.base.errors import OpenError, OperandError, SpecError
from emu.contracts.contract import array_of
from emu.contracts.text import digits_of
from emu.engines.datapath import run_dot
from emu.engines.exact.datapath import Dot, dot
from emu.engines.exact.encode import code_of_one
from emu.spec import derive, get
from emu.spec.datapath import DatapathPlan, known_facts, pairs, resolve
from emu.spec.levels import LevelsPlan
from emu.spec.models import Datapath, Format
from emu.spec.models.levels import DatapathLevels

_HEX = re.compile(r"[0-9a-fA-F]+\Z")


class DotRow(NamedTuple):
    """One row. a, b: element codes, element 0 first.   scale_a, scale_b: one code per block, empty without scales.   c: code of C."""

    a: tuple[int, ...]
    b: tuple[int, ...]
    scale_a: tuple[int, ...]
    scale_b: tuple[int, ...]
    c: int

    def texts(self, plan: DatapathPlan) -> dict[str, str]:
        """Return the row as hex strings: a, b, sa, sb (with scales), c; lower case, element 0 first."""
        out = {"a": join(self.a, plan.a), "b": join(self.b, plan.b)}
        if plan.scale is not None:
            out |= {"sa": join(self.scale_a, plan.scale), "sb": join(self.scale_b, plan.scale)}
        return out | {"c": join((self.c,), plan.c)}

    def key(self) -> tuple[tuple[int, ...], ...]:
        """Return the codes as one sortable key."""
        return (self.a, self.b, self.scale_a, self.scale_b, (self.c,))


def evaluate(row: DotRow, plan: DatapathPlan) -> Dot:
    """Return the dot product of a row, by the reference model. Raises: ShapeError, OperandError, OpenError."""
    return dot(*row, plan)


def answer(row: DotRow, plan: DatapathPlan) -> int | None:
    """Return the result code of a row; None where it is refused (an accumulator that overflows, an open bit)."""
    try:
        return evaluate(row, plan).code
    except OpenError:
        return None


def arrays_of(rows: Sequence[DotRow], plan: DatapathPlan) -> tuple[Codes, Codes, Codes | None, Codes | None, Codes]:
    """Return a, b, scales of a and b (None without scales), c of rows of one K as arrays of codes."""
    a, b, scale_a, scale_b, c = zip(*rows, strict=True)
    scales = [None if plan.scale is None else array_of(codes, plan.scale) for codes in (scale_a, scale_b)]
    return array_of(a, plan.a), array_of(b, plan.b), scales[0], scales[1], array_of(c, plan.c)


def answers(rows: Sequence[DotRow], plan: DatapathPlan, engine: str = "auto") -> list[int | None]:
    """Return the result codes of rows of one K; None where a row is refused. engine: as emu.dot; all give the same bits."""
    if not rows:
        return []
    try:
        found = run_dot(*arrays_of(rows, plan), plan, engine)
    except OpenError:
        return [answer(row, plan) for row in rows]
    return [int(code) for code in found]


def same_answer(x: int | None, y: int | None, plan: DatapathPlan | LevelsPlan) -> bool:
    """Tell whether two results agree: the same code, or both NaN where the payload is free."""
    if x is None or y is None or x == y:
        return x == y
    return plan.facts.special.nan == "any" and derive.is_nan_code(x, plan.d) and derive.is_nan_code(y, plan.d)


def differs(row: DotRow, first: DatapathPlan, second: DatapathPlan) -> bool:
    """Tell whether two datapaths give different results for a row, by the reference model."""
    return not same_answer(answer(row, first), answer(row, second), first)


def join(codes: Sequence[int], fmt: Format) -> str:
    """Return codes as one hex string, element 0 first."""
    return "".join(f"{code:0{digits_of(fmt)}x}" for code in codes)


def split(text: str, fmt: Format, name: str) -> tuple[int, ...]:
    """Return the codes of a hex string; blanks, underscores and a leading 0x are ignored.

    name: what to call it in an error.   Raises: OperandError.
    """
    packed = re.sub(r"[\s_]", "", text).removeprefix("0x")
    wide = digits_of(fmt)
    if not _HEX.match(packed):
        raise OperandError(f"{name}: {text!r} is no hex string: write {wide} digits per {fmt.id} code, element 0 first")
    if len(packed) % wide:
        raise OperandError(f"{name}: {len(packed)} hex digits are no multiple of {wide}, the digits of one {fmt.id} code")
    return tuple(int(packed[start : start + wide], 16) for start in range(0, len(packed), wide))


def row_of(plan: DatapathPlan, a: str, b: str, scale_a: str | None, scale_b: str | None, c: str | None) -> DotRow:
    """Return the row of hex strings; C left out is +0, scales left out are 1.

    Raises: OperandError (not hex, too many digits, scales for a datapath without them).
    """
    first, second = split(a, plan.a, "a"), split(b, plan.b, "b")
    if plan.scale is None and (scale_a is not None or scale_b is not None):
        raise OperandError(f"datapath {plan.datapath.id} takes no scales: leave sa and sb out")
    scales = [_scales(plan, text, name, len(first)) for name, text in (("sa", scale_a), ("sb", scale_b))]
    addend = (0,) if c is None else split(c, plan.c, "c")
    if len(addend) != 1:
        raise OperandError(f"c: {c!r} is no single {plan.c.id} code of {digits_of(plan.c)} hex digits")
    return DotRow(first, second, scales[0], scales[1], addend[0])


def _scales(plan: DatapathPlan, text: str | None, name: str, k: int) -> tuple[int, ...]:
    if plan.scale is None:
        return ()
    return (code_of_one(plan.scale),) * (k // plan.block) if text is None else split(text, plan.scale, name)


def plan_of(text: str | Datapath, a: Any = None, b: Any = None, scale: Any = None, block: int | None = None) -> DatapathPlan:
    """Return the plan of a datapath and its choices: `id`, or the name a plan prints, `id/e1m2xe1m2/ue4m3/16`, any part left out.

    a, b, scale, block: choices given apart; what is in neither place and only offered once is taken.
    Raises: SpecError (unknown id or choice, a choice given twice), OpenError (unknown or open datapath).
    """
    datapath, given = choices_of(text, {"a": a, "b": b, "scale": scale, "block": block})
    return resolve(datapath, given["a"], given["b"], given["scale"], given["block"])


def choices_of(text: str | Datapath, given: dict[str, Any]) -> tuple[Datapath, dict[str, Any]]:
    """Return the datapath that a text names, and the choices of the text joined with given ones. Raises: as plan_of."""
    if isinstance(text, Datapath):
        return text, dict(given)
    name, *parts = text.split("/")
    datapath: Datapath = get("datapath", name)
    out = dict(given)
    if isinstance(datapath.facts, DatapathLevels):
        offered, scales = pairs(datapath.facts), () if datapath.facts.offered is None else datapath.facts.offered.formats
    else:
        facts = known_facts(datapath)
        offered, scales = pairs(facts), facts.scale.formats
    for part in parts:
        found = _part(part, offered, scales)
        if not found or any(out[key] is not None and out[key] != value for key, value in found.items()):
            raise SpecError(
                f"datapath {text!r}: {part!r} is no operand pair like e1m2xe1m2, scale format or block size it takes, or is said twice"
            )
        out |= found
    return datapath, out


def _part(part: str, offered: list[tuple[str, str]], scales: tuple[str, ...]) -> dict[str, Any]:
    """Return what one part of a plan's name chooses; empty where it is nothing known."""
    if part.isdecimal():
        return {"block": int(part)}
    if part in scales:
        return {"scale": part}
    return next(({"a": first, "b": second} for first, second in offered if f"{first}x{second}" == part), {})
