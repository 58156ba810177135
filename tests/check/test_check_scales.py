"""Block scales that are floats: kernels whose scale code is wrong at one place only, and floors, are seen by the decisions alone."""

import numpy as np
import pytest

from emu.check.inputs.suites import questions
from emu.check.run import check
from emu.check.targets.python import python_target
from emu.contracts import form_of
from emu.contracts.form import expect
from emu.spec import derive, get

REF, CUDA, TORCHAO, ONE, MODELOPT = "nvfp4_te_ref", "nvfp4_te_cuda", "nvfp4_torchao", "nvfp4_torchao_1level", "nvfp4_modelopt"
RECIPES = (REF, CUDA, TORCHAO, ONE, MODELOPT, "nvufp4", "nve0m3", "f46_nvint4", "nvfp4_compressed_tensors", "nvfp4_f46_static_6")
FEW = (REF, ONE, "nvufp4", MODELOPT)  # by default
UE4M3 = get("format", "ue4m3")
NORMAL, TOP = 1 << UE4M3.facts.frac_bits, derive.codes(UE4M3).max_code


def beside(scales, one):
    """The scale codes with those of the changes from `one` to the next replaced on its side: another decision at one place."""
    return np.where(scales == one, one + 1, scales)


CHANGES = {
    "subnormals flushed": lambda s: np.where(s < NORMAL, 0, s),
    "subnormals raised to the smallest normal": lambda s: np.maximum(s, NORMAL),
    "zero becomes the smallest": lambda s: np.maximum(s, 1),
    "the smallest becomes zero": lambda s: np.where(s == 1, 0, s),
    "the largest is never used": lambda s: np.minimum(s, TOP - 1),
    "beyond the largest is NaN": lambda s: np.where(s == TOP, TOP + 1, s),
    "the smallest normal is missing": lambda s: beside(s, NORMAL),
    "the largest subnormal is missing": lambda s: beside(s, NORMAL - 1),
}  # fmt: skip
WITHOUT_ZERO = ("zero becomes the smallest", "the smallest becomes zero", "subnormals flushed", "subnormals raised to the smallest normal")
FLOORED = {TORCHAO, ONE}  # scales from the smallest normal up


@pytest.mark.parametrize("recipe", [pytest.param(name, marks=() if name in FEW else pytest.mark.exhaustive) for name in RECIPES])
def test_every_scale_comes(recipe):
    form, seen = form_of(f"quantize/{recipe}"), set()
    for question in questions(form, "decisions", True, {"count": None, "key": 1, "multiple": (1, 1)}):
        seen |= question.reach.scales
    assert seen >= set(range(NORMAL, TOP + 1)) and (seen >= set(range(1, NORMAL)) or recipe in FLOORED)


def report(recipe, kernel):
    """What the decisions of a check find."""
    target = python_target(kernel, f"quantize/{recipe}", takes="numpy.bits", source="fp32", gives=("codes", "scale"))
    return check(target, f"quantize/{recipe}", suites=("decisions",))


def kernel_of(recipe, change):
    """A kernel that is the recipe but for its scale codes."""

    def kernel(x, tensor_amax=None):
        operands = {"x": x} | ({} if tensor_amax is None else {"tensor_amax": np.asarray(tensor_amax)})
        found = expect(form_of(f"quantize/{recipe}"), operands, "auto").arrays
        return found["codes"], change(found["scale"]).astype(np.uint8)

    return kernel


@pytest.mark.cases(2, 7)
@pytest.mark.parametrize("recipe", [REF, ONE])
@pytest.mark.parametrize("name", CHANGES)
def test_a_scale_that_is_wrong_only_at_an_edge_is_seen(recipe, name):
    if recipe in FLOORED and name in (*WITHOUT_ZERO, "the largest subnormal is missing"):
        assert report(recipe, kernel_of(recipe, CHANGES[name])).verdict == "pass"  # no such scale comes
        return
    found = report(recipe, kernel_of(recipe, CHANGES[name]))
    assert found.verdict == "differs" and {failure.stage for failure in found.failures} == {"scale"}, found.text()


def e4m3(value, away=False, floor=0.0):
    """Bytes of E4M3 in plain NumPy; away: ties away from zero rather than to even; floor: the least scale."""
    value = np.clip(np.maximum(value, np.float32(floor)), 0, 448).astype(np.float64)
    exponent = np.maximum(np.frexp(value)[1] - 1, -6)
    steps = value * np.exp2(3.0 - exponent)
    whole = np.floor(steps + 0.5) if away else np.rint(steps)
    return np.where(value == 0, 0, (exponent + 6) * 8 + whole).astype(np.uint8)


def te(x, tensor_amax, **how):
    """Scale bytes of nvfp4_te_ref in plain NumPy, element codes of the recipe."""
    value = x.view(np.float32)
    times = np.minimum(np.float32(2688) / np.uint32(tensor_amax).view(np.float32), np.finfo(np.float32).max) * (
        np.float32(1) / np.float32(6)
    )
    return expect(form_of(f"quantize/{REF}"), {"x": x, "tensor_amax": np.asarray(tensor_amax)}, "auto").arrays["codes"], e4m3(
        np.abs(value).reshape(len(value), -1, 16).max(-1) * times, **how
    )


@pytest.mark.cases(2)
@pytest.mark.parametrize(("how", "verdict"), [
    ({}, "pass"), ({"away": True}, "differs"), ({"floor": 2.0**-9}, "differs"), ({"floor": 2.0**-10 * 1.01}, "differs"),
])  # fmt: skip
def test_a_tie_the_other_way_and_a_floor_are_seen(how, verdict):
    assert report(REF, lambda x, tensor_amax: te(x, tensor_amax, **how)).verdict == verdict


@pytest.mark.parametrize(("floor", "verdict"), [(2.0**-6, "pass"), (0.0, "differs"), (2.0**-9, "differs"), (2.0**-7, "differs")])
def test_a_dropped_floor_is_seen(floor, verdict):
    def kernel(x):
        codes = expect(form_of(f"quantize/{ONE}"), {"x": x}, "auto").arrays["codes"]
        return codes, e4m3(np.abs(x.view(np.float32)).reshape(len(x), -1, 16).max(-1) / np.float32(6), floor=floor)

    assert report(ONE, kernel).verdict == verdict
