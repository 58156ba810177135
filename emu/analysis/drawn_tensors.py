"""Drawn tensors of the study of shrinkage: a name, a seed and a shape give the same numbers on every call.

They are NumPy's PCG64 with the seed, binary64, rounded once to binary32.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from emu.base.errors import OperandError

SHAPE: Final = (4096, 1024)
SEED: Final = 0
Shape = tuple[int, int]
Seed = int | np.random.Generator  # a generator goes on where it stands


def gaussian(shape: Shape = SHAPE, seed: Seed = SEED) -> NDArray[np.float32]:
    """Return normal numbers N(0, 1)."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def laplace(shape: Shape = SHAPE, seed: Seed = SEED) -> NDArray[np.float32]:
    """Return numbers of density exp(-|x|) / 2."""
    return np.random.default_rng(seed).laplace(size=shape).astype(np.float32)


def student_t3(shape: Shape = SHAPE, seed: Seed = SEED) -> NDArray[np.float32]:
    """Return Student's t with 3 degrees of freedom: the heaviest tail here that still has a variance."""
    return np.random.default_rng(seed).standard_t(3, shape).astype(np.float32)


def lognormal(sigma: float, shape: Shape = SHAPE, seed: Seed = SEED) -> NDArray[np.float32]:
    """Return N * exp(sigma * M) with normal N and M, all of N drawn first: every element has a size of its own."""
    draw = np.random.default_rng(seed)
    plain = draw.standard_normal(shape)
    found: NDArray[np.float32] = (plain * np.exp(sigma * draw.standard_normal(shape))).astype(np.float32)
    return found


def columns(sigma: float, shape: Shape = SHAPE, seed: Seed = SEED) -> NDArray[np.float32]:
    """Return N * exp(sigma * M), M one number per column: loud and quiet channels. M is drawn with seed + 1; 1 beside a generator."""
    plain = np.random.default_rng(seed).standard_normal(shape)
    loud = np.random.default_rng(seed + 1 if isinstance(seed, int) else SEED + 1).standard_normal(shape[1])
    found: NDArray[np.float32] = (plain * np.exp(sigma * loud)).astype(np.float32)
    return found


_PLAIN: Final[dict[str, Callable[[Shape, Seed], NDArray[np.float32]]]] = {
    "gaussian": gaussian,
    "laplace": laplace,
    "student_t3": student_t3,
}
_SPREAD: Final[dict[str, Callable[[float, Shape, Seed], NDArray[np.float32]]]] = {"lognormal": lognormal, "columns": columns}
NAMES: Final = (*_PLAIN, *(f"{name}_SIGMA" for name in _SPREAD))


def drawn(name: str, shape: Shape = SHAPE, seed: Seed = SEED) -> NDArray[np.float32]:
    """Return a tensor by name: gaussian, laplace, student_t3, lognormal_SIGMA or columns_SIGMA.

    shape: rows and columns.   Returns: binary32.   Raises: OperandError (unknown name, a sigma that is no number of 0 .. 8).
    """
    if name in _PLAIN:
        return _PLAIN[name](shape, seed)
    kind, _, text = name.rpartition("_")
    try:
        sigma = float(text) if kind in _SPREAD else math.nan
    except ValueError:
        sigma = math.nan
    if not 0 <= sigma <= 8:
        raise OperandError(f"data {name!r} is unknown: one of {', '.join(NAMES)} with a SIGMA from 0 to 8")
    return _SPREAD[kind](sigma, shape, seed)


@dataclass(frozen=True)
class Spread:
    """How far the numbers of a tensor lie apart. rms, amax: of all.   crest: amax / rms.

    block_crest: root mean square over blocks of (block maximum / block rms), between 1 and the root of the block.
    kurtosis: E[x^4] / E[x^2]^2, 3 for normal numbers.
    """

    rms: float
    amax: float
    crest: float
    block_crest: float
    kurtosis: float


def spread_of(x: Any, block: int = 16) -> Spread:
    """Return how far the numbers of a tensor lie apart, blocks along the last axis.

    x: finite float array [..., n], n a multiple of block, not all zero.   Raises: OperandError.
    """
    plain = np.asarray(x).astype(np.float64)
    if not plain.size or not bool(np.isfinite(plain).all()) or not plain.any() or plain.shape[-1] % block:
        raise OperandError(f"spread of shape {plain.shape}: give finite numbers, not all zero, the last axis a multiple of {block}")
    amax = float(np.max(np.abs(plain)))
    unit = plain / amax
    square = float(np.mean(unit * unit))
    blocks = unit.reshape(-1, block)
    power = np.mean(blocks * blocks, axis=1)
    most = np.max(blocks * blocks, axis=1)[power > 0] / power[power > 0]
    return Spread(
        amax * math.sqrt(square), amax, 1 / math.sqrt(square), math.sqrt(float(np.mean(most))), float(np.mean(unit**4)) / square**2
    )
