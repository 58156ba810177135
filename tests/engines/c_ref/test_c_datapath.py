"""Datapaths in the C reference against the reference model: every shipped one and every stage of it, changed facts, derived widths."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.c_dot import in_c

from emu.base.errors import EngineError, OpenError
from emu.engines.c_ref import datapath as native
from emu.engines.c_ref._c import ffi, lib
from emu.engines.c_ref.call import code_dtype
from emu.engines.exact.datapath import dot
from emu.spec import derive
from emu.spec.datapath import DatapathPlan, pairs, resolve
from emu.spec.models import Datapath, Format
from emu.spec.models.datapath import DatapathFacts
from emu.spec.registry import get, names
from emu.strategies import edge_codes, is_finite_code

Operands = tuple[list[int], list[int], list[int], list[int], int]


def known() -> list[str]:
    """Return the datapaths whose results are known."""
    found = []
    for name in names("datapath"):
        facts = get("datapath", name).facts
        if isinstance(facts, DatapathFacts) and "open" not in (facts.align.fraction_bits, facts.align.exponent_raise):
            found.append(name)
    return found


def plans_of(datapath: str | Datapath) -> list[DatapathPlan]:
    """Return every choice of operands that a datapath takes."""
    facts = get("datapath", datapath).facts
    blocks, scales = facts.scale.blocks or (None,), facts.scale.formats or (None,)
    return [resolve(datapath, a, b, scale, block) for a, b in pairs(facts) for scale in scales for block in blocks]


# Operands drawn so that something happens: edges, exponents close together, zeros, a second half that cancels the first, C near the sum.
def draw_code(random: Random, fmt: Format, style: int, middle: int) -> int:
    """Return a code: 0 any, 1 an edge, 2 any finite one, 3 close to the middle."""
    codes = derive.codes(fmt)
    if style == 0:
        return random.getrandbits(codes.bits)
    if style == 1:
        return random.choice(edge_codes(fmt))
    spread = max(2, codes.max_code // 16)
    code = random.randint(0, codes.max_code) if style == 2 else min(max(middle + random.randint(-spread, spread), 0), codes.max_code)
    code |= codes.sign_bit if random.random() < 0.5 else 0
    return code if random.random() > 0.2 and is_finite_code(code, fmt) else 0


def draw_row(random: Random, fmt: Format | None, count: int, styles: tuple[int, ...]) -> list[int]:
    """Return codes of one style."""
    if fmt is None:
        return []
    style, middle = random.choice(styles), random.randint(0, derive.codes(fmt).max_code)
    return [draw_code(random, fmt, style, middle) for _ in range(count)]


def draw_operands(random: Random, plan: DatapathPlan) -> Operands:
    """Return the operands of one row of one instruction or more."""
    least = max(plan.facts.k, plan.block)
    k = least * random.choice((1, 1, 2))
    a, b = draw_row(random, plan.a, k, (0, 1, 2, 2, 3, 3)), draw_row(random, plan.b, k, (0, 1, 2, 2, 3, 3))
    if random.random() < 0.3:
        a[k // 2 :], b[k // 2 :] = a[: k // 2], [code ^ derive.codes(plan.b).sign_bit for code in b[: k // 2]]
    if random.random() < 0.5:
        a = [0 if random.random() < 0.7 else code for code in a]
    blocks = k // plan.block if plan.block else 0
    scale_a, scale_b = (draw_row(random, plan.scale, blocks, (1, 2, 3, 3, 3)) for _ in range(2))
    (c,) = draw_row(random, plan.c, 1, (0, 1, 2, 3))
    if random.random() < 0.3:
        c = 0
    return a, b, scale_a, scale_b, c


def near_the_sum(random: Random, operands: Operands, plan: DatapathPlan) -> Operands:
    """Return the operands with C close to minus the sum."""
    codes = derive.codes(plan.d)
    found = dot(*operands[:4], 0, plan).code
    return *operands[:4], ((found ^ codes.sign_bit) + random.randint(-2, 2)) % (1 << codes.bits)


def compare(operands: Operands, plan: DatapathPlan) -> None:
    """Compare the result and every stage with the reference model."""
    try:
        wanted = dot(*operands, plan)
    except OpenError:
        with pytest.raises(OpenError):
            in_c(operands, plan)
        return
    assert in_c(operands, plan) == wanted.code, (plan.name, operands)
    steps = native.dot_stages(*operands, plan)
    for got, step in zip(steps, wanted.steps, strict=len(wanted.steps) > 1):
        if plan.accumulator is None:
            assert got.code == step.code
        assert (got.special != 0) == (step.special is not None)
        if step.special is not None:
            continue
        if step.scale_codes:
            assert (got.part_code, got.scale_code, got.term_code) == (step.parts[0], step.scale_codes[0], step.term_codes[0])
            continue
        assert (got.total, got.lsb_exp, list(got.aligned)) == (step.total, step.lsb_exp, step.aligned), (plan.name, operands)
        assert got.exp == (step.exp or 0)
        assert got.aligned_c == (step.aligned_c or 0)
        if step.terms:
            terms = [(t.significand, t.exp - t.frac_bits, t.exp, t.live, t.group_sum) for t in step.terms]
            assert list(got.terms) == terms
        if plan.late_c is not None:
            assert list(got.parts) == step.parts
        elif step.parts:
            assert got.part_code == step.parts[0]


@pytest.mark.cases(1, 11)
@pytest.mark.parametrize("name", known())
@given(seed=st.integers(0, 1 << 64))
def test_every_datapath_equals_the_reference_model(name: str, seed: int) -> None:
    random = Random(seed)
    plan = random.choice(plans_of(name))
    operands = draw_operands(random, plan)
    compare(operands, plan)
    if random.random() < 0.3 and plan.accumulator is None:
        compare(near_the_sum(random, operands, plan), plan)


@pytest.mark.cases(10)
@pytest.mark.parametrize("name", known())
def test_every_choice_of_operands_equals_the_reference_model(name: str) -> None:
    random = Random(name)
    for plan in plans_of(name):
        for _ in range(2):
            compare(draw_operands(random, plan), plan)


def changed(base: str, **parts: Any) -> Datapath:
    """Return a datapath with some facts replaced: a key of the facts, or of one of its parts as part__key."""
    model = get("datapath", base)
    facts = model.facts
    for key, value in parts.items():
        part, _, inner = key.partition("__")
        facts = facts.model_copy(update={part: getattr(facts, part).model_copy(update={inner: value}) if inner else value})
    return model.model_copy(update={"id": "changed", "facts": DatapathFacts.model_validate(facts.model_dump()), "expect": ()})


CHANGES: list[tuple[str, dict[str, Any]]] = [
    *(("nv_like", {"align__rounding": mode}) for mode in ("rd", "rne")),
    *(("blackwell_mxf8f6f4", {"align__rounding": mode, "align__fraction_bits": 9}) for mode in ("rd", "rne")),
    ("nv_like", {"align__exponent": "normalised"}),
    ("blackwell_mxf8f6f4", {"align__exponent": "normalised", "align__fraction_bits": 12}),
    ("nv_like", {"align__exponent_raise": 3}),
    ("nv_like", {"align__exponent_raise": -5, "align__exponent": "normalised"}),
    ("nv_like", {"align__cancelled_group_counts": "no"}),
    ("nv_like", {"align__floor": -20}),
    ("nv_like", {"align__floor": "none", "align__fraction_bits": 300}),
    ("nv_like_exact", {"align__rounding": "rd"}),
    ("blackwell_f8f6f4", {"align__fraction_bits": "exact_products"}),
    ("hopper_fp16", {"align__fraction_bits": "exact", "align__floor": "none", "align__integer_bits": "none"}),
    ("hopper_fp16", {"align__fraction_bits": "exact_products"}),
    *(("blackwell_f8f6f4", {"round__mode": mode}) for mode in ("rna", "ru", "rd", "odd")),
    ("ideal", {"round__keep": 10, "round__mode": "ru"}),
    ("cheap", {"round__keep": 0}),
    ("blackwell_f8f6f4_f16", {"round__overflow": "saturate"}),
    ("hopper_fp16_f16", {"round__overflow": "saturate", "round__mode": "rz"}),
    *((base, {"subnormal__elements": "flush", "subnormal__c": "flush"}) for base in ("blackwell_f8f6f4", "cdna3_fp8", "late_c", "int64")),
    *((base, {"subnormal__scales": "flush", "subnormal__result": "flush"}) for base in ("nv_like", "ideal", "late_c")),
    ("promote", {"subnormal__scales": "flush", "subnormal__c": "flush", "subnormal__elements": "flush"}),
    *((base, {"special__nan_scale": "live"}) for base in ("nv_like", "blackwell_mxf8f6f4", "int64")),
    *((base, {"special__zero": "ieee"}) for base in ("nv_like", "ideal", "late_c", "cdna3_fp8")),
    ("promote", {"special__nan": "any"}),
    *(("promote", {"promote__fused": "yes", f"promote__{key}": mode}) for key, mode in (("acc", "rd"), ("scale_product", "ru"))),
    ("promote", {"promote__term": "rz", "promote__acc": "odd"}),
    ("blackwell_e0m3_wrap", {"align__fraction_bits": 20, "align__integer_bits": 4, "align__floor": -9}),
    ("nv_like", {"align__fraction_bits": 90, "align__integer_bits": 6, "align__beyond": "wrap"}),
    ("nv_like", {"scale__unused_bits": "open"}),
    ("nv_like", {"step": 16}),
    ("nv_like", {"step": 32, "group": 8}),
    ("nv_like", {"k": 96, "step": 24, "group": 8}),  # steps begin inside a block and go on into the next
    ("blackwell_mxf8f6f4", {"k": 96, "step": 48}),
    ("cdna3_fp8", {"split": 4}),
    ("cdna3_fp8", {"split": 1, "step": 32, "align__fraction_bits": 10}),
    ("int64", {"accumulator__bits": 48}),
    ("int64", {"accumulator__bits": 200, "scale__formats": ("ue5m3",)}),
    ("blackwell_mxf8f6f4", {"scale__formats": ("e4m3", "bf16", "e5m2")}),
    ("blackwell_mxf8f6f4", {"a": ("int4", "e2m1"), "b": ("e5m2", "bf16")}),
]


@pytest.mark.cases(9)
@pytest.mark.parametrize(("base", "parts"), CHANGES, ids=str)
def test_changed_facts_equal_the_reference_model(base: str, parts: dict[str, Any]) -> None:
    """The general model: what no shipped datapath has, or only with other numbers."""
    model, random = changed(base, **parts), Random(str((base, parts)))
    plans = plans_of(model)
    assert plans[0].facts == model.facts != get("datapath", base).facts
    for number in range(60):
        plan = plans[number % len(plans)]
        operands = draw_operands(random, plan)
        if random.random() < 0.1 and plan.scale is not None and derive.unused_high_bits(plan.scale):
            operands[2][0] |= 1 << derive.codes(plan.scale).bits
        compare(operands, plan)


def widths_of(plan: DatapathPlan) -> Any:
    """Return what C derives."""
    found = ffi.new("emu_widths *")
    assert lib.emu_derive_widths(native.datapath_descriptor(plan).pointer, found) == lib.EMU_OK
    return found


@pytest.mark.parametrize("name", known())
def test_widths_are_derived_as_the_spec_does(name: str) -> None:
    for plan in plans_of(name):
        found, wanted = widths_of(plan), plan.widths
        assert (found.product_bits, found.group_sum_bits) == (wanted.product_bits, wanted.group_sum_bits), plan.name
        if plan.facts.scale.apply != "promote":
            assert (found.term_bits, found.step_sum_bits) == (wanted.term_bits, wanted.step_sum_bits), plan.name
            assert (found.step_sum_lsb_exp, found.exact_lsb_exp) == (wanted.step_sum_lsb_exp, plan.exact_lsb_exp), plan.name
        if plan.frac_bits is None:
            assert (found.frac_bits, found.integer_bits, found.has_floor) == (-1, -1, 0)
        else:
            stated = -1 if plan.integer_bits is None else plan.integer_bits
            assert (found.frac_bits, found.integer_bits, found.needed_bits) == (plan.frac_bits, stated, plan.integer_bits_needed), plan.name
            assert (bool(found.has_floor), found.floor_exp) == (plan.floor is not None, plan.floor or 0), plan.name


@pytest.mark.parametrize("name", known())
def test_matmul_is_dot_of_every_pair_of_rows(name: str) -> None:
    random = Random(name)
    plan = random.choice(plans_of(name))
    k, sizes = max(plan.facts.k, plan.block), (3, 4)
    blocks = k // plan.block if plan.block else 0
    codes = [[draw_row(random, plan.a, k, (2, 3)) for _ in range(sizes[0])], [draw_row(random, plan.b, k, (2, 3)) for _ in range(sizes[1])]]
    scales = [[draw_row(random, plan.scale, blocks, (3,)) for _ in range(size)] for size in sizes]
    c = [[draw_row(random, plan.c, 1, (2, 3))[0] for _ in range(sizes[1])] for _ in range(sizes[0])]
    a, b = (np.array(rows, code_dtype(fmt)) for rows, fmt in zip(codes, (plan.a, plan.b), strict=True))
    scale_a, scale_b = (None if plan.scale is None else np.array(rows, code_dtype(plan.scale)) for rows in scales)
    for given_c in (None, np.array(c, code_dtype(plan.c))):
        got = native.matmul(a, b, scale_a, scale_b, given_c, plan)
        assert got.dtype == code_dtype(plan.d)
        for i in range(sizes[0]):
            for j in range(sizes[1]):
                addend = 0 if given_c is None else c[i][j]
                assert got[i, j] == dot(codes[0][i], codes[1][j], scales[0][i], scales[1][j], addend, plan).code, (i, j)


def test_rows_of_one_call_have_stages_of_their_own() -> None:
    random, rows = Random(5), 3
    plan = next(plan for name in known() for plan in plans_of(name) if plan.scale is None and plan.accumulator is None)
    steps = 2
    codes = [[draw_row(random, fmt, steps * plan.step, (2, 3)) for _ in range(rows)] for fmt in (plan.a, plan.b)]
    c = draw_row(random, plan.c, rows, (2, 3))
    a, b = (np.array(each, code_dtype(fmt)) for each, fmt in zip(codes, (plan.a, plan.b), strict=True))
    made, addend = native.datapath_descriptor(plan), native._matrix(np.array(c, code_dtype(plan.c)).reshape(-1, 1), plan.c)
    room = [(ffi.new("emu_term[]", plan.step), ffi.new("emu_wide[]", plan.step)) for _ in range(rows * steps)]
    stages = ffi.new("emu_stages[]", [{"terms": terms, "aligned": aligned} for terms, aligned in room])
    out, marks = native._result((rows, 1), plan)
    operands = native._pointers(*native._operands(a, b, None, None, plan), addend)
    assert lib.emu_dot(made.pointer, *operands, native._pointer(out, marks), stages) == lib.EMU_OK
    for row in range(rows):
        wanted = native.dot_stages(codes[0][row], codes[1][row], [], [], c[row], plan)
        assert [native._read_stages(stages[row * steps + step], plan) for step in range(steps)] == wanted


def test_an_unused_bit_of_a_scale_is_ignored_or_open() -> None:
    given = ([2] * 64, [2] * 64, [0xB8, 0x38, 0x38, 0x38], [0x38] * 4, 0)
    chosen = ("e2m1", "e2m1", "ue4m3", 16)
    ignoring, refusing = resolve("ideal", *chosen), resolve(changed("ideal", scale__unused_bits="open"), *chosen)
    assert in_c(given, ignoring) == 0x42800000
    with pytest.raises(OpenError, match="row 0: a code has an unused bit set"):
        in_c(given, refusing)


@pytest.mark.parametrize(
    ("base", "parts"),
    [
        ("blackwell_mxf8f6f4", {"scale__formats": ("fp32",), "a": ("fp16",), "b": ("fp16",)}),
        ("promote", {"special__zero": "plus"}),  # a step that promotes keeps the signs of zeros: such a datapath goes level by level
    ],
    ids=str,
)
def test_what_passes_a_limit_is_left_to_the_reference_model(base: str, parts: dict[str, Any]) -> None:
    plan = plans_of(changed(base, **parts))[0]
    assert not native.can_dot(plan)
    with pytest.raises(EngineError, match="passes a limit of the C reference"):
        native.datapath_descriptor(plan)


def test_no_shipped_datapath_passes_a_limit() -> None:
    for name in known():
        assert all(native.can_dot(plan) for plan in plans_of(name))
