"""Whole models: ratios, intervals, null pairs, choices and orders, on hand-worked cases."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from emu.base.errors import FileError
from research.models import plan, results
from research.pages import uniform_grid_models as page


def test_ratios_intervals_and_null_pairs_by_hand() -> None:
    low, high = np.array([[1.0, 2.0, 3.0, 4.0]]), np.array([[2.0, 4.0, 6.0, 8.0]])
    found = results.ratio(low, high)
    assert (found.value, round(found.low, 12), round(found.high, 12), found.null, found.signs) == (0.5, 0.5, 0.5, None, (0, 0))
    two = np.array([[1.0, 1.0], [math.e, math.e]])  # logarithms 0 and 1: one pair, one apart
    assert round(results.null_pairs(two) or 0, 12) == 1
    same = results.ratio(low, low[:, ::-1])
    assert same.value == 1
    assert not same.settled
    with pytest.raises(FileError, match="missing"):
        results.ratio(low, np.zeros((0, 4)))


def test_the_choice_is_made_on_other_documents_than_it_is_reported_on() -> None:
    lines = {}
    for signs, loss in ((None, [9.0, 1.0, 9.0, 1.0]), (0, [1.0, 2.0, 1.0, 2.0])):  # raw wins where the choice is made only
        lines[plan.Cell("minilm", "w", plan.E2M1, signs).name] = {"loss": loss}
    rotated, kept = results.best({"lines": lines}, "minilm", "w", plan.E2M1)
    assert not rotated
    assert kept.tolist() == [[9.0, 9.0]]
    assert page.verdict(results.ratio(np.array([[1.0, 1.1]]), np.array([[2.0, 2.0]]))) == "open"  # rotated, one sign set: no null
    assert page.verdict(results.ratio(np.array([[1.0, 1.1]]), np.array([[2.0, 2.0]])), rotated=False) == "E1M2"


def test_products_are_reported_on_a_layer_that_did_not_choose() -> None:
    rows = [
        {"data": f"layer{n}_up", "recipe": recipe, "transform": turned, "sqnr_db": value + (n == 0) * (turned is None) * 9}
        for n in range(3)
        for recipe, turned, value in (("a", None, 1.0), ("a", "r", 2.0), ("b", None, 1.0), ("b", "r", 4.0))
    ]
    [[part, best, *_]] = page.product_rows(rows, ("a", "b"))
    assert (part, best.split()[0]) == ("up", "+0.67")  # layer 0 chooses rotated for both: 2; layers 1 and 2 choose as given: 0


def test_the_interval_counts_sign_sets_and_documents() -> None:
    same = np.ones((1, 4))
    by_documents, by_sets = np.array([[1.0, 2.0, 3.0, 4.0]] * 2), np.array([[1.0] * 4, [4.0] * 4])
    assert results.ratio(by_documents, same).low < 2.4 < 2.6 < results.ratio(by_documents, same).high
    found = results.ratio(by_sets, same)  # documents are alike
    assert (round(found.low, 9), round(found.high, 9)) == (1, 4)
    assert round(results.ratio(by_sets, 2 * by_sets).high, 9) == 0.5  # both sides draw the same signs


def test_an_order_is_asserted_only_where_signs_cannot_make_it() -> None:
    def record(*means: float) -> dict[str, Any]:
        lines = {plan.Cell("minilm", "a", plan.E2M1).name: {"loss": [4.0, 4.0]}}
        for signs, value in enumerate(means):
            lines[plan.Cell("minilm", "a", plan.E1M2, signs).name] = {"loss": [value, value]}
        return {"lines": lines}

    assert results.orders(record(1.0)) == []  # one sign set: what signs do is not known
    assert results.orders(record(1.0, 3.0)) == []
    [order] = results.orders(record(1.0, 1.1))
    assert (order.low.recipe, order.high.recipe) == (plan.E1M2, plan.E2M1)
    assert order.reversal(record(1.0)) == ""
    assert "loses 5, not less" in order.reversal(record(5.0))


def test_the_loss_of_a_grid_is_reported_on_documents_that_did_not_choose() -> None:
    lines = {
        plan.Cell("minilm", "wa", recipe, signs).name: {"loss": loss}
        for recipe, signs, loss in (
            (plan.E2M1, None, [9.0, 1.0, 9.0, 1.0]),
            (plan.E2M1, 0, [1.0, 2.0, 1.0, 2.0]),
            (plan.E1M2, 0, [3.0, 3.0, 5.0, 3.0]),
        )
    }
    found = results.grid_losses({"lines": lines}, "minilm")
    assert [(item.grid, item.rotated, item.loss, item.best) for item in found] == [
        ("e2m1", False, 9.0, True),
        ("e2m1", True, 1.0, False),
        ("e1m2", True, 4.0, True),
    ]
    assert (found[2].low, found[2].high) == (3, 5)
