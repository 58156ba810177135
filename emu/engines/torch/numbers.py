"""Exact numbers as tensors: sign, class, an integer significand below 2^62 and the exponent of its unit. Integers only.

A significand that could not be held whole keeps a sticky last bit: it is odd, and lies strictly between its neighbours (round to odd).
"""

from __future__ import annotations

from fractions import Fraction
from typing import NamedTuple

import torch

from emu.base.errors import EngineError
from emu.spec import derive
from emu.spec.models import Format
from emu.spec.models.format import CodebookFacts, ExponentFacts, FloatFacts, IntegerFacts
from emu.spec.registry import get

MOST_BITS = 62  # of a significand


class Number(NamedTuple):
    """value = (-1)^sign * significand * 2^lsb_exp where neither nan nor inf. sign, nan, inf: bool; the others int64; one shape."""

    sign: torch.Tensor
    nan: torch.Tensor
    inf: torch.Tensor
    significand: torch.Tensor
    lsb_exp: torch.Tensor

    @property
    def zero(self) -> torch.Tensor:
        """Where the value is +0 or -0."""
        return (self.significand == 0) & ~self.nan & ~self.inf

    def negated(self) -> Number:
        """The sign bit alone turned round."""
        return self._replace(sign=~self.sign)


def signed_mask(bits: int) -> int:
    """Return a mask of the low bits as int64 holds it."""
    return -1 if bits == 64 else (1 << bits) - 1


def as_int64(code: int) -> int:
    """Return a code of at most 64 bits as the int64 of the same bits."""
    return code - (1 << 64) if code >> 63 > 0 else code


def top_bit(significand: torch.Tensor) -> torch.Tensor:
    """Return the place of the highest set bit of integers below 2^62; -1023 for zero.

    Every second bit below the top one is cleared first, so that binary64, whose exponent is read, cannot round up to the next power.
    """
    return ((significand & ~(significand >> 1)).to(torch.float64).view(torch.int64) >> 52) - 1023


def shifted(x: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """Return x * 2^places of non-negative integers; bits that fall off leave a sticky last bit. The result must fit 62 bits."""
    left, right = places.clamp(0, MOST_BITS), (-places).clamp(0, MOST_BITS)
    kept = (x >> right) << left
    return torch.where((places < 0) & ((x >> right) << right != x), kept | 1, kept)


def split(codes: torch.Tensor, fmt: Format) -> Number:
    """Return the exact numbers of codes, which fit the format.

    codes: int64, any shape; 64-bit codes as the int64 of the same bits.
    Raises: EngineError (a codebook value that is no binary fraction).
    """
    facts = fmt.facts
    if isinstance(facts, FloatFacts):
        return _float(codes, fmt, facts)
    none = torch.zeros_like(codes, dtype=torch.bool)
    if isinstance(facts, CodebookFacts):
        sign, significand, lsb_exp = (torch.tensor(row, device=codes.device)[codes] for row in codebook_rows(fmt))
        return Number(sign, none, none, significand, lsb_exp)
    if isinstance(facts, ExponentFacts):
        nan = _listed(codes, derive.codes(fmt).nan)
        return Number(none, nan, none, torch.ones_like(codes), codes - facts.bias)
    return _integer(codes, fmt, facts)


def _integer(codes: torch.Tensor, fmt: Format, facts: IntegerFacts) -> Number:
    none = torch.zeros_like(codes, dtype=torch.bool)
    unit = torch.full_like(codes, facts.unit_exp)
    if derive.is_twos_complement(fmt):
        value = torch.where(codes >> (facts.bits - 1) > 0, codes - (1 << facts.bits), codes)
        return Number(value < 0, none, none, value.abs(), unit)
    sign_bit = derive.codes(fmt).sign_bit
    return Number((codes & sign_bit) != 0, none, none, codes & ~sign_bit, unit)


def _float(codes: torch.Tensor, fmt: Format, facts: FloatFacts) -> Number:
    derived = derive.codes(fmt)
    magnitude = codes & signed_mask(derived.magnitude_bits)
    sign = (codes & as_int64(derived.sign_bit)) != 0
    none = torch.zeros_like(sign)
    inf = none if derived.inf is None else magnitude == derived.inf
    top = ((1 << facts.exp_bits) - 1) << facts.frac_bits
    nan = (magnitude >= top) & ~inf if facts.nan == "ieee" else _listed(codes, derived.nan)
    field, fraction = magnitude >> facts.frac_bits, magnitude & signed_mask(facts.frac_bits)
    if facts.subnormals == "yes":
        significand = torch.where(field > 0, fraction | (1 << facts.frac_bits), fraction)
        field = field.clamp(min=1)
    else:
        significand = fraction | (1 << facts.frac_bits)
    return Number(sign, nan, inf, significand, field - (facts.bias + facts.frac_bits))


def _listed(codes: torch.Tensor, wanted: tuple[int, ...]) -> torch.Tensor:
    found = torch.zeros_like(codes, dtype=torch.bool)
    for code in wanted:
        found |= codes == as_int64(code)
    return found


def codebook_values(fmt: Format) -> list[tuple[bool, Fraction]]:
    """Return (sign, magnitude) of each code of a codebook. Raises: EngineError (a value that is not finite)."""
    facts = fmt.facts
    assert isinstance(facts, CodebookFacts)
    if facts.values is not None:
        exact = [(text == "-0", Fraction(0)) if text == "-0" else (False, derive.parse_exact(text)) for text in facts.values]
        return [(sign or value < 0, abs(value)) for sign, value in exact]
    assert facts.values_bits is not None and facts.values_format is not None
    source: Format = get("format", facts.values_format)
    digits, text = -(-derive.codes(source).bits // 4), facts.values_bits.replace(" ", "")
    codes = [as_int64(int(text[i : i + digits], 16)) for i in range(0, len(text), digits)]
    found = split(torch.tensor(codes, dtype=torch.int64), source)
    if bool((found.nan | found.inf).any()):
        raise EngineError(f"engine torch takes codebooks of finite values: engine exact takes {fmt.id}")
    pairs = zip(found.sign.tolist(), found.significand.tolist(), found.lsb_exp.tolist(), strict=True)
    return [(sign, significand * Fraction(2) ** lsb_exp) for sign, significand, lsb_exp in pairs]


def codebook_rows(fmt: Format) -> tuple[list[bool], list[int], list[int]]:
    """Return sign, significand and lsb_exp of each code. Raises: EngineError (a value that is no binary fraction of 62 bits)."""
    signs, significands, lsb_exps = [], [], []
    for sign, magnitude in codebook_values(fmt):
        power = magnitude.denominator.bit_length() - 1
        if magnitude.denominator != 1 << power or magnitude.numerator.bit_length() > MOST_BITS:
            raise EngineError(f"engine torch takes codebooks of binary fractions: engine exact takes {fmt.id}")
        signs.append(sign)
        significands.append(magnitude.numerator)
        lsb_exps.append(-power)
    return signs, significands, lsb_exps
