"""Faults of one file as one line: what is wrong, where, how to fix it. Not here: YAML syntax (loader.py), other files (check.py)."""

from __future__ import annotations

import difflib
import json
from collections import Counter
from types import NoneType
from typing import Annotated, Any, Literal, NamedTuple, get_args, get_origin

from pydantic import BaseModel, ValidationError

from emu.spec.loader import Document, Path
from emu.spec.models.common import EXACT, HEX, HEX_STRING, ID, NAME
from emu.spec.models.policy import OUTCOME
from emu.spec.models.recipe import ARGUMENT
from emu.spec.models.series import EXPRESSION, TEMPLATE

FORMS = {
    ID: "an id of a-z, 0-9 and _",
    NAME: "a name of a-z, 0-9 and _ that starts with a letter",
    HEX: 'one bit pattern in upper-case hex, such as "0x7F"',
    HEX_STRING: 'upper-case hex digits without 0x, such as "0F3A"',
    EXACT: 'an exact number: "p", "p/q", "2^k", "-0", "nan", "+inf" or "-inf"',
    OUTCOME: 'a code such as "0x7F", or one of max, min, nan, negative_nan, inf, negative_inf, zero, negative_zero, smallest, open, refuse',
    EXPRESSION: 'whole numbers, names, + - * ^ and brackets, such as "2^(k - p - 1)"',
    TEMPLATE: 'letters, digits, _ and names in braces, such as "float{k}p{p}"',
    ARGUMENT: 'a name, an exact number ("p", "p/q", "2^k") or a bit pattern ("0x7F")',
}
_TYPES = {
    "int_type": "must be a bare decimal integer",
    "string_type": "must be a string in double quotes",
    "tuple_type": "must be a list: [a, b]",
    "dict_type": "must be keys and values: {key: value}",
    "model_type": "must be keys and values: {key: value}",
    "model_attributes_type": "must be keys and values: {key: value}",
}


class _Fault(NamedTuple):
    """One fault of a validation. path: keys and indices that exist in the file; choices: (depth, branch) of the unions on the way."""

    path: Path
    choices: tuple[tuple[int, str], ...]
    detail: dict[str, Any]


def first_fault(error: ValidationError, model: type[BaseModel], document: Document, base: Path = ()) -> str:
    """Return the first fault of a validation as `file:line: key: what is wrong: how to fix it`.

    model: what was validated.   base: where in the document its data lies.
    """
    data = document.data
    for part in base:
        data = data[part]
    faults = _best_branches([_placed(detail, data) for detail in map(dict, error.errors(include_url=False))])
    unknown = [item for item in faults if item.detail["type"] == "extra_forbidden"]
    fault = min(unknown, key=lambda item: document.lines.get((*base, *item.path), 0)) if unknown else faults[0]
    shown = ".".join(str(part) for part in fault.path) or "top level"
    return f"{document.where((*base, *fault.path))}: {shown}: {_text(fault, model)}"


def _placed(detail: dict[str, Any], data: Any) -> _Fault:
    """Split a location into keys of the file and names of union branches."""
    path: list[str | int] = []
    choices: list[tuple[int, str]] = []
    for part in detail["loc"]:
        if (isinstance(data, dict) and part in data) or (isinstance(data, tuple) and isinstance(part, int) and part < len(data)):
            path.append(part)
            data = data[part]
        else:
            choices.append((len(path), str(part)))
    if detail["type"] == "missing" or (detail["type"] == "extra_forbidden" and path[-1:] != [detail["loc"][-1]]):
        choices = choices[:-1]
    return _Fault(tuple(path), tuple(choices), detail)


def _best_branches(faults: list[_Fault]) -> list[_Fault]:
    """Keep, of each union, the faults of the branch that fits best: the right kind of node, then the fewest faults."""
    places: dict[tuple[Path, int], Counter[str]] = {}
    for fault in faults:
        for depth, branch in fault.choices:
            misfit = fault.detail["type"] in {"literal_error", *_TYPES} and len(fault.path) == depth
            counts = places.setdefault((fault.path[:depth], depth), Counter())
            counts[branch] += 100 if misfit and not isinstance(fault.detail["input"], str) else 0 if misfit else 1
    best = {place: min(counts, key=lambda branch: counts[branch]) for place, counts in places.items()}
    kept = [fault for fault in faults if all(best[fault.path[:depth], depth] == branch for depth, branch in fault.choices)]
    return kept or faults


def _text(fault: _Fault, model: type[BaseModel]) -> str:
    """Say what is wrong and what is allowed."""
    detail, kind = fault.detail, fault.detail["type"]
    given = json.dumps(detail.get("input"), ensure_ascii=False) if isinstance(detail.get("input"), str | int) else ""
    context = detail.get("ctx") or {}
    if kind == "extra_forbidden" and (said := _former(model, detail["loc"])) is not None:
        return f"key {detail['loc'][-1]} is not of the language any more: {said}"
    if kind == "extra_forbidden":
        return _unknown_key(str(detail["loc"][-1]), _fields(model, detail["loc"][:-1]))
    if kind == "missing":
        key = str(detail["loc"][-1])
        return f"key {key} is missing: {_fields(model, detail['loc'][:-1]).get(key) or 'add it'}"
    if kind == "union_tag_not_found":
        return f"key {_quoted(context['discriminator'])[-1]} is missing: it says which other keys there are"
    if kind in ("literal_error", "union_tag_invalid"):
        allowed = _quoted(context.get("expected") or context["expected_tags"])
        word = context.get("tag", detail["input"])
        key = f"{_quoted(context['discriminator'])[-1]} " if kind == "union_tag_invalid" else ""
        shown = json.dumps(word, ensure_ascii=False) if isinstance(word, str | int) else "a collection"
        return f"{key}{shown} is not one of {', '.join(allowed)}" + _near(str(word), allowed)
    if kind == "string_pattern_mismatch":
        return f"{given} must be {FORMS.get(context['pattern'], 'of the form ' + context['pattern'])}"
    if kind in _TYPES:
        return f"{given} {_TYPES[kind]}".strip()
    if kind in ("too_short", "too_long"):
        bound = f"at least {context['min_length']}" if kind == "too_short" else f"at most {context['max_length']}"
        return f"needs {bound} entries, has {context['actual_length']}"
    message = str(detail["msg"]).removeprefix("Value error, ").replace("Input should be", "must be")
    return f"{given} {message}" if message.startswith("must") else message


def _quoted(expected: str) -> list[str]:
    """Split pydantic's list of words."""
    words = expected.replace(" or ", ", ").replace(" | ", ", ").split(",")
    return [word.strip().strip("'") for word in words if word.strip()]


def _near(word: str, allowed: list[str]) -> str:
    near = difflib.get_close_matches(word, allowed, n=1, cutoff=0.6)
    return f": did you mean {near[0]}?" if near else ""


def _unknown_key(key: str, fields: dict[str, str]) -> str:
    near = difflib.get_close_matches(key, fields, n=1, cutoff=0.6)
    fix = f"did you mean {near[0]}?" if near else f"the keys here are {', '.join(fields)}" if fields else "remove it"
    return f"key {key} is unknown here: {fix}"


def _fields(model: Any, place: tuple[Any, ...]) -> dict[str, str]:
    """Return wire name -> description of the keys at a place of a model."""
    found = _model(model, place)
    return {} if found is None else {field.alias or name: field.description or "" for name, field in found.model_fields.items()}


def _former(model: Any, loc: tuple[Any, ...]) -> str | None:
    """Return how a file says now what a former key of a model said; None for any other key."""
    found = _model(model, loc[:-1])
    return None if found is None else getattr(found, "former", {}).get(loc[-1])


def _model(model: Any, place: tuple[Any, ...]) -> type[BaseModel] | None:
    """Return the model at a place of a model; pydantic's names of union branches lead the way."""
    while get_origin(model) is Annotated:
        model = get_args(model)[0]
    if isinstance(model, type) and issubclass(model, BaseModel):
        if not place:
            return model
        fields = {field.alias or name: field for name, field in model.model_fields.items()}
        return _model(fields[place[0]].annotation, place[1:]) if place[0] in fields else None
    origin, arguments = get_origin(model), get_args(model)
    if origin in (tuple, dict):
        return _model(arguments[0 if origin is tuple else 1], place[1:])
    members = [item for item in arguments if item is not NoneType]
    if len(members) == 1:
        return _model(members[0], place)
    named = [item for item in members if place and _is_branch(item, str(place[0]))]
    return _model(named[0], place[1:]) if named else None


def _is_branch(member: Any, label: str) -> bool:
    """Tell whether pydantic's label of a union branch means this member: its tag, or its class name."""
    while get_origin(member) is Annotated:
        member = get_args(member)[0]
    if not (isinstance(member, type) and issubclass(member, BaseModel)):
        return False
    tags = [field.annotation for name, field in member.model_fields.items() if name in ("op", "class_")]
    return any(get_origin(tag) is Literal and label in get_args(tag) for tag in tags) or member.__name__ in label
