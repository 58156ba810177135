"""Matrix products of instructions: logical matrices of codes through the datapath that the form names.

Not here: how a datapath sums (emu.dot), and which thread of a warp holds which element.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from emu.arrays.values import Codes, plain_array
from emu.base.errors import OperandError, ShapeError
from emu.ops import dot
from emu.spec.datapath import DatapathPlan, resolve
from emu.spec.models.instruction import InstructionFacts


def plan_of(facts: InstructionFacts) -> DatapathPlan:
    """Return the datapath of a form with its operands chosen. Raises: OpenError (an unknown datapath)."""
    assert facts.datapath
    return resolve(facts.datapath, facts.a, facts.b, facts.scale_format, facts.block)


def operand_names(facts: InstructionFacts) -> tuple[str, ...]:
    """Return the names of the operands in the order of a call."""
    return ("a", "b", *(("a_scales", "b_scales") if plan_of(facts).block else ()), "c")


def execute(facts: InstructionFacts, operands: dict[str, Any], mnemonic: str, engine: str) -> Codes:
    """Return D[m][n], raw codes of the datapath's result format.

    operands: a [m, k], b [n, k], their scales [m, k / block] and [n, k / block], c [m, n] or None for +0. Fewer rows may be given.
    Raises: OperandError (dtype, codes too wide), ShapeError, OpenError (an accumulator that overflows; an open bit), EngineError.
    """
    plan = plan_of(facts)
    a, b = _matrix(operands["a"], "a", facts.k), _matrix(operands["b"], "b", facts.k)
    for name, matrix, limit in (("a", a, facts.m), ("b", b, facts.n)):
        if limit is not None and len(matrix) > limit:
            raise ShapeError(f"{mnemonic}: {name} has {len(matrix)} rows, the instruction takes {limit}")
    scales: list[Any] = [None, None]
    if plan.block:
        count = plan.facts.k // plan.block
        scales = [_matrix(operands[name], name, count) for name in ("a_scales", "b_scales")]
        for name, matrix, given in zip(("a_scales", "b_scales"), (a, b), scales, strict=True):
            if len(given) != len(matrix):
                raise ShapeError(f"{mnemonic}: {name} has {len(given)} rows, its matrix {len(matrix)}")
        scales = [scales[0][:, None, :], scales[1][None, :, :]]
    found: Codes = dot(
        a[:, None, :],
        b[None, :, :],
        plan.datapath,
        a_scales=scales[0],
        b_scales=scales[1],
        c=_addend(operands.get("c"), (len(a), len(b)), mnemonic),
        a_format=plan.a,
        b_format=plan.b,
        scale_format=plan.scale,
        engine=engine,
    )
    return found


def _matrix(value: Any, name: str, columns: int | None) -> Codes:
    array = _codes(value, name)
    if array.ndim != 2 or array.shape[1] != columns:
        raise ShapeError(f"{name} must be a matrix with {columns} codes in a row, not of shape {array.shape}")
    return array


def _codes(value: Any, name: str) -> Codes:
    array = plain_array(value, name)
    if array.dtype.kind not in "iu" or (array.size and int(array.min()) < 0):
        raise OperandError(f"{name} must be raw codes: unsigned integers")
    return array.astype(np.uint64)


def _addend(value: Any, shape: tuple[int, int], mnemonic: str) -> Codes | None:
    if value is None:
        return None
    array = _codes(value, "c")
    if array.shape != shape:
        raise ShapeError(f"{mnemonic}: c must have the shape {shape} of the result, not {array.shape}")
    return array
