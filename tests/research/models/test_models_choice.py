"""Whole models: a choice part by part, two recipes in one product, and pairs that people judged."""

from __future__ import annotations

import numpy as np
import pytest

from emu.base.errors import FileError
from research.models import plan, products, quantizers, similarity, study

CELL = plan.Cell("minilm", "wa", plan.CHOSEN, 1)


def test_each_part_takes_the_grid_that_loses_less_on_the_documents_that_choose() -> None:
    lines = {}
    for part in plan.MODELS["minilm"]:
        for recipe, signs, loss in ((plan.E2M1, None, [9.0, 1.0]), (plan.E1M2, 0, [1.0, 2.0 if part == "value" else 0.5])):
            lines[plan.Cell("minilm", "wa", recipe, signs, part).name] = {"loss": loss}
    assert study.kept_as_given(lines, "minilm") == ["value"]
    with pytest.raises(FileError, match="needs minilm/wa/e2m1_fp32scale/raw/query"):
        study.kept_as_given({}, "minilm")


def test_operands_take_the_recipes_that_the_cell_names() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch")
    rng = np.random.default_rng(4)
    w, x = (rng.standard_normal((8, 32)).astype(np.float32) for _ in range(2))
    mask = quantizers.sign_mask(1)

    def product(cell: plan.Cell, part: str, given: tuple[str, ...] = ()) -> np.ndarray:
        return products.Quantizer(cell, {(0, part): w}, given).linear(0, part, torch.from_numpy(x)).numpy()

    def wanted(weights: str, activations: str, signs: int | None) -> np.ndarray:
        found = quantizers.quantized(x, activations, signs), quantizers.quantized(w, weights, signs)
        return (torch.from_numpy(found[0]) @ torch.from_numpy(found[1]).T).numpy()

    assert np.array_equal(product(CELL, "value", ("value",)), wanted(plan.E2M1, plan.E2M1, None))
    assert np.array_equal(product(CELL, "up", ("value",)), wanted(plan.E1M2, plan.E1M2, mask))
    mixed = plan.Cell("minilm", "wa", plan.E1M2, 1, weights=plan.E2M1)
    assert np.array_equal(product(mixed, "up"), wanted(plan.E2M1, plan.E1M2, mask))


def test_a_shared_input_is_not_taken_for_another_way() -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed: pip install torch")
    x = np.random.default_rng(5).standard_normal((8, 32)).astype(np.float32)
    weights = {(0, part): np.eye(32, dtype=np.float32) for part in ("query", "value")}
    quantizer = products.Quantizer(plan.Cell("minilm", "a", plan.CHOSEN, 1), weights, ("value",))
    shared = torch.from_numpy(x)
    query, value = (quantizer.linear(0, part, shared).numpy() for part in ("query", "value"))
    assert np.array_equal(query, quantizers.quantized(x, plan.E1M2, quantizers.sign_mask(1)))
    assert np.array_equal(value, quantizers.quantized(x, plan.E2M1))


def test_ranks_of_equal_values_are_shared() -> None:
    left, right = np.array([1.0, 2.0, 2.0, 9.0]), np.array([4.0, 5.0, 6.0, 7.0])
    assert round(similarity.rank_correlation(left, right), 12) == round(4.5 / (4.5 * 5) ** 0.5, 12)  # ranks 1, 2.5, 2.5, 4
    assert round(similarity.rank_correlation(right, -right), 12) == -1


@pytest.mark.parametrize(("name", "pairs", "groups"), [("lee", 1225, 50), ("simlex999", 999, 19), ("wordsim353", 353, 7)])
def test_pairs_are_read_whole(name: str, pairs: int, groups: int) -> None:
    pytest.importorskip("gensim", reason="gensim is not installed: pip install --no-deps gensim==4.4.0")
    found = similarity.pairs_of(name)
    assert (len(found.first), len(found.second), len(found.people), len(found.groups)) == (pairs, pairs, pairs, groups)
    assert max(found.first.max(), found.second.max()) == len(found.texts) - 1
    assert set(np.bincount(np.concatenate(found.groups)).tolist()) == {2 if name == "lee" else 1}  # two texts, two groups
    assert [round(value, 12) for value in found.figures(found.people, found.people)] == [1] * groups
