"""Suites on mutants that they were not chosen for: every deviation that a contract makes of itself, held back class by class.

docs/evidence/held_back.json keeps what came out of every contract with a directed or kill suite in vectors/, docs/held_back.md is its text.
To make both again: EMU_HELD=write pytest tests/mutation -m mutants -k held_back; EMU_HELD=missing goes on with the contracts that the
record lacks, EMU_HELD=STEM,STEM those alone. Entries are written one by one.
"""

import os
from pathlib import Path

import pytest
from support.generated_mutants import Mutant, golden_of, held_back, mutants_of, record_of

from emu.vectors import find
from emu.vectors.suites.own import choose
from emu.vectors.suites.plan import KILLS, rows_of_stems
from tools.docs.held_back import COMMAND, KIND, PAGE, RECORD, held_back_pages, reached

ABOUT = 250  # mutants that are tried of a contract new to the record
ROOT = Path(__file__).parents[2]
ENTRIES = {entry["stem"]: entry for entry in KIND.read(ROOT / RECORD)["contracts"]}
FEW = [
    "convert__fp16_to_e2m1__nvidia_rz__directed",
    "quantize__bf16_to_mxfp4__mxfp4_torchao_floor__directed",
    *sorted(ENTRIES, key=lambda stem: ENTRIES[stem]["tried"])[:6],
]


def with_suites() -> list[str]:
    """Return the directed stem of every contract with a directed or kill suite in vectors/."""
    kept = (path.stem.rpartition("__") for path in (ROOT / "vectors").glob("*/*.desc"))
    return sorted({f"{head}__directed" for head, _, suite in kept if suite == "directed" or suite in KILLS})


@pytest.mark.cases(0, 1)
@pytest.mark.parametrize("stem", FEW)
def test_an_entry_of_the_record_comes_again(stem):
    """Whole: every mutant that it tried. Those of all other contracts: -m mutants, an hour and a quarter."""
    assert record_of(stem, ENTRIES[stem]["every"]) == ENTRIES[stem], COMMAND


def test_the_record_has_every_contract_with_suites_and_its_rows_are_the_kill_suites():
    assert [*ENTRIES] == sorted(ENTRIES) and {*ENTRIES} >= {*with_suites()}, "EMU_HELD=missing, as in " + COMMAND
    for entry in ENTRIES.values():
        assert entry["tried"] >= entry["mutants"] > entry["classes"] > 20
        for stem, rows in entry["rows"].items():
            there = {row for kill in KILLS for row in rows_of_stems(kill).get(stem, ())}
            assert there >= {*rows}, f"{stem}: emu vectors kill"


def test_the_page_names_what_is_not_reached():
    page = (ROOT / PAGE).read_text(encoding="utf-8").partition("Not reached:")[2].partition("\n\n")[0]
    below = {(stem, key) for stem, entry in ENTRIES.items() for key in ("directed", "chosen") if not reached(entry, key)}
    assert {(stem, key) for stem in ENTRIES for key in ("directed", "chosen") if f"`{stem}`: {key} " in page} == below


def test_a_class_that_is_held_back_is_judged_by_rows_of_the_others():
    """Rows of the other classes miss two mutants of one class; on all classes nothing is missed."""
    stem = FEW[0]
    alone = [Mutant(f"alone {number}", "alone", (("directed", 500 + number),), False) for number in range(2)]
    shared = [Mutant(f"shared {number}", f"shared {number}", (("directed", 1), ("directed", 2)), False) for number in range(8)]
    unseen = Mutant("unseen", "unseen", (), False)
    found = held_back(stem, [*alone, *shared, unseen])
    flagged = {number for number in (500, 501) if number in found["rows"][stem]}
    assert flagged == {500, 501} and {1, 2} <= {*found["rows"][stem]}
    assert (found["mutants"], found["classes"], found["directed"], found["published"]) == (11, 10, 10, 10)
    assert found["missed"] == {"unseen": 1} and found["escaped"] == {"alone": 2, "unseen": 1} and found["chosen"] == 8
    decided = held_back(stem, [*alone, *shared, unseen], [[("directed", 500)]])
    assert decided["escaped"] == {"alone": 1, "unseen": 1} and decided["chosen"] == 9


def test_a_kill_suite_of_levels_has_rows_of_both_suites():
    stem = "dot__e2m1xe2m1_to_fp32__int12_cut"
    rows = {suite: rows_of_stems()[f"{stem}__{suite}"] for suite in ("directed", "bits")}
    kill = find(f"{stem}__kill")
    expected = [find(f"{stem}__{suite}").cases(row - 1, row)[0] for suite in ("directed", "bits") for row in rows[suite]]
    assert kill.cases(0, kill.size) == expected and len(expected) > 10


def test_rows_are_chosen_twice_and_for_every_flag():
    rows = {("directed", number): (flag,) for number, flag in enumerate(("tie", "tie", "nan", "inf"), 1)}
    killers = [(("directed", 1), ("directed", 2)), (("directed", 2), ("bits", 9))]
    assert choose(killers, rows) == {("directed", 1), ("directed", 2), ("bits", 9), ("directed", 3), ("directed", 4)}
    assert choose(killers[:1], {}, [("directed", 1)]) == {("directed", 1), ("directed", 2)}
    assert choose([()], {}) == set()


@pytest.mark.mutants
def test_the_record_of_classes_held_back():
    """Every contract of the record again; EMU_HELD names some, or writes all or the missing ones, and the page."""
    path, asked = ROOT / RECORD, os.environ.get("EMU_HELD", "")
    writes, lacking = asked in ("write", "missing"), [stem for stem in with_suites() if stem not in ENTRIES]
    stems = {"": [*ENTRIES], "write": [*ENTRIES, *lacking], "missing": lacking}.get(asked, asked.split(","))
    made = dict(ENTRIES)
    for stem in stems:
        made[stem] = record_of(stem, made[stem]["every"] if stem in made else step_of(stem))
        if writes:
            KIND.write(path, KIND.read(path) | {"contracts": [made[each] for each in sorted(made)]})
    if writes:
        (ROOT / PAGE).write_text(held_back_pages(ROOT)[PAGE], encoding="utf-8")
    assert KIND.read(path)["contracts"] == [made[stem] for stem in sorted(made)], COMMAND


def step_of(stem):
    """Return of which n every n-th mutant of a contract is tried."""
    return max(1, round(sum(1 for _ in mutants_of(golden_of(stem))) / ABOUT))
