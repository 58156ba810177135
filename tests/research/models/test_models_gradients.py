"""Gradients of a real model: figures from moments, products, orders by hand, resuming, the short run's answer, the kept record and page."""

from __future__ import annotations

import importlib
import math
import os
from pathlib import Path

import pytest

from emu.base.errors import FileError
from emu.pages.render import render
from research import on_cluster
from research.models import gradient_results as results
from research.models import gradients as study
from research.models import kept
from research.pages import TEMPLATES
from research.pages.training_gradients import gradients_section

torch_too = pytest.mark.skipif(not os.environ.get("EMU_NEED_TORCH") and importlib.util.find_spec("torch") is None, reason="no torch here")
PARTS = ("query", "down")
ERROR = {"ufp4": 0.02, "e2m1_baseline": 0.03, "bf16": 1e-6}


def line(cell: study.Cell) -> dict:
    nmse = ERROR.get(cell.training, 0.05) * math.exp(cell.window / 10 + cell.draw / 100)
    figures = [nmse, 1.0, 1.0, 0.0]
    return {
        "products": {gemm: dict.fromkeys(PARTS, figures) for gemm in study.GEMMS},
        "gradient": {way: {"all": figures, **dict.fromkeys(PARTS, figures)} for way in study.FORWARDS},
        "layers": {way: [nmse] * 3 for way in study.FORWARDS},
    }


def made(cells: list[study.Cell]) -> dict:
    return study.new_record({}) | {"lines": {cell.name: line(cell) for cell in cells}}


@torch_too
def test_moments_of_parts_give_the_figures_of_the_whole() -> None:
    import torch

    from research.forks.gradients import compared, figures_of, moments

    true, found = torch.tensor([3.0, 4.0, 0.0, 1.0]), torch.tensor([3.0, 2.0, 1.0, 1.0])
    parts = [moments(true[:2], found[:2]), moments(true[2:], found[2:])]
    assert figures_of(*map(sum, zip(*parts, strict=True))) == compared(true, found)
    error, cosine, alpha, coherent = compared(true, found)
    assert (error, alpha) == (5 / 26, 18 / 26)
    assert cosine == 18 / (26**0.5 * 15**0.5)
    assert round(coherent, 12) == round((8 / 26) ** 2 * 26 / 5, 12)


@torch_too
def test_products_in_float32_are_those_of_a_linear_layer() -> None:
    import torch

    from research.forks.gradients import PAIRS, exact

    x, w, dy = torch.arange(6.0).reshape(2, 3), torch.arange(12.0).reshape(4, 3).requires_grad_(), torch.arange(8.0).reshape(2, 4)
    x.requires_grad_()
    y = x @ w.T
    y.backward(dy)
    own = {"x": x, "w": w, "dy": dy}
    for gemm, expected in (("fprop", y), ("dgrad", x.grad), ("wgrad", w.grad)):
        assert torch.equal(exact(gemm, *(own[name] for name in PAIRS[gemm])), expected)


def test_orders_by_hand() -> None:
    record = made(study.plan())
    for figure in results.FIGURES:
        assert round(results.compared(record, figure, "ufp4", "e2m1_baseline").mean, 12) == round(math.log(2 / 3), 12)
        assert round(results.null_spread(record, figure), 12) == 0.01
    assert len(results.logarithms(record, "exact", ("ufp4", 0), ("bf16", 0))) == study.WINDOWS


def test_a_short_run_asserts_what_the_full_record_established_and_no_more() -> None:
    full, short = made(study.plan()), made(study.short_plan())
    orders = results.asserted(full, short)
    assert {order.text for order in orders} == {f"{figure}: ufp4 below e2m1_baseline" for figure in results.FIGURES}
    assert all(order.holds and order.margin > results.MARGIN for order in orders)
    turned = made(study.short_plan())
    first, second = (cell.name for cell in study.short_plan())
    turned["lines"][first], turned["lines"][second] = turned["lines"][second], turned["lines"][first]
    assert not any(order.holds for order in results.asserted(full, turned))
    for name in full["lines"]:
        if name.startswith("ufp4"):
            full["lines"][name] = full["lines"][name.replace("ufp4", "e2m1_baseline")]
    assert not results.asserted(full, short)


def test_a_stopped_run_goes_on_with_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study.data, "check_tools", lambda: None)
    monkeypatch.setattr(study, "measured", line)
    for module in (kept, on_cluster):
        monkeypatch.setattr(module, "single", lambda: {"torch": "this"})
    cells = study.plan(1)
    whole, parts = tmp_path / "whole.json", tmp_path / "parts.json"
    assert list(study.run(whole, cells)) == [cell.name for cell in cells]
    left = iter((True, True, *[False] * len(cells)))
    assert len(list(study.run(parts, cells, lambda: next(left)))) == 2
    assert list(study.run(parts, cells)) == [cell.name for cell in cells[2:]]
    assert whole.read_bytes() == parts.read_bytes()
    monkeypatch.setattr(kept, "single", lambda: {"torch": "another"})
    with pytest.raises(FileError, match=r"made with \{'torch': 'this'\}, here is \{'torch': 'another'\}: go on with what made it"):
        list(study.run(parts, cells))


def test_the_section_says_what_the_record_says(tmp_path: Path) -> None:
    assert gradients_section(tmp_path) is None
    path = tmp_path / study.RECORD
    path.parent.mkdir(parents=True)
    study.KIND.write(path, made(study.plan()))
    text = render("training_gradients", None, TEMPLATES, gradients=gradients_section(tmp_path))
    assert "**0.667 (0.667 to 0.667)** in fprop, **0.667" in text
    assert "each smaller on every window and further from 1 than 41 null spreads" in text
    assert "smaller on 8 of 8 windows, p = 0.0078; other signs and random bits alone move it by 1 % on one window" in text
    assert "On a quantized forward pass the two differ." in text
    assert "alpha lies from 1.0000 to 1.0000. No row has a coherent share above 0.0 %" in text
    assert "goes from 0.667 (0.667 to 0.667) (query, fprop) to" in text
    assert "| `ufp4` | `e2m1_baseline` | **0.667 (0.667 to 0.667)** |" in text


def test_the_kept_record_fits_the_spec_and_holds_the_plan(checkout: Path) -> None:
    record = study.KIND.read(checkout / study.RECORD)
    assert not study.stale(record)
    assert list(record["lines"]) == sorted(cell.name for cell in study.plan())
    assert len(results.asserted(record, record)) > 4
