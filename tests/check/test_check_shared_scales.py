"""Quantizers with one scale for a row, for the tensor or for a tile of 128 x 128: right ones pass, wrong ones fail and are named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.shared_scales import by_row, by_tensor, by_tile

from emu.base.errors import SpecError
from emu.contracts import form_of, parse
from emu.contracts.form import Asked, expect
from emu.contracts.quantize.blocks import Blocks
from emu.contracts.quantize.tiles import ACROSS
from emu.engines.run import run_quantize
from emu.spec import get, names
from emu.testing import check
from emu.vectors import find

RECIPES = [name for name in names("recipe") if name.startswith("e4m3_")]
FP32 = get("format", "fp32")


def judged(kernel: Callable[..., Any], recipe: str) -> Any:
    return check(kernel, f"quantize/{recipe}", raises=False, suites=("directed",))


def test_a_right_kernel_of_rows_passes() -> None:
    report = judged(by_row, "e4m3_row_torchao")
    assert report.verdict == "pass" and report.compared > 30_000
    assert report.reach["element_changes"] == report.reach["element_changes_of_format"] == 126 and report.reach["scale_changes"] > 100


def test_a_scale_by_a_rounded_reciprocal_fails_with_its_row_alone() -> None:
    report = judged(lambda x: by_row(x, reciprocal=True), "e4m3_row_torchao")
    assert report.verdict == "differs" and report.failures[0].name == "scale"
    example = report.failures[0].example
    assert "row_amax = amax(x)" in "\n".join(example.steps) and "/" not in example.operands["x"]  # one row


def test_a_row_that_takes_the_scale_of_another_fails() -> None:
    assert judged(lambda x: by_row(x, share=2), "e4m3_row_torchao").verdict == "differs"


def test_zeros_of_a_row_that_has_numbers_are_no_block_of_zeros() -> None:
    def positive(x: Any) -> dict[str, Any]:
        found = by_row(x)
        return found | {"codes": np.where(found["codes"] == 0x80, np.uint8(0), found["codes"])}

    assert [failure.name for failure in judged(positive, "e4m3_row_torchao").failures] == ["minus_zero"]


def test_kernels_of_a_tensor_are_judged_under_many_maxima() -> None:
    report = judged(by_tensor, "e4m3_tensor_torchao")
    assert report.verdict == "pass" and report.reach["tensor_maxima"] >= 64 and report.reach["scale_changes"] == 0
    wrong = judged(lambda x, tensor_amax: by_tensor(x, tensor_amax, ulp=1), "e4m3_tensor_torchao")
    assert wrong.verdict == "differs" and "scale" in {failure.name for failure in wrong.failures}


@pytest.mark.exhaustive
def test_kernels_of_large_tiles_are_judged() -> None:
    assert judged(by_tile, "e4m3_tile128_deepseek").verdict == "pass"
    assert judged(lambda x: by_tile(x, 64), "e4m3_tile128_deepseek").verdict == "shape"


def test_a_nan_opens_its_row_and_no_other() -> None:
    form = form_of("quantize/e4m3_row_torchao")
    x = np.linspace(-3, 3, 48, dtype=np.float32).reshape(3, 16)
    x[1, 5] = np.nan
    found = expect(form, {"x": x.view(np.uint32)}, "auto")
    assert found.known["codes"].tolist() == [[True] * 16, [False] * 16, [True] * 16]
    assert found.known["scale"].tolist() == [[True], [False], [True]]
    alone = expect(form, {"x": x[[0, 2]].view(np.uint32)}, "exact")
    assert np.array_equal(found.arrays["codes"][[0, 2]], alone.arrays["codes"]) and not alone.known


def test_a_row_of_a_suite_is_a_row_whose_elements_share_a_scale() -> None:
    for name in RECIPES:
        operation = parse(f"quantize/{name}")
        block = operation.block
        if block.facts.shape[0] > 1:
            with pytest.raises(SpecError, match=r"tiles of 128 x 128 are more than a row of a suite holds"):
                operation.directed("x")
            continue
        assert operation.n == ACROSS and operation.cells == (1, ACROSS, 1)
        assert [column.name for column in operation.layout.columns if column.role == "stage"] == ["amax"] * ("_row_" in name)
        rows = operation.directed("x")
        assert len(rows) > 60 and {flag for row in rows for flag in row.flags} >= {"zero_block", "lanes", "nan", "threshold"}
        both = operation.engines()
        for row in rows[::9]:
            wanted = operation.exact(row.values)
            for engine in both.values():
                (got,) = engine([row.values])
                assert got is not None and got == wanted[: len(got)]


def test_scales_of_16_bits_have_ties_and_ends() -> None:
    points = Blocks(parse("quantize/e4m3_row_bf16_compressed_tensors")).scale_points()
    assert points[2] == ((1 + 1 / 256) * 448, "scale_tie") and len(points) == 5
    codes = {row.values[1] for row in parse("dequantize/e4m3_row_bf16_compressed_tensors/bf16").directed("x") if row.group == "scale"}
    assert codes >= {0x3F80, 0x3F81, 0, 1, 0x7F, 0x80, 0x7F7F, 0x7F80} and max(codes) < 1 << 16


def test_golden_suites_are_planned() -> None:
    for stem in ("quantize__fp32_to_e4m3_row__e4m3_row_torchao__directed", "dequantize__e4m3_row_to_fp16__e4m3_row_torchao_exact__random"):
        plan = find(stem)
        assert plan.size == len(plan.cases(0, plan.size)) > 60


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", [name for name in RECIPES if "tile" not in name])
def test_another_engine_passes_every_suite(name: str) -> None:
    """The C reference as the kernel, NumPy as the judge."""
    recipe = get("recipe", name)

    def kernel(x: Any, **given: Any) -> dict[str, Any]:
        codes = np.where(np.isfinite(x), x, 0).astype(np.float32).view(np.uint32)
        more = {key: int(np.float32(value).view(np.uint32)) for key, value in given.items()}
        found, levels = run_quantize(recipe, codes, FP32, engine="c_ref", **more)
        return {"codes": found, **{key: bits if "row" in name else bits.reshape(()) for key, bits in levels.items()}}

    def of_tensor(x: Any, tensor_amax: Any) -> dict[str, Any]:
        return kernel(x, tensor_amax=tensor_amax)

    suites = ("directed", "exhaustive", "stratified", "decisions")
    report = check(of_tensor if name.startswith("e4m3_tensor") else kernel, f"quantize/{name}", raises=False, suites=suites, finite=True)
    assert report.verdict == "pass" and report.compared > 500_000
    assert len(list(form_of(f"quantize/{name}").directed(Asked()))) > 1
