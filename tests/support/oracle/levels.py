"""What a datapath of levels gives, from the text of YAML files and docs/datapath_levels.md alone: fractions, and nothing of emu.

A second reading of that page, to be compared with the engines: slow, short, no width and no table anywhere. Not here: roundings that draw,
policies, flags, formats that are codebooks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import yaml

Facts = dict[str, Any]
LEVEL: Facts = {"take": {"every": 1}, "by": 1, "plus": "none", "align": None, "exponent": "zero", "cancelled_counts": "yes",
                "hold": "exact", "scale": "none"}  # fmt: skip
ALIGN: Facts = {"exponent": "nominal", "exponent_raise": 0, "floor": "none", "integer_bits": "derived", "beyond": "never",
                "running": "same"}  # fmt: skip
WHOLE: Facts = {"scale": "none", "products": {}, "subnormal": {}}


class Refused(Exception):
    """The row has no result, or the words are none that this file reads."""


class Value(NamedTuple):
    """A number and the exponent that it names. live: does it raise E.   negative: sign of a zero.   special: nan, +inf, -inf or nothing."""

    number: Fraction = Fraction(0)
    exp: int = 0
    live: bool = False
    negative: bool = False
    special: str = ""

    @property
    def minus(self) -> bool:
        """The sign."""
        return self.special == "-inf" or self.number < 0 or (not self.number and self.negative)


NAN, PLUS, MINUS = Value(special="nan"), Value(special="+inf"), Value(special="-inf")


def pow2(exp: int) -> Fraction:
    """2^exp."""
    return Fraction(1 << exp) if exp >= 0 else Fraction(1, 1 << -exp)


def leading(number: Fraction) -> int:
    """Exponent of the leading bit of a number that is not zero."""
    number = abs(number)
    exp = number.numerator.bit_length() - number.denominator.bit_length()
    return exp if pow2(exp) <= number else exp - 1


def read_files(folders: Iterable[Path]) -> dict[str, Facts]:
    """Return the facts of every format and rounding below some folders, by id and alias."""
    found: dict[str, Facts] = {}
    for path in (path for folder in folders for path in sorted(folder.rglob("*.yaml"))):
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
        if data.get("kind") in ("format", "rounding"):
            found |= dict.fromkeys([data["id"], *data.get("aliases", [])], data["facts"])
    return found


# Formats


def _listed(codes: Any) -> list[int]:
    return [] if isinstance(codes, str) else [int(code, 16) for code in codes]


def decode(fmt: Facts, code: int, flush: bool = False) -> Value:
    """Return what a code means. flush: a subnormal number is a zero of its sign."""
    kind = fmt["class"]
    if kind == "exponent":
        return NAN if code in _listed(fmt["nan"]) else Value(pow2(code - fmt["bias"]), code - fmt["bias"], True)
    if kind == "integer":
        top = code >> (fmt["bits"] - 1) and fmt["signed"] != "no"
        size = code & ((1 << (fmt["bits"] - 1)) - 1) if fmt["signed"] == "sign_magnitude" else code
        whole = (size - (1 << fmt["bits"]) if fmt["signed"] == "twos_complement" else -size) if top else size
        return Value(whole * pow2(fmt["unit_exp"]), fmt["unit_exp"], whole != 0, bool(top))
    assert kind == "float"
    frac, width = fmt["frac_bits"], fmt["exp_bits"] + fmt["frac_bits"]
    sign = fmt["signed"] == "yes" and bool(code >> width & 1)
    field, fraction = (code >> frac) & ((1 << fmt["exp_bits"]) - 1), code & ((1 << frac) - 1)
    full = field == (1 << fmt["exp_bits"]) - 1
    if code in _listed(fmt["nan"]) or (fmt["nan"] == "ieee" and full and (fraction or fmt["inf"] != "ieee")):
        return NAN
    if code in _listed(fmt["inf"]) or (fmt["inf"] == "ieee" and full and not fraction):
        return MINUS if sign else PLUS
    small = field == 0 and fmt["subnormals"] == "yes"
    exp = (1 if small else field) - fmt["bias"]
    number = Fraction(0) if small and flush else (fraction + (not small) * (1 << frac)) * pow2(exp - frac)
    return Value(-number if sign else number, exp, number != 0, sign)


class Reach(NamedTuple):
    """Multiples of 2^unit that name exponents from low to high. largest: magnitude.   width: largest magnitude over 2^(its exponent)."""

    unit: int
    low: int
    high: int
    largest: Fraction
    width: Fraction


def reach(fmt: Facts) -> Reach:
    """Return how far the finite codes of a format go."""
    if fmt["class"] == "integer":
        bits = fmt["bits"] - (fmt["signed"] != "no")
        top = Fraction((1 << bits) - (fmt["signed"] != "twos_complement"))
        return Reach(fmt["unit_exp"], fmt["unit_exp"], fmt["unit_exp"], top * pow2(fmt["unit_exp"]), top)
    width = fmt["bits"] if fmt["class"] == "exponent" else fmt["exp_bits"] + fmt["frac_bits"]
    frac = fmt.get("frac_bits", 0)
    codes = range(1 << width) if width <= 8 else [0, 1, (1 << frac) - 1, 1 << frac, (2 << frac) - 1, *_last(fmt, width)]
    values = [value for value in (decode(fmt, code) for code in codes) if not value.special]
    low = min(value.exp for value in values)
    widest = max(value.number / pow2(value.exp) for value in values)
    return Reach(low - frac, low, max(value.exp for value in values), max(value.number for value in values), widest)


def _last(fmt: Facts, width: int) -> list[int]:
    code = (1 << width) - 1
    while decode(fmt, code).special:
        code -= 1 << fmt["frac_bits"] if fmt["nan"] == "ieee" and code >> fmt["frac_bits"] == (1 << fmt["exp_bits"]) - 1 else 1
    return [code]


def encode(fmt: Facts, number: Fraction, negative: bool) -> int:
    """Return the code of a number of a float format with a sign."""
    size, frac = abs(number), fmt["frac_bits"]
    exp = max(leading(size), 1 - fmt["bias"]) if size else 1 - fmt["bias"]
    units = size / pow2(exp - frac)
    assert units.denominator == 1
    code = int(units) if units < 1 << frac else ((exp + fmt["bias"] - 1) << frac) + int(units)
    return code | (int(negative) << (fmt["exp_bits"] + frac))


# Rounding


def to_unit(number: Fraction, unit: int, rule: Facts | None) -> Fraction:
    """Return a number rounded to a multiple of 2^unit."""
    units = abs(number) / pow2(unit)
    whole = units.numerator // units.denominator
    lost = units - whole
    if lost:
        if rule is None or rule["random"] != "none":
            raise Refused("nothing says how this is rounded")
        words = rule.get("magnitude") or rule["negative" if number < 0 else "positive"]
        word = words["less_than_half" if lost < Fraction(1, 2) else "half" if lost == Fraction(1, 2) else "more_than_half"]
        whole += {"keep": 0, "next": 1, "to_even_code": whole % 2, "to_odd_code": 1 - whole % 2}[word]
    return whole * pow2(unit) * (-1 if number < 0 else 1)


def goes_down(rule: Facts | None) -> bool:
    """Does a rounding go down on both sides of zero."""
    if not rule or "negative" not in rule:
        return False
    return bool(rule["negative"]["less_than_half"] == "next" and rule["positive"]["less_than_half"] == "keep")


def is_rz(rule: Facts) -> bool:
    """Does a rounding keep what lies below."""
    return all(rule.get(side, rule.get("magnitude"))[word] == "keep" for side in ("positive", "negative")
               for word in ("less_than_half", "half", "more_than_half"))  # fmt: skip


# A row


class Row:
    """One row of codes through the levels. scales: codes of A and of B, one for each block.   c: code or None."""

    def __init__(
        self, files: dict[str, Facts], facts: Facts, pair: tuple[str, str], codes: Sequence[Sequence[int]], c: int | None,
        scale: str | None = None, block: int = 0,
    ) -> None:  # fmt: skip
        self.files, self.facts, self.block = files, WHOLE | facts, block
        self.levels = [LEVEL | level for level in facts["levels"]]
        for level in self.levels:
            level["align"] = None if level["align"] is None else ALIGN | level["align"]
        self.products = {"hold": "exact", "scale": "none"} | self.facts["products"]
        self.special = {"nan_scale": "always", "zero": "plus"} | facts["special"]
        self.flush = {"elements": "keep", "scales": "keep", "c": "keep"} | self.facts["subnormal"]
        self.formats = [files[name] for name in pair]
        self.scale = None if scale is None else files[scale]
        self.a, self.b, *self.scales = codes
        self.c_code = c
        self.shape = self._shape(len(self.a))
        self.reaches = self._reaches()

    def rule(self, name: str | None) -> Facts | None:
        """The facts of a rounding."""
        return None if name is None else self.files[name]

    def code(self) -> int | str:
        """Return the code of the result, or "nan". Raises: Refused."""
        value = self.value()
        if value.special == "nan":
            return "nan"
        fmt = self.files[self.facts["out"]["format"]]
        if value.special:
            assert fmt["inf"] == "ieee"
            inf = ((1 << fmt["exp_bits"]) - 1) << fmt["frac_bits"]
            return inf | int(value.minus) << (fmt["exp_bits"] + fmt["frac_bits"])
        return encode(fmt, value.number, value.minus)

    def value(self) -> Value:
        """The result as a value."""
        out, last = self.facts["out"], len(self.levels)
        carried = any(level.get("start") == "c" for level in self.levels)
        decided = None
        if self.special["when"] == "once" and not carried:
            decided = self._decided(range(len(self.a)), [] if self.c_code is None else [self._c()])
        value = decided or self._node(last, 0)
        if decided is None and out.get("plus") == "c":
            value = self._exact([value, self._c()], "zero", out)
        return self._hold(value, out, None)

    # Operands

    def _c(self) -> Value:
        assert self.c_code is not None
        return decode(self.files[self.facts["c"]], self.c_code, self.flush["c"] == "flush")

    def _element(self, side: int, product: int) -> Value:
        return decode(self.formats[side], (self.a, self.b)[side][product], self.flush["elements"] == "flush")

    def _scale_of(self, side: int, product: int) -> Value:
        assert self.scale is not None
        return decode(self.scale, self.scales[side][product // self.block], self.flush["scales"] == "flush")

    def _decided(self, products: Iterable[int], running: list[Value]) -> Value | None:
        """What NaN and infinite operands make of an addition before anything is added."""
        found = list(running)
        for product in products:
            factors = [self._element(side, product) for side in (0, 1)]
            empty = any(not item.special and not item.number for item in factors)
            if self.scale is not None:
                scales = [self._scale_of(side, product) for side in (0, 1)]
                if not (NAN in scales and NAN not in factors and empty and self.special["nan_scale"] == "live"):
                    factors += scales
            total = factors[0]
            for item in factors[1:]:
                total = times(total, item)
            found.append(total)
        return specials(found)

    # Levels

    def _shape(self, k: int) -> list[list[range]]:
        out: list[list[range]] = []
        count, wide = k, 1
        for level in self.levels:
            every = level["take"]["every"]
            of = count // every if level["of"] == "all" else self.block // wide if level["of"] == "block" else level["of"]
            if of < 1 or count % (of * every):
                raise Refused("levels do not cover K")
            out.append([range(g * of * every + r, (g + 1) * of * every, every) for g in range(count // (of * every)) for r in range(every)])
            count, wide = count // of, wide * of
        return out

    def _below(self, level: int, node: int) -> list[int]:
        """The products below a node."""
        return [node] if not level else [leaf for child in self.shape[level - 1][node] for leaf in self._below(level - 1, child)]

    def _node(self, number: int, node: int) -> Value:
        if not number:
            value = self._hold(times(self._element(0, node), self._element(1, node)), self.products["hold"], self._product().unit)
            return self._scaled(value, self.products["scale"], node)
        level, children = self.levels[number - 1], self.shape[number - 1][node]
        unit = self.reaches[number][0].unit
        if level["add"] == "chain":
            value = self._chain(number, level, children, unit)
        else:
            row = [self._node(number - 1, child) for child in children]
            if level["add"] == "pairwise":
                if len(row) == 1:
                    row = [self._hold(self._exact(row, level["exponent"], level["hold"]), level["hold"], unit)]
                while len(row) > 1:
                    row = [self._add(number, level, row[i : i + 2], None, unit) if len(row[i : i + 2]) == 2 else row[i]
                           for i in range(0, len(row), 2)]  # fmt: skip
                value = row[0]
            else:
                value = self._add(number, level, row, self._c() if level["plus"] == "c" else None, unit)
        return self._scaled(value, level["scale"], self._below(number, node)[0])

    def _chain(self, number: int, level: Facts, children: range, unit: int) -> Value:
        hold, starts, register = level["hold"], level["start"], None
        if isinstance(hold, dict) and "format" in hold:
            register = self.files[hold["format"]]
        running = None if starts == "first" else Value() if starts == "zero" else self._c()
        if starts == "zero" and register is not None:
            running = decode(register, 0)
        if starts == "c" and (register is None or register != self.files[self.facts["c"]]):
            assert running is not None
            running = self._hold(running, hold, unit)
        for first in range(0, len(children), level["by"]):
            lot = children[first : first + level["by"]]
            decided = None
            if starts == "c":
                assert running is not None
                if self.flush["c"] == "flush" and register is not None and not running.special:
                    small = abs(running.number) < pow2(reach(register).low)
                    running = Value(Fraction(0), running.exp, False, running.minus) if small else running
                if self.special["when"] == "once":
                    decided = self._decided([leaf for child in lot for leaf in self._below(number - 1, child)], [running])
            running = decided or self._add(number, level, [self._node(number - 1, child) for child in lot], running, unit)
        assert running is not None
        return running

    def _add(self, number: int, level: Facts, terms: list[Value], running: Value | None, unit: int) -> Value:
        """One addition, held."""
        every = terms + ([] if running is None else [running])
        if level["align"] is None or specials(every) is not None:
            total = self._exact(every, "zero" if level["add"] == "chain" else level["exponent"], level["hold"])
        else:
            total = self._aligned(number, level["align"], terms, running)
            total = total._replace(negative=self._zero(every, level["hold"]))
        if level["cancelled_counts"] == "no" and not total.number:
            total = total._replace(live=False)
        return self._hold(total, level["hold"], unit)

    def _exact(self, every: list[Value], exponent: str, hold: Any) -> Value:
        found = specials(every)
        if found is not None:
            return found
        live = [value.exp for value in every if value.live]
        exp = max(live, default=0) if exponent == "largest" else 0
        return Value(sum((value.number for value in every), Fraction(0)), exp, bool(live), self._zero(every, hold))

    def _zero(self, every: list[Value], hold: Any) -> bool:
        """The sign of a sum that is zero."""
        if not isinstance(hold, dict) or "format" not in hold:
            return False
        if not any(value.number for value in every) and len({value.minus for value in every}) == 1:
            return every[0].minus
        return goes_down(self.rule(hold.get("rounding")))

    def _aligned(self, number: int, words: Facts, terms: list[Value], running: Value | None) -> Value:
        frac, bits, floor = self.reaches[number][1:]
        named = []
        for term in terms:
            exp = leading(term.number) if words["exponent"] == "normalised" and term.number else term.exp
            named.append(term._replace(exp=exp + words["exponent_raise"]))
        live = [value.exp for value in (*named, *([] if running is None else [running])) if value.live]
        exp = max([*live, *([] if floor is None else [floor])], default=0)
        cut = self.rule(words["cut"])
        total = sum((to_unit(term.number, exp - frac, cut) for term in named), Fraction(0))
        if running is not None:
            own, kept = words["running"], running.number
            if own != "same":
                drop = own.get("drop_below")
                kept = Fraction(0) if drop is not None and running.exp < exp - drop else kept
                kept = to_unit(kept, exp - own["fraction_bits"], self.rule(own["cut"]))
            total += to_unit(kept, exp - frac, cut)
        if words["beyond"] == "wrap":
            half = pow2(bits + exp)
            total = (total + half) % (2 * half) - half
        return Value(total, exp, bool(live))

    def _scaled(self, value: Value, words: Any, product: int) -> Value:
        if words == "none":
            return value
        scales = [self._scale_of(side, product) for side in (0, 1)]
        if NAN in scales and not value.special and not value.live and self.special["nan_scale"] == "live":
            return value
        held = [self._hold(scale, words.get("each", "exact"), None) for scale in scales]
        both = self._hold(times(*held), words.get("product", "exact"), None)
        return self._hold(times(value, both), words.get("term", "exact"), None)

    def _hold(self, value: Value, hold: Any, unit: int | None) -> Value:
        """A value as a register holds it. unit: of a register in fixed point whose unit is derived."""
        if hold == "exact" or value.special:
            return value
        rule = self.rule(hold.get("rounding"))
        if "format" in hold:
            return self._float(value, hold, self.files[hold["format"]], rule)
        if "bits" in hold:
            step = hold["unit_exp"] if hold["unit_exp"] != "derived" else unit
            number, end = to_unit(value.number, step, rule), pow2(step + hold["bits"] - 1)
            low = -end + pow2(step) if hold["overflow"] == "saturate_symmetric" else -end
            if not low <= number < end:
                if hold["overflow"] == "error":
                    raise Refused("a register overflows")
                if hold["overflow"] == "sticky_inf":
                    return MINUS if number < 0 else PLUS
                number = (number + end) % (2 * end) - end if hold["overflow"] == "wrap" else low if number < 0 else end - pow2(step)
            return Value(number, 0, number != 0)
        if not value.number:
            return value
        step = value.exp - hold["fraction_bits"] if "fraction_bits" in hold else leading(value.number) - hold["significant_bits"] + 1
        return value._replace(number=to_unit(value.number, step, rule), negative=value.minus)

    def _float(self, value: Value, hold: Facts, fmt: Facts, rule: Facts | None) -> Value:
        if "policy" in hold:
            raise Refused("policies are not read here")
        negative, number, limits = value.minus, value.number, reach(fmt)
        if number:
            keep = fmt["frac_bits"] if hold.get("keep") is None else hold["keep"]
            number = to_unit(number, max(leading(number), limits.low) - keep, rule)
            if abs(number) > limits.largest:
                stays = rule is not None and rule["beyond_max"]["negative" if negative else "positive"] == "max"
                overflow = hold.get("overflow", "inf")
                if overflow == "inf" or (overflow == "ieee" and not stays):
                    return MINUS if negative else PLUS
                number = -limits.largest if negative else limits.largest
        if hold.get("subnormals") == "flush" and abs(number) < pow2(limits.low):
            number = Fraction(0)
        exp = max(leading(number), limits.low) if number else limits.low
        return Value(number, exp, number != 0, negative and not (not number and self.special["zero"] == "plus"))

    # What is derived: how far the values of each level reach; units, F, I and floors

    def _product(self) -> Reach:
        return product_of(*(reach(fmt) for fmt in self.formats))

    def _reaches(self) -> list[tuple[Reach, int, int, int | None]]:
        """For each level what comes to its register, F, I and the floor; of products first."""
        values, found = self._product(), []
        found.append((values, 0, 0, None))
        values = self._scaled_reach(self._held_reach(values, self.products["hold"]), self.products["scale"])
        counts = [len(nodes[0]) for nodes in self._shape(self.facts["k"])]
        for level, count in zip(self.levels, counts, strict=True):
            c = reach(self.files[self.facts["c"]]) if level.get("start") == "c" or level["plus"] == "c" else None
            register = self.files[level["hold"]["format"]] if isinstance(level["hold"], dict) and "format" in level["hold"] else None
            chain, words = level["add"] == "chain", level["align"]
            own = reach(register) if chain and register is not None else c
            terms = level["by"] if chain else 2 if level["add"] == "pairwise" else count
            frac = bits = 0
            floor = None
            if words is not None:
                raised = words["exponent_raise"]
                frac = values.high + raised - values.unit if words["fraction_bits"] == "derived" else words["fraction_bits"]
                width = Fraction(2) if words["exponent"] == "normalised" else values.width
                total = terms * width / pow2(raised) + (0 if is_rz(self.files[words["cut"]]) else terms * pow2(-frac))
                if own is None or (register is None and self.files[self.facts["c"]]["class"] == "integer"):
                    more = own is not None and not (is_rz(self.files[words["cut"]]) and (
                        words["running"] == "same" or is_rz(self.files[words["running"]["cut"]])))  # fmt: skip
                    needed = int(total + (0 if own is None else own.width) + more).bit_length()
                else:  # C is below 2^(E + 1)
                    needed = (-int(-(total + 2) // 1) - 1).bit_length()
                bits = words["integer_bits"] if isinstance(words["integer_bits"], int) else needed
                floor = words["floor"] if isinstance(words["floor"], int) else None
                if words["floor"] == "derived":
                    assert register is not None
                    floor = reach(register).low - bits
                parts = [values, *([] if own is None else [own])]
                unit = min(part.unit for part in parts)
                low = max(min(part.low for part in parts), -(1 << 20) if floor is None else floor)
                if words["exponent"] == "nominal":
                    unit = max(unit, low - frac)
                high = max(part.high for part in parts) + max(raised, 0)
                largest = terms * values.largest + (0 if own is None else own.largest) + (terms + 1) * pow2(high - frac)
                sums = Reach(unit, low, high, largest, terms * max(values.width, Fraction(2)) + (terms + 1) * pow2(-frac) + 2)
            else:
                parts = [values, *([] if own is None else [own])]
                many = (1 << 64) if level["of"] == "all" else count
                many = terms if register is not None and level["add"] in ("chain", "pairwise") else many
                parts += [reach(register)] if register is not None and level["add"] == "pairwise" else []
                largest = many * values.largest + sum((part.largest for part in parts[1:]), Fraction(0))
                sums = Reach(min(part.unit for part in parts), 0, 0, largest, largest)
                if level["exponent"] == "largest" and not chain:
                    width = many * values.width + sum((part.width for part in parts[1:]), Fraction(0))
                    sums = Reach(sums.unit, min(part.low for part in parts), max(part.high for part in parts), largest, width)
            found.append((sums, frac, bits, floor))
            values = self._scaled_reach(self._held_reach(sums, level["hold"]), level["scale"])
        return found

    def _held_reach(self, values: Reach, hold: Any) -> Reach:
        if hold == "exact":
            return values
        if "format" in hold:
            return reach(self.files[hold["format"]])
        if "bits" in hold:
            unit = values.unit if hold["unit_exp"] == "derived" else hold["unit_exp"]
            top = pow2(hold["bits"] - 1 + unit)
            if unit <= values.unit and values.largest <= top - pow2(unit):
                return Reach(values.unit, 0, 0, values.largest, values.largest)
            return Reach(unit, 0, 0, top, top)
        if "significant_bits" in hold:
            return values._replace(largest=2 * values.largest, width=2 * values.width)
        unit = max(values.unit, values.low - hold["fraction_bits"])
        more = pow2(-hold["fraction_bits"])
        return values._replace(unit=unit, largest=values.largest + pow2(values.high) * more, width=values.width + more)

    def _scaled_reach(self, values: Reach, words: Any) -> Reach:
        if words == "none":
            return values
        assert self.scale is not None
        one = reach(self.scale)
        one = one._replace(width=max(reach(self.files[name]).width for name in self.facts["scale"]["formats"]))
        one = self._held_reach(one, words.get("each", "exact"))
        both = self._held_reach(product_of(one, one), words.get("product", "exact"))
        return self._held_reach(product_of(values, both), words.get("term", "exact"))


def product_of(x: Reach, y: Reach) -> Reach:
    """Return how far products go."""
    return Reach(x.unit + y.unit, x.low + y.low, x.high + y.high, x.largest * y.largest, x.width * y.width)


def times(x: Value, y: Value) -> Value:
    """Return the exact product; infinity times zero is NaN."""
    if not x.special and not y.special:
        return Value(x.number * y.number, x.exp + y.exp, x.live and y.live, x.minus != y.minus)
    if "nan" in (x.special, y.special) or any(not item.special and not item.number for item in (x, y)):
        return NAN
    return MINUS if x.minus != y.minus else PLUS


def specials(values: Iterable[Value]) -> Value | None:
    """Return what NaN and infinities make of a sum; None: every value is a number."""
    found = {value.special for value in values} - {""}
    if not found:
        return None
    return NAN if "nan" in found or len(found) == 2 else Value(special=found.pop())
