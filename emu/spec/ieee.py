"""What the facts of a format or rounding describe: an IEEE 754 format, a rounding direction, a set of values inside another.

The engines ask here instead of comparing ids, so a user's format with the facts of binary32 is binary32, whatever it is called.
Not here: widths and codes (derive.py), exponents and magnitudes that codes reach (reach.py).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final, Literal

from emu.base.caches import Cache
from emu.spec import derive
from emu.spec.models import Format, Rounding
from emu.spec.models.common import SpecObject
from emu.spec.models.format import CodebookFacts, FloatFacts
from emu.spec.models.rounding import LostPart
from emu.spec.reach import reach
from emu.spec.registry import get

BinaryFormat = Literal["binary16", "bfloat16", "binary32", "binary64"]
Direction = Literal["rne", "rna", "rz", "ru", "rd", "odd"]
Words = tuple[str, str, str]

_FIELDS: Final[dict[tuple[int, int, int], BinaryFormat]] = {  # exponent bits, fraction bits, bias
    (5, 10, 15): "binary16",
    (8, 7, 127): "bfloat16",
    (8, 23, 127): "binary32",
    (11, 52, 1023): "binary64",
}
_KEEP: Final[Words] = ("keep", "keep", "keep")  # discarded part below, at and above one half
_NEXT: Final[Words] = ("next", "next", "next")
_EVEN: Final[Words] = ("keep", "to_even_code", "next")
_AWAY: Final[Words] = ("keep", "next", "next")
_ODD: Final[Words] = ("to_odd_code", "to_odd_code", "to_odd_code")
_DIRECTIONS: Final[dict[tuple[Words, Words, str, str], Direction]] = {  # positive, negative, finite overflow of either sign
    (_EVEN, _EVEN, "away", "away"): "rne",
    (_AWAY, _AWAY, "away", "away"): "rna",
    (_KEEP, _KEEP, "max", "max"): "rz",
    (_NEXT, _KEEP, "away", "max"): "ru",
    (_KEEP, _NEXT, "max", "away"): "rd",
    (_ODD, _ODD, "max", "max"): "odd",
}

_formats: Cache[str, tuple[BinaryFormat | None]] = Cache("emu.spec.ieee._formats", 4096)
_directions: Cache[str, tuple[Direction | None]] = Cache("emu.spec.ieee._directions", 4096)


def same_facts(one: SpecObject, other: SpecObject) -> bool:
    """Tell whether two objects of one kind state the same facts; ids, titles, sources and examples do not count."""
    return one is other or (one.kind == other.kind and one.facts_digest == other.facts_digest)


def binary_format(fmt: Format) -> BinaryFormat | None:
    """Return which IEEE 754 interchange format, or bfloat16, the facts of a format describe; None for every other format.

    It has a sign, subnormals, -0, infinities and NaN as IEEE 754 has them, and no spare bits. Source: IEEE 754-2019, 3.4.
    """
    found = _formats.get(fmt.facts_digest)
    return (found if found is not None else _formats.keep(fmt.facts_digest, (_binary_format(fmt),)))[0]


def _binary_format(fmt: Format) -> BinaryFormat | None:
    facts = fmt.facts
    if not isinstance(facts, FloatFacts) or facts.unused_high_bits:
        return None
    if not facts.signed == facts.subnormals == facts.neg_zero == "yes" or not facts.inf == facts.nan == "ieee":
        return None
    return _FIELDS.get((facts.exp_bits, facts.frac_bits, facts.bias))


def is_binary32(fmt: Format) -> bool:
    """Tell whether the facts of a format are those of IEEE 754 binary32."""
    return binary_format(fmt) == "binary32"


def direction(rounding: Rounding) -> Direction | None:
    """Return the id of the shipped deterministic rounding whose rule this is; None for a rule of its own, or one that draws.

    rne: to nearest, ties to even.   rna: ties away.   rz, ru, rd: toward zero, up, down.   odd: an inexact value takes the odd code.
    """
    found = _directions.get(rounding.facts_digest)
    return (found if found is not None else _directions.keep(rounding.facts_digest, (_direction(rounding),)))[0]


def _direction(rounding: Rounding) -> Direction | None:
    facts = rounding.facts
    if facts.random != "none":
        return None
    rules = facts.magnitude or facts.positive, facts.magnitude or facts.negative
    positive, negative = (_words(rule) for rule in rules)
    return _DIRECTIONS.get((positive, negative, facts.beyond_max.positive, facts.beyond_max.negative))


def _words(rule: LostPart | None) -> Words:
    assert rule is not None
    return rule.less_than_half, rule.half, rule.more_than_half


def is_nearest_even(rounding: Rounding) -> bool:
    """Tell whether a rounding is IEEE 754 roundTiesToEven: what one operation of a machine does."""
    return direction(rounding) == "rne"


def is_single(to: Format | None, rounding: Rounding | None) -> bool:
    """Tell whether an operation rounds as one binary32 operation of a machine does; None: the operation does not round."""
    return to is not None and rounding is not None and is_binary32(to) and is_nearest_even(rounding)


def is_within(small: Format, large: Format) -> bool:
    """Tell whether every finite value of a format is a value of a float format with subnormals.

    Of a codebook that is written as bit patterns: whether the format of those is within it.
    """
    assert isinstance(large.facts, FloatFacts)
    if isinstance(small.facts, CodebookFacts):
        if small.facts.values is None:
            return is_within(get("format", str(small.facts.values_format)), large)
        return all(_is_value(derive.parse_exact("0" if text == "-0" else text), large) for text in small.facts.values)
    own, room = reach(small), reach(large)
    digits = small.facts.frac_bits + 1 if isinstance(small.facts, FloatFacts) else max(derive.codes(small).max_code.bit_length(), 1)
    if small.facts.class_ == "exponent":
        digits = 1
    return digits <= large.facts.frac_bits + 1 and own.lsb_exp >= room.lsb_exp and own.largest <= room.largest


def _is_value(number: Fraction, fmt: Format) -> bool:
    """Tell whether a number is a finite value of a float format with subnormals."""
    assert isinstance(fmt.facts, FloatFacts)
    size, power = abs(number.numerator), number.denominator
    if power & (power - 1):
        return False
    spare = (size & -size).bit_length() - 1 if size else 0
    lsb_exp = spare - (power.bit_length() - 1)
    room = reach(fmt)
    return not size or ((size >> spare).bit_length() <= fmt.facts.frac_bits + 1 and lsb_exp >= room.lsb_exp and abs(number) <= room.largest)
