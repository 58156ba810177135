"""Traces of the C reference: registers of every recipe and stages of every datapath of levels are those of the reference model."""

from __future__ import annotations

from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest

from emu.base.errors import EmuError
from emu.engines.c_ref._c import ffi, lib
from emu.engines.c_ref.trace import Stage, dequantize_registers, level_stages, quantize_registers
from emu.engines.exact import block as exact
from emu.engines.exact.encode import encode_value
from emu.engines.exact.levels import Number, dot
from emu.engines.exact.program import run
from emu.engines.exact.value import Value, power_of_two
from emu.spec.contract import recipes_of_blocks
from emu.spec.derive import OPEN
from emu.spec.levels import LevelsPlan, level_plans_of
from emu.spec.models import Datapath, Recipe
from emu.spec.models.levels import DatapathLevels
from emu.spec.models.rounding import Word
from emu.spec.programs.program import padded_size, quantize_program
from emu.spec.registry import get, names
from tests.support.level_compare import rows_of
from tests.support.level_samples import drawn_datapath

RECIPES = [name for name in recipes_of_blocks() if lib.emu_find_program(name.encode(), ffi.NULL) != ffi.NULL]
LEVELS = [name for name in names("datapath") if isinstance(get("datapath", name).facts, DatapathLevels)]
SPECIALS = (0x7F800000, 0xFF800000, 0x7FC00000, 0x80000000, 1, 0x007FFFFF)


@pytest.fixture
def cells(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Every cell of the last program that the reference model ran."""
    found: dict[str, Any] = {}

    def spy(*given: Any, **more: Any) -> Any:
        found.clear()
        found.update(run(*given, **more))
        return found

    monkeypatch.setattr(exact, "run", spy)
    return found


def same_cells(registers: Any, cells: dict[str, Any], recipe: Recipe) -> int:
    """Every register cell by cell; how many cells there were."""
    arithmetic, compared = get("format", recipe.facts.arithmetic.to), 0
    assert {register.name for register in registers} <= set(cells)
    assert len(registers) > 3
    for register in registers:
        wanted = cells[register.name]
        for place, mine in np.ndenumerate(register.cells):
            theirs = wanted[place]
            assert register.is_value == isinstance(theirs, Value), register.name
            code = encode_value(theirs, arithmetic) if isinstance(theirs, Value) else theirs
            assert (OPEN if register.is_open[place] else int(mine)) == code, (register.name, place)
            assert not int(mine) >> register.bits if register.bits else register.name == "random"
            compared += 1
        assert compared and register.cells.size == len(wanted)
    return compared


def drawn_input(recipe: Recipe, rng: Random, special: bool) -> tuple[np.ndarray, np.ndarray | None]:
    """Two tiles one above the other, cut where the tail rule allows it; the random integers of a program that draws."""
    program = quantize_program(recipe)
    rows, columns = program.block.facts.shape
    columns = 2 * columns - (3 if recipe.facts.tail != "error" else 0)
    x = np.array(
        [[rng.getrandbits(23) | rng.randint(118, 132) << 23 | rng.getrandbits(1) << 31 for _ in range(columns)] for _ in range(2 * rows)]
    )
    if special:
        for _ in range(4):
            x[rng.randrange(2 * rows), rng.randrange(columns)] = rng.choice(SPECIALS)
    drawing = program.drawing
    if drawing is None:
        return x.astype(np.uint32), None
    word = drawing.facts.random
    bits, lanes = (word.word, word.lanes) if isinstance(word, Word) else (drawing.random_bits, 1)
    return x.astype(np.uint32), np.array([[rng.getrandbits(bits) for _ in range(-(-x.size // lanes))]], np.uint64)


@pytest.mark.cases(30, 20)
@pytest.mark.parametrize("name", RECIPES)
def test_every_register_of_every_recipe_is_that_of_the_reference_model(name: str, cells: dict[str, Any]) -> None:
    recipe, fp32, rng, open_inputs = get("recipe", name), get("format", "fp32"), Random(name), 0
    for special in (False, True):
        x, random = drawn_input(recipe, rng, special)
        registers = quantize_registers(recipe, x, fp32, random=random)
        drawn = None if random is None else random.tolist()
        wanted = exact.quantize(recipe, x.tolist(), fp32, random=drawn, masked=True)
        if all(register.is_open.all() for register in registers):
            assert special and all(code == OPEN for row in wanted.codes for code in row)
            open_inputs += 1
            continue
        assert same_cells(registers, cells, recipe) > 100
        padded = np.array(padded_size(recipe, *x.shape))
        assert (np.array(next(r for r in registers if r.name == "x").cells.shape) == padded).all()
        if OPEN in {code for level in (wanted.codes, *wanted.levels.values()) for row in level for code in row}:
            continue
        levels = {key: np.array(level, np.uint64).astype(np.uint32) for key, level in wanted.levels.items()}
        codes = np.array(wanted.codes, np.uint8)
        for profile in recipe.facts.dequantize:
            back = dequantize_registers(recipe, codes, levels, profile=profile)
            exact.dequantize(recipe, codes.tolist(), {key: level.tolist() for key, level in levels.items()}, profile=profile)
            assert same_cells(back, cells, recipe) > 50
    assert open_inputs < 2


def test_registers_say_what_they_are() -> None:
    recipe, fp32 = get("recipe", "nvfp4_te_ref"), get("format", "fp32")
    found = {item.name: item for item in quantize_registers(recipe, np.full((1, 16), 0x40C00000, np.uint32), fp32)}
    told = {name: (item.rows, item.columns, item.bits, item.is_value) for name, item in found.items()}
    assert told["x"] == (1, 1, 32, True) and told["tensor_amax"] == (0, 0, 32, True)
    assert told["scale"] == (1, 16, 8, False) and told["codes"] == (1, 1, 4, False) and told["block_amax"] == (1, 16, 32, True)
    assert found["codes"].cells.tolist() == [[7] * 16] and found["block_amax"].cells.tolist() == [[0x40C00000]]


def compare_stages(plan: LevelsPlan, rows: Any) -> int:
    """Rows of a datapath of levels: result and every stage; how many stages there were."""
    compared = 0
    for row in rows:
        operands = (row.a, row.b, row.scale_a, row.scale_b, row.c, row.random)
        try:
            wanted = dot(*operands, plan)
        except EmuError as error:
            with pytest.raises(type(error)):
                level_stages(*operands, plan)
            continue
        code, stages = level_stages(*operands, plan)
        assert code == wanted.code
        assert set(stages) == set(wanted.stages)
        for name, theirs in wanted.stages.items():
            mine = stages[name]
            if not isinstance(theirs, Number):
                assert mine == theirs, name
                continue
            assert isinstance(mine, Stage)
            assert Fraction(mine.significand) * power_of_two(mine.lsb_exp) == theirs.significand * power_of_two(theirs.lsb_exp), name
            assert (mine.live, mine.exp if mine.live else 0) == (theirs.live, theirs.exp if theirs.live else 0), name
            compared += 1
    return compared


@pytest.mark.parametrize("name", LEVELS)
def test_every_stage_of_every_datapath_of_levels_is_that_of_the_reference_model(name: str) -> None:
    model: Datapath = get("datapath", name)
    plan = next(level_plans_of(model))
    assert compare_stages(plan, rows_of(plan, Random(name), 10)) > 40


def test_stages_of_drawn_datapaths_are_those_of_the_reference_model() -> None:
    assert sum(compare_drawn(seed) for seed in range(60)) > 1000


@pytest.mark.exhaustive
def test_stages_of_many_drawn_datapaths_are_those_of_the_reference_model() -> None:
    assert sum(compare_drawn(seed) for seed in range(1000, 1400)) > 10000


def compare_drawn(seed: int) -> int:
    model = drawn_datapath(seed)
    plan = next(level_plans_of(model))
    try:
        return compare_stages(plan, rows_of(plan, Random(seed), 3))
    except EmuError:  # beyond the C reference
        return 0


def test_stages_that_are_not_there_have_no_place() -> None:
    plan = next(level_plans_of(get("datapath", "mx_lane24")))
    from emu.engines.c_ref.levels import levels_descriptor

    made, place = levels_descriptor(plan), ffi.new("size_t *", 77)
    k, last = plan.facts.k, len(plan.levels)
    for level, node, addition in (
        (-1, 0, -1),
        (last + 2, 0, -1),
        (0, k, -1),
        (0, 0, 0),
        (1, 99, -1),
        (1, 0, 0),
        (last + 1, 1, -1),
        (1, 0, -2),
    ):
        assert lib.emu_find_stage(made.pointer, k, level, node, addition, place) == lib.EMU_ERROR_SHAPE
    assert lib.emu_find_stage(made.pointer, k + 1, 0, 0, -1, place) == lib.EMU_ERROR_SHAPE
    assert lib.emu_find_stage(made.pointer, k, 0, 0, -1, ffi.NULL) == lib.EMU_ERROR_NULL
    assert place[0] == 77


def test_stages_of_levels_that_lie_in_memory_beside_those_of_the_datapath() -> None:
    """Products and the result have no running values, though a chain lies before the first level and behind the last."""
    from emu.engines.c_ref.levels import levels_descriptor

    plan = next(level_plans_of(get("datapath", "bf16_register")))
    made, place = levels_descriptor(plan), ffi.new("size_t *", 77)
    assert made.pointer.level_count == 1 and made.pointer.levels[0].add == lib.EMU_SUM_CHAIN
    beside = ffi.new("emu_sum_level[]", [made.pointer.levels[0]] * 3)
    own = ffi.new("emu_levels *", made.pointer[0])
    own.levels = beside + 1
    for level in (0, 2):
        for addition in (0, 1):
            assert lib.emu_find_stage(own, 4, level, 0, addition, place) == lib.EMU_ERROR_SHAPE
    assert place[0] == 77
    for level, node, addition, wanted in ((0, 3, -1, 3), (1, 0, -1, 4), (1, 0, 3, 8), (2, 0, -1, 9)):
        assert lib.emu_find_stage(own, 4, level, node, addition, place) == lib.EMU_OK and place[0] == wanted
