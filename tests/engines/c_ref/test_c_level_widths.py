"""What C refuses of a datapath of levels by itself: too few integer bits of an aligned addition, and every field that may be wrong."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.level_samples import drawn_datapath
from support.whole import tries

from emu.base.errors import EmuError
from emu.engines.c_ref._c import ffi, lib
from emu.engines.c_ref.call import code_dtype, matrix
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


def copied(plan: LevelsPlan) -> tuple[Any, Any, Any]:
    """An emu_levels to change, its levels, and what both point to."""
    described = levels_descriptor(plan)
    own = ffi.new("emu_levels *", described.pointer[0])
    levels = ffi.new("emu_sum_level[]", [own.levels[number] for number in range(own.level_count)])
    own.levels = levels
    return own, levels, described


def answers(plan: LevelsPlan) -> list[tuple[int, int, int]]:
    """What C says to the bits that an aligned level needs, one fewer, and one fewer of an adder that wraps."""
    found = []
    for level in plan.levels:
        if level.align is None or not level.align.integer_bits:
            continue
        own, levels, _kept = copied(plan)
        words = levels[level.number - 1].align
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
    """A list of values, and a format that is none."""
    plan = next(plan for plan in level_plans_of(get("datapath", "mx_lane24")) if plan.scale is not None)
    for wrong in (format_descriptor(get("format", "nf4")).pointer, ffi.new("emu_format *", {"format_class": 9})):
        own, _levels, _kept = copied(plan)
        assert lib.emu_check_dot_levels(own) == lib.EMU_OK
        setattr(own, operand, wrong)
        assert lib.emu_check_dot_levels(own) == lib.EMU_ERROR_FORMAT


FACTS = [(name, wrong) for name in ("ignores_unused_bits", "flushes_elements", "flushes_scales", "flushes_c", "per_add", "nan_scale_live",
                                    "ieee_zero", "out_plus_c", "product_scaling.applies") for wrong in (2, -1)]  # fmt: skip
FACTS += [("k", 0), ("k", 1 << 30), ("block", -1), ("block", 0), ("level_count", 0), ("level_count", 17), ("scale", ffi.NULL)]
FACTS += [
    ("product.kind", 9),
    ("product.kind", lib.EMU_HOLD_CUT),
    ("out.kind", lib.EMU_HOLD_EXACT),
    ("invalid_levels", -1),
    ("overflow_levels", 1 << 20),
]
LEVEL = [(name, wrong) for name in ("plus_c", "aligns", "names_largest", "cancelled_counts", "scaling.applies") for wrong in (2, -1)]
LEVEL += [("of_rule", 3), ("of_rule", -1), ("every", 0), ("add", 4), ("add", -1), ("hold.kind", 9)]
ALIGN = [(f"{name}_rule", wrong) for name in ("frac", "integer", "floor") for wrong in (3, -1)]
ALIGN += [("frac_bits", -1), ("integer_bits", -1), ("is_normalised", 2), ("exponent_raise", 1 << 24), ("wraps", 2), ("running_bits", -1)]
ALIGN += [("drop_below", -2), ("floor_exp", 1 << 24)]


def spoiled(name: str, path: str, wrong: object) -> int:
    """What C says to a shipped datapath of which one field is another."""
    own, levels, _kept = copied(next(level_plans_of(get("datapath", name))))
    assert lib.emu_check_dot_levels(own) == lib.EMU_OK
    *parts, last = path.split(".")
    place: Any = own
    for part in parts:
        place = levels[int(part)] if part.isdecimal() else getattr(place, part)
    setattr(place, last, wrong)
    return int(lib.emu_check_dot_levels(own))


@pytest.mark.parametrize(("field", "wrong"), FACTS, ids=str)
def test_a_wrong_fact_is_refused(field: str, wrong: object) -> None:
    assert spoiled("mx_lane24", field, wrong) == lib.EMU_ERROR_DATAPATH


def test_a_c_that_nothing_adds_is_refused() -> None:
    assert spoiled("mx_lane24", "c", format_descriptor(get("format", "fp32")).pointer) == lib.EMU_ERROR_DATAPATH


@pytest.mark.parametrize(("field", "wrong"), LEVEL + [(f"align.{field}", wrong) for field, wrong in ALIGN], ids=str)
def test_a_wrong_level_is_refused(field: str, wrong: object) -> None:
    number = next(number for number, level in enumerate(get("datapath", "rvbna4").facts.levels) if level.align is not None)
    assert spoiled("rvbna4", f"{number}.{field}", wrong) == lib.EMU_ERROR_DATAPATH


@pytest.mark.parametrize(("field", "error"), [
    ("nan_code", lib.EMU_ERROR_FORMAT), ("signals_a", lib.EMU_ERROR_FORMAT), ("signals_b", lib.EMU_ERROR_FORMAT),
    ("signals_scale", lib.EMU_ERROR_FORMAT), ("signals_c", lib.EMU_ERROR_FORMAT),
])  # fmt: skip
def test_codes_and_operands_that_no_format_has_are_refused(field: str, error: int) -> None:
    assert spoiled("mx_lane24", field, 2) == error


def test_a_result_of_another_shape_is_refused() -> None:
    """Rows, columns and bytes of D each by itself; the right ones have an answer."""
    plan = next(level_plans_of(get("datapath", "bf16_register")))
    described, ones = levels_descriptor(plan), np.full((2, 4), 0x3F80, np.uint16)
    counts, row = ffi.new("size_t[2]"), ffi.new("size_t *")
    assert lib.emu_count_dot_levels(described.pointer, 4, counts, counts + 1) == lib.EMU_OK
    assert not counts[0] and plan.scale is None and code_dtype(plan.d) is np.uint16
    c = None if plan.c is None else np.zeros((2, 1), code_dtype(plan.c))
    for shape, dtype, error in (
        ((2, 1), np.uint16, lib.EMU_OK), ((1, 1), np.uint16, lib.EMU_ERROR_SHAPE), ((3, 1), np.uint16, lib.EMU_ERROR_SHAPE),
        ((2, 2), np.uint16, lib.EMU_ERROR_SHAPE), ((2, 1), np.uint8, lib.EMU_ERROR_SHAPE),
    ):  # fmt: skip
        out = np.zeros(shape, dtype)
        operands = [
            ffi.NULL if array is None else ffi.new("emu_matrix *", matrix(array)) for array in (ones, ones, None, None, c, None, out)
        ]
        room = ffi.new("emu_number[]", max(counts[1], 1))
        assert lib.emu_dot_levels(described.pointer, *operands, ffi.NULL, room, counts[1], row) == error
        assert out.any() == (error == lib.EMU_OK)
