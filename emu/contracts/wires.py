"""A wire of a machine that is wrong: too narrow, one off, a bit that does not move. Contracts try these on the registers that they know of.

An edit is a plain function of an integer and its width; `on_array` is the same on the binary32 patterns and codes of the NumPy engine.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

import numpy as np

from emu.spec import derive, get, names
from emu.spec.models import Format

Kind = Literal["low", "high", "stop", "more", "less", "zero", "one", "flip", "nothing"]
DEEP = 4  # bits that a register may be too narrow by
MOST_BITS = 64  # of a wire that is tried bit by bit


class Edit(NamedTuple):
    """What is wrong with a wire.

    kind: low, high: so many bits are lost at that end; stop: it saturates so many bits early; more, less: one off; zero, one, flip: bit n;
    nothing: the value 0 in place of the wire.
    """

    kind: Kind
    n: int = 0

    def words(self, wire: str) -> str:
        """What it says of a wire."""
        few = "bit is" if self.n == 1 else f"{self.n} bits are"
        return {
            "low": f"{wire}: the lowest {few} lost", "high": f"{wire}: the highest {few} lost, a register too narrow",
            "stop": f"{wire}: saturates {self.n} bit{'s' if self.n > 1 else ''} early", "more": f"{wire}: one too high",
            "less": f"{wire}: one too low", "zero": f"{wire}: bit {self.n} is always 0", "one": f"{wire}: bit {self.n} is always 1",
            "flip": f"{wire}: bit {self.n} is inverted", "nothing": f"{wire}: always 0",
        }[self.kind]  # fmt: skip

    def __call__(self, value: int, bits: int, signed: bool = False) -> int:
        """Return an integer on a wire of so many bits. signed: it is two's complement."""
        kind, n = self.kind, self.n
        if kind == "nothing":
            return 0
        if kind == "stop":
            top = (1 << (bits - n - signed)) - 1
            return min(value, top) if not signed else max(-top - 1, min(top, value))
        code = value & ((1 << bits) - 1)
        if kind == "high":
            return _signed(code & ((1 << (bits - n)) - 1), bits - n) if signed else code & ((1 << (bits - n)) - 1)
        code = _plain(kind, n, code, (1 << bits) - 1)
        return _signed(code, bits) if signed else code

    def on_array(self, codes: Any, bits: int) -> Any:
        """Return an array of unsigned codes."""
        ones = codes.dtype.type((1 << bits) - 1)
        if self.kind == "nothing":
            return np.zeros_like(codes)
        narrow = codes.dtype.type((1 << max(bits - self.n, 0)) - 1)
        if self.kind == "stop":
            return np.minimum(codes, narrow)
        if self.kind == "high":
            return codes & narrow
        bit = codes.dtype.type(1 << self.n) if self.n < bits else codes.dtype.type(0)
        if self.kind == "low":
            return codes & (ones ^ codes.dtype.type((1 << self.n) - 1))
        if self.kind in ("more", "less"):
            return (codes + codes.dtype.type(1) if self.kind == "more" else codes - codes.dtype.type(1)) & ones
        return codes & (ones ^ bit) if self.kind == "zero" else codes | bit if self.kind == "one" else codes ^ bit


def _plain(kind: str, n: int, code: int, ones: int) -> int:
    if kind == "low":
        return code >> n << n
    if kind in ("more", "less"):
        return (code + (1 if kind == "more" else -1)) & ones
    bit = 1 << n
    return code & ~bit if kind == "zero" else code | bit if kind == "one" else code ^ bit


def _signed(code: int, bits: int) -> int:
    return code - (1 << bits) if bits and code >> (bits - 1) else code


def edits(bits: int, deep: int = DEEP) -> Iterator[Edit]:
    """Yield the edits of a wire of so many bits: widths first, then one off, then bit by bit."""
    for kind in ("low", "high", "stop"):
        yield from (Edit(kind, n) for n in range(1, min(deep, bits - 1) + 1))
    if bits > 1:
        yield from (Edit("more"), Edit("less"))
    for n in range(min(bits, MOST_BITS)):
        yield from (Edit("zero", n), Edit("one", n), Edit("flip", n))


def other_readings(a: Format, b: Format, scale: Format | None) -> Iterator[tuple[str, tuple[str, ...], Format, Format]]:
    """Yield (operands in words, fields of a plan, their format, another format of as many bits) of a machine that reads codes wrongly."""
    for key, sides, fmt in (("a", ("a",), a), ("b", ("b",), b), ("a and b", ("a", "b"), a), ("scales", ("scale",), scale)):
        if fmt is None or (key == "a and b" and a != b):
            continue
        for name in names("format"):
            other: Format = get("format", name)
            if derive.codes(other).bits == derive.codes(fmt).bits and other.facts_digest != fmt.facts_digest:
                yield key, sides, fmt, other
