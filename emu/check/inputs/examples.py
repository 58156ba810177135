"""Worked examples of a recipe as rows of a suite: blocks that its library was measured on, many of them because other rules part there.

Not here: stacking them into questions (inputs_directed.py), choosing rows that tell recipes apart (emu.identify).
"""

from __future__ import annotations

from collections.abc import Iterator

from emu.spec import Block, Format, Recipe, derive, get
from emu.spec.hex_rows import split

WIDE, NARROW = "fp32", "bf16"  # the wider source holds every code of the narrower in its high bits


def examples(recipe: Recipe, source: Format) -> Iterator[tuple[list[list[int]], int | None]]:
    """Yield (source codes of a whole tile, row by row; tensor maximum as fp32 bits or None) of each worked example that a source can state.

    Left out: worked examples with random integers, with part of a tile, or with elements that are no numbers of the source.
    """
    block: Block = get("block", recipe.facts.block)
    rows, columns = block.facts.shape
    for row in recipe.expect:
        codes = _stated(split(row.x, get("format", row.source)), row.source, source.id)
        if row.random is None and codes is not None and len(codes) == rows * columns:
            amax = None if row.tensor_amax is None else int(row.tensor_amax, 16)
            yield [codes[start : start + columns] for start in range(0, len(codes), columns)], amax


def _stated(codes: list[int], mine: str, source: str) -> list[int] | None:
    """Return codes of one source as codes of another; None where that has not all of them."""
    apart = derive.codes(get("format", WIDE)).bits - derive.codes(get("format", NARROW)).bits
    if mine == source:
        return codes
    if (mine, source) == (NARROW, WIDE):
        return [code << apart for code in codes]
    if (mine, source) == (WIDE, NARROW) and not any(code & (1 << apart) - 1 for code in codes):
        return [code >> apart for code in codes]
    return None
