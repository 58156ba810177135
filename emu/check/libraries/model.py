"""A kernel of another library: which contract it is compared with and how it is called. Not here: the kernels (one file per library)."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from emu.base.errors import ToolError
from emu.check.model import Target


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
