"""Kill suites: a cover that is valid, without a row too many, that only grows; rows of the directed suite with their flags."""

import itertools
import json
from pathlib import Path

import pytest

from emu.base.errors import FileError
from emu.cli.main import run
from emu.contracts.rows import Input
from emu.vectors import build, find, load, verify
from emu.vectors.suites.frozen import frozen_kills
from emu.vectors.suites.notes import NOTES
from emu.vectors.suites.plan import cover, of_class, plans, read_chosen, read_judged, read_records, render, rows_of_stems, updated

STEM = "convert__bf16_to_e2m1__nvidia_rne__directed"


def kills(rows: list[int], mutants: dict[str, list[int]]) -> bool:
    """Whether rows kill every mutant."""
    return all(set(rows) & set(numbers) for numbers in mutants.values())


def test_a_cover_is_valid_and_no_row_is_too_many() -> None:
    mutants = {"a": [1, 2, 3], "b": [2, 5], "c": [3, 5], "d": [9], "e": [1, 9]}
    found = cover(mutants)
    assert found == [1, 5, 9] and kills(found, mutants)
    assert not any(kills(list(fewer), mutants) for fewer in itertools.combinations(found, len(found) - 1))
    assert cover({}) == [] and cover({"a": [7, 3]}) == [3]


def test_greedy_rows_that_later_ones_make_needless_are_dropped() -> None:
    """Row 4 kills most and is chosen first; rows 5 and 6, which the rest needs, kill all that it kills."""
    mutants = {"a": [4, 5], "b": [4, 6], "c": [4, 5], "d": [4, 6], "e": [5], "f": [6]}
    assert cover(mutants) == [5, 6]


def test_rows_of_a_published_suite_stay_in_their_places() -> None:
    mutants = {"a": [4], "b": [2, 8], "c": [1]}
    assert cover(mutants, [8, 3]) == [8, 3, 1, 4]
    assert cover(mutants, [8, 3, 1, 4]) == [8, 3, 1, 4]


def test_a_row_that_is_about_the_fault_is_preferred() -> None:
    flags = [("negative",), ("tie",), ("near_tie",), ("value",)]
    assert of_class({"tie/x": [1, 2, 3], "nan/y": [1, 4]}, flags) == {"tie/x": [2, 3], "nan/y": [1, 4]}
    with pytest.raises(FileError, match="killed by row 9, the suite has 4"):
        of_class({"tie/x": [9]}, flags)


@pytest.mark.exhaustive
def test_every_kill_suite_is_of_planned_rows() -> None:
    rows = rows_of_stems()
    heads = sorted({stem.rpartition("__")[0] for stem in rows})
    assert len(heads) >= 25
    for head in heads[::6]:
        kill, cases = find(f"{head}__kill"), list[Input]()
        for stem in (f"{head}__directed", f"{head}__bits"):
            numbers = rows.get(stem, ())
            assert len(set(numbers)) == len(numbers)
            made = find(stem).cases(0, find(stem).size) if numbers else []
            cases += [made[number - 1] for number in numbers]
        assert kill.cases(0, kill.size) == cases != []
    assert sum(plan.suite == "kill" for plan in plans("quantize")) == sum(stem.startswith("quantize") for stem in rows)


def test_the_rows_kill_what_the_record_lists(checkout: Path) -> None:
    """Every mutant that the record lists for a suite dies of its kill rows, by a row about its class where there is one."""
    matrix = read_records([checkout / "docs" / "evidence" / "KILL.json"])
    rows, seen = rows_of_stems(), 0
    for stem in (STEM, "quantize__bf16_to_nvfp4__nvfp4_te_ref__directed", "transform__bf16_to_bf16__rht16_te__directed"):
        plan = find(stem)
        flags = [case.flags for case in plan.cases(0, plan.size)]
        assert kills(list(rows[stem]), of_class(matrix[stem], flags))
        seen += len(matrix[stem])
    assert seen > 40


def test_new_records_append_rows(tmp_path: Path) -> None:
    """A record of mutants of a design: the suites that there are grow, new ones come, and nothing moves."""
    entry = {"id": "late", "class": "latency", "where": "a.sv", "text": "one cycle late"}
    killers = {
        STEM: {"count": 9, "first": [200, 201], "ids": [200, 201, 302]},
        "decode__e2m1_to_fp32__exact__all": {"count": 1, "first": [1]},
    }
    path = tmp_path / "KILL_rtl.json"
    path.write_text(json.dumps({"schema": "emu-kill-1", "mutants": [entry | {"killedBy": killers}], "survivors": []}), encoding="ascii")
    plan = find(STEM)
    about = [
        number for number in (200, 201, 302) if any("latency" in NOTES[flag].kills for flag in plan.cases(number - 1, number)[0].flags)
    ]
    before, after = rows_of_stems(), updated(read_records([path]))["kill"]
    assert after[STEM] == (*before[STEM], min(about or [200])) and {stem: after[stem] for stem in before if stem != STEM} == {
        stem: numbers for stem, numbers in before.items() if stem != STEM
    }
    assert f'{{stem: "{STEM}", rows: [{", ".join(map(str, after[STEM]))}]}}' in render({"kill": after})["convert.yaml"]
    path.write_text('{"schema": "other", "mutants": []}', encoding="ascii")
    with pytest.raises(FileError, match="schema is 'other'"):
        read_records([path])


def test_rows_for_generated_mutants_append_and_leave_frozen_suites(tmp_path: Path) -> None:
    """Rows of a record become rows of the suite, or of kill_more beside a frozen one; those that are there already come once."""
    before = rows_of_stems()[STEM]
    path = tmp_path / "held_back.json"
    path.write_text(json.dumps({"schema": "emu-held-back-1", "contracts": [{"rows": {STEM: [before[0], 859, 860]}}]}), encoding="ascii")
    chosen = read_chosen([path])
    assert chosen == {STEM: (before[0], 859, 860)} and read_records([path]) == {}
    more = rows_of_stems("kill_more").get(STEM, ())
    added = tuple(row for row in (859, 860) if row not in before + more)
    assert updated({}, chosen=chosen)["kill"][STEM] == (*before, *added)
    frozen = updated({}, chosen=chosen, frozen=frozen_kills())
    assert frozen["kill"] == rows_of_stems() and frozen["kill_more"][STEM] == (*more, *added)
    with pytest.raises(FileError, match="row 861 of 860"):
        updated({}, chosen={STEM: (861,)})


def test_a_kill_suite_that_judged_netlist_mutants_does_not_grow(tmp_path: Path, checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its further rows are kill_more; a file that is no such record is refused before anything is written."""
    held, out = tmp_path / "held_back.json", tmp_path / "out"
    out.mkdir()
    stem = "convert__fp32_to_int4__nvidia_rne__directed"
    fresh = next(row for row in range(1, 99) if row not in rows_of_stems()[stem] + rows_of_stems("kill_more")[stem])
    held.write_text(json.dumps({"schema": "emu-held-back-1", "contracts": [{"rows": {stem: [fresh]}}]}), encoding="ascii")
    judged = checkout / "docs/evidence/netlist_mutants.json"
    assert stem.rpartition("__")[0] in read_judged(judged) - frozen_kills()
    asked = ["vectors", "kill", str(held), "--out", str(out)]
    assert run([*asked, "--judged", str(held)]) == 2 and not [*out.iterdir()]
    assert f"{held}: no record of netlist mutants" in capsys.readouterr().err
    assert run(asked) == 0
    grown = "rows: [" + ", ".join(map(str, (*rows_of_stems()[stem], fresh)))
    assert f'{{stem: "{stem}", {grown}]' in (out / "convert.yaml").read_text(encoding="utf-8")
    assert run([*asked, "--judged", str(judged)]) == 0
    assert f", {fresh}]}}" in next(line for line in (out / "convert.yaml").read_text(encoding="utf-8").splitlines() if stem in line)
    assert grown not in (out / "convert.yaml").read_text(encoding="utf-8")


def test_a_kill_suite_is_built_and_verified(tmp_path: Path) -> None:
    build(tmp_path, ["kill"], ["convert/e2m1/rne/nvidia"])
    suite = load(tmp_path / "convert", STEM.replace("__directed", "__kill"))
    assert len(suite.rows) == len(rows_of_stems()[STEM]) and any("tie" in row.flags for row in suite.rows)
    assert verify(tmp_path).exit_code == 0
