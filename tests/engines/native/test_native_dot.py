"""Datapaths of one fused step without a kernel of their own go level by level: CDNA3 and other late additions of C, with the same bits."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from support.dots import Operands, draw_operands, exact_codes, known_datapaths

import emu
from emu.engines.c_ref.call import code_dtype
from emu.engines.exact import epilogue as exact_epilogue
from emu.engines.native import convert as kernel
from emu.engines.native import datapath as own
from emu.engines.native import dot as native
from emu.engines.numpy import datapath as in_numpy
from emu.spec.datapath import plans_of, resolve
from emu.spec.models.levels import EpilogueFacts

FORMS = range(kernel.BEST_FORM + 1)
PLANS = {plan.name: plan for model in known_datapaths() for plan in plans_of(model) if native.can_dot(plan) and not own.can_dot(plan)}
CDNA3 = [name for name in PLANS if name.startswith("cdna3_fp8")]


def test_which_datapaths() -> None:
    many = Counter(name.split("/")[0] for name in PLANS)
    assert many == {"cdna3_fp8": 4, "late_c": 96, "ideal": 96, "cheap": 96, "promote": 48, "blackwell_e0m3_wrap": 3}


@pytest.mark.cases(16)
@pytest.mark.parametrize("name", PLANS)
def test_rows_and_products(name: str) -> None:
    plan, rng = PLANS[name], np.random.default_rng(len(name))
    for steps, rows in ((1, 40), (3, 67), (1, 24), (3, 40), (2, 40), (2, 25)):
        given = draw_operands(rng, plan, rows, steps * plan.step)
        a, b, scale_a, scale_b, _ = given
        found = native.dot(*given, plan)
        assert found[:24].tolist() == exact_codes(Operands(*(None if x is None else x[:24] for x in given)), plan)
        if in_numpy.can_dot(plan):
            assert np.array_equal(found, in_numpy.dot(*given, plan))
        few = [None if x is None else x[:9] for x in (b, scale_b)]
        product = native.matmul(a, few[0], scale_a, few[1], None, plan, 2)
        zeros = np.zeros(rows, code_dtype(plan.d))
        for column in range(9):
            beside = [None if x is None else np.repeat(x[column : column + 1], rows, 0) for x in few]
            assert np.array_equal(product[:, column], native.dot(a, beside[0], scale_a, beside[1], zeros, plan))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", CDNA3)
def test_every_form(name: str, form: int) -> None:
    plan, rng = PLANS[name], np.random.default_rng(9)
    for _ in range(8):
        given = draw_operands(rng, plan, 300, 4 * plan.step)
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
    a, b, _, _, c = draw_operands(np.random.default_rng(4), PLANS[CDNA3[0]], 20, 64)
    formats = {"a_format": "e4m3fnuz", "b_format": "e4m3fnuz"}
    found = emu.dot(a, b, "cdna3_fp8", c=c, engine="native", **formats)
    assert found.tolist() == emu.dot(a, b, "cdna3_fp8", c=c, engine="c_ref", **formats).tolist()
