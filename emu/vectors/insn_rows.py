"""insn: raw registers of one instruction -> its result register, flags, and the random integer of each lane.

The oracle reads registers with insn_registers and converts lane by lane; the other engines run emu.instruction itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from emu.base.caches import lazy
from emu.base.errors import OpenError
from emu.engines.exact.convert import convert_value
from emu.engines.exact.decode import decode_code
from emu.engines.exact.flags import convert_flags
from emu.ops.instruction import Executable, instruction
from emu.ops.instruction.bits import WIDEST, WORD
from emu.spec import derive
from emu.spec.contract import Contract
from emu.spec.derive import OPEN
from emu.spec.instruction import find_form, questions
from emu.spec.models import Block, Format, Policy, Recipe, Rounding
from emu.spec.models.instruction import IeeeFlags, InstructionFacts
from emu.spec.registry import get
from emu.vectors import insn_registers as registers
from emu.vectors.convert_rows import split_rounding
from emu.vectors.files.columns import Column, Layout, layout_of
from emu.vectors.files.rows import Answer
from emu.vectors.operation import Batch, Values, native, present

FLAG_BITS: Final = 5
FLAG_MEANS: Final = "NV DZ OF UF NX, NV highest"
SIGN_BITS, AMAX_BITS = 32, 32


class InsnRows:
    """insn/<form>[/<answer>...], a conversion, widening or fused quantizer."""

    def __init__(self, contract: Contract) -> None:
        self.contract = contract
        family, form = find_form(contract.parts[0])
        choices = dict(zip(questions(family, form), contract.parts[1:], strict=True))
        self.run: Executable = instruction(form.id, **choices)
        self.facts: InstructionFacts = self.run.facts
        facts = self.facts
        assert facts.source and facts.operands and facts.result
        self.source: Format = get("format", facts.source)
        self.to: Format = get("format", facts.to or _element(facts))
        self.lanes = facts.result.lanes
        self.slot = registers.slot_of(facts.result, self.to)
        self.src, self.dst = f"{facts.source}x{self.lanes}", f"{self.to.id}x{self.lanes}"
        self.part = "_".join(contract.parts)
        self.has_flags = isinstance(facts.flags, IeeeFlags)

    @lazy
    def rounding(self) -> Rounding:
        """How each lane is rounded, with a random integer of its own."""
        random = self.facts.random
        return split_rounding(get("rounding", str(self.facts.rounding) if random is None else random.profiles[random.use].rounding))

    @property
    def layout(self) -> Layout:
        """Operands by their names in the manual, rbits -> d, fl, scale; r."""
        facts = self.facts
        assert facts.operands and facts.result
        ins = []
        for register in facts.operands:
            bits = register.lanes * registers.slot_of(register, self.source)
            ins.append(Column(register.name, "in", bits, self.source.id, register.lanes, means=_order(register.lanes, register.first)))
        if facts.scale is not None:
            ins.append(Column(facts.scale.name, "in", facts.scale.bits, means=f"{facts.scale.reads}, {facts.scale.apply}"))
        for name, bits in ((facts.amax_operand, AMAX_BITS), (facts.signs_operand, SIGN_BITS)):
            ins += [] if name is None else [Column(name, "in", bits)]
        if facts.random is not None:
            ins.append(Column("rbits", "r", facts.random.bits, means=f"operand {facts.random.name}, read as {facts.random.use}"))
        outs = [Column("d", "out", self.lanes * self.slot, self.to.id, self.lanes, means=_order(self.lanes, facts.result.first))]
        outs += [Column("fl", "out", FLAG_BITS, means=FLAG_MEANS)] if self.has_flags else []
        outs += [] if facts.scale_result is None else [Column(facts.scale_result, "out", self._scale_bits(), self._scale_format().id)]
        bits = 0 if facts.random is None else self.rounding.random_bits
        split = [Column("r", "stage", self.lanes * bits, lanes=self.lanes, means="random integer of each lane")] if bits else []
        return layout_of([*ins, *outs, *split])

    def _scale_format(self) -> Format:
        block: Block = get("block", _recipe(self.facts).facts.block)
        scale: Format = get("format", next(level.format for level in block.facts.levels if level.granularity == "block"))
        return scale

    def _scale_bits(self) -> int:
        return derive.codes(self._scale_format()).bits

    def named(self, values: Values) -> dict[str, int]:
        """Return column name -> value of the inputs."""
        return {column.name: value for column, value in zip(self.layout.inputs, values, strict=True)}

    def exact(self, values: Values) -> Answer:
        """Return the lanes of d, flags, and the random integers; OPEN for a lane that nobody states."""
        named = self.named(values)
        if self.facts.performs == "quantize":
            found = self.batch([values], "exact")[0]
            return found if found is not None else ((OPEN,) * self.lanes, (OPEN,))
        codes = registers.sources(self.facts, named)
        random = self.facts.random
        drawn = [None] * self.lanes if random is None else [
            registers.drawn(random, named["rbits"], lane, self.lanes) for lane in range(self.lanes)
        ]  # fmt: skip
        scale = self.facts.scale
        exp = 0 if scale is None else registers.scale_exp(scale, named[scale.name])
        lanes = tuple(self._lane(code, exp, r) for code, r in zip(codes, drawn, strict=True))
        flags = ((self._flags(codes, drawn),),) if self.has_flags else ()
        return (lanes, *flags, *((tuple(r or 0 for r in drawn),) if random is not None else ()))

    def _lane(self, code: int, exp: int | None, random: int | None) -> int:
        """Return the result of one lane."""
        policy: Policy = get("policy", str(self.facts.policy))
        value = decode_code(code, self.source)
        if registers.is_refused(value, self.facts):
            return OPEN
        value = registers.moved(value, exp)
        if registers.is_refused(value, self.facts):
            return OPEN
        return convert_value(value, self.to, self.rounding, derive.policy_entry(policy, self.to), random)

    def _flags(self, codes: Sequence[int], drawn: Sequence[int | None]) -> int:
        assert isinstance(self.facts.flags, IeeeFlags)
        found = 0
        for code, random in zip(codes, drawn, strict=True):
            found |= convert_flags(code, self.source, self.to, self.rounding, self.facts.flags.tininess, random)
        return found

    def engines(self) -> dict[str, Batch]:
        """emu.instruction on fast, and on the C reference where it is built."""
        names = ("numpy", "c_ref") if native() is not None else ("numpy",)
        return present({name: lambda rows, name=name: self.batch(rows, name) for name in names})  # type: ignore[misc]

    def batch(self, rows: Sequence[Values], engine: str) -> list[Answer | None]:
        """Run the instruction on many rows; a row that it refuses has no answer."""
        try:
            return self._called(rows, engine)
        except OpenError:
            if len(rows) == 1:
                return [None]
            half = len(rows) // 2
            return [*self.batch(rows[:half], engine), *self.batch(rows[half:], engine)]

    def _called(self, rows: Sequence[Values], engine: str) -> list[Answer | None]:
        names = {"rbits": self.facts.random.name} if self.facts.random is not None else {}
        columns = self.layout.inputs
        operands = {names.get(column.name, column.name): _array([row[i] for row in rows], column.bits) for i, column in enumerate(columns)}
        found = self.run(engine=engine, **operands)
        first = found[0] if isinstance(found, tuple) else found
        out: list[Answer | None] = []
        for place, raw in enumerate(_numbers(first, self.lanes * self.slot)):
            lanes = tuple(raw >> (self.slot * lane) & ((1 << self.slot) - 1) for lane in range(self.lanes))
            second = ((int(found[1][place]),),) if self.facts.performs == "quantize" else ()
            out.append((lanes, *second))
        return out

    def described(self) -> dict[str, Any]:
        """Rounding, flags and the random operand as data."""
        facts, rounding = self.facts, {} if self.facts.performs == "quantize" else {"rounding": self.rounding.id}
        flags = {"tininess": facts.flags.tininess} if isinstance(facts.flags, IeeeFlags) else facts.flags
        sr = None
        if facts.random is not None:
            sr = {"bits": self.rounding.random_bits, "op": self.rounding.facts.add, "source": facts.random.use}
        entry = derive.policy_entry(get("policy", facts.policy), self.to) if facts.policy else None
        return {**rounding, "overflow": entry.overflow if entry else None, "flags": flags, "sr": sr}


def _recipe(facts: InstructionFacts) -> Recipe:
    recipe: Recipe = get("recipe", facts.recipe or "")
    return recipe


def _element(facts: InstructionFacts) -> str:
    """Return the element format of a quantizer's block."""
    block: Block = get("block", _recipe(facts).facts.block)
    return str(block.element_formats[0])


def _order(lanes: int, first: str | None) -> str | None:
    return None if lanes == 1 else f"the first lane of the manual is the {'highest' if first == 'high' else 'lowest'}"


def _array(numbers: Sequence[int], bits: int) -> Any:
    """Return one operand of many calls, words where it is wide."""
    if bits <= WIDEST:
        return np.array(numbers, np.uint64)
    return np.array([[number >> shift & 0xFFFFFFFF for shift in range(0, bits, WORD)] for number in numbers], np.uint32)


def _numbers(found: Any, bits: int) -> list[int]:
    """Return result registers as integers."""
    array = np.asarray(found)
    if bits <= WIDEST:
        return [int(value) for value in array]
    return [sum(int(word) << WORD * place for place, word in enumerate(row)) for row in array]
