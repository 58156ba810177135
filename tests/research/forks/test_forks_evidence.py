"""Comparisons of forks: clusters first, then the mean; nulls against other draws; gradients and divergences worked by hand."""

import importlib
import math
import os

import pytest

from research.forks.evidence import at_length, compared, floor, judged, null, null_at_length

torch = importlib.import_module("torch") if os.environ.get("EMU_NEED_TORCH") else pytest.importorskip("torch", reason="no torch here")


def line(training, kl, seed=0, fork=0, draw=0, model="m", part="primary", gap=1.0):
    figures = {"kl": [kl], "gap": [gap], "loss_bf16": [2.0], "gradient": {"exact": [kl, 1.0, 1.0, 0.0]}}
    return {"part": part, "model": model, "seed": seed, "fork": fork, "training": training, "draw": draw, **figures}


def test_forks_of_a_run_are_averaged_before_anything_is_tested():
    lines = [line("a", math.e, 0, 0), line("b", 1.0, 0, 0), line("a", math.e**3, 0, 1), line("b", 1.0, 0, 1)]
    lines += [line("a", math.e**5, 1, 0), line("b", 1.0, 1, 0), line("a", 9.0, 2, 0)]
    found = compared(lines, "kl", "a", "b")
    assert {key: round(value, 12) for key, value in found.items()} == {("m", 0): 2.0, ("m", 1): 5.0}
    test = judged(lines, {"figure": "kl", "better": "a", "worse": "b"})
    assert len(test.values) == 2
    assert round(test.mean, 12) == 3.5
    assert judged(lines, {"figure": "kl", "better": "a", "worse": "c"}) is None


def test_gaps_are_differences_and_gradients_ratios():
    lines = [line("a", 2.0, gap=0.25), line("b", 1.0, gap=1.0)]
    assert compared(lines, "gap", "a", "b") == {("m", 0): -0.75}
    assert compared(lines, "gradient", "a", "b") == {("m", 0): math.log(2.0)}


def test_null_forks_are_the_same_training_with_another_draw():
    lines = [line("a", 1.0), line("a", 2.0, draw=1), line("bf16", 1e-9, draw=1)]
    assert null(lines, "a", "kl") == {("m", 0): math.log(2.0)}
    assert floor(lines) == [1e-9]


def test_lengths_are_kept_apart_from_forks_that_decay():
    lines = [line("a", 1.0), {**line("a", 5.0, part="length"), "kl": [5.0, 6.0]}]
    assert at_length(lines, 1, "a", "kl") == [6.0]
    assert compared([*lines, line("b", 1.0)], "kl", "a", "b") == {("m", 0): 0.0}


def test_null_of_a_length_by_hand():
    def long(training, seed, kl, draw=0):
        return {**line(training, 1.0, draw=draw), "seed": seed, "part": "length", "kl": [9.0, kl]}

    lines = [long("a", 0, 1.0), long("a", 0, math.e, 1), long("b", 0, math.e), long("b", 0, math.e, 1)]
    found = null_at_length(lines, 1, ("a", "b"))
    assert found is not None and abs(found - math.sqrt(1 / 2)) < 1e-15
    assert null_at_length(lines[:1], 1, ("a", "b")) is None


def test_figures_of_a_product_by_hand():
    from research.forks.gradients import compared as products_compared

    nmse, cosine, alpha, coherent = products_compared(torch.tensor([3.0, 4.0]), torch.tensor([1.5, 2.0]))
    assert (nmse, cosine, alpha, coherent) == (0.25, 1.0, 0.5, 1.0)  # half of it: shrinkage and nothing else
    nmse, cosine, alpha, coherent = products_compared(torch.tensor([1.0, 0.0]), torch.tensor([1.0, 1.0]))
    assert (nmse, alpha, coherent) == (1.0, 1.0, 0.0)
    assert abs(cosine - math.sqrt(0.5)) < 1e-15
    assert products_compared(torch.zeros(2), torch.zeros(2)) == [0.0, 1.0, 1.0, 0.0]


def test_divergence_by_hand():
    from research.forks.branch import divergence

    half, quarter = torch.tensor([[0.5, 0.5]]).double().log(), torch.tensor([[0.25, 0.75]]).double().log()
    assert divergence(half, half) == 0.0
    assert abs(divergence(half, quarter) - 0.5 * math.log(4 / 3)) < 1e-15
    assert abs(divergence(quarter, half) - (0.25 * math.log(0.5) + 0.75 * math.log(1.5))) < 1e-15
