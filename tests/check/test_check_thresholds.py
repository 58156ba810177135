"""Maxima beside every change of a floating block scale: wrong kernels that part only there are seen by these rows alone."""

from functools import cache

import numpy as np
import pytest

from emu.check.inputs.bulk import stratified
from emu.check.inputs.directed import directed
from emu.check.inputs.thresholds import scale_thresholds
from emu.check.run import _Checker
from emu.check.targets.python import python_target
from emu.contracts import form_of
from emu.contracts.form import expect
from emu.spec import derive, get

REF, CUDA, TORCHAO, ONE, MODELOPT = "nvfp4_te_ref", "nvfp4_te_cuda", "nvfp4_torchao", "nvfp4_torchao_1level", "nvfp4_modelopt"
RECIPES = (REF, CUDA, TORCHAO, ONE, MODELOPT, "nvufp4", "nve0m3", "f46_nvint4", "nvfp4_compressed_tensors", "nvfp4_f46_static_6")
FEW = (REF, ONE, "nvufp4", MODELOPT)  # by default
UE4M3 = get("format", "ue4m3")
NORMAL, TOP = 1 << UE4M3.facts.frac_bits, derive.codes(UE4M3).max_code


@cache
def rows(recipe, source="fp32", short=True, takes_amax=True):
    """The questions and what the recipe answers."""
    form = form_of(f"quantize/{recipe}", source)
    questions = tuple(scale_thresholds(form, takes_amax, short=short))
    return form, questions, tuple(expect(form, question.operands, "auto").arrays["scale"].reshape(-1) for question in questions)


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
def test_every_scale_beside_an_edge_comes(recipe):
    _, questions, answers = rows(recipe)
    assert len(questions) == (1 if recipe == ONE else 2)
    for scales in answers[:1]:
        seen = set(scales.tolist())
        assert {TOP - 2, TOP - 1, TOP, NORMAL} <= seen and (scales == TOP).sum() >= 4
        assert seen >= set(range(1, NORMAL)) or recipe in FLOORED
    assert all(np.unique(scales).size > 4 for scales in answers[1:])
    for _, everything in zip(*rows(recipe, short=False)[1:], strict=True):
        assert set(everything.tolist()) >= set(range(NORMAL, TOP + 1))


@pytest.mark.parametrize("source", ["fp32", "bf16", "fp16"])
def test_changes_are_between_adjacent_maxima(source):
    """Wherever the scale changes among all rows, the two maxima are neighbours: nothing can hide between them."""
    _, questions, answers = rows(REF, source, short=False)
    for question, scales in zip(questions, answers, strict=True):
        tops = question.operands["x"][:, 0].astype(np.int64)
        at = np.flatnonzero(np.diff(scales.astype(np.int64)))
        assert at.size >= TOP and (np.diff(tops)[at] == 1).all() and set(np.diff(scales.astype(int))[at].tolist()) == {1}


def report(recipe, kernel):
    """What a check of these rows alone finds."""
    form, questions, _ = rows(recipe)
    checker = _Checker(
        python_target(kernel, f"quantize/{recipe}", takes="numpy.bits", source="fp32", gives=("codes", "scale")), form, None, (1, 1)
    )
    checker.questions = lambda *_: iter(questions)
    found = checker.run(("exhaustive",), None, 1)
    found.verdict = "pass" if found.verdict == "too_little" else found.verdict  # these rows alone never are enough
    return found


def kernel_of(recipe, change):
    """A kernel that is the recipe but for its scale codes."""

    def kernel(x, tensor_amax=None):
        operands = {"x": x} | ({} if tensor_amax is None else {"tensor_amax": np.asarray(tensor_amax)})
        found = expect(form_of(f"quantize/{recipe}"), operands, "auto").arrays
        return found["codes"], change(found["scale"]).astype(np.uint8)

    return kernel


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


@pytest.mark.parametrize("recipe", [TORCHAO, ONE])
def test_maxima_below_a_floor_reach_half_of_the_smallest_scale(recipe):
    _, questions, answers = rows(recipe)
    for question, scales in zip(questions, answers, strict=True):
        tops = question.operands["x"][:, 0].view(np.float32).astype(np.float64)
        floored = tops[scales == NORMAL]
        assert floored.min() * (1 << UE4M3.facts.frac_bits + 1) < floored.max() and (scales == NORMAL).sum() > 4


def test_tensors_carry_their_maximum_and_multiples_are_kept():
    form = form_of(f"quantize/{REF}")
    for with_amax, without in zip(rows(REF)[1], scale_thresholds(form, False, (128, 64), short=True), strict=True):
        assert "tensor_amax" not in without.operands and "carrier" in without.why and without.operands["x"].shape[0] % 128 == 0
        x = without.operands["x"].view(np.float32)
        assert np.abs(x).max().view(np.uint32) == with_amax.operands["tensor_amax"] and x.shape[1] == 64
        assert len(without.why) == len(x) and not x[np.array(without.why) == "padding"].any()


def test_suites_hold_them():
    form = form_of(f"quantize/{REF}")
    short, whole = ([question.operands["x"] for question in rows(REF, short=kind)[1]] for kind in (True, False))
    for suite, wanted in ((directed(form, "fp32", True), short), (stratified(form, True, None, 1), whole)):
        asked = [question.operands["x"] for question in suite if set(question.why) == {"scale_edge"}]
        assert all(any(np.array_equal(x, other) for other in asked) for x in wanted)


@pytest.mark.parametrize("contract", ["quantize/mxfp4_te_pow2", "quantize/e2m1_fp32scale", "convert/e2m1/rne/nvidia", "quantize/ufp4_sr"])
def test_other_scales_have_no_such_rows(contract):
    assert not list(scale_thresholds(form_of(contract), True))


@pytest.mark.exhaustive
@pytest.mark.parametrize("recipe", ["nvfp4_te_2d_ref", "hif4", "if4_mse", "nvfp4_f46_mae", "nvfp4_te_4over6_mse_448"])
def test_tiles_and_choices_have_them_too(recipe):
    form, questions, answers = rows(recipe)
    for question, scales in zip(questions, answers, strict=True):
        exact = expect(form, question.operands, "exact").arrays["scale"].reshape(-1)
        assert np.array_equal(exact, scales) and np.unique(scales).size > 8
