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


def test_operands_that_are_not_common_are_refused(capsys):
    """The line says what each of them takes."""
    with pytest.raises(SpecError, match="nothing to compare: ") as caught:
        common_level_plans("int12_wrap", "bf16_register")
    assert "int12_wrap takes e2m1 x e2m1, no scales, C none, D fp32; bf16_register takes bf16" in str(caught.value)
    assert run(["compare-datapaths", "int12_wrap", "nv_like"]) == 2
    assert "nv_like takes e2m1 x e2m1, scales ue4m3 per 16, C fp32, D fp32" in capsys.readouterr().err


WITHOUT_C = """\
kind: "datapath"
id: "mine"
title: "a running register of whole numbers over blocks, without C"
status: "proposed"
facts:
  a: ["e1m2"]
  b: ["e1m2"]
  c: "none"
  k: 64
  scale: {formats: ["ue4m3"], blocks: [16]}
  levels:
    - {id: "blk", of: "block", add: "exact", scale: {}}
    - {id: "k", of: "all", add: "chain", start: "zero", hold: {bits: 24, unit_exp: -6, rounding: "rz", overflow: "saturate"}}
  out: {format: "fp32", rounding: "rne", overflow: "ieee"}
  special: {when: "once", nan: "0x7FC00000"}
open: []
sources: []
"""


@pytest.mark.exhaustive
def test_a_machine_of_ones_own_beside_a_chain_of_fused_steps(tmp_path, capsys):
    """The chain is read in levels; without C on one side the other has +0; rows of data are measured too."""
    (tmp_path / "datapath").mkdir()
    (tmp_path / "datapath" / "mine.yaml").write_text(WITHOUT_C, encoding="utf-8")
    words = ["--spec", str(tmp_path), "--rows", "6", "--gaussian", "--json"]
    for pair in (["mine", "nv_like_exact/e1m2xe1m2/ue4m3/16"], ["nv_like_exact", "mine"]):
        assert run(["compare-datapaths", *pair, *words]) == 1
        data = json.loads(capsys.readouterr().out)
        assert data["differ"] and data["tried"] > 60 and data["tallies"][0]["name"] == "data gaussian"
        traces = {trace["name"].partition("/")[0]: trace["d"] for trace in data["example"]["traces"]}
        assert traces["mine"] != traces["nv_like_exact"]
        assert data["example"]["row"].get("c", "00000000") == "00000000"
        row = data["example"]["row"]
        for name, d in traces.items():
            given = [f"--{key}={row[key]}" for key in ("a", "b", "sa", "sb")]
            plan = "nv_like_exact/e1m2xe1m2/ue4m3/16" if name == "nv_like_exact" else name
            assert run(["explain", "dot", plan, *given, "--spec", str(tmp_path), "--json"]) == 0
            assert f'"{d}"' in capsys.readouterr().out  # the answer of a chain by its own reference model, not by its levels


def test_rows_of_data_draw_their_words(capsys):
    """bf16_register_random takes a word for each addition: no two rows have the same ones."""
    assert run(["compare-datapaths", "bf16_register_random", "bf16_register", "--rows", "6", "--outlier", "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["tallies"][0]["name"] == "data outlier" and data["tallies"][0]["differ"] == 6


def test_the_command(capsys):
    assert run(["compare-datapaths", "int12_wrap", "int12_saturate", "--rows", "8", "--json"]) == 1
    data = json.loads(capsys.readouterr().out)
    assert data["differ"] and data["example"]["stages"]
    assert run(["compare-datapaths", "int12_wrap", "int12_saturate", "--rows", "8", "--full"]) == 1
    assert "<--" in capsys.readouterr().out
    assert run(["compare-datapaths", "int12_wrap", "int12_wrap"]) == 0
