"""Operations on single numbers: sums, products, reciprocals, extrema, comparisons, classes and neighbours, each projected once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu.arrays.values import Codes, to_codes
from emu.base.errors import OperandError, ShapeError
from emu.engines.run import run_operate
from emu.spec import get
from emu.spec.models import Format, Policy, Rounding
from emu.spec.operations import OPERATIONS, result_of


def operate(
    name: str,
    *operands: Any,
    formats: str | Format | Sequence[str | Format] | None = None,
    to: str | Format | None = None,
    rounding: str | Rounding = "rne",
    policy: str | Policy = "p3109_sat_none",
    engine: str = "auto",
) -> NDArray[Any]:
    """Operate on numbers as the IEEE P3109 draft defines it: the exact result, then one rounding, saturation and encoding.

    name: convert, negate, abs, recip, add, subtract, multiply, fma, faa; minimum, maximum and their kinds (minimum_number,
    minimum_magnitude, minimum_magnitude_number, minimum_finite, ...); scaled_add, scaled_subtract, scaled_multiply, whose
    operands are scale, number, scale, number; compare_less, compare_less_equal, compare_equal, compare_greater,
    compare_greater_equal; is_zero, is_one, is_nan, is_infinite, is_finite, is_sign_minus, is_normal, is_subnormal;
    next_greater_than, next_less_than.
    operands: integer codes, or NumPy arrays of a float dtype; shapes that broadcast.
    formats: of codes: one for all operands, or one for each.
    to: format of a number; without it the operands' common format.   rounding: one that draws nothing.   policy: saturation and NaN;
    binary16, bfloat16 and binary32 are results under the policy ieee.
    Zero has no sign: -0 is read as 0, and what rounds to zero is +0. A comparison with NaN is False.
    Returns: codes of `to` (of the operand's format for a neighbour), or truth values; the broadcast shape.
    Exactness: every engine equals emu.engines.exact.operate bit for bit.
    Raises: OperandError (unknown name, number of operands, no float format, a wide format or one without NaN for neighbours), ShapeError,
    SpecError (no entry of the policy), OpenError, EngineError.
    Source: IEEE P3109 interim report 4.0, 4.5, 4.10 to 4.16, 5.5.   Tests: tests/engines/together/test_differential_operations.py.
    """
    given = formats_of(name, operands, formats)
    codes, sources = _read(name, operands, given)
    target, how = result_of(name, sources, to, rounding)
    return run_operate(name, codes, sources, target, how, get("policy", policy), engine)


def formats_of(name: str, operands: Sequence[Any], formats: Any) -> list[Any]:
    """Return the format that is named for each operand, None where none is. Raises: OperandError (unknown name, numbers of them)."""
    operation = OPERATIONS.get(name)
    if operation is None:
        raise OperandError(f"operation {name!r} is unknown: one of {', '.join(OPERATIONS)}")
    if len(operands) != operation.operands:
        what = "scale, number, scale, number" if operation.scaled else f"{operation.operands}"
        raise OperandError(f"operation {name} takes {operation.operands} operands ({what}), not {len(operands)}")
    given = list(formats) if isinstance(formats, list | tuple) else [formats] * len(operands)
    if len(given) != len(operands):
        raise OperandError(f"operation {name} has {len(operands)} operands and {len(given)} formats: name one for all, or one for each")
    return given


def _read(name: str, operands: Sequence[Any], formats: Sequence[Any]) -> tuple[list[Codes], list[Format]]:
    """Return the operands' codes, of one shape, and their formats."""
    for x, fmt in zip(operands, formats, strict=True):
        if fmt is None and np.asarray(x).dtype.kind in "iu":
            raise OperandError(f"operation {name}: integers are codes: say their formats")
    pairs = [to_codes(np.asarray(x) if isinstance(x, int) else x, fmt, "formats") for x, fmt in zip(operands, formats, strict=True)]
    try:
        shape = np.broadcast_shapes(*(codes.shape for codes, _ in pairs))
    except ValueError as exc:
        raise ShapeError(f"operation {name}: shapes {', '.join(str(codes.shape) for codes, _ in pairs)} do not broadcast") from exc
    return [np.array(np.broadcast_to(codes, shape)) for codes, _ in pairs], [fmt for _, fmt in pairs]
