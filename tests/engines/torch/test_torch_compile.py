"""Eager and compiled give the same bits on directed rows: each operation is one opaque node, whatever surrounds it."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest

import emu
from emu import strategies
from emu.base.philox import words

torch = importlib.import_module("torch") if os.environ.get("EMU_NEED_TORCH") else pytest.importorskip("torch", reason="no torch here")
api = importlib.import_module("emu.torch.api")


def directed():
    """float32 [4, 64]: decision points of E2M1 and their neighbours, zeros, subnormals, beyond the maximum."""
    points = [code for p in strategies.decision_points("e2m1") for code in strategies.codes_near(p, "fp32", (-1, 0, 1))]
    codes = np.resize(np.array([*points, 0, 1, 0x80000000, 0x42000000, 0x00800000], np.uint32), 256)
    return torch.from_numpy((codes ^ (words(5, 256) & 0x80000000)).view(np.float32).reshape(4, 64))


def everything(x):
    """Each operation of the column, between operations that a compiler may fuse."""
    codes = api.convert(x * 1.5, "e2m1")
    wide = api.decode(codes, "e2m1") * 2
    q = api.quantize(x - 0.0, "nvfp4_te_ref")
    back = api.dequantize(q) + 1
    stochastic = api.convert(x, "e2m1", "sr_add8", random=(x.view(torch.int32) & 0xFF).to(torch.int64))
    transposed = api.transform(x, "rht16_te")
    product = api.matmul(q.codes, q.codes, "blackwell_mxf4nvf4_b16_ue4m3", a_scales=q.levels["scale"], b_scales=q.levels["scale"])
    total = api.operate("faa", x, x * 3, codes, formats=["fp32", "fp32", "e2m1"], to="fp32", policy="ieee")
    less = api.operate("compare_less", x, back)
    return codes, wide, q.codes, q.levels["scale"], q.levels["tensor"], back, stochastic, transposed, product, total, less


def same(first, second):
    return all(a.dtype == b.dtype and torch.equal(a.view(torch.uint8), b.view(torch.uint8)) for a, b in zip(first, second, strict=True))


def test_compiled_gives_the_bits_of_eager():
    x = directed()
    assert same(everything(x), torch.compile(everything, backend="aot_eager", fullgraph=True)(x))


def test_every_operation_is_one_node():
    graphs = []

    def keep(graph, _):
        graphs.append(graph)
        return graph.forward

    torch.compile(everything, backend=keep, fullgraph=True)(directed())
    called = {str(node.target) for node in graphs[0].graph.nodes}
    for name in ("convert", "decode", "operate", "quantize", "dequantize", "transform", "product"):
        assert any(target.startswith(f"emu.{name}") for target in called), called


def test_values_agree_with_the_functions_on_arrays():
    x = directed()
    q, wanted = api.quantize(x, "nvfp4_te_ref"), emu.quantize(x.numpy(), "nvfp4_te_ref")
    assert np.array_equal(q.codes.numpy(), wanted.codes) and np.array_equal(q.levels["scale"].numpy(), wanted.scales)
    assert np.array_equal(api.dequantize(q).numpy().view(np.uint32), wanted.dequantize().view(np.uint32))
    transposed = emu.transform(x.numpy(), "rht16_te")
    assert np.array_equal(api.transform(x, "rht16_te").view(torch.int16).numpy(), transposed.view(np.int16))
    stack = api.quantize(x.view(2, 2, 64), "mxfp4_torchao_floor")
    assert stack.codes.shape == (2, 2, 64) and stack.levels["scale"].shape == (2, 2, 2)
    assert np.array_equal(stack.levels["scale"].reshape(4, 2).numpy(), emu.quantize(x.numpy(), "mxfp4_torchao_floor").scales)


@pytest.mark.parametrize(("name", "block", "scale"), [("blackwell_mxf4nvf4_b16_ue4m3", 16, 52), ("mx_lane24", 32, 124)])
def test_products_of_every_pair_of_rows_and_of_those_of_one_place(name, block, scale):
    """A datapath of one fused step, and one of levels: the pairs are the diagonal of all."""
    k = 64
    codes = [torch.from_numpy((words(seed, 3 * k) % 16).astype(np.uint8).reshape(3, k)) for seed in (91, 92)]
    scales = [torch.from_numpy((words(seed, 3 * k // block) % 8 + scale).astype(np.uint8).reshape(3, k // block)) for seed in (93, 94)]
    every = api.matmul(*codes, name, a_scales=scales[0], b_scales=scales[1])
    pairs = api.dot(*codes, name, a_scales=scales[0], b_scales=scales[1])
    wanted = emu.dot(*(x.numpy() for x in codes), name, *(x.numpy() for x in scales), engine="exact")
    assert len(set(wanted.tolist())) == 3
    assert pairs.tolist() == wanted.tolist() == every.diagonal().tolist() and every.shape == (3, 3)


INDUCTOR = """
import importlib.util, torch
spec = importlib.util.spec_from_file_location("rows", {path!r}); rows = importlib.util.module_from_spec(spec); spec.loader.exec_module(rows)
x = rows.directed()
assert rows.same(rows.everything(x), torch.compile(rows.everything, backend="inductor", fullgraph=True)(x))
"""


@pytest.mark.exhaustive
@pytest.mark.skipif(shutil.which("g++") is None, reason="inductor needs g++")
def test_inductor_gives_the_bits_of_eager():
    subprocess.run([sys.executable, "-c", INDUCTOR.format(path=__file__)], check=True)
