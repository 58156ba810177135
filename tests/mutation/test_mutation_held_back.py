"""Suites on mutants that they were not chosen for: every deviation that a contract makes of itself, held back class by class.

docs/evidence/held_back.json keeps what came out, docs/held_back.md is its text. What other runs try is every n-th mutant of some contracts.
To make it again: EMU_HELD=write pytest tests/mutation -m mutants -k held_back; EMU_HELD=STEM,STEM those alone.
"""

import os

import pytest
from support.generated_mutants import Mutant, choose, held_back, judged, record_of

from emu.vectors import find
from emu.vectors.suites.plan import rows_of_stems
from tools.docs.held_back import COMMAND, KIND, RECORD, WANTED, reached

QUICK = ["convert__fp32_to_e2m1__nvidia_rne__directed", "quantize__bf16_to_mxfp4__mxfp4_torchao_floor__directed"]
OTHERS = ["dot__e2m1xe2m1_to_fp32__int12_saturate__directed", "dot__e4m3xe4m3_to_fp32__hopper_fp8__directed"]


@pytest.fixture(scope="module")
def record(checkout):
    return KIND.read(checkout / RECORD)


@pytest.mark.parametrize("stem", [*QUICK, *(pytest.param(stem, marks=pytest.mark.exhaustive) for stem in OTHERS)])
def test_suites_kill_classes_that_nobody_recorded(stem):
    mutants, tried = judged(stem, every=8)
    found = held_back(stem, mutants)
    assert tried >= found["mutants"] > 15 and found["classes"] > 10
    assert 100 * found["directed"] >= WANTED["directed"] * found["mutants"], found["missed"]
    assert 100 * found["chosen"] >= 85 * found["mutants"], found["escaped"]  # of an eighth of the mutants


def test_the_record_reaches_what_is_wanted_and_its_rows_are_the_kill_suites(record):
    stems = [entry["stem"] for entry in record["contracts"]]
    assert len(stems) == len(set(stems)) >= 40 and {*QUICK, *OTHERS} <= {*stems}, COMMAND
    for entry in record["contracts"]:
        assert reached(entry, "directed") and reached(entry, "chosen"), entry["stem"]
        assert entry["tried"] >= entry["mutants"] > entry["classes"] > 20
        for stem, rows in entry["rows"].items():
            there = {row for kill in ("kill", "kill_more") for row in rows_of_stems(kill).get(stem, ())}
            assert there >= {*rows}, f"{stem}: emu vectors kill"


def test_a_kill_suite_of_levels_has_rows_of_both_suites():
    stem = "dot__e2m1xe2m1_to_fp32__int12_cut"
    rows = {suite: rows_of_stems()[f"{stem}__{suite}"] for suite in ("directed", "bits")}
    kill = find(f"{stem}__kill")
    expected = [find(f"{stem}__{suite}").cases(row - 1, row)[0] for suite in ("directed", "bits") for row in rows[suite]]
    assert kill.cases(0, kill.size) == expected and len(expected) > 10


def test_rows_are_chosen_twice_and_for_every_flag():
    rows = {("directed", number): (flag,) for number, flag in enumerate(("tie", "tie", "nan", "inf"), 1)}
    mutants = [Mutant("x", "a", (("directed", 1), ("directed", 2)), False), Mutant("y", "b", (("directed", 2), ("bits", 9)), False)]
    assert choose(mutants, rows) == {("directed", 1), ("directed", 2), ("bits", 9), ("directed", 3), ("directed", 4)}
    assert choose(mutants[:1], {}, [("directed", 1)]) == {("directed", 1), ("directed", 2)}
    assert choose([Mutant("z", "c", (), False)], {}) == set()


@pytest.mark.mutants
def test_the_record_of_classes_held_back(checkout, record):
    """Every contract of the record again; EMU_HELD names some, or writes."""
    path, asked = checkout / RECORD, os.environ.get("EMU_HELD", "")
    only = set(asked.split(",")) - {"", "write"}
    found = [record_of(entry["stem"], entry["every"]) if not only or entry["stem"] in only else entry for entry in record["contracts"]]
    made = record | {"contracts": found}
    if asked == "write":
        KIND.write(path, made)
    assert path.read_text(encoding="ascii") == KIND.text(made), COMMAND
