"""The published verdicts of other libraries' kernels: a change shows up here. What is not installed skips, with its reason."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from emu.check.libraries.model import kernels
from tools.foreign_kernels import examine

ROOT = Path(__file__).parents[3]
RECORD = json.loads((ROOT / "docs/evidence/foreign_kernels.json").read_text("utf-8"))
ROWS = {row["kernel"]: row for row in RECORD["rows"]}
pytestmark = pytest.mark.filterwarnings("ignore")  # of the libraries
EVERYWHERE = ("ml_dtypes", "gfloat")  # installed with the extra [test]


def asked(heavy: bool) -> list[Any]:
    return [
        pytest.param(kernel, id=kernel.id) for kernel in kernels() if kernel.id in ROWS and (kernel.library.name not in EVERYWHERE) == heavy
    ]


def compare(kernel: Any, suite: str) -> None:
    name = kernel.library.name
    found, published = kernel.library.version, RECORD["libraries"][name]["version"]
    if found is None:
        pytest.skip(f"{kernel.library.package} is not installed: .ci/foreign makes an environment with it")
    if found.partition("+")[0] != published.partition("+")[0]:
        pytest.skip(f"{kernel.library.package} {found} is installed, the record is about {published}: make it again")
    report = examine(kernel, suite)
    want = ROWS[kernel.id]["suites"].get(suite, {"compared": 0, "differing": 0})
    assert {"compared": report.compared, "differing": report.differing} == want


@pytest.mark.cases(1, 16)
@pytest.mark.parametrize("kernel", asked(heavy=False))
def test_kernels_in_the_test_environment_are_as_published(kernel: Any) -> None:
    compare(kernel, "directed")


@pytest.mark.parametrize("kernel", asked(heavy=True))
def test_kernels_of_installed_libraries_are_as_published(kernel: Any) -> None:
    compare(kernel, "directed")


@pytest.mark.cases(0, 18)
@pytest.mark.parametrize("kernel", asked(heavy=False))
def test_every_bf16_pattern_is_as_published(kernel: Any) -> None:
    compare(kernel, "exhaustive")


def test_every_row_of_the_record_is_a_kernel() -> None:
    assert set(ROWS) <= {kernel.id for kernel in kernels()}


def test_the_default_environment_asks_some() -> None:
    assert len(asked(heavy=False)) >= 20
