"""Model of spec/instruction: operands, packing, rounding, flags and scales of instructions that exist or are proposed.

A file is a family: its `axes` say what changes from one mnemonic to the next (`forms` expands them).
What a conversion or a sum means is not here: `policy`, `rounding`, `recipe` and `datapath` name the objects that say it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from emu.base.caches import Cache
from emu.base.errors import SpecError
from emu.spec.models.common import (
    Count,
    FormatId,
    Id,
    Name,
    Names,
    OpenPoint,
    Part,
    RecipeId,
    RoundingId,
    Side,
    SpecObject,
    Status,
    TransformId,
)
from emu.spec.models.rounding import BitRange

SourceClass = Literal["nan", "inf"]
Choice = Id | Literal["open"]
RoundingChoice = Annotated[Choice, Names("rounding", unless="open")]
PolicyChoice = Annotated[Choice, Names("policy", unless="open")]
DatapathChoice = Annotated[Choice, Names("datapath", unless="open")]
Mnemonic = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.:{}=]+( [A-Za-z0-9_.:{}=]+)*$")]


class Register(Part):
    """One operand or the result: values of one format, side by side in a register."""

    name: Name = Field(description="the operand's name in the manual")
    lanes: int = Field(default=1, ge=1, le=64, description="values it holds")
    slot: int | None = Field(default=None, ge=1, le=64, description="bits per lane; absent: the width of a code. The rest of a slot is 0")
    first: Literal["high", "low"] | None = Field(default=None, description="where the first lane lies; needed for several lanes")

    @model_validator(mode="after")
    def _order(self) -> Register:
        if (self.lanes > 1) != (self.first is not None):
            raise ValueError("first belongs to a register of several lanes, and only to one")
        return self


class RandomProfile(Part):
    """One reading of the random operand: which bits a lane gets, and how they are added."""

    rounding: RoundingId = Field(description="rounding that draws")
    fields: tuple[tuple[BitRange, ...], ...] | None = Field(
        default=None,
        description="per lane, lowest lane of the result first (or one list for every lane): bit ranges, most significant first; "
        "narrower than the rounding's integer: its top bits, the rest 0. Absent: the rounding shares the word itself",
    )


class RandomOperand(Part):
    """The register of random bits."""

    name: Name = Field(description="the operand's name in the manual")
    bits: int = Field(ge=1, le=64, description="width of the register")
    profiles: dict[str, RandomProfile] = Field(min_length=1, description="name of a reading -> the reading")
    use: Choice = Field(description="the profile that holds, or open: then the caller names one")


class ScaleOperand(Part):
    """An operand that scales every lane by a power of two before the one rounding."""

    name: Name = Field(description="the operand's name in the manual")
    bits: int = Field(ge=1, le=32, description="width of the register")
    reads: Literal["fp32_exponent", "e8m0", "signed_exponent", "unsigned_exponent"] = Field(
        description="fp32_exponent: exponent field - 127, sign and fraction ignored, all ones is NaN; e8m0: code - 127, 0xFF is NaN; "
        "signed_exponent, unsigned_exponent: the integer itself (two's complement when signed)"
    )
    apply: Literal["divide", "multiply", "open"] = Field(description="source / 2^k or source * 2^k; open: the caller says which")


class IeeeFlags(Part):
    """Flags NV DZ OF UF NX as IEEE 754 defines them."""

    tininess: Literal["before", "after"] = Field(description="is a result tiny before or after rounding")


class FormFacts(Part):
    """What one form states; a family states what all its forms share, an axis what its word changes."""

    source: FormatId | None = Field(default=None, description="format of the operands' lanes")
    to: FormatId | None = Field(default=None, description="format of the result's lanes")
    operands: tuple[Register, ...] | None = Field(default=None, min_length=1, description="value operands, in the order of the assembly")
    result: Register | None = Field(default=None, description="the destination; its lanes are the operands' lanes in order")
    interleaved: Literal["yes"] | None = Field(
        default=None, description="yes: the operands take turns lane by lane; absent: one after the other"
    )
    rounding: RoundingChoice | None = Field(default=None, description="rounding of each lane; absent where a random operand names it")
    policy: PolicyChoice | None = Field(default=None, description="NaN, Inf, -0 and overflow of each lane")
    refused: tuple[SourceClass, ...] | None = Field(default=None, description="sources whose result nobody states: they are refused")
    random: RandomOperand | None = Field(default=None, description="the operand of a form that draws")
    scale: ScaleOperand | None = Field(default=None, description="the operand that scales")
    flags: Literal["none", "open"] | IeeeFlags | None = Field(default=None, description="none; open: nobody says; or IEEE flags")
    datapath: DatapathChoice | None = Field(default=None, description="mma: how A * B + C is summed and rounded, with its scales, C and D")
    a: FormatId | None = Field(default=None, description="mma: element format of A")
    b: FormatId | None = Field(default=None, description="mma: element format of B")
    scale_format: FormatId | None = Field(default=None, description="mma: format of the block scales, where the datapath offers several")
    block: Count | None = Field(default=None, description="mma: elements per scale, where the datapath offers several")
    m: Count | None = Field(default=None, description="mma: rows of A; absent: the caller's")
    n: Count | None = Field(default=None, description="mma: rows of B; absent: the caller's")
    k: Count | None = Field(default=None, description="mma: products of one instruction")
    recipe: RecipeId | None = Field(default=None, description="quantize: the program")
    transform: TransformId | None = Field(
        default=None, description="quantize: the rotation before the program; absent: none, or a step of it"
    )
    elements: Side | None = Field(default=None, description="quantize: elements of the block")
    amax_operand: Name | None = Field(default=None, description="quantize: operand with the tensor maximum, fp32 bits")
    signs_operand: Name | None = Field(
        default=None, description="quantize: name of the operand with the rotation's signs, bit i negates element i"
    )
    scale_result: Name | None = Field(default=None, description="quantize: name of the second result, the scale of the block")
    targets: tuple[str, ...] | None = Field(default=None, description="architectures that have it")
    since: str | None = Field(default=None, description="version of the manual that introduced it")
    status: Status | None = Field(default=None, description="status of the form where it differs from the file's")


class Variation(FormFacts):
    """One word of an axis: what stands in the mnemonic and the facts it sets."""

    word: str | None = Field(default=None, description="text in the mnemonic; absent: the key")


class InstructionFacts(FormFacts):
    """The family."""

    isa: Literal["ptx", "amd", "x86", "arm", "riscv"] = Field(description="instruction set; a proposal is written in the words of one")
    mnemonic: Mnemonic = Field(description="as in the assembly, {axis} where a word of an axis stands; state that chooses follows a blank")
    performs: Literal["convert", "widen", "mma", "quantize"] = Field(
        description="convert: each lane rounded once; widen: exact; mma: a sum of products; quantize: a recipe on one block"
    )
    axes: dict[str, dict[str, Variation]] = Field(default={}, description="axis -> word -> what it changes; forms: every combination")


class Question(OpenPoint):
    """An open point of an instruction, with the answers that are possible."""

    fact: Name | None = Field(default=None, description="the fact that the options set, where emu.instruction takes a choice")
    options: tuple[str, ...] = Field(default=(), description="possible answers")


class InstructionExample(Part):
    """A hand-checked execution; hex as wide as the register, operands in the order of the assembly.

    Of an mma: one row of A and one of B, element 0 first, their scales, C.
    """

    form: str = Field(description="mnemonic")
    operands: tuple[str, ...] = Field(description="value operands, hex")
    random: str | None = Field(default=None, description="random operand, hex")
    scale: str | None = Field(default=None, description="scale operand, hex")
    choose: dict[str, str] = Field(default={}, description="answers to open questions")
    result: str = Field(description="result, hex")
    scale_result: str | None = Field(default=None, description="second result of a quantizer, hex")
    flags: str | None = Field(default=None, description="NV DZ OF UF NX as two hex digits")
    why: str | None = Field(default=None, description="what the row shows")


class Instruction(SpecObject):
    """One family of instructions."""

    kind: Literal["instruction"] = Field(description="the folder the file lies in")
    facts: InstructionFacts = Field(description="what the forms do")
    open: tuple[Question, ...] = Field(default=(), description="what the sources do not decide")
    rationale: tuple[str, ...] = Field(default=(), description="why it should exist, with its numbers; needed for a proposal")
    expect: tuple[InstructionExample, ...] = Field(default=(), description="hand-checked examples")

    @model_validator(mode="after")
    def _proposals_say_why(self) -> Instruction:
        if (self.status == "proposed") != bool(self.rationale):
            raise ValueError("rationale belongs to a proposed instruction, and only to one")
        return self

    @property
    def accepted(self) -> tuple[str, ...]:
        """Aliases, and the ids and mnemonics of its forms."""
        return (*self.aliases, *accepted_names(self))


_forms: Cache[tuple[str, str], tuple[InstructionVariant, ...]] = Cache("emu.spec.models.instruction._forms", 512)


@dataclass(frozen=True)
class InstructionVariant:
    """One instruction.

    id: the mnemonic in lower case with `_` for all else.   words: axis -> word.   facts: the family's with those of the words.
    """

    id: str
    mnemonic: str
    words: dict[str, str]
    facts: InstructionFacts
    status: Status


def form_id(mnemonic: str) -> str:
    """Return the id of a mnemonic."""
    return re.sub(r"[^a-z0-9]+", "_", mnemonic.lower()).strip("_")


def forms(family: Instruction) -> tuple[InstructionVariant, ...]:
    """Return the forms of a family, the last axis fastest. Raises: SpecError (an axis that the mnemonic lacks, or the reverse)."""
    key = (family.facts_digest, family.status)
    found = _forms.get(key)
    return found if found is not None else _forms.keep(key, tuple(_expanded(family)))


def _expanded(family: Instruction) -> Iterator[InstructionVariant]:
    facts = family.facts
    placed = re.findall(r"\{([a-z_0-9]+)\}", facts.mnemonic)
    if sorted(placed) != sorted(facts.axes):
        raise SpecError(f"mnemonic names the axes {', '.join(placed) or 'none'}, axes has {', '.join(facts.axes) or 'none'}")
    for words in product(*facts.axes.values()):
        chosen = dict(zip(facts.axes, words, strict=True))
        variations = {axis: facts.axes[axis][word] for axis, word in chosen.items()}
        texts = {axis: chosen[axis] if item.word is None else item.word for axis, item in variations.items()}
        mnemonic = facts.mnemonic.format(**texts)
        merged = _merged(facts, variations)
        yield InstructionVariant(form_id(mnemonic), mnemonic, chosen, merged, merged.status or family.status)


def _merged(facts: InstructionFacts, variations: dict[str, Variation]) -> InstructionFacts:
    """Return the family's facts with those of the words; one fact may be set in one place only."""
    update: dict[str, object] = {"axes": {}}
    for axis, item in variations.items():
        for key in FormFacts.model_fields:
            value = getattr(item, key)
            if value is None:
                continue
            if key in update or getattr(facts, key) is not None:
                raise SpecError(f"{key} is set by axis {axis} and once more: set each fact in one place")
            update[key] = value
    return facts.model_copy(update=update)


def accepted_names(family: Instruction) -> tuple[str, ...]:
    """Return what else finds a family: ids and mnemonics of its forms."""
    found = dict.fromkeys(name for form in forms(family) for name in (form.id, form.mnemonic))
    return tuple(name for name in found if name != family.id and name not in family.aliases)
