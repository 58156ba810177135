"""Records: the ones in git read and written back to equal bytes, what changed since, and one line for a file that is none."""

import json
import os
import runpy
from pathlib import Path

import pytest
from support import lane_proofs, mutation_kill, running_mutants

from emu.analysis import records as studies
from emu.base.errors import FileError, SpecError
from emu.files.record import Record, all_open, changed, digests_of, opens, read_lines
from emu.rtl.mutants import record as netlist
from emu.rtl.simulate import sweep as rtl_sweep
from emu.spec import digest, get
from emu.vectors.sweep import record as sweeps
from research import families
from research.cost import measure
from research.datapath import study
from research.forks import record as forks
from research.models import gradients
from research.models import study as models
from research.reproduction import record as reproduction
from research.train import results
from tools import foreign_kernels, machines
from tools.blind import __main__ as blind
from tools.docs import held_back

COVERAGE = Record("record of coverage", "run scripts/c-coverage", all_open, ("command", "total"), indent=2)
KINDS = {
    "blind_mutation.json": blind.RECORD,
    "KILL.json": mutation_kill.KIND,
    "KILL_named.json": mutation_kill.KIND,
    "coverage_c_ref.json": COVERAGE,
    "datapath_errors.json": study.KIND,
    "faulty_designs.json": Record("record of faulty designs", "run the test that it names", lambda place, value: True, ("designs",)),
    "families.json": families.KIND,
    "foreign_kernels.json": foreign_kernels.KIND,
    "forks.json": forks.KIND,
    "gradients.json": gradients.KIND,
    "hardware_cost.json": measure.KIND,
    "held_back.json": held_back.KIND,
    "machines.json": machines.KIND,
    "models.json": models.KIND,
    "netlist_mutants.json": netlist.RECORD,
    "KILL_rtl.json": mutation_kill.KIND,
    "rtl_proofs.json": lane_proofs.KIND,
    "rtl_sweeps.json": rtl_sweep.RECORD,
    "running_mutants.json": running_mutants.KIND,
    "shrinkage.json": reproduction.KIND,
    "sweeps.json": sweeps.RECORD,
    "training.json": results.KIND,
}
PLAIN = Record("record of tests", "run the test", opens("rows"), ("rows",))


def test_every_record_in_git_has_a_kind(checkout: Path) -> None:
    assert sorted(path.name for path in (checkout / "docs" / "evidence").glob("*.json")) == sorted(KINDS)


@pytest.mark.parametrize("name", KINDS)
def test_a_record_is_written_back_to_equal_bytes(name: str, checkout: Path, tmp_path: Path) -> None:
    path = checkout / "docs" / "evidence" / name
    KINDS[name].write(tmp_path / name, KINDS[name].read(path))
    assert (tmp_path / name).read_bytes() == path.read_bytes()


@pytest.mark.parametrize("name", ["sweeps.json", "rtl_sweeps.json", "netlist_mutants.json"])
def test_what_the_commands_write_is_what_is_in_git(name: str, checkout: Path, tmp_path: Path) -> None:
    path, module = checkout / "docs" / "evidence" / name, {"s": sweeps, "r": rtl_sweep, "n": netlist}[name[0]]
    module.write_record(tmp_path / name, module.read_record(path))
    assert (tmp_path / name).read_bytes() == path.read_bytes()


def test_entries_of_open_values_have_a_line_each() -> None:
    data = {"command": "x", "rows": [{"a": [1, 2]}, {"b": {}}], "none": [], "about": {"c": [1]}}
    lines = [
        "{",
        ' "command": "x",',
        ' "rows": [',
        '  {"a": [1, 2]},',
        '  {"b": {}}',
        " ],",
        ' "none": [],',
        ' "about": {"c": [1]}',
        "}",
        "",
    ]
    assert PLAIN.text(data).split("\n") == lines
    assert PLAIN.text({"rows": []}) == '{\n "rows": [\n ]\n}\n'
    assert Record("x", "y", all_open, indent=2).text(data) == json.dumps(data, indent=2) + "\n"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (b"", "Expecting value"),
        (b"[1]", "holds a list"),
        (b"\xff", "codec can't decode"),
        (b"{}", "not the whole record: rows missing"),
        (b'{"rows": 1}', "rows holds no lines by name"),
        (b'{"rows": {"a": 1}}', "rows holds no lines by name"),
    ],
)
def test_what_is_no_record_is_one_line(text: bytes, why: str, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    path.write_bytes(text)
    with pytest.raises(FileError) as caught:
        read_lines(PLAIN, path, "rows")
    line = str(caught.value)
    assert line.startswith(f"{path}: no record of tests (") and why in line and line.endswith("): run the test") and "\n" not in line


def test_a_missing_file_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"no record of tests \(No such file or directory\): run the test"):
        PLAIN.read(tmp_path / "none.json")


def test_a_record_that_cannot_be_written_leaves_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    PLAIN.write(path, {"rows": [1]})
    with pytest.raises(TypeError):
        PLAIN.write(path, {"rows": [object()]})
    with pytest.raises(FileError, match="exists already"):
        PLAIN.write(path, {"rows": [2]}, force=False)
    assert PLAIN.read(path) == {"rows": [1]} and os.listdir(tmp_path) == ["r.json"]


def test_what_changed_is_named() -> None:
    now = digests_of({"format": ["e2m1", "e1m2"], "recipe": ["nvufp4"]})
    assert now == {"format": {"e2m1": digest(get("format", "e2m1")), "e1m2": digest(get("format", "e1m2"))}, "recipe": now["recipe"]}
    assert changed(now["format"], now["format"]) == []
    assert changed({"e2m1": "0"}, now["format"]) == ["e2m1", "e1m2"]
    assert changed(now["format"] | {"gone": "1"}, now["format"]) == []
    with pytest.raises(SpecError):
        digests_of({"format": ["none_such"]})


def test_studies_on_the_command_line_are_written_alike() -> None:
    assert studies.as_text({"a": [], "b": [1], "c": {"d": [1]}}) == '{\n "a": [],\n "b": [\n  1\n ],\n "c": {"d": [1]}\n}\n'


def test_the_record_of_coverage_is_of_these_sources(checkout: Path) -> None:
    """`scripts/c-coverage --check` says it too, after minutes of measuring."""
    path = checkout / "docs" / "evidence" / "coverage_c_ref.json"
    assert runpy.run_path(str(checkout / "scripts" / "c-coverage"))["digest"]() == COVERAGE.read(path)["sources_sha256"]
