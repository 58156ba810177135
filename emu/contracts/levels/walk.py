"""One row of a datapath of levels, told while the reference model computes it: each addition and each rounding, before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from emu.contracts.levels.rows import LevelsRow
from emu.engines.exact.levels import Held, Number, Place, Special, _named, _Row, shifted
from emu.engines.exact.value import power_of_two
from emu.spec.levels import AlignPlan, LevelPlan, LevelsPlan
from emu.spec.models import Format
from emu.spec.models.format import FloatFacts
from emu.spec.models.levels import CutHold, FixedHold, FloatHold, Hold
from emu.spec.reach import reach
from emu.spec.registry import get


@dataclass(frozen=True)
class Shift:
    """How an aligned addition moves one operand. units: what is left, in units of 2^(E - F).   dropped: too small, left out whole."""

    value: Number
    exp: int
    units: int
    lost: Fraction
    running: bool
    dropped: bool = False


@dataclass(frozen=True)
class Sum:
    """One addition. terms, running: its operands.   exp, unit_exp: E, and the unit of an aligned one.   wrapped: before it did."""

    terms: tuple[Held, ...]
    running: Held | None
    total: Held
    exp: int | None = None
    floor: int | None = None
    unit_exp: int = 0
    shifts: tuple[Shift, ...] = ()
    wrapped: int | None = None


@dataclass(frozen=True)
class Point:
    """Where a number lies between two that a register holds. unit_exp: of the last kept bit.   kept: toward zero.   lost: of a unit."""

    unit_exp: int
    kept: int
    lost: Fraction


@dataclass(frozen=True)
class Rounding:
    """One rounding of a row, or what NaN and infinity decided in its place (`hold` None).

    level: 0 products, then as listed, then the result.   turn: its place in its node.   sum: the addition before it, if it has one.
    decided: by operands, before anything was added.
    """

    level: int
    node: int
    turn: int
    hold: Hold | None
    unit_exp: int | None
    before: Held | None
    after: Held
    word: int | None
    sum: Sum | None = None
    decided: bool = False
    code: int | None = None

    @property
    def point(self) -> Point | None:
        """Where the number before lies; None where nothing is rounded."""
        if not isinstance(self.before, Number) or self.hold in (None, "exact"):
            return None
        return point_of(self.before, self.hold, self.unit_exp)


@dataclass
class Walk:
    """A row told. roundings: in the order in which they happen.   code: the result."""

    row: LevelsRow
    plan: LevelsPlan
    code: int = 0
    roundings: list[Rounding] = field(default_factory=list)
    stages: dict[str, Held] = field(default_factory=dict)

    def of(self, level: int) -> list[Rounding]:
        """Return the roundings of one level."""
        return [item for item in self.roundings if item.level == level]


def walk(row: LevelsRow, plan: LevelsPlan) -> Walk:
    """Return a row told. Raises: as emu.engines.exact.levels.dot (whose result it is), for operands that were checked."""
    draws = plan.draws(len(row.a))
    words = {draw[1:4]: word for draw, word in zip(draws, row.random, strict=True)}
    told = _Told(row.a, row.b, row.scale_a, row.scale_b, row.c, words, plan)
    found = told.result()
    return Walk(row, plan, found.code, told.roundings, found.stages)


def number_of(value: Number) -> Fraction:
    """Return the value of a number."""
    return value.significand * power_of_two(value.lsb_exp)


def point_of(value: Number, hold: Hold, unit_exp: int | None) -> Point | None:
    """Return where a number lies between two that a register holds; None where a register changes nothing."""
    magnitude = abs(number_of(value))
    if isinstance(hold, FixedHold):
        assert unit_exp is not None
        unit = unit_exp
    elif isinstance(hold, FloatHold):
        fmt: Format = get("format", hold.format)
        assert isinstance(fmt.facts, FloatFacts)
        keep = fmt.facts.frac_bits if hold.keep is None else hold.keep
        leading = value.lsb_exp + abs(value.significand).bit_length() - 1 if value.significand else reach(fmt).min_exp
        unit = max(leading, reach(fmt).min_exp) - keep
    elif isinstance(hold, CutHold):
        if hold.fraction_bits is not None:
            unit = value.exp - hold.fraction_bits
        else:
            assert hold.significant_bits is not None
            unit = value.lsb_exp + max(abs(value.significand).bit_length(), 1) - hold.significant_bits
    else:
        return None
    units = magnitude / power_of_two(unit)
    return Point(unit, int(units), units - int(units))


class _Told(_Row):
    """The reference model, which notes what it does."""

    def __init__(self, *given: object) -> None:
        super().__init__(*given)  # type: ignore[arg-type]
        self.roundings: list[Rounding] = []
        self.sum: Sum | None = None
        self.shifts: Sum | None = None
        self.place: Place = (0, 0, 0)

    def _add(self, terms: Sequence[Held], running: Held | None, plan: LevelPlan | None, exponent: str, hold: Hold) -> Held:
        self.shifts = None
        total = super()._add(terms, running, plan, exponent, hold)
        told = self.shifts or Sum(tuple(terms), running, total)
        self.sum = Sum(tuple(terms), running, total, told.exp, told.floor, told.unit_exp, told.shifts, told.wrapped)
        return total

    def _aligned(self, terms: Sequence[Number], running: Number | None, plan: LevelPlan, align: AlignPlan) -> Number:
        total = super()._aligned(terms, running, plan, align)
        words = plan.facts.align
        assert words is not None
        unit, found = total.exp - align.frac_bits, []
        for term in terms:
            named = _named(term, words.exponent, words.raised)
            found.append(_shift(term, named, unit, get("rounding", words.cut), False))
        if running is not None:
            own = words.cuts_running
            if own is not None and own.drop_below is not None and running.exp < total.exp - own.drop_below:
                found.append(Shift(running, running.exp, 0, number_of(running), True, True))
            elif own is not None:
                kept = shifted(running, total.exp - own.fraction_bits, get("rounding", own.cut))
                cut = Number(kept, total.exp, own.fraction_bits, True)
                units = shifted(cut, unit, get("rounding", words.cut))
                found.append(Shift(running, running.exp, units, number_of(running) - units * power_of_two(unit), True))
            else:
                found.append(_shift(running, running, unit, get("rounding", words.cut), True))
        whole = sum(item.units for item in found)
        self.shifts = Sum((), None, total, total.exp, align.floor, unit, tuple(found), whole if whole != total.significand else None)
        return total

    def _hold(self, value: Held, hold: Hold, place: Place, unit_exp: int | None) -> Held:
        added, self.sum = self.sum, None
        self.place = place
        after = super()._hold(value, hold, place, unit_exp)
        if hold != "exact" or added is not None:
            self.roundings.append(Rounding(*place, hold, unit_exp, value, after, self.words.get(place), added))
        return after

    def _decided(self, products: Sequence[int], running: Held | None) -> Special | None:
        found = super()._decided(products, running)
        if found is not None:
            self.roundings.append(Rounding(0 if running is None else -1, products[0], 0, None, None, None, found, None, None, True))
        return found

    def _code(self, value: Held, hold: FloatHold, place: Place) -> int:
        code = super()._code(value, hold, place)
        if place[0] == len(self.plan.levels) + 1:
            added, self.sum = self.sum, None
            self.roundings.append(Rounding(*place, hold, None, value, value, self.words.get(place), added, code=code))
        return code


def _shift(term: Number, named: Number, unit: int, cut: object, running: bool) -> Shift:
    units = shifted(named, unit, cut)  # type: ignore[arg-type]
    return Shift(term, named.exp, units, number_of(term) - units * power_of_two(unit), running)
