"""What a row exercises in a datapath of levels: where sums lie between register values, ends, cuts, cancellation, specials, random words.

An event is (name of the level, axis, bin). Suites choose rows by them, and the coverage model counts them.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Final

from emu.contracts.dot.cases_ends import is_narrow, size_of
from emu.contracts.dot.codes import Codes
from emu.contracts.levels.walk import Point, Rounding, Shift, Sum, Walk, number_of
from emu.contracts.text import class_of
from emu.engines.exact.decode import decode_code
from emu.engines.exact.levels import Held, Number
from emu.engines.exact.value import power_of_two
from emu.spec import derive
from emu.spec.levels import LevelsPlan, rounding_of
from emu.spec.models.levels import CutHold, FixedHold, FloatHold, Hold
from emu.spec.registry import get

Event = tuple[str, str, str]
HALF: Final = Fraction(1, 2)
NEAR: Final = 3  # distances told singly on both sides of the last place that an aligned addition keeps


def name_of(level: int, plan: LevelsPlan) -> str:
    """Return the name of a level: product, its id, or out."""
    return "product" if level <= 0 else plan.levels[level - 1].facts.id if level <= len(plan.levels) else "out"


def events(told: Walk) -> list[Event]:
    """Return what a row exercises, each once, in the order in which it happens."""
    out: dict[Event, None] = {}
    plan = told.plan
    for item in told.roundings:
        name = name_of(item.level, plan)
        for axis, found in _events(item, plan):
            out[(name, axis, found)] = None
    last = next((item for item in reversed(told.roundings) if item.word is not None and item.level <= len(plan.levels)), None)
    if last is not None:  # nothing comes after it that hides what its word did
        for axis, found in _events(last, plan):
            if axis == "threshold":
                out[(name_of(last.level, plan), axis, f"last_{found}")] = None
    return list(out)


def narrow_events(told: Walk) -> list[Event]:
    """Return what happens in narrow registers: the size of what they hold, what the rounding loses, where it goes, the sign.

    Apart from `events`: suites whose rows are published were chosen without these.
    """
    out: dict[Event, None] = {}
    for item in told.roundings:
        point = item.point
        if point is None or not isinstance(item.hold, FloatHold) or not is_narrow(get("format", item.hold.format)):
            continue
        assert isinstance(item.before, Number)
        codes = Codes(get("format", item.hold.format))
        if item.code is not None:  # the result: its code says it
            size = size_of(item.code, codes)
        elif not isinstance(item.after, Number):
            size = "nan" if item.after == "nan" else "beyond"
        else:
            size = size_of(codes.below(number_of(item.after)), codes)
        if item.before.significand and size != "nan":
            sign = "minus" if item.before.significand < 0 else "plus"
            out[(name_of(item.level, told.plan), "narrow", f"{size} {lost_bin(point.lost)} {move_of(item, point)} {sign}")] = None
    return list(out)


def _events(item: Rounding, plan: LevelsPlan) -> Iterator[tuple[str, str]]:
    if item.decided:
        yield "special", f"operands_{_word(item.after)}"
        return
    if item.sum is not None:
        yield from _of_sum(item.sum)
    if item.before is not None and not isinstance(item.before, Number):
        yield "special", _word(item.before)
    elif not isinstance(item.after, Number) and item.before is not None:
        yield "end", f"to_{_word(item.after)}"
    if isinstance(item.before, Number) and item.hold is not None and item.hold != "exact":
        yield from _of_hold(item, plan)
    if item.code is not None:
        yield "result", f"{class_of(item.code, plan.d)} {'minus' if item.code & derive.codes(plan.d).sign_bit else 'plus'}"


def _word(value: Held) -> str:
    return {"nan": "nan", "+inf": "plus_inf", "-inf": "minus_inf"}.get(str(value), "number")


def _of_sum(found: Sum) -> Iterator[tuple[str, str]]:
    operands = [*found.terms, *([] if found.running is None else [found.running])]
    numbers = [item for item in operands if isinstance(item, Number)]
    if len(numbers) < len(operands) or not isinstance(found.total, Number):
        return
    signs = {item.significand > 0 for item in numbers if item.significand}
    largest = max((abs(number_of(item)) for item in numbers), default=Fraction(0))
    total = abs(number_of(found.total))
    if len(signs) < 2:
        kind = "one_sign" if signs else "empty"
    else:
        kind = "whole" if not total else "opposed" if 2 * total >= largest else "cancelled"
    yield "sum", kind
    if not found.total.significand:
        yield "zero", ("minus" if found.total.negative else "plus") + ("_of_zeros" if not signs else "_cancelled")
    if found.running is not None and isinstance(found.running, Number):
        yield "running", "zero" if not found.running.significand else "alone" if len(numbers) == 1 or not signs else "beside"
    if found.exp is None:
        return
    setters = {"running" if shift.running else "term" for shift in found.shifts if shift.exp == found.exp and shift.value.live}
    yield "exponent", "+".join(sorted(setters)) or ("floor" if found.floor == found.exp else "nothing")
    if found.wrapped is not None:
        yield "end", "adder_wraps"
    for shift in found.shifts:
        if shift.value.significand:
            yield "shift", _shift_bin(shift, found)


def _shift_bin(shift: Shift, found: Sum) -> str:
    """The operand, its leading place counted from the last that is kept, and what is left of it."""
    who = "running" if shift.running else "term"
    if shift.dropped:
        return f"{who} dropped"
    value = number_of(shift.value)
    place = shift.value.lsb_exp + abs(shift.value.significand).bit_length() - 1 - found.unit_exp
    where = str(place) if abs(place) <= NEAR else "above" if place > 0 else "below"
    if not shift.lost:
        kept = "exact"
    else:
        kept = "gone" if not shift.units else "down" if abs(shift.units * power_of_two(found.unit_exp)) < abs(value) else "up"
    return f"{who} {where} {kept}"


def lost_bin(lost: Fraction) -> str:
    """Return the bin of a lost part of a unit."""
    if not lost:
        return "zero"
    return "half" if lost == HALF else "less_than_half" if lost < HALF else "more_than_half"


def _of_hold(item: Rounding, plan: LevelsPlan) -> Iterator[tuple[str, str]]:
    point, hold = item.point, item.hold
    assert point is not None and hold is not None and isinstance(item.before, Number)
    sign = "minus" if item.before.significand < 0 else "plus"
    move = move_of(item, point)
    parity = "odd" if point.kept % 2 else "even"
    if not isinstance(hold, str) and hold.rounding is not None:
        yield "rounding", f"{lost_bin(point.lost)} {parity} {move} {sign}"
    if move in ("beyond", "wrapped"):
        yield "end", f"{move} {sign}"
    yield from _ends(item, point, hold, sign)
    rounding = rounding_of(hold)
    if rounding is not None and rounding.random_bits and item.word is not None:
        yield from _of_word(item, point, rounding.random_bits, move)
    after = item.after
    if isinstance(after, Number) and not after.significand:
        kind = "vanished" if item.before.significand else "zero"
        yield "zero", f"held_{kind}_{'minus' if after.negative else 'plus'}"
    if isinstance(hold, FloatHold) and isinstance(after, Number) and after.significand:
        fmt = get("format", hold.format)
        if abs(after.significand) >> (fmt.facts.frac_bits) == 0:
            yield "range", f"subnormal {sign}"


def _of_word(item: Rounding, point: Point, bits: int, move: str) -> Iterator[tuple[str, str]]:
    """The random word beside the part that is lost: at its ends, and where it just decides."""
    assert item.word is not None
    top = (1 << bits) - 1
    word = "zero" if item.word == 0 else "top" if item.word == top else "half" if item.word == (top + 1) // 2 else "other"
    yield "word", f"{word} {lost_bin(point.lost)} {move}"
    part, parity = int(point.lost * (top + 1)), "odd" if item.word % 2 else "even"
    if move == "beyond":
        return
    if part + item.word - top in (0, 1) and part:
        yield "threshold", f"{'carries' if part + item.word > top else 'just_short'} {parity}"
    if abs(part - item.word) < 2 and part:
        yield "threshold", f"part_{'is' if part == item.word else 'above' if part > item.word else 'below'}_the_word {parity}"


def _ends(item: Rounding, point: Point, hold: Hold, sign: str) -> Iterator[tuple[str, str]]:
    """Sums at the very end of a register, and one unit beyond."""
    if isinstance(hold, FixedHold):
        ends = {(1 << (hold.bits - 1)) - 1: "max", 1 << (hold.bits - 1): "one_more"}
        if sign == "minus":
            ends = {1 << (hold.bits - 1): "min", (1 << (hold.bits - 1)) + 1: "one_more"}
    elif isinstance(hold, CutHold):
        return
    else:
        assert isinstance(hold, FloatHold)
        codes = derive.codes(get("format", hold.format))
        largest = number_of_code(codes.max_code, hold.format)
        unit = power_of_two(point.unit_exp)
        ends = {int(largest / unit): "max"} if not largest % unit else {}
    if point.kept in ends and not point.lost:
        yield "end", f"{ends[point.kept]} {sign}"
    elif point.kept in ends:
        yield "end", f"{ends[point.kept]}_and_a_part {sign}"


def number_of_code(code: int, name: str) -> Fraction:
    """Return the value of a finite code of a format."""
    return decode_code(code, get("format", name)).signed


def move_of(item: Rounding, point: Point) -> str:
    """Return where a rounding goes: stay, down (toward zero), up, carry (up into the next exponent), beyond, wrapped."""
    after, before = item.after, item.before
    assert isinstance(before, Number)
    if item.code is not None and item.level > 0 and isinstance(item.hold, FloatHold):  # the result: its code says it
        codes = derive.codes(get("format", item.hold.format))
        magnitude = item.code & ~codes.sign_bit
        if magnitude > codes.max_code:
            return "beyond"
        after_value = abs(number_of_code(magnitude, item.hold.format))
    elif not isinstance(after, Number):
        return "beyond"
    else:
        after_value = abs(number_of(after))
        if after.significand and before.significand and (after.significand > 0) != (before.significand > 0):
            return "wrapped"
    whole = abs(number_of(before))
    if after_value == whole:
        return "stay"
    if after_value > whole:
        kept = point.kept + 1
        return "carry" if kept & point.kept == 0 and kept > 1 else "up"
    unit = power_of_two(point.unit_exp)
    near = whole - after_value < unit
    if near:
        return "down"
    return "wrapped" if isinstance(item.hold, FixedHold) and item.hold.overflow == "wrap" else "beyond"
