"""Rows of a datapath that the reference model computes: special values, every stage of one step, and the worked examples of the file."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from emu.contracts.examples import decimal_text, digits, exact_text, split
from emu.engines.exact.datapath import dot
from emu.engines.exact.datapath_step import Step
from emu.engines.exact.decode import decode_code
from emu.engines.exact.encode import code_of_one, encode_value
from emu.engines.exact.value import finite, power_of_two
from emu.pages.frame import Data
from emu.pages.grid import TABLE_BITS
from emu.pages.render import Code
from emu.spec import Datapath, Format, derive
from emu.spec.datapath import DatapathPlan, resolve
from emu.spec.models.datapath import DotExample, ValueExample, WidthExample
from emu.spec.reach import frac_bits_of

MOST_TERMS = 16


class Operands:
    """Codes for one instruction, to be changed one by one; at first all elements 0, scales 1, C +0."""

    def __init__(self, plan: DatapathPlan) -> None:
        self.plan = plan
        count = plan.facts.k // plan.block if plan.block else 0
        one = code_of_one(plan.scale) if plan.scale is not None else 0
        self.a, self.b = [0] * plan.facts.k, [0] * plan.facts.k
        self.scale_a, self.scale_b = [one] * count, [one] * count
        self.c = 0

    def result(self) -> int:
        """Return the code of D."""
        return dot(self.a, self.b, self.scale_a, self.scale_b, self.c, self.plan).code


def special_rows(plan: DatapathPlan) -> list[tuple[str, Any]]:
    """Return what comes out of special operands, computed by the exact engine for one choice of operands."""
    return [(what, _shown(operands.result(), plan.d)) for what, operands in _cases(plan)]


def _cases(plan: DatapathPlan) -> list[tuple[str, Operands]]:
    """Return (in words, operands) of the special rows that the formats allow."""
    a, c = derive.codes(plan.a), derive.codes(plan.c)
    one_a, one_b, one_c = code_of_one(plan.a), code_of_one(plan.b), code_of_one(plan.c)
    found = [
        _case(plan, "all products 0, C = -0", c=c.sign_bit),
        _case(plan, "one product 1, C = -1", a=one_a, b=one_b, c=one_c | c.sign_bit),
    ]
    if plan.scale is not None and derive.codes(plan.scale).nan:
        found.append(_case(plan, "a NaN scale over elements that are all 0", scale_a=derive.codes(plan.scale).nan[0]))
    if a.nan:
        found.append(_case(plan, "a NaN element", a=a.nan[0]))
    if a.inf is not None:
        found.append(_case(plan, "+Inf * 0", a=a.inf))
        found.append(_case(plan, "+Inf * 1", a=a.inf, b=one_b))
        found.append(_case(plan, "+Inf * 1, C = -Inf", a=a.inf, b=one_b, c=c.sign_bit | (c.inf or 0)))
    found.append(_case(plan, "C = NaN", c=c.nan[0]))
    if c.inf is not None:
        found.append(_case(plan, "C = -Inf", c=c.sign_bit | c.inf))
    return [*found, _case(plan, "C = the smallest subnormal, all products 0", c=1), *_largest(plan)]


def _case(plan: DatapathPlan, what: str, c: int = 0, **first: int) -> tuple[str, Operands]:
    """Return a row that changes C and the first code of the named operands."""
    operands = Operands(plan)
    operands.c = c
    for name, value in first.items():
        getattr(operands, name)[0] = value
    return what, operands


def _largest(plan: DatapathPlan) -> list[tuple[str, Operands]]:
    """Return the rows of full scale: without and with the largest scales."""
    found = []
    for what, scaled in (("every element the largest, C the largest", False), ("the same with the largest scales", True)):
        operands = Operands(plan)
        operands.a, operands.b = ([derive.codes(fmt).max_code] * plan.facts.k for fmt in (plan.a, plan.b))
        operands.c = derive.codes(plan.c).max_code
        if scaled and plan.scale is not None:
            top = [derive.codes(plan.scale).max_code] * (plan.facts.k // plan.block)
            operands.scale_a, operands.scale_b = top, top
        if not scaled or plan.scale is not None:
            found.append((what, operands))
    return found


def _shown(number: int, fmt: Format) -> tuple[Code, str]:
    return Code(f"0x{number:0{digits(fmt)}X}"), f" ({decimal_text(decode_code(number, fmt))})"


def worked_step(datapath: Datapath, plan: DatapathPlan) -> Data:
    """Return every stage of the first step: of the file's worked example if it has one with codes, else of made-up operands."""
    example = next((item for item in datapath.expect if isinstance(item, DotExample)), None)
    if example is None:
        operands = _made_up(plan)
    else:
        plan = resolve(datapath, example.a_format, example.b_format, example.scale_format, example.block)
        operands = _of_example(example, plan)
    done = dot(operands.a, operands.b, operands.scale_a, operands.scale_b, operands.c, plan)
    step = done.steps[0]
    return {
        "example": example,
        "given": _given(operands, plan),
        **_terms(step, plan),
        "sums": _sums(step, plan),
        "result": _shown(done.code, plan.d),
        "count": len(done.steps),
    }


def _given(operands: Operands, plan: DatapathPlan) -> list[str]:
    """Return the operands as rows of hexadecimal text."""
    given = [("a", operands.a, plan.a), ("b", operands.b, plan.b)]
    given += [("scale_a", operands.scale_a, plan.scale), ("scale_b", operands.scale_b, plan.scale)] if plan.scale else []
    rows = [
        f"{name:8} {fmt.id:6} {''.join(f'{item:0{digits(fmt)}X}' + ('' if digits(fmt) == 1 else ' ') for item in codes)}"
        for name, codes, fmt in given
    ]
    return [*rows, f"{'c':8} {plan.c.id:6} {operands.c:0{digits(plan.c)}X}"]


def _terms(step: Step, plan: DatapathPlan) -> Data:
    """Return one row per term: exact sum, exponent, and what is left of it in the adder, where it has one."""
    grouped, cut = plan.facts.scale.apply == "group", plan.frac_bits is not None
    rows = []
    for number, term in enumerate(step.terms[:MOST_TERMS]):
        value = exact_text(finite(term.significand * power_of_two(term.exp - term.frac_bits)))
        row: list[Any] = [number, term.group_sum, value, term.exp, "yes" if term.live else "no"]
        rows.append([*row, step.aligned[number]] if cut else row)
    header = ["group", "sum of products, integer"] if grouped else ["product", "significand"]
    header += ["term, exact", "exponent", "live"] + [f"aligned, unit 2^{step.lsb_exp}"] * cut
    return {"terms_header": header, "terms": rows, "more": max(len(step.terms) - MOST_TERMS, 0)}


def _sums(step: Step, plan: DatapathPlan) -> list[tuple[str, Any]]:
    """Return the scalars of a step, those that it has."""
    rows: list[tuple[str, Any]] = []
    if step.exp is not None:
        rows.append(("E", str(step.exp)))
    if step.parts:
        name = "parts" if plan.late_c is not None else "P, rounded" if plan.facts.late_c == "add" else "P"
        rows.append((name, [_part(part, plan) for part in step.parts]))
    rows += [("s = scale_a * scale_b", _shown(number, plan.d)) for number in step.scale_codes]
    rows += [("t = P * s", _shown(number, plan.d)) for number in step.term_codes]
    rows += [("acc", _shown(step.code, plan.d))] if plan.facts.promote != "none" else []
    if step.total is not None and step.lsb_exp is not None:
        value = exact_text(finite(step.total * power_of_two(step.lsb_exp)))
        if plan.frac_bits is None:
            rows.append(("sum, exact", value))
        else:
            rows += [(f"C, aligned, unit 2^{step.lsb_exp}", str(step.aligned_c))] if step.aligned_c is not None else []
            rows.append((f"sum, unit 2^{step.lsb_exp}", f"{step.total}: {abs(step.total).bit_length()} bits and a sign; {value}"))
    return rows


def _part(part: int, plan: DatapathPlan) -> Any:
    return part if plan.late_c is not None else _shown(part, plan.d)


def _of_example(example: DotExample, plan: DatapathPlan) -> Operands:
    operands = Operands(plan)
    operands.a, operands.b = split(example.a, plan.a), split(example.b, plan.b)
    if plan.scale is not None:
        operands.scale_a, operands.scale_b = (split(text or "", plan.scale) for text in (example.scale_a, example.scale_b))
    operands.c = int(example.c or "0x0", 16)
    return operands


def _made_up(plan: DatapathPlan) -> Operands:
    """Return operands that look like data: every code of the format in a fixed disorder, scales near 1, C = -5/4."""
    operands = Operands(plan)
    for row, fmt, first in ((operands.a, plan.a, 3), (operands.b, plan.b, 5)):
        good = _likely_codes(fmt)
        row[:] = [good[(first + number * (7 + number // 5)) % len(good)] for number in range(len(row))]
    for row, step in ((operands.scale_a, 3), (operands.scale_b, 4)):
        unit = 1 << max(frac_bits_of(plan.scale) - 3, 0) if plan.scale is not None else 1
        row[:] = [item + ((step * number) % 7 - 3) * unit for number, item in enumerate(row)]
    operands.c = encode_value(finite(Fraction(-5, 4)), plan.c)
    return operands


def _likely_codes(fmt: Format) -> list[int]:
    """Return codes to choose operands from: all finite ones of a narrow format, some from 1/4 to 4 of a wide one."""
    known = derive.codes(fmt)
    if known.bits <= TABLE_BITS:
        return list(derive.finite_codes(fmt))
    low, high = (encode_value(finite(end), fmt) for end in (Fraction(1, 4), Fraction(4)))
    magnitudes = [low + (high - low) * number // 61 for number in range(61)]
    return [magnitude | (known.sign_bit if number % 2 else 0) for number, magnitude in enumerate(magnitudes)]


def examples(datapath: Datapath) -> Data:
    """Return the worked examples: equal elements, widths, rows of codes."""
    widths = [item for item in datapath.expect if isinstance(item, WidthExample)]
    keys = [key for key in WidthExample.model_fields if any(getattr(item, key) is not None for item in widths)]
    header = [key.replace("_", " ") for key in keys]
    return {
        "example_values": [(item.every_a, item.every_b, item.d, item.why) for item in datapath.expect if isinstance(item, ValueExample)],
        "example_widths": (header, [[getattr(item, key) for key in keys] for item in widths]) if widths else None,
        "example_codes": [(item.why, _codes(item)) for item in datapath.expect if isinstance(item, DotExample)],
    }


def _codes(item: DotExample) -> list[str]:
    return [f"{name:12} {value}" for name, value in item.model_dump(exclude_none=True, exclude={"why"}).items()]
