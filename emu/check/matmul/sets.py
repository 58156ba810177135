"""Operands whose product is the same in every order: each partial sum, in any order, tree or split, is a number the accumulator holds.

Each set is proven before it is used (prove): all terms of an output are integers in one unit u, their magnitudes sum to less than 2^p u
with p the bits of the accumulator, and u is not below 2^(E - p + 1) with E the largest nominal exponent of a term, so that machines which
align terms lose nothing. Then every sum of some of the terms is an integer below 2^p in that unit. Where a set cannot be had, the next
poorer one is tried, and what was left out is said.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from emu.base.errors import OperandError
from emu.check.matmul.groups import Groups
from emu.check.matmul.numbers import Bits, Draws, Exact, Ints, bit_length, exact_of, in_units, product
from emu.check.matmul.pair import Pair, Side, scale_codes
from emu.contracts.form import integer_dtype
from emu.spec import derive, get
from emu.spec.models import Format
from emu.spec.models.format import FloatFacts

SHORT: Final = 4  # bits of a significand with which many products can be added
CENTRES: Final = (0, 50, -50, 100, -100)  # exponents about which the windows of scales lie, where a format reaches so far
REACH: Final = 26
LADDER: Final = (
    *((wide, 4, 1) for wide in (12, 11, 10, 9, 8, 7, 6, 5, 4)), (4, 3, 1), (4, 2, 1), (4, 1, 1), (2, 1, 1), (1, 1, 1),
    *((bits, 1, period) for period in (2, 4, 8, 16, 32, 64, 128, 256, 512) for bits in (4, 1)),
)  # fmt: skip


@dataclass(frozen=True)
class Limits:
    """What a machine holds without rounding.

    bits: significand of the accumulator.   least, most: exponents of its smallest and largest normal numbers.
    operand_bits, operand_least, operand_most: the same of dequantized operands, which a kernel may hold in a narrower format.
    """

    bits: int = 24
    least: int = -126
    most: int = 127
    operand_bits: int = 24
    operand_least: int = -126
    operand_most: int = 127


class Proven(NamedTuple):
    """sums, magnitudes: [M, N] integers.   unit: [M, N] exponents."""

    sums: Ints
    magnitudes: Ints
    unit: Ints


@dataclass(frozen=True, eq=False)
class Operands:
    """Codes of a product [M, K] x [N, K], and what it is exactly.

    name: of the set.   sums x 2^unit: the product [M, N] before tensor scales.   room: how far C may reach, in units.
    full: outputs that an accumulator of one bit less cannot hold.   wide: short words on what the set was built with.
    groups: several products at once: which row of a meets which rows of b; sums, unit and room are then those of the outputs, [T, N].
    """

    name: str
    a: Bits
    sa: Bits | None
    b: Bits
    sb: Bits | None
    sums: Ints
    unit: Ints
    room: Ints
    full: int
    wide: str
    groups: Groups | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """M, N, K; of several products E, M, N, K as it was asked for."""
        return (len(self.a), len(self.b), self.a.shape[1]) if self.groups is None else self.groups.shape


def limits_of(accumulate: str | int, operands: str, reduce: str) -> Limits:
    """Return the limits of declared words. Raises: OperandError (an unknown word)."""
    bits, least, most = 24, -126, 127
    for name in (accumulate, reduce):
        if isinstance(name, int) or name.isdigit():
            if not 4 <= int(name) <= 24:
                raise OperandError(f"accumulator of {name} bits: from 4 to 24 can be judged")
            bits = min(bits, int(name))
            continue
        if name not in ("fp32", "fp16", "bf16"):
            raise OperandError(f"accumulator {name!r} is unknown: fp32, fp16, bf16, or its significand bits as a number from 4 to 24")
        found = _range(get("format", name))
        bits, least, most = min(bits, found[0]), max(least, found[1]), min(most, found[2])
    table = {"exact": (24, -126, 127), "tf32": (11, -126, 127), "fp8": _range(get("format", "e4m3"))}
    table |= {name: _range(get("format", name)) for name in ("bf16", "fp16")}
    if operands not in table:
        raise OperandError(f"operands {operands!r} is unknown: one of {', '.join(table)}")
    return Limits(bits, least, most, *table[operands])


def _range(fmt: Format) -> tuple[int, int, int]:
    facts = fmt.facts
    assert isinstance(facts, FloatFacts)
    top = (derive.codes(fmt).max_code >> facts.frac_bits) - facts.bias
    return facts.frac_bits + 1, 1 - facts.bias, top


def prove(a: Exact, b: Exact, limits: Limits) -> Proven:
    """Return the exact product of operands whose partial sums are exact in every order. Raises: OperandError that says what fails."""
    (x, unit_x), (y, unit_y) = in_units(a), in_units(b)
    if int(product(np.abs(x[:4]), np.abs(y[:4])).max(initial=0)) >> limits.bits:  # a few rows say most of the time what all would
        raise OperandError(f"magnitudes sum to more than 2^{limits.bits} units")
    magnitudes = product(np.abs(x), np.abs(y))
    if int(magnitudes.max(initial=0)) >> limits.bits:
        raise OperandError(f"magnitudes sum to more than 2^{limits.bits} units")
    unit = unit_x[:, None] + unit_y[None, :]
    live = magnitudes > 0
    check_operand_class(a, limits)
    check_operand_class(b, limits)
    if bool((live & (unit < limits.least)).any()) or bool((live & (unit + bit_length(magnitudes) - 1 >= limits.most)).any()):
        raise OperandError("sums leave the accumulator's normal range")
    # the window: a bound by rows first, then each pair of rows where the bound says nothing
    loose = _top(a)[:, None] + _top(b)[None, :]
    for i, j in np.argwhere(live & (loose - unit > limits.bits - 1)):
        both = (a.n[i] != 0) & (b.n[j] != 0)
        if int((a.nominal[i] + b.nominal[j])[both].max()) - int(unit[i, j]) > limits.bits - 1:
            raise OperandError("a term's nominal exponent lies too far above the unit")
    return Proven(product(x, y), magnitudes, unit)


def _top(side: Exact) -> Ints:
    return np.asarray(np.where(side.n == 0, -(1 << 20), side.nominal).max(axis=1, initial=-(1 << 20)), np.int64)


def check_operand_class(side: Exact, limits: Limits) -> None:
    """Refuse operands that their declared class does not hold as normal numbers. Raises: OperandError."""
    live, bits = side.n != 0, bit_length(side.n)
    top = np.where(live, side.e + bits - 1, 0)
    if int(bits.max(initial=0)) > limits.operand_bits or bool((live & ((top < limits.operand_least) | (top > limits.operand_most))).any()):
        raise OperandError("a dequantized operand does not fit its class")


class Palette(NamedTuple):
    """The codes of a side that may be used. short: elements that can be added.   scales, n, e, top: codes, n x 2^e, leading exponents."""

    short: Bits
    every: Bits
    scales: Bits
    n: Ints
    e: Ints
    top: Ints


def palette(side: Side, limits: Limits) -> Palette:
    """Return the codes that a class of operands allows. Raises: OperandError (none)."""
    codes = np.array(derive.finite_codes(side.element))
    value = exact_of(codes, side.element)
    every, bits = codes, bit_length(value.n)
    short = codes[(bits <= SHORT) & ((value.e >= -SHORT) | (value.n == 0))] if int(bits.max()) > SHORT else codes
    if side.scale is None:
        none = np.zeros(0, np.int64)
        return Palette(short, every, none, none, none, none)
    scales = scale_codes(side.scale)
    scale = exact_of(scales, side.scale)
    element = exact_of(short, side.element)
    live = element.n != 0
    n = element.n[live][None, :] * scale.n[:, None]
    high = bit_length(n) - 1 + element.e[live][None, :] + scale.e[:, None]
    fits = (bit_length(n) <= limits.operand_bits) & (high >= limits.operand_least) & (high <= limits.operand_most)
    kept = fits.all(axis=1)
    if not kept.any():
        raise OperandError(f"{side.known.id}: no scale code times every element fits {limits.operand_bits} bits: declare other operands")
    return Palette(short, every, scales[kept], scale.n[kept], scale.e[kept], (scale.e + bit_length(scale.n) - 1)[kept])


class Window(NamedTuple):
    """Scale codes of numbers that are integers in one unit. e: the least of their exponents."""

    scales: Bits
    e: int


def windows(colours: Palette, bits: int, centre: int) -> list[Window]:
    """Return windows of scale codes, each of numbers below 2^bits units; together all that lie about a centre."""
    if not len(colours.scales):
        return []
    stride = max(1, bits - SHORT + 1)
    lows = range(max(int(colours.e.min()), centre - REACH), min(int(colours.top.max()), centre + REACH) + 1, stride)
    found = ((colours.e >= low) & (colours.top < low + bits) for low in lows)
    return [Window(colours.scales[inside], int(colours.e[inside].min())) for inside in found if inside.any()]


def _scales(side: Side, found: list[Bits], draws: Draws, rows: int, blocks: int) -> Bits | None:
    """Return [rows, blocks] scale codes: row after row a window, block after block its codes in turn; rows of a tile alike.

    Raises: OperandError (a window without a code).
    """
    if side.scale is None:
        return None
    if not all(len(window) for window in found):
        raise OperandError(f"{side.known.id}: no scale is short enough for these sums")
    tiles = -(-rows // side.rows)
    drawn = draws.below(1 << 16, tiles + 1)
    row = np.arange(tiles)
    first = drawn[1:] + row // len(found) * blocks
    out = np.empty((tiles, blocks), integer_dtype(side.scale))
    for number, window in enumerate(found):
        mine = (drawn[0] + row) % len(found) == number
        out[mine] = window[(np.arange(blocks)[None, :] + first[mine, None]) % len(window)]
    return np.repeat(out, side.rows, axis=0)[:rows]


def _blocks(side: Side, k: int) -> int:
    return k // side.size if side.size else 0


def summed(pair: Pair, shape: tuple[int, int, int], limits: Limits, wide: str, turn: int, draws: Draws) -> Operands:
    """Return signed operands of every element code, scales of one side in windows, of the other in one narrow window; blocks of zeros.

    wide: a or b, whose scales go through the windows.   turn: which centre.   Raises: OperandError (no such set for the pair and shape).
    """
    m, n, k = shape
    colours = {"a": palette(pair.a, limits), "b": palette(pair.b, limits)}
    sides = {"a": pair.a, "b": pair.b}
    other = "b" if wide == "a" else "a"
    fitting = [centre for centre in CENTRES if windows(colours[wide], SHORT, centre)] if sides[wide].scale else [0]
    centre = fitting[turn % len(fitting)] if fitting else 0
    failed = OperandError("nothing was tried")
    for bits, narrow, period in LADDER:
        codes, scales = {}, {}
        for name, rows in (("a", m), ("b", n)):
            table = windows(colours[name], bits if name == wide else narrow, centre if name == wide else -centre)
            if sides[name].scale is not None and name == wide:
                table = _in_range(table, pair, colours, wide, -centre, limits)
            if name == other and table:
                table = [min(table, key=lambda window, middle=1 - SHORT - centre: (abs(window.e - middle), -len(window.scales)))]  # type: ignore[misc]
            if sides[name].scale is not None and not table:
                break
            scales[name] = _scales(sides[name], [window.scales for window in table], draws, rows, _blocks(sides[name], k))
            codes[name] = draws.chosen(colours[name].short, rows, k).astype(np.uint8)
            if name == "a" and period > 1:
                live = (np.arange(k)[None, :] + np.arange(rows)[:, None] + int(draws.below(period, 1)[0])) % period == 0
                codes[name] = np.where(live, codes[name], sides[name].zero).astype(np.uint8)
            _empty(codes[name], sides[name], draws)
        else:
            try:
                proven = prove(pair.a.values(codes["a"], scales["a"]), pair.b.values(codes["b"], scales["b"]), limits)
            except OperandError as error:
                failed = error
                continue
            said = f"scales of {wide} in windows of {bits} bits" if sides[wide].scale else "no scales"
            said += f", 1 of {period} elements of a live" if period > 1 else ""
            return operands_of(f"signed, windows of {wide}", codes, scales, proven, limits, said)
    raise OperandError(f"no signed set for M, N, K = {m}, {n}, {k} and {limits.bits} bits: {failed}")


def _in_range(found: list[Window], pair: Pair, colours: dict[str, Palette], wide: str, centre: int, limits: Limits) -> list[Window]:
    """Return the windows under which units and sums stay in the accumulator's normal range, the other side's scales about a centre."""
    other = colours["b" if wide == "a" else "a"]
    base = min(other.e.tolist(), key=lambda e: abs(e - centre + SHORT - 1)) if len(other.e) else 0
    units = [int(exact_of(colours[name].short, side.element).e.min()) for name, side in (("a", pair.a), ("b", pair.b))]
    rest = base + sum(units)
    return [window for window in found if limits.least <= window.e + rest <= limits.most - limits.bits]


def _empty(codes: Bits, side: Side, draws: Draws) -> None:
    """Make about one block of nine zero, where a row has several."""
    size = side.size or 16
    if codes.shape[1] >= 3 * size:
        gone = draws.below(9, len(codes), -(-codes.shape[1] // size)) == 0
        codes[np.repeat(gone, size, axis=1)[:, : codes.shape[1]]] = side.zero


def operands_of(name: str, codes: dict[str, Bits], scales: dict[str, Bits | None], proven: Proven, limits: Limits, wide: str) -> Operands:
    """Return a proven set as operands. wide: what it was built with."""
    top = 1 << limits.bits
    full = int(((np.abs(proven.sums) >= top >> 1) & (proven.sums & 1 == 1)).sum())
    room = top - 1 - proven.magnitudes
    return Operands(name, codes["a"], scales["a"], codes["b"], scales["b"], proven.sums, proven.unit, room, full, wide)


def filled(pair: Pair, shape: tuple[int, int, int], limits: Limits, bulk: str, draws: Draws) -> Operands:
    """Return operands of one sign whose sums are odd and need all bits of the accumulator: one bit less cannot hold the result.

    bulk: a or b, the side with large scales. Each of its rows is odd in one place alone, the other side is odd everywhere.
    Raises: OperandError (the pair and shape reach no such sum).
    """
    m, n, k = shape
    sides = {"a": pair.a, "b": pair.b}
    rows = {"a": m, "b": n}
    odd = "b" if bulk == "a" else "a"
    codes: dict[str, Bits] = {}
    scales: dict[str, Bits | None] = {}
    parts = _parities(sides[bulk], limits)
    codes[odd] = draws.chosen(_parities(sides[odd], limits)[0], rows[odd], k).astype(np.uint8)
    colours = {name: palette(sides[name], limits) for name in "ab"}
    scales[odd] = None
    if sides[odd].scale is not None:
        middle = _lowest(colours[odd], -3 if limits.bits > 16 else 0)
        table = colours[odd].scales[(colours[odd].e == middle) & (colours[odd].n < 1 << limits.bits // 5)]
        scales[odd] = _scales(sides[odd], [table], draws, rows[odd], _blocks(sides[odd], k))
    side, mine = sides[bulk], colours[bulk]
    place = (np.arange(rows[bulk]) * 7 + int(draws.below(k, 1)[0])) % k
    base = draws.chosen(parts[1], rows[bulk], k).astype(np.uint8)
    base[np.arange(rows[bulk]), place] = draws.chosen(parts[0], rows[bulk])
    keep = draws.below(1 << 16, rows[bulk], k)
    keep[np.arange(rows[bulk]), place] = -1
    low = _lowest(mine, max(int(mine.e.min()) + 1, limits.least // 6)) if side.scale is not None else 0
    first = draws.below(1 << 16, -(-rows[bulk] // side.rows), max(_blocks(side, k), 1))
    best: Operands | None = None
    shift = 0
    for _ in range(5):
        shift += 1
        if side.scale is not None:
            scales[bulk] = _lifted(side, mine, low, shift, first, place, rows[bulk])
            if scales[bulk] is None:
                break
        else:
            scales[bulk] = None
        share = 1 << 16
        most = _most(pair, codes | {bulk: base}, scales)
        if side.scale is not None and 0 < most < 1 << limits.bits - 1:  # not there yet: every power of two doubles what is large
            shift += limits.bits - 1 - most.bit_length()
            lifted = _lifted(side, mine, low, shift, first, place, rows[bulk])
            scales[bulk] = scales[bulk] if lifted is None else lifted
        for _ in range(6):
            codes[bulk] = np.where(keep < share, base, side.zero).astype(np.uint8)
            try:
                proven = prove(pair.a.values(codes["a"], scales["a"]), pair.b.values(codes["b"], scales["b"]), limits)
            except OperandError:
                most = _most(pair, codes, scales)
                share = share * 15 * (1 << limits.bits) // (16 * most) if most >> limits.bits else 0
                if not share:
                    break
                continue
            found = operands_of("full range", dict(codes), dict(scales), proven, limits, f"sums of one sign up to 2^{limits.bits}, odd")
            if best is None or found.full > best.full:
                best = found
            break
        if best is not None and 10 * best.full >= 9 * m * n:
            break
    if best is None or not best.full:
        raise OperandError(f"no sum of M, N, K = {m}, {n}, {k} reaches {limits.bits} bits")
    return best


def _most(pair: Pair, codes: dict[str, Bits], scales: dict[str, Bits | None]) -> int:
    """Return the largest sum of magnitudes in units; 0 where the integers are too long."""
    try:
        whole = [in_units(side.values(codes[name], scales[name]))[0] for name, side in (("a", pair.a), ("b", pair.b))]
        return int(product(np.abs(whole[0]), np.abs(whole[1])).max())
    except OperandError:
        return 0


def _parities(side: Side, limits: Limits) -> tuple[Bits, Bits]:
    """Return the positive element codes that are odd, and those that are even and not zero (or zero), in the unit of the short codes."""
    short = palette(side, limits).short
    value = exact_of(short, side.element)
    live = value.n > 0
    unit = int(value.e[live].min())
    whole = value.n[live] << (value.e[live] - unit)
    even = short[live][whole % 2 == 0]
    return short[live][whole % 2 == 1], even if len(even) else short[value.n == 0][:1]


def _lowest(colours: Palette, wanted: int) -> int:
    """Return the exponent of a last bit nearest to a wanted one under which some scale is odd."""
    return int(min(np.unique(colours.e), key=lambda e: (abs(int(e) - wanted), int(e))))


def _lifted(side: Side, mine: Palette, low: int, shift: int, first: Ints, place: Ints, rows: int) -> Bits | None:
    """Return scales: odd in the unit 2^low where the odd element lies, `shift` powers of two larger elsewhere. None beyond the format."""
    assert side.scale is not None
    odd = mine.scales[mine.e == low]
    high = mine.scales[(mine.e > low) & (mine.top >= low + shift) & (mine.top <= low + shift + 2)]
    if not len(high) or not len(odd):
        return None
    out = np.repeat(high[first % len(high)], side.rows, axis=0)[:rows].astype(integer_dtype(side.scale))
    where = place // side.size
    for row in range(rows):  # the rows of a tile share a scale: the odd places of all of them
        same = slice(row // side.rows * side.rows, (row // side.rows + 1) * side.rows)
        out[same, where[row]] = odd[int(first[row // side.rows, where[row]]) % len(odd)]
    return out


def one_hot(pair: Pair, shape: tuple[int, int, int], limits: Limits, hot: str, draws: Draws, long: bool = False) -> Operands:
    """Return operands of which one side has one element a row, row after row along K: an output is one product, so any code and scale fits.

    shape: M, N, K.
    hot: a or b.   long: its scales have long significands, and everything else is a power of two.
    Raises: OperandError (no product fits the accumulator).
    """
    sides = {"a": pair.a, "b": pair.b}
    dense = "b" if hot == "a" else "a"
    colours = {name: palette(sides[name], limits) for name in "ab"}
    failed = OperandError("nothing was tried")
    ladder = (
        ("every", "every", "every", "every"), ("every", "every", "every", "single"), ("every", "single", "single", "single"),
        ("single", "single", "single", "single"),
    )  # fmt: skip
    for hot_codes, hot_scales, dense_codes, dense_scales in (("single", "long", "single", "single"),) if long else ladder:
        m, n, k = shape
        counts = {"a": m, "b": n}
        wanted = {hot: (hot_codes, hot_scales, counts[hot]), dense: (dense_codes, dense_scales, counts[dense])}
        codes, scales = {}, {}
        for name, (elements, kind, count) in wanted.items():
            table = _nonzero(colours[name].every, sides[name].element, elements)
            if not len(table):
                break
            scales[name] = _any_scales(sides[name], colours[name], kind, count, k, min(-limits.least, limits.most) // 2 - 4, draws)
            if name == hot:
                codes[name] = np.full((count, k), sides[name].zero, np.uint8)
                at = np.arange(count)
                codes[name][at, at % k] = table[(at + int(draws.below(len(table), 1)[0])) % len(table)]
            else:
                codes[name] = draws.chosen(table, count, k).astype(np.uint8)
        else:
            try:
                sums, unit = singles(pair.a.values(codes["a"], scales["a"]), pair.b.values(codes["b"], scales["b"]), hot, limits)
            except OperandError as error:
                failed = error
                continue
            room = (1 << limits.bits) - 1 - np.abs(sums)
            said = f"element codes {hot_codes} and {dense_codes}, scales {hot_scales} and {dense_scales}"
            operands = codes["a"], scales["a"], codes["b"], scales["b"]
            return Operands(f"one-hot rows of {hot}", *operands, sums, unit, room, 0, said.replace("every", "all"))
    raise OperandError(f"no set of one-hot rows for {limits.bits} bits: {failed}")


def _nonzero(codes: Bits, fmt: Format, kind: str) -> Bits:
    """Return codes that are not zero; single: powers of two alone, normal numbers where the format has such."""
    value = exact_of(codes, fmt)
    if kind == "every":
        return np.asarray(codes[value.n != 0])
    power = np.abs(value.n) == 1
    normal = power & (value.nominal == value.e)
    return np.asarray(codes[normal if normal.any() else power])


def _any_scales(side: Side, colours: Palette, kind: str, rows: int, k: int, reach: int, draws: Draws) -> Bits | None:
    """Return scales without a window. kind: every code in turn, single (powers of two), long (significands of 16 bits in 24)."""
    if side.scale is None:
        return None
    tiles, blocks = -(-rows // side.rows), _blocks(side, k)
    table = _nonzero(colours.scales[np.abs(colours.top) <= reach], side.scale, "single" if kind == "single" else "every")
    at = np.arange(tiles * blocks).reshape(tiles, blocks) * 5 + int(draws.below(len(table), 1)[0])
    found = table[at % len(table)]
    facts = side.scale.facts
    if kind == "long" and isinstance(facts, FloatFacts):
        spare = 2 * SHORT  # subnormal elements are aligned as if they were larger: their nominal exponents need bits too
        found = found + (draws.below(1 << (facts.frac_bits - 3 - spare), tiles, blocks) << spare)
    return np.repeat(found, side.rows, axis=0)[:rows].astype(integer_dtype(side.scale))


def singles(a: Exact, b: Exact, hot: str, limits: Limits) -> tuple[Ints, Ints]:
    """Return the outputs of one-hot operands as n x 2^e. Raises: OperandError (a product that an accumulator or operand does not hold)."""
    check_operand_class(a, limits)
    check_operand_class(b, limits)
    one, other = (a, b) if hot == "a" else (b, a)
    if int((one.n != 0).sum(axis=1).max()) > 1:
        raise OperandError("a row has more than one element")
    at = np.argmax(one.n != 0, axis=1)
    rows = np.arange(len(at))
    n = one.n[rows, at][:, None] * other.n[:, at].T
    e = np.where(n == 0, 0, one.e[rows, at][:, None] + other.e[:, at].T)
    nominal = one.nominal[rows, at][:, None] + other.nominal[:, at].T
    live = n != 0
    if int(bit_length(n).max()) > limits.bits or bool((live & (nominal - e > limits.bits - 1)).any()):
        raise OperandError(f"a product has more than {limits.bits} bits")
    if bool((live & ((e < limits.least) | (e + bit_length(n) > limits.most))).any()):
        raise OperandError("a product leaves the accumulator's normal range")
    return (n, e) if hot == "a" else (n.T, e.T)
