"""Families of recipes: what a name such as nvfp4, mxfp4 or mxfp8 means, told from the facts of blocks and formats alone.

A family is every recipe whose block has the same element formats and the same scale formats. It is named by a block (nvfp4), by a format
of elements (e2m1), or by the words of the OCP MX and NVIDIA names: mx (scales are powers of two) or nv (scales are narrow floats), then
fp or int and the bits of an element. Not here: the search for one object (registry.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import NamedTuple

from emu.spec import derive
from emu.spec.models import Block, Format, Recipe
from emu.spec.models.format import ExponentFacts, FloatFacts, IntegerFacts
from emu.spec.registry import get, names

_NAME = re.compile(r"(mx|nv)?(fp|int)([1-9][0-9]?)")
_KINDS = {"fp": (FloatFacts, "float"), "int": (IntegerFacts, "integer")}
_SCALES = {"mx": (ExponentFacts, "power-of-two scales"), "nv": (FloatFacts, "float scales of at most 8 bits")}
_LONGEST = 900


class Family(NamedTuple):
    """name: as asked.   what: its facts in words.   members: recipe ids, sorted."""

    name: str
    what: str
    members: tuple[str, ...]


def family(name: str) -> Family | None:
    """Return the family that a name means, None where it means none; it may have no members."""
    wanted = name.lower()
    block = next((item for item in _blocks() if wanted == item.id or name in item.accepted), None)
    if block is not None:
        elements, scales = _facts(block)
        what = f"{' or '.join(elements)} elements" + (f", {' and '.join(scales)} scales" if scales else ", no scales")
        return Family(name, what, _members(lambda other: _digests(other) == _digests(block)))
    fmt = next((item for item in (get("format", each) for each in names("format")) if wanted == item.id or name in item.accepted), None)
    if fmt is not None:
        return Family(name, f"{fmt.id} elements", _members(lambda other: fmt.facts_digest in _digests(other)[0]))
    words = _NAME.fullmatch(wanted)
    if words is None:
        return None
    (kind, word), bits = _KINDS[words[2]], int(words[3])
    scale, text = _SCALES.get(words[1], (None, ""))

    def fits(other: Block) -> bool:
        elements, scales = (tuple(get("format", item) for item in each) for each in _facts(other))
        narrow = all(derive.codes(item).bits <= 8 for item in scales)
        right = scale is None or (bool(scales) and narrow and all(isinstance(item.facts, scale) for item in scales))
        return right and all(_is(item, kind, bits) for item in elements)

    return Family(name, f"{bits}-bit {word} elements" + (f", {text}" if text else ""), _members(fits))


def family_line(name: str) -> str | None:
    """Return what to say to who asks for a recipe by the name of a family: its members and what tells them apart, on one line."""
    found = family(name)
    if found is None:
        return None
    if not found.members:
        words = _NAME.fullmatch(name.lower())
        formats = [item for item in names("format") if words and _is(get("format", item), _KINDS[words[2]][0], int(words[3]))]
        hint = f"emu.convert takes {' or '.join(formats)}; " if formats else ""
        return f"is unknown: no recipe has {found.what}: {hint}`emu list recipes` names those there are, and your own is one more YAML file"
    start, end = f"is a family of {len(found.members)} ({found.what}), name a member: ", f"; `emu show {name}` prints them as a table"
    full = "; ".join(f"{item} ({get('recipe', item).title})" for item in found.members)
    if len(full) <= _LONGEST:
        return start + full + end
    groups: dict[str, list[str]] = {}
    for item in found.members:
        block: Block = get("block", get("recipe", item).facts.block)
        groups.setdefault(block.title, []).append(item)
    return start + "; ".join(f"{', '.join(items)} ({title})" for title, items in groups.items()) + end


def table(found: Family) -> list[dict[str, str]]:
    """Return a row for each member: id, block, tile, tensor level, tail, and title."""
    rows = []
    for item in found.members:
        recipe: Recipe = get("recipe", item)
        block: Block = get("block", recipe.facts.block)
        whole = [f"{level.format}, {level.meaning}" for level in block.facts.levels if level.granularity == "tensor"]
        tile = "x".join(str(length) for length in block.facts.shape)
        level = " ".join(whole) or "none"
        rows.append(
            {"recipe": item, "block": block.id, "tile": tile, "tensor level": level, "tail": recipe.facts.tail, "title": recipe.title}
        )
    return rows


def _blocks() -> list[Block]:
    return [get("block", name) for name in names("block")]


def _facts(block: Block) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the formats of the elements, and of the levels that scale less than a row."""
    finer = [level for level in block.facts.levels if level.meaning != "flag" and level.granularity not in ("tensor", "row")]
    return block.element_formats, tuple(level.format for level in finer)


def _digests(block: Block) -> tuple[tuple[str, ...], ...]:
    """Return the same as digests of facts: a format under another name is the same format."""
    return tuple(tuple(get("format", name).facts_digest for name in each) for each in _facts(block))


def _members(fits: Callable[[Block], bool]) -> tuple[str, ...]:
    right = {block.id for block in _blocks() if fits(block)}
    return tuple(name for name in names("recipe") if get("recipe", name).facts.block in right)


def _is(fmt: Format, kind: type, bits: int) -> bool:
    """Tell whether a format of signed values is of a class and width."""
    return isinstance(fmt.facts, kind) and getattr(fmt.facts, "signed", "no") != "no" and derive.codes(fmt).bits == bits
