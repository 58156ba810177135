"""`emu explain mismatch` on designs that its deviations did not make: how often the true cause comes first, and never a false one for sure.

docs/evidence/faulty_designs.json keeps what all designs gave. To write it again (some minutes):
EMU_FAULTY=write pytest tests/rtl/test_rtl_faulty_designs.py -m mutants
"""

import json
import os
from dataclasses import asdict

import pytest
from support.faulty_designs import Design, Fault
from support.faulty_measure import LIST, design_row, golden_of, measured

from emu.contracts.rows import mismatches

NUMBERED = [(entry, number) for entry in LIST["designs"] for number in range(len(entry["faults"]) + entry["blind"])]
QUICK = [("decode__e4m3", 2), ("dequantize__nvfp4_to_fp32", 1)]
FIRST, AMONG_THREE = (70, 100), (90, 100)
COMMAND = "EMU_FAULTY=write pytest tests/rtl/test_rtl_faulty_designs.py -m mutants"


@pytest.fixture(scope="module")
def record(checkout):
    return json.loads((checkout / "docs" / "evidence" / "faulty_designs.json").read_text(encoding="ascii"))


@pytest.mark.cases(2, 5)
@pytest.mark.parametrize("entry", LIST["designs"], ids=lambda entry: entry["stem"])
def test_a_design_without_a_fault_is_right(entry):
    golden = golden_of(entry["stem"])
    design, compared = Design(entry["model"], entry["config"], Fault()), 0
    for tc in range(1, golden.size + 1):
        row, answer = design_row(golden, design, golden.values(tc))
        assert mismatches(golden.layout, row, answer) == [], golden.values(tc)
        compared += 1
    assert compared == golden.size > 10


def test_the_record_is_of_these_designs(record):
    """Every design of the list, in order; the shares that were asked for; no false explanation given as the only one."""
    rows = record["designs"]
    assert [row["stem"] for row in rows] == [entry["stem"] for entry, _ in NUMBERED] and len(rows) == 60, COMMAND
    assert [row["fault"] for row in rows if not row["is_blind"]] == [
        item["name"] for entry in LIST["designs"] for item in entry["faults"]
    ], COMMAND
    assert sum(row["is_blind"] for row in rows) >= 20 and record["seed"] == LIST["seed"], COMMAND
    first, three = sum(row["place"] == 1 for row in rows), sum(row["place"] > 0 for row in rows)
    assert first * FIRST[1] >= FIRST[0] * len(rows) and three * AMONG_THREE[1] >= AMONG_THREE[0] * len(rows), (first, three)
    assert [row["fault"] for row in rows if row["confident"] and row["place"] != 1] == []


def same(found, row):
    return {**asdict(found), "fresh": 0} == {**row, "fresh": 0}


@pytest.mark.parametrize(("stem", "number"), QUICK)
def test_a_few_designs_are_explained_as_the_record_says(stem, number, record):
    place = next(at for at, (entry, of) in enumerate(NUMBERED) if entry["stem"].startswith(stem) and of == number)
    (found,) = measured(NUMBERED[place][0], number)
    assert same(found, record["designs"][place]) and found.place == 1, COMMAND


@pytest.mark.cases(0, 1)
@pytest.mark.parametrize("place", range(len(NUMBERED)))
def test_every_design_is_explained_as_the_record_says(place, record):
    entry, number = NUMBERED[place]
    (found,) = measured(entry, number)
    assert same(found, record["designs"][place]), COMMAND


@pytest.mark.mutants
def test_all_designs(checkout, record):
    """Every design, judged on more fresh rows than the other tests take."""
    found = [item for entry in LIST["designs"] for item in measured(entry, fresh=FRESH)]
    text = (
        json.dumps(
            {"schema": "emu-faulty-designs-1", "command": COMMAND, "seed": LIST["seed"], "designs": [asdict(item) for item in found]},
            indent=1,
        )
        + "\n"
    )
    path = checkout / "docs" / "evidence" / "faulty_designs.json"
    if os.environ.get("EMU_FAULTY") == "write":
        path.write_text(text, encoding="ascii")
    assert path.read_text(encoding="ascii") == text, COMMAND


FRESH = 1000
