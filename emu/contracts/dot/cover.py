"""What the axes of spec/coverage/dot.yaml and accumulate.yaml mean. Which bins nothing can reach is in cover_proof.py.

A row exercises one point per fused step, one per live operand of it, and one per step for its special operands. Axes that a kind of
datapath does not have are left out: E and alignment where nothing is cut, the sum where products are rounded first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from emu.base.caches import lazy
from emu.contracts.contract import Values
from emu.contracts.cover import Bin, Point, Settled
from emu.contracts.dot.cases_ends import ignores_bits, over_bits
from emu.contracts.dot.cover_proof import Proofs
from emu.contracts.dot.special import kinds_of_step, possible_kinds
from emu.contracts.text import class_of
from emu.engines.exact.datapath_step import Step
from emu.engines.exact.datapath_terms import Term
from emu.spec import derive
from emu.spec.models.coverage import CoverageAxis
from emu.spec.models.format import FloatFacts

if TYPE_CHECKING:
    from emu.contracts.dot.contract import DotContract

FEW = 8  # terms: a bin for each up to here
SIGNS = ("plus", "minus")
ALIGNED = ("source", "distance", "kept", "operand", "normalise")
SUMMED = ("cancellation", "lost", "parity", "move")


class DotCover:
    """A dot product or a row of a chain, as the coverage model sees it."""

    def __init__(self, op: DotContract) -> None:
        self.op, self.plan = op, op.plan
        facts = self.plan.facts
        self.promotes = facts.scale.apply == "promote"
        self.adds_late = facts.late_c != "none" or self.plan.accumulator is not None or self.promotes
        self.aligned = self.plan.frac_bits is not None and not self.adds_late
        self.terms = self.plan.step // self.plan.group if facts.scale.apply == "group" else self.plan.step
        self.names = tuple(f"g{i}" for i in range(self.terms)) if self.terms <= FEW else ("term",)
        self.proofs = Proofs(self.plan, self.terms, self.names)

    def bins_of(self, name: str, axis: CoverageAxis) -> tuple[str, ...] | None:
        """Return the bins of an axis; None where this kind of datapath has no such axis."""
        if name == "unused":
            return axis.bins if ignores_bits(self.plan) else None
        lacks = (not self.aligned and name in ALIGNED) or (self.adds_late and name in SUMMED)
        if lacks or (name == "live" and (self.promotes or self.plan.late_c is not None)):
            return None
        if axis.each is None:
            return axis.bins
        listed = {
            "term_or_class": lambda: self.names,
            "distance": lambda: tuple(self.distance(places) for places in range(self.most + 1)),
            "normalise_shift": lambda: tuple(str(place) for place in range(-self.proofs.frac_bits, self.plan.integer_bits_needed)),
            "live_pattern": self.patterns,
            "special_pair": self.pairs,
        }[axis.each]()
        return (*listed, *axis.bins)

    @property
    def most(self) -> int:
        """The distance that stands for itself and all beyond: two places below the last bit of the adder."""
        return self.proofs.frac_bits + 2

    def distance(self, places: int) -> str:
        """Return the bin of a distance."""
        return str(places) if places < self.most else f"{self.most}_up"

    def patterns(self) -> tuple[str, ...]:
        """Return the bins of live patterns: C, then the terms, the highest first."""
        if self.terms > FEW:
            return tuple(f"{c}_{some}" for c in "01" for some in ("none", "one", "some", "all"))
        return tuple(f"{c}_{mask:0{self.terms}b}" for c in "01" for mask in range(1 << self.terms))

    def pattern(self, terms: Sequence[Term], c: bool) -> str:
        """Return the bin of a live pattern."""
        live = sum(term.live for term in terms)
        if self.terms <= FEW:
            return f"{int(c)}_" + "".join(str(int(term.live)) for term in reversed(terms))
        return f"{int(c)}_" + ("none" if not live else "one" if live == 1 else "all" if live == self.terms else "some")

    @lazy
    def kinds(self) -> tuple[str, ...]:
        """The kinds of special operands that the formats have."""
        return possible_kinds(self.plan)

    def pairs(self) -> tuple[str, ...]:
        """Return the bins of special operands: one kind alone, or two kinds."""
        return (*self.kinds, *("+".join(pair) for pair in combinations(self.kinds, 2)))

    def points(self, values: Values) -> list[Point]:
        """Return what a row exercises; nothing where it is open."""
        found = self.op.computed(values)
        a, b, scale_a, scale_b, c = self.op.taken(values)
        out: list[Point] = list(self.chain_points(values, c))
        if found is None:
            return []
        out += over_bits((*scale_a, *scale_b), self.plan)
        state = c
        for number, step in enumerate(found.steps):
            part = slice(number * self.plan.step, (number + 1) * self.plan.step)
            scales = [self.spread(codes)[part] for codes in (scale_a, scale_b)]
            kinds = kinds_of_step(a[part], b[part], scales[0], scales[1], state, self.plan, self.kinds)
            if kinds:
                out.append({"special": "+".join(kinds) if len(kinds) <= 2 else "several"})
            whole = found.code if self.plan.accumulator is not None else step.code
            out += self.step_points(step, whole, bool(kinds))
            state = step.code
        return out

    def spread(self, scales: Sequence[int]) -> list[int]:
        """Return one scale code per element."""
        return [code for code in scales for _ in range(self.plan.block)]

    def chain_points(self, values: Values, c: int) -> list[Point]:
        """Return where a row of a chain stands, and the state it starts from."""
        if not self.op.chains:
            return []
        first, last = values[:2]
        if self.plan.accumulator is None:
            state = {"inf": "special", "nan": "special"}.get(kind := class_of(c, self.plan.c), kind)
        else:
            state = "normal" if values[-1] else "zero"
        return [{"chain": "only" if first and last else "first" if first else "last" if last else "middle", "state": state}]

    def step_points(self, step: Step, code: int, special: bool) -> list[Point]:
        """Return the points of one fused step: its sum and its result, then each live operand."""
        fmt = self.plan.d
        known = derive.codes(fmt)
        kind = class_of(code, fmt)
        if kind == "inf" and not special:
            kind = "overflow"
        elif code & ~known.sign_bit == known.max_code:
            kind = "largest"
        elif kind == "zero" and not self.adds_late and step.total:
            kind = "vanished"
        out: list[Point] = [{"result": kind, "sign": SIGNS[int(bool(code & known.sign_bit))]}]
        if step.special is not None or not step.terms:
            return out
        addend = bool(step.c is not None and step.c.significand)
        point = {"live": self.pattern(step.terms, addend)}
        if not self.adds_late:
            point |= self.sum_point(step, code)
        if self.aligned:
            point["source"] = self.source(step)
        return [*out, point, *(self.operand_points(step) if self.aligned else [])]

    def sum_point(self, step: Step, code: int) -> dict[str, str]:
        """Return cancellation, leading bit and rounding of a sum of aligned terms."""
        assert step.total is not None and step.lsb_exp is not None and step.aligned_c is not None
        total, addends = step.total, [item for item in (*step.aligned, step.aligned_c) if item]
        sign = SIGNS[int(total < 0)]
        largest = max((abs(item).bit_length() for item in addends), default=0)
        if not addends or len({item < 0 for item in addends}) == 1:
            how = "one_sign" if addends else "empty"
        else:
            how = "whole" if not total else "cancelled" if abs(total).bit_length() < largest - 1 else "opposed"
        point = {"cancellation": how, "sign": sign}
        if self.aligned:
            point["normalise"] = str(abs(total).bit_length() - 1 - self.proofs.frac_bits) if total else "zero"
        return point | (self.rounding(abs(total), step.lsb_exp, code) if total else {"lost": "zero", "parity": "even", "move": "stay"})

    def rounding(self, total: int, lsb_exp: int, code: int) -> dict[str, str]:
        """Return what the last rounding sees of a magnitude, and where it went."""
        fmt, keep = self.plan.d, self.plan.facts.round.keep
        facts, known = fmt.facts, derive.codes(fmt)
        assert isinstance(facts, FloatFacts)
        exp = max(total.bit_length() - 1 + lsb_exp, 1 - facts.bias)
        places = exp - keep - lsb_exp
        whole, rest = (total >> places, total & ((1 << places) - 1)) if places > 0 else (total << -places, 0)
        lost = "zero"
        if rest:
            half = 1 << (places - 1)
            lost = "half" if rest == half else "less_than_half" if rest < half else "more_than_half"
        hidden, significand = 1 << facts.frac_bits, whole << (facts.frac_bits - keep)
        down = significand if significand < hidden else ((exp + facts.bias) << facts.frac_bits) + significand - hidden
        magnitude = code & ~known.sign_bit
        if down > known.max_code:
            move = "beyond"
        elif not rest or magnitude <= down:
            move = "down" if rest else "stay"
        else:
            move = "carry" if magnitude >> facts.frac_bits > down >> facts.frac_bits else "up"
        return {"lost": lost, "parity": ("even", "odd")[whole & 1], "move": move}

    def source(self, step: Step) -> str:
        """Return what set E: one operand, several, the floor, or nothing."""
        names = list(self.names) if self.terms <= FEW else [*self.names] * self.terms
        found = [name for name, term in zip(names, step.terms, strict=True) if term.live and term.exp == step.exp]
        if step.c is not None and step.c.significand and step.c.exp == step.exp:
            found.append("c")
        if not found:
            return "nothing" if self.plan.floor is None else "floor"
        return found[0] if len(found) == 1 else "shared"

    def operand_points(self, step: Step) -> list[Point]:
        """Return how far each live operand is shifted, and what is left of it."""
        assert step.exp is not None and step.c is not None and step.aligned_c is not None and step.lsb_exp is not None
        given = [
            ("term", term.significand, term.exp, term.frac_bits, got)
            for term, got in zip(step.terms, step.aligned, strict=True)
            if term.live
        ]
        if step.c.significand:
            given.append(("c", step.c.significand, step.c.exp, step.c.frac_bits, step.aligned_c))
        out: dict[tuple[str, str, str], Point] = {}
        for name, significand, exp, frac_bits, got in given:
            places = exp - frac_bits - step.lsb_exp
            lost = places < 0 and significand & ((1 << -places) - 1)
            kept = "cancelled" if not significand else "exact" if not lost else "cut" if got else "gone"
            distance = self.distance(min(step.exp - exp, self.most))
            out[name, distance, kept] = {"operand": name, "distance": distance, "kept": kept}
        return list(out.values())

    def settle(self, axes: Sequence[str], bins: Sequence[Bin]) -> Mapping[Bin, Settled]:
        """Return the bins that are proved to be out of reach."""
        return self.proofs.settle(axes, bins)
