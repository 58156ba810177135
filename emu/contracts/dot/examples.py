"""Worked examples of datapaths: widths of a plan, equal elements under every choice of operands, and whole rows, by the exact engine."""

from __future__ import annotations

from typing import Any

from emu.contracts.examples import compare, parse_value
from emu.engines.exact.datapath import dot
from emu.engines.exact.decode import decode_code
from emu.engines.exact.encode import encode_value
from emu.spec import Datapath
from emu.spec.datapath import known_facts, pairs, resolve
from emu.spec.hex_rows import split
from emu.spec.models.datapath import ValueExample, WidthExample


def replay(datapath: Datapath, witness: Any) -> str | None:
    """Return None where a worked example of a datapath holds, else what came out instead."""
    if isinstance(witness, WidthExample):
        plan = resolve(datapath, witness.a, witness.b, witness.scale or _first(datapath, "formats"), _first(datapath, "blocks"))
        wanted = witness.model_dump(exclude_none=True, exclude={"a", "b", "scale"})
        names = {"fraction_bits": "frac_bits"}
        wrong = [key for key, value in wanted.items() if getattr(plan, names.get(key, key)) != value]
        return f"{wrong[0]} is {getattr(plan, names.get(wrong[0], wrong[0]))}, not {wanted[wrong[0]]}" if wrong else None
    if isinstance(witness, ValueExample):
        return _equal_elements(datapath, witness)
    plan = resolve(datapath, witness.a_format, witness.b_format, witness.scale_format, witness.block)
    first, second = (split(text, plan.scale) if text is not None and plan.scale else [] for text in (witness.scale_a, witness.scale_b))
    found = dot(split(witness.a, plan.a), split(witness.b, plan.b), first, second, int(witness.c, 16), plan).code
    return None if found == int(witness.d, 16) else f"{found:#x}, not {witness.d}"


def _first(datapath: Datapath, key: str) -> Any:
    offered = getattr(known_facts(datapath).scale, key)
    return offered[0] if offered else None


def _equal_elements(datapath: Datapath, witness: ValueExample) -> str | None:
    """Every choice of operands that the datapath takes must give the value, with scales 1 and C = 0."""
    facts = known_facts(datapath)
    for a, b in pairs(facts):
        plan = resolve(datapath, a, b, _first(datapath, "formats"), _first(datapath, "blocks"))
        first, second = (encode_value(parse_value(text), fmt) for text, fmt in ((witness.every_a, plan.a), (witness.every_b, plan.b)))
        ones = [encode_value(parse_value("1"), plan.scale)] * (facts.k // plan.block) if plan.scale else []
        fault = compare(decode_code(dot([first] * facts.k, [second] * facts.k, ones, ones, 0, plan).code, plan.d), witness.d)
        if fault:
            return f"{a} x {b}: {fault}"
    return None
