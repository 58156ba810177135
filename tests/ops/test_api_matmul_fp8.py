"""emu.matmul of FP8 with a scale for each row, for the tensor or for each tile: products by hand in NumPy's binary32, refusals."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import emu
from emu.base.errors import OperandError, SpecError
from emu.engines.exact.epilogue import epilogue
from emu.ops.operands import operand_of
from emu.pages.datapath_levels import epilogue_text
from emu.spec import get, load_spec
from emu.spec.datapath import resolve
from emu.spec.models.levels import EpilogueFacts
from emu.spec.registry import restored

PAGE = (Path(__file__).parents[2] / "docs" / "datapath_levels.md").read_text(encoding="utf-8")
LEVELS = """
kind: "datapath"
id: "fp8_pairs"
title: "FP8 by levels that are no fused step"
status: "proposed"
facts:
  a: ["e4m3"]
  b: ["e4m3"]
  c: "fp32"
  k: 4
  levels:
    - {id: "way", of: 4, add: "pairwise", hold: {format: "fp32", rounding: "rne", overflow: "ieee"}}
    - {id: "k", of: "all", add: "chain", start: "c", hold: {format: "fp32", rounding: "rne", overflow: "ieee"}}
  out: {format: "fp32"}
  special: {when: "per_add", nan: "0x7FFFFFFF", zero: "ieee"}
sources: []
"""
DATAPATHS = ("hopper_fp8", "fp8_pairs")
ENGINES = ("auto", "exact", "numpy", "c_ref")
K = 64


@pytest.fixture(scope="module", autouse=True)
def files(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("spec")
    (folder / "fp8_pairs.yaml").write_text(LEVELS, encoding="utf-8")
    (text,) = (text for text in re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL) if text.startswith("kind"))
    (folder / "hopper_fp8_blocks.yaml").write_text(text, encoding="utf-8")
    with restored():
        load_spec(folder)
        yield


def operands(recipe: str, other: str = "", k: int = K) -> tuple[Any, Any]:
    """A [5, k] and B [k, 3], rows and columns of other sizes each."""
    rng = np.random.default_rng(7)
    a = rng.standard_normal((5, k)).astype(np.float32) * np.float32([[1], [300], [0.07], [5e-3], [11]])
    b = rng.standard_normal((k, 3)).astype(np.float32) * np.float32([[0.3, 19, 7e-4]])
    return emu.quantize(a, recipe), emu.quantize(b, other or recipe, axis=0)


def scale_of(q: Any) -> Any:
    """The scales of a Quantized in binary32."""
    (level,) = q.levels
    return (level.codes.astype(np.uint32) << 16 if level.format == "bf16" else level.codes).view(np.float32)


def sums(a: Any, b: Any, datapath: str, c: Any = None) -> Any:
    """The products of codes alone."""
    found = emu.dot(a.codes[:, None, :], b.codes.T[None], datapath, c=c, a_format="e4m3", b_format="e4m3", engine="exact")
    return found.view(np.float32)


@pytest.mark.parametrize("datapath", DATAPATHS)
@pytest.mark.parametrize("recipe", ["e4m3_row_torchao", "e4m3_row_bf16_compressed_tensors", "e4m3_tensor_torchao"])
def test_scales_multiply_the_sum_one_after_the_other(recipe: str, datapath: str) -> None:
    """NumPy's single operations of binary32 are correctly rounded."""
    a, b = operands(recipe)
    first, second, bare = scale_of(a), scale_of(b), sums(a, b, datapath)
    wanted = {"a_first": bare * first * second, "b_first": bare * second * first}
    if recipe.startswith("e4m3_tensor"):
        wanted["together"] = bare * (first * second)
    c = np.linspace(-3, 50, 15, dtype=np.float32).reshape(5, 3)
    assert len({array.tobytes() for array in wanted.values()}) == len(wanted) or "bf16" in recipe  # short scales: the orders may agree
    for engine in ENGINES:
        for scales, array in wanted.items():
            found = emu.matmul(a, b, datapath, scales=scales, bits=True, engine=engine)
            assert np.array_equal(found, array.view(np.uint32)), (engine, scales)
            after = emu.matmul(a, b, datapath, c, epilogue="after", scales=scales, engine=engine)
            assert np.array_equal(after, array + c), (engine, scales)
    before = emu.matmul(a, b, datapath, c, epilogue="before", scales="b_first")
    assert np.array_equal(before, sums(a, b, datapath, c) * second * first)


def test_a_row_beside_a_tensor_and_leading_axes() -> None:
    a, b = operands("e4m3_row_torchao", "e4m3_tensor_torchao")
    found = emu.matmul(a, b, "hopper_fp8", scales="b_first")
    assert np.array_equal(found, sums(a, b, "hopper_fp8") * scale_of(b) * scale_of(a))
    x = np.stack([a.dequantize(), 3 * a.dequantize()[::-1]])
    high = emu.matmul(emu.quantize(x, "e4m3_row_torchao"), b, "hopper_fp8", scales="a_first")
    one = [emu.matmul(emu.quantize(part, "e4m3_row_torchao"), b, "hopper_fp8", scales="a_first") for part in x]
    assert high.shape == (2, 5, 3) and np.array_equal(high, np.stack(one))


@pytest.mark.parametrize(("first", "last"), [("rz", "rne"), ("rne", "rz")])
@pytest.mark.parametrize("engine", ENGINES)
def test_each_multiplication_has_its_rounding_and_c_joins_the_last(engine: str, first: str, last: str) -> None:
    a, b = operands("e4m3_row_torchao")
    c, plan = np.float32([[0.3, -2, 1e-3]] * 5), resolve("hopper_fp8", "e4m3", "e4m3")
    facts = EpilogueFacts(alpha=first, d=last, c_place="after", fused="yes", scales="b_first")
    found = emu.matmul(a, b, "hopper_fp8", c, epilogue=facts, bits=True, engine=engine)
    bare, left, right = (array.view(np.uint32) for array in (sums(a, b, "hopper_fp8"), scale_of(a), scale_of(b)))
    once = EpilogueFacts(alpha=first, d=first, c_place="after", fused="no")
    for i, j in np.ndindex(found.shape):
        half = epilogue(int(bare[i, j]), int(right[0, j]), None, once, plan)
        assert found[i, j] == epilogue(half, int(left[i, 0]), int(c.view(np.uint32)[i, j]), facts, plan)


def test_the_order_may_stand_in_the_file() -> None:
    a, b = operands("e4m3_row_torchao")
    model = get("datapath", "fp8_pairs")
    own = model.facts.model_copy(update={"epilogue": EpilogueFacts(alpha="rne", d="rne", c_place="after", fused="no", scales="b_first")})
    assert epilogue_text(own.epilogue) == "D * scale b, rounded rne; that * scale a, rounded rne; C is added after both"
    found = emu.matmul(a, b, model.model_copy(update={"facts": own}))
    assert np.array_equal(found, emu.matmul(a, b, "fp8_pairs", scales="b_first"))
    found = emu.matmul(a, b, model.model_copy(update={"facts": own}), scales="a_first")
    assert np.array_equal(found, emu.matmul(a, b, "fp8_pairs", scales="a_first"))
    assert not np.array_equal(found, emu.matmul(a, b, "fp8_pairs", scales="b_first"))


def test_rows_of_zeros_are_nan_as_the_library_makes_them() -> None:
    a = emu.quantize(np.float32([[0] * K, [1] * K]), "e4m3_row_torchao")
    found = emu.matmul(a, operands("e4m3_row_torchao")[1], "hopper_fp8", scales="a_first", bits=True)
    assert (found[0] == 0x7FFFFFFF).all() and not (found[1] == 0x7FFFFFFF).any()


@pytest.mark.parametrize("engine", ["auto", "exact", "numpy", "c_ref"])
def test_tiles_multiply_inside_the_sum(engine: str) -> None:
    """The file of the page, block by block: sums of the instructions, both scales, one multiply-add (exact in binary64 here)."""
    a, b = operands("e4m3_tile128_deepseek", k=256)
    left, right = (item.levels[0].codes.view(np.float32) for item in (a, b))
    wanted = np.zeros((5, 3), np.float32)
    for block in range(2):
        part = slice(128 * block, 128 * block + 128)
        bare = emu.dot(a.codes[:5, None, part], b.codes.T[None, :3, part], "hopper_fp8", a_format="e4m3", b_format="e4m3")
        product = np.float64(left[0, block] * right[block, 0]) * bare.view(np.float32)  # 24 + 14 bits
        wanted = (wanted + product).astype(np.float32)
    found = emu.matmul(a, b, "hopper_fp8_blocks", engine=engine)
    assert np.array_equal(found[:5, :3], wanted)


def test_what_is_not_said_is_refused() -> None:
    rows, tensors, tiles = (operands(f"e4m3_{name}") for name in ("row_torchao", "tensor_torchao", "tile128_deepseek"))
    for given in ({}, {"scales": "together"}):
        with pytest.raises(SpecError, match=r'scales of rows multiply .* give scales="a_first" or "b_first" \(docs/datapath_levels.md'):
            emu.matmul(*rows, "hopper_fp8", **given)
    with pytest.raises(SpecError, match="does not say where C enters when the operands have scales of tensors or rows"):
        emu.matmul(*rows, "hopper_fp8", np.zeros((5, 3), np.float32), scales="a_first")
    with pytest.raises(SpecError, match="scales of tensors and rows multiply a binary32 result, not fp16"):
        emu.matmul(*rows, "hopper_fp8_f16", scales="a_first")
    with pytest.raises(OperandError, match="scales 'first' is unknown: together, a_first or b_first"):
        emu.matmul(*tensors, "hopper_fp8", scales="first")
    with pytest.raises(SpecError, match="hopper_fp8 takes no block scales, and a and b have one fp32 for every 128 elements along K"):
        emu.matmul(*tiles, "hopper_fp8")
    blocks = emu.quantize(np.ones((2, 64), np.float32), "mxfp8_e4m3_torchao_floor")
    with pytest.raises(OperandError, match="a and b have none: leave scales out"):
        emu.matmul(blocks, blocks.T, "blackwell_mxf8f6f4", scales="a_first")


def test_the_multiplier_of_a_row_is_what_the_recipe_multiplies_by() -> None:
    a, _ = operands("e4m3_row_torchao")
    found = operand_of(a, "a", -1, None)
    assert found.row_scales is not None and found.tensor_scale is None and found.scales is None
    assert np.array_equal(found.row_scales, a.scales[:, 0]) and found.row_scales.dtype == np.uint32
