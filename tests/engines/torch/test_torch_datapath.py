"""dot, matmul, epilogues of the torch engine against `exact`: every datapath that it takes; tiles; refusals; exact sums of limbs."""

from __future__ import annotations

import importlib
import os
from fractions import Fraction
from math import lcm

import numpy as np
import pytest

import emu
from emu.base.errors import OpenError
from emu.base.philox import words
from emu.engines.exact.datapath import dot as dot_exact
from emu.spec import derive, get, names
from emu.spec.datapath import plans_of, resolve
from emu.spec.models.datapath import Accumulator

torch = importlib.import_module("torch") if os.environ.get("EMU_NEED_TORCH") else pytest.importorskip("torch", reason="no torch here")
can_torch = importlib.import_module("emu.engines.torch.can")
datapath = importlib.import_module("emu.engines.torch.datapath")
edge = importlib.import_module("emu.engines.torch.arrays")
limbs = importlib.import_module("emu.engines.torch.limbs")


def plans():
    """At most three choices of operands of each datapath, among them the first and the last."""
    found = []
    for name in names("datapath"):
        try:
            every = [plan for plan in plans_of(name) if can_torch.can_dot(plan)]
        except OpenError:
            continue
        found += [every[i] for i in sorted({0, len(every) // 2, len(every) - 1})] if every else []
    return found


PLANS = plans()


def width(fmt):
    bits = derive.codes(fmt).bits
    return np.uint8 if bits <= 8 else np.uint16 if bits <= 16 else np.uint32


def codes(fmt, shape, key, finite=True):
    """Codes of a format: any finite one, or any; wide formats in a few binades around 1 so that bits fall off."""
    draw, bits = words(key, int(np.prod(shape))), derive.codes(fmt).bits
    if bits <= 8:
        able_codes = [code for code in range(1 << bits) if not finite or derive.is_finite_code(code, fmt)]
        return np.array(able_codes, width(fmt))[draw % len(able_codes)].reshape(shape)
    found = draw & ((1 << bits) - 1)
    if finite:
        frac = fmt.facts.frac_bits
        sign, fraction = found & derive.codes(fmt).sign_bit, found & ((1 << frac) - 1)
        found = sign | ((fmt.facts.bias - 6 + draw % 13) << frac) | fraction
    return found.astype(width(fmt)).reshape(shape)


def rows_of(plan, count, key, finite=True):
    k = lcm(plan.facts.k, plan.block or 1) * (2 if plan.facts.k <= 32 else 1)
    a, b = codes(plan.a, (count, k), key, finite), codes(plan.b, (count, k), key + 1, finite)
    scales = [None, None]
    if plan.scale is not None:
        scales = [codes(plan.scale, (count, k // plan.block), key + 2 + i, finite) for i in range(2)]
        if derive.codes(plan.scale).bits <= 8 and finite:
            near = {0: 0, 1: derive.codes(plan.scale).max_code // 2}  # half of the rows: scales within a few codes of each other
            for scale in scales:
                scale[::2] = near[1] + scale[::2] % 6
    return a, b, *scales, codes(plan.c, (count,), key + 5, finite)


def judged(plan, a, b, sa, sb, c):
    out = []
    for i in range(len(c)):
        given = [[] if x is None else x[i].tolist() for x in (sa, sb)]
        try:
            out.append(dot_exact(a[i].tolist(), b[i].tolist(), *given, int(c[i]), plan).code)
        except OpenError:
            out.append(-1)
    return out


def found_of(plan, a, b, sa, sb, c):
    """Row by row where a row may be open."""
    try:
        return edge.dot(a, b, sa, sb, c, plan).tolist()
    except OpenError:
        out = []
        for i in range(len(c)):
            one = slice(i, i + 1)
            try:
                out.append(int(edge.dot(a[one], b[one], *(None if x is None else x[one] for x in (sa, sb)), c[one], plan)[0]))
            except OpenError:
                out.append(-1)
        return out


@pytest.mark.parametrize("plan", PLANS, ids=lambda plan: plan.name)
def test_every_datapath_against_the_reference_model(plan):
    for finite in (True, False):
        rows = rows_of(plan, 8, 61, finite)
        wanted = judged(plan, *rows)
        assert found_of(plan, *rows) == wanted
        assert not finite or len(set(wanted)) > 1


def test_the_column_takes_the_published_datapaths():
    taken = {plan.datapath.id for plan in PLANS}
    assert taken >= {"blackwell_mxf4nvf4_b16_ue4m3", "blackwell_mxf4_b32_ue8m0", "blackwell_f8f6f4", "hopper_fp8", "hopper_fp16", "ada_fp8"}
    assert taken >= {"cdna3_fp8", "ideal", "int64", "late_c", "cheap", "promote", "nv_like", "blackwell_e0m3_wrap"}


def test_tiles_never_matter(monkeypatch):
    plan = resolve("blackwell_mxf4nvf4_b16_ue4m3")
    a, b, sa, sb, _ = rows_of(plan, 9, 5)
    whole = edge.matmul(a, b[:5], sa, sb[:5], None, plan)
    for i in range(9):
        left, scale = np.repeat(a[i : i + 1], 5, 0), np.repeat(sa[i : i + 1], 5, 0)
        assert whole[i].tolist() == judged(plan, left, b[:5], scale, sb[:5], np.zeros(5, np.uint32))
    monkeypatch.setattr(datapath, "TILE", 4 * 64)
    assert np.array_equal(edge.matmul(a, b[:5], sa, sb[:5], None, plan), whole)


def test_an_accumulator_that_overflows_says_where():
    model = get("datapath", "int64")
    small = model.facts.model_copy(update={"accumulator": Accumulator(bits=40, overflow="error")})
    plan = resolve(model.model_copy(update={"facts": small}), "e1m2", "e1m2", None, 16)
    k = 64 * plan.facts.k
    assert 0 <= plan.largest_k < k
    a = np.full((2, k), derive.codes(plan.a).max_code, np.uint8)
    scale = np.full((2, k // 16), derive.codes(plan.scale).max_code, np.uint8)
    a[0] = 0
    with pytest.raises(OpenError, match=r"row 1: .* accumulator overflows"):
        edge.dot(a, a, scale, scale, np.zeros(2, np.uint32), plan)


@pytest.mark.parametrize("name", ["int64", "ideal", "nv_like"])
def test_a_binary64_c_beyond_every_product(name):
    """Above and below all that a register, an exact sum or an aligned one has room for; its largest and its least number among them."""
    model = get("datapath", name)
    facts = type(model.facts).model_validate(model.facts.model_dump() | {"c": "fp64"})
    plan = resolve(model.model_copy(update={"facts": facts}), "e2m1", "e2m1", "ue4m3", 16)
    least, largest = 2.0**-1074, float(np.finfo(np.float64).max)
    c = np.array([sign * x for x in (least, 2.0**-400, 2.0**100, 2.0**260, 2.0**400, largest) for sign in (1, -1)]).view(np.uint64)
    a, b, sa, sb, _ = rows_of(resolve(name, "e2m1", "e2m1", "ue4m3", 16), len(c), 87)
    wanted = judged(plan, a, b, sa, sb, c)
    assert {0x7F800000, 0xFF800000} < set(wanted)
    assert found_of(plan, a, b, sa, sb, c) == wanted


@pytest.mark.parametrize("operation", ["dot", "matmul"])
def test_a_set_bit_above_a_scale_is_refused_where_its_meaning_is_open(operation):
    model = get("datapath", "ideal")
    scale = model.facts.scale.model_copy(update={"unused_bits": "open"})
    stated = model.model_copy(update={"facts": model.facts.model_copy(update={"scale": scale})})
    codes, scales = np.full((2, 64), 2, np.uint8), np.full((2, 4), 0x38, np.uint8)
    high = scales | np.uint8(0x80)
    run = getattr(importlib.import_module("emu.engines.torch.arrays"), operation)
    c = np.zeros((2, 2) if operation == "matmul" else 2, np.uint32)
    ignores, refuses = (resolve(each, "e2m1", "e2m1", "ue4m3", 16) for each in (model, stated))
    assert np.array_equal(run(codes, codes, scales, high, c, ignores), run(codes, codes, scales, scales, c, refuses))
    for given in ((high, scales), (scales, high)):
        with pytest.raises(OpenError, match="ue4m3 code 0xb8: what a set bit 7 means is open"):
            run(codes, codes, *given, c, refuses)


def test_nan_scales_of_zero_products_that_do_not_count():
    """Rows: a, then b is zero where the scale is NaN; one product there is not; the same under the scales of b."""
    model = get("datapath", "nv_like")
    live = model.facts.model_copy(update={"special": model.facts.special.model_copy(update={"nan_scale": "live"})})
    plan = resolve(model.model_copy(update={"facts": live}), "e2m1", "e2m1", "ue4m3", 16)
    a, b, sa, sb, c = rows_of(plan, 6, 83)
    a[:, :16] = b[:, :16] = 2
    sa[:3, 0] = sb[3:, 0] = derive.codes(plan.scale).nan[0]
    a[::3, :16] = b[1::3, :16] = a[2::3, :15] = 0
    wanted = judged(plan, a, b, sa, sb, c)
    assert [code == plan.nan_code for code in wanted] == [False, False, True] * 2
    assert found_of(plan, a, b, sa, sb, c) == wanted


@pytest.mark.parametrize("place", ["before", "after"])
@pytest.mark.parametrize("name", ["nvfp4_te_ref", "nvufp4"])
def test_matmul_of_quantized_arrays_with_an_epilogue(name, place):
    x = (words(9, 6 * 64).view(np.int32) / np.float32(1 << 29)).astype(np.float32).reshape(6, 64)
    c = np.ascontiguousarray(x[:6, :6])
    q = emu.quantize(x, name)
    which = "blackwell_mxf4nvf4_b16_ue4m3" if name == "nvfp4_te_ref" else "ideal"
    found, wanted = (emu.matmul(q, q.T, which, c=c, epilogue=place, bits=True, engine=engine) for engine in ("torch", "exact"))
    assert np.array_equal(found, wanted)


def test_limbs_hold_any_sum():
    draw = words(17, 4 * 64).astype(np.int64)
    size, lsb, sign = draw[:64] << 20 | draw[64:128], draw[128:192] % 500 - 250, draw[192:] & 1
    exact = sum(((-1) ** int(s)) * int(m) * Fraction(2) ** int(e) for s, m, e in zip(sign, size, lsb, strict=True))
    total = limbs.Limbs((1,), -250, 320, torch.device("cpu"))
    for s, m, e in zip(sign, size, lsb, strict=True):
        total.add(torch.tensor([bool(s)]), torch.tensor([int(m)]), torch.tensor([int(e)]))
    negative, significand, lsb_exp = (int(x) for x in total.joined())
    kept = abs(exact) / Fraction(2) ** lsb_exp
    whole = kept.numerator // kept.denominator
    assert bool(negative) == (exact < 0) and significand == whole | (kept != whole) and significand.bit_length() > 30


@pytest.mark.parametrize("fault", ["rd for rz", "one fraction bit fewer", "C left out", "an element one code higher"])
def test_a_wrong_step_is_seen(monkeypatch, fault):
    """Each fault changes a code of the rows above."""
    plan = resolve("hopper_fp8", "e4m3", "e4m3")
    sums = importlib.import_module("emu.engines.torch.datapath_sum")
    rows = list(rows_of(plan, 16, 61))
    wanted, real = judged(plan, *rows), sums.moved
    if fault == "rd for rz":
        monkeypatch.setattr(sums, "moved", lambda x, places, mode: real(x, places, "rd"))
    elif fault == "one fraction bit fewer":
        monkeypatch.setattr(sums, "moved", lambda x, places, mode: real(x, places, mode) & ~1)
    elif fault == "C left out":
        rows[4] = np.zeros_like(rows[4])
    else:
        rows[0][:, 3] ^= 1
    assert found_of(plan, *rows) != wanted
