"""identify of datapaths of levels: the register of a machine is named from its results, one that nobody knows is never named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import emu
from emu.base.errors import TargetError
from emu.contracts.levels.deviations import changed
from emu.contracts.levels.rows import LevelsRow, answers
from emu.identify.model import Identity
from emu.identify.run import identify
from emu.spec.levels import LevelsPlan, resolve_levels
from emu.spec.registry import isolated, shipped_root

Change = tuple[tuple[str | int, ...], Any]
K = ("levels", 0)


class Machine:
    """A machine whose results are those of a plan, afterwards changed. change: codes and rows -> codes."""

    op, source, result, name = "dot", None, None, "machine"

    def __init__(self, plan: LevelsPlan, datapath: str, change: Callable[[np.ndarray, list[LevelsRow]], np.ndarray] | None = None) -> None:
        self.plan, self.datapath, self.change = plan, datapath, change

    def __call__(self, operands: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        if ("c" in operands) != (self.plan.c is not None):
            raise TargetError("raises", "other operands")
        rows = len(operands["a"])
        parts = [operands[name].tolist() if name in operands else [()] * rows for name in ("a", "b", "scale_a", "scale_b")]
        c = operands["c"].tolist() if "c" in operands else [None] * rows
        words = operands["words"].tolist() if "words" in operands else [()] * rows
        made = [LevelsRow(*(tuple(part[row]) for part in parts), c[row], tuple(words[row])) for row in range(rows)]
        found = np.array([code or 0 for code in answers(made, self.plan)], np.uint64)
        return {"d": found if self.change is None else self.change(found, made)}


def machine(name: str, *changes: Change) -> Identity:
    """Identify a machine that is a shipped datapath with changed facts, asked as that datapath."""
    plan = resolve_levels(name)
    if changes:
        found = changed(plan, list(changes))
        assert found is not None
        plan = found.plan
    return identify(Machine(plan, name))


@pytest.mark.cases(0, 2)
@pytest.mark.parametrize(
    "name", ["int12_wrap", "bf16_register_random", "systolic_4way", "rvbna4_rne", "fp16_tree_fp32", "e1m2_int24_register"]
)
def test_a_shipped_datapath_is_itself(name: str) -> None:
    found = machine(name)
    assert found.kind == "documented" and any(text.startswith(name) for text in found.found), found.text()


CHANGED: dict[str, tuple[str, tuple[Change, ...], str]] = {
    "width": ("int12_saturate", (((*K, "hold", "bits"), 11),), "k.hold.bits"),
    "overflow": ("int12_saturate", (((*K, "hold", "overflow"), "sticky_inf"),), "k.hold.overflow"),
    "symmetric": ("int12_saturate", (((*K, "hold", "overflow"), "saturate_symmetric"),), "k.hold.overflow"),
    "rounding": ("bf16_register", (((*K, "hold", "rounding"), "odd"),), "k.hold.rounding"),
    "order": ("bf16_register", (((*K, "by"), 2),), "k.by"),
    "alignment": ("rvbna4_rne", (((*K, "align", "cut"), "rz"),), "bulk.align.cut"),
}


@pytest.mark.cases(1, 5)
@pytest.mark.parametrize("what", CHANGED)
def test_one_changed_fact_of_a_register_is_named(what: str) -> None:
    name, changes, axis = CHANGED[what]
    found = machine(name, *changes)
    assert found.kind == "variant" and [item.finding for item in found.axes if item.axis == axis] == [str(changes[0][1])], found.text()


def test_the_register_and_the_order_are_told() -> None:
    told = {item.axis: item.finding for item in machine("int12_saturate").axes if item.stage == "level"}
    assert told["k"] == "chain of all, from zero; 12 bits of 2^-2, saturate"


def test_two_facts_that_no_hypothesis_has_are_searched_or_refused() -> None:
    """A register of 9 bits that wraps is two facts away at least: named so, or not at all."""
    found = machine("int12_saturate", ((*K, "hold", "bits"), 9), ((*K, "hold", "overflow"), "wrap"))
    assert found.kind in ("variant", "nearest") and (found.kind == "nearest" or "9" in found.title), found.text()


WRONG: dict[str, Callable[[np.ndarray, list[LevelsRow]], np.ndarray]] = {
    "one bit, sometimes": lambda codes, rows: np.where(np.array([sum(row.a) % 7 == 0 for row in rows]), codes ^ 1, codes),
    "one row in many": lambda codes, rows: np.where(codes % 11 == 3, codes ^ 2, codes),
    "the sign of everything": lambda codes, rows: codes ^ 0x80000000,
    "always zero": lambda codes, rows: codes * 0,
}


@pytest.mark.cases(2, 2)
@pytest.mark.parametrize("what", WRONG)
def test_a_design_that_nobody_knows_is_never_named(what: str) -> None:
    found = identify(Machine(resolve_levels("int12_saturate"), "int12_saturate", WRONG[what]))
    assert found.kind == "nearest" and found.title.startswith("nothing documented; nearest") and found.departures, found.text()


USER = """kind: "datapath"
id: "mine9"
title: "A register of 9 bits"
status: "proposed"
facts:
  a: ["e2m1"]
  b: ["e2m1"]
  c: "none"
  k: 16
  levels:
    - {id: "k", of: "all", add: "chain", start: "zero", hold: {bits: 9, unit_exp: "derived", overflow: "wrap"}}
  out: {format: "fp32"}
  special: {when: "once", nan: "0x7FC00000"}
expect: []
open: []
sources: [{ref: "emu", where: "test"}]
"""


def test_a_users_datapath_is_found_beside_the_shipped_ones(tmp_path: Any) -> None:
    (tmp_path / "datapath").mkdir()
    (tmp_path / "datapath" / "mine9.yaml").write_text(USER)
    with isolated(shipped_root()):
        emu.load_spec(tmp_path)
        found = identify(Machine(resolve_levels("mine9"), "int12_saturate"))
        assert found.kind == "documented" and "mine9 as it stands" in found.found, found.text()
