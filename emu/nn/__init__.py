"""Layers whose three matrix products are quantized as a training recipe of the spec says.

Files: layers.py (QuantLinear, set_step), experts.py (Experts, QuantExperts), convert.py (convert_model, capture), unquantized.py (the
products that no layer here makes), products.py (the three products, registered with torch), datapath.py (products of codes), operand.py
(one operand), draws.py (random words), collector.py (what capture collects). Names are loaded on first use: importing this needs no torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from emu.nn.collector import Captured
    from emu.nn.convert import capture, convert_model
    from emu.nn.experts import Experts, QuantExperts
    from emu.nn.layers import QuantLinear, set_step
    from emu.nn.unquantized import Product, unquantized_products

_NAMES = {
    "Captured": "collector",
    "Experts": "experts",
    "Product": "unquantized",
    "QuantExperts": "experts",
    "QuantLinear": "layers",
    "capture": "convert",
    "convert_model": "convert",
    "set_step": "layers",
    "unquantized_products": "unquantized",
}

__all__ = [
    "Captured", "Experts", "Product", "QuantExperts", "QuantLinear", "capture", "convert_model", "set_step", "unquantized_products",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    """Return a public name, importing torch. Raises: EngineError where torch is not installed."""
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from emu.engines.torch.present import need_torch

    need_torch()
    return getattr(import_module(f"{__name__}.{_NAMES[name]}"), name)


def __dir__() -> list[str]:
    """List the public names."""
    return __all__
