"""A small build of golden vectors, shared by the tests of this folder; every test that changes it takes a copy."""

import shutil
from pathlib import Path

import pytest

from emu.vectors import build

CONTRACTS = (
    "decode/e2m1",
    "decode/ue4m3",
    "convert/e2m1/rne/nvidia",
    "convert/e2m1/sr_add8/nvidia",
    "quantize/nvfp4_te_ref",
    "transform/rht16_ufp4",
)


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of smoke suites of every kind and two decode tables."""
    out = tmp_path_factory.mktemp("vectors") / "small"
    build(out, ["smoke"], CONTRACTS[2:])
    build(out, ["all"], CONTRACTS[:2])
    build(out, ["smoke"], ["dequantize/nvfp4_te_ref/te"])
    return out


@pytest.fixture
def copy(built: Path, tmp_path: Path) -> Path:
    """A copy of the small build that a test may damage."""
    return Path(shutil.copytree(built, tmp_path / "copy"))
