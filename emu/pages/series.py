"""The page of a series: how its members are called, the rules that make their facts, and what each member reaches."""

from __future__ import annotations

from itertools import product
from typing import Any

from emu.engines.exact.decode import decode_code
from emu.pages.frame import Data, Writer
from emu.pages.render import Code
from emu.spec import Format, Series, derive, get
from emu.spec.models.series import SeriesRule
from emu.spec.reach import reach
from emu.spec.series import choices, member_id


def data(series: Series) -> Data:
    """Return what the template shows: the parts of a name, the rules, a row of members for each choice of numbers."""
    rules = [(when(rule), [Code(text) for text in facts(rule)]) for rule in series.facts.rules]
    return {
        "count": len(list(choices(series))),
        "kind": series.facts.of,
        "parts": [(Code(name), value, what) for name, value, what in parts(series)],
        "rules": rules,
        "members": members(series),
    }


def parts(series: Series) -> list[tuple[str, str, str]]:
    """Return (name, what may stand there, what it means) of each number and word of a name."""
    numbers = [(item.id, f"{item.least} .. {item.most}", item.what) for item in series.facts.numbers]
    return numbers + [(item.id, " or ".join(item.one_of), item.what) for item in series.facts.words]


def when(rule: SeriesRule) -> str:
    """Return which members a rule is about."""
    return ", ".join(f"{name} {word}" for name, word in rule.when.items()) or "all"


def facts(rule: SeriesRule) -> list[str]:
    """Return what a rule says, a text for each fact."""
    said = [f"{key}: {value}" for key, value in (*rule.words.items(), *rule.numbers.items())]
    said += [f"{key}: [{', '.join(codes)}]" for key, codes in rule.codes.items()]
    return said + [f"{key} at most {most}" for key, most in rule.most.items()]


def members(series: Series) -> dict[str, Any]:
    """Return header and rows: numbers, then for each choice of words the largest number of the member and the smallest above zero."""
    numbers = [item.id for item in series.facts.numbers]
    words = list(product(*(item.one_of for item in series.facts.words)))
    found: dict[tuple[int, ...], dict[tuple[str, ...], str]] = {}
    for choice in choices(series):
        fmt: Format = get(series.facts.of, member_id(series, choice))
        key = tuple(int(choice[name]) for name in numbers)
        spread = f"{power(reach(fmt).largest)}, {power(smallest(fmt))}"
        found.setdefault(key, {})[tuple(str(choice[item.id]) for item in series.facts.words)] = spread
    header = [*numbers, *("".join(some) for some in words)]
    return {"header": header, "rows": [[*key, *(row.get(some) for some in words)] for key, row in sorted(found.items())]}


def smallest(fmt: Format) -> Any:
    """Return the smallest number above zero of a format."""
    return next(value.magnitude for value in (decode_code(code, fmt) for code in range(1 << derive.codes(fmt).bits)) if value.magnitude)


def power(value: Any) -> str:
    """Return a number as an integer, a fraction, or what multiplies a power of two where that is shorter."""
    top, bottom = value.numerator, value.denominator
    exp = (top & -top).bit_length() - bottom.bit_length()
    odd = top >> (top & -top).bit_length() - 1
    if -7 < exp < 20:
        return str(value)
    return f"2^{exp}" if odd == 1 else f"{odd}*2^{exp}"


WRITER = Writer("series", data, ("decode.decode_code",))
