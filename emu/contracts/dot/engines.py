"""The implementations of dot products beside the reference model that are present, each with the same interface."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

from emu.spec.datapath import DatapathPlan

MODULES: Final = {"numpy": "emu.engines.numpy.datapath", "c_ref": "emu.engines.c_ref.datapath", "native": "emu.engines.native.datapath"}


def dot_engines(plan: DatapathPlan) -> dict[str, Callable[..., Any]]:
    """Return engine -> dot(a, b, scale_a, scale_b, c, plan) of those that can do a plan."""
    found: dict[str, Callable[..., Any]] = {}
    for name, path in MODULES.items():
        try:
            module = import_module(path)
        except ImportError:  # not built
            continue
        if module.can_dot(plan):
            found[name] = module.dot
    return found
