"""A fixed-point register through the whole of K: the least and the largest sum that it holds, and the first that it does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.dots import Operands, changed, exact_codes

from emu.base.errors import OpenError
from emu.engines.c_ref.datapath import dot as dot_of_c
from emu.engines.numpy import datapath as npy
from emu.engines.numpy.datapath_chain import Register
from emu.spec.datapath import resolve


def at_an_end(bits: int, end: str, beyond: bool, whole: bool) -> tuple[Operands, int]:
    """Int4 operands whose sum in units of the register, 2^-18, is its largest or least number, or one beyond.

    A group of 16 products of 64 under scales of 448 gives 49 * 2^40 units, one of products of -56 gives -343 * 2^37. What is left of
    the limit comes from groups under scales of 128, 2^32 units a product of 1, or of 256, 2^34 units; a single unit stands first.
    Not whole: the full groups are left out. Returns the operands, and what was left out in units.
    """
    limit, full, lost = 1 << bits - 1, 49 << 40 if end == "largest" else 343 << 37, 32 if end == "largest" else 34
    one, (other, code) = 64 if end == "largest" else 56, (8, 0x70) if end == "largest" else (7, 0x78)
    count, rest = limit // full, limit % full >> lost
    parts = [min(16 * one, rest - start) for start in range(0, rest, 16 * one)]
    left_out = 0 if whole else count * full * (1 if end == "largest" else -1)
    count = count if whole else 0
    groups = -(-(1 + count + len(parts)) // 4) * 4
    a, b, scales = np.zeros((groups, 16), np.uint8), np.zeros((groups, 16), np.uint8), np.full(groups, 0x01, np.uint8)
    if (end == "largest") != beyond:
        a[0, 0], b[0, 0] = 1, 15  # a unit less
    for number, part in enumerate(parts, 1):
        a[number, : part // one], b[number, : part // one], scales[number] = 8, other, code
        if part % one:
            a[number, part // one], b[number, part // one] = 8, part % one // 8
    a[len(parts) + 1 : len(parts) + 1 + count], b[len(parts) + 1 : len(parts) + 1 + count] = 8, other
    scales[len(parts) + 1 : len(parts) + 1 + count] = 0x7E
    return Operands(a.reshape(1, -1), b.reshape(1, -1), scales[np.newaxis], scales[np.newaxis], np.zeros(1, np.uint32)), left_out


@pytest.mark.parametrize("end", ["largest", "least"])
@pytest.mark.parametrize(
    ("engine", "bits"), [("numpy", 49), ("c_ref", 49), ("c_ref", 64), pytest.param("numpy", 64, marks=pytest.mark.exhaustive)]
)
def test_a_register_holds_both_ends_of_its_range(engine: str, bits: int, end: str) -> None:
    """The two ends are held, one unit beyond is refused; 64 bits take K = 2.7 and 3.1 million, too many for the reference model to add."""
    plan, dot = changed(resolve("int64", "int4", "int4", block=16), accumulator={"bits": bits}), npy.dot if engine == "numpy" else dot_of_c
    (held, _), (refused, _) = at_an_end(bits, end, False, True), at_an_end(bits, end, True, True)
    assert dot(*held, plan).tolist() == [end_code(bits, end)]
    with pytest.raises(OpenError, match=f"the {bits}-bit accumulator overflows"):
        dot(*refused, plan)
    if bits == 49:
        assert exact_codes(held, plan) == [end_code(bits, end)]
        with pytest.raises(OpenError, match="the 49-bit accumulator overflows"):
            exact_codes(refused, plan)


def end_code(bits: int, end: str) -> int:
    """2^(bits - 1) units of 2^-18 as binary32; the largest number, a unit less, rounds up to it."""
    return bits - 1 - 18 + 127 << 23 | (1 << 31 if end == "least" else 0)


@pytest.mark.parametrize("end", ["largest", "least"])
def test_a_register_of_64_bits_that_has_run_for_long(end: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same ends without millions of products: the register starts where the full groups would have brought it."""
    plan = resolve("int64", "int4", "int4", block=16)
    assert plan.largest_k is not None
    for beyond in (False, True):
        found, start = at_an_end(64, end, beyond, False)

        class Started(Register):
            def __init__(self, c: Any, shape: Any, start: int = start) -> None:
                super().__init__(c, shape)
                self.acc += start
                self.k = shape.plan.largest_k

        monkeypatch.setattr(npy, "Register", Started)
        if beyond:
            with pytest.raises(OpenError, match="the 64-bit accumulator overflows"):
                npy.dot(*found, plan)
        else:
            assert npy.dot(*found, plan).tolist() == [end_code(64, end)]
