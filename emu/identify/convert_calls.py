"""Asking a convert kernel: with which random integers, and what it refuses. Not here: which sources (convert_known.py)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from emu.base import philox
from emu.base.errors import TargetError
from emu.check.model import Target
from emu.identify.rows import KEY, OPEN, Bits
from emu.spec import derive
from emu.spec.models import Format
from emu.spec.registry import get, names


@dataclass(frozen=True)
class ConvertAnswers:
    """Sources, random integers and what the kernel gave; OPEN where it refuses."""

    source: Format
    x: Bits
    random: NDArray[np.uint64]
    draws: bool
    answers: NDArray[np.int64]
    refused: int


def ask_sources(target: Target, source: Format, x: Bits) -> ConvertAnswers:
    """Return what a kernel gives for source codes, with random integers where those change an answer. Raises: TargetError."""
    words = philox.words(KEY, x.size, 0, philox.stream_of("identify_convert")).astype(np.uint64)
    bits = max(get("rounding", name).random_bits for name in names("rounding"))
    plain, refused, kept = _answers(target, x, np.zeros(x.size, np.uint32), source)
    drawn = words & np.uint64(0xFF)
    other = _given(target, kept, drawn[: kept.size].astype(np.uint32))
    draws = bool((other != plain[np.isin(x, kept)]).any())
    if not draws:
        return ConvertAnswers(source, x, np.zeros(x.size, np.uint64), False, plain, refused)
    drawn = words & np.uint64((1 << min(bits, 8)) - 1)
    answers, refused, _ = _answers(target, x, drawn.astype(np.uint32), source)
    return ConvertAnswers(source, x, drawn, True, answers, refused)


def _answers(target: Target, x: Bits, random: Bits, source: Format) -> tuple[NDArray[np.int64], int, Bits]:
    """Ask all; where the kernel raises, ask without NaN, then without Inf. Returns answers, how many were left out, and what was asked."""
    top, sign = derive.codes(source).max_code, derive.codes(source).sign_bit
    inf = derive.codes(source).inf
    magnitudes = x & x.dtype.type(~sign & ((1 << 8 * x.itemsize) - 1)) if sign else x
    limits = [np.ones(x.size, bool), magnitudes <= (top if inf is None else inf), magnitudes <= top]
    for number, kept in enumerate(limits):
        try:
            out = np.full(x.size, OPEN, np.int64)
            out[kept] = _given(target, x[kept], random[kept])
            return out, int((~kept).sum()), x[kept]
        except TargetError as error:
            if error.verdict != "raises" or number == len(limits) - 1:
                raise
    raise AssertionError


def _given(target: Target, x: Bits, random: Bits) -> NDArray[np.int64]:
    found = np.asarray(target({"x": x, "codes": x, "random": random})["codes"])
    if found.shape != x.shape:
        raise TargetError("shape", f"identify: codes have shape {found.shape}, asked were {x.shape}")
    return found.astype(np.int64)
