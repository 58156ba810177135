"""The reproduction as a whole: the record fits the spec, the page is the record, a small run has its shape, the comparison is honest."""

import json
from pathlib import Path
from typing import Any

import pytest

from emu.analysis.cells import CODECS
from emu.base.errors import FileError, OperandError
from research.__main__ import run
from research.pages.charts import same_data
from research.pages.shrinkage import PAGE, PICTURES, shrinkage_pages
from research.reproduction import compare, record
from research.reproduction.cells import short
from research.reproduction.paper import BY_ID, CLAIMS

pytestmark = pytest.mark.usefixtures("study_recipes")

ROOT = Path(__file__).resolve().parents[3]
PICTURE_BYTES = 60_000
E2M1, E1M2 = record.GRIDS
# lognormal sigma 1.0, 4096 x 1024, blocks of 16: SQNR as it is and rotated, of the sheet of measurements; tolerance 0.05 dB
SHEET = {E2M1: (21.45, 19.84), E1M2: (18.92, 23.25)}


@pytest.fixture(scope="module")
def kept() -> dict[str, Any]:
    return record.read_record(ROOT / record.RECORD)


@pytest.fixture(scope="module")
def quick() -> dict[str, Any]:
    return record.run(None, record.QUICK)


def test_the_record_fits_the_spec(kept: dict[str, Any]) -> None:
    assert record.stale(kept) == []


def test_a_changed_fact_makes_it_stale(kept: dict[str, Any]) -> None:
    changed = json.loads(json.dumps(kept))
    changed["facts"]["recipe"][E2M1] = changed["facts"]["transform"]["rht16_ufp4"] = "0"
    del changed["facts"]["format"]["e1m2"]
    assert record.stale(changed) == ["e1m2", E2M1, "rht16_ufp4"]


def test_the_page_is_the_record() -> None:
    found = shrinkage_pages(ROOT)
    assert set(found) == {PAGE, *(f"{PICTURES}_{name}.svg" for name in ("tensors", "depth", "minilm"))}
    for path, text in found.items():
        there = (ROOT / path).read_text(encoding="utf-8")
        assert there == text or (path.endswith(".svg") and same_data(there, text)), f"{path}: run python -m tools.docs build"
        assert len(text.encode()) < PICTURE_BYTES


def test_the_record_is_its_text(kept: dict[str, Any]) -> None:
    assert record.as_text(kept) == (ROOT / record.RECORD).read_text(encoding="utf-8")


def test_the_record_is_whole(kept: dict[str, Any]) -> None:
    both = (None, "rht16_ufp4")
    assert {(row["data"], row["recipe"], row["transform"]) for row in kept["tensors"]} == {
        (name, recipe, turn) for name in record.TENSOR_DATA for recipe in record.GRIDS for turn in both
    }
    assert len(kept["gemm"]) == len(record.GEMM_DATA) * (2 + len(record.RESTRICTED)) * 2
    assert {row["layers"] for row in kept["depth"]} == {1, 6, 12, 24} and {row["seeds"] for row in kept["depth"]} == {3}
    assert {row["codec"] for row in kept["scales"]} == set(CODECS)
    kinds = [row["kind"] for row in kept["model"]["tensors"]]
    assert len(kept["captured"]["tensors"]) == 4 * len(kept["captured"]["digests"]) > 0 and kept["captured"]["gemm"]
    assert (kinds.count("activation"), kinds.count("weight"), len(kept["model"]["gemm"])) == (24 * 4, 36 * 4, 36 * 4)


@pytest.mark.exhaustive
def test_a_quick_run_has_the_same_shape(quick: dict[str, Any], kept: dict[str, Any]) -> None:
    """All but the model, which is a package of its own: the same keys in every kind of row."""
    assert quick["model"] is None and set(quick) | {"captured"} == set(kept) and quick["size"] == "quick"
    for part in ("bias", "tensors", "gemm", "depth", "precision", "scales"):
        assert set(quick[part][0]) == set(kept[part][0])
    for part in ("bias", "tensors", "gemm", "scales", "precision"):
        assert len(quick[part]) == len(kept[part])
    assert quick["bias"] == kept["bias"] and quick["facts"] == kept["facts"]


def test_the_kept_figures_are_the_sheets(kept: dict[str, Any]) -> None:
    for recipe, want in SHEET.items():
        found = compare.pair(kept["tensors"], "lognormal_1.0", recipe, "sqnr_db")
        assert all(abs(here - there) < 0.05 for here, there in zip(found, want, strict=True))
    before, after = compare.pair(kept["tensors"], "gaussian", E2M1, "sqnr_db")
    assert abs(after - before) < 0.02


@pytest.mark.exhaustive
def test_a_piece_gives_the_kept_figures(kept: dict[str, Any]) -> None:
    found = record.run(None, record.WHOLE, ("tensors", "precision"))
    assert found["tensors"] == kept["tensors"] and found["precision"] == kept["precision"]


def test_every_claim_is_answered_once(kept: dict[str, Any]) -> None:
    rows = compare.rows(kept)
    assert {row.claim.id for row in rows} == set(BY_ID) and len(BY_ID) == len(CLAIMS)
    assert all(bool(row.claim.values) == (row.claim.status != "unknown") for row in rows)
    assert all(row.size == "-" for row in rows if not row.claim.values), "no size beside an unknown value"
    assert all(row.sign == row.size == "-" for row in rows if row.part in ("training", "none"))


def test_a_change_of_sign_is_seen(kept: dict[str, Any]) -> None:
    changed = json.loads(json.dumps(kept))
    for row in changed["tensors"]:
        if row["data"] == compare.OUTLIERS and row["recipe"] == E2M1 and row["transform"]:
            row["sqnr_db"] = 25.0
    for row in changed["depth"]:
        row["eta"] = 1.5 if row["recipe"] == E2M1 else 0.5
    before, after = ({(row.claim.id, row.data): (row.sign, row.size) for row in compare.rows(item)} for item in (kept, changed))
    assert before["e2m1_outlier", "lognormal_1.0"] == ("yes", "yes") and after["e2m1_outlier", "lognormal_1.0"] == ("no", "no")
    assert before["depth", "E2M1"][0] == "yes" and after["depth", "E2M1"][0] == after["depth", "E1M2"][0] == "no"


@pytest.mark.parametrize(
    ("before", "after", "verdict"),
    [
        (0.99, 0.98, "further below 1"),
        (0.99, 0.995, "nearer to 1"),
        (0.99, 1.01, "above 1"),
        (0.99, 0.9901, "same"),
        (1.02, 1.005, "nearer to 1"),
    ],
)
def test_amplification(before: float, after: float, verdict: str) -> None:
    rows = [
        {"data": "x", "recipe": E2M1, "transform": turn, "alpha": alpha, "nmse": 0.01, "elements": 1_000_000}
        for turn, alpha in ((None, before), ("rht16_ufp4", after))
    ]
    assert compare.amplification(rows, "x") == verdict


def test_numbers_are_short() -> None:
    assert short(1 / 3) == 0.333333 and short(None) is None and short(float("inf")) is None and short(float("nan")) is None


@pytest.mark.exhaustive
def test_a_piece_or_a_quick_run_is_no_record(tmp_path: Path, kept: dict[str, Any], quick: dict[str, Any]) -> None:
    path = tmp_path / "r.json"
    for found, words in (
        ({name: kept[name] for name in ("facts", "setting", "bias")}, "not the whole record"),
        ({**kept, "model": None}, "not the whole record"),
        ({**kept, "size": "quick"}, "made with --quick"),
    ):
        path.write_text(record.as_text(found), encoding="utf-8")
        with pytest.raises(FileError, match=words):
            record.read_record(path)
    with pytest.raises(OperandError, match="each is one of"):
        record.run(None, record.QUICK, ("all",))


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["reproduce", "--check", str(ROOT / record.RECORD)]) == 0
    capsys.readouterr()
    assert run(["-q", "reproduce", "--quick", "--part", "bias", "--part", "equivalence"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:2] == ["where", "what"] and sum("bias of" in line for line in lines) == 3


def test_a_stale_record_is_said(tmp_path: Path, kept: dict[str, Any], capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "old.json"
    path.write_text(record.as_text({**kept, "facts": {**kept["facts"], "transform": {}}}), encoding="utf-8")
    assert run(["reproduce", "--check", str(path)]) == 1
    assert "rht16_ufp4: run python -m research reproduce" in capsys.readouterr().out


def test_misuse_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in (
        ["--part", "nothing"],
        ["--out", str(tmp_path / "x.json"), "--part", "bias"],
        ["--check", str(tmp_path / "none.json")],
        ["--quick", "--part", "model", "--model", str(tmp_path)],
        ["--quick", "--part", "bias", "--tensors", str(tmp_path / "none.npz")],
    ):
        assert run(["reproduce", *arguments]) == 2, arguments
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) == 1 and lines[0].startswith("emu: "), lines
