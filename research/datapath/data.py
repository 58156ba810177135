"""Operands of the study of datapaths: normal numbers, outliers, and products of a real model. The same bytes on every machine."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist
from typing import Any, Final

import numpy as np
from ml_dtypes import bfloat16
from numpy.typing import NDArray

from emu.base import philox
from research import minilm

KEY: Final = 5  # of Philox4x32-10; the stream is the name of the array
OUTPUTS: Final = 64
WIDE_K: Final = 1536
LOUD_CHANNELS: Final = 64  # one channel of so many is loud
LOUDNESS: Final = 32


@dataclass(frozen=True, eq=False)
class Data:
    """One product A B^T. a: [M, K].   b: [N, K], the columns of B.   every: one row of b in so many is measured; all set its maximum."""

    name: str
    title: str
    a: NDArray[Any]
    b: NDArray[Any]
    every: int = 1

    @property
    def digest(self) -> str:
        """The first 16 digits of the SHA-256 of shapes and bytes of both operands."""
        found = hashlib.sha256()
        for item in (self.a, self.b):
            found.update(f"{item.shape}{item.dtype}".encode() + np.ascontiguousarray(item).tobytes())
        return found.hexdigest()[:16]


def normal(name: str, rows: int, columns: int) -> NDArray[Any]:
    """Return standard normal numbers rounded to bf16: the quantile of (word + 1/2) / 2^32, words of Philox in row-major order."""
    quantile = NormalDist().inv_cdf
    words = philox.words(KEY, rows * columns, stream=philox.stream_of(name))
    wide = np.array([quantile((word + 0.5) / 2**32) for word in words.tolist()])
    found: NDArray[Any] = wide.reshape(rows, columns).astype(bfloat16)
    return found


def outliers(name: str, rows: int, columns: int) -> NDArray[Any]:
    """Return heavy tails and loud channels: normal numbers times 2^g, P(g >= j) = 4^-j, and times 32 in one channel of 64."""
    words = philox.words(KEY, rows * columns, stream=philox.stream_of(f"{name}/tail")).reshape(rows, columns).astype(np.int64)
    tail = np.zeros((rows, columns), np.int64)
    for pairs in range(1, 9):
        low = (1 << 2 * pairs) - 1
        tail += (words & low) == low
    loud = philox.words(KEY, columns // LOUD_CHANNELS, stream=philox.stream_of(f"{name}/loud")).astype(np.int64) % LOUD_CHANNELS
    factor = np.exp2(tail)
    factor[:, np.arange(len(loud)) * LOUD_CHANNELS + loud] *= LOUDNESS
    found: NDArray[Any] = (normal(name, rows, columns).astype(np.float64) * factor).astype(bfloat16)
    return found


def wide_range(name: str, rows: int, columns: int) -> NDArray[Any]:
    """Return normal numbers times 2^u, one u in -8 .. 8 for each 32 along K: neighbouring block scales far apart."""
    words = philox.words(KEY, rows * columns // 32, stream=philox.stream_of(f"{name}/range")).astype(np.int64)
    factor = np.exp2(words % 17 - 8).reshape(rows, -1).repeat(32, axis=1)
    found: NDArray[Any] = (normal(name, rows, columns).astype(np.float64) * factor).astype(bfloat16)
    return found


def synthetic(outputs: int = OUTPUTS, k: int = WIDE_K) -> list[Data]:
    """Return the drawn products, outputs x outputs. k: a multiple of 64."""
    drawn = (
        ("gaussian", "normal A and B", normal, normal),
        ("outliers", "A with heavy tails and loud channels, normal B", outliers, normal),
        ("wide_range", "A and B normal, times another power of two for each 32 along K", wide_range, wide_range),
    )
    return [Data(name, title, a(f"{name}/a", outputs, k), b(f"{name}/b", outputs, k)) for name, title, a, b in drawn]


def is_asked(words: Sequence[str]) -> bool:
    """Tell whether one of the words is part of a name of a model product."""
    return any(word in f"minilm_layer{layer}_{part}" for word in words for layer, part in minilm.PRODUCTS)


def model_products(folder: Path) -> list[Data]:
    """Return products of the real model: the first tokens, and outputs spread evenly over the weight. Raises: FileError."""
    return [
        Data(f"minilm_{item.name}", f"MiniLM, {item.tensor}", item.x, item.w, len(item.w) // OUTPUTS)
        for item in minilm.products(folder, minilm.PRODUCTS)
    ]
