"""Published suites change by appending and masking only: one append, one erratum, and what other changes cost."""

from pathlib import Path

import pytest

from emu.base.errors import FileError
from emu.contracts.convert import cases as cases_convert
from emu.contracts.rows import Input, is_open, value_of
from emu.vectors import append_rows, apply_erratum, build, compare, find, load, verify
from emu.vectors.coverage.count import write_cover
from emu.vectors.files import manifest
from emu.vectors.files.manifest import ERRATA, MANIFEST, VECTORS_VERSION, render_errata, render_manifest
from emu.vectors.files.suite import Suite, render
from emu.vectors.versioning import bump

STEM = "convert__bf16_to_e2m1__nvidia_rne__smoke"
MAJOR, MINOR, _ = VECTORS_VERSION.split(".")
NEXT_MINOR = f"{MAJOR}.{int(MINOR) + 1}.0"


def put(folder: Path, suite: Suite, wrong: list[dict[str, object]]) -> None:
    """Write a suite over its files and sign the folder again."""
    for name, text in render(suite).items():
        (folder / name).write_text(text, encoding="ascii")
    (folder / ERRATA).write_text(render_errata(wrong), encoding="ascii")
    write_cover(folder)
    (folder / MANIFEST).write_text(render_manifest(folder), encoding="ascii")


def erratum(suite: Suite, number: int) -> dict[str, object]:
    """An erratum of column y: the bits published were the right ones with the lowest bit flipped."""
    right = value_of(suite.layout, suite.rows[number - 1], "y")
    return {
        "stem": STEM, "tcId": number, "column": "y", "old": f"{right ^ 1:x}", "new": f"{right:x}", "why": "a test of errata",
        "fixed_by": len(suite.rows) + 1,
    }  # fmt: skip


@pytest.mark.exhaustive
def test_an_append_is_a_minor_version_and_verifies(copy: Path) -> None:
    old = load(copy / "convert", STEM)
    case = Input("later", ("tie",), (0x3E80,), "a row of a later version")
    new = append_rows(old, [case], [find(STEM).operation.exact(case.values)])
    assert new.rows[:-1] == old.rows and new.record["vectors_version"] == NEXT_MINOR and new.record["numberOfTests"] == len(old.rows) + 1
    change = compare(old, new)
    assert change.level == "minor" and change.rows == (f"{STEM}: 1 rows appended",)
    put(copy / "convert", new, [])
    assert verify(copy).exit_code == 0


@pytest.mark.exhaustive
def test_an_erratum_keeps_the_id_and_masks_the_row(copy: Path) -> None:
    old = load(copy / "convert", STEM)
    wrong = erratum(old, 5)
    new = apply_erratum(old, wrong)
    row, right = new.rows[4], new.rows[-1]
    assert is_open(new.layout, row) and row.flags == ("erratum",) and value_of(new.layout, row, "y") == int(str(wrong["old"]), 16)
    assert right.values == old.rows[4].values and right.flags[-1] == "correction"
    assert new.record["vectors_version"] == NEXT_MINOR
    put(copy / "convert", new, [wrong])
    report = verify(copy)
    assert report.exit_code == 0 and report.masked > verify(copy, ["numpy"]).suites
    put(copy / "convert", new, [])
    assert verify(copy).exit_code == 1  # masked, and ERRATA.json does not say why


def test_every_build_applies_the_released_errata(copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = load(copy / "convert", STEM)
    wrong = erratum(old, 5)
    monkeypatch.setattr(manifest, "RELEASED", (wrong,))
    build(tmp_path / "out", ["smoke"], ["convert/e2m1/rne/nvidia"])
    plain = [row._replace(comment="") for row in apply_erratum(old, wrong).rows]  # records of more than 16 rows keep no comments
    assert list(load(tmp_path / "out" / "convert", STEM).rows) == plain
    assert verify(tmp_path / "out").exit_code == 0
    assert STEM in build(tmp_path / "out", ["smoke"], ["convert/e2m1/rne/nvidia"]).skipped


def test_a_row_with_two_wrong_columns_is_corrected_by_one_row(built: Path) -> None:
    suite = load(built / "convert", STEM)
    at, name = next((place, column.name) for place, column in enumerate(suite.layout.columns) if column.role == "in")
    first = erratum(suite, 5)
    second = first | {"column": name, "old": f"{suite.rows[4].values[at] ^ 1:x}", "new": f"{suite.rows[4].values[at]:x}"}
    new = apply_erratum(apply_erratum(suite, first), second, grown=True)
    assert len(new.rows) == len(suite.rows) + 1 and new.rows[:4] == suite.rows[:4] and new.rows[5:-1] == suite.rows[5:]
    assert new.rows[-1].values == suite.rows[4].values and is_open(new.layout, new.rows[4])
    assert [f"{value_of(new.layout, new.rows[4], str(one['column'])):x}" for one in (first, second)] == [first["old"], second["old"]]


def test_published_errata_stand_in_the_vectors(tmp_path: Path) -> None:
    """Each keeps its number, with the bits that were published and mask 0; the row that corrects it has those of the spec."""
    for stem in sorted({str(wrong["stem"]) for wrong in manifest.RELEASED}):
        build(tmp_path / stem, ["smoke"], [f"quantize/{stem.split('__')[2]}"])
        suite = load(tmp_path / stem / "quantize", stem)
        for wrong in manifest.of_stem(stem):
            row, right = suite.rows[wrong["tcId"] - 1], suite.rows[wrong["fixed_by"] - 1]
            assert is_open(suite.layout, row) and value_of(suite.layout, row, wrong["column"]) == int(wrong["old"], 16)
            assert value_of(suite.layout, right, wrong["column"]) == int(wrong["new"], 16)


def test_an_erratum_that_does_not_fit_is_refused(built: Path) -> None:
    suite = load(built / "convert", STEM)
    for change in ({"tcId": 9999}, {"stem": "other"}, {"old": "0", "new": "0", "tcId": 1, "column": "m_y"}, {"fixed_by": 3}):
        with pytest.raises(FileError, match="erratum of"):
            apply_erratum(suite, erratum(suite, 5) | change)


def test_a_changed_bit_is_a_major_version_and_named(built: Path) -> None:
    old = load(built / "convert", STEM)
    row = old.rows[2]
    at = old.layout.index("y")
    changed = row._replace(values=(*row.values[:at], row.values[at] ^ 1, *row.values[at + 1 :]))
    new = Suite(old.record, old.layout, (*old.rows[:2], changed, *old.rows[3:]))
    change = compare(old, new)
    assert change.level == "major" and f"{STEM} tc=3: major" in change.rows[0]
    assert compare(old, Suite(old.record, old.layout, old.rows[:-1])).level == "major"
    comment = Suite(old.record, old.layout, (old.rows[0]._replace(comment="other"), *old.rows[1:]))
    assert compare(old, comment).level == "patch" and compare(old, old).level == "none"


@pytest.mark.parametrize(("level", "version"), [("none", "1.2.3"), ("patch", "1.2.4"), ("minor", "1.3.0"), ("major", "2.0.0")])
def test_versions_count_up(level: str, version: str) -> None:
    assert bump("1.2.3", level) == version


@pytest.mark.exhaustive
def test_a_suite_grows_after_an_erratum_and_every_row_keeps_its_id(copy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Through files: a published row turns out wrong, then directed rows are appended. Build, verify and compare see two minor changes."""
    stem, contract = STEM.replace("smoke", "directed"), ["convert/e2m1/rne/nvidia"]
    build(tmp_path / "out", ["directed"], contract)
    first = load(tmp_path / "out" / "convert", stem)
    wrong = erratum(first, 7) | {"stem": stem}
    published = wrong_row(first, 7)
    monkeypatch.setattr(manifest, "RELEASED", (wrong,))
    assert stem in build(tmp_path / "out", ["directed"], contract).written
    second = load(tmp_path / "out" / "convert", stem)
    assert compare(published, second).level == "minor" and verify(tmp_path / "out").exit_code == 0
    right = cases_convert.directed
    monkeypatch.setattr(cases_convert, "directed", lambda op, stream: [*right(op, stream), Input("later", ("tie",), (0x3E8F,))])
    assert stem in build(tmp_path / "out", ["directed"], contract).written
    third = load(tmp_path / "out" / "convert", stem)
    assert third.rows[: len(second.rows)] == second.rows and len(third.rows) == len(second.rows) + 1
    assert third.rows[int(str(wrong["fixed_by"])) - 1].flags[-1] == "correction"
    change = compare(second, third)
    assert change.level == "minor" and change.rows == (f"{stem}: 1 rows appended",)
    report = verify(tmp_path / "out")
    assert report.exit_code == 0 and (tmp_path / "out" / "convert" / ERRATA).read_text(encoding="ascii") == render_errata([wrong])
    assert stem in build(tmp_path / "out", ["directed"], contract).skipped


def wrong_row(suite: Suite, number: int) -> Suite:
    """The suite as it was published: the lowest bit of y flipped in one row."""
    row = suite.rows[number - 1]
    at = suite.layout.index("y")
    changed = row._replace(values=(*row.values[:at], row.values[at] ^ 1, *row.values[at + 1 :]))
    return Suite(suite.record, suite.layout, (*suite.rows[: number - 1], changed, *suite.rows[number:]))
