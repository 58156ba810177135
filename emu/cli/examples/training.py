"""Worked examples of training recipes: what follows for an operand, and which layers stay."""

from __future__ import annotations

from emu.spec import Training
from emu.spec.models.training import KeptExample, OperandExample
from emu.spec.training import SUMMED, kept_layers, plan_of, rotation_of


def check(model: Training, example: OperandExample | KeptExample) -> str | None:
    """Return None when a worked example holds, else what follows instead."""
    if isinstance(example, KeptExample):
        kept = tuple(sorted(kept_layers(model, example.layers)))
        return None if kept == example.kept else f"of {example.layers} layers {kept} stay, not {example.kept}"
    operands = plan_of(model).operands
    if example.operand not in operands:
        return f"{example.operand} is no operand: one of {', '.join(operands)}"
    operand = operands[example.operand]
    rotated = "no" if rotation_of(operand) is None else "yes"
    found = (SUMMED[operand.gemm], operand.multiple, rotated, operand.random_bits)
    wanted = (example.along, example.multiple, example.rotated, example.random_bits)
    return None if found == wanted else f"{example.operand} gives {found}, not {wanted}"
