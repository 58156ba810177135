"""Worked examples of instructions: one execution each, on raw registers, by the exact engine."""

from __future__ import annotations

from typing import Any

import numpy as np

from emu.ops.instruction import Executable, instruction, register_of, register_text
from emu.ops.instruction.mma import plan_of
from emu.spec import Format, Instruction, derive


def replay(family: Instruction, example: Any) -> str | None:
    """Return None when a worked example holds, else what came out instead."""
    call = instruction(example.form, **example.choose)
    found = run(call, example)
    wanted = [text for text in (example.result, example.scale_result, example.flags) if text is not None]
    if len(found) != len(wanted):
        return f"{len(found)} results, not {len(wanted)}"
    texts = [register_text(value, len(text)) for value, text in zip(found, wanted, strict=True)]
    return None if texts == wanted else f"{' '.join(texts)}, not {' '.join(wanted)}"


def run(call: Executable, example: Any, order: tuple[str, ...] | None = None) -> tuple[Any, ...]:
    """Execute a worked example: its results, the packed register first. order: names of its operands; None: those of the call."""
    if call.facts.performs == "mma":
        return (call(**_matrices(call, example.operands), engine="exact")[0][0],)
    texts = [*example.operands, *(text for text in (example.random, example.scale) if text is not None)]
    found = call(**{name: register_of(text) for name, text in zip(order or call.operands, texts, strict=True)}, engine="exact")
    return found if isinstance(found, tuple) else (found,)


def _matrices(call: Executable, texts: tuple[str, ...]) -> dict[str, Any]:
    """Return one row of A, one of B, their scales and C: every code with the digits its format needs, element 0 first."""
    plan = plan_of(call.facts)
    formats = {"a": plan.a, "b": plan.b, "a_scales": plan.scale, "b_scales": plan.scale, "c": plan.c}
    return {name: np.array([_codes(text, formats[name])], np.uint64) for name, text in zip(call.operands, texts, strict=True)}


def _codes(text: str, fmt: Format | None) -> list[int]:
    assert fmt is not None
    digits = -(-(derive.codes(fmt).bits + derive.unused_high_bits(fmt)) // 4)
    return [int(text[start : start + digits], 16) for start in range(0, len(text), digits)]
