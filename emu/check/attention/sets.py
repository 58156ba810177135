"""Operands of attention whose result is the same in every order, tile and split; random ones for the bound.

A query scores exactly 0 with 1, 2, 4 or 8 of the keys that it sees, and at most -GAP (after the scale) with all others. Its P is 1
for the former and exp of at most -GAP for the latter: 0 in binary32, and lost beside any sum here in binary64. The sum is a mean of
a power of two of rows of V, exact in every order; a running maximum rescales by 1, or by a factor that is lost. prove holds each question
to this, in integers. In half of the rows every product of a score of 0 is 0: such a score stays 0 wherever the scale, or the change of
base, is multiplied in. In the others two products cancel, which shows a wrong scale of a block; a scale that was multiplied into Q or K
before leaves the rounding of one product in a fused multiply and add, so those rows are held to a bound (bound.py).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import numpy as np

from emu.base.errors import OperandError
from emu.base.philox import words
from emu.check.attention.contract import Attention
from emu.check.matmul.numbers import Bits, Draws, Ints, bit_length, exact_of, in_units, product
from emu.check.matmul.pair import Side
from emu.check.matmul.sets import Limits, palette
from emu.contracts.form import integer_dtype
from emu.ops.quantized import Quantized

GAP: Final = 128  # exp(-128) < 2^-184: no binary32 number, and below half an ulp in binary64 of every sum here
SIZES: Final = (1, 2, 1, 4, 1, 8, 2)  # of the groups of keys with one zero pattern
SPAN: Final = 5  # powers of two of the scales of V in one question
ROOM: Final = 24  # bits of a sum
LIMITS: Final = Limits()


class Shape(NamedTuple):
    """batch, query heads, heads of keys, queries, keys, dimension of a head."""

    batch: int
    heads: int
    kv_heads: int
    queries: int
    keys: int
    dim: int


@dataclass(eq=False)
class Question:
    """Operands of one call: codes and scales [batch, heads, rows, length along the blocks], powers of two as tensor scales.

    wide: is P of a repeated mistake held in binary64.
    """

    contract: Attention
    shape: Shape
    scale: float
    codes: dict[str, Bits] = field(default_factory=dict)
    scales: dict[str, Bits | None] = field(default_factory=dict)
    powers: dict[str, int] = field(default_factory=dict)
    wide: bool = False

    def side(self, name: str) -> Side:
        """Return what an operand is."""
        found: Side = getattr(self.contract, name)
        return found

    def exact(self, name: str) -> tuple[Bits, Bits]:
        """Return n and e of values n x 2^e, shape of the codes, tensor scale included."""
        side, codes, scales = self.side(name), self.codes[name], self.scales[name]
        flat = side.values(codes.reshape(-1, codes.shape[-1]), None if scales is None else scales.reshape(-1, scales.shape[-1]))
        e = np.where(flat.n == 0, 0, flat.e + self.powers[name])
        return flat.n.reshape(codes.shape), e.reshape(codes.shape)

    def values(self, name: str) -> Any:
        """Return values as binary64, exact; v as [batch, heads, keys, dim]."""
        n, e = self.exact(name)
        found = np.ldexp(n.astype(np.float64), e.astype(np.int32))
        return found.swapaxes(-1, -2) if name == "v" and self.contract.v_axis == "keys" else found

    def operands(self) -> dict[str, Quantized]:
        """Return the operands as emu.quantize makes them."""
        return {name: self.contract.tensor(name, self.codes[name], self.scales[name], self.level(name)) for name in "qkv"}

    def level(self, name: str) -> int:
        """Return the code of the tensor level, 0 without one."""
        side = self.side(name)
        return side.tensor_code(2.0 ** self.powers[name]) if side.tensor else 0

    def multipliers(self) -> dict[str, int]:
        """Return the binary32 codes of the tensor scales."""
        return {name: int(np.float32(2.0 ** self.powers[name]).view(np.uint32)) for name in "qkv"}


class Buffered(Draws):
    """The same numbers, drawn many at a time."""

    def __init__(self, key: int, name: str) -> None:
        super().__init__(key, name)
        self.first, self.held = 0, words(key, 0, 0, self.stream)

    def below(self, limit: int, *shape: int) -> Ints:
        """Return integers from 0 to limit - 1, limit at most 2^31."""
        count = math.prod(shape)
        if self.at + count > self.first + len(self.held):
            self.first, self.held = self.at, words(self.key, max(count, 1 << 16), self.at, self.stream)
        drawn = self.held[self.at - self.first :][:count]
        self.at += count
        return (drawn.astype(np.uint64) * np.uint64(limit) >> np.uint64(32)).astype(np.int64).reshape(shape)


class Shorts(NamedTuple):
    """Codes whose values can be added, those values, and of them the positive and the negative."""

    codes: Bits
    values: Any
    up: Bits
    down: Bits


def shorts_of(side: Side) -> Shorts:
    """Return the codes of an operand from which questions are made. Raises: OperandError (one sign alone)."""
    codes = palette(side, LIMITS).short
    n, e, _ = exact_of(codes, side.element)
    if not (n > 0).any() or not (n < 0).any():
        raise OperandError(f"format {side.element.id}: it has no codes of both signs")
    return Shorts(codes, np.ldexp(n.astype(np.float64), e.astype(np.int32)), codes[n > 0], codes[n < 0])


def head_of(shape: Shape, head: int) -> int:
    """Return the head of keys of a query head: neighbours share one."""
    return head * shape.kv_heads // shape.heads


def near(side: Side, low: int, span: int) -> Bits:
    """Return the scale codes of numbers in [2^low, 2^(low + span)). Raises: OperandError (none)."""
    colours = palette(side, LIMITS)
    found = colours.scales[(colours.top >= low) & (colours.top < low + span)]
    if not len(found):
        raise OperandError(f"{side.known.id}: no scale lies between 2^{low} and 2^{low + span}")
    return np.asarray(found)


def _blank(question: Question, name: str, rows: int, length: int, heads: int) -> None:
    side = question.side(name)
    shape = (question.shape.batch, heads, rows)
    question.codes[name] = np.full((*shape, length), side.zero, np.uint8)
    question.scales[name] = np.zeros((*shape, length // side.size), integer_dtype(side.scale)) if side.scale is not None else None


def _start(contract: Attention, shape: Shape, scale: float, powers: dict[str, int]) -> Question:
    question = Question(contract, shape, scale)
    question.powers = {name: powers[name] if question.side(name).tensor else 0 for name in "qkv"}
    _blank(question, "q", shape.queries, shape.dim, shape.heads)
    _blank(question, "k", shape.keys, shape.dim, shape.kv_heads)
    by_keys = contract.v_axis == "keys"
    _blank(question, "v", shape.dim if by_keys else shape.keys, shape.keys if by_keys else shape.dim, shape.kv_heads)
    return question


def random_question(contract: Attention, shape: Shape, scale: float, draws: Draws) -> Question:
    """Return operands whose scores are a few units apart."""
    question = _start(contract, shape, scale, dict.fromkeys("qkv", 0))
    for name in "qkv":
        side = question.side(name)
        colours = palette(side, LIMITS)
        question.codes[name] = draws.chosen(colours.every, *question.codes[name].shape).astype(np.uint8)
        scales = question.scales[name]
        if scales is not None:
            wide = exact_of(colours.every, side.element)
            low = -2 - int((bit_length(wide.n) - 1 + wide.e).max()) if name != "v" else 0
            question.scales[name] = draws.chosen(near(side, low, 2), *scales.shape).astype(scales.dtype)
    return question


def strict_question(contract: Attention, shape: Shape, scale: float, draws: Draws, powers: dict[str, int]) -> Question:
    """Return operands whose result is exact in every order, proven. Raises: OperandError (none were found; why)."""
    reason = "nothing was tried"
    for level in (2, 3, 4, 5, 6, 8, 1):
        try:
            question = _start(contract, shape, scale, powers)
            _fill(question, draws, level)
            prove(question)
            return question
        except OperandError as error:
            reason = str(error)
    raise OperandError(f"attention of shape {tuple(shape)}: no exact operands: {reason}")


def _fill(question: Question, draws: Draws, level: int) -> None:
    contract, shape = question.contract, question.shape
    key_signs = np.where(draws.below(2, shape.dim) > 0, 1, -1)
    sees = contract.visible(shape.queries, shape.keys)
    for name in "qk":
        scales = question.scales[name]
        if scales is not None:
            question.scales[name] = draws.chosen(near(question.side(name), level, 3), *scales.shape).astype(scales.dtype)
    side = contract.v
    question.codes["v"] = draws.chosen(palette(side, LIMITS).short, *question.codes["v"].shape).astype(np.uint8)
    if question.scales["v"] is not None:
        found = question.scales["v"]
        question.scales["v"] = draws.chosen(near(side, -2, SPAN), *found.shape).astype(found.dtype)
    pair = (0, contract.k.size if 0 < contract.k.size < shape.dim else shape.dim - 1)
    short = shorts_of(contract.q)
    for batch in range(shape.batch):
        groups = [_keys(question, draws, batch, head, key_signs, pair) for head in range(shape.kv_heads)]
        for head in range(shape.heads):
            kv = head_of(shape, head)
            for row in range(shape.queries):
                _query(question, draws, (batch, head, row), groups[kv], sees[row], key_signs, pair, short)


def _signed(short: Shorts, draws: Draws, signs: Any) -> Bits:
    """Return random codes that are not zero, of given signs."""
    return np.asarray(np.where(signs > 0, draws.chosen(short.up, len(signs)), draws.chosen(short.down, len(signs))))


def _keys(question: Question, draws: Draws, batch: int, head: int, signs: Any, pair: tuple[int, int]) -> tuple[Any, Any]:
    """Fill the keys of one head; return the group of each key and the zero pattern of each group."""
    shape, side = question.shape, question.contract.k
    short = shorts_of(side)
    order = np.argsort(draws.below(1 << 30, shape.keys), kind="stable")
    group = np.empty(shape.keys, np.int64)
    at = count = 0
    while at < shape.keys:
        size = SIZES[count % len(SIZES)]
        group[order[at : at + size]] = count
        at, count = at + size, count + 1
    free = np.setdiff1d(np.arange(shape.dim), pair)
    width = max(3, shape.dim // 6)
    patterns = np.zeros((count, shape.dim), bool)
    for number in range(count):
        for _ in range(200):
            chosen = free[np.argsort(draws.below(1 << 30, len(free)), kind="stable")[:width]]
            overlap = patterns[:number, chosen].sum(axis=1).max(initial=0)
            if overlap <= width - 2:
                break
        else:
            raise OperandError(f"heads of {shape.dim} elements have too few patterns for {shape.keys} keys")
        patterns[number, chosen] = True
    for key in range(shape.keys):
        codes = _signed(short, draws, signs)
        codes[patterns[group[key]]] = side.zero
        question.codes["k"][batch, head, key] = codes
        _balance(question, "k", (batch, head, key), pair, draws, 1, short)
    return group, patterns


def _balance(
    question: Question, name: str, at: tuple[int, int, int], pair: tuple[int, int], draws: Draws, sign: int, short: Shorts
) -> None:
    """Give the elements of a pair one magnitude, by codes and scales of different blocks; they stay zero where no codes do."""
    side, scales = question.side(name), question.scales[name]
    codes = question.codes[name][at]
    codes[list(pair)] = side.zero
    first = second = 1.0
    if scales is not None and side.scale is not None:
        both = exact_of(scales[at][[pair[0] // side.size, pair[1] // side.size]], side.scale)
        first, second = np.ldexp(both.n.astype(np.float64), both.e.astype(np.int32))
    value = short.values
    fits = np.argwhere((value[:, None] * first == sign * value[None, :] * second) & (value[:, None] != 0))
    if len(fits):
        one, other = fits[int(draws.below(len(fits)))]
        codes[list(pair)] = short.codes[one], short.codes[other]


def _query(
    question: Question, draws: Draws, at: tuple[int, int, int], keys: tuple[Any, Any], sees: Bits, signs: Any, pair: tuple[int, int],
    short: Shorts,
) -> None:  # fmt: skip
    """Fill a query that has score 0 with one group of keys and is negative on all others."""
    (group, patterns), side, row = keys, question.contract.q, at[2]
    seen = np.bincount(group[sees], minlength=len(patterns))
    fits = (seen > 0) & (seen & (seen - 1) == 0)
    last = int(np.flatnonzero(sees)[-1])
    wanted = [last, min(last + 1, len(group) - 1), int(draws.below(last + 1)), (row * 7 + at[1]) % (last + 1)]
    wanted = wanted[row % 4 :] + wanted[: row % 4] + list(range(last, -1, -1))
    target = next((int(group[key]) for key in wanted if fits[group[key]]), None)
    if target is None:
        raise OperandError("no group of the keys that a query sees has a power of two of members")
    codes = np.where(patterns[target], _signed(short, draws, -signs), side.zero)
    question.codes["q"][at] = codes
    if sum(at) % 2 == 0:
        question.codes["q"][at][list(pair)] = side.zero
    else:
        _balance(question, "q", at, pair, draws, -1, short)


def weights(question: Question, batch: int, head: int) -> Bits:
    """Return which keys have weight 1 for each query, bool [queries, keys], proven. Raises: OperandError (a sum, a gap, a count)."""
    shape, kv = question.shape, head_of(question.shape, head)
    exact = []
    for name, which in (("q", head), ("k", kv)):
        n, e = (part[batch, which] for part in question.exact(name))
        exact.append(in_units(_Pair(n, e)))  # type: ignore[arg-type]
    (x, unit_x), (y, unit_y) = exact
    if int(product(np.abs(x), np.abs(y)).max(initial=0)) >> ROOM:
        raise OperandError("scores have too many bits")
    scores, unit = product(x, y), unit_x[:, None] + unit_y[None, :]
    sees = question.contract.visible(shape.queries, shape.keys)
    live = sees & (scores == 0)
    scaled = np.ldexp(scores.astype(np.float64), unit.astype(np.int32)) * question.scale
    if bool((sees & ~live & (scaled > -GAP)).any()):
        raise OperandError("scores lie too close to the largest")
    count = live.sum(axis=1)
    if bool(((count == 0) | (count & (count - 1) != 0)).any()):
        raise OperandError("a count of equal keys is no power of two")
    return np.asarray(live)


class _Pair(NamedTuple):
    n: Bits
    e: Bits


def prove(question: Question) -> None:
    """Hold a question to what the module says. Raises: OperandError that says what fails."""
    shape, contract = question.shape, question.contract
    n, e = question.exact("v")
    if contract.v_axis == "keys":
        n, e = n.swapaxes(-1, -2), e.swapaxes(-1, -2)
    taken = 0 if contract.p is None else 8  # bits of a value of P: a code times a scale
    for batch in range(shape.batch):
        for head in range(shape.heads):
            kv = head_of(shape, head)
            for row in weights(question, batch, head):
                whole, exponent = n[batch, kv][row], e[batch, kv][row]
                unit = np.where(whole == 0, 1 << 20, exponent).min(axis=0)
                shift = np.where(whole == 0, 0, exponent - unit)
                if int((bit_length(whole) + shift).max(initial=0)) > ROOM:
                    raise OperandError("rows of V span too many powers of two")
                if int((np.abs(whole) << shift).sum(axis=0).max(initial=0)) >> ROOM - taken:
                    raise OperandError("sums of V have too many bits")


def default_shapes(contract: Attention) -> list[Shape]:
    """Return the shapes that are asked without others: several batches, heads that share keys, keys off and on tiles of 16 to 128, and more
    than 1,024 of them."""
    dim = max(64, contract.q.size or 1, contract.k.size or 1)
    block = contract.v.size if contract.v_axis == "keys" else 1
    if contract.p is not None:
        block = int(np.lcm(block, contract.p.size))
    keys = [-(-length // block) * block for length in (37, 64, 130, 160, 1030)]
    return [
        Shape(2, 2, 2, 9, keys[0], dim), Shape(1, 4, 2, 16, keys[1], 2 * dim), Shape(2, 4, 1, 5, keys[2], dim),
        Shape(2, 2, 2, 1, keys[3], dim), Shape(1, 2, 1, keys[0], keys[0], dim),
        Shape(1, 1, 1, 2, keys[4], dim),
    ]  # fmt: skip


def checked_shape(shape: Any, contract: Attention) -> Shape:
    """Return a shape that was given. Raises: OperandError (no such attention)."""
    found = Shape(*(int(length) for length in shape)) if len(tuple(shape)) == 6 else None
    if found is None or min(found) < 1 or found.heads % found.kv_heads:
        raise OperandError(
            f"shape {tuple(shape)}: write batch, heads, heads of keys, queries, keys, dim; heads a multiple of the heads of keys"
        )
    if contract.mask == "bottom-right" and found.queries > found.keys:
        raise OperandError(f"shape {tuple(found)}: with a causal mask the first queries would see no key: take no more queries than keys")
    steps = {"dim": (found.dim, max(contract.q.size, contract.k.size, 1)), "keys": (found.keys, 1)}
    if contract.v_axis == "keys":
        steps["keys"] = (found.keys, contract.v.size or 1)
    else:
        steps["dim"] = (found.dim, int(np.lcm(steps["dim"][1], contract.v.size or 1)))
    if contract.p is not None:
        steps["keys"] = (found.keys, int(np.lcm(steps["keys"][1], contract.p.size)))
    for name, (length, step) in steps.items():
        if length % step:
            raise OperandError(f"shape {tuple(found)}: {name} {length} is no multiple of {step}")
    return found
