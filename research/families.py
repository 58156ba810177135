"""Which members of a family of recipes agree on a real model, and how far the others part. Not here: the page (research.pages.families).

A family is what emu.spec.family says: the same formats of elements and scales. Every member quantizes the same weights and activations of
MiniLM; members with the same element codes, the same block scales and the same values everywhere are one group. Counts are exact.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import combinations
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

import emu
from emu.contracts.form import takes_signs
from emu.files.record import Place, Record, changed, digests_of
from emu.spec import Block, Recipe, get, names
from emu.spec.family import Family, family
from emu.spec.programs.program import quantize_program
from research import minilm

COMMAND: Final = "python -m research families --out docs/evidence/families.json --force"
RECORD: Final = "docs/evidence/families.json"
AGREE: Final = (0, 0, 0)
Array = NDArray[Any]
Data = dict[str, Any]
Counts = tuple[int, int, int]  # of codes, scales and values that differ


class Answer(NamedTuple):
    """What a member makes of one tensor. codes: of elements.   scales: of blocks, finest level.   values: binary32 codes."""

    codes: Array
    scales: Array
    values: Array


def _opened(place: Place, value: Any) -> bool:
    depth = {"families": 4, "tensors": 2, "digests": 3}
    return isinstance(value, dict | list) and place[-1:] != ("left_out",) and (not place or len(place) < depth.get(str(place[0]), 0))


KIND: Final = Record("record of families", f"run {COMMAND}", _opened, ("command", "tensors", "families", "digests"))


def families() -> list[Family]:
    """Return every family of which two members or more can be compared block by block, once, under the shortest id of its blocks."""
    found: dict[tuple[str, ...], Family] = {}
    for name in sorted(names("block"), key=lambda item: (len(item), item)):
        one = family(name)
        if one is not None and get("block", name).is_alone and sum(not needs_more(item) for item in one.members) > 1:
            found.setdefault(one.members, one)
    return sorted(found.values())


def needs_more(name: str) -> bool:
    """Tell whether a recipe needs random numbers or signs beside the tensor: two such have no common input."""
    recipe: Recipe = get("recipe", name)
    return quantize_program(recipe).drawing is not None or takes_signs(recipe)


def tensors(folder: Path) -> list[tuple[str, Array]]:
    """Return name and matrix of the weights (fp32) and activations (bf16) of some products of MiniLM, in whole tiles of every recipe.

    Raises: FileError.
    """
    blocks: list[Block] = [get("block", name) for name in _facts()["block"]]
    tile = math.lcm(*(block.facts.shape[0] for block in blocks))
    found = []
    for item in minilm.products(folder, minilm.PRODUCTS):
        found += [(f"{item.name}_x", item.x[: len(item.x) // tile * tile]), (f"{item.name}_w", item.w)]
    return found


def answer(x: Array, name: str) -> Answer:
    """Return what a recipe makes of a matrix; the tensor's own maximum where it asks for one. Raises: as emu.quantize."""
    made = emu.quantize(x, name)
    values = np.ascontiguousarray(made.dequantize(), np.float32).view(np.uint32)
    return Answer(np.asarray(made.codes), np.asarray(made.levels[-1].codes), values)


def compare(found: Family, given: list[tuple[str, Array]], tick: Callable[[str], None] = lambda text: None) -> Data:
    """Return the groups of a family and how far each is from the nearest other one.

    given: name and matrix of each tensor.   tick: called with the name of each member that was run.
    """
    members = [name for name in found.members if not needs_more(name)]
    made: dict[str, list[Answer]] = {}
    for name in members:
        made[name] = [answer(x, name) for _, x in given]
        tick(name)
    apart = {frozenset(pair): _counts(*(made[name] for name in pair)) for pair in combinations(members, 2)}
    groups: list[list[str]] = []
    for name in members:
        home = next((group for group in groups if apart[frozenset((group[0], name))] == AGREE), None)
        groups.append([name]) if home is None else home.append(name)
    groups.sort(key=lambda group: (-len(group), group))
    rows = [{"members": group, **_nearest(group, groups, apart)} for group in groups]
    return {"name": found.name, "what": found.what, "left_out": sorted({*found.members} - {*members}), "groups": rows}


def _nearest(group: list[str], groups: list[list[str]], apart: Mapping[frozenset[str], Counts]) -> Data:
    """Return what the row of a group says: the nearest other group by values, then scales, then codes, and how many of each differ."""
    found = {other[0]: apart[frozenset((group[0], other[0]))] for other in groups if other is not group}
    if not found:
        return {}
    near = min(found, key=lambda name: (*reversed(found[name]), name))
    return {"nearest": near, **dict(zip(("codes", "scales", "values"), found[near], strict=True))}


def _counts(mine: list[Answer], other: list[Answer]) -> Counts:
    """Return how many codes, scales and values differ. The scale of a tile counts in each row; of blocks of two lengths, all do."""
    pairs = list(zip(mine, other, strict=True))
    codes, scales, values = (sum(_differ(one[part], two[part]) for one, two in pairs) for part in range(len(Answer._fields)))
    return codes, scales, values


def _differ(one: Array, two: Array) -> int:
    return int((one != two).sum()) if one.shape == two.shape else max(one.size, two.size)


def run(folder: Path, tick: Callable[[str], None] = lambda text: None) -> Data:
    """Return the whole record. folder: of MiniLM. Raises: FileError (no such model)."""
    given = tensors(folder)
    return {
        "command": COMMAND,
        "tensors": [{"name": name, "shape": list(x.shape), "dtype": str(x.dtype)} for name, x in given],
        "families": [compare(found, given, tick) for found in families()],
        "digests": digests_of(_facts()),
    }


def stale(record: Data) -> list[str]:
    """Return the recipes and blocks that are others now, or that the record lacks; empty when it still fits the spec."""
    now = digests_of(_facts())
    told = [{*row["left_out"], *(name for group in row["groups"] for name in group["members"])} for row in record["families"]]
    return [f"{kind} {name}" for kind in now for name in changed(record["digests"].get(kind, {}), now[kind])] + [
        f"{found.name}: other members" for found in families() if {*found.members} not in told
    ]


def _facts() -> dict[str, list[str]]:
    members = sorted({name for found in families() for name in found.members})
    recipes: list[Recipe] = [get("recipe", name) for name in members]
    return {"recipe": members, "block": sorted({recipe.facts.block for recipe in recipes})}
