"""The kernel that takes levels node by node, against the C reference and `exact`: drawn with every word of the language, shipped, sizes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import product
from random import Random
from typing import Any

import numpy as np
import pytest
from support.level_samples import Row, drawn_datapath, drawn_row
from support.whole import tries

import emu
from emu.base.caches import Cache
from emu.base.errors import EmuError, EngineError, OpenError, OperandError, ShapeError
from emu.engines.c_ref import levels as in_c
from emu.engines.c_ref.call import Codes, code_dtype
from emu.engines.exact.levels import dot as exact_dot
from emu.engines.native import convert as kernel
from emu.engines.native import levels as native
from emu.engines.native import levels_tree
from emu.engines.native._kernels import ffi, lib
from emu.spec.levels import LevelsPlan, check_levels, level_plans_of, resolve_levels
from emu.spec.models import Datapath, Format
from emu.spec.models.levels import DatapathLevels
from emu.spec.registry import get, names

FORMS = range(kernel.BEST_FORM + 1)
LANES = lib.EMU_DOT_LANES


@pytest.fixture(autouse=True)
def _node_by_node(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plans of one running register come here too."""
    monkeypatch.setattr(native, "is_chain", lambda plan: False)
    monkeypatch.setattr(native, "_plans", Cache("tests.native.levels_tree", 256))


def _drawn(plan: LevelsPlan, rng: Random, tried: int) -> list[Row]:
    """Return rows of one length, as many as the most usual length has."""
    rows = [row for _ in range(tried) if (row := drawn_row(plan, rng)) is not None]
    sizes = Counter(len(row.a) for row in rows)
    return [row for row in rows if len(row.a) == sizes.most_common(1)[0][0]] if rows else []


def _arrays(rows: Sequence[Row], plan: LevelsPlan) -> list[Any]:
    def table(codes: Iterable[Sequence[int]], fmt: Format | None) -> Codes | None:
        return None if fmt is None else np.array(list(codes), np.uint64).astype(code_dtype(fmt))

    c = None if plan.c is None else np.array([row.c for row in rows], np.uint64).astype(code_dtype(plan.c))
    random = np.array([row.random for row in rows], np.uint32) if rows[0].random else None
    scales = [table((row[side] for row in rows), plan.scale) for side in (2, 3)]
    return [table((row.a for row in rows), plan.a), table((row.b for row in rows), plan.b), *scales, c, random]


def _asked(dot: Any, operands: list[Any], plan: LevelsPlan, **more: Any) -> list[int] | str:
    try:
        found: list[int] = dot(*operands, plan, **more).tolist()
        return found
    except EmuError as error:
        return type(error).__name__


def _law(row: Row, plan: LevelsPlan) -> list[int] | str:
    try:
        return [exact_dot(*row, plan).code]
    except EmuError as error:
        return type(error).__name__


def _compare(plan: LevelsPlan, rows: Sequence[Row], form: int, exact_rows: int) -> Counter[str]:
    """Compare rows one by one with the C reference, some with `exact`; then all that have a result in more than a register of lanes."""
    seen: Counter[str] = Counter()
    good = []
    for i, row in enumerate(rows):
        operands = _arrays([row], plan)
        wanted = _asked(in_c.dot, operands, plan)
        if i < exact_rows or wanted == "EngineError":  # a number that outgrows the C reference
            law = _law(row, plan)
            assert wanted in (law, "EngineError"), (plan.facts, row)
            wanted = law
        assert _asked(native.dot, operands, plan, form=form) == wanted, (plan.facts, form, row)
        seen[wanted if isinstance(wanted, str) else "code"] += 1
        good += [(row, wanted)] if isinstance(wanted, list) else []
    if good:
        many = [good[i % len(good)] for i in range(LANES + 1)]
        found = _asked(native.dot, _arrays([row for row, _ in many], plan), plan, form=form)
        assert found == [code for _, (code,) in many], (plan.facts, form)
    return seen


def _lots_drawn(seed: int) -> Datapath:
    """Return a datapath whose lots are added exactly or aligned, narrow enough for the kernel, below a level that takes C or not."""
    rng = Random(seed)

    def rounding() -> str:
        return rng.choice(("rne", "rz", "rd", "ru", "rna", "odd"))

    def align() -> dict[str, Any]:
        words: dict[str, Any] = {"fraction_bits": rng.randint(0, 40), "cut": rounding(), "exponent_raise": rng.choice((0, 0, 1, -2))}
        words |= rng.choice(({}, {"exponent": "normalised"}))
        words |= rng.choice(({}, {"floor": rng.randint(-20, 0)}, {"integer_bits": rng.randint(2, 6), "beyond": "wrap"}))
        return words

    def hold() -> Any:
        end = {"overflow": rng.choice(("saturate", "saturate_symmetric", "wrap", "sticky_inf"))}
        float_ = {"format": rng.choice(("fp32", "bf16", "fp16")), "rounding": rng.choice((rounding(), "sr_half8", "sr_cmp8"))}
        fixed = {"bits": rng.randint(4, 24), "unit_exp": -rng.randint(0, 8), "rounding": rounding(), **end}
        return rng.choice((float_, fixed, {"fraction_bits": rng.randint(1, 12), "rounding": rounding()}, "exact"))

    lot: dict[str, Any] = {"id": "lot", "of": rng.choice((2, 3, 4)), "hold": hold(), "cancelled_counts": rng.choice(("yes", "no"))}
    lot |= rng.choice(({"add": "exact", "exponent": rng.choice(("zero", "largest"))}, {"add": "aligned", "align": align()}))
    entry, float_ = rng.choice(("none", "start", "plus")), {"format": "fp32", "rounding": rounding(), "overflow": "ieee"}
    top: dict[str, Any] = {"id": "k", "of": "all", "add": "chain", "start": "c" if entry == "start" else "zero", "hold": float_}
    top |= rng.choice(({}, {"align": align() | rng.choice(({}, {"running": {"fraction_bits": rng.randint(2, 30), "cut": rounding()}}))}))
    if entry == "plus":
        top = {"id": "k", "of": "all", "add": "aligned", "align": align(), "plus": "c", "hold": float_}
    facts = _words(lot["of"], lot, top, element=rng.choice(("e2m1", "e4m3", "int8", "bf16")), c="none" if entry == "none" else "fp32")
    if rng.random() < 0.4:
        facts |= {"scale": {"formats": (rng.choice(("ue4m3", "e8m0")),), "blocks": (lot["of"],)}}
        lot["scale"] = rng.choice(({}, {"term": {"fraction_bits": rng.randint(1, 20), "rounding": rounding()}}))
    facts["special"] |= {"when": rng.choice(("once", "per_add")), "nan_scale": rng.choice(("always", "live"))}
    base: Datapath = get("datapath", "bf16_register")
    return base.model_copy(update={"facts": DatapathLevels.model_validate(facts), "id": f"lots_{seed}"})


def _plans(model: Datapath) -> list[LevelsPlan]:
    try:
        check_levels(model)
        return [plan for plan in level_plans_of(model) if native.can_levels(plan)]
    except EmuError:
        return []


def _compare_drawn(seeds: range, tried: int) -> Counter[str]:
    seen: Counter[str] = Counter()
    for seed in seeds:
        rng = Random(seed)
        for plan in _plans(drawn_datapath(seed)) + _plans(_lots_drawn(seed)):
            rows = _drawn(plan, rng, tried)
            if not rows:
                continue
            seen["plans"] += 1
            seen.update(level.facts.add for level in plan.levels)
            seen["aligned chain or tree"] += any(level.align and level.facts.add in ("chain", "pairwise") for level in plan.levels)
            seen["draws"] += bool(rows[0].random)
            seen["scaled"] += plan.scale is not None
            seen += _compare(plan, rows, seed % len(FORMS), 1)
    return seen


def test_drawn_datapaths() -> None:
    seen = _compare_drawn(range(300), 6)
    assert seen["plans"] > 130 and seen["code"] > 300 and seen["OpenError"] > 2, seen
    least = [seen[word] for word in ("exact", "aligned", "chain", "pairwise", "aligned chain or tree", "draws", "scaled")]
    assert min(least) > 10, seen


@pytest.mark.exhaustive
def test_more_drawn_datapaths() -> None:
    seen = _compare_drawn(range(10_000, tries(11_000, 30_000)), 12)
    assert seen["plans"] > 500, seen


def test_shipped_datapaths() -> None:
    rng = Random(5)
    shipped = [name for name in names("datapath") if isinstance(get("datapath", name).facts, DatapathLevels)]
    plans = [plan for name in shipped for plan in level_plans_of(name) if native.can_levels(plan) and levels_tree.fault(plan) is None]
    assert {"bf16_pairwise", "bf16_register_random", "mx_lane24", "rvbna4", "rvbna4_odd", "systolic_4way"} <= {
        plan.datapath.id for plan in plans
    }
    for plan in plans:
        for form in FORMS:
            assert _compare(plan, _drawn(plan, rng, 8), form, 1)["code"]


def _plan(facts: dict[str, Any]) -> LevelsPlan:
    base: Datapath = get("datapath", "bf16_register")
    model = base.model_copy(update={"facts": DatapathLevels.model_validate(facts), "id": "own"})
    check_levels(model)
    (plan,) = level_plans_of(model)
    return plan


def _words(k: int, *levels: dict[str, Any], element: str = "bf16", c: str = "none", **more: Any) -> dict[str, Any]:
    out = {"format": "fp32", "rounding": "rne", "overflow": "ieee"}
    special = {"when": "per_add", "nan": "0x7FC00000", "zero": "ieee"}
    return {"a": (element,), "b": (element,), "c": c, "k": k, "levels": levels, "out": out, "special": special} | more


TREE = {"id": "tree", "of": "all", "add": "pairwise"}


@pytest.mark.parametrize("count", [1, 2, 3, 5, 6, 7, 11, 13, 33, 64, 65])
@pytest.mark.parametrize("rounding", ["rne", "sr_add8"])
def test_trees_of_any_size(count: int, rounding: str) -> None:
    """Numbers whose sums round at every step: any other order, and a random word in another place, shows."""
    plan = _plan(_words(1, TREE | {"hold": {"format": "bf16", "rounding": rounding, "overflow": "ieee"}}))
    numbers = np.random.default_rng(count)
    a = (0x3F80 + numbers.integers(-0x180, 0x180, (LANES + 2, count))).astype(np.uint16)
    words = len(plan.draws(count))
    random = numbers.integers(0, 256, (len(a), words)).astype(np.uint32) if words else None
    operands = [a, np.full_like(a, 0x3F80), None, None, None, random]
    wanted = in_c.dot(*operands, plan).tolist()
    for form in FORMS:
        assert native.dot(*operands, plan, form=form).tolist() == wanted
    if words:
        turned = native.dot(*operands[:5], random[:, ::-1], plan).tolist()  # type: ignore[index]
        assert words < 3 or turned != wanted


@pytest.mark.parametrize("every", [1, 2, 3, 4])
def test_interleaved_lots(every: int) -> None:
    """Lots of every n-th product below a level of scales, of trees and of chains, over several instructions."""
    hold = {"format": "bf16", "rounding": "rz", "overflow": "ieee"}
    for add, more in (("exact", {}), ("pairwise", {}), ("chain", {"start": "first"}), ("chain", {"start": "zero", "by": 2})):
        first = {"id": "lot", "of": 4, "take": {"every": every}, "add": add, "hold": hold, **more}
        last = {"id": "k", "of": "all", "add": "chain", "start": "zero", "hold": hold}
        scale = {"scale": {"formats": ("ue4m3",), "blocks": (4 * every,)}}
        plan = _plan(_words(4 * every, first | {"scale": {}}, last, element="e4m3", **scale))
        numbers = np.random.default_rng(every)
        a, b = (numbers.integers(0x28, 0x48, (LANES + 3, 12 * every)).astype(np.uint8) for _ in "ab")
        scales = [numbers.integers(0x20, 0x40, (len(a), 3)).astype(np.uint8) for _ in "ab"]
        wanted = in_c.dot(a, b, *scales, None, None, plan)
        for form in FORMS:
            assert np.array_equal(native.dot(a, b, *scales, None, None, plan, form=form), wanted)
        table = native.matmul(a, b, *scales, None, plan, 2)
        assert np.array_equal(np.diag(table), wanted)


@pytest.mark.parametrize("cut", ["rz", "rne", "rna", "ru", "rd", "odd"])
def test_aligned_terms_at_the_edge_of_a_unit(cut: str) -> None:
    """Beside 1, terms around the unit, its half and below, of both signs; the widest that binary64 holds, and one more bit is refused."""
    for bits in (0, 1, 7, 24, 25, 45, 46):
        level = {
            "id": "k",
            "of": 4,
            "add": "aligned",
            "align": {"fraction_bits": bits, "cut": cut},
            "hold": {"format": "fp32", "rounding": "odd"},
        }
        plan = _plan(_words(4, level))
        rows = []
        for shift in (bits - 1, bits, bits + 1, bits + 2, bits + 9):
            for sign in (0, 0x8000):
                for fraction in (0, 1, 0x40):
                    tiny = (127 - shift << 7) + fraction | sign
                    rows += [[0x3F80, tiny, 0, 0], [0x3F80, tiny, tiny, tiny], [0xBF80, tiny, 0x3F80, 0]]
        a = np.array(rows, np.uint16)
        operands = [a, np.full_like(a, 0x3F80), None, None, None, None]
        wanted = in_c.dot(*operands, plan)
        for form in FORMS:
            assert np.array_equal(native.dot(*operands, plan, form=form), wanted), bits
    level = level | {"align": {"fraction_bits": 47, "cut": cut}}
    assert "aligned terms have more than 51 bits" in str(native.fault(_plan(_words(4, level))))


def test_panels_and_threads() -> None:
    """Just over a panel of rows and one of columns, each output like its row and column alone."""
    plan = resolve_levels("rvbna4_odd")
    numbers = np.random.default_rng(7)
    shape = native.PANEL_ROWS + 1, native.PANEL_COLUMNS + 3
    a, b = (numbers.integers(0x3E00, 0x4100, (n, 8)).astype(np.uint16) for n in shape)
    c = numbers.integers(0x3E000000, 0x41000000, shape).astype(np.uint32)
    found = native.matmul(a, b, None, None, c, plan, 2)
    for i in (0, 100, len(a) - 1):
        assert np.array_equal(found[i], in_c.dot(np.repeat(a[i : i + 1], len(b), 0), b, None, None, c[i], None, plan))
    many = [np.tile(x[:128], (33, 1)) for x in (a, b)]
    pairs = native.dot(*many, None, None, np.tile(c[0, :128], 33), None, plan)
    assert len(pairs) > native.PAIRS and np.array_equal(pairs, in_c.dot(*many, None, None, np.tile(c[0, :128], 33), None, plan))


def test_the_row_that_overflows_is_named() -> None:
    hold = {"bits": 8, "unit_exp": 0, "rounding": "rz", "overflow": "error"}
    plan = _plan(
        _words(
            2,
            {"id": "sum", "of": 2, "add": "pairwise", "hold": hold},
            {"id": "k", "of": "all", "add": "chain", "start": "zero", "hold": hold},
        )
    )
    a = np.full((100, 4), 0x3F80, np.uint16)
    a[70, 2] = 0x4300
    with pytest.raises(OpenError, match="row 70: a register overflows"):
        native.dot(a, np.full_like(a, 0x3F80), None, None, None, None, plan)


def test_random_words_are_checked() -> None:
    plan, codes = resolve_levels("bf16_register_random"), np.full((2, 4), 0x3F80, np.uint16)
    with pytest.raises(ShapeError, match="takes 4 words for K = 4, not 0"):
        native.dot(codes, codes, None, None, np.zeros(2, np.uint16), None, plan)
    random = np.array([[0] * 4, [0, 0, 256, 0]], np.uint32)
    with pytest.raises(OperandError, match="word 2 does not fit the 8 bits of sr_add8"):
        native.dot(codes, codes, None, None, np.zeros(2, np.uint16), random, plan)
    found = emu.dot(codes, codes, "bf16_register_random", random=random.clip(0, 255), engine="native")
    assert found.tolist() == emu.dot(codes, codes, "bf16_register_random", random=random.clip(0, 255), engine="exact").tolist()


# bf16 codes of ones, halves of the result's unit, what lies far below and far above, zeros of both signs, NaN and infinity
FAR_APART = np.uint16(
    [0x3F80, 0xBF80, 0x3300, 0x3380, 0xB380, 0x0D00, 0x8D00, 0x7E80, 0xFE80, 0x0001, 0x0000, 0x8000, 0x7F80, 0xFF80, 0x7FC0]
)


@pytest.mark.parametrize("entry", ["none", "start"])
@pytest.mark.parametrize("rounding", ["rne", "rz", "rd", "ru", "rna"])
def test_sums_of_more_bits_than_binary64_has(rounding: str, entry: str) -> None:
    """Three products each, with squares from 2^-266 to 2^252: ties that a number far below decides, sums that cancel to one of them."""
    hold = {"format": "fp32", "rounding": rounding, "overflow": "ieee"}
    level = {"id": "k", "of": 3, "add": "exact", "hold": hold}
    if entry == "start":
        level |= {"of": "all", "add": "chain", "by": 3, "start": "c"}
    levels = [level] if entry == "start" else [level, TREE | {"hold": hold}]
    plan = _plan(_words(3, *levels, c="none" if entry == "none" else "fp32"))
    assert levels_tree._parts(plan, plan.levels[0])
    a = np.array(list(product(FAR_APART, repeat=3)), np.uint16)
    b = np.where((a & 0x7FFF) < 0x7F80, a & 0x7FFF, 0x3F80).astype(np.uint16)
    c = (
        None
        if entry == "none"
        else np.resize(np.uint32([0x3F800000, 0xBF800000, 0x33800000, 0x7F7FFFFF, 0x00000001, 0x80000000, 0xFF800000]), len(a))
    )
    wanted = in_c.dot(a, b, None, None, c, None, plan)
    for form in FORMS:
        assert np.array_equal(native.dot(a, b, None, None, c, None, plan, form=form), wanted), form
    some = range(0, len(a), 97)
    assert [exact_dot(a[i].tolist(), b[i].tolist(), (), (), None if c is None else int(c[i]), (), plan).code for i in some] == wanted[
        some
    ].tolist()


@pytest.mark.parametrize("count", [3, 4, 7])
def test_parts_of_a_wide_sum_that_carry(count: int) -> None:
    """Products just above and below the unit of each part: what parts have together is more than half a unit of the one above."""
    hold = {"hold": {"format": "fp32", "rounding": "rne", "overflow": "ieee"}}
    plan = _plan(_words(count, {"id": "lot", "of": count, "add": "exact"} | hold, TREE | hold))
    units, rng = levels_tree._parts(plan, plan.levels[0]), np.random.default_rng(count)
    assert units is not None and len(units) > 8
    shape = 400, len(units) - 1, count
    near = np.array(units[:-1])[:, None] - rng.integers(1, 4, shape)
    one = near // 2
    a, b = ((rng.integers(128, 256, shape) * 2.0 ** (exp - 7)).astype(np.float32) for exp in (one, near - one))
    a *= np.where(rng.random(shape) < 0.1, -1, 1).astype(np.float32)
    a, b = ((x.reshape(-1, count).view(np.uint32) >> 16).astype(np.uint16) for x in (a, b))
    assert np.array_equal(native.dot(a, b, None, None, None, None, plan), in_c.dot(a, b, None, None, None, None, plan))


def test_a_running_value_is_larger_than_what_its_scales_leave() -> None:
    """It goes up to 2^39 and comes back, and the term that the scales make of it is held in binary16: parts are those of what runs."""
    size, hold = 450, {"format": "fp32", "rounding": "rne", "overflow": "ieee"}
    term = {"term": {"format": "fp16", "rounding": "rne", "overflow": "ieee"}}
    lot = {"id": "lot", "of": size, "add": "chain", "start": "zero", "by": 2, "hold": hold, "scale": term}
    top = {"id": "k", "of": "all", "add": "chain", "start": "zero", "hold": hold}
    plan = _plan(_words(size, lot, top, element="e5m2", scale={"formats": ("e8m0",), "blocks": (size,)}))
    large, half = 0x7A, (size - 2) // 2  # 49152; beside them 2^7 and 2^-8, squared
    a = np.array([[large] * half + [0x58, 0x1C] + [large | 0x80] * half], np.uint8)
    b, scale = a & np.uint8(0x7F), np.array([[127]], np.uint8)
    found = native.dot(a, b, scale, scale, None, None, plan)
    assert found.tolist() == in_c.dot(a, b, scale, scale, None, None, plan).tolist()
    assert found.tolist() == [exact_dot(a[0].tolist(), b[0].tolist(), [127], [127], None, (), plan).code]
    assert found.view(np.float32).tolist() == [32768]


@pytest.mark.parametrize("counts", ["yes", "no"])
def test_zero_products_of_a_large_scale_name_no_exponent(counts: str) -> None:
    """Beside 2 * 1.5 in blocks of scale 1: zeros, and a difference that cancels, in a block of scale 2^20; four bits below E are kept."""
    lot = {"id": "lot", "of": 2, "add": "exact", "scale": {}, "cancelled_counts": counts}
    top = {"id": "k", "of": "all", "add": "chain", "by": 2, "start": "zero", "align": {"fraction_bits": 4, "cut": "rz"}}
    top |= {"hold": {"format": "fp32", "rounding": "rne", "overflow": "ieee"}}
    plan = _plan(_words(4, lot, top, element="e2m1", scale={"formats": ("e8m0",), "blocks": (2,)}))
    a, b = np.array([[0, 0, 2, 2], [0, 2, 2, 2], [2, 2, 2, 2]], np.uint8), np.array([[2, 2, 3, 3], [2, 0, 3, 3], [2, 10, 3, 3]], np.uint8)
    scale_a, scale_b = (np.array([[high, 127]] * 3, np.uint8) for high in (147, 127))
    found = native.dot(a, b, scale_a, scale_b, None, None, plan)
    assert found.view(np.float32).tolist() == [3, 3, 0 if counts == "yes" else 3]
    assert found.tolist() == in_c.dot(a, b, scale_a, scale_b, None, None, plan).tolist()
    assert found.tolist() == [exact_dot(*(x[i].tolist() for x in (a, b, scale_a, scale_b)), None, (), plan).code for i in range(3)]


def test_what_is_refused() -> None:
    wide = _plan(_words(1, {"id": "k", "of": "all", "add": "exact"}))
    codes = np.zeros((1, 4), np.uint16)
    with pytest.raises(EngineError, match=r"engine native cannot add as own does \(level k: a sum of all values has more than 53 bits"):
        native.dot(codes, codes, None, None, None, None, wide)
    fixed = {"bits": 52, "unit_exp": -10, "rounding": "rz", "overflow": "saturate"}
    tree = _plan(
        _words(2, {"id": "two", "of": 2, "add": "pairwise", "hold": fixed}, {"id": "k", "of": "all", "add": "pairwise", "hold": fixed})
    )
    assert "level two: a register in fixed point has more than 50 bits" in str(native.fault(tree))
    double = _plan(_words(1, {"id": "k", "of": "all", "add": "pairwise", "hold": {"format": "fp64", "rounding": "rne"}}))
    assert "a register is rounded by a policy, or has more than 24 bits" in str(native.fault(double))
    cut = _plan(_words(1, {"id": "k", "of": "all", "add": "exact", "hold": {"significant_bits": 51, "rounding": "rz"}}))
    assert "a cut leaves more than 50 bits" in str(native.fault(cut))
    hold = {"format": "fp32", "rounding": "rne", "overflow": "ieee"}
    align = {"fraction_bits": 8, "cut": "odd_by_parity"}
    parity = _plan(_words(4, {"id": "k", "of": 4, "add": "aligned", "align": align, "hold": hold}))
    assert "terms are cut by odd_by_parity, which is none of IEEE 754's directions" in str(native.fault(parity))
    running = {"fraction_bits": 8, "cut": "rz", "running": align}
    parity = _plan(_words(4, {"id": "k", "of": "all", "add": "chain", "start": "zero", "align": running, "hold": hold}))
    assert "terms are cut by odd_by_parity" in str(native.fault(parity))
    words = _words(
        4, {"id": "k", "of": "all", "add": "chain", "start": "c", "hold": hold}, {"id": "b", "of": "block", "add": "exact"}, c="fp32"
    )
    words |= {"scale": {"formats": ("e8m0",), "blocks": (4,)}, "products": {"scale": {}}, "special": words["special"] | {"when": "once"}}
    assert native.fault(_plan(words)) == "a level of a block stands above one of all products"
    scaled = {"scale": {"formats": ("fp32",), "blocks": (4,)}, "products": {"scale": {}}}
    chain = {"id": "k", "of": "all", "add": "chain", "start": "zero", "hold": hold}
    for special, why in (({"when": "once"}, "operands decide"), ({"nan_scale": "live"}, "NaN scales count for live values alone")):
        words = _words(4, chain) | scaled
        assert why in str(native.fault(_plan(words | {"special": words["special"] | special})))


def test_codes_that_no_table_holds_are_refused_beside_a_c_of_their_format() -> None:
    """Elements and scales of 19 bits are refused, also where C has the same format; as C alone they are taken."""
    facts = get("format", "fp16").facts.model_copy(update={"exp_bits": 8, "frac_bits": 10, "bias": 127})
    wide = get("format", "fp16").model_copy(update={"id": "nineteen_bits", "facts": facts})
    hold = {"format": "fp32", "rounding": "rz", "overflow": "ieee"}
    plan = _plan(_words(1, {"id": "k", "of": "all", "add": "chain", "start": "c", "hold": hold}, c="fp32"))
    assert native.fault(replace(plan, c=wide)) is None
    for taken in (replace(plan, a=wide), replace(plan, a=wide, c=wide), replace(plan, b=wide, c=wide), replace(plan, scale=wide, c=wide)):
        assert native.fault(taken) == "an operand has codes of more than 16 bits and is not binary32"


def test_counts_of_a_plan_are_checked() -> None:
    """A plan whose counts no datapath has is refused by the kernel itself: nothing is divided by zero, nothing written."""
    hold = {"format": "bf16", "rounding": "rz", "overflow": "ieee"}
    words = _words(4, {"id": "lot", "of": 4, "add": "pairwise", "hold": hold}, {"id": "k", "of": "all", "add": "pairwise", "hold": hold})
    described, kept = native._plan_of(_plan(words), 8)
    tree, levels, room = described.tree, described.tree.levels, lib.emu_levels_room(described, 1, 1, 8)
    described.tree = ffi.NULL
    bare = lib.emu_levels_room(described, 1, 1, 8)
    described.tree = tree
    assert room > bare and kept
    faults = [(1, "every", 0), (1, "every", -1), (1, "every", 3), (1, "of", -1), (1, "of", 3), (2, "every", 0), (2, "of", 1)]
    faults += [(1, "parts", -1), (1, "parts", lib.EMU_TREE_PARTS + 1)]
    for number, name, wrong in faults:
        right = getattr(levels[number], name)
        setattr(levels[number], name, wrong)
        assert lib.emu_levels_room(described, 1, 1, 8) == bare, (number, name, wrong)
        setattr(levels[number], name, right)
    assert lib.emu_levels_room(described, 1, 1, 8) == room
