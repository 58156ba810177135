"""What a kernel answered, as named arrays of bits: packing and scale layouts undone, dtypes and shapes refused that no rule covers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from emu.arrays.values import _FORMAT_OF_DTYPE as FORMAT_OF_DTYPE
from emu.base.errors import OperandError, TargetError
from emu.check.model import RAISED
from emu.contracts.form import FLAGS, OF_RESULT, Arrays, Bits, Form, Shape, integer_dtype
from emu.engines.numpy.layout import places
from emu.ops.quantized import Quantized
from emu.spec import derive, get, names
from emu.spec.models import Format, Layout

PACKINGS: Final = ("low_nibble_first", "high_nibble_first", "none")
LAYOUTS: Final = {"row_major": "row_major", "128x4": "sf128x4"}
ANY_SHAPE: Final = "any"  # scale layout of a kernel to identify: as many codes as the contract has, in an order that is to be found
ALIASES: Final = {"scales": "scale", "tensor_scale": "tensor", "y": "values", "out": "codes"}
PACKED: Final = "packed"
UNJUDGED: Final = ("places of the scale layout behind the rows and beside them", "the last half byte of rows with an odd number of codes")
_TORCH_BITS: Final = {
    "float32": ("int32", "fp32"), "bfloat16": ("int16", "bf16"), "float16": ("int16", "fp16"), "float8_e4m3fn": ("uint8", "e4m3"),
    "float8_e5m2": ("uint8", "e5m2"), "float8_e8m0fnu": ("uint8", "e8m0"), "float4_e2m1fn_x2": ("uint8", PACKED),
    "uint16": ("int16", None), "uint32": ("int32", None), "float64": ("int64", "fp64"),
}  # fmt: skip


@dataclass(frozen=True)
class Reading:
    """How answers are read.

    gives: None to infer; "codes", "packed" or "values"; names in the order of a tuple; or name of a mapping -> name of the contract.
    packing: of two codes in a byte.
    scale_layout: of the innermost level; ANY_SHAPE: its codes are handed on as they lie.
    seen: "packed" once codes came packed: they stay so.
    unjudged: of UNJUDGED, what was there and is not looked at, because nothing states what it holds.
    """

    gives: str | tuple[str, ...] | Mapping[str, str] | None = None
    packing: str = "low_nibble_first"
    scale_layout: str = "row_major"
    seen: set[str] = field(default_factory=set)
    unjudged: set[str] = field(default_factory=set)


def named(found: Any, form: Form, reading: Reading) -> dict[str, Any]:
    """Return the arrays of an answer by the contract's names. Raises: TargetError (shape)."""
    if isinstance(found, Quantized):
        return {"codes": found.codes, **{level.name: level.codes for level in found.levels}}
    gives = reading.gives
    if isinstance(gives, Mapping):
        if not isinstance(found, Mapping):
            raise TargetError("shape", f"it answered {_kind(found)}, declared was a mapping with {', '.join(gives)}")
        missing = [name for name in gives if name not in found]
        if missing:
            raise TargetError("shape", f"its answer has no {missing[0]!r}: it holds {', '.join(map(str, found))}")
        return {inner: found[outer] for outer, inner in gives.items()}
    if isinstance(found, Mapping):
        return _by_name(found, form)
    if isinstance(found, tuple | list) and not _is_numbers(found):
        names = (gives,) if isinstance(gives, str) else gives or _positions(form)
        if len(found) > len(names) or (gives is not None and len(found) != len(names)):
            raise TargetError("shape", f"it answered {len(found)} arrays, the contract has {', '.join(names)}: declare them with gives=")
        return dict(zip(names, found, strict=False))
    if isinstance(gives, tuple):
        if len(gives) != 1:
            raise TargetError("shape", f"it answered {_kind(found)}, declared were {len(gives)} arrays: {', '.join(gives)}")
        return {gives[0]: found}
    return {gives or _only(found, form): found}


def _by_name(found: Mapping[Any, Any], form: Form) -> dict[str, Any]:
    """Return the arrays of a mapping that was not declared. Raises: TargetError (shape: two names of one answer)."""
    out: dict[str, Any] = {}
    given: dict[str, str] = {}
    for outer, array in found.items():
        name = _name(str(outer), form)
        if not name:
            continue
        inner = "codes" if name == PACKED else name
        if inner in given:
            raise TargetError("shape", f"its answer names {inner} twice, as {given[inner]} and {outer}: declare the one with gives=")
        given[inner], out[name] = str(outer), array
    return out


def _positions(form: Form) -> tuple[str, ...]:
    """Return the names of a tuple that was not declared: codes, then levels from the innermost."""
    levels = [name for name in reversed(form.answers) if name != "codes"]
    return ("codes", *levels) if "codes" in form.answers else tuple(form.answers)


def _name(name: str, form: Form) -> str:
    known = (*form.answers, "values", PACKED)
    return name if name in known else ALIASES.get(name, "") if ALIASES.get(name) in known else ""


def _only(found: Any, form: Form) -> str:
    """Return the name of a single array: floats of a quantize contract are fake-quantized values."""
    if form.op != "quantize":
        return next(iter(form.answers))
    kind = str(getattr(found, "dtype", "")).removeprefix("torch.")
    return "values" if kind in ("float64", "float32", "float16", "bfloat16") else "codes"


def _is_numbers(found: Sequence[Any]) -> bool:
    return bool(found) and all(isinstance(item, int | float) for item in found)


def _kind(found: Any) -> str:
    return f"{type(found).__name__}" + (f" of {len(found)}" if isinstance(found, tuple | list | Mapping) else "")


def bits_of(name: str, found: Any) -> tuple[Bits, str | None]:
    """Return an array as unsigned bits and the format of its dtype ("packed" for two codes a byte, None for plain integers).

    A copy, because a kernel may write its next answer into the same memory.   Raises: TargetError (dtype).
    """
    if np.ma.is_masked(found):
        raise TargetError("dtype", f"{name} is masked: some of it is no answer")
    try:
        if type(found).__module__.partition(".")[0] == "torch":
            return _torch_bits(name, found)
        array = np.array(found)
    except TargetError:
        raise
    except RAISED as error:
        said = (str(error).splitlines() or ["it says nothing"])[0]
        raise TargetError("dtype", f"{name} is no array that can be read: {type(error).__name__}: {said}") from None
    if not array.dtype.isnative:
        array = array.astype(array.dtype.newbyteorder("="))
    if array.dtype.name in FORMAT_OF_DTYPE:
        return np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}").reshape(array.shape), FORMAT_OF_DTYPE[array.dtype.name]
    if array.dtype.kind not in "iu":
        raise TargetError("dtype", f"{name} has dtype {array.dtype}, which holds no codes: answer unsigned integers or floats")
    return array, None


def _torch_bits(name: str, tensor: Any) -> tuple[Bits, str | None]:
    tensor = tensor.detach().cpu().resolve_conj().resolve_neg().contiguous().clone()
    kind = str(tensor.dtype).removeprefix("torch.")
    if kind in ("uint8", "int8", "int16", "int32", "int64"):
        return tensor.numpy(), None
    if kind not in _TORCH_BITS:
        raise TargetError("dtype", f"{name} has dtype {tensor.dtype}, which holds no codes: answer unsigned integers or floats")
    import torch

    plain, fmt = _TORCH_BITS[kind]
    array = tensor.view(getattr(torch, plain)).numpy()
    return array.view(f"u{array.dtype.itemsize}"), fmt


def read(found: Any, form: Form, operands: Arrays, reading: Reading, result: str | None) -> tuple[dict[str, Bits], str | None]:
    """Return the answers as codes of the contract's formats and shapes, and the format of values where there are any.

    result: declared format of values; None: that of their dtype.   Raises: TargetError (dtype, shape).
    """
    out: dict[str, Bits] = {}
    shapes = form.shapes(operands)
    for name, array in named(found, form, reading).items():
        bits, fmt = bits_of(name, array)
        if name == "values" and form.op in OF_RESULT:
            result = _result(fmt, result)
            out[name] = _shaped(name, _unsigned(name, bits, get("format", result)), shapes["values"])
            continue
        target = "codes" if name == PACKED else name
        if target not in form.answers:
            raise TargetError("shape", f"it answers {name}, {form.contract} has {', '.join(form.answers)}: declare gives=")
        wanted = form.answers[target]
        _check_format(name, fmt, wanted)
        packed = PACKED in (name, fmt) or (target == "codes" and _is_packed(bits.shape, shapes["codes"], wanted, reading.seen))
        if packed:
            bits = _unpacked(bits, shapes["codes"], reading.packing)
            if shapes["codes"][-1] % 2:
                reading.unjudged.add(UNJUDGED[1])
        elif target == _innermost(form) and reading.scale_layout == ANY_SHAPE:
            bits = bits.reshape(shapes[target]) if bits.size == np.prod(shapes[target]) else bits
        elif target == _innermost(form) and reading.scale_layout != "row_major":
            bits = _unswizzled(bits, shapes[target], reading)
        out[target] = _shaped(target, _unsigned(target, bits, wanted), shapes[target])
    if not out:
        raise TargetError("shape", f"its answer names nothing of {', '.join(form.answers)}: declare gives=")
    return out, result


def _result(fmt: str | None, result: str | None) -> str:
    if fmt is None:
        if result is None:
            raise TargetError("dtype", "values came as integers: declare their format with result=, or answer codes")
        return result
    if result is not None and fmt != result:
        raise TargetError("dtype", f"values came as {fmt}, declared was {result}")
    if fmt == "fp64":
        raise TargetError("dtype", "values came as float64, which no profile rounds to: answer float32, or declare another result=")
    return fmt


def _check_format(name: str, fmt: str | None, wanted: Format) -> None:
    """Refuse a float dtype that is another format than the contract's; formats of equal decode facts pass (e4m3 scales without sign)."""
    if fmt is None or fmt == PACKED:
        return
    have: Format = get("format", fmt)
    if have.facts_digest != wanted.facts_digest and not (fmt == "e4m3" and wanted.id == "ue4m3"):
        raise TargetError("dtype", f"{name} came as {fmt}, the contract says {wanted.id} codes")


def _innermost(form: Form) -> str:
    levels = [name for name in form.answers if name not in ("codes", "values", "d", FLAGS)]
    return levels[-1] if levels else ""


def _is_packed(shape: Shape, wanted: Shape, fmt: Format, seen: set[str]) -> bool:
    """Tell whether codes came two a byte; rows of one code are packed if wider ones were."""
    fits = derive.codes(fmt).bits == 4 and len(shape) == len(wanted) > 0 and shape == (*wanted[:-1], -(-wanted[-1] // 2))
    if fits and wanted[-1] > 1:
        seen.add(PACKED)
    return fits and PACKED in seen


def _unpacked(bits: Bits, wanted: Shape, packing: str) -> Bits:
    wide = -(-wanted[-1] // 2)
    if bits.shape != (*wanted[:-1], wide):
        raise TargetError("shape", f"packed codes have shape {bits.shape}, {wanted} codes pack into {(*wanted[:-1], wide)} bytes")
    if bits.size and bits.dtype.itemsize > 1 and (int(bits.min()) < 0 or int(bits.max()) > 0xFF):
        raise TargetError("dtype", f"packed codes hold {int(bits.min())} to {int(bits.max())}: two codes are a byte, 0 to 255")
    halves = (bits & 15, bits >> 4 & 15)
    low, high = halves if packing != "high_nibble_first" else halves[::-1]
    out: Bits = np.stack([low, high], axis=-1).reshape(*wanted[:-1], 2 * wide)[..., : wanted[-1]]
    return out


def layout_named(name: str) -> Layout:
    """Return the layout of scales of a name of LAYOUTS, or a layout's id. Raises: OperandError (none, or not of bytes of scales)."""
    found: Layout | None = next((get("layout", known) for known in names("layout") if known == LAYOUTS.get(name, name)), None)
    if found is None or found.facts.holds != "scales" or found.facts.code_bits != 8 or found.facts.word_bits is not None:
        known = ", ".join(LAYOUTS)
        raise OperandError(f"scale_layout {name!r} is unknown: one of {known}, or the id of a layout of scales of 8 bits")
    return found


def _unswizzled(bits: Bits, wanted: Shape, reading: Reading) -> Bits:
    """Return scales by row and block out of a layout in memory.

    Raises: TargetError (shape; padding: the layout says that it is zero, and it is not).
    """
    layout = layout_named(reading.scale_layout)
    where = places(wanted[0], wanted[1], layout)
    flat = bits.reshape(-1)
    if flat.size <= int(where.max()):
        raise TargetError(
            "shape",
            f"{flat.size} scale codes are too few for {wanted} in layout {reading.scale_layout}, which needs {int(where.max()) + 1}",
        )
    rest = np.ones(flat.size, bool)
    rest[where] = False
    if layout.facts.padding == "zero" and bool(flat[rest].any()):
        place = int(np.flatnonzero(rest & (flat != 0))[0])
        raise TargetError(
            "padding", f"byte {place} of the scales of {wanted} is padding and holds {int(flat[place]):#x}: layout {layout.id} says zero"
        )
    if layout.facts.padding is None and bool(rest.any()):
        reading.unjudged.add(UNJUDGED[0])
    found: Bits = flat[where]
    return found


def _unsigned(name: str, bits: Bits, fmt: Format) -> Bits:
    """Return codes in the dtype of their format. Raises: TargetError (negative ones, codes with too many bits)."""
    wide = derive.codes(fmt).bits + derive.unused_high_bits(fmt)
    if bits.dtype.kind == "i" and bits.dtype.itemsize * 8 == wide:
        return np.ascontiguousarray(bits).view(f"u{bits.dtype.itemsize}")
    if bits.size and bits.dtype.kind == "i" and int(bits.min()) < 0:
        least = -(1 << (wide - 1)) if derive.is_twos_complement(fmt) else 0
        if int(bits.min()) < least:
            raise TargetError("dtype", f"{name} holds {int(bits.min())}, which is no {fmt.id} code")
        bits = bits & ((1 << wide) - 1)
    if bits.size and bits.dtype.itemsize * 8 > wide and int(bits.max()) >> wide:
        raise TargetError("dtype", f"{name} holds {int(bits.max()):#x}, which has more than the {wide} bits of {fmt.id}")
    return bits.astype(integer_dtype(fmt), copy=False)


def _shaped(name: str, bits: Bits, wanted: Shape) -> Bits:
    """Return an array in its shape; axes of length 1 more or less do not matter."""
    if bits.shape == wanted:
        return bits
    if tuple(size for size in bits.shape if size != 1) == tuple(size for size in wanted if size != 1):
        return bits.reshape(wanted)
    raise TargetError("shape", f"{name} has shape {bits.shape}, the contract says {wanted}")
