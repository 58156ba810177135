"""Quantization by the numpy engine against exact: every recipe on directed and drawn blocks, sources, tails, random operands, chunks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emu import strategies
from emu.base.caches import Cache
from emu.base.errors import OpenError, OperandError, ShapeError, SpecError
from emu.base.philox import words
from emu.engines.exact import block as exact
from emu.engines.exact.encode import encode_value
from emu.engines.exact.value import finite
from emu.engines.numpy import block as npy
from emu.engines.numpy import tables
from emu.engines.numpy.convert import code_dtype
from emu.spec import derive
from emu.spec.models import Recipe
from emu.spec.programs import lowering
from emu.spec.registry import get, names

RECIPES = names("recipe")
FP32 = get("format", "fp32")
AMAX = [
    name for name in RECIPES if strategies.draws_random(name) is None and npy.quantize_program(get("recipe", name)).reads("tensor_amax")
]
FINITE_AMAX = [0, 1, 0x00008DC0, 0x04C00000, 0x05280000, 0x05280001, 0x3F800000, 0x40E00001, 0x45280000, 0x4B000000, 0x7F7FFFFF]
Matrix = Callable[..., Any]


def plain(array: Any, format_id: str) -> list[list[int]]:
    """Codes as lists, markers as -1."""
    fmt = get("format", format_id)
    out = array.astype(np.int64)
    if array.dtype != code_dtype(fmt) or derive.codes(fmt).bits < array.dtype.itemsize * 8:
        out[array == tables.mark(derive.OPEN, fmt)] = derive.OPEN
    return out.tolist()  # type: ignore[no-any-return]


def compare(recipe: Recipe, codes: Any, source: str = "fp32", **operands: Any) -> npy.QuantizedCodes:
    """Quantize with both columns, masked, and compare every code of every output."""
    fmt = get("format", source)
    got = npy.quantize(recipe, codes, fmt, masked=True, **operands)
    given = {key: value.tolist() if isinstance(value, np.ndarray) else value for key, value in operands.items()}
    wanted = exact.quantize(recipe, codes.tolist(), fmt, masked=True, **given)
    block = get("block", recipe.facts.block)
    for level in block.facts.levels:
        assert plain(got.levels[level.name], level.format) == wanted.levels[level.name], level.name
    assert plain(got.codes, block.element_formats[0]) == wanted.codes
    return got


def operands_of(name: str, shape: tuple[int, ...], start: int = 0) -> dict[str, Any]:
    """A random operand where the recipe draws; per-element roundings."""
    rounding = strategies.draws_random(name)
    return {} if rounding is None else {"random": words(3, shape[0] * shape[1], start).reshape(shape) >> (32 - rounding.random_bits)}


def unit_amax(recipe: Recipe) -> int:
    """fp32 code of the tensor maximum for which the tensor factor is 1 (2688 where the block states no factor)."""
    factor = derive.parse_exact(get("block", recipe.facts.block).facts.factor)
    return encode_value(finite(1 / factor if factor != 1 else Fraction(2688)), FP32)


@pytest.mark.cases(6, 40)
@pytest.mark.parametrize("name", RECIPES)
def test_directed_blocks(name: str, matrix: Matrix) -> None:
    """A tensor maximum that makes the scales of the tie blocks ties; then the true one of blocks that are not huge."""
    recipe, codes = get("recipe", name), matrix(get("recipe", name))
    amax = {"tensor_amax": unit_amax(recipe)} if name in AMAX else {}
    got = compare(recipe, codes, **operands_of(name, codes.shape), **amax)
    assert len(np.unique(got.codes)) > 10
    if name in AMAX:
        rows, lanes = get("block", recipe.facts.block).facts.shape
        compare(recipe, np.ascontiguousarray(codes[: 2 * rows, :lanes]))


@pytest.mark.cases(13, 40)
@pytest.mark.parametrize("name", RECIPES)
def test_nan_and_inf(name: str, matrix: Matrix) -> None:
    recipe = get("recipe", name)
    codes = matrix(recipe, special=True)
    rows, lanes = get("block", recipe.facts.block).facts.shape
    codes = codes[:rows, : 2 * lanes] if rows > 16 else codes  # a tile of 128 x 128 takes the reference model seconds
    keep = slice(None) if rows > 1 else slice(0, 4)
    compare(recipe, codes[keep], **operands_of(name, codes[keep].shape))
    amax = {"tensor_amax": 0x45280000} if name in AMAX else {}
    compare(recipe, codes[keep][:, : codes.shape[1] // 2], **operands_of(name, (codes[keep].shape[0], codes.shape[1] // 2)), **amax)


def is_open(recipe: Recipe) -> bool:
    return recipe.facts.domain.non_finite == "no"


@pytest.mark.cases(40, 30)
@pytest.mark.parametrize("name", RECIPES)
def test_what_is_open_raises_unless_masked(name: str, matrix: Matrix) -> None:
    """The same inputs raise in both columns; none of the outputs of the others holds a marker."""
    recipe, codes = (
        get("recipe", name),
        matrix(get("recipe", name), special=True)[:, : max(16, get("block", get("recipe", name).facts.block).facts.shape[1])],
    )
    codes = codes[: max(1, get("block", recipe.facts.block).facts.shape[0])]
    operands = operands_of(name, codes.shape)
    given = {key: value.tolist() for key, value in operands.items()}
    found = [
        raised(lambda: exact.quantize(recipe, codes.tolist(), FP32, **given)),
        raised(lambda: npy.quantize(recipe, codes, FP32, **operands)),
    ]
    assert found[0] == found[1] and "\n" not in found[0]
    assert found[0].startswith(f"quantize/{name}: ") if is_open(recipe) else not found[0] or "open" in found[0]


def raised(call: Callable[[], Any]) -> str:
    """The message of an OpenError, or nothing."""
    try:
        call()
    except OpenError as error:
        return str(error)
    return ""


@pytest.mark.cases(5)
@pytest.mark.parametrize("name", AMAX)
def test_tensor_maxima(name: str, matrix: Matrix) -> None:
    """Given maxima from 0 to Inf and NaN, true or not: two blocks each."""
    recipe = get("recipe", name)
    rows, lanes = get("block", recipe.facts.block).facts.shape
    codes = matrix(recipe)[:rows] if rows > 1 else matrix(recipe)[np.newaxis, 1]
    codes = np.ascontiguousarray(codes[:, :lanes] if rows > 1 else np.concatenate([codes[:, :lanes], matrix(recipe)[2:3, :lanes]], axis=1))
    given_maxima = FINITE_AMAX[:: 3 if rows > 1 or "4over6" in name else 1]
    for amax in [*given_maxima, 0x7F800000, 0x7FC00000]:
        compare(recipe, codes, tensor_amax=amax)
    for amax in (0x80000000, 0xBF800000, 0xFF800000):
        with pytest.raises(OperandError, match="cannot be negative"):
            npy.quantize(recipe, codes, FP32, tensor_amax=amax)


@pytest.mark.parametrize("name", sorted(set(RECIPES) - set(AMAX) - {"ufp4_sr"}))
def test_a_tensor_maximum_is_unwanted(name: str) -> None:
    lanes = get("block", get("recipe", name).facts.block).facts.shape[1]
    with pytest.raises(OperandError, match="reads no tensor_amax"):
        npy.quantize(get("recipe", name), np.zeros((1, lanes), np.uint32), FP32, tensor_amax=0x3F800000)


@pytest.mark.parametrize("source", ["bf16", "fp16", "fp64", "e4m3"])
@pytest.mark.parametrize("name", ["nvfp4_te_ref", "hif4", "mxfp4_torchao_rceil", "if4_abs_max", "ufp4", "nvfp4_f46_static_6"])
def test_other_sources(name: str, source: str, matrix: Matrix) -> None:
    recipe = get("recipe", name)
    wide = matrix(recipe)[1:4, : get("block", recipe.facts.block).facts.shape[1]]
    if source == "bf16":
        codes = (wide >> 16).astype(np.uint16)
    elif source == "fp64":
        codes = wide.view(np.float32).astype(np.float64).view(np.uint64)
    else:
        codes = (wide >> 13).astype(np.uint16) & 0xFBFF if source == "fp16" else (wide >> 17).astype(np.uint8) & 0xF7
    compare(recipe, codes, source)


def test_a_binary64_value_must_be_a_binary32_number() -> None:
    codes = np.full((1, 16), 0.1).view(np.uint64)
    with pytest.raises(OperandError, match="no binary32 number"):
        npy.quantize(get("recipe", "nvfp4_te_ref"), codes, get("format", "fp64"))


@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example])
@given(st.data())
def test_blocks_of_hypothesis(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from([name for name in RECIPES if name != "nvfp4_te_2d_ref"]))
    source = data.draw(st.sampled_from(["fp32", "bf16"]))
    codes = data.draw(strategies.blocks(name, source, count=1, specials=data.draw(st.booleans())))
    operands: dict[str, Any] = {}
    if strategies.draws_random(name):
        operands["random"] = data.draw(strategies.random_operands("sr_add8", codes.size)).reshape(codes.shape)
    if name in AMAX:
        operands["tensor_amax"] = data.draw(strategies.tensor_maxima(codes & 0x7F7F, source))
    compare(get("recipe", name), codes, source, **operands)


def widths(recipe: Recipe) -> Iterator[tuple[int, int]]:
    rows, lanes = get("block", recipe.facts.block).facts.shape
    yield from ((1, 1), (2, lanes - 1), (rows + 1, lanes + 3), (3, 2 * lanes))


@pytest.mark.parametrize(
    "name",
    ["nvfp4_te_ref", "nvfp4_te_2d_ref", "nvfp4_f46_static_6", "mxe1m2_floor", "mxfp4_te_pow2", "ufp4", "ufp4_sr", "nvfp4_torchao", "hif4"],
)
def test_ragged_tails(name: str, matrix: Matrix) -> None:
    """By the tail rule: cut off, kept, or refused; padding is zeros in both columns."""
    recipe = get("recipe", name)
    lanes = get("block", recipe.facts.block).facts.shape[1]
    whole = np.concatenate([matrix(recipe)] * 2, axis=0)
    for height, width in widths(recipe):
        codes = np.ascontiguousarray(whole[:height, :width])
        if recipe.facts.tail == "error" and width % lanes:
            with pytest.raises(ShapeError, match=r"no multiple of .*tail: error"):
                npy.quantize(recipe, codes, FP32)
            continue
        got = compare(recipe, codes, **operands_of(name, codes.shape))
        padded = npy.padded_size(recipe, height, width)
        assert got.codes.shape == ((height, width) if recipe.facts.tail == "zero_pad_drop" else padded)


@pytest.mark.cases(6, 40)
@pytest.mark.parametrize("name", RECIPES)
def test_chunk_size_and_memory_order_never_matter(name: str, matrix: Matrix, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = get("recipe", name)
    codes = np.concatenate([matrix(recipe)] * 3, axis=1)
    operands = operands_of(name, codes.shape)
    kept = codes.copy()
    whole = npy.quantize(recipe, codes, FP32, masked=True, **operands)
    values = npy.dequantize(recipe, whole.codes.astype(np.uint8), whole.levels) if not is_marked(whole, recipe) else None
    for size in (1, 700):
        monkeypatch.setattr(npy, "CHUNK", size)
        for layout in (codes, np.asfortranarray(codes), np.repeat(codes, 2, axis=1)[:, ::2], codes[::-1][::-1]):
            again = npy.quantize(recipe, layout, FP32, masked=True, **operands)
            assert np.array_equal(again.codes, whole.codes)
            assert all(np.array_equal(again.levels[key], whole.levels[key]) for key in whole.levels)
            if values is not None:
                assert np.array_equal(npy.dequantize(recipe, again.codes, again.levels), values)
    assert np.array_equal(codes, kept)


def is_marked(found: npy.QuantizedCodes, recipe: Recipe) -> bool:
    return found.codes.dtype == np.uint8 and bool((found.codes == 255).any())


@contextmanager
def unfused() -> Iterator[None]:
    """Plans made inside run every step by itself."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lowering, "_lowered", Cache("tests.lowered", 512))
        patch.setattr(lowering, "_with_chain", lambda item, *_: lowering.LoweredStep(item))
        yield


def test_what_is_fused() -> None:
    """All recipes but those whose elements are cast as they are scaled; in Transformer Engine's the clamp and the choice for zero."""
    plans = {name: lowering.lower(npy.quantize_program(get("recipe", name))) for name in RECIPES}
    chains = {name: [step.chain for step in found.each if step.chain] for name, found in plans.items()}
    alone = {name for name, found in chains.items() if not any(chain[1:] for chain in found)}
    assert alone >= {"mxfp4_torchao_floor", "mxfp4_torchao_ceil", "mxfp4_torchao_even", "mxe1m2_floor", "ufp4_sr"}
    assert not {name for name in alone if name.startswith("nvfp4_te")} and {"nvfp4_torchao", "nvfp4_modelopt", "mxfp4_deep_gemm"} - alone
    assert [[item.op for item in chain] for chain in chains["nvfp4_te_ref"]][-1] == ["clamp", "select", "cast"]


@pytest.mark.cases(50, 50)
@pytest.mark.parametrize("name", RECIPES)
def test_fused_chains_equal_single_steps(name: str, matrix: Matrix) -> None:
    """20,000 elements near every threshold and the directed ones, NaN and Inf too."""
    recipe = get("recipe", name)
    rows, lanes = get("block", recipe.facts.block).facts.shape
    draw = words(8, 64 * 5 * 64).reshape(64, -1)[:, : 5 * lanes]
    some = draw & 0x87FFFFFF | 0x38000000
    some[::3] &= np.uint32(0xFFFF0000)
    some[1::9, ::7] = draw[1::9, ::7]
    for codes in (np.ascontiguousarray(some), matrix(recipe), matrix(recipe, special=True)):
        operands = operands_of(name, codes.shape)
        fused = npy.quantize(recipe, codes, FP32, masked=True, **operands)
        with unfused():
            single = npy.quantize(recipe, codes, FP32, masked=True, **operands)
            assert not any(step.chain for step in lowering.lower(npy.quantize_program(recipe)).each)
        assert np.array_equal(fused.codes, single.codes), name
        assert all(np.array_equal(fused.levels[key], single.levels[key]) for key in fused.levels)
    assert rows


def with_rounding(recipe: Recipe, rounding: str) -> Recipe:
    """The recipe with another rounding in the casts that draw."""
    steps = tuple(step.model_copy(update={"round": rounding}) if getattr(step, "random", None) else step for step in recipe.facts.steps)
    return recipe.model_copy(update={"facts": recipe.facts.model_copy(update={"steps": steps})})


@pytest.mark.parametrize("rounding", ["sr_te_sw8", "sr_ptx_split8", "sr_add16", "sr_te_fma8"])
def test_random_operands_of_other_kinds(rounding: str, matrix: Matrix) -> None:
    """Words shared by four elements, by row: a short row ends its last word."""
    recipe = Recipe.model_validate(with_rounding(get("recipe", "ufp4_sr"), rounding).model_dump(by_alias=True, exclude_none=True))
    codes = np.ascontiguousarray(matrix(recipe)[:4, :24])
    mode = get("rounding", rounding)
    if hasattr(mode.facts.random, "lanes"):
        random = words(6, 4 * 6).reshape(4, 6)
    else:
        random = words(6, 4 * 24).reshape(4, 24) >> (32 - mode.random_bits)
    compare(recipe, codes, random=random)


def test_bad_random_operands() -> None:
    recipe, codes = get("recipe", "ufp4_sr"), np.zeros((2, 16), np.uint32)
    with pytest.raises(OperandError, match="give random"):
        npy.quantize(recipe, codes, FP32)
    with pytest.raises(OperandError, match="leave random out"):
        npy.quantize(get("recipe", "ufp4"), codes, FP32, random=np.zeros((2, 16), np.uint8))
    with pytest.raises(OperandError, match="random has 31 integers"):
        npy.quantize(recipe, codes, FP32, random=np.zeros(31, np.uint8))
    with pytest.raises(ShapeError, match="at least one element"):
        npy.quantize(recipe, np.zeros((0, 16), np.uint32), FP32)
    with pytest.raises(SpecError, match="no dequantize profile"):
        npy.dequantize(recipe, np.zeros((2, 16), np.uint8), {"scale": np.zeros((2, 1), np.uint32)}, profile="nobody")
