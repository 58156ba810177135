"""Files that the real libraries wrote, as recorded bytes: store, order of scales, recipe, with the original and without it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from emu.checkpoint import identify_files
from emu.checkpoint.container import open_checkpoint
from emu.checkpoint.read import StoredTensor, open_tensor
from emu.checkpoint.scan import scan_tensor
from emu.checkpoint.store import matches

At = Callable[[str], Path]
HERE = Path(__file__).parent


class Known(NamedTuple):
    """store, order of scales, type of the weights, recipes with the original, recipes that the bytes alone leave."""

    store: str
    layout: str
    dtype: str
    recipes: set[str]
    left: set[str]


RCEIL = {"mxfp4_torchao_rceil", "mxfp4_te_pow2", "mxfp4_f46_static_6"}  # one rule on normal numbers
RULES = RCEIL | {"mxfp4_torchao_floor", "mxfp4_torchao_even", "mxfp4_triton_up", "mxfp4_aiter_triton"}
AWAY = {"mxfp4_triton_up", "mxfp4_aiter_triton", "mxfp4_inc_even"}  # ties away from zero, or no minus zero: not every weight tells
ALIKE = {"mxfp4_quark_even", "mxfp4_ggml"}  # their bytes may be those of torchao's rules, but for signs of zero
UP8 = {f"mxfp8_e4m3_{name}" for name in ("comfy", "te", "torchao_rceil", "triton_up", "vllm")}
UP5 = {f"mxfp8_e5m2_{name}" for name in ("te", "torchao_even", "torchao_floor", "torchao_rceil", "triton_up")}
KNOWN = {
    "compressed_tensors_nvfp4": Known(
        "compressed_tensors_nvfp4", "row_major", "float32", {"nvfp4_compressed_tensors"}, {"nvfp4_compressed_tensors"}
    ),
    "compressed_tensors_mxfp4": Known("compressed_tensors_mxfp4", "row_major", "bfloat16", {"mxfp4_torchao_even"}, RULES | ALIKE),
    "modelopt_nvfp4": Known("modelopt_nvfp4", "row_major", "bfloat16", {"nvfp4_modelopt"}, {"nvfp4_modelopt", "nvfp4_quartet2_rtn"}),
    "torchao_nvfp4": Known("torchao_nvfp4", "row_major", "bfloat16", {"nvfp4_torchao"}, {"nvfp4_torchao"}),
    "torchao_nvfp4_swizzled": Known("torchao_nvfp4", "sf128x4", "bfloat16", {"nvfp4_torchao"}, {"nvfp4_torchao"}),
    "torchao_nvfp4_1level": Known("torchao_nvfp4_1level", "row_major", "float32", {"nvfp4_torchao_1level"}, {"nvfp4_torchao_1level"}),
    "torchao_mxfp4_floor": Known("torchao_mxfp4", "row_major", "bfloat16", {"mxfp4_torchao_floor", "mxfp4_inc_even"}, RULES | ALIKE),
    "torchao_mxfp4_rceil": Known("torchao_mxfp4", "sf128x4", "bfloat16", RCEIL, RCEIL | {"mxfp4_triton_up"}),
    "compressed_tensors_mxfp6": Known(
        "compressed_tensors_mxfp6",
        "row_major",
        "bfloat16",
        {"mxfp6_e2m3_torchao_even"},
        {f"mxfp6_e2m3_torchao_{rule}" for rule in ("even", "floor", "rceil")},
    ),
    "compressed_tensors_mxfp8": Known("compressed_tensors_mxfp8", "row_major", "bfloat16", UP8, UP8),
    "torchao_mxfp8_e4m3": Known("torchao_mxfp8_e4m3", "sf128x4", "bfloat16", UP8, UP8),
    "torchao_mxfp8_e5m2": Known("torchao_mxfp8_e5m2", "row_major", "bfloat16", {"mxfp8_e5m2_torchao_floor"}, UP5),
    "gguf_nvfp4": Known("gguf_nvfp4", "row_major", "float32", {"nvfp4_modelopt"}, set()),
}


@pytest.mark.parametrize("name", KNOWN)
def test_a_file_of_a_library_is_identified_with_the_original(name: str, recorded: At, original: At) -> None:
    known = KNOWN[name]
    found = identify_files(recorded(name), original(known.dtype))
    assert found.stores == {known.store: 2}
    assert {tensor.layout for tensor in found.tensors} == {known.layout}
    assert {tensor.layout_why == "the file says so" for tensor in found.tensors} == {name.startswith("torchao")}
    assert set(found.recipes) == known.recipes
    assert all(known.recipes <= set(tensor.identified) <= known.recipes | AWAY for tensor in found.tensors)
    assert (found.exit_code, found.damaged, found.departing) == (0, [], [])


@pytest.mark.parametrize("name", KNOWN)
def test_its_bytes_alone_leave_few_recipes(name: str, recorded: At) -> None:
    found = identify_files(recorded(name))
    assert found.stores == {KNOWN[name].store: 2} and found.exit_code == 0
    assert set(found.recipes) == KNOWN[name].left


def test_both_orders_of_scales_hold_the_same_numbers(recorded: At) -> None:
    """The two files of torchao differ in nothing else; so a wrong order would show."""

    def rows(name: str) -> list[bytes]:
        return [tensor.take(0, 8).scales.tobytes() for tensor in opened(recorded(name))]

    assert rows("torchao_nvfp4") == rows("torchao_nvfp4_swizzled") and len(rows("torchao_nvfp4")) == 2


def test_a_tensor_factor_taken_in_bf16_departs_by_itself(recorded: At, original: At) -> None:
    """compressed-tensors divides in the type of the observed maximum: bf16 weights give a bf16 factor, 2688 / maximum rounded twice."""
    found = identify_files(recorded("compressed_tensors_nvfp4_bf16"), original("bfloat16"))
    assert found.exit_code == 1 and found.recipes == [] and len(found.departing) == 2
    best = found.tensors[0].recipes[0]
    assert best.recipe == "nvfp4_compressed_tensors"
    assert (
        best.why
        == "0 of 1024 codes and 0 of 64 scales differ; the tensor factor is 46290000, the original gives 4628A8A9: it was rounded to bf16"
    )
    assert all(tensor.tensor_factor == "46290000" for tensor in found.tensors)


def test_the_quantizer_of_gguf_is_its_own(recorded: At, original: At) -> None:
    """It takes the first of the nearest codes: no minus zero, ties to the smaller one; scales alone are those of floor and others, too."""
    found = identify_files(recorded("gguf_mxfp4"), original("float32"))
    assert found.exit_code == 0 and found.recipes == ["mxfp4_ggml"]
    assert [item.recipes[0].why for item in found.tensors] == ["all 1024 codes and 32 scales are equal"] * 2
    assert set(identify_files(recorded("gguf_mxfp4")).recipes) == RULES | {"mxfp4_ggml", "mxfp4_quark_even"}


def test_mxfp4_of_modelopt_is_near_rceil(recorded: At, original: At) -> None:
    """Codes of ties and of zero blocks differ from every recipe of the spec; the scales are those of rceil."""
    found = identify_files(recorded("gpt_oss_mxfp4"), original("bfloat16"))
    assert found.stores == {"gpt_oss_mxfp4": 2} and found.exit_code == 1
    assert found.tensors[0].recipes[0].recipe in RCEIL
    assert ": stored scale 00 codes 88888888888888888888888888888888, recipe 00 0000" in found.tensors[0].rows[0]


def test_shared_maxima_and_what_a_file_says_of_itself(recorded: At) -> None:
    found = identify_files(recorded("modelopt_nvfp4"))
    names = ("model.layers.0.self_attn.k_proj.weight", "model.layers.0.self_attn.q_proj.weight")
    assert found.fused == [names] and found.others == 0
    assert found.declared == {"modelopt_nvfp4": "hf_quant_config.json: quantization.quant_algo = NVFP4"}
    assert found.tensors[0].notes == ["the tensor factor is that of a bf16 maximum"]
    assert identify_files(recorded("compressed_tensors_nvfp4")).others == 1  # the norm


@pytest.mark.parametrize(
    ("name", "profile", "others"),
    [
        ("compressed_tensors_nvfp4", "nvfp4_compressed_tensors/compressed_tensors", {"nvfp4_auto_round/exact"}),
        ("modelopt_nvfp4", "nvfp4_modelopt/modelopt", {"nvfp4_torchao/torchao", "nvfp4_comfy/exact"}),
        ("torchao_nvfp4", "nvfp4_torchao/torchao", {"nvfp4_modelopt/modelopt", "nvfp4_comfy/exact"}),
    ],
)
def test_values_that_a_library_read_back_name_its_reader(name: str, profile: str, others: set[str], recorded: At, tmp_path: Path) -> None:
    """The first weight, as the library itself dequantized it to binary32."""
    values = tmp_path / "values.safetensors"
    values.write_bytes((recorded(name) / "values.safetensors.read").read_bytes())
    found = identify_files(recorded(name), dequantized=values)
    tensor = next(item for item in found.tensors if item.name.endswith("q_proj.weight"))
    verdicts = {item.recipe: item.verdict for item in tensor.profiles}
    same = {"nvfp4_comfy/exact"} if name == "torchao_nvfp4" else set()  # one rounding of the product, however it is written
    assert verdicts == dict.fromkeys({profile} | same, "identified") | dict.fromkeys(others - same, "separated")
    assert found.exit_code == 0 and f"{profile:<40} identified: all 1024 values are equal" in found.text()


@pytest.mark.parametrize("name", ["gguf_mxfp4", "gguf_nvfp4"])
def test_the_package_gguf_reads_the_same_values(name: str, recorded: At, write: Any, tmp_path: Path) -> None:
    """Doubled codebook times halved scale against codes and scales as read here: equal but for minus zero, which the package lacks."""
    path = recorded(name) / "model.gguf"
    library = pytest.importorskip("gguf", reason="the second opinion, gguf, is of the extra [checkpoint]")
    found = {item.name: library.quants.dequantize(item.data, item.tensor_type).view("<u4") for item in library.GGUFReader(path).tensors[:2]}
    values = write(tmp_path / "values.safetensors", {key: ("F32", bits.shape, bits) for key, bits in found.items()})
    report = identify_files(path, dequantized=values)
    for tensor, stored in zip(report.tensors, opened(path), strict=True):
        minus = scan_tensor(stored).minus_zero
        why = f"{minus} of 1024 values differ; " if minus else "all 1024 values are equal"
        assert tensor.profiles[0].why.startswith(why)
    assert ("80000000" in report.tensors[0].profiles[0].why) == (name == "gguf_nvfp4")


def opened(path: Path) -> list[StoredTensor]:
    container = open_checkpoint(path)
    return [item for item in (open_tensor(container, fitting) for fitting in matches(container)) if isinstance(item, StoredTensor)]


def test_no_recorded_file_is_left_out(recorded: At) -> None:
    files = {path.stem for path in (HERE / "files").glob("*.json")}
    left = {name for name in files - set(KNOWN) if "_fp8" not in name}  # those are read in test_checkpoint_fp8.py
    assert left == {"compressed_tensors_nvfp4_bf16", "gguf_mxfp4", "gpt_oss_mxfp4"}
    for name in files:
        about = json.loads((HERE / "files" / f"{name}.json").read_text(encoding="utf-8"))
        assert about["command"].endswith(f" {name}") and about["versions"] and about["files"]


def test_text_and_json_say_the_same(recorded: At, original: At) -> None:
    found = identify_files(recorded("torchao_nvfp4"), original("bfloat16"))
    text, data = found.text(), json.loads(json.dumps(found.json()))
    assert "store: torchao_nvfp4, 2 weights (header: *._type = NVFP4Tensor)" in text
    assert "recipe: nvfp4_torchao\n" in text and "nvfp4_torchao: identified: all 1024 codes and 64 scales are equal" in text
    assert data["recipes"] == ["nvfp4_torchao"] and data["exit_code"] == 0
    assert {item["verdict"] for item in data["tensors"][0]["recipes"]} == {"identified", "separated"}
