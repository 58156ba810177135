"""decode and convert on tensors of codes: integers only; a table of this engine's own making where it is exact."""

from __future__ import annotations

import torch

from emu.base.caches import Cache
from emu.base.errors import EngineError, OpenError, OperandError
from emu.engines.torch.arithmetic import add, fp32
from emu.engines.torch.can import can_convert
from emu.engines.torch.codebook import encode_codebook
from emu.engines.torch.numbers import Number, split
from emu.engines.torch.odd import take
from emu.engines.torch.round import Position, TargetGrid, decode_unbounded, encode, exponent_of, goes_up, grid_of, locate
from emu.engines.torch.tensors import checked, code_dtype, signed_view
from emu.spec import derive
from emu.spec.derive import EntryCodes
from emu.spec.ieee import is_binary32
from emu.spec.models import Format, Policy, Rounding
from emu.spec.models.format import CodebookFacts
from emu.spec.models.rounding import Word
from emu.spec.one_table import table_is_exact
from emu.spec.registry import get

CHUNK = 1 << 16
_TABLE_BITS = 16  # sources of at most so many bits get a table
_tables: Cache[tuple[object, ...], torch.Tensor] = Cache("emu.engines.torch.convert._tables", 512)


def convert(
    codes: torch.Tensor, source: Format, fmt: Format, rounding: Rounding, policy: Policy, random: torch.Tensor | None = None
) -> torch.Tensor:
    """Convert a tensor of codes to another format.

    codes: unsigned (or signed of the same width), any shape.   random: integers, one per element, or one word per `lanes` consecutive
    elements, row-major.   Returns: unsigned, the shape and device of codes.
    NaN, Inf, -0, overflow: as the policy says.   Exactness: equals emu.engines.exact.convert bit for bit.
    Raises: OpenError, OperandError, SpecError as the reference model; EngineError for what can_convert leaves out.
    Source: sources of policy and rounding.   Tests: tests/engines/torch/test_torch_convert.py.
    """
    if not can_convert(source, fmt, rounding):
        raise EngineError(f"engine torch does not convert to {fmt.id} with {rounding.id}: engine exact does it")
    entry = derive.policy_entry(policy, fmt)
    drawn = element_random(random, rounding, codes.shape)
    flat = codes.contiguous().view(-1)
    out = torch.empty(flat.shape, dtype=code_dtype(fmt), device=codes.device)
    for start in range(0, flat.numel(), CHUNK):
        part = slice(start, start + CHUNK)
        found = marked(checked_signed(flat[part], source), source, fmt, rounding, entry, None if drawn is None else drawn[part])
        check_markers(found, f"convert/{fmt.id}/{rounding.id}/{policy.id}", entry, start)
        signed_view(out)[part] = found
    return out.view(codes.shape)


def checked_signed(codes: torch.Tensor, source: Format) -> torch.Tensor:
    """Return codes as int32 (binary32 alone) or int64, checked."""
    if is_binary32(source) and codes.element_size() == 4:
        return signed_view(codes)
    return checked(codes, source)


def marked(
    codes: torch.Tensor, source: Format, fmt: Format, rounding: Rounding, entry: EntryCodes, random: torch.Tensor | None = None
) -> torch.Tensor:
    """Return codes of another format; OPEN and REFUSE are negative.

    codes: int64, or int32 binary32 codes of the same bits.   random: int64, one per element.
    Returns: int16 from a table, else int64.
    """
    if random is None and codes.dtype == torch.int32:
        if table_is_exact(source, fmt, rounding, entry):
            return take(table_of(get("format", "bf16"), fmt, rounding, entry, codes.device), codes)
        codes = codes.to(torch.int64) & 0xFFFFFFFF
    elif random is None and derive.codes(source).bits <= _TABLE_BITS and codes.numel() > 1 << 12:
        return table_of(source, fmt, rounding, entry, codes.device)[codes]
    elif codes.dtype == torch.int32:
        codes = codes.to(torch.int64) & 0xFFFFFFFF
    return convert_number(split(codes, source), fmt, rounding, entry, random)


def table_of(source: Format, fmt: Format, rounding: Rounding, entry: EntryCodes, device: torch.device) -> torch.Tensor:
    """Return the converted code of every source code, made once by convert_number. int16 where the codes fit, else int64."""
    key = (source.facts_digest, fmt.facts_digest, rounding.facts_digest, entry, device)
    if key not in _tables:
        every = torch.arange(1 << derive.codes(source).bits, device=device)
        found = convert_number(split(every, source), fmt, rounding, entry, None)
        _tables[key] = found.to(torch.int16) if derive.codes(fmt).bits <= 8 else found
    return _tables[key]


def convert_number(x: Number, fmt: Format, rounding: Rounding, entry: EntryCodes, random: torch.Tensor | None) -> torch.Tensor:
    """Return the codes of exact numbers, int64; OPEN and REFUSE are negative."""
    if isinstance(fmt.facts, CodebookFacts):
        return encode_codebook(x, fmt, rounding, entry)
    if rounding.facts.add == "te_fma":
        assert random is not None
        return encode(x, fmt, rounding, entry, code=te_fma_code(x, locate(x, fmt), fmt, rounding, random))
    return encode(x, fmt, rounding, entry, random)


def check_markers(found: torch.Tensor, name: str, entry: EntryCodes, start: int = 0) -> None:
    """Raise where a result is open or refused. start: number of the first element. Raises: OpenError, OperandError."""
    words = [*entry.nan, *(entry.inf or ()), *(entry.zero or ()), *(entry.overflow_nan or ()), entry.negative or 0]
    for code, error, what in ((derive.OPEN, OpenError, "is open"), (derive.REFUSE, OperandError, "is refused by the policy")):
        if code in words:
            places = torch.nonzero(found == code)
            if len(places):
                place = start + int(places[0])
                raise error(f"{name}: the code of element {place} {what} (NaN, Inf or sign): clean the input or name another policy")


def element_random(random: torch.Tensor | None, rounding: Rounding, shape: torch.Size | tuple[int, ...]) -> torch.Tensor | None:
    """Return one checked random integer per element, flat int64. Raises: OperandError (missing, unwanted, wrong size, too wide)."""
    bits = rounding.random_bits
    if (random is None) == bool(bits):
        raise OperandError(
            f"rounding {rounding.id} " + (f"needs random: {bits} bits an element" if bits else "draws nothing: leave random out")
        )
    if random is None:
        return None
    if random.is_floating_point() or random.dtype == torch.bool:
        raise OperandError("random must be a tensor of unsigned integers")
    size = torch.Size(shape).numel()
    drawn = rounding.facts.random
    lanes, width = (drawn.lanes, drawn.word) if isinstance(drawn, Word) else (1, bits)
    if random.numel() != -(-size // lanes):
        raise OperandError(f"random has {random.numel()} integers, rounding {rounding.id} needs {-(-size // lanes)}")
    words = _wide(random.reshape(-1))
    if size and width < 64 and bool(((words >> width) != 0).any()):
        raise OperandError(f"random does not fit the {width} bits of {rounding.id}")
    return _lanes(words, drawn)[:size] if isinstance(drawn, Word) else words


def _wide(words: torch.Tensor) -> torch.Tensor:
    """Return integers as int64; unsigned 16 and 32 bits keep their value."""
    if words.dtype in (torch.uint16, torch.uint32):
        mask = (1 << 8 * words.element_size()) - 1
        return signed_view(words).to(torch.int64) & mask
    return words.view(torch.int64) if words.dtype == torch.uint64 else words.to(torch.int64)


def _lanes(words: torch.Tensor, drawn: Word) -> torch.Tensor:
    """Split shared words into the integers of their lanes."""
    out = torch.zeros((words.numel(), drawn.lanes), dtype=torch.int64, device=words.device)
    for lane, ranges in enumerate(drawn.fields):
        for first, last in ranges:
            step = 1 if last >= first else -1
            for bit in range(first, last + step, step):
                out[:, lane] = (out[:, lane] << 1) | (words >> bit & 1)
    return out.view(-1)


def decode(codes: torch.Tensor, fmt: Format, result: Format) -> torch.Tensor:
    """Return the codes of a float format that codes of another format mean, exactly; NaN canonical with its sign dropped.

    codes: unsigned, any shape.   Returns: unsigned, shape of codes.
    Raises: OperandError (a code too wide; a value that the result does not hold), OpenError (an unused high bit).
    Source: the format's sources.   Tests: tests/engines/torch/test_torch_convert.py.
    """
    rounding: Rounding = get("rounding", "rne")
    entry = derive.arithmetic_entry(result)
    flat = codes.contiguous().view(-1)
    out = torch.empty(flat.shape, dtype=code_dtype(result), device=codes.device)
    for start in range(0, flat.numel(), CHUNK):
        x = split(checked(flat[start : start + CHUNK], fmt), fmt)
        place = locate(x, result)
        lost = (place.rest > 0) | (place.code > derive.codes(result).max_code)
        if bool((lost & ~x.nan & ~x.inf).any()):
            raise OperandError(f"{result.id} does not hold every {fmt.id} value here: decode to a wider one")
        signed_view(out)[start : start + CHUNK] = encode(x, result, rounding, entry)
    return out.view(codes.shape)


# The software stochastic rounder: one binary32 fma adds random * ulp / 2^bits to the magnitude, then the sum is cut to the grid.


def te_fma_code(x: Number, place: Position, fmt: Format, rounding: Rounding, random: torch.Tensor) -> torch.Tensor:
    """Return the unbounded magnitude codes: a value on the grid stays, another becomes the sum cut to the grid.

    place: of x on the grid of fmt.   random: int64, one integer per element.
    """
    grid = grid_of(fmt)
    assert isinstance(grid, TargetGrid)
    none = torch.zeros_like(x.sign)
    ulp_exp = exponent_of(x).clamp(min=grid.lowest_exp) - grid.frac_bits
    step = Number(none, none, none, random, ulp_exp - rounding.random_bits)
    size = Number(none, none, none, torch.where(x.nan | x.inf, 0, x.significand), x.lsb_exp)
    nearest: Rounding = get("rounding", "rne")
    total = locate(add(size, step, nearest), fp32())
    code = total.code + goes_up(total, none, nearest, None).to(torch.int64)
    moved = locate(decode_unbounded(code, none, fp32()), fmt).code
    return torch.where(place.rest > 0, moved, place.code)
