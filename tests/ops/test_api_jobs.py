"""Threads of convert, quantize and dequantize: parts of a few elements give the bits of one piece, in every place where a cut may lie."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import emu
from emu.base.philox import words
from emu.engines import parts
from emu.engines.native.block import quantize as kernel_quantize
from emu.engines.native.convert import convert as kernel_convert
from emu.engines.native.dequantize import dequantize as kernel_dequantize
from emu.spec import get
from emu.spec.models import Recipe
from emu.spec.models.rounding import Word
from emu.spec.programs.program import quantize_program
from emu.spec.registry import names

RECIPES = names("recipe")
Cuts = list[tuple[int, list[slice]]]


@pytest.fixture
def cuts(monkeypatch: pytest.MonkeyPatch) -> Cuts:
    """Parts of 8 elements or more; what was cut, axis and parts."""
    seen: Cuts = []
    whole, arrays = parts.cut_of, parts.of_elements

    def noted(*given: Any) -> Any:
        found = whole(*given)
        if found is not None:
            seen.append(found)
        return found

    def elements(*given: Any) -> list[slice]:
        seen.append((0, arrays(*given)))
        return seen[-1][1]

    monkeypatch.setattr(parts, "LEAST", 8)
    monkeypatch.setattr(parts, "NATIVE", 1)
    monkeypatch.setattr(parts, "cut_of", noted)
    monkeypatch.setattr(parts, "of_elements", elements)
    return seen


def matrix(rows: int, columns: int) -> Any:
    """Numbers of 40 binades, zeros of both signs among them, whose largest lies in one place."""
    bits = (words(31, rows * columns) & 0x83FFFFFF) + 0x38000000
    bits[5::37] &= 0x80000000
    x = bits.view(np.float32).reshape(rows, columns)
    x[rows // 2, columns // 3] = -3e4
    return x


def drawn(recipe: Recipe, size: int) -> Any:
    rounding = quantize_program(recipe).drawing
    if rounding is None:
        return None
    source = rounding.facts.random
    lanes, bits = (source.lanes, source.word) if isinstance(source, Word) else (1, rounding.random_bits)
    return words(7, -(-size // lanes)) >> (32 - min(bits, 32))


def same(one: Any, other: Any) -> None:
    assert np.array_equal(one.codes, other.codes) and one.codes.dtype == other.codes.dtype
    assert [level.name for level in one.levels] == [level.name for level in other.levels] != []
    for mine, theirs in zip(one.levels, other.levels, strict=True):
        assert np.array_equal(mine.codes, theirs.codes) and mine.codes.dtype == theirs.codes.dtype, mine.name


@pytest.mark.cases(8, 1000)
@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe(name: str, cuts: Cuts) -> None:
    """Quantize and dequantize along the last axis and across it; a recipe that joins what lies along an axis is not cut there."""
    recipe: Recipe = get("recipe", name)
    height, width = get("block", recipe.facts.block).facts.shape
    x = matrix(5 * height, 3 * max(width, 16))
    for axis, given in ((1, x), (0, np.ascontiguousarray(x.T))):
        random = drawn(recipe, x.size)
        if axis == 0 and random is not None and random.size != x.size:
            continue  # words that elements share have the order of the last axis
        operands = {} if random is None else {"random": random}
        one = emu.quantize(given, name, axis=axis, row_axis=1 - axis, **operands)
        same(emu.quantize(given, name, axis=axis, row_axis=1 - axis, jobs=3, **operands), one)
        for profile in recipe.facts.dequantize:
            values = one.dequantize(profile=profile)
            assert np.array_equal(one.dequantize(profile=profile, jobs=3).view(np.uint32), values.view(np.uint32))
    assert any(len(found) > 1 for _, found in cuts) or not joins_nothing(recipe)


def joins_nothing(recipe: Recipe) -> bool:
    """Whether no step takes the maximum or the sum of what is more than a tile."""
    program = quantize_program(recipe)
    return all(0 not in item.type.extent for item in program.instructions if item.op in ("amax", "sum"))


def test_a_row_is_not_cut_where_a_step_takes_its_maximum(cuts: Cuts) -> None:
    """One row alone: there is nowhere else to cut."""
    by_row = [
        name for name in RECIPES if any(level.granularity == "row" for level in get("block", get("recipe", name).facts.block).facts.levels)
    ]
    for name in by_row:
        x = matrix(1, 8 * get("block", get("recipe", name).facts.block).facts.shape[1])
        random = drawn(get("recipe", name), x.size)
        operands = {} if random is None else {"random": random}
        same(emu.quantize(x, name, jobs=3, **operands), emu.quantize(x, name, **operands))
    assert by_row and not cuts


def test_most_recipes_are_cut() -> None:
    """The test above compares something."""
    assert sum(joins_nothing(get("recipe", name)) for name in RECIPES) > len(RECIPES) * 3 // 4


@pytest.mark.parametrize(
    ("engine", "size", "threads"), [("native", (1 << 23) - 1, 1), ("native", 1 << 23, 2), ("native", 1 << 30, 3), ("c_ref", 9, 3)]
)
def test_kernels_take_a_thread_only_for_many_elements(engine: str, size: int, threads: int) -> None:
    assert parts.worth(3, engine, size) == threads


@pytest.mark.parametrize("engine", ["native", "numpy", "c_ref", "exact"])
def test_every_engine(engine: str, cuts: Cuts) -> None:
    x = matrix(6, 48)
    one = emu.quantize(x, "nvfp4_te_ref", engine="exact")
    same(emu.quantize(x, "nvfp4_te_ref", engine=engine, jobs=2), one)
    values = emu.dequantize(one, engine=engine, jobs=2)
    assert np.array_equal(values.view(np.uint32), one.dequantize(engine="exact").view(np.uint32))
    codes = emu.convert(x, "e2m1", engine=engine, jobs=2)
    assert np.array_equal(codes, emu.convert(x, "e2m1", engine="exact")) and codes.shape == x.shape
    assert len(cuts) == 3 and all(len(found) > 1 for _, found in cuts)


@pytest.mark.parametrize("shape", [(3, 5, 20), (61,), (7, 33), (2, 3, 4, 24)], ids=str)
def test_tails_and_stacks(shape: tuple[int, ...], cuts: Cuts) -> None:
    """Lengths that no tile divides, axes anywhere, arrays that lie in memory in other orders."""
    x = matrix(1, int(np.prod(shape))).reshape(shape)
    for given in (x, np.asfortranarray(x), x[..., ::-1]):
        for axis in range(len(shape)):
            for recipe in ("mxe1m2_floor", "nvfp4_te_ref"):
                one = emu.quantize(given, recipe, axis=axis)
                many = emu.quantize(given, recipe, axis=axis, jobs=4)
                same(many, one)
                assert np.array_equal(many.dequantize(jobs=4).view(np.uint32), one.dequantize().view(np.uint32))
        assert np.array_equal(emu.convert(given, "e1m2", jobs=4), emu.convert(given, "e1m2"))
    assert any(len(found) > 2 for _, found in cuts) and {axis for axis, _ in cuts} == ({0} if len(shape) > 2 else {0, 1})


@pytest.mark.parametrize("rounding", [name for name in names("rounding") if get("rounding", name).random_bits])
def test_random_words_of_a_conversion(rounding: str, cuts: Cuts) -> None:
    """Words that elements share are not cut through; the length is no multiple of them."""
    facts = get("rounding", rounding).facts.random
    lanes, bits = (facts.lanes, facts.word) if isinstance(facts, Word) else (1, get("rounding", rounding).random_bits)
    x = ((words(5, 83) & 0x81FFFFFF) + 0x3F000000).view(np.float32)
    random = words(3, -(-83 // lanes)) >> (32 - min(bits, 32))
    one = emu.convert(x, "e2m1", rounding=rounding, random=random)
    assert np.array_equal(emu.convert(x, "e2m1", rounding=rounding, random=random, jobs=3), one) and len(set(one.tolist())) > 6
    assert len(cuts) == 1 and len(cuts[0][1]) > 2


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, ml_dtypes.bfloat16])
def test_the_tensor_maximum_is_that_of_the_whole(dtype: Any, cuts: Cuts) -> None:
    """A part has another maximum; a NaN in one part is a NaN of all."""
    x = matrix(8, 64).astype(dtype)
    same(emu.quantize(x, "nvfp4_te_ref", jobs=3), emu.quantize(x, "nvfp4_te_ref"))
    x[7, 63] = np.nan
    same(emu.quantize(x, "nvfp4_te_ref", jobs=3), emu.quantize(x, "nvfp4_te_ref"))
    assert cuts


def test_a_refused_part_gives_the_line_of_the_whole(cuts: Cuts) -> None:
    """The element is counted from the first of the whole, and no part is returned."""
    x = np.ones(64)
    x[50] = np.nan
    lines = []
    for jobs in (1, 4):
        with pytest.raises(emu.OpenError) as caught:
            emu.convert(x, "fp32", engine="exact", jobs=jobs)
        lines.append(str(caught.value))
    assert lines[0] == lines[1] and "element 50" in lines[0]
    assert len(cuts) == 1 and len(cuts[0][1]) > 2


@pytest.mark.parametrize("name", [name for name in RECIPES if get("recipe", name).facts.tail == "zero_pad_keep"])
def test_padding_comes_with_the_last_part(name: str, cuts: Cuts) -> None:
    """Codes that keep their padding: the last part gives more than it is given."""
    x = matrix(5, 3 * get("block", get("recipe", name).facts.block).facts.shape[1] - 3)
    for given in (x, np.asfortranarray(x), x[:1]):
        random = drawn(get("recipe", name), given.size)
        operands = {} if random is None else {"random": random}
        same(emu.quantize(given, name, jobs=3, **operands), emu.quantize(given, name, **operands))
    assert {axis for axis, _ in cuts} == {0, 1}


@pytest.mark.parametrize("order", ["C", "F"])
def test_kernels_fill_the_place_that_they_are_given(order: Any) -> None:
    """The same array comes back, whole; one that a kernel cannot write into stays as it was."""
    x = np.array(matrix(6, 48), order=order).view(np.uint32)
    fp32, e2m1, recipe = get("format", "fp32"), get("format", "e2m1"), get("recipe", "nvfp4_te_ref")
    wanted, levels = kernel_quantize(recipe, x, fp32)
    place = np.full(x.shape, 0xEE, np.uint8, order=order)
    found, others = kernel_quantize(recipe, x, fp32, out=place)
    assert found is place and np.array_equal(place, wanted) and all(np.array_equal(levels[name], others[name]) for name in levels)
    values = np.full(x.shape, 0xEEEEEEEE, np.uint32, order=order)
    assert kernel_dequantize(recipe, wanted, levels, out=values) is values
    assert np.array_equal(values, kernel_dequantize(recipe, wanted, levels))
    wider = np.full((6, 96), 0xEE, np.uint8)
    for wrong in (np.full((6, 49), 0xEE, np.uint8), wider[:, ::2], np.full(x.shape, 0xEE, np.uint16, order=order)):
        found = kernel_quantize(recipe, x, fp32, out=wrong)[0]
        assert found is not wrong and np.array_equal(found, wanted) and (wrong == 0xEE).all()
        values = kernel_dequantize(recipe, wanted, levels, out=wrong)
        assert values is not wrong and values.dtype == np.uint32 and (wrong == 0xEE).all()
    flat, room = np.ascontiguousarray(x).reshape(-1), np.full(x.size, 0xEE, np.uint8)
    given = fp32, e2m1, get("rounding", "rne"), get("policy", "ocp_saturate")
    assert kernel_convert(flat, *given, out=room) is room and np.array_equal(room, kernel_convert(flat, *given))
    assert kernel_convert(flat, *given, out=room[::-1]) is not room


@pytest.mark.parametrize("jobs", [0, -1, 257, 1.5, "two"])
def test_bad_numbers_of_threads(jobs: Any) -> None:
    x = np.ones((2, 32), np.float32)
    q = emu.quantize(x, "nvfp4_te_ref")
    calls: list[Callable[[], Any]] = [
        lambda: emu.convert(x, "e2m1", jobs=jobs),
        lambda: emu.quantize(x, "nvfp4_te_ref", jobs=jobs),
        lambda: emu.dequantize(q, jobs=jobs),
    ]
    for call in calls:
        with pytest.raises(emu.OperandError, match="jobs"):
            call()
