"""Values and bits: NumPy arrays at the public functions, raw codes inside, and the checks of codes that every engine relies on.

Not here: what a recipe computes (emu.engines.exact, emu.engines.numpy), which engine does it (emu.engines), tensor files (emu.files).
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu.base.caches import bounded
from emu.base.errors import OpenError, OperandError
from emu.spec import derive, get
from emu.spec.ieee import BinaryFormat, binary_format, same_facts
from emu.spec.models import Datapath, Format
from emu.spec.models.levels import DatapathLevels

Codes = NDArray[np.unsignedinteger]

_FORMAT_OF_DTYPE = {
    "float16": "fp16",
    "float32": "fp32",
    "float64": "fp64",
    "bfloat16": "bf16",
    "float8_e4m3fn": "e4m3",
    "float8_e5m2": "e5m2",
    "float8_e4m3fnuz": "e4m3fnuz",
    "float8_e5m2fnuz": "e5m2fnuz",
    "float8_e8m0fnu": "e8m0",
    "float6_e2m3fn": "e2m3",
    "float6_e3m2fn": "e3m2",
    "float4_e2m1fn": "e2m1",
}
_DTYPE_OF_FORMAT: dict[BinaryFormat, str] = {"binary16": "float16", "binary32": "float32", "binary64": "float64", "bfloat16": "bfloat16"}


def plain_array(x: Any, name: str) -> NDArray[Any]:
    """Return an argument as an array in the byte order of this machine; a view where it can be.

    Raises: OperandError when it is none, such as lists of different lengths.
    """
    try:
        return native(np.asarray(x))
    except ValueError as error:
        raise OperandError(f"{name} is no array ({str(error).split('.')[0]}): give rows of one length") from None


def native(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array in the byte order of this machine: codes are views of the memory."""
    return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))


def whole_number(value: Any, name: str) -> int:
    """Return an integer argument as an int. Raises: OperandError for anything else."""
    try:
        return operator.index(value)
    except TypeError:
        raise OperandError(f"{name} must be an integer, not {value!r}") from None


def to_codes(x: Any, source: str | Format | None = None, argument: str = "source") -> tuple[Codes, Format]:
    """Return an array as raw codes and their format; a view where it can be.

    x: array of float16/32/64 or an ml_dtypes dtype; or integers, none negative, with `source` naming their format.
    argument: what the caller calls `source`.
    Raises: OperandError (another dtype; integers without source; source against the dtype; codes too wide), OpenError (an unused high bit).
    """
    array = plain_array(x, "x")
    if source is None:
        if _dtype_name(array.dtype) not in _FORMAT_OF_DTYPE:
            known = f"give float16/32/64, an ml_dtypes float, or integer codes with {argument}="
            raise OperandError(f"dtype {array.dtype} is not taken: {known}")
        fmt: Format = get("format", _FORMAT_OF_DTYPE[_dtype_name(array.dtype)])
        return array.view(np.dtype(f"u{array.dtype.itemsize}")), fmt
    fmt = get("format", source)
    own = _FORMAT_OF_DTYPE.get(_dtype_name(array.dtype))
    if own is not None and same_facts(get("format", own), fmt):
        return array.view(np.dtype(f"u{array.dtype.itemsize}")), fmt
    if array.dtype.kind not in "iu":
        hint = "leave source out for float arrays" if argument == "source" else "emu.convert makes codes of values"
        raise OperandError(f"{argument}={fmt.id!r} takes integer codes, not {array.dtype}: {hint}")
    return check_codes(array, fmt), fmt


def check_codes(array: NDArray[Any], fmt: Format, name: str = "") -> Codes:
    """Return integers as unsigned codes of a format: the one check of codes, above the engines.

    array: integers of any width, signed where none is negative.   name: what they are, for the message.
    Raises: OperandError (no integers, negative, too wide), OpenError (a bit is set that the format leaves unused).
    """
    where, array = f"{name}: " if name else "", native(array)
    if array.dtype.kind not in "iu":
        raise OperandError(f"{where}{fmt.id} codes are integers, not {array.dtype}")
    if array.dtype.kind == "i":
        if array.size and int(array.min()) < 0:
            raise OperandError(f"{where}code {int(array.min())} is negative: it is no {fmt.id} code")
        array = array.view(np.dtype(f"u{array.dtype.itemsize}"))
    bits, spare = derive.codes(fmt).bits, derive.unused_high_bits(fmt)
    if not array.size or bits >= array.dtype.itemsize * 8:
        return array
    largest = int(array.max())
    if largest >> (bits + spare):
        raise OperandError(f"{where}a code has more than {bits + spare} bits: it is no {fmt.id} code")
    if largest >> bits:
        raise OpenError(f"{where}{fmt.id} code {largest:#04x}: what a set bit {bits} means is open")
    return array


def check_flags(datapath: Datapath) -> None:
    """Check that a datapath reports exception flags, since they are asked for. Raises: OperandError."""
    if not (isinstance(datapath.facts, DatapathLevels) and datapath.facts.flags is not None):
        raise OperandError(f"flags: datapath {datapath.id} reports none: leave flags out")


def float_dtype(fmt: Format) -> np.dtype[Any]:
    """Return the NumPy dtype of binary16, bfloat16, binary32 or binary64, whatever the format is called. Raises: OperandError (another)."""
    known = binary_format(fmt)
    if known is None:
        raise OperandError(f"{fmt.id} has no NumPy float dtype here: one of fp16, fp32, fp64, bf16")
    name = _DTYPE_OF_FORMAT[known]
    if name == "bfloat16":
        import ml_dtypes

        wide: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
        return wide
    return np.dtype(name)


@bounded(64)
def _dtype_name(dtype: np.dtype[Any]) -> str:
    """Return a dtype's name, which NumPy puts together at each call."""
    return dtype.name


def format_of_dtype(dtype: Any) -> Format:
    """Return the float format of a NumPy or ml_dtypes dtype. Raises: OperandError."""
    try:
        name = _dtype_name(np.dtype(dtype))
    except TypeError:
        name = str(dtype).removeprefix("torch.")
    if name not in _DTYPE_OF_FORMAT.values():
        raise OperandError(f"dtype {name} cannot hold values here: one of float16, bfloat16, float32, float64")
    fmt: Format = get("format", _FORMAT_OF_DTYPE[name])
    return fmt
