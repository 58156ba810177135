"""Sums of terms in floating point: in one chain, steps, chunks, lanes, trees and split K; an accumulator of any width, rounding or cutting.

Terms are integers of one unit, so that an addition is exact before it is rounded once. Accumulators of binary32 and binary64 whose terms
they hold are added by NumPy, with the same bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np

Inner = Literal["chain", "fused", "stepped", "chunks", "lanes", "pairs", "halves"]
Join = Literal["ascending", "pairs", "halves"]
SIZES: Final = (2, 4, 8, 16, 32, 64, 128, 256)
SPLITS: Final = (2, 3, 4, 5, 6, 7, 8, 16)
DOUBLE: Final = 53
ALL: Final = 1 << 30  # size of a step that takes every term of its part


@dataclass(frozen=True)
class Accumulator:
    """A register. bits: of its significand.   cut: rounds toward zero; else to nearest even."""

    bits: int
    cut: bool

    @property
    def text(self) -> str:
        """The register in words."""
        return f"{self.bits} significand bits, {'cut (toward zero)' if self.cut else 'rounded to nearest even'}"


@dataclass(frozen=True)
class SumOrder:
    """An order of K terms.

    inner: what one part does with its terms. chain: one after the other; fused: exact sums of `size` terms and the register, rounded once;
    stepped: exact sums of `size` terms, rounded, then added; chunks: chains of `size` terms from zero, then added; lanes: `size` registers
    that take every size-th term, joined at the end; pairs: neighbours, then their sums; halves: the first half and the second.
    split: parts of K.   interleaved: a part takes every split-th term.   descending: each part from its end.
    joined: how parts are joined (and lanes).
    """

    inner: Inner = "chain"
    size: int = 1
    split: int = 1
    interleaved: bool = False
    descending: bool = False
    joined: Join = "ascending"

    @property
    def step(self) -> str:
        """What is added at a time, in words."""
        if self.size == ALL:
            return "the exact sum of all terms, before one rounding"
        return {
            "chain": "one term after the other", "fused": f"fused steps of {self.size} terms, exact before one rounding",
            "stepped": f"exact sums of {self.size} terms, rounded and then added one after the other",
            "chunks": f"chains of {self.size} terms from zero, added one after the other",
            "lanes": f"{self.size} interleaved registers, joined {_JOINS[self.joined]}", "pairs": "a tree of neighbours",
            "halves": "a tree of halves",
        }[self.inner]  # fmt: skip

    @property
    def along(self) -> str:
        """The order along K, in words."""
        words = ["descending" if self.descending else "ascending"] if self.inner not in ("pairs", "halves") else []
        if self.split > 1:
            words.append(f"split K by {self.split}{', interleaved' if self.interleaved else ''}")
            words += ["joined in pairs"] if self.joined != "ascending" and self.split > 2 else []
        return ", ".join(words) or "no chain"


_JOINS: Final = {"ascending": "one after the other", "pairs": "by neighbours", "halves": "by halves"}


def orders(k: int, few: bool = False) -> Iterator[SumOrder]:
    """Yield the orders that are tried for K terms. few: those of one chain or fused steps, for the less usual accumulators."""
    sizes = [size for size in SIZES if size < k]
    every: list[tuple[Inner, int, Join]] = [("chain", 1, "ascending"), *(("fused", size, "ascending") for size in (*sizes, ALL))]
    if not few:
        every += [("stepped", size, "ascending") for size in sizes] + [("chunks", size, "ascending") for size in sizes]
        every += [("pairs", 1, "ascending"), ("halves", 1, "ascending")]
        every += [("lanes", size, join) for size in sizes for join in _JOINS if size > 2 or join == "ascending"]  # type: ignore[misc]
    for inner, size, join in every:
        for descending in (False, True) if inner not in ("pairs", "halves") else (False,):
            yield SumOrder(inner, size, descending=descending, joined=join)
    for split in (2, 4) if few else SPLITS:
        for inner, size, _ in every if not few else every[:1]:
            if split * min(size, 2) > k or (size < ALL and split * size > k) or inner not in ("chain", "fused", "stepped"):
                continue
            for interleaved in (False, True):
                for descending in (False, True):
                    for join in ("ascending", "pairs") if split > 2 else ("ascending",):
                        yield SumOrder(inner, size, split, interleaved, descending, join)


def round_whole(value: int, bits: int, cut: bool) -> int:
    """Return an integer rounded to some significand bits, its low bits zero."""
    size = abs(value)
    drop = size.bit_length() - bits
    if drop <= 0:
        return value
    kept = size >> drop
    rest, half = size - (kept << drop), 1 << drop - 1
    if not cut and (rest > half or (rest == half and kept & 1)):
        kept += 1
    return (kept << drop) * (1 if value > 0 else -1)


class Terms:
    """The terms of some outputs. values: [R, K] binary64, exact.   start: [R] what C adds at the start, or None."""

    def __init__(self, values: Any, start: Any = None) -> None:
        self.values = np.asarray(values, np.float64)
        self.start = None if start is None else np.asarray(start, np.float64)
        every = self.values if self.start is None else np.concatenate([self.values, self.start[:, None]], axis=1)
        self.single = bool((every == every.astype(np.float32)).all())
        fraction, exponent = np.frexp(every[every != 0])
        n = np.ldexp(fraction, DOUBLE).astype(np.int64)
        low = np.frexp((n & -n).astype(np.float64))[1] - 1
        self.unit = int((exponent - DOUBLE + low).min()) if n.size else 0
        self._whole: Any = None

    @property
    def whole(self) -> Any:
        """Terms as integers of the unit, Python's own."""
        if self._whole is None:
            self._whole = self._integers(self.values)
        return self._whole

    def _integers(self, values: Any) -> Any:
        found = np.ldexp(values, -self.unit)
        return np.array([int(value) for value in found.reshape(-1)], object).reshape(found.shape)

    def sum(self, order: SumOrder, register: Accumulator) -> Any:
        """Return the sums [R] in binary64, as the register gives them."""
        add: Callable[[Any, Any], Any]
        exact = order.inner in ("fused", "stepped")
        if not register.cut and not exact and (register.bits == DOUBLE or (register.bits == 24 and self.single)):
            kind = np.float64 if register.bits == DOUBLE else np.float32
            table, start, plain = self.values.astype(kind), None if self.start is None else self.start.astype(kind), True
            add = lambda x, y: x + y  # noqa: E731
            narrow: Any = None
        else:
            narrow = np.frompyfunc(lambda value: round_whole(value, register.bits, register.cut), 1, 1)
            table, start, plain = self.whole, None if self.start is None else self._integers(self.start), False
            add = lambda x, y: narrow(x + y)  # noqa: E731
        found = _parts(table, order, start, add, narrow)
        return found.astype(np.float64) if plain else np.ldexp(found.astype(np.float64), self.unit)

    def exact(self) -> Any:
        """Return the exact sums, rounded once to binary32."""
        total = np.add.reduce(self.whole, axis=1)
        total = total if self.start is None else total + self._integers(self.start)
        return np.ldexp(np.array([float(round_whole(value, 24, False)) for value in total]), self.unit)


def _parts(table: Any, order: SumOrder, start: Any, add: Callable[[Any, Any], Any], narrow: Any) -> Any:
    k, split = table.shape[1], order.split
    places = [
        np.arange(k)[part::split] if order.interleaved else np.arange(part * k // split, (part + 1) * k // split) for part in range(split)
    ]
    longest = max(len(part) for part in places)
    stack = np.zeros((len(table), split, longest), table.dtype)
    for number, part in enumerate(places):
        stack[:, number, : len(part)] = table[:, part[::-1] if order.descending else part]
    register = np.zeros((len(table), split), table.dtype)
    if start is not None:
        register[:, 0] = start
    return _joined(_inner(stack, order, register, start is not None, add, narrow), order.joined if split > 1 else "ascending", add)


def _inner(stack: Any, order: SumOrder, register: Any, started: bool, add: Callable[[Any, Any], Any], narrow: Any) -> Any:
    size = min(order.size, stack.shape[2])
    if order.inner in ("pairs", "halves"):
        found = _joined(stack, order.inner, add)
        return add(register, found) if started else found
    if order.inner == "lanes":
        found = _joined(_chain(_cut(stack, size).swapaxes(2, 3), None, add), order.joined, add)
        return add(register, found) if started else found
    if order.inner in ("fused", "stepped"):
        stack = np.add.reduce(_cut(stack, size), axis=3)
        stack = narrow(stack) if order.inner == "stepped" else stack
    elif order.inner == "chunks":
        stack = _chain(_cut(stack, size), None, add)
    return _chain(stack, register, add)


def _cut(stack: Any, size: int) -> Any:
    """Return [..., steps, size], the last step filled with zeros."""
    rest = -stack.shape[2] % size
    padded = np.concatenate([stack, np.zeros((*stack.shape[:2], rest), stack.dtype)], axis=2) if rest else stack
    return padded.reshape(*stack.shape[:2], -1, size)


def _chain(stack: Any, register: Any, add: Callable[[Any, Any], Any]) -> Any:
    found = np.zeros(stack.shape[:-1], stack.dtype) if register is None else register
    for at in range(stack.shape[-1]):
        found = add(found, stack[..., at])
    return found


def _joined(stack: Any, how: Join, add: Callable[[Any, Any], Any]) -> Any:
    """Return the sum along the last axis."""
    if how == "ascending":
        found = stack[..., 0]
        for at in range(1, stack.shape[-1]):
            found = add(found, stack[..., at])
        return found
    while stack.shape[-1] > 1:
        whole = stack.shape[-1] // 2 * 2
        rest = stack[..., whole:]
        left, right = (
            (stack[..., 0:whole:2], stack[..., 1:whole:2]) if how == "pairs" else (stack[..., : whole // 2], stack[..., whole // 2 : whole])
        )
        stack = np.concatenate([add(left, right), rest], axis=-1)
    return stack[..., 0]
