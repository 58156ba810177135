"""emu vectors: what the commands print and return; the vectors themselves are tested with their library."""

import json

import pytest

from emu.cli.main import run

CONTRACT = ["--contract", "decode/e2m1", "--suite", "all"]


def call(capsys, *words):
    code = run([str(word) for word in words])
    found = capsys.readouterr()
    return code, found.out, found.err


@pytest.fixture
def built(tmp_path, capsys):
    assert call(capsys, "vectors", "build", "-o", tmp_path / "v", *CONTRACT)[0] == 0
    return tmp_path / "v"


def test_build_reports(built, capsys):
    code, out, err = call(capsys, "vectors", "build", "-o", built, *CONTRACT, "--json")
    found = json.loads(out)
    assert code == 0
    assert found["written"] == []
    assert len(found["skipped"]) == 1
    assert "0 suites written, 1 were right already" in err


def test_verify_reports(built, capsys):
    code, out, err = call(capsys, "vectors", "verify", built)
    assert (code, err) == (0, "")
    counts = {line.rsplit(maxsplit=1)[0]: int(line.rsplit(maxsplit=1)[1]) for line in out.splitlines()[1:]}
    assert counts["suites"] == 1
    assert counts["compared"] == counts["rows"] == 16
    assert counts["derived by exact"] == 16
    assert counts["differ"] == 0
    code, out, _ = call(capsys, "vectors", "verify", built, "--json")
    assert (code, json.loads(out)["exit_code"]) == (0, 0)


def test_a_bad_file_is_two(built, capsys):
    path = next(path for path in sorted(built.rglob("*.mem")) if ".neg" not in path.name)
    path.write_bytes(path.read_bytes()[:-5])
    code, _, err = call(capsys, "vectors", "verify", built)
    assert code == 2
    assert all(line.startswith("emu: ") for line in err.splitlines())
    assert "sha256" in err


def test_nothing_compared_is_three(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("emu.contracts.transform.contract.native", lambda: None)
    assert call(capsys, "vectors", "build", "-o", tmp_path / "v", "--contract", "transform/rht16_te", "--suite", "smoke")[0] == 0
    code, _, err = call(capsys, "vectors", "verify", tmp_path / "v", "--engine", "c_ref")
    assert code == 3
    assert "nothing was compared" in err


@pytest.mark.parametrize(
    "words",
    [
        ["build"],
        ["build", "-o", "x", "--contract", "decode/zzz"],
        ["build", "-o", "x", "--suite", "zzz"],
        ["verify"],
        ["verify", "no_such_folder"],
        ["verify", ".", "--engine", "steam"],
    ],
)
def test_misuse_is_one_line(words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, _, err = call(capsys, "vectors", *words)
    assert code == 2
    assert err.startswith("emu: ")
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_build_refuses_a_foreign_folder(capsys, tmp_path):
    (tmp_path / "letters.txt").write_text("mine")
    code, _, err = call(capsys, "vectors", "build", "-o", tmp_path, *CONTRACT)
    assert code == 2
    assert "holds letters.txt" in err
    assert [path.name for path in tmp_path.iterdir()] == ["letters.txt"]
