"""Engine `native`, datapaths of levels: what the kernels ask of operands and registers, and both as C structures."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from emu.engines.c_ref.call import Codes, code_dtype
from emu.engines.c_ref.convert import decode
from emu.engines.native._kernels import ffi, lib
from emu.engines.native.datapath import INFINITE, NAN
from emu.spec import derive
from emu.spec.ieee import direction, is_binary32
from emu.spec.levels import LevelsPlan, rounding_of
from emu.spec.models import Format, Rounding
from emu.spec.models.format import FloatFacts
from emu.spec.models.levels import CutHold, FixedHold, FloatHold, Hold
from emu.spec.reach import reach
from emu.spec.registry import get

F64 = NDArray[np.float64]

FAR: Final = 900  # exponents that numbers keep to
SMALL: Final = 2.0**-960  # below every number
REGISTER_BITS: Final = 24
ALL: Final = (1 << 64) - 1
SIGNALLING, SIGNALLING_FLOAT = np.uint64(0x7FF0000000000001), np.uint32(0x7F800001)
BEYOND: Final = {
    "saturate": lib.EMU_BEYOND_STOPS,
    "saturate_symmetric": lib.EMU_BEYOND_STOPS,
    "wrap": lib.EMU_BEYOND_WRAPS,
    "sticky_inf": lib.EMU_BEYOND_INFINITE,
    "error": lib.EMU_BEYOND_FAILS,
}
MASKS: Final = {"rz": (), "ru": ("up_plus",), "rd": ("up_minus",), "rna": ("up_half",), "odd": ("up_even",), "rne": ("up_more", "up_tie")}
MODES: Final = {"rne": lib.EMU_HOLD_NEAREST, "rz": lib.EMU_HOLD_CUT}
DRAWS: Final = {"add": lib.EMU_DRAW_ADD, "cmp": lib.EMU_DRAW_CMP, "half": lib.EMU_DRAW_HALF}


def is_float(hold: Hold) -> bool:
    """Tell whether a hold is a float format that the kernel rounds to."""
    if not isinstance(hold, FloatHold) or hold.policy is not None:
        return False
    facts = get("format", hold.format).facts
    return isinstance(facts, FloatFacts) and facts.frac_bits < REGISTER_BITS and abs(facts.bias) < FAR // 4 and facts.exp_bits <= 8


def significant(fmt: Format) -> int:
    """Return the significant bits that a number of a format may have."""
    found = reach(fmt)
    return int(found.significand * Fraction(2) ** (found.min_exp - found.lsb_exp)).bit_length()


def fits(fmt: Format) -> bool:
    """Tell whether binary32 reaches as far as a format."""
    found, room = reach(fmt), reach(get("format", "fp32"))
    return found.lsb_exp >= room.lsb_exp and found.largest <= room.largest


def fill(out: Any, fmt: Format, flush: bool, signals: bool, kept: list[Any]) -> None:
    """Fill the emu_level_operand of a format, with an entry for every number of its bytes. signals: whether its NaNs may signal."""
    out.signals = signals
    out.bytes = np.dtype(code_dtype(fmt)).itemsize
    out.low_exp, out.high_exp = reach(fmt).min_exp, reach(fmt).max_exp
    if out.bytes < 4:
        every: Codes = (np.arange(1 << (8 * out.bytes)) & ((1 << derive.codes(fmt).bits) - 1)).astype(code_dtype(fmt))
        bits = values_of(every, fmt, flush).astype(np.float32).view(np.uint32)
        if signals:
            bits[_signalling(every, fmt)] = SIGNALLING_FLOAT
        kept += [bits, ffi.from_buffer("uint32_t[]", bits)]
        out.words = kept[-1]


def values_of(codes: Codes, fmt: Format, flush: bool, signals: bool = False) -> F64:
    """Return codes of a format as binary64 numbers. flush: read subnormal ones as zero.   signals: NaNs that signal stay such."""
    found = decode(codes, fmt)
    dead = found.value_class == 1 if flush else np.zeros(codes.shape, bool)
    size = np.ldexp(np.where(dead, 0, found.significand).astype(np.float64), np.where(dead | (found.value_class == 0), 0, found.lsb_exp))
    size = np.where(found.value_class == INFINITE, np.inf, np.where(found.value_class >= NAN, np.nan, size))
    values = np.where(found.sign != 0, -size, size)
    if signals:
        values.view(np.uint64)[_signalling(codes, fmt)] = SIGNALLING
    return values


def _signalling(codes: Codes, fmt: Format) -> NDArray[np.bool_]:
    """Tell which codes are NaNs as in IEEE 754 with a leading fraction bit of 0."""
    facts = fmt.facts
    assert isinstance(facts, FloatFacts) and facts.nan == "ieee"
    quiet = codes.dtype.type(1 << (facts.frac_bits - 1))
    found: NDArray[np.bool_] = (decode(codes, fmt).value_class >= NAN) & (codes & quiet == 0)
    return found


def fill_rounding(out: Any, rounding: Rounding | None) -> None:
    """Fill how an emu_hold_float rounds; None: nothing is lost."""
    if rounding is not None and rounding.random_bits:
        out.mode, out.draws, out.random_bits = lib.EMU_HOLD_DRAWS, DRAWS[str(rounding.facts.add)], rounding.random_bits
        return
    toward = "rz" if rounding is None else str(direction(rounding))
    out.mode = MODES.get(toward, lib.EMU_HOLD_BY_MASKS)
    for mask in MASKS[toward]:
        setattr(out, mask, ALL)


def fill_hold(out: Any, hold: Hold, plan: LevelsPlan) -> None:
    """Fill the emu_hold_float of a float format, or of a cut, which has no ends."""
    if hold == "exact" or isinstance(hold, FixedHold):
        return
    rounding = rounding_of(hold)
    plus = isinstance(hold, FloatHold) and (plan.facts.special.zero == "plus" or not derive.codes(get("format", hold.format)).neg_zero)
    out.zero = 0.0 if plus else -0.0
    flushes = isinstance(hold, FloatHold) and hold.subnormals == "flush"
    fill_rounding(out, rounding)
    if flushes and out.mode != lib.EMU_HOLD_DRAWS:
        out.mode = lib.EMU_HOLD_BY_MASKS
    if isinstance(hold, CutHold):
        assert hold.significant_bits is not None
        out.kept, out.lowest, out.largest = 2.0 ** (1 - hold.significant_bits), SMALL, np.inf
        out.kept_big = 2.0**52 * out.kept
        return
    fmt: Format = get("format", hold.format)
    assert isinstance(fmt.facts, FloatFacts)
    out.kept = 2.0 ** -(fmt.facts.frac_bits if hold.keep is None else hold.keep)
    out.kept_big = 2.0**52 * out.kept
    out.lowest, out.largest = 2.0 ** (1 - fmt.facts.bias), float(reach(fmt).largest)
    out.flushed = out.lowest if flushes else 0.0
    out.downward = 1 << 63 if rounding is not None and rounding.rounds_down and plan.facts.special.zero == "ieee" else 0
    stays = ("away", "away") if rounding is None else (rounding.facts.beyond_max.positive, rounding.facts.beyond_max.negative)
    ends = [out.largest if hold.overflow == "saturate" or (hold.overflow == "ieee" and word == "max") else np.inf for word in stays]
    out.beyond_plus, out.beyond_minus = ends
    if ends != [np.inf, np.inf] and out.mode == lib.EMU_HOLD_NEAREST:
        out.mode = lib.EMU_HOLD_BY_MASKS
    if out.mode == lib.EMU_HOLD_NEAREST and is_binary32(fmt) and hold.keep is None:
        out.mode = lib.EMU_HOLD_SINGLE
