"""A Python callable as a target: NumPy arrays or torch tensors in, whatever it answers read by its declaration (answers.py)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np

from emu.arrays.values import float_dtype
from emu.base.errors import OperandError, TargetError
from emu.check.model import RAISED, Calls
from emu.check.targets.answers import ANY_SHAPE, PACKINGS, Reading, layout_named, named, read
from emu.contracts import form_of
from emu.contracts.form import EXTRAS, Arrays, Bits, Form, check_names, integer_dtype
from emu.spec.contract import parse
from emu.spec.models import Format

LIBRARIES: Final = ("numpy", "torch")
FLOATS: Final = ("fp32", "fp16", "bf16")
GUARD: Final = 64  # elements before and behind x
LITTER: Final = 1 << 22  # bytes of memory that is filled before a call
MATRIX: Final = 2  # axes of an answer
_TORCH: Final = {"fp32": ("int32", "float32"), "bf16": ("int16", "bfloat16"), "fp16": ("int16", "float16")}


class PythonTarget:
    """A callable under test; see python_target."""

    def __init__(self, fn: Callable[..., Any], form: Form, name: str, takes: tuple[str, str], reading: Reading, **about: Any) -> None:
        self.fn, self.form, self.name, self.op, self.reading = fn, form, name, form.op, reading
        self.library, self.kind = takes
        self.source: str | None = about["source"]
        self.result: str | None = about["result"]
        self.wants: tuple[str, ...] = about["wants"]
        self.device: str = about["device"]
        self.calls: Calls = "arrays"
        self.declared = reading.gives is not None
        self._by_name = _parameters(fn)

    def __call__(self, operands: Arrays, layout: str = "") -> Arrays:
        """Call the function once. layout: how x lies in memory, see laid.   Raises: TargetError (raises, mutates, dtype, shape)."""
        names = [name for name in self.form.operands if name in operands and (name not in EXTRAS or name in self.wants)]
        given = {name: self._given(name, operands[name], layout) for name in names}
        self._litter(operands)
        positional = [name for name in names if name not in self._by_name or name == self.form.main]
        try:
            with np.errstate(all="ignore"):  # NaN, infinities and overflows are asked on purpose
                found = self.fn(*(given[name] for name in positional), **{name: given[name] for name in names if name not in positional})
        except RAISED as error:
            raise TargetError("raises", f"{self.name} raised {type(error).__name__}: {error}") from error
        self._check_unchanged(operands, given)
        arrays = named(found, self.form, self.reading)
        if layout == "three":
            arrays = {name: array.reshape(-1, *array.shape[2:]) if array.ndim > MATRIX else array for name, array in arrays.items()}
        answers, self.result = read(arrays, self.form, operands, replace(self.reading, gives=None), self.result)
        return answers

    def _litter(self, operands: Arrays) -> None:
        """Fill and free memory of the sizes of the answers: an answer that is not written whole then holds junk, not an older answer."""
        sizes = {int(np.prod(shape)) for shape in self.form.shapes(operands).values()}
        for size in {part for count in sizes for part in (count, -(-count // 2), 4 * count) if 0 < part <= LITTER}:
            junk: list[Any] = [np.full(size, 0xA5, np.uint8) for _ in range(2)]
            if self.library == "torch":
                import torch

                junk += [torch.full((size,), 0xA5, dtype=torch.uint8, device=self.device) for _ in range(2)]
            junk.clear()

    def _given(self, name: str, bits: Bits, layout: str) -> Any:
        """Return an operand as the function takes it: floats of the declared kind, or bits; always a copy, x between junk."""
        fmt: Format | None = self.form.operands[name]
        floats = fmt is not None and fmt.id in FLOATS and self.kind != "bits"
        if name == "signs":
            return int(bits)
        if fmt is not None and bits.dtype.itemsize != np.dtype(integer_dtype(fmt)).itemsize:
            raise TargetError("shape", f"{self.name} was declared with {name} in {fmt.id}, and is asked with codes of another width")
        copy = laid(bits, layout) if name == self.form.main else np.array(bits, order="C")
        if self.library == "numpy":
            if floats and not copy.shape:
                return copy.view(float_dtype(fmt))[()] if fmt is not None else copy
            return copy.view(float_dtype(fmt)) if floats and fmt is not None else copy
        import torch

        if not floats or fmt is None:
            plain = copy if copy.dtype.itemsize == 1 else copy.view(f"i{copy.dtype.itemsize}")
            return torch.from_numpy(plain).to(self.device)
        whole, kind = _TORCH[fmt.id]
        return torch.from_numpy(copy.view(whole)).view(getattr(torch, kind)).to(self.device)

    def _check_unchanged(self, operands: Arrays, given: Mapping[str, Any]) -> None:
        for name, item in given.items():
            if name == "signs":
                continue
            now = item
            if self.library == "torch":
                import torch

                plain = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[item.element_size()]
                now = item.view(plain).cpu().numpy()
            else:
                now = np.asarray(item)
            if not same_bytes(now, operands[name]):
                raise TargetError("mutates", f"{self.name} changed its operand {name}")


def laid(bits: Bits, layout: str) -> Bits:
    """Return a copy of bits that lies in memory in a stated way, all around it codes with every bit set.

    layout: "" in one piece; "transposed": columns in one piece; "columns", "rows": every second of a wider or taller array;
    "offset": inside of a larger array; "three": in one piece with three axes, the rows in two halves. A vector is laid as one row.
    """
    if bits.ndim == 1 and layout:
        row: Bits = laid(bits[None], layout)[0]
        return row
    if layout == "transposed":
        return np.array(bits.T, order="C").T
    if layout in ("columns", "rows", "offset"):
        slices = {
            "columns": (slice(None), slice(None, None, 2)),
            "rows": (slice(None, None, 2), slice(None)),
            "offset": (slice(1, -1), slice(3, -2)),
        }
        more = {"columns": (1, 2, 0, 0), "rows": (2, 1, 0, 0), "offset": (1, 1, 2, 5)}[layout]
        whole = np.full((bits.shape[0] * more[0] + more[2], bits.shape[1] * more[1] + more[3]), np.iinfo(bits.dtype).max, bits.dtype)
        part = whole[slices[layout]]
        part[...] = bits
        return part
    whole = np.full(bits.size + 2 * GUARD, np.iinfo(bits.dtype).max, bits.dtype)
    inner = whole[GUARD : GUARD + bits.size]
    inner[...] = bits.reshape(-1)
    return inner.reshape((2, -1, bits.shape[-1]) if layout == "three" else bits.shape)


def same_bytes(one: Bits, other: Bits) -> bool:
    """Tell whether two arrays hold the same bytes."""
    first, second = (np.ascontiguousarray(array).reshape(-1).view(f"u{array.dtype.itemsize}") for array in (one, other))
    return bool(np.array_equal(first, second))


def _parameters(fn: Callable[..., Any]) -> frozenset[str]:
    """Return the names of the parameters that can be given by name; none for a callable without a signature."""
    try:
        found = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        return frozenset()
    return frozenset(item.name for item in found if item.kind in (item.KEYWORD_ONLY, item.POSITIONAL_OR_KEYWORD))


def _takes(text: str | None, source: str | None) -> tuple[str, str, str | None]:
    """Return (library, kind, source format) of `takes`. Raises: OperandError."""
    library, _, kind = (text or f"numpy.{source or 'fp32'}").partition(".")
    kind = kind or source or "fp32"
    if library not in LIBRARIES or kind not in (*FLOATS, "bits"):
        raise OperandError(f"takes {text!r} is unknown: write numpy or torch, a dot, and one of {', '.join((*FLOATS, 'bits'))}")
    if kind != "bits" and source is not None and kind != source:
        raise OperandError(f"takes {text!r} and source {source!r} differ: leave source out, or take bits")
    return library, kind, source if kind == "bits" else kind


def _gives(gives: Any) -> Any:
    return tuple(gives) if isinstance(gives, list) else gives


def python_target(
    fn: Callable[..., Any],
    op: str,
    *,
    name: str | None = None,
    takes: str | None = None,
    gives: str | Iterable[str] | Mapping[str, str] | None = None,
    source: str | None = None,
    result: str | None = None,
    scale_layout: str = "row_major",
    packing: str = "low_nibble_first",
    wants: Iterable[str] | None = None,
    device: str = "cpu",
) -> PythonTarget:
    """Return a callable as a target.

    op: a contract, such as "quantize/nvfp4_te_ref": it says which operands there are and what the answers mean.
    takes: "numpy.fp32", "torch.bf16" ...: library and format of x (None: NumPy and `source`); "numpy.bits" hands raw codes of `source`.
    gives: "codes", "packed", "values" (fake-quantized), names in the order of a tuple, or name in a mapping -> name of the contract;
    None: a Quantized, names of a mapping, codes then levels from the innermost in a tuple; of one array floats are values, bytes codes.
    wants: which of tensor_amax, random and signs it takes, given by name; None: those that its signature names.
    Operands are given by position in the order of the form, by name where the signature has the name.
    scale_layout: row_major or 128x4; "any": for emu identify, which finds in what order the scale codes lie.
    Raises: SpecError (contract), OperandError (an unknown word).
    """
    library, kind, source = _takes(takes, source)
    form = form_of(parse(op), source, result)
    if packing not in PACKINGS:
        raise OperandError(f"packing {packing!r} is unknown: one of {', '.join(PACKINGS)}")
    if scale_layout != ANY_SHAPE:
        layout_named(scale_layout)
    own = _parameters(fn)
    wanted = tuple(item for item in form.extras if item in own) if wants is None else tuple(wants)
    check_names(wanted, EXTRAS, "wants")
    title = name or getattr(fn, "__qualname__", None) or type(fn).__name__
    reading = Reading(_gives(gives), packing, scale_layout)
    return PythonTarget(fn, form, title, (library, kind), reading, source=source, result=result, wants=wanted, device=device)
