"""quantize and Quantized: axes, tails, views, operands, files, and that what is returned cannot be changed."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import emu
from emu.base.errors import FileError
from emu.base.philox import words
from emu.engines.exact.block import dequantize as dequantize_exact
from emu.ops.quantized import Quantized, checksum, pack_nibbles, read_safetensors, unpack_nibbles, write_safetensors
from emu.spec import derive

SHAPES = [(48,), (5, 32), (32, 5), (2, 3, 32), (32, 2, 3), (3, 5, 20), (2, 2, 3, 16), (16, 2, 2, 2)]


def values(shape: tuple[int, ...]) -> Any:
    size = int(np.prod(shape))
    return (words(21, size) & 0x80FFFFFF | 0x3E000000).view(np.float32).reshape(shape)


def by_rows(x: Any, recipe: str, axis: int, row_axis: int, **operands: Any) -> tuple[Any, dict[str, Any]]:
    """The reference model on a matrix made by hand: blocked axis last, its row axis before it."""
    from emu.engines.exact.block import quantize

    moved = np.moveaxis(x, (row_axis, axis), (-2, -1)) if x.ndim > 1 else x.reshape(1, -1)
    matrix = np.ascontiguousarray(moved).reshape(-1, moved.shape[-1]).view(np.uint32)
    found = quantize(emu.spec.get("recipe", recipe), matrix.tolist(), emu.spec.get("format", "fp32"), **operands)
    return moved.shape, {"codes": np.array(found.codes), **{name: np.array(level) for name, level in found.levels.items()}}


@pytest.mark.cases(3)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", ["mxe1m2_floor", "nvfp4_te_ref", "hif4"])
def test_any_axis_of_any_array(name: str, shape: tuple[int, ...]) -> None:
    """Codes and levels lie where the elements lie, for each axis, against the reference model on a matrix."""
    x, compared = values(shape), 0
    for axis in sorted({0, len(shape) - 1, -1, -len(shape), 1 % len(shape)}):
        if name == "hif4":
            with pytest.raises(emu.ShapeError, match="tail: error"):
                emu.quantize(x, name, axis=axis)
            compared += 1
            continue
        row_axis = next(other for other in range(len(shape) - 1, -1, -1) if other != axis % len(shape)) if len(shape) > 1 else 0
        q = emu.quantize(x, name, axis=axis, row_axis=row_axis)
        moved, wanted = by_rows(x, name, axis, row_axis)
        matrix = np.moveaxis(q.codes, (row_axis, axis), (-2, -1)) if x.ndim > 1 else q.codes.reshape(1, -1)
        assert np.array_equal(matrix.reshape(-1, matrix.shape[-1]), wanted["codes"]) and len(moved) == max(2, len(shape))
        scale = np.moveaxis(q.scales, (row_axis, axis), (-2, -1)) if x.ndim > 1 else q.scales.reshape(1, -1)
        assert np.array_equal(scale.reshape(-1, scale.shape[-1]), wanted["scale"])
        kept = q.codes.shape == tuple(padded(length, q, i == axis % len(shape)) for i, length in enumerate(shape))
        assert kept and q.shape == shape and q.dequantize().shape == shape
        compared += 1
    assert compared


def padded(length: int, q: emu.Quantized, blocked: bool) -> int:
    lanes = q.block.facts.shape[1]
    return -(-length // lanes) * lanes if blocked and q.recipe.facts.tail == "zero_pad_keep" else length


@pytest.mark.parametrize("shape", [(32, 48), (17, 20), (2, 16, 32), (1, 16), (16, 1)], ids=str)
def test_tiles(shape: tuple[int, ...]) -> None:
    x = values(shape)
    for axis, row_axis in ((-1, -2), (-2, -1)):
        q = emu.quantize(x, "nvfp4_te_2d_ref", axis=axis, row_axis=row_axis)
        moved, wanted = by_rows(x, "nvfp4_te_2d_ref", axis, row_axis)
        matrix = np.moveaxis(q.codes, (row_axis, axis), (-2, -1)).reshape(-1, moved[-1])
        levels = {name: level.tolist() for name, level in wanted.items() if name != "codes"}
        assert np.array_equal(matrix, wanted["codes"])
        scale = np.moveaxis(q.scales, (row_axis, axis), (-2, -1)).reshape(wanted["scale"].shape)
        assert np.array_equal(scale, wanted["scale"]) and int(q.tensor_scale) == int(wanted["tensor"].item())
        back = np.moveaxis(q.dequantize().view(np.uint32), (row_axis, axis), (-2, -1)).reshape(-1, moved[-1])
        assert back.tolist() == dequantize_exact(q.recipe, wanted["codes"].tolist(), levels)


def test_a_tile_does_not_reach_into_the_next_matrix() -> None:
    with pytest.raises(emu.ShapeError, match="quantize each matrix by itself"):
        emu.quantize(values((2, 17, 32)), "nvfp4_te_2d_ref")
    assert emu.quantize(values((1, 17, 32)), "nvfp4_te_2d_ref").codes.shape == (1, 17, 32)


def test_views_and_orders_give_the_same() -> None:
    x = values((6, 64))
    wanted = emu.quantize(x, "nvfp4_te_ref")
    for view in (np.asfortranarray(x), np.repeat(x, 3, axis=0)[::3], np.repeat(x, 2, axis=1)[:, ::2], x[::-1][::-1], x.T.copy().T):
        found = emu.quantize(view, "nvfp4_te_ref")
        assert np.array_equal(found.codes, wanted.codes) and np.array_equal(found.scales, wanted.scales)
    transposed = emu.quantize(x.T, "nvfp4_te_ref", axis=0)
    assert np.array_equal(transposed.codes, wanted.codes.T) and np.array_equal(transposed.scales, wanted.scales.T)
    assert np.array_equal(transposed.dequantize(), wanted.dequantize().T)


@pytest.mark.parametrize("name", emu.spec.names("recipe"))
def test_files_give_back_every_bit(name: str, tmp_path: Path) -> None:
    """save, load, dequantize, for every recipe, on the axis that is not the last as well."""
    lanes = emu.spec.get("block", emu.spec.get("recipe", name).facts.block).facts.shape[1]
    x = values((16, 2 * lanes))
    for axis in (-1, 0):
        data = x if axis == -1 else np.ascontiguousarray(x.T)
        random = {"random": np.arange(data.size, dtype=np.uint8).reshape(data.shape)} if name == "ufp4_sr" else {}
        q = emu.quantize(data, name, axis=axis, **random)
        path = tmp_path / f"{axis % 2}.safetensors"
        q.save(path)
        back = emu.Quantized.load(str(path))
        assert (back.recipe, back.shape, back.axis, back.row_axis) == (q.recipe, q.shape, q.axis, q.row_axis)
        assert np.array_equal(back.codes, q.codes) and back.codes.dtype == q.codes.dtype
        for mine, theirs in zip(q.levels, back.levels, strict=True):
            assert [getattr(mine, key) == getattr(theirs, key) for key in ("name", "format", "granularity", "meaning")] == [True] * 4
            assert (
                np.array_equal(mine.codes, theirs.codes)
                and mine.codes.dtype == theirs.codes.dtype
                and mine.codes.shape == theirs.codes.shape
            )
        for profile in q.recipe.facts.dequantize:
            first, second = q.dequantize(profile=profile), back.dequantize(profile=profile)
            assert np.array_equal(first.view(np.uint32), second.view(np.uint32))
        with pytest.raises(emu.FileError, match="exists already"):
            q.save(path)


@pytest.mark.parametrize("shape", [(3, 5), (7,), (2, 3, 17), (4, 16)], ids=str)
def test_pack(shape: tuple[int, ...]) -> None:
    """Element 2k in the low nibble; an odd tail leaves the high nibble zero."""
    q = emu.quantize(values(shape), "nvfp4_te_ref")
    packed = q.pack()
    assert packed.dtype == np.uint8 and packed.shape == (*shape[:-1], (shape[-1] + 1) // 2)
    for place, byte in np.ndenumerate(packed):
        row, k = place[:-1], place[-1]
        high = q.codes[(*row, 2 * k + 1)] if 2 * k + 1 < shape[-1] else 0
        assert byte == (q.codes[(*row, 2 * k)] | high << 4)
    assert np.array_equal(unpack_nibbles(packed, shape[-1]), q.codes)
    assert pack_nibbles(np.array([1, 2, 15], np.uint8)).tolist() == [0x21, 0x0F]


def test_nothing_in_a_result_can_be_changed() -> None:
    x = values((2, 32))
    q = emu.quantize(x, "nvfp4_te_ref")
    for array in (q.codes, q.scales, *(level.codes for level in q.levels)):
        assert not array.flags.writeable
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        q.axis = 0
    with pytest.raises(dataclasses.FrozenInstanceError):
        q.levels[0].codes = q.codes
    before = q.codes.copy()
    x[...] = 0
    assert np.array_equal(q.codes, before)


def test_levels_scales_and_tensor_scale() -> None:
    q = emu.quantize(values((4, 32)), "nvfp4_te_ref")
    assert [level.name for level in q.levels] == ["tensor", "scale"] and q.levels[0].granularity == "tensor"
    assert q.scales.shape == (4, 2) and q.tensor_scale.shape == () and q.tensor_scale.dtype == np.uint32
    assert q.tensor_scale.view(np.float32) == emu.amax(values((4, 32)))
    h = emu.quantize(values((2, 64)), "hif4")
    assert [level.granularity for level in h.levels] == ["block", "sub8", "sub4"] and h.tensor_scale is None
    assert [level.codes.shape for level in h.levels] == [(2, 1), (2, 8), (2, 16)] and np.array_equal(h.scales, h.levels[0].codes)
    flagged = emu.quantize(values((2, 32)), "if4_mse")
    assert flagged.levels[2].meaning == "flag" and np.array_equal(flagged.scales, flagged.levels[1].codes)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32, np.float64])
def test_dequantize_dtypes(dtype: Any) -> None:
    """float64 is float32 widened; the others are rounded once to nearest even."""
    q = emu.quantize(values((4, 32)), "nvfp4_te_ref")
    found, wide = q.dequantize(dtype), q.dequantize()
    assert found.dtype == np.dtype(dtype) and found.shape == (4, 32)
    if dtype is np.float64:
        assert np.array_equal(found, wide.astype(np.float64))
    else:
        name = {"float16": "fp16", "bfloat16": "bf16", "float32": "fp32"}[np.dtype(dtype).name]
        unsigned = np.dtype(f"u{found.dtype.itemsize}")
        assert np.array_equal(found.view(unsigned), emu.convert(wide, name, policy="ieee").view(unsigned))
    assert np.array_equal(q.dequantize(dtype, engine="exact"), found)


def test_tensor_amax_forms() -> None:
    x = values((2, 16))
    wanted = emu.quantize(x, "nvfp4_te_ref", tensor_amax=7)
    for form in (7.0, np.float32(7), np.float64(7), np.array(7, np.float32), np.array([7.0]), np.float16(7), ml_dtypes.bfloat16(7)):
        found = emu.quantize(x, "nvfp4_te_ref", tensor_amax=form)
        assert np.array_equal(found.codes, wanted.codes) and found.tensor_scale == wanted.tensor_scale, repr(form)
    assert np.isnan(emu.quantize(x, "nvfp4_te_ref", tensor_amax=float("nan")).dequantize()).all()
    own = emu.quantize(x, "nvfp4_te_ref", tensor_amax=emu.amax(x))
    assert np.array_equal(own.codes, emu.quantize(x, "nvfp4_te_ref").codes)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_random_is_indexed_by_the_place_in_the_array(axis: int) -> None:
    """One integer per logical row-major element of x, whatever axis is blocked; flat or in the shape of x."""
    x = values((16, 16, 16))
    random = (words(4, x.size) >> 24).astype(np.uint8)
    q = emu.quantize(x, "ufp4_sr", axis=axis, random=random)
    same = emu.quantize(x, "ufp4_sr", axis=axis, random=random.reshape(x.shape))
    assert np.array_equal(q.codes, same.codes)
    moved = np.ascontiguousarray(np.moveaxis(x, axis, -1))
    other = emu.quantize(moved, "ufp4_sr", random=np.ascontiguousarray(np.moveaxis(random.reshape(x.shape), axis, -1)))
    assert np.array_equal(np.moveaxis(q.codes, axis, -1), other.codes)
    assert not np.array_equal(q.codes, emu.quantize(x, "ufp4_sr", axis=axis, random=random[::-1]).codes)


@pytest.mark.parametrize("engine", ["exact", "numpy", "c_ref", "native", "auto"])
def test_random_may_be_signed_integers_or_a_list(engine: str) -> None:
    drawn = np.arange(32, dtype=np.uint8)
    want = emu.quantize(X * 3, "ufp4_sr", random=drawn, engine="exact").codes
    for random in (drawn, drawn.astype(np.int64), drawn.tolist(), drawn.reshape(2, 16)):
        np.testing.assert_array_equal(emu.quantize(X * 3, "ufp4_sr", random=random, engine=engine).codes, want)


X = np.ones((2, 16), np.float32)
MISTAKES: list[tuple[Any, type[emu.EmuError], str]] = [
    (lambda: emu.quantize(X, "nvfp4_te_rf"), emu.SpecError, "did you mean nvfp4_te_ref"),
    (lambda: emu.quantize(X.astype(np.int64), "nvfp4_te_ref"), emu.OperandError, "dtype int64 is not taken"),
    (lambda: emu.quantize(np.float32(1), "nvfp4_te_ref"), emu.ShapeError, "scalar"),
    (lambda: emu.quantize(X[:0], "nvfp4_te_ref"), emu.ShapeError, "empty array"),
    (lambda: emu.quantize(X[:, :0], "nvfp4_te_ref"), emu.ShapeError, "empty array"),
    (lambda: emu.quantize(np.zeros(0, np.float32), "nvfp4_te_ref"), emu.ShapeError, "empty array"),
    (lambda: emu.quantize(X, "nvfp4_te_ref", axis=2), emu.ShapeError, "axis 2"),
    (lambda: emu.quantize(X, "nvfp4_te_ref", row_axis=-3), emu.ShapeError, "row_axis -3"),
    (lambda: emu.quantize(X[0], "nvfp4_te_ref", axis=1), emu.ShapeError, "axis"),
    (lambda: emu.quantize(X[:, :15], "nvfp4_torchao"), emu.ShapeError, "no multiple of 1 x 16"),
    (lambda: emu.quantize(X[:, :15], "nvfp4_torchao", engine="exact"), emu.ShapeError, "no multiple of 1 x 16"),
    (lambda: emu.quantize(X.astype(np.float64) / 10, "nvfp4_te_ref"), emu.OperandError, "no binary32 number"),
    (lambda: emu.quantize(X, "nvfp4_te_ref", tensor_amax=-1.0), emu.OperandError, "cannot be negative"),
    (lambda: emu.quantize(X, "nvfp4_te_ref", tensor_amax=-1.0, engine="exact"), emu.OperandError, "cannot be negative"),
    (lambda: emu.quantize(X, "nvfp4_te_ref", tensor_amax=0.1), emu.OperandError, "no binary32 number"),
    (lambda: emu.quantize(X, "nvfp4_te_ref", tensor_amax="7"), emu.OperandError, "one binary32 number"),
    (lambda: emu.quantize(X, "nvfp4_te_ref", tensor_amax=10**400), emu.OperandError, "binary32 number"),
    (lambda: emu.quantize(X, "nvfp4_te_ref", tensor_amax=X), emu.OperandError, "one binary32 number"),
    (lambda: emu.quantize(X, "mxfp4_te_pow2", tensor_amax=1.0), emu.OperandError, "reads no tensor_amax"),
    (lambda: emu.quantize(X, "nvfp4_te_ref", random=np.zeros(32, np.uint8)), emu.OperandError, "leave random out"),
    (lambda: emu.quantize(X, "ufp4_sr"), emu.OperandError, "needs random"),
    (lambda: emu.quantize(X, "ufp4_sr", engine="exact"), emu.OperandError, "random"),
    (lambda: emu.quantize(X, "ufp4_sr", random=np.zeros(31, np.uint8)), emu.OperandError, "random"),
    (lambda: emu.quantize(X, "ufp4_sr", random=np.full(32, 256)), emu.OperandError, "8 bits"),
    (lambda: emu.quantize(X, "ufp4_sr", random=np.zeros(32)), emu.OperandError, "random must be integers"),
    (lambda: emu.quantize(X, "ufp4_sr", random=np.zeros(31, np.uint8), axis=0), emu.OperandError, "last one"),
    (lambda: emu.quantize(X, "ufp4", signs=1 << 16), emu.OperandError, "more than 16 bits"),
    (lambda: emu.quantize(X, "nvfp4_te_ref", engine="c"), emu.EngineError, "one of exact, numpy"),
    (lambda: emu.quantize(np.full((1, 16), np.nan, np.float32), "hif4"), emu.EmuError, ""),
    (lambda: emu.quantize(np.full((1, 64), np.nan, np.float32), "hif4"), emu.OpenError, "sources leave open"),
    (lambda: emu.quantize(np.full((1, 64), np.nan, np.float32), "hif4", engine="exact"), emu.OpenError, "sources leave open"),
    (lambda: emu.quantize(X, "nvfp4_te_ref").dequantize(np.int8), emu.OperandError, "int8 cannot hold values"),
    (lambda: emu.quantize(X, "nvfp4_te_ref").dequantize(profile="exact"), emu.SpecError, "no dequantize profile"),
]


@pytest.mark.parametrize(("call", "kind", "text"), MISTAKES, ids=[f"{i}-{text}" for i, (_, _, text) in enumerate(MISTAKES)])
def test_one_line_for_a_mistake(call: Any, kind: type[emu.EmuError], text: str) -> None:
    with pytest.raises(kind) as found:
        call()
    message = str(found.value)
    assert text in message and "\n" not in message and len(message) < 250


def test_bad_files(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    emu.quantize(X, "nvfp4_te_ref").save(path)
    whole = path.read_bytes()
    for name, data in (("cut", whole[:-3]), ("head", whole[:20]), ("empty", b""), ("text", b"hello, world, this is no tensor file")):
        bad = tmp_path / f"{name}.safetensors"
        bad.write_bytes(data)
        with pytest.raises(emu.FileError, match=name) as found:
            emu.Quantized.load(bad)
        assert "\n" not in str(found.value)
    from safetensors.numpy import save_file

    save_file({"weight": X}, tmp_path / "foreign.safetensors")
    with pytest.raises(emu.FileError, match=r"not a file written by Quantized\.save"):
        emu.Quantized.load(tmp_path / "foreign.safetensors")
    with pytest.raises(emu.FileError, match="cannot read"):
        emu.Quantized.load(tmp_path / "absent.safetensors")
    with pytest.raises(emu.FileError, match="is a folder"):
        emu.Quantized.load(tmp_path)
    emu.quantize(X, "nvfp4_te_ref").save(tmp_path / "q.safetensors")
    data = bytearray((tmp_path / "q.safetensors").read_bytes())
    data[-1] ^= 1
    (tmp_path / "flipped.safetensors").write_bytes(data)
    with pytest.raises(emu.FileError, match="its bytes are not those that were written"):
        emu.Quantized.load(tmp_path / "flipped.safetensors")
    with pytest.raises(emu.FileError, match="no such folder"):
        emu.quantize(X, "nvfp4_te_ref").save(tmp_path / "no" / "such" / "folder.safetensors")
    assert sorted(item.name for item in tmp_path.iterdir() if item.name.startswith(".")) == []


def test_element_formats_of_every_recipe_fit_their_packing() -> None:
    for name in emu.spec.names("recipe"):
        block = emu.spec.get("block", emu.spec.get("recipe", name).facts.block)
        bits = {derive.codes(emu.spec.get("format", element)).bits for element in block.element_formats}
        assert bits == {4} if block.facts.packing == "low_nibble_first" else max(bits) <= 8


def test_a_saved_file_is_as_readable_as_any_other(tmp_path: Path) -> None:
    emu.quantize(X, "nvfp4_te_ref").save(tmp_path / "saved.safetensors")
    (tmp_path / "other").write_bytes(b"")
    assert (tmp_path / "saved.safetensors").stat().st_mode == (tmp_path / "other").stat().st_mode


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: emu.quantize(X, "nvfp4_te_ref", axis="a"), "axis must be an integer, not 'a'"),
        (lambda: emu.quantize(X, "nvfp4_te_ref", axis=None), "axis must be an integer, not None"),
        (lambda: emu.quantize(X, "nvfp4_te_ref", row_axis=1.5), r"row_axis must be an integer, not 1\.5"),
        (lambda: emu.quantize(X, "nvfp4_te_ref", signs=1), "nvfp4_te_ref rotates nothing: leave signs out"),
        (lambda: emu.quantize(X, "ufp4", signs="a"), "signs must be an integer, not 'a'"),
        (lambda: emu.transform(X, "rht16_te", axis=None), "axis must be an integer"),
        (lambda: emu.transform(X, "rht16_ufp4", signs="a"), "signs must be an integer"),
        (lambda: emu.convert([[1.0], [1.0, 2.0]], "e2m1"), "x is no array .*: give rows of one length"),
        (lambda: emu.convert(X, "e2m1", rounding="sr_add8", random=[[1], [1, 2]]), "random is no array"),
    ],
)
def test_plain_misuse_is_one_line(call: Any, message: str) -> None:
    with pytest.raises(emu.OperandError, match=message) as found:
        call()
    assert "\n" not in str(found.value)


def test_tensor_amax_is_binary32_under_another_arithmetic() -> None:
    recipe = emu.spec.get("recipe", "mxfp4_te_pow2")
    minimum = type(emu.spec.get("recipe", "nvfp4_te_ref").facts.steps[2])
    step = minimum(out="block_amax", op="min", args=("tensor_amax", "tensor_amax"), nan="propagate")
    arithmetic = recipe.facts.arithmetic.model_copy(update={"to": "bf16"})
    facts = recipe.facts.model_copy(update={"arithmetic": arithmetic, "steps": (step, *recipe.facts.steps[1:])})
    changed = recipe.model_copy(update={"facts": facts})
    x = np.ones((1, 32), ml_dtypes.bfloat16)
    assert [int(emu.quantize(x, changed, tensor_amax=amax).levels[0].codes[0, 0]) for amax in (6.0, 24.0)] == [0x7F, 0x81]
    with pytest.raises(emu.OperandError, match="is not a bf16 number"):
        emu.quantize(x, changed, tensor_amax=1.00390625)


def test_a_file_whose_codes_have_another_shape_is_refused(tmp_path) -> None:
    path = tmp_path / "q.safetensors"
    emu.quantize(np.ones((4, 32), np.float32), "nvfp4_te_ref").save(path)
    arrays, metadata = read_safetensors(path)
    other = tmp_path / "other.safetensors"
    about = json.loads(metadata["emu_quantized"])
    about["sha256"] = checksum(arrays["codes"][:3], {"tensor": arrays["level.tensor"], "scale": arrays["level.scale"]})
    write_safetensors(other, arrays | {"codes": arrays["codes"][:3]}, {"emu_quantized": json.dumps(about)})
    with pytest.raises(FileError, match=r"not a file written by Quantized\.save"):
        Quantized.load(other)
    none = tmp_path / "none.safetensors"
    write_safetensors(none, arrays, {"emu_quantized": json.dumps(json.loads(metadata["emu_quantized"]) | {"codes_shape": []})})
    with pytest.raises(FileError, match=r"not a file written by Quantized\.save"):
        Quantized.load(none)
