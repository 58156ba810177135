"""Which groups a rotation is tried on: impulses, constants, cancellation between large and small terms, specials, random elements."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, Final

from emu.contracts.grid import code_at
from emu.contracts.rows import Input, pack
from emu.contracts.suites import row_words
from emu.spec import derive

if TYPE_CHECKING:
    from emu.contracts.transform.contract import TransformContract

RANDOM_ROWS: Final = 4096
SPREAD_ROWS: Final = 16


class Cases:
    """Collects the cases of one rotation."""

    def __init__(self, op: TransformContract) -> None:
        self.op, self.n = op, op.facts.size
        self.own = int(op.facts.signs, 16)
        derived = derive.codes(op.source)
        self.sign, self.inf, self.nan, self.most = derived.sign_bit, derived.inf or 0, derived.nan[0], derived.max_code
        self.found: list[Input] = []

    def code(self, number: Fraction | int) -> int:
        """Return the source code of a number."""
        return code_at(abs(Fraction(number)), self.op.source) | (self.sign if number < 0 else 0)

    def add(self, group: str, flags: tuple[str, ...], lanes: list[int], signs: int | None = None) -> None:
        """Take one group. signs: only used where the rotation takes them; None: its own."""
        chosen = self.own if signs is None or self.op.fixed else signs
        packed = pack((lanes + [0] * self.n)[: self.n], self.op.layout.inputs[0].lane_bits)
        self.found.append(Input(group, flags, (packed, chosen)))


def directed(op: TransformContract, stem: str) -> list[Input]:
    """Return the directed cases of a rotation."""
    out = Cases(op)
    n, one, ones = op.facts.size, out.code(1), (1 << op.facts.size) - 1
    for lane in range(n):
        out.add("impulse", ("impulse",), [one if place == lane else 0 for place in range(n)])
    for signs in (0, ones, out.own):
        out.add("constant", ("lanes",), [one] * n, signs)
    out.add("constant", ("lanes",), [out.code(lane + 1) for lane in range(n)])
    for gap in (8, 16, 24, 25, 40, 64):
        big, small = Fraction(2) ** gap, [1, 1, -1, 1]
        for middle in (small, [1, Fraction(3, 2), 1, 1], [1, -1, Fraction(1, 2), Fraction(1, 4)]):
            numbers = [big, *middle, -big, *middle]
            lanes = [out.code(number) ^ (out.sign if out.own >> lane & 1 else 0) for lane, number in enumerate(numbers)]
            out.add("cancel", ("cancel",), lanes)
    out.add("cancel", ("cancel", "zero"), [0 if out.own >> lane & 1 else out.sign for lane in range(n)])
    out.add("cancel", ("cancel", "zero"), [out.sign] * n)
    out.add("cancel", ("cancel", "zero"), [0] * n)
    out.add("edges", ("subnormal",), [lane + 1 for lane in range(n)])
    out.add("edges", ("huge",), [out.most] * n)
    out.add("edges", ("huge",), [out.most] + [0] * (n - 1))
    for flag, code in (("nan", out.nan), ("inf", out.inf), ("inf", out.inf | out.sign)):
        for lane in (0, n - 1):
            out.add("specials", (flag,), [code if place == lane else one for place in range(n)])
    out.add("specials", ("inf", "nan"), [out.inf if place < 2 else one for place in range(n)])
    return out.found + [case._replace(group="spread", flags=("spread",)) for case in random(op, stem, 1 << 20, (1 << 20) + SPREAD_ROWS)]


def random(op: TransformContract, stem: str, start: int, stop: int) -> list[Input]:
    """Return groups of random elements within 8 binades; every fourth row within 64; signs drawn where they are an operand."""
    derived, n = derive.codes(op.source), op.facts.size
    one = code_at(Fraction(1), op.source)
    frac = int(getattr(op.source.facts, "frac_bits", 0))
    span = min(64, (one >> frac) - 1)
    out = []
    for number, words in zip(range(start, stop), row_words(stem, start, stop, n + 1), strict=True):
        spread = span if number % 4 == 3 else 8
        lanes = [
            one - ((word >> 24 & 127) % spread << frac) + (word & ((1 << frac) - 1)) | (derived.sign_bit if word >> 31 else 0)
            for word in words[:n]
        ]
        signs = int(op.facts.signs, 16) if op.fixed else words[n] & ((1 << n) - 1)
        out.append(Input("random", ("random",), (pack(lanes, op.layout.inputs[0].lane_bits), signs)))
    return out
