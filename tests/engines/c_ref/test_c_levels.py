"""Datapaths of levels in the C reference against the exact engine: shipped ones and ones out of a seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

import numpy as np
import pytest
from support.level_compare import all_plans, exact
from support.level_hand import BY_HAND, by_hand
from support.level_samples import Row, drawn_datapath, drawn_row
from support.whole import tries

from emu.base.errors import EmuError
from emu.engines.c_ref import levels as c_levels
from emu.engines.c_ref._c import ffi, lib
from emu.engines.c_ref.call import code_dtype
from emu.spec.levels import LevelsPlan, level_plans_of
from emu.spec.models import Datapath, Format
from emu.spec.models.levels import DatapathLevels
from emu.spec.registry import get

ALONE_SCALED = (2370, 2540, 3887)  # one value of a pairwise level, then scales that draw: their words come after one rounding
ALONE = 2192  # one value of a pairwise level names the exponent that the level says

RZ = {"format": "fp32", "rounding": "rz"}


def _array(codes: list[int], fmt: Format) -> np.ndarray:
    return np.array([codes], code_dtype(fmt))


def _in_c(plan: LevelsPlan, row: Row) -> int | str:
    scales = [None if plan.scale is None else _array(codes, plan.scale) for codes in (row.scale_a, row.scale_b)]
    c = None if plan.c is None or row.c is None else np.array([row.c], code_dtype(plan.c))
    words = np.array([row.random], np.uint32) if row.random else None
    try:
        return int(c_levels.dot(_array(row.a, plan.a), _array(row.b, plan.b), scales[0], scales[1], c, words, plan)[0])
    except EmuError as error:
        return type(error).__name__


def _compare(plan: LevelsPlan, rng: Random, rows: int) -> Counter[str]:
    """Compare rows; count what came out: numbers and the errors by name."""
    seen: Counter[str] = Counter()
    for _ in range(rows):
        row = drawn_row(plan, rng)
        if row is not None:
            wanted = exact(plan, row)
            assert _in_c(plan, row) == wanted, (plan.name, plan.facts, row)
            seen[wanted if isinstance(wanted, str) else "code"] += 1
    return seen


def test_shipped_datapaths() -> None:
    rng, seen = Random(11), Counter[str]()
    plans = all_plans()
    for plan in plans:
        assert c_levels.can_levels(plan), plan.name
        seen += _compare(plan, rng, 6)
    assert len(plans) > 60 and seen["code"] > 300


def test_drawn_datapaths() -> None:
    _compare_drawn((*range(150), ALONE, *ALONE_SCALED), 4)


@pytest.mark.exhaustive
def test_more_drawn_datapaths() -> None:
    _compare_drawn(range(1000, tries(1500, 4000)), 8)


def _compare_drawn(seeds: Sequence[int], rows: int) -> None:
    rng, seen, refused = Random(seeds[0]), Counter[str](), 0
    for seed in seeds:
        for plan in list(level_plans_of(drawn_datapath(seed)))[:2]:
            if c_levels.can_levels(plan):
                seen += _compare(plan, rng, rows)
            else:
                refused += 1
    assert seen["code"] > 2 * len(seeds) and seen["OpenError"]
    assert refused < len(seeds) // 10


def test_two_choices_of_one_datapath_have_facts_of_their_own() -> None:
    """Blocks of 2 and of 4 of the same datapath, one after the other: each takes its own scales."""
    base: Datapath = get("datapath", "e1m2_bf16_register")
    assert isinstance(base.facts, DatapathLevels) and base.facts.offered is not None
    offered = base.facts.offered.model_copy(update={"blocks": (2, 4)})
    facts = base.facts.model_dump() | {"k": 4, "scale": offered.model_dump()}
    scaled = next(i for i, level in enumerate(base.facts.levels) if level.scale != "none")
    facts["levels"][scaled]["of"] = "block"
    model = base.model_copy(update={"facts": DatapathLevels.model_validate(facts), "id": "two_blocks"})
    for plan in level_plans_of(model):
        row = Row([1, 2, 3, 4], [1, 1, 1, 1], *[[0x38, 0x40, 0x48, 0x50][: 4 // plan.block] for _ in "ab"], 0, [])
        assert _in_c(plan, row) == exact(plan, row)


def test_a_value_that_scales_multiply_lies_in_one_block() -> None:
    """Of four products a value of the first level has the scale of a block of four; blocks of two would give it two."""
    base: Datapath = get("datapath", "e1m2_bf16_register")
    assert isinstance(base.facts, DatapathLevels) and base.facts.offered is not None
    facts = base.facts.model_dump() | {"k": 4, "scale": base.facts.offered.model_copy(update={"blocks": (4,)}).model_dump()}
    scaled = next(i for i, level in enumerate(base.facts.levels) if level.scale != "none")
    facts["levels"][scaled]["of"] = 4
    model = base.model_copy(update={"facts": DatapathLevels.model_validate(facts), "id": "one_block"})
    made, counts = c_levels.unchecked_descriptor(next(iter(level_plans_of(model)))), ffi.new("size_t[2]")
    assert scaled == 0 and lib.emu_count_dot_levels(made.pointer, 8, counts, counts + 1) == lib.EMU_OK
    made.pointer.block = 2
    assert lib.emu_count_dot_levels(made.pointer, 8, counts, counts + 1) == lib.EMU_ERROR_SHAPE


def test_a_cut_that_draws_is_refused() -> None:
    plan = next(plan for plan in all_plans() if any(level.align is not None for level in plan.facts.levels))
    made = c_levels.unchecked_descriptor(plan)
    align = next(level for level in made.pointer.levels[0 : len(plan.facts.levels)] if level.aligns).align
    assert lib.emu_check_dot_levels(made.pointer) == lib.EMU_OK
    drawing = ffi.new("emu_rounding *", {"add": lib.EMU_ADD_CARRY, "random_bits": 8, "beyond_max": [lib.EMU_GO_AWAY] * 2})
    align.cut = drawing
    assert lib.emu_check_dot_levels(made.pointer) == lib.EMU_ERROR_ROUNDING


@pytest.mark.parametrize(("field", "bad"), [("by", 0), ("by", -1), ("start", -1), ("start", lib.EMU_START_C + 1)])
def test_a_chain_takes_some_values_at_a_time_and_begins_somewhere(field: str, bad: int) -> None:
    plan = next(plan for plan in all_plans() if any(level.add == "chain" for level in plan.facts.levels))
    made = c_levels.unchecked_descriptor(plan)
    level = next(level for level in made.pointer.levels[0 : len(plan.facts.levels)] if level.add == lib.EMU_SUM_CHAIN)
    assert lib.emu_check_dot_levels(made.pointer) == lib.EMU_OK
    setattr(level, field, bad)
    assert lib.emu_check_dot_levels(made.pointer) == lib.EMU_ERROR_DATAPATH


def test_fraction_bits_that_c_asks_for() -> None:
    """An exact sum of E2M3 products and C in E5M2 names up to 15, so F = 15 + 16 keeps 2^-6 beside C = 2^15: no product is above 2^6."""
    facts = {
        "a": ("e2m3",), "b": ("e2m3",), "c": "e5m2", "k": 2, "levels": (
            {"id": "k", "of": "all", "add": "exact", "plus": "c", "exponent": "largest"},
            {"id": "one", "of": 1, "add": "aligned", "align": {"fraction_bits": "derived", "cut": "rz"}},
        ), "out": RZ, "special": {"when": "once", "nan": "0x7FC00000"},
    }  # fmt: skip
    base: Datapath = get("datapath", "e1m2_bf16_register")
    (plan,) = level_plans_of(base.model_copy(update={"facts": DatapathLevels.model_validate(facts), "id": "c_named"}))
    assert plan.levels[1].align is not None and plan.levels[1].align.frac_bits == 31
    row = Row([1, 0], [1, 0], [], [], 0x78, [])
    assert _in_c(plan, row) == exact(plan, row) == 0x47000004


def test_widths_come_from_the_widest_scale_that_is_offered() -> None:
    """Two products below 9/4 times two UE4M3 scales need I = 4, so the unit is 2^(-126 - 4 - 2), also where E8M0 scales are chosen."""
    align = {"fraction_bits": 2, "cut": "rz", "floor": "derived"}
    facts = {
        "a": ("e2m1",), "b": ("e2m1",), "c": "none", "k": 2, "scale": {"formats": ("ue4m3", "e8m0"), "blocks": (2,)},
        "products": {"scale": {}}, "levels": ({"id": "k", "of": 2, "add": "aligned", "align": align, "hold": RZ},
        {"id": "all", "of": "all", "add": "exact"}), "out": RZ, "special": {"when": "once", "nan": "0x7FC00000"},
    }  # fmt: skip
    base: Datapath = get("datapath", "e1m2_bf16_register")
    model = base.model_copy(update={"facts": DatapathLevels.model_validate(facts), "id": "two_scales"})
    plan = list(level_plans_of(model))[1]
    assert plan.scale is get("format", "e8m0") and plan.levels[0].align is not None and plan.levels[0].align.floor == -130
    row = Row([2, 0], [2, 0], [127 - 66], [127 - 66], None, [])
    assert _in_c(plan, row) == exact(plan, row) == 1 << 17  # 2^-132


@pytest.mark.parametrize("what", BY_HAND)
def test_rows_by_hand(what: str) -> None:
    plan, row, code = by_hand(what)
    assert _in_c(plan, row) == exact(plan, row) == code
