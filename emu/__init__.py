"""Bit-exact emulation of 4-bit number formats and block scaling: what must come out, to the last bit.

Names are loaded when they are first used: `import emu` loads no NumPy. Objects of the spec come from `emu.spec`: `emu.spec.get("format",
"e2m1")`, `emu.spec.names("recipe")`.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec, PathFinder
from importlib.util import module_from_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from emu.base import forks as _forks  # noqa: F401  from here on a fork waits for other threads' imports

__version__ = "0.1.0"

_HOME = {
    "amax": "emu.ops.functions",
    "convert": "emu.ops.functions",
    "decode": "emu.ops.functions",
    "dequantize": "emu.ops.functions",
    "pack": "emu.ops.functions",
    "quantize": "emu.ops.functions",
    "transform": "emu.ops.functions",
    "unpack": "emu.ops.functions",
    "from_layout": "emu.ops.layout",
    "to_layout": "emu.ops.layout",
    "dot": "emu.ops",
    "matmul": "emu.ops",
    "Order": "emu.ops",
    "instruction": "emu.ops.instruction",
    "operate": "emu.ops.operations",
    "query": "emu.ops.queries",
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
_MODULES = ("nn", "spec", "strategies", "testing", "torch")

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
    "convert",
    "decode",
    "dequantize",
    "dot",
    "from_layout",
    "instruction",
    "load_spec",
    "matmul",
    "operate",
    "pack",
    "quantize",
    "query",
    "to_layout",
    "transform",
    "unpack",
]

if TYPE_CHECKING:
    from emu import spec as spec
    from emu import strategies as strategies
    from emu import testing as testing
    from emu import torch as torch
    from emu.base.errors import EmuError, EngineError, FileError, OpenError, OperandError, ShapeError, SpecError
    from emu.ops import Order, dot, matmul
    from emu.ops.functions import amax, convert, decode, dequantize, pack, quantize, transform, unpack
    from emu.ops.instruction import instruction
    from emu.ops.layout import from_layout, to_layout
    from emu.ops.operations import operate
    from emu.ops.quantized import Level, Quantized
    from emu.ops.queries import query
    from emu.spec import load_spec


def _installed(here: Path) -> ModuleSpec | None:
    """Return where an emu other than this folder would be loaded from."""
    elsewhere = [entry for entry in sys.path if Path(entry, "emu").resolve() != here]
    for finder in sys.meta_path:
        found = finder.find_spec("emu", elsewhere if finder is PathFinder else None)
        if found is not None and found.origin is not None and Path(found.origin).resolve().parent != here:
            return found
    return None


def _step_aside() -> None:
    """In a source folder whose C parts were never compiled, load the installed emu in its place: the folder hides it from the search.

    Raises: ImportError (there is none).
    """
    here = Path(__file__).resolve().parent
    if any((here / "engines" / "c_ref" / f"_c{suffix}").is_file() for suffix in EXTENSION_SUFFIXES):
        return
    found = _installed(here)
    if found is None or found.loader is None:
        raise ImportError(f"emu: {here} is source whose C parts are not compiled, and no other emu is installed: pip install {here.parent}")
    module = module_from_spec(found)
    sys.modules["emu"] = module  # what `import emu` gives
    found.loader.exec_module(module)


_step_aside()


def __getattr__(name: str) -> Any:
    """Return a public name or package, importing its module on first use. Raises: AttributeError."""
    if name in _MODULES:
        return import_module(f"emu.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'emu' has no attribute {name!r}")
    found = getattr(import_module(_HOME[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    """Return the public names."""
    return sorted([*__all__, *_MODULES, "__version__"])
