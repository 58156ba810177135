"""Dot products of the numpy engine against exact: worked rows, every datapath on chosen and random codes, altered facts, tiles, threads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from support.dots import Operands, changed, code_dtype, draw_operands, exact_codes, known_datapaths, operands_of, plan_of

from emu import strategies
from emu.base.errors import OpenError
from emu.engines.exact.datapath import dot as dot_exact
from emu.engines.exact.epilogue import add_codes, alpha_code
from emu.engines.exact.epilogue import epilogue as epilogue_exact
from emu.engines.numpy import datapath as npy
from emu.engines.numpy.datapath_round import round_values, sum_to_odd
from emu.engines.numpy.datapath_shape import fault, shape_of
from emu.spec.datapath import DatapathPlan, plans_of, resolve
from emu.spec.models.levels import EpilogueFacts

ROWS = yaml.safe_load((Path(__file__).parents[2] / "engines" / "exact" / "datapath_rows.yaml").read_text(encoding="utf-8"))
PLANS = [plan for model in known_datapaths() for plan in plans_of(model)]
ABLE = [plan for plan in PLANS if npy.can_dot(plan)]
NVFP4 = resolve("blackwell_mxf4nvf4_b16_ue4m3")


def square(found: Operands) -> np.ndarray[Any, Any]:
    """Return C for a matmul whose diagonal is the dot products of the rows; elsewhere other C."""
    c = np.tile(found.c, (len(found.c), 1))
    np.fill_diagonal(c, found.c)
    return c


def check(found: Operands, plan: DatapathPlan) -> int:
    """Compare dot, and the diagonal of matmul, with the reference model; return the rows compared."""
    wanted = exact_codes(found, plan)
    assert npy.dot(*found, plan).tolist() == wanted, plan.name
    assert np.diag(npy.matmul(*found[:4], square(found), plan)).tolist() == wanted, plan.name
    return len(wanted)


@pytest.mark.parametrize("row", ROWS["rows"] + ROWS["promote"], ids=lambda row: f"{row['plan']}-{row['category']}")
def test_worked_row(row: dict[str, Any]) -> None:
    plan = plan_of(row["plan"])
    found = operands_of(row, plan)
    assert npy.dot(*found, plan).tolist() == [int(row["d"], 16)]
    assert npy.matmul(*found[:4], found.c[:, np.newaxis], plan).tolist() == [[int(row["d"], 16)]]


@pytest.mark.parametrize("row", ROWS["profiles"], ids=lambda row: f"{row['format']}: {row['why']}")
def test_worked_row_of_every_profile(row: dict[str, Any]) -> None:
    for profile, wanted in row["d"].items():
        plan = resolve(profile, row["format"], row["format"], "ue4m3", 16)
        assert npy.dot(*operands_of(row, plan), plan).tolist() == [int(wanted, 16)], profile


@pytest.mark.parametrize("row", ROWS["epilogue"], ids=lambda row: row["category"])
def test_worked_row_of_the_epilogue(row: dict[str, Any]) -> None:
    plan = plan_of(row["plan"])
    found, before = operands_of(row, plan), row["c_place"] == "before"
    facts = EpilogueFacts(alpha="rne", d="rne", c_place=row["c_place"], fused=row["fused"])
    d = npy.dot(*found[:4], found.c if before else np.zeros_like(found.c), plan)
    alpha = npy.alpha(int(row["t_a"], 16), int(row["t_b"], 16), facts, plan)
    result = npy.epilogue(d, alpha, None if before else found.c, facts, plan)
    assert [f"{code:08X}" for code in (int(d[0]), alpha, int(result[0]))] == [row["dot"], row["alpha"], row["d"]]


def test_what_is_left_out() -> None:
    left_out = [plan for plan in PLANS if not npy.can_dot(plan)]
    assert {(plan.datapath.id, plan.scale.id if plan.scale else "") for plan in left_out} == {
        ("nv_like_exact", "ue5m3"),
        ("nv_like_exact", "e8m0"),
    }
    assert all("aligned sums of" in (fault(plan) or "") for plan in left_out)


@pytest.mark.cases(4)
@pytest.mark.parametrize("model", known_datapaths(), ids=lambda model: model.id)
def test_every_choice_of_operands_against_the_reference_model(model: Any) -> None:
    compared, plans = 0, [plan for plan in plans_of(model) if npy.can_dot(plan)]
    rng = np.random.default_rng([50, len(model.id)])
    for turn in range(max(2, -(-30 // len(plans)))):
        for plan in plans:
            compared += check(draw_operands(rng, plan, 2, plan.facts.k * (1 + turn % 2)), plan)
    assert compared >= 60


@pytest.mark.cases(4)
@pytest.mark.parametrize("seed", range(6))
def test_nvfp4_and_mxfp4_against_the_reference_model(seed: int) -> None:
    rng, compared = np.random.default_rng([51, seed]), 0
    for plan in (NVFP4, resolve("blackwell_mxf4_b32_ue8m0")):
        for _ in range(20):
            compared += check(draw_operands(rng, plan, 4, 128), plan)
    assert compared == 160


@settings(max_examples=60)
@given(st.data())
def test_edge_codes_against_the_reference_model(data: st.DataObject) -> None:
    plan = data.draw(st.sampled_from(ABLE))
    k = max(plan.facts.k, plan.block)

    def codes(fmt: Any, count: int) -> Any:
        few = data.draw(st.lists(strategies.codes(fmt), min_size=1, max_size=4))
        places = data.draw(st.lists(st.integers(0, len(few) - 1), min_size=count, max_size=count))
        return np.array([[few[place] for place in places]], code_dtype(fmt))

    scales = [None if plan.scale is None else codes(plan.scale, k // plan.block) for _ in "ab"]
    check(Operands(codes(plan.a, k), codes(plan.b, k), *scales, codes(plan.c, 1)[0]), plan)


ALTERED = {
    "aligned downwards": {"align": {"rounding": "rd"}},
    "aligned to nearest": {"align": {"rounding": "rne"}},
    "normalised": {"align": {"exponent": "normalised"}},
    "cancelled groups do not count": {"align": {"cancelled_group_counts": "no"}},
    "raised": {"align": {"exponent_raise": 3, "integer_bits": 16}},
    "one fraction bit less": {"align": {"fraction_bits": 22}},
    "no floor": {"align": {"floor": "none"}},
    "wraps": {"align": {"beyond": "wrap", "integer_bits": 9}},
    "flushed elements": {"subnormal": {"elements": "flush"}},
    "flushed scales": {"subnormal": {"scales": "flush"}},
    "flushed C": {"subnormal": {"c": "flush"}},
    "flushed results": {"subnormal": {"result": "flush"}},
    "live NaN scales": {"special": {"nan_scale": "live"}},
    "IEEE zeros": {"special": {"zero": "ieee"}},
    "saturates": {"round": {"overflow": "saturate"}},
    "keeps 17 bits": {"round": {"keep": 9}},
    **{f"rounds {mode}": {"round": {"mode": mode}} for mode in ("rne", "rd", "ru", "rna", "odd", "rz")},
}
BASES = (
    NVFP4,
    resolve("blackwell_mxf4_b32_ue8m0"),
    resolve("blackwell_mxf8f6f4", "e5m2", "e4m3"),
    resolve("blackwell_f8f6f4_f16", "e4m3", "e5m2"),
)


@pytest.mark.cases(10)
@pytest.mark.parametrize("name", ALTERED)
def test_altered_facts_against_the_reference_model(name: str) -> None:
    rng, compared = np.random.default_rng([52, len(name)]), 0
    for base in BASES:
        plan = changed(base, **ALTERED[name])
        assert npy.can_dot(plan)
        for _ in range(8):
            compared += check(draw_operands(rng, plan, 3, plan.facts.k), plan)
    assert compared == 96


@pytest.mark.parametrize("name", ["flushed C", "flushed scales", "IEEE zeros", "saturates", "rounds rz", "rounds ru", "rounds odd"])
def test_altered_exact_sums_against_the_reference_model(name: str) -> None:
    rng, compared = np.random.default_rng([53, len(name)]), 0
    for base in (
        resolve("late_c", "e1m2", "e2m1", "ue5m3", 16),
        resolve("ideal", "int4", "e0m3", "e8m0", 32),
        resolve("cdna3_fp8", "e4m3fnuz", "e4m3fnuz"),
    ):
        if base.scale is None and name == "flushed scales":
            continue
        plan = changed(base, **ALTERED[name])
        for _ in range(8):
            compared += check(draw_operands(rng, plan, 3, plan.facts.k), plan)
    assert compared >= 48


@pytest.mark.parametrize("fused", ["yes", "no"])
@pytest.mark.parametrize("mode", ["rne", "rz", "rd"])
def test_altered_promote_against_the_reference_model(mode: str, fused: str) -> None:
    rng, compared = np.random.default_rng(54), 0
    plan = changed(resolve("promote", "e2m1", "int4", block=16), promote={"scale_product": mode, "term": mode, "acc": mode, "fused": fused})
    for _ in range(12):
        compared += check(draw_operands(rng, plan, 3, 64), plan)
    assert compared == 36


@pytest.mark.cases(3)
@pytest.mark.parametrize(
    "name", ["blackwell_mxf4nvf4_b16_ue4m3", "int64", "ideal", "promote", "cdna3_fp8", "hopper_fp8", "blackwell_mxf8f6f4"]
)
def test_tiles_chunks_and_threads_give_the_same_bits(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = next(plan for plan in ABLE if plan.datapath.id == name)
    rng = np.random.default_rng(55)
    given_rows = draw_operands(rng, plan, 13, 4 * plan.facts.k)
    c = rng.choice(given_rows.c, (13, 13))
    wanted = npy.matmul(*given_rows[:4], c, plan)
    assert wanted.tolist() == npy.matmul(*given_rows[:4], c, plan, jobs=2).tolist()
    for sizes in ((3, 5, 2, 4), (1, 1, 1, 1), (4, 8, 4, 8)):
        for key, size in zip(("PANEL_ROWS", "PANEL_COLUMNS", "TILE_ROWS", "TILE_COLUMNS"), sizes, strict=True):
            monkeypatch.setattr(npy, key, size)
        monkeypatch.setattr(npy, "CHUNK", plan.facts.k)
        monkeypatch.setattr(npy, "PAIRS", sizes[0])
        assert npy.matmul(*given_rows[:4], c, plan, jobs=2).tolist() == wanted.tolist()
        assert npy.dot(*given_rows[:4], np.diag(c).copy(), plan).tolist() == np.diag(wanted).tolist()


@pytest.mark.parametrize(
    "plan", [NVFP4, resolve("nv_like", "e1m2", "e2m1", "e8m0", 32), resolve("cheap", "e2m1", "e2m1", "ue4m3", 16)], ids=str
)
def test_the_order_inside_a_group_does_not_matter(plan: DatapathPlan) -> None:
    rng = np.random.default_rng(56)
    for _ in range(20):
        found = draw_operands(rng, plan, 8, 64)
        order = np.concatenate([start + rng.permutation(plan.group) for start in range(0, found.a.shape[1], plan.group)])
        moved = found._replace(a=found.a[:, order], b=found.b[:, order])
        assert npy.dot(*moved, plan).tolist() == npy.dot(*found, plan).tolist()


def test_no_c_is_plus_zero_and_nothing_in_gives_nothing_out() -> None:
    found = draw_operands(np.random.default_rng(57), NVFP4, 5, 64)
    wanted = exact_codes(found._replace(c=np.zeros(5, np.uint32)), NVFP4)
    for c in (None, np.zeros((5, 5), np.uint32)):
        assert np.diag(npy.matmul(*found[:4], c, NVFP4)).tolist() == wanted and len(set(wanted)) > 1
    none = [part[:0] for part in found]
    assert npy.dot(*none, NVFP4).shape == (0,)
    assert npy.matmul(none[0], found.b, none[2], found.scale_b, None, NVFP4).shape == (0, 5)


@pytest.mark.parametrize("bits", [49, 50, 63, 64])
def test_a_register_that_overflows_names_its_row(bits: int) -> None:
    plan = changed(resolve("int64", "int4", "int4", block=16), accumulator={"bits": bits})
    assert plan.largest_k is not None
    k = 64 * (-(-plan.largest_k // 64) + 1) if bits < 60 else 192
    a, b = np.full((3, k), 8, np.uint8), np.full((3, k), 8, np.uint8)
    scales = np.full((3, k // 16), 0x7E, np.uint8)
    a[0], c = 0, np.zeros(3, np.uint32)
    if bits >= 60:
        assert npy.dot(a, b, scales, scales, c, plan).tolist() == exact_codes(Operands(a, b, scales, scales, c), plan)
        return
    with pytest.raises(OpenError) as wanted:
        dot_exact(a[1].tolist(), b[1].tolist(), scales[1].tolist(), scales[1].tolist(), 0, plan)
    with pytest.raises(OpenError) as got:
        npy.dot(a, b, scales, scales, c, plan)
    assert str(got.value) == f"row 1: {wanted.value}"
    with pytest.raises(OpenError, match=r"^row 1, column 0: datapath int64"):
        npy.matmul(a, b, scales, scales, None, plan)
    c[1:] = 0x7FC00000  # NaN first: the register is not asked
    assert npy.dot(a, b, scales, scales, c, plan).tolist() == exact_codes(Operands(a, b, scales, scales, c), plan)


def test_open_bits_are_refused() -> None:
    found = draw_operands(np.random.default_rng(58), NVFP4, 24, 64)
    assert found.scale_a is not None
    ignored = found._replace(scale_a=found.scale_a | np.uint8(0x80))
    wanted = exact_codes(found, NVFP4)
    assert npy.dot(*ignored, NVFP4).tolist() == wanted == exact_codes(ignored, NVFP4) and len(set(wanted)) > 12
    plan = changed(NVFP4, scale={"unused_bits": "open"})
    with pytest.raises(OpenError, match="ue4m3 code 0x"):
        npy.dot(*ignored, plan)


@settings(max_examples=100)
@given(
    st.lists(strategies.codes("fp32"), min_size=4, max_size=4), st.sampled_from(["rne", "rz", "rd", "ru"]), st.sampled_from(["yes", "no"])
)
def test_epilogue_and_split_k_against_the_reference_model(codes: list[int], mode: str, fused: str) -> None:
    facts = EpilogueFacts(alpha=mode, d=mode, c_place="after", fused=fused)
    d, c, first, second = (np.array([code], np.uint32) for code in codes)
    alpha = npy.alpha(codes[2], codes[3], facts, NVFP4)
    assert alpha == alpha_code(codes[2], codes[3], facts, NVFP4)
    for by in (alpha, codes[2]):
        assert npy.epilogue(d, by, c, facts, NVFP4).tolist() == [epilogue_exact(codes[0], by, codes[1], facts, NVFP4)]
        assert npy.epilogue(d, by, None, facts, NVFP4).tolist() == [epilogue_exact(codes[0], by, None, facts, NVFP4)]
    assert npy.add(first, second, NVFP4).tolist() == [add_codes(codes[2], codes[3], NVFP4)]


@settings(max_examples=60)
@given(st.lists(strategies.codes("fp16"), min_size=2, max_size=2))
def test_split_k_of_fp16_results(codes: list[int]) -> None:
    plan = resolve("hopper_fp16_f16")
    x, y = (np.array([code], np.uint16) for code in codes)
    assert npy.add(x, y, plan).tolist() == [add_codes(*codes, plan)]


@settings(max_examples=200)
@given(st.lists(st.tuples(st.integers(-(1 << 24), 1 << 24), st.integers(-300, 300)), min_size=2, max_size=6))
def test_exact_sums_of_many_terms_round_once(terms: list[tuple[int, int]]) -> None:
    from emu.engines.exact.datapath_round import round_sum

    least = min(exp for _, exp in terms)
    wanted = round_sum(sum(number << (exp - least) for number, exp in terms), least, resolve("ideal", "e2m1", "e2m1", "e8m0", 16))
    shape = shape_of(resolve("ideal", "e2m1", "e2m1", "e8m0", 16))
    values = sum_to_odd([np.array([float(number)]) * 2.0**exp for number, exp in terms])
    assert round_values(values, shape.grid).astype(np.float32).view(np.uint32).tolist() == [wanted]


def spread(plan: DatapathPlan, distance: int, last: int) -> Operands:
    """Return three rows: a large group, a small one `distance` exponents below, and the large one again, as it is, negated, or `last`."""
    a, b = np.zeros((3, 64), np.uint8), np.zeros((3, 64), np.uint8)
    a[:, 0:16], b[:, 0:16] = 7, 7
    a[:, 16:18], b[:, 16:18] = (1, last), (1, 2)
    a[:, 32:48], b[:, 32:48] = 7, 7
    b[1, 32:48] |= 8
    a[2, 32:48] = last
    scale_a, scale_b = np.full((3, 4), 127, np.uint8), np.full((3, 4), 127, np.uint8)
    scale_a[:, 1] -= np.uint8(distance // 2)
    scale_b[:, 1] -= np.uint8(distance - distance // 2)
    return Operands(a, b, scale_a, scale_b, np.array([0, 0, 0x33800001], np.uint32))


@pytest.mark.parametrize(
    "name", ["blackwell_mxf4nvf4_b16_ue8m0", "nv_like/e2m1xe2m1/e8m0/16", "ideal/e2m1xe2m1/e8m0/16", "late_c/e2m1xe2m1/e8m0/16"]
)
def test_sums_at_the_border_of_losing_a_bit(name: str) -> None:
    plan, compared = plan_of(name), 0
    for distance in range(24, 72):
        compared += check(spread(plan, distance, 1 + distance % 7), plan)
    assert compared == 144
