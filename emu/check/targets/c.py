"""A symbol of a shared library as a target, called through ctypes by its declared signature. A crash takes the process along: isolate it.

Names: operands and answers of the contract (`x` also for the codes to convert; `packed` for codes two a byte), and the sizes n (elements of
the main operand), rows, columns.
Operands and answers lie between guards: what is read beyond an operand is NaN, what is written beyond an answer is seen.
"""

from __future__ import annotations

import ctypes
from typing import Any, Final

import numpy as np

from emu.base.errors import OperandError, TargetError, ToolError
from emu.check.targets.answers import PACKED, Reading, _innermost, layout_named, read
from emu.check.targets.signature import Parameter, parse_signature
from emu.contracts import form_of
from emu.contracts.form import EXTRAS, Arrays, Bits, Form, integer_dtype
from emu.spec.models.layout import Axis

SIZES: Final = ("n", "rows", "columns")
AXES: Final[tuple[Axis, ...]] = ("row", "idx")
GUARD: Final = 1 << 14  # bytes before and behind each operand and answer
FILL: Final = 0xA5
_CTYPES: Final = {
    "float": ctypes.c_float, "uint8_t": ctypes.c_uint8, "int8_t": ctypes.c_int8, "uint16_t": ctypes.c_uint16, "int16_t": ctypes.c_int16,
    "uint32_t": ctypes.c_uint32, "int32_t": ctypes.c_int32, "int": ctypes.c_int, "uint64_t": ctypes.c_uint64, "int64_t": ctypes.c_int64,
    "size_t": ctypes.c_size_t,
}  # fmt: skip


class CTarget:
    """A C function under test; see c_target."""

    def __init__(self, library: str, signature: str, form: Form, reading: Reading, source: str | None, result: str | None) -> None:
        self.signature, self.form, self.reading = parse_signature(signature), form, reading
        self.name, self.op, self.source, self.result = self.signature.symbol, form.op, source, result
        self.wants = tuple(item.name for item in self.signature.parameters if item.name in EXTRAS)
        for item in self.signature.parameters:
            _check(item, form)
        try:
            loaded = ctypes.CDLL(library)
        except OSError as error:
            raise ToolError(f"{library}: cannot be loaded: {error}") from None
        try:
            self.function = getattr(loaded, self.signature.symbol)
        except AttributeError:
            raise ToolError(f"{library}: has no symbol {self.signature.symbol}: name an exported C function") from None
        kinds = [ctypes.c_void_p if item.role != "value" else _CTYPES[item.type] for item in self.signature.parameters]
        self.function.argtypes, self.function.restype = kinds, ctypes.c_int if self.signature.status else None

    def __call__(self, operands: Arrays) -> Arrays:
        """Call the function once. Raises: TargetError (raises, mutates, shape, dtype)."""
        shapes, held, given = self.form.shapes(operands), {}, []
        for item in self.signature.parameters:
            if item.role == "value":
                given.append(self._number(item, operands))
                continue
            held[item.name] = self._copy(item, operands) if item.role == "in" else self._buffer(item, shapes)
            given.append(held[item.name].ctypes.data + GUARD)
        status = self.function(*given)
        if self.signature.status and status:
            raise TargetError("raises", f"{self.name} returned {status}")
        return self._answers(operands, shapes, held)

    def _answers(self, operands: Arrays, shapes: dict[str, tuple[int, ...]], held: dict[str, Bits]) -> Arrays:
        found = {}
        for item in self.signature.parameters:
            array = held.get(item.name)
            if (
                item.role == "in"
                and array is not None
                and array[GUARD:-GUARD].tobytes() != np.ascontiguousarray(operands[_operand(item, self.form)]).tobytes()
            ):
                raise TargetError("mutates", f"{self.name} changed its operand {item.name}")
            if item.role == "out" and array is not None:
                if bool((array[:GUARD] != FILL).any() or (array[-GUARD:] != FILL).any()):
                    raise TargetError("shape", f"{self.name} wrote outside its answer {item.name}")
                shape, dtype = self._place(item, shapes)
                found[item.name] = array[GUARD:-GUARD].view(dtype).reshape(shape)
        result = self.result or ("fp32" if "values" in found and self.form.op != "transform" else None)
        answers, self.result = read(found, self.form, operands, self.reading, result)
        return answers

    def _number(self, item: Parameter, operands: Arrays) -> Any:
        shape = operands[self.form.main].shape
        if item.name in SIZES:
            return {"n": int(np.prod(shape)), "rows": shape[0], "columns": shape[-1]}[item.name]
        bits = operands.get(item.name)
        if bits is None:
            raise OperandError(f"signature: {item.name} is no operand of {self.form.contract}")
        return float(bits.view(np.float32)[()]) if item.type == "float" else int(bits)

    def _copy(self, item: Parameter, operands: Arrays) -> Bits:
        """Return the bytes of an operand between bytes with every bit set: floats that are read beyond it are NaN."""
        given = operands[_operand(item, self.form)]
        if item.size not in (0, given.dtype.itemsize):  # 0: void
            raise TargetError("shape", f"{self.name} takes {item.name} as {item.type}, and is asked with codes of another width")
        own = np.ascontiguousarray(given).reshape(-1).view(np.uint8)
        return np.concatenate([np.full(GUARD, 0xFF, np.uint8), own, np.full(GUARD, 0xFF, np.uint8)])

    def _place(self, item: Parameter, shapes: dict[str, tuple[int, ...]]) -> tuple[tuple[int, ...], str]:
        if item.name == PACKED:
            wide = shapes["codes"]
            return (*wide[:-1], -(-wide[-1] // 2)), "u1"
        shape = shapes[item.name]
        if item.name in self.form.answers:
            fmt = self.form.answers[item.name]
            return self._memory(item.name, shape), integer_dtype(fmt)
        return shape, f"u{item.size}"

    def _memory(self, name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Return the shape of a level in memory: padding included, where the scales lie in tiles."""
        if self.reading.scale_layout == "row_major" or name != _innermost(self.form):
            return shape
        facts = layout_named(self.reading.scale_layout).facts
        return (int(np.prod([-(-size // step) * step for size, step in zip(shape, map(facts.padded_to, AXES), strict=True)])),)

    def _buffer(self, item: Parameter, shapes: dict[str, tuple[int, ...]]) -> Bits:
        shape, dtype = self._place(item, shapes)
        return np.full(int(np.prod(shape)) * np.dtype(dtype).itemsize + 2 * GUARD, FILL, np.uint8)


def _operand(item: Parameter, form: Form) -> str:
    return "codes" if item.name == "x" and form.op == "convert" else item.name


def _check(item: Parameter, form: Form) -> None:
    """Refuse a parameter that the contract does not have, or with elements of another size. Raises: OperandError."""
    if item.role == "value":
        known: dict[str, Any] = dict.fromkeys((*SIZES, *form.extras))
    else:
        known = (
            {name: form.operands[name] for name in form.operands} if item.role == "in" else {**form.answers, "values": None, PACKED: None}
        )
        known |= {"x": form.operands["codes"]} if item.role == "in" and form.op == "convert" else {}
    if item.name not in known:
        raise OperandError(f"signature: {item.name} as {item.role} is unknown to {form.contract}: one of {', '.join(known)}")
    fmt = known[item.name]
    if item.role != "value" and fmt is not None and item.size not in (0, np.dtype(integer_dtype(fmt)).itemsize):
        raise OperandError(f"signature: {item.name} is {item.type}*, {fmt.id} codes have {np.dtype(integer_dtype(fmt)).itemsize} bytes")


def c_target(
    library: str,
    signature: str,
    contract: str,
    *,
    source: str | None = None,
    result: str | None = None,
    packing: str = "low_nibble_first",
    scale_layout: str = "row_major",
) -> CTarget:
    """Return a symbol of a shared library as a target.

    signature: see emu.check.targets.signature; a const pointer is an operand, another pointer an answer, a number by value
    a size or tensor_amax.
    Raises: OperandError (signature), ToolError (the library or symbol is not there), SpecError.   Tests: tests/check/test_check_c.py.
    """
    return CTarget(library, signature, form_of(contract, source, result), Reading(None, packing, scale_layout), source, result)
