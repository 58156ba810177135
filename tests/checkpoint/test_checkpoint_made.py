"""Stores that no library here writes: files of emu's own quantizer under their names; every recipe that a store holds is found again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import emu
from emu.checkpoint import identify_files
from emu.checkpoint.candidates import candidates
from emu.engines.numpy.layout import places
from emu.spec import get

ROWS, COLUMNS = 40, 96
TENSORS = dict[str, tuple[str, tuple[int, ...], Any]]


@pytest.fixture(scope="module")
def weights(make_files: Any) -> Any:
    """Weights with zeros, and one block of tiny numbers beside a large one: recipes part there. bf16 [ROWS, COLUMNS]."""
    found = make_files.weight("made", ROWS, COLUMNS).copy()
    found[5, :16] = found[5, :16] * np.array(2.0**-12, found.dtype)
    found[7, 3] = -0.0
    return found


@pytest.fixture
def pair(weights: Any, write: Any, tmp_path: Path) -> Callable[[TENSORS], tuple[Path, Path]]:
    """A function: tensors of a quantized file -> that file, and the one with the weights."""

    def make(tensors: TENSORS) -> tuple[Path, Path]:
        bits = weights.view("<u2")
        before = write(tmp_path / "before.safetensors", {"m": ("BF16", bits.shape, bits), "m.weight": ("BF16", bits.shape, bits)})
        return write(tmp_path / "after.safetensors", tensors), before

    return make


def stored(found: Any, codes: str, scale: str, tensor: str, scales: Any = None) -> TENSORS:
    """Codes, scales and tensor factor of a Quantized under the names of a store."""
    packed = found.pack()
    scales = found.scales if scales is None else scales
    bits = np.asarray(found.tensor_scale, "<u4")
    return {codes: ("U8", packed.shape, packed), scale: ("U8", scales.shape, scales), tensor: ("F32", (1,), bits)}


TE = ("m._rowwise_data", "m._rowwise_scale_inv", "m._amax_rowwise")
F46 = ("m.values", "m.scale_factors", "m.amax")


@pytest.mark.parametrize(
    ("recipe", "names", "store"),
    [
        ("nvfp4_te_ref", TE, "transformer_engine_nvfp4"), ("nvfp4_te_cuda", TE, "transformer_engine_nvfp4"),
        ("nvfp4_te_2d_ref", TE, "transformer_engine_nvfp4"), ("nvfp4_te_4over6_mae_448", TE, "transformer_engine_nvfp4"),
        ("nvfp4_te_4over6_mse_256", TE, "transformer_engine_nvfp4"), ("nvfp4_f46_static_6", F46, "fouroversix_nvfp4"),
        ("nvfp4_f46_static_4", F46, "fouroversix_nvfp4"), ("nvfp4_f46_abs_max", F46, "fouroversix_nvfp4"),
    ],
)  # fmt: skip
def test_a_recipe_is_found_again(recipe: str, names: tuple[str, str, str], store: str, weights: Any, pair: Any) -> None:
    found = emu.quantize(weights, recipe)
    scales = found.scales[:ROWS]  # of a tile once for each of its rows
    assert len(np.unique(scales[::16], axis=0)) > 1
    report = identify_files(*pair(stored(found, *names, scales)))
    assert report.stores == {store: 1} and recipe in report.recipes and report.exit_code == 0
    others = [get("recipe", name) for name in report.recipes if name != recipe]
    for other in others:  # not separated: then they do give the same bytes
        again = emu.quantize(weights, other)
        assert again.pack().tobytes() == found.pack().tobytes() and again.scales.tobytes() == found.scales.tobytes()
    assert ("scales are equal over every 16 rows: quantized in tiles" in report.tensors[0].notes) == recipe.endswith("2d_ref")
    alone = identify_files(pair(stored(found, *names, scales))[0])
    assert {item.recipe: item.verdict for item in alone.tensors[0].recipes}[recipe] in ("not separated", "unobservable")


@pytest.mark.parametrize("recipe", ["if4_mse", "if4_mae", "if4_abs_max"])
def test_a_flag_in_bit_7_is_if4(recipe: str, weights: Any, pair: Any) -> None:
    found = emu.quantize(weights, recipe)
    flags = next(level.codes for level in found.levels if level.name == "flag")
    assert 0 < flags.sum() < flags.size
    tensors = stored(found, *F46, scales=found.scales | flags.astype(np.uint8) << 7)
    report = identify_files(*pair(tensors))
    assert report.stores == {"fouroversix_if4": 1} and recipe in report.recipes and report.exit_code == 0
    alone = identify_files(pair(tensors)[0]).tensors[0]
    assert {item.verdict for item in alone.recipes} == {"unobservable"} and alone.damage == [] and alone.also_fits == ()
    tensors[F46[1]][2][3, 2] ^= 0x80
    assert identify_files(*pair(tensors)).tensors[0].recipes[0].why.startswith("0 of 3840 codes and 1 of 240 scales differ; row 3 block 2")
    plain = identify_files(pair(stored(emu.quantize(weights, "nvfp4_f46_static_6"), *F46))[0])
    assert plain.stores == {"fouroversix_nvfp4": 1} and plain.tensors[0].also_fits == ("fouroversix_if4",)


def test_padded_scales_are_told_by_the_zeros(weights: Any, pair: Any) -> None:
    """Rows padded to 128 x 8, as a transformer keeps them before the product, and the same in tiles."""
    found = emu.quantize(weights, "nvfp4_te_ref")
    rows = np.zeros((128, 8), np.uint8)
    rows[:ROWS, :6] = found.scales
    tiles = np.zeros(128 * 8, np.uint8)
    tiles[places(ROWS, 6, get("layout", "sf128x4"))] = found.scales
    for scales, layout in ((rows, "row_major"), (tiles.reshape(128, 8), "sf128x4")):
        report = identify_files(*pair(stored(found, *TE, scales)))
        tensor = report.tensors[0]
        assert (tensor.layout, tensor.layout_verdict) == (layout, "separated")
        assert "nvfp4_te_ref" in report.recipes and report.exit_code == 0
    full = identify_files(pair(stored(found, *TE, np.full((128, 8), 0x38, np.uint8)))[0])
    assert full.tensors[0].layout_verdict == "not separated" and full.tensors[0].layout_why == "neither padding is zero"


def test_scales_without_padding_are_not_separated(make_files: Any, write: Any, tmp_path: Path) -> None:
    found = emu.quantize(make_files.weight("square", 128, 64), "nvfp4_te_ref")
    report = identify_files(write(tmp_path / "a.safetensors", stored(found, *TE)))
    assert (report.tensors[0].layout, report.tensors[0].layout_verdict) == ("row_major", "not separated")
    assert report.tensors[0].layout_why == "no padding to see: sf128x4 has the same count of bytes"


def test_the_reader_is_told_by_a_dequantized_file(weights: Any, pair: Any, write: Any, tmp_path: Path) -> None:
    found = emu.quantize(weights, "nvfp4_torchao")
    names = ("m._weight_qdata", "m._weight_scale", "m._weight_per_tensor_scale")
    tensors = stored(found, *names)
    tensors[names[1]] = ("F8_E4M3", *tensors[names[1]][1:])
    quantized, before = pair(tensors)
    values = found.dequantize(np.float32, "torchao").view("<u4")
    after = write(tmp_path / "values.safetensors", {"m.weight": ("F32", values.shape, values)})
    report = identify_files(quantized, before, after)
    verdicts = {item.recipe: item.verdict for item in report.tensors[0].profiles}
    assert verdicts["nvfp4_torchao/torchao"] == "identified" and report.exit_code == 0
    assert set(verdicts.values()) == {"identified", "separated"}, "minus zero tells modelopt's reader from torchao's"
    values = values.copy()
    values[3, 5] ^= 1
    report = identify_files(quantized, before, write(after, {"m.weight": ("F32", values.shape, values)}))
    best = next(item for item in report.tensors[0].profiles if item.recipe == "nvfp4_torchao/torchao")
    assert report.exit_code == 1 and best.why.startswith("1 of 3840 values differ; row 3 element 5: file ")
    assert "read back, of m.weight:" in report.text()


@pytest.mark.parametrize("name", ["compressed_tensors_mxfp4", "modelopt_nvfp4", "transformer_engine_nvfp4", "fouroversix_if4"])
def test_candidates_have_the_elements_and_scales_of_the_store(name: str) -> None:
    store = get("checkpoint", name)
    found = [recipe.id for recipe in candidates(store)]
    assert found and len(set(found)) == len(found)
    own = get("block", store.facts.blocks[0]).element_formats
    assert all(get("block", get("recipe", item).facts.block).element_formats == own for item in found)
    assert not {"ufp4_sr", "ufp4", "nvfp4_torchao_1level"} & set(found)


def test_a_stack_of_experts_as_gpt_oss_names_it(make_files: Any, write: Any, tmp_path: Path) -> None:
    x = make_files.weight("experts", 12, 64).reshape(3, 4, 64)
    found = emu.quantize(x, "mxfp4_torchao_floor")
    blocks = found.pack().reshape(3, 4, 2, 16)
    tensors = {"mlp.up_blocks": ("U8", blocks.shape, blocks), "mlp.up_scales": ("U8", (3, 4, 2), found.scales)}
    before = write(tmp_path / "before.safetensors", {"mlp.up": ("BF16", x.shape, x.view("<u2"))})
    report = identify_files(write(tmp_path / "after.safetensors", tensors), before)
    assert report.stores == {"gpt_oss_mxfp4": 1} and "mxfp4_torchao_floor" in report.recipes and report.exit_code == 0
    assert report.tensors[0].shape == (3, 4, 64) and report.tensors[0].blocks == 24
