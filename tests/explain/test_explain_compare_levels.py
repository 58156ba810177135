"""Two datapaths of levels compared: facts that are the same, registers that differ, small examples, the command."""

from __future__ import annotations

import json

import pytest

from emu.base.errors import SpecError
from emu.cli.main import run
from emu.contracts.levels.rows import plan_of
from emu.explain.compare.levels import common_level_plans, compare_levels, differs, example, lines_of
from emu.spec.registry import get


def test_the_same_facts_need_no_row():
    model = get("datapath", "int12_wrap").model_copy(update={"id": "another"})
    found = compare_levels(plan_of("int12_wrap"), plan_of(model))
    assert found.same_facts and found.tried == 0 and "are equal for every input" in lines_of(found)[0]


@pytest.mark.parametrize(
    ("first", "second"), [("int12_wrap", "int12_saturate"), ("rvbna4_odd", "rvbna4_rne"), ("bf16_register_random", "bf16_register")]
)
def test_a_difference_is_found_and_made_small(first, second):
    """The example differs by the reference model, has no more products than were found, and names the first stage that differs."""
    one, two = common_level_plans(first, second)
    found = compare_levels(one, two, rows=16)
    assert found.small is not None and found.found is not None and differs(found.small, one, two)
    alive = [sum(bool(x and y) for x, y in zip(row.a, row.b, strict=True)) for row in (found.small, found.found)]
    assert alive[0] <= alive[1]
    data = example(found.small, one, two)
    assert data["first_difference"] and data["traces"][0]["d"] != data["traces"][1]["d"]
    assert "first stage that differs" in "\n".join(lines_of(found))
    assert sum(tally.differ for tally in found.tallies) > 0 and found.tried >= 100


def test_ends_of_a_register_are_the_difference():
    """Twelve bits that wrap or saturate: fifteen products at most, and the first stage is the addition that goes beyond."""
    found = compare_levels(*common_level_plans("int12_wrap", "int12_saturate"), rows=16)
    assert found.small is not None
    data = example(found.small, found.first, found.second)
    assert data["first_difference"].startswith("k_0 addition") and data["products"] <= 15


def test_operands_that_are_not_common_are_refused():
    with pytest.raises(SpecError, match="nothing to compare"):
        common_level_plans("int12_wrap", "bf16_register")
    assert run(["compare-datapaths", "int12_wrap", "nv_like"]) == 2


def test_the_command(capsys):
    assert run(["compare-datapaths", "int12_wrap", "int12_saturate", "--rows", "8", "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["differ"] and data["example"]["stages"]
    assert run(["compare-datapaths", "int12_wrap", "int12_saturate", "--rows", "8", "--full"]) == 1
    assert "<--" in capsys.readouterr().out
    assert run(["compare-datapaths", "int12_wrap", "int12_wrap"]) == 0
