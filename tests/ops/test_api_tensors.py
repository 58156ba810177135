"""Tensors of torch at the public functions: the same bits as for NumPy arrays, tensors out on the same device."""

from __future__ import annotations

import importlib
import os
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import emu
from emu.engines.table import ENGINES

torch = importlib.import_module("torch") if os.environ.get("EMU_NEED_TORCH") else pytest.importorskip("torch", reason="no torch here")

VALUES = np.random.default_rng(7).standard_normal((4, 64)).astype(np.float32)
DTYPES = {
    "float16": np.float16,
    "bfloat16": ml_dtypes.bfloat16,
    "float32": np.float32,
    "float8_e4m3fn": ml_dtypes.float8_e4m3fn,
    "float8_e5m2": ml_dtypes.float8_e5m2,
    "float8_e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "float8_e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "float8_e8m0fnu": ml_dtypes.float8_e8m0fnu,
}


def pair(name: str) -> tuple[Any, Any]:
    """The same values as an array and as a tensor."""
    array = (np.exp2(np.floor(VALUES)) if "e8m0" in name else VALUES).astype(DTYPES[name])
    plain = torch.from_numpy(array.view(np.dtype(f"u{array.dtype.itemsize}")).copy())
    return array, plain.view(getattr(torch, name))


def bits(array: Any) -> Any:
    array = np.ascontiguousarray(array)
    return array.view(np.dtype(f"u{array.dtype.itemsize}")).reshape(-1)


def same(tensor: Any, array: Any) -> bool:
    """Is the tensor, on the CPU, the array bit for bit."""
    assert isinstance(tensor, torch.Tensor) and tensor.device.type == "cpu" and tuple(tensor.shape) == np.shape(array)
    kind = {"bfloat16": torch.bfloat16}.get(np.asarray(array).dtype.name)
    assert tensor.dtype == (kind or getattr(torch, np.asarray(array).dtype.name))
    carrier = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[tensor.element_size()]
    mine = tensor.contiguous().view(carrier).reshape(-1).numpy()
    return np.array_equal(mine.view(np.dtype(f"u{mine.dtype.itemsize}")), bits(np.asarray(array)))


def same_quantized(mine: emu.Quantized, wanted: emu.Quantized) -> bool:
    levels = zip(mine.levels, wanted.levels, strict=True)
    return same(mine.codes, wanted.codes) and all(same(level.codes, other.codes) for level, other in levels)


@pytest.mark.parametrize("name", DTYPES)
def test_every_float_dtype(name: str) -> None:
    array, tensor = pair(name)
    kept = tensor.clone()
    assert same(emu.convert(tensor, "e2m1"), emu.convert(array, "e2m1"))
    assert same(emu.amax(tensor), emu.amax(array))
    found, wanted = emu.quantize(tensor, "mxfp4_torchao_floor"), emu.quantize(array, "mxfp4_torchao_floor")
    assert same_quantized(found, wanted)
    assert same(emu.dequantize(found), emu.dequantize(wanted)) and same(found.dequantize(torch.bfloat16), wanted.dequantize("bfloat16"))
    assert torch.equal(tensor.view(torch.uint8), kept.view(torch.uint8))


def test_float8_and_packed_float4_are_codes_too() -> None:
    array, tensor = pair("float8_e4m3fn")
    assert same(emu.decode(tensor, "e4m3"), array.astype(np.float32))
    codes = np.arange(32, dtype=np.uint8).reshape(2, 16) % 16
    packed = torch.from_numpy(emu.pack(codes)).view(torch.float4_e2m1fn_x2)
    assert same(emu.decode(packed, "e2m1"), emu.decode(codes, "e2m1"))
    assert same(emu.convert(packed, "e4m3"), emu.convert(codes, "e4m3", source="e2m1"))


@pytest.mark.parametrize("engine", ENGINES)
def test_every_engine_gives_tensors(engine: str) -> None:
    array, tensor = pair("bfloat16")
    assert same(emu.convert(tensor, "e1m2", "rna", engine="exact" if engine == "native" else engine), emu.convert(array, "e1m2", "rna"))
    found = emu.quantize(tensor, "nvfp4_te_ref", engine=engine)
    assert same_quantized(found, emu.quantize(array, "nvfp4_te_ref"))
    assert same(emu.dequantize(found, engine=engine), emu.quantize(array, "nvfp4_te_ref").dequantize())
    assert same(emu.transform(tensor, "rht16_te_fp32", engine=engine), emu.transform(array, "rht16_te_fp32"))


def test_strides_axes_and_operands() -> None:
    array, tensor = pair("bfloat16")
    assert same_quantized(emu.quantize(tensor.T, "nvfp4_te_ref", axis=0), emu.quantize(array.T, "nvfp4_te_ref", axis=0))
    assert same(emu.convert(tensor[:, ::3], "e2m1"), emu.convert(array[:, ::3], "e2m1"))
    words = np.arange(256).reshape(4, 64)
    wanted = emu.quantize(array, "ufp4_sr", random=words, signs=3)
    assert same_quantized(emu.quantize(tensor, "ufp4_sr", random=torch.from_numpy(words), signs=3), wanted)
    maximum = torch.tensor(8.0)
    assert same_quantized(emu.quantize(tensor, "nvfp4_te_ref", tensor_amax=maximum), emu.quantize(array, "nvfp4_te_ref", tensor_amax=8.0))
    weight = torch.nn.Parameter(tensor.to(torch.float32))
    assert same_quantized(emu.quantize(weight, "nvfp4_te_ref"), emu.quantize(array.astype(np.float32), "nvfp4_te_ref"))


def test_products() -> None:
    array, tensor = pair("float32")
    a, b = emu.quantize(tensor, "nvfp4_te_ref"), emu.quantize(tensor.T, "nvfp4_te_ref", axis=0)
    left, right = emu.quantize(array, "nvfp4_te_ref"), emu.quantize(array.T, "nvfp4_te_ref", axis=0)
    wanted = emu.matmul(left, right, "blackwell_mxf4nvf4_b16_ue4m3")
    assert same(emu.matmul(a, b, "blackwell_mxf4nvf4_b16_ue4m3"), wanted)
    assert same(emu.matmul(a, a.T, "blackwell_mxf4nvf4_b16_ue4m3"), wanted)
    assert isinstance(emu.matmul(left, b, "blackwell_mxf4nvf4_b16_ue4m3"), np.ndarray)  # the first operand decides
    rows = {"a_scales": a.scales, "b_scales": a.scales}
    plain = {"a_scales": left.scales, "b_scales": left.scales}
    assert same(emu.dot(a.codes, a.codes, "blackwell_mxf4nvf4_b16_ue4m3", **rows),
                emu.dot(left.codes, left.codes, "blackwell_mxf4nvf4_b16_ue4m3", **plain))  # fmt: skip
    codes, steps = emu.dot(a.codes[0], a.codes[1], "blackwell_mxf4nvf4_b16_ue4m3", a.scales[0], a.scales[1], stages=True)
    assert isinstance(codes, torch.Tensor) and len(steps) == 1


def test_methods_and_files(tmp_path: Any) -> None:
    array, tensor = pair("float32")
    found, wanted = emu.quantize(tensor, "nvfp4_te_ref"), emu.quantize(array, "nvfp4_te_ref")
    assert same(found.pack(), wanted.pack()) and same(found.scales, wanted.scales) and same(emu.pack(found.codes), wanted.pack())
    assert same(emu.unpack(found.pack()), wanted.codes) and same_quantized(found.T, wanted.T)
    found.save(tmp_path / "q.safetensors")
    assert np.array_equal(emu.Quantized.load(tmp_path / "q.safetensors").codes, wanted.codes)
    text = repr(found)
    assert "tensors on cpu" in text and text.replace(", tensors on cpu", "") == repr(wanted)


@pytest.mark.parametrize(
    ("tensor", "line"),
    [
        (torch.zeros(4, 16).to_sparse(), "x is a tensor of layout sparse_coo: give one that holds its values"),
        (torch.zeros(4, 16, device="meta"), "x is a tensor on the device meta: give one that holds its values"),
        (torch.zeros(4, 16, dtype=torch.int32), "dtype int32 is not taken: give float16/32/64, an ml_dtypes float, or integer codes"),
        (torch.zeros(4, 16, dtype=torch.bool), "dtype bool is not taken"),
        (torch.zeros(4, 16, dtype=torch.complex64), "dtype complex64 is not taken"),
    ],
)
def test_what_is_no_tensor_of_values(tensor: Any, line: str) -> None:
    for call in (lambda: emu.quantize(tensor, "nvfp4_te_ref"), lambda: emu.convert(tensor, "e2m1")):
        with pytest.raises(emu.OperandError) as found:
            call()
        assert str(found.value).startswith(line) and "\n" not in str(found.value)


@pytest.mark.gpu
@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a CUDA device")
def test_a_device_is_kept() -> None:
    array, tensor = pair("bfloat16")
    found = emu.quantize(tensor.cuda(), "nvfp4_te_ref")
    assert found.codes.is_cuda and all(level.codes.is_cuda for level in found.levels) and emu.dequantize(found).is_cuda
    assert same(emu.dequantize(found).cpu(), emu.quantize(array, "nvfp4_te_ref").dequantize())
