"""CUDA's conversion functions against the policy that names them: on a GPU, and the headers' own host path (no evidence about a GPU)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from emu.base.errors import OperandError, ToolError
from emu.check.run import check
from emu.check.targets.cuda.build import FUNCTIONS, build, compile_ptx, cuda_target, find_headers, find_nvcc, need_device

INSTRUCTIONS = {"cvt.rn.satfinite.e2m1x2.f32", "cvt.rn.satfinite.e4m3x2.f32", "cvt.rn.satfinite.e5m2x2.f32", "cvt.rp.satfinite.ue8m0x2.f32"}


@pytest.fixture(scope="module", params=["host", pytest.param("gpu", marks=pytest.mark.gpu)])
def library(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        if request.param == "gpu":
            need_device()
        find_headers()
    except ToolError as error:
        pytest.skip(str(error))
    return build(tmp_path_factory.mktemp("cuda"), request.param)


@pytest.mark.cases(4)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_functions_follow_the_policy(library: Path, function: str) -> None:
    report = check(cuda_target(function, library), FUNCTIONS[function][1], suites=("directed", "exhaustive"))
    assert report.verdict == "pass", report.text()
    assert report.compared > 60000 or FUNCTIONS[function][0] == "fp32"


def test_a_wrong_policy_is_noticed(library: Path) -> None:
    report = check(cuda_target("fp32_to_e8m0_ru", library), "convert/e8m0/rz/nvidia", suites=("directed",))
    assert report.verdict == "differs"


def test_device_code_compiles_to_conversion_instructions(tmp_path: Path) -> None:
    try:
        find_nvcc()
    except ToolError as error:
        pytest.skip(str(error))
    text = compile_ptx(tmp_path, "sm_100a")
    assert set(re.findall(r"cvt\.[a-z0-9.]+", text)) >= INSTRUCTIONS
    assert text.count(".entry") == len(FUNCTIONS)


def test_without_a_device_or_toolkit_there_is_one_clear_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise OSError

    monkeypatch.setattr("ctypes.CDLL", absent)
    with pytest.raises(ToolError, match="no CUDA device"):
        build(tmp_path)
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    with pytest.raises(ToolError, match="nvcc: not found"):
        find_nvcc()
    with pytest.raises(OperandError, match="one of fp32_to_e2m1"):
        cuda_target("fp32_to_e9m9", tmp_path)
