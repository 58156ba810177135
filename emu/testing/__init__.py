"""Help for tests, of this project and of a user's own kernels and spec files.

check, its kin and conforms hold a kernel to a contract (conformance.py); identify_matmul says how a product adds; the pytest plugin
collects what is decorated (plugin.py); strategies of Hypothesis are in emu.strategies. Names are loaded when first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from emu import strategies
    from emu.identify.matmul.run import identify_matmul
    from emu.testing.conformance import (
        check,
        check_attention,
        check_cache,
        check_invariance,
        check_matmul,
        conforms,
        scores_product,
        values_product,
    )

_CHECKS = ("check", "check_attention", "check_cache", "check_invariance", "check_matmul", "conforms", "scores_product", "values_product")
_NAMES = dict.fromkeys(_CHECKS, "emu.testing.conformance") | {"identify_matmul": "emu.identify.matmul.run"}


def __getattr__(name: str) -> Any:
    """Return a check, conforms, identify_matmul or the module strategies. Raises: AttributeError."""
    if name in _NAMES:
        return getattr(import_module(_NAMES[name]), name)
    if name == "strategies":
        return import_module("emu.strategies")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "check", "check_attention", "check_cache", "check_invariance", "check_matmul", "conforms", "identify_matmul", "scores_product",
    "strategies", "values_product",
]  # fmt: skip
