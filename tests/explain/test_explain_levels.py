"""Rows of datapaths of levels explained: registers before and after, what was shifted out, where a value was lost."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest
from support.level_samples import drawn_datapath, drawn_row, write_datapath
from support.whole import tries

from emu.base.errors import EmuError, OperandError
from emu.cli.main import run
from emu.contracts.levels.rows import LevelsRow, evaluate, plan_of, row_of
from emu.contracts.levels.trace import explain_levels, lines_of, vcd_levels
from emu.contracts.text import code_text
from emu.explain.dot.suite import levels_samples
from emu.spec.levels import level_plans_of


def told(name: str, a: str, b: str, c: str | None = None, words: str | None = None):
    plan = plan_of(name)
    return explain_levels(row_of(plan, a, b, None, None, c, words), plan)


def test_a_register_that_saturates():
    """Fourteen products of 36 and one of 8 make 512, one unit beyond a register of twelve bits of 2^-2."""
    found = told("int12_saturate", "7777777777777760", "7777777777777740")
    (node,) = found["levels"][0]["nodes"]
    assert [one["held"]["value"] for one in node["additions"][-3:]] == ["504", "511.75", "511.75"]
    fifteenth = node["additions"][14]
    assert (fifteenth["running"], fifteenth["sum"], fifteenth["held"]["move"], fifteenth["held"]["lost"]) == (
        "504",
        "512",
        "beyond",
        "0.25",
    )
    assert found["losses"] == ["k_0, addition 14: the sum 512 becomes 511.75 (beyond the register)"]
    assert found["d_value"] == "511.75"
    wraps = told("int12_wrap", "7777777777777760", "7777777777777740")
    assert wraps["levels"][0]["nodes"][0]["additions"][14]["held"]["move"] == "wrapped" and wraps["d_value"] == "-512"


def test_a_tie_in_a_register_of_bfloat16():
    """1 + 2^-8 is a tie, which goes to 1; the text says so."""
    found = told("bf16_register", "3f803b8000000000", "3f803f8000000000")
    held = found["levels"][0]["nodes"][0]["additions"][1]["held"]
    assert (held["lost_part"], held["move"], held["value"], held["lost"]) == ("half", "down", "1", "2^-8")
    text = "\n".join(lines_of(found))
    assert "addition 1: 1 + 2^-8 = 257*2^-8; held as 1 (cut, a tie, unit 2^-7)" in text and text.endswith("D = 0x3f80 = 1")


def test_a_random_word_decides():
    """129/256 of a unit and the word 127 carry; 126 does not."""
    up = told("bf16_register_random", "3f803c0100000000", "3f803f0000000000", words="0,7f,0,0")
    down = told("bf16_register_random", "3f803c0100000000", "3f803f0000000000", words="0,7e,0,0")
    assert [one["levels"][0]["nodes"][0]["additions"][1]["held"]["value"] for one in (up, down)] == ["129*2^-7", "1"]
    assert up["levels"][0]["nodes"][0]["additions"][1]["held"]["word"] == "0x7f"


def test_an_aligned_sum_says_what_falls_off():
    """2^0 and 2^-26 under F 25: half a unit is lost, and jammed into the last bit."""
    found = told("rvbna4", "3f8032800000bf80", "3f803f8000003f80")
    (one,) = found["levels"][0]["nodes"][0]["additions"]
    assert one["exp"] == 0 and one["unit_exp"] == -25 and one["from"] == ["product_0", "product_3"]
    moved = {item["operand"]: item for item in one["moved"]}
    assert moved["product_1"]["shift"] < 0 and moved["product_1"]["lost"] == "-2^-26"
    assert found["losses"] == ["bulk_0: product_1 2^-26 loses -2^-26 when it is aligned"] and found["d_value"] == "2^-25"


def test_a_tree_names_its_terms():
    found = told("bf16_pairwise", "3f80" * 8, "3f80" * 8)
    additions = found["levels"][0]["nodes"][0]["additions"]
    assert [[term["term"] for term in one["terms"]] for one in additions[:1] + additions[4:5]] == [
        ["product_0", "product_1"],
        ["addition 0", "addition 1"],
    ]


def test_operands_that_a_datapath_does_not_have_are_refused():
    plan = plan_of("int12_wrap")
    with pytest.raises(OperandError, match="has no C"):
        row_of(plan, "0" * 16, "0" * 16, None, None, "0")
    with pytest.raises(OperandError, match="takes no scales"):
        row_of(plan, "0" * 16, "0" * 16, "0", None, None)
    with pytest.raises(OperandError, match="hexadecimal words"):
        row_of(plan_of("bf16_register_random"), "0" * 16, "0" * 16, None, None, None, "xyz")


@pytest.mark.parametrize("count", [40, pytest.param(tries(250, 600), marks=pytest.mark.exhaustive)])
def test_drawn_datapaths_are_explained(count):
    """The trace ends in the code of the reference model, is plain data, and each register's sum, less what it lost, is what it holds."""
    seen = 0
    for seed in range(9000, 9000 + count):
        plan, rng = next(level_plans_of(drawn_datapath(seed))), Random(seed)
        for _ in range(3):
            drawn = drawn_row(plan, rng)
            if drawn is None:
                continue
            row = LevelsRow(*(tuple(item) if isinstance(item, list) else item for item in drawn))
            try:
                code = evaluate(row, plan).code
            except EmuError:
                continue
            found = explain_levels(row, plan)
            assert found["d"] == code_text(code, plan.d) and lines_of(found)[-1].startswith(f"D = {found['d']}")
            json.dumps(found)
            assert f"dot/{plan.name}" in vcd_levels(row, plan)
            for level in found["levels"]:
                for one in (one for node in level["nodes"] for one in node["additions"] if "lost" in one["held"]):
                    assert _number(one["sum"]) - _number(one["held"]["lost"]) == _number(one["held"]["value"])
                    seen += 1
    assert seen > 100


def _number(text: str) -> Fraction:
    """The value of a dyadic text."""
    factor, _, power = text.partition("*2^") if "*" in text else ("1", "", text[2:]) if text.startswith("2^") else (text, "", "0")
    if text.startswith("-2^"):
        factor, power = "-1", text[3:]
    return Fraction(factor) * Fraction(2) ** int(power)


@pytest.mark.exhaustive
def test_the_command_explains_a_users_datapath(tmp_path: Path, capsys):
    """Codes from the command line, a drawn row, and a row of a suite of golden vectors with its waves."""
    model = drawn_datapath(7001)
    write_datapath(model, tmp_path / "spec")
    spec = ["--spec", str(tmp_path / "spec")]
    plan = next(level_plans_of(model))
    (row,) = levels_samples(plan, "gaussian", 1, 1)
    texts = row.texts(plan)
    given = [item for name in ("a", "b", "sa", "sb", "c") if name in texts for item in (f"--{name}", texts[name])]
    given += ["--words", texts["random"]] if "random" in texts else []
    assert run(["explain", "dot", plan.name, *given, *spec]) == 0
    assert f"D = {code_text(evaluate(row, plan).code, plan.d)}" in capsys.readouterr().out
    assert run(["explain", "dot", plan.name, "--random", "1", "--category", "gaussian", *spec, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["row"] == texts
    out = tmp_path / "vectors"
    assert run(["vectors", "build", "--contract", f"dot/{plan.name}", "--suite", "smoke", "--out", str(out), *spec]) == 0
    (suite,) = (out / "dot").glob("*__smoke.json")
    waves = tmp_path / "row.vcd"
    assert run(["explain", "dot", "--suite", str(suite), "--tc", "2", "--vcd", str(waves), *spec]) == 0
    assert "level " in capsys.readouterr().out and waves.read_text().startswith("$comment dot/")
    assert run(["explain", "dot", plan.name, "--random", "1", "--category", "none", *spec]) == 2
