"""The part of emu show that speaks of blocks."""

from __future__ import annotations

from emu.spec import Block
from emu.spec.models.block import OneElement, Sub


def lines(block: Block) -> list[str]:
    """Return elements, shape and levels as lines."""
    facts = block.facts
    rows, columns = facts.shape
    out = ["", f"value = element{''.join(_factor(level.name, level.meaning) for level in facts.levels)}{_times(facts.factor)}"]
    if isinstance(facts.element, OneElement):
        out.append(f"element {facts.element.format}")
    else:
        choices = "; ".join(f"{flag}: {item.format}{_times(item.factor)}" for flag, item in enumerate(facts.element.choice))
        out.append(f"element by flag {facts.element.flag} ({choices})")
    out.append(f"block {rows}x{columns}, packing {facts.packing}, scales {facts.scale_layout}")
    if facts.levels:
        out += ["", "levels, outermost first"]
    for level in facts.levels:
        per = f"{level.granularity.sub} elements" if isinstance(level.granularity, Sub) else level.granularity
        out.append(f"  {level.name}: {level.format}, one per {per}, {level.meaning}")
    return out


def _times(factor: str) -> str:
    return "" if factor == "1" else f" * {factor}"


def _factor(name: str, meaning: str) -> str:
    return {"multiply": f" * {name}", "divide": f" / {name}", "flag": ""}[meaning]
