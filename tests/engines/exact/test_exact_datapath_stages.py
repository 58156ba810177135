"""Stage columns of the reference model: names, widths that hold full-scale rows and no more, values that add up, hand-checked rows."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from emu.base.errors import OpenError
from emu.engines.exact.datapath import Dot, dot
from emu.engines.exact.datapath_stages import fixed_lsb_exp, stage_codes, stage_columns, stage_values
from emu.spec import derive, get, names
from emu.spec.datapath import DatapathPlan, known_facts, pairs, resolve


def _plans() -> Iterator[DatapathPlan]:
    for name in names("datapath"):
        try:
            facts = known_facts(get("datapath", name))
        except OpenError:
            continue
        for a, b in pairs(facts):
            for scale in facts.scale.formats or (None,):
                for block in facts.scale.blocks or (None,):
                    yield resolve(name, a, b, scale, block)


PLANS = list(_plans())
IDS = [plan.name for plan in PLANS]


def _full(plan: DatapathPlan, negative: bool, c: int) -> Dot:
    """All elements and scales at the largest magnitude."""
    k = plan.facts.k
    top_a, top_b = derive.codes(plan.a), derive.codes(plan.b)
    twos = [derive.is_twos_complement(fmt) for fmt in (plan.a, plan.b)]
    a = 1 << (top_a.bits - 1) if twos[0] else top_a.max_code
    b = 1 << (top_b.bits - 1) if twos[1] else top_b.max_code
    if negative:
        b = top_b.max_code if twos[1] else top_b.max_code | top_b.sign_bit
    scales = [derive.codes(plan.scale).max_code] * (k // plan.block) if plan.scale else []
    return dot([a] * k, [b] * k, scales, scales, c, plan)


@pytest.mark.cases(150, 284)
@pytest.mark.parametrize("plan", PLANS, ids=IDS)
def test_every_stage_has_a_column_and_fits_it_at_full_scale(plan: DatapathPlan) -> None:
    largest = derive.codes(plan.c).max_code
    for negative in (False, True):
        found = _full(plan, negative, largest | (derive.codes(plan.c).sign_bit if negative else 0))
        columns = {column.name: column for column in stage_columns(plan, len(found.steps))}
        values: dict[str, int] = {}
        for number, step in enumerate(found.steps):
            if step.special is None:
                values |= stage_values(step, number, plan)
        if all(step.special is None for step in found.steps):
            assert list(values) == list(columns)
        assert values
        for name, value in values.items():
            column = columns[name]
            low, high = (-(1 << column.bits - 1), 1 << column.bits - 1) if column.signed else (0, 1 << column.bits)
            assert low <= value < high, (name, value, column)


@pytest.mark.cases(150, 376)
@pytest.mark.parametrize("plan", [plan for plan in PLANS if plan.facts.scale.apply == "group"])
def test_widths_of_sums_and_terms_are_not_larger_than_full_scale_needs(plan: DatapathPlan) -> None:
    values = stage_values(_full(plan, False, 0).steps[0], 0, plan)
    widths = {column.name: column.bits for column in stage_columns(plan)}
    for name in ("u0_sg0", "u0_tm0"):
        assert values[name].bit_length() + 1 == widths[name], name


@pytest.mark.cases(150, 483)
@pytest.mark.parametrize("plan", [plan for plan in PLANS if plan.facts.align.beyond == "never" and plan.accumulator is None])
def test_the_sum_is_that_of_the_aligned_terms(plan: DatapathPlan) -> None:
    if plan.facts.scale.apply == "promote":
        assert [column.name for column in stage_columns(plan)] == ["u0_tm0", "u0_p0", "u0_ss", "u0_rs"]
        return
    for c in (0, 1, derive.codes(plan.c).max_code // 2):
        for number, step in enumerate(_full(plan, True, c).steps):
            if step.special is None:
                values = stage_values(step, number, plan)
                parts = [value for name, value in values.items() if name.startswith((f"u{number}_xa", f"u{number}_xc"))]
                assert values[f"u{number}_s"] == sum(parts)
                assert values[f"u{number}_rs"] == step.code


def test_the_row_of_the_floor_by_hand() -> None:
    """Floor -139, F = 35: unit 2^-174. 2^-144 is 2^30 units; -2^-175 is half a unit and vanishes. The result is 2^-144: 0x20."""
    plan = resolve("blackwell_mxf4_b32_ue8m0")
    a, b = [0] * 64, [0] * 64
    a[0], b[0], a[32], b[32] = 2, 2, 1, 9
    step = dot(a, b, [0x37, 0x28], [0x37, 0x29], 0, plan).steps[0]
    values = stage_values(step, 0, plan)
    assert values["u0_sg0"] == 4 and values["u0_sg2"] == -1  # in units of 2^-2
    assert values["u0_tm0"] == 4 and values["u0_tm2"] == -1 and values["u0_tm1"] == 0
    assert values["u0_lv"] == 0b00101
    assert values["u0_e"] == -139
    assert [values[f"u0_xa{i}"] for i in range(4)] == [1 << 30, 0, 0, 0]
    assert values["u0_xc"] == 0 and values["u0_s"] == 1 << 30 and values["u0_rs"] == 0x20
    codes = stage_codes(step, 0, plan)
    assert codes["u0_sg2"] == (1 << 13) - 1 and codes["u0_e"] == (1 << 12) - 139 and codes["u0_rs"] == 0x20
    assert fixed_lsb_exp(plan) is None


def test_a_step_that_nan_decides_has_its_result_alone() -> None:
    plan = resolve("blackwell_mxf4nvf4_b16_ue4m3")
    step = dot([0] * 64, [0] * 64, [0x7F, 0, 0, 0], [0] * 4, 0, plan).steps[0]
    assert stage_values(step, 0, plan) == {"u0_rs": 0x7FFFFFFF}


def test_an_accumulator_shows_its_register_and_no_result() -> None:
    plan = resolve("int64", "e1m2", "e1m2", block=16)
    found = dot([7] * 128, [7] * 128, [0x38] * 8, [0x38] * 8, 0, plan)
    values = [stage_values(step, number, plan) for number, step in enumerate(found.steps)]
    assert [values[0]["u0_s"], values[1]["u1_s"]] == [822083584, 1644167168] and found.accumulator == 1644167168
    assert "u0_rs" not in values[0] and fixed_lsb_exp(plan) == -22
    assert {column.bits for column in stage_columns(plan) if column.name in ("u0_s", "u0_xa0")} == {64}


def test_a_wrapping_adder_shows_its_own_integers() -> None:
    plan = resolve("blackwell_e0m3_wrap", "e0m3", "e0m3")
    found = dot([7] * 64, [7] * 64, [0x77] * 4, [0x77] * 4, 0, plan)
    values = stage_values(found.steps[0], 0, plan)
    assert values["u0_s"] < 0 < sum(values[f"u0_xa{i}"] for i in range(4))
    assert sum(values[f"u0_xa{i}"] for i in range(4)) - values["u0_s"] == 1 << 49
