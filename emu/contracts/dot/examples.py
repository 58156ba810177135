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


def replay(datapath: Datapath, example: Any) -> str | None:
    """Return None where a worked example of a datapath holds, else what came out instead."""
    if isinstance(example, WidthExample):
        plan = resolve(datapath, example.a, example.b, example.scale or _first(datapath, "formats"), _first(datapath, "blocks"))
        wanted = example.model_dump(exclude_none=True, exclude={"a", "b", "scale"})
        names = {"fraction_bits": "frac_bits"}
        wrong = [key for key, value in wanted.items() if getattr(plan, names.get(key, key)) != value]
        return f"{wrong[0]} is {getattr(plan, names.get(wrong[0], wrong[0]))}, not {wanted[wrong[0]]}" if wrong else None
    if isinstance(example, ValueExample):
        return _equal_elements(datapath, example)
    plan = resolve(datapath, example.a_format, example.b_format, example.scale_format, example.block)
    first, second = (split(text, plan.scale) if text is not None and plan.scale else [] for text in (example.scale_a, example.scale_b))
    found = dot(split(example.a, plan.a), split(example.b, plan.b), first, second, int(example.c, 16), plan).code
    return None if found == int(example.d, 16) else f"{found:#x}, not {example.d}"


def _first(datapath: Datapath, key: str) -> Any:
    offered = getattr(known_facts(datapath).scale, key)
    return offered[0] if offered else None


def _equal_elements(datapath: Datapath, example: ValueExample) -> str | None:
    """Every choice of operands that the datapath takes must give the value, with scales 1 and C = 0."""
    facts = known_facts(datapath)
    for a, b in pairs(facts):
        plan = resolve(datapath, a, b, _first(datapath, "formats"), _first(datapath, "blocks"))
        first, second = (encode_value(parse_value(text), fmt) for text, fmt in ((example.every_a, plan.a), (example.every_b, plan.b)))
        ones = [encode_value(parse_value("1"), plan.scale)] * (facts.k // plan.block) if plan.scale else []
        fault = compare(decode_code(dot([first] * facts.k, [second] * facts.k, ones, ones, 0, plan).code, plan.d), example.d)
        if fault:
            return f"{a} x {b}: {fault}"
    return None
