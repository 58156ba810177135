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
    """Return the code a finite value rounds to; beyond the ends it is the end.

    random: the random integer for a rounding that draws, else None.
    """
    if derive.needs_code_order(rounding):
        raise SpecError(f"{fmt.id} is a codebook: its code order says nothing, so {rounding.id} has no meaning")
    table = codebook_values(fmt)
    order = sorted(range(len(table)), key=lambda code: (table[code].signed, -table[code].sign))
    number = value.signed
    below = [code for code in order if table[code].signed <= number]
    above = [code for code in order if table[code].signed >= number]
    if not below or not above:
        return order[0] if not below else order[-1]
    low, high = below[-1], above[0]
    if table[low].signed == number:
        return _same_value(value, order, table)
    near, far = (high, low) if number < 0 else (low, high)
    gap = table[far].magnitude - table[near].magnitude if table[near].sign == table[far].sign or not table[near].magnitude else None
    if gap is None or gap <= 0:
        raise SpecError(f"{fmt.id}: no value at zero between two neighbours of different sign")
    lost = (abs(number) - table[near].magnitude) / gap
    if rounding.facts.random == "none" and lost == Fraction(1, 2) and _sees_half(rounding):
        return _tie(fmt, low, high, near, far)
    return far if goes_up(lost, gap, abs(number), value.sign, False, rounding, random) else near


def _same_value(value: Value, order: list[int], table: tuple[Value, ...]) -> int:
    """Return the code of a value that is in the table; of two zeros the one with its sign."""
    equal = [code for code in order if table[code].signed == value.signed]
    return next((code for code in equal if table[code].sign == value.sign), equal[0])


def _sees_half(rounding: Rounding) -> bool:
    return rounding.facts.magnitude is not None and rounding.facts.magnitude.half == "to_even_code"


def _tie(fmt: Format, low: int, high: int, near: int, far: int) -> int:
    facts = fmt.facts
    assert isinstance(facts, CodebookFacts)
    if facts.tie == "lower":
        return low
    if facts.tie == "away":
        return far
    return low if low % 2 == 0 else high
