"""emu vectors cover: golden files, a user's own rows, logs of a bench; bad and foreign input is refused in one line."""

import json
from pathlib import Path

import pytest

from emu.base.errors import FileError
from emu.cli.main import run
from emu.vectors import build
from emu.vectors.coverage.read import rows_of

STEM = "convert__bf16_to_e2m1__nvidia_rne__smoke"
SR = "convert__bf16_to_e2m1__nvidia_sr_add8__smoke"
RESULT = f"RESULT PASS reason=none suite={STEM} rows_sha256={'0' * 64} compared=2 mismatch=0 x=0 masked=0"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of smoke suites."""
    out = tmp_path_factory.mktemp("cover") / "out"
    build(out, ["smoke"], ["convert/e2m1/rne/nvidia", "convert/e2m1/sr_add8/nvidia", "transform/rht16_ufp4"])
    return out


def log(path: Path, *lines: str) -> Path:
    path.write_text("".join(line + "\n" for line in lines))
    return path


def refused(path: Path, stem: str | None = None) -> str:
    with pytest.raises(FileError) as caught:
        rows_of(path, stem)
    return str(caught.value)


@pytest.mark.exhaustive
def test_any_file_of_a_suite_names_it(folder: Path) -> None:
    wanted = rows_of(folder / "convert" / f"{STEM}.json")
    assert list(wanted) == [STEM] and len(wanted[STEM]) == 48
    for ending in (".mem", ".tv", ".desc", ".svh", ".neg.mem", ""):
        assert rows_of(folder / "convert" / f"{STEM}{ending}") == wanted


def test_folders_give_every_suite(folder: Path) -> None:
    assert {STEM, SR} <= set(rows_of(folder / "convert")) < set(rows_of(folder))


def test_own_rows_are_inputs_alone_or_whole_rows(folder: Path, tmp_path: Path) -> None:
    own = log(tmp_path / "mine.tv", "a 4020 80", "a bfc0 00", "e 0000 02")
    assert rows_of(own, SR) == {SR: [(1, (0x4020, 0x80)), (2, (0xBFC0, 0))]}
    whole = tmp_path / f"{SR}.tv"
    whole.write_bytes((folder / "convert" / f"{SR}.tv").read_bytes())
    assert rows_of(whole) == rows_of(folder / "convert" / f"{SR}.tv")
    assert refused(own) == "mine: the loaded spec plans no suite of this name: is a --spec folder missing?"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("a 402 80", "column x: '402' is no 16-bit number of 4 hex digits"),
        ("a 4020 8X", "column r: '8X' is no 8-bit number of 2 hex digits"),
        ("a 4020", "1 input columns, expected 2: x, r"),
        ("b 4020 80", "a row starts with the guard `a`, found 'b'"),
    ],
)
def test_malformed_own_rows(tmp_path: Path, line: str, why: str) -> None:
    assert refused(log(tmp_path / "mine.tv", "a 4020 80", line), SR) == f"mine.tv:2: {why}"


def test_a_log_is_read_row_by_row_and_a_row_driven_twice_counts_once(tmp_path: Path) -> None:
    lines = (
        "some banner of a simulator",
        f"ROW suite={SR} tc=7 in=4020,80 got=5",
        f"  120ns INFO ROW suite={SR} tc=7 in=4020,80 got=x",
        f"MISMATCH suite={STEM} tc=3 out=y in=40a0 want=6 got=7 mask=f",
        f"ROW suite={STEM} tc=4 in=ffc0 got=7",
        RESULT,
    )
    assert rows_of(log(tmp_path / "sim.log", *lines)) == {SR: [(7, (0x4020, 0x80))], STEM: [(3, (0x40A0,)), (4, (0xFFC0,))]}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        (f"ROW suite={STEM} tc=4 in=ffc got=7", "column x: 'ffc' is no 16-bit number of 4 hex digits"),
        (f"ROW suite={STEM} tc=4 in=ffc0,00 got=7", "2 input columns, expected 1: x"),
        (f"ROW suite={STEM} tc=4 in=xxxx got=7", "not a ROW line as the benches print it: suite, tc, in, got: "),
        (f"ROW suite={STEM} tc=0 in=ffc0 got=7", "not a ROW line as the benches print it: suite, tc, in, got: "),
        (f"MISMATCH suite={STEM} tc=4 in=ffc0 got=7", "not a MISMATCH line as the benches print it: suite, tc, in, got: "),
    ],
)
def test_malformed_log_lines(tmp_path: Path, line: str, why: str) -> None:
    assert refused(log(tmp_path / "sim.log", RESULT, line)).startswith(f"sim.log:2: {why}")


def test_foreign_files(tmp_path: Path) -> None:
    assert "neither a vector file nor a log of a bench" in refused(log(tmp_path / "a.log", "hello"))
    assert "plans no suite of this name" in refused(log(tmp_path / "b.log", "ROW suite=convert__bf16_to_x__y__smoke tc=1 in=00 got=0"))
    assert "no such" in refused(tmp_path / "absent.log").lower()
    assert f"no {STEM}.json beside it" in refused(log(tmp_path / f"{STEM}.mem", "a_0_0_f"))


def test_the_table_and_its_holes(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = log(tmp_path / "sim.log", f"ROW suite={SR} tc=7 in=4020,80 got=5")
    assert run(["vectors", "cover", str(path), "--holes"]) == 0
    found = capsys.readouterr()
    lines = found.out.splitlines()
    assert lines[0] == f"{SR}: 1 rows"
    assert lines[1].split() == ["cross", "bins", "hit", "unreachable", "holes", "reached"]
    assert lines[2].split() == ["interval_lost", "64", "1", "0", "63", "1.5%"]
    assert "  draw: zero zero stay: try x=0000 r=00" in lines
    assert "1 rows of 1 suites counted" in found.err


def test_the_record_can_be_written_and_printed(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "COVER.json"
    assert run(["vectors", "cover", str(folder / "convert" / f"{STEM}.mem"), "--json", "--out", str(out)]) == 0
    (printed,) = json.loads(capsys.readouterr().out)
    before = out.read_bytes()
    assert run(["vectors", "cover", str(folder / "convert" / f"{STEM}.mem"), "--out", str(out)]) == 2
    assert "exists already" in capsys.readouterr().err and out.read_bytes() == before
    assert run(["vectors", "cover", str(folder / "convert" / f"{STEM}.mem"), "--quiet", "--out", str(out), "--force"]) == 0
    assert printed == json.loads(out.read_text()) and printed["suites"][0]["stems"] == [STEM] and printed["suites"][0]["rows"] == 48


def test_merged_suites_are_counted_together(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"ROW suite={STEM.replace('smoke', suite)} tc=1 in={code} got=0" for suite, code in (("smoke", "4020"), ("directed", "4021"))]
    path = log(tmp_path / "sim.log", *lines)
    assert run(["vectors", "cover", str(path), "--json", "--merge"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert [(entry["rows"], entry["crosses"]["interval_lost"]["hit"]) for entry in found["suites"]] == [(2, 2)]


def test_exit_codes(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["vectors", "cover", str(log(tmp_path / "empty.log", RESULT))]) == 3
    assert "nothing was counted: no rows" in capsys.readouterr().err
    assert run(["vectors", "cover", str(folder / "transform")]) == 3
    assert "no coverage model for transform" in capsys.readouterr().err
    for path in (
        log(tmp_path / "foreign.log", "hello"),
        tmp_path / "absent",
        log(tmp_path / "bad.log", f"ROW suite={STEM} tc=1 in=g got=0"),
    ):
        assert run(["vectors", "cover", str(path)]) == 2
        error = capsys.readouterr().err
        assert error.startswith("emu: ") and error.count("\n") == 1
    assert run(["vectors", "cover", str(folder / "convert"), "--out", str(tmp_path / "no" / "COVER.json")]) == 2
