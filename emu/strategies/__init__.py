"""Hypothesis strategies of codes, blocks, operands and spec objects; edge values come up often.

A code is an unsigned integer of its format, as everywhere in emu; arrays are NumPy arrays of codes. They shrink towards code 0.
Not here: rows with a known answer (emu.vectors), what the operations must give (emu.exact).
"""

from __future__ import annotations

from emu.strategies.blocks import blocks, draws_random, tensor_maxima
from emu.strategies.codes import (
    codes,
    codes_near,
    decision_points,
    edge_codes,
    element_maximum,
    is_finite_code,
    near_ties,
    random_operands,
)
from emu.strategies.directed import (
    Tensor,
    near_element_ties,
    near_scale_boundaries,
    scale_values,
    tensors,
    with_maxima,
)
from emu.strategies.operands import operands
from emu.strategies.specs import MODES, formats, modes, policies, specs

__all__ = [
    "MODES",
    "Tensor",
    "blocks",
    "codes",
    "codes_near",
    "decision_points",
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
