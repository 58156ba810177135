"""decode, convert, amax, transform and the lists of names: dtypes, shapes, engines, and one line for every mistake."""

from __future__ import annotations

import builtins
import subprocess
import sys
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import emu
from emu.engines.exact.decode import decode_code
from emu.spec import derive

FLOATS = {"float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64"}
PEERS = {"e4m3": "float8_e4m3fn", "e5m2": "float8_e5m2", "e2m1": "float4_e2m1fn", "e2m3": "float6_e2m3fn", "e8m0": "float8_e8m0fnu"}


def bits(array: Any) -> Any:
    return np.ascontiguousarray(array).view(np.dtype(f"u{array.dtype.itemsize}"))


def test_import_loads_no_numpy() -> None:
    code = (
        "import sys, emu, emu.engines.exact; assert 'numpy' not in sys.modules and 'hypothesis' not in sys.modules; print(emu.__version__)"
    )
    done = subprocess.run([sys.executable, "-P", "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, emu.__version__), done.stderr


def test_every_public_name_resolves() -> None:
    for name in emu.__all__:
        assert getattr(emu, name) is not None
    assert set(emu.__all__) < set(dir(emu))
    with pytest.raises(AttributeError, match="no attribute 'dot_product'"):
        _ = emu.dot_product


def test_the_public_functions_are_few_and_shadow_nothing() -> None:
    functions = [name for name in emu.__all__ if callable(getattr(emu, name)) and not isinstance(getattr(emu, name), type)]
    assert len(functions) <= 20 and not set(emu.__all__) & set(dir(builtins))
    assert all(emu.__all__.count(name) == 1 for name in emu.__all__)
    for name in ("format", "formats", "recipe", "recipes", "block", "transforms", "instructions"):
        assert not hasattr(emu, name), f"objects come from emu.spec alone: emu.{name}"
    code = "import emu; print(emu.spec.get('format', 'e2m1').id, emu.spec.names('rounding')[0], emu.testing, emu.strategies)"
    assert subprocess.run([sys.executable, "-P", "-c", code], capture_output=True).returncode == 0


def test_lists_and_objects() -> None:
    assert "e2m1" in emu.spec.names("format") and "rne" in emu.spec.names("rounding") and "nvidia" in emu.spec.names("policy")
    assert "nvfp4" in emu.spec.names("block") and "nvfp4_te_ref" in emu.spec.names("recipe") and "rht16_te" in emu.spec.names("transform")
    assert emu.spec.get("format", "e2m1").id == "e2m1" and emu.spec.get("recipe", "nvfp4_te").id == "nvfp4_te_ref"
    assert emu.spec.get("format", emu.spec.get("format", "e2m1")) is emu.spec.get("format", "e2m1")


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", emu.spec.names("format"))
def test_decode(name: str, dtype: str) -> None:
    """Exact, or refused where the dtype cannot hold a value of the format."""
    fmt = emu.spec.get("format", name)
    if derive.codes(fmt).bits > 16:
        codes = np.array([0, 1, 0x3F800000, 0x7F800000, 0x7FC00000, 0x80000000], np.uint32)
        if name != "fp32" or dtype not in ("float32", "float64"):
            return
    else:
        width = derive.codes(fmt).bits
        codes = np.arange(1 << width, dtype=np.uint8 if width <= 8 else np.uint16)[:: 1 if width <= 8 else 211]
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    if not all(fits(decode_code(int(code), fmt), FLOATS[dtype]) for code in codes):
        with pytest.raises(emu.OperandError):
            emu.decode(codes, name, dtype=kind)
        return
    found = emu.decode(codes.reshape(1, -1), name, dtype=kind)
    assert found.shape == (1, codes.size) and found.dtype == kind
    for code, value in zip(codes.tolist(), found[0].tolist(), strict=True):
        right = decode_code(code, fmt)
        assert (np.isnan(value), np.isinf(value)) == (right.kind == "nan", right.kind == "inf")
        assert right.kind == "nan" or bool(np.signbit(value)) == bool(right.sign)
        if right.kind == "finite":
            assert float(value).as_integer_ratio() == right.signed.as_integer_ratio()


def fits(value: Any, name: str) -> bool:
    from emu.engines.exact.encode import encode_value

    try:
        encode_value(value, emu.spec.get("format", name))
    except emu.OperandError:
        return False
    return True


@pytest.mark.parametrize("dtype", [np.int8, np.int16, np.int32, np.int64, np.uint16, np.uint32, np.uint64])
@pytest.mark.parametrize("name", ["e1m2", "e2m1", "e4m3", "int4", "nf4"])
def test_codes_are_integers_of_any_width(name: str, dtype: Any) -> None:
    """Signed integers that are codes mean what unsigned ones mean: np.arange makes them."""
    most = min(1 << derive.codes(emu.spec.get("format", name)).bits, int(np.iinfo(dtype).max) + 1)
    codes = np.arange(most, dtype=dtype)
    wanted = bits(emu.decode(np.arange(most, dtype=np.uint8), name))
    assert np.array_equal(bits(emu.decode(codes, name)), wanted)
    assert np.array_equal(bits(emu.decode(codes[::-2], name)), wanted[::-2])
    assert np.array_equal(emu.convert(codes, "bf16", source=name), emu.convert(codes.astype(np.uint8), "bf16", source=name))


def test_pack_and_unpack() -> None:
    codes = np.arange(30).reshape(2, 15) % 16
    packed = emu.pack(codes)
    assert packed.dtype == np.uint8 and packed.shape == (2, 8) and packed[0, :2].tolist() == [0x10, 0x32] and packed[0, 7] == 14
    assert np.array_equal(emu.unpack(packed, 15), codes) and np.array_equal(emu.unpack(packed)[:, :15], codes)
    tall = emu.pack(codes.T, axis=0)
    assert np.array_equal(tall, packed.T) and np.array_equal(emu.unpack(tall, 15, axis=0), codes.T)
    peer = codes[:, :14].astype(np.uint8).view(ml_dtypes.float4_e2m1fn)
    assert np.array_equal(emu.decode(emu.unpack(emu.pack(codes[:, :14])), "e2m1"), peer.astype(np.float32))
    q = emu.quantize(np.linspace(-3, 3, 64, dtype=np.float32).reshape(2, 32), "nvfp4_te_ref")
    assert np.array_equal(q.pack(), emu.pack(q.codes))


def test_decode_of_plain_integers_and_lists() -> None:
    assert emu.decode(5, "e2m1").item() == 3
    assert emu.decode([0, 7, 15], "e2m1").tolist() == [0, 6, -6]
    assert bits(emu.decode([8], "e2m1")).tolist() == [0x80000000]


@pytest.mark.parametrize(
    "dtype", [np.float16, np.float32, np.float64, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float4_e2m1fn]
)
def test_convert_takes_dtypes_and_codes_alike(dtype: Any) -> None:
    x = np.array([[0, 0.25, -0.75], [5, -7, 448]], np.float32).astype(dtype)
    found = emu.convert(x, "e2m1")
    assert found.dtype == np.uint8 and found.shape == (2, 3)
    source = {"float16": "fp16", "float32": "fp32", "float64": "fp64", "bfloat16": "bf16", "float8_e4m3fn": "e4m3", "float4_e2m1fn": "e2m1"}
    assert np.array_equal(found, emu.convert(bits(x), "e2m1", source=source[np.dtype(dtype).name]))


@pytest.mark.parametrize(("name", "dtype"), PEERS.items())
def test_decode_agrees_with_ml_dtypes(name: str, dtype: str) -> None:
    codes = np.arange(1 << derive.codes(emu.spec.get("format", name)).bits, dtype=np.uint8)
    peer = codes.view(np.dtype(getattr(ml_dtypes, dtype))).astype(np.float32)
    mine = emu.decode(codes, name)
    assert np.array_equal(np.isnan(peer), np.isnan(mine))
    number = ~np.isnan(peer)
    assert np.array_equal(bits(peer)[number], bits(mine)[number])


@pytest.mark.parametrize("shape", [(), (0,), (3, 0), (7,), (2, 3, 5)])
def test_convert_keeps_the_shape(shape: tuple[int, ...]) -> None:
    x = np.full(shape, 1.6, np.float32)
    assert emu.convert(x, "e2m1").shape == shape and emu.convert(x, "bf16", policy="ieee").dtype == np.uint16
    assert emu.decode(emu.convert(x, "e2m1"), "e2m1").shape == shape


def test_convert_of_views() -> None:
    x = np.arange(-8, 8, 0.25, dtype=np.float32).reshape(8, 8)
    whole = emu.convert(x, "e2m1")
    for view in (lambda a: a.T, lambda a: a[::2, ::-1], lambda a: a[3], np.asfortranarray):
        assert np.array_equal(emu.convert(view(x), "e2m1"), view(whole))
    x.setflags(write=False)
    assert np.array_equal(emu.convert(x, "e2m1"), whole)
    for order in (">f4", ">f8", "<f2", ">f2"):
        assert np.array_equal(emu.convert(x.astype(order), "e2m1"), whole)
    assert emu.convert(np.array([0x40A0], ">u2"), "e2m1", source="bf16").tolist() == [6]


@pytest.mark.parametrize("engine", ["exact", "numpy", "auto", "c_ref"])
def test_engines_agree(engine: str) -> None:
    x = np.array([0.25, 0.2500001, -5, 3.5, 1e30, -0.0, 1e-40], np.float32)
    assert emu.convert(x, "e2m1", engine=engine).tolist() == [0, 1, 14, 6, 7, 8, 0]
    random = np.arange(0, 252, 36, dtype=np.uint8)
    drawn = emu.convert(x, "e4m3", rounding="sr_add8", random=random, engine=engine)
    assert np.array_equal(drawn, emu.convert(x, "e4m3", rounding="sr_add8", random=random, engine="exact"))
    row = np.arange(16, dtype=np.float32)
    if engine != "c_ref":
        assert np.array_equal(emu.transform(row, "rht16_te", engine=engine), emu.transform(row, "rht16_te", engine="exact"))
        found = emu.quantize(row, "nvfp4_te_ref", engine=engine)
        assert found.codes.tolist() == emu.quantize(row, "nvfp4_te_ref", engine="exact").codes.tolist()


def test_amax() -> None:
    x = np.array([[1, -7.5], [0.25, -0.0]], np.float32)
    assert emu.amax(x) == np.float32(7.5) and isinstance(emu.amax(x), np.float32)
    assert emu.amax(x.astype(ml_dtypes.bfloat16)) == np.float32(7.5) and emu.amax(x.T[::-1]) == np.float32(7.5)
    assert np.isnan(emu.amax(np.array([1, np.nan, np.inf], np.float32))) and np.isinf(emu.amax(np.array([1, -np.inf], np.float32)))
    assert emu.amax(np.array([7, 15, 6], np.uint8), source="e2m1") == np.float32(6)
    assert bits(np.array(emu.amax(np.array([-0.0], np.float32)))) == 0


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_transform_along_any_axis(axis: int) -> None:
    x = (np.arange(16 * 32 * 16, dtype=np.float32).reshape(16, 32, 16) % 97) - 48
    kept = x.copy()
    found = emu.transform(x, "rht16_te_fp32", axis=axis)
    moved = np.moveaxis(x, axis, -1)
    assert found.shape == x.shape and found.dtype == np.float32 and np.array_equal(x, kept)
    row = tuple(3 for _ in range(2))
    one = emu.transform(np.ascontiguousarray(moved[row]), "rht16_te_fp32", engine="exact")
    assert np.array_equal(bits(np.moveaxis(found, axis, -1)[row]), bits(one))


def test_transform_of_one_group_leaves_the_input_alone() -> None:
    x = np.arange(1, 17, dtype=np.float32)
    kept = x.copy()
    for name in emu.spec.names("transform"):
        emu.transform(x, name)
        emu.transform(x.reshape(1, 16), name)
        assert np.array_equal(x, kept), name
    emu.quantize(x, "ufp4")
    emu.quantize(x.reshape(16, 1), "ufp4", axis=0)
    assert np.array_equal(x, kept)


MISTAKES = [
    (lambda: emu.convert([1.0, 2.0], "e2m9"), emu.SpecError, "or e2m1?"),
    (lambda: emu.convert(np.ones(2), "e2m1", rounding="rnd"), emu.SpecError, "did you mean"),
    (lambda: emu.convert(np.ones(2), "e2m1", policy="nvidea"), emu.SpecError, "did you mean nvidia"),
    (lambda: emu.convert(np.ones(2), "e2m1", policy="ieee"), emu.SpecError, "says nothing of e2m1"),
    (lambda: emu.convert(np.ones(2, np.int32), "e2m1"), emu.OperandError, "dtype int32 is not taken"),
    (lambda: emu.convert(np.ones(2, np.uint16), "e2m1"), emu.OperandError, "integer codes with source="),
    (lambda: emu.convert(np.ones(2, np.complex64), "e2m1"), emu.OperandError, "complex64"),
    (lambda: emu.convert(np.array(["a"]), "e2m1"), emu.OperandError, "is not taken"),
    (lambda: emu.convert(np.ones(2, np.float32), "e2m1", source="bf16"), emu.OperandError, "takes integer codes"),
    (lambda: emu.convert(np.ones(2, np.bool_), "e2m1", source="bf16"), emu.OperandError, "takes integer codes, not bool"),
    (lambda: emu.convert(np.int16([1, -2]), "e2m1", source="bf16"), emu.OperandError, "code -2 is negative: it is no bf16 code"),
    (lambda: emu.convert(np.array([16], np.uint8), "e4m3", source="e2m1"), emu.OperandError, "more than 4 bits"),
    (lambda: emu.convert(np.array([0x80], np.uint8), "e4m3", source="ue4m3"), emu.OpenError, "open"),
    (lambda: emu.decode(np.array([0x80], np.uint8), "ue4m3"), emu.OpenError, "set bit 7"),
    (lambda: emu.decode(np.array([-1]), "e2m1"), emu.OperandError, "code -1 is negative"),
    (lambda: emu.decode([3, -1], "e2m1"), emu.OperandError, "code -1 is negative: it is no e2m1 code"),
    (lambda: emu.decode([1.5], "e2m1"), emu.OperandError, "format='e2m1' takes integer codes, not float64: emu.convert makes codes"),
    (lambda: emu.decode(np.arange(17), "e2m1"), emu.OperandError, "more than 4 bits: it is no e2m1 code"),
    (lambda: emu.dequantize(np.zeros(16, np.uint8)), emu.OperandError, "dequantize takes a Quantized"),
    (lambda: emu.pack([3, 16]), emu.OperandError, "codes must be integers from 0 to 15"),
    (lambda: emu.pack(3), emu.ShapeError, "axis -1 is none of them"),
    (lambda: emu.unpack([3, 16], length=2), emu.OperandError, "length 2 does not fit 2 bytes along axis -1: 4 or one less"),
    (lambda: emu.decode([3], "e2m1", dtype=np.int32), emu.OperandError, "cannot hold values"),
    (lambda: emu.decode([3], "e8m0", dtype=np.float16), emu.OperandError, "fp16"),
    (lambda: emu.decode([3], "e2m1", dtype="float33"), emu.OperandError, "float33"),
    (lambda: emu.convert(np.ones(2), "e2m1", engine="fastest"), emu.EngineError, "unknown: one of exact, numpy"),
    (lambda: emu.convert(np.ones(2), "e2m1", rounding="sr_add8"), emu.OperandError, "needs random"),
    (lambda: emu.convert(np.ones(2), "e2m1", random=np.zeros(2, np.uint8)), emu.OperandError, "leave random out"),
    (lambda: emu.convert(np.ones(2), "e2m1", rounding="sr_add8", random=np.zeros(3, np.uint8)), emu.OperandError, "random has 3"),
    (lambda: emu.convert(np.array([np.nan], np.float32), "e2m1", policy="gfloat_sat"), emu.OperandError, "refused by the policy"),
    (lambda: emu.amax(np.zeros((0, 3), np.float32)), emu.ShapeError, "no maximum"),
    (lambda: emu.amax(np.array([0.1])), emu.OperandError, "no binary32 number"),
    (lambda: emu.transform(np.ones(15, np.float32), "rht16_te"), emu.ShapeError, "must be a multiple"),
    (lambda: emu.transform(np.float32(1), "rht16_te"), emu.ShapeError, "must be a multiple"),
    (lambda: emu.transform(np.ones(16, np.float32), "rht16_te", axis=3), emu.ShapeError, "axis 3"),
    (lambda: emu.transform(np.ones(16, np.float32), "rht16_te", signs=3), emu.OperandError, "fixed signs"),
    (lambda: emu.transform(np.ones(16, np.float32), "rht17"), emu.SpecError, "did you mean"),
    (lambda: emu.spec.get("format", "e2m1 "), emu.SpecError, "did you mean e2m1"),
    (lambda: emu.spec.get("format", emu.spec.get("rounding", "rne")), emu.SpecError, "rne is a rounding, not a format"),
    (lambda: emu.spec.get("format", 3), emu.SpecError, "named by a string or a model, not int"),
]


@pytest.mark.parametrize(("call", "kind", "words"), MISTAKES, ids=[f"{words}" for _, _, words in MISTAKES])
def test_one_line_for_a_mistake(call: Any, kind: type[emu.EmuError], words: str) -> None:
    with pytest.raises(kind) as found:
        call()
    message = str(found.value)
    assert words in message and "\n" not in message and isinstance(found.value, ValueError) and len(message) < 250


@pytest.mark.parametrize("engine", ["exact", "numpy", "c_ref"])
def test_signed_random_integers_are_taken_by_every_engine(engine: str) -> None:
    x = np.array([1.25, -2.75, 0.1], np.float32)
    signed = emu.convert(x, "e2m1", rounding="sr_add8", random=[200, 0, 255], engine=engine)
    assert signed.tolist() == [3, 12, 1]
    with pytest.raises(emu.OperandError, match="random"):
        emu.convert(x, "e2m1", rounding="sr_add8", random=[-1, 0, 255], engine=engine)
