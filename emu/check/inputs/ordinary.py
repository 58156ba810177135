"""Tensors as they come in training: weights, activations with large columns, gradients. Drawn from integers: the same bits everywhere."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

from emu.arrays.values import float_dtype
from emu.base.philox import words
from emu.contracts.form import Bits, integer_dtype
from emu.spec import derive
from emu.spec.models import Format

LARGE: Final = 37  # one column of so many is large among activations
COLUMN_FACTOR: Final = 24


def _normal(drawn: Bits) -> Bits:
    """Return numbers near a normal distribution of variance one: sums of four uniform ones, exact in binary64."""
    parts = drawn.view(np.uint8).reshape(-1, 4).astype(np.float64)
    return np.asarray((parts.sum(axis=1) - 510) / 148 + (drawn & np.uint32(0xFFFF)).astype(np.float64) * 2.0**-24)


def weights(drawn: Bits, width: int) -> Bits:
    """Small normal numbers."""
    return _normal(drawn) / 50


def activations(drawn: Bits, width: int) -> Bits:
    """Normal numbers, some columns large."""
    return _normal(drawn) * np.where(np.arange(drawn.size) % width % LARGE == LARGE // 2, COLUMN_FACTOR, 1)


def gradients(drawn: Bits, width: int) -> Bits:
    """Numbers of many exponents, all small."""
    return np.ldexp(_normal(drawn), -10 - (drawn >> np.uint32(7) & np.uint32(15)).astype(np.int64))


def rectified(drawn: Bits, width: int) -> Bits:
    """What a ReLU leaves: half zeros."""
    return np.maximum(_normal(drawn), 0) * 3


def rounded(drawn: Bits, width: int) -> Bits:
    """Normal numbers of 8 significant bits: a bf16 tensor in a wider format."""
    fraction, exponent = np.frexp(_normal(drawn))
    return np.asarray(np.ldexp(np.rint(fraction * 256), exponent - 8))


def integers(drawn: Bits, width: int) -> Bits:
    """Small integers: their largest is one, and many ratios are exact."""
    return (drawn % np.uint32(49)).astype(np.float64) - 24


KINDS: Final[tuple[Callable[[Bits, int], Bits], ...]] = (weights, activations, gradients, rectified, rounded, integers)


def tensor(source: Format, kind: int, count: int, width: int, key: int, stream: int, start: int = 0) -> Bits:
    """Return `count` source codes of a kind of tensor with rows of `width`. kind: place in KINDS.   start: first word of the generator."""
    values = KINDS[kind](words(key, count, start, stream + kind), width)
    with np.errstate(over="ignore"):
        found = values.astype(float_dtype(source)).view(integer_dtype(source))
    plain = found & found.dtype.type(derive.codes(source).sign_bit - 1)
    return np.asarray(np.where(plain > derive.codes(source).max_code, 0, found).astype(found.dtype))


def tensors(source: Format, size: int, width: int, key: int, stream: int, most: int) -> Iterator[Bits]:
    """Yield codes of every kind, `size` each, at most `most` at a time."""
    for kind in range(len(KINDS)):
        for start in range(0, size, most):
            yield tensor(source, kind, min(most, size - start), width, key, stream, start)
