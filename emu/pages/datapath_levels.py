"""The page of a datapath written in levels: each level with what is derived of it, and its first worked example, value by value."""

from __future__ import annotations

import json
from typing import Any

from emu.contracts.dot.levels import worked
from emu.contracts.examples import decimal_text
from emu.engines.exact.levels import Held, Number
from emu.engines.exact.value import finite, power_of_two
from emu.pages.frame import Data
from emu.pages.render import Code
from emu.spec import Datapath
from emu.spec.levels import LevelPlan, LevelsPlan, level_plans_of
from emu.spec.models.datapath import DotExample
from emu.spec.models.levels import CutHold, EpilogueFacts, FixedHold, Hold
from emu.spec.steps import in_levels

SHOWN = 24  # values of a worked row


def data(datapath: Datapath) -> Data:
    """Return what the template shows."""
    plan = next(level_plans_of(datapath))
    return {
        "levels_for": f"{plan.a.id} x {plan.b.id}" + (f" with {plan.scale.id} scales" if plan.scale else ""),
        "levels": [_row(level, plan) for level in plan.levels],
        "levels_out": hold_text(plan.facts.out, None) + (", C added before" if plan.facts.out.plus == "c" else "") + _after(plan),
        "levels_words": plan.draws(plan.facts.k),
        "levels_row": _worked(datapath),
    }


def datapath_words(datapath: Datapath) -> list[str]:
    """Return the facts as a file says them, a line for each word and for each level; of an unknown datapath what is not known."""
    said = in_levels(datapath).facts.model_dump(mode="json", exclude_defaults=True)
    lines = {key: [f"{key}: {_flow(value)}"] for key, value in said.items()}
    if "levels" in said:
        lines["levels"] = ["levels:", *(f"  - {_flow(level)}" for level in said["levels"])]
    return [line for key in lines for line in lines[key]]


def _flow(value: Any) -> str:
    """A value as the strict loader reads it: bare keys, quoted texts."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_flow(item)}" for key, item in value.items()) + "}"
    return "[" + ", ".join(map(_flow, value)) + "]" if isinstance(value, list) else json.dumps(value)


def level_lines(datapath: Datapath) -> list[str]:
    """Return what is derived of each level, a line each, for the first choice of operands."""
    plan = next(level_plans_of(datapath))
    out = [f"levels, from the inside out, for {plan.name}"]
    for level in plan.levels:
        _, lot, add, adder, held, loses = _row(level, plan)
        out.append(f"  {level.facts.id}: {lot}, {add}{f' ({adder})' if adder else ''}; held: {held}; loses {loses}")
    out.append(f"  out: {hold_text(plan.facts.out, None)}{_after(plan)}")
    return [*out, f"random words of one instruction: {len(plan.draws(plan.facts.k))}"]


def _after(plan: LevelsPlan) -> str:
    return "" if plan.facts.epilogue is None else f"; under tensor scales {epilogue_text(plan.facts.epilogue)}"


def epilogue_text(epilogue: EpilogueFacts) -> str:
    """Return what scales of tensors and rows do, in words."""
    fused = ", one rounding for both" if epilogue.fused == "yes" else ""
    after = "alpha" if epilogue.scales == "together" else "both"
    place = {"before": "C goes into the dot product", "after": f"C is added after {after}", "open": "nobody knows where C enters"}
    last = f"alpha * D rounded {epilogue.d}"
    alpha = f"alpha = scale a * scale b, rounded {epilogue.alpha}"
    if epilogue.factor == "alpha_last":
        alpha += f", then * the factors of both blocks, rounded {epilogue.alpha}"
    sums = f"D * the factors of both blocks, rounded {epilogue.alpha}; that" if epilogue.factor == "sum_first" else "D"
    together = f"{sums} is D; {alpha}; {last}" if epilogue.factor == "sum_first" else f"{alpha}; {last}"
    if epilogue.scales == "together":
        return f"{together}; {place[epilogue.c_place]}{fused}"
    first, last = ("b", "a") if epilogue.scales == "b_first" else ("a", "b")
    ordered = f"{sums} * scale {first}, rounded {epilogue.alpha}; that * scale {last}, rounded {epilogue.d}"
    if epilogue.scales == "together_or_a_first":
        ordered = f"where one operand has a single scale: {together}; else {ordered}"
    return f"{ordered}; {place[epilogue.c_place]}{fused}"


def hold_text(hold: Hold, unit_exp: int | None) -> str:
    """Return what a register is, in words."""
    if hold == "exact":
        return "exact"
    rounding = f", {hold.rounding}" if hold.rounding else ""
    if isinstance(hold, FixedHold):
        return f"{hold.bits} bits of 2^{unit_exp}{rounding}, {hold.overflow}"
    if isinstance(hold, CutHold):
        kept = f"{hold.significant_bits} significant bits" if hold.significant_bits else f"{hold.fraction_bits} fraction bits"
        return kept + rounding
    return hold.format + rounding + (f", policy {hold.policy}" if hold.policy else f", {hold.overflow}")


def _row(level: LevelPlan, plan: LevelsPlan) -> tuple[Any, ...]:
    words = level.facts
    lot = f"{words.of}" + (f", every {words.take.every}" if words.take.every > 1 else "")
    add = words.add + (f" by {words.by or 1}, starts with {words.start}" if words.start else "") + (", C too" if words.plus == "c" else "")
    adder = ""
    if level.align is not None:
        floor = "none" if level.align.floor is None else level.align.floor
        adder = f"F {level.align.frac_bits}, I {'none' if level.align.integer_bits is None else level.align.integer_bits}, floor {floor}"
    held = hold_text(words.hold, level.unit_exp) + ("" if words.scale == "none" else ", times the scales")
    loses = "nothing: " + level.proof if level.loses is None else f"{_short(level.loses)}, for one: {level.proof}"
    return Code(words.id), lot, add, adder, held, loses if words.add != "aligned" and words.align is None else "what the alignment cuts"


def _short(number: Any) -> str:
    return decimal_text(finite(number))


def _worked(datapath: Datapath) -> Data | None:
    """Return the first worked example with codes, value by value, or None."""
    example = next((item for item in datapath.expect if isinstance(item, DotExample)), None)
    if example is None:
        return None
    found = worked(datapath, example)
    values = [(Code(name), _text(value)) for name, value in found.stages.items() if not name.startswith("product_")]
    return {"example": example, "values": values[:SHOWN], "more": max(0, len(values) - SHOWN)}


def _text(value: Held) -> str:
    if not isinstance(value, Number):
        return "NaN" if value == "nan" else value
    return decimal_text(finite(value.significand * power_of_two(value.lsb_exp), int(value.negative)))
