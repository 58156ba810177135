"""Codes as tensors: what stores a format's codes, how they become int64, and back. Unsigned 16, 32, 64 bits are carried by signed views."""

from __future__ import annotations

from typing import Any

import torch

from emu.base.errors import EngineError, OpenError, OperandError, SpecError
from emu.engines.torch.numbers import signed_mask
from emu.spec import derive
from emu.spec.ieee import binary_format, same_facts
from emu.spec.models import Format
from emu.spec.registry import digest, get

_SIGNED = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
_FORMATS = {
    torch.float16: "fp16",
    torch.bfloat16: "bf16",
    torch.float32: "fp32",
    torch.float64: "fp64",
    torch.float8_e4m3fn: "e4m3",
    torch.float8_e5m2: "e5m2",
    torch.float8_e4m3fnuz: "e4m3fnuz",
    torch.float8_e5m2fnuz: "e5m2fnuz",
    torch.float8_e8m0fnu: "e8m0",
}
_FLOATS = {"binary16": torch.float16, "bfloat16": torch.bfloat16, "binary32": torch.float32, "binary64": torch.float64}
_UNSIGNED = {1: torch.uint8, 2: torch.uint16, 4: torch.uint32, 8: torch.uint64}


def code_bytes(fmt: Format) -> int:
    """Return the bytes that store a code: 1, 2, 4 or 8."""
    bits = derive.codes(fmt).bits
    return 1 if bits <= 8 else 2 if bits <= 16 else 4 if bits <= 32 else 8


def code_dtype(fmt: Format) -> torch.dtype:
    """Return the unsigned dtype of a format's codes."""
    return _UNSIGNED[code_bytes(fmt)]


def format_id(dtype: torch.dtype) -> str | None:
    """Return the id of the format of a float dtype, or None."""
    return _FORMATS.get(dtype)


def float_dtype(fmt: Format) -> torch.dtype | None:
    """Return the float dtype of binary16, bfloat16, binary32 or binary64, whatever the format is called; None for another."""
    known = binary_format(fmt)
    return None if known is None else _FLOATS[known]


def signed_view(codes: torch.Tensor) -> torch.Tensor:
    """Return codes as a signed dtype of the same width (bytes stay uint8), a view."""
    return codes.view(_SIGNED[codes.element_size()])


def to_int64(codes: torch.Tensor) -> torch.Tensor:
    """Return unsigned or signed codes of any width as int64 of the same value; 64-bit codes keep their bits."""
    wide = signed_view(codes).to(torch.int64)
    return wide if codes.element_size() in (1, 8) else wide & signed_mask(8 * codes.element_size())


def from_int64(codes: torch.Tensor, fmt: Format) -> torch.Tensor:
    """Return int64 codes in the unsigned dtype of their format."""
    size = code_bytes(fmt)
    return codes.to(_SIGNED[size]).view(_UNSIGNED[size])


def checked(codes: torch.Tensor, fmt: Format) -> torch.Tensor:
    """Return codes as int64, each a code of the format. Raises: OperandError (too wide), OpenError (an unused high bit)."""
    bits, spare = derive.codes(fmt).bits, derive.unused_high_bits(fmt)
    wide = to_int64(codes)
    if codes.element_size() * 8 > bits and codes.numel() and bits < 64:
        largest = int(wide.max())
        if int(wide.min()) < 0 or largest >> (bits + spare):
            raise OperandError(f"a code has more than {bits} bits: it is no {fmt.id} code")
        if largest >> bits:
            raise OpenError(f"{fmt.id} code {largest:#04x}: what a set bit {bits} means is open")
    return wide


def codes_of(x: torch.Tensor, source: str, name: str = "source") -> tuple[torch.Tensor, Format]:
    """Return a tensor as codes and their format, a view.

    source: name of the format of integer codes; empty: the dtype of x says it.   name: what the caller calls it.
    Raises: OperandError (dtype against source).
    """
    own = format_id(x.dtype)
    if not source:
        if own is None:
            raise OperandError(f"dtype {x.dtype} is not taken: give a float tensor, or unsigned codes with {name}=")
        return signed_view(x), named("format", own)
    fmt: Format = named("format", source)
    if x.is_floating_point():
        if own is None or not same_facts(named("format", own), fmt):
            raise OperandError(f"{name}={fmt.id!r} takes unsigned codes, not {x.dtype}: leave {name} out for float tensors")
        return signed_view(x), fmt
    if x.dtype == torch.bool or x.is_complex():
        raise OperandError(f"{name}={fmt.id!r} takes unsigned codes, not {x.dtype}")
    return x, fmt


# Spec objects under names that a registered operation can carry: an id, or for a model that the registry does not hold, id#digest.


_models: dict[tuple[str, str], Any] = {}


def name_of(kind: str, item: Any) -> str:
    """Return the name of an id or model. Raises: SpecError (unknown id)."""
    if isinstance(item, str):
        return item
    try:
        if digest(get(kind, item.id)) == digest(item):
            return str(item.id)
    except SpecError:
        pass
    name = f"{item.id}#{digest(item)}"
    _models[kind, name] = item
    return name


def named(kind: str, name: str) -> Any:
    """Return the object of a name. Raises: SpecError (unknown)."""
    return _models[kind, name] if (kind, name) in _models else get(kind, name)


# Check of the floating-point environment of torch: flushed subnormals or another rounding mode are refused, on the device in use.


_LEFT = (0x00000001, 0x00800000, 0x3F800000, 0x3F800000, 0xBF800000 - (1 << 32))
_RIGHT = (0x3F800000, 0x3F000000, 0x33800000, 0x33800001, 0xB3800001 - (1 << 32))
_FOUND = (0x00000001, 0x00400000, 0x3F800000, 0x3F800001, 0xBF800001 - (1 << 32))


def check_environment(device: torch.device | str = "cpu") -> None:
    """Refuse to compute when subnormals are flushed or sums are not rounded to nearest even.

    Two products of binary32 numbers are subnormal, three sums lie around half an ulp of 1.   Raises: EngineError.
    """
    left, right = (torch.tensor(bits, dtype=torch.int32, device=device).view(torch.float32) for bits in (_LEFT, _RIGHT))
    found = torch.cat([left[:2] * right[:2], left[2:] + right[2:]]).view(torch.int32).tolist()
    if found[:2] != list(_FOUND[:2]):
        raise EngineError("torch flushes subnormals to zero here: torch.set_flush_denormal(False), or take another engine")
    if found[2:] != list(_FOUND[2:]):
        raise EngineError("torch does not round to nearest even here: restore the rounding mode, or take another engine")
