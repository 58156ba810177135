"""identify says a name only of what is right on the decision tensors of `emu check`; what is nearly a documented recipe is the nearest."""

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pytest
from support.shared_scales import by_row

import emu
from emu.check.run import check
from emu.check.targets.python import python_target
from emu.engines.run import run_dequantize
from emu.identify.run import identify
from emu.spec import get
from emu.spec.models.recipe import RecipeFacts

ZOO = Path(__file__).resolve().parents[1] / "check" / "zoo"
MSE, TE = "nvfp4_f46_mse", "nvfp4_te_4over6_mse_448"
TINY = np.float32(2.0**-126)


@pytest.fixture(scope="module")
def zoo():
    sys.path.insert(0, str(ZOO))
    try:
        yield importlib.import_module("kernels_four_over_six")
    finally:
        sys.path.remove(str(ZOO))


def fused(zoo, differences):
    """The sum in the library's order, each square added by a fused multiply and add."""
    wide = differences.astype(np.float64)
    squares = (wide * wide).astype(np.float32)
    return zoo.in_a_row((wide[..., 8:] ** 2 + squares[..., :8]).astype(np.float32))


def flushed(zoo, differences):
    squares = differences * differences
    return zoo.halves(np.where(squares < TINY, np.float32(0), squares))


def as_a_tree(zoo, differences):
    return zoo.tree(differences * differences)


def four_over_six(zoo, total):
    return lambda x, tensor_amax: zoo.quantize(x, tensor_amax, error=lambda d: d, total=lambda d: total(zoo, d))


@pytest.mark.cases(1, 3)
@pytest.mark.parametrize("total", [fused, flushed, as_a_tree])
def test_another_sum_of_errors_is_not_called_documented(zoo, total):
    """Each gives every answer that was asked first, or is a variant with its own name; none passes the check."""
    target = python_target(four_over_six(zoo, total), f"quantize/{MSE}")
    found = identify(target)
    assert found.kind == ("variant" if total is as_a_tree else "nearest"), found.text()
    assert total is as_a_tree or (found.departures and found.agreed < found.asked and MSE in found.title)
    assert total is not as_a_tree or "as a tree" in found.found[0]
    assert check(target, f"quantize/{MSE}", suites=("decisions",)).verdict == "differs"


def test_a_reciprocal_in_the_decoding_is_not_called_another_order_of_the_sum(quantize_target):
    """The errors are taken of values times fl(1/2688)."""
    changed = {f"decoded_{way}": {"op": "mul", "args": (f"numerator_{way}", "0x39C30C31")} for way in "64"}
    model = get("recipe", TE)
    data = model.facts.model_dump(mode="json", exclude_none=True)
    data["steps"] = [{**step, **changed.get(step.get("out"), {})} for step in data["steps"]]
    kernel = model.model_copy(update={"facts": RecipeFacts.model_validate_json(json.dumps(data))})
    found = identify(quantize_target(kernel, "fp32"), among=[TE])
    assert found.kind != "documented" and not any("halves" in name for name in found.found), found.text()
    assert {axis.stage: axis.finding for axis in found.axes}["decisions"] == "19200 of 19200 rows agree"  # what it is called is right there


@pytest.mark.parametrize("total", [fused])
def test_values_alone_are_asked_there_too(zoo, total):
    recipe = get("recipe", MSE)

    def kernel(x, tensor_amax):
        made = four_over_six(zoo, total)(x, tensor_amax)
        levels = {"scale": made["scale"], "tensor": np.array(tensor_amax).view(np.uint32).reshape(1, 1)}
        values = run_dequantize(recipe, made["codes"], levels, profile=None, result=get("format", "fp32"), engine="auto")
        return values.view(np.float32)[:, : x.shape[1]]

    found = identify(python_target(kernel, f"quantize/{MSE}", gives="values"), among=[MSE])
    assert found.kind == "nearest" and found.departures, found.text()


def test_codes_behind_a_wrong_scale_do_not_agree():
    """Scales of rows twice as large: every code is what the recipe says, and none of them means it."""

    def kernel(x):
        made = by_row(x)
        return made | {"scale": made["scale"] * np.float32(2)}

    found = identify(python_target(kernel, "quantize/e4m3_row_torchao"), among=["e4m3_row_torchao"])
    assert found.kind == "nearest" and found.agreed * 100 < found.asked


@pytest.mark.exhaustive
def test_nan_does_not_name_a_kernel_that_is_another_everywhere_else(quantize_target):
    """Rows with NaN or Inf are those of Quark; all others have the scales of the floor, and a wrong code in every second lane."""
    special = quantize_target(get("recipe", "mxfp4_quark_even"), "fp32")

    class Kernel(type(special)):
        def __call__(self, operands):
            other, own = quantize_target(get("recipe", "mxfp4_torchao_floor"), "fp32")(operands), super().__call__(operands)
            rows = ~np.isfinite(self.values(operands["x"])).all(axis=1)[:, None]
            codes = other["codes"] ^ (np.arange(other["codes"].shape[1]) % 2).astype(np.uint8)
            return {"codes": np.where(rows, own["codes"], codes), "scale": np.where(rows, own["scale"], other["scale"])}

    found = identify(Kernel(special.recipe, "fp32"))
    x = np.exp2(np.linspace(-9, 9, 32 * 64, dtype=np.float32)).reshape(64, 32)
    near, floor = (emu.quantize(x, name.partition(":")[0]).scales for name in (found.found[0], "mxfp4_torchao_floor"))
    assert found.kind == "nearest" and np.array_equal(near, floor), found.text()
