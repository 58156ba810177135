"""Checks of one file that need other files: programs, policies, codebooks. Faults carry file and line."""

from __future__ import annotations

from emu.base.errors import SpecError
from emu.spec import derive
from emu.spec.checks.checkpoint import check_checkpoint
from emu.spec.checks.datapath import check_datapath
from emu.spec.checks.training import check_training
from emu.spec.instruction import check_instruction
from emu.spec.loader import Document, Path
from emu.spec.models import Block, Checkpoint, Datapath, Format, Instruction, Policy, Recipe, SpecObject, Training, Transform
from emu.spec.models.format import CodebookFacts, ExponentFacts, FloatFacts
from emu.spec.programs.program import StepFault, build
from emu.spec.registry import get


def check_facts(model: SpecObject, document: Document) -> None:
    """Check an object against the objects it names. Raises: SpecError with file and line."""
    try:
        if isinstance(model, Format):
            _check_format(model, document)
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
    except SpecError as error:
        raise _placed(error, document, ("facts",)) from None
    if isinstance(model, Recipe):
        _check_recipe(model, document)


def _placed(error: SpecError, document: Document, path: Path) -> SpecError:
    return error if ".yaml:" in str(error) else _fault(document, path, str(error))


def _fault(document: Document, path: Path, why: str) -> SpecError:
    return SpecError(f"{document.where(path)}: {'.'.join(str(part) for part in path)}: {why}")


def _check_format(fmt: Format, document: Document) -> None:
    facts = fmt.facts
    listed = facts.nan if isinstance(facts, FloatFacts | ExponentFacts) and not isinstance(facts.nan, str) else ()
    for number, code in enumerate(listed):
        if int(code, 16) >> facts.bits:
            raise _fault(document, ("facts", "nan", number), f"{code} has more than {facts.bits} bits")
    if isinstance(facts, CodebookFacts):
        key = "values" if facts.values is not None else "values_bits"
        try:
            count = _codebook_length(facts)
        except SpecError as error:
            raise _placed(error, document, ("facts", key)) from None
        if count != 1 << facts.bits:
            raise _fault(document, ("facts", key), f"{facts.bits} bits need {1 << facts.bits} values, there are {count}")
    if derive.codes(fmt).max_code < 0:
        raise _fault(document, ("facts", "nan"), "every code is NaN: a format needs a number")


def _codebook_length(facts: CodebookFacts) -> int:
    """Return how many finite values a codebook lists. Raises: SpecError for one that is not finite."""
    if facts.values is not None:
        for text in facts.values:
            if text not in ("-0", "0"):
                derive.parse_exact(text)
        signs = {text.startswith("-") for text in facts.values if text not in ("-0", "0")}
        if len(signs) == 2 and not {"-0", "0"} & set(facts.values):
            raise SpecError('values of both signs need a "0" between them')
        return len(facts.values)
    assert facts.values_bits is not None and facts.values_format is not None
    source: Format = get("format", facts.values_format)
    if not isinstance(source.facts, FloatFacts):
        raise SpecError(f"values_format {source.id} is no float format")
    digits = -(-derive.codes(source).bits // 4)
    text = facts.values_bits.replace(" ", "")
    if len(text) % digits:
        raise SpecError(f"{len(text)} hex digits are no multiple of the {digits} of a {source.id} code")
    numbers = [int(text[i : i + digits], 16) for i in range(0, len(text), digits)]
    for number in numbers:
        if not derive.is_finite_code(number, source):
            raise SpecError(f"0x{number:0{digits}X} is no finite {source.id} number")
    return len(numbers)


def _check_block(block: Block, document: Document) -> None:
    try:
        derive.parse_exact(block.facts.factor)
    except SpecError as error:
        raise _fault(document, ("facts", "factor"), str(error)) from None


def _check_policy(policy: Policy, document: Document) -> None:
    for key, entry in policy.facts.items():
        if key not in ("with_nan", "without_nan"):
            try:
                derive.entry_codes(entry, get("format", key))
            except SpecError as error:
                raise _placed(error, document, ("facts", key)) from None


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
        raise _fault(document, ("facts", "arithmetic", "to"), str(error)) from None
    if rounding.random_bits:
        raise _fault(document, ("facts", "arithmetic", "round"), f"rounding {rounding.id} draws random bits: only a cast may")
    for profile in (None, *recipe.facts.dequantize):
        path: Path = ("facts", "steps") if profile is None else ("facts", "dequantize", profile)
        try:
            build(recipe, profile)
        except StepFault as error:
            raise _fault(document, (*path, error.number) if error.number >= 0 else path, str(error)) from None
