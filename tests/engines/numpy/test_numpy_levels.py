"""Datapaths of levels in the NumPy engine against the exact engine: shipped ones and ones out of a seed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from random import Random

import numpy as np
import pytest
from support.level_compare import all_plans, compare, exact, together
from support.level_samples import PLAIN, RANDOM, Row, drawn_datapath, drawn_row
from support.whole import tries

import emu
from emu.base.errors import EngineError, OpenError, OperandError, ShapeError
from emu.engines.exact.levels import Number, shifted
from emu.engines.numpy import levels as in_numpy
from emu.engines.numpy.convert import code_dtype
from emu.engines.numpy.levels_hold import Holder
from emu.engines.numpy.levels_parts import Values, distill, product, to_grid
from emu.spec import derive
from emu.spec.levels import level_plans_of
from emu.spec.models import Datapath
from emu.spec.models.levels import DatapathLevels, FixedHold, FloatHold
from emu.spec.registry import get


def test_shipped_datapaths() -> None:
    rng, seen, taken = Random(11), Counter[str](), 0
    plans = all_plans()
    for plan in plans:
        if in_numpy.can_levels(plan):
            seen += compare(in_numpy.dot, plan, rng, 6)
            taken += 1
        else:
            assert not isinstance(get("datapath", plan.datapath.id).facts, DatapathLevels), plan.name
    assert taken > 60 and seen["code"] > 300


def test_drawn_datapaths() -> None:
    _compare_drawn(range(5000, 5080), 6)


@pytest.mark.exhaustive
def test_more_drawn_datapaths() -> None:
    _compare_drawn(range(6000, tries(6120, 8200)), 8)


def _compare_drawn(seeds: Sequence[int], rows: int) -> None:
    rng, seen, taken = Random(seeds[0]), Counter[str](), 0
    for seed in seeds:
        for plan in list(level_plans_of(drawn_datapath(seed)))[:2]:
            if in_numpy.can_levels(plan):
                seen += compare(in_numpy.dot, plan, rng, rows)
                taken += 1
    assert taken > len(seeds) * 5 // 6 and seen["code"] > 2 * len(seeds) and seen["OpenError"]


def test_sizes_over_a_chunk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_numpy, "CHUNK", 64)
    rng, plan = Random(3), next(level_plans_of("bf16_register_random"))
    rows: list[Row] = []
    while len(rows) < 33:
        row = drawn_row(plan, rng)
        rows += [row] if row is not None and len(row.a) == 4 else []
    assert [exact(plan, row) for row in rows] == together(in_numpy.dot, plan, rows).tolist()


def test_zeros_keep_their_sign_beside_rows_that_do_not_fit() -> None:
    plan = next(level_plans_of("bf16_register"))
    rows = [Row([0x8000] * 4, [0] * 4, [], [], 0x8000, []), Row([0x7F00, 1, 0xFF00, 1], [0x3F80] * 4, [], [], 1, [])]
    assert exact(plan, rows[0]) == 0x8000
    assert together(in_numpy.dot, plan, rows).tolist() == [exact(plan, row) for row in rows]


def test_errors_name_their_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_numpy, "CHUNK", 64)
    model: Datapath = get("datapath", "int12_saturate")
    (level,) = model.facts.levels
    held = level.model_copy(update={"hold": level.hold.model_copy(update={"overflow": "error"})})
    plan = next(level_plans_of(model.model_copy(update={"facts": model.facts.model_copy(update={"levels": (held,)})})))
    a, b = (np.zeros((10, 16), code_dtype(fmt)) for fmt in (plan.a, plan.b))
    top = derive.codes(plan.a).max_code
    a[6], b[6] = top, top
    c = None if plan.c is None else np.zeros(10, code_dtype(plan.c))
    with pytest.raises(OpenError, match=r"^datapath int12_saturate: row 6: a register overflows where the datapath says error$"):
        in_numpy.dot(a, b, None, None, c, None, plan)
    drawing = next(level_plans_of("bf16_register_random"))
    a, words = np.zeros((2, 4), np.uint16), np.zeros((2, 4), np.uint32)
    words[1, 2] = 1 << 16
    with pytest.raises(OperandError, match=r"^random: word 2 does not fit the \d+ bits of sr_\w+$"):
        in_numpy.dot(a, a, None, None, np.zeros(2, np.uint16), words, drawing)
    with pytest.raises(ShapeError, match=r"^random: datapath bf16_register_random takes 4 words for K = 4, not 3$"):
        in_numpy.dot(a, a, None, None, np.zeros(2, np.uint16), words[:, :3], drawing)
    scaled = next(level_plans_of("mx_lane24"))
    a, scales = np.zeros((3, 64), np.uint8), np.full((3, 2), 127, np.uint8)
    wide = np.where(np.arange(64) == 63, 16, a).astype(np.uint8)
    with pytest.raises(OpenError, match=r"^a: datapath mx_lane24: row 0: what a set bit 4 of a e2m1 code means is open$"):
        in_numpy.dot(wide, a, scales, scales, None, None, scaled)


def test_numbers_that_binary64_does_not_hold_are_refused() -> None:
    plan = next(level_plans_of(drawn_datapath(42790)))  # products of binary32 times scales, in units of the finest of them
    why = "numbers reach from 2^-587 to 2^574: beyond 2^-900 or 2^900, or over more than 1000 bits"
    assert in_numpy.fault(plan) == why and not in_numpy.can_levels(plan)


def test_a_c_that_reaches_beyond_is_refused() -> None:
    """No sum shows how large the C is that a chain starts with: binary64 has numbers that this engine does not take, other engines do."""
    model: Datapath = get("datapath", "bf16_register")
    plan = next(level_plans_of(model.model_copy(update={"id": "wide_c", "facts": model.facts.model_copy(update={"c": "fp64"})})))
    why = "numbers reach from 2^-1074 to 2^1024: beyond 2^-900 or 2^900, or over more than 1000 bits"
    assert in_numpy.fault(plan) == why and not in_numpy.can_levels(plan)
    codes, c = np.zeros((1, 4), np.uint16), np.array([2.0**1000]).view(np.uint64)
    with pytest.raises(EngineError, match="numpy"):
        emu.dot(codes, codes, plan.datapath, c=c, engine="numpy")
    for engine in ("exact", "c_ref", "auto"):
        assert emu.dot(codes, codes, plan.datapath, c=c, engine=engine).tolist() == [0x7F80]


def test_a_register_holds_both_its_ends() -> None:
    plan = next(level_plans_of("int12_saturate"))  # 12 bits of quarters: -2048 to 2047 of them
    ends = [Row([7] * 14 + [x, 0], [7] * 14 + [y, 0], [], [], None, []) for x, y in ((4, 6), (4, 5), (6, 5))]
    ends += [row._replace(b=[code ^ 8 for code in row.b]) for row in ends]
    assert together(in_numpy.dot, plan, ends).tolist() == [exact(plan, row) for row in ends]


def test_cuts_of_several_parts() -> None:
    rng = Random(9)
    for name in (*PLAIN, *RANDOM):
        rounding, values, words = get("rounding", name), [], []
        for _ in range(300):
            high, low = rng.randrange(-16, 17) * Fraction(1, 4), rng.choice((0, 1, -1, 3)) * Fraction(1, 1 << rng.randint(60, 90))
            values.append((high, low))
            words.append(
                rng.choice((0, 1, 1 << (rounding.random_bits - 1), rng.getrandbits(rounding.random_bits))) if rounding.random_bits else 0
            )
        parts = distill([np.array([float(low) for _, low in values]), np.array([float(high) for high, _ in values])])
        found = to_grid(parts, 0, rounding, np.array(words, np.uint32))
        for i, (high, low) in enumerate(values):
            number = Number(int((high + low) * (1 << 100)), 0, 100, True)
            wanted = shifted(number, 0, rounding, words[i] if rounding.random_bits else None)
            assert sum(Fraction(float(part[i])) for part in found) == wanted, (name, high, low, words[i])


def test_a_product_of_parts_is_exact_and_its_parts_do_not_overlap() -> None:
    """One part and several, exact in one product of binary64 and not: the last part is the whole, rounded to nearest."""
    one = 1 + 2.0**-52
    for parts, factor in (
        ([3.0], 5.0),
        ([one], one),
        ([2.0**-60, one], 3.0),
        ([3 * 2.0**-57, one], one),
        ([2.0**-120, 2.0**-56 + 2.0**-90, one], one),
    ):
        found = product([np.array([part, -part]) for part in parts], np.array([factor, factor]))
        exact = sum((Fraction(part) for part in parts), Fraction(0)) * Fraction(factor)
        for place, sign in ((0, 1), (1, -1)):
            terms = [Fraction(part[place]) for part in found]
            assert sum(terms, Fraction(0)) == sign * exact and float(terms[-1]) == float(sign * exact)
            held = [term for term in terms if term]
            assert all(abs(small) < Fraction(large.numerator & -large.numerator, large.denominator) for small, large in pairwise(held))


def test_a_register_names_an_exponent_for_all_numbers_but_zero() -> None:
    """In fixed point the exponent 0, in a float format that of the number, of a subnormal one the least; where no level asks, none."""
    value = Values([np.array([0.0, 1.0, -1.0, 2.0**-24, 5.5, -0.25])])
    fixed, single = FixedHold(bits=40, unit_exp=-30, overflow="saturate"), FloatHold(format="fp16")
    for hold, unit, names in ((fixed, -30, [0] * 6), (single, None, [-14, 0, 0, -14, 2, -2])):
        found = Holder(True, False, 0).hold(value, hold, None, unit)
        assert found.exp is not None and found.live is not None
        assert found.live.tolist() == [False, True, True, True, True, True]
        assert [exp for exp, live in zip(found.exp.tolist(), found.live, strict=True) if live] == names[1:]
        assert [part.tolist() for part in found.parts] == [value.parts[0].tolist()]
        silent = Holder(False, False, 0).hold(value, hold, None, unit)
        assert silent.exp is silent.live is None and silent.parts[-1].tolist() == value.parts[0].tolist()


def test_a_special_value_keeps_no_parts() -> None:
    """A row that is infinite has one part, so that a chain which it runs through does not double its parts at each addition."""
    value = Values([np.array([2.0**-90, np.nan]), np.array([1.0, np.inf])], np.array([0, 2000]), np.array([True, True]))
    for hold in (FloatHold(format="fp32", rounding="rz"), FixedHold(bits=40, unit_exp=-30, rounding="rz", overflow="saturate")):
        found = Holder(True, False, 0).hold(value, hold, None, -30)
        assert [part.tolist() for part in found.parts] == [[1.0, np.inf]]
    finite = value.zero_where(np.array([False, True]))
    assert finite.exp is not None and finite.exp.tolist() == [0, 0]
    assert [part.tolist() for part in finite.parts] == [[2.0**-90, 0.0], [1.0, 0.0]]


def test_an_adder_that_wraps_beside_infinite_scales_takes_parts_of_finite_rows_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """An infinite scale names 1024: powers of that are no numbers, and what is cut in their unit is no part of any row."""
    align = {"fraction_bits": 0, "cut": "rz", "beyond": "wrap"}
    chain = {"id": "k", "of": "all", "add": "chain", "start": "c", "align": align, "hold": {"format": "bf16", "rounding": "rz"}}
    each = {"format": "e5m2", "rounding": "rne"}
    words = {
        "a": ("int8",), "b": ("int8",), "c": "bf16", "k": 1, "scale": {"formats": ("e8m0",), "blocks": (1,)},
        "products": {"scale": {"each": each, "product": {"format": "fp32", "rounding": "rne"}}}, "levels": (chain,),
        "out": {"format": "fp32", "rounding": "rne"}, "special": {"when": "per_add", "nan": "any"},
    }  # fmt: skip
    model = get("datapath", "bf16_register").model_copy(update={"id": "wraps", "facts": DatapathLevels.model_validate(words)})
    plan, seen, wrapped = next(level_plans_of(model)), [], in_numpy.wrapped

    def watched(parts: list[np.ndarray], bits: int, unit: np.ndarray) -> list[np.ndarray]:
        seen.append(len(parts))
        assert all(np.isfinite(part).all() for part in parts)
        return wrapped(parts, bits, unit)

    monkeypatch.setattr(in_numpy, "wrapped", watched)
    rows = [Row([1, 255, 3, 7] * 2, [5, 9, 200, 1] * 2, scale, [127] * 8, 0x3F80, []) for scale in ([127] * 8, [254] * 8, [127, 254] * 4)]
    assert together(in_numpy.dot, plan, rows).tolist() == [exact(plan, row) for row in rows]
    assert max(seen) <= 2
