"""Whole models: weights with error feedback, on moments whose answer is known, and on correlated inputs."""

from __future__ import annotations

import numpy as np
import pytest

from emu.analysis.cells import load_recipes
from research.models import plan, quantizers
from research.models.feedback import with_feedback

pytest.importorskip("torch", reason="torch is not installed: pip install torch")

MASK = quantizers.sign_mask(0)


def weights(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((24, 64)).astype(np.float32)


@pytest.mark.parametrize("recipe", [plan.E2M1, plan.E1M2, plan.CODEBOOK])
@pytest.mark.parametrize("mask", [None, MASK])
def test_inputs_without_correlation_leave_plain_rounding(recipe: str, mask: int | None) -> None:
    load_recipes()
    w = weights(1)
    assert np.array_equal(with_feedback(w, 3.0 * np.eye(64), recipe, mask), quantizers.quantized(w, recipe, mask))


@pytest.mark.parametrize("mask", [None, MASK])
def test_feedback_serves_the_product_and_not_the_matrix(mask: int | None) -> None:
    w = weights(2)
    rng = np.random.default_rng(3)
    x = rng.standard_normal((256, 8)) @ rng.standard_normal((8, 64)) + 0.3 * rng.standard_normal((256, 64))
    plain, fed = (found - w for found in (quantizers.quantized(w, plan.E1M2, mask), with_feedback(w, x.T @ x, plan.E1M2, mask)))
    assert ((x @ fed.T) ** 2).sum() < 0.5 * ((x @ plain.T) ** 2).sum()
    assert (fed**2).sum() > (plain**2).sum()


def test_one_correlated_pair_by_hand() -> None:
    second = np.eye(16)
    second[0, 1] = second[1, 0] = 0.5
    w = np.zeros((1, 16), np.float32)
    w[0, :3] = 0.45, 0.3, 7.0  # step 1 in E1M2: both small weights round to 0
    assert quantizers.quantized(w, plan.E1M2)[0, :3].tolist() == [0, 0, 7]
    assert with_feedback(w, second, plan.E1M2)[0, :3].tolist() == [0, 1, 7]  # 0.45 * 0.5 / 1.01 more: 0.523
