"""Datapaths of levels on arrays of codes: level by level, all nodes and rows of a level at once. What is left out, can_levels says.

Numbers are exact sums of binary64 parts (levels_parts.py); what registers, cuts and policies leave of them is in levels_hold.py.
Not here: lengths and code ranges (the caller checks them once); widths and the order of random words (emu.spec.levels).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu.base.errors import OpenError, OperandError, ShapeError
from emu.engines.numpy.convert import Codes, code_dtype
from emu.engines.numpy.datapath_round import F64, two_sum
from emu.engines.numpy.levels_hold import OVERFLOW, POLICY_OPEN, Decoded, Holder, decode, wrapped, zero_sign
from emu.engines.numpy.levels_parts import Bool, Values, all_flags, distill, first_fault, leading, product, to_grid
from emu.spec import derive
from emu.spec.levels import LevelPlan, LevelsPlan, holds_of, roundings
from emu.spec.models import Format
from emu.spec.models.format import FloatFacts
from emu.spec.models.levels import CutHold, FixedHold, FloatHold, Hold, LevelScale
from emu.spec.reach import reach
from emu.spec.registry import get

FAR = 900  # exponents of binary64 that numbers keep to
WIDEST = 1000  # bits from the finest unit to the largest number: in units of any grid a number is within binary64
EXACT_BITS = 53
CHUNK = 1 << 20  # products that are worked on at a time


def can_levels(plan: LevelsPlan) -> bool:
    """Tell whether this engine takes a plan: products and rounded sums that binary64 holds, exponents far from its ends."""
    return fault(plan) is None


def fault(plan: LevelsPlan) -> str | None:
    """Return why this engine does not take a plan, or None."""
    operands = [fmt for fmt in (plan.a, plan.b, plan.scale, plan.c) if fmt is not None]
    sizes = [int(reach(fmt).significand * 2 ** (reach(fmt).min_exp - reach(fmt).lsb_exp)).bit_length() for fmt in operands]
    if sizes[0] + sizes[1] > EXACT_BITS or max(sizes) > EXACT_BITS:
        return f"a product or an operand has more than {EXACT_BITS} significant bits"
    for hold in holds_of(plan.facts):
        if isinstance(hold, FloatHold):
            frac = reach(get("format", hold.format)).min_exp - reach(get("format", hold.format)).lsb_exp
            draws = 0 if hold.rounding is None else get("rounding", hold.rounding).random_bits
            if frac + draws + 3 > EXACT_BITS:
                return f"{hold.format} with {draws} random bits needs more than {EXACT_BITS} bits"
    low, high = _range(plan, operands)
    if low >= -FAR and high <= FAR and high - low <= WIDEST:
        return None
    return f"numbers reach from 2^{low} to 2^{high}: beyond 2^-{FAR} or 2^{FAR}, or over more than {WIDEST} bits"


def _range(plan: LevelsPlan, operands: Sequence[Format]) -> tuple[int, int]:
    """Return exponents between which all numbers of a plan lie, also those that alignment and registers make of them."""
    ends = [reach(fmt) for fmt in operands]
    lows, highs = [0], [0]
    both, scale = [ends[0], ends[1]], [] if plan.scale is None else [reach(plan.scale)] * 2
    for factors in (both, scale, both + scale, [] if plan.c is None else [reach(plan.c)]):
        lows.append(sum(one.lsb_exp for one in factors))
        highs.append(sum(int(one.largest).bit_length() for one in factors))
    for level in plan.levels:
        lows += [level.values.lsb_exp, level.extent.unit, level.extent.grid[0]]
        highs += [int(level.values.largest).bit_length(), level.extent.top, level.extent.grid[1]]
        if level.facts.align is not None and level.facts.align.cuts_running is not None:
            lows.append(level.extent.low - level.facts.align.cuts_running.fraction_bits)
    for hold in holds_of(plan.facts):
        if isinstance(hold, FixedHold):
            unit = plan.product_unit_exp if hold is plan.facts.products.hold else 0 if isinstance(hold.unit_exp, str) else hold.unit_exp
            highs.append(hold.bits + max(unit or 0, 0))
    for level in plan.levels:
        if level.unit_exp is not None and isinstance(level.facts.hold, FixedHold):
            lows.append(level.unit_exp)
            highs.append(level.facts.hold.bits + max(level.unit_exp, 0))
    low, high = min(lows), max(highs)
    cut = max((hold.fraction_bits or hold.significant_bits or 0 for hold in holds_of(plan.facts) if isinstance(hold, CutHold)), default=0)
    return low - cut, high


def dot(
    a: Codes,
    b: Codes,
    scale_a: Codes | None,
    scale_b: Codes | None,
    c: Codes | None,
    random: Codes | None,
    plan: LevelsPlan,
    flags: Codes | None = None,
) -> Codes:
    """Return the dot product of each row of A with the same row of B by a datapath of levels.

    a, b: codes [R, K].   scale_a, scale_b: codes [R, K / block], None without scales.   c: codes [R], None where the datapath has no C.
    random: unsigned integers [R, words] in the order of LevelsPlan.draws, None where nothing draws.
    flags: uint8 [R], filled with the exception flags of each row; None: not asked for.
    Returns: codes of the result format [R].   Exactness: equals emu.engines.exact.levels.dot bit for bit.
    Raises: ShapeError, OperandError (random words, a policy that refuses), OpenError (an open bit or policy, a register that overflows,
    with its row).   Needs: default rounding mode, subnormals not flushed (emu.engines.numpy.environment checks).
    Source: the datapath's sources.   Tests: tests/engines/numpy/test_numpy_levels.py.
    """
    _check_random(random, a.shape, plan)
    for name, codes, fmt in (("a", a, plan.a), ("b", b, plan.b), ("a_scales", scale_a, plan.scale), ("b_scales", scale_b, plan.scale)):
        if codes is not None and fmt is not None and (name in ("a", "b") or plan.unused_bits == "open"):
            _check_open(name, codes, fmt, plan)
    out = np.empty(len(a), code_dtype(plan.d))
    size = max(CHUNK // a.shape[1], 1)
    for start in range(0, len(a), size):
        rows = slice(start, start + size)
        parts = [None if item is None else item[rows] for item in (a, b, scale_a, scale_b, c, random)]
        with np.errstate(all="ignore"):
            codes, faults, raised = _Rows(plan, a.shape[1], *parts).result()
        if faults is not None and faults.any():
            row = int(np.flatnonzero(faults)[0])
            kind = int(faults[row])
            why = "a register overflows where the datapath says error" if kind == OVERFLOW else "the policy does not know the result"
            error = OpenError if kind in (OVERFLOW, POLICY_OPEN) else OperandError
            why = why if error is OpenError else "the policy refuses a value"
            raise error(f"datapath {plan.datapath.id}: row {start + row}: {why}")
        out[rows] = codes
        if flags is not None:
            flags[rows] = 0 if raised is None else raised
    return out


def _check_random(random: Codes | None, shape: tuple[int, ...], plan: LevelsPlan) -> None:
    draws = plan.draws(shape[1])
    given = 0 if random is None else random.shape[1]
    if given != len(draws):
        raise ShapeError(f"random: datapath {plan.datapath.id} takes {len(draws)} words for K = {shape[1]}, not {given}")
    for column, draw in enumerate(draws):
        if random is not None and len(random) and int(random[:, column].max()) >> draw.rounding.random_bits:
            raise OperandError(f"random: word {column} does not fit the {draw.rounding.random_bits} bits of {draw.rounding.id}")


def _check_open(name: str, codes: Codes, fmt: Format, plan: LevelsPlan) -> None:
    bits = derive.codes(fmt).bits
    if codes.size and int(codes.max()) >> bits:
        row = int(np.flatnonzero((codes >> codes.dtype.type(bits)).any(axis=1))[0])
        raise OpenError(f"{name}: datapath {plan.datapath.id}: row {row}: what a set bit {bits} of a {fmt.id} code means is open")


class _Rows:
    """Some rows while they are computed; arrays are [nodes, rows]."""

    def __init__(self, plan: LevelsPlan, k: int, a: Any, b: Any, scale_a: Any, scale_b: Any, c: Any, random: Any) -> None:
        facts = plan.facts
        self.plan, self.facts, self.k, self.shape = plan, facts, k, plan.shape(k)
        cuts = any(isinstance(hold, CutHold) and hold.fraction_bits is not None for hold in holds_of(plan.facts))
        live = plan.scale is not None and facts.special.nan_scale == "live"
        self.named = cuts or live or any(level.align is not None for level in plan.levels)
        self.holder = Holder(self.named, facts.special.zero == "plus", plan.nan_code)
        flush = facts.subnormal
        self.left, self.right = (decode(x.T, fmt, flush.elements == "flush") for x, fmt in ((a, plan.a), (b, plan.b)))
        self.scales: list[Decoded] = []
        if plan.scale is not None:
            mask = (1 << derive.codes(plan.scale).bits) - 1
            self.scales = [decode((x & x.dtype.type(mask)).T, plan.scale, flush.scales == "flush") for x in (scale_a, scale_b)]
        self.bits = {(flag, at): 1 << bit for bit, (flag, levels) in enumerate(plan.flag_levels.items()) for at in levels}
        given = ((a, plan.a), (b, plan.b), (scale_a, plan.scale), (scale_b, plan.scale))
        self.signals = [None if codes is None or fmt is None else _signalling(codes.T, fmt, plan) for codes, fmt in given]
        self.c = None
        if plan.c is not None:
            codes = c.reshape(1, -1)
            self.c_signals = _signalling(codes, plan.c, plan)
            enters = (level.number for level in plan.levels if level.facts.start == "c" or level.facts.plus == "c")
            self.c = self._flag(
                self._read(decode(codes, plan.c, flush.c == "flush")), "NV", next(enters, len(plan.levels) + 1), self.c_signals
            )
        self.rows = len(a)
        self.random = random
        draws = plan.draws(k) if any(rounding.random_bits for rounding in roundings(facts)) else []
        self.places = {draw[1:4]: column for column, draw in enumerate(draws)}

    def _read(self, found: Decoded) -> Values:
        return Values([found.value], *((found.exp, found.value != 0) if self.named else (None, None)))

    def _flag(self, value: Values, flag: str, level: int, where: Bool | None) -> Values:
        """Raise a flag of a level where it counts."""
        bit = self.bits.get((flag, level), 0)
        if not bit or where is None or not where.any():
            return value
        raised = np.broadcast_to(np.where(where, bit, 0).astype(np.int8), value.top.shape)
        return replace(value, flags=raised if value.flags is None else value.flags | raised)

    def _words(self, level: int, nodes: int, turn: int) -> Any:
        """The random words of one rounding of every node; None where it does not draw."""
        if (level, 0, turn) not in self.places:
            return None
        return self.random[:, [self.places[level, node, turn] for node in range(nodes)]].T

    def _hold(self, value: Values, hold: Hold, level: int, turn: int, unit_exp: int | None) -> Values:
        self.holder.over = None
        found = self.holder.hold(value, hold, self._words(level, len(value.top), turn), unit_exp)
        if not self.bits or found is value:
            return found
        return self._flag(replace(found, flags=value.flags), "OF", level, self.holder.over)

    def result(self) -> tuple[Codes, NDArray[np.int8] | None, NDArray[np.int8] | None]:
        """The last value, C where it enters at the end, and the rounding to the format of the result."""
        facts, levels = self.facts, self.plan.levels
        once, carried = facts.special.when == "once", any(level.facts.start == "c" for level in levels)
        value = self._product()
        first = np.arange(self.k)
        value = self._scaled(value, facts.products.scale, first, 0, 1)
        decided, told = self._decided() if once else (None, None)
        row, of_row, last = decided, told, len(levels) + 1
        for level, nodes in zip(levels, self.shape, strict=True):
            children = np.array([list(node) for node in nodes])
            first = first[children[:, 0]]
            if level.facts.add == "chain":
                value, turn = self._chain(level, value, children, decided, told)
            elif level.facts.add == "pairwise":
                value, turn = self._pairwise(level, value, children)
            else:
                terms = [_take(value, children[:, i]) for i in range(children.shape[1])]
                value, turn = self._sum(terms, self.c if level.facts.plus == "c" else None, level, level.facts.exponent, 0), 1
            if decided is not None:
                decided = reduce(np.add, [decided[children[:, i]] for i in range(children.shape[1])])
            if told is not None:
                told = _any(told[:, children], 2)
            value = self._scaled(value, level.facts.scale, first, level.number, turn)
        if facts.out.plus == "c":
            value = self._add([value], self.c, None, "zero", facts.out, last)
        if row is not None and not carried:
            found = row.sum(axis=0, keepdims=True)
            if self.c is not None:
                found = found + np.where(np.isfinite(self.c.top), 0.0, self.c.top)
            special = self._special(found)
            if of_row is not None:
                of_all = _any(of_row, 1)[:, None]
                special = self._flag(special, "NV", last, self._invalid(of_all, None if self.c is None else self.c.top))
                special = special if self.c is None else self._flag(special, "NV", last, self.c_signals)
            value = value.where(~np.isfinite(found), special)
        self.holder.over = None
        codes, faults = self.holder.encode(value, facts.out, self._words(last, 1, 0))
        raised = self._flag(value, "OF", last, self.holder.over).flags
        return codes.reshape(-1), None if faults is None else faults.reshape(-1), None if raised is None else raised.reshape(-1)

    def _invalid(self, told: Bool, running: F64 | None) -> Bool:
        """Where operands raise NV before anything is added. told: of an addition, as _decided says.   running: what they are added to."""
        plus, minus = told[1], told[2]
        if running is not None:
            plus, minus = plus | (running == np.inf), minus | (running == -np.inf)
        invalid: Bool = told[0] | (plus & minus)
        return invalid

    def _special(self, found: F64) -> Values:
        named = (np.zeros(found.shape, np.int64), np.zeros(found.shape, bool)) if self.named else (None, None)
        return Values([found], *named)

    def _product(self) -> Values:
        """The products of elements as level 0 holds them."""
        value = Values([self.left.value * self.right.value])
        if self.named:
            live = (self.left.value != 0) & (self.right.value != 0)
            value = replace(value, exp=self.left.exp + self.right.exp, live=live)
        if self.bits:
            value = self._flag(value, "NV", 0, _vanishes(self.left.value, self.right.value))
            for signals in self.signals[:2]:
                value = self._flag(value, "NV", 0, signals)
        return self._hold(value, self.facts.products.hold, 0, 0, self.plan.product_unit_exp)

    def _decided(self) -> tuple[F64, Bool | None]:
        """NaN and infinity that operands make of each product, 0 where all is finite.

        And where flags are reported [invalid, +infinity, -infinity] of each product.
        """
        found = self.left.value * self.right.value
        invalid = np.zeros(found.shape, bool)
        if self.bits:
            invalid = _vanishes(self.left.value, self.right.value)
            for signals in self.signals[:2]:
                invalid = invalid if signals is None else invalid | signals
        if self.scales:
            each = [np.repeat(scale.value, self.plan.block, axis=0) for scale in self.scales]
            scaled = found * each[0] * each[1]
            before = invalid
            if self.bits:
                invalid = invalid | _vanishes(found, each[0]) | _vanishes(found * each[0], each[1])
                for signals in self.signals[2:]:
                    invalid = invalid if signals is None else invalid | np.repeat(signals, self.plan.block, axis=0)
            if self.facts.special.nan_scale == "live":
                empty = (np.isnan(each[0]) | np.isnan(each[1])) & ~np.isnan(self.left.value) & ~np.isnan(self.right.value)
                empty &= (self.left.value == 0) | (self.right.value == 0)
                scaled, invalid = np.where(empty, found, scaled), np.where(empty, before, invalid)
            found = scaled
        told = np.stack([invalid, found == np.inf, found == -np.inf]) if self.bits else None
        return np.where(np.isfinite(found), 0.0, found), told

    def _scaled(self, value: Values, words: LevelScale | str, first: NDArray[np.int64], level: int, turn: int) -> Values:
        """Values times the scales of their blocks."""
        if isinstance(words, str):
            return value
        block = first // self.plan.block
        scales = [self._read(Decoded(side.value[block], side.exp[block])) for side in self.scales]
        flagged = [
            scale if signals is None else self._flag(scale, "NV", level, signals[block])
            for scale, signals in zip(scales, self.signals[2:], strict=True)
        ]
        held = [self._hold(scale, words.each, level, turn + side, None) for side, scale in enumerate(flagged)]
        both = self._hold(self._times(held[0], held[1], level), words.product, level, turn + 2, None)
        term = self._hold(self._times(value, both, level), words.term, level, turn + 3, None)
        if self.facts.special.nan_scale == "live":
            nan = np.isnan(scales[0].top) | np.isnan(scales[1].top)
            assert value.live is not None
            term = term.where(nan & np.isfinite(value.top) & ~value.live, value)
        return term

    def _times(self, x: Values, y: Values, level: int) -> Values:
        """The exact product; a number of y may have more than one part."""
        special = x.top * y.top
        bad = ~np.isfinite(special)
        mine, theirs = x.parts, y.parts
        if bad.any():
            mine, theirs = ([np.where(bad, 0.0, part) for part in parts] for parts in (mine, theirs))
        found = [part for one in theirs for part in product(mine, one)]
        parts = found if len(found) == 1 else distill(found)
        parts[-1] = np.where(bad | (special == 0), special, parts[-1])
        value = Values(parts, None, None, first_fault([x, y]), all_flags([x, y]))
        if self.bits:
            value = self._flag(value, "NV", level, _vanishes(x.top, y.top))
        if x.exp is None or y.exp is None or x.live is None or y.live is None:
            return value
        return replace(value, exp=x.exp + y.exp, live=x.live & y.live)

    # Sums

    def _chain(
        self, plan: LevelPlan, value: Values, children: NDArray[np.int64], decided: F64 | None, told: Bool | None
    ) -> tuple[Values, int]:
        words, turn, by = plan.facts, 0, plan.facts.by or 1
        running: Values | None = None
        if words.start == "c":
            assert self.c is not None
            running = self.c
            if self.plan.loads_c:
                running, turn = self._hold(running, words.hold, plan.number, 0, plan.unit_exp), 1
        elif words.start == "zero":
            running = self._read(Decoded(np.zeros((len(children), self.rows)), np.zeros((len(children), self.rows), np.int64)))
        flushes = words.start == "c" and self.facts.subnormal.c == "flush" and isinstance(words.hold, FloatHold)
        smallest = reach(get("format", words.hold.format)).min_exp if isinstance(words.hold, FloatHold) else 0
        for start in range(0, children.shape[1], by):
            lot = children[:, start : start + by]
            if flushes and running is not None:
                small = np.abs(running.top) < 2.0**smallest
                running = running.only(np.where(small, np.copysign(0.0, running.top), running.top))
                running = running if running.live is None else replace(running, live=running.live & ~small)
            terms = [_take(value, lot[:, i]) for i in range(lot.shape[1])]
            added = self._sum(terms, running, plan, "zero", turn)
            if words.start == "c" and decided is not None:
                assert running is not None
                found = reduce(np.add, [decided[lot[:, i]] for i in range(lot.shape[1])])
                found = found + np.where(np.isfinite(running.top), 0.0, running.top)
                stops = ~np.isfinite(found)
                if stops.any():
                    special = replace(self._special(found), fault=running.fault, flags=running.flags)
                    if told is not None:
                        special = self._flag(special, "NV", plan.number, self._invalid(_any(told[:, lot], 2), running.top))
                    added = added.where(stops, special)
            running = added
            turn += 1
        assert running is not None
        return running, turn

    def _pairwise(self, plan: LevelPlan, value: Values, children: NDArray[np.int64]) -> tuple[Values, int]:
        words, turn = plan.facts, 0
        row = [_take(value, children[:, i]) for i in range(children.shape[1])]
        if len(row) == 1:
            return self._sum(row, None, plan, words.exponent, 0, aligns=False), 1
        while len(row) > 1:
            sums: list[Values] = []
            for first in range(0, len(row) - 1, 2):
                sums.append(self._sum(row[first : first + 2], None, plan, words.exponent, turn))
                turn += 1
            row = sums + row[len(row) - len(row) % 2 :]
        return row[0], turn

    def _sum(self, terms: list[Values], running: Values | None, plan: LevelPlan, exponent: str, turn: int, aligns: bool = True) -> Values:
        """One addition of a level, held. aligns: as the level says; a lone value of a tree is not aligned."""
        hold = plan.facts.hold
        total = self._add(terms, running, plan if aligns else None, exponent, hold, plan.number)
        value = self._hold(total, hold, plan.number, turn, plan.unit_exp)
        if isinstance(hold, FloatHold):
            return value
        return replace(value, parts=[part + 0.0 for part in value.parts])  # zero has no sign elsewhere

    def _add(self, terms: list[Values], running: Values | None, plan: LevelPlan | None, exponent: str, hold: Hold, level: int) -> Values:
        """Terms plus the running value, C or nothing, exactly or aligned: parts whose sum it is."""
        every = terms if running is None else [*terms, running]
        special = reduce(np.add, [term.top for term in every])
        bad = ~np.isfinite(special)
        finite = every
        if bad.any():
            finite = [term.zero_where(bad) for term in every]
        aligned = plan is not None and plan.align is not None
        exp = live = None
        if self.named:
            lives = [term.live for term in every if term.live is not None]
            live = reduce(np.logical_or, lives)
            exp = np.zeros(special.shape, np.int64)
            if exponent == "largest" and not aligned:
                exp = np.where(live, _largest_exp(every), 0)
        if aligned and plan is not None:
            rest = finite if running is None else finite[:-1]
            parts, exp, beyond = self._aligned(rest, None if running is None else finite[-1], plan)
        else:
            parts, beyond = _exact(finite), None
        total = parts[-1] if len(parts) == 1 else distill(parts)[-1] if self._asks_zero(plan, hold) else None
        if total is not None and live is not None and plan is not None and plan.facts.cancelled_counts == "no":
            live = live & (total != 0)
        if total is not None and len(parts) > 1:
            parts = distill(parts)
        parts = list(parts)
        if total is not None and (self.facts.special.zero == "ieee" or not isinstance(hold, FloatHold)):
            zero = zero_sign(total, [term.top for term in every], hold)
            parts[-1] = np.where(total == 0, zero, parts[-1])
        if bad.any():
            parts[-1] = np.where(bad, special, parts[-1])
        value = Values(parts, exp, live, first_fault(every if running is None else [running, *terms]))
        if not self.bits:
            return value
        flags = all_flags(every)
        value = replace(value, flags=None if flags is None else np.broadcast_to(flags, special.shape))
        if bad.any():
            ends = [reduce(np.logical_or, [term.top == end for term in every]) for end in (np.inf, -np.inf)]
            value = self._flag(value, "NV", level, ends[0] & ends[1])
        return self._flag(value, "OF", level, beyond)

    def _asks_zero(self, plan: LevelPlan | None, hold: Hold) -> bool:
        counts = plan is not None and plan.facts.cancelled_counts == "no" and self.named
        return counts or (self.facts.special.zero == "ieee" and isinstance(hold, FloatHold))

    def _aligned(self, terms: list[Values], running: Values | None, plan: LevelPlan) -> tuple[list[F64], NDArray[np.int64], Bool | None]:
        """Bring every term to E, cut it to F bits below 2^E, add. Returns parts, E, and where flags are reported which sums wrap."""
        words, align = plan.facts.align, plan.align
        assert words is not None and align is not None
        named = []
        for term in terms:
            assert term.exp is not None
            own = term.exp
            if words.exponent == "normalised":
                own = np.where(term.top == 0, term.exp, leading(term.parts))
            named.append(replace(term, exp=own + words.raised))
        every = named if running is None else [*named, running]
        top = _largest_exp(every)
        exp = np.where(top == NONE, 0, top) if align.floor is None else np.maximum(top, align.floor)
        unit, cut = exp - align.frac_bits, get("rounding", words.cut)
        cuts = [term.only(term.top) if len(term.parts) == 1 else term for term in named]
        cuts = [replace(term, parts=_at(to_grid(term.parts, unit, cut))) for term in cuts]
        if running is not None:
            parts, own_cut = running.parts, words.cuts_running
            if own_cut is not None:
                parts = to_grid(parts, exp - own_cut.fraction_bits, get("rounding", own_cut.cut))
                if own_cut.drop_below is not None:
                    assert running.exp is not None
                    parts = [np.where(running.exp >= exp - own_cut.drop_below, part, 0.0) for part in parts]
            cuts.append(replace(running, parts=_at(to_grid(parts, unit, cut))))
        total = _exact(cuts)
        if words.beyond == "wrap":
            assert align.adder_bits is not None
            whole, total = total, wrapped(distill(total), align.adder_bits, unit)
            if self.bits:
                return total, exp, distill([*whole, *(-part for part in total)])[-1] != 0
        return total, exp, None


NONE = -(1 << 40)  # an exponent that nothing names


def _largest_exp(terms: Sequence[Values]) -> NDArray[np.int64]:
    """Return the largest exponent that a live term names, NONE without any."""
    found = [np.where(term.live, term.exp, NONE) for term in terms if term.live is not None and term.exp is not None]
    return reduce(np.maximum, found)


def _exact(terms: Sequence[Values]) -> list[F64]:
    """Return parts whose sum is the exact sum of finite terms; one where every sum so far is a binary64 number."""
    parts = [part for term in terms for part in term.parts]
    total, low = parts[0], np.zeros(1)
    for i, part in enumerate(parts[1:], 1):
        nxt, low = two_sum(total, part)
        if low.any():
            return [total, *parts[i:]]
        total = nxt
    return [total]


def _any(where: Bool, axis: int) -> Bool:
    found: Bool = np.logical_or.reduce(where, axis=axis)
    return found


def _vanishes(x: F64, y: F64) -> Bool:
    """Where a product of two values that are no NaN is NaN: infinity times zero."""
    found: Bool = np.isnan(x * y) & ~np.isnan(x) & ~np.isnan(y)
    return found


def _signalling(codes: Codes, fmt: Format, plan: LevelsPlan) -> Bool | None:
    """Where codes are NaNs that signal; None where none may."""
    if not plan.signals(fmt):
        return None
    assert isinstance(fmt.facts, FloatFacts)
    known, size = derive.codes(fmt), codes.astype(np.int64) & ~np.int64(derive.codes(fmt).sign_bit)
    assert known.inf is not None
    found: Bool = (size > known.inf) & (size >> (fmt.facts.frac_bits - 1) & 1 == 0)
    return found


def _at(parts: list[F64]) -> list[F64]:
    return [part + 0.0 for part in parts]


def _take(value: Values, nodes: NDArray[np.int64]) -> Values:
    """Return some nodes; a view where it is one."""
    index: Any = slice(int(nodes[0]), int(nodes[0]) + 1) if len(nodes) == 1 else nodes
    return value.pick(lambda array: array[index])


__all__ = ["Bool", "can_levels", "dot", "fault"]
