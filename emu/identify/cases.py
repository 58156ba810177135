"""Candidates of discriminating rows: directed rows and worked examples of a family, parting pairs of the decision space, random blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from emu.base import philox
from emu.base.caches import bounded
from emu.contracts import form_of
from emu.contracts.form import takes_signs
from emu.contracts.quantize import decision
from emu.contracts.quantize.cases import directed
from emu.contracts.quantize.contract import QuantizeContract
from emu.contracts.quantize.form import examples
from emu.contracts.quantize.variants import Variant, shape_of
from emu.contracts.rows import unpack
from emu.contracts.suites import spread
from emu.engines.numpy.convert import to_fp32
from emu.identify.rows import CORNERS, KEY, Tile
from emu.identify.scale_steps import beside_scale_steps
from emu.spec import Recipe
from emu.spec.contract import parse
from emu.spec.registry import get

DECISION_ROWS: Final = 200
RANDOM_ROWS: Final = 64
PLAIN_ROWS: Final = 8
PLAIN_GROUPS: Final = 4
DRAWN: Final = 1 << 15  # elements of the rows that only confirm
MASKS: Final = (0, 0x1235, 0xFFFF, 0x0001)  # of signs: none, no palindrome of its bits, all, the first element alone
SOURCES: Final = ("bf16", "fp32")


def candidates(variants: Sequence[Variant]) -> list[Tile]:
    """Return the rows to choose from for the recipes of one family; bf16 rows first, each once.

    variants: documented recipes of one tile shape.
    """
    found: dict[tuple[tuple[int, ...], int, int, int], Tile] = {}
    for source in SOURCES:
        for item in _one_for_each_block(variants):
            for row in _directed(item.base, source):
                found.setdefault((row.x, row.amax, row.draw, row.signs), row)
    for row in (row for item in variants for row in _examples(item.recipe)):
        found.setdefault((row.x, row.amax, row.draw, row.signs), row)
    shape = shape_of(variants[0].recipe)
    extra = (_decision(shape) if shape[1] == decision.LANES else []) + _random(shape, any(takes_signs(item.recipe) for item in variants))
    for row in extra:
        found.setdefault((row.x, row.amax, row.draw, row.signs), row)
    return sorted(found.values(), key=lambda row: any(code & 0xFFFF for code in row.x))


def _one_for_each_block(variants: Sequence[Variant]) -> list[Variant]:
    """Return one recipe for each block and random operand: the directed rows follow from those."""
    found: dict[tuple[str, bool], Variant] = {}
    for item in variants:
        draws = any(getattr(step, "random", None) for step in item.recipe.facts.steps)
        found.setdefault((item.recipe.facts.block, draws), item)
    return list(found.values())


def _directed(recipe: str, source: str) -> list[Tile]:
    op = QuantizeContract.of(parse(f"quantize/{recipe}"), source)
    out = []
    for number, case in enumerate(directed(op, f"identify_{recipe}")):
        values = dict(zip((column.name for column in op.layout.inputs), case.values, strict=True))
        lanes = unpack(values["x"], op.layout.inputs[0])
        wide = _wide(np.array(lanes), source)
        amax = values.get("ts", max(code & 0x7FFFFFFF for code in wide))
        if values.get("n_valid", op.n) == op.n:
            out.append(Tile(tuple(wide), min(amax, 0x7FC00000), number % (CORNERS + 2) if op.rounding else CORNERS, case.flags))
    return out


def _examples(recipe: Recipe) -> list[Tile]:
    """Return the worked examples of a recipe as fp32 codes; under the largest element where none says its tensor maximum."""
    out = []
    for matrix, amax in examples(recipe, get("format", "fp32")):
        wide = [code for row in matrix for code in row]
        top = max(code & 0x7FFFFFFF for code in wide) if amax is None else amax
        out.append(Tile(tuple(wide), min(top, 0x7FC00000), CORNERS, ("example",)))
    return out


def _wide(codes: NDArray[Any], source: str) -> list[int]:
    fmt = get("format", source)
    if source == "fp32":
        return [int(code) for code in codes]
    return [int(code) for code in to_fp32(codes.astype(np.uint16), fmt).view(np.uint32)]


def _decision(shape: tuple[int, int]) -> list[Tile]:
    """Pairs of significands of block and tensor maximum where documented recipes give different scale codes; in the first row of a tile."""
    rest = (0,) * ((shape[0] - 1) * shape[1])
    parting, pairs = decision.parting(), decision.pairs()
    out = []
    for place in spread(len(parting), DECISION_ROWS):
        at = int(parting[place])
        lanes = decision.blocks(at, at + 1)[0]
        out.append(Tile((*(int(code) << 16 for code in lanes), *rest), decision.tensor_bits(int(pairs[at, 1])), CORNERS, ("decision",)))
    return out


def _random(shape: tuple[int, int], signed: bool) -> list[Tile]:
    """Random bf16 blocks in falling binades under their own maximum and one 16 times as large. signed: under each mask of signs in turn."""
    size = shape[0] * shape[1]
    words = philox.words(KEY, RANDOM_ROWS * size, 0, philox.stream_of("identify_rows")).reshape(RANDOM_ROWS, size).astype(np.int64)
    out = []
    for number, row in enumerate(words):
        codes = ((127 - (row >> 8 & 7)) << 7 | row & 0x7F | (row >> 16 & 1) << 15) << 16
        top = int((codes & 0x7FFFFFFF).max()) + (number % 2) * (4 << 23)
        signs = MASKS[number % len(MASKS)] if signed else 0
        out.append(Tile(tuple(codes.tolist()), top, number % (CORNERS + 8), ("random",), signs))
    return out


@bounded(8, names=True)
def plain(shape: tuple[int, int], signed: bool = False) -> tuple[Tile, ...]:
    """Return rows that no variant was looked at for: random blocks in groups under a few tensor maxima. They weigh against extremes.

    signed: each group under another mask of signs.
    """
    rows = _random(shape, signed)
    out: list[Tile] = []
    for group in range(PLAIN_GROUPS):
        members = rows[group::PLAIN_GROUPS][:PLAIN_ROWS]
        top = max(code & 0x7FFFFFFF for row in members for code in row.x) + group * (1 << 23)
        out += [replace(row, amax=top, flags=("plain",)) for row in members]
    return tuple(out)


def drawn_codes(shape: tuple[int, int], narrow: bool) -> NDArray[np.int64]:
    """Return random fp32 codes, each row in one of 8 binades and its elements in 8 below. narrow: significands of bf16."""
    rows, columns = shape
    words = philox.words(KEY, rows * (columns + 1), 0, philox.stream_of("identify_drawn")).reshape(rows, columns + 1).astype(np.int64)
    exponents = 127 - (words[:, 1:] >> 24 & 7) - (words[:, :1] >> 8 & 7)
    codes: NDArray[np.int64] = exponents << 23 | words[:, 1:] & (0x7F0000 if narrow else 0x7FFFFF) | (words[:, 1:] >> 27 & 1) << 31
    return codes


@bounded(8)
def drawn(shape: tuple[int, int], narrow: bool, signed: bool) -> tuple[Tile, ...]:
    """Return random rows for the confirmation of what was found: no choice of rows or variants has seen them.

    narrow: significands of bf16, else of binary32.   signed: under each mask of signs in turn.
    Blocks lie in 8 binades and their elements in 8 below, under four tensor maxima with ordinary significands, one of them their own.
    """
    size = shape[0] * shape[1]
    count = DRAWN // size
    codes = drawn_codes((count, size), narrow)
    out: list[Tile] = []
    for group in range(PLAIN_GROUPS):
        members = codes[group::PLAIN_GROUPS]
        top = int((members & 0x7FFFFFFF).max()) + group * (0x3A0000 if narrow else 0x3A5C3B)
        signs = MASKS[group % len(MASKS)] if signed else 0
        out += [
            Tile(tuple(row), top, CORNERS + RANDOM_ROWS + number % RANDOM_ROWS, ("drawn",), signs)
            for number, row in enumerate(members.tolist())
        ]
    return tuple(out)


@bounded(8, names=True)
def of_recipe(recipe: str, source: str) -> tuple[Tile, ...]:
    """Return the directed rows of one recipe, for the confirmation of what was found; once more under signs where it takes them."""
    rows = _directed(recipe, source)
    signed = takes_signs(get("recipe", recipe))
    again = [replace(row, signs=MASKS[1 + number % (len(MASKS) - 1)]) for number, row in enumerate(rows)] if signed else []
    return (*rows, *again)


def confirming(bases: Sequence[str], source: str, shape: tuple[int, int]) -> Iterator[tuple[Tile, ...]]:
    """Yield the sets of rows that confirm what was found: directed rows and changes of scales of its recipes, then random rows.

    source: of the kernel.   shape: of a tile.
    """
    known = source if source in SOURCES else "bf16"
    seen = set()
    for base in bases:
        for rows in (of_recipe(base, known), scale_edges(base, known)):
            if rows and rows not in seen:
                seen.add(rows)
                yield rows
    yield drawn(shape, known != "fp32", any(takes_signs(get("recipe", base)) for base in bases))


@bounded(4, names=True)
def scale_edges(recipe: str, source: str) -> tuple[Tile, ...]:
    """Return the blocks beside the places where a power-of-two scale changes, as check asks them; none for another scale."""
    question = beside_scale_steps(form_of(f"quantize/{recipe}", source))
    if question is None:
        return ()
    codes = question.operands["x"]
    x = np.array(_wide(codes.reshape(-1), source)).reshape(codes.shape)
    most = int((x & np.uint32(0x7FFFFFFF)).max())  # one for all rows, so that they are asked together: such a scale follows from its block
    return tuple(Tile(tuple(row), most, 0, ("scale_edge",)) for row in x.tolist())
