"""The study as a whole: its record fits the spec, its page is the record, a small run gives the recorded figures; the command."""

import json
from pathlib import Path

import numpy as np
import pytest

from emu.analysis.cells import load_recipes
from emu.base.errors import FileError, OperandError
from emu.ops import functions as api
from research.__main__ import run
from research.datapath import study
from research.datapath.data import Data, synthetic
from research.datapath.errors import (
    DATAPATHS,
    RECIPES,
    SIGNS,
    cell_of,
    datapath_errors,
    error_rows,
    null_row,
    plans_of,
    quantized,
    result_of,
)
from research.pages.charts import same_data
from research.pages.datapath_errors import PAGE, RECORD, study_pages

ROOT = Path(__file__).resolve().parents[3]
PICTURE_BYTES = 60_000


@pytest.fixture(scope="module")
def record() -> dict:
    return study.read_record(ROOT / RECORD)


@pytest.fixture(scope="module")
def data() -> dict[str, Data]:
    load_recipes()
    return {item.name: item for item in synthetic()}


@pytest.fixture(scope="module")
def small() -> Data:
    load_recipes()
    return next(item for item in synthetic(4, 128) if item.name == "wide_range")


def test_the_record_fits_the_spec(record: dict) -> None:
    assert study.stale(record) == []


@pytest.mark.exhaustive
def test_a_changed_fact_makes_it_stale(record: dict) -> None:
    changed = json.loads(json.dumps(record))
    changed["recipes"][0]["digest"] = changed["datapaths"]["cheap"] = "0"
    assert study.stale(changed) == [record["recipes"][0]["recipe"], "cheap"]
    del changed["datapaths"]["promote"]
    assert "promote" in study.stale(changed)


def test_the_page_is_the_record() -> None:
    """Page and pictures are what `python -m tools.docs build` makes of the record."""
    found = study_pages(ROOT)
    assert PAGE in found and len(found) == 4
    for path, text in found.items():
        there = (ROOT / path).read_text(encoding="utf-8")
        assert there == text or (path.endswith(".svg") and same_data(there, text)), f"{path}: run python -m tools.docs build"
        assert len(text.encode()) < PICTURE_BYTES


def test_the_record_is_whole(record: dict) -> None:
    """Every recipe on all data, rotated and not, and every datapath that takes it; a lost bit is shown."""
    cells = {(row["data"], row["recipe"], row["rotation"] != "none") for row in record["errors"]}
    assert cells == {(item["name"], recipe, transposed) for item in record["data"] for recipe in RECIPES for transposed in (False, True)}
    assert {name for row in record["errors"] for name in row["datapaths"]} == set(DATAPATHS)
    assert sum(item["name"].startswith("minilm") for item in record["data"]) == 4
    assert record["proof"]["loss"]["code"] != record["proof"]["loss"]["wider"]


@pytest.mark.parametrize(("name", "recipe", "rotated"), [("gaussian", "nvufp4", False), ("wide_range", "nvfp4_te_ref", True)])
def test_a_small_run_gives_the_recorded_figures(name: str, recipe: str, rotated: bool, record: dict, data: dict[str, Data]) -> None:
    found = error_rows(data[name], recipe, rotated)
    kept = [row for row in record["errors"] if {**found, "quantization": 0, "datapaths": 0} == {**row, "quantization": 0, "datapaths": 0}]
    assert kept == [found]


def test_cells_are_elements_times_scales() -> None:
    load_recipes()
    assert {cell_of(recipe)[:2] for recipe in RECIPES} == {
        *((element, scale) for scale in ("ue4m3", "ue5m3", "e8m0", "fp32") for element in ("e2m1", "e1m2", "int4")),
        ("e0m3", "ue4m3"),
    }


@pytest.mark.parametrize("recipe", ["nvfp4_te_ref", "study_int4_ue5m3", "mxe1m2_floor", "e1m2_fp32scale"])
def test_engines_give_the_same_figures(recipe: str, small: Data) -> None:
    found = quantized(small, recipe, False)
    plans = list(plans_of(found))
    assert plans
    for plan in plans:
        assert datapath_errors(found, plan, "exact") == datapath_errors(found, plan, "auto")


def test_ideal_results_of_one_instruction_are_nearest(small: Data) -> None:
    """K = 64: one rounding to nearest, so every result is the nearest; the int64 register also for longer K."""
    one = Data("one", "", small.a[:, :64], small.b[:, :64])
    found = quantized(one, "nvufp4", False)
    (plan,) = plans_of(found, ["ideal"])
    assert datapath_errors(found, plan).nearest == 1.0
    whole = quantized(small, "nvufp4", False)
    (register,) = plans_of(whole, ["int64"])
    assert datapath_errors(whole, register).nearest == 1.0


def test_ufp4_is_the_rotated_cell(small: Data) -> None:
    """What the page calls `e1m2_fp32scale` rotated is the recipe ufp4, code by code."""
    rotated = quantized(small, "e1m2_fp32scale", True)
    direct = api.quantize(small.a, "ufp4", signs=SIGNS)
    assert (direct.codes == rotated.a.codes).all() and (direct.scales == rotated.a.scales).all()


def test_int4_is_the_uniform_grid_times_four(small: Data) -> None:
    """With scales that can be divided by four, INT4 and E1M2 quantize alike: same exact products."""
    for int4, uniform in (
        ("study_int4_fp32scale", "e1m2_fp32scale"),
        ("study_mxint4", "mxe1m2_floor"),
        ("study_int4_ue5m3", "study_e1m2_ue5m3"),
    ):
        first, second = (quantized(small, name, False).exact.values() for name in (int4, uniform))
        assert np.array_equal(first, second)


def test_e0m3_stands_for_int4_without_its_lowest_code(small: Data) -> None:
    """Under scales where both are quantized alike, every datapath gives the same results."""
    first, second = (quantized(small, name, False) for name in ("study_int4_ue5m3", "study_e0m3_ue5m3"))
    plans = [list(plans_of(found)) for found in (first, second)]
    assert len(plans[0]) == len(plans[1]) > 2
    for one, other in zip(*plans, strict=True):
        assert np.array_equal(result_of(first, one).view(np.ndarray), result_of(second, other).view(np.ndarray))


def test_other_signs_are_other_errors(record: dict, data: dict[str, Data]) -> None:
    (kept,) = [row for row in record["nulls"] if (row["data"], row["recipe"]) == ("gaussian", "nvufp4")]
    assert null_row(data["gaussian"], "nvufp4") == kept and len(set(kept["rotated"])) == len(kept["signs"])


@pytest.mark.exhaustive
def test_the_command_prints_a_piece(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["-q", "datapath", "--part", "errors", "--only", "gaussian", "--only", "mxe1m2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 1 + 2 * 4 and lines[0].split()[:2] == ["data", "recipe"]
    assert run(["datapath", "--check", str(ROOT / RECORD)]) == 0


def test_misuse_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["datapath", "--out", str(tmp_path / "x.json"), "--part", "proof"]) == 2
    assert run(["datapath", "--check", str(tmp_path / "none.json")]) == 2
    assert run(["datapath", "--part", "errors", "--only", "minilm", "--model", str(tmp_path)]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 3
    with pytest.raises(OperandError, match="each is one of"):
        study.run(None, ["all"])


def test_a_piece_is_no_record(tmp_path: Path, record: dict) -> None:
    path = tmp_path / "piece.json"
    path.write_text(study.as_text({name: record[name] for name in ("data", "recipes", "datapaths")}), encoding="utf-8")
    with pytest.raises(FileError, match="not the whole record"):
        study.read_record(path)
    path.write_text(study.as_text(record), encoding="utf-8")
    assert study.read_record(path) == record
