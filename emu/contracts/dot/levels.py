"""Worked examples of datapaths written in levels, by the exact engine."""

from __future__ import annotations

from typing import Any

from emu.contracts.examples import compare, parse_value, split
from emu.engines.exact.decode import decode_code
from emu.engines.exact.encode import encode_value
from emu.engines.exact.levels import LevelsDot, dot
from emu.spec.datapath import levels_of
from emu.spec.levels import level_plans_of, resolve_levels
from emu.spec.models import Datapath
from emu.spec.models.datapath import DotExample, ValueExample


def replay_levels(datapath: Datapath, example: Any) -> str | None:
    """Return None where a worked example holds, else what came out instead. Raises: as the reference model."""
    if isinstance(example, ValueExample):
        return _equal_elements(datapath, example)
    if not isinstance(example, DotExample):
        return "widths of a datapath of levels are derived, level by level: leave the example out"
    made, words = worked(datapath, example), levels_of(datapath).flags
    if made.code != int(example.d, 16):
        return f"{made.code:#x}, not {example.d}"
    if (words is None) != (example.flags is None):
        return "flags: say them where the datapath reports any, and nowhere else"
    raised = () if words is None else tuple(flag for bit, flag in enumerate(words.report) if made.flags >> bit & 1)
    said = example.flags or ()
    return None if raised == said else f"flags {', '.join(raised) or 'none'}, not {', '.join(said) or 'none'}"


def worked(datapath: Datapath, example: DotExample) -> LevelsDot:
    """Return what the reference model makes of a row of codes."""
    plan = resolve_levels(datapath, example.a_format, example.b_format, example.scale_format, example.block)
    first, second = (split(text, plan.scale) if text is not None and plan.scale else [] for text in (example.scale_a, example.scale_b))
    c = None if example.c is None else int(example.c, 16)
    return dot(split(example.a, plan.a), split(example.b, plan.b), first, second, c, example.random or (), plan)


def _equal_elements(datapath: Datapath, example: ValueExample) -> str | None:
    """Every choice of operands must give the value, with scales 1, C = 0 and random words 0."""
    for plan in level_plans_of(datapath):
        k = plan.facts.k * max(1, plan.block // plan.facts.k)
        first, second = (encode_value(parse_value(text), fmt) for text, fmt in ((example.every_a, plan.a), (example.every_b, plan.b)))
        ones = [encode_value(parse_value("1"), plan.scale)] * (k // plan.block) if plan.scale else []
        c = None if plan.c is None else 0
        found = dot([first] * k, [second] * k, ones, ones, c, [0] * len(plan.draws(k)), plan)
        fault = compare(decode_code(found.code, plan.d), example.d)
        if fault:
            return f"{plan.name}: {fault}"
    return None
