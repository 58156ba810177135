"""The dot kernel against `exact` and the NumPy engine: worked rows, every datapath it takes, altered facts, panels, threads, forms."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from support.dots import Operands, changed, draw_operands, exact_codes, known_datapaths, operands_of, plan_of

from emu import strategies
from emu.base.errors import EngineError, OpenError
from emu.engines.exact.epilogue import add_codes, alpha_code
from emu.engines.exact.epilogue import epilogue as epilogue_exact
from emu.engines.native import convert as kernel
from emu.engines.native import datapath as native
from emu.engines.native._kernels import ffi, lib
from emu.engines.numpy import datapath as npy
from emu.spec import derive
from emu.spec.datapath import DatapathPlan, plans_of, resolve
from emu.spec.models.datapath import DatapathFacts
from emu.spec.models.levels import EpilogueFacts

FORMS = range(kernel.BEST_FORM + 1)
ABLE = [plan for model in known_datapaths() for plan in plans_of(model) if native.can_dot(plan)]
NVFP4 = resolve("blackwell_mxf4nvf4_b16_ue4m3")
BASES = (
    NVFP4,
    resolve("blackwell_mxf4_b32_ue8m0"),
    resolve("blackwell_mxf8f6f4", "e5m2", "e4m3"),
    resolve("blackwell_f8f6f4_f16", "e4m3", "e5m2"),
    resolve("hopper_fp16", "bf16", "bf16"),
)


def check(found: Operands, plan: DatapathPlan, form: int = kernel.BEST_FORM) -> int:
    """Compare dot, and the diagonal of matmul, with the reference model; return the rows compared."""
    wanted = exact_codes(found, plan)
    c = np.tile(found.c, (len(found.c), 1))
    assert native.dot(*found, plan, form=form).tolist() == wanted, plan.name
    assert np.diag(native.matmul(*found[:4], c, plan, form=form)).tolist() == wanted, plan.name
    return len(wanted)


def rows_of(checkout: Any) -> list[dict[str, Any]]:
    text = (checkout / "tests" / "engines" / "exact" / "datapath_rows.yaml").read_text(encoding="utf-8")
    rows: list[dict[str, Any]] = yaml.safe_load(text)["rows"]
    return rows


def test_worked_rows_in_every_form(checkout: Any) -> None:
    compared = 0
    for row in rows_of(checkout):
        plan = plan_of(row["plan"])
        if native.can_dot(plan):
            for form in FORMS:
                found = operands_of(row, plan)
                assert native.dot(*found, plan, form=form).tolist() == [int(row["d"], 16)], (row["plan"], row["category"], form)
                compared += 1
    assert compared >= 180 * len(FORMS)


def test_the_kernel_takes_these_datapaths() -> None:
    assert {plan.datapath.id for plan in ABLE} == {
        "ada_fp8",
        "blackwell_e0m3_f34",
        "blackwell_e0m3_f35",
        "blackwell_e0m3_raised",
        "blackwell_f8f6f4",
        "blackwell_f8f6f4_f16",
        "blackwell_mxf4_b32_ue8m0",
        "blackwell_mxf4nvf4_b16_ue4m3",
        "blackwell_mxf4nvf4_b16_ue8m0",
        "blackwell_mxf4nvf4_b32_ue8m0",
        "blackwell_mxf8f6f4",
        "hopper_fp16",
        "hopper_fp16_f16",
        "hopper_fp8",
        "hopper_fp8_f16",
        "nv_like",
        "nv_like_exact",
    }
    with pytest.raises(EngineError, match="engine native cannot add as ideal"):
        native.matmul(*draw_operands(np.random.default_rng(0), NVFP4, 2, 64)[:4], None, resolve("ideal", "e2m1", "e2m1", "ue4m3", 16))


@pytest.mark.parametrize("name", sorted({plan.datapath.id for plan in ABLE}))
def test_every_choice_of_operands_against_the_reference_model(name: str) -> None:
    compared, plans = 0, [plan for plan in ABLE if plan.datapath.id == name]
    rng = np.random.default_rng([60, len(name)])
    for turn in range(max(2, -(-30 // len(plans)))):
        for plan in plans:
            compared += check(draw_operands(rng, plan, 2, plan.facts.k * (1 + turn % 2)), plan, turn % len(FORMS))
    assert compared >= 60


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("base", BASES, ids=lambda plan: plan.name)
def test_every_form_against_the_reference_model(base: DatapathPlan, form: int) -> None:
    rng, compared = np.random.default_rng([61, form]), 0
    for _ in range(12):
        compared += check(draw_operands(rng, base, 4, 2 * base.facts.k), base, form)
    assert compared == 48


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("base", BASES, ids=lambda plan: plan.name)
def test_every_form_against_numpy_on_many_outputs(base: DatapathPlan, form: int) -> None:
    rng = np.random.default_rng([62, form])
    for rows, columns in ((3, 70), (40, 33)):
        a, b = draw_operands(rng, base, rows, 4 * base.facts.k), draw_operands(rng, base, columns, 4 * base.facts.k)
        given_all = (a.a, b.b, a.scale_a, b.scale_b, rng.choice(np.concatenate([a.c, b.c]), (rows, columns)), base)
        assert native.matmul(*given_all, form=form).tolist() == npy.matmul(*given_all).tolist()


ALTERED: dict[str, dict[str, Any]] = {
    "rounds to nearest": {"round": {"mode": "rne"}},
    "keeps fewer bits": {"round": {"keep": 7}},
    "no floor": {"align": {"floor": "none"}},
    "raised": {"align": {"exponent_raise": 3, "integer_bits": 14}},
    "one fraction bit less": {"align": {"fraction_bits": 22}},
    "flushed elements": {"subnormal": {"elements": "flush"}},
    "flushed scales": {"subnormal": {"scales": "flush"}},
}


@pytest.mark.parametrize("name", ALTERED)
def test_altered_facts_against_the_reference_model(name: str) -> None:
    rng, compared = np.random.default_rng([63, len(name)]), 0
    for base in BASES:
        plan = changed(base, **ALTERED[name])
        assert native.can_dot(plan)
        for turn in range(8):
            compared += check(draw_operands(rng, plan, 3, plan.facts.k), plan, turn % len(FORMS))
    assert compared == 24 * len(BASES)


LEFT_OUT: dict[str, dict[str, Any]] = {
    "aligned downwards": {"align": {"rounding": "rd"}},
    "normalised": {"align": {"exponent": "normalised"}},
    "cancelled groups do not count": {"align": {"cancelled_group_counts": "no"}},
    "wraps": {"align": {"beyond": "wrap", "integer_bits": 9}},
    "flushed C": {"subnormal": {"c": "flush"}},
    "flushed results": {"subnormal": {"result": "flush"}},
    "live NaN scales": {"special": {"nan_scale": "live"}},
    "IEEE zeros": {"special": {"zero": "ieee"}},
    "saturates": {"round": {"overflow": "saturate"}},
    "rounds upwards": {"round": {"mode": "ru"}},
    "wide sums": {"align": {"fraction_bits": 40}},
}


@pytest.mark.parametrize("name", LEFT_OUT)
def test_what_the_kernel_leaves_out_is_refused(name: str) -> None:
    plan = changed(NVFP4, **LEFT_OUT[name])
    assert not native.can_dot(plan)
    found = draw_operands(np.random.default_rng(64), plan, 2, 64)
    with pytest.raises(EngineError, match="use engine='numpy'"):
        native.dot(*found, plan)


@pytest.mark.parametrize(("pair", "fraction_bits", "raised"), [("int8", 12, 0), ("int8", 25, 13), ("bf16", 25, 0), ("bf16", 24, -1)])
def test_sixteen_products_that_fill_32_bits(pair: str, fraction_bits: int, raised: int) -> None:
    """Products of integers lie far above the exponent that they name, those of floats do where it is lowered: one bit more is refused."""
    base = resolve("hopper_fp16", "bf16", "bf16").datapath
    assert isinstance(base.facts, DatapathFacts)

    def plan_with(bits: int, by: int) -> DatapathPlan:
        align = base.facts.align.model_copy(update={"fraction_bits": bits, "exponent_raise": by, "integer_bits": "derived"})
        facts = base.facts.model_copy(update={"a": (pair,), "b": (pair,), "pairs": "any", "align": align})
        return resolve(base.model_copy(update={"id": f"own_{pair}_{bits}_{by}", "facts": facts}), pair, pair)

    plan, largest = plan_with(fraction_bits, raised), {"int8": 0x80, "bf16": 0x3FFF}[pair]
    assert native.can_dot(plan) and not native.can_dot(plan_with(fraction_bits, raised - 1))
    a = np.full((2, 16), largest, {"int8": np.uint8, "bf16": np.uint16}[pair])
    for form in FORMS:
        assert check(Operands(a, a, None, None, np.array([0, 0x3F800000], np.uint32)), plan, form) == 2


@settings(max_examples=60)
@given(st.data())
def test_edge_codes_against_the_reference_model(data: st.DataObject) -> None:
    plan = data.draw(st.sampled_from(ABLE))
    k = max(plan.facts.k, plan.block)

    def codes(fmt: Any, count: int) -> Any:
        few = data.draw(st.lists(strategies.codes(fmt), min_size=1, max_size=4))
        places = data.draw(st.lists(st.integers(0, len(few) - 1), min_size=count, max_size=count))
        return np.array([[few[place] for place in places]], native.code_dtype(fmt))

    scales = [None if plan.scale is None else codes(plan.scale, k // plan.block) for _ in "ab"]
    check(Operands(codes(plan.a, k), codes(plan.b, k), *scales, codes(plan.c, 1)[0]), plan)


@pytest.mark.parametrize("plan", [plan for plan in BASES if plan.scale is None], ids=lambda plan: plan.name)
def test_rows_of_one_code(plan: DatapathPlan) -> None:
    """Every product of a row is the same: where it is infinite, no finite one beside it says that the group has to be looked at."""
    few = []
    for fmt in (plan.a, plan.b):
        code = derive.codes(fmt)
        few.append(
            [0, code.sign_bit, code.max_code, code.sign_bit | 1, *([] if code.inf is None else [code.inf, code.inf | code.sign_bit])]
        )
    pairs = list(itertools.product(*few))
    a, b = (np.array([[pair[side]] * plan.facts.k for pair in pairs], native.code_dtype(fmt)) for side, fmt in enumerate((plan.a, plan.b)))
    check(Operands(a, b, None, None, np.zeros(len(pairs), native.code_dtype(plan.c))), plan)


@pytest.mark.parametrize("name", ["blackwell_mxf4nvf4_b16_ue4m3", "hopper_fp16_f16", "blackwell_mxf8f6f4"])
def test_panels_chunks_and_threads_give_the_same_bits(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plan = next(plan for plan in ABLE if plan.datapath.id == name)
    rng = np.random.default_rng(65)
    found = draw_operands(rng, plan, 37, 4 * plan.facts.k)
    c = rng.choice(found.c, (37, 37))
    before = c.copy()
    wanted = native.matmul(*found[:4], c, plan)
    rows, columns = np.append(np.arange(37), rng.integers(0, 37, 60)), np.append(np.arange(37)[::-1], rng.integers(0, 37, 60))
    scales = [None if x is None else x[part] for x, part in ((found.scale_a, rows), (found.scale_b, columns))]
    chosen = Operands(found.a[rows], found.b[columns], *scales, c[rows, columns])
    assert wanted[rows, columns].tolist() == exact_codes(chosen, plan)
    monkeypatch.setattr(native, "CHUNK", plan.facts.k)
    for rows, columns in ((3, 35), (1, 1), (33, 8)):
        monkeypatch.setattr(native, "PANEL_ROWS", rows)
        monkeypatch.setattr(native, "PANEL_COLUMNS", columns)
        assert native.matmul(*found[:4], c, plan, jobs=2).tolist() == wanted.tolist()
        assert native.dot(*found[:4], np.diag(c), plan).tolist() == np.diag(wanted).tolist()
    assert c.tolist() == before.tolist()


def test_no_c_is_plus_zero_and_nothing_in_gives_nothing_out() -> None:
    found = draw_operands(np.random.default_rng(66), NVFP4, 5, 64)
    nothing = np.zeros(5, np.uint32)
    wanted = exact_codes(found._replace(c=nothing), NVFP4)
    for c in (None, np.zeros((5, 5), np.uint32)):
        assert np.diag(native.matmul(*found[:4], c, NVFP4)).tolist() == wanted and len(set(wanted)) > 1
    none = [part[:0] for part in found]
    assert native.dot(*none, NVFP4).shape == (0,)
    assert native.matmul(none[0], found.b, none[2], found.scale_b, None, NVFP4).shape == (0, 5)


def test_unused_bits_of_a_scale() -> None:
    found = draw_operands(np.random.default_rng(58), NVFP4, 24, 64)
    ignored = found._replace(scale_a=found.scale_a | np.uint8(0x80))
    wanted = exact_codes(found, NVFP4)
    assert native.dot(*ignored, NVFP4).tolist() == wanted == exact_codes(ignored, NVFP4) and len(set(wanted)) > 12
    with pytest.raises(OpenError, match="ue4m3 code 0x"):
        native.dot(*ignored, changed(NVFP4, scale={"unused_bits": "open"}))


@settings(max_examples=200)
@given(st.lists(strategies.codes("fp32"), min_size=4, max_size=4), st.sampled_from(["yes", "no"]))
def test_epilogue_and_split_k_against_the_reference_model(codes: list[int], fused: str) -> None:
    facts = EpilogueFacts(alpha="rne", d="rne", c_place="after", fused=fused)
    d, c, first, second = (np.array([code], np.uint32) for code in codes)
    alpha = native.alpha(codes[2], codes[3], facts, NVFP4)
    assert alpha == alpha_code(codes[2], codes[3], facts, NVFP4)
    for by in (alpha, codes[2], 0x3F800000):
        assert native.epilogue(d, by, c, facts, NVFP4).tolist() == [epilogue_exact(codes[0], by, codes[1], facts, NVFP4)]
        assert native.epilogue(d, by, None, facts, NVFP4).tolist() == [epilogue_exact(codes[0], by, None, facts, NVFP4)]
    assert native.add(first, second, NVFP4).tolist() == [add_codes(codes[2], codes[3], NVFP4)]


@pytest.mark.parametrize("fused", ["yes", "no"])
def test_epilogue_against_the_reference_model_on_many_codes(fused: str) -> None:
    """Any codes; then C minus the product, and up to two units in the last place beside it."""
    rng = np.random.default_rng(68)
    facts = EpilogueFacts(alpha="rne", d="rne", c_place="after", fused=fused)
    for alpha in (0x3F800001, 0x3EAAAAAB, 0x00000003, 0x7F000000, 0xC0490FDB, 0x7F800000, 0x80000000, 0x7FC00000):
        d = np.append(rng.integers(0, 1 << 32, 500, dtype=np.uint32), np.array([0, 1 << 31, 0x7F800000, 0xFF800000, 1], np.uint32))
        near = np.array([epilogue_exact(int(code), alpha, None, facts, NVFP4) for code in d], np.uint32)
        assert native.epilogue(d, alpha, None, facts, NVFP4).tolist() == near.tolist()
        close = (near ^ np.uint32(1 << 31)) + rng.integers(0, 3, d.size, dtype=np.uint32)
        for c in (rng.integers(0, 1 << 32, d.size, dtype=np.uint32), close):
            wanted = [epilogue_exact(int(x), alpha, int(y), facts, NVFP4) for x, y in zip(d, c, strict=True)]
            assert native.epilogue(d, alpha, c, facts, NVFP4).tolist() == wanted


def test_epilogues_of_other_roundings_are_refused() -> None:
    facts = EpilogueFacts(alpha="rz", d="rz", c_place="before", fused="no")
    with pytest.raises(EngineError, match="not by rz"):
        native.alpha(0, 0, facts, NVFP4)
    with pytest.raises(EngineError, match="not by rz"):
        native.epilogue(np.zeros(1, np.uint32), 0, None, facts, NVFP4)


@settings(max_examples=60)
@given(st.lists(strategies.codes("fp16"), min_size=2, max_size=2))
def test_split_k_of_fp16_results(codes: list[int]) -> None:
    plan = resolve("hopper_fp16_f16")
    x, y = (np.array([code], np.uint16) for code in codes)
    assert native.add(x, y, plan).tolist() == [add_codes(*codes, plan)]


def test_bad_arguments_of_the_kernel_are_refused() -> None:
    found = draw_operands(np.random.default_rng(69), NVFP4, 2, 64)
    with pytest.raises(EngineError, match="lacks the instructions"):
        native.dot(*found, NVFP4, form=kernel.BEST_FORM + 1)
    (plan, _kept), room = native._plan_of(NVFP4), ffi.new("char[]", 1 << 16)
    good = [kernel.address(x) for x in found]
    call = (0, plan, good[0], good[1], good[2], good[3], 2, 2, 64, 1, good[4], 1, room)
    for place, bad in ((1, ffi.NULL), (2, ffi.NULL), (4, ffi.NULL), (7, 3), (8, 65), (10, ffi.NULL), (12, ffi.NULL)):
        changed_call = [*call[:place], bad, *call[place + 1 :]]
        assert lib.emu_dot_panel(*changed_call) == lib.EMU_KERNEL_ARGUMENT
    assert lib.emu_dot_epilogue(ffi.NULL, 0, good[4], ffi.NULL, 1, 0, good[4]) == lib.EMU_KERNEL_ARGUMENT
