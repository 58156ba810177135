"""The tensor-core kernel: which instruction it becomes, that rows reach the right place, and that a wrong sum is noticed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import emu
from emu.base.errors import OperandError, ShapeError

PRODUCTS = {
    ("hopper_fp16", "fp16", "fp16"): "m64n64k16.f32.f16.f16",
    ("hopper_fp16", "bf16", "bf16"): "m64n64k16.f32.bf16.bf16",
    ("hopper_fp8", "e4m3", "e4m3"): "m64n64k32.f32.e4m3.e4m3",
    ("hopper_fp8", "e4m3", "e5m2"): "m64n64k32.f32.e4m3.e5m2",
    ("hopper_fp8", "e5m2", "e4m3"): "m64n64k32.f32.e5m2.e4m3",
    ("hopper_fp8", "e5m2", "e5m2"): "m64n64k32.f32.e5m2.e5m2",
}


def test_every_product_is_one_instruction(torch: Any) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "TRITON_INTERPRET"}
    names = {f"dot/{datapath}/{a}x{b}": f"wgmma.mma_async.sync.aligned.{shape}" for (datapath, a, b), shape in PRODUCTS.items()}
    words = [sys.executable, "-m", "emu.engines.torch.triton.ptx", "90", "--tensor-core", *names]
    done = subprocess.run(words, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout) == {name: [instruction] for name, instruction in names.items()}


def test_the_catalogue_holds_every_product(torch: Any) -> None:
    from emu.engines.torch.triton import wgmma

    assert set(wgmma.PRODUCTS) == set(PRODUCTS)


def drawn(seed: int, rows: int, depth: int, fmt: str) -> Any:
    """Codes of small integers: every order and width of addition gives the same sum."""
    values = np.random.default_rng(seed).integers(-3, 4, (rows, depth)).astype(np.float32)
    return np.asarray(emu.convert(values, fmt))


@pytest.mark.parametrize(("datapath", "a", "b"), PRODUCTS)
@pytest.mark.parametrize("rows", [1, 64, 65])
def test_exact_sums_come_from_their_rows(torch: Any, device: str, datapath: str, a: str, b: str, rows: int) -> None:
    from emu.engines.torch.triton.wgmma import dot, plan_of

    if device == "cpu" and a == "bf16":
        pytest.skip("Triton's interpreter multiplies the bits of bf16 numbers as integers")
    depth = plan_of(datapath, a, b).step
    left, right = drawn(1, rows, depth, a), drawn(2, rows, depth, b)
    c = np.random.default_rng(3).integers(-40, 41, rows).astype(np.float32).view(np.uint32)
    want = emu.dot(left, right, datapath=datapath, c=c, a_format=a, b_format=b)
    signed = [torch.from_numpy(item.view(f"i{item.itemsize}") if item.itemsize > 1 else item).to(device) for item in (left, right, c)]
    found = dot(*signed, datapath=datapath, a_format=a, b_format=b).cpu().numpy().view(np.uint32)
    np.testing.assert_array_equal(found, want)


def test_check_tells_the_interpreter_from_a_tensor_core(torch: Any, device: str) -> None:
    """NumPy's sums keep more bits than the datapath: the harness must say so, on inputs made for that."""
    from functools import partial

    from emu.check.run import check
    from emu.check.targets.python import python_target
    from emu.engines.torch.triton.wgmma import dot
    from tools.bench.gpu import TENSOR_CORE

    if device == "cuda":
        pytest.skip("a tensor core answers here; python -m tools.bench.gpu keeps what it says")
    call = partial(dot, datapath="hopper_fp8", a_format="e4m3", b_format="e4m3")
    report = check(python_target(call, "dot/hopper_fp8/e4m3xe4m3", **{**TENSOR_CORE, "device": device}), "dot/hopper_fp8/e4m3xe4m3")
    assert report.verdict == "differs" and report.compared > 0


def test_bad_operands_are_one_line(torch: Any) -> None:
    from emu.engines.torch.triton.wgmma import dot

    codes, c = torch.zeros((2, 32), dtype=torch.uint8), torch.zeros(2, dtype=torch.int32)
    with pytest.raises(ShapeError, match=r"\[rows, 32\]"):
        dot(codes[:, :16], codes[:, :16], c, datapath="hopper_fp8", a_format="e4m3", b_format="e4m3")
    with pytest.raises(OperandError, match="float32 C and D"):
        dot(codes, codes, c, datapath="hopper_fp8_f16", a_format="e4m3", b_format="e4m3")
    with pytest.raises(OperandError, match="take 2 bytes"):
        dot(codes[:, :16], codes[:, :16], c, datapath="hopper_fp16", a_format="fp16", b_format="fp16")
