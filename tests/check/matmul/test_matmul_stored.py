"""Kernels that multiply the stored scales of tensors, and the factor of the blocks apart, as Transformer Engine does: right, and named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import emu
from emu.check.matmul.epilogue import programs, sees_stored, stored_values
from emu.check.matmul.pair import pair_of
from emu.testing import check_matmul, identify_matmul

F32 = np.float32
FACTOR = F32(1) / F32(6 * 6 * 448 * 448)


def sums(a: Any, b: Any) -> Any:
    x, y = (emu.decode(q.codes, "e2m1").astype(np.float64) * np.repeat(emu.decode(q.scales, "ue4m3"), 16, -1) for q in (a, b))
    return (x @ y.T).astype(F32)


def maximum(q: Any) -> Any:
    (code,) = [level.codes for level in q.levels if level.granularity == "tensor"]
    return np.asarray(code, np.uint32).view(F32)


def library(a: Any, b: Any) -> Any:
    return sums(a, b) * ((maximum(a) * maximum(b)) * FACTOR)


def with_c(a: Any, b: Any, c: Any, alpha: Any, beta: Any) -> Any:
    scaled = sums(a, b) * (((F32(alpha) * maximum(a)) * maximum(b)) * FACTOR)
    return scaled if beta == 0 else scaled + F32(beta) * c


def without_the_factor(a: Any, b: Any) -> Any:
    return sums(a, b) * ((maximum(a) * maximum(b)) * F32(1.1e-7))


@pytest.mark.parametrize(
    ("kernel", "names"),
    [
        (library, {"S * ((max a * max b) * f)"}),
        (with_c, {"S * (((max a * alpha) * max b) * f), + beta * C", "S * (f * (max b * (max a * alpha))), + beta * C"}),
    ],
)
def test_a_right_kernel_passes_and_is_named(kernel: Any, names: set[str]) -> None:
    report = check_matmul(kernel, "nvfp4_te_ref", "nvfp4_te_ref", shapes=[(17, 9, 96)])
    assert report.verdict == "pass" and names & set(report.epilogue.split(" = ")), report.epilogue


def test_a_wrong_constant_is_found() -> None:
    report = check_matmul(without_the_factor, "nvfp4_te_ref", "nvfp4_te_ref", shapes=[(17, 9, 96)], raises=False)
    assert report.verdict == "differs"


def test_identify_names_the_order() -> None:
    found = identify_matmul(library, "matmul/nvfp4_te_ref/nvfp4_te_ref/fp32", shapes=[(5, 7, 96)])
    assert "S * ((max a * max b) * f)" in str(found)


def test_who_sees_stored_scales() -> None:
    te, one_level, divisor = (
        pair_of(f"matmul/{name}/nvfp4_te_4over6_mae_256/fp32")
        for name in ("nvfp4_te_ref", "nvfp4_torchao_1level", "nvfp4_compressed_tensors")
    )
    assert sees_stored(te, ("a", "b")) and not sees_stored(te, ("a", "b_packed", "b_tensor"))
    assert not sees_stored(one_level, ("a", "b")) and not sees_stored(divisor, ("a", "b"))
    values = stored_values(te, {"a": np.uint32(0x3F800000), "b": np.uint32(0x40400000)})
    assert values == {"max a": F32(1), "max b": F32(3), "f": F32(1) / F32(6 * 6 * 448 * 256)}
    assert (
        len(programs(("ta", "tb"), False, False, True)) - len(programs(("ta", "tb"), False, False)) == 15
    )  # ways to multiply four numbers
