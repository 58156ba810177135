"""The scripts that take evidence from a GPU: they refuse without one, and what they compute around the GPU is right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tools.bench import gpu


def test_pairs_hold_every_element_beside_every_maximum() -> None:
    for lanes in (16, 32):
        rows = gpu.pairs(0x3F80, 2, lanes).reshape(2, -1, lanes)
        for row in range(2):
            assert (rows[row, :, 0] == 0x3F80 + row).all()
            np.testing.assert_array_equal(np.unique(rows[row, :, 1:]), np.arange(1 << 16))


def test_shares_count_bytes_against_the_copy() -> None:
    copy, half = gpu.shares({"copy": (2.0, 4e6), "half": (2.0, 2e6)})
    assert copy == {"job": "copy", "ms": 2.0, "gb_per_s": 2.0, "share_of_copy": 1.0}
    assert half["share_of_copy"] == 0.5


@pytest.mark.parametrize("recipe", ["ufp4", "nvfp4_te_ref"])
def test_a_sweep_finds_nothing_and_a_wrong_kernel_is_noticed(torch: Any, device: str, recipe: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = gpu.sweep(recipe, device, iter([0x3F85]), 1)
    assert found == {"recipe": recipe, "elements": 4370 * 16, "differing": 0}
    other = {"ufp4": "e1m2_fp32scale", "nvfp4_te_ref": "nvfp4_te_cuda"}[recipe]
    from emu.engines.torch.triton import quantize as module

    right = module.quantize
    monkeypatch.setattr(module, "quantize", lambda x, _recipe, **operands: right(x, other, **operands))
    assert gpu.sweep(recipe, device, iter([0x3F85]), 1)["differing"] > 0


def test_no_gpu_is_one_line_and_no_file(torch: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if torch.cuda.is_available():
        pytest.skip("this machine has a CUDA device")
    from emu.check.targets.cuda.__main__ import main

    assert gpu.main([str(tmp_path / "gpu.json")]) == main([str(tmp_path / "conversions.json")]) == 5
    assert gpu.main([]) == gpu.main(["a", "b"]) == gpu.main(["a", "--fast"]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 5 and all(line.startswith("emu: ") for line in lines) and "no CUDA device" in lines[0]
    assert not list(tmp_path.iterdir())


def test_the_page_claims_no_number_that_nobody_took(checkout: Path) -> None:
    text = (checkout / "docs/gpu_evidence.md").read_text()
    assert (checkout / "docs/evidence/gpu.json").is_file() != ("No number on this page was taken on a GPU" in text)
