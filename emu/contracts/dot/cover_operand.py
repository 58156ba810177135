"""What one operand of a sum of aligned terms can be: exponents, significands, distances to E and what alignment leaves of it.

Exponents and significands are enumerated; of formats of more than 8 bits the extreme ones, which decide. Not here: several operands.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from emu.base.caches import lazy
from emu.engines.exact.datapath_terms import decode_triple
from emu.spec import derive
from emu.spec.datapath import DatapathPlan
from emu.spec.models import Format
from emu.spec.models.format import FloatFacts
from emu.spec.reach import frac_bits_of, reach

NARROW = 8
MOST_SUMS = 1 << 16  # group sums are enumerated up to here
Profile = dict[int, tuple[int, int]]  # trailing zeros -> least and largest magnitude of the significands that have them


def profile_of(significands: Sequence[int]) -> Profile:
    """Return the profile of significands; zeros are left out."""
    out: Profile = {}
    for item in {abs(item) for item in significands if item}:
        zeros = (item & -item).bit_length() - 1
        low, high = out.get(zeros, (item, item))
        out[zeros] = (min(low, item), max(high, item))
    return out


def multiplied(x: Profile, y: Profile) -> Profile:
    """Return the profile of products of one significand each."""
    out: Profile = {}
    for (first, (a, b)), (second, (c, d)) in product(x.items(), y.items()):
        low, high = out.get(first + second, (a * c, b * d))
        out[first + second] = (min(low, a * c), max(high, b * d))
    return out


def joined(x: Profile, y: Profile) -> Profile:
    """Return the profile of the significands of either."""
    both = {zeros: [item for part in (x, y) if zeros in part for item in part[zeros]] for zeros in {*x, *y}}
    return {zeros: (min(items), max(items)) for zeros, items in both.items()}


def exps_of(fmt: Format, subnormals: str) -> dict[int, Profile]:
    """Return exponent -> profile of the non-zero significands that finite codes of a format name with it."""
    known, facts = derive.codes(fmt), fmt.facts
    codes: Sequence[int] = range(1 << known.bits)
    if known.bits > NARROW:
        assert isinstance(facts, FloatFacts)
        hidden = 1 << facts.frac_bits
        places = {(1 << k) - 1 for k in range(facts.frac_bits + 1)} | {hidden - (1 << k) for k in range(facts.frac_bits + 1)}
        places |= {(1 << k) for k in range(facts.frac_bits)} | {0}
        codes = [field * hidden + place for field in range((known.max_code >> facts.frac_bits) + 1) for place in places if place < hidden]
    out: dict[int, list[int]] = {}
    for code in codes:
        if derive.is_finite_code(code, fmt):
            triple = decode_triple(code, fmt, subnormals)
            if triple.significand:
                out.setdefault(triple.exp, []).append(triple.significand)
    return {exp: profile_of(items) for exp, items in out.items()}


def paired(x: Mapping[int, Profile], y: Mapping[int, Profile]) -> dict[int, Profile]:
    """Return exponent sum -> profile of products of one operand each."""
    out: dict[int, Profile] = {}
    for (first, a), (second, b) in product(x.items(), y.items()):
        out[first + second] = joined(out.get(first + second, {}), multiplied(a, b))
    return out


class Operands:
    """Terms and C of one plan. terms: of a fused step."""

    def __init__(self, plan: DatapathPlan, terms: int) -> None:
        self.plan, self.terms = plan, terms
        self.facts = plan.facts
        self.grouped = self.facts.scale.apply == "group"
        self.frac_bits = plan.frac_bits or 0
        raised = self.facts.align.exponent_raise
        self.raised = raised if isinstance(raised, int) else 0

    @lazy
    def group_sums(self) -> Profile | None:
        """Profile of the exact sums of a group; None where they are too many to enumerate."""
        a, b = (self.units(fmt) for fmt in (self.plan.a, self.plan.b))
        if a is None or b is None:
            return None
        products = {x * y for x in a for y in b}
        bound = max(map(abs, products)) * self.plan.group
        if bound > MOST_SUMS:
            return None
        sums = 1 << bound  # bit bound + s is set for a sum s
        for _ in range(self.plan.group):
            sums = _shifted(sums, products)
        return profile_of([place - bound for place in range(2 * bound + 1) if sums >> place & 1])

    def units(self, fmt: Format) -> set[int] | None:
        """Return the values of an element format in units of its finest one; None for a wide format."""
        if derive.codes(fmt).bits > NARROW:
            return None
        low = reach(fmt).min_exp
        found = [
            decode_triple(code, fmt, self.facts.subnormal.elements)
            for code in range(1 << derive.codes(fmt).bits)
            if derive.is_finite_code(code, fmt)
        ]
        return {triple.significand << (triple.exp - low) for triple in found}

    @lazy
    def term_exps(self) -> dict[int, Profile] | None:
        """Exponent -> profile of live terms that are not 0; None where group sums are not enumerated or exponents are normalised."""
        if self.facts.align.exponent == "normalised":
            return None
        keep, scale = self.facts.subnormal, self.plan.scale
        scales = {0: profile_of([1])} if scale is None else paired(exps_of(scale, keep.scales), exps_of(scale, keep.scales))
        if self.grouped:
            if self.group_sums is None:
                return None
            found = {exp: multiplied(one, self.group_sums) for exp, one in scales.items()}
        else:
            elements = paired(exps_of(self.plan.a, keep.elements), exps_of(self.plan.b, keep.elements))
            found = paired(elements, scales)
        return {exp + self.raised: one for exp, one in found.items()}

    @lazy
    def term_frac_bits(self) -> int:
        """Fraction bits of a term's significand below its exponent."""
        whole = self.plan.product_frac_bits + self.plan.scale_frac_bits + self.raised
        return whole - self.plan.product_exp if self.grouped else whole

    @lazy
    def c_exps(self) -> dict[int, Profile]:
        """Exponent -> profile of the C that are not 0."""
        return exps_of(self.plan.c, self.facts.subnormal.c)

    @lazy
    def apart(self) -> bool:
        """Can two terms of a step have exponents of their own: products always, groups where a step has more than one block?"""
        return self.terms > 1 and (not self.grouped or self.plan.step > self.plan.block)

    def mates(self, term: int) -> list[int]:
        """Return the other terms that share the scales of a term, and with them its exponent."""
        if not self.grouped:
            return []
        block = [place * self.plan.group // self.plan.block for place in range(self.terms)]
        return [place for place in range(self.terms) if block[place] == block[term] and place != term]

    def tops(self, exp: int, others: Sequence[int]) -> Iterator[int]:
        """Yield what E can be while an operand has an exponent."""
        floor = self.plan.floor
        least = exp if floor is None else max(exp, floor)
        yield least
        yield from (other for other in others if other > least)

    @lazy
    def shifts(self) -> dict[str, set[tuple[int, str]]] | None:
        """Operand -> (distance, what is kept) of everything that one operand can do."""
        if self.term_exps is None:
            return None
        terms, c = sorted(self.term_exps), sorted(self.c_exps)
        named = {
            "term": (self.term_exps, self.term_frac_bits, [*c, *(terms if self.apart else [])]),
            "c": (self.c_exps, frac_bits_of(self.plan.c), terms),
        }
        out: dict[str, set[tuple[int, str]]] = {}
        for name, (exps, frac_bits, others) in named.items():
            reached = out.setdefault(name, set())
            for exp, profile in exps.items():
                for top in set(self.tops(exp, others)):
                    places = min(top - exp, self.frac_bits + 2)
                    cut = top - exp + frac_bits - self.frac_bits
                    reached |= {(places, kept) for kept in self.kept(profile, cut)}
                    if name == "term" and self.grouped and self.plan.group > 1 and self.facts.align.cancelled_group_counts == "yes":
                        reached.add((places, "cancelled"))
        return out

    def kept(self, profile: Profile, cut: int) -> set[str]:
        """Return what alignment can leave of significands when `cut` bits fall off."""
        if cut <= 0:
            return {"exact"}
        out = {"exact"} if max(profile) >= cut else set()
        lossy = [ends for zeros, ends in profile.items() if zeros < cut]
        if self.plan.align_direction != "rz":
            return out | ({"cut", "gone"} if lossy else set())
        out |= {"gone"} if any(low < 1 << cut for low, _ in lossy) else set()
        return out | ({"cut"} if any(high >> cut for _, high in lossy) else set())


def _shifted(sums: int, products: set[int]) -> int:
    """Return the bit set of sums with one more product added."""
    out = 0
    for item in products:
        out |= sums << item if item >= 0 else sums >> -item
    return out
