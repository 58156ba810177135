"""The order of training recipes on a student beside its teacher, with its margins.

Of the shipped configuration: one seed in the exhaustive run, every one with EMU_ALL=1.

Margins were measured here and lie in docs/training.md; the bounds below are about half of the smallest one of three seeds. Elsewhere the
same experiment gave the same order on the same seeds (`reference` of the configuration).
"""

import importlib
import os
from types import SimpleNamespace

import pytest

from research.train.config import load
from research.train.plan import runs_of

torch = importlib.import_module("torch") if os.environ.get("EMU_NEED_TORCH") else pytest.importorskip("torch", reason="no torch here")
TRAININGS = ("bf16", "ufp4", "e2m1_baseline", "e2m1_rht3", "e1m2_no_rht")
SILENT = SimpleNamespace(started=lambda run: None, step=lambda step, loss: None, finished=lambda run, result, trained: None)


def figures(config, model, seed, out):
    from research.train.run import run_all

    runs = [one for one in runs_of(config, [model], [seed]) if one.training in TRAININGS]
    found = {run.training: result["metric"] for run, result in run_all(runs, out, (), 1, SILENT, print)}
    assert set(found) == set(TRAININGS)
    return SimpleNamespace(**found)


def test_order_of_a_short_run(tmp_path):
    """A third of the steps at four times the rate; measured: 14, 12 and 31 percent or more on two seeds."""
    whole = load("student_teacher")
    quick = whole.optimizer.model_copy(update={"lr": 0.004})
    found = figures(whole.model_copy(update={"steps": 80, "optimizer": quick, "held_out": 1024}), "outliers", 0, tmp_path)
    assert 2 * found.bf16 < found.ufp4
    assert 1.05 * found.ufp4 < found.e2m1_baseline
    assert 1.05 * found.e2m1_baseline < found.e2m1_rht3, "RHT on all products hurts E2M1"
    assert 1.15 * found.ufp4 < found.e1m2_no_rht, "RHT on all products helps E1M2"


@pytest.mark.cases(0, 1)  # most of a minute each
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_order_with_outliers(tmp_path, seed):
    """Measured: 20, 9 and 34 percent or more."""
    found = figures(load("student_teacher"), "outliers", seed, tmp_path)
    assert 4 * found.bf16 < found.ufp4
    assert 1.1 * found.ufp4 < found.e2m1_baseline
    assert 1.04 * found.e2m1_baseline < found.e2m1_rht3, "RHT on all products hurts E2M1"
    assert 1.15 * found.ufp4 < found.e1m2_no_rht, "RHT on all products helps E1M2"


@pytest.mark.cases(0, 1)  # most of a minute each
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_order_without_outliers(tmp_path, seed):
    """Measured: 10, 7 and -5 percent: without outliers RHT costs E1M2 a little."""
    found = figures(load("student_teacher"), "gaussian", seed, tmp_path)
    assert 3 * found.bf16 < found.ufp4
    assert 1.05 * found.ufp4 < found.e2m1_baseline
    assert 1.03 * found.e2m1_baseline < found.e2m1_rht3
    assert 1.02 * found.e1m2_no_rht < found.ufp4
