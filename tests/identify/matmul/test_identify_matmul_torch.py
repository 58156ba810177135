"""identify of products of torch and Triton: the order that their sums have, or unknown; never another order."""

import importlib.util
import itertools
import os

import numpy as np
import pytest

from emu.identify.matmul.run import identify_matmul

NVFP4 = "matmul/nvfp4/nvfp4"
FEW = [(9, 10, 256), (5, 6, 384)]


@pytest.fixture(scope="module")
def torch():
    if importlib.util.find_spec("torch") is None:
        assert not os.environ.get("EMU_NEED_TORCH"), "no torch here"
        pytest.skip("no torch here (pip install 'fp4emu[torch]')")
    import torch as found

    return found


def honest(found, kernel, contract):
    """A name must hold on operands of other draws too, or the answer is unknown."""
    if found.kind == "unknown":
        assert found.exit_code == 1
        return
    again = identify_matmul(kernel, contract, [(7, 5, 256), (4, 4, 384)], key=99)
    assert set(found.found) & set(again.found), (found.text(), again.text())


@pytest.mark.exhaustive
def test_a_torch_product_of_dequantized_operands(torch):
    def kernel(a, b):
        return torch.from_numpy(a.dequantize()) @ torch.from_numpy(b.dequantize()).T

    honest(identify_matmul(kernel, f"{NVFP4}/fp32", FEW), kernel, f"{NVFP4}/fp32")


@pytest.mark.exhaustive
def test_a_torch_product_in_bfloat16(torch):
    def kernel(a, b):
        x, y = (torch.from_numpy(item.dequantize()).to(torch.bfloat16) for item in (a, b))
        return x @ y.T

    honest(identify_matmul(kernel, f"{NVFP4}/bf16", FEW), kernel, f"{NVFP4}/bf16")


@pytest.mark.exhaustive
def test_a_chain_of_torch_is_found(torch):
    def kernel(a, b):
        x, y = (torch.from_numpy(item.dequantize()) for item in (a, b))
        out = torch.zeros(len(x), len(y))
        for k in range(x.shape[1]):
            out += x[:, k, None] * y[None, :, k]
        return out

    found = identify_matmul(kernel, f"{NVFP4}/fp32", FEW)
    assert found.title == "one term after the other, ascending; 24 significand bits, rounded to nearest even", found.text()


@pytest.mark.exhaustive
def test_a_chain_with_a_narrow_result_is_found():
    """The result hides 16 bits of the accumulator; operands that cancel show them."""
    import ml_dtypes

    def kernel(a, b):
        terms = a.dequantize()[:, None] * b.dequantize()[None]
        out = np.zeros(terms.shape[:2], np.float32)
        for low, high in itertools.pairwise(range(0, terms.shape[2] + 1, 32)):
            out = out + terms[..., low:high].astype(np.float64).sum(axis=2).astype(np.float32)
        return out.astype(ml_dtypes.bfloat16)

    found = identify_matmul(kernel, f"{NVFP4}/bf16", FEW)
    assert (
        "exact sums of 32 terms, rounded and then added one after the other, ascending; 24 significand bits, rounded to nearest even"
        in found.found
    )


TRITON = """
import numpy as np
import torch
import triton
import triton.language as tl


@triton.jit
def _gemm(a, b, d, k, TILE: tl.constexpr, STEP: tl.constexpr):
    rows = tl.arange(0, TILE)
    steps = tl.arange(0, STEP)
    total = tl.zeros((TILE, TILE), tl.float32)
    for at in range(0, k, STEP):
        x = tl.load(a + rows[:, None] * k + at + steps[None, :])
        y = tl.load(b + rows[None, :] * k + at + steps[:, None])
        total += tl.dot(x, y, input_precision="ieee")
    tl.store(d + rows[:, None] * TILE + rows[None, :], total)


def gemm(a, b):
    x, y = (torch.from_numpy(item.dequantize()) for item in (a, b))
    d = torch.zeros(16, 16)
    _gemm[(1,)](x, y, d, x.shape[1], 16, 32)
    return d
"""


@pytest.mark.exhaustive
def test_dot_of_the_interpreter_of_triton(torch, tmp_path, monkeypatch):
    if importlib.util.find_spec("triton") is None:
        assert not os.environ.get("EMU_NEED_TORCH"), "no triton here"
        pytest.skip("no triton here (pip install 'fp4emu[torch]')")
    if torch.cuda.is_available():
        pytest.skip("this process compiles for its CUDA device; a process without one interprets")
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    path = tmp_path / "triton_gemm.py"
    path.write_text(TRITON, encoding="utf-8")
    from emu.check.targets.named import function_of

    kernel = function_of(f"{path}:gemm")
    shapes = [(16, 16, 256), (16, 16, 384)]
    found = identify_matmul(kernel, f"{NVFP4}/fp32", shapes)
    if found.kind == "unknown":  # each tile is a product of NumPy's library, whose order is its own
        return
    again = identify_matmul(kernel, f"{NVFP4}/fp32", shapes, key=99)
    assert set(found.found) & set(again.found), (found.text(), again.text())
