"""Which bins of a sum of aligned terms nothing can reach: bounds that follow from formats, F, floor and rounding of a plan.

Each proof is exact for one operand against what may set E: its exponents and significands are enumerated (of formats of more than 8 bits:
the extreme ones). What several operands can do together is not enumerated: a bin about which nothing is proved stays a hole.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from emu.base.caches import lazy
from emu.contracts.cover import Bin, Settled
from emu.contracts.dot.cover_operand import Operands, Profile
from emu.contracts.dot.special import OF_C, possible_kinds
from emu.engines.exact.round import HALF, goes_up
from emu.spec import derive
from emu.spec.datapath import DatapathPlan
from emu.spec.ieee import same_facts
from emu.spec.models.format import FloatFacts
from emu.spec.reach import frac_bits_of, reach
from emu.spec.registry import get

LOST = {"zero": Fraction(0), "less_than_half": Fraction(1, 4), "half": HALF, "more_than_half": Fraction(3, 4)}


class Proofs(Operands):
    """Bins out of reach of one plan. terms: of a fused step.   names: their bins."""

    def __init__(self, plan: DatapathPlan, terms: int, names: tuple[str, ...]) -> None:
        super().__init__(plan, terms)
        self.names = names

    def settle(self, axes: Sequence[str], bins: Sequence[Bin]) -> dict[Bin, Settled]:
        """Return the bins of a cross that are proved to be out of reach."""
        rule = {
            ("distance", "operand", "kept"): self.shift,
            ("source", "live"): self.exponent,
            ("cancellation", "source"): self.cancel,
            ("normalise", "sign"): self.normalise,
            ("lost", "parity", "move", "sign"): self.rounding,
            ("result", "sign"): self.result,
            ("special",): self.special,
            ("live",): self.live,
            ("state", "chain"): self.chain,
        }.get(tuple(axes))
        if rule is None:
            return {}
        found = {one: rule(one) for one in bins}
        return {one: Settled(*why) for one, why in found.items() if why is not None}

    def shift(self, one: Bin) -> tuple[str, str] | None:
        """Distances and losses of a single operand."""
        if self.shifts is None:
            return None
        distance, operand, kept = one
        found = (int(distance.removesuffix("_up")), kept)
        if found in self.shifts[operand]:
            return None
        return "enumeration", (
            f"every exponent that codes of terms ({self.span(self.term_exps or {})}) and of C ({self.span(self.c_exps)}) name, with every "
            f"exponent that may be E above it, F = {self.frac_bits}, and the significands there: least, largest, trailing zeros"
        )

    @staticmethod
    def span(exps: Mapping[int, Profile]) -> str:
        """Return the least and largest exponent in words."""
        return f"2^{min(exps)} .. 2^{max(exps)}"

    def under_floor(self, name: str) -> bool:
        """Can a live operand lie below the floor?"""
        exps = self.c_exps if name == "c" else self.term_exps
        return self.plan.floor is not None and (exps is None or min(exps) < self.plan.floor)

    def exponent(self, one: Bin) -> tuple[str, str] | None:
        """What can set E under a live pattern."""
        source, live = one
        c, _, terms = live.partition("_")
        exact = len(terms) == self.terms and set(terms) <= {"0", "1"}
        count = terms.count("1") if exact else {"none": 0, "one": 1}.get(terms, self.terms)
        alive = [*(["term"] if count else []), *(["c"] if c == "1" else [])]
        if source == "nothing":
            return ("rule", "E is the floor where nothing is live") if self.plan.floor is not None else self.unless(not alive)
        if source == "floor":
            return self.unless(self.plan.floor is not None and all(self.under_floor(name) for name in alive))
        if source == "shared":
            return self.unless(count + (c == "1") > 1)
        if source == "c":
            return self.unless(c == "1")
        if not exact:
            return self.unless(count > 0)
        place = self.names.index(source)
        there = [terms[len(terms) - 1 - term] == "1" for term in range(self.terms)]
        return self.unless(there[place] and not any(there[mate] for mate in self.mates(place)))

    @staticmethod
    def unless(possible: bool) -> tuple[str, str] | None:
        """Return the proof that E follows from what is live."""
        return (
            None
            if possible
            else ("rule", "E is that of a live operand, or the floor where there is one and all live operands lie below it")
        )

    def cancel(self, one: Bin) -> tuple[str, str] | None:
        """Addends under each source of E."""
        how, source = one
        floor_alone = source == "floor" and self.plan.floor is not None and not self.under_floor("c") and not self.under_floor("term")
        if source == "nothing" and self.plan.floor is not None:
            return "rule", "E is the floor where nothing is live"
        if source == "floor" and self.plan.floor is None:
            return "rule", "the datapath has no floor"
        if (source == "nothing" or floor_alone) and how != "empty":
            return "rule", "nothing is live: every live operand has an exponent at or above the floor"
        cancels = self.grouped and self.plan.group > 1 and self.facts.align.cancelled_group_counts == "yes"
        if how == "empty" and source not in ("floor", "nothing"):
            wide = self.frac_bits >= (frac_bits_of(self.plan.c) if source == "c" else self.term_frac_bits)
            if (source == "c" or not cancels) and wide:  # of operands that share E one at least is a term
                return "rule", f"what sets E is not 0 and loses nothing: its significand has no bit below 2^(E - {self.frac_bits})"
        return None

    def normalise(self, one: Bin) -> tuple[str, str] | None:
        """Places of the leading bit: the axis ends at the largest sum that formats allow."""
        return ("rule", "a sum of 0 has no sign") if one == ("zero", "minus") else None

    def rounding(self, one: Bin) -> tuple[str, str] | None:
        """The rounding mode decides where a sum goes."""
        lost, parity, move, sign = one
        mode = get("rounding", self.facts.round.mode)
        up = goes_up(LOST[lost], Fraction(1), Fraction(1), int(sign == "minus"), parity == "odd", mode, None)
        words = {
            "stay": lost == "zero",
            "down": lost != "zero" and not up,
            "up": up,
            "carry": up and parity == "odd",
            "beyond": self.overflows,
        }
        if move == "up" and up and parity == "odd" and self.facts.round.keep == 0:
            words["up"] = False
        if not words[move]:
            why = f"{mode.id} of {lost} over {parity} goes elsewhere"
            return (
                ("bounds", "all terms together are less than half of the last place of the largest C")
                if move == "beyond"
                else ("rule", why)
            )
        return self.exact_result(lost)

    def exact_result(self, lost: str) -> tuple[str, str] | None:
        """Tell when sums have too few bits below the last kept one."""
        if self.plan.frac_bits is None or self.least_exp is None:
            return None
        facts = self.plan.d.facts
        assert isinstance(facts, FloatFacts)
        normal = self.frac_bits + self.plan.integer_bits_needed - 1 - self.facts.round.keep
        places = max(normal, 1 - facts.bias - self.facts.round.keep - (self.least_exp - self.frac_bits))
        needed = {"zero": 0, "half": 1, "less_than_half": 2, "more_than_half": 2}[lost]
        return None if places >= needed else ("bounds", f"at most {max(places, 0)} bits of a sum lie below the last kept one")

    @lazy
    def least_exp(self) -> int | None:
        """The least E; None where it is not known."""
        if self.plan.floor is not None:
            return self.plan.floor
        return None if self.term_exps is None else min(*self.term_exps, *self.c_exps, 0)

    def result(self, one: Bin) -> tuple[str, str] | None:
        """Classes of results that a datapath does not have."""
        kind, sign = one
        known, c = derive.codes(self.plan.d), derive.codes(self.plan.c)
        factors = [fmt for fmt in (self.plan.a, self.plan.b, self.plan.scale) if fmt is not None]
        if kind in ("zero", "vanished") and sign == "minus" and self.facts.special.zero == "plus":
            return "rule", "every zero result is +0 (special.zero plus)"
        if kind == "nan" and (sign == "minus") != bool(self.plan.nan_code & known.sign_bit) and self.facts.special.nan != "any":
            return "rule", f"NaN is always {self.facts.special.nan}"
        if kind == "overflow" and self.facts.round.overflow != "inf":
            return "rule", "a sum beyond the largest number stops there"
        if kind == "inf" and c.inf is None and all(derive.codes(fmt).inf is None for fmt in factors):
            return "rule", "no operand has a code of infinity"
        if kind == "subnormal" and self.facts.subnormal.result == "flush":
            return "rule", "subnormal results become 0"
        keep, facts = self.facts.round.keep, self.plan.d.facts
        if kind == "largest" and isinstance(facts, FloatFacts) and keep < facts.frac_bits and self.facts.round.overflow == "inf":
            return "rule", f"results have {keep} fraction bits, the largest number has {facts.frac_bits}"
        if kind == "overflow" and not self.overflows:
            return "bounds", "all terms together are less than half of the last place of the largest C"
        least, exact = reach(self.plan.d).lsb_exp, self.plan.exact_lsb_exp
        if kind == "vanished" and self.facts.subnormal.result == "gradual" and exact >= least and same_facts(self.plan.c, self.plan.d):
            return "bounds", f"terms and C are multiples of 2^{exact}, whole or cut, and that is no less than the least result 2^{least}"
        return None

    @lazy
    def overflows(self) -> bool:
        """Can a sum reach beyond the largest result? The terms need half of its last place, C being as large."""
        known, facts = derive.codes(self.plan.d), self.plan.d.facts
        assert isinstance(facts, FloatFacts)
        place = Fraction(2) ** ((known.max_code >> facts.frac_bits) - facts.bias - self.facts.round.keep)
        one = reach(self.plan.a).largest * reach(self.plan.b).largest * (reach(self.plan.scale).largest ** 2 if self.plan.scale else 1)
        return reach(self.plan.c).largest > reach(self.plan.d).largest or one * self.plan.step * 2 >= place

    def live(self, one: Bin) -> tuple[str, str] | None:
        """A register gets C after its last step."""
        if self.plan.accumulator is not None and one[0].startswith("1"):
            return "rule", "C is no term of a step: it is added to the register at the end"
        return None

    def special(self, one: Bin) -> tuple[str, str] | None:
        """Pairs that need two C, or two blocks, in one step."""
        if one[0].count("c_") > 1 or ("nan_c" in one[0] and "c_" in one[0].replace("nan_c", "")):
            return "rule", "a fused step has one C"
        if one == ("several",) and len([kind for kind in possible_kinds(self.plan) if kind not in OF_C]) < 2:
            return "rule", "one kind of C and one other are all that the formats have"
        blocks = self.plan.step // self.plan.block if self.plan.block else 0
        if one == ("nan_scale+nan_scale_zero_block",) and blocks < 2:
            return "rule", "a fused step has the scales of one block"
        return None

    def chain(self, one: Bin) -> tuple[str, str] | None:
        """A register starts at 0 and holds an integer."""
        state, place = one
        if self.plan.accumulator is None:
            return None
        if state in ("subnormal", "special") or (state != "zero" and place in ("only", "first")):
            return "rule", "the register is an integer, 0 in the first row of a chain"
        return None
