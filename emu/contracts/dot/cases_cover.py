"""Directed rows of dot products that the coverage model asks for: each pair of special operands, each source of E under each live pattern,
each distance from E with significands that lose nothing, a part and all, each place of the leading bit.

Built from exponents alone, nothing drawn. What the rows reach is counted by emu vectors cover.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Final

from emu.contracts.dot.codes import Codes
from emu.contracts.dot.field import Draft, Field
from emu.contracts.dot.rows import DotRow
from emu.contracts.dot.special import OF_C, possible_kinds
from emu.spec.derive import codes as derived_codes

FEW: Final = 8  # terms: every set of them up to here
GAP: Final = 3  # places between exponents that shall differ
STYLES: Final = ("plain", "full", "cancelled", "tiny", "whole", "even")


def special_pairs(field: Field) -> Iterator[DotRow]:
    """Yield rows of each kind of special operand, each pair of kinds, and all kinds that one row can hold."""
    kinds = possible_kinds(field.plan)
    sets = [*((kind,) for kind in kinds), *combinations(kinds, 2)]
    several = [kind for kind in kinds if kind not in ("c_plus_inf", "c_minus_inf")]
    for chosen in (*sets, tuple(several)) if len(several) > 2 else sets:
        of_c = [kind for kind in chosen if kind in OF_C]
        draft = field.draft()
        if len(of_c) < 2 and all(_place(field, draft, kind, chosen) for kind in chosen):
            yield draft.case()


def _place(field: Field, draft: Draft, kind: str, chosen: tuple[str, ...]) -> bool:
    """Put one special operand into a row; false where the formats, or the blocks of one step, have no place for it."""
    c, step = field.c, field.plan.step
    block = field.plan.block or step
    if kind in OF_C:
        draft.c = c.nan[0] if kind == "nan_c" else c.inf[int(kind == "c_minus_inf")]
        return True
    if kind in ("nan_scale", "nan_scale_zero_block"):
        first = kind == "nan_scale"
        number = 0 if first or "nan_scale" not in chosen else 1
        if number >= max(1, step // block):
            return False
        assert field.scale is not None
        (draft.scale_a if first else draft.scale_b)[number] = field.scale.nan[0]
        if first:
            draft.a[0], draft.b[0] = field.a.one, field.b.one
        return True
    return _special_element(field, draft, kind, step - 1 - ("nan_element", "inf_times_zero", "plus_inf", "minus_inf").index(kind))


def _special_element(field: Field, draft: Draft, kind: str, lane: int) -> bool:
    """Put NaN, infinity times zero or an infinity into a lane near the end of the first step."""
    if kind == "nan_element":
        pair = (field.a.nan[:1], field.b.nan[:1])
        draft.a[lane], draft.b[lane] = (pair[0][0], field.b.one) if pair[0] else (field.a.one, pair[1][0])
        return True
    infinite = next(((side, codes.inf) for side, codes in (("a", field.a), ("b", field.b)) if codes.inf), None)
    if infinite is None:
        return False
    side, inf = infinite
    other = 0 if kind == "inf_times_zero" else (field.b if side == "a" else field.a).one
    code = inf[int(kind == "minus_inf")]
    draft.a[lane], draft.b[lane] = (code, other) if side == "a" else (other, code)
    return bool(derived_codes(field.plan.a if side == "a" else field.plan.b).sign_bit) or kind != "minus_inf"


def exponents(field: Field) -> Iterator[DotRow]:
    """Yield rows of every live pattern: each operand in it sets E once, then all together."""
    terms = _terms(field)
    patterns = range(1 << terms) if terms <= FEW else (0, 1, (1 << terms) - 2, (1 << terms) - 1)
    middle = _middle(field)
    for pattern in patterns:
        live = [term for term in range(terms) if pattern >> term & 1]
        for c in (False, True):
            tops: list[int | None] = [*(live if terms <= FEW else live[:1]), *([terms] if c else [])]
            for top in [*tops, *([None] if len(tops) > 1 or not tops else [])]:
                draft = field.draft()
                for term in live:
                    _put(field, draft, term, middle - (GAP if top not in (None, term) else 0), "plain")
                if c:
                    draft.c = field.c.at(middle - (GAP if top not in (None, terms) else 0))
                yield draft.case()
        if live and _under_floor(field) is not None:
            draft = field.draft()
            for term in live:
                _put(field, draft, term, _under_floor(field) or 0, "plain")
            yield draft.case()


def distances(field: Field) -> Iterator[DotRow]:
    """Yield rows of every distance from E, up to two places below the adder, and of every place of the leading bit."""
    low, high = _span(field)
    top, terms = min(high, field.c.max_exp), _terms(field)
    for distance in range(field.frac_bits + 3):
        for sign, fraction in enumerate((0, field.c.full)):
            yield from _under_a_cancelled_pair(field, top, distance, fraction, sign)
        yield from _low_c(field, distance)
        exp = max(low, min(low, field.c.max_exp - distance))
        by_c = exp + distance <= field.c.max_exp
        room = terms if by_c else max(1, terms - 1)
        for start in range(0, len(STYLES), room):
            draft = field.draft()
            for term, style in enumerate(STYLES[start : start + room]):
                _put(field, draft, term, exp, style)
            if distance and by_c:
                draft.c = field.c.at(exp + distance)
            elif distance and terms > 1:
                _put(field, draft, terms - 1, exp + distance, "plain")
            yield draft.case()
    yield from _carries(field, top)


def cancellations(field: Field) -> Iterator[DotRow]:
    """Yield rows where groups that cancel set E, alone, in pairs, or above two terms that cancel wholly, or but for little."""
    terms, middle = _terms(field), _middle(field)
    for first in range(min(terms, FEW)):
        for others in ((), (1,), (1, 2), (1, 2, 3)):
            draft = field.draft()
            _put(field, draft, first, middle, "cancelled")
            for number, other in enumerate(others):
                term = (first + other) % terms
                if other == 1 and len(others) == 1:
                    _put(field, draft, term, middle, "cancelled")
                elif term != first:
                    _put(field, draft, term, middle - GAP - (field.c.frac_bits if number == 2 else 0), "plain", sign=number == 1)
            yield draft.case()


def sums_of_nothing(field: Field) -> Iterator[DotRow]:
    """Yield rows whose sum is 0, or nearly, though one operand alone sets E, or the floor does."""
    middle, floor = _middle(field), _under_floor(field)
    for by_c in (False, True):
        draft = field.draft()
        if by_c:
            draft.c = field.c.at(middle)
        else:
            _put(field, draft, 0, middle, "plain")
        for term in (1, 2):
            if term - by_c < _terms(field):
                _put(field, draft, term - by_c, middle - 1, "plain", sign=True)
        yield draft.case()
    for style in ("plain", "full") if floor is not None and _terms(field) > 1 else ():
        draft = field.draft()
        _put(field, draft, 0, floor or 0, style)
        _put(field, draft, 1, floor or 0, "plain", sign=True)
        yield draft.case()


def overflows(field: Field) -> Iterator[DotRow]:
    """Yield rows of a term just beyond the largest C and a C whose last bits are kept, lost as a half, or more than that."""
    top = field.c.max_exp + 1
    if top > _span(field)[1]:
        return
    for sign in (0, 1):
        for fraction in range(4):
            for below in (None, top - field.frac_bits):
                draft = field.draft()
                _put(field, draft, 0, top, "plain", sign=bool(sign))
                draft.c = field.c.at(field.c.max_exp, fraction, sign)
                if below is not None and _terms(field) > 1:
                    _put(field, draft, _terms(field) - 1, below, "plain", sign=bool(sign))
                yield draft.case()


def roundings(field: Field) -> Iterator[DotRow]:
    """Yield rows of C with an even and an odd last bit and terms of the same sign below it: a half, a quarter, both of its last place."""
    keep, middle = field.plan.facts.round.keep, _middle(field)
    exp = min(middle + keep + 1, field.c.max_exp)
    for sign in (0, 1):
        for fraction in (0, field.c.full):
            for places in ((1,), (2,), (1, 2)):
                draft = field.draft()
                draft.c = field.c.at(exp, fraction, sign)
                for term, place in enumerate(places):
                    if term < _terms(field):
                        _put(field, draft, term, exp - keep - place, "plain", sign=bool(sign))
                yield draft.case()


def _under_a_cancelled_pair(field: Field, top: int, distance: int, fraction: int, sign: int) -> Iterator[DotRow]:
    """C at a distance below products that cancel: the sum is what is left of C."""
    if top - distance >= field.c.min_exp:
        draft = field.draft()
        _put(field, draft, 0, top, "cancelled")
        draft.c = field.c.at(top - distance, fraction, sign)
        yield draft.case()


def _low_c(field: Field, distance: int) -> Iterator[DotRow]:
    """The least C, subnormal where there are such, at a distance below a product; only where products reach down there."""
    exp = field.c.min_exp + distance
    if _span(field)[0] <= exp <= _span(field)[1]:
        for code in dict.fromkeys((1, field.c.full)):
            draft = field.draft()
            _put(field, draft, 0, exp, "plain")
            draft.c = code
            yield draft.case()


def _carries(field: Field, top: int) -> Iterator[DotRow]:
    """Sums of 2, 4, 8 ... equal products, plain and full, both signs: the leading bit climbs above 2^E."""
    count = 1
    while count <= field.plan.step:
        for sign in (0, 1):
            for style in ("plain", "full"):
                draft = field.draft()
                for part in range(field.parts if field.grouped else 0):
                    _put(field, draft, part, top, style, only_scales=True)
                for lane in range(count):
                    a, b = (field.a.one, field.b.one) if style == "plain" else (field.a.significand_full, field.b.significand_full)
                    draft.a[lane], draft.b[lane] = (field.a.negated(a) if sign else a), b
                if style == "full" and field.grouped:
                    draft.c = field.c.at(min(top, field.c.max_exp), field.c.full, sign)
                yield draft.case()
        count *= 2


def _terms(field: Field) -> int:
    """Return the terms of one fused step."""
    plan = field.plan
    return plan.step // plan.group if plan.facts.scale.apply == "group" else plan.step


def _span(field: Field) -> tuple[int, int]:
    """Return the exponents of terms, scales that products share included."""
    low, high = field.exps
    return (low + 2 * field.scale.min_exp, high + 2 * field.scale.max_exp) if field.movable and field.scale else (low, high)


def _under_floor(field: Field) -> int | None:
    """Return an exponent of terms below the floor of E; None where there is none."""
    floor = field.plan.floor
    return floor - 1 if floor is not None and _span(field)[0] < floor else None


def _middle(field: Field) -> int:
    """Return an exponent that terms and C have, with room on both sides."""
    low, high = max(field.exps[0], field.c.min_exp), min(field.exps[1], field.c.max_exp)  # without scales that products share
    return (low + high + 1) // 2


def _put(field: Field, draft: Draft, term: int, exp: int, style: str, only_scales: bool = False, sign: bool = False) -> None:
    """Put a term of an exponent into a row.

    style: plain (a power of two), full (all ones), cancelled (a pair), tiny (the least significand), whole and even (every product of the
    group: all ones, the largest power of two).
    """
    lanes = range(term * field.plan.group, (term + 1) * field.plan.group) if field.grouped else range(term, term + 1)
    codes = {
        "tiny": (1, 1),
        "full": (field.a.significand_full, field.b.significand_full),
        "even": tuple(one.signed(one.power(one.powers[-1]) or 1, 0) for one in (field.a, field.b)),
    }
    a, b = codes.get("full" if style == "whole" else style, (field.a.one, field.b.one))
    if field.grouped:
        _set_scales(field, draft, lanes, exp, style)
    elif style != "tiny":
        x, y = _pair(field, exp)
        if field.movable and exp != x + y:
            _set_scales(field, draft, lanes, exp - x - y, "plain")
        ones = (field.a.full, field.b.full) if style in ("full", "whole") else (0, 0)
        a, b = field.a.at(x, ones[0]), field.b.at(y, ones[1])
    if only_scales:
        return
    for lane in lanes if style in ("whole", "even") else lanes[:1]:
        draft.a[lane], draft.b[lane] = field.a.negated(a) if sign else a, b
    if style == "cancelled" and lanes[0] + 1 < field.k:
        draft.a[lanes[0] + 1], draft.b[lanes[0] + 1] = field.a.negated(draft.a[lanes[0]]), b


def _set_scales(field: Field, draft: Draft, lanes: range, exp: int, style: str) -> None:
    """Give the blocks of a group scales whose exponents have a sum; tiny: the least scale of A and of B."""
    assert field.scale is not None
    for block in dict.fromkeys(lane // field.plan.block for lane in lanes):
        for held, one in zip((draft.scale_a, draft.scale_b), _halves(exp, field.scale), strict=True):
            held[block] = 1 if style == "tiny" and field.scale.frac_bits else _scale(field.scale, one, style)


def _scale(scale: Codes, exp: int, style: str) -> int:
    code = scale.at(exp, scale.full if style in ("full", "whole") else 0)
    return code if scale.is_finite(code) else scale.at(exp)


def _halves(exp: int, scale: Codes) -> tuple[int, int]:
    """Return two exponents of scales with a sum, as equal as they get."""
    first = min(max(exp // 2, scale.min_exp, exp - scale.max_exp), scale.max_exp)
    return first, min(max(exp - first, scale.min_exp), scale.max_exp)


def _pair(field: Field, exp: int) -> tuple[int, int]:
    """Return exponents of two elements with a sum."""
    first = min(max(exp // 2, field.a.min_exp, exp - field.b.max_exp), field.a.max_exp)
    return first, min(max(exp - first, field.b.min_exp), field.b.max_exp)


def covering_rows(field: Field) -> Iterator[tuple[str, DotRow]]:
    """Yield (flag, row) of all that is here; alignment and sums for datapaths that cut terms and C under one E."""
    plan = field.plan
    yield from (("cover_special", case) for case in special_pairs(field))
    if plan.frac_bits is None or plan.facts.align.include_c == "no":
        return
    makers = {
        "cover_exponent": (exponents,),
        "cover_distance": (distances,),
        "cover_sum": (cancellations, sums_of_nothing, roundings, overflows),
    }
    for flag, some in makers.items():
        for maker in some:
            yield from ((flag, case) for case in maker(field))
