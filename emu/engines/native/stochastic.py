"""Casts that draw, for the quantize kernel: a format and a rounding as an emu_stochastic, or None where the kernel has no such rounding.

The kernel rounds to the grid before the steps between scaling and the cast. That is the same where those steps leave the numbers of the
grid alone: a clamp at the largest number, a choice for zero, NaN or Inf. A number that is rounded to zero stays a tiny one until its code
is found.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu.base.errors import OperandError
from emu.base.philox import check_key
from emu.engines.native._kernels import ffi, lib
from emu.engines.native.convert import BEST_FORM, check
from emu.engines.native.tables import decode_table
from emu.spec import derive
from emu.spec.models import Format, Rounding
from emu.spec.models.format import FloatFacts, IntegerFacts
from emu.spec.models.rounding import PerElement
from emu.spec.programs.types import Constant, Instruction
from emu.spec.registry import get

FRACTION, INFINITY = 23, 0x7F800000


def stochastic_of(fmt: Format, rounding: Rounding) -> Any:
    """Return the emu_stochastic of a rounding to a format; None where the kernel cannot."""
    bits, facts = rounding.random_bits, fmt.facts
    if not isinstance(rounding.facts.random, PerElement) or bits > 8 or rounding.facts.add not in ("add", "te_fma"):
        return None
    if isinstance(facts, IntegerFacts):
        lowest, drop, unit = INFINITY, FRACTION, Fraction(2) ** facts.unit_exp
    elif isinstance(facts, FloatFacts) and facts.subnormals == "yes" and facts.frac_bits + bits <= FRACTION:
        low = Fraction(2) ** (1 - facts.bias)
        lowest, drop, unit = _bits(low), FRACTION - facts.frac_bits, low / (1 << facts.frac_bits)
    else:
        return None
    field = _largest(fmt) >> FRACTION
    if field >= INFINITY >> FRACTION:
        return None
    return ffi.new(
        "emu_stochastic *",
        {
            "adds": int(rounding.facts.add == "add"),
            "bits": bits,
            "drop": drop,
            "lowest": lowest,
            "top": field + 1 << FRACTION,
            "least_ulp": _bits(unit),
            "unit": float(unit),
            "per_unit": float(1 / unit),
            "parts": float((1 << bits) / unit),
            "share": float(Fraction(1, 1 << bits)),
        },
    )


def spares_the_grid(item: Instruction, fmt: Format) -> bool:
    """Tell whether a step does the same before and after rounding to the grid of a format."""
    if item.op == "clamp":
        largest = _largest(fmt)
        return [arg.bits for arg in item.args if isinstance(arg, Constant)] == [largest | 1 << 31, largest]
    return item.op == "select" and item.step.test in ("zero", "nan", "inf") and isinstance(item.args[0], str)


def _largest(fmt: Format) -> int:
    """Return the binary32 bits of the largest number of a format."""
    return int(decode_table(fmt)[derive.codes(fmt).max_code])


def _bits(value: Fraction) -> int:
    """Return the binary32 bits of a number that has them."""
    text = str(value.numerator) if value.denominator == 1 else f"{value.numerator}/{value.denominator}"
    return derive.encode_constant(text, get("format", "fp32"))


# Random bytes by the kernel: the words of emu.base.philox, a byte each.


def random_bytes(key: int, stream: int, count: int, bits: int, *, form: int = BEST_FORM) -> NDArray[np.uint8]:
    """Return one random integer of at most 8 bits for each of `count` places: what emu.base.philox.draw gives, in a byte.

    Raises: OperandError (key, stream, bits), EngineError (the machine lacks the form).
    Tests: tests/engines/native/test_native_stochastic.py.
    """
    check_key(key, stream)
    if not 1 <= bits <= 8:
        raise OperandError(f"random bytes have 1 to 8 bits, not {bits}: use emu.base.philox.draw")
    groups = -(-count // 4)
    out = np.empty(4 * groups, np.uint8)
    check(lib.emu_random_bytes(form, key, stream, groups, (1 << bits) - 1, ffi.from_buffer("uint8_t[]", out)))
    return out[:count]
