"""Rows and suites of dot products and of accumulation: what each category promises, stage columns, open rows, chains."""

from __future__ import annotations

from pathlib import Path

import pytest

from emu.contracts.accumulate import AccumulateContract
from emu.contracts.dot.cases import CATEGORIES, CHAIN, applies, rows
from emu.contracts.dot.contract import DotContract
from emu.contracts.dot.suite import directed
from emu.contracts.rows import unpack, value_of
from emu.engines.exact.datapath import dot
from emu.spec import derive
from emu.spec.contract import parse, plans
from emu.spec.datapath import resolve
from emu.vectors import load
from emu.vectors.suites.notes import NOTES

NVFP4 = "dot/blackwell_mxf4nvf4_b16_ue4m3"
FOUR = ((NVFP4.partition("/")[2],), ("blackwell_mxf4_b32_ue8m0",), ("blackwell_mxf8f6f4", "e4m3", "e4m3"), ("hopper_fp8", "e4m3", "e4m3"))


@pytest.mark.cases(2)
@pytest.mark.parametrize("name", FOUR, ids=[item[0] for item in FOUR])
def test_rows_do_not_depend_on_the_split(name: tuple[str, ...]) -> None:
    plan = resolve(*name)
    for category in CATEGORIES:
        if applies(category, plan):
            whole = rows(category, plan, 12)
            assert whole == rows(category, plan, 5) + rows(category, plan, 7, 5)
            assert len(set(whole)) >= (8 if category == "special_c" else 11), category


def test_every_plan_has_rows_of_every_category_that_applies() -> None:
    for plan in list(plans())[::9]:
        found = [name for name in CATEGORIES if applies(name, plan)]
        assert len(found) >= 13
        for name in found:
            case = rows(name, plan, 1)[0]
            k = plan.facts.k * (CHAIN if name == "chain" else 1)
            assert len(case.a) == len(case.b) == k and len(case.scale_a) == len(case.scale_b) == (k // plan.block if plan.block else 0)


def test_categories_are_what_they_say() -> None:
    plan = resolve("blackwell_mxf4nvf4_b16_ue4m3")
    assert all(any(code & 0x7F == 0x7F for code in case.scale_a + case.scale_b) for case in rows("nan_scale", plan, 40))
    zero_blocks = sum(dot(case.a, case.b, (0x38,) * 4, (0x38,) * 4, 0, plan).code != 0x7FFFFFFF for case in rows("nan_scale", plan, 40))
    assert zero_blocks == 40
    assert all(any(code >> 7 for code in case.scale_a + case.scale_b) for case in rows("scale_signbit", plan, 40))
    groups = [dot(*case, plan).steps[0] for case in rows("cancelled_group", plan, 40)]
    assert sum(any(term.live and term.group_sum == 0 for term in step.terms) for step in groups) >= 36
    full = [dot(*case, plan).steps[0].total for case in rows("saturated_same_sign", plan, 40)]
    assert sum(abs(total).bit_length() >= 48 for total in full if total is not None) >= 20
    classes = {derive.is_nan_code(case.c, plan.c) for case in rows("special_c", plan, 40)}
    assert classes == {True, False}


def test_the_columns_are_those_of_the_conventions() -> None:
    op = DotContract.of(parse(NVFP4))
    names = [column.name for column in op.layout.columns]
    four = [f"{head}{number}" for head in ("sg", "tm", "xa") for number in range(4)]
    stages = [f"u0_{name}" for name in [*four[:8], "lv", *four[8:], "xc", "e", "s", "rs"]]
    assert names == ["a", "sa", "b", "sb", "c", "d", *stages, "m_d", *(f"m_{name}" for name in stages)]
    widths = {column.name: column.bits for column in op.layout.columns}
    assert (widths["u0_sg0"], widths["u0_tm0"], widths["u0_lv"], widths["u0_xa0"], widths["u0_s"], widths["u0_e"]) == (
        13,
        20,
        5,
        49,
        49,
        12,
    )
    wide = DotContract.of(parse("dot/hopper_fp8/e4m3xe4m3"))
    packed = {column.name: column.lanes for column in wide.layout.results if column.lanes > 1}
    assert packed == {"u0_tm": 32, "u0_xa": 32}
    assert [column.name for column in DotContract.of(parse("dot/ideal/e1m2xe1m2/ue4m3/16")).layout.results].count("u0_e") == 0


def test_nan_rows_leave_their_stages_open_and_open_bits_the_whole_row() -> None:
    op = DotContract.of(parse(NVFP4))
    found = {case.flags[0]: op.exact(case.values) for case in directed(op)}
    assert found["nan_scale"][0] == (0x7FFFFFFF,) and all(code < 0 for lanes in found["nan_scale"][1:] for code in lanes)
    assert all(code < 0 for lanes in found["scale_signbit"] for code in lanes)
    assert all(code >= 0 for lanes in found["gaussian"] for code in lanes)
    assert DotContract.of(parse("dot/cdna3_fp8/e4m3fnuzxe4m3fnuz")).layout.results[0].any_nan


def test_directed_rows_hold_every_pair_of_elements_and_every_scale_code() -> None:
    op = DotContract.of(parse(NVFP4))
    cases = directed(op)
    pairs = {pair for case in cases if "element_pair" in case.flags for pair in zip(*op.taken(case.values)[:2], strict=True)}
    assert len(pairs) == 256
    assert {code for case in cases if "scale_code" in case.flags for side in op.taken(case.values)[2:4] for code in side} >= set(range(128))
    assert {flag for case in cases for flag in case.flags} <= set(NOTES)


def test_a_chain_hands_its_state_on() -> None:
    op = AccumulateContract.of(parse("accumulate/blackwell_mxf4nvf4_b16_ue4m3"))
    long = rows("chain", op.plan, 1)[0]
    chain = op.chain("chain1", ("chain",), long)
    answers = [op.exact(row.values) for row in chain]
    assert [row.values[:2] for row in chain] == [(1, 0), *[(0, 0)] * 6, (0, 1)]
    assert [op.taken(row.values)[4] for row in chain[1:]] == [answer[0][0] for answer in answers[:-1]]
    assert answers[-1][0][0] == dot(*long, op.plan).code


def test_a_register_runs_through_a_chain() -> None:
    op = AccumulateContract.of(parse("accumulate/int64/e1m2xe1m2/16"))
    long = rows("chain", op.plan, 1)[0]
    chain = op.chain("chain1", ("chain",), long)
    answers = [op.exact(row.values) for row in chain]
    whole = dot(*long, op.plan)
    assert [column.name for column in op.layout.columns] == [
        "first",
        "last",
        "a",
        "sa",
        "b",
        "sb",
        "c",
        "acc_in",
        "d",
        "acc",
        "m_d",
        "m_acc",
    ]
    assert [answer[0][0] for answer in answers[:-1]] == [derive.OPEN] * 7 and answers[-1][0][0] == whole.code
    assert whole.accumulator is not None and answers[-1][1][0] == whole.accumulator & ((1 << 64) - 1)
    assert [row.values[-1] for row in chain] == [0, *(answer[1][0] for answer in answers[:-1])]


def test_frozen_suites_have_stages_and_every_engine_agreed(checkout: Path) -> None:
    suite = load(checkout / "vectors" / "dot", "dot__e2m1xe2m1_ue4m3_to_fp32__blackwell_mxf4nvf4_b16_ue4m3__smoke")
    assert suite.record["contract"]["datapath"] == {
        "step": 64,
        "split": 1,
        "F": 35,
        "I": 13,
        "floor": -139,
        "lsb_exp": None,
        "c_place": None,
    }
    assert {"exact_rows", "agreed"} <= set(suite.record["generator"]) and suite.record["generator"]["exact_rows"] == len(suite.rows) == 18
    flags = {flag for row in suite.rows for flag in row.flags}
    assert {"cancelled_group", "floor_edge", "nan_scale", "scale_signbit", "element_pair", "open"} <= flags
    for row in suite.rows:
        lanes = unpack(value_of(suite.layout, row, "a"), suite.layout.columns[0])
        assert len(lanes) == 64
