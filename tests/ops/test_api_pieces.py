"""Arrays in pieces: the bits of one piece for every recipe, wherever the cuts lie; what cannot be cut, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import emu
from emu.base.errors import EmuError
from emu.base.philox import words
from emu.base.workers import in_order_by_threads
from emu.engines import parts, pieces
from emu.ops.functions import quantize_task
from emu.ops.pieces import quantize_in_pieces
from emu.spec import get
from emu.spec.programs.program import quantize_program
from emu.spec.registry import names

RECIPES = names("recipe")


@pytest.fixture
def sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Pieces of a few elements; how many each array was cut to."""
    seen: list[int] = []
    whole = pieces.pieces_of

    def noted(*given: Any, **operands: Any) -> Any:
        found = whole(*given, **operands)
        seen.append(len(found[1]))
        return found

    monkeypatch.setattr(parts, "LEAST", 8)
    monkeypatch.setattr(pieces, "PIECE", 256)
    monkeypatch.setattr("emu.ops.pieces.pieces_of", noted)
    return seen


def _values(rows: int, columns: int) -> Any:
    bits = (words(47, rows * columns) & 0x83FFFFFF) + 0x38000000
    return bits.view(np.float32).reshape(rows, columns)


def _by(jobs: int, arrays: list[Any], recipe: str, engine: str = "auto", **operands: Any) -> list[Any]:
    """Quantize arrays in pieces, by threads in place of workers."""
    given = {"axis": -1, "row_axis": -2, "source": None, "tensor_amax": None, "random": None, "signs": None} | operands

    def task(array: Any) -> Any:
        return quantize_task(array, recipe, **given)

    def whole(array: Any) -> Any:
        return emu.quantize(array, recipe, engine=engine, **given)

    return list(quantize_in_pieces(lambda f, tasks: in_order_by_threads(f, tasks, jobs), arrays, task, whole, engine))


def _same(one: Any, other: Any) -> None:
    assert one.shape == other.shape and one.recipe is other.recipe and (one.axis, one.row_axis) == (other.axis, other.row_axis)
    assert np.array_equal(one.pack(), other.pack())
    for mine, theirs in zip(one.levels, other.levels, strict=True):
        assert mine.name == theirs.name and mine.codes.dtype == theirs.codes.dtype and np.array_equal(mine.codes, theirs.codes)


def _random(recipe: str, size: int) -> Any:
    rounding = quantize_program(get("recipe", recipe)).drawing
    if rounding is None:
        return None
    lanes, bits = rounding.random_operand
    return words(5, -(-size // lanes)) & np.uint32((1 << min(bits, 32)) - 1)


@pytest.mark.cases(50)
@pytest.mark.parametrize("recipe", RECIPES)
def test_the_bits_are_those_of_one_piece(sizes: list[int], recipe: str) -> None:
    tall = max(get("block", get("recipe", recipe).facts.block).facts.shape[0] // 16, 1)  # enough rows that tiles are cut too
    arrays = [_values(32 * tall, 128), _values(65 * tall, 256)[: 64 * tall, ::2], _values(48 * tall, 64).T.copy().T]
    random = _random(recipe, arrays[0].size)
    if random is not None:
        arrays = arrays[:1]
    for one, array in zip(_by(3, arrays, recipe, random=random), arrays, strict=True):
        _same(one, emu.quantize(array, recipe, random=random))
    assert len(sizes) == len(arrays) and all(sizes)
    assert max(sizes) > 1, "nothing was cut"


@pytest.mark.parametrize("rows", [1, 2, 3, 15, 16, 17, 33])
def test_sizes_about_a_piece_and_another_axis(sizes: list[int], rows: int) -> None:
    for axis, row_axis in ((-1, -2), (0, 1)):
        array = _values(rows, 64) if axis else _values(64, rows)
        _same(_by(2, [array], "nvfp4_te", axis=axis, row_axis=row_axis)[0], emu.quantize(array, "nvfp4_te", axis=axis, row_axis=row_axis))
    assert all(sizes)


def test_a_maximum_is_that_of_the_whole(sizes: list[int]) -> None:
    array = _values(32, 128)
    array[31, 127] = 1e6
    found = _by(2, [array], "nvfp4_te")[0]
    _same(found, emu.quantize(array, "nvfp4_te"))
    assert sizes[0] > 1 and np.array_equal(found.levels[0].codes, np.array(1e6, np.float32).view(np.uint32))


def test_what_cannot_be_cut_and_is_large_is_done_here(sizes: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "cut_of", lambda *_: None)
    small, large = _values(8, 128), _values(9, 128)  # 1024 and 1152 elements: four pieces of 256 are the most that goes whole
    for one, array in zip(_by(2, [large, small], "mxfp4_mlx_cpu", engine="numpy"), [large, small], strict=True):
        _same(one, emu.quantize(array, "mxfp4_mlx_cpu"))
    assert sizes == [0, 1]


def test_the_first_array_that_fails_is_told_of_the_whole(sizes: list[int]) -> None:
    good, wrong, empty = _values(32, 128), _values(32, 128), np.zeros((0, 16), np.float32)
    wrong[30, 3] = np.nan
    recipe = next(name for name in RECIPES if _refuses(name, wrong) and not _refuses(name, good))
    with pytest.raises(EmuError) as whole:
        emu.quantize(wrong, recipe)
    for arrays in ([good, wrong, good], [good, wrong, empty]):
        with pytest.raises(type(whole.value)) as found:
            _by(2, arrays, recipe)
        assert str(found.value) == str(whole.value)
    with pytest.raises(EmuError, match="nothing to quantize"):
        _by(2, [good, empty, wrong], recipe)


def _refuses(recipe: str, array: Any) -> bool:
    if quantize_program(get("recipe", recipe)).drawing is not None:
        return False
    try:
        emu.quantize(array, recipe)
    except EmuError:
        return True
    return False
