"""A rotation whose order of additions is open: every right order passes and the share on which orders part is said; nothing else passes."""

import importlib.util
import os

import ml_dtypes
import numpy as np
import pytest

import emu
from emu.check.judge import judge
from emu.contracts import form_of
from emu.contracts.transform.orders import any_order, ordered
from emu.spec import get
from emu.testing import check

TE, SIGNS, BF16 = "transform/rht16_te", 0xD7E8, ml_dtypes.bfloat16
H = np.array([[(-1.0) ** (i & j).bit_count() for j in range(16)] for i in range(16)], np.float32)
MATRIX = H * np.array([(-1.0) ** (SIGNS >> j & 1) for j in range(16)], np.float32) / 4
SUITES = ("directed", "exhaustive", "stratified")


def terms(x):
    return x.astype(np.float32).reshape(-1, 1, 16) * MATRIX


def summed(parts, order):
    total = parts[..., order[0]]
    for at in order[1:]:
        total = total + parts[..., at]
    return total


def tree(parts):
    while parts.shape[-1] > 1:
        parts = parts[..., 0::2] + parts[..., 1::2]
    return parts[..., 0]


def halves(parts):
    return summed(parts, range(8)) + summed(parts, range(8, 16))


ORDERS = {
    "ascending": lambda parts: summed(parts, range(16)),
    "descending": lambda parts: summed(parts, range(15, -1, -1)),
    "from zero": lambda parts: np.float32(0) + summed(parts, range(16)),
    "tree": tree,
    "two halves": halves,
    "scaled last": lambda parts: tree(parts * np.float32(4)) / np.float32(4),
}


def rotation(add, finish=lambda y: y, change=lambda parts: parts):
    def kernel(x):
        return finish(add(change(terms(x))).astype(BF16).reshape(x.shape))

    return kernel


@pytest.mark.cases(3)
@pytest.mark.parametrize("source", ["fp32", "bf16"])
@pytest.mark.parametrize("order", ORDERS)
def test_every_order_of_the_additions_passes(order, source):
    report = check(rotation(ORDERS[order]), TE, takes=f"numpy.{source}", suites=SUITES)
    assert report.verdict == "pass" and report.compared > 10 * report.parted
    assert ("on which orders of the additions part held to a bound" in report.text().splitlines()[0]) is (report.parted > 0)
    assert source == "bf16" or report.parted


def in_bf16(parts):
    total = parts[..., 0]
    for at in range(1, 16):
        total = (total + parts[..., at]).astype(BF16).astype(np.float32)
    return total


WRONG = {
    "each addition in bf16": rotation(in_bf16),
    "one element missing": rotation(tree, change=lambda parts: np.where(np.arange(16) == 7, np.float32(0), parts)),
    "a sign": rotation(tree, change=lambda parts: parts * np.where(np.arange(16) == 7, np.float32(-1), 1)),
    "the scale": rotation(lambda parts: tree(parts) * np.float32(2)),
    "the last bit, now and then": rotation(
        tree, lambda y: (y.view(np.uint16) ^ (np.arange(y.size) % 1001 == 0).reshape(y.shape)).view(BF16)
    ),
    "toward zero": lambda x: (tree(terms(x)).view(np.uint32) >> 16).astype(np.uint16).view(BF16).reshape(x.shape),
}


@pytest.mark.cases(3)
@pytest.mark.parametrize("source", ["bf16", "fp32"])
@pytest.mark.parametrize("name", WRONG)
def test_what_no_order_gives_fails(name, source):
    with np.errstate(all="ignore"):
        assert check(WRONG[name], TE, takes=f"numpy.{source}", suites=SUITES, raises=False).verdict == "differs"


def test_a_value_just_outside_of_what_orders_give_fails():
    """Answers on which orders part: each end passes, the code beyond it does not, and no sum of a random order lies outside."""
    model, fmt = get("transform", "rht16_te"), get("format", "bf16")
    rng = np.random.default_rng(5)
    x = (rng.standard_normal((4096, 16)) * np.exp2(rng.integers(-8, 1, (4096, 16)))).astype(np.float32)
    x[:64, 1:4] *= np.float32(2.0**20)
    ends = any_order(x.view(np.uint32), get("format", "fp32"), model, SIGNS)
    low, high = ordered(ends.low, fmt), ordered(ends.high, fmt)
    assert (low <= high).all() and 0.0005 < (low < high).mean() < 0.05 and not ends.free.any()
    for _ in range(20):
        given = ordered(summed(terms(x), rng.permutation(16)).astype(BF16).view(np.uint16), fmt)
        assert ((low <= given) & (given <= high)).all()
    right = emu.transform(x, "rht16_te").view(np.uint16)
    for codes, verdict in ((ends.low, "pass"), (ends.high, "pass"), (ends.high + 1, "differs")):
        parted = (low < high) & (low > 0)
        got = {"values": np.where(parted, codes, right).astype(np.uint16)}
        form, operands = form_of(TE, "fp32"), {"x": x.view(np.uint32)}
        found = form.within(operands, form.expect(operands, "auto", fmt), got)
        assert ("differs" if judge(form, found, got).differences else "pass") == verdict


def test_an_order_that_its_object_states_is_demanded():
    """rht16_butterfly says its order: the fast algorithm passes, a sum in ascending order does not."""
    stated, fast = "transform/rht16_butterfly", lambda x: emu.transform(x, "rht16_butterfly")
    right = check(fast, stated, suites=("stratified",))
    wrong = check(lambda x: ORDERS["ascending"](terms(x)).reshape(x.shape), stated, suites=("stratified",), raises=False)
    assert (right.verdict, wrong.verdict, right.parted + wrong.parted) == ("pass", "differs", 0)
    assert check(lambda x: fast(x).astype(BF16), TE, suites=SUITES).verdict == "pass"


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_matrix_product_of_torch_passes(dtype):
    if not os.environ.get("EMU_NEED_TORCH") and importlib.util.find_spec("torch") is None:
        pytest.skip("no torch here")
    import torch

    def kernel(x):
        kind = getattr(torch, dtype)
        return (x.to(kind).reshape(-1, 16) @ torch.from_numpy(MATRIX.T.copy()).to(kind)).to(torch.bfloat16).reshape(x.shape)

    assert check(kernel, TE, takes="torch.fp32" if dtype == "float32" else "torch.bf16", suites=SUITES).verdict == "pass"
