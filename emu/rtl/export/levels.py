"""dot/<datapath> of a datapath of levels as a circuit: every value in fixed point over its whole range, rounded where a level says so.

The plainest way there is: no exponents are compared and no window slides, so that nothing is shared with how designs are built. A value is
an integer of units of 2^lsb_exp, as wide as the largest one needs; a float register is read back into one after each rounding. The words of
the language are those of emu.engines.exact.levels; what is not exported is refused by name (see `refused`).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from emu.base.errors import SpecError
from emu.contracts.contract import stored_bits
from emu.contracts.levels.contract import LevelsContract
from emu.engines.exact.levels import Number, read
from emu.engines.exact.value import power_of_two
from emu.rtl.export.circuit import Circuit, Node, binary, choose, concat, const, extend, part, table
from emu.spec import derive
from emu.spec.ieee import same_facts
from emu.spec.levels import LevelPlan, LevelsPlan, holds_of, rounding_of
from emu.spec.models import Format, Rounding
from emu.spec.models.format import CodebookFacts, FloatFacts
from emu.spec.models.levels import CutHold, FixedHold, FloatHold, Hold
from emu.spec.models.rounding import LostPart
from emu.spec.reach import reach
from emu.spec.registry import get

WIDEST: Final = 1300  # bits of a value: products of two bfloat16 and C need some 550
TABLE_BITS: Final = 8  # codes up to here are read by a table, wider ones by their fields
NO: Final = const(0, 1)
YES: Final = const(1, 1)


@dataclass(frozen=True)
class Held:
    """A value of the circuit: node * 2^lsb_exp, signed.

    top: no magnitude is larger, in units.   negative: its sign, that of a zero too.
    nan, plus, minus: it is NaN or an infinity instead.
    """

    node: Node
    lsb_exp: int
    top: int
    negative: Node = NO
    nan: Node = NO
    plus: Node = NO
    minus: Node = NO


@dataclass
class Builder:
    """Builds the circuit of one row. draws: place -> the random word of a rounding there.   opens: conditions of a row without a result."""

    circuit: Circuit
    plan: LevelsPlan
    k: int
    draws: dict[tuple[int, int, int], Node] = field(default_factory=dict)
    opens: list[Node] = field(default_factory=list)
    count: int = 0

    def wire(self, name: str, node: Node) -> Node:
        """Name an expression, once; constants and names stay."""
        if node.op in ("const", "name"):
            return node
        self.count += 1
        return self.circuit.wire(f"{name}_{self.count}", node)

    # Operands

    def element(self, port: Node, place: int, fmt: Format, subnormals: str) -> Held:
        """A lane of a port as a value."""
        bits = derive.codes(fmt).bits
        code = self.wire("code", part(port, place * stored_bits(fmt), bits))
        if derive.is_twos_complement(fmt):
            return Held(code, reach(fmt).lsb_exp, 1 << bits - 1, self.wire("sign", part(code, bits - 1, 1)))
        return self.narrow(code, fmt, subnormals) if bits <= TABLE_BITS else self.wide(code, fmt, subnormals)

    def narrow(self, code: Node, fmt: Format, subnormals: str) -> Held:
        """A code as the reference model reads it, by a table."""
        lsb = reach(fmt).lsb_exp
        values = [read(number, fmt, subnormals) for number in range(1 << code.bits)]
        whole = []
        for value in values:
            units = power_of_two(value.lsb_exp - lsb) * value.significand if isinstance(value, Number) else power_of_two(0) * 0
            assert units.denominator == 1
            whole.append(int(units))
        top = max(abs(units) for units in whole)
        width = top.bit_length() + 1
        node = self.wire("value", self._table(code, [const(units, width) for units in whole]))
        signs = [value.significand < 0 or value.negative if isinstance(value, Number) else value == "-inf" for value in values]
        marks = [self._marks(code, [value == word for value in values]) for word in ("nan", "+inf", "-inf")]
        return Held(node, lsb, top, self._marks(code, signs), *marks)

    def _table(self, code: Node, results: list[Node]) -> Node:
        rows = [(number, node, "") for number, node in enumerate(results[:-1]) if node != results[number + 1]]
        return table(code, "ule", rows, results[-1])

    def _marks(self, code: Node, marks: list[bool]) -> Node:
        if not any(marks):
            return NO
        return self.wire("mark", self._table(code, [const(int(mark), 1) for mark in marks]))

    def wide(self, code: Node, fmt: Format, subnormals: str, largest: int | None = None, lsb_exp: int | None = None) -> Held:
        """A code of a float format by its fields. largest: exponent field that can come.   lsb_exp: of a unit of all values."""
        facts, codes = fmt.facts, derive.codes(fmt)
        assert isinstance(facts, FloatFacts) and facts.subnormals == "yes"
        frac, low = facts.frac_bits, 1 - facts.bias - facts.frac_bits
        fields = codes.bits - 1 - frac
        unit = low if lsb_exp is None else lsb_exp
        exp_field = self.wire("exp", part(code, frac, fields))
        fraction = self.wire("fraction", part(code, 0, frac)) if frac else None
        sign = self.wire("sign", part(code, codes.bits - 1, 1))
        inf = codes.inf
        most = min(codes.max_code >> frac, (1 << fields) - 1 if largest is None else largest)
        top = int(((1 << frac + 1) - 1) * power_of_two(low - unit + max(most - 1, 0)))
        width = max(top.bit_length(), 1) + 1
        rows = [(number, self._placed(fraction, number, frac, low - unit, width, subnormals), "") for number in range(most + 1)]
        magnitude = self.wire("magnitude", table(exp_field, "eq", rows[:-1], rows[-1][1]))
        last = binary("eq", exp_field, const((1 << fields) - 1, fields))
        special = inf is not None or bool(codes.nan)
        if special and facts.nan != "ieee":
            raise SpecError(f"{fmt.id}: golden functions read wide codes of IEEE formats only")
        rest = NO if fraction is None else binary("eq", fraction, const(0, frac))
        reaches = largest is None or largest == (1 << fields) - 1
        is_inf = self.wire("inf", binary("and", last, rest)) if special and reaches else NO
        nan = self.wire("nan", binary("and", last, inverted(rest))) if special and reaches else NO
        number = choose(either(is_inf, nan), const(0, width), magnitude) if special and reaches else magnitude
        magnitude = self.wire("magnitude", number)
        node = self.wire("value", choose(sign, binary("sub", const(0, width), magnitude), magnitude))
        return Held(node, unit, top, sign, nan, both(is_inf, inverted(sign)), both(is_inf, sign))

    def _placed(self, fraction: Node | None, number: int, frac: int, shift: int, width: int, subnormals: str) -> Node:
        """The significand under an exponent field, moved to the unit."""
        hidden = const(int(number > 0), 1)
        if number == 0 and subnormals == "flush":
            return const(0, width)
        significand = hidden if fraction is None else concat(hidden, fraction)
        places = shift + max(number - 1, 0)
        if places < 0:
            if frac + 1 <= -places:
                return const(0, width)
            kept = frac + 1 + places  # what is cut here is zero: all values are multiples of the unit
            assert fraction is not None
            significand = part(self.wire("significand", significand), -places, kept)
            return extend(significand, width) if kept < width else part(self.wire("cut", significand), 0, width)
        padded = concat(significand, const(0, places)) if places else significand
        return extend(padded, width) if padded.bits <= width else part(self.wire("moved", padded), 0, width)

    def multiply(self, x: Held, y: Held) -> Held:
        """The exact product; NaN of infinity times zero."""
        top = x.top * y.top
        width = self._width(top)
        node = self.wire("product", binary("mul", self.signed(x.node, width), self.signed(y.node, width)))
        negative = self.wire("sign", different(x.negative, y.negative)) if (x.negative, y.negative) != (NO, NO) else NO
        infinite = either(x.plus, x.minus), either(y.plus, y.minus)
        vanish = [both(inf, self._zero(other)) for inf, other in zip(infinite, (y, x), strict=True) if inf != NO]
        nan = either(x.nan, y.nan, *vanish)
        inf = both(either(*infinite), inverted(nan))
        return Held(node, x.lsb_exp + y.lsb_exp, top, negative, self.wire("nan", nan),
                    self.wire("plus", both(inf, inverted(negative))), self.wire("minus", both(inf, negative)))  # fmt: skip

    def _zero(self, value: Held) -> Node:
        return both(binary("eq", value.node, const(0, value.node.bits)), inverted(either(value.nan, value.plus, value.minus)))

    def signed(self, node: Node, bits: int) -> Node:
        """A signed value in more bits."""
        if node.op == "const":
            low = node.value - (node.value >> node.bits - 1 << node.bits)
            return const(low, bits)
        return extend(node, bits, signed=True)

    def _width(self, top: int) -> int:
        width = top.bit_length() + 1
        if width > WIDEST:
            raise SpecError(f"datapath {self.plan.datapath.id}: a value takes {width} bits in fixed point: golden functions hold {WIDEST}")
        return width

    # Levels

    def values(self, a: Node, b: Node, c: Held | None) -> Held:
        """The value of the last level."""
        plan, facts = self.plan, self.plan.facts
        row = []
        for place in range(self.k):
            factors = (self.element(a, place, plan.a, facts.subnormal.elements), self.element(b, place, plan.b, facts.subnormal.elements))
            row.append(self.hold(self.multiply(*factors), facts.products.hold, (0, place, 0), plan.product_unit_exp))
        for level, nodes in zip(plan.levels, plan.shape(self.k), strict=True):
            row = [self.node(level, number, [row[child] for child in children], c) for number, children in enumerate(nodes)]
        return row[0]

    def node(self, level: LevelPlan, number: int, values: list[Held], c: Held | None) -> Held:
        """One lot of values added."""
        words = level.facts
        if words.add == "exact":
            terms = [*values, c] if words.plus == "c" and c is not None else values
            return self.hold(self.add(terms, words.hold), words.hold, (level.number, number, 0), level.unit_exp)
        if words.add == "pairwise":
            return self._pairwise(level, number, values)
        turn, running = 0, None
        if words.start == "c":
            assert c is not None
            running = c
            if self.plan.loads_c:
                running, turn = self.hold(c, words.hold, (level.number, number, 0), level.unit_exp), 1
        elif words.start == "zero":
            running = Held(const(0, 1), values[0].lsb_exp, 0)
        by = words.by or 1
        for first in range(0, len(values), by):
            terms = values[first : first + by] if running is None else [*values[first : first + by], running]
            running = self.hold(self.add(terms, words.hold), words.hold, (level.number, number, turn), level.unit_exp)
            turn += 1
        assert running is not None
        return running

    def _pairwise(self, level: LevelPlan, number: int, values: list[Held]) -> Held:
        hold, turn = level.facts.hold, 0
        if len(values) == 1:
            return self.hold(self.add(values, hold), hold, (level.number, number, 0), level.unit_exp)
        while len(values) > 1:
            sums = []
            for first in range(0, len(values) - 1, 2):
                sums.append(self.hold(self.add(values[first : first + 2], hold), hold, (level.number, number, turn), level.unit_exp))
                turn += 1
            values = sums + values[len(values) - len(values) % 2 :]
        return values[0]

    def add(self, terms: list[Held], hold: Hold) -> Held:
        """The exact sum in the finest unit, with the sign of a zero that the hold above asks for."""
        unit = min(term.lsb_exp for term in terms)
        top = sum(term.top << term.lsb_exp - unit for term in terms)
        width = self._width(top)
        total = None
        for term in terms:
            moved = self.shifted(term.node, term.lsb_exp - unit, width)
            total = moved if total is None else self.wire("sum", binary("add", total, moved))
        assert total is not None
        nan = either(*(term.nan for term in terms))
        plus, minus = either(*(term.plus for term in terms)), either(*(term.minus for term in terms))
        nan = self.wire("nan", either(nan, both(plus, minus)))
        plus, minus = (self.wire("inf", both(inf, inverted(nan))) for inf in (plus, minus))
        return Held(self.wire("sum", total), unit, top, self._zero_sign(terms, hold), nan, plus, minus)

    def _zero_sign(self, terms: list[Held], hold: Hold) -> Node:
        """Of a sum of zero: that of equal zeros; else minus where the rounding goes down."""
        if not isinstance(hold, FloatHold):
            return NO
        rounding = rounding_of(hold)
        down = YES if rounding is not None and rounding.rounds_down else NO
        zeros = both(*(self._zero(term) for term in terms))
        minus = both(zeros, *(term.negative for term in terms))
        plus = both(zeros, *(inverted(term.negative) for term in terms))
        return self.wire("zero", choose(minus, YES, choose(plus, NO, down)))

    def shifted(self, node: Node, places: int, width: int) -> Node:
        """A signed value times 2^places in `width` bits."""
        moved = concat(node, const(0, places)) if places else node
        return self.signed(self.wire("moved", moved), width)

    # Registers

    def hold(self, value: Held, hold: Hold, place: tuple[int, int, int], unit_exp: int | None) -> Held:
        """A value as a register holds it."""
        if hold == "exact":
            return value
        if isinstance(hold, FloatHold):
            return self._read_back(value, hold, place)
        assert isinstance(hold, FixedHold) and unit_exp is not None
        return self._fixed(value, hold, place, unit_exp)

    def _read_back(self, value: Held, hold: FloatHold, place: tuple[int, int, int]) -> Held:
        fmt: Format = get("format", hold.format)
        assert isinstance(fmt.facts, FloatFacts)
        facts = fmt.facts
        kept = facts.frac_bits if hold.keep is None else hold.keep
        code = self.wire("register", self.code(value, hold, place))
        unit = max(value.lsb_exp, 1 - facts.bias - kept)
        ceiling = max((value.top << 1).bit_length() - 1 + value.lsb_exp, 1 - facts.bias)  # rounding up reaches the next power of two
        fields = derive.codes(fmt).bits - 1 - facts.frac_bits
        special = any(node != NO for node in (value.nan, value.plus, value.minus))
        largest = (1 << fields) - 1 if special else min(ceiling + facts.bias, (1 << fields) - 1)
        return self.wide(code, fmt, "keep", largest, unit)

    def _fixed(self, value: Held, hold: FixedHold, place: tuple[int, int, int], unit_exp: int) -> Held:
        """Rounded to the unit, then the end of the register."""
        places = value.lsb_exp - unit_exp
        if places >= 0:
            top = value.top << places
            units = self.shifted(value.node, places, self._width(top))
        else:
            top = (value.top >> -places) + 1
            units = self._to_unit(value, -places, self._width(top), hold, place)
        half = 1 << hold.bits - 1
        lowest = 1 - half if hold.overflow == "saturate_symmetric" else -half
        units = self.wire("units", units)
        plus, minus = value.plus, value.minus
        if top >= half:
            width = max(units.bits, hold.bits) + 1
            units = self.signed(units, width)
            number = inverted(either(value.nan, value.plus, value.minus))
            above = self.wire("above", both(number, less(const(half - 1, width), units)))
            below = self.wire("below", both(number, less(units, const(lowest, width))))
            if hold.overflow == "wrap":
                units = self.signed(self.wire("wrapped", part(self.wire("units", units), 0, hold.bits)), hold.bits)
            else:
                ends = (
                    (const(0, width),) * 2 if hold.overflow in ("error", "sticky_inf") else (const(half - 1, width), const(lowest, width))
                )
                units = choose(above, ends[0], choose(below, ends[1], units))
                units = part(self.wire("held", units), 0, hold.bits)
            if hold.overflow == "error":
                self.opens.append(either(above, below))
            if hold.overflow == "sticky_inf":
                plus, minus = either(plus, above), either(minus, below)
            top = half
        zero = choose(either(value.nan, plus, minus), const(0, units.bits), units)
        return Held(
            self.wire("register", zero), unit_exp, min(top, half), NO, value.nan, self.wire("plus", plus), self.wire("minus", minus)
        )

    def _to_unit(self, value: Held, places: int, width: int, hold: FixedHold, place: tuple[int, int, int]) -> Node:
        """A value in a coarser unit, rounded by its magnitude."""
        rounding = rounding_of(hold)
        negative, magnitude = self._magnitude(value)
        if magnitude.bits <= places:
            magnitude = self.wire("magnitude", extend(magnitude, places + 1))
        kept = self.wire("kept", part(magnitude, places, magnitude.bits - places))
        word = self.draws.get(place)
        top = self._top_bits(rounding)
        lost, sticky = self._lost(magnitude, places, top)
        up = self.goes_up(self.wire("lost", lost), self.wire("sticky", sticky), part(kept, 0, 1), negative, rounding, word)
        rounded = binary("add", extend(kept, kept.bits + 1), extend(up, kept.bits + 1))
        rounded = self.wire("rounded", rounded)
        rounded = extend(rounded, width) if rounded.bits <= width else part(rounded, 0, width)
        rounded = self.wire("rounded", rounded)
        return choose(negative, binary("sub", const(0, width), rounded), rounded)

    def _magnitude(self, value: Held) -> tuple[Node, Node]:
        node = self.wire("value", value.node)
        if node.op == "const":
            number = node.value - (node.value >> node.bits - 1 << node.bits)
            return const(int(number < 0), 1), const(abs(number), node.bits)
        negative = self.wire("negative", part(node, node.bits - 1, 1))
        return negative, self.wire("magnitude", choose(negative, binary("sub", const(0, node.bits), node), node))

    @staticmethod
    def _top_bits(rounding: Rounding | None) -> int:
        """How many of the lost bits a rounding sees one by one; the others only as a sticky bit."""
        return 1 if rounding is None or not rounding.random_bits else rounding.random_bits + int(rounding.facts.add == "half")

    def _lost(self, magnitude: Node, places: int, top: int) -> tuple[Node, Node]:
        """The `top` highest of the lowest `places` bits, and whether anything is below them."""
        if places <= 0:
            return const(0, top), NO
        taken = min(top, places)
        bits = part(magnitude, places - taken, taken)
        bits = concat(bits, const(0, top - taken)) if taken < top else bits
        below = places - taken
        return bits, NO if not below else inverted(binary("eq", part(magnitude, 0, below), const(0, below)))

    def goes_up(self, lost: Node, sticky: Node, odd: Node, negative: Node, rounding: Rounding | None, word: Node | None) -> Node:
        """Is the next magnitude taken. lost: the highest lost bits.   sticky: is there more below.   odd: is the lower code."""
        if rounding is None:
            return NO
        facts, bits = rounding.facts, lost.bits
        if facts.add is not None:
            assert word is not None
            more = bits + 1
            if facts.add == "cmp":
                return either(binary("ult", word, lost), both(binary("eq", word, lost), sticky))
            random = extend(word, more) if facts.add == "add" else concat(const(0, 1), word, YES)
            carried = binary("add", extend(lost, more), random)
            return part(self.wire("carried", carried), bits, 1)
        half = lost
        rest = sticky
        is_more, is_half, is_less = both(half, rest), both(half, inverted(rest)), both(inverted(half), rest)
        rules = (facts.magnitude, facts.magnitude) if facts.magnitude is not None else (facts.positive, facts.negative)

        def follows(rule: LostPart | None) -> Node:
            assert rule is not None
            chosen = {"keep": NO, "next": YES, "to_even_code": odd, "to_odd_code": inverted(odd)}
            pairs = ((is_less, rule.less_than_half), (is_half, rule.half), (is_more, rule.more_than_half))
            return either(*(both(when, chosen[choice]) for when, choice in pairs))

        return follows(rules[0]) if rules[0] == rules[1] else choose(negative, follows(rules[1]), follows(rules[0]))

    def code(self, value: Held, hold: FloatHold, place: tuple[int, int, int]) -> Node:
        """The code of a value in a float format: for each place of the leading bit what is kept and what is lost."""
        fmt: Format = get("format", hold.format)
        facts, codes, rounding = fmt.facts, derive.codes(fmt), rounding_of(hold)
        assert isinstance(facts, FloatFacts)
        frac = facts.frac_bits
        keep = frac if hold.keep is None else hold.keep
        negative, magnitude = self._magnitude(value)
        top, rows = self._top_bits(rounding), []
        highest = value.lsb_exp + max(value.top.bit_length(), 1) - 1
        width = max(codes.bits, ((max(highest, 1 - facts.bias) + facts.bias + 2) << frac).bit_length())
        for lead in reversed(range(max(value.top.bit_length(), 1))):
            exp = max(lead + value.lsb_exp, 1 - facts.bias)
            places = exp - keep - value.lsb_exp
            base = const((exp + facts.bias - 1) << frac, width)
            if places <= lead:
                whole = part(magnitude, max(places, 0), lead + 1 - max(places, 0))
                left = max(-places, 0) + frac - keep
                moved = concat(whole, const(0, left)) if left else whole
                base = binary("add", base, extend(moved, width))
                odd = part(magnitude, places, 1) if places >= 0 else NO
            else:
                odd = NO
            lost, sticky = self._lost(self._tall(magnitude, places), places, top)
            fields = concat(base if base.op == "const" else self.wire("base", base), lost, sticky, odd)
            rows.append((part(magnitude, lead, 1), fields))
        chosen = const(0, width + top + 2)
        for test, fields in reversed(rows):
            chosen = choose(test, fields, chosen)
        chosen = self.wire("chosen", chosen)
        lost, sticky, odd = part(chosen, 2, top), part(chosen, 1, 1), part(chosen, 0, 1)
        up = self.goes_up(self.wire("lost", lost), sticky, odd, negative, rounding, self.draws.get(place))
        step = const(1 << frac - keep, width)
        base = part(chosen, top + 2, width)
        code = self.wire("rounded", choose(self.wire("up", up), binary("add", base, step), base))
        end = codes.max_code
        beyond = self.wire("beyond", binary("ult", const(end, width), code))
        code = choose(beyond, self._beyond(hold, rounding or get("rounding", "rz"), negative, end, codes.inf, width), code)
        code = self.wire("code", part(self.wire("code", code), 0, codes.bits - 1))
        if hold.subnormals == "flush":
            code = self.wire("code", choose(binary("ult", code, const(1 << frac, code.bits)), const(0, code.bits), code))
        zero = binary("eq", magnitude, const(0, magnitude.bits))
        sign = choose(zero, value.negative, negative)
        if self.plan.facts.special.zero == "plus":
            sign = both(sign, inverted(binary("eq", code, const(0, code.bits))))
        out = concat(sign, code)
        nan = self.plan.nan_code if same_facts(fmt, self.plan.d) else codes.nan[0] if codes.nan else 0
        if codes.inf is not None:
            out = choose(value.plus, const(codes.inf, codes.bits), choose(value.minus, const(codes.inf | codes.sign_bit, codes.bits), out))
        elif (value.plus, value.minus) != (NO, NO):
            raise SpecError(f"datapath {self.plan.datapath.id}: an infinity may come to {fmt.id}, which has none")
        return choose(value.nan, const(nan, codes.bits), out) if value.nan != NO else out

    def _tall(self, magnitude: Node, places: int) -> Node:
        """The magnitude, at least `places` bits tall."""
        return magnitude if places <= magnitude.bits else self.wire("tall", extend(magnitude, places))

    def _beyond(self, hold: FloatHold, rounding: Rounding, negative: Node, end: int, inf: int | None, width: int) -> Node:
        words = rounding.facts.beyond_max
        ends = []
        for word in (words.positive, words.negative):
            stays = hold.overflow == "saturate" or (hold.overflow == "ieee" and word == "max")
            assert stays or inf is not None
            ends.append(const(end if stays else inf or 0, width))
        return ends[0] if ends[0] == ends[1] else choose(negative, ends[1], ends[0])


def inverted(node: Node) -> Node:
    """Return the other bit."""
    return const(1 - node.value, 1) if node.op == "const" else Node("not", 1, (node,))


def either(*nodes: Node) -> Node:
    """Return the OR of bits."""
    out = NO
    for node in nodes:
        out = node if out == NO else out if node == NO else YES if YES in (node, out) else binary("or", out, node)
    return out


def both(*nodes: Node) -> Node:
    """Return the AND of bits."""
    out = YES
    for node in nodes:
        out = node if out == YES else out if node == YES else NO if NO in (node, out) else binary("and", out, node)
    return out


def different(x: Node, y: Node) -> Node:
    """Return the XOR of two bits."""
    return choose(x, inverted(y), y)


def less(x: Node, y: Node) -> Node:
    """Return x < y of two signed values of one width."""
    flip = const(1 << x.bits - 1, x.bits)
    return binary("ult", binary("add", x, flip), binary("add", y, flip))


def refused(contract: LevelsContract) -> Iterator[str]:
    """Yield what a golden function does not hold of a datapath, in the words of its file."""
    plan, facts = contract.plan, contract.plan.facts
    if facts.offered is not None:
        yield "block scales"
    for level in facts.levels:
        if level.align is not None:
            yield f"level {level.id}: align"
    for hold in holds_of(facts):
        if isinstance(hold, CutHold):
            yield "hold of significant_bits or fraction_bits"
        if isinstance(hold, FloatHold) and hold.policy is not None:
            yield "hold under a policy"
        rounding = rounding_of(hold)
        if rounding is not None and rounding.facts.add == "te_fma":
            yield f"rounding {rounding.id}"
    if facts.flags is not None:
        yield "flags"
    special = [fmt for fmt in (plan.a, plan.b, plan.c) if fmt is not None and (derive.codes(fmt).nan or derive.codes(fmt).inf is not None)]
    if facts.special.when == "once" and special:
        yield f"special.when once with operands that may be NaN or infinite ({special[0].id})"
    if any(isinstance(fmt.facts, CodebookFacts) for fmt in (plan.a, plan.b)):
        yield "codebooks"
    if plan.c is not None and facts.subnormal.c != "keep":
        yield "subnormal.c flush"


def levels_circuit(circuit: Circuit, contract: LevelsContract) -> None:
    """Add the columns of dot as inputs, outputs d, k_d where any NaN is right, and open: the row has no result.

    Raises: SpecError (a word of the datapath that golden functions do not hold).   Tests: tests/rtl/test_rtl_export_levels.py.
    """
    for word in refused(contract):
        raise SpecError(f"{contract.name}: golden functions hold no {word}")
    plan, facts = contract.plan, contract.plan.facts
    builder = Builder(circuit, plan, contract.k)
    ports = {column.name: (circuit.input(column.name, column.bits), column) for column in contract.layout.inputs}
    if "r" in ports:
        port, column = ports["r"]
        for turn, draw in enumerate(plan.draws(contract.k)):
            field = part(port, turn * column.lane_bits, draw.rounding.random_bits)
            builder.draws[draw.level, draw.node, draw.turn] = builder.wire("word", field)
    c = builder.element(ports["c"][0], 0, plan.c, "keep") if plan.c is not None else None
    value = builder.values(ports["a"][0], ports["b"][0], c)
    if facts.out.plus == "c" and c is not None:
        value = builder.add([value, c], facts.out)
    circuit.output("d", builder.code(value, facts.out, (len(plan.levels) + 1, 0, 0)))
    if contract.any_nan:
        circuit.output("k_d", concat(const(0, 3), value.nan))
    circuit.output("open", either(*builder.opens))
