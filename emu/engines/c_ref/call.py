"""How the binding calls C: arrays in the width of their format, their addresses, and what an error number means."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from emu.base.errors import EmuError, EngineError, OpenError, OperandError, ShapeError, SpecError
from emu.engines.c_ref._c import ffi, lib
from emu.spec import derive
from emu.spec.models import Format

Codes = NDArray[np.unsignedinteger]

ERRORS: Final[dict[int, tuple[type[EmuError], str]]] = {
    lib.EMU_ERROR_FORMAT: (EngineError, "the C reference cannot use the format this way: use engine='exact'"),
    lib.EMU_ERROR_ROUNDING: (EngineError, "the C reference does not have this rounding: use engine='exact'"),
    lib.EMU_ERROR_POLICY: (SpecError, "the policy does not fit the format"),
    lib.EMU_ERROR_CODE: (OperandError, "a code has more bits than its format"),
    lib.EMU_ERROR_RANDOM: (OperandError, "random is missing, unwanted, or too wide for the rounding"),
    lib.EMU_ERROR_GRID: (OperandError, "a value is not a value of the result format: name a wider one"),
    lib.EMU_ERROR_OPEN: (OpenError, "what a code means is open"),
    lib.EMU_ERROR_REFUSED: (OperandError, "the policy refuses an element"),
    lib.EMU_ERROR_PROGRAM: (EngineError, "the program passes a limit of the C reference: use engine='exact'"),
    lib.EMU_ERROR_DATAPATH: (EngineError, "the datapath passes a limit of the C reference: use engine='exact'"),
    lib.EMU_ERROR_OVERFLOW: (OpenError, "the accumulator overflows"),
    lib.EMU_ERROR_LAYOUT: (SpecError, "the digits of the layout do not follow on one another"),
    lib.EMU_ERROR_SHAPE: (ShapeError, "the arrays do not fit one another, or the tail rule forbids the length"),
}


def code_dtype(fmt: Format) -> type[np.unsignedinteger]:
    """Return the unsigned dtype of a format's codes: 8, 16, 32 or 64 bits."""
    bits = derive.codes(fmt).bits + derive.unused_high_bits(fmt)
    return np.uint8 if bits <= 8 else np.uint16 if bits <= 16 else np.uint32 if bits <= 32 else np.uint64


def flat(codes: Codes, fmt: Format) -> Codes:
    """Return codes flat in the dtype of their format. Raises: OperandError (no unsigned integers, a code that this dtype does not hold)."""
    return in_width(codes, fmt).reshape(-1)


def in_width(codes: Codes, fmt: Format) -> Codes:
    """Return codes contiguous in the dtype of their format, same shape. Raises: as flat."""
    array, width = np.ascontiguousarray(unsigned(codes)), code_dtype(fmt)
    if array.dtype == width:
        return array
    if array.dtype.itemsize > np.dtype(width).itemsize and array.size and int(array.max()) > np.iinfo(width).max:
        raise OperandError(f"{fmt.id}: {ERRORS[lib.EMU_ERROR_CODE][1]}")
    return array.astype(width)


def unsigned(codes: Codes) -> Codes:
    """Return the array itself. Raises: OperandError when it is no array of unsigned integers."""
    if not isinstance(codes, np.ndarray) or codes.dtype.kind != "u":
        raise OperandError("codes and random are NumPy arrays of unsigned integers")
    return codes


def address(kind: str, array: NDArray[Any]) -> Any:
    """Return the C pointer of an array's memory; the array must outlive it."""
    return ffi.from_buffer(kind, array)


def matrix(array: NDArray[Any], is_open: NDArray[np.uint8] | None = None) -> dict[str, Any]:
    """Return the fields of an emu_matrix over a contiguous array of two dimensions; both arrays must outlive it."""
    rows, columns = array.shape
    marks = ffi.NULL if is_open is None else address("uint8_t[]", is_open)
    return {"codes": address("char[]", array), "bytes": array.itemsize, "rows": rows, "columns": columns, "open": marks}


def check(error: int, what: str) -> None:
    """Raise what an error number of the C reference means; 0 means nothing."""
    if error:
        kind, why = ERRORS.get(error, (EngineError, f"error {error} of the C reference"))
        raise kind(f"{what}: {why}")
