"""Witnesses of training recipes: what follows for an operand, and which layers stay."""

from __future__ import annotations

from emu.spec import Training
from emu.spec.models.training import KeptExample, OperandExample
from emu.spec.training import SUMMED, kept_layers, plan_of, rotation_of


def check(model: Training, witness: OperandExample | KeptExample) -> str | None:
    """Return None when a witness holds, else what follows instead."""
    if isinstance(witness, KeptExample):
        kept = tuple(sorted(kept_layers(model, witness.layers)))
        return None if kept == witness.kept else f"of {witness.layers} layers {kept} stay, not {witness.kept}"
    operands = plan_of(model).operands
    if witness.operand not in operands:
        return f"{witness.operand} is no operand: one of {', '.join(operands)}"
    operand = operands[witness.operand]
    rotated = "no" if rotation_of(operand) is None else "yes"
    found = (SUMMED[operand.gemm], operand.multiple, rotated, operand.random_bits)
    wanted = (witness.along, witness.multiple, witness.rotated, witness.random_bits)
    return None if found == wanted else f"{witness.operand} gives {found}, not {wanted}"
