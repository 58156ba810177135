"""One fused step with one choice made wrong: which rows of a datapath notice. The power table of the directed categories comes from here.

A second small integer program of the general datapath (scale.apply none, product or group, C among the terms), which imports nothing of the
reference model: on the right choices both give the same codes. Not here: late C, promote, accumulators.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from emu.spec import derive
from emu.spec.datapath import DatapathPlan
from emu.spec.models import Format
from emu.spec.models.format import ExponentFacts, FloatFacts, IntegerFacts
from emu.spec.reach import reach


class Number(NamedTuple):
    """value = s * 2^(e - f); kind: "" for a number, nan or inf (s is its sign)."""

    s: int
    e: int
    f: int
    kind: str = ""


@dataclass(frozen=True)
class Reading:
    """How somebody reads a datapath. The fields are its facts and the faults that are no facts; see `readings`."""

    frac_bits: int
    group: int
    step: int
    floor: int | None
    mode: str
    keep: int
    align: str = "rz"
    normalised: bool = False
    cancelled_counts: bool = True
    zero_terms_count: bool = False
    zero_c_counts: bool = False
    c_normalised: bool = False
    c_raises: bool = True
    c_after: bool = False
    adder_bits: int | None = None
    flush: Literal["", "result", "c", "elements", "scales"] = ""
    zero_code: bool = False
    nan_scale: Literal["always", "live", "never"] = "always"
    saturate: bool = False
    minus_zero: bool = False


def right(plan: DatapathPlan) -> Reading:
    """Return the reading that the spec gives. Raises: ValueError for a datapath of another form."""
    facts = plan.facts
    if plan.frac_bits is None or facts.align.include_c == "no" or facts.scale.apply == "promote":
        raise ValueError(f"{plan.name}: not a single aligned sum with C in it")
    return Reading(
        plan.frac_bits, plan.group, plan.step, plan.floor, facts.round.mode, facts.round.keep, facts.align.rounding,
        facts.align.exponent == "normalised", facts.align.cancelled_group_counts == "yes", nan_scale=facts.special.nan_scale,
        saturate=facts.round.overflow == "saturate",
    )  # fmt: skip


def readings(plan: DatapathPlan) -> dict[str, Reading]:
    """Return every wrong parameter of the power table that has a meaning for a plan."""
    is_right, full = right(plan), reach(plan.d).min_exp - reach(plan.d).lsb_exp
    floor, bits = is_right.floor if is_right.floor is not None else 0, is_right.frac_bits
    changes: dict[str, dict[str, Any]] = {
        "fraction_bits_less": {"frac_bits": bits - 1},
        "fraction_bits_more": {"frac_bits": bits + 1},
        "fraction_bits_25": {"frac_bits": 24 if bits == 25 else 25},
        "exact_sum": {"frac_bits": 600},
        "two_steps": {"step": is_right.step // 2},
        "floor_up": {"floor": floor + 1},
        "floor_down": {"floor": floor - 1},
        "floor_none": {"floor": None},
        "floor_min_normal": {"floor": reach(plan.d).min_exp},
        "round_mode": {"mode": "rne" if is_right.mode == "rz" else "rz"},
        "align_rd": {"align": "rd"},
        "align_rne": {"align": "rne"},
        "normalised": {"normalised": True},
        "zero_terms_count": {"zero_terms_count": True},
        "zero_c_counts": {"zero_c_counts": True},
        "c_normalised": {"c_normalised": True},
        "c_not_in_exponent": {"c_raises": False},
        "c_after": {"c_after": True},
        "adder_narrow": {"adder_bits": None if plan.adder_bits is None else plan.adder_bits - 1},
        "flush_result": {"flush": "result"},
        "flush_c": {"flush": "c"},
        "flush_elements": {"flush": "elements"},
        "saturate": {"saturate": True},
        "minus_zero": {"minus_zero": True},
    }
    if plan.facts.scale.apply == "group":
        changes |= {"group_half": {"group": is_right.group // 2}, "group_1": {"group": 1}, "cancelled_group": {"cancelled_counts": False}}
        changes |= {"group_32": {"group": 32}} if plan.block % 32 == 0 and is_right.group < 32 else {}
    if plan.scale is not None:
        changes |= {"nan_scale_never": {"nan_scale": "never"}, "nan_scale_live": {"nan_scale": "live"}}
        changes |= {"flush_scales": {"flush": "scales"}} if isinstance(plan.scale.facts, FloatFacts) else {"zero_code": {"zero_code": True}}
    if is_right.keep < full:
        changes["keep_all"] = {"keep": full}
    return {name: replace(is_right, **change) for name, change in changes.items()}


def number(code: int, fmt: Format, flush: bool = False) -> Number:
    """Return what a code means. flush: a subnormal is zero."""
    facts, known = fmt.facts, derive.codes(fmt)
    code &= (1 << known.bits) - 1
    sign = -1 if known.sign_bit and code & known.sign_bit else 1
    magnitude = code & ~known.sign_bit
    if derive.is_nan_code(code, fmt):
        return Number(sign, _top(facts, magnitude), 0, "nan")
    if known.inf is not None and magnitude == known.inf:
        return Number(sign, 0, 0, "inf")
    if isinstance(facts, ExponentFacts):
        return Number(1, code - facts.bias, 0)
    if isinstance(facts, IntegerFacts):
        return Number(code - (code >> facts.bits - 1 << facts.bits) if derive.is_twos_complement(fmt) else sign * magnitude, 0, 0)
    assert isinstance(facts, FloatFacts)
    field, fraction = magnitude >> facts.frac_bits, magnitude & (1 << facts.frac_bits) - 1
    hidden = 1 if field or facts.subnormals == "no" else 0
    s = 0 if flush and not hidden else fraction + (hidden << facts.frac_bits)
    return Number(sign * s, (field if hidden else 1) - facts.bias, facts.frac_bits)


def _top(facts: Any, magnitude: int) -> int:
    """Return the exponent that a NaN code would name if nobody looked."""
    return magnitude - facts.bias if isinstance(facts, ExponentFacts) else (magnitude >> facts.frac_bits) - facts.bias


def compute(
    reading: Reading, plan: DatapathPlan, a: Sequence[int], b: Sequence[int], scale_a: Sequence[int], scale_b: Sequence[int], c: int
) -> int:
    """Return the code of one row under a reading: a chain of fused steps."""
    flush = reading.flush
    xs = [(number(x, plan.a, flush == "elements"), number(y, plan.b, flush == "elements")) for x, y in zip(a, b, strict=True)]
    scales = [_scale(reading, plan, x, y) for x, y in zip(scale_a, scale_b, strict=True)]
    for start in range(0, len(xs), reading.step):
        ones = [scales[lane // plan.block] if scales else (Number(1, 0, 0), False) for lane in range(start, start + reading.step)]
        c = _step(reading, plan, xs[start : start + reading.step], ones, c)
    return c


def _scale(reading: Reading, plan: DatapathPlan, x: int, y: int) -> tuple[Number, bool]:
    """Return the product of two scales, and whether it is NaN."""
    assert plan.scale is not None
    pair = [number(code, plan.scale, reading.flush == "scales") for code in (x, y)]
    if reading.zero_code:
        pair = [one._replace(s=0) if code == 0 else one for one, code in zip(pair, (x, y), strict=True)]
    full = derive.codes(plan.scale).max_code & 7
    pair = [one._replace(s=(8 | full) + 1 if one.f == 0 and isinstance(plan.scale.facts, FloatFacts) else 1, kind="", f=_frac(plan.scale))
            if one.kind and reading.nan_scale == "never" else one for one in pair]  # fmt: skip
    return Number(pair[0].s * pair[1].s, pair[0].e + pair[1].e, pair[0].f + pair[1].f), any(one.kind for one in pair)


def _frac(fmt: Format) -> int:
    return fmt.facts.frac_bits if isinstance(fmt.facts, FloatFacts) else 0


def _step(
    reading: Reading, plan: DatapathPlan, xs: Sequence[tuple[Number, Number]], scales: Sequence[tuple[Number, bool]], c_code: int
) -> int:
    """Return the code of one fused step."""
    c = number(c_code, plan.c, reading.flush == "c")
    special = _special(reading, plan, xs, scales, c)
    if special is not None:
        return special
    terms = _terms(reading, plan, xs, [scale for scale, _ in scales])
    if reading.c_after:
        part = _round(reading, plan, *_sum(reading, terms, None), mode="rne")
        p = number(part, plan.d)
        if p.kind:
            return part
        low = min(p.e - p.f, c.e - c.f)
        return _round(reading, plan, (p.s << p.e - p.f - low) + (c.s << c.e - c.f - low), low, mode="rne")
    return _round(reading, plan, *_sum(reading, terms, c))


def _special(reading: Reading, plan: DatapathPlan, xs: Any, scales: Any, c: Number) -> int | None:
    known = derive.codes(plan.d)
    nan = known.nan[0] if plan.facts.special.nan == "any" else int(plan.facts.special.nan, 16)
    signs = {c.s} if c.kind == "inf" else set()
    bad = c.kind == "nan" or any(one.kind == "nan" for pair in xs for one in pair)
    for (x, y), (scale, no_scale) in zip(xs, scales, strict=True):
        bad |= no_scale and (reading.nan_scale == "always" or x.s * y.s != 0)
        if "inf" in (x.kind, y.kind):
            zero = any(one.s == 0 and not one.kind for one in (x, y)) or scale.s == 0
            bad |= zero
            signs.add(1 if x.s * y.s > 0 else -1)
    if bad or len(signs) == 2:
        return nan
    assert known.inf is not None
    return known.inf | (known.sign_bit if signs == {-1} else 0) if signs else None


def _terms(
    reading: Reading, plan: DatapathPlan, xs: Sequence[tuple[Number, Number]], scales: Sequence[Number]
) -> list[tuple[int, int, int, bool]]:
    """Return (significand, exponent, fraction bits, live) of each term."""
    out = []
    if plan.facts.scale.apply != "group":
        for (x, y), scale in zip(xs, scales, strict=True):
            s = x.s * y.s * scale.s
            out.append((s, x.e + y.e + scale.e, x.f + y.f + scale.f, s != 0))
        return out
    low = reach(plan.a).min_exp + reach(plan.b).min_exp
    for start in range(0, len(xs), reading.group):
        part, scale = xs[start : start + reading.group], scales[start]
        total = sum(x.s * y.s << x.e + y.e - low for x, y in part)
        alive = any(x.s and y.s for x, y in part) if reading.cancelled_counts else total != 0
        f = part[0][0].f + part[0][1].f + scale.f - low
        out.append((total * scale.s, scale.e, f, alive and scale.s != 0))
    return out


def _sum(reading: Reading, terms: list[tuple[int, int, int, bool]], c: Number | None) -> tuple[int, int]:
    """Align and add; return the sum and the exponent of its unit."""
    found = [(s, _leading(s, e, f) if reading.normalised else e, e - f) for s, e, f, _ in terms]
    raising = [e for (_, e, _), term in zip(found, terms, strict=True) if term[3] or reading.zero_terms_count]
    if c is not None and reading.c_raises and (c.s or reading.zero_c_counts):
        raising.append(_leading(c.s, c.e, c.f) if reading.c_normalised else c.e)
    top = max(raising + ([] if reading.floor is None else [reading.floor]), default=0)
    lsb = top - reading.frac_bits
    total = sum(_shift(s, unit - lsb, reading.align) for s, _, unit in found)
    if c is not None:
        total += _shift(c.s, c.e - c.f - lsb, reading.align)
    if reading.adder_bits is not None:
        half = 1 << reading.adder_bits - 1
        total = (total + half) % (2 * half) - half
    return total, lsb


def _leading(s: int, e: int, f: int) -> int:
    return abs(s).bit_length() - 1 + e - f if s else e


def _shift(s: int, places: int, mode: str) -> int:
    if places >= 0:
        return s << places
    places = min(-places, 2000)
    if mode == "rd":
        return s >> places
    whole, rest = abs(s) >> places, abs(s) & (1 << places) - 1
    up = mode == "rne" and 2 * rest + (whole & 1) > 1 << places
    return (whole + up) * (1 if s > 0 else -1)


def _round(reading: Reading, plan: DatapathPlan, total: int, lsb: int, mode: str = "") -> int:
    """Round total * 2^lsb to the result format."""
    facts, known, mode = plan.d.facts, derive.codes(plan.d), mode or reading.mode
    assert isinstance(facts, FloatFacts) and known.inf is not None
    if not total:
        return 0
    exp = max(total.bit_length() - 1 + lsb, 1 - facts.bias)
    unit = exp - reading.keep
    whole = abs(_shift(total, lsb - unit, mode))
    code = (exp - 1 + facts.bias << facts.frac_bits) + (whole << facts.frac_bits - reading.keep)
    if code > known.max_code:
        code = known.max_code if reading.saturate else known.inf
    if reading.flush == "result" and code >> facts.frac_bits == 0:
        code = 0
    if code == 0:
        return known.sign_bit if reading.minus_zero and total < 0 else 0
    return code | (known.sign_bit if total < 0 else 0)
