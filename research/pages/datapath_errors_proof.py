"""The section on exact product sums of the page of datapath errors: widths from the spec, rows, and a smallest row that loses a bit."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from emu.engines.exact.datapath import dot
from emu.engines.exact.decode import decode_code
from emu.pages.render import Bold
from emu.spec import get
from emu.spec.datapath import DatapathPlan, resolve
from emu.spec.reach import reach
from research.datapath.proof import BLOCK, REPORTED, SCALE

UNIFORM = ("e1m2", "e1m2")


def proof_figures(proof: dict[str, Any]) -> dict[str, Any]:
    """Return the numbers of the derivation for the uniform grid, each from the spec, and the tables of the section."""
    plan = resolve("nv_like_exact", *UNIFORM, SCALE, BLOCK)
    facts = _of(proof, " x ".join(UNIFORM))
    element, scale, reported = reach(plan.a), reach(get("format", SCALE)), resolve(REPORTED)
    return {
        "plan": plan,
        "facts": facts,
        "element": element,
        "scale": scale,
        "product": int((element.largest / Fraction(2) ** element.lsb_exp) ** 2),
        "term": int((element.largest * scale.largest) ** 2 * plan.group / Fraction(2) ** facts["lsb_exp"]),
        "largest_term": float(element.largest**2 * plan.group * scale.significand**2),
        "reported": reported,
        "e2m1": _of(proof, "e2m1 x e2m1"),
        "e2m1_row": _of(proof, "e2m1 x e2m1", "rows"),
        "uniform": facts,
        "uniform_row": _of(proof, " x ".join(UNIFORM), "rows"),
        "widths": _widths(proof),
        "block": BLOCK,
        "pairs": _pairs(proof),
        "wider": resolve("nv_like_exact", reported.a, reported.b, reported.scale, reported.block),
        "loss": _loss(proof),
    }


def _of(proof: dict[str, Any], pair: str, table: str = "pairs") -> dict[str, Any]:
    found: dict[str, Any] = next(item for item in proof[table] if item["pair"] == pair)
    return found


def _widths(proof: dict[str, Any]) -> tuple[Any, ...]:
    """Return head, rows and number columns: lost cancelling sums by operands and width of the adder."""
    found = {(item["pair"], item["adder_bits"]): item for item in proof["widths"]}
    pairs, widths = (list(dict.fromkeys(key[place] for key in found)) for place in (0, 1))
    rows = [(pair, *(f"{found[pair, bits]['lost']} (F = {found[pair, bits]['frac_bits']})" for bits in widths)) for pair in pairs]
    return ("operands", *(f"{bits} bits" for bits in widths)), rows, range(1, 1 + len(widths))


def _pairs(proof: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Return a row of widths for each pair of operands; bold: fits the reported adder. Last: the cancelling rows lost with its F."""
    lost = {item["pair"]: str(item["cancelling"]["nv_like"]) for item in proof["rows"]}
    return [
        (
            item["pair"],
            f"2^{item['product_lsb_exp']}",
            f"{item['group_sum']}, {item['group_sum'].bit_length()}",
            str(item["term_bits"]),
            str(item["integer_bits"]),
            str(item["frac_bits"]),
            Bold(item["adder_bits"]) if item["adder_bits"] <= proof["reported_adder_bits"] else str(item["adder_bits"]),
            str(item["reported_adder_bits"]),
            f"E = {item['reported_exact_up_to']}" + (" (always)" if item["reported_exact_up_to"] == item["largest_exp"] else ""),
            f"{item['fixed_point_bits']} bits",
            str(item["largest_int64_k"]),
            lost[item["pair"]],
        )
        for item in proof["pairs"]
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
    return lines


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
