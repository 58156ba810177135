"""Checks of one file that need other files: programs, policies, codebooks. Faults carry file and line."""

from __future__ import annotations

from emu.base.errors import SpecError
from emu.spec import derive
from emu.spec.checks.checkpoint import check_checkpoint
from emu.spec.checks.datapath import check_datapath
from emu.spec.checks.datapath import settled as settled_datapath
from emu.spec.checks.format import check_format
from emu.spec.instruction import check_instruction
from emu.spec.known import validate
from emu.spec.levels import LevelFault
from emu.spec.loader import Document, Path, fault, placed
from emu.spec.models import Block, Checkpoint, Datapath, Format, Instruction, Policy, Recipe, Series, SpecObject, Training, Transform
from emu.spec.models.format import FloatFacts
from emu.spec.models.policy import OF_SERIES, PATTERNS
from emu.spec.models.rounding import PerElement
from emu.spec.models.training import OperandFacts
from emu.spec.programs.program import StepFault, build
from emu.spec.registry import get
from emu.spec.series import check_names, choices, member_document
from emu.spec.training import GEMMS, Operand, operand_of, rotation_of


def check_facts(model: SpecObject, document: Document) -> None:
    """Check an object against the objects it names. Raises: SpecError with file and line."""
    try:
        if isinstance(model, Format):
            check_format(model, document)
        elif isinstance(model, Policy):
            _check_policy(model, document)
        elif isinstance(model, Block):
            _check_block(model, document)
        elif isinstance(model, Transform):
            _check_transform(model)
        elif isinstance(model, Datapath):
            check_datapath(model)
        elif isinstance(model, Instruction):
            check_instruction(model)
        elif isinstance(model, Checkpoint):
            check_checkpoint(model)
        elif isinstance(model, Training):
            check_training(model)
        elif isinstance(model, Series):
            _check_series(model, document)
    except SpecError as error:
        raise placed(error, document, ("facts", *(error.path if isinstance(error, LevelFault) else ()))) from None
    if isinstance(model, Recipe):
        _check_recipe(model, document)


def settled(model: SpecObject) -> SpecObject:
    """Return an object that passed its checks in the form that engines ask: a datapath whose levels are a chain of fused steps as such."""
    return settled_datapath(model) if isinstance(model, Datapath) else model


def _check_series(series: Series, document: Document) -> None:
    """Check that every member is a format, and that no two of them have one id."""
    check_names(series, document)
    seen: set[str] = set()
    for choice in choices(series):
        member = member_document(series, document, choice)
        name = str(member.data["id"])
        if name in seen:
            raise fault(document, ("facts", "name"), f"two members are called {name}: put letters between the numbers")
        seen.add(name)
        model = validate(series.facts.of, member, name)
        assert isinstance(model, Format)
        check_format(model, member)
    if not seen:
        raise fault(document, ("facts", "numbers"), "there is no member: the largest value of a number is below the smallest")


def _check_block(block: Block, document: Document) -> None:
    try:
        derive.parse_exact(block.facts.factor)
    except SpecError as error:
        raise fault(document, ("facts", "factor"), str(error)) from None


def _check_policy(policy: Policy, document: Document) -> None:
    for key, entry in policy.facts.items():
        if key not in PATTERNS:
            try:
                for fmt in derive.members_named(key) if key.startswith(OF_SERIES) else (get("format", key),):
                    derive.entry_codes(entry, fmt)
            except SpecError as error:
                raise placed(error, document, ("facts", key)) from None


def _check_transform(transform: Transform) -> None:
    scale = derive.parse_exact(transform.facts.scale)
    if scale <= 0 or scale.numerator & (scale.numerator - 1) or scale.denominator & (scale.denominator - 1):
        raise SpecError("scale must be a power of two")
    if int(transform.facts.signs, 16) >> transform.facts.size:
        raise SpecError(f"signs has more than {transform.facts.size} bits")
    for name in (transform.facts.sum_format, transform.facts.result):
        derive.arithmetic_entry(get("format", name))


def _check_recipe(recipe: Recipe, document: Document) -> None:
    arithmetic, rounding = get("format", recipe.facts.arithmetic.to), get("rounding", recipe.facts.arithmetic.round)
    try:
        derive.arithmetic_entry(arithmetic)
    except SpecError as error:
        raise fault(document, ("facts", "arithmetic", "to"), str(error)) from None
    if rounding.random_bits:
        raise fault(document, ("facts", "arithmetic", "round"), f"rounding {rounding.id} draws random bits: only a cast may")
    for profile in (None, *recipe.facts.dequantize):
        path: Path = ("facts", "steps") if profile is None else ("facts", "dequantize", profile)
        try:
            build(recipe, profile)
        except StepFault as error:
            raise fault(document, (*path, error.number) if error.number >= 0 else path, str(error)) from None


# Checks of a training recipe against what it names. Faults name the key; check.py adds file and line.


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
