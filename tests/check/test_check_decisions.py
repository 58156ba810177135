"""Decisions: a wrong last bit of a reciprocal is seen under ordinary maxima, what was reached is counted, too little is no pass."""

import json
from collections import Counter

import numpy as np
import pytest
from support.wrong_kernels import Wrong, off_by_an_ulp, right, verdict

from emu.check.inputs.suites import FEW, SUITES, completed, questions
from emu.check.report.model import EXIT_CODES
from emu.check.run import _Checker, check
from emu.contracts import form_of
from emu.contracts.form import expect
from emu.contracts.quantize.search import BASES, QUICK, SMALLER, WALKS, WHOLE, Draws, bisect
from emu.contracts.quantize.shapes import question
from emu.contracts.reach import Reach
from emu.engines.run import run_amax
from emu.spec import derive, get, load_spec
from emu.spec.registry import restored, shipped_root

REF = "nvfp4_te_ref"


def reached(recipe, source="fp32", tensors=QUICK):
    """What the decisions of a recipe reach, and their questions."""
    total, asks = Reach(), asked(form_of(f"quantize/{recipe}", source), FEW if tensors == QUICK else "decisions")
    for item in asks:
        total.add(item.reach)
    return total, asks


def asked(form, suite, takes_amax=True, multiple=(1, 1), key=1):
    return list(questions(form, suite, takes_amax, {"count": None, "key": key, "multiple": multiple, "calls": "arrays"}))


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
    total, _ = reached(recipe)
    assert total.lacks() == "" and total.scale_changes > 100


def test_scales_and_tensor_maxima():
    total, asks = reached(REF, tensors=WHOLE)
    assert total.tensors == WHOLE == len(asks) and total.scales >= set(range(derive.codes(get("format", "ue4m3")).max_code + 1))
    source = get("format", "fp32")
    for number, item in enumerate(asks):  # the tensor holds the maximum that is handed in, but for a few that have a smaller one
        handed, held = int(item.operands["tensor_amax"]), run_amax(item.operands["x"], source)
        assert held == handed or (number % SMALLER == SMALLER - 1 and held > handed)
    maxima = np.array([int(item.operands["tensor_amax"]) for item in asks])
    fractions = maxima & 0x7FFFFF
    assert {0, 1, 0x7FFFFF} <= set(fractions.tolist()) and np.unique(fractions >> 16).size == 128 and np.unique(maxima).size > 800
    values = maxima.astype(np.uint32).view(np.float32)
    assert values.min() < 1e-36 and values.max() > 1e37 and 0.9 < ((values > 1e-8) & (values < 1e5)).mean() < 0.97
    assert 0.35 < ((values > 1e-8) & (values < 2.0**-6)).mean() < 0.6 and ((values > 32) & (values < 1e5)).mean() > 0.1


def test_pairs_lie_on_both_sides_of_a_change():
    """Asked again with each element one code up or down, where the block maximum is not touched."""
    form = form_of(f"quantize/{REF}")
    total = moved = 0
    for item in asked(form, FEW)[:8]:
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
    for item in asked(form_of(f"quantize/{REF}"), FEW, False, (32, 64)):
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
    checker.questions = lambda suite, *_: iter([question(form, (4, 64), 1, 0)] if suite == "shapes" else [])
    report = checker.run(("shapes",), None, 1)
    assert report.verdict == "too_little" and report.exit_code == EXIT_CODES["too_little"] == 3 and report.differing == 0 < report.compared
    assert "TOO LITTLE: no input beside a change" in report.text() and "too_little" in report.junit()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"blocks": 0}, "can be found"),
        ({"changes": {1: 5}}, "1 changes between element codes only, of 7"),
        ({"scale_changes": 0}, "of a scale: 0"),
    ],
)
def test_what_is_lacking_is_said(change, says):
    total, _ = reached(REF)
    for name, value in change.items():
        setattr(total, name, value)
    assert says in total.lacks()


def test_a_check_without_the_suite_asks_some_decisions():
    form = form_of(f"quantize/{REF}")
    assert completed(form, ("exhaustive",)) == ("exhaustive", FEW) and completed(form, ("decisions",)) == ("decisions",)
    assert completed(form_of("convert/e2m1/rne/nvidia"), ("exhaustive",)) == ("exhaustive",)
    assert len(asked(form, FEW)) == QUICK == 64 and FEW not in SUITES


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
        assert total.lacks() == "" and len(total.changes) >= 6 and total.changes.get(7, 0) < 10  # 5 is a tie: only the largest can become 6
        item = Wrong("unit", "ulp", "quantize/of_a_user", off_by_an_ulp("of_a_user", "fp32", "unit", 32, 1, 1))
        assert check(item.target(), item.contract, suites=("decisions",)).verdict == "differs"


def tiles_of(item):
    """The tiles of a question of REF, in the order in which they were searched: three of each base, then both of each walk."""
    return item.operands["x"].reshape(-1, 16)[: item.reach.blocks].astype(np.int64)


def answers_of(form, item):
    """The codes and scales of these tiles."""
    found = expect(form, item.operands, "auto").arrays
    count = item.reach.blocks
    return found["codes"].reshape(-1, 16)[:count], found["scale"].reshape(-1)[:count]


def test_pairs_of_tiles_lie_on_both_sides_of_a_scale():
    """Two and two block maxima are adjacent numbers, two and two tiles differ in one element by one code, and the scales differ."""
    form = form_of(f"quantize/{REF}")
    bases = walks = 0
    for item in reached(REF)[1]:
        x, (_, scale) = tiles_of(item), answers_of(form, item)
        tops = (x & 0x7FFFFFFF).max(axis=1)
        bases += sum(int(tops[i + 1] - tops[i] == 1 and scale[i] != scale[i + 1]) for i in range(2, BASES, 2))
        low, high = x[3 * BASES : 3 * BASES + WALKS], x[3 * BASES + WALKS :]
        one = ((low != high).sum(axis=1) == 1) & (np.abs(high - low).sum(axis=1) == 1)
        walks += int((one & (scale[3 * BASES : 3 * BASES + WALKS] != scale[3 * BASES + WALKS :])).sum())
    assert bases > 2 * QUICK and walks > 2 * QUICK


def test_changes_are_counted_under_one_scale():
    form, ranks = form_of(f"quantize/{REF}"), np.arange(16) & 7
    for item in reached(REF)[1]:
        codes, scale = answers_of(form, item)
        counts = Counter()
        for start, count in ((0, BASES), (3 * BASES, WALKS)):
            one, two = slice(start, start + count), slice(start + count, start + 2 * count)
            first, second = ranks[codes[one]], ranks[codes[two]]
            beside = (np.abs(first - second) == 1) & (scale[one] == scale[two])[:, None]
            counts.update(np.maximum(first, second)[beside].tolist())
        assert item.reach.changes == dict(counts)


def test_ties_are_counted_one_by_one():
    """Of a recipe that divides by its scale: elements that are half way between two magnitudes when they are divided."""
    form, points = form_of("quantize/e2m1_fp32scale"), np.array([0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5], np.float32)
    for item in reached("e2m1_fp32scale")[1]:
        x, scale = item.operands["x"], expect(form, item.operands, "auto").arrays["scale"]
        with np.errstate(all="ignore"):
            scaled = x.view(np.float32) / scale.view(np.float32).repeat(16, axis=1)
        assert 0 < item.reach.ties == np.isin(np.abs(scaled), points).sum() < x.size / 2


def test_a_key_decides_the_tiles():
    one, again, other = (asked(form_of(f"quantize/{REF}"), FEW, key=key) for key in (3, 3, 4))
    assert all(np.array_equal(a.operands["x"], b.operands["x"]) for a, b in zip(one, again, strict=True))
    assert not any(np.array_equal(a.operands["x"], b.operands["x"]) for a, b in zip(one, other, strict=True))


def test_words_are_drawn_once():
    whole, parts = Draws(1, 2), Draws(1, 2)
    assert np.array_equal(whole.below(1 << 20, 64), np.concatenate([parts.below(1 << 20, 24), parts.below(1 << 20, 5, 8).reshape(-1)]))


def test_tiles_of_several_rows_are_laid_side_by_side():
    """The scales that are counted are those that a kernel gets from the matrix."""
    form = form_of("quantize/nvfp4_te_2d_ref")
    asks = reached("nvfp4_te_2d_ref")[1]
    assert any(item.operands["x"].shape[1] > 32 for item in asks)
    for item in asks:
        scales = set(np.unique(expect(form, item.operands, "auto").arrays["scale"]).tolist())
        assert item.reach.scales <= scales <= item.reach.scales | {0}  # beside the last tile lie zeros
