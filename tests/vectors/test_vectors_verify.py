"""emu vectors verify: each defect that a simulator may load silently is refused, each wrong bit found; nothing compared is no success."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from emu.vectors import Report, build, verify
from emu.vectors.files.manifest import DIGESTS, ERRATA, MANIFEST, render_manifest

STEM = "convert__bf16_to_e2m1__nvidia_rne__smoke"


def damage(folder: Path, name: str, change: Callable[[bytes], bytes], resign: bool = True) -> Report:
    """Change one file, sign the manifest again (so that only the file itself can tell), and verify."""
    path = folder / "convert" / name
    path.write_bytes(change(path.read_bytes()))
    if resign:
        (path.parent / MANIFEST).write_text(render_manifest(path.parent), encoding="ascii")
    return verify(folder / "convert")


def replaced(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    """A change of one place in a file, which must be there."""

    def change(data: bytes) -> bytes:
        assert old in data
        return data.replace(old, new, 1)

    return change


def without_line(number: int) -> Callable[[bytes], bytes]:
    """A change that takes one line out."""
    return lambda data: b"".join(line for place, line in enumerate(data.splitlines(keepends=True)) if place != number % data.count(b"\n"))


@pytest.mark.exhaustive
def test_a_good_build_passes_with_every_engine(built: Path) -> None:
    report = verify(built)
    assert report.exit_code == 0 and not report.faults and not report.differences
    assert report.suites >= 10 and report.compared == report.rows > 500
    assert report.by_engine["exact"] == report.by_engine["numpy"] == report.rows
    assert report.masked >= 128  # ue4m3 codes with the unused bit set


DEFECTS = {
    "no final LF": (".mem", lambda data: data[:-1], "does not end in LF"),
    "trailer gone": (".mem", without_line(-1), "trailer `e` is missing"),
    "old trailer": (".mem", without_line(0), "tc=2, expected 1"),
    "a row too few": (".mem", without_line(-2), "the trailer counts"),
    "empty file": (".mem", lambda data: b"", "empty"),
    "a digit short": (".mem", replaced(b"_f //", b"_ //"), "something else than"),
    "a digit long": (".mem", replaced(b"_f //", b"_0f //"), "has 2 digits, expected 1"),
    "guard shifted": (".mem", lambda data: data[1:], "starts with the guard"),
    "x digit": (".mem", replaced(b"_f //", b"_x //"), "something else than"),
    "hash comment": (".mem", lambda data: b"# rows\n" + data, "`#` comment"),
    "carriage returns": (".mem", lambda data: data.replace(b"\n", b"\r\n"), "carriage return"),
    "block comment": (".mem", lambda data: b"/* rows */\n" + data, "`/*` comment"),
    "address": (".mem", lambda data: b"@0\n" + data, "`@` address"),
    "blank line": (".mem", replaced(b"\n", b"\n\n"), "blank line"),
    "byte order mark": (".mem", lambda data: b"\xef\xbb\xbf" + data, "ASCII"),
    "upper case": (".mem", replaced(b"_f //", b"_F //"), "something else than"),
    "comment without id": (".mem", replaced(b" // tc=1", b" // row"), "ends in"),
    "tv differs": (".tv", replaced(b" f\n", b" e\n"), "differ from"),
    "tv without trailer": (".tv", without_line(-1), "trailer `e` is missing"),
    "macro of another suite": (".svh", replaced(b"TC_N ", b"TC_M "), "differs from what its rows"),
    "header of another count": (".h", replaced(b"_WIDTH ", b"_WIDTH 1"), "differs from what its rows"),
    "description": (".desc", replaced(b"rows ", b"rows 1"), "differs from what its rows"),
    "self-test without a fault": (".neg.mem", lambda data: data.replace(b"tc=1", b"tc=2", 1), "differs from what its rows"),
    "json key": (".json", replaced(b'"aliases"', b'"alias"'), "keys must be"),
    "json count": (".json", replaced(b'"numberOfTests": ', b'"numberOfTests": 1'), "does not follow"),
    "json digest": (".json", replaced(b'"rows_sha256": "', b'"rows_sha256": "0'), "rows_sha256"),
    "json stem": (".json", replaced(b'"stem": "convert', b'"stem": "quantize'), "rebuild the file name"),
    "json columns": (".json", replaced(b'"lsb":', b'"lsb":1'), "tile the word"),
    "json form": (".json", replaced(b'\n "op"', b'\n  "op"'), "differs from what its rows"),
    "json cut": (".json", lambda data: data[: len(data) // 2], "no ASCII JSON"),
}


@pytest.mark.cases(12)
@pytest.mark.parametrize("name", DEFECTS)
def test_a_defect_is_refused(copy: Path, name: str) -> None:
    ending, change, words = DEFECTS[name]
    report = damage(copy, STEM + ending, change)
    assert report.exit_code == 2
    assert len(report.faults) == 1 and words in report.faults[0] and STEM in report.faults[0]


@pytest.mark.cases(2)
@pytest.mark.parametrize("ending", [".mem", ".tv", ".svh", ".h", ".desc", ".neg.mem"])
def test_a_missing_file_is_refused(copy: Path, ending: str) -> None:
    (copy / "convert" / (STEM + ending)).unlink()
    (copy / "convert" / MANIFEST).write_text(render_manifest(copy / "convert"), encoding="ascii")
    report = verify(copy)
    assert report.exit_code == 2 and STEM + ending in report.faults[0]


def test_the_manifest_finds_any_changed_and_any_foreign_file(copy: Path) -> None:
    (copy / "convert" / "notes.txt").write_text("mine")
    assert "not listed" in verify(copy).faults[0]
    (copy / "convert" / "notes.txt").unlink()
    report = damage(copy, ERRATA, lambda data: data + b"\n", resign=False)
    assert report.exit_code == 2 and "sha256" in report.faults[0]
    (copy / "convert" / MANIFEST).unlink()
    assert "did not finish" in verify(copy).faults[0]


def test_bad_digests_and_errata_are_refused(copy: Path) -> None:
    assert "not `<sha256>" in damage(copy, DIGESTS, lambda data: b"abc\n").faults[0]
    (copy / "convert" / DIGESTS).write_bytes(b"")
    assert "ERRATA" in damage(copy, ERRATA, lambda data: b'[{"stem": 1}]\n').faults[0]


def everywhere(folder: Path, tc: int, column: str, value: str) -> None:
    """Change one value of one row in every file that holds it, digests included: what a wrong generator would have written."""
    from emu.vectors import load
    from emu.vectors.files.suite import Suite, refreshed, render
    from emu.vectors.versioning import _replaced

    suite = load(folder, STEM)
    rows = tuple(_replaced(suite.layout, row, column, int(value, 16)) if number == tc else row for number, row in enumerate(suite.rows, 1))
    for name, text in render(Suite(refreshed(suite.record, suite.layout, rows), suite.layout, rows)).items():
        (folder / name).write_text(text, encoding="ascii")
    (folder / MANIFEST).write_text(render_manifest(folder), encoding="ascii")


def test_a_wrong_bit_is_found_by_each_engine(copy: Path) -> None:
    before = (copy / "convert" / f"{STEM}.tv").read_text(encoding="ascii").splitlines()[4].split()[2]
    everywhere(copy / "convert", 5, "y", f"{int(before, 16) ^ 1:x}")
    for engine in ("exact", "numpy"):
        report = verify(copy, [engine])
        assert report.exit_code == 1 and report.differing == 1
        assert f"{STEM} tc=5: {engine} differs in y" in report.differences[0]


def test_processes_give_the_report_of_one(copy: Path) -> None:
    before = (copy / "convert" / f"{STEM}.tv").read_text(encoding="ascii").splitlines()[4].split()[2]
    everywhere(copy / "convert", 5, "y", f"{int(before, 16) ^ 1:x}")
    one = verify(copy)
    assert (one.exit_code, one.differing) == (1, 1) and one.suites > 5 and one.by_engine["exact"] > 100
    assert verify(copy, jobs=3) == one


def test_a_row_masked_without_an_erratum_is_a_difference(copy: Path) -> None:
    everywhere(copy / "convert", 7, "m_y", "0")
    report = verify(copy)
    assert report.exit_code == 1 and "tc=7" in report.differences[0]


def test_nothing_compared_is_no_success(built: Path) -> None:
    report = verify(built, [])
    assert report.exit_code == 3 and report.compared == 0
    assert verify(built / "nowhere").exit_code == 2


def test_a_folder_without_vectors_is_refused(tmp_path: Path) -> None:
    assert verify(tmp_path).exit_code == 2
    (tmp_path / "convert").mkdir()
    report = verify(tmp_path)
    assert report.exit_code == 2 and MANIFEST in report.faults[0]


def test_an_interrupted_build_is_refused(copy: Path) -> None:
    (copy / ".building").mkdir()
    assert "unfinished" in verify(copy).faults[0]


def test_other_facts_are_told(copy: Path) -> None:
    name = f"{STEM}.json"
    record = json.loads((copy / "convert" / name).read_bytes())
    old = record["contract"]["spec_sha256"]
    report = damage(copy, name, replaced(old.encode(), ("0" * 64).encode()))
    assert report.exit_code == 2 and "other facts" in report.faults[0]


def test_one_folder_can_be_verified_alone(built: Path, tmp_path: Path) -> None:
    shutil.copytree(built / "decode", tmp_path / "decode")
    report = verify(tmp_path / "decode")
    assert report.exit_code == 0 and report.suites == 2


def test_the_benches_beside_the_operations_are_no_suites(copy: Path) -> None:
    (copy / "bench").mkdir()
    (copy / "bench" / "decode.sv").write_text("module bench; endmodule\n", encoding="ascii")
    assert verify(copy).exit_code == 0
    assert build(copy, ["smoke"], ["convert/e2m1/rne/nvidia"]).skipped
    (copy / "bench" / "decode.sv").rename(copy / "decode.sv")
    report = verify(copy)
    assert report.exit_code == 2 and report.faults == ["decode.sv: unfinished or foreign: not part of a build"]
