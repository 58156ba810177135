"""Grids: every value, midpoint and tie of every format of at most 8 bits; grids of listed values."""

from fractions import Fraction

import numpy as np
import pytest

import emu
from emu.analysis.grid import Grid, as_grid, grid_from, grid_of
from emu.base.errors import OperandError, SpecError
from emu.spec import derive, get
from emu.spec.registry import names

NARROW = [name for name in names("format") if derive.codes(get("format", name)).bits <= 8]
E2M1 = [Fraction(0), Fraction(1, 2), Fraction(1), Fraction(3, 2), Fraction(2), Fraction(3), Fraction(4), Fraction(6)]
BY_HAND = {  # magnitudes, written down from the definitions
    "e2m1": E2M1,
    "e1m2": [Fraction(k, 4) for k in range(8)],
    "e0m3": [Fraction(k) for k in range(8)],
    "e3m0": [Fraction(0)] + [Fraction(2) ** k for k in range(-2, 5)],
}


@pytest.mark.parametrize("name", BY_HAND)
def test_values_by_hand(name):
    wanted = sorted({sign * value for value in BY_HAND[name] for sign in (1, -1)})
    assert grid_of(name).values == tuple(wanted)


def test_integers_reach_further_below():
    grid = grid_of("int4")
    assert grid.values == tuple(map(Fraction, range(-8, 8)))
    assert grid.balanced.values == tuple(map(Fraction, range(-7, 8)))
    assert grid.balanced.ties_up == grid.ties_up[1:]
    assert grid_of("int8").balanced.values[0] == -127


@pytest.mark.parametrize("name", NARROW)
def test_ties_are_those_of_the_reference_model(name):
    grid = grid_of(name)
    middle = np.array([float(item) for item in grid.midpoints])
    assert [Fraction(item) for item in middle.tolist()] == list(grid.midpoints)
    step = min(len(middle), 64)
    some = np.unique(np.linspace(0, len(middle) - 1, step).astype(int))
    codes = emu.convert(middle[some], name, engine="exact")
    found = emu.decode(codes, name, dtype=np.float64)
    for place, value in zip(some.tolist(), found.tolist(), strict=True):
        assert Fraction(value) == grid.values[place + 1 if grid.ties_up[place] else place]


def test_facts_of_grids():
    assert {name for name in ("e2m1", "e1m2", "e0m3", "int4", "e3m0", "nf4") if grid_of(name).is_uniform} == {"e1m2", "e0m3", "int4"}
    assert (grid_of("e2m1").dynamic_range, grid_of("e1m2").dynamic_range, grid_of("int4").dynamic_range) == (12, 7, 7)
    assert (grid_of("e2m1").steps[-1], grid_of("e1m2").steps[-1]) == (2, Fraction(1, 4))
    assert (grid_of("e2m1").largest, grid_of("e1m2").largest, grid_of("e4m3").largest) == (6, Fraction(7, 4), 448)


def test_listed_values():
    grid = grid_from([Fraction(-4), "-2", 0, 2, 4], "even")
    assert grid.values == (-4, -2, 0, 2, 4)
    assert grid.ties_up == (False, True, False, True)  # 1 is nearer to neither: 0, an even number of steps from zero
    assert as_grid(grid) is grid
    assert as_grid("e2m1") == grid_of("e2m1")
    assert as_grid(get("format", "e2m1")) == grid_of("e2m1")
    assert isinstance(as_grid([0, 1]), Grid)


def test_a_listed_grid_has_the_ties_of_the_format():
    for name in ("e2m1", "e1m2", "e0m3"):
        assert grid_from(grid_of(name).values).ties_up == grid_of(name).ties_up


@pytest.mark.parametrize("given", [[1], [], [1, 1], [0, Fraction(2, 2), 1]])
def test_bad_lists(given):
    with pytest.raises(OperandError, match="list at least two, each once"):
        grid_from(given)


def test_bad_formats():
    with pytest.raises(OperandError, match="fp16 has 16 bits"):
        grid_of("fp16")
    with pytest.raises(SpecError, match="did you mean"):
        grid_of("e2m")
