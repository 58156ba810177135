"""Places of codes in memory: each code has one place, the tile of 128 x 4 is the published one, and NumPy finds the same by folding."""

import itertools
from typing import Any

import pytest

from emu.base.errors import OperandError, SpecError
from emu.engines.exact.layout import place
from emu.engines.numpy.layout import places
from emu.spec import get, names
from emu.spec.contract import parse

SIDES = ((1, 1), (3, 5), (128, 4), (129, 4), (128, 5), (130, 9), (384, 12))


def published(row: int, idx: int, codes: int) -> int:
    """The vendor's formula: inside a tile of 512 bytes, and tiles along the row first."""
    tile = row // 128 * ((codes + 3) // 4) + idx // 4
    return 512 * tile + (row % 32) * 16 + (row % 128 // 32) * 4 + idx % 4


@pytest.mark.parametrize(("rows", "codes"), SIDES)
def test_scales_in_tiles_are_where_the_formula_says(rows: int, codes: int) -> None:
    layout = get("layout", "sf128x4")
    for row in range(rows):
        for idx in range(codes):
            assert place(row, idx, rows, codes, layout) == published(row, idx, codes)


@pytest.mark.parametrize("name", names("layout"))
@pytest.mark.parametrize(("rows", "codes"), SIDES)
def test_every_code_has_its_own_place_and_numpy_finds_it(name: str, rows: int, codes: int) -> None:
    layout = get("layout", name)
    found = [[place(row, idx, rows, codes, layout) for idx in range(codes)] for row in range(rows)]
    assert len({at for line in found for at in line}) == rows * codes
    assert places(rows, codes, layout).tolist() == found


def test_outside_the_tensor_there_is_no_place() -> None:
    for row, idx in ((3, 0), (-1, 0), (0, 5)):
        with pytest.raises(OperandError, match="outside a tensor of 3 x 5"):
            place(row, idx, 3, 5, get("layout", "row_major"))


def test_blocks_name_layouts_that_exist_and_no_others_fit() -> None:
    for name in names("block"):
        facts = get("block", name).facts
        assert {facts.packing, facts.scale_layout} - {"none"} <= set(names("layout"))
    assert str(parse("layout/nvfp4/to_blocked")) == "layout/nvfp4/sf128x4"
    with pytest.raises(SpecError, match="holds scales of 8 bits, e2m1_fp32scale has none"):
        parse("layout/e2m1_fp32scale/sf128x4")


def layout_holds(layout: Any, row: Any) -> bool:
    """Walk through memory, the first digit fastest, until the code is met."""
    sides = {"row": row.rows, "idx": row.codes}
    counts = [digit.count or -(-sides[digit.axis] // digit.step) for digit in layout.facts.digits]
    for found, slowest_first in enumerate(itertools.product(*(range(count) for count in reversed(counts)))):
        at = {"row": 0, "idx": 0}
        for digit, value in zip(layout.facts.digits, reversed(slowest_first), strict=True):
            at[digit.axis] += (digit.count - 1 - value if digit.order == "down" else value) * digit.step
        if at == {"row": row.row, "idx": row.idx}:
            return found == row.place
    return False


@pytest.mark.parametrize("name", names("layout"))
def test_examples_of_the_spec_by_walking_through_memory(name: str) -> None:
    layout = get("layout", name)
    assert len(layout.expect) >= 2 and all(layout_holds(layout, row) for row in layout.expect)
