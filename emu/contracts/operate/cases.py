"""Which numbers an operation is tried on: every special kind in each place, the ends of each range, and drawn rows of each kind of result.

A drawn row is kept for what its exact result is: a number of the result's format, a tie, beside one, too large, too small. Where an operand
is much finer than the others it is drawn beside what the others give, so that sums of far apart numbers meet every one of these.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations, product
from typing import TYPE_CHECKING, Final

from emu.base.errors import OperandError
from emu.contracts.rows import Input
from emu.contracts.suites import row_words, wide
from emu.engines.exact.decode import decode_code
from emu.engines.exact.encode import encode_value
from emu.engines.exact.operate import exact_result
from emu.engines.exact.value import Value, equal, finite, power_of_two
from emu.spec import derive
from emu.spec.models import Format
from emu.spec.models.format import FloatFacts

if TYPE_CHECKING:
    from emu.contracts.contract import Values
    from emu.contracts.operate.contract import OperateContract

RANDOM_ROWS: Final = 1024
DRAWN: Final = 1536  # candidates of the directed suite
OF_A_KIND: Final = 12  # of which so many of each kind and sign are kept
NEAR: Final = (
    -2,
    -1,
    0,
    1,
    2,
)  # how far the leading bit of a fine operand lies above that of the others' result, or above its last place
FAR: Final = 7  # one candidate of so many has its fine operand anywhere


def every(op: OperateContract) -> list[Input]:
    """Return every row: all codes of all operands, the last one fastest."""
    codes = product(*(range(1 << derive.codes(fmt).bits) for fmt in op.sources))
    return [Input("all", ("exhaustive", *kinds(op, row)), row) for row in codes]


def directed(op: OperateContract, stream: str) -> list[Input]:
    """Return the directed rows of an operation. stream: seeds what they draw."""
    found: dict[Values, Input] = {}
    for group, rows in (("special", _specials(op)), ("boundary", _boundaries(op)), ("drawn", _sorted(op, stream))):
        for row in rows:
            found.setdefault(row, Input(group, kinds(op, row), row))
    return list(found.values())


def random(op: OperateContract, stem: str, start: int, stop: int) -> list[Input]:
    """Return the rows start .. stop - 1 of the random suite."""
    return [Input("random", ("random",), row) for row in _drawn(op, stem, start, stop)]


def kinds(op: OperateContract, row: Values) -> tuple[str, ...]:
    """Return the flags of a row: special operands, and what its exact result is to the format that it is projected to."""
    values = [decode_code(code, fmt) for code, fmt in zip(row, op.sources, strict=True)]
    out = ["nan"] if any(value.kind == "nan" for value in values) else []
    out += ["operand_inf"] if any(value.kind == "inf" for value in values) else []
    out += ["operand_zero"] if any(value.is_zero for value in values) else []
    if op.gives == "number":
        out.append(_kind(exact_result(op.operation, row, op.sources), op.to))
    elif len(values) == 2 and equal(*values):
        out.append("operands_equal")
    return tuple(out or ["operand_number"])


def _kind(value: Value, fmt: Format) -> str:
    """Return the flag of an exact result: what its projection has to decide."""
    facts, largest = fmt.facts, decode_code(derive.codes(fmt).max_code, fmt).magnitude
    assert isinstance(facts, FloatFacts)
    if value.kind != "finite":
        return "result_special"
    if value.is_zero:
        return "result_zero"
    if value.magnitude > largest:
        return "result_beyond"
    unit = power_of_two(max(_lead(value.magnitude), 1 - facts.bias) - facts.frac_bits)
    lost = value.magnitude / unit % 1
    if not lost:
        return "result_number"
    if value.magnitude < unit:
        return "result_below"
    return "result_halfway" if lost == Fraction(1, 2) else "result_above_half" if lost > Fraction(1, 2) else "result_below_half"


def _lead(magnitude: Fraction) -> int:
    """Return the exponent of the leading bit of a number above zero."""
    exp = magnitude.numerator.bit_length() - magnitude.denominator.bit_length()
    return exp if magnitude >= power_of_two(exp) else exp - 1


def _codes(fmt: Format) -> list[int]:
    """Return the codes of a format that get rows: one and its neighbour, ends of each range, infinities, NaN; negative ones too."""
    derived, facts = derive.codes(fmt), fmt.facts
    assert isinstance(facts, FloatFacts)
    plain = [facts.bias << facts.frac_bits, (facts.bias << facts.frac_bits) + 1, 1, (1 << facts.frac_bits) - 1, 1 << facts.frac_bits,
             derived.max_code - 1, derived.max_code, *(() if derived.inf is None else (derived.inf,))]  # fmt: skip
    plain = [code for code in dict.fromkeys(plain) if code > 0]
    signed = [code | derived.sign_bit for code in plain] if derived.sign_bit else []
    return list(dict.fromkeys([*plain, *signed, 0, *derived.nan[:1]]))


def _one(fmt: Format) -> int:
    return _codes(fmt)[0]


def _specials(op: OperateContract) -> Iterator[Values]:
    """Zero, infinities, NaN, the largest numbers: alone and with each other, beside ones."""
    chosen = []
    for fmt in op.sources:
        derived = derive.codes(fmt)
        plain = [0, *derived.nan[:1], derived.max_code, *(() if derived.inf is None else (derived.inf,))]
        chosen.append(list(dict.fromkeys([*plain, *(code | derived.sign_bit for code in plain[2:])])))
    ones = [_one(fmt) for fmt in op.sources]
    for places in [(), *combinations(range(len(ones)), min(2, len(ones)))]:
        for codes in product(*(chosen[place] for place in places)):
            row = list(ones)
            for place, code in zip(places, codes, strict=True):
                row[place] = code
            yield tuple(row)


def _boundaries(op: OperateContract) -> Iterator[Values]:
    """Each chosen code in each place, beside ones, and beside the least and the largest number."""
    for place, fmt in enumerate(op.sources):
        for code in _codes(fmt):
            for pick in (_one, lambda _: 1, lambda other: derive.codes(other).max_code):
                yield tuple(code if at == place else pick(other) for at, other in enumerate(op.sources))


def _sorted(op: OperateContract, stream: str) -> Iterator[Values]:
    """Drawn rows, at most so many of each kind of result and each sign of it."""
    kept: dict[tuple[str, ...], int] = {}
    for row in _drawn(op, stream, 0, DRAWN):
        value = exact_result(op.operation, row, op.sources) if op.gives == "number" else None
        key = (*kinds(op, row), "" if value is None else str(value.sign))
        kept[key] = kept.get(key, 0) + 1
        if kept[key] <= OF_A_KIND:
            yield row


def _drawn(op: OperateContract, stream: str, start: int, stop: int) -> Iterator[Values]:
    """Rows of drawn codes; a last operand that is finer than the others mostly near what the others alone give."""
    count = len(op.sources)
    *_, last = op.sources
    fine = count > 1 and derive.codes(last).bits > max(derive.codes(fmt).bits for fmt in op.sources[:-1])
    for words in row_words(stream, start, stop, 2 * count + 1):
        row = [wide(words[2 * at : 2 * at + 2], derive.codes(fmt).bits) for at, fmt in enumerate(op.sources)]
        if fine and words[-1] % FAR:
            row[-1] = _beside(op, row, last, words[-1])
        yield tuple(row)


def _beside(op: OperateContract, row: Sequence[int], fmt: Format, word: int) -> int:
    """Return a code of the last operand: its leading bit near that of the others' result, or so far above that this is one last place."""
    alone = exact_result(op.operation, (*row[:-1], 0), op.sources)
    facts = fmt.facts
    assert isinstance(facts, FloatFacts)
    if alone.kind != "finite" or alone.is_zero:
        return row[-1]
    above = NEAR[word // FAR % len(NEAR)] + (facts.frac_bits if word >> 30 & 1 else 0)  # the others give about one last place of it
    exp = _lead(alone.magnitude) + above
    fraction = Fraction((1 << facts.frac_bits) + row[-1] % (1 << facts.frac_bits), 1 << facts.frac_bits)
    try:
        return encode_value(finite(fraction * power_of_two(exp) * (-1 if word >> 31 else 1)), fmt)
    except OperandError:  # beyond the format
        return row[-1]


__all__ = ["RANDOM_ROWS", "directed", "every", "kinds", "random"]
