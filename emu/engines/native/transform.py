"""Engine `native`, rotations of 16 elements by the kernel; groups whose exact sum is too wide for binary64 go to the C reference."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from emu.base.caches import bounded
from emu.base.errors import EngineError, ShapeError
from emu.engines.c_ref.call import Codes, code_dtype
from emu.engines.c_ref.transform import sign_operand
from emu.engines.c_ref.transform import transform as transform_reference
from emu.engines.native._kernels import ffi, lib
from emu.engines.native.convert import BEST_FORM, address, check
from emu.engines.native.tables import is_source, source_of
from emu.spec import derive
from emu.spec.ieee import binary_format, is_binary32
from emu.spec.models import Format, Transform
from emu.spec.registry import get

SIZE: Final = 16
ORDER: Final = {"butterfly": lib.EMU_SUM_BUTTERFLY, "sequential": lib.EMU_SUM_SEQUENTIAL, "exact": lib.EMU_SUM_EXACT}


def can_transform(chosen: Transform, source: Format) -> bool:
    """Tell whether the kernel rotates this: 16 elements, sums in fp32, result fp32 or bf16, from fp32, bf16 or fp16."""
    return is_source(source) and can_rotate(chosen)


def can_rotate(chosen: Transform) -> bool:
    """Tell whether a rotation is one of the kernel's."""
    facts = chosen.facts
    total, result = get("format", facts.sum_format), _result(chosen)
    return facts.size == SIZE and is_binary32(total) and binary_format(result) in ("binary32", "bfloat16")


def _result(chosen: Transform) -> Format:
    result: Format = get("format", chosen.facts.result)
    return result


def rotation_of(chosen: Transform, signs: int | None) -> Any:
    """Return the emu_rotation of a transform. signs: None: its own.   Raises: OperandError (signs)."""
    sign_operand(chosen, signs)
    facts = chosen.facts
    scale = _scale_bits(facts.scale)
    mask = int(facts.signs, 16) if signs is None else signs
    return ffi.new("emu_rotation *", {"order": ORDER[facts.sum], "result": source_of(_result(chosen)), "signs": mask, "scale": scale})


@bounded(256)
def _scale_bits(text: str) -> int:
    return derive.encode_constant(text, get("format", "fp32"))


def transform(codes: Codes, source: Format, chosen: Transform, signs: int | None = None, *, form: int = BEST_FORM) -> Codes:
    """Rotate codes along the last axis, each 16 consecutive ones.

    codes: unsigned [..., n] of fp32, bf16 or fp16, n a multiple of 16.   signs: bit i negates element i; None: the transform's own.
    Returns: codes of the result format, same shape; NaN canonical.
    Raises: ShapeError (length), OperandError (signs), EngineError (the kernel cannot; a changed float environment).
    Tests: tests/engines/native/test_native_transform.py.
    """
    if not can_transform(chosen, source):
        raise EngineError(f"engine native cannot rotate {source.id} by {chosen.id}: use engine='numpy'")
    if codes.ndim == 0 or codes.shape[-1] % SIZE:
        raise ShapeError(f"transform {chosen.id} rotates {SIZE} elements: the last axis must be a multiple of it")
    rotation = rotation_of(chosen, signs)
    given = np.require(codes, code_dtype(source), ("C", "A")).reshape(-1, SIZE)
    bits, left = np.empty(given.shape, np.uint32), np.empty(given.shape[0], np.uint8)
    check(lib.emu_rotate(form, rotation, source_of(source), address(given), given.shape[0], address(bits), address(left)))
    out: Codes = bits if is_binary32(_result(chosen)) else (bits >> np.uint32(16)).astype(np.uint16)
    if chosen.facts.sum == "exact" and left.any():
        places = np.flatnonzero(left)
        out[places] = transform_reference(given[places], source, chosen, signs)
    return out.reshape(codes.shape)
