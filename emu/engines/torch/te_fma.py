"""The software stochastic rounder: one binary32 fma adds random * ulp / 2^bits to the magnitude, then the sum is cut to the grid."""

from __future__ import annotations

import torch

from emu.engines.torch.arithmetic import add, fp32
from emu.engines.torch.numbers import Number
from emu.engines.torch.round import Position, TargetGrid, decode_unbounded, exponent_of, goes_up, grid_of, locate
from emu.spec.models import Format, Rounding
from emu.spec.registry import get


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
