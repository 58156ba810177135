"""Decisions: a wrong last bit of a reciprocal is seen under ordinary maxima, what was reached is counted, too little is no pass."""

import json

import numpy as np
import pytest
from support.wrong_kernels import Wrong, off_by_an_ulp, right, verdict

from emu.check.inputs.decisions import WHOLE, bisect, decisions
from emu.check.inputs.shapes import question
from emu.check.inputs.suites import FEW, completed, questions
from emu.check.reach import Reach
from emu.check.report.model import EXIT_CODES
from emu.check.run import _Checker, check
from emu.contracts import form_of
from emu.contracts.form import expect
from emu.engines.run import run_amax
from emu.spec import derive, get, load_spec
from emu.spec.registry import restored, shipped_root

REF = "nvfp4_te_ref"
FEW_TENSORS = 24


def reached(recipe, source="fp32", tensors=FEW_TENSORS):
    """What the decisions of a recipe reach, and their questions."""
    total, asks = Reach(), list(decisions(form_of(f"quantize/{recipe}", source), True, 1, tensors=tensors))
    for item in asks:
        total.add(item.reach)
    return total, asks


@pytest.mark.parametrize("rate", [8, 32])
@pytest.mark.parametrize("key", [1, 5])
def test_a_reciprocal_an_ulp_low_on_some_inputs_fails(rate, key):
    """Such a kernel differs on plain tensors; one tensor whose maximum is 3e38 shows nothing of it, whatever is drawn."""
    item = Wrong("reciprocal", "ulp", f"quantize/{REF}", off_by_an_ulp(REF, "fp32", "reciprocal", rate, 3, -1))
    assert verdict(item, key=key, suites=("decisions",)) == "differs"


@pytest.mark.parametrize("source", ["fp32", "bf16", "fp16"])
@pytest.mark.parametrize("recipe", [REF, "mxfp4_te_pow2", "e2m1_fp32scale"])
def test_every_change_of_an_element_code_is_asked_from_both_sides(recipe, source):
    total, _ = reached(recipe, source)
    assert total.lacks() == "" and len(total.changes) == 7 and min(total.changes.values()) > 20 and total.ties > 20
    assert total.codes == set(range(16)) and total.scale_changes > 20


SHIPPED = ("hif4", "if4_mse", "nvfp4_te_4over6_mse_448", "ufp4", "ufp4_sr", "f46_nvint4", "nvfp4_te_2d_ref", "nvfp4_torchao_1level")


@pytest.mark.parametrize("recipe", SHIPPED)
def test_any_recipe_is_searched_by_running_it(recipe):
    total, _ = reached(recipe, tensors=64)
    assert total.lacks() == "" and total.scale_changes > 100


def test_scales_and_tensor_maxima():
    total, asks = reached(REF, tensors=WHOLE)
    assert total.tensors == WHOLE == len(asks) and total.scales >= set(range(derive.codes(get("format", "ue4m3")).max_code + 1))
    source = get("format", "fp32")
    for item in asks[::50]:  # the tensor holds the maximum that is handed in
        assert run_amax(item.operands["x"], source) == int(item.operands["tensor_amax"])
    maxima = np.array([int(item.operands["tensor_amax"]) for item in asks])
    fractions = maxima & 0x7FFFFF
    assert {0, 1, 0x7FFFFF} <= set(fractions.tolist()) and np.unique(fractions >> 16).size == 128 and np.unique(maxima).size > 800
    values = maxima.astype(np.uint32).view(np.float32)
    assert values.min() < 1e-6 and values.max() < 1e5


def test_pairs_lie_on_both_sides_of_a_change():
    """Asked again with each element one code up or down, where the block maximum is not touched."""
    form = form_of(f"quantize/{REF}")
    total = moved = 0
    for item in list(decisions(form, True, 1, tensors=8)):
        x = item.operands["x"].reshape(-1, 16)
        top = (x & 0x7FFFFFFF).max(axis=1, keepdims=True)
        inner = (x & 0x7FFFFFFF < top - 1) & (x & 0x7FFFFFFF > 0)
        codes = expect(form, {**item.operands, "x": x}, "auto").arrays["codes"]
        beside = np.zeros(x.shape, bool)
        for away in (-1, 1):
            near = np.where(inner, x + np.uint32(away % (1 << 32)), x).astype(np.uint32)
            beside |= expect(form, {**item.operands, "x": near}, "auto").arrays["codes"] != codes
        total, moved = total + int(inner.sum()), moved + int(beside.sum())
    assert moved > total / 3


def test_bisect_ends_at_adjacent_integers():
    ends = np.array([3, 100, 7, 1000])
    low, high = bisect(lambda x: x >= ends, np.zeros(4, np.int64), np.array([10, 1000, 7, 999]))
    assert low.tolist() == [2, 99, 6, 0] and high.tolist() == [3, 100, 7, 1]  # the last never turns


def test_a_maximum_in_the_tensor_for_a_kernel_that_takes_its_own_and_multiples():
    for item in decisions(form_of(f"quantize/{REF}"), False, 1, (32, 64), 5):
        rows, columns = item.operands["x"].shape
        assert "tensor_amax" not in item.operands and rows % 32 == columns % 64 == 0


def test_the_report_counts_and_says_so():
    item = Wrong("right", "right", f"quantize/{REF}", right(REF, "fp32"))
    report = check(item.target(), item.contract, suites=("directed",))
    assert report.verdict == "pass" and FEW in report.suites
    data = json.loads(report.json())["reach"]
    assert data["tensor_maxima"] == 64 and data["element_codes"] == 16 and data["element_changes"] == 7 and data["exact_ties"] > 100
    assert data["scale_codes"] > 80 and data["scale_changes"] > 100 and data["least_of_each_change"] > 100
    line = next(line for line in report.text().splitlines() if line.startswith("  reached: "))
    assert "64 tensor maxima" in line and "7 of 7 changes between them" in line


def test_too_little_is_no_pass():
    """A checker whose questions reach no decision: equal everywhere, and yet no pass."""
    form = form_of(f"quantize/{REF}")
    checker = _Checker(Wrong("right", "right", f"quantize/{REF}", right(REF, "fp32")).target(), form, None, (1, 1))
    checker.questions = lambda suite, *_: iter([question(form, (4, 64), True, 1, 0)] if suite == "shapes" else [])
    report = checker.run(("shapes",), None, 1)
    assert report.verdict == "too_little" and report.exit_code == EXIT_CODES["too_little"] == 3 and report.differing == 0 < report.compared
    assert "TOO LITTLE: no input beside a change" in report.text() and "too_little" in report.junit()


@pytest.mark.parametrize(("change", "says"), [
    ({"blocks": 0}, "can be found"),
    ({"changes": {1: 5}}, "1 changes between element codes only, of 7"),
    ({"scale_changes": 0}, "of a scale: 0"),
])
def test_what_is_lacking_is_said(change, says):
    total, _ = reached(REF)
    for name, value in change.items():
        setattr(total, name, value)
    assert says in total.lacks()


def test_a_check_without_the_suite_asks_some_decisions():
    form = form_of(f"quantize/{REF}")
    assert completed(form, ("exhaustive",)) == ("exhaustive", FEW) and completed(form, ("decisions",)) == ("decisions",)
    assert completed(form_of("convert/e2m1/rne/nvidia"), ("exhaustive",)) == ("exhaustive",)
    assert len(list(questions(form, FEW, True, {"count": None, "key": 1, "multiple": (1, 1)}))) == 64


def test_a_recipe_of_a_user(tmp_path):
    """Another divisor and other ties, under a name of their own: the decisions are those of the new recipe."""
    text = (shipped_root() / "recipe" / "e2m1_fp32scale.yaml").read_text(encoding="utf-8")
    head, _, rest = text.partition("expect:")
    changed = head.replace('id: "e2m1_fp32scale"', 'id: "of_a_user"').replace('"6"', '"5"')
    assert changed.count('"5"') == 1
    (tmp_path / "of_a_user.yaml").write_text(changed + rest[rest.index("\nopen:") + 1 :], encoding="utf-8")
    with restored():
        load_spec(tmp_path)
        total, _ = reached("of_a_user")
        assert total.lacks() == "" and len(total.changes) == 6  # 5 is a tie: only the largest element of a block becomes 6, if it does
        item = Wrong("unit", "ulp", "quantize/of_a_user", off_by_an_ulp("of_a_user", "fp32", "unit", 32, 1, 1))
        assert check(item.target(), item.contract, suites=("decisions",)).verdict == "differs"
