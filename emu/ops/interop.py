"""Tensors of torch at the public functions: NumPy arrays that share their memory inside, tensors on the same device outside.

Nothing here loads torch: who hands over a tensor has loaded it. Not here: the engine that computes with torch (emu.torch).
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from emu.base.errors import OperandError

P = ParamSpec("P")
R = TypeVar("R")

_BY_BITS = {  # dtypes that NumPy does not have: how their bits are carried
    "bfloat16": ("int16", ml_dtypes.bfloat16),
    "float8_e4m3fn": ("uint8", ml_dtypes.float8_e4m3fn),
    "float8_e5m2": ("uint8", ml_dtypes.float8_e5m2),
    "float8_e4m3fnuz": ("uint8", ml_dtypes.float8_e4m3fnuz),
    "float8_e5m2fnuz": ("uint8", ml_dtypes.float8_e5m2fnuz),
    "float8_e8m0fnu": ("uint8", ml_dtypes.float8_e8m0fnu),
}
_PACKED = "float4_e2m1fn_x2"


def is_tensor(x: Any) -> bool:
    """Tell whether x is a tensor of torch. Loads nothing."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def array_of(x: Any, name: str = "x") -> NDArray[Any]:
    """Return a tensor as a NumPy array: of the same memory on the CPU, a copy from another device.

    bfloat16 and the float8 dtypes become those of ml_dtypes; float4_e2m1fn_x2 becomes E2M1 values, the last axis twice as long, the low
    half of a byte first.   Raises: OperandError (a tensor without plain memory; a dtype that no format has).
    """
    torch: Any = sys.modules["torch"]
    if x.layout != torch.strided or x.device.type == "meta":
        kind = "on the device meta" if x.layout == torch.strided else f"of layout {str(x.layout).removeprefix('torch.')}"
        raise OperandError(f"{name} is a tensor {kind}: give one that holds its values")
    plain, dtype = x.detach().cpu().resolve_conj().resolve_neg(), str(x.dtype).removeprefix("torch.")
    if dtype == _PACKED:
        return _unpacked(plain.view(torch.uint8).numpy(), name)
    if dtype in _BY_BITS:
        carrier, kind = _BY_BITS[dtype]
        bits: NDArray[Any] = plain.view(getattr(torch, carrier)).numpy()
        return bits.view(kind)
    try:
        array: NDArray[Any] = plain.numpy()
    except TypeError:
        raise OperandError(f"{name}: dtype {dtype} is not taken: give a float tensor, or integer codes with their format") from None
    return array


def _unpacked(packed: NDArray[np.uint8], name: str) -> NDArray[Any]:
    if packed.ndim == 0:
        raise OperandError(f"{name}: a scalar of dtype {_PACKED} has no axis of elements: give at least one axis")
    return np.stack([packed & 15, packed >> 4], axis=-1).reshape(*packed.shape[:-1], -1).view(ml_dtypes.float4_e2m1fn)


def tensor_of(array: Any, device: Any) -> Any:
    """Return a result as a tensor on a device; it shares the memory of an array on the CPU.

    Codes keep their unsigned dtype, bfloat16 becomes torch.bfloat16. A read-only view is opened again: tensors cannot be read-only.
    """
    torch: Any = sys.modules["torch"]
    array = np.asarray(array)
    name, view = array.dtype.name, array.view()
    if any(stride < 0 for stride in view.strides):
        view = np.array(view)
    try:
        view.setflags(write=True)
    except ValueError:
        view = np.array(view)
    if name == "bfloat16":
        return torch.from_numpy(view.view(np.int16)).view(torch.bfloat16).to(device)
    return torch.from_numpy(view).to(device)


def takes_tensors(function: Callable[P, R]) -> Callable[P, R]:
    """Let a function of NumPy arrays take tensors: the first argument decides whether arrays come back as arrays or as tensors.

    Tensors among the arguments become arrays, so do those inside a Quantized. Where the first argument is a tensor, or a Quantized of
    tensors, the arrays among the results become tensors on its device. Everything else goes through as it is.
    """

    names = list(signature(function).parameters)

    @wraps(function)
    def wrapper(*args: P.args, **named: P.kwargs) -> R:
        if "torch" not in sys.modules:
            return function(*args, **named)
        first = args[0] if args else next(iter(named.values()), None)
        device = _device_of(first)
        plain = [_plain(value, names[min(number, len(names) - 1)]) for number, value in enumerate(args)]
        found = function(*plain, **{name: _plain(value, name) for name, value in named.items()})
        return found if device is None else _as_tensors(found, device)

    return wrapper


def _device_of(value: Any) -> Any:
    """Return the device of a tensor or of a Quantized of tensors, else None."""
    held = value.codes if _is_quantized(value) else value
    return held.device if is_tensor(held) else None


def _is_quantized(value: Any) -> bool:
    return hasattr(value, "with_arrays")


def _plain(value: Any, name: str) -> Any:
    if is_tensor(value):
        return array_of(value, name)
    return value.with_arrays(_plain_codes) if _is_quantized(value) else value


def _plain_codes(codes: Any) -> Any:
    return array_of(codes, "codes") if is_tensor(codes) else codes


def _as_tensors(found: Any, device: Any) -> Any:
    if _is_quantized(found):
        return found.with_arrays(lambda codes: tensor_of(codes, device))
    if isinstance(found, tuple):
        return tuple(_as_tensors(item, device) for item in found)
    return tensor_of(found, device) if isinstance(found, np.ndarray | np.generic) else found
