"""Finding an instruction, answering its open questions, and binding operands by place or by the manual's names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from emu.base.errors import OpenError, OperandError, SpecError
from emu.ops.instruction import convert, mma, quantize
from emu.spec.instruction import CHOICES, answered, find_form, is_open
from emu.spec.models import Instruction
from emu.spec.models.common import Status
from emu.spec.models.instruction import InstructionFacts, InstructionVariant


@dataclass(frozen=True)
class Executable:
    """One instruction, ready to run: call it with raw register bits.

    family: the spec object.   form: id, mnemonic and resolved facts.   facts: those, with the caller's choices.
    """

    family: Instruction
    form: InstructionVariant
    facts: InstructionFacts

    @property
    def mnemonic(self) -> str:
        """The mnemonic, with the state that chooses the form."""
        return self.form.mnemonic

    @property
    def status(self) -> Status:
        """Status of the form."""
        return self.form.status

    @property
    def operands(self) -> tuple[str, ...]:
        """Names of the operands in the order of a call: values, random bits, scale; of an mma a, b, their scales, c."""
        facts = self.facts
        if facts.performs == "mma":
            return ("a", "b", "c") if is_open(facts, "datapath") else mma.operand_names(facts)
        extra = [item.name for item in (facts.random, facts.scale) if item is not None]
        extra += [name for name in (facts.amax_operand, facts.signs_operand) if name is not None]
        return (*(register.name for register in facts.operands or ()), *extra)

    def __call__(self, *values: Any, engine: str = "auto", **named: Any) -> Any:
        """Execute on raw bits.

        values, named: unsigned integers, any shape, broadcast against each other; in the order of `operands`, or by their names.
        A register of more than 64 bits is an array of 32-bit words on the last axis, the lowest first.
        NaN, Inf, -0, overflow: as the policy says; what the spec leaves open is refused.
        An mma takes matrices of codes, a [m, k], b [n, k], scales [m, k / block] and [n, k / block], c [m, n] (absent: +0).
        Returns: the result's raw bits, one register per call; with IEEE flags (result, flags), flags NV DZ OF UF NX as 16 8 4 2 1;
        a quantizer (codes, scale), an mma [m, n].
        Raises: OpenError (an open fact without a choice), OperandError (operand missing, unwanted, too wide), ShapeError, EngineError.
        Source: the family's sources.   Tests: tests/ops/instruction/.
        """
        self._refuse_open()
        bound = self._bound(values, named)
        if self.facts.performs == "mma":
            return mma.execute(self.facts, bound, self.mnemonic, engine)
        if self.facts.performs == "quantize":
            return quantize.execute(self.facts, bound, engine)
        return convert.execute(self.facts, bound, self.mnemonic, engine)

    def _refuse_open(self) -> None:
        for key in CHOICES:
            if is_open(self.facts, key):
                question = next(item for item in self.family.open if item.fact == key)
                hint = f"choose {key}=" + " or ".join(question.options) if question.options else "nothing to choose from"
                raise OpenError(f"{self.mnemonic}: {key} is open ({question.what}): {hint}")

    def _bound(self, values: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
        """Return name -> value of every operand. Raises: OperandError."""
        wanted = self.operands
        if len(values) > len(wanted):
            raise OperandError(f"{self.mnemonic} takes {', '.join(wanted)}: {len(values)} operands are given")
        bound = dict(zip(wanted, values, strict=False))
        for name, value in named.items():
            if name not in wanted or name in bound:
                fault = "given twice" if name in bound else "none of them"
                raise OperandError(f"{self.mnemonic} takes {', '.join(wanted)}: {name} is {fault}")
            bound[name] = value
        missing = [name for name in wanted if bound.get(name) is None and (self.facts.performs, name) != ("mma", "c")]
        if missing:
            raise OperandError(f"{self.mnemonic} needs {', '.join(missing)}: it takes {', '.join(wanted)}")
        return bound


def instruction(name: str | Instruction, **choices: str) -> Executable:
    """Return an instruction that runs on raw register bits.

    name: mnemonic in any case ("cvt.rn.satfinite.e2m1x2.f32"), form id, alias, or a family of one form.
    choices: answers to open questions, fact=option as the spec file lists them (`emu show`), such as random="share16".
    Returns: Executable.   Raises: SpecError (unknown name; a choice that the spec does not list).
    Source: the family's sources.   Tests: tests/ops/instruction/test_instruction_forms.py.
    """
    family, form = find_form(name)
    facts = form.facts
    for key, answer in choices.items():
        options = [option for question in family.open if question.fact == key for option in question.options]
        if answer not in options:
            listed = f"one of {', '.join(options)}" if options else "nothing: it is no open question of this instruction"
            raise SpecError(f"{form.mnemonic}: {key}={answer!r} is no choice, the spec lists {listed}")
        facts = answered(facts, key, answer)
    return Executable(family, form, facts)
