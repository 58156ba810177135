"""A kernel that gives a part of a contract's answers, answers into memory of its own, leaves the program or answers no array."""

import numpy as np
import pytest

import emu
from emu.testing import check, check_matmul

NVFP4 = "quantize/nvfp4_te_ref"
FEW = {"suites": ("directed",), "raises": False}


def right(x, tensor_amax):
    return emu.quantize(x, "nvfp4_te_ref", tensor_amax=tensor_amax)


PARTS = {
    "codes": (lambda q: q.codes, {}, "too_little", "tensor, scale"),
    "a name of its own": (lambda q: {"codes": q.codes, "scalez": q.scales}, {}, "too_little", "tensor, scale"),
    "scales": (lambda q: {"scale": q.scales}, {}, "too_little", "tensor, codes"),
    "declared": (lambda q: q.codes, {"gives": "codes"}, "pass", "tensor, scale"),
    "no tensor scale": (lambda q: (q.codes, q.scales), {}, "pass", "tensor"),
    "all": (lambda q: q, {}, "pass", None),
    "values": (lambda q: q.dequantize(), {}, "pass", None),
}


@pytest.mark.cases(5)
@pytest.mark.parametrize("name", PARTS)
@pytest.mark.parametrize("seconds", [None, 30])
def test_what_was_never_given_is_said_and_scales_are_needed_for_a_pass(name, seconds):
    part, adapter, verdict, missing = PARTS[name]
    report = check(lambda x, tensor_amax: part(right(x, tensor_amax)), NVFP4, seconds=seconds, **FEW, **adapter)
    said = [note for note in report.notes if note.startswith("not compared")]
    assert report.verdict == verdict and [note.rpartition(": ")[2] for note in said] == ([missing] if missing else [])
    assert ("declare the answers with gives" in report.message) is (verdict != "pass")


@pytest.mark.parametrize("later", ["scale", "codes"])
def test_an_answer_that_stops_coming_is_refused(later):
    calls = iter(range(1000))

    def kernel(x, tensor_amax):
        q = right(x, tensor_amax)
        return {"codes": q.codes, "scale": q.scales} if next(calls) < 2 else {later: q.codes if later == "codes" else q.scales}

    report = check(kernel, NVFP4, **FEW)
    assert report.verdict == "shape" and "to some questions alone" in report.message


@pytest.mark.parametrize("seconds", [None, 30])
def test_a_first_answer_that_the_second_call_overwrites_is_judged_as_it_was(seconds):
    held = {}

    def kernel(codes):
        new = codes.size not in held
        out = held.setdefault(codes.size, np.zeros(codes.size, np.uint8))
        out[...] = 0 if new else emu.convert(codes, "e2m1")
        return out

    assert check(kernel, "convert/e2m1/rne/nvidia", seconds=seconds, **FEW).verdict == "unstable"


def test_a_first_product_that_the_second_call_overwrites_is_judged_as_it_was():
    held = {}

    def product(a, b):
        found = a.dequantize() @ b.dequantize().T
        new = found.shape not in held
        out = held.setdefault(found.shape, np.zeros_like(found))
        out[...] = 0 if new else found
        return out

    assert check_matmul(product, "nvfp4", "nvfp4", shapes=[(5, 3, 32)], raises=False).verdict == "unstable"


@pytest.mark.parametrize("seconds", [None, 30])
def test_a_kernel_that_leaves_the_program_raises(seconds):
    def leaves(*_):
        raise SystemExit(0)

    report = check(leaves, NVFP4, seconds=seconds, **FEW)
    assert report.verdict == "raises" and "SystemExit" in report.message
    assert check_matmul(leaves, "nvfp4", "nvfp4", shapes=[(5, 3, 32)], raises=False).verdict == "raises"


@pytest.mark.parametrize("answer", [[[1], [1, 2]], [[1, 2], "ab"]])
def test_an_answer_that_is_no_array_has_a_verdict(answer):
    report = check(lambda x, tensor_amax: (answer, 3), NVFP4, **FEW)
    assert report.verdict == "dtype" and report.message.startswith("codes ")
