"""Files of DeepSeek's later models: what no store has is named as it lies there, power-of-two scales are not called wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

import emu
from emu.checkpoint import identify_files
from emu.checkpoint.convert import convert_checkpoint
from emu.cli.main import run

Write = Callable[..., Path]
FP8 = {"quant_method": "fp8", "fmt": "e4m3", "scale_fmt": "ue8m0", "weight_block_size": [128, 128]}
E4M3 = ("F8_E4M3", (128, 128), np.full((128, 128), 0x38, np.uint8))
TILE = ("F8_E8M0", (1, 1), np.array([[120]], np.uint8))
I8 = ("I8", (4, 64), np.arange(256, dtype=np.uint8).reshape(4, 64))
SCALES = ("F8_E8M0", (4, 4), np.full((4, 4), 120, np.uint8))


@pytest.mark.parametrize("command", ["identify --quantized", "verify-checkpoint", "convert-checkpoint --to deepseek_fp8 --out new"])
@pytest.mark.parametrize(("tensors", "config", "told"), [
    ({"m.weight": E4M3, "m.scale": TILE}, {"quantization_config": FP8}, "m.scale F8_E8M0 [1, 1] (deepseek_fp8 needs m.weight_scale_inv, "),
    ({"m.weight": E4M3, "m.scale": TILE}, {}, "m.weight F8_E4M3 [128, 128], m.scale F8_E8M0 [1, 1]: a store of your own"),
    ({"m.weight": I8, "m.scale": SCALES}, {}, "m.weight I8 [4, 64], m.scale F8_E8M0 [4, 4]: a store of your own"),
])  # fmt: skip
def test_what_no_store_has_is_named_as_it_lies_there(
    command: str, tensors: Any, config: Any, told: str, write: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "in" / "model.safetensors", tensors)
    (tmp_path / "in" / "config.json").write_text(json.dumps(config), encoding="utf-8")
    first, *more = command.split()
    assert run([first, *more, "in"] if first == "identify" else [first, "in", *more]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1 and told in error and "fetch" not in error and not Path("new").exists()


def test_experts_are_read_where_the_file_says_what_an_int8_is(write: Write, tmp_path: Path) -> None:
    write(tmp_path / "in" / "model.safetensors", {"layers.0.ffn.experts.0.w1.weight": I8, "layers.0.ffn.experts.0.w1.scale": SCALES})
    (tmp_path / "in" / "config.json").write_text(json.dumps({"expert_dtype": "fp4"}), encoding="utf-8")
    report = identify_files(tmp_path / "in")
    assert report.stores == {"deepseek_v4_experts": 1} and report.exit_code == 0
    assert convert_checkpoint(tmp_path / "in", "compressed_tensors_mxfp4", tmp_path / "new").lossless


def test_scales_that_are_powers_of_two_are_not_called_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Tiles of 128 x 128 as DeepGEMM makes them: the smallest power of two that holds the largest magnitude, codes to nearest even."""
    rng = np.random.default_rng(3)
    x = rng.standard_normal((256, 128)).astype(np.float32)
    tops = np.abs(x).reshape(2, 128, 128).max((1, 2)).astype(np.float64)
    scales = 2.0 ** np.ceil(np.log2(tops / 448))  # far from its steps
    assert (tops <= 448 * scales).all() and (tops > 224 * scales).all()
    codes = emu.convert(x / np.repeat(scales, 128)[:, None], "e4m3")
    save_file({"m.weight": x}, tmp_path / "old.safetensors")

    def judged(stored: Any, units: Any) -> int:
        (tmp_path / "in").mkdir(exist_ok=True)
        import ml_dtypes

        tensors = {"m.weight": stored.view(ml_dtypes.float8_e4m3fn), "m.weight_scale_inv": units.reshape(2, 1).astype(np.float32)}
        save_file(tensors, tmp_path / "in" / "model.safetensors")
        (tmp_path / "in" / "config.json").write_text(json.dumps({"quantization_config": FP8}), encoding="utf-8")
        return run(["verify-checkpoint", str(tmp_path / "in"), "--original", str(tmp_path / "old.safetensors")])

    assert judged(codes, scales) == 3
    said = capsys.readouterr().out
    assert (
        "its scales are powers of two, and no recipe that makes such is known" in said and "every one of 32768 codes is the nearest" in said
    )
    codes[3, 4] ^= 1
    assert judged(codes, scales) == 3 and "1 of 32768 codes are not the nearest to the original" in capsys.readouterr().out
    text = identify_files(tmp_path / "in", tmp_path / "old.safetensors").text()
    assert "not judged: m.weight: its scales are powers of two" in text and "departs" not in text
    real = emu.quantize(x, "e4m3_tile128_deepseek")
    stored = np.asarray(real.codes).copy()
    found = np.asarray(real.scales).view(np.float32)
    assert judged(stored, found) == 0
    stored[3, 4] ^= 1
    assert judged(stored, found) == 1  # of a recipe that the spec knows, one wrong code is wrong
