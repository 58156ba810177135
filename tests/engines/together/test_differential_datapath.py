"""Dot products: every engine of the columns against the reference model, on every directed category of every plan and on drawn rows."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.whole import tries

from emu.contracts.contract import array_of
from emu.contracts.dot.cases import CATEGORIES, applies, rows
from emu.contracts.dot.contract import dot_engines
from emu.contracts.dot.rows import DotRow
from emu.engines.exact.datapath import dot
from emu.spec import derive
from emu.spec.contract import plans
from emu.spec.datapath import DatapathPlan
from emu.spec.models import Format

PLANS = list(plans())
KINDS = (
    "blackwell_mxf4nvf4_b16_ue4m3", "blackwell_mxf4_b32_ue8m0", "blackwell_mxf8f6f4/e4m3xe4m3", "blackwell_f8f6f4_f16/e5m2xe5m2",
    "hopper_fp8/e4m3xe5m2", "hopper_fp16/bf16xbf16", "hopper_fp16_f16", "ada_fp8/e5m2xe4m3", "cdna3_fp8/e5m2fnuzxe4m3fnuz",
    "blackwell_e0m3_wrap/e0m3xe0m3", "blackwell_e0m3_raised", "ideal/int4xe2m1/ue4m3/32", "int64/e1m2xint4/16",
    "nv_like/e1m2xe1m2/e8m0/16", "nv_like_exact/e2m1xe0m3/ue4m3/16", "cheap/e2m1xe1m2/ue4m3/16", "late_c/int4xint4/ue4m3/16",
    "promote/e1m2xe1m2/32",
)  # fmt: skip
FEW, SHARE = 4, 40


def compare(plan: DatapathPlan, cases: Sequence[DotRow]) -> int:
    """Every engine that can do a plan gives the reference model's codes; returns how many engines there were."""
    wanted = [dot(*case, plan).code for case in cases]
    arrays = stacked(plan, cases)
    found = dot_engines(plan)
    for name, engine in found.items():
        got = [int(code) for code in np.asarray(engine(*arrays, plan))]
        wrong = [number for number, (one, other) in enumerate(zip(got, wanted, strict=True)) if not same(one, other, plan)]
        assert not wrong, f"{plan.name}: {name} gives {got[wrong[0]]:#x}, not {wanted[wrong[0]]:#x}, for {cases[wrong[0]]}"
    return len(found)


def same(code: int, wanted: int, plan: DatapathPlan) -> bool:
    """Equal codes; any NaN for a datapath whose payload nobody knows."""
    free = plan.facts.special.nan == "any" and derive.is_nan_code(wanted, plan.d)
    return derive.is_nan_code(code, plan.d) if free else code == wanted


def stacked(plan: DatapathPlan, cases: Sequence[DotRow]) -> tuple[Any, ...]:
    """The cases as arrays: a, b, scales of a and b or None, c."""
    formats = (plan.a, plan.b, plan.scale, plan.scale, plan.c)
    return tuple(None if fmt is None else array_of([list(row) if isinstance(row, tuple) else row for row in column], fmt)
                 for column, fmt in zip(zip(*cases, strict=True), formats, strict=True))  # fmt: skip


def directed(plan: DatapathPlan, count: int) -> list[DotRow]:
    """Rows of every category of one instruction; those with an open bit are left out."""
    return [
        case for name in CATEGORIES if name not in ("chain", "scale_signbit") and applies(name, plan) for case in rows(name, plan, count)
    ]


def named(name: str) -> DatapathPlan:
    return next(plan for plan in PLANS if plan.name == name)


@pytest.mark.cases(6)
@pytest.mark.parametrize("name", KINDS)
def test_every_category_on_one_plan_of_each_kind(name: str) -> None:
    plan = named(name)
    assert compare(plan, directed(plan, FEW)) + compare(plan, rows("chain", plan, 2)) >= 2


def test_every_category_on_a_share_of_all_plans() -> None:
    """A seeded choice, the same on every machine; all of them with -m exhaustive."""
    chosen = sorted(PLANS, key=lambda plan: hashlib.sha256(plan.name.encode()).digest())[:: len(PLANS) // SHARE]
    engines = [compare(plan, directed(plan, 1)) for plan in chosen]
    assert len(chosen) >= SHARE and min(engines) >= 1


@pytest.mark.exhaustive
def test_every_category_on_every_plan() -> None:
    engines = [compare(plan, directed(plan, 6)) + compare(plan, rows("chain", plan, 1)) for plan in PLANS[:: tries(10, 1)]]
    assert len(engines) > tries(60, 600) and min(engines) >= 2


def finite_or_not(fmt: Format) -> st.SearchStrategy[int]:
    """Codes of a format, ends and specials weighted."""
    known = derive.codes(fmt)
    top = (1 << known.bits) - 1
    landmarks = [
        0,
        1,
        known.max_code,
        known.sign_bit,
        known.sign_bit | known.max_code,
        top,
        *known.nan,
        *([known.inf] if known.inf else []),
    ]
    return st.one_of(st.integers(0, top), st.sampled_from(sorted(set(landmarks))))


@st.composite
def drawn(draw: st.DrawFn, plan: DatapathPlan) -> DotRow:
    """One row: a few elements set, the others zero; scales and C anywhere."""
    k = plan.facts.k
    sides = []
    for fmt in (plan.a, plan.b):
        chosen = draw(st.dictionaries(st.integers(0, k - 1), finite_or_not(fmt), max_size=6))
        fill = draw(st.sampled_from([0, 1, derive.codes(fmt).max_code]))
        sides.append(tuple(chosen.get(lane, fill) for lane in range(k)))
    count = k // plan.block if plan.block else 0
    scales = (
        [] if plan.scale is None else [tuple(draw(st.lists(finite_or_not(plan.scale), min_size=count, max_size=count))) for _ in range(2)]
    )
    return DotRow(sides[0], sides[1], scales[0] if scales else (), scales[1] if scales else (), draw(finite_or_not(plan.c)))


@settings(max_examples=30)
@given(st.data())
def test_drawn_rows(data: st.DataObject) -> None:
    plan = data.draw(st.sampled_from([plan for plan in PLANS if dot_engines(plan)]), label="plan")
    assert compare(plan, [data.draw(drawn(plan), label="row") for _ in range(2)]) >= 1
