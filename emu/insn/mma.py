"""Matrix products of instructions: logical matrices of codes through the datapath that the form names.

Not here: how a datapath sums (emu.exact.datapath and the other columns), and which thread of a warp holds which element.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from emu.arrays import Codes, plain_array
from emu.errors import OperandError, ShapeError
from emu.exact.datapath import dot
from emu.fast.convert import code_dtype
from emu.spec.datapath import Plan, resolve
from emu.spec.models.instruction import InstructionFacts


def plan_of(facts: InstructionFacts) -> Plan:
    """Return the datapath of a form with its operands chosen. Raises: OpenError (an unknown datapath)."""
    assert facts.datapath
    return resolve(facts.datapath, facts.a, facts.b, facts.scale_format, facts.block)


def operand_names(facts: InstructionFacts) -> tuple[str, ...]:
    """Return the names of the operands in the order of a call."""
    return ("a", "b", *(("a_scales", "b_scales") if plan_of(facts).block else ()), "c")


def execute(facts: InstructionFacts, operands: dict[str, Any], mnemonic: str, engine: str) -> Codes:
    """Return D[m][n], raw codes of the datapath's result format.

    operands: a [m, k], b [n, k], their scales [m, k / block] and [n, k / block], c [m, n] or None for +0. Fewer rows may be given.
    Raises: OperandError (dtype, codes too wide), ShapeError, OpenError (an accumulator that overflows; an open bit).
    """
    plan = plan_of(facts)
    a, b = _matrix(operands["a"], "a", facts.k), _matrix(operands["b"], "b", facts.k)
    for name, rows, limit in (("a", len(a), facts.m), ("b", len(b), facts.n)):
        if limit is not None and rows > limit:
            raise ShapeError(f"{mnemonic}: {name} has {rows} rows, the instruction takes {limit}")
    count = (facts.k or 0) // plan.block if plan.block else 0
    scales = [_matrix(operands[name], name, count) if plan.block else None for name in ("a_scales", "b_scales")]
    for name, matrix, other in (("a_scales", scales[0], a), ("b_scales", scales[1], b)):
        if matrix is not None and len(matrix) != len(other):
            raise ShapeError(f"{mnemonic}: {name} has {len(matrix)} rows, its matrix {len(other)}")
    c = _addend(operands.get("c"), (len(a), len(b)), mnemonic)
    found = [
        dot(row, column, scales[0][i] if scales[0] else [], scales[1][j] if scales[1] else [], c[i][j], plan).code
        for i, row in enumerate(a)
        for j, column in enumerate(b)
    ]
    return np.array(found, code_dtype(plan.d)).reshape(len(a), len(b))


def _matrix(value: Any, name: str, columns: int | None) -> list[list[int]]:
    array = plain_array(value, name)
    if array.dtype.kind not in "iu":
        raise OperandError(f"{name} must be raw codes: unsigned integers")
    if array.ndim != 2 or array.shape[1] != columns:
        raise ShapeError(f"{name} must be a matrix with {columns} codes in a row, not of shape {array.shape}")
    rows: list[list[int]] = array.tolist()
    return rows


def _addend(value: Any, shape: tuple[int, int], mnemonic: str) -> list[list[int]]:
    if value is None:
        return np.zeros(shape, np.int64).tolist()
    array = plain_array(value, "c")
    if array.dtype.kind not in "iu":
        raise OperandError("c must be raw codes: unsigned integers")
    if array.shape != shape:
        raise ShapeError(f"{mnemonic}: c must have the shape {shape} of the result, not {array.shape}")
    rows: list[list[int]] = array.tolist()
    return rows
