"""What identify says: findings by axis, verdicts by pair of variants, rows where a kernel departs. Not here: how they are found."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from emu.base.errors import OperandError
from emu.base.text import readable


class CodesAlone(OperandError):
    """A kernel that was asked as a quantizer gives codes and no scales."""


Kind = Literal["documented", "variant", "nearest", "nothing", "revealed", "unknown"]
FOUND = 8  # names that a text shows
LONG = 8  # codes of one operand that a line of text shows
PairVerdict = Literal["separated", "equal", "not separated", "unobservable"]


def shown(operands: dict[str, str]) -> str:
    """Return operands as one line; long ones are cut, JSON has them whole."""
    parts = []
    for name, text in operands.items():
        codes = text.split()
        parts.append(f"{name} {' '.join(codes[:LONG])}" + (f" ... ({len(codes)} codes)" if len(codes) > LONG else ""))
    return "; ".join(parts)


@dataclass(frozen=True)
class Axis:
    """One axis decided, or why it is not.

    stage: layout, scale, codes, values, ...   axis: what is asked.   finding: the answer in words.
    """

    stage: str
    axis: str
    finding: str


@dataclass(frozen=True)
class Pair:
    """What is known of two variants.

    why: the domain of `equal`, the number tried of `not separated`, the reason of `unobservable`.
    operands: as hex text of `separated`.
    """

    first: str
    second: str
    verdict: PairVerdict
    why: str
    operands: dict[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The pair in one line."""
        words = {"equal": f"equal on {self.why}", "unobservable": f"unobservable here because {self.why}"}
        said = words.get(self.verdict, f"{self.verdict} ({self.why})")
        return f"{self.first} | {self.second}: {said}" + (f": {shown(self.operands)}" if self.operands else "")


@dataclass(frozen=True)
class Departure:
    """One row where the kernel is not the named variant. operands, expected, got: hex text by name; a place counts lanes from 0."""

    operands: dict[str, str]
    where: str
    expected: str
    got: str

    @property
    def text(self) -> str:
        """The row in one line."""
        return f"{self.where}: expected {self.expected}, got {self.got} | {shown(self.operands)}"


@dataclass(frozen=True)
class Identity:
    """What a kernel is.

    kind: documented (a spec object gives every answer), variant (one with stated changes does), nearest, nothing (none was compared).
    Of products also revealed (no spec object, but an order and accumulator that give every answer) and unknown.
    found: contracts or variants that give every answer asked, or the nearest ones.   title: the answer in words.
    asked: rows asked.   agreed: rows on which the first of `found` agrees.   departures: rows where it does not, the first ones.
    """

    target: str
    op: str
    kind: Kind
    found: tuple[str, ...]
    title: str
    axes: tuple[Axis, ...] = ()
    pairs: tuple[Pair, ...] = ()
    departures: tuple[Departure, ...] = ()
    asked: int = 0
    agreed: int = 0

    @property
    def exit_code(self) -> int:
        """0 a documented variant or a revealed order, 1 only near one or unknown, 3 nothing compared."""
        return {"documented": 0, "revealed": 0, "variant": 1, "nearest": 1, "unknown": 1, "nothing": 3}[self.kind]

    def text(self, pairs: int = 4) -> str:
        """Return the report. pairs: how many pairs are printed, those not separated first."""
        lines = [f"{self.target}: {self.title}", f"  {self.agreed} of {self.asked} rows agree"]
        names = {
            "documented": "documented as",
            "variant": "variant of a documented one",
            "nearest": "nearest",
            "nothing": "nothing compared",
            "revealed": "gives every answer",
            "unknown": "the sums are",
        }
        lines += [f"  {names[self.kind]}: {name}" for name in self.found[:FOUND]]
        lines += [f"  and {len(self.found) - FOUND} more: --json lists them"] if len(self.found) > FOUND else []
        lines += [f"  {axis.stage}, {axis.axis}: {axis.finding}" for axis in self.axes]
        lines += ["  departs in:"] if self.departures else []
        lines += [f"    {row.text}" for row in self.departures]
        first = sorted(self.pairs, key=lambda pair: pair.verdict == "separated")[:pairs]
        lines += [f"  {pair.text}" for pair in first]
        left = len(self.pairs) - len(first)
        return readable([*lines, *([f"  {left} more pairs: --json lists them"] if left else [])])

    def json(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return {
            "target": self.target,
            "op": self.op,
            "kind": self.kind,
            "found": list(self.found),
            "title": self.title,
            "asked": self.asked,
            "agreed": self.agreed,
            "axes": [vars(axis) for axis in self.axes],
            "departures": [vars(row) for row in self.departures],
            "pairs": [vars(pair) for pair in self.pairs],
        }
