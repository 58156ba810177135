"""Judging: stage by stage, what nobody knows left out, a NaN against a NaN."""

from time import perf_counter

import numpy as np
import pytest

import emu
from emu.check.judge import _touched, differing, judge
from emu.check.report.model import Report
from emu.contracts import form_of
from emu.contracts.form import Expected, expect
from emu.spec import get
from emu.testing import check

HIF4 = "quantize/hif4"


def answered(contract, shape):
    """A form, what it says of a tensor, and the same as an answer."""
    form = form_of(contract)
    x = np.random.default_rng(7).normal(0, 1, shape).astype(np.float32).view(np.uint32)
    operands = {"x": x} | ({"tensor_amax": np.array(np.float32(4).view(np.uint32))} if "tensor_amax" in form.extras else {})
    expected = expect(form, operands, "auto")
    return form, expected, {name: array.copy() for name, array in expected.arrays.items()}


def test_codes_are_judged_where_no_level_differs():
    """Two levels are wrong, each in a block of its own, and codes in those blocks and in a third: of the codes the third alone counts."""
    form, expected, got = answered(HIF4, (3, 64))
    got["scale"][0, 0] ^= 1
    got["level8"][1, 2] ^= 1
    for place in ((0, 5), (1, 17), (2, 40)):
        got["codes"][place] ^= 1
    found = {item.name: item for item in judge(form, expected, got).differences}
    assert list(found) == ["scale", "level8", "codes"] and {item.count for item in found.values()} == {1}
    assert np.argwhere(found["codes"].wrong).tolist() == [[2, 40]] and np.argwhere(found["level8"].wrong).tolist() == [[1, 2]]


def test_what_nobody_knows_is_not_compared():
    form, expected, got = answered("quantize/nvfp4_te_ref", (2, 32))
    known = np.ones((2, 32), bool)
    known[1, 3:7] = False
    got["codes"][1, 3:7] ^= 1
    free = judge(form, Expected(expected.arrays, {"codes": known}), got)
    assert free.differences == () and free.compared == sum(array.size for array in got.values()) - 4
    (found,) = judge(form, expected, got).differences
    assert found.name == "codes" and found.count == 4


@pytest.mark.parametrize(("fmt", "want", "have", "differs"), [
    ("fp32", 0x7FC00000, 0xFF800001, False), ("fp32", 0x7FC00000, 0x3F800000, True), ("fp32", 0x3F800000, 0x7FC00000, True),
    ("fp32", 0x7FC00000, 0x7F800000, True), ("fp32", 0x7F800000, 0xFF800000, True), ("ue4m3", 0x7F, 0xFF, False),
    ("ue4m3", 0x7F, 0x38, True), ("ue4m3", 0x38, 0x7F, True), ("ue4m3", 0x38, 0xB8, True),
])  # fmt: skip
def test_a_nan_equals_a_nan_and_nothing_else(fmt, want, have, differs):
    form = get("format", fmt)
    kind = np.uint32 if fmt == "fp32" else np.uint8
    assert differing(np.array([want], kind), np.array([have], kind), form, True).tolist() == [differs]


def test_one_spoiled_element_marks_its_tile():
    """Levels of fewer parts than elements: each stands for a tile of them, the last one for what is left; a single place for all."""
    spoiled = np.zeros((5, 6), bool)
    spoiled[0, 1] = spoiled[4, 5] = True
    assert _touched(spoiled, (2, 3)).tolist() == [[True, False, False], [False, False, True]]
    assert _touched(spoiled, (5, 1)).tolist() == [[True], [False], [False], [False], [True]]
    assert _touched(spoiled, ()).tolist() is True and _touched(spoiled, (5, 6)) is spoiled


def test_a_report_says_how_long_the_check_took():
    begin = perf_counter()
    report = check(lambda x: emu.convert(x, "e2m1"), "convert/e2m1/rne/ocp_saturate", suites=("directed",), raises=False)
    assert 0 < report.target_seconds < report.seconds <= perf_counter() - begin


def test_a_report_that_holds_nan_is_not_written_as_json(monkeypatch):
    report = Report("a target", "a contract")
    assert '"verdict": "pass"' in report.json()
    monkeypatch.setattr(report, "target_seconds", float("nan"))
    with pytest.raises(ValueError, match="not JSON compliant"):
        report.json()
