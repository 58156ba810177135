"""Whole models: a run that was stopped, tokens, and the kept record beside what the page says."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from emu.base.errors import FileError
from research import on_cluster
from research.cli import models
from research.models import kept, plan, results, smollm, study
from research.pages import uniform_grid_models as page


def test_bytes_have_letters_of_their_own() -> None:
    letters = smollm.byte_letters()
    assert len(set(letters.values())) == 256
    assert (letters[ord(" ")], letters[ord("A")], letters[ord("\n")]) == ("\u0120", "A", "\u010a")


def test_a_stopped_run_goes_on_with_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "check_tools", lambda: None)
    monkeypatch.setattr(study, "measured", lambda cell, lines: {"loss": [float(len(cell.name))]})
    for module in (kept, on_cluster):
        monkeypatch.setattr(module, "single", lambda: {"torch": "this"})
    cells = plan.plan()[:4]
    whole, parts = tmp_path / "whole.json", tmp_path / "parts.json"
    assert list(study.run(whole, cells)) == [cell.name for cell in cells]
    left = iter((True, True, False))
    assert len(list(study.run(parts, cells[3:0:-1], lambda: next(left)))) == 2  # in another order: the record's is its own
    assert len(list(study.run(parts, cells))) == 2
    assert whole.read_bytes() == parts.read_bytes()
    monkeypatch.setattr(kept, "single", lambda: {"torch": "another"})
    with pytest.raises(FileError, match=r"made with \{'torch': 'this'\}, here is \{'torch': 'another'\}: go on with what made it"):
        list(study.run(parts, cells))


@pytest.fixture(scope="module")
def record(checkout: Path) -> dict[str, Any]:
    return study.read_record(checkout / study.RECORD)


@pytest.fixture(scope="module")
def shown(record: dict[str, Any]) -> dict[str, Any]:
    return page.models_part(record)


def test_the_short_run_asserts_what_the_record_settled_and_nothing_else(record: dict[str, Any]) -> None:
    orders = results.orders(record)
    assert len(orders) >= 6
    for order in orders:
        sides = [results.losses(record, "minilm", order.operands, way) for way in (order.low, order.high)]
        assert all(len(side) > 1 for side, way in zip(sides, (order.low, order.high), strict=True) if way.rotated)
        found = results.ratio(*sides)
        assert found.high < 1
        assert found.value < math.exp(-3 * (found.null or 0))
        assert order.reversal(record) == ""


def test_the_short_run_fails_when_an_order_is_turned(record: dict[str, Any], checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "measure", lambda cells: {cell.name: record["lines"][cell.name] for cell in cells})
    command = ["run", "--short", "--record", str(checkout / study.RECORD)]
    good = CliRunner().invoke(models.command, command, standalone_mode=False)
    assert good.return_value == 0, good.output
    [low, _] = results.orders(record)[0].cells()
    worse = {cell: {"loss": [9.0]} if cell == low.name else line for cell, line in record["lines"].items()}
    monkeypatch.setattr(study, "measure", lambda cells: {cell.name: worse[cell.name] for cell in cells})
    turned = CliRunner().invoke(models.command, command, standalone_mode=False)
    assert turned.return_value == 1
    assert "loses 9, not less than" in turned.output


def test_the_kept_record_is_of_this_plan_and_these_facts(record: dict[str, Any]) -> None:
    assert not study.stale(record)
    assert record["setting"] == study.new_record({})["setting"]
    assert set(record["lines"]) <= {cell.name for cell in plan.plan()}


def ratio_of(row: list[str]) -> float:
    return next(float(cell.split()[0]) for cell in row if "[" in cell)


def test_the_page_says_which_way_each_comparison_goes(shown: dict[str, Any]) -> None:
    best = {row[0]: ratio_of(row) for row in shown["best_rows"]}
    assert {"MiniLM, W16A4", "SmolLM2-135M, KV4", "MiniLM, W4A4, error feedback"} <= set(best)
    assert all(value < 1 for name, value in best.items() if name.endswith(("W16A4", "KV4", "error feedback")))
    assert all(value > 1 for name, value in best.items() if name.endswith("W4A16"))
    assert all(ratio_of(row) > 1 for row in shown["like_rows"])  # as given, E1M2 is worse on every whole model


def test_the_guesses_fall_and_hold_as_the_page_says(shown: dict[str, Any]) -> None:
    rows: dict[str, list[list[float]]] = {}
    for row in shown["why_rows"]:
        rows.setdefault(row[0].split(": ")[1], []).append([float(row[1]), float(row[2]), ratio_of(row)])
    turned = rows.pop(page.GUESSES["shuffle"])
    for (raw, rotated, ratio), (raw_before, rotated_before, _) in zip(turned, rows[page.GUESSES["none"]], strict=True):
        assert ratio < 1
        assert raw / raw_before > 1.3 > 1.1 > rotated / rotated_before
    assert len(rows) == 4
    assert all(ratio > 1 for found in rows.values() for _, _, ratio in found)


def test_a_deployment_gains_what_the_page_says(shown: dict[str, Any]) -> None:
    worse = [row[0] for row in shown["part_rows"] if ratio_of(row) > 1]
    assert worse == ["MiniLM: value", "SmolLM2-135M: value", "SmolLM2-135M: down"]
    for model in page.TITLES.values():
        ways = {row[1]: ratio_of(row) for row in shown["deployed"] if row[0] == model}
        chosen = ways["each part in E2M1 as given or in E1M2 rotated"]
        assert ways["E1M2 rotated, error feedback"] < ways["E2M1 as given, error feedback"] < chosen < min(1, ways["E1M2 rotated"])
        assert all(value > 1 for way, value in ways.items() if way.startswith("both "))
