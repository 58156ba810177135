"""Check of the floating-point environment of torch: flushed subnormals or another rounding mode are refused, on the device in use."""

from __future__ import annotations

import torch

from emu.base.errors import EngineError

_LEFT = (0x00000001, 0x00800000, 0x3F800000, 0x3F800000, 0xBF800000 - (1 << 32))
_RIGHT = (0x3F800000, 0x3F000000, 0x33800000, 0x33800001, 0xB3800001 - (1 << 32))
_FOUND = (0x00000001, 0x00400000, 0x3F800000, 0x3F800001, 0xBF800001 - (1 << 32))


def check_environment(device: torch.device | str = "cpu") -> None:
    """Refuse to compute when subnormals are flushed or sums are not rounded to nearest even.

    Two products of binary32 numbers are subnormal, three sums lie around half an ulp of 1.   Raises: EngineError.
    """
    left, right = (torch.tensor(bits, dtype=torch.int32, device=device).view(torch.float32) for bits in (_LEFT, _RIGHT))
    found = torch.cat([left[:2] * right[:2], left[2:] + right[2:]]).view(torch.int32).tolist()
    if found[:2] != list(_FOUND[:2]):
        raise EngineError("torch flushes subnormals to zero here: torch.set_flush_denormal(False), or use engine='exact'")
    if found[2:] != list(_FOUND[2:]):
        raise EngineError("torch does not round to nearest even here: restore the rounding mode, or use engine='exact'")
