"""Which rows a conversion is tried on: every value and midpoint with its neighbours, overflow, edges of the source, specials, draws."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from emu.contracts.grid import around, code_at, grid_values, largest, low_bits, points, source_max
from emu.contracts.rows import Input
from emu.contracts.suites import LATER, row_words
from emu.engines.exact.decode import decode_code
from emu.engines.exact.round import locate
from emu.spec import derive
from emu.spec.models import Format
from emu.spec.models.format import CodebookFacts, FloatFacts

if TYPE_CHECKING:
    from emu.contracts.convert.contract import ConvertContract

NEAR = [0, -1, 1, -2, 2, -3, 3]
RANDOM_ROWS = 1 << 14
INTERVALS = 8


class Collected:
    """Cases in order of first mention; a case named twice gets both flags."""

    def __init__(self) -> None:
        self.found: dict[tuple[int, ...], tuple[str, dict[str, None], str]] = {}

    def add(self, group: str, flags: Iterable[str], values: tuple[int, ...], comment: str = "") -> None:
        """Take one case."""
        known = self.found.setdefault(values, (group, {}, comment))
        known[1].update(dict.fromkeys(flags))

    def add_new(self, group: str, flags: Iterable[str], values: tuple[int, ...]) -> None:
        """Take one case unless it is there: what has an id keeps its flags."""
        if values not in self.found:
            self.add(group, flags, values)

    def cases(self) -> list[Input]:
        """Return the cases, each group together."""
        order = {group: place for place, group in enumerate(dict.fromkeys(group for group, _, _ in self.found.values()))}
        cases = [Input(group, tuple(flags), values, comment) for values, (group, flags, comment) in self.found.items()]
        return sorted(cases, key=lambda case: order[case.group])


def directed(op: ConvertContract, stream: str = "") -> list[Input]:
    """Return the directed cases of a conversion."""
    out = Collected()
    if op.rounding.random_bits:
        _stochastic(op, out)
    else:
        _grid(op, out)
        for code, flags, comment in specials(op):
            out.add("special", flags, (code,), comment)
    for code, flags in every_field(op.source):
        for r in (0, (1 << op.rounding.random_bits) - 1) if op.rounding.random_bits else (None,):
            out.add_new(LATER, flags, (code,) if r is None else (code, r))
    for code, r in drawn(op) if op.rounding.random_bits else ():
        out.add_new(LATER, ["cover_random"], (code, r))
    return out.cases()


def drawn(op: ConvertContract) -> Iterator[tuple[int, int]]:
    """Yield (source code, random integer): each value, half and part above it, both signs, with 1 and an integer between the extremes."""
    sign = derive.codes(op.source).sign_bit
    most = (1 << op.rounding.random_bits) - 1
    values = grid_values(op.fmt)
    for low, high in pairwise(values):
        for part, offset in ((0, 0), (2, 0), (2, 1), (3, 0)):
            for _, code in around(low + part * (high - low) / 4, op.source, [offset]):
                yield from ((code | side, r) for side in dict.fromkeys((0, sign)) for r in dict.fromkeys((1, most // 2)))


def every_field(source: Format) -> list[tuple[int, list[str]]]:
    """Return (source code, flags) of every exponent field with the lowest and with all fraction bits, and of every single NaN payload bit.

    A design may look at part of an exponent, of a shift distance or of a payload: each bit decides somewhere. Signs take turns.
    """
    facts, derived = source.facts, derive.codes(source)
    if not isinstance(facts, FloatFacts):
        return []
    ones, out = (1 << facts.frac_bits) - 1, []
    for code in range(0, source_max(source) + 1, ones + 1):
        for turn, fraction in enumerate((1, ones)):
            if code | fraction <= source_max(source):
                sign = derived.sign_bit if (code // (ones + 1) + turn) % 2 else 0
                out.append((code | fraction | sign, ["source_exponent", *(["negative"] if sign else [])]))
    if derived.inf is not None:
        for bit in range(facts.frac_bits):
            out += [(derived.inf | 1 << bit | sign, ["nan_payload"]) for sign in dict.fromkeys((0, derived.sign_bit))]
    return out


def _grid(op: ConvertContract, out: Collected) -> None:
    """Each value and midpoint, +-1..3 ulp, +-2^k ulp; negative sources too, with the low bits where the rounding sees the sign."""
    sign = derive.codes(op.source).sign_bit
    sticky = [offset for k in low_bits(op.source) for offset in (-(1 << k), 1 << k)]
    top = largest(op.fmt)
    for point in points(op.fmt):
        for offset, code in around(point.magnitude, op.source, [*NEAR, *sticky]):
            flags = _flags(point.is_tie, offset)
            if decode_code(code, op.source).magnitude > top:
                flags = [*flags, "overflow"]
            out.add("grid", flags, (code,))
            if sign and (abs(offset) <= 3 or op.rounding.facts.sees_sign == "yes"):
                out.add("grid_negative", [*flags, "negative"], (code | sign,))


def _flags(is_tie: bool, offset: int) -> list[str]:
    if offset == 0:
        return ["tie" if is_tie else "value"]
    if abs(offset) > 3:
        return ["sticky_bit"]
    return ["near_tie" if is_tie else "near_value"]


def specials(op: ConvertContract) -> list[tuple[int, list[str], str]]:
    """Return (source code, flags, comment) of overflow, source edges, zeros, Inf and NaN, both signs each."""
    source, derived = op.source, derive.codes(op.source)
    facts = source.facts
    top = largest(op.fmt)
    frac = facts.frac_bits if isinstance(facts, FloatFacts) else 0
    fitting = [factor for factor in (2, 4) if locate(factor * top, source).code <= source_max(source)]
    out = [(code_at(factor * top, source), ["huge", "overflow"], f"{factor} times the largest value") for factor in fitting]
    beyond = ["overflow"] if decode_code(source_max(source), source).magnitude > top else []
    out += [(source_max(source) - back, ["huge", *beyond], "largest source" if not back else "") for back in (0, 1)]
    one = 1 << frac
    out += [
        (one + step, ["min_normal" if step >= 0 else "source_subnormal"], "smallest normal source" if not step else "")
        for step in (-1, 0, 1)
    ]
    out += [(code, ["source_subnormal"], "smallest source" if code == 1 else "") for code in (1, 2, 3, one >> 1)]
    out.append((0, ["zero"], "zero"))
    if derived.inf is not None:
        inf = derived.inf
        out.append((inf, ["inf"], "infinity"))
        out += [
            (inf | payload, ["nan_quiet"], f"quiet NaN, payload {payload & (one >> 1) - 1:x}")
            for payload in (one >> 1, one >> 1 | 1, one - 1)
        ]
        out += [(inf | payload, ["nan_signalling"], f"signalling NaN, payload {payload:x}") for payload in (1, one >> 2, (one >> 1) - 1)]
    negative = [(code | derived.sign_bit, [*flags, "negative"], f"-({comment})" if comment else "") for code, flags, comment in out]
    return [pair for both in zip(out, negative, strict=True) for pair in both] if derived.sign_bit else out


def _stochastic(op: ConvertContract, out: Collected) -> None:
    """Random integers 0, 1, all ones and both sides of each operation's threshold, in chosen intervals of the grid."""
    bits, sign = op.rounding.random_bits, derive.codes(op.source).sign_bit
    most = (1 << bits) - 1
    values = grid_values(op.fmt)
    chosen = sorted({(len(values) - 2) * part // (INTERVALS - 1) for part in range(INTERVALS)})
    for place in chosen:
        low, high = values[place], values[place + 1]
        for r in (0, 1, most):
            for _, code in around(low, op.source, [0]):
                out.add("exact", ["sr_exact", "value"], (code, r))
        for code in interval_codes(op, low, high):
            for r, flag in draws_for(op, code):
                out.add("threshold", [flag], (code, r))
                if sign and r in (0, most):
                    out.add("negative", [flag, "negative"], (code | sign, r))
    for code, flags, comment in specials(op):
        for r in (0, most):
            out.add("special", [*flags, "sr_extreme"], (code, r), comment)


def interval_codes(op: ConvertContract, low: Fraction, high: Fraction) -> list[int]:
    """Return source codes inside an interval: beside its ends and middle, at quarters, and around 1/256 and 129/256 of it."""
    gap = high - low
    found: dict[int, None] = {}
    parts = ((0, 1), (1, -1), (1, 0), (64, 0), (128, -1), (128, 0), (128, 1), (129, 0), (192, 0), (255, 1), (256, -1))
    for part, offset in parts:
        for _, code in around(low + part * gap / 256, op.source, [offset] if offset else [0, 1]):
            if low < decode_code(code, op.source).magnitude < high:
                found[code] = None
    return list(found)


def draws_for(op: ConvertContract, code: int) -> list[tuple[int, str]]:
    """Return (random integer, flag) for one source code: the extremes, and each side of the thresholds of add, cmp and half."""
    bits = op.rounding.random_bits
    magnitude = decode_code(code, op.source).magnitude
    if isinstance(op.fmt.facts, CodebookFacts):
        lost = Fraction(1, 2)
    else:
        lost = locate(magnitude, op.fmt).lost
    scaled = lost * (1 << bits)
    floor = scaled.numerator // scaled.denominator
    ceiling = -(-scaled.numerator // scaled.denominator)
    first_up = {(1 << bits) - floor, (1 << bits) - ((2 * scaled + 1) // 2), ceiling}
    found = {0: "sr_extreme", (1 << bits) - 1: "sr_extreme"}
    for threshold in sorted(first_up):
        for r in (threshold - 1, threshold):
            if 0 <= r < 1 << bits:
                found.setdefault(r, "sr_threshold")
    return list(found.items())


def random(op: ConvertContract, stem: str, start: int, stop: int) -> list[Input]:
    """Return random rows: even ones any bits, odd ones with an exponent near the destination's range."""
    bits, sign = derive.codes(op.source).bits, derive.codes(op.source).sign_bit
    high = min(locate(2 * largest(op.fmt), op.source).code, source_max(op.source))
    low = code_at(grid_values(op.fmt)[1] / 4, op.source)
    out = []
    for number, (first, second, drawn) in zip(range(start, stop), row_words(stem, start, stop, 3), strict=True):
        word = first | second << 32
        code = word & ((1 << bits) - 1) if number % 2 == 0 else low + (word >> 1) % (high - low + 1) | (sign if word & 1 else 0)
        r = (drawn & ((1 << op.rounding.random_bits) - 1),) if op.rounding.random_bits else ()
        out.append(Input("random", ("random",), (code, *r)))
    return out
