"""The one door from the NumPy engine to the reference model: decode tables and conversion tables.

A 16-bit table is filled from its decision thresholds; whether one over bf16, after rounding to odd, is exact, emu.spec.one_table says.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from emu.base.caches import Cache
from emu.engines.exact.convert import convert_value
from emu.engines.exact.decode import codebook_values, decode_code, magnitude_of
from emu.engines.exact.encode import encode_value
from emu.engines.exact.round import locate
from emu.engines.exact.value import Value, finite, power_of_two
from emu.spec import derive
from emu.spec.derive import EntryCodes
from emu.spec.ieee import binary_format
from emu.spec.models import Format, Rounding
from emu.spec.models.format import CodebookFacts, IntegerFacts
from emu.spec.registry import get

_decode: Cache[tuple[str, str], NDArray[np.unsignedinteger]] = Cache("emu.engines.numpy.tables._decode", 256)
_convert: Cache[tuple[str, str, str, EntryCodes], NDArray[np.unsignedinteger]] = Cache("emu.engines.numpy.tables._convert", 256)
_codebooks: Cache[tuple[str, str, EntryCodes], tuple[NDArray[np.float64], NDArray[np.uint16], NDArray[np.uint16], int, int]] = Cache(
    "emu.engines.numpy.tables._codebooks", 256
)


def marker_dtype(fmt: Format) -> type[np.unsignedinteger]:
    """Return the dtype of a format's codes with room for the open and refuse markers (its two largest numbers)."""
    bits = derive.codes(fmt).bits + derive.unused_high_bits(fmt)
    return np.uint8 if bits < 8 else np.uint16 if bits < 16 else np.uint32 if bits < 32 else np.uint64


def mark(code: int, fmt: Format) -> int:
    """Return a code as a table entry; OPEN and REFUSE become the largest numbers of the dtype."""
    return code if code >= 0 else int(np.iinfo(marker_dtype(fmt)).max) + 1 + code


def decode_table(fmt: Format, result: Format) -> NDArray[np.unsignedinteger]:
    """Return the codes of `result` that a narrow format's codes mean; entries for no code, the last one too, hold NaN.

    fmt: at most 16 bits.   result: a float format that holds every value exactly, else OperandError.
    """
    key = (fmt.facts_digest, result.facts_digest)
    if key not in _decode:
        bits = derive.codes(fmt).bits
        size = 257 if bits <= 8 else 65537
        nan = derive.codes(result).nan[0]
        table: NDArray[np.unsignedinteger] = np.full(size, nan, np.uint32 if derive.codes(result).bits <= 32 else np.uint64)
        wide = _values_of_16_bits(fmt, result)
        if wide is None:
            for code in range(1 << bits):
                table[code] = code_of(code, fmt, result)
        else:
            np.copyto(table[:-1], wide.view(np.uint32), where=~np.isnan(wide))
        table.setflags(write=False)
        _decode[key] = table
    return _decode[key]


def _values_of_16_bits(fmt: Format, result: Format) -> NDArray[np.float32] | None:
    """Return the value of every code of bfloat16 or binary16 as binary32; None for another format or result."""
    codes, name = np.arange(1 << 16, dtype=np.uint32), binary_format(fmt)
    if binary_format(result) != "binary32" or name not in ("bfloat16", "binary16"):
        return None
    return (codes << np.uint32(16)).view(np.float32) if name == "bfloat16" else codes.astype(np.uint16).view(np.float16).astype(np.float32)


def code_of(code: int, fmt: Format, result: Format) -> int:
    """Return the code of `result` that a code of a format means. Raises: OperandError (`result` does not hold the value)."""
    return encode_value(decode_code(code, fmt), result)


def pair_table(fmt: Format, result: Format) -> NDArray[np.unsignedinteger]:
    """Return, for two codes of at most 8 bits read as one 16-bit number, both values as one number of twice the result's width.

    The first code lies in the low byte, its value in the low half. Codes that the format does not have hold NaN.
    """
    key = (fmt.facts_digest, "pair" + result.facts_digest)
    if key not in _decode:
        single = decode_table(fmt, result)[:256].astype(np.uint64)
        width = np.uint64(32 if derive.codes(result).bits == 32 else 16)
        table = (single[np.newaxis, :] | single[:, np.newaxis] << width).reshape(-1)
        _decode[key] = table if width == 32 else table.astype(np.uint32)
        _decode[key].setflags(write=False)
    return _decode[key]


def uses_grid(rounding: Rounding) -> tuple[bool, bool]:
    """Return whether grid points and whether midpoints are decision thresholds of a deterministic mode."""
    facts = rounding.facts
    rules = [rule for rule in (facts.magnitude, facts.positive, facts.negative) if rule is not None]
    grid = any((rule.less_than_half, rule.more_than_half) != ("keep", "next") for rule in rules)
    middle = any(len({rule.less_than_half, rule.half, rule.more_than_half}) > 1 for rule in rules)
    return grid, middle


def thresholds(fmt: Format, rounding: Rounding, entry: EntryCodes) -> list[Fraction]:
    """Return every number where a deterministic conversion can change its code: of the magnitude, for a codebook of the value."""
    grid, middle = uses_grid(rounding)
    if isinstance(fmt.facts, CodebookFacts):
        points = sorted({value.signed for value in codebook_values(fmt)})
        grid = grid or len(points) < len(codebook_values(fmt))  # of several codes for one value, the value itself may take another one
    else:
        last = derive.codes(fmt).max_code + (entry.overflow != "saturate") + derive.is_twos_complement(fmt)
        if entry.overflow == "wrap":
            last = locate(power_of_two(128), fmt).code
        points = [magnitude_of(code, fmt.facts) for code in range(last + 1)]
    found = set(points) if grid or not derive.codes(fmt).has_zero else {Fraction(0)}
    if middle or isinstance(fmt.facts, CodebookFacts):
        found |= {(a + b) / 2 for a, b in pairwise(points)}
    return sorted(found)


def _wraps_integer(fmt: Format, entry: EntryCodes) -> bool:
    """Tell whether thresholds go on without end: every integer is one."""
    return entry.overflow == "wrap" and isinstance(fmt.facts, IntegerFacts)


def convert_table(source: Format, fmt: Format, rounding: Rounding, entry: EntryCodes) -> NDArray[np.unsignedinteger]:
    """Return the code of every code of a source of at most 16 bits, markers for open and refused ones.

    binary16 and bfloat16 are filled between thresholds; other sources are evaluated code by code.
    """
    key = (source.facts_digest, fmt.facts_digest, rounding.facts_digest, entry)
    if key not in _convert:
        filled = binary_format(source) in ("binary16", "bfloat16")
        if not filled or isinstance(fmt.facts, CodebookFacts) or _wraps_integer(fmt, entry):
            every = range(1 << derive.codes(source).bits)
            codes = [_one(decode_code(code, source), fmt, rounding, entry) for code in every]
            table = np.array([mark(code, fmt) for code in codes], marker_dtype(fmt))
        else:
            table = _filled(source, fmt, rounding, entry)
        table.setflags(write=False)
        _convert[key] = table
    return _convert[key]


def _one(value: Value, fmt: Format, rounding: Rounding, entry: EntryCodes) -> int:
    return convert_value(value, fmt, rounding, entry)


def _filled(source: Format, fmt: Format, rounding: Rounding, entry: EntryCodes) -> NDArray[np.unsignedinteger]:
    """Fill the table between thresholds: one evaluation at each source code next to a threshold, one for each stretch between."""
    derived = derive.codes(source)
    assert derived.inf is not None
    table = np.zeros(1 << derived.bits, marker_dtype(fmt))
    marks = {0, derived.inf}
    for value in thresholds(fmt, rounding, entry):
        code = locate(value, source).code
        marks |= {min(code, derived.max_code), min(code + 1, derived.max_code)}
    order = sorted(marks)
    for sign in (0, derived.sign_bit):
        for here, following in zip(order, [*order[1:], derived.inf + 1], strict=True):
            table[sign | here] = mark(_one(decode_code(sign | here, source), fmt, rounding, entry), fmt)
            if following > here + 1 and here < derived.inf:
                between = _one(decode_code(sign | (here + 1), source), fmt, rounding, entry)
                table[(sign | here) + 1 : sign | following] = mark(between, fmt)
        top = (sign | derived.inf) + 1
        table[top : sign + derived.sign_bit] = mark(entry.nan[int(bool(sign))], fmt)
    return table


def codebook_steps(
    fmt: Format, rounding: Rounding, entry: EntryCodes
) -> tuple[NDArray[np.float64], NDArray[np.uint16], NDArray[np.uint16], int, int]:
    """Return (thresholds, code at each, code between each two, code of +0, code of -0) of a codebook conversion, for exact comparison.

    A threshold that is no binary64 number stands as the one below it, where the code is still that of the stretch below.
    """
    key = (fmt.facts_digest, rounding.facts_digest, entry)
    if key not in _codebooks:
        cuts = thresholds(fmt, rounding, entry)
        fp64: Format = get("format", "fp64")
        places = [locate(abs(cut), fp64) for cut in cuts]
        down = [place.code + (cut < 0 and place.lost > 0) for place, cut in zip(places, cuts, strict=True)]
        bits = np.array([code | (derive.codes(fp64).sign_bit if cut < 0 else 0) for code, cut in zip(down, cuts, strict=True)], np.uint64)
        inner = [(a + b) / 2 for a, b in pairwise(cuts)]
        between = [_one(finite(cut), fmt, rounding, entry) for cut in (cuts[0] - 1, *inner, cuts[-1] + 1)]
        at = [between[i] if places[i].lost else _one(finite(cut), fmt, rounding, entry) for i, cut in enumerate(cuts)]
        zeros = [_one(Value("finite", sign), fmt, rounding, entry) for sign in (0, 1)]
        arrays = (np.array([mark(code, fmt) for code in at], np.uint16), np.array([mark(code, fmt) for code in between], np.uint16))
        _codebooks[key] = (bits.view(np.float64), *arrays, mark(zeros[0], fmt), mark(zeros[1], fmt))
    return _codebooks[key]


def bf16() -> Format:
    """Return the bf16 format, the index of the tables."""
    fmt: Format = get("format", "bf16")
    return fmt


def fp32() -> Format:
    """Return the fp32 format, in which programs carry values."""
    fmt: Format = get("format", "fp32")
    return fmt


def fp64() -> Format:
    """Return the fp64 format, in which results wait for their one rounding."""
    fmt: Format = get("format", "fp64")
    return fmt
