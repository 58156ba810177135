"""A kernel of another library: which contract it is compared with and how it is called. Not here: the kernels (one file per library)."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

import numpy as np

import emu
from emu.base.errors import OperandError, ToolError
from emu.check.model import Target
from emu.contracts.form import Bits


@dataclass(frozen=True)
class Library:
    """A distribution that kernels come from.

    name: first part of a kernel's name.   package: distribution.   needs: others that must be installed too.
    how: what to type to install it.   compiles: its first call compiles an extension, which takes minutes.
    """

    name: str
    package: str
    needs: tuple[str, ...] = ()
    how: str = ""
    compiles: bool = False

    @property
    def version(self) -> str | None:
        """The installed version; None where it or something that it needs is not installed."""
        try:
            for other in self.needs:
                version(other)
            return version(self.package)
        except PackageNotFoundError:
            return None

    def demand(self) -> str:
        """Return the version. Raises: ToolError with the command that installs it."""
        found = self.version
        if found is None:
            raise ToolError(f"foreign:{self.name}: {self.package} is not installed: {self.install}")
        return found

    @property
    def install(self) -> str:
        """The command that installs it."""
        return self.how or f"pip install -c constraints.txt {' '.join((*self.needs, self.package))}"


@dataclass(frozen=True)
class Kernel:
    """One callable of a library.

    name: without the library.   contract: what it is compared with.   call: the adapter, as emu.check.targets.python takes it.
    what: the call in the library's own terms.   claim: "same" where library or spec say so, "nearest" where no contract bears its name.
    note: how answers are read where the library has no codes.   options: of python_target.
    multiple: rows and columns that the kernel needs.   profile: dequantize profile for fake-quantized values.
    """

    library: Library
    name: str
    contract: str
    call: Callable[..., Any]
    what: str
    claim: str = "same"
    note: str = ""
    options: Mapping[str, Any] = field(default_factory=dict)
    multiple: tuple[int, int] = (1, 1)
    profile: str | None = None
    count: int | None = None

    @property
    def id(self) -> str:
        """The name with its library: torchao.nvfp4."""
        return f"{self.library.name}.{self.name}"

    def target(self, contract: str | None = None, **options: Any) -> Target:
        """Return the kernel as a target.

        contract: another one than its own that it is compared with.   options: of python_target, in place of its own.
        Raises: ToolError (the library is not installed).
        """
        from emu.check.targets.python import python_target

        self.library.demand()
        return python_target(self.call, contract or self.contract, name=f"foreign:{self.id}", **{**self.options, **options})


def load(module: str) -> Any:
    """Import a module of another library; adapters call it, so that nothing is imported before a kernel runs."""
    return importlib.import_module(module)


# Values of a narrow format to its codes, for libraries that answer values only. No rounding: a value off the grid has no code.
# Scales that are powers of two to E8M0 bytes, likewise.


NOTE = "answers values, read as the codes of the same value; NaN, Inf and values off the grid have no code and are read as 0x0"


def codes_of(values: Bits, format: str) -> Bits:  # noqa: A002
    """Return the codes of binary32 values. values: float32 [n].   format: id of at most 8 bits.   NaN and values off the grid: code 0."""
    fmt = emu.spec.get("format", format)
    every = np.arange(1 << fmt.facts.bits, dtype=np.uint8)
    known = {bits: code for code, bits in zip(every[::-1].tolist(), emu.decode(every[::-1], format).view(np.uint32).tolist(), strict=True)}
    distinct, where = np.unique(np.ascontiguousarray(values, np.float32).view(np.uint32), return_inverse=True)
    found = np.array([0 if _nan(bits) else known.get(bits, 0) for bits in distinct.tolist()], np.uint8)
    return found[where].reshape(values.shape)


def e8m0_of(scale: Bits) -> Bits:
    """Return the bytes of scales that are powers of two: the exponent field.

    scale: float32 [...].   Zero and what is below 2^-127 have no byte and are read as 0x00; Inf and NaN are 0xFF.
    """
    return (np.ascontiguousarray(scale, np.float32).view(np.uint32) >> np.uint32(23) & np.uint32(0xFF)).astype(np.uint8)


def _nan(bits: int) -> bool:
    return bits & 0x7FFFFFFF > 0x7F800000


# All kernels of other libraries, by name.


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
