"""Sets at the ends: every scale code against one of opposite size, and rows of so many blocks that an index of the block wraps.

They are proven as those of sets.py are. Not here: which of them a check asks (every_set).
"""

from __future__ import annotations

from itertools import product as pairs
from typing import Final, NamedTuple

import numpy as np

from emu.base.errors import OperandError
from emu.check.matmul.numbers import NARROW, Bits, Draws, Ints, bit_length, exact_of
from emu.check.matmul.pair import Pair, Side, scale_codes
from emu.check.matmul.sets import Limits, Operands, operands_of, palette, prove, singles, windows
from emu.contracts.form import integer_dtype
from emu.spec import derive
from emu.spec.models import Format
from emu.spec.models.format import FloatFacts

SPAN: Final = 16  # powers of two between a scale and the middle of its group, at most
COLUMNS: Final = 37  # more than the scale codes within SPAN of one of E8M0
LISTED: Final = 8  # bits of a scale format of which every code is asked
SOME: Final = 256  # codes of a wider one
WRAPS: Final = (128, 256, 512)  # multiples of the first: an index of the block that wraps there meets another scale
LONG: Final = 256  # blocks of a row beyond which a set of its own is asked


class Legal(NamedTuple):
    """Scale codes, small ones first, with the elements that may stand under each.

    low, high: exponents of the lowest and the highest bit of a value under the code.   fits: [codes, elements], not zero and in the class.
    """

    codes: Bits
    low: Ints
    high: Ints
    elements: Bits
    fits: Bits


def legal_scales(fmt: Format) -> Bits:
    """Return the scale codes that are no sign and no NaN, the zero among them: all of a narrow format, some of each size of a wide one."""
    bits = derive.codes(fmt).bits
    facts = fmt.facts
    if bits > NARROW and isinstance(facts, FloatFacts):
        fields = np.arange(1, (1 << facts.exp_bits) - 1)
        return np.asarray(fields << facts.frac_bits | fields % 8 << facts.frac_bits - 3)
    found = scale_codes(fmt)
    if bits > LISTED:
        found = found[np.unique(np.linspace(0, len(found) - 1, SOME).astype(int))]
    zero = np.arange(1 << min(derive.codes(fmt).magnitude_bits, LISTED))
    zero = zero[[derive.is_finite_code(int(code), fmt) for code in zero]]
    return np.concatenate([zero[exact_of(zero, fmt).n == 0][:1], found])


def legal(side: Side, limits: Limits, plain: bool) -> Legal:
    """Return what a side may hold. plain: powers of two alone, as elements.   Raises: OperandError (nothing)."""
    elements = palette(side, limits).every
    value = exact_of(elements, side.element)
    live = value.n != 0
    if plain:
        power = (np.abs(value.n) == 1) & (value.nominal == value.e)
        live = power if power.any() else np.abs(value.n) == 1
    elements, number, exponent = elements[live], np.abs(value.n[live]), value.e[live]
    codes = np.zeros(1, np.int64) if side.scale is None else legal_scales(side.scale)
    scale = None if side.scale is None else exact_of(codes, side.scale)
    n = number[None, :] * (np.ones(1, np.int64) if scale is None else scale.n)[:, None]
    low = exponent[None, :] + (np.zeros(1, np.int64) if scale is None else scale.e)[:, None]
    high = low + bit_length(n) - 1
    inside = (bit_length(n) <= limits.operand_bits) & (high >= limits.operand_least) & (high <= limits.operand_most)
    fits = (n == 0) | inside
    kept = fits.any(axis=1)
    if not kept.any():
        raise OperandError(f"{side.known.id}: no scale code times an element fits its class")
    codes, n, low, high, fits = codes[kept], n[kept], low[kept], high[kept], fits[kept]
    least, most = np.where(fits & (n != 0), low, 1 << 20).min(axis=1), np.where(fits & (n != 0), high, -(1 << 20)).max(axis=1)
    nothing = least == 1 << 20  # the zero, whose products are zero: it goes anywhere
    least, most = np.where(nothing, 0, least), np.where(nothing, 0, most)
    order = np.argsort(least, kind="stable")
    return Legal(codes[order], least[order], most[order], elements, fits[order])


def span_of(limits: Limits) -> int:
    """Return how far apart in powers of two the scales of a group may lie, so that products stay in the accumulator's range."""
    return max(2, min(SPAN, (min(-limits.least, limits.most) - 8) // 4))


def every_scale(pair: Pair, limits: Limits, hot: str, draws: Draws, shape: tuple[int, int, int] | None = None, turn: int = 0) -> Operands:
    """Return one-hot rows under every scale code of a side, small ones against large ones of the other side.

    hot: a or b, the side whose codes are gone through.   shape: M, N, K; None: as large as all codes need; else some of them, others in
    another turn.   Raises: OperandError (the side has no scales, or no product fits the accumulator).
    """
    side = pair.a if hot == "a" else pair.b
    if side.scale is None:
        raise OperandError(f"{side.known.id} has no scales")
    failed = OperandError("nothing was tried")
    for plain, single in ((False, False), (False, True), (True, True)):
        try:
            return _every_scale(pair, limits, hot, draws, shape, turn, plain, single)
        except OperandError as error:
            failed = error
    raise OperandError(f"no set of every scale of {hot} for {limits.bits} bits: {failed}")


def _every_scale(
    pair: Pair, limits: Limits, hot: str, draws: Draws, shape: tuple[int, int, int] | None, turn: int, plain: bool, single: bool
) -> Operands:
    """Return the set; plain: elements are powers of two; single: the scales of the other side are."""
    dense = "b" if hot == "a" else "a"
    sides = {"a": pair.a, "b": pair.b}
    mine, other = legal(sides[hot], limits, plain), legal(sides[dense], limits, plain)
    step, span = pair.step, span_of(limits)
    number = (mine.low - int(mine.low.min())) // (2 * span)
    groups = [np.flatnonzero(number == group) for group in np.unique(number)]
    many = max(len(groups), 3) if shape is None else shape[2] // step
    chosen = [groups[(turn * many + at) % len(groups)] for at in range(many)]
    partners = [_opposite(mine, group, other, sides[dense], span, limits, single) for group in chosen]
    held: dict[int, list[int]] = {}  # number of a code -> segments of K where it can stand
    for at, group in enumerate(chosen):
        for code in group.tolist():
            if _held(mine, code, other, partners[at], limits):
                held.setdefault(code, []).append(at)
    asked = [(places[number % len(places)], code) for number, (code, places) in enumerate(held.items())]
    if not asked:
        raise OperandError("no product of two scale codes and elements stays in the accumulator's normal range")
    tall, wide = sides[hot].rows, sides[dense].rows
    if shape is None:
        counts, k = {hot: len(asked) * tall, dense: -(-COLUMNS // wide) * wide}, len(chosen) * step
    else:
        counts, k = {"a": shape[0], "b": shape[1]}, shape[2]
    units = -(-counts[hot] // tall)
    places, codes = np.array(asked)[(np.arange(units) + turn * units) % len(asked)].T
    rows, columns = np.arange(counts[hot]), np.arange(k)
    found: dict[str, Bits] = {hot: np.full((counts[hot], k), sides[hot].zero, np.uint8)}
    here = places[rows // tall] * step + (rows * 5 + rows // step) % step
    found[hot][rows, here] = _under(mine, codes[rows // tall], draws)
    size = sides[hot].size
    table = (codes[:, None] + np.arange(k // size)[None, :] * 3) % len(mine.codes)  # of blocks of zeros: any code
    table[(np.arange(k // size) * size // step)[None, :] == places[:, None]] = np.repeat(codes, step // size)
    scales: dict[str, Bits | None] = {hot: _spread(mine.codes[table], sides[hot], counts[hot])}
    across = -(-counts[dense] // wide)
    length = sides[dense].size or step
    segment = np.arange(k // length) * length // step
    first_of = draws.below(1 << 16, 1)
    inner = np.empty((across, k // length), np.int64)
    for block, at in enumerate(segment.tolist()):
        inner[:, block] = partners[at][(np.arange(across) + 3 * block + first_of) % len(partners[at])]
    found[dense] = _under(other, np.repeat(inner, wide, axis=0)[: counts[dense]][:, columns // length], draws)
    scales[dense] = None if sides[dense].scale is None else _spread(other.codes[inner], sides[dense], counts[dense])
    values = {name: sides[name].values(found[name], scales[name]) for name in "ab"}
    sums, unit = singles(values["a"], values["b"], hot, limits)
    room = (1 << limits.bits) - 1 - np.abs(sums)
    said = f"{len(set(codes.tolist()))} scale codes of {hot} against those of opposite size"
    return Operands(f"one-hot rows of {hot}, every scale", found["a"], scales["a"], found["b"], scales["b"], sums, unit, room, 0, said)


def _opposite(mine: Legal, group: Ints, other: Legal, side: Side, span: int, limits: Limits, single: bool) -> Ints:
    """Return the codes of the other side whose products with a group lie about one: those within a span, else the nearest."""
    middle = (int(mine.low[group].min()) + int(mine.low[group].max())) // 2
    far = np.abs(other.low + middle)
    if single and side.scale is not None:
        far = np.where(exact_of(other.codes, side.scale).n == 1, far, 1 << 20)
    return np.flatnonzero(far <= max(span, int(far.min())))


def _held(mine: Legal, code: int, other: Legal, partners: Ints, limits: Limits) -> bool:
    """Tell whether all products of a code stay in the accumulator's normal range."""
    least, most = mine.low[code] + other.low[partners].min(), mine.high[code] + other.high[partners].max() + 2
    return bool(least >= limits.least and most <= limits.most)


def _under(side: Legal, codes: Ints, draws: Draws) -> Bits:
    """Return an element code under each of some scales, by their numbers."""
    most = int(side.fits.sum(axis=1).max())
    table = np.array([np.resize(side.elements[fits], most) for fits in side.fits])
    return table[codes, draws.below(most, *codes.shape)].astype(np.uint8)


def _spread(codes: Bits, side: Side, rows: int) -> Bits:
    """Return the scales of rows that share them in tiles."""
    return np.repeat(codes, side.rows, axis=0)[:rows].astype(integer_dtype(side.scale))


def long_rows(pair: Pair, shape: tuple[int, int, int], limits: Limits, draws: Draws) -> Operands:
    """Return sums over many blocks, one element of a in each, under scales that differ where an index of the block would wrap.

    Every block has a live element in some row, the last one in all. Raises: OperandError (no such sum fits the accumulator).
    """
    m, n, k = shape
    sides, rows = {"a": pair.a, "b": pair.b}, {"a": m, "b": n}
    colours = {name: palette(side, limits) for name, side in sides.items()}
    blocks = k // pair.block
    failed = OperandError("nothing was tried")
    for sparse, bits in pairs((1, 4, 16, 64), (4, 3, 2)):
        scales: dict[str, Bits | None] = {}
        for name, side in sides.items():
            table = windows(colours[name], bits, 0)
            if side.scale is not None and not table:
                break
            near = min(table, key=lambda window: (abs(window.e + 3), -len(window.scales))).scales if table else None
            scales[name] = None if near is None else _unlike(near, side, rows[name], k, draws)
        else:
            short = {name: colour.short[exact_of(colour.short, sides[name].element).n != 0] for name, colour in colours.items()}
            codes = {"a": np.full((m, k), pair.a.zero, np.uint8), "b": draws.chosen(short["b"], n, k).astype(np.uint8)}
            live = (np.arange(blocks)[None, :] + np.arange(m)[:, None]) % (m * sparse) == 0
            live[:, -1] = True
            row, block = np.nonzero(live)
            codes["a"][row, block * pair.block + draws.below(pair.block, len(row))] = draws.chosen(short["a"], len(row))
            try:
                proven = prove(pair.a.values(codes["a"], scales["a"]), pair.b.values(codes["b"], scales["b"]), limits)
            except OperandError as error:
                failed = error
                continue
            said = f"{blocks} blocks, scales in windows of {bits} bits" + (f", 1 of {m * sparse} blocks of a live" if sparse > 1 else "")
            return operands_of("long rows", codes, scales, proven, limits, said)
    raise OperandError(f"no set of long rows for M, N, K = {m}, {n}, {k} and {limits.bits} bits: {failed}")


def _unlike(codes: Bits, side: Side, rows: int, k: int, draws: Draws) -> Bits:
    """Return [rows, blocks] scale codes, each another than those that lie as many blocks before it as an index may wrap at."""
    tiles, blocks = -(-rows // side.rows), k // side.size
    at = draws.below(len(codes), tiles, blocks)
    for first in range(min(WRAPS), blocks, min(WRAPS)):
        here = at[:, first : first + min(WRAPS)]
        before = [at[:, first - back : first - back + here.shape[1]] for back in WRAPS if back <= first]
        for _ in range(min(len(WRAPS), len(codes) - 1)):
            here[:] = (here + np.any([here == other for other in before], axis=0)) % len(codes)
    return _spread(codes[at], side, rows)
