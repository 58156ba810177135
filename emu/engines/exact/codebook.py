"""Codebooks: a list of values. Rounding goes to a neighbour in value order; the tie rule belongs to the format."""

from __future__ import annotations

from fractions import Fraction

from emu.base.errors import SpecError
from emu.engines.exact.decode import codebook_values
from emu.engines.exact.round import goes_up
from emu.engines.exact.value import Value
from emu.spec import derive
from emu.spec.models import Format, Rounding
from emu.spec.models.format import CodebookFacts


def round_to_codebook(value: Value, fmt: Format, rounding: Rounding, random: int | None) -> int:
    """Return the code a finite value rounds to; beyond the ends it is the end. Of several codes of one value the first is given.

    random: the random integer for a rounding that draws, else None.
    """
    derive.check_codebook_rounding(fmt, rounding)
    table, order = codebook_values(fmt), ascending(fmt)
    number = value.signed
    below = [code for code in order if table[code].signed <= number]
    above = [code for code in order if table[code].signed >= number]
    if not below or not above:
        return order[0] if not below else order[-1]
    low, high = below[-1], above[0]
    if table[low].signed == number:
        return next((code for code in (high, low) if table[code].sign == value.sign), high)
    near, far = (high, low) if number < 0 else (low, high)
    gap = table[far].magnitude - table[near].magnitude if table[near].sign == table[far].sign or not table[near].magnitude else None
    if gap is None or gap <= 0:
        raise SpecError(f"{fmt.id}: no value at zero between two neighbours of different sign")
    lost = (abs(number) - table[near].magnitude) / gap
    if rounding.facts.random == "none" and lost == Fraction(1, 2) and _sees_half(rounding, value.sign):
        return _tie(fmt, low, high, near, far)
    return far if goes_up(lost, gap, abs(number), value.sign, False, rounding, random) else near


def ascending(fmt: Format) -> list[int]:
    """Return codes of a codebook in the order of their values, -0 before +0; of several codes of one value the first alone."""
    table = codebook_values(fmt)
    first = {(value.signed, -value.sign): code for code, value in reversed(list(enumerate(table)))}
    return [first[key] for key in sorted(first)]


def _sees_half(rounding: Rounding, sign: int) -> bool:
    rule = rounding.facts.magnitude or (rounding.facts.negative if sign else rounding.facts.positive)
    return rule is not None and rule.half == "to_even_code"


def _tie(fmt: Format, low: int, high: int, near: int, far: int) -> int:
    facts = fmt.facts
    assert isinstance(facts, CodebookFacts)
    if facts.tie == "lower":
        return low
    if facts.tie == "away":
        return far
    return low if low % 2 == 0 else high
