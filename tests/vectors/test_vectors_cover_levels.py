"""The coverage model of datapaths of levels: every bin has a name, suites reach what can be named, structure closes the rest."""

from __future__ import annotations

import json
from random import Random
from types import SimpleNamespace

import pytest
from support.level_samples import drawn_datapath, drawn_row
from support.whole import tries

from emu.base.errors import EmuError
from emu.cli.main import run
from emu.contracts.levels.cover import SKIPPED, LevelsCover, _point
from emu.contracts.levels.events import events, narrow_events
from emu.contracts.levels.rows import LevelsRow
from emu.contracts.levels.walk import walk
from emu.spec.levels import level_plans_of
from emu.vectors.coverage.count import crosses_of, model_of, planned_rows
from emu.vectors.coverage.model import axes_of

RANDOM = "dot__bf16xbf16_to_bf16__bf16_register_random__directed"


@pytest.mark.parametrize("count", [80, pytest.param(tries(500, 1500), marks=pytest.mark.exhaustive)])
def test_every_event_of_a_drawn_datapath_has_a_bin(count):
    """Whatever a row of a valid datapath does is named by the model and on an axis of its contract, and nothing says that it cannot be."""
    model = model_of("levels")
    assert model is not None
    axes = {name: set(axis.bins) for name, axis in model.facts.axes.items() if name != "level"}
    crosses = {name: cross.axes for name, cross in model.facts.crosses.items()}
    seen: set[str] = set()
    for seed in range(count):
        plan, rng = next(level_plans_of(drawn_datapath(seed))), Random(seed)
        cover = LevelsCover(SimpleNamespace(plan=plan, field=SimpleNamespace(draws=plan.draws(plan.facts.k))))
        known = {name: frozenset(bins) for name, bins in axes_of(cover, model).items()}
        for _ in range(4):
            drawn = drawn_row(plan, rng)
            if drawn is None:
                continue
            try:
                told = walk(LevelsRow(*(tuple(item) if isinstance(item, list) else item for item in drawn)), plan)
            except EmuError:
                continue
            for event in (*events(told), *narrow_events(told)):
                if event[1] not in SKIPPED:
                    point = dict(_point(event))
                    assert all(found in known[axis] for axis, found in point.items()), (seed, event)
                    for names in crosses.values():
                        if all(axis in point for axis in names):
                            assert not cover.settle(names, [tuple(point[axis] for axis in names)]), (seed, event, names)
                    point.pop("level", None)
                    assert point and all(found in axes[axis] for axis, found in point.items()), event
                    seen |= set(point)
    assert seen == set(axes) - {"unused"}  # of scales, not of what happens to numbers


@pytest.mark.exhaustive
def test_directed_rows_reach_every_threshold_of_a_word_and_most_roundings():
    crosses = {cross.name: cross for cross in crosses_of(RANDOM, planned_rows(RANDOM))}
    assert "exponent" not in crosses and "shift" not in crosses
    threshold = crosses["threshold"]
    assert len(threshold.holes()) <= 4 and len(threshold.unreachable) == 2 * threshold.size // 3
    assert len(crosses["rounding"].hits) >= 40 and len(crosses["special"].hits) >= 5
    assert {why.why for why in threshold.unreachable.values()} == {"no random word is drawn there"}


@pytest.mark.exhaustive
def test_the_levels_are_the_bins():
    from emu.contracts import parse

    op = parse("dot/systolic_4way")
    cover = op.cover()
    assert isinstance(cover, LevelsCover) and cover.levels == ("product", "way", "join", "out")
    case = op.directed()[0]
    assert {point["level"] for point in cover.points(case.values) if "level" in point} <= set(cover.levels)


@pytest.mark.exhaustive
def test_the_command_counts_a_suite(tmp_path, capsys):
    out = tmp_path / "vectors"
    assert run(["vectors", "build", "--contract", "dot/int12_wrap", "--suite", "smoke", "--out", str(out), "--quiet"]) == 0
    capsys.readouterr()
    assert run(["vectors", "cover", str(out / "dot"), "--json"]) == 0
    (record,) = json.loads(capsys.readouterr().out)
    assert record["op"] == "levels" and record["suites"][0]["crosses"]["cancel"]["hit"] > 0
    assert not (out / "dot" / "COVER.json").exists()
