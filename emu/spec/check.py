"""Checks of one file that need other files: programs, policies, codebooks. Faults carry file and line."""

from __future__ import annotations

from emu.errors import SpecError
from emu.spec import derive
from emu.spec.loader import Document, Path
from emu.spec.models import Block, Conversion, Format, Recipe, SpecObject, Transform
from emu.spec.models.format import CodebookFacts, ExponentFacts, FloatFacts
from emu.spec.program import StepFault, build
from emu.spec.registry import get


def check_facts(model: SpecObject, document: Document) -> None:
    """Check an object against the objects it names. Raises: SpecError with file and line."""
    try:
        if isinstance(model, Format):
            _check_format(model)
        elif isinstance(model, Conversion):
            _check_conversion(model, document)
        elif isinstance(model, Block):
            derive.parse_exact(model.facts.factor)
        elif isinstance(model, Transform):
            _check_transform(model)
    except SpecError as error:
        raise _placed(error, document, ("facts",)) from None
    if isinstance(model, Recipe):
        _check_recipe(model, document)


def _placed(error: SpecError, document: Document, path: Path) -> SpecError:
    return error if ".yaml:" in str(error) else SpecError(f"{document.where(path)}: {error}")


def _check_format(fmt: Format) -> None:
    facts = fmt.facts
    if isinstance(facts, FloatFacts | ExponentFacts) and not isinstance(facts.nan, str):
        if any(int(code, 16) >> fmt.facts.bits for code in facts.nan):
            raise SpecError(f"a NaN code of {fmt.id} has more than {fmt.facts.bits} bits")
    if isinstance(facts, CodebookFacts):
        count = len(facts.values) if facts.values is not None else _bit_values(fmt)
        if count != 1 << facts.bits:
            raise SpecError(f"{fmt.id} needs {1 << facts.bits} values, it lists {count}")
    derive.codes(fmt)


def _bit_values(fmt: Format) -> int:
    source: Format = get("format", fmt.facts.values_format)  # type: ignore[union-attr,arg-type]
    digits = -(-derive.codes(source).bits // 4)
    text = fmt.facts.values_bits.replace(" ", "")  # type: ignore[union-attr]
    if len(text) % digits:
        raise SpecError(f"values_bits needs {digits} digits a value")
    return len(text) // digits


def _check_conversion(policy: Conversion, document: Document) -> None:
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
    for profile in (None, *recipe.facts.dequantize):
        path: Path = ("facts", "steps") if profile is None else ("facts", "dequantize", profile)
        try:
            build(recipe, profile)
        except StepFault as error:
            raise SpecError(f"{document.where((*path, error.number) if error.number >= 0 else path)}: {error}") from None
