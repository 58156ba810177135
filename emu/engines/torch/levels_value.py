"""Values of a datapath of levels as tensors: read from codes, multiplied, added exactly or under one exponent. Nothing is held here."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch

from emu.engines.torch.arithmetic import add as add_two
from emu.engines.torch.datapath_terms import NOTHING, triple
from emu.engines.torch.numbers import MOST_BITS, Number
from emu.engines.torch.wide import Wide, beyond, cut, left, product, resized, total, wrapped
from emu.spec.levels import AlignPlan
from emu.spec.models import Format, Rounding
from emu.spec.models.format import FloatFacts
from emu.spec.models.levels import LevelAlign
from emu.spec.reach import frac_bits_of, reach
from emu.spec.registry import get

_SHORT = 53  # bits of numbers whose sum two at a time is made of 62 bits, the last one sticky


class Bounds(NamedTuple):
    """What facts alone say of numbers. Units lie between 2^low and 2^high, named exponents between least and most.

    lead: a magnitude is below 2^(exponent that it names + lead).
    """

    low: int
    high: int
    least: int
    most: int
    lead: int

    def or_those_of(self, other: Bounds) -> Bounds:
        """Bounds of numbers of either kind."""
        low, least = min(self.low, other.low), min(self.least, other.least)
        return Bounds(low, max(self.high, other.high), least, max(self.most, other.most), max(self.lead, other.lead))


class Value(NamedTuple):
    """(-1)^negative * size * 2^lsb where neither nan nor inf, whose size is 0. All tensors have one shape.

    exp: the exponent that it names.   live: does it raise E.   fault: 0, or why the row has no result: levels_hold says the kinds.
    flags: bool [flags, ...], those raised on the way; None where none is reported.
    """

    size: Wide
    lsb: torch.Tensor
    exp: torch.Tensor
    live: torch.Tensor
    negative: torch.Tensor
    nan: torch.Tensor
    inf: torch.Tensor
    fault: torch.Tensor
    bounds: Bounds
    flags: torch.Tensor | None = None

    @property
    def zero(self) -> torch.Tensor:
        """Where it is a number, and 0."""
        return self.size.zero & ~self.nan & ~self.inf

    def mapped(self, change: Callable[[torch.Tensor], torch.Tensor]) -> Value:
        """Every tensor changed alike, on axes at the end."""
        size = Wide(change(self.size.limbs), self.size.bits)
        lsb, exp, live, negative, nan, inf, fault = (change(tensor) for tensor in self[1:8])
        flags = None if self.flags is None else change(self.flags)
        return Value(size, lsb, exp, live, negative, nan, inf, fault, self.bounds, flags)

    def raising(self, flag: int | None, where: torch.Tensor | None) -> Value:
        """The same with a flag raised. flag: its number, None: not reported of this level.   where: None is nowhere."""
        if flag is None or where is None or self.flags is None:
            return self
        flags = self.flags.clone()
        flags[flag] |= where
        return self._replace(flags=flags)

    def with_special(self, nan: torch.Tensor, inf: torch.Tensor, negative: torch.Tensor) -> Value:
        """NaN and infinities of a sign put in; other places stay."""
        special = nan | inf
        return self._replace(
            size=self.size.where(~special), live=self.live & ~special, nan=nan | (self.nan & ~special),
            inf=inf | (self.inf & ~special), negative=torch.where(special, negative, self.negative),
        )  # fmt: skip


def read(codes: torch.Tensor, fmt: Format, subnormals: str) -> Value:
    """Return what codes mean. codes: int64.   subnormals: keep, or flush to read them as zero."""
    found, ends, frac_bits = triple(codes, fmt, subnormals), reach(fmt), frac_bits_of(fmt)
    x = found.number
    size = torch.where(x.nan | x.inf, 0, x.significand)
    bits = frac_bits + 1 if isinstance(fmt.facts, FloatFacts) else int(ends.significand).bit_length()
    bounds = Bounds(ends.min_exp - frac_bits, ends.max_exp - frac_bits, ends.min_exp, ends.max_exp, bits - frac_bits)
    return Value(Wide(size.unsqueeze(0), bits), x.lsb_exp, found.exp, size != 0, x.sign, x.nan, x.inf, torch.zeros_like(codes), bounds)


def multiply(x: Value, y: Value) -> Value:
    """Return the exact products; exponents add, infinity times zero is NaN."""
    nan = x.nan | y.nan | (x.inf & y.zero) | (y.inf & x.zero)
    bounds = Bounds(*(first + second for first, second in zip(x.bounds, y.bounds, strict=True)))
    return Value(
        product(x.size, y.size), x.lsb + y.lsb, x.exp + y.exp, x.live & y.live, x.negative ^ y.negative, nan, (x.inf | y.inf) & ~nan,
        torch.where(x.fault != 0, x.fault, y.fault), bounds, None if x.flags is None or y.flags is None else x.flags | y.flags,
    )  # fmt: skip


def invalid(x: Value, y: Value) -> torch.Tensor:
    """Return where a product of two values that are no NaN is NaN: infinity times zero."""
    return (x.inf & y.zero) | (y.inf & x.zero)


def joined(x: Value, y: Value) -> Value:
    """Return the values of both along the last axis."""
    bits = max(x.size.bits, y.size.bits)
    size = Wide(torch.cat([resized(v.size, bits).limbs for v in (x, y)], -1), bits)
    lsb, exp, live, negative, nan, inf, fault = (torch.cat(pair, -1) for pair in zip(x[1:8], y[1:8], strict=True))
    flags = None if x.flags is None or y.flags is None else torch.cat([x.flags, y.flags], -1)
    return Value(size, lsb, exp, live, negative, nan, inf, fault, x.bounds.or_those_of(y.bounds), flags)


def chosen(mask: torch.Tensor, x: Value, y: Value) -> Value:
    """Return x where the mask holds, y elsewhere."""
    both = joined(x.mapped(lambda t: t.unsqueeze(-1)), y.mapped(lambda t: t.unsqueeze(-1)))
    return both.mapped(lambda t: torch.where(mask, t[..., 0], t[..., 1]))


def first_fault(faults: torch.Tensor) -> torch.Tensor:
    """Return the first fault along the last axis, 0 where there is none."""
    place = (faults != 0).to(torch.int64).argmax(-1, keepdim=True)
    return faults.gather(-1, place).squeeze(-1)


def specials(nan: torch.Tensor, plus: torch.Tensor, minus: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return (nan, inf, negative) of sums that have a NaN, a +infinity, a -infinity among their terms."""
    nan = nan | (plus & minus)
    return nan, (plus | minus) & ~nan, minus


class Sum(NamedTuple):
    """How terms are added. exponent: zero or largest, of an exact sum.   words, align: of an aligned one, else None.

    goes_down: what an exact zero of different terms is: a minus zero, a plus zero, or a zero that never has a sign (None).
    nv, of: numbers of the flags that infinities of both signs and an adder that wraps raise; None: not reported of this level.
    """

    exponent: str
    words: LevelAlign | None
    align: AlignPlan | None
    cancelled_counts: bool
    goes_down: bool | None
    nv: int | None = None
    of: int | None = None


def add(terms: Value, running: Value | None, way: Sum) -> Value:
    """Return the sums over the last axis of terms, plus the running value or C where there is one. Faults of terms are kept in order."""
    more = [] if running is None else [running.mapped(lambda t: t.unsqueeze(-1))]
    wraps = None
    if way.words is not None and way.align is not None:
        found, wraps = _aligned(terms, more, way.words, way.align)
    elif way.goes_down is not None and terms.lsb.shape[-1] + len(more) == 2 and all(x.size.bits <= _SHORT for x in (terms, *more)):
        found = _of_two(terms, *more)
    else:
        found = _exact(terms, more, way.exponent)
    parts = [*more, terms]
    nan, inf, negative, zero = (torch.cat([getattr(part, name) for part in parts], -1) for name in ("nan", "inf", "negative", "zero"))
    vanished = torch.zeros_like(found.negative)
    if way.goes_down is not None:
        equal = zero.all(-1) & (negative.all(-1) | ~negative.any(-1))
        vanished = torch.where(equal, negative.all(-1), torch.full_like(vanished, way.goes_down))
    if not way.cancelled_counts:
        found = found._replace(live=found.live & ~found.size.zero)
    raised = [part.flags for part in parts if part.flags is not None]
    found = found._replace(
        negative=torch.where(found.size.zero, vanished, found.negative), fault=first_fault(torch.cat([part.fault for part in parts], -1)),
        flags=torch.cat(raised, -1).any(-1) if raised else None,
    )  # fmt: skip
    plus, minus, none = (inf & ~negative).any(-1), (inf & negative).any(-1), nan.any(-1)
    found = found.raising(way.nv, plus & minus).raising(way.of, None if wraps is None else wraps & ~(none | plus | minus))
    return found.with_special(*specials(none, plus, minus))


def _of_two(*parts: Value) -> Value:
    """The sum of two for a float format, which looks at 62 bits of it, sticky, and at nothing else: neither exponent nor bounds count."""
    one, two = (x.mapped(lambda t, i=i: t[..., i]) for x in parts for i in range(x.lsb.shape[-1]))  # type: ignore[misc]
    none = torch.zeros_like(one.negative)
    first, second = (Number(x.negative, none, none, x.size.limbs[0], x.lsb) for x in (one, two))
    found = add_two(first, second, get("rounding", "rne"))
    size = Wide(found.significand.unsqueeze(0), MOST_BITS)
    return _sum_of(size, found.sign, found.lsb_exp, torch.zeros_like(found.lsb_exp), list(parts), one.bounds)


def _largest(parts: list[Value]) -> torch.Tensor:
    """Return the largest exponent of live terms, NOTHING without any."""
    return torch.cat([torch.where(part.live, part.exp, NOTHING) for part in parts], -1).amax(-1)


def _summed(parts: list[Wide], signs: list[torch.Tensor]) -> tuple[Wide, torch.Tensor]:
    count = sum(sign.shape[-1] for sign in signs)
    bits = max(part.bits for part in parts) + count.bit_length()
    limbs = torch.cat([resized(part, bits).limbs for part in parts], -1)
    return total(Wide(limbs, bits), torch.cat(signs, -1), bits)


def _sum_of(size: Wide, negative: torch.Tensor, lsb: torch.Tensor, exp: torch.Tensor, parts: list[Value], bounds: Bounds) -> Value:
    live = torch.cat([part.live for part in parts], -1).any(-1)
    none = torch.zeros_like(negative)
    return Value(size, lsb, exp, live, negative, none, none, torch.zeros_like(exp), bounds)


def _exact(terms: Value, more: list[Value], exponent: str) -> Value:
    """All in the finest unit that any of them can have."""
    parts = [terms, *more]
    low = min(part.bounds.low for part in parts)
    moved = [left(part.size, part.lsb - low, part.size.bits + part.bounds.high - low) for part in parts]
    size, negative = _summed(moved, [part.negative for part in parts])
    exp, bounds = torch.zeros_like(terms.exp[..., 0]), Bounds(low, low, 0, 0, size.bits + low)
    if exponent == "largest":
        found = _largest(parts)
        exp = torch.where(found == NOTHING, 0, found)
        both = parts[0].bounds if not more else terms.bounds.or_those_of(more[0].bounds)
        spare = (terms.exp.shape[-1] + len(more)).bit_length()
        bounds = Bounds(low, low, min(both.least, 0), max(both.most, 0), both.lead + spare)
    return _sum_of(size, negative, torch.full_like(exp, low), exp, parts, bounds)


def _named(terms: Value, words: LevelAlign) -> Value:
    """Give terms the exponents that alignment sees; the values stay."""
    exp, (low, high, least, most, lead), raised = terms.exp, terms.bounds, words.raised
    if words.exponent == "normalised":
        exp = torch.where(terms.size.zero, exp, terms.lsb + terms.size.top)
        least, most, lead = min(low, least), max(high + terms.size.bits, most), 1
    return terms._replace(exp=exp + raised, bounds=Bounds(low, high, least + raised, most + raised, lead - raised))


def _aligned(terms: Value, more: list[Value], words: LevelAlign, align: AlignPlan) -> tuple[Value, torch.Tensor | None]:
    """Every term brought to E, cut to F bits below it, added; and where the adder wraps, None where it does not."""
    terms = _named(terms, words)
    parts, rounding = [terms, *more], get("rounding", words.cut)
    exp, both = _largest(parts), terms.bounds if not more else terms.bounds.or_those_of(more[0].bounds)
    if align.floor is None:
        exp, least, most = torch.where(exp == NOTHING, 0, exp), min(both.least, 0), max(both.most, 0)
    else:
        exp, least, most = exp.clamp(min=align.floor), max(both.least, align.floor), max(both.most, align.floor)
    unit = (exp - align.frac_bits).unsqueeze(-1)
    kept = [_cut(terms, unit, align.frac_bits, rounding)]
    if more:
        kept.append(_running(more[0], exp.unsqueeze(-1), words, align, rounding))
    size, negative = _summed(kept, [part.negative for part in parts])
    wraps = None
    if words.beyond == "wrap":
        assert align.adder_bits is not None
        wraps = beyond(size, negative, align.adder_bits)
        size, negative = wrapped(size, negative, align.adder_bits)
    bounds = Bounds(least - align.frac_bits, most - align.frac_bits, least, most, size.bits - align.frac_bits)
    return _sum_of(size, negative, exp - align.frac_bits, exp, parts, bounds), wraps


def _cut(x: Value, unit: torch.Tensor, frac_bits: int, rounding: Rounding) -> Wide:
    """Return x in a unit that lies frac_bits or more below the exponent that x names."""
    return cut(x.size, unit - x.lsb, max(frac_bits + x.bounds.lead, 0) + 1, x.negative, rounding)


def _running(x: Value, exp: torch.Tensor, words: LevelAlign, align: AlignPlan, rounding: Rounding) -> Wide:
    """Return the running value in units of 2^(E - F): cut as the terms, or by itself first."""
    own = words.cuts_running
    if own is None:
        return _cut(x, exp - align.frac_bits, align.frac_bits, rounding)
    kept = _cut(x, exp - own.fraction_bits, own.fraction_bits, get("rounding", own.cut))
    if own.drop_below is not None:
        kept = kept.where(x.exp >= exp - own.drop_below)
    coarser = own.fraction_bits - align.frac_bits
    return cut(kept, torch.full_like(exp, coarser), max(kept.bits - coarser, 0) + 1, x.negative, rounding)


def flushed(x: Value, fmt: Format) -> Value:
    """Return values of a float format with a zero of its sign in the place of a subnormal number."""
    small = x.size.zero | (x.size.top < frac_bits_of(fmt))
    return x._replace(size=x.size.where(~small), live=x.live & ~small)


def zeros(like: torch.Tensor) -> Value:
    """Return plus zeros that name no exponent. like: int64."""
    none, nothing = torch.zeros_like(like, dtype=torch.bool), torch.zeros_like(like)
    return Value(Wide(nothing.unsqueeze(0), 1), nothing, nothing, none, none, none, none, nothing, Bounds(0, 0, 0, 0, 1))
