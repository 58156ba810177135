"""INT4, E1M2 and E0M3 as one grid: code maps, every bf16 significand, results bit for bit, and that a difference would be counted."""

import numpy as np
import pytest

from emu.engines.exact.decode import decode_code
from emu.ops import functions as api
from emu.spec import get
from research.reproduction.equivalence import GRIDS, GROUPS, QUICK, TWO_LEVELS, blocks, compare, equivalences, products, step_map, unit_of

pytestmark = pytest.mark.usefixtures("study_recipes")

SAME_ORDER = [(codec, other) for codec, recipes in GROUPS.items() for other in recipes[1:] if other != "f46_nvint4"]


def test_code_maps() -> None:
    """Sign-magnitude with -0 twice, two's complement with -8 left out: two code maps, one set of steps."""
    e1m2, int4, e0m3 = (step_map(name) for name in GRIDS)
    assert e1m2 == e0m3 == {**{k: k for k in range(8)}, **{8 + k: -k for k in range(8)}}
    assert int4 == {k % 16: k for k in range(-7, 8)} and 8 not in int4
    assert set(e1m2.values()) == set(int4.values()) == set(range(-7, 8))
    for name, unit in zip(GRIDS, (1 / 4, 1, 1), strict=True):
        assert unit_of(name) == unit
        fmt = get("format", name)
        assert all(decode_code(code, fmt).signed == step * unit_of(name) for code, step in step_map(name).items())


def test_blocks_hold_every_pair() -> None:
    """Each maximum of [1, 2) meets each smaller magnitude; the first element is the maximum; the numbers are bf16."""
    found = blocks(16).astype(np.float64)
    assert (found[:, 0] == np.abs(found).max(axis=1)).all()
    for top in sorted(set(found[:, 0].tolist())):
        met = set(np.abs(found[found[:, 0] == top]).reshape(-1).tolist())
        assert met >= {(1 + k / 128) * 2.0**-gap for gap in range(6) for k in range(128) if (1 + k / 128) * 2.0**-gap <= top}
    assert len(set(found[:, 0].tolist())) == 8


@pytest.mark.parametrize(("codec", "other"), SAME_ORDER)
def test_the_same_order_gives_the_same_steps_scales_and_values(codec: str, other: str) -> None:
    found = compare(codec, other, every=2 * QUICK)
    assert found.elements > 5000 and (found.steps, found.scales, found.values) == (0, 0, 0)
    assert found.ratio == ("1" if codec == TWO_LEVELS else "4")


def test_another_order_is_counted() -> None:
    """fouroversix's INT4 divides where the others multiply: scale codes and values differ, on few elements the step too."""
    found = compare(TWO_LEVELS, "f46_nvint4", every=2 * QUICK)
    assert found.scales > 0 and found.values > 0 and 0 < found.steps < found.elements // 100


def test_the_ratio_is_an_exact_power_of_two() -> None:
    x = blocks(64)
    e1m2, int4 = (api.quantize(x, name).scales.view(np.float32) for name in ("e1m2_fp32scale", "study_int4_fp32scale"))
    assert np.array_equal(e1m2, 4 * int4) and not np.array_equal(e1m2, int4)


def test_products_are_equal_bit_for_bit() -> None:
    rows = list(products(shape=(16, 16, 512)))
    assert {row["datapath"] for row in rows} == {"ideal", "int64"}
    for row in rows:
        assert row["results"] == 256
        assert (row["different"] == 0) == (row["other"] == "nve0m3")


@pytest.mark.exhaustive
def test_every_significand() -> None:
    found = list(equivalences(1))
    assert len(found) == sum(len(recipes) - 1 for recipes in GROUPS.values())
    for item in found:
        assert (item.steps, item.scales, item.values) == (0, 0, 0) or item.other == "f46_nvint4", item
