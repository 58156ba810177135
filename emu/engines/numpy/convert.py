"""convert and decode on arrays of codes: a table where it is exact, integer arithmetic elsewhere."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from emu.base.errors import OpenError, OperandError
from emu.engines.numpy import tables
from emu.engines.numpy.fields import check_width, split
from emu.engines.numpy.integer import split_and_convert
from emu.engines.numpy.odd import odd_from_fp64, odd_index
from emu.spec import derive
from emu.spec.derive import EntryCodes
from emu.spec.ieee import binary_format, is_within
from emu.spec.models import Format, Policy, Rounding
from emu.spec.models.format import CodebookFacts, FloatFacts
from emu.spec.models.rounding import Word
from emu.spec.one_table import table_is_exact

Codes = NDArray[np.unsignedinteger]
CHUNK = 1 << 15
_FAR = 2200  # an exponent beyond all of binary64, also where it is undone


def code_dtype(fmt: Format) -> type[np.unsignedinteger]:
    """Return the unsigned dtype that stores a format's codes: 8, 16, 32 or 64 bits."""
    bits = derive.codes(fmt).bits
    return np.uint8 if bits <= 8 else np.uint16 if bits <= 16 else np.uint32 if bits <= 32 else np.uint64


def convert(codes: Codes, source: Format, fmt: Format, rounding: Rounding, policy: Policy, random: Codes | None = None) -> Codes:
    """Convert an array of codes to another format.

    codes: unsigned array, any shape.   random: one integer per element (or one word per `lanes` consecutive elements, row-major).
    Returns: unsigned array of the same shape, uint8 for formats of at most 8 bits.
    Raises: OpenError, OperandError, SpecError as emu.engines.exact.convert; EngineError where only the reference model can.
    Tests: tests/engines/numpy/test_numpy_convert.py.
    """
    entry = derive.policy_entry(policy, fmt)
    drawn = element_random(random, rounding, codes.shape)
    marked = convert_marked(np.ascontiguousarray(codes).reshape(-1), source, fmt, rounding, entry, drawn)
    name = f"convert/{fmt.id}/{rounding.id}/{policy.id}"
    check_markers(marked, fmt, name, entry)
    return marked.astype(code_dtype(fmt), copy=False).reshape(codes.shape)


def check_markers(marked: Codes, fmt: Format, name: str, entry: EntryCodes) -> None:
    """Raise when a result is open or refused. Raises: OpenError, OperandError."""
    words = [*entry.nan, *(entry.inf or ()), *(entry.zero or ()), *(entry.overflow_nan or ()), entry.negative or 0]
    for code, error, what in ((derive.OPEN, OpenError, "is open"), (derive.REFUSE, OperandError, "is refused by the policy")):
        if code in words:
            found = np.flatnonzero(marked == tables.mark(code, fmt))
            if found.size:
                raise error(
                    f"{name}: the code of element {int(found[0])} {what} (NaN, Inf or sign): clean the input or name another policy"
                )


def element_random(random: Codes | None, rounding: Rounding, shape: tuple[int, ...]) -> NDArray[np.uint64] | None:
    """Return one checked random integer per element, flat. Raises: OperandError (missing, unwanted, wrong size, too wide)."""
    bits = rounding.random_bits
    if (random is None) == bool(bits):
        raise OperandError(
            f"rounding {rounding.id} " + (f"needs random: {bits} bits an element" if bits else "draws nothing: leave random out")
        )
    if random is None:
        return None
    if random.dtype.kind not in "ui":
        raise OperandError("random must be an array of unsigned integers")
    size = int(np.prod(shape, dtype=np.int64))
    source = rounding.facts.random
    lanes, width = (source.lanes, source.word) if isinstance(source, Word) else (1, bits)
    if random.size != -(-size // lanes):
        raise OperandError(f"random has {random.size} integers, rounding {rounding.id} needs {-(-size // lanes)}")
    flat = random.reshape(-1)
    if size and (int(flat.max()) >> width or int(flat.min()) < 0):
        raise OperandError(f"random does not fit the {width} bits of {rounding.id}")
    flat = flat.astype(np.uint64)
    return flat if not isinstance(source, Word) else _lanes(flat, source)[:size]


def _lanes(words: NDArray[np.uint64], source: Word) -> NDArray[np.uint64]:
    """Split shared words into the integers of their lanes."""
    out = np.zeros((words.size, source.lanes), np.uint64)
    for lane, ranges in enumerate(source.fields):
        for first, last in ranges:
            step = 1 if last >= first else -1
            for bit in range(first, last + step, step):
                out[:, lane] = (out[:, lane] << np.uint64(1)) | (words >> np.uint64(bit) & np.uint64(1))
    return out.reshape(-1)


def convert_marked(
    codes: Codes, source: Format, fmt: Format, rounding: Rounding, entry: EntryCodes, random: NDArray[np.uint64] | None = None
) -> Codes:
    """Convert a flat array; open and refused codes become the markers of tables.marker_dtype."""
    if random is None:
        codebook, known = isinstance(fmt.facts, CodebookFacts), binary_format(source)
        half = known in ("binary16", "bfloat16")
        if derive.codes(source).bits <= 8 or (half and derive.codes(fmt).bits <= 8 and not codebook):
            return _look_up(codes, tables.convert_table(source, fmt, rounding, entry), source)
        if codebook:
            return _to_codebook(codes, source, fmt, rounding, entry)
        if known in ("binary32", "binary64") and table_is_exact(source, fmt, rounding, entry):
            bf16_table = tables.convert_table(tables.bf16(), fmt, rounding, entry)
            if known == "binary32":
                return take_odd(codes.astype(np.uint32, copy=False), bf16_table)
            return bf16_table[odd_from_fp64(codes.astype(np.uint64, copy=False))]
    out = np.empty(codes.shape, tables.marker_dtype(fmt))
    for start in range(0, codes.size, CHUNK):
        part = slice(start, start + CHUNK)
        found = split_and_convert(codes[part], source, fmt, rounding, entry, None if random is None else random[part])
        out[part] = np.where(found < 0, found + (int(np.iinfo(out.dtype).max) + 1 if out.dtype != np.uint64 else 0), found).astype(
            out.dtype
        )
    return out


def _look_up(codes: Codes, table: Codes, source: Format) -> Codes:
    check_width(codes, source)
    return table[codes]


def take_odd(bits: NDArray[np.uint32], table: Codes, out: Codes | None = None) -> Codes:
    """Return table[round to odd bf16 of binary32 codes], in chunks that stay in cache.

    bits: uint32 flat.   table: 65536 entries.   out: result array, else a new one.
    """
    result = np.empty(bits.size, table.dtype) if out is None else out
    size = min(CHUNK, bits.size)
    scratch, index = np.empty(size, np.uint32), np.empty(size, np.intp)
    for start in range(0, bits.size, CHUNK):
        part = bits[start : start + CHUNK]
        n = part.size
        odd_index(part, scratch[:n], index[:n])
        np.take(table, index[:n], mode="clip", out=result[start : start + n])
    return result


def decode_narrow(codes: Codes, fmt: Format, result: Format) -> Codes:
    """Return the codes of a float format that codes of at most 16 bits mean; bytes are decoded two at a time.

    codes: unsigned, any shape, already checked to fit the format.   result: must hold every value exactly, else OperandError.
    """
    width = np.uint16 if derive.codes(result).bits == 16 else np.uint32 if derive.codes(result).bits == 32 else np.uint64
    out: Codes = np.empty(codes.size, width)
    flat = np.ascontiguousarray(codes).reshape(-1)
    even = flat.size - flat.size % 2 if flat.dtype == np.uint8 and width != np.uint64 else 0
    if even:
        pairs, table = flat[:even].view("<u2"), tables.pair_table(fmt, result)
        _take(pairs, table, out[:even].view(table.dtype))
    _take(flat[even:], tables.decode_table(fmt, result).astype(width), out[even:])
    return out.reshape(codes.shape)


def _take(codes: Codes, table: Codes, out: Codes) -> None:
    """Write table[codes], in chunks that stay in cache."""
    index = np.empty(min(CHUNK, codes.size), np.intp)
    for start in range(0, codes.size, CHUNK):
        part = codes[start : start + CHUNK]
        np.copyto(index[: part.size], part, casting="unsafe")
        np.take(table, index[: part.size], mode="clip", out=out[start : start + part.size])


def _to_codebook(codes: Codes, source: Format, fmt: Format, rounding: Rounding, entry: EntryCodes) -> Codes:
    """Compare exact binary64 values with the thresholds of a codebook."""
    cuts, at, between, plus_zero, minus_zero = tables.codebook_steps(fmt, rounding, entry)
    values = to_fp64(codes, source)
    place = np.searchsorted(cuts, values, side="left")
    inside = np.minimum(place, cuts.size - 1)
    out = np.where((cuts[inside] == values), at[inside], between[place])
    out = np.where(values == 0, np.where(np.signbit(values), minus_zero, plus_zero), out)
    if entry.inf is not None:
        marks = [tables.mark(code, fmt) for code in entry.inf]
        out = np.where(np.isinf(values), np.where(np.signbit(values), marks[1], marks[0]), out)
    marks = [tables.mark(code, fmt) for code in entry.nan]
    return np.where(np.isnan(values), np.where(np.signbit(values), marks[1], marks[0]), out).astype(tables.marker_dtype(fmt))


def to_fp64(codes: Codes, source: Format) -> NDArray[np.float64]:
    """Return the values of codes of a format as binary64, exact; any shape; the sign of NaN is kept.

    Raises: OperandError when one of the values is no binary64 number.
    """
    if binary_format(source) == "binary64":
        return codes.astype(np.uint64, copy=False).view(np.float64)
    if binary_format(source) is not None:
        with np.errstate(invalid="ignore"):
            return to_fp32(codes, source).astype(np.float64)
    if not isinstance(source.facts, FloatFacts):
        return tables.decode_table(source, tables.fp64())[codes].view(np.float64)
    values, lost = wide_values(codes, source)
    if lost.any():
        raise OperandError(f"a {source.id} value is no binary64 number: no array of values holds it, keep its codes")
    return values


def wide_values(codes: Codes, source: Format) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """Return codes of a float format as binary64, and where a value is no binary64 number; NaN keeps its sign."""
    fields = split(codes, source)
    special = fields.nan | fields.inf
    size = np.where(special, 0, fields.significand).astype(np.float64)  # at most 53 bits
    exp = np.clip(fields.lsb_exp, -_FAR, _FAR).astype(np.int32)
    with np.errstate(all="ignore"):
        values = np.ldexp(size, exp)
        lost = np.ldexp(values, -exp) != size
    values = np.where(fields.inf, np.inf, np.where(fields.nan, np.nan, values))
    return np.copysign(values, np.where(fields.sign, -1.0, 1.0)), lost


def to_fp32(codes: Codes, source: Format) -> NDArray[np.float32]:
    """Return the values of codes of a format inside binary32 as float32, exact; any shape.

    Raises: OperandError when binary32 does not hold a value.
    """
    known = binary_format(source)
    if known == "binary32":
        return np.ascontiguousarray(codes.astype(np.uint32, copy=False)).view(np.float32)
    if known == "bfloat16":
        return (codes.astype(np.uint32) << np.uint32(16)).view(np.float32)
    if known == "binary16":
        with np.errstate(invalid="ignore"):
            return np.ascontiguousarray(codes.astype(np.uint16, copy=False)).view(np.float16).astype(np.float32)
    if known == "binary64":
        exact = to_fp64(codes, source)
        with np.errstate(all="ignore"):
            values = exact.astype(np.float32)
        if not bool(((values == exact) | np.isnan(exact)).all()):
            raise OperandError(f"a {source.id} value is no binary32 number: convert the array first")
        return values
    bits = derive.codes(source).bits
    if bits > 8 and isinstance(source.facts, FloatFacts) and is_within(source, tables.fp32()):
        with np.errstate(all="ignore"):
            return wide_values(codes, source)[0].astype(np.float32)
    if bits > 16 or not is_within(source, tables.fp32()):  # no table: only the values that are there must be binary32 numbers
        found, places = np.unique(codes, return_inverse=True)
        codes32 = [tables.code_of(int(code), source, tables.fp32()) for code in found]
        return np.array(codes32, np.uint32)[places].reshape(codes.shape).view(np.float32)
    return tables.decode_table(source, tables.fp32())[codes].view(np.float32)
