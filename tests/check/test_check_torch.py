"""torch kernels as targets: bf16, fp16 and fp32 tensors in; codes, values or a tuple out; what misbehaves is noticed."""

import importlib
import os

import numpy as np
import pytest

import emu
from emu.arrays.values import float_dtype
from emu.spec import get
from emu.testing import check

torch = importlib.import_module("torch") if os.environ.get("EMU_NEED_TORCH") else pytest.importorskip("torch", reason="no torch here")

CONVERT, NVFP4, MXFP4 = "convert/e2m1/rne/nvidia", "quantize/nvfp4_te_ref", "quantize/mxfp4_te_pow2"
SOURCES = ("fp32", "bf16", "fp16")
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
WHOLE = {4: torch.int32, 2: torch.int16}
FEW = {"suites": ("exhaustive",)}  # the quickest judge; every 16-bit pattern is among them


def to_numpy(x):
    """The NumPy array of a float tensor, bit for bit."""
    source = next(name for name, dtype in DTYPES.items() if dtype == x.dtype)
    return x.view(WHOLE[x.element_size()]).numpy().view(float_dtype(get("format", source)))


def nvfp4(x, tensor_amax):
    return emu.quantize(to_numpy(x), "nvfp4_te_ref", tensor_amax=float(tensor_amax))


def codes(x, tensor_amax):
    return torch.from_numpy(nvfp4(x, tensor_amax).codes.copy())


def pair(x, tensor_amax):
    found = nvfp4(x, tensor_amax)
    return torch.from_numpy(found.codes.copy()), torch.from_numpy(found.scales.copy())


def narrow_pair(x, tensor_amax):
    """Packed codes and scales of torch's own narrow dtypes, where this torch has them."""
    found = nvfp4(x, tensor_amax)
    packed = torch.from_numpy(found.pack().copy())
    fp4 = getattr(torch, "float4_e2m1fn_x2", None)
    return packed if fp4 is None else packed.view(fp4), torch.from_numpy(found.scales.copy()).view(torch.float8_e4m3fn)


def mapping(x, tensor_amax):
    q, s = pair(x, tensor_amax)
    return {"q": q, "s": s}


def values(x, tensor_amax):
    """Fake-quantized, in fp32."""
    return torch.from_numpy(np.array(nvfp4(x, tensor_amax).dequantize()))


def values_like(x, tensor_amax):
    """Fake-quantized, in bf16."""
    found = np.array(nvfp4(x, tensor_amax).dequantize("bfloat16"))
    return torch.from_numpy(found.view(np.int16)).view(torch.bfloat16)


KERNELS = {
    "codes": (codes, {"gives": "codes"}), "pair": (pair, {}), "narrow": (narrow_pair, {"gives": ("packed", "scale")}),
    "mapping": (mapping, {"gives": {"q": "codes", "s": "scale"}}), "values": (values, {}), "values in bf16": (values_like, {}),
}  # fmt: skip


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", KERNELS)
def test_whatever_it_takes_and_answers_is_read(name, source):
    fn, adapter = KERNELS[name]
    seen = set()

    def kernel(x, tensor_amax):
        seen.add((x.dtype, tensor_amax.dtype, tensor_amax.ndim, x.is_contiguous()))
        return fn(x, tensor_amax)

    report = check(kernel, NVFP4, takes=f"torch.{source}", **FEW, **adapter)
    assert report.verdict == "pass" and report.compared > 1000
    assert seen == {(DTYPES[source], torch.float32, 0, True)}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("name", ["codes", "pair", "values"])
def test_one_wrong_answer_is_found(name, source):
    fn, adapter = KERNELS[name]

    def kernel(x, tensor_amax):
        found = fn(x, tensor_amax)
        last = found[-1] if isinstance(found, tuple) else found
        flat = last.reshape(-1)
        flat[0] = -flat[0] - 1 if last.dtype.is_floating_point else flat[0] ^ 1
        return found

    report = check(kernel, NVFP4, takes=f"torch.{source}", raises=False, **FEW, **adapter)
    assert report.verdict == "differs" and report.failures[0].stage == {"codes": "codes", "pair": "scale", "values": "values"}[name]


@pytest.mark.parametrize("source", SOURCES)
def test_torch_bits_convert(source):
    def kernel(codes):
        assert codes.dtype == WHOLE[DTYPES[source].itemsize]
        bits = codes.numpy()
        return torch.from_numpy(emu.convert(bits.view(f"u{bits.itemsize}"), "e2m1", source=source))

    assert check(kernel, CONVERT, takes="torch.bits", source=source, **FEW).compared > 300


@pytest.mark.parametrize("source", SOURCES)
def test_a_changed_operand_is_noticed(source):
    """Whichever operand it is, also when the answer is right."""

    def scaled(x, tensor_amax):
        found = pair(x, tensor_amax)
        x.mul_(2)
        return found

    def maximum(x, tensor_amax):
        found = pair(x, tensor_amax)
        tensor_amax.add_(1)
        return found

    for kernel, operand in ((scaled, "x"), (maximum, "tensor_amax")):
        report = check(kernel, NVFP4, takes=f"torch.{source}", raises=False, **FEW)
        assert report.verdict == "mutates" and f"changed its operand {operand}" in report.message


def test_a_sign_of_zero_that_is_lost_in_place_is_noticed():
    """-0 == +0: only the bits tell."""

    def kernel(x):
        found = torch.from_numpy(emu.convert(to_numpy(x), "e2m1"))
        x[x == 0] = 0.0
        return found

    assert check(kernel, CONVERT, takes="torch.bf16", raises=False, **FEW).verdict == "mutates"


WRONG_DTYPES = {
    "64-bit codes": lambda q, s: (q.to(torch.complex64), s),
    "codes as bool": lambda q, s: (q != 0, s),
    "scales as numbers of bf16": lambda q, s: (q, s.to(torch.bfloat16)),
    "scales of e5m2": lambda q, s: (q, s.view(torch.float8_e5m2)),
}


@pytest.mark.parametrize("name", WRONG_DTYPES)
def test_a_wrong_dtype_is_noticed(name):
    report = check(lambda x, tensor_amax: WRONG_DTYPES[name](*pair(x, tensor_amax)), NVFP4, takes="torch.fp32", raises=False, **FEW)
    assert report.verdict == "dtype" and report.message, report.text()


def test_a_wrong_shape_and_an_exception_are_noticed():
    report = check(lambda x, tensor_amax: pair(x, tensor_amax)[0].T, NVFP4, takes="torch.fp32", gives="codes", raises=False, **FEW)
    assert report.verdict == "shape"
    report = check(lambda x: x.no_such_method(), MXFP4, takes="torch.bf16", raises=False, **FEW)
    assert report.verdict == "raises" and "no_such_method" in report.message


def apart(tensor):
    """The same numbers, two places apart in memory, columns first."""
    wide = torch.zeros((tensor.shape[1] * 2, tensor.shape[0] * 2), dtype=tensor.dtype)
    view = wide.T[::2, ::2]
    view.copy_(tensor)
    assert not view.is_contiguous() or view.numel() < 2
    return view


@pytest.mark.parametrize("name", ["codes", "pair", "values", "values in bf16"])
def test_an_answer_that_is_not_contiguous_is_read_by_its_strides(name):
    fn, adapter = KERNELS[name]

    def kernel(x, tensor_amax):
        found = fn(x, tensor_amax)
        return tuple(apart(part) for part in found) if isinstance(found, tuple) else apart(found)

    assert check(kernel, NVFP4, takes="torch.fp32", **FEW, **adapter).verdict == "pass"


def test_an_answer_with_a_gradient_and_one_that_aliases_another_are_read():
    def kernel(x, tensor_amax):
        return values(x, tensor_amax).requires_grad_()

    assert check(kernel, NVFP4, takes="torch.bf16", **FEW).verdict == "pass"
