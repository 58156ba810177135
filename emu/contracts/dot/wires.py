"""A fused step as its wires: products, group sums, scales, terms, E, aligned terms, their sum, the rounded result. One of them is wrong.

With none wrong this is the datapath of the reference model (tests/contracts/test_contracts_wires.py). For datapaths that align their terms
and C to one E; others have facts, not wires.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

from emu.contracts.dot.rows import DotRow
from emu.contracts.wires import Edit, edits
from emu.engines.exact.datapath import special_code
from emu.engines.exact.datapath_round import shift
from emu.engines.exact.datapath_special import special_result
from emu.engines.exact.datapath_terms import Triple, decode_triple, products_of, terms_of
from emu.engines.exact.encode import code_of_one
from emu.engines.exact.round import goes_up
from emu.engines.exact.value import power_of_two
from emu.spec import derive
from emu.spec.datapath import DatapathPlan
from emu.spec.models.format import FloatFacts
from emu.spec.registry import get

Seen = Callable[[str, int, int], int]  # wire, lane, value -> the value that the machine has there
STAGES = {
    "product": "sg (products)",
    "fixed": "sg (products)",
    "sum": "sg (group sums)",
    "both": "tm (scales)",
    "power": "tm (scales)",
    "term": "tm (terms)",
    "named": "e (exponents of terms)",
    "e": "e (largest exponent)",
    "aligned": "xa, xc (alignment)",
    "c": "xa, xc (alignment)",
    "total": "s (sum)",
    "live": "e (largest exponent)",
    "c_live": "e (largest exponent)",
    "leading": "rs (last rounding)",
    "kept": "rs (last rounding)",
    "result": "rs (last rounding)",
}
NAMES = {
    "product": "significands of products",
    "fixed": "products",
    "sum": "sums of groups",
    "both": "product of the significands of both scales",
    "power": "sum of the exponents of both scales",
    "term": "terms",
    "named": "exponents of terms",
    "e": "largest exponent",
    "aligned": "aligned terms",
    "c": "aligned C",
    "total": "sum of the aligned terms",
    "live": "terms that count for the largest exponent",
    "c_live": "C as it counts for the largest exponent",
    "leading": "place of the leading bit",
    "kept": "rounded significand",
    "result": "result without its sign",
}
EXP_BITS = 10
ONE_BIT = {"zero": "none does", "one": "all do, zeros too", "flip": "the others do"}


def has_wires(plan: DatapathPlan) -> bool:
    """Tell whether a datapath is one aligned sum with C in it."""
    return (
        plan.frac_bits is not None and plan.late_c is None and plan.facts.late_c == "none" and plan.accumulator is None
        and plan.facts.scale.apply in ("none", "group") and plan.facts.align.exponent == "nominal"
    )  # fmt: skip


def widths(plan: DatapathPlan) -> dict[str, tuple[int, bool]]:
    """Return wire -> (bits, is it signed)."""
    grouped = plan.facts.scale.apply == "group"
    found = plan.widths
    out = {"product": (found.product_bits + 1, True)}
    if grouped:
        scale = 2 * (plan.scale.facts.frac_bits + 1) if plan.scale is not None and isinstance(plan.scale.facts, FloatFacts) else 1
        out |= {
            "fixed": (found.product_bits + 1, True),
            "sum": (found.group_sum_bits + 1, True),
            "both": (scale, False),
            "power": (EXP_BITS - 1, True),
            "term": (found.term_bits + 1, True),
        }
    assert plan.frac_bits is not None
    adder = plan.adder_bits or plan.frac_bits + plan.integer_bits_needed + 1
    out |= {"named": (EXP_BITS, True), "e": (EXP_BITS, True), "aligned": (adder, True), "c": (adder, True), "total": (adder, True)}
    out |= {"live": (1, False), "c_live": (1, False)}
    return out | {"leading": (7, False), "kept": (plan.facts.round.keep + 2, False), "result": (derive.codes(plan.d).bits - 1, False)}


def wires(plan: DatapathPlan) -> Iterator[tuple[str, str, Callable[[DotRow], int]]]:
    """Yield (text, stage, code of a row) for every wire that is wrong in every lane."""
    for wire, (bits, signed) in widths(plan).items():
        for edit in edits(bits):
            yield _said(NAMES[wire], bits, edit), STAGES[wire], _answers(plan, wire, bits, signed, edit, None)
    for part, words in (("scales", "a NaN scale is read as a number"), ("elements", "NaN and Inf elements are read as numbers"),
                        ("c", "NaN and Inf in C are read as numbers")):  # fmt: skip
        if part != "scales" or plan.scale is not None:
            yield words, "specials", lambda row, part=part: fused(row, plan, lambda name, lane, value: value, part)  # type: ignore[misc]


def _said(wire: str, bits: int, edit: Edit) -> str:
    return f"{wire}: {ONE_BIT[edit.kind]}" if bits == 1 else edit.words(wire)


def wires_of_one_lane(plan: DatapathPlan) -> Iterator[tuple[str, str, Callable[[DotRow], int]]]:
    """Yield (text, stage, code of a row) for every wire that is wrong in one lane alone."""
    groups = plan.step // plan.group if plan.facts.scale.apply == "group" else plan.step
    lanes = {
        "product": plan.step,
        "fixed": plan.step,
        "sum": groups,
        "both": groups,
        "power": groups,
        "term": groups,
        "aligned": groups,
        "named": groups,
    }
    known = widths(plan)
    for wire, count in lanes.items():
        if wire not in known:
            continue
        bits, signed = known[wire]
        for lane in range(count if count > 1 else 0):
            for edit in edits(bits):
                yield edit.words(f"{NAMES[wire]}, number {lane}"), STAGES[wire], _answers(plan, wire, bits, signed, edit, lane)


def _answers(plan: DatapathPlan, wire: str, bits: int, signed: bool, edit: Edit, lane: int | None) -> Callable[[DotRow], int]:
    def seen(name: str, at: int, value: int) -> int:
        return edit(value, bits, signed) if name == wire and lane in (None, at) else value

    return lambda row: fused(row, plan, seen)


def fused(row: DotRow, plan: DatapathPlan, seen: Seen, blind: str = "") -> int:
    """Return the code of a row: a chain of fused steps. seen: what the machine has on each wire.

    blind: operands whose NaN and Inf are not noticed: scales, elements or c.
    """
    each_a, each_b = ([code for code in scales for _ in range(plan.block)] for scales in (row.scale_a, row.scale_b))
    c = row.c
    for start in range(0, len(row.a), plan.step):
        part = slice(start, start + plan.step)
        c = _step(row.a[part], row.b[part], each_a[part], each_b[part], c, plan, seen, blind)
    return c


def _step(
    a: Sequence[int], b: Sequence[int], scale_a: Sequence[int], scale_b: Sequence[int], c: int, plan: DatapathPlan, seen: Seen, blind: str
) -> int:
    special = _special(a, b, scale_a, scale_b, c, plan, blind)
    if special is not None:
        return special_code(special, plan)
    products = [item._replace(significand=seen("product", lane, item.significand)) for lane, item in enumerate(products_of(a, b, plan))]
    addend = decode_triple(c, plan.c, plan.facts.subnormal.c)
    terms = (
        _grouped(products, scale_a, scale_b, plan, seen, blind)
        if plan.facts.scale.apply == "group"
        else [(term.significand, term.exp, term.frac_bits, term.live) for term in terms_of(products, (), (), plan)]
    )
    terms = [
        (value, seen("named", lane, exp), frac + seen("named", lane, exp) - exp, live)
        for lane, (value, exp, frac, live) in enumerate(terms)
    ]
    named = [exp for lane, (_, exp, _, live) in enumerate(terms) if seen("live", lane, int(live))]
    named += [addend.exp] if seen("c_live", 0, int(addend.significand != 0)) else []
    e = seen("e", 0, max(named + ([] if plan.floor is None else [plan.floor]), default=0))
    assert plan.frac_bits is not None
    unit, mode = e - plan.frac_bits, plan.align_direction
    aligned = [seen("aligned", lane, shift(value, exp - frac - unit, mode)) for lane, (value, exp, frac, _) in enumerate(terms)]
    aligned_c = seen("c", 0, shift(addend.significand, addend.exp - addend.frac_bits - unit, mode))
    total = sum(aligned) + aligned_c
    if plan.facts.align.beyond == "wrap" and plan.adder_bits is not None:
        half = 1 << (plan.adder_bits - 1)
        total = (total + half) % (2 * half) - half
    return _rounded(seen("total", 0, total), unit, plan, seen)


def _special(
    a: Sequence[int], b: Sequence[int], scale_a: Sequence[int], scale_b: Sequence[int], c: int, plan: DatapathPlan, blind: str
) -> Any:
    """What NaN and Inf decide, some operands seen as ones."""
    if blind == "elements":
        a, b = ((code_of_one(fmt),) * len(codes) for fmt, codes in ((plan.a, a), (plan.b, b)))
    if blind == "c":
        c = 0
    if blind == "scales" and plan.scale is not None:
        scale_a, scale_b = ((code_of_one(plan.scale),) * len(codes) for codes in (scale_a, scale_b))
    return special_result(a, b, scale_a, scale_b, c, plan)


def _grouped(
    products: Sequence[Triple], scale_a: Sequence[int], scale_b: Sequence[int], plan: DatapathPlan, seen: Seen, blind: str
) -> list[tuple[int, int, int, bool]]:
    """Return (value, exponent, fraction bits, live) of each group times its scales."""
    out = []
    keep = plan.facts.subnormal.scales
    for number, start in enumerate(range(0, len(products), plan.group)):
        part = products[start : start + plan.group]
        fixed = [seen("fixed", start + at, item.significand << (item.exp - plan.product_exp)) for at, item in enumerate(part)]
        total = seen("sum", number, sum(fixed))
        live = any(item.significand for item in part) if plan.facts.align.cancelled_group_counts == "yes" else total != 0
        both, power, frac = 1, 0, 0
        if plan.scale is not None:
            nan = blind != "scales" and any(
                derive.is_nan_code(code & ((1 << derive.codes(plan.scale).bits) - 1), plan.scale)
                for code in (scale_a[start], scale_b[start])
            )
            x, y = (decode_triple(code, plan.scale, keep) for code in (scale_a[start], scale_b[start]))
            both, power, frac = (0 if nan else x.significand * y.significand), (0 if nan else x.exp + y.exp), x.frac_bits + y.frac_bits
        both, exp = seen("both", number, both), seen("power", number, power)
        raised = int(plan.facts.align.exponent_raise)
        out.append(
            (
                seen("term", number, total * both),
                exp + raised,
                plan.product_frac_bits + frac - plan.product_exp + raised,
                live and both != 0,
            )
        )
    return out


def _rounded(total: int, unit: int, plan: DatapathPlan, seen: Seen) -> int:
    """Return the code of total * 2^unit."""
    facts, codes = plan.facts, derive.codes(plan.d)
    to: Any = plan.d.facts
    sign, magnitude, code = int(total < 0), abs(total), 0
    if magnitude:
        exp = max(seen("leading", 0, magnitude.bit_length() - 1) + unit, 1 - to.bias)
        ulp = power_of_two(exp - facts.round.keep)
        units = magnitude * power_of_two(unit) / ulp
        whole = units.numerator // units.denominator
        lost: Fraction = units - whole
        whole += goes_up(lost, ulp, magnitude * power_of_two(unit), sign, whole % 2 == 1, get("rounding", facts.round.mode), None)
        significand = seen("kept", 0, whole) << (to.frac_bits - facts.round.keep)
        hidden = 1 << to.frac_bits
        code = significand if significand < hidden else ((exp + to.bias) << to.frac_bits) + significand - hidden
    if code > codes.max_code:
        assert codes.inf is not None
        code = codes.inf if facts.round.overflow == "inf" else codes.max_code
    if facts.subnormal.result == "flush" and code >> to.frac_bits == 0:
        code = 0
    code = seen("result", 0, code) if total else 0
    return 0 if code == 0 and facts.special.zero == "plus" else code | (codes.sign_bit if sign else 0)
