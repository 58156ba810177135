"""emu.dot and emu.matmul: operands, order over K, tensor scales and C, refusals. Which bits are right is in the columns' tests."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import yaml

import emu
from emu.base.errors import EngineError, OpenError, OperandError, ShapeError, SpecError
from emu.engines.exact.datapath import dot as dot_exact
from emu.engines.exact.epilogue import add_codes, alpha_code, epilogue
from emu.engines.table import TABLE
from emu.ops.operands import _scale_rows, operand_of
from emu.spec import get
from emu.spec.datapath import DatapathPlan, resolve
from emu.spec.models.levels import EpilogueFacts

ROWS = yaml.safe_load((Path(__file__).parents[1] / "engines" / "exact" / "datapath_rows.yaml").read_text(encoding="utf-8"))
NVFP4 = "blackwell_mxf4nvf4_b16_ue4m3"


def engines_of(plan: DatapathPlan) -> list[str]:
    """Return every engine that can do a plan, and auto."""
    return [row.engine for row in TABLE if row.operation == "dot" and row.can(plan)] + ["auto"]


def sample(rows: int, columns: int, key: int) -> Any:
    """Return reproducible values of mixed size, no two rows alike."""
    word = (np.arange(rows * columns, dtype=np.uint64) + np.uint64(key)) * np.uint64(0x9E3779B97F4A7C15)
    word ^= word >> np.uint64(29)
    top = (word >> np.uint64(40)).astype(np.int64) - (1 << 23)
    return (top.astype(np.float32) / np.float32(1 << 21)).reshape(rows, columns)


def by_hand(a: emu.Quantized, b: emu.Quantized, plan: DatapathPlan, c: Any = None) -> Any:
    """Return the codes that the reference model gives for every output, one ascending chain."""
    left, right = operand_of(a, "a", -1, None), operand_of(b, "b", 0, None)
    assert left.scales is not None and right.scales is not None
    out = np.zeros((len(left.codes), len(right.codes)), np.uint32)
    for i, j in np.ndindex(out.shape):
        start = 0 if c is None else int(c[i, j])
        rows = (left.codes[i].tolist(), right.codes[j].tolist(), left.scales[i].tolist(), right.scales[j].tolist())
        out[i, j] = dot_exact(*rows, start, plan).code
    return out


def test_dot_takes_rows_of_codes_and_broadcasts() -> None:
    row = next(row for row in ROWS["rows"] if row["plan"] == NVFP4)
    a, b = (np.array([int(digit, 16) for digit in row[key]], np.uint8) for key in ("a", "b"))
    sa, sb = (np.array(list(bytes.fromhex(row[key])), np.uint8) for key in ("sfa", "sfb"))
    c = np.uint32(int(row["c"], 16))
    plan = resolve(NVFP4)
    for engine in engines_of(plan):
        assert emu.dot(a, b, NVFP4, sa, sb, c, engine=engine).item() == int(row["d"], 16)
        stacked = emu.dot(np.stack([a, b])[:, None], np.stack([b, a, a]), NVFP4, np.stack([sa, sb])[:, None], np.stack([sb, sa, sa]), c)
        assert stacked.shape == (2, 3)
        assert stacked[0, 0] == stacked[1, 1] == stacked[1, 2] == int(row["d"], 16)
    assert emu.dot(a, b, NVFP4, sa, sb, c.view(np.float32)).item() == int(row["d"], 16)


def test_dot_gives_the_stages() -> None:
    zeros = np.zeros(64, np.uint8)
    a = zeros.copy()
    a[:2] = 2
    codes, steps = emu.dot(a, a, NVFP4, np.full(4, 0x38, np.uint8), np.full(4, 0x38, np.uint8), np.float32(1), stages=True)
    assert codes.shape == () and codes.item() == 0x40400000
    (step,) = steps[0]
    assert (step.exp, step.total, step.lsb_exp) == (0, 3 << 35, -35)
    assert [term.group_sum for term in step.terms] == [8, 0, 0, 0]
    assert [term.live for term in step.terms] == [True, False, False, False]


def test_the_block_size_is_read_from_the_scales() -> None:
    ones = np.full((2, 128), 4, np.uint8)
    for block in (16, 32):
        scales = np.full((2, 128 // block), 0x7F, np.uint8)
        found = emu.dot(ones, ones, "nv_like", scales, scales, a_format="e1m2", b_format="e1m2", scale_format="e8m0")
        assert found.tolist() == [0x43000000] * 2


@pytest.mark.parametrize(
    ("recipe", "datapath"),
    [
        ("nvfp4_torchao_1level", NVFP4),
        ("mxfp4_torchao_floor", "blackwell_mxf4_b32_ue8m0"),
        ("mxe1m2_floor", "nv_like"),
        ("ufp4", "promote"),
        ("e2m1_fp32scale", "promote"),
    ],
)
def test_matmul_is_the_dot_of_every_row_and_column(recipe: str, datapath: str) -> None:
    x, y = sample(3, 128, 1), sample(128, 2, 7)
    a, b = emu.quantize(x, recipe), emu.quantize(y, recipe, axis=0)
    left = operand_of(a, "a", -1, None)
    assert left.tensor_scale is None
    plan = resolve(datapath, left.format, left.format, left.scale_format, left.block)
    c = sample(3, 2, 11)
    wanted = by_hand(a, b, plan, c.view(np.uint32))
    for engine in engines_of(plan):
        assert np.array_equal(emu.matmul(a, b, datapath, c=c, bits=True, engine=engine), wanted), engine
    transposed = emu.quantize(np.ascontiguousarray(y.T), recipe)
    assert np.array_equal(emu.matmul(a, transposed.T, datapath, c=c, bits=True), wanted)
    assert np.array_equal(emu.matmul(a, b, datapath, c=c).view(np.uint32), wanted)


@pytest.mark.cases(4)
@pytest.mark.parametrize("recipe", ["nvfp4_te_ref", "nvfp4_te_2d_ref", "nvfp4_compressed_tensors", "nvfp4_modelopt", "nvfp4_f46_mse"])
@pytest.mark.parametrize("place", ["before", "after", None])
def test_matmul_with_tensor_scales(recipe: str, place: Any) -> None:
    a, b = emu.quantize(sample(16, 64, 3), recipe), emu.quantize(sample(64, 16, 5), recipe, axis=0)
    plan, c = resolve(NVFP4), None if place is None else sample(16, 16, 9).view(np.uint32)
    left, right = operand_of(a, "a", -1, None), operand_of(b, "b", 0, None)
    assert left.tensor_scale is not None and right.tensor_scale is not None
    facts = EpilogueFacts(alpha="rne", d="rne", c_place=place or "before", fused="no")
    alpha = alpha_code(left.tensor_scale, right.tensor_scale, facts, plan)
    inner = by_hand(a, b, plan, c if place == "before" else None)
    for engine in engines_of(plan):
        found = emu.matmul(a, b, NVFP4, c=c, epilogue=place, bits=True, engine=engine)
        for i, j in ((0, 0), (3, 15), (15, 7)):
            addend = int(c[i, j]) if c is not None and place == "after" else None
            assert found[i, j] == epilogue(int(inner[i, j]), alpha, addend, facts, plan)


@pytest.mark.parametrize("mode", ["rz", "ru", "rd"])
def test_an_epilogue_with_another_rounding_runs_where_no_engine_is_named(mode: str) -> None:
    a, b = emu.quantize(sample(16, 64, 3), "nvfp4_te_ref"), emu.quantize(sample(64, 16, 5), "nvfp4_te_ref", axis=0)
    facts, c = EpilogueFacts(alpha=mode, d=mode, c_place="after", fused="yes"), sample(16, 16, 9)
    wanted = emu.matmul(a, b, NVFP4, c=c, epilogue=facts, bits=True, engine="exact")
    assert np.array_equal(emu.matmul(a, b, NVFP4, c=c, epilogue=facts, bits=True), wanted)
    assert np.array_equal(emu.matmul(a, b, NVFP4, c=c, epilogue=facts, bits=True, engine="c_ref"), wanted)


def test_a_tensor_multiplier_is_what_the_recipe_itself_multiplies_by() -> None:
    """amax / 2688 in one binary32 multiplication for Transformer Engine; a stored divisor becomes a multiplier."""
    x = sample(16, 64, 3)
    amax = np.float32(np.abs(x).max())
    te = operand_of(emu.quantize(x, "nvfp4_te_ref"), "a", -1, None)
    assert te.tensor_scale == int(np.float32(amax * np.array(0x39C30C31, np.uint32).view(np.float32)).view(np.uint32))
    ct = emu.quantize(x, "nvfp4_compressed_tensors")
    stored = ct.tensor_scale
    assert stored is not None
    divisor = stored.view(np.float32)
    assert operand_of(ct, "a", -1, None).tensor_scale == int(np.float32(np.float32(1) / divisor).view(np.uint32))


def test_order_decides_bits_and_is_what_it_says() -> None:
    a, b = emu.quantize(sample(4, 512, 1), "ufp4"), emu.quantize(sample(512, 4, 2), "ufp4", axis=0)
    c = sample(4, 4, 3)
    plan = resolve("promote", "e1m2", "e1m2", "fp32", 16)
    whole = emu.matmul(a, b, "promote", c=c, bits=True)
    split = emu.matmul(a, b, "promote", c=c, bits=True, order=emu.Order(split_k=2))
    transposed = emu.matmul(a, b, "promote", c=c, bits=True, order=emu.Order(direction="descending"))
    mixed = emu.matmul(a, b, "promote", c=c, bits=True, order=emu.Order(split_k=2, parts="interleaved"))
    assert len({item.tobytes() for item in (whole, split, transposed, mixed)}) == 4
    halves = [
        emu.matmul(emu.quantize(x, "ufp4"), emu.quantize(y, "ufp4", axis=0), "promote", c=start, bits=True)
        for x, y, start in (
            (sample(4, 512, 1)[:, :256], sample(512, 4, 2)[:256], c),
            (sample(4, 512, 1)[:, 256:], sample(512, 4, 2)[256:], None),
        )
    ]
    for i, j in np.ndindex(4, 4):
        assert split[i, j] == add_codes(int(halves[0][i, j]), int(halves[1][i, j]), plan)


def test_chains_of_an_order() -> None:
    assert emu.Order(split_k=3).chains(8) == [[0, 1], [2, 3, 4], [5, 6, 7]]
    assert emu.Order(split_k=3, parts="interleaved").chains(8) == [[0, 3, 6], [1, 4, 7], [2, 5]]
    assert emu.Order(split_k=2, direction="descending").chains(4) == [[1, 0], [3, 2]]
    with pytest.raises(ShapeError, match="split_k 9 is more than the 8 instructions"):
        emu.Order(split_k=9).chains(8)
    with pytest.raises(OperandError, match="split_k must be at least 1, not 0"):
        emu.Order(split_k=0)
    with pytest.raises(OperandError, match="combine 'tree' is unknown: one of ascending, pairwise"):
        emu.Order(combine="tree")  # type: ignore[arg-type]


def test_pairwise_and_ascending_joins_differ_where_rounding_does() -> None:
    """Partial sums 9 * 2^24 and three of 9/2, where the spacing is 16: from the left each is lost, in pairs two of them survive."""
    a, b = np.zeros((1, 256), np.float32), np.zeros((256, 1), np.float32)
    a[0, [0, 64, 128, 192]], b[[0, 64, 128, 192], 0] = (3 * 2**12, 3, 3, 3), (3 * 2**12, 1.5, 1.5, 1.5)
    x, y = emu.quantize(a, "e2m1_fp32scale"), emu.quantize(b, "e2m1_fp32scale", axis=0)
    joins = [emu.matmul(x, y, "promote", order=emu.Order(split_k=4, combine=join)).item() for join in ("ascending", "pairwise")]
    assert joins == [9.0 * 2**24, 9.0 * 2**24 + 16]


def test_a_short_k_is_refused_or_filled_with_zeros() -> None:
    x, y = sample(2, 96, 1), sample(96, 2, 2)
    a, b = emu.quantize(x, "mxe1m2_floor"), emu.quantize(y, "mxe1m2_floor", axis=0)
    with pytest.raises(ShapeError, match=r"K = 96 is no multiple of the 64 products of one instruction: pad with zeros \(tail: error\)"):
        emu.matmul(a, b, "nv_like")
    wide = [
        emu.quantize(np.pad(item, pad), "mxe1m2_floor", axis=axis)
        for item, pad, axis in ((x, ((0, 0), (0, 32)), 1), (y, ((0, 32), (0, 0)), 0))
    ]
    filled = emu.matmul(a, b, "nv_like", bits=True, order=emu.Order(tail="zero_pad"))
    assert np.array_equal(filled, emu.matmul(wide[0], wide[1], "nv_like", bits=True))


def test_leading_axes_of_a() -> None:
    x, y = sample(6, 64, 1), sample(64, 2, 2)
    b = emu.quantize(y, "nvfp4_torchao_1level", axis=0)
    flat = emu.matmul(emu.quantize(x, "nvfp4_torchao_1level"), b, NVFP4, bits=True)
    assert np.array_equal(emu.matmul(emu.quantize(x.reshape(2, 3, 64), "nvfp4_torchao_1level"), b, NVFP4, bits=True), flat.reshape(2, 3, 2))


def test_results_in_fp16() -> None:
    codes = np.array([[0x38, 0x40] * 16], np.uint8)
    found = emu.dot(codes, codes, "hopper_fp8_f16", c=np.float16([1]), a_format="e4m3", b_format="e4m3")
    assert found.dtype == np.uint16
    assert found.view(np.float16).tolist() == [81.0]


def test_matmul_refuses_with_both_sides_named() -> None:
    x, y = sample(2, 64, 1), sample(64, 2, 2)
    a, b = emu.quantize(x, "nvfp4_torchao_1level"), emu.quantize(y, "nvfp4_torchao_1level", axis=0)
    te = emu.quantize(x, "nvfp4_te_ref"), emu.quantize(y, "nvfp4_te_ref", axis=0)
    mx = emu.quantize(y, "mxfp4_torchao_floor", axis=0)
    short = emu.quantize(sample(32, 2, 2), "nvfp4_torchao_1level", axis=0)
    cases: list[tuple[tuple[Any, ...], dict[str, Any], Any, str]] = [
        (
            (a, emu.quantize(y.T.copy(), "nvfp4_torchao_1level")),
            {},
            ShapeError,
            r"b: the inner dimension is axis 0, its blocks lie along axis 1: .* \.T",
        ),
        ((a, short), {}, ShapeError, r"a has K = 64 \(its last axis\), b has K = 32 \(its first axis\)"),
        ((a, mx), {}, SpecError, "a has ue4m3, b has e8m0: one scale format for both"),
        ((mx.T, mx), {}, SpecError, f"{NVFP4} does not take scale format e8m0: it takes ue4m3"),
        ((a, b), {"c": np.zeros((2, 2))}, OperandError, "c: dtype float64 is not taken: give float32, or integer fp32 codes"),
        ((a, b), {"c": np.zeros((3, 2), np.float32)}, ShapeError, r"c: shape \(3, 2\) does not broadcast to \(2, 2\)"),
        (te, {"c": np.zeros((2, 2), np.float32)}, SpecError, 'give epilogue="before" .* or "after"'),
        (te, {"epilogue": "after"}, OperandError, "epilogue 'after' places C, and c is missing: give c, or leave epilogue out"),
        (te, {"epilogue": "late"}, OperandError, "epilogue 'late' is unknown"),
        ((a.dequantize(), b), {}, OperandError, r"a must be a Quantized \(emu.quantize makes one\), not ndarray"),
        ((a, b), {"engine": "gpu"}, EngineError, "engine 'gpu' is unknown"),
    ]
    for operands, words, kind, message in cases:
        with pytest.raises(kind, match=message):
            emu.matmul(*operands, NVFP4, **words)
    with pytest.raises(SpecError, match="nv_like does not take e5m2 x any"):
        emu.dot(np.zeros(64, np.uint8), np.zeros(64, np.uint8), "nv_like", a_format="e5m2")
    with pytest.raises(OpenError, match="datapath cdna4: no published model"):
        emu.matmul(a, b, "cdna4")
    with pytest.raises(SpecError, match="a: block hif4 has the levels scale per block"):
        emu.matmul(emu.quantize(x, "hif4"), b, NVFP4)
    with pytest.raises(OperandError, match="keeps one register through K: split_k must be 1"):
        emu.matmul(
            emu.quantize(sample(2, 128, 1), "nvufp4"),
            emu.quantize(sample(128, 2, 1), "nvufp4", axis=0),
            "int64",
            order=emu.Order(split_k=2),
        )


def test_dot_refuses_with_both_sides_named() -> None:
    row, scales = np.zeros(64, np.uint8), np.zeros(4, np.uint8)
    cases: list[tuple[tuple[Any, ...], Any, str]] = [
        ((row, row[:32], NVFP4, scales, scales), ShapeError, "A has 64 elements in a row, B has 32"),
        ((row, row, NVFP4), ShapeError, "takes one ue4m3 scale per 16 elements: a_scales is missing"),
        (
            (row, row, "blackwell_f8f6f4", scales, scales, None, "e2m1", "e2m1"),
            ShapeError,
            "takes no scales: leave them out: a_scales is given",
        ),
        ((row + 16, row, NVFP4, scales, scales), OperandError, "a: code 0x10 is no e2m1 code"),
        ((row.astype(np.float32), row, NVFP4, scales, scales), OperandError, "a_codes must be unsigned integers, not float32"),
        ((row.astype(np.int8) - 1, row, NVFP4, scales, scales), OperandError, "a_codes must be unsigned integers, not int8"),
        ((np.zeros((2, 64), np.uint8), np.zeros((3, 64), np.uint8), NVFP4, scales, scales), ShapeError, "do not broadcast"),
        ((row, row, NVFP4, scales, scales, ml_dtypes.bfloat16(0)), OperandError, "c: dtype bfloat16 is not taken"),
    ]
    for operands, kind, message in cases:
        with pytest.raises(kind, match=message):
            emu.dot(*operands)
    with pytest.raises(OperandError, match="stages come from the reference model"):
        emu.dot(row, row, NVFP4, scales, scales, stages=True, engine="numpy")


def test_the_unused_bit_of_a_scale_is_ignored_only_where_the_datapath_says_so() -> None:
    ones, scales = np.full(64, 2, np.uint8), np.full(4, 0x38, np.uint8)
    for engine in engines_of(resolve(NVFP4)):
        assert emu.dot(ones, ones, NVFP4, scales | 0x80, scales, engine=engine).item() == 0x42800000
    strict = get("datapath", NVFP4)
    facts = strict.facts.model_copy(update={"scale": strict.facts.scale.model_copy(update={"unused_bits": "open"})})
    with pytest.raises(OpenError, match="what a set bit 7 means is open"):
        emu.dot(ones, ones, strict.model_copy(update={"facts": facts}), scales | 0x80, scales)


@pytest.mark.parametrize("row_axis", [0, 1])
def test_the_scale_of_a_tile_goes_to_the_rows_of_that_tile(row_axis: int) -> None:
    x = np.random.default_rng(0).standard_normal((32, 48, 32)).astype(np.float32)
    q = emu.quantize(x, "nvfp4_te_2d_ref", axis=-1, row_axis=row_axis)
    lengths = [32, 48, 2]
    lengths[row_axis] //= 16
    codes = np.arange(np.prod(lengths), dtype=np.uint32).reshape(lengths)
    level = dataclasses.replace(q.levels[-1], codes=codes, granularity="tile")
    found = _scale_rows(q, level, -1).reshape(32, 48, 2)
    for i, j in np.ndindex(32, 48):
        place = (i // 16, j) if row_axis == 0 else (i, j // 16)
        assert np.array_equal(found[i, j], codes[place])
