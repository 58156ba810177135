"""What C refuses of a datapath of levels by itself: too few integer bits of an aligned addition, operands that are lists of values."""

from __future__ import annotations

from typing import Any

import pytest
from support.level_samples import drawn_datapath
from support.whole import tries

from emu.base.errors import EmuError
from emu.engines.c_ref._c import ffi, lib
from emu.engines.c_ref.descriptors import format_descriptor
from emu.engines.c_ref.levels import can_levels, levels_descriptor
from emu.spec.levels import LevelsPlan, level_plans_of
from emu.spec.models import Datapath
from emu.spec.models.levels import DatapathLevels
from emu.spec.registry import get, names

LEVELS = [name for name in names("datapath") if isinstance(get("datapath", name).facts, DatapathLevels)]


def with_derived_widths(model: Datapath) -> Datapath:
    """The same datapath, whose aligned additions all have the integer bits that their sums need."""
    levels = [
        level if level.align is None else level.model_copy(update={"align": level.align.model_copy(update={"integer_bits": "derived"})})
        for level in model.facts.levels
    ]
    return model.model_copy(update={"id": "derived_widths", "facts": model.facts.model_copy(update={"levels": tuple(levels)})})


def answers(plan: LevelsPlan) -> list[tuple[int, int, int]]:
    """What C says to the bits that an aligned level needs, one fewer, and one fewer of an adder that wraps."""
    found = []
    for level in plan.levels:
        if level.align is None or not level.align.integer_bits:
            continue
        described = levels_descriptor(plan)
        own = ffi.new("emu_levels *", described.pointer[0])
        words: Any = own.levels[level.number - 1].align
        codes = []
        for bits, wraps in ((level.align.integer_bits, 0), (level.align.integer_bits - 1, 0), (level.align.integer_bits - 1, 1)):
            words.integer_rule, words.integer_bits, words.wraps = lib.EMU_STATED, bits, wraps
            codes.append(lib.emu_check_dot_levels(own))
        found.append(tuple(codes))
    return found


def checked(model: Datapath) -> int:
    """Check every choice of operands of a datapath; returns how many aligned levels there were."""
    try:
        plans = [plan for plan in level_plans_of(with_derived_widths(model)) if can_levels(plan)]
    except EmuError:
        return 0
    found = [codes for plan in plans for codes in answers(plan)]
    assert set(found) <= {(lib.EMU_OK, lib.EMU_ERROR_DATAPATH, lib.EMU_OK)}
    return len(found)


def test_shipped_datapaths() -> None:
    assert sum(checked(get("datapath", name)) for name in LEVELS) > 3


def test_drawn_datapaths() -> None:
    assert sum(checked(drawn_datapath(seed)) for seed in range(300)) > 60


@pytest.mark.exhaustive
def test_many_drawn_datapaths() -> None:
    count = tries(2000, 10000)
    assert sum(checked(drawn_datapath(seed)) for seed in range(1000, 1000 + count)) > count // 5


@pytest.mark.parametrize("operand", ["a", "b", "scale", "widest_scale", "c"])
def test_operands_without_a_grid_are_refused(operand: str) -> None:
    plan = next(plan for plan in level_plans_of(get("datapath", "mx_lane24")) if plan.scale is not None)
    described, listed = levels_descriptor(plan), format_descriptor(get("format", "nf4"))
    own = ffi.new("emu_levels *", described.pointer[0])
    assert lib.emu_check_dot_levels(own) == lib.EMU_OK
    setattr(own, operand, listed.pointer)
    assert lib.emu_check_dot_levels(own) == lib.EMU_ERROR_FORMAT
