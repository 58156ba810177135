"""All kernels of other libraries, by name."""

from __future__ import annotations

import difflib
from typing import Final

from emu.base.errors import OperandError
from emu.check.libraries.model import Kernel, load

LIBRARIES: Final = (
    "amd_quark",
    "apytypes",
    "compressed_tensors",
    "fouroversix",
    "gfloat",
    "gguf",
    "microxcaling",
    "ml_dtypes",
    "modelopt",
    "onnx",
    "pychop",
    "qtorch",
    "qtorch_plus",
    "torch",
    "torchao",
    "transformer_engine",
)


def kernels(library: str | None = None) -> tuple[Kernel, ...]:
    """Return the kernels of a library, or all. Raises: OperandError (unknown library)."""
    if library is not None and library not in LIBRARIES:
        raise OperandError(f"foreign: library {library!r} is unknown: one of {', '.join(LIBRARIES)}")
    chosen = LIBRARIES if library is None else (library,)
    return tuple(kernel for name in chosen for kernel in load(f"emu.check.libraries.lib_{name}").KERNELS)


def find(name: str) -> Kernel:
    """Return a kernel by name, such as "torchao.nvfp4". Raises: OperandError with the nearest names."""
    library = name.partition(".")[0]
    among = kernels(library if library in LIBRARIES else None)
    for kernel in among:
        if kernel.id == name:
            return kernel
    near = difflib.get_close_matches(name, [kernel.id for kernel in among], n=3) or [kernel.id for kernel in among[:6]]
    raise OperandError(f"foreign:{name}: no such kernel: {', '.join(near)}")
