"""The torch engine: convert, operate, transform, quantize, dequantize, dot and matmul on tensors, CPU and CUDA, bit for bit.

Files: conversion.py (decode, convert), rotation.py (RHT), block.py (quantize, dequantize), datapath.py (dot, matmul); beside them what
they share. The functions of this package are api.py's, loaded on first use: `import emu.torch` needs no torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from emu.torch.api import convert, decode, dequantize, dot, from_layout, matmul, operate, quantize, to_layout, transform

__all__ = ["convert", "decode", "dequantize", "dot", "from_layout", "matmul", "operate", "quantize", "to_layout", "transform"]


def __getattr__(name: str) -> Any:
    """Return a public function, importing torch. Raises: EngineError where torch is not installed."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from emu.engines.torch.present import need_torch

    need_torch()
    from emu.torch import api

    return getattr(api, name)


def __dir__() -> list[str]:
    """List the public functions."""
    return __all__
