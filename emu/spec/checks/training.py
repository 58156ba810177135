"""Checks of a training recipe against what it names. Faults name the key; check.py adds file and line."""

from __future__ import annotations

from emu.base.errors import SpecError
from emu.spec.models import Format, Training
from emu.spec.models.format import FloatFacts
from emu.spec.models.rounding import PerElement
from emu.spec.models.training import OperandFacts
from emu.spec.registry import get
from emu.spec.training import GEMMS, Operand, operand_of, rotation_of


def check_training(model: Training) -> None:
    """Check operands one by one, then in pairs, then what they share. Raises: SpecError."""
    facts = model.facts
    source: Format = get("format", facts.operands)
    if not isinstance(source.facts, FloatFacts):
        raise SpecError(f"operands: {source.id} is no float format")
    found = {(gemm, name): _operand(gemm, name, item) for gemm, name, item in model.operands()}
    for gemm in GEMMS:
        _pair(gemm, [item for (own, _), item in found.items() if own == gemm])
    rotates = [item for item in found.values() if rotation_of(item) is not None]
    if (facts.signs == "none") == bool(rotates):
        raise SpecError(f"signs: {facts.signs}, but {'an' if rotates else 'no'} operand is rotated")
    for item in rotates:
        rotation = rotation_of(item)
        assert rotation is not None
        if (facts.signs == "seed_layer_gemm") != (rotation.facts.signs_operand == "yes"):
            taken = rotation.facts.signs_operand
            raise SpecError(f"signs: {facts.signs} does not fit {rotation.id} of {item.key}, whose signs_operand is {taken}")
    if (facts.random == "none") == any(item.random_bits for item in found.values()):
        raise SpecError(f"random: {facts.random} does not fit the roundings of the operands")


def _operand(gemm: str, name: str, facts: OperandFacts) -> Operand:
    try:
        found = operand_of(gemm, name, facts)
    except SpecError as error:
        raise SpecError(f"{gemm}.{name}: {error}") from None
    if found.rotates and found.transform is not None:
        raise SpecError(f"{gemm}.{name}: {facts.recipe} rotates in its own program: transform must be none")
    if found.random_bits and not isinstance(get("rounding", facts.round).facts.random, PerElement):
        raise SpecError(f"{gemm}.{name}: rounding {facts.round} shares a word between elements: give one with an integer for each")
    return found


def _pair(gemm: str, pair: list[Operand]) -> None:
    """Both operands of a product must be rotated alike, or their rotations do not cancel."""
    digests = {rotation.facts_digest if (rotation := rotation_of(item)) else "" for item in pair}
    if len(digests) != 1:
        raise SpecError(f"{gemm}: one operand is rotated and the other one not in the same way: the rotations must cancel")
