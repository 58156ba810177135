"""Bit-exact emulation of 4-bit number formats and block scaling: what must come out, to the last bit.

Names are loaded when they are first used: `import emu` loads no NumPy.
"""

from __future__ import annotations

from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_FUNCTIONS = {
    "decode": "emu.ops.functions",
    "convert": "emu.ops.functions",
    "amax": "emu.ops.functions",
    "quantize": "emu.ops.functions",
    "transform": "emu.ops.functions",
    "dot": "emu.ops",
    "matmul": "emu.ops",
    "Order": "emu.ops",
    "instruction": "emu.ops.instruction",
    "Quantized": "emu.ops.quantized",
    "Level": "emu.ops.quantized",
    "load_spec": "emu.spec",
    "EmuError": "emu.base.errors",
    "SpecError": "emu.base.errors",
    "OpenError": "emu.base.errors",
    "ShapeError": "emu.base.errors",
    "OperandError": "emu.base.errors",
    "EngineError": "emu.base.errors",
    "FileError": "emu.base.errors",
}
_KINDS = ("format", "rounding", "policy", "block", "recipe", "datapath", "training")

__all__ = [
    "EmuError",
    "EngineError",
    "FileError",
    "Level",
    "OpenError",
    "OperandError",
    "Order",
    "Quantized",
    "ShapeError",
    "SpecError",
    "amax",
    "block",
    "blocks",
    "policy",
    "conversions",
    "convert",
    "datapath",
    "datapaths",
    "decode",
    "dot",
    "format",
    "formats",
    "instruction",
    "instructions",
    "load_spec",
    "matmul",
    "quantize",
    "recipe",
    "recipes",
    "rounding",
    "roundings",
    "training",
    "trainings",
    "transform",
    "transforms",
]

if TYPE_CHECKING:
    from emu.base.errors import EmuError, EngineError, FileError, OpenError, OperandError, ShapeError, SpecError
    from emu.ops import Order, dot, matmul
    from emu.ops.functions import amax, convert, decode, quantize, transform
    from emu.ops.instruction import instruction
    from emu.ops.quantized import Level, Quantized
    from emu.spec import load_spec

    block: Any
    blocks: Any
    conversion: Any
    conversions: Any
    datapath: Any
    datapaths: Any
    format: Any
    formats: Any
    instructions: Any
    recipe: Any
    recipes: Any
    rounding: Any
    roundings: Any
    training: Any
    trainings: Any
    transforms: Any


def __getattr__(name: str) -> Any:
    """Return a public name, importing its module on first use."""
    if name in _FUNCTIONS:
        found = getattr(import_module(_FUNCTIONS[name]), name)
    elif name in _KINDS:
        found = partial(import_module("emu.spec").get, name)
    elif name.endswith("s") and name[:-1] in (*_KINDS, "transform", "instruction"):
        found = partial(import_module("emu.spec").names, name[:-1])
    else:
        raise AttributeError(f"module 'emu' has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted([*__all__, "__version__"])
