"""Orders along K: what the facts promise never happens, and what they do not promise does."""

import numpy as np
import pytest

from emu.analysis.cells import load_recipes
from emu.engines.exact.datapath import dot
from emu.ops.operands import Operand
from emu.spec import get
from emu.spec.datapath import resolve
from research.datapath.data import synthetic
from research.datapath.errors import DATAPATHS, Operands, plans_of, quantized
from research.datapath.exact import exact_sums
from research.datapath.order import KINDS, invariant, moved, permutation, spread
from research.datapath.study import claims

RECIPES = {"ue4m3": "nvfp4_te_ref", "e8m0": "mxfp4_torchao_floor", "fp32": "e2m1_fp32scale"}


@pytest.fixture(scope="module")
def wide() -> dict:
    """Operands whose neighbouring block scales lie far apart, by scale format: 12 x 12 outputs, K = 512."""
    load_recipes()
    data = next(item for item in synthetic(12, 512) if item.name == "wide_range")
    return {scale: quantized(data, recipe, False) for scale, recipe in RECIPES.items()}


@pytest.mark.parametrize("name", DATAPATHS)
def test_claims_hold_on_rows(name: str, wide: dict) -> None:
    """Every kind that may never change a result changes none; every other changes some."""
    found = next((operands, plan) for operands in wide.values() for plan in plans_of(operands, [name]))
    told = {kind: invariant(found[1], kind) for kind in KINDS}
    seen = {kind: spread(*found, kind).changed > 0 for kind, claim in told.items() if claim is not None}
    assert seen == {kind: not claim for kind, claim in told.items() if claim is not None}


def test_claims_of_the_page() -> None:
    """Written down once by hand: the fact sheet's sentence on order."""
    found = {item["datapath"]: [item[kind] for kind in KINDS] for item in claims()}
    across = [True, True, False, False, False]
    assert found["int64"] == [True, True, True, True, None]
    assert found["cheap"] == found["promote"] == [True, False, False, False, False]
    assert all(found[name] == across for name in DATAPATHS if name not in ("int64", "cheap", "promote"))


def test_split_products_are_not_claimed() -> None:
    """CDNA3 adds even and odd products apart: moving one by one changes its half."""
    plan = resolve("cdna3_fp8", "e4m3fnuz", "e4m3fnuz")
    assert plan.facts.split == 2
    assert invariant(plan, "inside_groups") is True
    assert invariant(plan, "inside_instructions") is False


@pytest.mark.parametrize("kind", ["inside_groups", "inside_instructions", "across_instructions"])
def test_permutations_move_what_they_say(kind: str) -> None:
    plan = resolve("nv_like", "e2m1", "e2m1", "ue4m3", 16)
    places = permutation(plan, kind, 256, 0)
    assert sorted(places.tolist()) == list(range(256))
    home = np.arange(256)
    if kind == "inside_groups":
        assert (places // 16 == home // 16).all() and (places != home).any()
    else:
        assert (places.reshape(-1, 16) - places.reshape(-1, 16)[:, :1] == np.arange(16)).all()
        assert (places // 64 == home // 64).all() == (kind == "inside_instructions")


def test_scales_move_with_their_blocks(wide: dict) -> None:
    side = wide["ue4m3"].a
    plan = resolve("nv_like", "e2m1", "e2m1", "ue4m3", 16)
    places = permutation(plan, "across_instructions", 512, 1)
    found = moved(side, places)
    pairs = [set(zip(map(bytes, item.codes[0].reshape(-1, 16)), item.scales[0].tolist(), strict=True)) for item in (side, found)]
    assert pairs[0] == pairs[1]


def test_moving_one_element_to_another_group_matters_only_where_bits_are_cut() -> None:
    """Two groups with the same scales: F = 35 cuts each group's term by itself, an exact sum does not care who sits where."""
    scales = [1, 1, 0x78, 0]
    a, b = [0] * 64, [0] * 64
    a[0], b[0], a[16], b[16] = 1, 9, 1, 9  # two times -2^-20, in two groups
    a[32], b[32] = 2, 2  # 2^16
    together = [a[:], b[:]]
    together[0][1], together[1][1], together[0][16], together[1][16] = 1, 9, 0, 0
    reported, exact = (resolve(name, "e2m1", "e2m1", "ue4m3", 16) for name in ("nv_like", "nv_like_exact"))
    assert dot(a, b, scales, scales, 0, reported).code != dot(*together, scales, scales, 0, reported).code
    assert dot(a, b, scales, scales, 0, exact).code == dot(*together, scales, scales, 0, exact).code


def test_a_known_spread() -> None:
    """16, then twice 2^-20: each is half an ulp of 16 and lost, to even; in the other order they add up first, to one ulp."""
    a = np.zeros((1, 192), np.uint8)
    scales = np.full((1, 12), 0x38, np.uint8)
    a[0, [0, 64, 128]], scales[0, [4, 8]] = (6, 1, 1), 1
    side = Operand(a, scales, get("format", "e2m1"), 16, get("format", "ue4m3"))
    found = Operands(side, side, exact_sums(side, side), np.zeros((1, 1)))
    (plan,) = plans_of(found, ["ideal"])
    assert vars(spread(found, plan, "direction")) == {"changed": 1.0, "largest_ulp": 1.0, "rms_ulp": 1.0, "orders": 2}
