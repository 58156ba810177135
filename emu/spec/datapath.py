"""A datapath with its operands chosen, and what follows: exponents, fraction and integer bits, floor, widths, largest K.

Nothing here adds or rounds a dot product. Widths are exact: the largest sums are computed from all codes of the formats.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from emu.base.caches import Cache, lazy
from emu.base.errors import OpenError, SpecError
from emu.spec import derive
from emu.spec.ieee import Direction, direction, same_facts
from emu.spec.models import Datapath, Format
from emu.spec.models.datapath import Accumulator, DatapathFacts, LateC, UnknownFacts
from emu.spec.models.levels import DatapathLevels
from emu.spec.reach import Extent, Reach, aligned_sum, bits_beside_c, extent, frac_bits_of, reach, times
from emu.spec.registry import digest, get


@dataclass(frozen=True)
class Widths:
    """Bits of each stage, without the sign bit.

    product, group_sum, term: one product of elements, the exact sum of a group, that times both scale significands. With scale.apply
    group or promote they are integers in units of 2^product_lsb_exp (times the scales' own units); else each is a significand whose unit
    lies product_lsb_exp below its own exponent.
    step_sum: the exact fixed-point sum of one step, at the lsb of the finest term over the whole range of the scales.
    largest_int64_k: largest K whose exact fixed-point sum fits 64 bits whatever the values are (0: not even one group).
    """

    product_bits: int
    product_lsb_exp: int
    group_sum_bits: int
    term_bits: int
    step_sum_bits: int
    step_sum_lsb_exp: int
    largest_int64_k: int


@dataclass(frozen=True)
class DatapathPlan:
    """A datapath with formats, scale format and block size chosen.

    step, group, block: products (block 0: no scales).   frac_bits: F, None where nothing is lost.   integer_bits: I, None where no adder
    width is stated.   floor: least E or None.   integer_bits_needed: I of the largest sum.
    """

    datapath: Datapath
    a: Format
    b: Format
    scale: Format | None
    block: int
    c: Format
    d: Format
    step: int
    group: int
    frac_bits: int | None
    integer_bits: int | None
    integer_bits_needed: int
    floor: int | None

    @property
    def facts(self) -> DatapathFacts:
        """The facts of the datapath."""
        assert isinstance(self.datapath.facts, DatapathFacts)
        return self.datapath.facts

    @property
    def name(self) -> str:
        """The id, followed by what was chosen where the datapath leaves it free; see parse_choice."""
        facts = self.facts
        parts = [self.datapath.id]
        parts += [f"{self.a.id}x{self.b.id}"] if len(pairs(facts)) > 1 else []
        parts += [self.scale.id] if self.scale is not None and len(facts.scale.formats) > 1 else []
        parts += [str(self.block)] if len(facts.scale.blocks) > 1 else []
        return "/".join(parts)

    @lazy
    def key(self) -> tuple[str | int | None, ...]:
        """What tells plans apart: names, which messages say, digests of all facts, and what follows or was chosen. For caches."""
        objects = [item for item in (self.datapath, self.a, self.b, self.scale, self.c, self.d) if item is not None]
        derived = (self.step, self.group, self.frac_bits, self.integer_bits, self.integer_bits_needed, self.floor)
        return (*(f"{item.id} {digest(item)}" for item in objects), self.block, *derived)

    @lazy
    def product_exp(self) -> int:
        """Least exponent of a product of elements: the unit of group sums is 2^(product_exp - product_frac_bits)."""
        return reach(self.a).min_exp + reach(self.b).min_exp

    @property
    def product_frac_bits(self) -> int:
        """Fraction bits of a product of elements."""
        return frac_bits_of(self.a) + frac_bits_of(self.b)

    @property
    def scale_frac_bits(self) -> int:
        """Fraction bits of the product of two scales; 0 without scales."""
        return 0 if self.scale is None else 2 * frac_bits_of(self.scale)

    @property
    def unused_bits(self) -> str:
        """What a set bit above a scale's code means: ignore or open."""
        return self.facts.scale.unused_bits

    @property
    def nan_code(self) -> int:
        """Code of a NaN result; the canonical one of the format where only the class is known."""
        return nan_code_of(self.facts)

    @lazy
    def align_direction(self) -> Direction:
        """The direction in which aligned terms are rounded."""
        return align_direction_of(self.facts)

    @lazy
    def round_direction(self) -> Direction | None:
        """The direction in which results are rounded; None for a rule without a name."""
        return direction(get("rounding", self.facts.round.mode))

    @property
    def adder_bits(self) -> int | None:
        """F + I + 1, or None where the sum is unlimited."""
        return None if self.frac_bits is None or self.integer_bits is None else self.frac_bits + self.integer_bits + 1

    @lazy
    def exact_lsb_exp(self) -> int:
        """A power of two that divides every term and every C: the unit of a sum that loses nothing."""
        return min(_fixed_point(self)[1], reach(self.c).lsb_exp)

    @property
    def accumulator(self) -> Accumulator | None:
        """The register that runs through K, or None."""
        return None if isinstance(self.facts.accumulator, str) else self.facts.accumulator

    @property
    def late_c(self) -> LateC | None:
        """The second alignment, or None."""
        return None if isinstance(self.facts.late_c, str) else self.facts.late_c

    @lazy
    def widths(self) -> Widths:
        """Bits of each stage."""
        return _widths(self)

    @lazy
    def extent(self) -> Extent:
        """How far the numbers of a step go; C is one of them wherever it joins, and so is a register."""
        return _extent(self)

    @property
    def largest_k(self) -> int | None:
        """Largest K that the accumulator takes whatever the values are; None without an accumulator."""
        register = self.accumulator
        return None if register is None else _largest_k(self, register.bits)


def nan_code_of(facts: DatapathFacts) -> int:
    """Return the code of a NaN result; the canonical one of the format where only the class is known."""
    return derive.codes(get("format", facts.d)).nan[0] if facts.special.nan == "any" else int(facts.special.nan, 16)


def align_direction_of(facts: DatapathFacts) -> Direction:
    """Return the direction in which aligned terms are rounded. Raises: SpecError (a rule of another kind; the loader refuses it too)."""
    found = direction(get("rounding", facts.align.rounding))
    if found is None:
        raise SpecError(f"align.rounding: {facts.align.rounding} is none of rz, rd, rne: aligned terms have no other rounding")
    return found


def _widths(plan: DatapathPlan) -> Widths:
    a, b = reach(plan.a), reach(plan.b)
    if plan.facts.scale.apply in ("group", "promote"):
        lsb = a.lsb_exp + b.lsb_exp
        product = a.largest * b.largest / Fraction(2) ** lsb
    else:
        lsb = -plan.product_frac_bits
        product = a.significand * b.significand * (1 << plan.product_frac_bits)
    group = product * plan.group
    one = reach(plan.scale).significand * (1 << frac_bits_of(plan.scale)) if plan.scale else Fraction(1)
    step, step_lsb = _fixed_point(plan)
    return Widths(
        int(product).bit_length(),
        lsb,
        int(group).bit_length(),
        int(group * one * one).bit_length(),
        int(step * plan.step).bit_length(),
        step_lsb,
        _largest_k(plan, 64),
    )


def _extent(plan: DatapathPlan) -> Extent:
    facts, values = plan.facts, times(reach(plan.a), reach(plan.b))
    terms, scaled = plan.step // plan.group, plan.scale is not None and facts.scale.apply != "promote"
    if facts.scale.apply in ("group", "promote"):
        largest = plan.group * values.largest
        values = Reach(values.lsb_exp, 0, 0, largest, largest)
    if plan.scale is not None and scaled:
        values = times(times(values, reach(plan.scale)), reach(plan.scale))
    running = None if facts.scale.apply == "promote" else reach(plan.c)
    if plan.accumulator is not None:
        own = Fraction(2) ** (plan.accumulator.bits + values.lsb_exp)
        running = Reach(min(values.lsb_exp, reach(plan.c).lsb_exp), 0, 0, own + reach(plan.c).largest, own)
    bits = (plan.adder_bits or 0) if facts.align.beyond == "wrap" else 0
    normalised = facts.align.exponent == "normalised"
    return extent(
        terms, values, running, plan.frac_bits, raised=_raised(facts), normalised=normalised, floor=plan.floor, adder_bits=bits
    )  # fmt: skip


def _fixed_point(plan: DatapathPlan) -> tuple[Fraction, int]:
    """Return the largest magnitude of one scaled product in units of the finest one, and the exponent of that unit."""
    a, b = reach(plan.a), reach(plan.b)
    largest, lsb = a.largest * b.largest, a.lsb_exp + b.lsb_exp
    if plan.scale is not None:
        scale = reach(plan.scale)
        largest, lsb = largest * scale.largest**2, lsb + 2 * scale.lsb_exp
    return largest / Fraction(2) ** lsb, lsb


def _largest_k(plan: DatapathPlan, bits: int) -> int:
    """Largest multiple of a group whose sum fits a two's complement register of `bits`."""
    largest = max(_fixed_point(plan)[0], Fraction(1)) * plan.group  # a format of zeros alone has no largest product
    return int(((1 << (bits - 1)) - 1) / largest) * plan.group


_plans: Cache[tuple[str, ...], DatapathPlan] = Cache("emu.spec.datapath._plans", 1024)


def resolve(
    datapath: str | Datapath,
    a: str | Format | None = None,
    b: str | Format | None = None,
    scale: str | Format | None = None,
    block: int | None = None,
) -> DatapathPlan:
    """Return a datapath with its operands chosen; what it does not leave free may be left out.

    a, b, scale: format ids or models.   block: elements per scale.
    Raises: SpecError (a choice that is missing or not offered), OpenError (an unknown datapath, or an open fact).
    """
    model: Datapath = get("datapath", datapath)
    facts = known_facts(model)
    first, second = choose_pair(model, facts, a, b)
    chosen = choose_scale(model, facts.scale.formats, None if scale is None else get("format", scale))
    size = choose_size(model, facts.scale.blocks, block)
    named = [f"{item.id} {digest(item)}" for item in (model, first, second, chosen) if item is not None]  # a plan says the names, too
    key = (*named, str(size))
    found = _plans.get(key)
    return found if found is not None else _plans.keep(key, _plan(model, first, second, chosen, size or 0))


def levels_of(model: Datapath) -> DatapathLevels:
    """Return the facts of a datapath of levels.

    Raises: SpecError (a chain of fused steps: emu.spec.steps says it in levels), OpenError (unknown, or a word is open).
    """
    if isinstance(model.facts, UnknownFacts):
        raise _unknown(model, model.facts)
    if not isinstance(model.facts, DatapathLevels):
        raise SpecError(f"datapath {model.id} is a chain of fused steps: emu.spec.steps.in_levels says it in levels")
    for level in model.facts.levels:
        for word in () if level.align is None else level.align.open_words:
            raise OpenError(f"datapath {model.id}: align.{word} is open until: {_until(model)}; its readings are datapaths of their own")
    return model.facts


def known_facts(model: Datapath) -> DatapathFacts:
    """Return the facts of a datapath of one fused step that is known.

    Raises: OpenError with the reason and what would settle it (also for a datapath of levels, which emu.spec.levels resolves).
    """
    facts = model.facts
    if isinstance(facts, DatapathLevels):
        raise OpenError(f"datapath {model.id}: is written in levels, and this takes one fused step: see docs/datapath_levels.md")
    if isinstance(facts, UnknownFacts):
        raise _unknown(model, facts)
    for name in ("fraction_bits", "integer_bits", "exponent_raise", "beyond"):
        if getattr(facts.align, name) == "open":
            raise OpenError(f"datapath {model.id}: align.{name} is open until: {_until(model)}; its readings are datapaths of their own")
    return facts


def _unknown(model: Datapath, facts: UnknownFacts) -> OpenError:
    return OpenError(f"datapath {model.id}: {facts.unknown}; nothing is computed until: {_until(model)}")


def _until(model: Datapath) -> str:
    return model.open[0].until if model.open else "somebody describes it"


def pairs(facts: DatapathFacts | DatapathLevels) -> list[tuple[str, str]]:
    """Return every pair of operand formats that a datapath takes, in the order of the file."""
    if not isinstance(facts.pairs, str):
        return [(first, second) for first, second in facts.pairs]
    return [(first, second) for first in facts.a for second in facts.b if facts.pairs == "any" or first == second]


def plans_of(datapath: str | Datapath) -> Iterator[DatapathPlan]:
    """Yield every choice of operands, scale format and block size that a datapath takes, in the order of the file. Raises: as resolve."""
    model: Datapath = get("datapath", datapath)
    facts = known_facts(model)
    for a, b in pairs(facts):
        for scale in facts.scale.formats or (None,):
            yield from (resolve(model, a, b, scale, block) for block in facts.scale.blocks or (None,))


def choose_pair(
    model: Datapath, facts: DatapathFacts | DatapathLevels, a: str | Format | None, b: str | Format | None
) -> tuple[Format, Format]:
    """Return the formats of A and B. Raises: SpecError (a pair that is missing or not offered)."""
    offered = pairs(facts)
    wanted = [None if item is None else get("format", item) for item in (a, b)]
    found = _offered_pairs(offered, wanted)
    listed = ", ".join(f"{first} x {second}" for first, second in offered)
    if not found:
        given = " x ".join("any" if want is None else want.id for want in wanted)
        raise SpecError(f"datapath {model.id} does not take {given}: it takes {listed}")
    if len(found) > 1:
        raise SpecError(f"datapath {model.id} takes several operands: name a_format and b_format, one of {listed}")
    first, second = (want or get("format", name) for want, name in zip(wanted, found[0], strict=True))
    return first, second


def _offered_pairs(offered: list[tuple[str, str]], wanted: list[Format | None]) -> list[tuple[str, str]]:
    """Return the offered pairs of the wanted formats: those of that name, else those of the same facts."""
    for fits in (lambda want, name: want.id == name, lambda want, name: same_facts(want, get("format", name))):
        found = [pair for pair in offered if all(want is None or fits(want, name) for want, name in zip(wanted, pair, strict=True))]
        if found:
            return found
    return []


def choose_size(model: Datapath, offered: tuple[int, ...], wanted: int | None) -> int | None:
    """Return the elements per scale; None without scales. Raises: SpecError (a size that is missing or not offered)."""
    size: int | None = _choose(model, "block size", offered, wanted)
    return size


def choose_scale(model: Datapath, offered: tuple[str, ...], wanted: Format | None) -> Format | None:
    """Return the format of the scales, the wanted one where it or another name of its facts is offered. Raises: as choose_size."""
    if wanted is not None and any(same_facts(wanted, get("format", name)) for name in offered):
        return wanted
    name = _choose(model, "scale format", offered, None if wanted is None else wanted.id)
    return None if name is None else get("format", name)


def _choose(model: Datapath, what: str, offered: tuple[Any, ...], wanted: Any) -> Any:
    """Return the wanted one of what is offered; the only one where nothing is said; None where nothing is offered."""
    listed = ", ".join(str(item) for item in offered)
    if wanted is not None and wanted not in offered:
        raise SpecError(f"datapath {model.id} does not take {what} {wanted}: it takes {listed or 'none'}")
    if wanted is None and len(offered) > 1:
        raise SpecError(f"datapath {model.id} takes several: name the {what}, one of {listed}")
    return wanted if wanted is not None or not offered else offered[0]


def _plan(model: Datapath, a: Format, b: Format, scale: Format | None, block: int) -> DatapathPlan:
    facts = known_facts(model)
    step = block if facts.step == "block" else facts.step
    group = block if facts.group == "block" else facts.group
    assert isinstance(step, int) and isinstance(group, int)
    frac_bits = _frac_bits(facts, a, b, scale)
    needed = _integer_bits(facts, a, b, step, max(step // max(group, 1), 1), frac_bits)
    integer_bits = needed if facts.align.integer_bits == "derived" else facts.align.integer_bits
    bits = integer_bits if isinstance(integer_bits, int) else None
    d: Format = get("format", facts.d)
    floor = facts.align.floor if isinstance(facts.align.floor, int) else None
    if facts.align.floor == "derived":
        if bits is None:
            raise SpecError(f"datapath {model.id}: align.floor derived needs integer_bits")
        floor = reach(d).min_exp - bits
    c: Format = get("format", facts.c)
    return DatapathPlan(model, a, b, scale, block, c, d, step, group, frac_bits, bits, needed, floor)


def _frac_bits(facts: DatapathFacts, a: Format, b: Format, scale: Format | None) -> int | None:
    """F: as typed, None for exact, or such that the finest product is kept under the largest exponent a product can have."""
    wanted = facts.align.fraction_bits
    if isinstance(wanted, int):
        return wanted
    if wanted == "exact":
        return None
    first, second = reach(a), reach(b)
    grouped = facts.scale.apply == "group"
    top = 0 if grouped else first.max_exp + second.max_exp  # the exponent of a group is that of its scales
    lsb = first.lsb_exp + second.lsb_exp
    if scale is not None:
        top, lsb = top + 2 * reach(scale).max_exp, lsb + 2 * reach(scale).lsb_exp
    return top + _raised(facts) - lsb


def _raised(facts: DatapathFacts) -> int:
    assert isinstance(facts.align.exponent_raise, int)
    return facts.align.exponent_raise


def _integer_bits(facts: DatapathFacts, a: Format, b: Format, step: int, terms: int, frac_bits: int | None) -> int:
    """Bits at 2^0 and above that the largest sum of one step needs, relative to E, over all scale formats the datapath takes.

    terms: that are aligned, groups or products.   frac_bits: F, None where nothing is cut.
    """
    first, second = reach(a), reach(b)
    if facts.scale.apply in ("group", "promote"):
        one = first.largest * second.largest
    else:
        one = first.significand * second.significand
    scales = [reach(get("format", name)).significand for name in facts.scale.formats]
    one *= Fraction(step, terms) * max(scales, default=Fraction(1)) ** 2
    normalised = facts.align.exponent == "normalised" and frac_bits is not None
    rounds_up = direction(get("rounding", facts.align.rounding)) != "rz"
    total = aligned_sum(terms, None if normalised else one, _raised(facts), frac_bits, rounds_up)
    return int(total).bit_length() if facts.align.include_c == "no" else bits_beside_c(total)
