"""kernels.quantize against emu.quantize: frozen directed rows, specials, every bf16 number, drawn blocks, every recipe that is covered."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import emu

COVERED = [
    "e1m2_fp32scale",
    "e2m1_fp32scale",
    "mxe1m2_floor",
    "mxfp4_aiter_triton",
    "mxfp4_deep_gemm",
    "mxfp4_f46_static_4",
    "mxfp4_f46_static_6",
    "mxfp4_quark_even",
    "mxfp4_te_pow2",
    "mxfp4_torchao_ceil",
    "mxfp4_torchao_even",
    "mxfp4_torchao_floor",
    "mxfp4_torchao_rceil",
    "mxfp4_triton_down",
    "mxfp4_triton_up",
    "mxfp6_e2m3_torchao_ceil",
    "mxfp6_e2m3_torchao_even",
    "mxfp6_e2m3_torchao_floor",
    "mxfp6_e2m3_torchao_rceil",
    "mxfp6_e3m2_torchao_ceil",
    "mxfp6_e3m2_torchao_even",
    "mxfp6_e3m2_torchao_floor",
    "mxfp6_e3m2_torchao_rceil",
    "mxfp8_e4m3_comfy",
    "mxfp8_e4m3_jax",
    "mxfp8_e4m3_te",
    "mxfp8_e4m3_torchao_ceil",
    "mxfp8_e4m3_torchao_even",
    "mxfp8_e4m3_torchao_floor",
    "mxfp8_e4m3_torchao_rceil",
    "mxfp8_e4m3_triton_down",
    "mxfp8_e4m3_triton_up",
    "mxfp8_e5m2_jax",
    "mxfp8_e5m2_te",
    "mxfp8_e5m2_torchao_ceil",
    "mxfp8_e5m2_torchao_even",
    "mxfp8_e5m2_torchao_floor",
    "mxfp8_e5m2_torchao_rceil",
    "mxfp8_e5m2_triton_down",
    "mxfp8_e5m2_triton_up",
    "nve0m3",
    "nvfp4_auto_round",
    "nvfp4_comfy",
    "nvfp4_compressed_tensors",
    "nvfp4_deep_gemm",
    "nvfp4_f46_static_4",
    "nvfp4_f46_static_6",
    "nvfp4_flashinfer_strict",
    "nvfp4_jax",
    "nvfp4_modelopt",
    "nvfp4_quartet2_rtn",
    "nvfp4_te_cuda",
    "nvfp4_te_ref",
    "nvfp4_torchao",
    "nvfp4_torchao_1level",
    "nvfp4_vllm_emulation",
    "nvufp4",
    "ufp4",
    "ufp4_sr",
]
FROZEN = [(recipe, "bf16") for recipe in (
    "mxfp4_torchao_ceil", "mxfp4_torchao_even", "mxfp4_torchao_floor", "mxfp4_torchao_rceil", "nve0m3", "nvfp4_te_cuda", "nvfp4_te_ref",
    "nvfp4_torchao", "nvufp4", "ufp4",
)] + [(recipe, "fp32") for recipe in ("nvfp4_te_ref", "nvfp4_torchao", "nvufp4", "ufp4")]  # fmt: skip
SPECIALS = (0x0000, 0x8000, 0x7F80, 0xFF80, 0x7FC0, 0xFFC1, 0x0001, 0x8001, 0x0080, 0x7F7F, 0xFF7F, 0x3F80)


def rows_of(checkout: Path, recipe: str, source: str) -> list[dict[str, Any]]:
    """The rows of a frozen directed suite: column -> lanes, element 0 first, each an integer; its mask beside it where it has one."""
    (path,) = (checkout / "vectors/quantize").glob(f"quantize__{source}_to_*__{recipe}__directed.json")
    columns = json.loads(path.read_text())["columns"]
    rows, by_name = [], {column["name"]: column for column in columns}
    for line in path.with_suffix(".mem").read_text().split("\n"):
        word = line.split("//")[0].strip().replace("_", "")
        if not word or word.startswith("@"):
            continue
        whole, row = int(word, 16), {}
        for column in columns:
            field = whole >> column["lsb"] & ((1 << column["bits"]) - 1)
            lanes = by_name[column["name"].removeprefix("m_")].get("lanes", 1)  # a mask has the lanes of its column
            width = column["bits"] // lanes
            row[column["name"]] = [field >> i * width & ((1 << width) - 1) for i in range(lanes)]
        rows.append(row)
    return rows


def test_the_covered_recipes_are_these(torch: Any) -> None:
    from emu.engines.torch.triton.catalogue import recipes

    assert sorted(recipes()) == sorted(COVERED)


@pytest.mark.parametrize(("recipe", "source"), FROZEN)
def test_frozen_directed_rows(checkout: Path, tensor: Any, bits: Any, recipe: str, source: str) -> None:
    from emu.engines.torch.triton.quantize import quantize

    groups = defaultdict(list)
    for row in rows_of(checkout, recipe, source):
        groups[tuple(row.get("ts", [])), row.get("n_valid", [len(row["x"])])[0]].append(row)
    compared = 0
    for (amax, valid), rows in groups.items():
        if not valid:
            continue  # an empty tensor is refused
        codes = np.array([row["x"][:valid] for row in rows], np.uint16 if source == "bf16" else np.uint32)
        operand = tensor(np.array(amax, np.uint32), "fp32") if amax else None
        found = quantize(tensor(codes, source), recipe, tensor_amax=operand, check=False)
        for number, row in enumerate(rows):
            masks = {name: row["m_" + name] for name in ("codes", "scale")}
            for name, mine in (("codes", bits(found.codes)[number]), ("scale", bits(found.levels[-1]).reshape(len(rows), -1)[number])):
                for lane, code in enumerate(mine[:valid]):
                    mask = masks[name][lane]
                    assert int(code) & mask == row[name][lane] & mask, (name, number, lane)
                    compared += 1
    assert compared > 100


@pytest.mark.parametrize("recipe", COVERED)
@pytest.mark.parametrize("scale", [1.0, 1e-38, 1e30])
def test_random_tensors(judge: Any, recipe: str, scale: float) -> None:
    rng = np.random.default_rng(7)
    x = (rng.standard_normal((4, 64)) * scale).astype(np.float32)
    x[0, :32], x[1, 3], x[2, 32:] = 0, -0.0, x[2, 32:] * np.float32(1e-3)
    random = rng.integers(0, 256, x.shape, dtype=np.uint8) if recipe == "ufp4_sr" else None
    judge(x.view(np.uint32), "fp32", recipe, random=random)


@pytest.mark.parametrize(
    "recipe", ["nvfp4_te_ref", "nvfp4_te_cuda", "mxfp4_te_pow2", "ufp4", "nvufp4", "mxfp4_torchao_floor", "nvfp4_modelopt"]
)
@pytest.mark.parametrize("source", ["bf16", "fp16", "fp32"])
def test_specials_against_the_reference_model(judge: Any, recipe: str, source: str) -> None:
    """Each special alone among ordinary numbers; NaN and Inf raise OpenError where the recipe leaves them open."""
    rng = np.random.default_rng(3)
    values = rng.standard_normal((len(SPECIALS), 32)).astype(np.float32).view(np.uint32)
    values[:, 5] = np.array(SPECIALS, np.uint32) << 16
    codes = values if source == "fp32" else (values >> 16).astype(np.uint16)
    if source == "fp16":
        codes = rng.integers(0, 1 << 16, codes.shape).astype(np.uint16)
    finite = codes[np.array([0, 1, 6, 7, 8, 9, 11])] if source != "fp16" else codes & 0xBFFF
    judge(finite, source, recipe, engine="exact", amax=0x40C00000 if recipe.startswith("nv") else None)
    judge(codes, source, recipe, engine="exact", amax=0x40C00000 if recipe.startswith("nv") else None)
    if recipe.startswith("nv"):
        for amax in (0, 1, 0x7F800000, 0x7FC00000, 0x80000000, 0xBF800000):
            judge(finite[:2], source, recipe, engine="exact", amax=amax)


@pytest.mark.parametrize("recipe", ["nvfp4_te_ref", "mxfp4_te_pow2", "ufp4", "nvufp4"])
def test_every_bf16_number(judge: Any, recipe: str) -> None:
    """Every pattern, NaN and Inf among them, each 64 neighbours in a row, and each beside numbers of its own size."""
    codes = np.arange(1 << 16, dtype=np.uint16).reshape(-1, 64)
    judge(codes, "bf16", recipe, amax=0x44440000 if recipe.startswith("nv") else None)


@pytest.mark.parametrize("recipe", ["nvfp4_torchao", "mxfp4_torchao_even", "mxfp4_torchao_rceil"])
def test_every_finite_bf16_number(judge: Any, recipe: str) -> None:
    codes = np.arange(1 << 16, dtype=np.uint16)
    finite = codes[codes & 0x7F80 != 0x7F80].reshape(-1, 64)
    judge(finite, "bf16", recipe, amax=0x44440000 if recipe.startswith("nv") else None)


@pytest.mark.parametrize("recipe", ["nvfp4_te_ref", "ufp4", "mxfp4_torchao_rceil"])
@settings(max_examples=12)
@given(data=st.data())
def test_drawn_blocks(judge: Any, recipe: str, data: Any) -> None:
    exponent = data.draw(st.integers(0, 253))
    spread = data.draw(st.integers(0, 30))
    fractions = data.draw(st.lists(st.integers(0, (1 << 23) - 1), min_size=32, max_size=32))
    below = data.draw(st.lists(st.integers(0, spread), min_size=32, max_size=32))
    signs = data.draw(st.integers(0, (1 << 32) - 1))
    codes = [(signs >> i & 1) << 31 | max(exponent - b, 0) << 23 | f for i, (f, b) in enumerate(zip(fractions, below, strict=True))]
    judge(np.array([codes], np.uint32), "fp32", recipe)


@pytest.mark.parametrize(
    ("recipe", "shape"), [("nvfp4_te_ref", (3, 50)), ("ufp4", (5, 21)), ("nvfp4_te_ref", (1, 16)), ("nvufp4", (33, 272))]
)
def test_lengths_that_fill_no_block_or_tile(judge: Any, recipe: str, shape: tuple[int, int]) -> None:
    judge(np.random.default_rng(1).standard_normal(shape).astype(np.float32).view(np.uint32), "fp32", recipe)


@pytest.mark.parametrize("signs", [0, 0xFFFF, 0xD7E8, 0x1234])
def test_signs_of_ufp4(judge: Any, signs: int) -> None:
    judge(np.random.default_rng(2).standard_normal((2, 32)).astype(np.float32).view(np.uint32), "fp32", "ufp4", signs=signs)


@pytest.mark.parametrize("source", ["bf16", "fp32"])
def test_rotation_before_nvfp4_in_two_passes(tensor: Any, equal: Any, source: str) -> None:
    """Rotate, take the maximum of what comes out, quantize that: as emu.transform and emu.quantize one after the other."""
    from emu.engines.torch.triton.quantize import quantize

    x = np.random.default_rng(5).standard_normal((8, 64)).astype(np.float32).view(np.uint32)
    codes = x if source == "fp32" else (x >> 16).astype(np.uint16)
    rotated = emu.transform(codes, "rht16_te", source=source)
    equal(emu.quantize(rotated, "nvfp4_te_ref"), quantize(tensor(codes, source), "nvfp4_te_ref", rotate="rht16_te"))


def test_packed_codes_and_the_128x4_scale_layout(tensor: Any, bits: Any) -> None:
    from emu.engines.numpy.layout import places
    from emu.engines.torch.triton.quantize import quantize
    from emu.spec import get

    codes = np.random.default_rng(6).standard_normal((130, 96)).astype(np.float32).view(np.uint32)
    want = emu.quantize(codes, "nvfp4_te_ref", source="fp32")
    found = quantize(tensor(codes, "fp32"), "nvfp4_te_ref", packed=True, scale_layout="sf128x4")
    np.testing.assert_array_equal(bits(found.codes), want.codes[:, 0::2] | want.codes[:, 1::2] << 4)
    where = places(130, 6, get("layout", "sf128x4"))
    stored = np.zeros(256 * 8, np.uint8)
    stored[where] = want.levels[1].codes.reshape(130, 6)
    np.testing.assert_array_equal(bits(found.levels[1]), stored)


def test_bad_input_is_refused_in_one_line(torch: Any, device: str) -> None:
    from emu.engines.torch.triton.quantize import quantize

    x = torch.ones((2, 32), device=device)
    for error, message, recipe, operands in (
        (emu.base.errors.OperandError, "is torch.float64", "ufp4", {"x": x.double()}),
        (emu.base.errors.ShapeError, "take a matrix", "ufp4", {"x": x.reshape(-1)}),
        (emu.base.errors.ShapeError, "no multiple", "mxfp4_torchao_floor", {"x": x[:, :31]}),
        (emu.base.errors.OperandError, "reads no tensor_amax", "ufp4", {"tensor_amax": x[0, :1]}),
        (emu.base.errors.OperandError, "cannot be negative", "nvfp4_te_ref", {"tensor_amax": -x[0, :1]}),
        (emu.base.errors.OperandError, "give one float32", "nvfp4_te_ref", {"tensor_amax": x[0, :2]}),
        (emu.base.errors.OperandError, "rotates by rht16_ufp4 itself", "ufp4", {"rotate": "rht16_te"}),
        (emu.base.errors.OperandError, "rotates nothing", "nvfp4_te_ref", {"signs": 1}),
        (emu.base.errors.OperandError, "fixed signs", "nvfp4_te_ref", {"rotate": "rht16_te", "signs": 1}),
        (emu.base.errors.OperandError, "more than 16 bits", "ufp4", {"signs": 1 << 16}),
        (emu.base.errors.OperandError, "draws no random", "ufp4", {"key": 1}),
        (emu.base.errors.OperandError, "one of them", "ufp4_sr", {}),
        (emu.base.errors.OperandError, "an integer for each", "ufp4_sr", {"random": x}),
        (emu.base.errors.OperandError, "in 0 .. 255", "ufp4_sr", {"random": x.to(torch.int32) * 256}),
        (emu.base.errors.OperandError, "in 0 .. 255", "ufp4_sr", {"random": -x.to(torch.int64)}),
        (emu.base.errors.OperandError, "for elements", "ufp4", {"scale_layout": "low_nibble_first"}),
        (emu.base.errors.OperandError, "even number", "nvfp4_te_ref", {"x": x[:, :31].contiguous(), "packed": True}),
        (emu.base.errors.EngineError, "use another engine", "hif4", {}),
        (emu.base.errors.OpenError, "leave open", "mxfp4_torchao_floor", {"x": x * torch.nan}),
    ):
        with pytest.raises(error, match=message) as caught:
            quantize(**{"x": x, "recipe": recipe, **operands})
        assert "\n" not in str(caught.value)


def test_an_unchecked_run_marks_open_codes(torch: Any, device: str, bits: Any) -> None:
    from emu.engines.torch.triton.quantize import quantize

    x = torch.ones((1, 32), device=device)
    x[0, 3] = torch.nan
    found = quantize(x, "mxfp4_torchao_floor", check=False)
    assert bits(found.codes)[0, 3] == 0xFF
