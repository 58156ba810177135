"""Users' datapaths whose numbers reach far: rows typed by hand, and ones out of a seed, in every engine beside the oracle.

A shortcut (binary32 products, binary64 sums, exponents of 16 bits, native's plans) is taken only where the numbers of a datapath stay
inside of it; outside the engine takes another way or refuses the plan.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from random import Random
from typing import Any

import pytest
from support.oracle.ask import answers, compare, engines, oracle, plans, same
from support.oracle.draw import drawn
from support.oracle.draw import row as draw_row
from support.oracle.levels import Facts, read_files
from support.whole import tries

from emu.base.errors import SpecError
from emu.engines.numpy.datapath_shape import shape_of
from emu.spec.datapath import DatapathPlan, resolve
from emu.spec.levels import LevelsPlan, resolve_levels
from emu.spec.models.levels import DatapathLevels
from emu.spec.registry import get
from emu.spec.steps import step_facts

_FOUND = spec_from_file_location("user_objects_that_reach_far", Path(__file__).with_name("user_objects.py"))
assert _FOUND is not None and _FOUND.loader is not None
USER: Any = module_from_spec(_FOUND)
_FOUND.loader.exec_module(USER)

ROOT = Path(__file__).parents[3] / "spec"
SHIPPED = read_files([ROOT / "format", ROOT / "rounding"])


def integer(unit_exp: int, bits: int = 4) -> Facts:
    """Facts of two's complement numbers of a unit."""
    return {"class": "integer", "signed": "twos_complement", "bits": bits, "unit_exp": unit_exp}


def floating(exp_bits: int, frac_bits: int) -> Facts:
    """Facts of a float of the usual bias, without NaN and infinity."""
    bias = (1 << (exp_bits - 1)) - 1
    return {"class": "float", "signed": "yes", "exp_bits": exp_bits, "frac_bits": frac_bits, "bias": bias, "subnormals": "yes",
            "inf": "none", "nan": "none", "neg_zero": "yes"}  # fmt: skip


def chain(by: int, rounding: str, align: Facts | None = None) -> Facts:
    """Facts of a chain of `by` products and C."""
    level = {"id": "k", "of": "all", "add": "chain", "by": by, "start": "c", "hold": {"format": "fp32", "rounding": rounding}}
    return {"c": "fp32", "k": by, "levels": [level | ({} if align is None else {"align": align})], "out": {"format": "fp32"},
            "special": {"when": "once", "nan": "any"}}  # fmt: skip


def promote(zero: str, block: int = 1) -> Facts:
    """Facts of a datapath that promotes, with C."""
    held = {"format": "fp32", "rounding": "rne", "overflow": "ieee"}
    levels = [
        {"id": "blk", "of": "block", "add": "exact", "scale": {"product": held, "term": held}},
        {"id": "k", "of": "all", "add": "chain", "start": "c", "hold": held},
    ]
    return {"c": "fp32", "k": block, "scale": {"formats": ["fp32"], "blocks": [block]}, "levels": levels, "out": {"format": "fp32"},
            "special": {"when": "per_add", "nan": "any", "zero": zero}}  # fmt: skip


TEN = {"fraction_bits": 10, "cut": "rz"}
ONE, HALF = 0x3F800000, 0x3F000000  # of binary32
E6M3 = floating(6, 3)
# what: formats of A and B, facts, codes of A, B and scales, C, the code of D
ROWS: dict[str, tuple[Facts, Facts, Facts, list[list[int]], int, int]] = {
    # units 2^64 and 1: 1 * 2^64 * (1 * 2^64) = 2^128 and its negative; they cancel, C is 0
    "products of 2^128 that cancel": (integer(64), integer(64), chain(2, "rz", TEN), [[1, 15], [1, 1]], 0, 0),
    # 2^130 * 2^130 = 2^260 is beyond binary32
    "a product of 2^260": (integer(130), integer(130), chain(2, "rz", TEN), [[1, 0], [1, 0]], 0, 0x7F800000),
    "a product of -2^260": (integer(130), integer(130), chain(2, "rz", TEN), [[15, 0], [1, 0]], 0, 0xFF800000),
    # 0x001: the least, 2^-30 * 2^-3 = 2^-33; -2^-33 * 2^-33 = -2^-66 is cut downwards to one unit of C = 2^120, -2^110: 2^120 - 2^110
    # = (2^10 - 1) * 2^110 = 0x7B7FC000
    "a tiny product that leaves a whole unit": (
        E6M3, E6M3, chain(2, "rz", TEN | {"cut": "rd"}), [[0x201, 0], [0x001, 0]], 0x7B800000, 0x7B7FC000),
    # E = e + 300: -2^-66 names -30 - 30 = -60, the unit is 2^(240 - 10), and -1 unit is beyond binary32
    "a raised unit that is beyond the result": (
        E6M3, E6M3, chain(2, "rz", TEN | {"cut": "rd", "exponent_raise": 300}), [[0x201, 0], [0x001, 0]], 0, 0xFF800000),
    # E = 0 + 1100: 1 * 1 and C = 3 are both below the unit 2^1090
    "a unit of 2^1090": (integer(0), integer(0), chain(2, "rz", TEN | {"exponent_raise": 1100}), [[1, 0], [1, 0]], 0x40400000, 0),
    # no product is live, and C is not raised: E = 1, the unit is 2^-9
    "zeros do not raise E by 9000": (
        integer(0), integer(0), chain(2, "rz", TEN | {"exponent_raise": 9000}), [[0, 0], [1, 1]], 0x40400000, 0x40400000),
    # 2^-100 * 2^-100 = 2^-200 vanishes; -1 times +0 is -0, which zero: plus makes +0; -0 + +0 = +0
    "promote, zeros are plus": (integer(0), integer(0), promote("plus"), [[1], [15], [0x0D800000], [0x0D800000]], 0x80000000, 0),
    # the same with ieee: -1 * +0 = -0, and -0 + -0 = -0
    "promote, zeros as IEEE 754": (
        integer(0), integer(0), promote("ieee"), [[1], [15], [0x0D800000], [0x0D800000]], 0x80000000, 0x80000000),
    # 1 * 2^70 * (1 * 2^70) = 2^140 is no binary32 number; 2^-50 * 2^-50 = 2^-100; 2^140 * 2^-100 = 2^40
    "promote of a sum beyond binary32": (
        integer(70), integer(70), promote("ieee"), [[1], [1], [0x26800000], [0x26800000]], 0, (40 + 127) << 23),
    # 2^-90 * 2^-90 = 2^-180; 2^50 * 2^50 = 2^100; 2^-180 * 2^100 = 2^-80
    "promote of a sum below binary32": (
        integer(-90), integer(-90), promote("ieee"), [[1], [1], [0x58800000], [0x58800000]], 0, (-80 + 127) << 23),
    # -3/2 * 3/2 = -9/4 names 0 and is cut downwards to -3, five times; C = -3/2 to -2: -17, which needs 5 bits above the sign
    "five products that are cut downwards, and C": (
        SHIPPED["e2m1"], SHIPPED["e2m1"], chain(5, "rz", {"fraction_bits": 0, "cut": "rd", "beyond": "wrap"}),
        [[11] * 5, [3] * 5], 0xBFC00000, 0xC1880000),
}  # fmt: skip


@pytest.mark.parametrize("what", ROWS)
def test_a_row_typed_by_hand(what: str) -> None:
    """Every engine that takes the datapath, as a fused step or in levels, and the oracle give D; some engine but the exact one does."""
    a, b, facts, codes, c, d = ROWS[what]
    name, facts = "far_by_hand", {"a": ["far_a"], "b": ["far_b"]} | facts
    made = [{"kind": "format", "id": key, **USER.ABOUT, "facts": item} for key, item in (("far_a", a), ("far_b", b))]
    row = codes, c
    assert oracle(SHIPPED | {"far_a": a, "far_b": b}, facts, row) == d
    with USER.loaded(*made, {"kind": "datapath", "id": name, **USER.ABOUT, "facts": facts}):
        found = {(type(plan).__name__, engine): answers(plan, engine, [row])[0] for plan in plans(name) for engine in engines(plan)}
    raised = facts["levels"][-1].get("align", {}).get("exponent_raise", 0)
    assert len({engine for _, engine in found}) > (raised < 1024)  # which c_ref takes
    assert found == dict.fromkeys(found, d)


SEEDS = (5, 30, 71, 84, 101)  # which found wrong bits while nobody asked how far numbers reach


def test_drawn_datapaths() -> None:
    seen = _drawn([*SEEDS, *range(200, 225)])
    assert seen["datapaths"] > 20 and all(seen[f"{engine} step"] > 10 for engine in ("numpy", "native", "c_ref", "exact"))


@pytest.mark.exhaustive
def test_more_drawn_datapaths() -> None:
    assert _drawn(range(10_000, tries(10_100, 14_000)))["datapaths"] > 70


def _drawn(seeds: Sequence[int]) -> Counter[str]:
    """Compare rows of drawn datapaths in every engine and form with the oracle; one that the loader refuses is left out."""
    seen = Counter[str]()
    for seed in seeds:
        made, facts = drawn(seed)
        files = SHIPPED | {item["id"]: item["facts"] for item in made}
        try:
            with USER.loaded(*made):
                seen += compare(files, facts, f"far_{seed}", Random(seed), 4)
                seen["datapaths"] += 1
        except SpecError:
            continue
    return seen


# A shortcut is taken up to an edge and not beyond it. Elements are int4 and e2m1 with another unit or bias.


def own(name: str, place: int) -> Facts:
    """Facts of int4 in units of 2^place, or of e2m1 times 2^place."""
    return integer(place) if name == "int4" else floating(2, 1) | {"bias": 1 - place}


def late(split: bool) -> Facts:
    """Facts of products that are summed before C joins: rounded, or in two parts that are aligned again."""
    facts = chain(4, "rne")
    last = facts["levels"][0]
    first = {"fraction_bits": 13, "integer_bits": "none"}
    if not split:
        return facts | {"levels": [{"id": "step", "of": 4, "add": "exact", "hold": last["hold"]}, last | {"by": 1}]}
    running = {"fraction_bits": 13, "cut": "rd", "drop_below": 14}
    second = {"fraction_bits": 20, "integer_bits": "none", "cut": "rd", "floor": -126, "running": running}
    parts = {"id": "part", "of": 2, "take": {"every": 2}, "add": "aligned", "align": first | {"cut": "rz"}}
    joined = {"id": "join", "of": 2, "add": "aligned", "align": first | {"cut": "rd"}}
    return facts | {"levels": [parts, joined, last | {"by": 1, "align": second}]}


def register() -> Facts:
    """Facts of an exact register through K."""
    hold = {"bits": 40, "unit_exp": "derived", "overflow": "error"}
    level = {"id": "k", "of": "all", "add": "chain", "start": "zero", "hold": hold}
    return chain(4, "rne") | {"levels": [level], "out": {"format": "fp32", "rounding": "rne", "plus": "c"}}


def raised(by: int, cut: str = "rd", **more: Any) -> Facts:
    """Facts of an aligned step of four products."""
    return chain(4, "rne", {"fraction_bits": 10, "cut": cut, "exponent_raise": by} | more)


def free(unit: int) -> Facts:
    """Facts of levels that are no step: a register in fixed point."""
    hold = {"bits": 20, "unit_exp": unit, "rounding": "rd", "overflow": "saturate"}
    level = {"id": "k", "of": "all", "add": "chain", "by": 2, "start": "zero", "hold": hold}
    return chain(4, "rne") | {"levels": [level], "out": {"format": "fp32", "rounding": "rne", "plus": "c"}}


STEP, NARROW, LEVELS = "step", "narrow", "levels"
# what: the shortcut, its engine, the facts and where elements are, both as they follow from a number, and the two ends of that number
EDGES: dict[str, tuple[str, str, Callable[[int], Facts], Callable[[int], int], int]] = {
    "aligned, elements": (STEP, "numpy", lambda _: raised(0), lambda n: n, 530),
    "aligned, tiny elements": (STEP, "numpy", lambda _: raised(0), lambda n: -n, 530),
    "aligned, E": (STEP, "numpy", raised, lambda _: 0, 1100),
    "aligned, low E": (STEP, "numpy", lambda n: raised(-n, floor="none"), lambda _: -60, 1100),
    "aligned toward zero, E": (STEP, "numpy", lambda n: raised(n, "rz"), lambda _: 0, 1100),
    "aligned, normalised": (STEP, "numpy", lambda _: raised(0, exponent="normalised"), lambda n: -n, 530),
    "aligned, a floor": (STEP, "numpy", lambda n: raised(0, floor=n), lambda _: 0, 1100),
    "aligned, an adder that wraps": (STEP, "numpy", lambda n: raised(n, integer_bits=4, beyond="wrap"), lambda _: 0, 1100),
    "exact sums": (STEP, "numpy", lambda _: chain(4, "rne"), lambda n: n, 530),
    "exact, tiny sums": (STEP, "numpy", lambda _: chain(4, "rne"), lambda n: -n, 530),
    "rounded sums": (STEP, "numpy", lambda _: late(False), lambda n: n, 530),
    "two parts": (STEP, "numpy", lambda _: late(True), lambda n: n, 530),
    "two tiny parts": (STEP, "numpy", lambda _: late(True), lambda n: -n, 530),
    "a register": (STEP, "numpy", lambda _: register(), lambda n: n, 530),
    "a register of tiny products": (STEP, "numpy", lambda _: register(), lambda n: -n, 530),
    "binary32, elements": (NARROW, "numpy", lambda _: raised(0), lambda n: n, 530),
    "binary32, tiny elements": (NARROW, "numpy", lambda _: raised(0), lambda n: -n, 530),
    "binary32, E": (NARROW, "numpy", lambda n: raised(n, "rz"), lambda _: 0, 530),
    "binary32, E of terms that go down": (NARROW, "numpy", raised, lambda _: -10, 530),
    "binary32, low E": (NARROW, "numpy", lambda n: raised(-n, "rz"), lambda _: 0, 530),
    "kernel, elements": (STEP, "native", lambda _: raised(0, "rz"), lambda n: n, 530),
    "kernel, tiny elements": (STEP, "native", lambda _: raised(0, "rz"), lambda n: -n, 530),
    "kernel, E": (STEP, "native", lambda n: raised(n, "rz"), lambda _: 0, 1100),
    "levels, elements": (LEVELS, "numpy", lambda _: raised(0), lambda n: n, 530),
    "levels, tiny elements": (LEVELS, "numpy", lambda _: raised(0), lambda n: -n, 530),
    "levels, E": (LEVELS, "numpy", raised, lambda _: 0, 1100),
    "levels, a register": (LEVELS, "numpy", free, lambda _: 0, 1100),
    "levels, a register of a tiny unit": (LEVELS, "numpy", lambda n: free(-n), lambda _: 0, 1100),
    "tree, elements": (LEVELS, "native", lambda _: raised(0), lambda n: n, 530),
    "tree, E": (LEVELS, "native", raised, lambda _: 0, 1100),
    "tree, low E": (LEVELS, "native", lambda n: raised(-n), lambda _: 0, 1100),
    "one register": (LEVELS, "native", free, lambda _: 0, 1100),
    "one register of a tiny unit": (LEVELS, "native", lambda n: free(-n), lambda _: 0, 1100),
}  # fmt: skip


@pytest.mark.parametrize("element", ["int4", "e2m1"])
@pytest.mark.parametrize("what", EDGES)
def test_a_shortcut_is_right_up_to_its_edge_and_not_taken_beyond(what: str, element: str) -> None:
    """The last datapath that the shortcut takes gives the oracle's codes; one binade further another way is taken."""
    way, engine, facts_of, place_of, most = EDGES[what]

    def plan_of(number: int) -> DatapathPlan | LevelsPlan:
        facts = {"a": [element], "b": [element]} | facts_of(number)
        made = get("format", element).facts.model_validate_json(json.dumps(own(element, place_of(number))))
        fmt = get("format", element).model_copy(update={"facts": made})
        levels = DatapathLevels.model_validate_json(json.dumps(facts))
        model = get("datapath", "ideal").model_copy(update={"id": "edge", "facts": levels})
        if way == LEVELS:
            return resolve_levels(model, fmt, fmt)
        step = step_facts(levels)
        assert step is not None
        return resolve(model.model_copy(update={"facts": step}), fmt, fmt)

    def takes(number: int) -> bool:
        plan = plan_of(number)
        return engine in engines(plan) and (way != NARROW or (isinstance(plan, DatapathPlan) and shape_of(plan).narrow))

    inside, outside = 0, most
    assert takes(inside) and not takes(outside)
    while outside - inside > 1:
        middle = (inside + outside) // 2
        inside, outside = (middle, outside) if takes(middle) else (inside, middle)
    facts, rng = {"a": [element], "b": [element]} | facts_of(inside), Random(inside)
    files = SHIPPED | {element: own(element, place_of(inside))}
    rows = [draw_row(rng, files, facts) for _ in range(12)]
    rows = [(codes, c) for codes, c in rows if len(codes[0]) == facts["k"]]
    wanted, found = [oracle(files, facts, row) for row in rows], answers(plan_of(inside), engine, rows)
    assert rows and [row for row, want, code in zip(rows, wanted, found, strict=True) if not same(want, code, SHIPPED["fp32"])] == []
