"""What `python -m tools.compare_builds` calls a difference: a bit, a class of a refusal, a JSON value; not a word that was renamed."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def report(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(sys, "path", [*sys.path, str(checkout)])
    from tools import compare_report

    return compare_report


def test_a_bit_differs(report: Any) -> None:
    old = {"convert/numpy/e2m1/a": "00", "convert/numpy/e2m1/b": "01", "convert/exact/e2m1/a": "00"}
    results, messages = report.compare_answers("convert", old, old | {"convert/numpy/e2m1/b": "02"}, ("/o", "/n"))
    assert results.found == {"convert/numpy/e2m1/b": "bits differ"} and messages.found == {} and results.compared == 3
    assert report.compare_answers("convert", old, old, ("/o", "/n"))[0].found == {}


def test_a_missing_key_and_another_class_differ_and_a_reworded_text_is_a_message(report: Any) -> None:
    old = {"a": "refused: OpenError: x", "b": "refused: SpecError: engine fast cannot", "c": "00", "d": "refused: SpecError: one"}
    new = {"a": "refused: SpecError: x", "b": "refused: SpecError: engine numpy cannot", "d": "refused: SpecError: two"}
    results, messages = report.compare_answers("dot", old, new, ("/o", "/n"))
    assert results.found.keys() == {"a", "c"} and messages.found.keys() == {"d"}


def test_the_shortest_key_under_which_all_differ(report: Any) -> None:
    keys = ["convert/numpy/e2m1/rne", "convert/numpy/e2m1/rz", "convert/numpy/e1m2/rne", "convert/exact/e2m1/rne"]
    assert report.collapse(dict.fromkeys(keys[:2], "bits differ"), keys) == [("convert/numpy/e2m1", keys[:2])]


def test_documents_differ_by_path(report: Any) -> None:
    same = '{"engine": "fast", "digest": "aa", "rows": [1, 2]}', '{"engine": "numpy", "digest": "bb", "rows": [1, 2]}'
    assert report.first_difference(*same, ("/o", "/n")) is None
    found = report.first_difference(same[0], same[1].replace("2]", "3]"), ("/o", "/n"))
    assert "$.rows[1]: old: 2; new: 3" in found


def test_the_element_that_differs_is_shown_with_its_operand(report: Any) -> None:
    old = {"bits": {"x": {"shape": [2], "bits": ["10", "20"]}, "codes": {"shape": [2], "bits": ["1", "2"]}}}
    new = {"bits": {"x": {"shape": [2], "bits": ["10", "20"]}, "codes": {"shape": [2], "bits": ["1", "3"]}}}
    assert report.bits_difference(old, new) == "codes[1]: old 2, new 3 where x=20 (1 of 2 differ)"
