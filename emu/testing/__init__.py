"""Help for tests, of this project and of a user's own kernels and spec files.

check, check_matmul and conforms hold a kernel to a contract (conformance.py); the pytest plugin collects what is decorated (plugin.py);
strategies of Hypothesis are in emu.strategies. Also here: mutants of a spec and digests of what it means. Names are loaded when they are
first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from emu import strategies
    from emu.testing.conformance import check, check_matmul, conforms

_NAMES = dict.fromkeys(("check", "check_matmul", "conforms"), "emu.testing.conformance")


def __getattr__(name: str) -> Any:
    """Return check, check_matmul, conforms or the module strategies. Raises: AttributeError."""
    if name in _NAMES:
        return getattr(import_module(_NAMES[name]), name)
    if name == "strategies":
        return import_module("emu.strategies")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = ["check", "check_matmul", "conforms", "strategies"]
