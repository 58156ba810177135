"""What is asked is the same in every version: digests of the operands of products, of attention and of caches.

A change here is a change of what every kernel is judged by. Who means it writes the new digests, and says so in CHANGELOG.md.
"""

import hashlib

import numpy as np
import pytest

import emu
from emu.check.attention.contract import attention_of
from emu.check.attention.sets import default_shapes, random_question, strict_question
from emu.check.matmul.default_sets import every_set
from emu.check.matmul.envelope import drawn
from emu.check.matmul.numbers import Draws
from emu.check.matmul.pair import pair_of
from emu.check.matmul.run import check_gemm
from emu.check.matmul.sets import Limits, limits_of
from emu.testing import check_cache

SHAPES = [(5, 4, 96), (3, 9, 160), (2, 2, 32), (7, 3, 64), (4, 6, 128), (1, 5, 288)]  # the centres of all windows take their turn
THREE = ("nvfp4_torchao_1level",) * 3


def digest(arrays):
    found = hashlib.sha256()
    for array in arrays:
        found.update(b"none" if array is None else f"{array.dtype.str} {array.shape} ".encode() + np.ascontiguousarray(array).tobytes())
    return found.hexdigest()[:16]


PRODUCTS = {
    ("nvfp4/nvfp4", "fp32"): "0d6168ec8cb8b485",
    ("mxfp4/nvint4", 14): "9211a5b735c1ada7",
    ("mxfp4/mxfp4", "fp32"): "c1a85578778f502b",
    ("ufp4/ufp4", "fp32"): "61fc65add81f060e",
}


@pytest.mark.parametrize(("name", "bits"), PRODUCTS)
def test_operands_of_products(name, bits):
    asked = every_set(pair_of(f"matmul/{name}/fp32"), SHAPES, limits_of(bits, "exact", "fp32"), 7, [], given=True)
    arrays = [array for one in asked for array in (one.a, one.sa, one.b, one.sb, one.sums, one.room)]
    assert len(arrays) > 60 and digest(arrays) == PRODUCTS[name, bits]


RANDOM = {"nvfp4/nvfp4": "a205244dd379381a", "mxfp4/nvint4": "618e0b9971525ac2", "ufp4/ufp4": "dc2c55dcb0b420ac"}


@pytest.mark.parametrize("name", RANDOM)
def test_random_operands_of_products(name):
    asked = drawn(pair_of(f"matmul/{name}/fp32"), (33, 17, 256), Limits(), Draws(3, "random"))
    assert digest([asked.a, asked.sa, asked.b, asked.sb, asked.sums]) == RANDOM[name]


class Asked:
    """A right target of raw NVFP4 operands, alpha, beta and C, of one product, a batch or experts, that keeps all it was given."""

    name = "asked"

    def __init__(self, *more):
        self.wants = ("a_codes", "a_scales", "b_codes", "b_scales", "c", "alpha", "beta", *more)
        self.given = []

    def __call__(self, operands):
        self.given += [np.array(operands[name]) for name in self.wants]
        x, y = (
            emu.decode(operands[f"{side}_codes"], "e2m1").astype(np.float64)
            * np.repeat(emu.decode(operands[f"{side}_scales"], "ue4m3"), 16, axis=-1)
            for side in "ab"
        )
        alpha, beta, c = (operands[name].view(np.float32) for name in ("alpha", "beta", "c"))
        if "offsets" in self.wants:
            owner = np.repeat(np.arange(len(y)), np.diff(operands["offsets"]))
            x, y, alpha = x[:, None], y[owner], alpha[owner][:, None]
        sums = (x @ y.swapaxes(-1, -2)).astype(np.float32).reshape(c.shape) * alpha
        found = sums if beta == 0 else sums + beta * c
        return {"d": found.view(np.uint32).reshape(-1, c.shape[-1])}


CALLS = {"a product": "44d4401d5eea8d78", "a batch": "8a57b5def72208ad", "experts": "20fc0a0244e48677"}


@pytest.mark.parametrize("kind", CALLS)
def test_all_that_a_kernel_is_given(kind):
    """In every stage: sums, the epilogue, random data."""
    target = Asked(*(["offsets"] if kind == "experts" else []))
    shapes = [(5, 4, 96), (3, 9, 160)] if kind == "a product" else [(3, 8, 5, 48), (2, 6, 4, 96)]
    report = check_gemm(target, "matmul/nvfp4_1level/nvfp4_1level/fp32", shapes=shapes, key=7, batched=kind == "a batch")
    assert report.verdict == "pass" and report.epilogue == "S * alpha, + beta * C", report.text()
    assert len(target.given) > 100 and digest(target.given) == CALLS[kind]


def test_rows_that_are_written_to_a_cache():
    given = []

    def kept(k, v, k_cache, k_scale_cache, v_cache, v_scale_cache, slots):
        given.extend([k.copy(), v.copy(), slots.copy()])

    check_cache(kept, "nvfp4_torchao_1level", tokens=(1, 18), raises=False)
    assert len(given) == 12 and digest(given) == "ac8a38001d65de9b"


def test_operands_of_attention():
    contract = attention_of(*THREE, "fp32", "none", "whole row", 0, None, 1.0, 24, "dim", "values", 24)
    shapes = default_shapes(contract)
    assert [tuple(shape) for shape in shapes] == [
        (2, 2, 2, 9, 37, 64), (1, 4, 2, 16, 64, 128), (2, 4, 1, 5, 130, 64), (2, 2, 2, 1, 160, 64), (1, 2, 1, 37, 37, 64),
        (1, 1, 1, 2, 1030, 64),
    ]  # fmt: skip
    draws = Draws(5, "kept")
    asked = [
        strict_question(contract, shapes[0], 0.125, draws, dict.fromkeys("qkv", 0)),
        random_question(contract, shapes[3], 0.125, draws),
    ]
    assert digest([array for one in asked for name in "qkv" for array in (one.codes[name], one.scales[name])]) == "3c3ffb3811ed4268"
