"""The section on exact product sums of the page of datapath errors: widths from the spec, rows, and a smallest row that loses a bit."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from emu.docgen.markdown import fence, prose, table
from emu.engines.exact.datapath import dot
from emu.engines.exact.decode import decode_code
from emu.spec import get
from emu.spec.datapath import DatapathPlan, resolve
from emu.spec.reach import reach
from research.datapath.proof import BLOCK, REPORTED, SCALE

UNIFORM = ("e1m2", "e1m2")


def proof_lines(proof: dict[str, Any]) -> list[str]:
    """Return the lines of the section."""
    return [
        "## When is the product sum exact?",
        "",
        *_derivation(proof),
        "",
        *_pairs(proof),
        "",
        *_rows(proof),
        "",
        *_loss(proof),
    ]


def _derivation(proof: dict[str, Any]) -> list[str]:
    """Write the derivation for the uniform grid with the numbers of the spec."""
    plan = resolve("nv_like_exact", *UNIFORM, SCALE, BLOCK)
    facts = _of(proof, " x ".join(UNIFORM))
    return [
        prose(
            f"**{plan.step} products of E1M2 under UE4M3 scales, in the {proof['reported_adder_bits']} bits of ",
            "the reported FP4 adder.** ",
            "Every number below is computed from the facts of the spec (`emu/spec/datapath.py`); a test derives ",
            "them again from all pairs of ",
            "codes and all scale codes, as fractions.",
        ),
        "",
        *_units(plan, facts),
        *_adder(plan, facts, proof),
        "",
        prose(
            "What is exact is the product sum. C is cut at 2^(E - F) too, and a C of ",
            f"2^{facts['largest_exp'] + 1} or more raises E above ",
            f"{facts['largest_exp']}: then the finest product bits go as well.",
        ),
    ]


def _units(plan: DatapathPlan, facts: dict[str, Any]) -> list[str]:
    """Say what every product, group sum and term is a multiple of, and how large it gets."""
    element, scale = reach(plan.a), reach(get("format", SCALE))
    product = int((element.largest / Fraction(2) ** element.lsb_exp) ** 2)
    term = int((element.largest * scale.largest) ** 2 * plan.group / Fraction(2) ** facts["lsb_exp"])
    return [
        prose(
            f"1. Every E1M2 value is a multiple of 2^{element.lsb_exp}, at most {element.largest}; a product is a multiple of ",
            f"2^{2 * element.lsb_exp}, at most {product} of them. The sum of a group of {plan.group} is exact: at ",
            f"most {facts['group_sum']} ",
            f"of them, {facts['group_sum'].bit_length()} bits and a sign.",
        ),
        prose(
            f"2. Every UE4M3 scale is a multiple of 2^{scale.lsb_exp}, at most {scale.largest}. A term, group sum x two scales, is a ",
            f"multiple of 2^{facts['lsb_exp']} and at most {term} of them, {term.bit_length()} bits; its ",
            f"significand alone has {facts['term_bits']}.",
        ),
        prose(
            f"3. The exponent of a term is that of its scales, at most {scale.max_exp} + {scale.max_exp} = ",
            f"{facts['largest_exp']}. A term is cut ",
            f"at 2^(E - F), E the largest exponent. While E <= {facts['largest_exp']} nothing is cut when {facts['largest_exp']} - F <= ",
            f"{facts['lsb_exp']}: **F = {facts['frac_bits']}**.",
        ),
    ]


def _adder(plan: DatapathPlan, facts: dict[str, Any], proof: dict[str, Any]) -> list[str]:
    """Add up the width of the adder, beside the reported one, and the fixed-point alternative."""
    element, scale, reported = reach(plan.a), reach(get("format", SCALE)), resolve(REPORTED)
    term = element.largest**2 * plan.group * scale.significand**2
    return [
        prose(
            f"4. In units of 2^E a term is at most {float(term):.2f}; {plan.step // plan.group} terms and C, ",
            "which stays below 2, stay below ",
            f"2^{facts['integer_bits']}: **I = {facts['integer_bits']}**.",
        ),
        prose(
            f"5. The adder has {facts['frac_bits']} + {facts['integer_bits']} + 1 sign = **{facts['adder_bits']} ",
            "bits**. The reported one for ",
            f"E2M1 has {reported.frac_bits} + {reported.integer_bits} + 1 = {reported.adder_bits}. An E2M1 ",
            "product sum is not always exact in ",
            f"them: it needs {_of(proof, 'e2m1 x e2m1')['adder_bits']}.",
        ),
        prose(
            f"6. As one fixed-point number with the unit 2^{facts['lsb_exp']} a sum needs no exponent at all: ",
            f"{facts['fixed_point_bits']} bits for ",
            f"{plan.step} products, and int64 holds every sum up to **K = {facts['largest_int64_k']}**, in any order.",
        ),
    ]


def _of(proof: dict[str, Any], pair: str) -> dict[str, Any]:
    found: dict[str, Any] = next(item for item in proof["pairs"] if item["pair"] == pair)
    return found


def _pairs(proof: dict[str, Any]) -> list[str]:
    head = (
        "operands, UE4M3",
        "product unit",
        "group sum, bits",
        "term bits",
        "I",
        "F exact",
        "adder, F exact",
        "adder, F = 35",
        "F = 35 exact up to",
        "fixed point",
        "K in int64",
    )
    rows = [
        (
            item["pair"],
            f"2^{item['product_lsb_exp']}",
            f"{item['group_sum']}, {item['group_sum'].bit_length()}",
            str(item["term_bits"]),
            str(item["integer_bits"]),
            str(item["frac_bits"]),
            f"**{item['adder_bits']}**" if item["adder_bits"] <= proof["reported_adder_bits"] else str(item["adder_bits"]),
            str(item["reported_adder_bits"]),
            f"E = {item['reported_exact_up_to']}" + (" (always)" if item["reported_exact_up_to"] == item["largest_exp"] else ""),
            f"{item['fixed_point_bits']} bits",
            str(item["largest_int64_k"]),
        )
        for item in proof["pairs"]
    ]
    return [
        prose(
            f"All operand pairs, {resolve(REPORTED).step} products, blocks of {BLOCK}; bold: fits the ",
            f"{proof['reported_adder_bits']} bits of `{proof['reported']}`.",
        ),
        "",
        *table(head, rows),
    ]


def _rows(proof: dict[str, Any]) -> list[str]:
    count = proof["rows"][0]["rows"]
    rows = [
        (item["pair"], *(str(item[kind][name]) for kind in ("uniform", "cancelling") for name in ("nv_like", "nv_like_exact")))
        for item in proof["rows"]
    ]
    head = ("operands", "uniform codes: F = 35", "F exact", "cancelling group: F = 35", "F exact")
    return [
        prose(
            f"On rows: of {count} drawn instructions, how many results are not the exact product sum rounded once ",
            "toward zero. In the last two columns one ",
            "group cancels under large scales and a few products stand under the smallest: random codes alone show ",
            "nothing.",
        ),
        "",
        *table(head, rows, numbers=(1, 2, 3, 4)),
    ]


def _loss(proof: dict[str, Any]) -> list[str]:
    """Show the smallest row on which the reported adder loses a bit of an E2M1 sum."""
    row = proof["loss"]["row"]
    reported = resolve(REPORTED)
    wider = resolve("nv_like_exact", reported.a, reported.b, reported.scale, reported.block)
    a, b, scale_a, scale_b = row
    codes = ["".join(f"{item:X}" for item in part) for part in (a, b)]
    codes += [bytes(part).hex().upper() for part in (scale_a, scale_b)]
    lines = [
        f"emu explain dot {REPORTED} --sa {codes[2]} --sb {codes[3]} \\",
        f"    --a {codes[0]} \\",
        f"    --b {codes[1]}",
        *_products(row, reported),
    ]
    for plan in (reported, wider):
        step = dot(a, b, scale_a, scale_b, 0, plan).steps[0]
        value = _value(decode_code(step.code, plan.d).signed)
        lines.append(f"F = {plan.frac_bits}, E = {step.exp}: unit 2^{step.lsb_exp}, terms {step.aligned}, D = 0x{step.code:08X} = {value}")
    return [
        prose(
            f"**E2M1 needs {wider.adder_bits}: a row that loses a bit in {reported.adder_bits}.** Found among the ",
            "rows above and made as small ",
            "as single steps can. What stands under the large scales fixes E; what stands under the smallest is ",
            "cut, and D is one ulp off. The ",
            "last line is the exact sum, rounded once toward zero.",
        ),
        "",
        *fence(lines),
    ]


def _products(row: list[list[int]], plan: DatapathPlan) -> list[str]:
    """Return one line per product that is not zero."""
    lines = []
    for k, (x, y) in enumerate(zip(row[0], row[1], strict=True)):
        values = [decode_code(word, fmt).signed for word, fmt in ((x, plan.a), (y, plan.b))]
        if values[0] * values[1]:
            assert plan.scale is not None
            scales = [decode_code(part[k // plan.block], plan.scale).signed for part in row[2:]]
            lines.append(f"k = {k:<3} {values[0]} * {values[1]} * {_two(scales[0])} * {_two(scales[1])}")
    return lines


def _two(value: Fraction) -> str:
    """Return a power of two as such, another number as a fraction."""
    if value.numerator == 1 or value.denominator == 1:
        whole = max(value.numerator, value.denominator)
        if whole & (whole - 1) == 0:
            return f"2^{(whole.bit_length() - 1) * (1 if value.denominator == 1 else -1)}"
    return str(value)


def _value(value: Fraction) -> str:
    twos = value.denominator.bit_length() - 1
    return f"{value.numerator} * 2^-{twos}" if twos else str(value)
