"""Forms of instruction families by name; their open facts; and the checks that need other files.

Not here: execution (emu.ops.instruction), the keys and the forms of a family (models/instruction.py).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator

from emu.base.errors import OpenError, SpecError
from emu.spec import derive
from emu.spec.datapath import resolve
from emu.spec.models import Block, Format, Instruction, Recipe, Rounding
from emu.spec.models.instruction import FormFacts, InstructionFacts, InstructionVariant, RandomOperand, Register, form_id, forms
from emu.spec.models.rounding import Word
from emu.spec.registry import get, names

NEEDED = {
    "convert": ("source", "to", "operands", "result", "policy", "flags"),
    "widen": ("source", "to", "operands", "result", "rounding", "policy", "flags"),
    "mma": ("datapath", "a", "b", "k", "flags"),
    "quantize": ("recipe", "elements", "source", "operands", "result", "scale_result", "flags"),
}
COMMON = ("isa", "mnemonic", "performs", "axes", "targets", "since", "status")
ALLOWED = {
    "convert": ("rounding", "random", "scale", "refused", "interleaved"),
    "widen": (),
    "mma": ("scale_format", "block", "m", "n"),
    "quantize": ("transform", "amax_operand", "signs_operand"),
}
CHOICES = ("rounding", "policy", "random", "scale", "datapath")


def find_form(name: str | Instruction) -> tuple[Instruction, InstructionVariant]:
    """Return the form of a mnemonic or form id (in any case), or of a family that has one form only, and its family.

    Raises: SpecError (unknown, with the nearest mnemonics; a family of several forms).
    """
    if not isinstance(name, str):
        return _only_form(get("instruction", name))
    wanted = form_id(name)
    everything = {form.id: (family, form) for family, form in all_forms()}
    if wanted in everything:
        return everything[wanted]
    if name in names("instruction") or any(name in get("instruction", item).aliases for item in names("instruction")):
        return _only_form(get("instruction", name))
    near = difflib.get_close_matches(wanted, everything, n=2, cutoff=0.5)
    hint = f"did you mean {' or '.join(everything[item][1].mnemonic for item in near)}?" if near else "see `emu list instructions`"
    raise SpecError(f"instruction {name!r} is unknown: {hint}")


def _only_form(family: Instruction) -> tuple[Instruction, InstructionVariant]:
    found = forms(family)
    if len(found) > 1:
        raise SpecError(f"{family.id} is a family of {len(found)} instructions: name one, such as {found[0].mnemonic}")
    return family, found[0]


def all_forms() -> Iterator[tuple[Instruction, InstructionVariant]]:
    """Yield every form of the registry with its family."""
    for name in names("instruction"):
        family: Instruction = get("instruction", name)
        for form in forms(family):
            yield family, form


def check_instruction(family: Instruction) -> None:
    """Check the forms of a family against the objects they name. Raises: SpecError."""
    seen: dict[str, str] = {}
    for form in forms(family):
        if form.id in seen:
            raise SpecError(f"{form.mnemonic} and {seen[form.id]} have the same id {form.id}")
        seen[form.id] = form.mnemonic
        try:
            _check_form(form.facts)
        except SpecError as error:
            raise SpecError(f"{form.mnemonic}: {error}") from None
        _check_questions(family, form)
    for number, example in enumerate(family.expect):
        if form_id(example.form) not in seen:
            raise SpecError(f"expect.{number}: form {example.form!r} is none of this family")


def _check_form(facts: InstructionFacts) -> None:
    missing = [key for key in NEEDED[facts.performs] if getattr(facts, key) is None]
    if missing:
        raise SpecError(f"an instruction that performs {facts.performs} needs {', '.join(missing)}")
    allowed = (*NEEDED[facts.performs], *ALLOWED[facts.performs], *COMMON)
    unused = [key for key in FormFacts.model_fields if getattr(facts, key) is not None and key not in allowed]
    if unused:
        raise SpecError(f"an instruction that performs {facts.performs} has no use for {', '.join(unused)}")
    if facts.performs in ("convert", "widen"):
        _check_policy(facts)
    if facts.performs == "quantize":
        _check_quantizer(facts)
    if facts.performs == "mma" and facts.datapath != "open":
        _check_mma(facts)
    if facts.source is not None and facts.operands is not None:
        for register in facts.operands:
            check_slot(register, get("format", facts.source))


def _check_policy(facts: InstructionFacts) -> None:
    assert facts.source and facts.to and facts.operands and facts.result
    lanes = sum(register.lanes for register in facts.operands)
    if lanes != facts.result.lanes:
        raise SpecError(f"the operands hold {lanes} lanes, the result {facts.result.lanes}")
    if facts.interleaved and len({register.lanes for register in facts.operands}) != 1:
        raise SpecError("interleaved operands need the same number of lanes")
    to: Format = get("format", facts.to)
    check_slot(facts.result, to)
    if (facts.rounding is None) == (facts.random is None):
        raise SpecError("a conversion states either a rounding or a random operand")
    if facts.random is not None:
        _check_random(facts.random, lanes)
    elif facts.rounding not in (None, "open") and get("rounding", str(facts.rounding)).random_bits:
        raise SpecError(f"rounding {facts.rounding} draws: state the random operand")
    if facts.policy not in (None, "open"):
        derive.policy_entry(get("policy", str(facts.policy)), to)


def _check_mma(facts: InstructionFacts) -> None:
    """Check a form against its datapath; nothing is asked of an unknown one."""
    assert facts.datapath
    try:
        plan = resolve(facts.datapath, facts.a, facts.b, facts.scale_format, facts.block)
    except OpenError:
        return
    if facts.k != plan.facts.k:
        raise SpecError(f"k is {facts.k}, that of datapath {facts.datapath} is {plan.facts.k}")


def _check_quantizer(facts: InstructionFacts) -> None:
    assert facts.result and facts.operands
    recipe: Recipe = get("recipe", facts.recipe or "")
    block: Block = get("block", recipe.facts.block)
    check_slot(facts.result, get("format", block.element_formats[0]))
    lanes = {facts.elements, facts.result.lanes, sum(register.lanes for register in facts.operands), block.facts.shape[1]}
    if len(lanes) != 1 or block.facts.shape[0] != 1 or len(block.element_formats) != 1:
        raise SpecError(f"operands, result, elements and the block of {recipe.id} must all have one length, not {lanes}")
    levels = [level.granularity for level in block.facts.levels]
    if ("tensor" in levels) != (facts.amax_operand is not None):
        raise SpecError(f"amax_operand belongs to a recipe with a level of the tensor, and only to one ({recipe.id})")


def check_slot(register: Register, fmt: Format) -> int:
    """Return the bits per lane of a register. Raises: SpecError (narrower than a code)."""
    bits = derive.codes(fmt).bits
    if register.slot is not None and register.slot < bits:
        raise SpecError(f"{register.name}: a slot of {register.slot} bits holds no {fmt.id} code of {bits}")
    return register.slot or bits


def _check_random(random: RandomOperand, lanes: int) -> None:
    if random.use != "open" and random.use not in random.profiles:
        raise SpecError(f"random.use {random.use!r} is none of the profiles {', '.join(random.profiles)}")
    for name, profile in random.profiles.items():
        rounding: Rounding = get("rounding", profile.rounding)
        word = rounding.facts.random if isinstance(rounding.facts.random, Word) else None
        if profile.fields is None:
            if word is None or (word.word, word.lanes) != (random.bits, lanes):
                raise SpecError(f"random.{name}: {rounding.id} shares no word of {random.bits} bits between {lanes} lanes: state fields")
        elif word is not None or len(profile.fields) not in (1, lanes):
            raise SpecError(f"random.{name}: fields need 1 or {lanes} lanes and a rounding with one integer per element")
        for lane in profile.fields or ():
            if sum(abs(first - last) + 1 for first, last in lane) > rounding.random_bits:
                raise SpecError(f"random.{name}: a lane gets more bits than the {rounding.random_bits} of {rounding.id}")
            if any(not 0 <= bit < random.bits for item in lane for bit in item):
                raise SpecError(f"random.{name}: a bit range lies outside the {random.bits} bits of {random.name}")


def _check_questions(family: Instruction, form: InstructionVariant) -> None:
    for question in family.open:
        if question.fact is None:
            continue
        if question.fact not in CHOICES:
            raise SpecError(f"open: fact {question.fact!r} is not one that emu.instruction takes: {', '.join(CHOICES)}")
        for option in question.options:
            _check_option(form.facts, question.fact, option)
    for key in CHOICES:
        if is_open(form.facts, key) and not any(question.fact == key for question in family.open):
            raise SpecError(f"{form.mnemonic}: {key} is open: say so under open, with fact: {key}")


def _check_option(facts: InstructionFacts, key: str, option: str) -> None:
    """Check that an answer exists."""
    kinds = {"rounding": "rounding", "policy": "policy", "datapath": "datapath"}
    if key in kinds:
        get(kinds[key], option)
    elif key == "random" and facts.random is not None and option not in facts.random.profiles:
        raise SpecError(f"open: option {option} is none of the profiles {', '.join(facts.random.profiles)}")
    elif key == "scale" and option not in ("divide", "multiply"):
        raise SpecError(f"open: option {option} of scale must be divide or multiply")


def is_open(facts: InstructionFacts, key: str) -> bool:
    """Tell whether a fact of a form is open, so that the caller must choose."""
    if key == "random":
        return facts.random is not None and facts.random.use == "open"
    if key == "scale":
        return facts.scale is not None and facts.scale.apply == "open"
    return bool(getattr(facts, key) == "open")


def questions(family: Instruction, form: InstructionVariant) -> dict[str, tuple[str, ...]]:
    """Return the open facts of a form with the answers that the spec lists, in the order of CHOICES."""
    open_facts = [key for key in CHOICES if is_open(form.facts, key)]
    return {key: tuple(option for item in family.open if item.fact == key for option in item.options) for key in open_facts}


def answered(facts: InstructionFacts, key: str, answer: str) -> InstructionFacts:
    """Return the facts with one open fact set."""
    if key == "random":
        return facts if facts.random is None else facts.model_copy(update={key: facts.random.model_copy(update={"use": answer})})
    if key == "scale":
        return facts if facts.scale is None else facts.model_copy(update={key: facts.scale.model_copy(update={"apply": answer})})
    return facts.model_copy(update={key: answer})
