"""explain dot: every stage of one dot product as plain data: products, terms, alignment with what each term lost, sum, rounding.

Integers that may pass 2^53 and exact values are text; codes are hex. Not here: text to read (trace_text).
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from emu.contracts.contract import stored_bits
from emu.contracts.dot.rows import DotRow, evaluate
from emu.contracts.rows import pack
from emu.contracts.text import bits_needed, code_text, dyadic, meaning, named, signed_hex, value_of, value_text, waves
from emu.engines.exact.datapath_stages import fixed_lsb_exp, stage_codes, stage_columns, sum_bits
from emu.engines.exact.datapath_step import Step
from emu.engines.exact.datapath_terms import Term, Triple, decode_operand, decode_triple, group_sum, products_of
from emu.engines.exact.value import Value, power_of_two
from emu.spec import derive
from emu.spec.datapath import DatapathPlan
from emu.spec.models import Format
from emu.spec.models.format import FloatFacts

Data = dict[str, Any]


def explain_dot(row: DotRow, plan: DatapathPlan) -> Data:
    """Return the trace of one row: `row`, `adder`, one entry of `steps` per fused step, `final` of an accumulator, `d`.

    A step holds: elements, c, special (or None), terms, parts, exp with its source, sum, round, stages (column -> hex), result.
    Raises: ShapeError, OperandError, OpenError as emu.engines.exact.datapath.dot.   Tests: tests/explain/test_explain_dot.py.
    """
    found = evaluate(row, plan)
    steps, c = [], row.c
    whole = plan.accumulator is not None and found.steps[0].special is not None
    size = len(row.a) if whole else plan.step
    for number, step in enumerate(found.steps):
        steps.append(_step(_slice(row, number * size, size, plan), c, step, number, plan))
        c = step.code if plan.accumulator is None else c
    out: Data = {"datapath": plan.datapath.id, "name": plan.name, "status": plan.datapath.status, "operands": _operands(plan)}
    out |= {"adder": _adder(plan), "row": row.texts(plan), "steps": steps}
    if plan.accumulator is not None and not whole:
        out["final"] = _final(found.accumulator or 0, row.c, found.code, plan)
    return out | {"d": code_text(found.code, plan.d), "d_value": meaning(found.code, plan.d)}


def _slice(row: DotRow, start: int, size: int, plan: DatapathPlan) -> tuple[int, DotRow]:
    """Return the part of a row that one step sees, with one scale code per element, and where it starts."""
    part = slice(start, start + size)
    each = [tuple(code for code in scales for _ in range(plan.block))[part] for scales in (row.scale_a, row.scale_b)]
    return start, DotRow(row.a[part], row.b[part], each[0], each[1], row.c)


def _operands(plan: DatapathPlan) -> Data:
    scale = None if plan.scale is None else plan.scale.id
    return {"a": plan.a.id, "b": plan.b.id, "scale": scale, "block": plan.block or None, "c": plan.c.id, "d": plan.d.id}


def _adder(plan: DatapathPlan) -> Data:
    align, late = plan.facts.align, plan.late_c
    return {
        "apply": plan.facts.scale.apply,
        "step": plan.step,
        "group": plan.group,
        "fraction_bits": "exact" if plan.frac_bits is None else plan.frac_bits,
        "integer_bits": plan.integer_bits,
        "bits": None if plan.facts.scale.apply == "promote" else sum_bits(plan),
        "floor": plan.floor,
        "rounding": align.rounding,
        "lsb_exp": fixed_lsb_exp(plan),
        "beyond": align.beyond,
        "late": None if late is None else {"split": plan.facts.split, "f2": late.f2, "drop_below": late.drop_below},
    }


def _step(part: tuple[int, DotRow], c: int, step: Step, number: int, plan: DatapathPlan) -> Data:
    start, row = part
    out: Data = {"step": number, "elements": [start, start + len(row.a) - 1]}
    if plan.accumulator is None:
        out["c"] = {"code": code_text(c, plan.c), "value": meaning(c, plan.c)}
    out["special"] = None
    if step.special is not None:
        out["special"] = {"result": step.special, "because": cause_of(row, c, start, plan)}
    elif plan.facts.scale.apply == "promote":
        out |= _promoted(row, start, step, plan)
    elif plan.late_c is not None:
        out |= _late(row, start, c, step, plan)
    else:
        out |= _aligned(row, start, step, plan)
    out["stages"] = {name: f"{code:x}" for name, code in stage_codes(step, number, plan).items()}
    if plan.accumulator is None or step.special is not None:
        out |= {"result": code_text(step.code, plan.d), "result_value": meaning(step.code, plan.d)}
    return out


def _aligned(row: DotRow, start: int, step: Step, plan: DatapathPlan) -> Data:
    """The terms of a step, where E comes from, the sum and its rounding."""
    assert step.lsb_exp is not None and step.total is not None
    products = products_of(row.a, row.b, plan)
    terms = []
    for i, term in enumerate(step.terms):
        chosen = range(i * plan.group, (i + 1) * plan.group)
        entry: Data = {"term": i, "elements": [start + chosen[0], start + chosen[-1]], **_products(row, products, chosen, start, plan)}
        entry |= _scaled(row, chosen[0], term, plan)
        terms.append(entry | _shifted(term.significand, term.exp - term.frac_bits, step.aligned[i], step.lsb_exp))
    out: Data = {"terms": terms, "exp": _source(step, plan), "lsb_exp": step.lsb_exp}
    if step.aligned_c is not None and step.c is not None:
        c = step.c
        out["aligned_c"] = {
            "live": c.significand != 0,
            "exp": c.exp,
            **_shifted(c.significand, c.exp - c.frac_bits, step.aligned_c, step.lsb_exp),
        }
    raw = sum(step.aligned) + (step.aligned_c or 0)
    out["sum"] = _sum(step.total, step.lsb_exp, plan, raw)
    if plan.facts.late_c == "add":
        out |= _late_add(step, plan)
    elif plan.accumulator is None:
        out["round"] = rounding_of(step.total, step.lsb_exp, step.code, plan)
    return out


def _products(row: DotRow, products: Sequence[Triple], chosen: range, start: int, plan: DatapathPlan) -> Data:
    found = []
    for k in chosen:
        product = products[k]
        if product.significand:
            entry = {"element": start + k, "a": code_text(row.a[k], plan.a), "a_value": meaning(row.a[k], plan.a)}
            entry |= {"b": code_text(row.b[k], plan.b), "b_value": meaning(row.b[k], plan.b), "product": dyadic(_triple_value(product))}
            found.append(entry)
    return {"products": found, "zero_products": len(chosen) - len(found)}


def _scaled(row: DotRow, first: int, term: Term, plan: DatapathPlan) -> Data:
    out: Data = {}
    if plan.facts.scale.apply == "group":
        unit = plan.product_exp - plan.product_frac_bits
        out = {"sum": term.group_sum, "sum_unit_exp": unit, "sum_value": dyadic(term.group_sum * power_of_two(unit))}
    out |= _scales(row, first, plan.scale)
    value = dyadic(term.significand * power_of_two(term.exp - term.frac_bits))
    out |= {"significand": term.significand, "exp": term.exp, "frac_bits": term.frac_bits, "value": value}
    return out | {"live": term.live, "cancelled": term.live and not term.significand}


def _scales(row: DotRow, first: int, scale: Format | None) -> Data:
    if scale is None:
        return {}
    out: Data = {}
    for name, code in (("scale_a", row.scale_a[first]), ("scale_b", row.scale_b[first])):
        out |= {name: code_text(code, scale), f"{name}_value": meaning(code, scale)}
    return out


def _shifted(significand: int, unit_exp: int, aligned: int, lsb_exp: int) -> Data:
    """How a term moves: left by shift, or right; the bits that fall off, lowest last, after as many zeros; the exact value that is lost."""
    places = unit_exp - lsb_exp
    lost = significand * power_of_two(unit_exp) - aligned * power_of_two(lsb_exp)
    dropped, wide = "", 0
    if places < 0 and significand:
        wide = min(-places, abs(significand).bit_length())
        dropped = f"{abs(significand) & ((1 << wide) - 1):0{wide}b}"
    out = {"unit_exp": unit_exp, "shift": places, "aligned": str(aligned), "dropped_bits": dropped}
    return out | {"dropped_zeros": -places - wide if dropped else 0, "lost": dyadic(lost)}


def _source(step: Step, plan: DatapathPlan) -> Data:
    """E and what set it: the names of the live terms that have it, C, the floor; None where the unit is fixed."""
    live = [(f"term {i}", term.exp) for i, term in enumerate(step.terms) if term.live]
    if step.c is not None and step.c.significand and plan.facts.align.include_c == "yes":
        live.append(("C", step.c.exp))
    largest = max((exp for _, exp in live), default=None)
    if step.exp is None:
        return {"value": None, "from": [], "largest_live": largest, "floor": plan.floor}
    names = [name for name, exp in live if exp == step.exp] or ["floor" if plan.floor is not None else "nothing live"]
    return {"value": step.exp, "from": names, "largest_live": largest, "floor": plan.floor}


def _sum(total: int, lsb_exp: int, plan: DatapathPlan, raw: int) -> Data:
    wide = sum_bits(plan)
    out = {"integer": str(total), "hex": signed_hex(total, wide), "bits": wide, "bits_used": bits_needed(total)}
    wrapped = plan.facts.align.beyond == "wrap" and raw != total
    return out | {"value": dyadic(total * power_of_two(lsb_exp)), "wrapped_from": str(raw) if wrapped else None}


def _late_add(step: Step, plan: DatapathPlan) -> Data:
    """P and D = P + C, both rounded."""
    assert step.total is not None and step.lsb_exp is not None
    (part,) = step.parts
    out: Data = {"round": rounding_of(step.total, step.lsb_exp, part, plan), "part": code_text(part, plan.d)}
    out["part_value"] = meaning(part, plan.d)
    if step.c is not None:
        items = (decode_triple(part, plan.d, plan.facts.subnormal.c), step.c)
        total = sum((_triple_value(item) for item in items), Fraction(0)) / power_of_two(step.lsb_exp)
        assert total.denominator == 1
        out["round_c"] = rounding_of(total.numerator, step.lsb_exp, step.code, plan)
    return out


def _late(row: DotRow, start: int, c: int, step: Step, plan: DatapathPlan) -> Data:
    """Interleaved parts, their join, and C by the second alignment."""
    late = plan.late_c
    assert late is not None and plan.frac_bits is not None and step.exp is not None and step.lsb_exp is not None
    assert step.total is not None and step.aligned_c is not None
    products = products_of(row.a, row.b, plan)
    parts = []
    for number in range(plan.facts.split):
        chosen = range(number, len(row.a), plan.facts.split)
        exps = [products[k].exp for k in chosen if products[k].significand]
        entry: Data = {"part": number, **_products(row, products, chosen, start, plan), "exp": max(exps, default=None)}
        if exps:
            alive = [products[k] for k in chosen if products[k].significand]
            entry |= _part_shifts(alive, entry["products"], max(exps) - plan.frac_bits)
        parts.append(entry | {"sum": str(step.parts[number])})
    addend = decode_triple(c, plan.c, plan.facts.subnormal.c)
    dropped = bool(addend.significand) and addend.exp < step.exp - late.drop_below
    moved = _shifted(addend.significand, addend.exp - addend.frac_bits, step.aligned_c, step.lsb_exp)
    out: Data = {"parts": parts, "exp": {"value": step.exp, "from": _late_source(parts, addend, step.exp)}, "lsb_exp": step.lsb_exp}
    out |= {
        "joined": str(step.aligned[0]),
        "aligned_c": {"live": addend.significand != 0, "exp": addend.exp, "too_small": dropped, **moved},
    }
    return out | {"sum": _sum(step.total, step.lsb_exp, plan, step.total), "round": rounding_of(step.total, step.lsb_exp, step.code, plan)}


def _part_shifts(products: Sequence[Triple], told: list[Data], lsb_exp: int) -> Data:
    """The products of a part, moved to its own unit."""
    moved = []
    for one, entry in zip(products, told, strict=True):
        unit_exp = one.exp - one.frac_bits
        moved.append(entry | _shifted(one.significand, unit_exp, _toward_zero(one.significand, unit_exp - lsb_exp), lsb_exp))
    return {"products": moved, "lsb_exp": lsb_exp}


def _late_source(parts: list[Data], c: Triple, exp: int) -> list[str]:
    return [f"part {part['part']}" for part in parts if part["exp"] == exp] + (["C"] if c.exp == exp else [])


def _promoted(row: DotRow, start: int, step: Step, plan: DatapathPlan) -> Data:
    """The roundings of one block: scales, term, sum."""
    products = products_of(row.a, row.b, plan)
    unit = plan.product_exp - plan.product_frac_bits
    total = group_sum(products, plan)
    term: Data = {"term": 0, "elements": [start, start + len(row.a) - 1], **_products(row, products, range(len(row.a)), start, plan)}
    term |= {"sum": total, "sum_unit_exp": unit, "sum_value": dyadic(total * power_of_two(unit)), **_scales(row, 0, plan.scale)}
    named = (("part", step.parts[0]), ("scale", step.scale_codes[0]), ("scaled", step.term_codes[0]))
    return {"terms": [term]} | {key: text for name, code in named for key, text in _both(name, code, plan)}


def _both(name: str, code: int, plan: DatapathPlan) -> list[tuple[str, str]]:
    return [(name, code_text(code, plan.d)), (f"{name}_value", meaning(code, plan.d))]


def _final(register: int, c: int, code: int, plan: DatapathPlan) -> Data:
    """The end of an accumulator: register and C, rounded once."""
    lsb_exp, unit = plan.widths.step_sum_lsb_exp, plan.exact_lsb_exp
    addend = decode_triple(c, plan.c, plan.facts.subnormal.c)
    total = (register * power_of_two(lsb_exp) + _triple_value(addend)) / power_of_two(unit)
    assert total.denominator == 1
    out: Data = {"register": str(register), "lsb_exp": lsb_exp, "register_value": dyadic(register * power_of_two(lsb_exp))}
    out |= {"c": {"code": code_text(c, plan.c), "value": meaning(c, plan.c)}, "value": dyadic(total * power_of_two(unit))}
    return out | {"round": rounding_of(total.numerator, unit, code, plan)}


def _triple_value(item: Triple) -> Fraction:
    return item.significand * power_of_two(item.exp - item.frac_bits)


def _toward_zero(significand: int, places: int) -> int:
    if places >= 0:
        return significand << places
    kept = abs(significand) >> -places
    return -kept if significand < 0 else kept


# The last rounding of a dot product, told: which bits are kept, what is lost, whether it carried or overflowed.


def rounding_of(total: int, lsb_exp: int, code: int, plan: DatapathPlan) -> dict[str, Any]:
    """Return how total * 2^lsb_exp became a result code.

    mode, kept_bits: of the significand, hidden bit included (fewer below the normal range).   unit_exp: of the last kept bit.
    kept, lost_part: the integer that is kept, and the rest as zero, less (than half), half or more.   lost: result minus exact sum.
    up: was the kept integer raised.   carry: did that lengthen it.   subnormal, overflow, zero: of the result.
    """
    facts = plan.d.facts
    assert isinstance(facts, FloatFacts)
    magnitude, keep = abs(total), plan.facts.round.keep
    lowest = 1 - facts.bias
    exp = magnitude.bit_length() - 1 + lsb_exp if magnitude else lowest
    unit_exp = max(exp, lowest) - keep
    kept, lost_part = _cut(magnitude, unit_exp - lsb_exp)
    out: dict[str, Any] = {"mode": plan.facts.round.mode, "exact": dyadic(total * power_of_two(lsb_exp)), "unit_exp": unit_exp}
    out |= {"kept": f"{kept:b}", "kept_bits": kept.bit_length(), "lost_part": lost_part, "subnormal": bool(magnitude) and exp < lowest}
    out |= {"overflow": False, "up": False, "carry": False, "lost": "0"}
    result = value_of(code, plan.d)
    largest = derive.codes(plan.d).max_code
    beyond = result.kind == "inf" or kept * power_of_two(unit_exp) > value_of(largest, plan.d).magnitude
    if beyond:
        out["overflow"] = True
    if result.kind == "finite":
        units = result.magnitude / power_of_two(unit_exp)
        out["up"] = units > kept and not beyond
        out["carry"] = bool(out["up"]) and (kept + 1).bit_length() > kept.bit_length() and kept > 0
        out["lost"] = dyadic(Fraction(result.signed) - total * power_of_two(lsb_exp))
    return out | {"result": code_text(code, plan.d), "value": meaning(code, plan.d)}


def _cut(magnitude: int, places: int) -> tuple[int, str]:
    """Return the integer in units of the last kept bit, and what lies below it."""
    if places <= 0:
        return magnitude << -places, "zero"
    kept, rest = magnitude >> places, magnitude & ((1 << places) - 1)
    half = 1 << (places - 1)
    return kept, "zero" if not rest else "less" if rest < half else "half" if rest == half else "more"


# Why NaN or infinity decided a fused step: the first cause, in the order in which the datapath looks.


def cause_of(row: DotRow, c: int, start: int, plan: DatapathPlan) -> str:
    """Return the cause in words.

    row: the elements of the step, with one scale code per element.   c: code of C.   start: number of its first element.
    """
    for look in (_nan, _infinite):
        found = look(row, c, start, plan)
        if found:
            return found
    return "no operand is NaN or infinite"


def _nan(row: DotRow, c: int, start: int, plan: DatapathPlan) -> str | None:
    keep = plan.facts.subnormal
    if decode_operand(c, plan.c, keep.c).kind == "nan":
        return f"C {named(c, plan.c)} is NaN"
    for name, codes, fmt in (("a", row.a, plan.a), ("b", row.b, plan.b)):
        for k, code in enumerate(codes):
            if decode_operand(code, fmt, keep.elements).kind == "nan":
                return f"{name}[{start + k}] {named(code, fmt)} is NaN"
    if plan.scale is None:
        return None
    for name, codes in (("sa", row.scale_a), ("sb", row.scale_b)):
        for k, code in enumerate(codes):
            if decode_operand(code, plan.scale, keep.scales, plan.facts.scale.unused_bits).kind == "nan":
                alive = not any(value.is_zero for value in _factors(row, k, plan)[:2])
                if plan.facts.special.nan_scale == "always" or alive:
                    return f"{name}[{(start + k) // plan.block}] {named(code, plan.scale)} is NaN"
    return None


def _factors(row: DotRow, k: int, plan: DatapathPlan) -> list[Value]:
    keep = plan.facts.subnormal
    found = [decode_operand(row.a[k], plan.a, keep.elements), decode_operand(row.b[k], plan.b, keep.elements)]
    if plan.scale is not None:
        unused = plan.facts.scale.unused_bits
        found += [decode_operand(code, plan.scale, keep.scales, unused) for code in (row.scale_a[k], row.scale_b[k])]
    return found


def _infinite(row: DotRow, c: int, start: int, plan: DatapathPlan) -> str | None:
    addend = decode_operand(c, plan.c, plan.facts.subnormal.c)
    seen: list[tuple[int, str]] = [(addend.sign, f"C is {value_text(addend)}")] if addend.kind == "inf" else []
    for k in range(len(row.a)):
        factors = _factors(row, k, plan)
        if any(value.kind == "inf" for value in factors):
            text = " * ".join(value_text(value) for value in factors)
            if any(value.is_zero for value in factors):
                return f"product {start + k} is {text}: infinity times zero"
            seen.append((sum(value.sign for value in factors) % 2, f"product {start + k} is {text}"))
    first = next((item for item in seen if item[0] != seen[0][0]), None)
    if first is not None:
        return f"infinities of both signs: {seen[0][1]}, {first[1]}"
    return seen[0][1] if seen else None


# The golden stages of one dot product as VCD, to overlay on a simulation in a wave viewer. No date: same row, same bytes.


def vcd_text(row: DotRow, plan: DatapathPlan) -> str:
    """Return the VCD of a row: inputs a, sa, b, sb, c, the stage columns u<step>_<stage> of every fused step, and d.

    Names, widths and bit order are those of golden vectors: element i of width w at bits w*i .. w*i+w-1. All values stand from time 0 on.
    Stages that NaN or infinity skipped are x.   Raises: as emu.engines.exact.datapath.dot.   Tests: tests/explain/test_explain_dot.py.
    """
    return waves(signals_dot(row, plan), f"dot/{plan.name}")


def signals_dot(row: DotRow, plan: DatapathPlan) -> list[tuple[str, int, int | None]]:
    """Return the signals of vcd_text: (name, bits, value; None: x)."""
    found = evaluate(row, plan)
    signals: list[tuple[str, int, int | None]] = [_packed("a", row.a, plan.a)]
    signals += [_packed("sa", row.scale_a, plan.scale)] if plan.scale else []
    signals += [_packed("b", row.b, plan.b)]
    signals += [_packed("sb", row.scale_b, plan.scale)] if plan.scale else []
    signals.append(("c", derive.codes(plan.c).bits, row.c))
    values: dict[str, int] = {}
    for number, step in enumerate(found.steps):
        values |= stage_codes(step, number, plan)
    columns = stage_columns(plan, len(row.a) // plan.step)
    signals += [(column.name, column.bits, values.get(column.name)) for column in columns]
    signals.append(("d", derive.codes(plan.d).bits, found.code))
    return signals


def _packed(name: str, codes: Sequence[int], fmt: Format) -> tuple[str, int, int]:
    bits = stored_bits(fmt)
    return name, bits * len(codes), pack(codes, bits)
