"""Members of a series: from an id to its numbers and words, and by the rules to the file that the member would have.

Not here: finding a series and checking a member as any other object (registry.py).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any, Final, TypeAlias

from emu.base.errors import SpecError
from emu.spec.loader import Document, fault
from emu.spec.models import Series
from emu.spec.models.series import SeriesNumber

MOST_MEMBERS: Final = 4096
MOST_VALUES: Final = 64  # of a number of a name
_WIDEST: Final = 128  # bits of a number that an expression gives
_PLACE: Final = re.compile(r"\{([a-z0-9_]+)\}")
Choice: TypeAlias = dict[str, int | str]  # what stands for each number and word of a name
Operators: Final[dict[type[ast.operator], Callable[[int, int], int]]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
}


def number_of(text: str, values: Mapping[str, int | str]) -> int:
    """Return the value of an expression of whole numbers, names of numbers, + - * ^ and brackets. Raises: SpecError, names the text."""
    try:
        found = _value(ast.parse(text.replace("^", "**"), mode="eval").body, values)
    except (SyntaxError, RecursionError):
        found = None
    if found is None:
        known = ", ".join(name for name, value in values.items() if isinstance(value, int))
        raise SpecError(f"{text!r} is no expression of whole numbers, {known}, + - * ^ and brackets, of at most {_WIDEST} bits")
    return found


def _value(node: ast.expr, values: Mapping[str, int | str]) -> int | None:
    """Return the value of a node; None for what is no such expression, or too large."""
    if isinstance(node, ast.Constant):
        return node.value if type(node.value) is int and node.value.bit_length() <= _WIDEST else None
    if isinstance(node, ast.Name):
        named = values.get(node.id)
        return named if isinstance(named, int) else None
    if not isinstance(node, ast.BinOp):
        return None
    a, b = _value(node.left, values), _value(node.right, values)
    if a is None or b is None:
        return None
    if isinstance(node.op, ast.Pow):
        found = a**b if 0 <= b <= _WIDEST and abs(a) <= 16 else None
    else:
        found = Operators[type(node.op)](a, b) if type(node.op) in Operators else None
    return found if found is not None and found.bit_length() <= _WIDEST else None


def choices(series: Series) -> Iterator[Choice]:
    """Yield what the name of each member says, words first varying slowest. Raises: SpecError (an expression, more than 4096 members)."""
    facts, count = series.facts, 0
    for words in product(*(item.one_of for item in facts.words)):
        chosen: Choice = dict(zip((item.id for item in facts.words), words, strict=True))
        for numbers in _numbers(series, chosen, 0, {}):
            count += 1
            if count > MOST_MEMBERS:
                raise SpecError(f"more than {MOST_MEMBERS} members: narrow the limits of a number")
            yield {**chosen, **numbers}


def _numbers(series: Series, words: Choice, place: int, chosen: dict[str, int]) -> Iterator[dict[str, int]]:
    if place == len(series.facts.numbers):
        yield chosen
        return
    number = series.facts.numbers[place]
    least, most = _range(series, number, words, chosen)
    if most - least >= MOST_VALUES:
        raise SpecError(f"{number.id}: from {least} to {most}: a number has at most {MOST_VALUES} values")
    for value in range(least, most + 1):
        yield from _numbers(series, words, place + 1, chosen | {number.id: value})


def _range(series: Series, number: SeriesNumber, words: Choice, chosen: Mapping[str, int]) -> tuple[int, int]:
    """Return the smallest and the largest value of a number. chosen: the numbers before it."""
    limits = [rule.most[number.id] for rule in series.facts.rules if number.id in rule.most and _holds(rule.when, words)]
    return number_of(number.least, chosen), min(number_of(text, chosen) for text in (number.most, *limits))


def _holds(when: Mapping[str, str], words: Mapping[str, int | str]) -> bool:
    return all(words.get(name) == word for name, word in when.items())


def member_id(series: Series, choice: Choice) -> str:
    """Return the id of the member that a choice means."""
    return _PLACE.sub(lambda found: str(choice[found[1]]), series.facts.name)


def choices_named(series: Series, text: str) -> Iterator[Choice]:
    """Yield what the name of each member says that a text means: the id of the series and a word for each of its words, `p3109_s_e`."""
    for choice in choices(series):
        if text == "_".join([series.id, *(str(choice[word.id]) for word in series.facts.words)]):
            yield choice


def choice_of(series: Series, name: str) -> Choice | None:
    """Return what an id says of each number and word; None where the series has no such member."""
    facts = series.facts
    words = {item.id: "|".join(item.one_of) for item in facts.words}
    parts = _PLACE.split(facts.name)  # text, place, text, place, ...
    pattern = "".join(f"(?P<{part}>{words.get(part, '0|[1-9][0-9]{0,3}')})" if i % 2 else re.escape(part) for i, part in enumerate(parts))
    found = re.fullmatch(pattern, name)
    if found is None:
        return None
    said: Choice = {key: text if key in words else int(text) for key, text in found.groupdict().items()}
    chosen: dict[str, int] = {}
    for number in facts.numbers:
        value = int(said[number.id])
        least, most = _range(series, number, said, chosen)
        if not least <= value <= most:
            return None
        chosen[number.id] = value
    return said


def near_line(series: Series, name: str) -> str | None:
    """Return what to say of an unknown id that begins as those of the members do; None for another."""
    start = series.facts.name.partition("{")[0]
    if not start or not name.lower().startswith(start):
        return None
    last = member_id(series, list(choices(series))[-1])
    return f"is no member of the series {series.id}: an id is {series.facts.name}, such as {last}; see `emu show {series.id}`"


def member_facts(series: Series, choice: Choice) -> dict[str, Any]:
    """Return the facts of a member as its file would say them. Raises: SpecError (an expression; a fact that two rules give)."""
    out: dict[str, Any] = {}
    for rule in series.facts.rules:
        if not _holds(rule.when, choice):
            continue
        codes = {key: tuple(f"0x{_code(text, choice):X}" for text in texts) for key, texts in rule.codes.items()}
        numbers = {key: number_of(text, choice) for key, text in rule.numbers.items()}
        for key, value in [*rule.words.items(), *numbers.items(), *codes.items()]:
            if key in out:
                raise SpecError(f"{member_id(series, choice)}: two rules give {key}: leave one out")
            out[key] = value
    return out


def _code(text: str, choice: Choice) -> int:
    code = number_of(text, choice)
    if code < 0:
        raise SpecError(f"{text!r} is {code}, which is no code")
    return code


def member_title(series: Series, choice: Choice) -> str:
    """Return one line that says which member of which series an id names."""
    said = ", ".join(f"{name} {value}" for name, value in choice.items())
    return f"{series.title.partition(':')[0]}: {said}"


def member_document(series: Series, document: Document, choice: Choice) -> Document:
    """Return what the file of a member would hold, its lines those of the series. Raises: SpecError, see member_facts."""
    data = {"kind": series.facts.of, "id": member_id(series, choice), "title": member_title(series, choice), "status": series.status,
            "facts": member_facts(series, choice), "sources": document.data["sources"]}  # fmt: skip
    lines = {path: line for path, line in document.lines.items() if path[:1] in ((), ("sources",))}
    return Document(document.file, data, lines | {("facts",): document.lines["facts", "rules"]})


def check_names(series: Series, document: Document) -> None:
    """Check the template, and that rules speak of words that there are. Raises: SpecError with file and line."""
    facts = series.facts
    numbers, words = [item.id for item in facts.numbers], {item.id: item.one_of for item in facts.words}
    named = [*numbers, *words]
    if sorted(_PLACE.findall(facts.name)) != sorted(named) or "{" in _PLACE.sub("", facts.name) or "}" in _PLACE.sub("", facts.name):
        raise fault(document, ("facts", "name"), f"each number and word must stand in it once, in braces: {', '.join(named)}")
    for place, rule in enumerate(facts.rules):
        for key, word in rule.when.items():
            if word not in words.get(key, ()):
                known = ", ".join(f"{name} {' or '.join(some)}" for name, some in words.items()) or "there are no words"
                raise fault(document, ("facts", "rules", place, "when"), f"{key}: {word!r} is no word of a name: {known}")
        for key in rule.most:
            if key not in numbers:
                raise fault(document, ("facts", "rules", place, "most"), f"{key!r} is no number of a name: one of {', '.join(numbers)}")
