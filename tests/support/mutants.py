"""Mutants of a spec object: copies with one fact changed. Not here: what kills them (tests), what they mean (emu.engines.exact)."""

from __future__ import annotations

import re
import types
from collections.abc import Iterator
from fractions import Fraction
from typing import Annotated, Any, Literal, NamedTuple, Union, get_args, get_origin

from emu.base.errors import SpecError
from emu.spec import KINDS, Recipe, SpecObject, derive, get
from emu.spec.models.common import EXACT, HEX, HEX_STRING, ID, Part
from emu.spec.models.datapath import DatapathFacts
from emu.spec.models.recipe import ARGUMENT
from emu.spec.models.series import EXPRESSION

Path = tuple[str | int, ...]
OPS = {"add": "sub", "sub": "add", "mul": "div", "div": "mul", "min": "max", "max": "min", "abs": "neg", "neg": "abs"}
OTHERS = {
    "format": ("bf16", "fp16", "e2m1", "e1m2"),
    "rounding": ("rz", "rne"),
    "block": ("nvfp4", "mxfp4"),
    "transform": ("rht16_te", "rht16_exact"),
}
REFERENCES = {
    "format": "format",
    "to": "format",
    "values_format": "format",
    "sum_format": "format",
    "result": "format",
    "round": "rounding",
}
ABSENT = {"to": "bf16", "round": "rz"}


class Mutant(NamedTuple):
    """One changed fact: the path below `facts` in wire names, the value before and after."""

    kind: str
    id: str
    path: Path
    old: Any
    new: Any

    def __str__(self) -> str:
        return f"{self.kind}/{self.id} {'.'.join(str(part) for part in self.path)}: {_shown(self.old)} -> {_shown(self.new)}"

    def data(self) -> dict[str, Any]:
        """Return the plain data of the object's file with the fact changed. Not validated."""
        thing: SpecObject = get(self.kind, self.id)
        data: dict[str, Any] = thing.model_dump(by_alias=True, exclude_none=True)
        return {**data, "facts": _changed(data["facts"], self.path, self.new)}


def mutants(thing: SpecObject) -> Iterator[Mutant]:
    """Yield every mutant of an object: integers and constants one up and down, other words and names, arguments exchanged."""
    field = type(thing).model_fields["facts"]
    found: set[tuple[Path, str]] = set()
    for path, old, new in _walk(thing.facts, field.annotation, field.metadata, (), _Context(thing)):  # type: ignore[attr-defined]
        if old != new and (path, _shown(new)) not in found and not _commutes(thing.facts, path):  # type: ignore[attr-defined]
            found.add((path, _shown(new)))
            yield Mutant(thing.kind, thing.id, path, old, new)


def _commutes(facts: Any, path: Path) -> bool:
    """Tell whether a path is the list of arguments of an addition or a product: their order has no meaning."""
    if path[-1] != "args":
        return False
    for part in path[:-1]:
        facts = getattr(facts, part) if isinstance(facts, Part) and isinstance(part, str) else facts[part]
    return bool(facts.op in ("add", "mul"))


class _Context:
    """What a leaf's mutants depend on besides the leaf."""

    def __init__(self, thing: SpecObject) -> None:
        self.arithmetic = get("format", thing.facts.arithmetic.to) if isinstance(thing, Recipe) else None


Change = tuple[Path, Any, Any]


def _walk(value: Any, annotation: Any, metadata: list[Any], path: Path, context: _Context) -> Iterator[Change]:
    """Yield the changes of a node and of all below it."""
    if isinstance(value, Part):
        for name, field in type(value).model_fields.items():
            yield from _walk(getattr(value, name), field.annotation, field.metadata, (*path, field.alias or name), context)
    elif isinstance(value, dict):
        yield from _exchanged(tuple(value.values()), path, tuple(value))
        for key, item in value.items():
            yield from _walk(item, get_args(annotation)[1], [], (*path, key), context)
    elif isinstance(value, tuple):
        if value and isinstance(value[0], str) and path[-1] == "args":
            yield from _exchanged(value, path, tuple(range(len(value))))
        inner = _member(annotation, tuple)
        for number, item in enumerate(value):
            yield from _walk(item, get_args(inner)[0] if inner else None, [], (*path, number), context)
    else:
        yield from ((path, value, new) for new in _leaf(value, annotation, metadata, path, context))


def _exchanged(values: tuple[Any, ...], path: Path, keys: tuple[Any, ...]) -> Iterator[Change]:
    """Exchange neighbours of a list of arguments, or the names that levels get."""
    if not all(isinstance(item, str) for item in values):
        return
    for first in range(len(values) - 1):
        new = list(values)
        new[first], new[first + 1] = new[first + 1], new[first]
        changed = tuple(new) if isinstance(keys[0], int) else dict(zip(keys, new, strict=True))
        yield path, values if isinstance(keys[0], int) else dict(zip(keys, values, strict=True)), changed


def _member(annotation: Any, wanted: Any) -> Any:
    """Return the member of an annotation whose origin is wanted; None when there is none."""
    while get_origin(annotation) is Annotated:
        annotation = get_args(annotation)[0]
    if get_origin(annotation) in (Union, types.UnionType):
        return next((found for item in get_args(annotation) if (found := _member(item, wanted)) is not None), None)
    return annotation if get_origin(annotation) is wanted else None


def _patterns(annotation: Any, metadata: list[Any]) -> set[str]:
    """Return the string patterns of an annotation and its metadata."""
    found = {item.pattern for item in metadata if getattr(item, "pattern", None)}
    if get_origin(annotation) is Annotated:
        inner, *more = get_args(annotation)
        return found | _patterns(inner, more)
    return found.union(*(_patterns(item, []) for item in get_args(annotation) if get_origin(annotation) is not Literal), set())


def _leaf(value: Any, annotation: Any, metadata: list[Any], path: Path, context: _Context) -> Iterator[Any]:
    key = str(path[-1])
    words = _member(annotation, Literal)
    if value is None:
        yield from [ABSENT[key]] if key in ABSENT else []
    elif isinstance(value, int):
        yield from (value + 1, value - 1)
    elif words is not None and value in get_args(words):
        yield from (
            [OPS[value]] if value in OPS and key == "op" else [] if key in ("op", "class") else [w for w in get_args(words) if w != value]
        )
    else:
        yield from _text(value, _patterns(annotation, metadata), key, context)


def _text(value: str, patterns: set[str], key: str, context: _Context) -> Iterator[Any]:
    """Yield other texts of the same form."""
    kind = REFERENCES.get(key, key)
    if ID in patterns and kind in OTHERS:
        yield from [other for other in OTHERS[kind] if other != value][:2]
    elif HEX_STRING in patterns:
        words = value.split()
        for number in range(len(words)):
            yield from (" ".join([*words[:number], item, *words[number + 1 :]]) for item in _hex(words[number], len(words[number])))
    elif ARGUMENT in patterns and value[0] in "-0123456789":
        yield from _constant(value, context)
    elif value.startswith("0x") and (HEX in patterns or value[2:].isalnum()):
        yield from (f"0x{item}" for item in _hex(value[2:], len(value) - 2))
    elif EXPRESSION in patterns:
        yield from _expression(value)
    elif EXACT in patterns:
        yield from _exact(value)


def _expression(text: str) -> Iterator[str]:
    """Yield an expression with each of its numbers one up and down, and with each sign turned."""
    for found in re.finditer(r"[0-9]+|[+-]", text):
        before, part, after = text[: found.start()], found[0], text[found.end() :]
        news = [{"+": "-", "-": "+"}[part]] if part in "+-" else [str(int(part) + 1), *([str(int(part) - 1)] if int(part) else [])]
        yield from (before + new + after for new in news)


def _hex(digits: str, width: int) -> Iterator[str]:
    number = int(digits, 16)
    yield from (f"{item:0{width}X}" for item in (number + 1, number - 1) if 0 <= item < 1 << 4 * width)


def _exact(text: str) -> Iterator[str]:
    if "^" in text:
        base, power = text.split("^")
        yield from (f"{base}^{int(power) + step}" for step in (1, -1))
    elif text not in ("nan", "+inf", "-inf", "-0"):
        number = Fraction(text)
        yield from (str(Fraction(number.numerator + step, number.denominator)) for step in (1, -1))


def _constant(text: str, context: _Context) -> Iterator[str]:
    """A constant of a program, one unit in the last place up and down, and with the other sign."""
    fmt = context.arithmetic
    assert fmt is not None
    code, width = derive.encode_constant(text, fmt), -(-derive.codes(fmt).bits // 4)
    magnitude = code & ~derive.codes(fmt).sign_bit
    steps = (1, -1) if magnitude else (1,)
    yield from (f"0x{code + step:0{width}X}" for step in steps)


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {item}" for key, item in value.items()) + "}"
    return "[" + ", ".join(map(str, value)) + "]" if isinstance(value, tuple) else str(value)


def _changed(node: Any, path: Path, new: Any) -> Any:
    """Return a copy of plain data with the node at a path replaced."""
    if not path:
        return new
    part, rest = path[0], path[1:]
    if isinstance(node, dict):
        return {**node, part: _changed(node.get(part), rest, new)}
    assert isinstance(part, int)
    return tuple(_changed(item, rest, new) if number == part else item for number, item in enumerate(node))


def validated(mutant: Mutant) -> SpecObject:
    """Return the model of a mutant. Raises: SpecError where the model of its kind refuses it."""
    thing, data = get(mutant.kind, mutant.id), mutant.data()
    try:
        if isinstance(getattr(thing, "facts", None), DatapathFacts):  # no file says them: they are read out of levels
            return thing.model_copy(update={"facts": DatapathFacts.model_validate(data["facts"])})
        return KINDS[mutant.kind].model_validate(data)
    except ValueError as error:
        raise SpecError(" ".join(str(error).split())) from None
