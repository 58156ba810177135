"""Exception flags in the native kernels of levels: many rows at once and matrices, in every form, against the reference model."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from random import Random
from typing import Any

import numpy as np
import pytest
from support.level_compare import rows_of, together
from support.level_samples import Row, drawn_datapath, flagged

import emu
from emu.base.errors import EmuError
from emu.engines.datapath import run_levels_matmul
from emu.engines.exact.levels import dot as exact_dot
from emu.engines.native import convert as kernel
from emu.engines.native import levels as native
from emu.engines.native.datapath import PANEL_ROWS
from emu.spec import derive
from emu.spec.levels import LevelsPlan, level_plans_of, resolve_levels
from emu.spec.models import Datapath, Format
from emu.spec.models.levels import DatapathLevels
from emu.spec.registry import get

FORMS = range(kernel.BEST_FORM + 1)
SEEDS = (2, 20, 65, 72, 113, 124, 163, 282, 367, 374, 387, 545, 563, 581, 604, 648)  # each word that a flag depends on


def extremes(fmt: Format) -> list[int]:
    """Codes of zeros, the smallest and the largest number, infinities, and NaNs, of which one signals in formats with those of IEEE 754."""
    codes = derive.codes(fmt)
    ends = [0, 1, codes.max_code, *(code for code in (codes.inf, *codes.nan) if code is not None)]
    if codes.inf is not None and getattr(fmt.facts, "nan", "") == "ieee":
        ends.append(codes.inf + 1)
    return ends + [code | codes.sign_bit for code in ends if codes.sign_bit and code != codes.sign_bit]


def extreme_row(row: Row, plan: LevelsPlan, rng: Random) -> Row:
    """Replace some codes of a row."""

    def some(given: list[int], fmt: Format | None, share: float) -> list[int]:
        return [rng.choice(extremes(fmt)) if fmt is not None and rng.random() < share else code for code in given]

    share = rng.choice((0.1, 0.3))
    c = None if plan.c is None or row.c is None else some([row.c], plan.c, 0.4)[0]
    scales = [some(list(given), plan.scale, share) for given in (row.scale_a, row.scale_b)]
    return row._replace(a=some(list(row.a), plan.a, share), b=some(list(row.b), plan.b, share), scale_a=scales[0], scale_b=scales[1], c=c)


def compare(plan: LevelsPlan, rng: Random, count: int) -> Counter[int]:
    """Count the flags of rows that every form gave as the reference model does, rows of one length at once."""
    seen: Counter[int] = Counter()
    sets: dict[int, list[tuple[object, int, int]]] = {}
    drawn = rows_of(plan, rng, count)
    for row in drawn + [extreme_row(rng.choice(drawn), plan, rng) for _ in range(5 * count if drawn else 0)]:
        try:
            found = exact_dot(row.a, row.b, row.scale_a, row.scale_b, row.c, row.random, plan)
        except EmuError:  # no result: test_native_levels_tree.py
            continue
        sets.setdefault(len(row.a), []).append((row, found.code, found.flags))
    for rows in sets.values():
        for form in FORMS:
            flags = np.full(len(rows), 255, np.uint8)
            codes = together(lambda *given: native.dot(*given, flags=flags, form=form), plan, [row for row, *_ in rows])  # type: ignore[misc]  # noqa: B023
            for place, (row, code, raised) in enumerate(rows):
                assert (int(codes[place]), int(flags[place])) == (code, raised), (form, place, plan.facts, row)
        seen.update(raised for *_, raised in rows)
    return seen


FP32 = {"format": "fp32", "rounding": "rne", "overflow": "ieee"}
CHAIN: dict[str, Any] = {"id": "k", "of": "all", "add": "chain", "start": "zero", "hold": FP32}
FROM_C = CHAIN | {"start": "c"}
NV: dict[str, Any] = {"report": ["NV"]}
OF: dict[str, Any] = {"report": ["OF"]}
INFINITE = {"format": "e5m2", "rounding": "rne", "overflow": "ieee"}
DATAPATHS: dict[str, dict[str, Any]] = {
    "products": {"flags": NV | {"signalling": ["fp16"], "at": {"nv": ["product"]}}, "levels": [CHAIN], "special": {"when": "per_add"}},
    "a chain from C": {
        "flags": NV | {"signalling": ["fp16"], "at": {"nv": ["k"]}}, "c": "fp16", "levels": [FROM_C], "special": {"when": "per_add"},
    },
    "C in a sum": {
        "flags": NV | {"signalling": ["fp16"], "at": {"nv": ["two"]}}, "a": ["e4m3"], "b": ["e4m3"], "c": "fp16", "k": 2,
        "levels": [{"id": "two", "of": 2, "add": "exact", "plus": "c"}], "special": {"when": "per_add"},
    },
    "C at the end": {
        "flags": NV | {"signalling": ["fp16"], "at": {"nv": ["out"]}}, "c": "fp16", "levels": [CHAIN], "special": {"when": "per_add"},
        "out": {"format": "fp32", "rounding": "rne", "plus": "c"},
    },
    "decided at each addition": {"flags": NV | {"signalling": ["fp16"], "at": {"nv": ["product"]}}, "c": "fp32", "levels": [FROM_C]},
    "decided once": {"flags": {"report": ["NV", "OF"], "signalling": ["fp16"], "at": {"nv": ["out"]}}, "levels": [CHAIN], "c": "fp16",
                     "out": {"format": "fp16", "rounding": "rne", "plus": "c"}},
    "an adder that wraps": {
        "flags": OF | {"signalling": []}, "a": ["e4m3"], "b": ["e4m3"], "k": 2,
        "levels": [{"id": "two", "of": 2, "add": "aligned",
                    "align": {"fraction_bits": 1, "cut": "rz", "integer_bits": 1, "beyond": "wrap"}}],
    },
    "scales that decide": {
        "flags": NV | {"signalling": []}, "scale": {"formats": ["ue4m3"], "blocks": [2]}, "products": {"scale": {}}, "levels": [CHAIN],
    },
    "scales that are rounded": {
        "flags": OF | {"signalling": [], "at": {"of": ["product"]}}, "scale": {"formats": ["ue5m3"], "blocks": [1]}, "k": 1,
        "products": {"scale": {"each": INFINITE}}, "levels": [CHAIN], "special": {"when": "per_add", "nan_scale": "live"},
        "a": ["e4m3"], "b": ["e4m3"],
    },
    "scales that vanish": {
        "flags": NV | {"signalling": [], "at": {"nv": ["product"]}}, "scale": {"formats": ["ue5m3"], "blocks": [2]},
        "products": {"scale": {"each": INFINITE}}, "levels": [CHAIN], "special": {"when": "per_add"}, "a": ["e4m3"], "b": ["e4m3"],
    },
}  # fmt: skip


def plan_of(name: str) -> LevelsPlan:
    base: dict[str, Any] = {"a": ["fp16"], "b": ["fp16"], "c": "none", "k": 4, "out": {"format": "fp32", "rounding": "rne"}}
    words = base | DATAPATHS[name]
    words["special"] = {"when": "once", "nan": "0x7E00" if words["out"]["format"] == "fp16" else "0x7FC00000"} | words.get("special", {})
    model: Datapath = get("datapath", "bf16_register")
    facts = DatapathLevels.model_validate_json(json.dumps(words))
    (plan,) = level_plans_of(model.model_copy(update={"facts": facts, "id": "flags"}))
    return plan


@pytest.mark.parametrize("name", DATAPATHS)
def test_every_place_that_raises_a_flag(name: str) -> None:
    """Flags of one level alone, so that no other hides them; half of the codes are extremes."""
    plan = plan_of(name)
    assert native.fault(plan) is None
    seen = compare(plan, Random(7), 12)
    silent = name == "decided at each addition"  # what decides an addition raises nothing below it
    assert set(seen) == ({0} if silent else {0, 1, 2} if len(plan.flag_levels) > 1 else {0, 1}), seen


def test_scales_of_a_zero_that_do_not_count_raise_nothing() -> None:
    """A NaN scale beside one that overflows: over 1 it counts, over 0 neither does."""
    plan = plan_of("scales that are rounded")
    assert plan.scale is not None
    nan, largest = derive.codes(plan.scale).nan[0], derive.codes(plan.scale).max_code
    rows = [Row([a], [0x38], [nan], [largest], None, []) for a in (0x38, 0x00)]
    flags = np.full(2, 255, np.uint8)
    codes = together(lambda *given: native.dot(*given, flags=flags), plan, rows)
    assert (codes.tolist(), flags.tolist()) == ([0x7FC00000, 0], [1, 0])
    assert [exact_dot(*row[:6], plan).flags for row in rows] == [1, 0]


def drawn_plans(seeds: Iterable[int], count: int) -> Counter[int]:
    seen: Counter[int] = Counter()
    for seed in seeds:
        model = flagged(drawn_datapath(seed), Random(seed))
        plan = None if model is None else next(level_plans_of(model))
        if plan is not None and native.can_levels(plan):
            seen += compare(plan, Random(seed), count)
    return seen


def test_drawn_datapaths() -> None:
    seen = drawn_plans(SEEDS, 2)
    assert all(seen[flags] > 20 for flags in (0, 1, 2, 3)), seen


@pytest.mark.exhaustive
def test_more_drawn_datapaths() -> None:
    seen = drawn_plans(range(4000, 4600), 8)
    assert all(seen[flags] > 20 for flags in (0, 1, 2, 3)), seen


@pytest.mark.parametrize("jobs", [1, 3])
def test_a_product_of_matrices_has_the_flags_of_its_rows(jobs: int) -> None:
    """More rows and columns than a panel and a register of lanes have, with NaNs that signal among them; some outputs by `exact`."""
    plan, rng = resolve_levels("rvbna4_flags"), Random(5)
    m, n = PANEL_ROWS + 3, 19
    a, b = (np.array([[rng.choice((*extremes(plan.a), 0x3F80)) for _ in range(4)] for _ in range(rows)], np.uint16) for rows in (m, n))
    assert plan.c is not None
    c = np.array([rng.choice((*extremes(plan.c), 0x3F800000)) for _ in range(m * n)], np.uint32)
    flags = np.full(m * n, 255, np.uint8)
    found = run_levels_matmul(a, b, None, None, c, None, plan, "native", jobs, flags).reshape(-1)
    for place in [*rng.sample(range(m * n), 250), m * n - 1]:
        one = exact_dot(a[place // n].tolist(), b[place % n].tolist(), [], [], int(c[place]), [], plan)
        assert (int(found[place]), int(flags[place])) == (one.code, one.flags), place
    assert set(flags.tolist()) == {0, 1, 2, 3}


def test_datapaths_that_report_flags_run_here_without_being_asked_for_them() -> None:
    a = np.array([[0x7F80, 0, 0, 0], [0x3F80, 0, 0, 0]])
    assert emu.dot(a, np.full((2, 4), 0x3F80), "rvbna4_flags", engine="native").tolist() == [0x7F800000, 0x3F800000]
