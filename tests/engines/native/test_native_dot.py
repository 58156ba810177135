"""Datapaths of one fused step without a kernel of their own go level by level: CDNA3 and other late additions of C, with the same bits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import emu
from emu.engines.c_ref.call import code_dtype
from emu.engines.exact import epilogue as exact_epilogue
from emu.engines.exact.datapath import dot as exact_dot
from emu.engines.native import convert as kernel
from emu.engines.native import datapath as own
from emu.engines.native import dot as native
from emu.engines.numpy import datapath as in_numpy
from emu.spec import derive, get, names
from emu.spec.datapath import DatapathPlan, plans_of, resolve
from emu.spec.models.datapath import DatapathFacts
from emu.spec.models.levels import EpilogueFacts

FORMS = range(kernel.BEST_FORM + 1)
FUSED = [name for name in names("datapath") if isinstance(get("datapath", name).facts, DatapathFacts)]
KNOWN = [plan for name in FUSED if get("datapath", name).facts.align.fraction_bits != "open" for plan in plans_of(get("datapath", name))]
PLANS = {plan.name: plan for plan in KNOWN if native.can_dot(plan) and not own.can_dot(plan)}
CDNA3 = [name for name in PLANS if name.startswith("cdna3_fp8")]


def operands(plan: DatapathPlan, rows: int, steps: int, seed: int) -> tuple[Any, ...]:
    """Codes of every kind, and in half of the rows small ones without NaN and infinity; C near the products and anywhere."""
    rng, k = np.random.default_rng(seed), steps * max(plan.facts.k, plan.block, plan.step)

    def codes(fmt: Any, *shape: int) -> Any:
        found = rng.integers(0, 1 << derive.codes(fmt).bits, shape).astype(code_dtype(fmt))
        half = derive.codes(fmt).max_code * 3 // 4
        found[: rows // 2] = np.where(found[: rows // 2] > half, found[: rows // 2] % max(half, 1), found[: rows // 2])
        return found

    scales = [None if plan.scale is None else codes(plan.scale, rows, k // plan.block) for _ in "ab"]
    c = rng.integers(0, 1 << 32, rows, dtype=np.uint64).astype(np.uint32)
    c[::2] = rng.normal(0, 2.0 ** rng.integers(-30, 30, c[::2].shape)).astype(np.float32).view(np.uint32)
    c[3::5] = 0
    return codes(plan.a, rows, k), codes(plan.b, rows, k), *scales, c.astype(code_dtype(plan.d))


def test_which_datapaths() -> None:
    assert len(CDNA3) == 4 and {name.split("/")[0] for name in PLANS} >= {"cdna3_fp8", "late_c", "cheap", "blackwell_e0m3_wrap"}


@pytest.mark.cases(16)
@pytest.mark.parametrize("name", PLANS)
def test_rows_and_products(name: str) -> None:
    plan = PLANS[name]
    for steps, rows in ((1, 40), (3, 67)):
        a, b, scale_a, scale_b, c = operands(plan, rows, steps, steps)
        found = native.dot(a, b, scale_a, scale_b, c, plan)
        wanted = [
            exact_dot(*([] if x is None else x[i].tolist() for x in (a, b, scale_a, scale_b)), int(c[i]), plan).code for i in range(24)
        ]
        assert found[:24].tolist() == wanted
        if in_numpy.can_dot(plan):
            assert np.array_equal(found, in_numpy.dot(a, b, scale_a, scale_b, c, plan))
        few = [None if x is None else x[:9] for x in (b, scale_b)]
        product = native.matmul(a, few[0], scale_a, few[1], None, plan, 2)
        zeros = np.zeros(rows, code_dtype(plan.d))
        for column in range(9):
            beside = [None if x is None else np.repeat(x[column : column + 1], rows, 0) for x in few]
            assert np.array_equal(product[:, column], native.dot(a, beside[0], scale_a, beside[1], zeros, plan))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", CDNA3)
def test_every_form(name: str, form: int) -> None:
    plan = PLANS[name]
    given = operands(plan, 300, 4, 9)
    assert np.array_equal(native.dot(*given, plan, form=form), in_numpy.dot(*given, plan))


def test_a_plan_that_says_more_than_its_datapath_is_left_to_others() -> None:
    """What a search of faults changes in a plan, its levels do not say."""
    plan = resolve("cdna3_fp8", "e4m3fnuz", "e4m3fnuz")
    assert plan.frac_bits is not None and native.can_dot(plan)
    assert not native.can_dot(replace(plan, frac_bits=plan.frac_bits - 1))


@pytest.mark.parametrize("fused", ["yes", "no"])
def test_the_epilogue(fused: str) -> None:
    plan, facts = PLANS[CDNA3[0]], EpilogueFacts(alpha="rne", d="rne", c_place="after", fused=fused)
    d, c = np.float32([1.1, -3e38, np.inf, 0]).view(np.uint32), np.float32([1e-9, 3e38, 1, -0.0]).view(np.uint32)
    by = native.alpha(0x3F9D70A4, 0x3FC00001, facts, plan)
    assert by == exact_epilogue.alpha_code(0x3F9D70A4, 0x3FC00001, facts, plan)
    wanted = [exact_epilogue.epilogue(int(x), by, int(y), facts, plan) for x, y in zip(d, c, strict=True)]
    assert native.epilogue(d, by, c, facts, plan).tolist() == wanted
    assert native.add(d, c, plan).tolist() == [exact_epilogue.add_codes(int(x), int(y), plan) for x, y in zip(d, c, strict=True)]


def test_the_public_functions_take_it() -> None:
    a, b, _, _, c = operands(PLANS[CDNA3[0]], 20, 2, 4)
    formats = {"a_format": "e4m3fnuz", "b_format": "e4m3fnuz"}
    found = emu.dot(a, b, "cdna3_fp8", c=c, engine="native", **formats)
    assert found.tolist() == emu.dot(a, b, "cdna3_fp8", c=c, engine="c_ref", **formats).tolist()
