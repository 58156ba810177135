"""Kernels whose scale is that of a row, of the tensor or of a large tile: named, or said to be near; and what has no recipe at all."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from support.shared_scales import by_row, by_tensor, by_tile, values_of

from emu.base.errors import OperandError, SpecError
from emu.check.targets.python import python_target
from emu.identify.layout import question
from emu.identify.run import identify
from emu.identify.shared import recipes_of_shared_scales
from emu.identify.signatures import contracts_of, identify_any


def test_a_kernel_of_rows_has_its_name() -> None:
    found = identify(python_target(by_row, "quantize/e4m3_row_compressed_tensors"))  # the form is that of others too
    assert (found.kind, found.found, found.agreed) == ("documented", ("e4m3_row_torchao",), found.asked) and found.asked > 300_000
    assert [axis.finding for axis in found.axes] == ["one for the row"]


def test_a_kernel_of_a_tensor_has_its_name() -> None:
    found = identify(python_target(by_tensor, "quantize/e4m3_tensor_torchao"), among=["e4m3_tensor_torchao", "e4m3_tensor_modelopt"])
    assert found.found == ("e4m3_tensor_torchao",) and found.axes[0].finding == "one for the tensor"


def test_a_wrong_scale_is_near_and_a_row_shows_it() -> None:
    found = identify(python_target(lambda x: by_row(x, reciprocal=True), "quantize/e4m3_row_torchao"), among=["e4m3_row_torchao"])
    assert (found.kind, found.exit_code) == ("nearest", 1) and "departs in" in found.text() and found.agreed < found.asked


def test_what_told_the_layout_is_asked_once() -> None:
    asked: list[bytes] = []

    def kernel(x: Any) -> dict[str, Any]:
        asked.append(x.tobytes())
        return by_row(x)

    found = identify(python_target(kernel, "quantize/e4m3_row_torchao"), among=["e4m3_row_torchao"])
    assert found.kind == "documented" and asked.count(question("fp32", 1)[1].tobytes()) == 1


def test_shapes_are_asked_of_them_too() -> None:
    among, shapes = ["e4m3_row_torchao"], [(7, 33), (3, 40)]
    right = identify(python_target(by_row, "quantize/e4m3_row_torchao"), among=among, shapes=shapes)
    assert right.found == ("e4m3_row_torchao",) and right.agreed == right.asked
    assert [axis.finding for axis in right.axes if axis.stage == "shapes"] == ["agrees", "agrees"]

    def short(x: Any) -> dict[str, Any]:
        return by_row(x, share=2 if x.shape[1] == 33 else 1)

    wrong = identify(python_target(short, "quantize/e4m3_row_torchao"), among=among, shapes=shapes)
    assert wrong.kind == "nearest" and wrong.agreed == wrong.asked - 1
    assert [axis.finding for axis in wrong.axes if axis.stage == "shapes"] == ["departs", "agrees"]
    assert [departure.where for departure in wrong.departures] == ["scale[1, 0]"]


def test_shapes_of_a_tensor() -> None:
    target = python_target(by_tensor, "quantize/e4m3_tensor_torchao")
    found = identify(target, among=["e4m3_tensor_torchao"], shapes=[(7, 33)])
    assert found.found == ("e4m3_tensor_torchao",) and found.axes[-1].finding == "agrees"


def test_scales_of_no_recipe_are_one_line() -> None:
    target = python_target(by_tensor, "quantize/e4m3_tensor_torchao")
    with pytest.raises(OperandError, match=r"no recipe has as many scales as the kernel gives"):
        identify(target, among=["nvfp4_te_ref"])


RECIPES = recipes_of_shared_scales()
NAMED = {
    what: [f"dequantize/{name}/exact" for name in RECIPES if name.startswith(f"e4m3_{what}") and "bf16_compressed" not in name]
    for what in ("row", "tensor", "tile")
}


def of_rows(codes: Any, scale: Any) -> Any:
    if scale.shape != (len(codes), 1):
        raise ValueError("one scale for each row")
    return values_of(codes, scale)


def of_tiles(codes: Any, scale: Any) -> Any:
    return values_of(codes, scale.repeat(128, axis=0).repeat(128, axis=1)[: codes.shape[0], : codes.shape[1]])


def dequantizer(kernel: Any, recipe: str = "e4m3_row_torchao", profile: str = "exact") -> Any:
    return python_target(kernel, f"dequantize/{recipe}/{profile}")


def test_a_dequantize_kernel_of_rows_has_the_names_of_its_steps() -> None:
    found = identify(dequantizer(of_rows), among=[name for name in RECIPES if "_row_" in name])
    assert (found.kind, list(found.found), found.agreed) == ("documented", NAMED["row"], found.asked) and found.asked > 400_000
    assert [axis.finding for axis in found.axes] == ["one for the row"]


def test_what_takes_both_has_the_names_of_both() -> None:
    found = identify(dequantizer(values_of), among=["e4m3_row_torchao", "e4m3_tensor_torchao"])
    assert found.found == ("dequantize/e4m3_row_torchao/exact", "dequantize/e4m3_tensor_torchao/exact")
    assert found.axes[0].finding == "one for the row or one for the tensor"


@pytest.mark.exhaustive  # a table of all codes of bfloat16 takes seconds
def test_products_in_another_format_are_another_profile() -> None:
    def kernel(codes: Any, scale: Any) -> Any:
        return of_rows(codes, scale.astype(np.float32)).astype(ml_dtypes.bfloat16).astype(np.float32)

    among = ["e4m3_row_bf16_compressed_tensors", "e4m3_row_compressed_tensors"]
    found = identify(dequantizer(kernel, among[0], "bf16"), among=among)
    assert found.found == ("dequantize/e4m3_row_bf16_compressed_tensors/bf16",) and found.kind == "documented"
    assert identify(dequantizer(kernel), among=among).kind == "nearest"  # declared with scales of binary32


@pytest.mark.parametrize("fault", ["scale of the row above", "last of an odd number of columns", "NaN code"])
def test_a_wrong_dequantize_kernel_is_near(fault: str) -> None:
    def kernel(codes: Any, scale: Any) -> Any:
        found = of_rows(codes, np.roll(scale, 1, axis=0) if fault.startswith("scale") else scale)
        if fault.startswith("last") and codes.shape[1] % 2:
            found[-1, -1] = 1
        return np.where(codes == 0xFF, np.float32(-480) * scale, found) if fault.startswith("NaN") else found

    found = identify(dequantizer(kernel), among=["e4m3_row_torchao"])
    assert (found.kind, found.exit_code, found.found) == ("nearest", 1, ("dequantize/e4m3_row_torchao/exact",))
    assert found.agreed < found.asked and found.departures and "departs in" in found.text()


def test_an_unknown_recipe_is_refused() -> None:
    for target in (dequantizer(of_rows), python_target(by_row, "quantize/e4m3_row_torchao")):
        with pytest.raises(SpecError, match="e4m3_rows"):
            identify(target, among=["e4m3_rows"])


@pytest.mark.exhaustive
@pytest.mark.parametrize(("kernel", "what"), [(of_rows, "row"), (of_tiles, "tile")])
def test_the_form_of_a_dequantize_kernel_is_found_out(kernel: Any, what: str) -> None:
    found = identify_any(contracts_of("dequantize"), lambda contract: nullcontext(python_target(kernel, contract)), None)
    assert (found.kind, list(found.found)) == ("documented", NAMED[what])


@pytest.mark.exhaustive
@pytest.mark.parametrize(("kernel", "name"), [(by_row, "e4m3_row_torchao"), (by_tile, "e4m3_tile128_deepseek")])
def test_the_form_is_found_out(kernel: Any, name: str) -> None:
    found = identify_any(contracts_of("quantize"), lambda contract: nullcontext(python_target(kernel, contract)), None)
    assert name in found.found and found.kind == "documented"


def test_recipes_of_shared_scales_are_those_without_blocks_of_their_own() -> None:
    assert len(RECIPES) == 13 and all(name.startswith("e4m3_") for name in RECIPES)
    assert {f"quantize/{name}" for name in RECIPES} & set(contracts_of("quantize"))
    assert {f"dequantize/{name}/exact" for name in RECIPES} & set(contracts_of("dequantize"))
