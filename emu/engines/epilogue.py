"""What follows the sum: scales of tensors and rows, the factor of the blocks, and C.

Each engine has two operations, a product of two numbers and alpha * D + C; here they are put in the order of the facts. The reference model
does the whole of it for each output.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from emu.arrays.values import Codes
from emu.engines.datapath import run_alpha, run_epilogue
from emu.engines.table import choose
from emu.spec.datapath import DatapathPlan
from emu.spec.models.levels import EpilogueFacts


def run_scales(
    d: Codes,
    scale_a: Codes | None,
    scale_b: Codes | None,
    c: Codes | None,
    factor: Fraction,
    rules: EpilogueFacts,
    plan: DatapathPlan,
    engine: str,
) -> Codes:
    """Return the sums times the scales of tensors or rows, then + C.

    d, c: [M, N] codes; c None: nothing to add.   scale_a: binary32 codes, [1] of the tensor or [M], one for each row of A; None: no such
    scale.   scale_b: likewise [1] or [N]. One of them is there.   factor: exact product of both blocks' factors; where the rules say that
    it stands apart the scales are the stored ones.   Raises: as the engines.
    """
    if choose("dot", engine, plan) == "exact":
        return _by_exact(d, scale_a, scale_b, c, factor, rules, plan)
    first = rules.model_copy(update={"d": rules.alpha})  # every multiplication but the last
    if rules.factor == "sum_first":
        d = run_epilogue(d, _constant(factor, rules, plan), None, first, plan, engine)
    if rules.scales == "together" or (rules.scales == "together_or_a_first" and _single(scale_a, scale_b)):
        alpha, axis = _together(scale_a, scale_b, factor, rules, plan, engine)
        return _times(d, alpha, axis, c, rules, plan, engine)
    sides = [(scales, axis) for axis, scales in enumerate((scale_a, scale_b)) if scales is not None]
    *before, last = sides[::-1] if rules.scales == "b_first" else sides
    for scales, axis in before:
        d = _times(d, scales, axis, None, first, plan, engine)
    return _times(d, *last, c, rules, plan, engine)


def _single(scale_a: Codes | None, scale_b: Codes | None) -> bool:
    """Tell whether one of the operands has a single scale, or none."""
    return any(scales is None or len(scales) == 1 for scales in (scale_a, scale_b))


def _by_exact(
    d: Codes, scale_a: Codes | None, scale_b: Codes | None, c: Codes | None, factor: Fraction, rules: EpilogueFacts, plan: DatapathPlan
) -> Codes:
    from emu.engines.exact.epilogue import scaled

    sides = [
        [None if scales is None else int(scales[number % len(scales)]) for number in range(size)]
        for scales, size in zip((scale_a, scale_b), d.shape, strict=True)
    ]
    out, single = np.empty_like(d), _single(scale_a, scale_b)
    for i, j in np.ndindex(d.shape):
        addend = None if c is None else int(c[i, j])
        out[i, j] = scaled(int(d[i, j]), sides[0][i], sides[1][j], single, factor, addend, rules, plan)
    return out


def _constant(factor: Fraction, rules: EpilogueFacts, plan: DatapathPlan) -> int:
    from emu.engines.exact.epilogue import factor_code

    return factor_code(factor, rules, plan)


def _together(
    scale_a: Codes | None, scale_b: Codes | None, factor: Fraction, rules: EpilogueFacts, plan: DatapathPlan, engine: str
) -> tuple[Codes, int]:
    """Return alpha, [1] or one for each row or column, and the axis along which it lies."""
    from emu.engines.exact.encode import code_of_one

    one = np.array([code_of_one(plan.d)], np.uint32)
    left, right = (one if scales is None else scales for scales in (scale_a, scale_b))
    axis = int(len(right) > 1)
    many, single = (right, left) if axis else (left, right)
    assert len(single) == 1, "scales of rows of both operands have an order: the caller asks for it"
    alpha = _products(many, int(single[0]), rules, plan, engine)
    if rules.factor == "alpha_last":
        alpha = _products(alpha, _constant(factor, rules, plan), rules, plan, engine)
    return alpha, axis


def _products(codes: Codes, by: int, rules: EpilogueFacts, plan: DatapathPlan, engine: str) -> Codes:
    """Return each number times one, rounded as alpha is."""
    known, places = np.unique(codes, return_inverse=True)
    found = np.array([run_alpha(int(code), by, rules, plan, engine) for code in known], codes.dtype)
    return found[places.reshape(-1)]


def _times(d: Codes, scales: Codes, axis: int, c: Codes | None, rules: EpilogueFacts, plan: DatapathPlan, engine: str) -> Codes:
    """Return the sums times one scale, or one for each row, then + C. axis: 0 rows of A, 1 columns of B."""
    if len(scales) == 1:
        return run_epilogue(d, int(scales[0]), c, rules, plan, engine)
    d, c = (d, c) if axis == 0 else (d.T, None if c is None else c.T)
    out = np.empty_like(d)
    for code in np.unique(scales):
        rows = scales == code
        out[rows] = run_epilogue(
            np.ascontiguousarray(d[rows]), int(code), None if c is None else np.ascontiguousarray(c[rows]), rules, plan, engine
        )
    return np.ascontiguousarray(out if axis == 0 else out.T)
