"""Both sides of limits inside engines: spread of an exact rotation, C dropped before a second alignment, ends of the 64-bit register,
overflow beside what is infinite. Expected results are worked out here by hand or by the reference model.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from emu.base.errors import OpenError
from emu.engines import datapath as engine_datapath
from emu.engines import run as engine_run
from emu.engines import table as engine_table
from emu.engines.exact.datapath import dot
from emu.engines.exact.decode import decode_code
from emu.engines.exact.transform import transform_codes
from emu.engines.native import convert as kernel
from emu.engines.native import dot as kernel_dot
from emu.engines.native import transform as kernel_transform
from emu.engines.numpy.convert import code_dtype
from emu.spec import derive, get
from emu.spec.datapath import DatapathPlan, resolve

FP32 = get("format", "fp32")
FORMS = range(kernel.BEST_FORM + 1)


def engines_of(operation: str, *facts: Any) -> list[str]:
    """Engines that say they can do it, the reference model among them; torch where it is installed."""
    return list(dict.fromkeys(row.engine for row in engine_table.TABLE if row.operation == operation and row.can(*facts)))


# ---- exact rotations: binary64 holds the sum while the exponents of a group are close


def spread_groups(spread: int, signs: int) -> Any:
    """16 groups, one for each row of the matrix: in it 21 * 2^e, half an ulp of the result, and one unit `spread` + 23 bits below 2^e.

    Without that unit the sum is a tie, which goes to the even side, down; with it the result is the number above. The sum has
    spread + 28 bits: 53 of them are what binary64 holds.
    """
    terms = np.full(16, 1.5)
    terms[0] += 2.0**-20
    terms[14:] = 2.0**-spread * (1 + 2.0**-23), -(2.0**-spread)
    rows = [[-1 if (i & j).bit_count() % 2 else 1 for j in range(16)] for i in range(16)]
    own = [-1 if signs >> j & 1 else 1 for j in range(16)]
    return np.array([terms * row * own for row in rows], np.float32).view(np.uint32)


@pytest.mark.parametrize("engine", engines_of("transform", get("transform", "rht16_exact"), FP32))
@pytest.mark.parametrize("spread", [24, 25, 26, 27, 28, 29, 30])
def test_the_spread_of_an_exact_rotation(engine: str, spread: int) -> None:
    """Every spread about the limit of 25, every row of the matrix; the kernel in every form."""
    chosen = get("transform", "rht16_exact")
    codes = spread_groups(spread, int(chosen.facts.signs, 16))
    found = engine_run.run_transform(codes, FP32, chosen, None, engine)
    above = np.array((21 + 2.0**-19) / 4, np.float32).view(np.uint32)  # the scale of 1/4
    assert found[np.arange(16), np.arange(16)].tolist() == 16 * [int(above)]
    wanted = [transform_codes(row, FP32, chosen) for row in codes.tolist()]
    assert found.tolist() == wanted
    for form in FORMS if engine == "native" else ():
        assert kernel_transform.transform(codes, FP32, chosen, form=form).tolist() == wanted


# ---- a second alignment: C is dropped where its exponent is lower than E by more than 25

ONE, MINUS_ONE, LESS_THAN_ONE = 0x3F800000, 0xBF800000, 0x3F7FFFFF
DROPPED = [  # C beside a product of 1: what stays of it is rounded down to -1 or 0 units of 2^-24
    (0xB3000000, LESS_THAN_ONE, "-2^-25: exponent lower by 25: kept, 1 unit below"),
    (0xB37FFFFF, LESS_THAN_ONE, "the largest number of that exponent"),
    (0xB2FFFFFF, ONE, "the next one toward zero: exponent lower by 26: dropped"),
    (0xB2800000, ONE, "-2^-26"),
    (0x33000000, ONE, "positive and kept: rounded down to nothing"),
    (0x337FFFFF, ONE, "positive and kept"),
    (0x32FFFFFF, ONE, "positive and dropped"),
    (0xB3800000, LESS_THAN_ONE, "-2^-24: one unit exactly"),
    (0x80000001, ONE, "the smallest number is far below"),
    (0x80000000, ONE, "-0 is no addend"),
]


@pytest.mark.parametrize("engine", engines_of("dot", resolve("cdna3_fp8", "e4m3fnuz", "e4m3fnuz")))
@pytest.mark.parametrize("fmt", ["e4m3fnuz", "e5m2fnuz"])
def test_c_is_dropped_just_below_the_boundary(engine: str, fmt: str) -> None:
    """The product stands in either of the two parts, in either step; in the second one E is that of the step before."""
    plan, one = resolve("cdna3_fp8", fmt, fmt), 0x40
    for place in (0, 1, 15, 16, 31):
        a = np.zeros((len(DROPPED), plan.facts.k), np.uint8)
        a[:, place] = one
        c = np.array([c for c, _, _ in DROPPED], np.uint32)
        found = engine_datapath.run_dot(a, np.full_like(a, one), None, None, c, plan, engine)
        if place < 16:  # the step that follows adds nothing
            assert [(d, why) for d, (_, _, why) in zip(found.tolist(), DROPPED, strict=True)] == [(d, why) for _, d, why in DROPPED]
        ones = [one] * plan.facts.k
        assert found.tolist() == [dot(row, ones, [], [], int(code), plan).code for row, code in zip(a.tolist(), c, strict=True)]


# ---- the register of 64 bits: from -2^63 to 2^63 - 1 units, a unit being the product of the smallest elements and scales


class Register:
    """int64 with elements of other formats, so that few products fill it, and operands whose products sum to a given number of units."""

    def __init__(self, a: str, b: str, bits: int) -> None:
        facts = get("datapath", "int64").facts
        facts = facts.model_copy(update={"a": (a,), "b": (b,), "accumulator": facts.accumulator.model_copy(update={"bits": bits})})
        self.plan = resolve(get("datapath", "int64").model_copy(update={"facts": facts}), a, b, "ue4m3", 16)
        self.end = 1 << (bits - 1)
        self.elements = [self.powers(fmt) for fmt in (self.plan.a, self.plan.b)]
        self.scales = self.powers(self.plan.scale)
        self.unit = sum(min(powers) for powers in self.elements) + 2 * min(self.scales)  # exponent of 2
        values = [decode_code(derive.codes(fmt).max_code, fmt).magnitude for fmt in (self.plan.a, self.plan.b, self.plan.scale)]
        self.largest = values[0] * values[1] * values[2] ** 2 / Fraction(2) ** self.unit

    @staticmethod
    def powers(fmt: Any) -> dict[int, int]:
        """Exponent -> code of the powers of two."""
        found = {decode_code(code, fmt).magnitude: code for code in range(1, derive.codes(fmt).max_code + 1)}
        return {exp: found[Fraction(2) ** exp] for exp in range(-20, 20) if Fraction(2) ** exp in found}

    def factors(self, exp: int) -> tuple[tuple[int, int, int, int], int]:
        """Codes of two elements and two scales whose product is 2^exp units, or a part of it, and how many of them make it."""
        left, codes = exp, list[int]()
        for powers in (self.scales, self.scales, *self.elements):
            step = min(left, max(powers) - min(powers))
            codes.append(powers[min(powers) + step])
            left -= step
        return (codes[2], codes[3], codes[0], codes[1]), 1 << left

    def summing_to(self, units: int) -> list[Any]:
        """A row: the largest product again and again, then a block for each power of two of what is left."""
        sign, size = (derive.codes(self.plan.a).sign_bit, -units) if units < 0 else (0, units)
        many, rest = divmod(size, int(self.largest))
        bits, first, k = [exp for exp in range(rest.bit_length()) if rest >> exp & 1], -(-many // 16), self.plan.facts.k
        blocks = -(-16 * (first + len(bits)) // k) * k // 16
        a, b = np.zeros((blocks, 16), np.uint8), np.zeros((blocks, 16), np.uint8)
        scale_a, scale_b = np.full(blocks, 0x38, np.uint8), np.full(blocks, 0x38, np.uint8)
        a.reshape(-1)[:many], b.reshape(-1)[:many] = derive.codes(self.plan.a).max_code | sign, derive.codes(self.plan.b).max_code
        scale_a[:first] = scale_b[:first] = derive.codes(self.plan.scale).max_code
        for block, exp in enumerate(bits, first):
            (x, y, scale_a[block], scale_b[block]), again = self.factors(exp)
            a[block, :again], b[block, :again] = x | sign, y
        return [a.reshape(1, -1), b.reshape(1, -1), scale_a.reshape(1, -1), scale_b.reshape(1, -1)]


def said(engine: str, row: int, bits: int) -> str:
    """What a refusal says; the reference model is asked a row at a time, and names none."""
    return ("" if engine == "exact" else f"row {row}: ") + f".*the {bits}-bit accumulator overflows"


def code_of(value: float) -> int:
    return int(np.array(value, np.float32).view(np.uint32))


# the NumPy engine wants sums of a step that binary64 holds, and so more of them
REGISTERS = [("e3m2", "e3m2", 64), ("e2m3", "e2m1", 64), ("e3m2", "e3m2", 60), ("e2m1", "e2m1", 48)]
REGISTER_CASES = [
    (engine, *case)
    for case in REGISTERS
    for engine in engines_of("dot", Register(*case).plan)
    if case[:2] != ("e2m3", "e2m1") or engine == "numpy"
]


@pytest.mark.cases(4)
@pytest.mark.parametrize(("engine", "a", "b", "bits"), REGISTER_CASES)
def test_both_ends_of_the_register(engine: str, a: str, b: str, bits: int) -> None:
    """The last sum that fits at either end comes out to the unit, which C uncovers; one unit more is refused, and the row is named.

    Where C is infinite the result is, and no register is asked.
    """
    register = Register(a, b, bits)
    top, unit = 2.0 ** (bits - 1 + register.unit), 2.0**register.unit
    for units, cases in (
        (register.end - 1, [(0.0, top), (-top, -unit), (np.inf, np.inf)]),
        (-register.end, [(0.0, -top), (top, 0.0), (-np.inf, -np.inf)]),
        (register.end, [(-np.inf, -np.inf), (np.inf, np.inf), (-top, None)]),
        (-register.end - 1, [(np.inf, np.inf), (-np.inf, -np.inf), (top, None)]),
    ):
        sides = [np.repeat(side, 3, axis=0) for side in register.summing_to(units)]
        c, right = np.array([code_of(c) for c, _ in cases], np.uint32), [code_of(d) for _, d in cases if d is not None]
        if len(right) < len(cases):
            with pytest.raises(OpenError, match=said(engine, 2, bits)):
                engine_datapath.run_dot(*sides, c, register.plan, engine)
            sides, c = [side[:2] for side in sides], c[:2]
        assert engine_datapath.run_dot(*sides, c, register.plan, engine).tolist() == right, units


@pytest.mark.parametrize("engine", engines_of("dot", Register("e2m1", "e2m1", 48).plan))
def test_a_register_that_comes_back_has_overflowed(engine: str) -> None:
    """What left the register is refused though the rest of K brings the sum back."""
    register = Register("e2m1", "e2m1", 48)
    for sign in (1, -1):
        out, back = register.summing_to(sign * (register.end + 1)), register.summing_to(-sign << 40)
        sides = [np.concatenate(pair, axis=1) for pair in zip(out, back, strict=True)]
        with pytest.raises(OpenError, match=said(engine, 0, 48)):
            engine_datapath.run_dot(*sides, np.zeros(1, np.uint32), register.plan, engine)


# ---- overflow beside what is infinite

OVERFLOWING = {  # a code whose square, sixteen times or more, is beyond the largest result; of scales likewise
    "hopper_fp16_f16": (resolve("hopper_fp16_f16"), 0x7BFF, None),
    "hopper_fp16": (resolve("hopper_fp16", "bf16", "bf16"), 0x7F7F, None),
    "blackwell_f8f6f4_f16": (resolve("blackwell_f8f6f4_f16", "e5m2", "e5m2"), 0x7B, None),
    "blackwell_mxf4_b32_ue8m0": (resolve("blackwell_mxf4_b32_ue8m0"), 7, 0xFE),
    "nv_like": (resolve("nv_like", "e2m1", "e2m1", "e8m0", 16), 7, 0xFE),
    "late_c": (resolve("late_c", "e2m1", "e2m1", "e8m0", 16), 7, 0xFE),
}
ADDENDS = {"fp16": (0x3C00, 0x7BFF, 0x7C00, 0x7E00), "fp32": (ONE, 0x7F7FFFFF, 0x7F800000, 0x7FC00000)}  # 1, largest, Inf, NaN


def meetings(plan: DatapathPlan, largest: int, scale: int | None) -> tuple[list[Any], list[int]]:
    """Rows of two instructions: every kind of sum with every kind of C; and what comes out where overflow gives infinity."""
    sign, minus = derive.codes(plan.a).sign_bit, derive.codes(plan.d).sign_bit
    one, most, infinity, nan = ADDENDS[plan.d.id]
    k, rows, wanted = max(plan.facts.k, plan.block), list[Any](), list[int]()
    plus, negative = largest, largest | sign
    for first, then in ((0, 0), (plus, plus), (negative, negative), (plus, negative), (0, negative), (negative, plus)):
        beyond = infinity | (minus if (first or then) & sign else 0) if then else None
        for c in (0, one, one | minus, most, most | minus, infinity, infinity | minus, nan):
            rows.append(([first] * k + [then] * k, [largest] * 2 * k, c))
            wanted.append(plan.nan_code if c == nan else c if c & ~minus == infinity or beyond is None else beyond)
    a, b, c = (np.array(part) for part in zip(*rows, strict=True))
    scales = [None if scale is None else np.full((len(rows), 2 * k // plan.block), scale, np.uint8) for _ in "ab"]
    return [a.astype(code_dtype(plan.a)), b.astype(code_dtype(plan.b)), *scales, c.astype(code_dtype(plan.d))], wanted


@pytest.mark.parametrize("name", OVERFLOWING)
def test_overflow_beside_what_is_infinite(name: str) -> None:
    """Outputs beside each other in one row of lanes: what is infinite or NaN in one of them says nothing of the next."""
    plan, largest, scale = OVERFLOWING[name]
    sides, wanted = meetings(plan, largest, scale)
    assert len(set(wanted)) >= 7
    for order in (np.arange(len(wanted)), np.arange(len(wanted))[::-1], np.random.default_rng(80).permutation(len(wanted))):
        given, right = [None if side is None else side[order] for side in sides], [wanted[i] for i in order]
        for engine in engines_of("dot", plan):
            assert engine_datapath.run_dot(*given, plan, engine).tolist() == right, engine
            for form in FORMS if engine == "native" else ():
                assert kernel_dot.dot(*given, plan, form=form).tolist() == right, form


@pytest.mark.parametrize("name", OVERFLOWING)
def test_one_output_beyond_the_largest_number(name: str) -> None:
    """A single overflow in a panel of numbers, of either sign, at any lane, and with an infinite C at the next one."""
    plan, largest, scale = OVERFLOWING[name]
    sides, wanted = meetings(plan, largest, scale)
    calm = 1
    for wild in (9, 17):  # C is -1, and both instructions overflow: upwards, downwards
        for lane in (0, 1, 15, 31, 32, 39):
            for beside in (calm, 5):  # C is 1, or infinite
                order = np.full(40, calm)
                order[lane], order[(lane + 1) % 40] = wild, beside
                given, right = [None if side is None else side[order] for side in sides], [wanted[i] for i in order]
                for engine in engines_of("dot", plan):
                    if engine != "exact" or lane == 0:
                        assert engine_datapath.run_dot(*given, plan, engine).tolist() == right, (engine, lane)


@pytest.mark.parametrize("name", OVERFLOWING)
def test_one_overflow_that_comes_back(name: str) -> None:
    """A single output is infinite after the first instruction, of either sign, and stays so though the second one takes as much away.

    The other outputs are sums of the largest products that cancel: as large as the overflow is what is added there, and the result is +0.
    """
    plan, largest, scale = OVERFLOWING[name]
    sides, wanted = meetings(plan, largest, scale)
    sign = derive.codes(plan.a).sign_bit
    for wild in (24, 40):  # C is 1; the first instruction overflows upwards, downwards
        for lane in (0, 15, 31, 39):
            given = [None if side is None else np.repeat(side[wild : wild + 1], 40, axis=0) for side in sides]
            elements, c, right = given[0], given[-1], [0] * 40
            others = np.arange(40) != lane
            elements[others, ::2], elements[others, 1::2], c[others] = largest, largest | sign, 0
            right[lane] = wanted[wild]
            for engine in engines_of("dot", plan):
                if engine != "exact" or lane == 0:
                    assert engine_datapath.run_dot(*given, plan, engine).tolist() == right, (engine, lane)
                for form in FORMS if engine == "native" else ():
                    assert kernel_dot.dot(*given, plan, form=form).tolist() == right, (form, lane)
