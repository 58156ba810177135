"""Comparing datapaths: differences found, made small and confirmed by the reference model; equality only where the facts prove it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from emu.base.errors import OperandError, ShapeError, SpecError
from emu.contracts.dot.rows import answer, answers, differs, plan_of, row_of
from emu.engines.exact.encode import code_of_one
from emu.explain.compare.data import data_rows, generated, operand, recipe_for
from emu.explain.compare.datapaths import Tally, compare_datapaths, exact_value, tally_of, ulp_of, ulps_between
from emu.explain.compare.minimise import minimise
from emu.explain.compare.pair import common_k, common_plans, same_by_facts
from emu.explain.compare.text import example, lines_of, verdict
from emu.explain.dot.constructed import constructed
from emu.explain.dot.suite import samples
from emu.spec.datapath import resolve

NVFP4 = "blackwell_mxf4nvf4_b16_ue4m3"

PAIRS = [
    (NVFP4, "nv_like_exact", 1),
    ("cheap/e1m2xe1m2/ue4m3/16", "ideal", 2),
    ("hopper_fp8/e4m3xe4m3", "ada_fp8", 3),
    ("blackwell_e0m3_f34/e0m3xe0m3", "blackwell_e0m3_f35", 1),
    ("blackwell_e0m3_f35/e0m3xe0m3", "blackwell_e0m3_wrap", 64),
    ("late_c/int4xint4/ue4m3/16", "ideal", 2),
]


@pytest.mark.cases(2)
@pytest.mark.parametrize(("first", "second", "most"), PAIRS)
def test_a_difference_is_found_and_made_small(first: str, second: str, most: int) -> None:
    one, two = common_plans(first, second)
    found = compare_datapaths(one, two, rows=8)
    assert found.found is not None and found.small is not None and not found.same_facts
    assert differs(found.small, one, two)
    data = example(found.small, one, two)
    assert data["products"] <= most and data["k"] == common_k(one, two)
    assert data["first_difference"] and data["traces"][0]["d"] != data["traces"][1]["d"]
    text = "\n".join(lines_of(found))
    assert "<--" in text and verdict(found) in text and " differ in " in verdict(found)
    assert sum(tally.differ for tally in found.tallies) > 0 and found.tried == sum(tally.rows for tally in found.tallies)


def test_the_smallest_example_of_one_fraction_bit_is_a_product_and_c() -> None:
    """E = 16: with F = 35 the unit is 2^-19 and C = 2^-20 is lost; with F = 36 it is kept, and -65536 + 2^-20 is cut toward zero."""
    one, two = common_plans(NVFP4, "nv_like_exact")
    small = compare_datapaths(one, two, rows=8).small
    assert small is not None
    assert small.texts(one) == {"a": "2" + "0" * 63, "b": "a" + "0" * 63, "sa": "78383838", "sb": "78383838", "c": "35800000"}
    assert (answer(small, one), answer(small, two)) == (0xC7800000, 0xC77FFFFF)
    assert example(small, one, two)["first_difference"] == "step 0 unit"


def test_equality_is_claimed_only_with_equal_facts() -> None:
    one, two = common_plans(NVFP4, "nv_like")
    assert same_by_facts(one, two) and one.datapath.id != two.datapath.id
    found = compare_datapaths(one, two)
    assert found.same_facts and found.tried == 0 and "equal for every input" in verdict(found)
    rows = [item.row for item in constructed(one)][::7] + list(samples(one, "uniform_bits", 3, 50))
    assert answers(rows, one) == answers(rows, two)
    other = resolve("nv_like", "e1m2", "e1m2", "ue4m3", 16)
    assert not same_by_facts(other, resolve("nv_like", "e1m2", "e1m2", "ue5m3", 16))


def test_no_difference_is_not_called_equality() -> None:
    one, two = common_plans("ideal/e1m2xe1m2/ue4m3/16", "nv_like")
    rows = [row_of(one, "4" + "0" * 63, "4" + "0" * 63, None, None, None)]
    tally, where = tally_of("few", rows, one, two)
    assert (tally.rows, tally.differ, where) == (1, 0, None)
    found = compare_datapaths(one, two, rows=2)
    empty = type(found)(one, two, False, (tally,))
    assert verdict(empty).endswith("in 1 rows: that is not a proof of equality") and lines_of(empty) == [verdict(empty)]


def test_minimise_keeps_what_it_is_told_to() -> None:
    plan = plan_of(NVFP4)
    row = next(samples(plan, "gaussian", 9, 1))
    small = minimise(row, plan, plan, lambda item: answer(item, plan) == 0x7FFFFFFF or sum(code == 7 for code in item.a) >= 1)
    assert sum(code != 0 for code in small.a) == 1 and small.c == 0
    assert set(small.scale_a + small.scale_b) == {code_of_one(plan.scale)}  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("first", "second", "text"),
    [
        ("hopper_fp8", "cdna3_fp8", "have no operands in common"),
        ("hopper_fp8", "hopper_fp8_f16", "C and D are fp32 in the one, fp16 in the other"),
        ("nv_like", "ideal", "share several operands: name one of e1m2 x e1m2"),
        ("nv_like/e1m2xe1m2/e8m0/16", "int64", "do not both take these scale formats: they share ue4m3"),
        ("nv_like/e1m2xe1m2/ue4m3/16", "ideal/32", "is said twice"),
        ("promote/e2m1xe2m1/16", NVFP4, "have no scale formats in common"),
    ],
)
def test_datapaths_that_cannot_be_compared(first: str, second: str, text: str) -> None:
    with pytest.raises(SpecError, match=text):
        common_plans(first, second)


def test_ulps_and_exact_values_by_hand() -> None:
    plan = plan_of(NVFP4)
    assert ulps_between(0x3F800000, 0x3F800001, plan) == 1 and ulps_between(0x80000001, 0x00000001, plan) == 2
    assert ulps_between(0x80000000, 0, plan) == 0
    assert ulp_of(Fraction(1), plan) == Fraction(1, 1 << 23) and ulp_of(Fraction(0), plan) == Fraction(1, 1 << 149)
    assert ulp_of(Fraction(-3, 2), plan) == Fraction(1, 1 << 23) and ulp_of(Fraction(1, 1 << 140), plan) == Fraction(1, 1 << 149)
    row = row_of(plan, "23" + "0" * 62, "2a" + "0" * 62, "40383838", "38383838", "3f000000")
    assert exact_value(row, plan) == 2 * (Fraction(1) - Fraction(3, 2)) + Fraction(1, 2)
    assert exact_value(row_of(plan, "0" * 64, "0" * 64, "7f383838", None, None), plan) is None


def test_errors_are_measured_against_the_exact_sum() -> None:
    one, two = common_plans("cheap/e1m2xe1m2/ue4m3/16", "ideal")
    row = row_of(one, "4" + "0" * 15 + "4" + "0" * 47, "4" + "0" * 15 + "c" + "0" * 47, "78383838", "78383838", "3b800000")
    tally, where = tally_of("one", [row], one, two)
    assert where == 0 and tally.differ == 1 and tally.largest == 1
    assert tally.worst == [Fraction(1), Fraction(0)] and tally.nearer == [0, 1]
    assert Tally("x").data()["mean_ulps"] is None


def test_data_is_quantized_by_a_recipe_that_makes_the_operands() -> None:
    plan = plan_of(NVFP4)
    x = generated("gaussian", 4, 200, 3, "a")
    again = generated("gaussian", 4, 200, 3, "a")
    assert np.array_equal(x.view(np.uint32), again.view(np.uint32)) and x.std() > 0.8 and abs(float(x.mean())) < 0.2
    rows, how = data_rows(x, generated("outlier", 4, 200, 3, "b"), plan, 64)
    assert how == "nvfp4_te_ref" and len(rows) == 4 and len(rows[0].a) == 192 and len(rows[0].scale_a) == 12
    mixed = resolve("nv_like", "e2m1", "e1m2", "ue4m3", 16)
    assert data_rows(x, x, mixed, 64)[1] == "nvfp4_te_ref and nvufp4"
    codes, scales, how = operand(x[:, :192], resolve("hopper_fp8", "e4m3", "e4m3"), resolve("hopper_fp8", "e4m3", "e4m3").a)
    assert scales is None and how == "nearest e4m3" and int((codes & 0x7F).max()) == 0x48  # 4.0
    with pytest.raises(OperandError, match="recipe mxfp4_te_pow2 makes e2m1 under e8m0 per 32: not the operands"):
        data_rows(x, x, plan, 64, "mxfp4_te_pow2")
    with pytest.raises(ShapeError, match="rows of 200 elements are shorter than the 256"):
        data_rows(x, x, plan, 256)


def test_constructed_rows_are_finite_and_different() -> None:
    for name in (NVFP4, "blackwell_mxf4_b32_ue8m0", "hopper_fp8/e4m3xe4m3", "cdna3_fp8/e4m3fnuzxe4m3fnuz", "hopper_fp16/bf16xbf16"):
        plan = plan_of(name)
        built = constructed(plan)
        assert len({item.row.key() for item in built}) == len(built) > 300
        assert {"align", "side", "c", "round"} <= {item.family for item in built}
        assert all(len(item.row.a) == plan.facts.k for item in built)


def test_a_constructed_row_has_the_value_that_its_text_says() -> None:
    plan = plan_of(NVFP4)
    texts = {item.text: item.row for item in constructed(plan)}
    assert exact_value(texts["2^16 - 2^16 in two groups, and 2^-19"], plan) == Fraction(1, 1 << 19)
    assert exact_value(texts["C = 2^16, and products -2^16 and -2^-4"], plan) == Fraction(-1, 1 << 4)


def test_a_recipe_is_found_by_the_facts_of_its_formats() -> None:
    """A format with the facts of the operand's under another name is the same operand."""
    plan = resolve(NVFP4, "e2m1", "e2m1")
    copy = plan.a.model_copy(update={"id": "my_fp4"})
    found, again = recipe_for(plan, plan.a), recipe_for(plan, copy)
    assert found is not None and again is not None and found.id == again.id
    assert operand(np.ones((1, 16), np.float32), plan, copy, found)[2] == found.id
