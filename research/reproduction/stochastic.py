"""Stochastic rounding of a density: unbiased between values, not beyond the largest one and not when its random bits are few.

Between neighbours a and b, x goes to b with probability (x - a) / (b - a). N random bits added below the cut and truncated make that
probability a multiple of 2^-N, rounded down in magnitude: a bias of -step / 2^(N+1) on average.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

from emu.analysis.bias import AnyGrid, Expected
from emu.analysis.density import Density
from emu.analysis.grid import as_grid
from emu.base.errors import OperandError


def stochastic(grid: AnyGrid, density: Density, bits: int | None = None, occupancy: Density | None = None) -> Expected:
    """Return what stochastic rounding to a grid does to a density; numbers beyond the ends saturate.

    grid: as bias.bin_bias.   density: by energy, in units of the grid.   bits: random bits of an element, added to the discarded part and
    truncated; None: without end, no bias inside.   occupancy: by count, for bucket_ratio; None: density.
    Exactness: the bias of few bits is taken as its mean over a step, -step / 2^(bits + 1); its square is left out of nmse.
    Raises: OperandError (all mass at zero; bits below 1).   Tests: tests/research/reproduction/test_reproduction_stochastic.py.
    Source: how random bits are added: roundings sr_add<N> of the spec.
    """
    if bits is not None and bits < 1:
        raise OperandError(f"stochastic rounding with {bits} random bits: at least 1, or None for no end")
    chosen = as_grid(grid)
    signal = float(density.parts(None, None).second)
    if not signal:
        raise OperandError(f"{density.name} density: every number is zero: alpha has no meaning")
    cross = error = 0.0
    for low, high, inside in _intervals(chosen.values, density):
        a, b, step = float(low), float(high), float(high - low)
        mass, first, second = (float(item) for item in inside)
        error += (a + b) * first - second - a * b * mass
        sign = 1.0 if low >= 0 else -1.0
        cross -= 0.0 if bits is None else sign * first * step / 2.0 ** (bits + 1)
    for value, parts in ((chosen.values[0], density.parts(None, chosen.values[0])), (chosen.largest, density.parts(chosen.largest, None))):
        q, (mass, first, second) = float(value), (float(item) for item in parts)
        error += q * q * mass - 2 * q * first + second
        cross += q * first - second
    alpha, nmse = cross / signal, error / signal
    shares = _shares(chosen.values, occupancy or density)
    entropy = -math.fsum(share * math.log(share) for share in shares if share > 0)
    return Expected(alpha, alpha + nmse, nmse, math.exp(entropy) / len(chosen.values))


def _intervals(values: tuple[Any, ...], density: Density) -> list[tuple[Any, Any, Any]]:
    """Return neighbouring values and the parts of the density between them, the lower border in it, the upper of the last too."""
    pairs = list(pairwise(values))
    return [(low, high, density.parts(low, high, True, number == len(pairs) - 1)) for number, (low, high) in enumerate(pairs)]


def _shares(values: tuple[Any, ...], density: Density) -> list[float]:
    """Return the share of numbers that go to each value."""
    found = dict.fromkeys(values, 0.0)
    for low, high, parts in _intervals(values, density):
        up = (float(parts.first) - float(low) * float(parts.mass)) / float(high - low)
        found[high] += up
        found[low] += float(parts.mass) - up
    found[values[0]] += float(density.parts(None, values[0]).mass)
    found[values[-1]] += float(density.parts(values[-1], None).mass)
    return list(found.values())
