"""One question of a product: the operands of a call, what must come out, and what it could see. Not here: which are asked (run.py)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from emu.check.matmul.ends import LISTED, legal_scales
from emu.check.matmul.epilogue import to_result
from emu.check.matmul.groups import SPREAD, Groups, column, spread
from emu.check.matmul.numbers import Bits, Draws, bit_length, exact_of, trailing_zeros
from emu.check.matmul.pair import Pair, Side
from emu.check.matmul.sets import Limits, Operands
from emu.engines.exact.decode import decode_code
from emu.engines.exact.value import power_of_two
from emu.spec import derive
from emu.spec.ieee import is_binary32
from emu.spec.models import Format
from emu.spec.models.format import FloatFacts

ONE: Final = int(np.float32(1).view(np.uint32))


class Question:
    """One call: operands for the target, and what must come out."""

    def __init__(self, pair: Pair, asked: Operands, wants: tuple[str, ...], powers: dict[str, int], draws: Draws | None) -> None:
        self.pair, self.asked = pair, asked
        self.powers: dict[str, Any] = {name: powers[name] for name in taken(pair, wants)}
        own = spread(asked.groups) if draws is not None else {}
        self.powers |= {name: self.powers[name] + own[name] for name in own if name in self.powers}
        self.c: Any = None
        shift = sum(power for name, power in self.powers.items() if name != "beta")
        values = np.ldexp(asked.sums.astype(np.float64), (asked.unit + shift).astype(np.int32))
        if "c" in wants:
            self.c = self._addend(draws, asked.unit + shift)
            values = values + np.ldexp(self.c, self.powers.get("beta", 0))
        self.values = values
        out = np.zeros(values.shape, np.float32) if self.c is None else self.c.astype(np.float32)
        of_experts = {name: powers[name] + np.array(SPREAD)[np.arange(len(asked.groups.sizes)) % len(SPREAD)]
                      for name in own if name in self.powers and asked.groups is not None}  # fmt: skip
        self.operands = raw(pair, asked, self.powers | of_experts, to_result(out, pair.out), wants)
        with np.errstate(over="ignore"):
            self.want = to_result(values.astype(np.float32), pair.out)
        self.known = comparable(values, pair.out)
        if asked.groups is not None:
            self.known &= asked.groups.live[:, None]

    def _addend(self, draws: Draws | None, unit: Any) -> Any:
        """Return C as integers of few bits in the unit of the sum, where it has room and the format of the result holds it."""
        whole = (draws.below(127, *unit.shape) - 63) if draws is not None else np.zeros(unit.shape, np.int64)
        whole = np.clip(whole, -np.minimum(self.asked.room, 63), np.minimum(self.asked.room, 63))
        found = np.ldexp(whole.astype(np.float64), (unit - self.powers.get("beta", 0)).astype(np.int32))
        return np.where(comparable(found, self.pair.out), found, 0.0)

    def encode(self, sums: Any) -> Bits:
        """Return sums before the scales as codes of the result."""
        shift = sum(power for name, power in self.powers.items() if name != "beta")
        found = np.ldexp(sums, shift)
        with np.errstate(over="ignore"):
            addend = 0 if self.c is None else np.ldexp(self.c, self.powers.get("beta", 0))
            return to_result((found + addend).astype(np.float32), self.pair.out)


def taken(pair: Pair, wants: tuple[str, ...]) -> list[str]:
    """Return which scalars a kernel is given: ta, tb where it takes the operand or its tensor scale, alpha, beta."""
    sides = [f"t{name}" for name, side in (("a", pair.a), ("b", pair.b)) if side.tensor and {name, f"{name}_tensor"} & set(wants)]
    return [*sides, *(name for name in ("alpha", "beta") if name in wants)]


def raw(pair: Pair, asked: Operands, powers: dict[str, Any], c: Bits, wants: tuple[str, ...]) -> dict[str, Bits]:
    """Return the operands of a call as arrays of bits, scalars powers of two; b_tensor and alpha of experts [E]."""
    out: dict[str, Bits] = {"a_codes": asked.a, "b_codes": asked.b}
    groups = asked.groups
    experts = () if groups is None or groups.stacked else groups.sizes.shape
    for name, side, scales in (("a", pair.a, asked.sa), ("b", pair.b, asked.sb)):
        if scales is not None:
            out[f"{name}_scales"] = scales
        power = np.broadcast_to(powers.get(f"t{name}", 0), experts if name == "b" else ())
        codes = [side.tensor_code(2.0 ** int(one)) if side.tensor else ONE for one in np.ravel(power)]
        out[f"{name}_level"] = np.array(codes, np.uint32).reshape(power.shape)
        out[f"{name}_tensor"] = np.asarray(np.exp2(power).astype(np.float32)).view(np.uint32)
    for name in ("alpha", "beta"):
        power = np.broadcast_to(powers.get(name, 0), experts if name == "alpha" else ())
        out[name] = np.asarray(np.exp2(power).astype(np.float32)).view(np.uint32)
    out |= {"c": c} if "c" in wants else {}
    return out if groups is None else _of_matrices(out, groups)


def _of_matrices(operands: dict[str, Bits], groups: Groups) -> dict[str, Bits]:
    """Return operands with an axis for the matrices of b, and of a batch; of groups also where they begin and how many rows they have."""
    count = len(groups.sizes)
    apart = ["b_codes", "b_scales", *(("a_codes", "a_scales", "c") if groups.stacked else ())]
    out = {name: array.reshape(count, -1, array.shape[-1]) if name in apart else array for name, array in operands.items()}
    return out if groups.stacked else out | {"offsets": groups.offsets(), "sizes": groups.sizes.astype(np.int32)}


def comparable(values: Any, out: Format) -> Bits:
    """Return where values are zero, or normal numbers of the result and not beyond its largest."""
    facts = out.facts
    assert isinstance(facts, FloatFacts)
    size = np.abs(values)
    top = float(decode_code(derive.codes(out).max_code, out).signed)
    return np.asarray((size == 0) | ((size >= 2.0 ** (1 - facts.bias)) & (size <= top)))


class Needs:
    """What sums needed that came out right or wrong: what it says of an accumulator's width.

    sums: of each shape how many outputs were right, and wrong, by the significant bits of their sum; right ones of binary32 alone.
    right, wrong: of outputs of one product each, where no order, window or addition has a part: the most bits of a right one,
    (bits, exponent of the lowest) of the others.
    """

    def __init__(self) -> None:
        self.sums: dict[tuple[int, ...], NDArray[np.int64]] = {}
        self.right = 0
        self.wrong: set[tuple[int, int]] = set()

    def add(self, question: Question, wrong: Bits) -> None:
        """Add the outputs of a question."""
        asked, pair = question.asked, question.pair
        size = np.abs(asked.sums)
        shift = trailing_zeros(size)
        bits, least = bit_length(size) - shift, np.broadcast_to(asked.unit, size.shape) + shift
        plain = question.known if question.c is None else question.known & (question.c == 0)
        right, other = plain & ~wrong & is_binary32(pair.out), plain & wrong
        sums = self.sums.setdefault(asked.shape, np.zeros((2, 64), np.int64))
        for at, where in enumerate((right, other)):
            sums[at] += np.bincount(bits[where], minlength=64)
        if any(((codes != side.zero).sum(axis=1) <= 1).all() for codes, side in ((asked.a, pair.a), (asked.b, pair.b))):
            self.right = max(self.right, int(bits[right].max(initial=0)))
            self.wrong |= set(zip(bits[other].tolist(), least[other].tolist(), strict=True))

    def fits(self, bits: int, limits: Limits) -> bool:
        """Tell whether an accumulator of some bits can have given what came out. Sums that need more may be right where parts are summed
        elsewhere, but not most of those of the shapes that have a wrong one.
        """
        right, wrong = sum((sums[:, bits + 1 :].sum(axis=1) for sums in self.sums.values() if sums[1].any()), np.zeros(2, np.int64))
        held = any(need <= bits and least >= limits.least and least + need <= limits.most for need, least in self.wrong)
        return self.right <= bits and not held and bool(right <= wrong)


class Seen:
    """What the questions of a stage could see."""

    def __init__(self, pair: Pair) -> None:
        self.pair = pair
        self.codes: dict[str, set[int]] = {"a": set(), "b": set()}
        self.scales: dict[str, set[int]] = {"a": set(), "b": set()}
        self.full, self.most, self.places, self.positions = 0, 0, 0, 0
        self.wide: list[str] = []
        self.met: Bits = np.zeros(0, bool)

    def add(self, question: Question) -> None:
        """Count what one question has beside a live element of the other operand."""
        asked, pair = question.asked, self.pair
        given = (("a", pair.a, asked.a, asked.sa), ("b", pair.b, asked.b, asked.sb))
        whole = {name: ~exact_zero(codes, side) for name, side, codes, _ in given}
        live = {name: whole[name] if scales is None else whole[name] & ~exact_zero(_wide(scales, side, codes), side.scale)
                for name, side, codes, scales in given}  # fmt: skip
        both = np.asarray(live["a"].any(axis=0) & live["b"].any(axis=0))
        for name, side, codes, scales in given:
            self.codes[name] |= _codes_of(codes[(live[name] | ~whole[name]) & both])
            if scales is not None:
                self.scales[name] |= _codes_of(_wide(scales, side, codes)[whole[name] & both])
        self.full += asked.full
        self.most = max(self.most, int(np.abs(asked.sums).max()).bit_length())
        self.met = both
        self.places, self.positions = self.places + int(both.sum()), self.positions + len(both)
        self.wide = list(dict.fromkeys([*self.wide, asked.wide]))

    def words(self) -> dict[str, str]:
        """Return lines for the report."""
        out = {"sums": f"of up to {self.most} bits" + (f", {self.full} need all of them" if self.full else "")}
        out["positions along K"] = f"{self.places} of {self.positions} meet a live element of the other operand"
        for name, side in (("a", self.pair.a), ("b", self.pair.b)):
            every = 1 << derive.codes(side.element).bits
            text = f"{len(self.codes[name])} of {every} element codes"
            if side.scale is not None:
                of = f" of {len(legal_scales(side.scale))}" if derive.codes(side.scale).bits <= LISTED else ""
                text += f", {len(self.scales[name])}{of} scale codes"
            out[name] = text
        return out | {"made of": "; ".join(self.wide[:4]) + (" ..." if len(self.wide) > 4 else "")}


def exact_zero(codes: Bits, side: Any) -> Bits:
    """Return where codes of a side, or of a format, are zero: they are seen where a kernel reads them as something else."""
    fmt = side.element if isinstance(side, Side) else side
    bits = derive.codes(fmt).bits
    if bits > LISTED:
        return np.asarray(exact_of(codes, fmt).n == 0)
    return np.asarray((exact_of(np.arange(1 << bits), fmt).n == 0)[codes])


def _wide(scales: Bits, side: Side, codes: Bits) -> Bits:
    """Return the scale of each element."""
    return np.repeat(scales, side.size, axis=1)[:, : codes.shape[1]]


def _codes_of(codes: Bits) -> set[int]:
    return set(np.flatnonzero(np.bincount(codes)).tolist() if codes.dtype.itemsize == 1 else np.unique(codes).tolist())


def sample(pair: Pair, asked: Operands) -> None:
    """Add one output again with the exact engine's decoding, in fractions. Raises: AssertionError (the integers were wrong)."""
    i, j = len(asked.a) // 2, asked.sums.shape[1] // 3
    sides = [(pair.a, asked.a, asked.sa, i), (pair.b, asked.b, asked.sb, column(asked, i, j))]
    live = np.flatnonzero(np.all([~exact_zero(codes[row], side) for side, codes, _, row in sides], axis=0))
    rows = [_decoded(side, codes[row], None if scales is None else scales[row], live) for side, codes, scales, row in sides]
    total = sum((x * y for x, y in zip(*rows, strict=True)), Fraction(0))
    assert total == int(asked.sums[i, j]) * power_of_two(int(asked.unit[i, j])), "a sum of the set is not what the exact engine says"


def _decoded(side: Side, codes: Bits, scales: Bits | None, live: Bits) -> list[Fraction]:
    """Return the values of a row where it is live, by the exact engine."""
    elements = _table(codes[live], side.element)
    if scales is None or side.scale is None:
        return [elements[code] for code in codes[live].tolist()]
    mine = scales[live // side.size]
    factors = _table(mine, side.scale)
    return [elements[code] * factors[scale] for code, scale in zip(codes[live].tolist(), mine.tolist(), strict=True)]


def _table(codes: Bits, fmt: Format) -> dict[int, Fraction]:
    """Return the value of each code that occurs."""
    values = {code: decode_code(code, fmt) for code in set(codes.tolist())}
    return {code: Fraction(0) if value.is_zero else Fraction(value.signed) for code, value in values.items()}
