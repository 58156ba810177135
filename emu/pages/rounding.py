"""The page of a rounding: the rule per sign, random bits, finite overflow, and worked rows that the reference model computes."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

from emu.contracts.examples import exact_text
from emu.engines.exact.decode import magnitude_of
from emu.engines.exact.round import round_value
from emu.engines.exact.value import finite
from emu.pages.frame import Data, Writer
from emu.pages.render import Code, Ref, joined
from emu.spec import Format, Rounding, derive, get
from emu.spec.models.format import CodebookFacts
from emu.spec.models.rounding import LostPart, Word

GRID = "e2m1"
TINY = Fraction(1, 1 << 30)
BASE_CODE = 4  # worked rows of random modes lie above its value
LOST = tuple(
    Fraction(text) for text in ("1/65536", "1/512", "1/256", "3/512", "1/4", "127/256", "1/2", "257/512", "3/4", "255/256", "511/512")
)

_WORDS = {"keep": "lower", "next": "upper", "to_even_code": "the even code", "to_odd_code": "the odd code"}
_BEYOND = {
    "away": "to Inf (or NaN)",
    "max": "stays at the largest finite value",
    "odd_code": "stays where the largest code is odd, else to Inf (or NaN)",
}


def data(rounding: Rounding) -> Data:
    """Return what the template shows: the rule, where finite values overflow to, random bits, rows that the exact engine computes."""
    facts, beyond = rounding.facts, rounding.facts.beyond_max
    word = facts.random if isinstance(facts.random, Word) else None
    return {
        "grid": Ref("format", GRID),
        "word": word,
        "beyond": [("positive", _BEYOND[beyond.positive]), ("negative", _BEYOND[beyond.negative])],
        **({"lanes": _lanes(word), "map": _map(word)} if word else {}),
        **(_worked_random(rounding) if facts.add else {"rules": _rules(rounding), **_worked(rounding)}),
    }


def _rules(rounding: Rounding) -> list[tuple[str, ...]]:
    facts = rounding.facts
    rules = {"any": facts.magnitude} if facts.magnitude else {"positive": facts.positive, "negative": facts.negative}
    return [(sign, *_choices(rule)) for sign, rule in rules.items() if rule is not None]


def _choices(rule: LostPart) -> list[str]:
    return [_WORDS[choice] for choice in (rule.zero, rule.less_than_half, rule.half, rule.more_than_half)]


def _lanes(word: Word) -> list[tuple[Any, ...]]:
    """Return which bits of the shared word each lane reads, most significant bit of r first."""
    rows = []
    for lane, ranges in enumerate(word.fields):
        taken = [Code(f"[{first}]" if first == last else f"[{first}:{last}]") for first, last in ranges]
        rows.append((lane, joined(" & ", taken), "ascending: read backwards" if any(a < b for a, b in ranges) else ""))
    return rows


def _map(word: Word) -> list[str]:
    """Draw the word: for each lane, where each of its bits goes in r."""
    out = ["bit    " + " ".join(f"{bit:2}" for bit in reversed(range(word.word)))]
    for lane, ranges in enumerate(word.fields):
        order = [bit for first, last in ranges for bit in range(first, last + (1 if last >= first else -1), 1 if last >= first else -1)]
        place = {bit: len(order) - 1 - index for index, bit in enumerate(order)}
        out.append(f"lane {lane} " + " ".join(f"{place[bit]:2}" if bit in place else " ." for bit in reversed(range(word.word))))
    return [*out, "       the number is the bit of r"]


def _worked(rounding: Rounding) -> Data:
    """Midpoints and their neighbours on both sides, both signs, on the grid without a maximum."""
    fmt: Format = get("format", GRID)
    rows = []
    points = _points(fmt)
    for low, high in pairwise(points):
        middle = (low + high) / 2
        for sign in (1, -1):
            results = [
                _rounded(sign * point, fmt, rounding) for point in (low + (high - low) * TINY, middle - TINY, middle, middle + TINY, high)
            ]
            rows.append((f"{_signed(sign * low)} .. {_signed(sign * high)}", _signed(sign * middle), *results))
    return {"beyond_grid": _signed(points[-1]), "worked": rows}


def _points(fmt: Format) -> list[Fraction]:
    """Return the magnitudes of a grid and the next one above its maximum."""
    assert not isinstance(fmt.facts, CodebookFacts)
    return [magnitude_of(code, fmt.facts) for code in range(derive.codes(fmt).max_code + 2)]


def _rounded(number: Fraction, fmt: Format, rounding: Rounding) -> str:
    return exact_text(round_value(finite(number), fmt, rounding))


def _signed(number: Fraction) -> str:
    return exact_text(finite(number))


def _worked_random(rounding: Rounding) -> Data:
    """For discarded parts between 2 and 3: which random integers go up, and how many of them."""
    fmt: Format = get("format", GRID)
    whole = 1 << rounding.random_bits
    base, above = _points(fmt)[BASE_CODE : BASE_CODE + 2]
    rows = []
    for lost in LOST:
        number = base + lost * (above - base)
        count, where = _ups(number, fmt, rounding)
        rows.append((_signed(number), _signed(lost), where, f"{count} of {whole}", _signed(Fraction(count, whole) - lost)))
    return {"bits": rounding.random_bits, "base": base, "above": above, "whole": whole, "worked": rows}


def _ups(number: Fraction, fmt: Format, rounding: Rounding) -> tuple[int, str]:
    """Return how many random integers round a magnitude up, and which; the choice is monotone in r, one way or the other."""
    whole = 1 << rounding.random_bits
    ends = [_goes_up(number, fmt, rounding, random) for random in (0, whole - 1)]
    if ends[0] == ends[1]:
        return (whole, "every r") if ends[0] else (0, "none")
    low, high = 0, whole - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _goes_up(number, fmt, rounding, middle) == ends[0] else (low, middle)
    return (high, f"r < {high}") if ends[0] else (whole - high, f"r >= {high}")


def _goes_up(number: Fraction, fmt: Format, rounding: Rounding, random: int) -> bool:
    return round_value(finite(number), fmt, rounding, random).magnitude > number


WRITER = Writer(
    "rounding",
    data,
    ("round.round_value", "round.round_magnitude", "round.goes_up", "round._random_up", "round._te_fma", "random_bits.element_bits"),
)
