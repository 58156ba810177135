"""Damage is named with its first rows; a tensor that another recipe wrote is told from the rest; factors that stand the wrong way round."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from emu.checkpoint import identify_files

At = Callable[[str], Path]
Q, K = (f"model.layers.0.self_attn.{name}_proj" for name in "qk")


@pytest.fixture
def changed(recorded: At, parts: Any, write: Any, tmp_path: Path) -> Callable[..., Path]:
    """A function: recorded file, tensor, change of its bytes -> a file with them changed."""

    def make(name: str, tensor: str, change: Callable[[Any], None]) -> Path:
        found = parts(recorded(name) / "model.safetensors")
        change(found[tensor][2])
        return write(tmp_path / "model.safetensors", found)

    return make


def put(place: int, byte: int) -> Callable[[Any], None]:
    def change(data: Any) -> None:
        data[place] = byte

    return change


@pytest.mark.parametrize(
    ("name", "tensor", "place", "byte", "what", "first"),
    [
        ("modelopt_nvfp4", f"{Q}.weight_scale", 9, 0x7F, "a NaN scale", "row 1 block 1: scale 7F, codes "),
        ("modelopt_nvfp4", f"{Q}.weight_scale", 9, 0xF0, "a scale with bit 7 set, which is negative or no scale", "row 1 block 1: "),
        ("modelopt_nvfp4", f"{Q}.weight_scale", 0, 0x00, "codes that are not zero under the scale zero", "row 0 block 0: scale 00, codes "),
        ("modelopt_nvfp4", f"{Q}.weight_scale_2", 3, 0xB8, "the tensor factor is negative", "row 0 block 0: bits B8"),
        ("compressed_tensors_nvfp4", f"{Q}.weight_global_scale", 3, 0x7F, "the tensor factor is NaN", "row 0 block 0: bits 7F"),
        ("torchao_nvfp4_1level", f"{Q}._weight_scale", 63, 0x7F, "a NaN scale", "row 7 block 7: scale 7F"),
    ],
)  # fmt: skip
def test_damage_is_named(changed: Any, name: str, tensor: str, place: int, byte: int, what: str, first: str) -> None:
    if what.endswith("NaN"):
        found = identify_files(changed(name, tensor, lambda data: data.__setitem__(slice(2, 4), [0xC0, 0x7F])))
    else:
        found = identify_files(changed(name, tensor, put(place, byte)))
    assert found.exit_code == 1 and [item.name for item in found.damaged] == [f"{Q}.weight"]
    damage = {text: (count, places) for text, count, places in found.damaged[0].damage}
    assert list(damage) == [what] and damage[what][0] == 1 and damage[what][1][0].startswith(first)
    assert f"damaged: {Q}.weight: {what}" in found.text()


def test_a_nan_scale_of_a_store_without_nan_is_no_damage(changed: Any) -> None:
    assert identify_files(changed("compressed_tensors_mxfp4", f"{Q}.weight_scale", put(5, 0xFF))).damaged == []
    torchao = identify_files(changed("torchao_mxfp4_floor", f"{Q}._weight_scale", put(5, 0xFF)))
    assert [item.name for item in torchao.damaged] == [f"{Q}.weight"]


def test_one_block_is_enough_to_exclude_a_recipe(changed: Any) -> None:
    """A single block of zeros under another scale than the recipe gives it."""
    found = identify_files(changed("modelopt_nvfp4", f"{Q}.weight_scale", put(10, 0x08)))
    why = {item.recipe: (item.verdict, item.why) for item in found.tensors[1].recipes}["nvfp4_modelopt"]
    text = "1 of 64 blocks are none of it: row 1 block 2 has scale 08 and largest code 0"
    assert why == ("separated", text) and {item.verdict for item in found.tensors[1].recipes} == {"separated", "unobservable"}


def test_one_code_that_departs_is_found(changed: Any, original: At) -> None:
    found = identify_files(changed("modelopt_nvfp4", f"{Q}.weight", lambda data: data.__ixor__(0) is None or put(70, data[70] ^ 1)(data)),
                           original("bfloat16"))  # fmt: skip
    assert found.exit_code == 1 and [item.name for item in found.departing] == [f"{Q}.weight"]
    tensor = found.departing[0]
    assert tensor.recipes[0].recipe == "nvfp4_modelopt" and tensor.recipes[0].why.startswith("1 of 1024 codes and 0 of 64 scales differ")
    assert tensor.rows[0].startswith("row 1 block 0: stored scale ") and len(tensor.rows) == 1
    assert found.recipes == ["nvfp4_modelopt"]  # of the other weight


def test_a_weight_that_another_recipe_wrote_departs(recorded: At, original: At, parts: Any, write: Any, tmp_path: Path) -> None:
    """One weight of torchao in a file of ModelOpt: the same names and meanings, other zero blocks."""
    found = parts(recorded("modelopt_nvfp4") / "model.safetensors")
    other = parts(recorded("torchao_nvfp4") / "model.safetensors")
    for mine, theirs in (("weight", "_weight_qdata"), ("weight_scale", "_weight_scale"), ("weight_scale_2", "_weight_per_tensor_scale")):
        found[f"{K}.{mine}"] = other[f"{K}.{theirs}"]
    found["lone.weight"], found["lone.weight_scale"], found["lone.weight_scale_2"] = (
        found[f"{Q}.{part}"] for part in ("weight", "weight_scale", "weight_scale_2")
    )
    path = write(tmp_path / "model.safetensors", found)
    report = identify_files(path)
    assert {tensor.name: [item.recipe for item in tensor.recipes if item.verdict == "not separated"] for tensor in report.tensors} == {
        f"{K}.weight": ["nvfp4_torchao"], f"{Q}.weight": ["nvfp4_modelopt"], "lone.weight": ["nvfp4_modelopt"]
    }  # fmt: skip
    weights = parts(original("bfloat16"))
    weights["lone.weight"] = weights[f"{Q}.weight"]
    whole = identify_files(path, write(tmp_path / "weights.safetensors", weights))
    assert (whole.exit_code, whole.recipes, [item.name for item in whole.departing]) == (1, ["nvfp4_modelopt"], [f"{K}.weight"])
    lone = next(item for item in whole.tensors if item.name == "lone.weight")
    assert lone.recipes[0].why.endswith("above the weights' own 3E7C0000")
    assert f"departs: {K}.weight: written by nvfp4_torchao: all 1024 codes" in whole.text()


def test_a_divisor_in_the_place_of_a_multiplier_is_told(recorded: At, parts: Any, write: Any, tmp_path: Path) -> None:
    found = parts(recorded("modelopt_nvfp4") / "model.safetensors")
    for name in (Q, K):
        word, shape, data = found[f"{name}.weight_scale_2"]
        inverse = (np.float32(1) / data.view("<f4")).astype("<f4")
        found[f"{name}.weight_scale_2"] = (word, shape, inverse)
    report = identify_files(write(tmp_path / "model.safetensors", found))
    assert all(any(note.endswith("is it a divisor there") for note in tensor.notes) for tensor in report.tensors)


def test_shapes_that_do_not_fit_are_damage(recorded: At, parts: Any, write: Any, tmp_path: Path) -> None:
    found = parts(recorded("modelopt_nvfp4") / "model.safetensors")
    word, _, data = found[f"{Q}.weight_scale"]
    found[f"{Q}.weight_scale"] = (word, (7, 8), data[:56])
    word, _, data = found[f"{K}.weight"]
    found[f"{K}.weight"] = (word, (64, 8), data)
    found[f"{K}.weight_scale"] = (found[f"{K}.weight_scale"][0], (64, 1), found[f"{K}.weight_scale"][2])
    report = identify_files(write(tmp_path / "model.safetensors", found))
    assert {item.name: item.damage[0][0] for item in report.damaged} == {f"{Q}.weight": "56 scales for 8 x 8 blocks"}
    found[f"{K}.weight"] = (word, (512, 1), data)
    found[f"{K}.weight_scale_2"] = ("F32", (2,), np.zeros(2, "<f4"))
    report = identify_files(write(tmp_path / "model.safetensors", found))
    assert any("rows of whole units of 16 elements" in item.damage[0][0] for item in report.damaged)


def test_nothing_quantized(original: At) -> None:
    report = identify_files(original("bfloat16"))
    assert report.exit_code == 3 and report.text().endswith("no 4-bit weights of a known store (6 other tensors)")


def test_an_original_without_the_weight(recorded: At, tmp_path: Path, write: Any) -> None:
    other = write(tmp_path / "other.safetensors", {"x.weight": ("BF16", (2, 16), np.zeros(32, "<u2"))})
    report = identify_files(recorded("modelopt_nvfp4"), other)
    assert report.exit_code == 1 and f"the original has no tensor {K}.weight" in report.text()
    transposed = write(tmp_path / "turned.safetensors", {f"{Q}.weight": ("I64", (8, 128), np.zeros(1024, "<i8"))})
    assert "is I64 in the original" in identify_files(recorded("modelopt_nvfp4"), transposed).text()
