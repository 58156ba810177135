"""Contracts of datapaths of levels: strings, columns, rows of the suites, other engines, and machines that are wrong in one fact."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest
from support.level_samples import drawn_datapath, drawn_row, write_datapath
from support.whole import tries

import emu
from emu.base.errors import EmuError, SpecError
from emu.contracts import parse
from emu.contracts.levels.cases import LATER_MAKERS, MAKERS, applies
from emu.contracts.levels.columns import stages_of
from emu.contracts.levels.contract import LevelsContract
from emu.contracts.levels.deviations import changed, words_for
from emu.contracts.levels.events import events
from emu.contracts.levels.rows import LevelsRow, evaluate
from emu.contracts.levels.suite import PER_CATEGORY, rows
from emu.contracts.levels.walk import walk
from emu.contracts.rows import make_row, mismatches, unpack
from emu.contracts.suites import ENDS
from emu.engines.exact.levels import Number
from emu.engines.exact.value import power_of_two
from emu.spec import derive
from emu.spec.contract import level_plans
from emu.spec.levels import level_plans_of
from emu.spec.registry import isolated, shipped_root
from emu.vectors.compute import derive_rows
from emu.vectors.suites.notes import NOTES
from emu.vectors.suites.plan import SuitePlan, families

SHIPPED = (
    "dot/int12_wrap",
    "dot/bf16_register_random",
    "dot/mx_lane24",
    "dot/rvbna4_odd",
    "accumulate/int12_saturate",
    "dot/systolic_4way",
)


def contract(text: str) -> LevelsContract:
    found = parse(text)
    assert isinstance(found, LevelsContract)
    return found


def row_of(seed: int) -> Iterator[tuple[LevelsRow, object]]:
    plan, rng = next(level_plans_of(drawn_datapath(seed))), Random(seed)
    for _ in range(4):
        row = drawn_row(plan, rng)
        if row is not None:
            yield LevelsRow(*(tuple(item) if isinstance(item, list) else item for item in row)), plan


def test_every_shipped_datapath_of_levels_has_a_contract():
    """A run is offered where the levels take several instructions; strings are written as they are parsed."""
    plans = list(level_plans())
    assert len(plans) >= 19
    for plan in plans:
        op = contract(f"dot/{plan.name}")
        assert str(op.name) == f"dot/{plan.name}" and op.k % plan.facts.k == 0
        assert op.layout.results[0].name == "d" and len(op.layout.results) > 1
    assert contract("accumulate/int12_wrap").k == 64
    with pytest.raises(SpecError, match="one instruction alone"):
        parse("accumulate/rvbna4")
    known = {str(name) for name in families()}
    assert {"dot/rvbna4", "accumulate/int12_wrap"} <= known and "accumulate/rvbna4" not in known


def test_facts_decide_the_digest():
    """Of register and order; not the id, nor formats that were not chosen."""
    digests = {parse(f"dot/{name}").name.spec_sha256 for name in ("int12_wrap", "int12_saturate", "int12_cut", "rvbna4_odd", "rvbna4_rne")}
    assert len(digests) == 5


def test_columns_follow_from_the_plan():
    """Registers after each addition in their own width, exponents where a value names one, words in the order in which they are drawn."""
    names = {text: {column.name: (column.lanes, column.lane_bits) for column in contract(text).layout.columns} for text in SHIPPED}
    assert names["dot/int12_wrap"]["r_k"] == (16, 12) and "c" not in names["dot/int12_wrap"]
    assert names["dot/bf16_register_random"]["r"] == (4, 8) and names["dot/bf16_register_random"]["r_k"] == (4, 16)
    assert names["dot/mx_lane24"]["v_pair"] == (1, 26) and {"ve_blk", "vc_blk", "sa", "sb"} <= set(names["dot/mx_lane24"])
    assert names["dot/systolic_4way"]["r_way"] == (8, 32) and names["dot/systolic_4way"]["v_join"] == (1, 32)
    assert names["accumulate/int12_saturate"]["r_k"] == (64, 12)


@pytest.mark.parametrize("first", [0, pytest.param(1000, marks=pytest.mark.exhaustive)])
def test_columns_hold_what_levels_leave(first):
    """Of drawn datapaths: every value fits, and column, exponent and unit say the value that the reference model left."""
    told = 0
    for seed in range(first, first + (60 if not first else tries(500, 1500))):
        for row, plan in row_of(seed):
            stages = stages_of(plan, len(row.a))
            try:
                found = evaluate(row, plan)
            except EmuError:
                continue
            for stage in stages:
                columns, lanes = list(stage.columns()), list(stage.lanes(found.stages))
                assert [column.lanes for column in columns] == [len(values) for values in lanes]
                for column, values in zip(columns, lanes, strict=True):
                    assert all(value >> column.lane_bits == 0 for value in values if value >= 0)
                if stage.kind.how == "code":
                    continue
                for place, code in zip(stage.places, lanes[0], strict=True):
                    value = found.stages.get(place)
                    assert (code < 0) == (not isinstance(value, Number))
                    if isinstance(value, Number):
                        signed = code - (code >> (stage.bits - 1) << stage.bits)
                        unit = _unit(stage, dict(zip(stage.places, lanes[1], strict=True))[place] if stage.exp_bits else 0)
                        assert signed * power_of_two(unit) == value.significand * power_of_two(value.lsb_exp)
                        told += 1
    assert told > 300


def _unit(stage, exp: int) -> int:
    signed = exp - (exp >> (stage.exp_bits - 1) << stage.exp_bits) if stage.exp_bits else 0
    return {"fixed": stage.kind.unit, "floating": signed - stage.kind.unit, "cut": signed}[stage.kind.how]


def test_the_walk_is_the_reference_model():
    """A row that is told gives the same code and stages; every rounding has a place of its own."""
    seen = set()
    for seed in range(60):
        for row, plan in row_of(seed):
            try:
                found = evaluate(row, plan)
            except EmuError:
                continue
            told = walk(row, plan)
            assert (told.code, told.stages) == (found.code, found.stages)
            places = [(item.level, item.node, item.turn) for item in told.roundings if not item.decided]
            assert len(places) == len(set(places))
            seen |= {event[1:] for event in events(told)}
    assert {("sum", "cancelled"), ("end", "beyond plus"), ("exponent", "term"), ("special", "nan"), ("result", "inf plus")} <= seen


@pytest.mark.cases(1, 3)
@pytest.mark.parametrize("text", SHIPPED)
def test_the_suite_is_derived_again(text):
    """Directed rows by exact and the other engines; every category that applies is there and every flag has a note; columns are known."""
    op = contract(text)
    plan = next(SuitePlan(op, inputs, ()) for inputs in op.suites() if inputs.suite == "smoke")
    ends = {flag for case in op.directed() if case.group == ENDS for flag in case.flags}
    last = [case.flags for case in plan.cases(0, plan.size) if case.group == ENDS]
    assert plan.size - len(last) <= op.smoke and sorted(last) == sorted((flag,) for flag in ends)
    found = derive_rows(plan, 0, plan.cases(0, plan.size))
    assert "c_ref" in found.agreed and found.exact_rows == plan.size
    flags = {flag for case in op.directed() if case.group != ENDS for flag in case.flags}
    assert flags == {name for name in MAKERS if applies(name, op.field)} and flags | ends <= set(NOTES)


def test_rows_do_not_depend_on_the_split():
    op = contract("dot/bf16_register_random")
    for category in (name for name in MAKERS if applies(name, op.field)):
        whole = rows(op, category, 6)
        assert whole == rows(op, category, 2) + rows(op, category, 4, 2) and len(set(whole)) > 1


def test_random_words_stand_at_their_ends():
    """Words of all ones, of zeros, and one that differs from all others; each place of a row has its own somewhere."""
    op = contract("dot/bf16_register_random")
    words = [op.taken(case.values).random for case in op.directed()]
    assert {0, 255} <= {word for row in words for word in row}
    rest = [(row[place], {*row[:place], *row[place + 1 :]}, place) for row in words for place in range(4)]
    assert {place for word, others, place in rest if others in ({0}, {255}) and word not in others} == {0, 1, 2, 3}


@pytest.mark.exhaustive
def test_an_unused_bit_of_a_scale_is_open():
    op = contract("dot/e1m2_bf16_register")
    row = op.taken(op.directed()[0].values)
    values = op.packed_values(row._replace(scale_a=(row.scale_a[0] | 0x80, *row.scale_a[1:])))
    assert all(code < 0 for lanes in op.exact(values) for code in lanes) and op.batch([values], "c_ref") == [((-1,),)]


# Machines that are wrong in one fact.


@pytest.mark.cases(0, 2)
@pytest.mark.parametrize(
    "text", ["dot/bf16_register", "dot/rvbna4_rne", "dot/int12_saturate", "accumulate/int12_cut", "dot/bf16_register_random"]
)
def test_wrong_machines_are_seen(text):
    """Widths, ends, roundings, orders, places of C, words of another rounding: directed rows and product bits
    tell each from the right one.

    Some facts cannot show, as where a register that never overflows would stop: hundreds of other rows do not tell them either.
    """
    op = contract(text)
    planned = {inputs.suite: inputs for inputs in op.suites()}
    cases = [case for name in ("directed", "bits") if name in planned for case in planned[name].cases(0, planned[name].size)]
    made = [make_row(op.layout, case, op.exact(case.values)) for case in cases]
    given = [case.values for case in cases]
    more = [op.packed_values(row) for name in MAKERS | LATER_MAKERS if applies(name, op.field) for row in rows(op, name, 20, 1 << 17)]
    right = op.batch(more, "c_ref")

    def seen(item, at):
        rows_of = zip(made[at : at + 8], item.batch(given[at : at + 8]), strict=True)
        return any(answer is not None and mismatches(op.layout, row, answer) for row, answer in rows_of)

    alive, count = [], 0
    for item in op.deviations():
        count += 1
        if not any(seen(item, at) for at in range(0, len(made), 8)):
            alive.append(item)
    assert count >= 30 and len({item.text for item in op.deviations()}) == count and len(alive) < count // 3
    wrong = [answer is not None and answer != wanted for item in alive for answer, wanted in zip(item.batch(more), right, strict=True)]
    assert len(wrong) == len(alive) * len(more) > 1000 and not any(wrong)


def test_a_machine_that_rounds_otherwise_is_given_the_same_words():
    """Words stay with the roundings that they belong to; a rounding that draws fewer bits takes the low ones."""
    op = contract("dot/bf16_register_random")
    row = op.taken(op.directed()[0].values)._replace(random=(1, 255, 128, 3))
    for mode in ("sr_cmp8", "sr_add16"):
        variant = changed(op.plan, [(("levels", 0, "hold", "rounding"), mode)])
        assert variant is not None and words_for(row, op.plan, variant.plan).random == row.random


@pytest.mark.exhaustive
@pytest.mark.parametrize("files", [3, pytest.param(tries(6, 80), marks=pytest.mark.exhaustive)])
def test_a_users_file_is_enough(tmp_path: Path, files):
    """Drawn datapaths as files of a user: contract, rows, other engines, deviations; nothing is raised."""
    models = [drawn_datapath(seed) for seed in range(4000, 4000 + files)]
    for model in models:
        write_datapath(model, tmp_path)
    with isolated(shipped_root()):
        emu.load_spec(tmp_path)
        for model in models:
            for plan in level_plans_of(model.id):
                op = contract(f"dot/{plan.name}")
                cases = op.directed()
                assert len(cases) >= PER_CATEGORY
                some = cases[:: max(1, len(cases) // 24)]
                computed = derive_rows(SuitePlan(op, next(iter(op.suites())), ()), 0, some)
                assert len(computed.rows) == len(some)
                for row in computed.rows:
                    for column, value in zip(op.layout.columns, row.values, strict=True):
                        assert value >> column.bits == 0 and len(unpack(value, column)) == column.lanes
                assert derive.codes(plan.d).bits <= op.layout.results[0].bits and len(list(op.deviations())) > 3
                break
