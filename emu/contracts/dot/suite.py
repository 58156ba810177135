"""Which rows the suites of dot and accumulate hold: the categories, every pair of narrow elements, every scale code, chains."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from emu.contracts.convert import cases as cases_convert
from emu.contracts.dot import cases as cases_dot
from emu.contracts.dot import cases_cover as cases_dot_cover
from emu.contracts.dot import cases_ends
from emu.contracts.dot import cases_ties as cases_dot_ties
from emu.contracts.dot.codes import Codes
from emu.contracts.dot.field import Draft, Field
from emu.contracts.dot.rows import DotRow
from emu.contracts.rows import Input
from emu.contracts.suites import ENDS, LATER
from emu.spec import derive
from emu.spec.reach import frac_bits_of

if TYPE_CHECKING:
    from emu.contracts.accumulate import AccumulateContract
    from emu.contracts.dot.contract import DotContract

PER_CATEGORY: Final = 12  # directed rows of each category
RANDOM_ROWS: Final = 1 << 12
FIRST_RANDOM: Final = 1 << 16  # number of the first random row of a category: past every directed one
CHAINS, SMOKE_CHAINS = 12, 1


def directed(op: DotContract, stream: str = "") -> list[Input]:
    """Return the directed cases of a dot product."""
    out = []
    for category in cases_dot.MAKERS:
        if cases_dot.applies(category, op.plan):
            ignored = category == "scale_signbit" and cases_ends.ignores_bits(op.plan)
            flags = ("ignored_bit",) if ignored else (category, "open") if category == "scale_signbit" else (category,)
            out += [_input(op, category, flags, case) for case in cases_dot.rows(category, op.plan, PER_CATEGORY)]
    field = cases_dot.field_of(op.plan)
    out += [_input(op, "element_pairs", ("element_pair",), case) for case in element_pairs(field)]
    out += [_input(op, "scale_codes", ("scale_code",), case) for case in scale_codes(field)]
    known = {case.values: case for case in reversed(out)}
    later = [_input(op, LATER, ("c_field",), case) for case in c_fields(field)]
    later += [_input(op, LATER, ("result_tie",), case) for case in cases_dot_ties.result_ties(field)]
    later += [_input(op, LATER, _c_flags(op, case), case) for case in cases_dot_ties.c_is_half(field)]
    later += [_input(op, LATER, ("saturated_same_sign",), case) for case in cases_dot_ties.largest_sums(field)]
    rows = [*list(known.values())[::-1], *(case for case in later if case.values not in known)]
    there = {case.values for case in rows}
    added = {case.values: case for case in (_input(op, LATER, (flag,), found) for flag, found in cases_dot_cover.covering_rows(field))}
    every = [*rows, *(case for values, case in added.items() if values not in there)]
    return [*every, *_end_rows(op, every)]


def _end_rows(op: DotContract, before: list[Input]) -> list[Input]:
    """Return the rows at the ends of narrow results, where earlier rows leave some out, and those of ignored bits."""
    field = cases_dot.field_of(op.plan)
    narrow = [field.d] if cases_ends.is_narrow(op.plan.d) else []
    seen = {event for case in before for event in op.narrow_events(case.values) or ()} if narrow else set()

    def told(draft: Draft) -> set[cases_ends.Event] | None:
        return op.narrow_events(op.packed_values(draft.case()))

    found = [(flag, draft.case()) for flag, draft in cases_ends.result_ends(field, narrow, seen, told)]
    found += [("ignored_bit", draft.case()) for draft in cases_ends.ignored_bits(field)]
    there = {case.values for case in before}
    cases = {case.values: case for case in (_input(op, ENDS, (flag,), row) for flag, row in found)}
    return [case for values, case in cases.items() if values not in there]


def _c_flags(op: DotContract, case: DotRow) -> tuple[str, ...]:
    return ("result_tie",) if derive.is_finite_code(case.c, op.plan.c) else ("special_c",)


def c_fields(field: Field) -> Iterator[DotRow]:
    """Yield rows of every exponent of C with the lowest and with all fraction bits, of every single bit of its subnormals and NaN payloads.

    In turn C stands alone and beside one product of 1: a design may look at part of an exponent, a fraction or a shift distance.
    """
    fmt, sign = field.plan.c, derive.codes(field.plan.c).sign_bit
    codes = [code for code, _ in cases_convert.every_field(fmt)]
    singles = [1 << bit | (sign if bit % 2 else 0) for bit in range(frac_bits_of(fmt))]
    for number, code in enumerate([*singles, *codes]):
        draft = field.draft()
        draft.c = code
        if number >= len(singles) and number % 2:
            draft.a[number % field.k], draft.b[number % field.k] = field.a.one, field.b.one
        yield draft.case()


def _input(op: DotContract, group: str, flags: tuple[str, ...], case: DotRow) -> Input:
    return Input(group, flags, op.packed_values(case))


def element_pairs(field: Field) -> Iterator[DotRow]:
    """Yield rows of one product: every pair of 4-bit codes, a spread of wider ones; in lanes 0, 1, last - 1, last, and in all lanes.

    NaN and infinite codes have their own category.
    """
    first, second = _codes(field.a), _codes(field.b)
    pairs = [(x, y) for x in first for y in second]
    places = [0, 1, field.k - 2, field.k - 1]
    for number, (x, y) in enumerate(pairs):
        draft = field.draft()
        lane = places[(x + y) % 4]
        draft.a[lane], draft.b[lane] = x, y
        yield draft.case()
        if number % 16 == 0:  # the same in all lanes: each code in each place beside others
            draft = field.draft()
            for lane in range(field.k):
                draft.a[lane], draft.b[lane] = pairs[(number + lane * 5) % len(pairs)]
            yield draft.case()


def _codes(codes: Codes) -> list[int]:
    """Return all finite codes of a 4-bit format, sixteen of a wider one: zeros, ends, subnormals, evenly spread ones."""
    finite = [code for code in range(1 << codes.bits) if codes.is_finite(code)] if codes.bits <= 8 else _ends(codes)
    return finite if len(finite) <= 16 else [finite[(len(finite) - 1) * part // 15] for part in range(16)]


def _ends(codes: Codes) -> list[int]:
    magnitudes = [0, 1, codes.full, codes.full + 1, codes.one, codes.one + 1, codes.max_code - 1, codes.max_code]
    return [*magnitudes, *(code | codes.sign_bit for code in magnitudes)]


def scale_codes(field: Field) -> Iterator[DotRow]:
    """Yield rows of products of 1 under every scale code (a spread of fp32 ones) against 0, the least, subnormal, one, largest and NaN."""
    scale = field.scale
    if scale is None:
        return
    every = list(range(1 << scale.bits)) if scale.bits <= 8 else [*_ends(scale), *scale.inf, *scale.nan]
    partners = list(dict.fromkeys([0, 1, scale.full, scale.full + 1, scale.one, scale.max_code, *scale.nan[:1]]))
    for number, code in enumerate(every):
        for partner in [partners[number % len(partners)]] if scale.bits <= 8 else partners:
            draft, block = field.draft(), number % field.blocks
            for lane in range(block * field.plan.block, (block + 1) * field.plan.block, 3):
                draft.a[lane], draft.b[lane] = field.a.one, field.b.one
            pair = (code, partner) if number % 2 else (partner, code)
            draft.scale_a[block], draft.scale_b[block] = pair
            yield draft.case()


def random(op: DotContract, stem: str, start: int, stop: int) -> list[Input]:
    """Return random rows: the categories take turns."""
    names = [name for name in cases_dot.MAKERS if cases_dot.applies(name, op.plan) and name != "scale_signbit"]
    out = []
    for number in range(start, stop):
        name = names[number % len(names)]
        case = cases_dot.rows(name, op.plan, 1, FIRST_RANDOM + number // len(names))[0]
        out.append(_input(op, "random", ("random",), case))
    return out


def chains(op: AccumulateContract, count: int, start: int = 0) -> list[Input]:
    """Return the rows of chains start .. start + count - 1."""
    found = cases_dot.rows("chain", op.plan, count, start)
    return [row for number, case in enumerate(found, 1) for row in op.chain(f"chain{number}", ("chain",), case)]
