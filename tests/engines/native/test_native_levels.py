"""The kernel of datapaths of levels against the C reference and `exact`: shipped, drawn, edges of registers, forms, panels, refusals."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest
from pydantic import ValidationError
from support.level_samples import PLAIN, drawn_row
from support.whole import tries

import emu
from emu.base.errors import EmuError, EngineError, OpenError, ShapeError
from emu.engines.c_ref import levels as in_c
from emu.engines.c_ref.call import Codes, code_dtype
from emu.engines.exact.levels import dot as exact_dot
from emu.engines.native import convert as kernel
from emu.engines.native import levels as native
from emu.engines.native._kernels import lib
from emu.spec import derive
from emu.spec.levels import LevelsPlan, check_levels, level_plans_of, resolve_levels
from emu.spec.models import Datapath, Format
from emu.spec.models.levels import DatapathLevels
from emu.spec.reach import reach
from emu.spec.registry import get, names

FORMS = range(kernel.BEST_FORM + 1)
LANES = lib.EMU_DOT_LANES
ELEMENTS = ("e2m1", "e1m2", "e2m3", "e3m2", "e4m3", "e5m2", "int8", "e4m3fnuz", "bf16", "fp16", "fp32")
NARROW = ("e2m1", "e1m2", "e2m3", "e3m2", "e4m3", "int8")
REGISTERS = ("fp32", "bf16", "fp16", "e5m2", "e5m2fnuz")  # the last has neither infinity nor -0


class Rows(NamedTuple):
    """Rows of one length: codes [R, K], scales [R, K / block] or None, C [R] or None."""

    a: Codes
    b: Codes
    scale_a: Codes | None
    scale_b: Codes | None
    c: Codes | None


def _model(name: str, facts: dict[str, Any]) -> Datapath:
    base: Datapath = get("datapath", "bf16_register")
    model = base.model_copy(update={"facts": DatapathLevels.model_validate(facts), "id": name})
    check_levels(model)
    return model


def _chance(rng: Random, chance: float, value: dict[str, Any]) -> dict[str, Any]:
    return value if rng.random() < chance else {}


def _float(rng: Random) -> dict[str, Any]:
    fmt = rng.choice(REGISTERS)
    words: dict[str, Any] = {"format": fmt, "rounding": rng.choice(PLAIN)}
    words |= _chance(rng, 0.3, {"keep": rng.randint(0, 2 if fmt.startswith("e5m2") else 7)})
    words |= _chance(rng, 0.6, {"overflow": rng.choice(("inf", "ieee", "saturate"))})
    words |= {"overflow": "saturate"} if fmt == "e5m2fnuz" else {}
    return words | _chance(rng, 0.2, {"subnormals": "flush"})


def _register(rng: Random, fixed: bool) -> dict[str, Any]:
    if not fixed:
        return _float(rng)
    unit = rng.choice(("derived", -rng.randint(0, 20), rng.randint(0, 8)))
    bits = rng.choice((2, 8, 12, 16, 20, 24, 31, 32, 33, 48, 52, 53, 54, 62, 63, 64))
    words = {"bits": bits, "unit_exp": unit, "overflow": rng.choice(("saturate", "wrap", "sticky_inf", "error"))}
    return words if unit == "derived" else words | {"rounding": rng.choice(PLAIN)}


def _words(rng: Random) -> dict[str, Any]:
    """Words of one running register over exact lots."""
    fixed, scaled, lots = rng.random() < 0.5, rng.random() < 0.4, rng.random() < 0.6
    element = rng.choice(NARROW if fixed or lots else ELEMENTS)
    other = rng.choice((element, rng.choice(NARROW if fixed or lots else ELEMENTS)))
    entry = rng.choice(("none", "out") if fixed else ("none", "start", "out"))
    chain: dict[str, Any] = {"id": "k", "of": "all", "add": "chain", "hold": _register(rng, fixed)}
    chain["start"] = "c" if entry == "start" else rng.choice(("zero", "first"))
    below: list[dict[str, Any]] = []
    if lots:
        below = [{"id": "lot", "of": rng.choice((1, 2, 4, *(("block",) if scaled else ()))), "add": "exact"}]
        below += [{"id": "more", "of": 2, "add": "exact"}] if rng.random() < 0.3 and not scaled else []
    if not scaled:
        chain |= _chance(rng, 0.3, {"by": rng.randint(1, 3)})
    products: dict[str, Any] = {}
    if not lots and rng.random() < 0.3:
        products = {"hold": rng.choice(({"significant_bits": rng.randint(1, 12), "rounding": rng.choice(PLAIN)}, _float(rng)))}
    if scaled:
        (below[-1] if below else products)["scale"] = {}
    out = _float(rng) | ({"plus": "c"} if entry == "out" else {})
    return {
        "a": (element,), "b": (other,), "k": rng.choice((1, 4, 8, 12)),
        "c": "none" if entry == "none" else rng.choice((*REGISTERS, "int8")),
        "scale": {"formats": (rng.choice(("e8m0", "ue4m3")),), "blocks": (rng.choice((1, 2, 4, 8)),)} if scaled else "none",
        "products": products, "levels": (*below, chain), "out": out,
        "special": {"when": rng.choice(("once", "per_add")), "nan": "any", "zero": rng.choice(("plus", "ieee"))},
        "subnormal": {name: rng.choice(("keep", "flush")) for name in ("elements", "scales", "c")},
    }  # fmt: skip


def drawn_plan(seed: int) -> LevelsPlan:
    """Return a plan that the kernel takes; the same for the same seed."""
    rng = Random(seed)
    while True:
        try:
            (plan,) = level_plans_of(_model(f"drawn_{seed}", _words(rng)))
        except (ValidationError, EmuError):
            continue
        if native.is_chain(plan):
            return plan


def _directed(codes: derive.Codes, fmt: Format, like: Codes, rng: np.random.Generator) -> Codes:
    """Return codes with a part of them zeros, subnormals, the largest, NaN and infinity of both signs."""
    found = [0, 1, codes.max_code, *([codes.inf] if codes.inf is not None else []), *codes.nan[:1]]
    found += [code | codes.sign_bit for code in found] if codes.sign_bit else []
    return np.where(rng.random(like.shape) < 0.1, rng.choice(np.array(found, like.dtype), like.shape), like)


def rows_of(plan: LevelsPlan, rng: Random, count: int, instructions: int, special: bool) -> Rows | None:
    """Return drawn rows of one length, some with what is special; None where the levels do not cover it."""
    size = math.lcm(plan.facts.k, plan.block or 1)
    k, numbers = size * instructions, np.random.default_rng(rng.getrandbits(40))
    try:
        plan.shape(k)
    except ShapeError:
        return None
    pool = [row for _ in range(8) if (row := drawn_row(plan, rng)) is not None]
    if not pool:
        return None

    def draw(fmt: Format, values: Sequence[int], shape: tuple[int, ...]) -> Codes:
        mask = (1 << derive.codes(fmt).bits) - 1
        bare = np.array([value & mask for value in values], code_dtype(fmt))
        codes = numbers.choice(bare, shape)
        nan = np.isin(codes, np.array(derive.codes(fmt).nan, codes.dtype)) if derive.codes(fmt).bits < 16 else np.zeros(shape, bool)
        codes = np.where(nan & (not special), bare.dtype.type(1), codes)
        return _directed(derive.codes(fmt), fmt, codes, numbers) if special else codes

    a, b = (draw(fmt, [code for row in pool for code in row[side]], (count, k)) for side, fmt in ((0, plan.a), (1, plan.b)))
    scales: list[Codes | None] = [None, None]
    if plan.scale is not None:
        shape = (count, k // plan.block)
        scales = [draw(plan.scale, [code for row in pool for code in row[2 + side]], shape) for side in (0, 1)]
    c = None if plan.c is None else draw(plan.c, [row.c or 0 for row in pool], (count,))
    return Rows(a, b, *scales, c)


def _asked(dot: Any, rows: Rows, plan: LevelsPlan, **more: Any) -> list[int] | str:
    try:
        found: list[int] = dot(*rows, None, plan, **more).tolist()
        return found
    except EmuError as error:
        return f"{type(error).__name__}: {error}"


def _exact(rows: Rows, plan: LevelsPlan, i: int) -> int | str:
    scales = [[] if scale is None else scale[i].tolist() for scale in rows[2:4]]
    try:
        return exact_dot(rows.a[i].tolist(), rows.b[i].tolist(), *scales, None if rows.c is None else int(rows.c[i]), [], plan).code
    except EmuError as error:
        return type(error).__name__


def _one(rows: Rows, i: int) -> Rows:
    return Rows(*(None if x is None else x[i : i + 1] for x in rows))  # type: ignore[arg-type]


def compare(plan: LevelsPlan, rows: Rows, form: int, exact_rows: int = 2) -> str:
    """Compare rows, and the diagonal of a matrix product, with the C reference; some with the reference model. Returns what came."""
    wanted = _asked(in_c.dot, rows, plan)
    assert _asked(native.dot, rows, plan, form=form) == wanted, (plan.facts, form)
    for i in range(min(exact_rows, len(rows.a))):
        found = _asked(native.dot, _one(rows, i), plan, form=form)
        assert (found.split(":")[0] if isinstance(found, str) else found[0]) == _exact(rows, plan, i), (plan.facts, form, _one(rows, i))
    if isinstance(wanted, str):
        return wanted.split(":")[0]
    c = None if rows.c is None else np.repeat(rows.c[:, None], len(rows.a), 1)
    try:
        table = native.matmul(*rows[:4], c, plan, form=form)
    except OpenError:  # another pair of rows overflows
        return "code"
    assert np.diag(table).tolist() == wanted, (plan.facts, form)
    return "code"


def _compare_drawn(seeds: Sequence[int], rows: int) -> Counter[str]:
    seen: Counter[str] = Counter()
    for seed in seeds:
        plan, rng = drawn_plan(seed), Random(seed)
        for special in (False, True):
            found = rows_of(plan, rng, rows, rng.randint(1, 3), special)
            if found is not None:
                seen[compare(plan, found, seed % len(FORMS))] += 1
                seen["fixed" if "bits" in plan.facts.levels[-1].hold.model_dump() else "float"] += 1
    return seen


def test_drawn_datapaths() -> None:
    seen = _compare_drawn(range(240), LANES + 1)
    assert seen["code"] > 240 and seen["OpenError"] > 5 and min(seen["fixed"], seen["float"]) > 120, seen


@pytest.mark.exhaustive
def test_more_drawn_datapaths() -> None:
    seeds = range(1000, tries(1300, 3000))
    assert _compare_drawn(seeds, 2 * LANES + 3)["code"] > len(seeds)


CHAINS = {
    "bf16_register", "e1m2_bf16_register", "e1m2_int24_register", "fp16_register", "fp32_fma_chain", "int12_cut", "int12_saturate",
    "int12_wrap", "int20_saturate", "int20_wrap", "products_12bit",
}  # fmt: skip


@pytest.mark.exhaustive
def test_shipped_datapaths_in_every_form() -> None:
    shipped = [name for name in names("datapath") if isinstance(get("datapath", name).facts, DatapathLevels)]
    plans = [plan for name in shipped for plan in level_plans_of(name) if native.is_chain(plan)]
    assert {plan.datapath.id for plan in plans} >= CHAINS
    rng = Random(3)
    for plan in plans:
        for form in FORMS:
            for special in (False, True):
                for count in (1, LANES + 1):
                    found = rows_of(plan, rng, count, rng.randint(1, 9), special)
                    assert found is not None and compare(plan, found, form) == "code"


def _integers(bits: int, overflow: str, unit: Any, element: str = "int8", **more: Any) -> LevelsPlan:
    hold = {"bits": bits, "unit_exp": unit, "overflow": overflow, **more}
    facts = {
        "a": (element,), "b": (element,), "c": "none", "k": 1,
        "levels": ({"id": "k", "of": "all", "add": "chain", "start": "zero", "hold": hold},),
        "out": {"format": "fp32", "rounding": "rz"}, "special": {"when": "once", "nan": "0x7FC00000"},
    }  # fmt: skip
    (plan,) = level_plans_of(_model(f"int{bits}", facts))
    return plan


@pytest.mark.cases(12)
@pytest.mark.parametrize("overflow", ["saturate", "wrap", "sticky_inf", "error"])
@pytest.mark.parametrize("bits", [30, 31, 32, 33, 53, 54, 62, 63, 64])
def test_ends_of_registers_in_fixed_point(bits: int, overflow: str) -> None:
    """Products of -1 in int8 units of 2^-12: units of the register that are as fine as it takes let some of them reach both ends."""
    finest = reach(get("format", "int8")).lsb_exp * 2
    seen: Counter[str] = Counter()
    for spare in (0, 1, 2):
        plan = _integers(bits, overflow, finest - min(max(bits - 15 - spare, 0), 46))
        assert native.can_levels(plan), native.fault(plan)
        for sign in (0x7F, 0x80):
            for form in FORMS:
                for k in (1, 2, 3, 4, 5, 9):
                    a = np.full((3, k), sign, np.uint8)
                    a[1, -1], a[2, 0] = sign ^ 0xFF, 1
                    rows = Rows(a, np.full((3, k), 0x80, np.uint8), None, None, None)
                    seen[compare(plan, rows, form, 3)] += 1
    assert seen["code"] and (seen["OpenError"] or overflow != "error" or bits > 62)


def test_a_chain_of_a_stated_number_of_values() -> None:
    """It is the register of a chain of all of K where K is that number, as wide as no tree of levels is; and no other K goes."""
    facts = _integers(54, "wrap", -45).facts
    (level,) = facts.levels
    limited = facts.model_copy(update={"k": 4, "levels": (level.model_copy(update={"of": 4}),)})
    (plan,) = level_plans_of(_model("four", limited.model_dump(exclude_none=True)))
    codes = np.random.default_rng(12).integers(0, 256, (2, 3, 8)).astype(np.uint8)
    for form in FORMS:
        assert compare(plan, Rows(codes[0, :, :4], codes[1, :, :4], None, None, None), form, 3) == "code"
        with pytest.raises(ShapeError, match="leaves 2 values of K = 8, not one"):
            native.dot(*codes, None, None, None, None, plan, form=form)
    assert (
        emu.dot(*codes[:, :, :4], plan.datapath, engine="native").tolist()
        == emu.dot(*codes[:, :, :4], plan.datapath, engine="exact").tolist()
    )


@pytest.mark.parametrize("of", [1, "all"])
@pytest.mark.parametrize("plus", ["none", "c"])
def test_a_sum_of_all_of_k_below_the_register_is_no_lot(of: int | str, plus: str) -> None:
    """One sum of all products, and C, comes to the register: of 1 + 2^-8 + 2^-8 + 2^-8 products alone would leave 1 in bfloat16."""
    hold = {"format": "bf16", "rounding": "rne", "overflow": "ieee"}
    levels = ({"id": "s", "of": "all", "add": "exact", "plus": plus}, {"id": "k", "of": of, "add": "chain", "start": "zero", "hold": hold})
    facts = {"a": ("bf16",), "b": ("bf16",), "c": "fp32" if plus == "c" else "none", "k": 4, "levels": levels}
    facts |= {"out": {"format": "fp32", "rounding": "rne"}, "special": {"when": "per_add", "nan": "0x7FC00000", "zero": "ieee"}}
    (plan,) = level_plans_of(_model("all", facts))
    assert not native.is_chain(plan)
    a, c = np.uint16([[0x3F80, 0x3B80, 0x3B80, 0x3B80]]), np.uint32([0x40400000])
    given = {"c": c} if plus == "c" else {}
    found = emu.dot(a, np.full_like(a, 0x3F80), plan.datapath, **given)
    assert found.tolist() == emu.dot(a, np.full_like(a, 0x3F80), plan.datapath, engine="exact", **given).tolist()
    assert found.view(np.float32).tolist() == ([4.0] if plus == "c" else [1.015625])


def test_a_register_of_64_bits_beyond_both_ends() -> None:
    for overflow in ("saturate", "wrap", "sticky_inf", "error"):
        plan = _integers(64, overflow, reach(get("format", "int8")).lsb_exp * 2 - 46)
        for code in (0x7F, 0x80):
            rows = Rows(np.full((2, 40), code, np.uint8), np.full((2, 40), 0x7F, np.uint8), None, None, None)
            came = [compare(plan, rows, form) for form in FORMS]
            assert set(came) == {"OpenError" if overflow == "error" else "code"}


@pytest.mark.parametrize("when", ["once", "per_add"])
@pytest.mark.parametrize(
    "hold",
    [
        {"bits": 8, "unit_exp": 0, "rounding": "rz", "overflow": "sticky_inf"},
        {"bits": 8, "unit_exp": 0, "rounding": "rz", "overflow": "error"},
        {"format": "e5m2", "rounding": "ru"},
    ],
    ids=["sticky", "error", "float"],
)
def test_infinite_c_at_the_end_of_a_register_that_overflowed(hold: dict[str, Any], when: str) -> None:
    facts = {
        "a": ("e2m3",), "b": ("e2m3",), "c": "bf16", "k": 1,
        "levels": ({"id": "k", "of": "all", "add": "chain", "start": "zero", "hold": hold},),
        "out": {"format": "fp32", "rounding": "rne", "plus": "c"}, "special": {"when": when, "nan": "0x7FC00000"},
    }  # fmt: skip
    (plan,) = level_plans_of(_model("ends", facts))
    largest = derive.codes(plan.a).max_code
    seen: Counter[str] = Counter()
    for k in (1, 4000):
        for c in (0x3F80, 0x7F80, 0xFF80, 0x7FC0):
            rows = Rows(*(np.full((1, k), largest, np.uint8) for _ in "ab"), None, None, np.array([c], np.uint16))
            seen[compare(plan, rows, kernel.BEST_FORM, 1)] += 1
    assert seen["OpenError"] == {"once": 1, "per_add": 4}[when] * (hold.get("overflow") == "error")


@pytest.mark.parametrize("fmt", ["e5m2", "e5m2fnuz", "e4m3", "e4m3fnuz"])
@pytest.mark.parametrize("rounding", ["rz", "rd", "rne"])
def test_a_negative_sum_that_vanishes_leaves_a_zero_that_the_register_has(fmt: str, rounding: str) -> None:
    """Negative products that the register has no number for become a zero whose sign D shows: -0, but +0 in formats without -0."""
    hold = {"format": fmt, "rounding": rounding, "overflow": "saturate", "subnormals": "flush"}
    facts = {
        "a": ("bf16",), "b": ("bf16",), "c": "none", "k": 1,
        "levels": ({"id": "k", "of": "all", "add": "chain", "start": "first", "hold": hold},),
        "out": {"format": "fp32", "rounding": "rne"}, "special": {"when": "per_add", "nan": "0x7FC00000", "zero": "ieee"},
    }  # fmt: skip
    (plan,) = level_plans_of(_model("vanished", facts))
    codes = np.array([[0x8000], [0x8001], [0xB000]], np.uint16)  # -0, the smallest, -2^-31
    rows = Rows(codes, np.full((3, 1), 0x3F80, np.uint16), None, None, None)
    assert {compare(plan, rows, form, 3) for form in FORMS} == {"code"}
    wanted = 0x80000000 if derive.codes(get("format", fmt)).neg_zero else 0
    assert native.dot(*rows, None, plan).tolist() == [wanted] * 3


@pytest.mark.parametrize(("overflow", "taken"), [("inf", False), ("ieee", False), ("saturate", True)])
def test_products_that_overflow_before_a_register_in_fixed_point(overflow: str, taken: bool) -> None:
    """448 * 448 is beyond e5m2: infinity is carried beside an integer register, so `auto` asks an engine that carries it."""
    facts = _integers(32, "wrap", 0, "e4m3", rounding="rz").facts.model_dump(exclude_none=True)
    facts["products"] = {"hold": {"format": "e5m2", "rounding": "rne", "overflow": overflow}}
    facts["special"]["when"] = "per_add"
    (plan,) = level_plans_of(_model("overflow", facts))
    assert native.can_levels(plan) == taken
    codes = np.full((1, 1), derive.codes(plan.a).max_code, np.uint8)
    rows = Rows(codes, codes, None, None, None)
    assert in_c.dot(*rows, None, plan).tolist() == [0x47600000 if taken else 0x7F800000]
    assert emu.dot(codes, codes, plan.datapath).tolist() == in_c.dot(*rows, None, plan).tolist()
    assert not taken or compare(plan, rows, kernel.BEST_FORM, 1) == "code"


@pytest.mark.parametrize("form", FORMS)
def test_panels_and_threads(form: int) -> None:
    rng = np.random.default_rng(7)
    for name in ("bf16_register", "int12_cut"):
        plan = resolve_levels(name)
        bits = derive.codes(plan.a).bits
        a, b = (rng.integers(0, 1 << bits, (n, 16)).astype(code_dtype(plan.a)) for n in (native.PANEL_ROWS + 1, native.PANEL_COLUMNS + 3))
        c = None if plan.c is None else rng.integers(0, 1 << 16, (len(a), len(b))).astype(np.uint16)
        found = native.matmul(a, b, None, None, c, plan, 2, form=form)
        assert np.array_equal(found, native.matmul(a, b, None, None, c, plan, form=form))
        for i in (0, 100, len(a) - 1):
            addend = None if c is None else c[i]
            assert np.array_equal(found[i], in_c.dot(np.repeat(a[i : i + 1], len(b), 0), b, None, None, addend, None, plan))


def test_the_row_that_overflows_is_named() -> None:
    plan = _integers(16, "error", "derived")
    a, b = np.zeros((5000, 4), np.uint8), np.full((5000, 4), 0x7F, np.uint8)
    a[[4500, 4999]] = 0x7F
    with pytest.raises(OpenError, match="row 4500: a register overflows"):
        native.dot(a, b, None, None, None, None, plan)
    with pytest.raises(OpenError, match="row 900000: a register overflows"):
        native.matmul(a[4050:4600], b[:2000], None, None, None, plan)


def test_what_is_refused() -> None:
    wide = _words(Random(1)) | {
        "a": ("bf16",), "b": ("bf16",), "c": "none", "scale": "none", "products": {}, "k": 2, "out": {"format": "fp32", "rounding": "rne"},
        "levels": ({"id": "k", "of": "all", "add": "exact"},),
    }  # fmt: skip
    plan, cut, codes = level_plans_of(_model("wide", wide)), resolve_levels("int12_cut"), np.zeros((1, 8), np.uint16)
    with pytest.raises(
        EngineError, match=r"engine native does not take this datapath of levels \(level k: a sum of all values has more than 53"
    ):
        emu.dot(codes, codes, next(plan).datapath, engine="native")
    one, words = np.zeros((1, 1), np.uint32), np.zeros((1, 2), np.uint32)
    with pytest.raises(ShapeError, match="takes 0 words for K = 1, not 2"):
        native.dot(one, one, None, None, one[0], words, resolve_levels("fp32_fma_chain"))
    with pytest.raises(OpenError, match="a: datapath int12_cut: row 1: what a set bit 4 of a e2m1 code means is open"):
        native.dot(np.array([[1] * 16, [16] * 16], np.uint8), np.ones((2, 16), np.uint8), None, None, None, None, cut)


def test_matmul_asks_the_kernel() -> None:
    rng = np.random.default_rng(5)
    x, y = rng.standard_normal((40, 128)).astype(np.float32), rng.standard_normal((128, 35)).astype(np.float32)
    a, b = emu.quantize(x, "nvufp4", axis=1), emu.quantize(y, "nvufp4", axis=0)
    for c, epilogue in ((None, None), (np.float32(1), "after")):
        found, wanted = (emu.matmul(a, b, "e1m2_int24_register", c, epilogue=epilogue, engine=name, jobs=2) for name in ("auto", "c_ref"))
        assert np.array_equal(found.view(np.uint32), wanted.view(np.uint32))
