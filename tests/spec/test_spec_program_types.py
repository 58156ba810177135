"""Types of a program: what shares a value and what lies inside it, the names that a step reads, and what a program follows from."""

from __future__ import annotations

import pytest

from emu.base.errors import SpecError
from emu.spec.models.block import BlockFacts, Granularity, Sub
from emu.spec.programs import program as programs
from emu.spec.programs import types
from emu.spec.programs.types import ELEMENT, ROW, TENSOR, Extent, extent_of, meet
from emu.spec.registry import get, names

BLOCK, TILE = Extent(1, 16), Extent(16, 16)


def test_a_place_holds_what_lies_inside_one_of_its_parts() -> None:
    inward = [TENSOR, TILE, BLOCK, Extent(1, 4), ELEMENT]
    assert all(one.holds(other) == (place <= at) for place, one in enumerate(inward) for at, other in enumerate(inward))
    assert TENSOR.holds(ROW) and ROW.holds(BLOCK) and not ROW.holds(TILE) and not ROW.holds(TENSOR) and not Extent(1, 4).holds(Extent(1, 6))


def test_places_of_a_tile_of_several_rows() -> None:
    block = get("block", "nvfp4")
    square = block.model_copy(update={"facts": BlockFacts.model_validate(dict(block.facts) | {"shape": (16, 16)}, from_attributes=True)})
    asked: tuple[Granularity, ...] = ("tensor", "row", "tile", "block", Sub(sub=4))
    assert [extent_of(each, square) for each in asked] == [TENSOR, ROW, TILE, BLOCK, Extent(1, 4)]
    assert [extent_of(each, block) for each in asked] == [TENSOR, ROW, BLOCK, BLOCK, Extent(1, 4)]


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ([TENSOR], TENSOR),
        ([TENSOR, BLOCK], BLOCK),
        ([TILE, BLOCK], BLOCK),
        ([ROW, Extent(0, 4)], Extent(1, 4)),
        ([BLOCK, ELEMENT, ROW], ELEMENT),
    ],
)
def test_what_is_worked_out_of_several_lives_where_they_meet(given: list[Extent], wanted: Extent) -> None:
    assert meet(given) == meet(given[::-1]) == wanted


@pytest.mark.parametrize("apart", [Extent(1, 24), Extent(3, 4), Extent(24, 1)])
def test_parts_that_overlap_do_not_meet(apart: Extent) -> None:
    with pytest.raises(SpecError, match="shared by parts of the tensor that do not nest"):
        meet([TILE, apart])


def test_a_program_reads_the_random_operand_where_a_step_draws() -> None:
    found = {name: programs.quantize_program(get("recipe", name)) for name in names("recipe")}
    drawing = [name for name, program in found.items() if program.drawing is not None]
    assert drawing and [name for name, program in found.items() if program.reads("random")] == drawing


def other_transform(kind: str, name: str) -> object:
    return get(kind, "rht16_exact" if kind == "transform" else name)


def test_a_program_follows_from_the_facts_of_its_transform(monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = get("recipe", "ufp4")
    first, second = (programs.build(recipe, None).digest for _ in range(2))
    monkeypatch.setattr(types, "get", other_transform)
    assert first == second != programs.build(recipe, None).digest
