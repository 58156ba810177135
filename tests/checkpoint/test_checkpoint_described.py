"""Files of emu quantize as a store: converted with every code and scale, refused where no library could hold them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from support.quantized_header import change_about

from emu import quantize
from emu.base.errors import FileError
from emu.checkpoint import identify_files
from emu.checkpoint.container import open_checkpoint
from emu.checkpoint.convert import convert_checkpoint
from emu.checkpoint.verify import verify_checkpoint
from emu.cli.main import run

NAME = "model.layers.0.mlp.up_proj"
PARTS = {  # of each store: codes, scales, tensor factor
    "modelopt_nvfp4": (".weight", ".weight_scale", ".weight_scale_2"),
    "compressed_tensors_nvfp4": (".weight_packed", ".weight_scale", ".weight_global_scale"),
    "compressed_tensors_mxfp4": (".weight_packed", ".weight_scale", None),
    "mlx_nvfp4": (".weight", ".scales", None),
}
Made = Callable[..., Path]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A model of one layer beside an embedding, a norm and a bias."""
    rng = np.random.default_rng(5)
    (tmp_path / "model").mkdir()
    tensors = {
        f"{NAME}.weight": rng.standard_normal((6, 64), np.float32), f"{NAME}.bias": np.ones(6, np.float32),
        "model.embed_tokens.weight": np.ones((4, 32), np.float32), "model.norm.weight": np.ones(64, np.float32),
    }  # fmt: skip
    save_file(tensors, tmp_path / "model" / "model.safetensors")
    (tmp_path / "model" / "config.json").write_text(json.dumps({"architectures": ["Some"]}))
    return tmp_path / "model"


@pytest.fixture
def made(model: Path, tmp_path: Path) -> Made:
    """A function: recipe and further words of emu quantize -> its file of the model."""

    def write(recipe: str, *words: str, source: Path = model, out: str = "q") -> Path:
        path = tmp_path / f"{out}.safetensors"
        assert run(["quantize", str(source), "-r", recipe, "-o", str(path), "--quiet", *words]) == 0
        return path

    return write


@pytest.mark.parametrize(("recipe", "store", "to"), [
    ("nvfp4_modelopt", "emu_nvfp4_multiplier", "modelopt_nvfp4"),
    ("nvfp4_compressed_tensors", "emu_nvfp4_divisor", "compressed_tensors_nvfp4"),
    ("nvfp4_torchao_1level", "emu_nvfp4_1level", "mlx_nvfp4"),
    ("mxfp4_torchao_rceil", "emu_mxfp4", "compressed_tensors_mxfp4"),
])  # fmt: skip
def test_codes_and_scales_are_those_of_the_recipe(made: Made, model: Path, tmp_path: Path, recipe: str, store: str, to: str) -> None:
    path = made(recipe)
    done = convert_checkpoint(path, to, tmp_path / "new", rest=model)
    weights = load_file(model / "model.safetensors")
    wanted = quantize(weights.pop(f"{NAME}.weight"), recipe)
    new, (codes, scale, factor) = open_checkpoint(tmp_path / "new"), PARTS[to]
    found = {name: new.raw(entry).tobytes() for name, entry in new.entries.items()}
    assert done.lossless and found[NAME + codes] == wanted.pack().tobytes()
    assert found[NAME + scale] == np.asarray(wanted.scales).tobytes()
    if factor is not None:
        assert found[NAME + factor] == np.asarray(wanted.tensor_scale).tobytes()
    assert all(found[name] == value.tobytes() for name, value in weights.items())
    assert sorted(done.kept) == sorted(weights) and done.absent == []
    assert json.loads((tmp_path / "new" / "config.json").read_text())["architectures"] == ["Some"]
    report = identify_files(path, model)
    assert report.stores == {store: 1} and report.exit_code == 0 and recipe in report.recipes
    assert verify_checkpoint(tmp_path / "new", path).compared == 1 and verify_checkpoint(path, model).exit_code == 0


@pytest.mark.parametrize(("recipe", "store"), [("nvfp4_te_ref", "emu_nvfp4"), ("nvfp4_te_4over6_mse_256", "emu_nvfp4_256"),
                                               ("nvfp4_f46_static_4", "emu_nvfp4_1792")])  # fmt: skip
def test_a_stored_maximum_is_read_as_one(made: Made, model: Path, tmp_path: Path, recipe: str, store: str) -> None:
    path = made(recipe)
    assert identify_files(path).stores == {store: 1} and verify_checkpoint(path, model).exit_code == 0
    with pytest.raises(FileError, match="as a multiplier is no binary32 number: --round-factor"):
        convert_checkpoint(path, "modelopt_nvfp4", tmp_path / "new")
    assert list(convert_checkpoint(path, "modelopt_nvfp4", tmp_path / "new", True).rounded) == [f"{NAME}.weight"]


def test_what_the_file_lacks_is_said_or_copied(made: Made, model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = made("nvfp4_modelopt"), tmp_path / "new"
    capsys.readouterr()
    assert run(["convert-checkpoint", str(path), "--to", "modelopt_nvfp4", "--out", str(out)]) == 0
    assert "not there: 3 tensors that emu quantize left out, such as model.embed_tokens.weight: --rest" in capsys.readouterr().err
    weights = load_file(model / "model.safetensors")
    save_file({name: value for name, value in weights.items() if "norm" not in name}, model / "model.safetensors")
    for rest, told in ((model, r"model: lacks model.norm.weight, which .* leaves out"), (path, "is not the model before quantization")):
        with pytest.raises(FileError, match=told):
            convert_checkpoint(path, "modelopt_nvfp4", tmp_path / "other", rest=rest)
    assert not (tmp_path / "other").exists()


@pytest.mark.parametrize("command", [("convert-checkpoint", "{}", "--to", "modelopt_nvfp4", "--out", "new"),
                                     ("identify", "--quantized", "{}"), ("verify-checkpoint", "{}")])  # fmt: skip
@pytest.mark.parametrize(("recipe", "words", "columns", "told"), [
    ("nvfp4_modelopt", ("--axis", "0", "--row-axis", "1"), 64, "its blocks lie along axis 0, not along the last one as in other stores"),
    ("nvfp4_modelopt", (), 40, "its rows of 40 elements are padded to 48, and other stores have no place for that"),
    ("nvfp4_te_ref", (), 40, "its rows of 40 elements are no multiple of 16"),
])  # fmt: skip
def test_another_axis_and_padding_are_refused(
    made: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
    command: tuple[str, ...], recipe: str, words: tuple[str, ...], columns: int, told: str,
) -> None:  # fmt: skip
    np.save(tmp_path / "x.npy", np.ones((32, columns), np.float32))
    path = made(recipe, *words, source=tmp_path / "x.npy")
    capsys.readouterr()
    monkeypatch.chdir(tmp_path)
    assert run([word.format(path) for word in command]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"emu: {path}: array: {told}") and error.count("\n") == 1 and not Path("new").exists()


def test_a_tensor_without_a_name_is_converted(made: Made, tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.arange(64, dtype=np.float32).reshape(2, 32))
    done = convert_checkpoint(made("mxfp4_torchao_floor", source=tmp_path / "x.npy"), "gpt_oss_mxfp4", tmp_path / "new")
    assert done.weights == ["array"] and done.lossless


def test_bytes_and_headers_that_contradict_each_other_are_refused(made: Made, model: Path, tmp_path: Path) -> None:
    def tensor(**words: object) -> Callable[[dict[str, Any]], None]:
        return lambda about: about["tensors"][f"{NAME}.weight"].update(words)

    cases = [
        (tensor(shape=[6, 32], codes_shape=[6, 32]), r"codes of shape \[6, 32\] for a tensor of \[6, 32\]: quantize again"),
        (tensor(axis="last"), "its metadata is damaged"),
        (tensor(sha256="0" * 64), "its bytes or what is said of it are not those that emu quantize wrote"),
        (tensor(signs="0xD7E8"), "its bytes or what is said of it are not those that emu quantize wrote"),
        (lambda about: about.update(tensors={}), "the header that was read says nothing of it"),
        (lambda about: about["recipes"]["nvfp4_modelopt"].update(digest="0"), "was written under other facts of recipe nvfp4_modelopt"),
        (lambda about: about.update(version=1), "is written in version 1; this emu reads"),
    ]  # fmt: skip
    for number, (change, told) in enumerate(cases):
        path = change_about(made("nvfp4_modelopt", out=f"q{number}"), change)
        with pytest.raises(FileError, match=told):
            convert_checkpoint(path, "modelopt_nvfp4", tmp_path / "new")
    damaged = made("nvfp4_modelopt", out="damaged")
    raw = bytearray(damaged.read_bytes())
    raw[-1] ^= 1
    damaged.write_bytes(raw)
    assert [fault.what for fault in verify_checkpoint(damaged).faults] == [
        "its bytes or what is said of it are not those that emu quantize wrote: damaged"
    ]
    assert not (tmp_path / "new").exists()


def test_two_files_in_a_folder_are_never_taken_for_one(made: Made, tmp_path: Path) -> None:
    """A divisor read as a multiplier would be another number."""
    np.save(tmp_path / "x.npy", np.ones((2, 16), np.float32))
    (tmp_path / "both").mkdir()
    made("nvfp4_compressed_tensors", out="both/a")
    made("nvfp4_modelopt", source=tmp_path / "x.npy", out="both/b")
    with pytest.raises(FileError, match="the header that was read says nothing of it: name one file of emu quantize, not several"):
        convert_checkpoint(tmp_path / "both", "modelopt_nvfp4", tmp_path / "new")
