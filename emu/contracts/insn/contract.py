"""insn: raw registers of one instruction -> its result register, flags, and the random integer of each lane.

The reference model reads registers with registers.py and converts lane by lane; the other engines run emu.instruction itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Self

import numpy as np

from emu.base.caches import lazy
from emu.base.errors import OpenError, SpecError
from emu.contracts.columns import Column, Layout, layout_of
from emu.contracts.contract import Batch, Contract, Deviation, Values, entry, native, present
from emu.contracts.convert.contract import split_rounding
from emu.contracts.examples import split
from emu.contracts.insn import cases, registers
from emu.contracts.insn.registers import AMAX_BITS, SIGN_BITS
from emu.contracts.quantize.contract import QuantizeContract
from emu.contracts.quantize.trace import trace_quantize
from emu.contracts.rows import Answer, pack
from emu.contracts.text import code_text, value_text
from emu.engines.exact.convert import convert_value
from emu.engines.exact.decode import decode_code
from emu.engines.exact.flags import convert_flags
from emu.engines.exact.transform import transform_codes
from emu.ops.instruction import Executable, instruction, register_of, register_text
from emu.ops.instruction.bits import WIDEST, WORD
from emu.ops.instruction.mma import plan_of
from emu.spec import derive
from emu.spec.contract import ContractName
from emu.spec.derive import OPEN
from emu.spec.instruction import find_form, questions
from emu.spec.models import Block, Format, Instruction, Policy, Recipe, Rounding, SpecObject, Transform
from emu.spec.models.instruction import IeeeFlags, InstructionFacts
from emu.spec.registry import get, names

FLAG_BITS: Final = 5
FLAG_MEANS: Final = "NV DZ OF UF NX, NV highest"
FLAG_NAMES: Final = ("nx", "uf", "of", "dz", "nv")  # bit 0 first


@dataclass(frozen=True, eq=False)
class InstructionContract(Contract):
    """insn/<form>[/<answer>...], a conversion, widening or fused quantizer."""

    run: Executable
    facts: InstructionFacts
    source: Format
    to: Format
    examples: ClassVar[tuple[str, ...]] = ("instruction",)
    chooser: ClassVar[Any] = cases
    smoke = 24

    @classmethod
    def of(cls, name: ContractName, given: str = "") -> Self:
        """Return the contract of a name; nothing is left open but by its questions, which must be answered."""
        family, form = find_form(name.parts[0])
        asked = questions(family, form)
        if len(asked) != len(name.parts) - 1 or form.facts.performs == "mma":
            what = "multiplies matrices: its rows are those of dot" if form.facts.performs == "mma" else f"leaves {', '.join(asked)} open"
            raise SpecError(f"{name}: {what}: name a contract without open questions")
        run = instruction(form.id, **dict(zip(asked, name.parts[1:], strict=True)))
        facts = run.facts
        assert facts.source and facts.operands and facts.result
        to: Format = get("format", facts.to or _element(facts))
        lanes = facts.result.lanes
        part = "_".join(name.parts)
        return cls(name, f"{facts.source}x{lanes}", f"{to.id}x{lanes}", part, run, facts, get("format", facts.source), to)

    @property
    def lanes(self) -> int:
        """Lanes of the result."""
        assert self.facts.result
        return self.facts.result.lanes

    @lazy
    def slot(self) -> int:
        """Bits of a lane in the result register."""
        assert self.facts.result
        return registers.slot_of(self.facts.result, self.to)

    @property
    def has_flags(self) -> bool:
        """Tell whether the instruction raises the flags of IEEE 754."""
        return isinstance(self.facts.flags, IeeeFlags)

    @lazy
    def quantizer(self) -> QuantizeContract:
        """What a fused quantizer does with a block of its source."""
        return QuantizeContract.of(ContractName("quantize", (str(self.facts.recipe),)), self.source.id)

    @lazy
    def rounding(self) -> Rounding:
        """How each lane is rounded, with a random integer of its own."""
        random = self.facts.random
        return split_rounding(get("rounding", str(self.facts.rounding) if random is None else random.profiles[random.use].rounding))

    @lazy
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
        outs += [Column("fl", "out", FLAG_BITS, means=FLAG_MEANS, flags=FLAG_NAMES)] if self.has_flags else []
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

    def exact(self, values: Values) -> Answer:
        """Return the lanes of d, flags, and the random integers; OPEN for a lane that nobody states."""
        named = self.inputs_of(values)
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

    def trace(self, values: Values, lane: int = 0) -> Any:
        """One lane: its source in the registers, the scale, the random integer, the rounding, the result; of a quantizer its recipe."""
        named, facts, where = self.inputs_of(values), self.facts, f"lane {lane}"
        answer = self.exact(values)
        tail = [entry("d", "encode", where, "open" if answer[0][lane] < 0 else code_text(answer[0][lane], self.to))]
        if facts.performs == "quantize":
            return [*self._tile(named, lane), *tail]
        code = registers.sources(facts, named)[lane]
        value = decode_code(code, self.source)
        out = [entry("source", "read", where, f"{code_text(code, self.source)} = {value_text(value)}")]
        if facts.scale is not None:
            exp = registers.scale_exp(facts.scale, named[facts.scale.name])
            moved = value_text(registers.moved(value, exp))
            out.append(entry("scaled", facts.scale.apply, where, f"2^{exp}: {moved}" if exp is not None else f"NaN scale: {moved}"))
        if facts.random is not None:
            drawn = registers.drawn(facts.random, named["rbits"], lane, self.lanes)
            out.append(entry("random", facts.random.use, where, f"{drawn} of {self.rounding.random_bits} bits"))
        out += [entry("rounded", self.rounding.id, where, f"policy {facts.policy}"), *tail]
        return out + ([entry("fl", "flags", "lanes", f"{answer[1][0]:05b} ({FLAG_MEANS})")] if self.has_flags else [])

    def _tile(self, named: Mapping[str, int], lane: int) -> list[dict[str, Any]]:
        """Return the steps of the recipe for one lane of the result."""
        facts, op = self.facts, self.quantizer
        codes, signs = registers.sources(facts, named), None if facts.signs_operand is None else named[facts.signs_operand]
        if facts.transform is not None:  # before the recipe, with the signs of the instruction
            transform: Transform = get("transform", facts.transform)
            size = transform.facts.size
            groups = (codes[at : at + size] for at in range(0, len(codes), size))
            codes = [code for group in groups for code in transform_codes(group, self.source, transform, signs)]
            op, signs = QuantizeContract.of(op.name, transform.facts.result), None
        amax = [] if facts.amax_operand is None else [named[facts.amax_operand]]
        tail = [op.n] if op.ragged else []
        return trace_quantize(op, (pack(codes, op.layout.inputs[0].lane_bits), *amax, *tail), lane, signs)

    @classmethod
    def replay(cls, thing: SpecObject, example: Any) -> str | None:
        """Return None when a worked example holds, else what came out instead."""
        assert isinstance(thing, Instruction)
        call = instruction(example.form, **example.choose)
        found = run(call, example)
        wanted = [text for text in (example.result, example.scale_result, example.flags) if text is not None]
        if len(found) != len(wanted):
            return f"{len(found)} results, not {len(wanted)}"
        texts = [register_text(value, len(text)) for value, text in zip(found, wanted, strict=True)]
        return None if texts == wanted else f"{' '.join(texts)}, not {' '.join(wanted)}"

    def deviations(self) -> Iterator[Deviation]:
        """Another order of lanes, rounding, policy, or way to apply the scale; of a quantizer those of its recipe."""
        facts = self.facts
        for part, changed in _changed(facts):
            yield Deviation(part, "encode" if part.startswith("policy") else "rounded", replace(self, facts=changed).exact)
        assert facts.result
        if self.lanes > 1:
            yield Deviation("the lanes of d are in reverse order", "d", self._reversed)

    def _reversed(self, values: Values) -> Answer:
        lanes, *rest = self.exact(values)
        return (lanes[::-1], *rest)

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


def _changed(facts: InstructionFacts) -> Iterator[tuple[str, InstructionFacts]]:
    """Yield what one fact of a conversion says otherwise, in words, with the facts."""
    if facts.performs == "quantize":
        return
    if facts.random is None and facts.rounding is not None:
        for mode in ("rne", "rz", "ru", "rd", "rna"):
            if mode != facts.rounding:
                yield f"rounds {mode}, not {facts.rounding}", facts.model_copy(update={"rounding": mode})
    for policy in names("policy") if facts.policy is not None else ():
        if policy != facts.policy and facts.to in get("policy", policy).facts:
            yield f"policy {policy}, not {facts.policy}", facts.model_copy(update={"policy": policy})
    if facts.scale is not None:
        way = "divide" if facts.scale.apply == "multiply" else "multiply"
        yield f"the scale is applied to {way}", facts.model_copy(update={"scale": facts.scale.model_copy(update={"apply": way})})


# Worked examples of instructions: one execution each, on raw registers, by the exact engine.


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
    formats: dict[str, Any] = {"a": plan.a, "b": plan.b, "a_scales": plan.scale, "b_scales": plan.scale, "c": plan.c}
    return {name: np.array([split(text, formats[name])], np.uint64) for name, text in zip(call.operands, texts, strict=True)}
