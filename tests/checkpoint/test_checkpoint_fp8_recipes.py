"""Recipes of FP8 under scales of rows, tensors and tiles: files of libraries are theirs, and what they make is a store's."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file

import emu
from emu.base.errors import FileError, OpenError
from emu.checkpoint import identify_files, read
from emu.checkpoint.candidates import candidates
from emu.checkpoint.convert import convert_checkpoint
from emu.checkpoint.verify import verify_checkpoint
from emu.cli.main import run
from emu.spec import get, names

At = Callable[[str], Path]
CT = "compressed_tensors_fp8"
STORES = [name for name in names("checkpoint") if "_fp8" in name and get("checkpoint", name).facts.write is not None]
OWN = {name: get("checkpoint", name).facts.write.recipe for name in STORES}
WRITTEN = {  # recorded file -> its weights and the recipe whose library wrote it
    f"{CT}_tensor": ("bfloat16", 8, 128, "e4m3_tensor_bf16_compressed_tensors"),
    f"{CT}_row": ("bfloat16", 8, 128, "e4m3_row_bf16_compressed_tensors"),
    f"{CT}_row_fp32": ("float32", 8, 128, "e4m3_row_compressed_tensors"),
    f"{CT}_block": ("bfloat16", 130, 136, "e4m3_tile128_bf16_compressed_tensors"),
    "torchao_fp8_row": ("bfloat16", 8, 128, "e4m3_row_torchao_bf16"),
    "torchao_fp8_tensor": ("float32", 8, 128, "e4m3_tensor_torchao"),
    "deepseek_fp8": ("bfloat16", 128, 256, "e4m3_tile128_transformers"),
}


def tensor(name: str, shape: tuple[int, int]) -> Any:
    """Numbers of a few binades, one of them the largest."""
    bits = np.arange(shape[0] * shape[1], dtype=np.uint32) * np.uint32(2654435761)
    return ((bits & 0x80FFFFFF) % np.uint32(0x2000000) + np.uint32(0x3D000000) | bits & 0x80000000).view(np.float32).reshape(shape)


def test_every_store_has_a_recipe_of_its_own_blocks() -> None:
    assert len(STORES) == 10 and set(WRITTEN) < set(STORES)
    for store, recipe in OWN.items():
        assert get("recipe", recipe).facts.block in get("checkpoint", store).facts.blocks
        assert recipe in [item.id for item in candidates(get("checkpoint", store))]


@pytest.mark.parametrize("name", list(WRITTEN))
def test_a_file_of_a_library_is_that_of_its_recipe(recorded: At, make_files: Any, tmp_path: Path, name: str) -> None:
    """The bytes of the library itself, every code and scale; another recipe that gives them too is named beside it."""
    dtype, rows, columns, recipe = WRITTEN[name]
    modules = make_files.MODULES if rows == 8 else make_files.MODULES[:1]
    save_file({f"{module}.weight": make_files.weight(module, rows, columns, dtype) for module in modules}, tmp_path / "old.safetensors")
    report = identify_files(recorded(name), tmp_path / "old.safetensors")
    assert recipe in report.recipes and report.exit_code == 0
    assert verify_checkpoint(recorded(name), tmp_path / "old.safetensors").exit_code == 0
    assert name != "torchao_fp8_row" or report.recipes == [recipe]  # a scale of bfloat16 is no other's
    for weight in report.tensors:
        assert all(item.verdict in ("identified", "separated") for item in weight.recipes)


@pytest.mark.parametrize(("recipe", "zero", "scale"), [
    ("e4m3_row_torchao", 0xFF, 0), ("e4m3_row_torchao_bf16", 0xFF, 0), ("e4m3_tensor_torchao", 0xFF, 0), ("e4m3_tile128_deepseek", 0xFF, 0),
    ("e4m3_row_compressed_tensors", 0x00, 0x34000000), ("e4m3_row_bf16_compressed_tensors", 0x00, 0x3C00),
    ("e4m3_tensor_bf16_compressed_tensors", 0x00, 0x3C00), ("e4m3_tile128_transformers", None, 0x3F800000),
    ("e4m3_tensor_modelopt", None, 0x3F800000),
])  # fmt: skip
def test_zeros_alone(recipe: str, zero: int | None, scale: int) -> None:
    """0/0 in torchao; the epsilon of the type in compressed-tensors, where -0 loses its sign; 1 in the others, where it keeps it."""
    found = emu.quantize(np.array([[0.0, -0.0]], np.float32), recipe)
    codes = [zero, zero] if zero is not None else [0x00, 0x80]
    assert found.codes.tolist() == [codes] and np.asarray(found.levels[0].codes).reshape(-1).tolist() == [scale]


@pytest.mark.parametrize("shape", [(1, 1), (127, 129), (128, 128), (129, 127), (130, 257), (256, 1)])
def test_tiles_are_cut_at_the_edges(shape: tuple[int, int]) -> None:
    """Each tile is quantized as a matrix of its own is; one scale for each that begins."""
    x = tensor("x", shape)
    for recipe in ("e4m3_tile128_transformers", "e4m3_tile128_bf16_compressed_tensors"):
        found = emu.quantize(x, recipe)
        assert found.codes.shape == shape and found.scales.shape == (-(-shape[0] // 128), -(-shape[1] // 128))
        for row in range(0, shape[0], 128):
            for column in range(0, shape[1], 128):
                part = emu.quantize(x[row : row + 128, column : column + 128], recipe)
                assert np.array_equal(part.codes, found.codes[row : row + 128, column : column + 128])
                assert part.scales.item() == found.scales[row // 128, column // 128]


@pytest.mark.parametrize("recipe", sorted({*OWN.values(), "e4m3_tile128_deepseek"}))
@pytest.mark.parametrize("bits", [0x7F800000, 0xFF800000, 0x7FC00000])
def test_what_is_no_number_is_open(recipe: str, bits: int) -> None:
    x = np.full((2, 3), 0x3F800000, np.uint32)
    x[1, 2] = bits
    with pytest.raises(OpenError, match=f"quantize/{recipe}: "):
        emu.quantize(x, recipe, source="fp32")


@pytest.mark.parametrize("store", STORES)
def test_there_and_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store: str) -> None:
    """emu quantize by the store's recipe, converted as it is: the library's file, known again beside its weights, in chunks of 128 rows."""
    monkeypatch.setattr(read, "CHUNK", 1)
    monkeypatch.chdir(tmp_path)
    save_file({"m.weight": tensor("m", (300, 130))}, "old.safetensors")
    assert run(["quantize", "old.safetensors", "--recipe", OWN[store], "--out", "made.safetensors"]) == 0
    done = convert_checkpoint("made.safetensors", store, "new", rest="old.safetensors")
    assert done.lossless and not done.changed
    report = identify_files("new", "old.safetensors")
    assert OWN[store] in report.recipes and report.exit_code == 0
    assert verify_checkpoint("new", "made.safetensors").exit_code == 0


@pytest.mark.parametrize("store", STORES)
def test_other_weights_are_quantized_again(recorded: At, tmp_path: Path, store: str) -> None:
    """MXFP8 for a store of FP8: as emu.quantize does with the values; counts are of the scales that are stored."""
    done = convert_checkpoint(recorded("compressed_tensors_mxfp8"), store, tmp_path / "new", requantize=True)
    report = identify_files(tmp_path / "new")
    assert report.exit_code == 0 and len(done.changed) == len(report.tensors) == 2
    count = {"tensor": 1, "tile": 1, "row": 8}[OWN[store].split("_")[1].removesuffix("128")]
    for weight in report.tensors:
        change = done.changed[weight.name]
        assert change.recipe == OWN[store] and change.blocks == weight.blocks == count >= change.scales


def test_scales_that_differ_are_counted_once(write: Any, parts: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """300 x 130 in tiles: one scale of six is changed, which 44 rows share; read in chunks of 128 rows."""
    monkeypatch.setattr(read, "CHUNK", 1)
    save_file({"m.weight": tensor("m", (300, 130))}, tmp_path / "old.safetensors")
    monkeypatch.chdir(tmp_path)
    assert run(["quantize", "old.safetensors", "--recipe", OWN["deepseek_fp8"], "--out", "q.safetensors"]) == 0
    convert_checkpoint(tmp_path / "q.safetensors", "deepseek_fp8", tmp_path / "new", rest=tmp_path / "old.safetensors")
    found = parts(tmp_path / "new" / "model.safetensors")
    word, shape, raw = found["m.weight_scale_inv"]
    scales = np.frombuffer(bytes(raw), np.float32).reshape(shape).copy()
    scales[2, 1] *= 2
    write(tmp_path / "bad.safetensors", found | {"m.weight_scale_inv": (word, shape, scales)})
    said = verify_checkpoint(tmp_path / "bad.safetensors", tmp_path / "new").faults
    assert [fault.what for fault in said] == ["0 codes and 1 scales are not those of the original"] and said[0].places == ("row 256",)
    outcome = identify_files(tmp_path / "bad.safetensors", tmp_path / "old.safetensors").tensors[0].recipes[0]
    assert "0 of 39000 codes and 1 of 6 scales differ" in outcome.why


def test_a_stack_is_not_quantized_into_tiles_that_cross_it(write: Any, tmp_path: Path) -> None:
    codes, scales = np.full((2, 64, 32), 0x38, np.uint8), np.full((2, 64, 1), 0x7F, np.uint8)
    parts = {"m.weight": ("F8_E4M3", codes.shape, codes), "m.weight_scale": ("U8", scales.shape, scales)}
    source = write(tmp_path / "in.safetensors", parts)
    with pytest.raises(FileError, match="a stack of matrices of 64 rows in tiles of 128: how the stack is tiled is not known"):
        convert_checkpoint(source, "deepseek_fp8", tmp_path / "new", requantize=True)
    assert convert_checkpoint(source, f"{CT}_row_fp32", tmp_path / "row", requantize=True).changed


def test_of_several_stores_that_fit_the_one_that_is_wanted_is_read(write: Any, tmp_path: Path) -> None:
    """4 x 8 under one scale: a tile that is cut, and a tensor."""
    parts = {"m.weight": ("F8_E4M3", (4, 8), np.full((4, 8), 0x38, np.uint8)), "m.weight_scale": ("F32", (1, 1), np.ones((1, 1), "<f4"))}
    source = write(tmp_path / "in.safetensors", parts)
    for store in ("torchao_fp8_tensor", "torchao_fp8_row", "deepseek_fp8", f"{CT}_tensor_fp32"):
        assert convert_checkpoint(source, store, tmp_path / store).lossless


def test_a_tensor_of_another_type_is_not_called_missing(write: Any, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    parts = {"m.weight": ("F8_E4M3", (4, 8), np.full((4, 8), 0x38, np.uint8)), "m.weight_scale": ("F16", (4, 1), np.ones((4, 1), "<f2"))}
    source = write(tmp_path / "in" / "model.safetensors", parts).parent
    said = {"quantization_config": {"config_groups": {"g": {"weights": {"strategy": "channel"}}}}}
    (source / "config.json").write_text(json.dumps(said))
    with pytest.raises(FileError, match=r"m\.weight is of no store: .*m\.weight_scale as .*, which is F16\)"):
        convert_checkpoint(source, "deepseek_fp8", tmp_path / "new")


def test_equal_scales_of_rows_are_no_tiles(write: Any, tmp_path: Path) -> None:
    codes, scales = np.full((32, 8), 0x38, np.uint8), np.ones((32, 1), "<f4")
    parts = {"m.weight": ("F8_E4M3", codes.shape, codes), "m.weight_scale": ("F32", scales.shape, scales)}
    assert not identify_files(write(tmp_path / "in.safetensors", parts)).tensors[0].notes
