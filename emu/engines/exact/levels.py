"""dot of a datapath written in levels: the definition of what its words mean. Integers alone; every step is one function.

A value is a Number, or NaN or an infinity, which no register loses. A Number is significand * 2^(exp - frac_bits); `exp` is the exponent
that the value *names*, which is what an aligned addition above it looks at:

    product of elements      the sum of the exponents that both codes name (subnormals: the lowest); nothing is normalised
    exact sum                0: it is a fixed-point number; with `exponent: largest` the largest of its live terms
    aligned sum              E
    times scales             the exponents of the scales are added
    held in a float format   the one its code names;   in fixed point: 0;   cut: as before

`live` tells whether it raises E above: a product is live when neither factor is zero, a sum when one of its terms is, also when they cancel
(`cancelled_counts: no`: when it is not 0), a held number when it is not 0.

One addition: terms (and the running value) are added exactly, or brought to E and cut; then the sum is held. NaN among the terms, or
infinities of both signs, give NaN; infinities of one sign give that. Under `special.when: once` the operands decide that before.
Each rounding that draws takes the random word of its place: LevelsPlan.draws lists the places.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Literal, NamedTuple

from emu.base.caches import Cache
from emu.base.errors import OpenError, OperandError, ShapeError
from emu.engines.exact.convert import convert_value
from emu.engines.exact.datapath import check_codes, check_lengths
from emu.engines.exact.datapath_round import magnitude_code
from emu.engines.exact.datapath_terms import KNOWN_BITS, decode_operand, decode_triple
from emu.engines.exact.encode import attach_sign
from emu.engines.exact.round import check_random, goes_up
from emu.engines.exact.value import Value, finite, power_of_two
from emu.spec import derive
from emu.spec.derive import OPEN, REFUSE
from emu.spec.ieee import same_facts
from emu.spec.levels import AlignPlan, LevelPlan, LevelsPlan, rounding_of
from emu.spec.models import Format, Rounding
from emu.spec.models.format import FloatFacts
from emu.spec.models.levels import CutHold, FixedHold, FloatHold, Hold, LevelScale
from emu.spec.registry import get


class Number(NamedTuple):
    """significand * 2^(exp - frac_bits). live: does it raise E.   negative: sign of a zero, where zeros have one."""

    significand: int
    exp: int
    frac_bits: int
    live: bool
    negative: bool = False

    @property
    def lsb_exp(self) -> int:
        """Exponent of the unit of the significand."""
        return self.exp - self.frac_bits


Special = Literal["nan", "+inf", "-inf"]
Held = Number | Special
Place = tuple[int, int, int]  # level, node, turn
_READ: Cache[tuple[str, str], dict[int, Held]] = Cache("emu.engines.exact.levels._READ", 256)


@dataclass(frozen=True)
class LevelsDot:
    """A dot product. code: of the result.   stages: what each level leaves, `<level>_<index>`; chains: `<level>_<index>_<addition>` too."""

    code: int
    stages: dict[str, Held] = field(repr=False)


def dot(
    a: Sequence[int],
    b: Sequence[int],
    scale_a: Sequence[int],
    scale_b: Sequence[int],
    c: int | None,
    random: Sequence[int],
    plan: LevelsPlan,
) -> LevelsDot:
    """Return the result of a datapath of levels for one row of A and one column of B.

    a, b: K element codes each.   scale_a, scale_b: K / block scale codes, empty without scales.   c: code of C; None where the datapath
    has no C.   random: one unsigned integer for each rounding that draws, in the order of LevelsPlan.draws.
    NaN, infinity, zero, subnormals, overflow: as the datapath says.
    Raises: ShapeError (K, scales, random words), OperandError (a code or word too wide, C where there is none), OpenError (a register
    that overflows where the datapath says error; an open bit).   Tests: tests/engines/exact/test_exact_levels.py.
    """
    check_lengths(len(a), len(b), len(scale_a), len(scale_b), plan)
    check_codes(a, b, scale_a, scale_b, c, plan)
    draws = plan.draws(len(a))
    if len(draws) != len(random):
        raise ShapeError(f"random: datapath {plan.datapath.id} takes {len(draws)} words for K = {len(a)}, not {len(random)}")
    for draw, word in zip(draws, random, strict=True):
        check_random(draw.rounding, word)
    words = {draw[1:4]: word for draw, word in zip(draws, random, strict=True)}
    return _Row(a, b, scale_a, scale_b, c, words, plan).result()


class _Row:
    """One row while it is computed: levels from the inside out, each node when the level above asks for it."""

    def __init__(
        self,
        a: Sequence[int],
        b: Sequence[int],
        scale_a: Sequence[int],
        scale_b: Sequence[int],
        c: int | None,
        words: Mapping[Place, int],
        plan: LevelsPlan,
    ) -> None:
        self.a, self.b, self.scales, self.c, self.plan = a, b, (scale_a, scale_b), c, plan
        self.facts = plan.facts
        self.shape = plan.shape(len(a))
        self.words = words
        self.stages: dict[str, Held] = {}

    def result(self) -> LevelsDot:
        """The last value, C where it enters at the end, and the rounding to the format of the result."""
        once = self.facts.special.when == "once"
        carried = any(level.facts.start == "c" for level in self.plan.levels)
        decided = self._decided(range(len(self.a)), self._addend()) if once and not carried else None
        value = self._node(len(self.plan.levels), 0) if decided is None else decided
        place = (len(self.plan.levels) + 1, 0, 0)
        if decided is None and self.facts.out.plus == "c":
            addend = self._addend()
            assert addend is not None
            value = self._add([value], addend, None, "zero", self.facts.out)
        code = self._code(value, self.facts.out, place)
        return LevelsDot(code, self.stages)

    # Operands

    def _addend(self) -> Held | None:
        """C as a value; None without C."""
        if self.plan.c is None or self.c is None:
            return None
        return read(self.c, self.plan.c, self.facts.subnormal.c)

    def _scale(self, side: int, product: int) -> Held:
        """The scale of A (side 0) or B (side 1) over a product."""
        assert self.plan.scale is not None and self.facts.offered is not None
        code = self.scales[side][product // self.plan.block]
        if self.facts.offered.unused_bits == "ignore":
            code &= (1 << derive.codes(self.plan.scale).bits) - 1
        return read(code, self.plan.scale, self.facts.subnormal.scales)

    def _decided(self, products: Sequence[int], running: Held | None) -> Special | None:
        """What NaN and infinite operands make of some products and the running value, before anything is added; None: all is finite.

        NaN: a NaN operand, a NaN scale, infinity times zero, infinities of both signs. Else infinities of one sign give that one.
        """
        found: list[Held] = [] if running is None else [running]
        for product in products:
            keep = self.facts.subnormal.elements
            factors = [read(self.a[product], self.plan.a, keep), read(self.b[product], self.plan.b, keep)]
            if self.plan.scale is not None:
                empty = any(isinstance(factor, Number) and not factor.significand for factor in factors)
                scales = [self._scale(side, product) for side in (0, 1)]
                if "nan" in scales and "nan" not in factors and self.facts.special.nan_scale == "live" and empty:
                    scales = []
                factors += scales
            total = factors[0]
            for factor in factors[1:]:
                total = multiply(total, factor)
            found.append(total)
        return specials(found)

    # Levels

    def _node(self, level: int, node: int) -> Held:
        """The value of a node; of level 0 a product."""
        if level == 0:
            return self._product(node)
        plan, children = self.plan.levels[level - 1], self.shape[level - 1][node]
        if plan.facts.add == "chain":
            value, turn = self._chain(plan, node, children)
        elif plan.facts.add == "pairwise":
            value, turn = self._pairwise(plan, node, children)
        else:
            terms = [self._node(level - 1, child) for child in children]
            extra = self._addend() if plan.facts.plus == "c" else None
            total = self._add(terms, extra, plan, plan.facts.exponent, plan.facts.hold)
            value, turn = self._hold(total, plan.facts.hold, (level, node, 0), plan.unit_exp), 1
        if not isinstance(plan.facts.scale, str):
            value = self._times_scales(value, plan.facts.scale, self._first_product(level, node), (level, node, turn))
        self.stages[f"{plan.facts.id}_{node}"] = value
        return value

    def _product(self, product: int) -> Held:
        keep = self.facts.subnormal.elements
        exact = multiply(read(self.a[product], self.plan.a, keep), read(self.b[product], self.plan.b, keep))
        words = self.facts.products
        value = self._hold(exact, words.hold, (0, product, 0), self.plan.product_unit_exp)
        if not isinstance(words.scale, str):
            value = self._times_scales(value, words.scale, product, (0, product, 1))
        self.stages[f"product_{product}"] = value
        return value

    def _first_product(self, level: int, node: int) -> int:
        while level:
            level, node = level - 1, self.shape[level - 1][node][0]
        return node

    def _products(self, level: int, node: int) -> list[int]:
        """The products below a node."""
        if level == 0:
            return [node]
        return [product for child in self.shape[level - 1][node] for product in self._products(level - 1, child)]

    def _chain(self, plan: LevelPlan, node: int, children: range) -> tuple[Held, int]:
        """One lot after the other into the running value. Returns it and the number of roundings."""
        words, turn = plan.facts, 0
        running: Held | None = Number(0, 0, 0, False)
        fmt = self._register_format(words.hold)
        if words.start == "first":
            running = None
        elif words.start == "c":
            running = self._addend()
            assert running is not None
            if self.plan.loads_c:
                running, turn = self._hold(running, words.hold, (plan.number, node, 0), plan.unit_exp), 1
        elif fmt is not None:
            running = read(0, fmt, "keep")
        by = words.by or 1
        for first in range(0, len(children), by):
            lot = children[first : first + by]
            running = self._one_addition(plan, lot, running, (plan.number, node, turn))
            self.stages[f"{words.id}_{node}_{first // by}"] = running
            turn += 1
        assert running is not None
        return running, turn

    def _one_addition(self, plan: LevelPlan, lot: range, running: Held | None, place: Place) -> Held:
        """The running value plus one lot, held."""
        words = plan.facts
        if words.start == "c" and isinstance(running, Number) and self.facts.subnormal.c == "flush":
            running = self._flushed(running, words.hold)
        if words.start == "c" and self.facts.special.when == "once":
            below = [product for child in lot for product in self._products(plan.number - 1, child)]
            decided = self._decided(below, running)
            if decided is not None:
                return decided
        terms = [self._node(plan.number - 1, child) for child in lot]
        return self._hold(self._add(terms, running, plan, "zero", words.hold), words.hold, place, plan.unit_exp)

    def _flushed(self, running: Number, hold: Hold) -> Number:
        """A running value as C is read: zero in the place of a subnormal number."""
        fmt = self._register_format(hold)
        if fmt is None or not isinstance(fmt.facts, FloatFacts) or abs(running.significand) >> fmt.facts.frac_bits:
            return running
        return running._replace(significand=0, live=False, negative=running.significand < 0 or running.negative)

    def _register_format(self, hold: Hold) -> Format | None:
        found: Format | None = get("format", hold.format) if isinstance(hold, FloatHold) else None
        return found

    def _pairwise(self, plan: LevelPlan, node: int, children: range) -> tuple[Held, int]:
        """Neighbours two by two, then their sums, until one is left. Returns it and the number of roundings."""
        words, turn = plan.facts, 0
        row = [self._node(plan.number - 1, child) for child in children]
        if len(row) == 1:
            alone = self._add(row, None, None, words.exponent, words.hold)
            return self._hold(alone, words.hold, (plan.number, node, 0), plan.unit_exp), 1
        while len(row) > 1:
            sums: list[Held] = []
            for first in range(0, len(row) - 1, 2):
                total = self._add(row[first : first + 2], None, plan, words.exponent, words.hold)
                sums.append(self._hold(total, words.hold, (plan.number, node, turn), plan.unit_exp))
                turn += 1
            row = sums + row[len(row) - len(row) % 2 :]
        return row[0], turn

    # One addition

    def _add(self, terms: Sequence[Held], running: Held | None, plan: LevelPlan | None, exponent: str, hold: Hold) -> Held:
        """Terms plus the running value, C or nothing: exact, or aligned where the level says so."""
        decided = specials([*terms, *([] if running is None else [running])])
        if decided is not None:
            return decided
        numbers = [term for term in terms if isinstance(term, Number)]
        more = running if isinstance(running, Number) else None
        if plan is not None and plan.align is not None:
            total = self._aligned(numbers, more, plan, plan.align)
        else:
            total = exact_sum(numbers if more is None else [*numbers, more], exponent)
        if plan is not None and plan.facts.cancelled_counts == "no" and not total.significand:
            total = total._replace(live=False)
        return total._replace(negative=self._zero_sign([*numbers, *([] if more is None else [more])], hold))

    def _zero_sign(self, numbers: Sequence[Number], hold: Hold) -> bool:
        """The sign of a sum that is zero: that of equal zeros; else plus, or minus where the rounding goes down. Integers have none."""
        if not isinstance(hold, FloatHold):
            return False
        if all(not number.significand for number in numbers) and len({number.negative for number in numbers}) == 1:
            return numbers[0].negative
        rounding = rounding_of(hold)
        return rounding is not None and rounding.rounds_down

    def _aligned(self, terms: Sequence[Number], running: Number | None, plan: LevelPlan, align: AlignPlan) -> Number:
        """Bring every term to E, cut it to F bits below 2^E, add."""
        words = plan.facts.align
        assert words is not None
        named = [_named(term, words.exponent, words.raised) for term in terms]
        exps = [term.exp for term in named if term.live] + ([running.exp] if running is not None and running.live else [])
        exp = max(exps + ([] if align.floor is None else [align.floor]), default=0)
        unit = exp - align.frac_bits
        cut: Rounding = get("rounding", words.cut)
        total = sum(shifted(term, unit, cut) for term in named)
        if running is not None:
            own = words.cuts_running
            if own is None:
                total += shifted(running, unit, cut)
            elif own.drop_below is None or running.exp >= exp - own.drop_below:
                kept = shifted(running, exp - own.fraction_bits, get("rounding", own.cut))
                total += shifted(Number(kept, exp, own.fraction_bits, True), unit, cut)
        if words.beyond == "wrap":
            assert align.adder_bits is not None
            total = wrapped(total, align.adder_bits)
        return Number(total, exp, align.frac_bits, bool(exps))

    def _times_scales(self, value: Held, words: LevelScale, product: int, place: Place) -> Held:
        """A value times both scales: each, their product and the result held as the level says."""
        level, node, turn = place
        scales = [self._scale(side, product) for side in (0, 1)]
        if "nan" in scales and isinstance(value, Number) and not value.live and self.facts.special.nan_scale == "live":
            return value
        first, second = (self._hold(scale, words.each, (level, node, turn + side), None) for side, scale in enumerate(scales))
        both = self._hold(multiply(first, second), words.product, (level, node, turn + 2), None)
        return self._hold(multiply(value, both), words.term, (level, node, turn + 3), None)

    # Registers

    def _hold(self, value: Held, hold: Hold, place: Place, unit_exp: int | None) -> Held:
        """A value as a register holds it."""
        if hold == "exact":
            return value
        if isinstance(hold, FloatHold):
            fmt: Format = get("format", hold.format)
            if not isinstance(value, Number) and hold.policy is None:
                return value
            return read(self._code(value, hold, place), fmt, "keep")
        if not isinstance(value, Number):
            return value
        rounding, word = rounding_of(hold), self.words.get(place)
        if isinstance(hold, CutHold):
            assert rounding is not None
            return cut_number(value, hold, rounding, word)
        assert unit_exp is not None
        return self._fixed(shifted(value, unit_exp, rounding, word), hold, unit_exp)

    def _fixed(self, units: int, hold: FixedHold, unit_exp: int) -> Held:
        half = 1 << (hold.bits - 1)
        lowest = 1 - half if hold.overflow == "saturate_symmetric" else -half
        if not lowest <= units < half:
            if hold.overflow == "error":
                raise OpenError(f"datapath {self.plan.datapath.id}: a register of {hold.bits} bits overflows: this row has no result")
            if hold.overflow == "sticky_inf":
                return "-inf" if units < 0 else "+inf"
            units = wrapped(units, hold.bits) if hold.overflow == "wrap" else lowest if units < 0 else half - 1
        return Number(units, 0, -unit_exp, units != 0)

    def _code(self, value: Held, hold: FloatHold, place: Place) -> int:
        """The code of a value in a float format. NaN is the datapath's own."""
        fmt: Format = get("format", hold.format)
        word, rounding = self.words.get(place), rounding_of(hold)
        if hold.policy is not None:
            return self._by_policy(value, hold, fmt, word)
        codes = derive.codes(fmt)
        if not isinstance(value, Number):
            if value == "nan":
                return self.plan.nan_code if same_facts(fmt, self.plan.d) else codes.nan[0]
            assert codes.inf is not None
            return attach_sign(codes.inf, int(value == "-inf"), fmt)
        assert isinstance(fmt.facts, FloatFacts)
        keep = fmt.facts.frac_bits if hold.keep is None else hold.keep
        negative = value.significand < 0 or (not value.significand and value.negative)
        code = 0
        if value.significand:
            mode: Rounding = rounding or get("rounding", "rz")  # without a rounding nothing is lost, as the loader has proved
            code = magnitude_code(abs(value.significand), value.lsb_exp, int(negative), fmt, mode, keep, word)
            if code > codes.max_code:
                code = self._beyond(hold, mode, negative, fmt)
        if hold.subnormals == "flush" and code >> fmt.facts.frac_bits == 0:
            code = 0
        if code == 0 and self.facts.special.zero == "plus":
            return 0
        return attach_sign(code, int(negative), fmt)

    def _beyond(self, hold: FloatHold, rounding: Rounding, negative: bool, fmt: Format) -> int:
        """The magnitude code of what is beyond the largest number."""
        codes, beyond = derive.codes(fmt), rounding.facts.beyond_max
        stays = (beyond.negative if negative else beyond.positive) == "max"
        if hold.overflow == "saturate" or (hold.overflow == "ieee" and stays):
            return codes.max_code
        assert codes.inf is not None
        return codes.inf

    def _by_policy(self, value: Held, hold: FloatHold, fmt: Format, word: int | None) -> int:
        assert hold.policy is not None
        source = Value("nan", 0) if value == "nan" else Value("inf", int(value == "-inf"))
        if isinstance(value, Number):
            negative = self.facts.special.zero == "ieee" and value.negative
            source = finite(value.significand * power_of_two(value.lsb_exp), int(negative))
        rounding = rounding_of(hold) or get("rounding", "rz")
        code = convert_value(source, fmt, rounding, derive.policy_entry(get("policy", hold.policy), fmt), word)
        if code in (OPEN, REFUSE):
            why = "is open" if code == OPEN else "is refused"
            raise (OpenError if code == OPEN else OperandError)(
                f"datapath {self.plan.datapath.id}: policy {hold.policy}: what becomes of {value} in {fmt.id} {why}"
            )
        if code and self.facts.special.zero == "plus" and code == derive.codes(fmt).sign_bit:
            return 0
        return code


def read(code: int, fmt: Format, subnormals: str) -> Held:
    """Return the value of a code; the exponent is the one that the code names. subnormals: keep, or flush to read them as zero."""
    key = fmt.facts_digest, subnormals
    known = _READ.get(key)
    if known is None:
        known = _READ.keep(key, {})
    found = known.get(code)
    if found is None:
        found = _read(code, fmt, subnormals)
        if not code >> KNOWN_BITS:
            known[code] = found
    return found


def _read(code: int, fmt: Format, subnormals: str) -> Held:
    value = decode_operand(code, fmt, subnormals)
    if value.kind == "nan":
        return "nan"
    if value.kind == "inf":
        return "-inf" if value.sign else "+inf"
    found = decode_triple(code, fmt, subnormals)
    return Number(found.significand, found.exp, found.frac_bits, found.significand != 0, bool(value.sign))


def specials(values: Sequence[Held]) -> Special | None:
    """Return what NaN and infinities make of a sum; None: every value is a number."""
    found = {value for value in values if not isinstance(value, Number)}
    if not found:
        return None
    return "nan" if "nan" in found or len(found) == 2 else found.pop()


def multiply(x: Held, y: Held) -> Held:
    """Return the exact product; exponents and fraction bits add. Infinity times zero is NaN."""
    if isinstance(x, Number) and isinstance(y, Number):
        product = x.significand * y.significand
        live, negative = x.live and y.live, _negative(x) != _negative(y)
        return Number(product, x.exp + y.exp, x.frac_bits + y.frac_bits, live, negative)
    if "nan" in (x, y) or any(isinstance(value, Number) and not value.significand for value in (x, y)):
        return "nan"
    return "-inf" if _negative(x) != _negative(y) else "+inf"


def _negative(value: Held) -> bool:
    if not isinstance(value, Number):
        return value == "-inf"
    return value.significand < 0 or (not value.significand and value.negative)


def exact_sum(numbers: Sequence[Number], exponent: str) -> Number:
    """Return the sum; it names exponent 0, or the largest of its live terms."""
    unit = min(number.lsb_exp for number in numbers)
    total = sum(number.significand << (number.lsb_exp - unit) for number in numbers)
    live = [number.exp for number in numbers if number.live]
    exp = max(live, default=0) if exponent == "largest" else 0
    return Number(total, exp, exp - unit, bool(live))


def _named(term: Number, exponent: str, raised: int) -> Number:
    """Give a term the exponent that alignment sees; its value stays."""
    if exponent == "normalised" and term.significand:
        raised += abs(term.significand).bit_length() - 1 - term.frac_bits
    return term._replace(exp=term.exp + raised, frac_bits=term.frac_bits + raised)


def shifted(number: Number, unit_exp: int, rounding: Rounding | None, random: int | None = None) -> int:
    """Return a number in units of 2^unit_exp, rounded. rounding: None where nothing can be lost.   random: for a rounding that draws."""
    places = number.lsb_exp - unit_exp
    if places >= 0:
        return number.significand << places
    magnitude, negative = abs(number.significand), number.significand < 0
    kept, lost = magnitude >> -places, Fraction(magnitude & ((1 << -places) - 1), 1 << -places)
    if lost:
        assert rounding is not None
        value = magnitude * power_of_two(number.lsb_exp)
        kept += goes_up(lost, power_of_two(unit_exp), value, int(negative), kept % 2 == 1, rounding, random)
    return -kept if negative else kept


def cut_number(value: Number, hold: CutHold, rounding: Rounding, random: int | None) -> Number:
    """Return a number with the bits that a cut keeps; it names the exponent that it named, and stays live."""
    unit = value.lsb_exp
    if hold.fraction_bits is not None:
        unit = value.exp - hold.fraction_bits
    elif hold.significant_bits is not None and value.significand:
        unit = value.lsb_exp + abs(value.significand).bit_length() - hold.significant_bits
    return Number(shifted(value, unit, rounding, random), value.exp, value.exp - unit, value.live, value.negative)


def wrapped(units: int, bits: int) -> int:
    """Return the low bits of an integer, in two's complement."""
    half = 1 << (bits - 1)
    return (units + half) % (2 * half) - half
