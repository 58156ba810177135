"""The power table: how many directed rows of a category notice one wrong parameter of a datapath, on the four families of the sheet.

power.yaml keeps what 400 rows a category gave, beside the rates that were asked for. The default test takes fewer rows; -m mutants all.
"""

from pathlib import Path
from typing import Any

import pytest
from support.power import compute, readings, right

from emu.contracts.dot.cases import MAKERS, applies, rows
from emu.engines.exact.datapath import dot
from emu.spec.datapath import DatapathPlan, resolve
from emu.spec.loader import read
from emu.spec.models import Datapath
from emu.spec.models.datapath import DatapathFacts
from emu.spec.registry import get

ROWS, FEW = 400, 24
TABLE: list[dict[str, Any]] = read(Path(__file__).with_name("power.yaml")).data["families"]
IDS = [family["datapath"] for family in TABLE]
SPEC_CHANGES: dict[str, tuple[tuple[str, ...], Any]] = {
    "fraction_bits_less": (("align", "fraction_bits"), -1),
    "fraction_bits_more": (("align", "fraction_bits"), 1),
    "group_half": (("group",), 8),
    "group_1": (("group",), 1),
    "group_32": (("group",), 32),
    "two_steps": (("step",), "half"),
    "floor_up": (("align", "floor"), 1),
    "floor_down": (("align", "floor"), -1),
    "floor_none": (("align", "floor"), "none"),
    "floor_min_normal": (("align", "floor"), -126),
    "align_rd": (("align", "rounding"), "rd"),
    "align_rne": (("align", "rounding"), "rne"),
    "normalised": (("align", "exponent"), "normalised"),
    "cancelled_group": (("align", "cancelled_group_counts"), "no"),
    "flush_result": (("subnormal", "result"), "flush"),
    "flush_c": (("subnormal", "c"), "flush"),
    "flush_elements": (("subnormal", "elements"), "flush"),
    "flush_scales": (("subnormal", "scales"), "flush"),
    "nan_scale_live": (("special", "nan_scale"), "live"),
    "saturate": (("round", "overflow"), "saturate"),
    "keep_all": (("round", "keep"), 23),
}


def plan_of(family: dict[str, Any]) -> DatapathPlan:
    return resolve(family["datapath"], *family.get("operands", []))


def changed_plan(plan: DatapathPlan, name: str) -> DatapathPlan:
    """The plan with one fact of the datapath replaced: the reference model reads facts, so it reads the wrong one."""
    path, new = SPEC_CHANGES[name]
    if path == ("step",):
        new = plan.step // 2
    elif path == ("align", "fraction_bits"):
        new += plan.frac_bits
    elif path == ("align", "floor") and new in (1, -1):
        new += plan.floor
    facts = plan.facts.model_dump(by_alias=True)
    facts["align"]["integer_bits"] = plan.integer_bits
    facts["align"]["floor"] = plan.floor
    inner = facts
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = new
    thing: Datapath = get("datapath", plan.datapath.id)
    model = thing.model_copy(update={"facts": DatapathFacts.model_validate(facts), "expect": ()})
    return resolve(model, plan.a, plan.b, plan.scale, plan.block or None)


def noticed(plan: DatapathPlan, name: str, category: str, count: int) -> int:
    """How many of the first rows of a category come out otherwise under a wrong reading."""
    wrong, is_right = readings(plan)[name], right(plan)
    return sum(compute(wrong, plan, *case) != compute(is_right, plan, *case) for case in rows(category, plan, count))


@pytest.mark.cases(2)
@pytest.mark.parametrize("family", TABLE, ids=IDS)
def test_the_second_program_is_the_reference_model(family: dict[str, Any]) -> None:
    plan, compared = plan_of(family), 0
    for category in MAKERS:
        if applies(category, plan) and category != "scale_signbit":
            for case in rows(category, plan, FEW):
                assert compute(right(plan), plan, *case) == dot(*case, plan).code, (category, case)
                compared += 1
    assert compared >= 12 * FEW


@pytest.mark.cases(2)
@pytest.mark.parametrize("family", TABLE, ids=IDS)
def test_a_wrong_reading_is_the_reference_model_with_a_wrong_fact(family: dict[str, Any]) -> None:
    """What the second program does for a parameter is what the spec with that fact changed means."""
    plan, differing = plan_of(family), 0
    known = readings(plan)
    for entry in family["parameters"]:
        name = entry["name"]
        if name in SPEC_CHANGES and entry["measured"]:
            changed = changed_plan(plan, name)
            for case in rows(next(iter(entry["measured"])), plan, FEW):
                code = compute(known[name], plan, *case)
                assert code == dot(*case, changed).code, (name, case)
                differing += code != compute(right(plan), plan, *case)
    assert differing > FEW


@pytest.mark.cases(2)
@pytest.mark.parametrize("family", TABLE, ids=IDS)
def test_every_wrong_parameter_is_noticed(family: dict[str, Any]) -> None:
    """Few rows of the best category are enough to notice what the whole category notices in one row of ten."""
    plan = plan_of(family)
    names = {entry["name"] for entry in family["parameters"]}
    assert names == set(readings(plan))
    frequent = [entry for entry in family["parameters"] if entry["measured"] and next(iter(entry["measured"].values())) >= ROWS // 5]
    assert len(frequent) >= 14
    assert [entry["name"] for entry in frequent if not noticed(plan, entry["name"], next(iter(entry["measured"])), FEW)] == []


@pytest.mark.parametrize("family", TABLE, ids=IDS)
def test_the_rates_reach_the_sheet(family: dict[str, Any]) -> None:
    """The two best categories notice as many rows of 100 as the sheet asks for, or the reason stands beside the number."""
    for entry in family["parameters"]:
        tenths = [(2000 * rows_of + ROWS) // (2 * ROWS) for rows_of in (*entry["measured"].values(), 0, 0)]
        short = [(got, wanted) for got, wanted in zip(tenths, entry["sheet"], strict=False) if got < wanted]
        assert bool(short) == ("why" in entry), f"{entry['name']}: {short} tenths of a percent"


@pytest.mark.mutants
@pytest.mark.parametrize("family", TABLE, ids=IDS)
def test_the_measured_rates_are_those_of_now(family: dict[str, Any]) -> None:
    plan = plan_of(family)
    for entry in family["parameters"]:
        for category, count in entry["measured"].items():
            assert noticed(plan, entry["name"], category, ROWS) == count, f"{entry['name']} {category}: write the new number to power.yaml"
