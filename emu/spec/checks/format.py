"""Checks of a format: its codes, its special codes and its values are one grid, in which a greater code is a greater number."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from emu.base.errors import SpecError
from emu.spec import derive
from emu.spec.loader import Document, fault, placed
from emu.spec.models import Format
from emu.spec.models.format import CodebookFacts, ExponentFacts, FloatFacts, IntegerFacts
from emu.spec.reach import reach
from emu.spec.registry import get

LEAST_EXP: Final = -1074  # binary64: the smallest subnormal number is 2^-1074
TOP_EXP: Final = 1024  # and every number is less than 2^1024


def check_format(fmt: Format, document: Document) -> None:
    """Prove that codes, special codes and values are one grid. Raises: SpecError with file and place."""
    facts = fmt.facts
    listed = facts.nan if isinstance(facts, FloatFacts | ExponentFacts) and not isinstance(facts.nan, str) else ()
    for number, code in enumerate(listed):
        if int(code, 16) >> facts.bits:
            raise fault(document, ("facts", "nan", number), f"{code} has more than {facts.bits} bits")
    if isinstance(facts, FloatFacts) and not isinstance(facts.inf, str):
        _check_infinities(fmt, facts.inf, document)
    if isinstance(facts, CodebookFacts):
        key = "values" if facts.values is not None else "values_bits"
        try:
            count = _codebook_length(facts)
        except SpecError as error:
            raise placed(error, document, ("facts", key)) from None
        if count != 1 << facts.bits:
            raise fault(document, ("facts", key), f"{facts.bits} bits need {1 << facts.bits} values, there are {count}")
        _check_codebook_range(facts, document)
    if derive.codes(fmt).max_code < 0:
        raise fault(document, ("facts", "nan"), "every code is NaN: a format needs a number")
    if isinstance(facts, FloatFacts | ExponentFacts):
        _check_specials(fmt, listed, document)
    _check_range(fmt, document)


def _check_specials(fmt: Format, listed: tuple[str, ...], document: Document) -> None:
    """Prove that magnitude codes are, from 0 upwards, first numbers, then Inf where there is one, then NaN; alike for both signs.

    Then a greater code is a greater number, every number has its negative, and rounding up past the largest number meets what is beyond it.
    """
    known, where = derive.codes(fmt), ("facts", "nan")
    if isinstance(fmt.facts, FloatFacts) and fmt.facts.nan == "ieee":
        if not fmt.facts.frac_bits:
            raise fault(
                document, where, "nan: ieee needs a fraction bit, for exponent all ones and fraction zero is Inf: list the NaN codes"
            )
        return
    nan = [int(code, 16) for code in listed]
    if len(set(nan)) < len(nan):
        raise fault(document, where, "a code is listed twice: list each NaN code once")
    if known.has_zero and not known.neg_zero and known.sign_bit in nan:
        nan.remove(known.sign_bit)  # NaN in the place of -0
    by_sign = {code & known.sign_bit: {other & ~known.sign_bit for other in nan if not (other ^ code) & known.sign_bit} for code in nan}
    magnitudes = set().union(*by_sign.values())
    lone = [code for code in magnitudes if known.sign_bit and (code in by_sign.get(0, ())) != (code in by_sign.get(known.sign_bit, ()))]
    if lone:
        raise fault(document, where, f"{lone[0]:#x} is NaN with one sign and a number with the other: list both codes")
    first = (1 << known.magnitude_bits) - len(magnitudes)
    if magnitudes and min(magnitudes) != first:
        raise fault(document, where, f"{min(magnitudes):#x} is NaN below a code that is none: NaN codes are the highest, {first:#x} and up")
    if known.inf is not None and known.inf != first - 1:
        if isinstance(fmt.facts, FloatFacts) and not isinstance(fmt.facts.inf, str):
            wanted = ", ".join(f"0x{code:X}" for code in sorted({first - 1, known.sign_bit | first - 1}))
            raise fault(document, ("facts", "inf"), f"Inf must be the highest magnitude that is not NaN: list {wanted}")
        above = f"the codes above {known.inf:#x}, and no other," if known.inf + 1 >> known.magnitude_bits == 0 else "no code"
        raise fault(document, where, f"inf: ieee makes {known.inf:#x} Inf, so {above} must be NaN: say nan: ieee or inf: none")


def _check_infinities(fmt: Format, listed: tuple[str, ...], document: Document) -> None:
    """Prove that a list of infinities names one magnitude with each sign, the positive code first, and leaves a number."""
    known, codes = derive.codes(fmt), [int(code, 16) for code in listed]
    magnitude = codes[0] & (1 << known.magnitude_bits) - 1
    wanted = [magnitude, magnitude | known.sign_bit] if known.sign_bit else [magnitude]
    if codes != wanted or not magnitude:
        signs = "a code above 0 and the same with the sign bit" if known.sign_bit else "one code above 0"
        raise fault(document, ("facts", "inf"), f"must list {signs}: {', '.join(f'0x{code:X}' for code in wanted)}")


def _check_range(fmt: Format, document: Document) -> None:
    """Prove that every number of the format is in the range of binary64: at the edge of emu numbers are floats."""
    if isinstance(fmt.facts, CodebookFacts):
        return
    found, key = reach(fmt), "unit_exp" if isinstance(fmt.facts, IntegerFacts) else "bias"
    if found.lsb_exp < LEAST_EXP or found.largest >= Fraction(2) ** TOP_EXP:
        top = found.largest.numerator.bit_length() - found.largest.denominator.bit_length()
        why = (
            f"numbers from 2^{found.lsb_exp} to about 2^{top}: all must be at least 2^{LEAST_EXP} and less than 2^{TOP_EXP}, as in binary64"
        )
        raise fault(document, ("facts", key), f"{why}: change {key} or the width")


def _check_codebook_range(facts: CodebookFacts, document: Document) -> None:
    """Prove that the numbers of a list are in the range of binary64. Several codes may mean one number: conversions give the first."""
    for code, text in enumerate(facts.values or ()):
        size = abs(derive.parse_exact(text)) if text != "-0" else None
        if size and not Fraction(2) ** LEAST_EXP <= size < Fraction(2) ** TOP_EXP:
            why = f"numbers must be at least 2^{LEAST_EXP} and less than 2^{TOP_EXP}, as in binary64"
            raise fault(document, ("facts", "values"), f"code {code}: {why}")


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
    numbers = derive.codebook_codes(facts, source)
    for number in numbers:
        if not derive.is_finite_code(number, source):
            raise SpecError(f"0x{number:0{digits}X} is no finite {source.id} number")
    return len(numbers)
