"""The build of CUDA's conversion functions with a compiler that is a script: where it is found, what it is asked, how it fails."""

from __future__ import annotations

from pathlib import Path

import pytest

from emu.base.errors import ToolError
from emu.check.targets.cuda.build import SOURCE, compile_ptx, find_headers, find_nvcc


def toolkit(root: Path, script: str, *headers: str) -> Path:
    """Make a folder look like a toolkit."""
    for name in ("bin/nvcc", *(f"include/{header}" for header in headers)):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    (root / "bin/nvcc").chmod(0o755)
    return root


def test_the_compiler_is_asked_for_ptx_of_an_architecture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_HOME", str(toolkit(tmp_path, 'for last; do :; done; printf "%s " "$@" > "$last"')))
    assert find_nvcc() == tmp_path / "bin/nvcc"
    out = tmp_path / "conversions_sm_90a.ptx"
    assert compile_ptx(tmp_path, "sm_90a") == f"-ptx -arch=sm_90a {SOURCE} -o {out} "


@pytest.mark.parametrize(
    ("script", "said"), [("echo printed; echo 'no sm_1' >&2; echo more >&2; exit 3", "no sm_1"), ("exit 3", "no message")]
)
def test_a_compiler_that_fails_is_one_line(
    script: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CUDA_HOME", str(toolkit(tmp_path, script)))
    with pytest.raises(ToolError, match=f"^nvcc {SOURCE.name}: {said}: needs the CUDA toolkit 12.8 or later$"):
        compile_ptx(tmp_path, "sm_1")
    assert capfd.readouterr() == ("", "")


def test_headers_are_those_of_a_whole_toolkit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Path, "glob", lambda *_: [])  # what lies in /usr/local here
    whole = toolkit(tmp_path / "whole", "", "cuda_fp4.h", "nv/target")
    monkeypatch.setenv("CUDA_HOME", str(whole))
    assert find_headers() == whole / "include"
    monkeypatch.setenv("CUDA_HOME", "")
    monkeypatch.setenv("PATH", str(whole / "bin"))  # beside the nvcc of the path
    assert find_headers() == whole / "include"
    for header in ("cuda_fp4.h", "nv/target"):
        monkeypatch.setenv("CUDA_HOME", str(toolkit(tmp_path / Path(header).name, "", header)))
        with pytest.raises(ToolError, match="not found beside nvcc"):
            find_headers()
