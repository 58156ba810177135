"""The scripts of docs/tutorial_e1m2 that users run and edit: bad input is one clear line and exit code 2, with nothing on stdout."""

import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

SCRIPTS = Path(__file__).resolve().parents[2] / "docs" / "tutorial_e1m2"
GOOD = np.random.default_rng(0).standard_normal((16, 16)).astype(np.float32)


def changed(at: tuple[int, int], value: float) -> np.ndarray:
    out = GOOD.copy()
    out[at] = value
    return out


FILES = {
    "good.npy": GOOD,
    "vector.npy": GOOD[0],
    "few.npy": GOOD[:15],
    "width.npy": GOOD[:, :15],
    "empty.npy": GOOD[:, :0],
    "nan.npy": changed((3, 5), np.nan),
    "inf.npy": changed((2, 1), np.inf),
    "large.npy": GOOD.astype(np.float64) * 1e300,
    "zero.npy": np.zeros_like(GOOD),
    "half_zero.npy": np.where(np.arange(16)[:, None] % 2, GOOD, 0),
    "ones.npy": np.ones_like(GOOD),
    "text.npy": np.full((16, 16), "a"),
}


def ran(monkeypatch: pytest.MonkeyPatch, script: str, *words: str) -> int:
    """Run a script in this process with its words; return its exit code."""
    monkeypatch.setattr(sys, "argv", [script, *words])
    try:
        runpy.run_path(str(SCRIPTS / script), run_name="__main__")
    except SystemExit as end:
        return int(end.code or 0)
    return 0


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, array in FILES.items():
        np.save(tmp_path / name, array)
    np.savez(tmp_path / "both.npz", good=GOOD, vector=GOOD[0])
    (tmp_path / "broken.npy").write_bytes(b"\x93NUMPY12345")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "which file?"),
        ("--unrotated", "which file?"),
        ("gone.npy", "gone.npy: cannot read"),
        ("broken.npy", "broken.npy: cannot read as .npy"),
        ("--rotated good.npy", "--rotated: is no tensor file"),
        ("good.npy other", "no tensor 'other'"),
        ("both.npz", "no tensor ''"),
        ("both.npz good vector", "vector: shape [16]: a matrix of 16 rows or more"),
        ("vector.npy", "shape [16]"),
        ("few.npy", "shape [15, 16]"),
        ("width.npy", "is 15: pad it with zeros to 16"),
        ("empty.npy", "no elements"),
        ("nan.npy", "NaN or Inf in 1 of"),
        ("inf.npy", "NaN or Inf in 1 of"),
        ("large.npy", "NaN or Inf in"),
        ("zero.npy", "all zero"),
        ("half_zero.npy", "all zero"),
        ("ones.npy", "e2m1 holds them exactly"),
        ("text.npy", "holds no numbers"),
    ],
)
def test_bad_input_of_mine_is_one_line(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: str, said: str
) -> None:
    assert ran(monkeypatch, "mine.py", *words.split()) == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("mine.py: ") and err.count("\n") == 1 and said in err, err


def test_mine_judges_a_matrix(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert ran(monkeypatch, "mine.py", "--unrotated", "both.npz", "good") == 0
    assert capsys.readouterr().out.startswith("good e1m2 as given against e2m1 as given: ")


@pytest.mark.parametrize("words", ["", "minilm", "minilm wa none more"])
def test_ratio_without_its_words_says_how_it_is_called(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], words: str
) -> None:
    monkeypatch.chdir(SCRIPTS.parents[1])
    assert ran(monkeypatch, "ratio.py", *words.split()) == 2
    out, err = capsys.readouterr()
    assert out == "" and "ratio.py MODEL OPERANDS" in err


def test_ratio_of_what_the_record_lacks_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(SCRIPTS.parents[1])
    assert ran(monkeypatch, "ratio.py", "other", "wa") == 2
    out, err = capsys.readouterr()
    assert out == "" and err.startswith("ratio.py: the record has no other/wa/") and err.count("\n") == 1
