"""Hypothesis strategies of codes, blocks, operands and spec objects; edge values come up often.

A code is an unsigned integer of its format, as everywhere in emu; arrays are NumPy arrays of codes. They shrink towards code 0.
Names are loaded when they are first used: those of points.py need no Hypothesis.
Not here: rows with a known answer (emu.vectors), what the operations must give (emu.engines.exact).
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from emu.strategies.directed import Tensor, near_element_ties, near_scale_boundaries, scale_values, tensors, with_maxima
    from emu.strategies.kinds import blocks, draws_random, tensor_maxima
    from emu.strategies.numbers import codes, near_ties, random_operands
    from emu.strategies.objects import MODES, formats, modes, policies, specs
    from emu.strategies.points import codes_near, decision_points, decision_sample, edge_codes, element_maximum, is_finite_code
    from emu.strategies.questions import operands

_NAMES = {
    "points": ("codes_near", "decision_points", "decision_sample", "edge_codes", "element_maximum", "is_finite_code"),
    "numbers": ("codes", "near_ties", "random_operands"),
    "kinds": ("blocks", "draws_random", "tensor_maxima"),
    "directed": ("Tensor", "near_element_ties", "near_scale_boundaries", "scale_values", "tensors", "with_maxima"),
    "questions": ("operands",),
    "objects": ("MODES", "formats", "modes", "policies", "specs"),
}


def __getattr__(name: str) -> Any:
    """Return a strategy by name. Raises: ToolError (Hypothesis is not installed), AttributeError."""
    from emu.base.errors import ToolError

    for module, names in _NAMES.items():
        if name in names:
            try:
                return getattr(import_module(f"emu.strategies.{module}"), name)
            except ModuleNotFoundError as error:
                raise ToolError(f"emu.strategies.{name} needs {error.name}: pip install {error.name}") from error
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    "MODES",
    "Tensor",
    "blocks",
    "codes",
    "codes_near",
    "decision_points",
    "decision_sample",
    "draws_random",
    "edge_codes",
    "element_maximum",
    "formats",
    "is_finite_code",
    "modes",
    "near_element_ties",
    "near_scale_boundaries",
    "near_ties",
    "operands",
    "policies",
    "random_operands",
    "scale_values",
    "specs",
    "tensor_maxima",
    "tensors",
    "with_maxima",
]
