"""The part of emu show that speaks of instructions: what is shared, and a line per form with what its words change."""

from __future__ import annotations

from typing import Any

from emu.spec import Instruction
from emu.spec.models.instruction import FormFacts, IeeeFlags, InstructionVariant, RandomOperand, Register, ScaleOperand, forms

MOST_FORMS = 64


def lines(family: Instruction) -> list[str]:
    """Return operation, shared facts, forms, reasons and choices as lines."""
    facts, found = family.facts, forms(family)
    out = ["", f"{facts.isa}: {facts.mnemonic}", f"performs {facts.performs}"]
    out += [f"{key}: {text(value)}" for key, value in _stated(facts).items()]
    for axis, words in facts.axes.items():
        out += ["", f"axis {axis}"]
        for word, variation in words.items():
            changes = "; ".join(f"{key} {text(value)}" for key, value in _stated(variation).items())
            out.append(f"  {word if variation.word is None else variation.word or '(nothing)'}: {changes or 'changes no fact'}")
    if facts.axes:
        out += ["", f"{len(found)} forms" + (f", the first {MOST_FORMS}" if len(found) > MOST_FORMS else "")]
        out += [f"  {_form(form, family)}" for form in found[:MOST_FORMS]]
    if family.rationale:
        out += ["", "why", *(f"  {reason}" for reason in family.rationale)]
    choices = [f"  {point.fact}=" + " | ".join(point.options) for point in family.open if point.fact and point.options]
    return [*out, "", "choices of emu.instruction", *choices] if choices else out


def _stated(facts: FormFacts) -> dict[str, Any]:
    """Return the facts that a family or a word states, in the order of the model."""
    return {key: getattr(facts, key) for key in FormFacts.model_fields if getattr(facts, key) is not None}


def _form(form: InstructionVariant, family: Instruction) -> str:
    return form.mnemonic + (f"  [{form.status}]" if form.status != family.status else "")


def text(value: Any) -> str:
    """Return a fact of a form in one line."""
    if isinstance(value, tuple):
        return ", ".join(text(item) for item in value)
    if isinstance(value, Register):
        slot = f" in slots of {value.slot} bits" if value.slot else ""
        return value.name if value.lanes == 1 and not slot else f"{value.name} ({value.lanes} lanes{slot}, first {value.first})"
    if isinstance(value, RandomOperand):
        return f"{value.name}, {value.bits} bits, read as {value.use} ({', '.join(value.profiles)})"
    if isinstance(value, ScaleOperand):
        return f"{value.name}, {value.bits} bits, {value.reads}, {value.apply}"
    if isinstance(value, IeeeFlags):
        return f"NV DZ OF UF NX, tininess {value.tininess} rounding"
    return str(value)
