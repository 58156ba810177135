"""Null pairs of the study: other signs and other seeds are other figures, and the first row is what the study itself measures."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emu.analysis.drawn_tensors import drawn
from research.pages.shrinkage_intervals import depth_leads, leads, shifts
from research.reproduction import nulls, record
from research.reproduction.cells import Pair, Tensor, gemm_row, tensor_row

pytestmark = pytest.mark.usefixtures("study_recipes")

E2M1, E1M2 = record.GRIDS
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="module")
def kept() -> dict[str, Any]:
    return record.read_record(ROOT / record.RECORD)


def test_the_first_signs_are_those_of_the_study() -> None:
    tensor = Tensor("x", "drawn", drawn("laplace", (64, 64), 3))
    (row,) = nulls.tensor_rows(tensor, [E2M1])
    given, turned = (tensor_row(tensor, E2M1, rotated) for rotated in (False, True))
    assert row["given"] == [given["sqnr_db"], given["alpha"]] and row["rotated"][0] == [turned["sqnr_db"], turned["alpha"]]
    assert len({tuple(figures) for figures in row["rotated"]}) == nulls.MASKS == len(set(nulls.masks()))
    pair = Pair("p", tensor.values, drawn("gaussian", (16, 64), 4))
    (product,) = nulls.gemm_rows(pair, [E1M2])
    assert product["rotated"][0] == [gemm_row(pair, E1M2, True)[name] for name in ("sqnr_db", "eta")]


def test_a_row_of_the_record_is_made_again(kept: dict[str, Any]) -> None:
    wanted = next(row for row in kept["nulls"]["drawn"] if (row["data"], row["seed"]) == ("student_t3", 2))
    tensor = Tensor("student_t3", "drawn", drawn("student_t3", tuple(kept["nulls"]["shape"]), 2))
    assert {**next(iter(nulls.tensor_rows(tensor, [wanted["recipe"]]))), "seed": 2} == wanted


def test_comparisons_are_those_of_the_rows(kept: dict[str, Any]) -> None:
    rows = {(row["seed"], row["recipe"]): row for row in kept["nulls"]["drawn"] if row["data"] == "gaussian"}
    value = np.mean([figures[0] for figures in rows[1, E1M2]["rotated"]]) - rows[1, E2M1]["given"][0]
    first = leads(kept)[0]
    assert len(first.values) == record.WHOLE.null_seeds and abs(first.values[0] - value) < 1e-12
    assert [len(leads(kept)), len(shifts(kept))] == [7 + 4 + 6 + 6, 7 + 4 + 6]


def test_chains_under_the_first_signs_are_those_of_the_record(kept: dict[str, Any]) -> None:
    head = {"chain": "residual", "recipe": E1M2, "transform": "rht16_ufp4", "layers": 24}
    (row,) = [row for row in kept["depth"] if head.items() <= row.items()]
    each = zip(row["eta_each"], row["cosine_each"], strict=True)
    assert [item["rotated"][0] for item in kept["nulls"]["depth"]] == [list(pair) for pair in each]
    gain, cosine = depth_leads(kept)
    assert 0 < cosine.found.mean < gain.found.mean and len(gain.values) == 3
