"""Rows of an instruction that are executed: what special sources give, and the worked examples of the file."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from emu.base.errors import EmuError
from emu.contracts.examples import decimal_text, digits
from emu.engines.exact.decode import decode_code
from emu.engines.exact.encode import encode_value
from emu.engines.exact.value import finite
from emu.ops.instruction import instruction
from emu.ops.instruction.bits import pack, unpack
from emu.pages.frame import Data
from emu.pages.render import OPEN, Code, joined
from emu.spec import Format, Instruction, derive, get
from emu.spec.instruction import check_slot, is_open
from emu.spec.models.instruction import IeeeFlags, InstructionVariant, ScaleOperand, forms

MOST_COLUMNS = 8
WIDE = 16
FLAGS = ("NV", "DZ", "OF", "UF", "NX")


def special_table(family: Instruction) -> Data | None:
    """Return what special sources give, by destination and source, executed with every lane the same and random bits 0."""
    chosen: list[InstructionVariant] = []
    for form in forms(family):
        if _decides(form) not in [_decides(other) for other in chosen]:
            chosen.append(form)
    chosen = chosen[:MOST_COLUMNS]
    modes = len(distinct(form.facts.rounding for form in chosen)) > 1
    answers = [dict(_specials(family, form)) for form in chosen]
    if all(result == OPEN for answer in answers for result in answer.values()):
        return None
    cases = dict.fromkeys(case for answer in answers for case in answer)
    return {
        "names": [f"{form.facts.source} to {form.facts.to}" + (f", {form.facts.rounding}" if modes else "") for form in chosen],
        "rows": [(case, *(answer.get(case, "") for answer in answers)) for case in cases],
        "random": any(form.facts.random for form in chosen),
        "answers": {key: option for form in chosen for key, option in _choices(family, form).items()},
    }


def distinct(items: Iterable[Any]) -> list[Any]:
    """Return items without repetition, in their order; they need not be hashable."""
    found: list[Any] = []
    for item in items:
        if item not in found:
            found.append(item)
    return found


def _decides(form: InstructionVariant) -> tuple[Any, ...]:
    facts = form.facts
    return (facts.source, facts.to, facts.rounding, facts.policy, facts.random, facts.scale, facts.flags)


def _choices(family: Instruction, form: InstructionVariant) -> dict[str, str]:
    """Return the first listed answer to every open question of a form."""
    return {
        question.fact: question.options[0]
        for question in family.open
        if question.fact is not None and question.options and is_open(form.facts, question.fact)
    }


def _specials(family: Instruction, form: InstructionVariant) -> list[tuple[str, Any]]:
    """Return (source in words, result) of each special source that the form's source format has."""
    source: Format = get("format", str(form.facts.source))
    known = derive.codes(source)
    sign = known.sign_bit
    found: list[tuple[str, int]] = []
    if known.nan:
        found += [("NaN", known.nan[0])] + ([("NaN, sign set", known.nan[0] | sign)] if sign and len(known.nan) > 1 else [])
    if known.inf is not None:
        found += [("+Inf", known.inf), ("-Inf", known.inf | sign)]
    found += [("largest finite", known.max_code)] + ([("most negative", known.negative_max)] if sign else [])
    if known.neg_zero:
        found.append(("-0", sign))
    found.append(("smallest positive", 1 if known.has_zero else 0))
    middle = _tie(form, source)
    if middle is not None:
        found.append((f"{decimal_text(finite(middle))}, a tie", encode_value(finite(middle), source)))
    return [(words, _run(family, form, number)) for words, number in found]


def _tie(form: InstructionVariant, source: Format) -> Fraction | None:
    """Return the value half way between the codes of 1 and the next, where the source holds it."""
    to: Format = get("format", str(form.facts.to))
    try:
        one = encode_value(finite(Fraction(1)), to)
        middle = (decode_code(one, to).signed + decode_code(one + 1, to).signed) / 2
        encode_value(finite(middle), source)
    except EmuError:
        return None
    return middle


def _run(family: Instruction, form: InstructionVariant, number: int) -> Any:
    """Execute a form with one code in every lane; return lane 0 as text."""
    facts = form.facts
    assert facts.operands and facts.result and facts.to and facts.source
    source, to = get("format", facts.source), get("format", facts.to)
    values: list[Any] = []
    for register in facts.operands:
        slot = check_slot(register, source)
        values.append(pack(np.full(register.lanes, number, np.uint64), register, slot))
    values += [0] if facts.random is not None else []
    values += [_unit(facts.scale)] if facts.scale is not None else []
    try:
        result = instruction(form.id, **_choices(family, form))(*values, engine="exact")
    except EmuError:
        return OPEN
    flags = ""
    if isinstance(facts.flags, IeeeFlags):
        result, raised = result
        flags = " " + (" ".join(name for bit, name in zip((16, 8, 4, 2, 1), FLAGS, strict=True) if int(raised) & bit) or "no flag")
    lane = int(unpack(np.asarray(result), facts.result, check_slot(facts.result, to))[..., 0])
    return Code(f"{lane:0{digits(to)}X}"), f" {_value(lane, to)}{flags}"


def _unit(scale: ScaleOperand) -> int:
    """Return the operand that scales by 1."""
    return {"fp32_exponent": 127 << 23, "e8m0": 127}.get(scale.reads, 0)


def _value(number: int, to: Format) -> str:
    try:
        return decimal_text(decode_code(number, to), 6)
    except EmuError:
        return ""


def examples(family: Instruction) -> Data:
    """Return the worked examples: a table for short registers, blocks of rows for wide ones."""
    if any(len(text) > WIDE for item in family.expect for text in (*item.operands, item.result)):
        return {"example_table": None, "example_blocks": [_rows(item) for item in family.expect]}
    header = ["form", "operands", "random", "scale", "choices", "result", "flags", "why"]
    rows = []
    for item in family.expect:
        given = joined(" ", map(Code, item.operands))
        rows.append([Code(item.form), given, item.random, item.scale, _chosen(item), Code(item.result), item.flags, item.why])
    keep = [number for number in range(len(header)) if any(row[number] for row in rows)]
    return {"example_table": ([header[number] for number in keep], [[row[number] for number in keep] for row in rows])}


def _chosen(example: Any) -> str:
    return ", ".join(f"{key} {option}" for key, option in example.choose.items())


def _rows(example: Any) -> tuple[str, str, str | None, list[str]]:
    """Return (form, choices, why, named rows of hexadecimal text) of one worked example."""
    names = instruction(example.form, **example.choose).operands
    rows = [*zip(names, example.operands, strict=False), ("random", example.random), ("scale", example.scale)]
    rows += [("result", example.result), ("block scale", example.scale_result), ("flags", example.flags)]
    wide = max(len(name) for name, text in rows if text)
    return example.form, _chosen(example), example.why, [f"{name.ljust(wide)}  {text}" for name, text in rows if text]
