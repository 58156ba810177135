"""The same row, the same bits; and the products of attention as products that check_matmul takes."""

import numpy as np
import pytest
from support.attention_kernels import mask_of

from emu.base.errors import OperandError
from emu.testing import check_invariance, check_matmul, scores_product, values_product

GEMM = {"a": np.random.Generator(np.random.Philox(3)).standard_normal((20, 64)).astype(np.float32)}
GEMM["b"] = GEMM["a"][:7].copy()


def steady(a, b, splits=1):
    return np.array([[np.float32(np.sum((row * col).astype(np.float64))) for col in b] for row in a])


def by_size(a, b, splits=1):
    step = 16 if len(a) > 8 else 64
    return sum(
        (a[:, None, at : at + step] * b[None, :, at : at + step]).sum(-1, dtype=np.float32) for at in range(0, a.shape[1], step)
    )  # fmt: skip


def by_place(a, b, splits=1):
    out = steady(a, b)
    out[3:4] = np.nextafter(out[3:4], np.float32(9))
    return out


def by_splits(a, b, splits=1):
    parts = np.split(a[:, None] * b[None], splits, axis=-1)
    return sum(part.sum(-1, dtype=np.float32) for part in parts)


def test_the_same_bits_pass_and_others_fail():
    vary = {"splits": [1, 2, 4]}
    assert check_invariance(steady, GEMM, batched=("a",), vary=vary).compared > 1000
    for wrong in (by_size, by_place, by_splits):
        report = check_invariance(wrong, GEMM, batched=("a",), vary=vary, raises=False)
        assert report.verdict == "differs" and report.message.startswith("row ")
    with pytest.raises(AssertionError, match="has other bits"):
        check_invariance(by_splits, GEMM, batched=("a",), vary=vary)
    with pytest.raises(OperandError):
        check_invariance(steady, GEMM, batched=("c",))


def scores(q, k, scale, causal=False, heads=lambda h, n, m: h * m // n):
    x, y = q.dequantize(np.float64), k.dequantize(np.float64)
    y = y[:, [heads(head, x.shape[1], y.shape[1]) for head in range(x.shape[1])]]
    found = (x @ y.swapaxes(-1, -2)).astype(np.float32) * scale
    return np.where(mask_of(*found.shape[-2:]), found, -np.inf).astype(np.float32) if causal else found


@pytest.mark.exhaustive
def test_scores_and_values_are_products():
    shapes = [(5, 9, 96), (7, 24, 64)]
    nv = ("nvfp4_torchao_1level",) * 2
    assert check_matmul(scores_product(scores, heads=4, kv_heads=2), *nv, shapes=shapes).verdict == "pass"
    causal = scores_product(lambda q, k, scale: scores(q, k, scale, True), heads=4, kv_heads=2, causal=True)
    assert check_matmul(causal, *nv, shapes=shapes).verdict == "pass"
    turn = scores_product(lambda q, k, scale: scores(q, k, scale, heads=lambda h, n, m: h % m), heads=4, kv_heads=2)
    assert check_matmul(turn, *nv, shapes=shapes, raises=False).verdict == "differs"
    late = scores_product(scores, causal=True)
    assert "other than -Inf" in check_matmul(late, *nv, shapes=shapes, raises=False).message
    twice = scores_product(lambda q, k, scale: scores(q, k, scale * scale))
    assert check_matmul(twice, *nv, shapes=shapes, raises=False).verdict == "differs"


def weighted(p, v):
    x, y = p.dequantize(np.float64), v.dequantize(np.float64)
    return (x @ y.repeat(x.shape[1] // y.shape[1], 1)).astype(np.float32)


@pytest.mark.exhaustive
def test_values_are_a_product():
    nv = ("nvfp4_torchao_1level",) * 2
    assert check_matmul(values_product(weighted), *nv, shapes=[(5, 9, 96)]).verdict == "pass"
    wrong = values_product(lambda p, v: weighted(p, v)[:, ::-1])
    assert check_matmul(wrong, *nv, shapes=[(5, 9, 96)], raises=False).verdict == "differs"
