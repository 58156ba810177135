"""Damage is named with its first rows; a tensor that another recipe wrote is told from the rest; factors that stand the wrong way round."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import emu
from emu.base import philox
from emu.checkpoint import identify_files
from emu.checkpoint.report import ALONE
from emu.engines.numpy.layout import places
from emu.spec import get

At = Callable[[str], Path]
Q, K, OUT = (f"model.layers.0.self_attn.{name}_proj" for name in "qko")


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
        ("compressed_tensors_mxfp4", f"{Q}.weight_scale", 5, 0xFF, "a NaN scale", "row 1 block 1: scale FF, codes "),
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
    assert identify_files(changed("gpt_oss_mxfp4", f"{Q}_scales", put(5, 0xFF))).damaged == []
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


MODELOPT = ["nvfp4_modelopt", "nvfp4_quartet2_rtn"]  # what bytes of ModelOpt may be by themselves


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
        f"{K}.weight": ["nvfp4_torchao"], f"{Q}.weight": MODELOPT, "lone.weight": MODELOPT
    }  # fmt: skip
    found |= {f"{OUT}.{part}": found[f"{Q}.{part}"] for part in ("weight", "weight_scale", "weight_scale_2")}
    path = write(path, found)
    weights = parts(original("bfloat16"))
    weights["lone.weight"] = weights[f"{OUT}.weight"] = weights[f"{Q}.weight"]
    whole = identify_files(path, write(tmp_path / "weights.safetensors", weights))
    assert (whole.exit_code, whole.recipes) == (1, ["nvfp4_modelopt"])
    assert [item.name for item in whole.departing] == ["lone.weight", f"{K}.weight"], "q and o share the factor of k, lone does not"
    lone = next(item for item in whole.tensors if item.name == "lone.weight")
    assert "above the weights' own 3E7C0000, which no weight beside it has" in lone.recipes[0].why
    assert f"departs: {K}.weight: written by nvfp4_torchao: all 1024 codes" in whole.text()


def test_a_divisor_in_the_place_of_a_multiplier_is_told(recorded: At, original: At, parts: Any, write: Any, tmp_path: Path) -> None:
    found = parts(recorded("modelopt_nvfp4") / "model.safetensors")
    for name in (Q, K):
        word, shape, data = found[f"{name}.weight_scale_2"]
        inverse = (np.float32(1) / data.view("<f4")).astype("<f4")
        found[f"{name}.weight_scale_2"] = (word, shape, inverse)
    path = write(tmp_path / "model.safetensors", found)
    report = identify_files(path)
    assert all(text.endswith("is it a divisor there") for tensor in report.tensors for text in tensor.suspicions)
    assert report.exit_code == 1 and [item.name for item in report.suspicious] == [f"{K}.weight", f"{Q}.weight"]
    assert f"probably wrong: {Q}.weight: the tensor factor stands for a maximum of " in report.text()
    whole = identify_files(path, original("bfloat16"))
    assert whole.exit_code == 1 and len(whole.departing) == 2
    assert "0 of 1024 codes and 0 of 64 scales differ; the tensor factor is" in whole.text()
    assert "it is the reciprocal, a multiplier in the place of a divisor or the reverse" in whole.text()


ROWS, COLUMNS = 128, 256  # whose scales have no padding in tiles


def written(recipe: str, x: Any, **options: Any) -> tuple[Any, Any, Any]:
    """Packed codes, scales and tensor factor of a weight."""
    found = emu.quantize(x, recipe, **options)
    return found.pack().copy(), found.scales.copy(), np.asarray(found.tensor_scale, "<u4").copy()


def tiled(scales: Any) -> Any:
    out = np.empty(scales.size, np.uint8)
    out[places(*scales.shape, get("layout", "sf128x4"))] = scales
    return out.reshape(scales.shape)


def nibbles(codes: Any) -> Any:
    return codes << 4 | codes >> 4


DAMAGE: dict[str, Callable[[Any, Any, Any], tuple[Any, Any, Any]]] = {
    "scales are transposed": lambda c, s, t: (c, s.T.reshape(s.shape), t),
    "scales lie in the order sf128x4 and not row by row": lambda c, s, t: (c, tiled(s), t),
    "scales are shifted down by 1 row": lambda c, s, t: (c, np.roll(s, 1, axis=0), t),
    "scales are shifted up by 3 rows": lambda c, s, t: (c, np.roll(s, -3, axis=0), t),
    "the scales of each row are shifted by one block to the right": lambda c, s, t: (c, np.roll(s, 1, axis=1), t),
    "every 4 scales of a row stand in reverse order": lambda c, s, t: (c, s.view("<u4").byteswap().view(np.uint8), t),
    "the rows of scales stand in reverse order": lambda c, s, t: (c, s[::-1], t),
    "every scale code is 8 too small": lambda c, s, t: (c, s - 8, t),
    "the nibbles of each byte are exchanged": lambda c, s, t: (nibbles(c), s, t),
    "scales are transposed; the nibbles of each byte are exchanged": lambda c, s, t: (nibbles(c), s.T.reshape(s.shape), t),
}


@pytest.fixture(scope="module")
def plain() -> Any:
    """A weight whose scales differ everywhere, bf16 [128, 256]."""
    words = philox.words(1, ROWS * COLUMNS, 0, philox.stream_of("damage")).reshape(ROWS, COLUMNS).astype(np.int64)
    codes = (120 + (words >> 20) % 3 + np.repeat(words[:, ::16] >> 24 & 3, 16, 1)) << 7 | words & 0x7F | (words >> 9 & 1) << 15
    return codes.astype("<u2").view(ml_dtypes.bfloat16)


@pytest.fixture
def judged(plain: Any, write: Any, tmp_path: Path) -> Callable[..., Any]:
    """A function: codes, scales, tensor factor as ModelOpt names them -> the reports with the original and without."""

    def make(codes: Any, scales: Any, tensor: Any) -> tuple[Any, Any]:
        before = write(tmp_path / "before.safetensors", {"m.w.weight": ("BF16", plain.shape, plain.view("<u2"))})
        parts = {
            "m.w.weight": ("U8", codes.shape, codes), "m.w.weight_scale": ("F8_E4M3", scales.shape, np.ascontiguousarray(scales)),
            "m.w.weight_scale_2": ("F32", (), tensor),
        }  # fmt: skip
        path = write(tmp_path / "after.safetensors", parts)
        return identify_files(path, before), identify_files(path)

    return make


@pytest.mark.parametrize("said", DAMAGE)
def test_what_was_done_to_a_weight_is_named(said: str, plain: Any, judged: Any) -> None:
    found, alone = judged(*DAMAGE[said](*written("nvfp4_modelopt", plain)))
    assert found.exit_code == 1 and len(found.damaged[0].damage) == 1
    text, _, other = found.damaged[0].damage[0][0].partition("; or the file is of another library: it does not say that it is of ")
    assert other == ("modelopt_nvfp4" if "nibbles" in said or "scales lie" in said else "")
    head, _, recipes = text.rpartition(": otherwise every byte is as ")
    assert head == said and "nvfp4_modelopt" in recipes.removesuffix(" writes it").split(" or ")
    assert f"damaged: m.w.weight: {said}: otherwise" in found.text() and "departs" not in found.text()
    assert "no weight is damaged" not in alone.text()
    assert alone.exit_code == 1 or ALONE in alone.text()


def test_an_unharmed_weight_is_called_so(plain: Any, judged: Any) -> None:
    found, alone = judged(*written("nvfp4_modelopt", plain))
    assert found.exit_code == 0 and "no weight is damaged or departs" in found.text() and "nvfp4_modelopt" in found.recipes
    assert alone.exit_code == 0 and alone.text().endswith(ALONE)


def test_moved_scales_are_named_where_no_recipe_writes_the_codes(changed: Any, original: At, recorded: At) -> None:
    """The codes of gpt-oss are no documented recipe's; its scales are."""
    plain = identify_files(recorded("gpt_oss_mxfp4"), original("bfloat16"))
    assert not plain.damaged and {item.recipes[0].why.split(" and ")[1][:14] for item in plain.tensors} == {"0 of 32 scales"}
    turned = changed("gpt_oss_mxfp4", f"{Q}_scales", lambda data: data.__setitem__(slice(None), data.reshape(8, 4).T.reshape(-1)))
    found = identify_files(turned, original("bfloat16"))
    assert [item.name for item in found.damaged] == [Q]
    assert found.damaged[0].damage[0][0].startswith("scales are transposed: otherwise every scale is as mxfp4_"), found.text()


@pytest.mark.parametrize("factor", [2.0, 0.5, 6.0])
def test_a_factor_that_the_original_does_not_give(factor: float, plain: Any, judged: Any) -> None:
    """The stored number alone, and the whole weight under another maximum: both read back as other values than the original gives."""
    codes, scales, tensor = written("nvfp4_modelopt", plain)
    wrong = (tensor.view("<f4") * np.float32(factor)).astype("<f4")
    found, _ = judged(codes, scales, wrong)
    assert found.exit_code == 1 and f"({factor:g} times that)" in found.tensors[0].recipes[0].why
    assert (
        found.tensors[0].recipes[0].why.startswith(f"0 of {codes.size * 2} codes and 0 of {scales.size} scales differ; the tensor factor")
    )
    top = np.abs(plain.astype(np.float32)).max() * np.float32(factor)
    found, _ = judged(*written("nvfp4_modelopt", plain, tensor_amax=top))
    assert found.exit_code == 1 and found.departing and not found.recipes, found.text()


def test_the_original_tells_the_order_that_the_padding_does_not(plain: Any, write: Any, tmp_path: Path) -> None:
    """A store that allows both orders: what the file cannot show is no damage."""
    codes, scales, _ = written("nvfp4_te_ref", plain)
    top = np.abs(plain.astype(np.float32)).max().astype("<f4")
    before = write(tmp_path / "before.safetensors", {"m": ("BF16", plain.shape, plain.view("<u2"))})
    names = ("m._rowwise_data", "m._rowwise_scale_inv", "m._amax_rowwise")
    for order, given in (("sf128x4", tiled(scales)), ("row_major", scales)):
        parts = dict(zip(names, (("U8", codes.shape, codes), ("U8", scales.shape, given), ("F32", (1,), top)), strict=True))
        report = identify_files(write(tmp_path / "after.safetensors", parts), before)
        assert (report.exit_code, report.tensors[0].layout) == (0, order) and "nvfp4_te_ref" in report.recipes


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


def test_scales_of_transposed_shape_are_damage(recorded: At, parts: Any, write: Any, tmp_path: Path) -> None:
    found = parts(recorded("modelopt_nvfp4") / "model.safetensors")
    word, _, data = found[f"{K}.weight"]
    rows, blocks = data.size // 16, 2  # 32 elements a row
    found[f"{K}.weight"] = (word, (rows, 16), data)
    word, _, scales = found[f"{K}.weight_scale"]
    for turned in (False, True):
        found[f"{K}.weight_scale"] = (word, (blocks, rows) if turned else (rows, blocks), scales)
        report = identify_files(write(tmp_path / f"{turned}.safetensors", found))
        assert [item.name for item in report.tensors if any("transposed" in fault[0] for fault in item.damage)] == [f"{K}.weight"] * turned


def test_nothing_quantized(original: At) -> None:
    report = identify_files(original("bfloat16"))
    assert report.exit_code == 3 and report.text().endswith("no quantized weights of a known store (6 other tensors)")


def test_an_original_without_the_weight(recorded: At, tmp_path: Path, write: Any) -> None:
    other = write(tmp_path / "other.safetensors", {"x.weight": ("BF16", (2, 16), np.zeros(32, "<u2"))})
    report = identify_files(recorded("modelopt_nvfp4"), other)
    assert report.exit_code == 1 and f"the original has no tensor {K}.weight" in report.text()
    transposed = write(tmp_path / "turned.safetensors", {f"{Q}.weight": ("I64", (8, 128), np.zeros(1024, "<i8"))})
    assert "is I64 in the original" in identify_files(recorded("modelopt_nvfp4"), transposed).text()


@pytest.mark.parametrize("tiles", [1, 3])
@pytest.mark.parametrize(("made", "said"), [
    (lambda scales: scales * np.float32(1.75), "every scale is 1.75 times what it should be"),
    (lambda scales: scales / np.float32(3), "every scale is 0.333333333 times what it should be"),
    (lambda scales: np.float32(1) / scales, "every scale is its own reciprocal"),
])  # fmt: skip
def test_real_scales_are_compared_as_numbers(made: Any, said: str, tiles: int, write: Any, tmp_path: Path) -> None:
    x = np.random.default_rng(tiles).standard_normal((128 * tiles, 128)).astype(np.float32)
    found = emu.quantize(x, "e4m3_tile128_deepseek")
    scales = made(np.asarray(found.scales).view(np.float32)).astype("<f4").reshape(tiles, 1)
    tensors = {"m.weight": ("F8_E4M3", x.shape, found.codes), "m.weight_scale_inv": ("F32", scales.shape, scales)}
    path = write(tmp_path / "model.safetensors", tensors)
    report = identify_files(path, write(tmp_path / "x.safetensors", {"m.weight": ("F32", x.shape, x)}))
    text = report.damaged[0].damage[0][0]
    assert report.exit_code == 1 and text.startswith(f"{said}: otherwise every byte is as ") and "e4m3_tile128_deepseek" in text
