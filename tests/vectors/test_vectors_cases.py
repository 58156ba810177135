"""Which rows are tried: the lists every suite needs, drawn rows that no split changes, and every pair of bf16 maxima."""

from fractions import Fraction

import numpy as np
import pytest

from emu.contracts.grid import around, grid_values, points
from emu.contracts.quantize import decision
from emu.contracts.rows import Input, unpack
from emu.contracts.suites import smoke, spread
from emu.engines.exact.decode import decode_code
from emu.spec.registry import get
from emu.vectors import find
from emu.vectors.suites.notes import NOTES
from emu.vectors.suites.plan import SuitePlan

FP32 = "convert__fp32_to_e2m1__nvidia_rne__directed"


def inputs(plan: SuitePlan) -> set[tuple[int, ...]]:
    """All inputs of a plan."""
    return {case.values for case in plan.cases(0, plan.size)}


def kills(plan: SuitePlan) -> set[str]:
    """The classes of faults that a plan's flags name."""
    return {kill for case in plan.cases(0, plan.size) for flag in case.flags for kill in NOTES[flag].kills}


def test_each_value_and_midpoint_of_e2m1_with_its_neighbours() -> None:
    have = {values[0] for values in inputs(find(FP32))}
    for number in (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 5.0, 6.0, 7.0):
        code = int(np.float32(number).view(np.uint32))
        offsets = [0, 1, 2, 3, *(1 << k for k in range(2, 23))]
        wanted = {code + sign * offset for offset in offsets for sign in (1, -1)} | {code + offset | 1 << 31 for offset in range(-3, 4)}
        assert wanted <= have, number


def test_specials_and_edges_of_the_source() -> None:
    have = {values[0] for values in inputs(find(FP32))}
    magnitudes = {0x00000000, 0x00000001, 0x007FFFFF, 0x00800000, 0x7F7FFFFF, 0x7F800000, 0x7FC00000, 0x7FFFFFFF, 0x7F800001, 0x7FBFFFFF}
    magnitudes |= {0x41400000, 0x41C00000}  # 2 and 4 times the largest value
    assert magnitudes | {code | 1 << 31 for code in magnitudes} <= have


def test_directed_conversions_name_the_faults_they_kill() -> None:
    needed = {
        "tie",
        "sticky",
        "double_round",
        "carry",
        "saturate",
        "overflow_mode",
        "round_mode",
        "subnormal",
        "flush",
        "zero_sign",
        "inf",
        "nan",
    }
    for stem in (FP32, "convert__bf16_to_e4m3__nvidia_rz__directed", "convert__fp16_to_e5m2__ocp_saturate_rne__directed"):
        assert needed <= kills(find(stem))
    assert {"sr_threshold", "sr_op"} <= kills(find("convert__fp32_to_e2m1__nvidia_sr_add8__directed"))
    block = {"tie", "sticky", "order", "packing", "scale_special", "nan", "inf", "zero_sign", "subnormal", "saturate", "flush"}
    assert block <= kills(find("quantize__bf16_to_nvfp4__nvfp4_te_ref__directed"))


@pytest.mark.parametrize("x", [0x40200000, 0x401FFFFF, 0x3AFFFFFF])
def test_random_integers_stand_on_both_sides_of_each_threshold(x: int) -> None:
    from emu.contracts.convert.cases import draws_for
    from emu.contracts.convert.contract import ConvertContract
    from emu.spec.contract import parse

    chosen = dict(draws_for(ConvertContract.of(parse("convert/e2m1/sr_add8/nvidia"), "fp32"), x))
    assert {0, 255} <= set(chosen)
    for rounding in ("sr_add8", "sr_cmp8", "sr_half8"):
        op = ConvertContract.of(parse(f"convert/e2m1/{rounding}/nvidia"), "fp32")
        answers = [op.exact((x, r)) for r in range(256)]
        steps = [r for r in range(1, 256) if answers[r] != answers[r - 1]]
        assert all({r - 1, r} <= set(chosen) for r in steps)


def test_stochastic_suites_hold_zero_one_and_all_ones() -> None:
    assert {0, 1, 255} <= {r for _, r in inputs(find("convert__bf16_to_e2m1__nvidia_sr_add8__directed"))}


def test_blocks_hold_the_rows_that_recipes_part_on() -> None:
    plan = find("quantize__bf16_to_nvfp4__nvfp4_te_ref__directed")
    flags = [set(case.flags) for case in plan.cases(0, plan.size)]
    for flag in (
        "zero_block",
        "zero_tensor",
        "threshold",
        "scale_tie",
        "scale_edge",
        "subnormal",
        "tiny_tensor",
        "huge_tensor",
        "ragged",
        "order",
        "nan",
        "inf",
    ):
        assert any(flag in row for row in flags), flag
    lanes = plan.operation.layout.inputs[0]
    zero_blocks = [unpack(case.values[0], lanes) for case in plan.cases(0, plan.size) if "zero_block" in case.flags]
    assert (0x8000,) * 16 in zero_blocks and (0,) * 16 in zero_blocks


def test_ragged_rows_hold_junk_above_their_elements() -> None:
    plan = find("quantize__bf16_to_nvfp4__nvfp4_te_ref__directed")
    layout = plan.operation.layout
    seen = set()
    for case in plan.cases(0, plan.size):
        if "ragged" in case.flags:
            lanes, n_valid = unpack(case.values[0], layout.inputs[0]), case.values[2]
            valid, junk = ([code & 0x7FFF for code in part] for part in (lanes[:n_valid], lanes[n_valid:]))
            assert min(junk) > max(valid)
            seen.add(n_valid)
    assert seen == {1, 9, 15}


@pytest.mark.parametrize(
    "stem",
    ["convert__fp32_to_e2m1__nvidia_rne__random", "quantize__bf16_to_ufp4__ufp4_sr__random", "transform__bf16_to_bf16__rht16_ufp4__random"],
)
def test_drawn_rows_do_not_depend_on_the_split(stem: str) -> None:
    plan = find(stem)
    whole = plan.cases(0, 40)
    assert whole == plan.cases(0, 13) + plan.cases(13, 40) and len(set(whole)) == 40


def test_the_decision_space_is_complete() -> None:
    space = decision.pairs()
    assert space.shape == (335_936, 3) == (decision.SIZE, 3)
    assert len(np.unique(space @ np.array([1, 128, 128 * 128]))) == decision.SIZE
    assert not ((space[:, 2] == 0) & (space[:, 0] > space[:, 1])).any()
    lanes = decision.blocks(0, 5000) & 0x7FFF
    assert (lanes[:, 0] == lanes.max(axis=1)).all() and (lanes[:, 1:] < lanes[:, :1]).all()


def test_the_pairs_where_documented_recipes_part() -> None:
    parting = decision.parting()
    assert len(parting) == len(set(parting.tolist())) >= 371  # the widest published pair of recipes alone
    plan = find("quantize__bf16_to_nvfp4__nvfp4_te_ref__all")
    at = int(parting[0])
    assert plan.size == decision.SIZE
    assert [case.flags for case in plan.cases(at, at + 1)] == [("decision", "order")]


def test_points_of_a_grid_ascend() -> None:
    e2m1 = get("format", "e2m1")
    found = [point.magnitude for point in points(e2m1)]
    assert found == sorted(found) and found[-2:] == [Fraction(7), Fraction(8)]
    assert len(grid_values(get("format", "fp16"))) < 100
    fp32 = get("format", "fp32")
    assert [decode_code(code, fp32).magnitude for _, code in around(Fraction(1, 3), fp32, [-1, 0, 1])] == sorted(
        {Fraction(11184810, 1 << 25), Fraction(11184811, 1 << 25)}
    )


def test_smoke_takes_every_flag() -> None:
    cases = [Input("g", ("common",), (number,)) for number in range(100)] + [Input("g", ("rare",), (1000,))]
    chosen = smoke(cases, 10)
    assert len(chosen) == 10 and cases[-1] in chosen and chosen == sorted(chosen, key=cases.index)
    assert spread(100, 3) == [0, 49, 99] and spread(2, 5) == [0, 1]
