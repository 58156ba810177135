"""A kernel that multiplies two quantized matrices, as a target: a Python callable by the names of its parameters, or a C symbol.

Names: a, b (emu.Quantized, [M, K] and [N, K], blocked along K); or raw arrays a_codes, a_packed (two codes a byte), a_scales (codes),
a_tensor (binary32 multiplier of the whole tensor), the same for b; c [M, N] in the format of the result, alpha, beta (binary32); m, n, k.
Several products: a kernel that takes offsets (int32 [E + 1]) or sizes (int32 [E]) is given rows of a in groups, one for each of E matrices
of b: b_codes [E, N, K] and so on, b_tensor and alpha [E], b a list of Quantized; scale_offsets (int32 [E + 1]) say where the scales of each
group begin where tiles of 128 rows are padded; e is E. A batch has a [B, M, K], b [B, N, K], and one multiplier each.
The result is alpha (a @ b.T) + beta c, [M, N], in the format of the contract. A kernel that takes no a_tensor is asked with multiplier 1.
"""

from __future__ import annotations

import ctypes
import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from emu.arrays.rows import pack_nibbles
from emu.arrays.values import float_dtype
from emu.base.errors import OperandError, TargetError, ToolError
from emu.check.matmul.groups import padding, scale_starts, tiled
from emu.check.matmul.numbers import Bits
from emu.check.matmul.pair import Pair, Side, pair_of
from emu.check.model import RAISED
from emu.check.targets.answers import LAYOUTS, PACKINGS, bits_of
from emu.check.targets.signature import Parameter, parse_signature
from emu.contracts.form import FLAGS, Arrays, integer_dtype
from emu.engines.numpy.layout import places
from emu.spec import get
from emu.spec.models.format import FloatFacts

SIDES: Final = tuple(f"{side}{part}" for side in "ab" for part in ("", "_codes", "_packed", "_scales", "_tensor"))
SCALARS: Final = ("alpha", "beta")
SIZES: Final = ("e", "m", "n", "k")
GROUPED: Final = ("offsets", "sizes", "scale_offsets")
NAMES: Final = (*SIDES, "c", *SCALARS, *SIZES, *GROUPED)
GUARD: Final = 64
FILL: Final = 0xA5
_CTYPES: Final = {
    "float": ctypes.c_float, "int": ctypes.c_int, "int32_t": ctypes.c_int32, "uint32_t": ctypes.c_uint32, "int64_t": ctypes.c_int64,
    "uint64_t": ctypes.c_uint64, "size_t": ctypes.c_size_t,
}  # fmt: skip


class GemmTarget:
    """What both kinds share. wants: names of NAMES that the kernel takes."""

    op = "matmul"
    source: str | None = None
    result: str | None = None

    def __init__(self, pair: Pair, name: str, wants: tuple[str, ...], packing: str, scale_layout: str) -> None:
        if packing not in PACKINGS:
            raise OperandError(f"packing {packing!r} is unknown: one of {', '.join(PACKINGS)}")
        if scale_layout not in LAYOUTS:
            raise OperandError(f"scale_layout {scale_layout!r} is unknown: one of {', '.join(LAYOUTS)}")
        self.pair, self.name, self.wants, self.packing, self.scale_layout = pair, name, wants, packing, scale_layout

    def array(self, name: str, operands: Arrays) -> Any:
        """Return one operand as the kernel takes it, always a copy: an array, or for sizes and scalars a number."""
        if name in SIZES:
            b = operands["b_codes"].shape
            return int((b[0] if len(b) == 3 else 1, operands["a_codes"].shape[-2], *b[-2:])[SIZES.index(name)])
        if name in SCALARS or name.endswith("_tensor"):
            return np.array(operands[name], np.uint32).view(np.float32)[()]
        if name in GROUPED:
            if "offsets" not in operands:
                raise OperandError(f"{self.name}: {name} is of grouped products, and this is a batch")
            starts, sizes = operands["offsets"][:-1], operands["sizes"]
            whole = self.scale_layout == "row_major"
            found = operands[name] if name in operands else operands["offsets"] if whole else scale_starts(starts, sizes)
            return np.array(found, np.int32)
        if name == "c":
            return np.array(operands["c"]).view(float_dtype(self.pair.out))
        side = self.pair.a if name[0] == "a" else self.pair.b
        if name.endswith("_codes"):
            return np.array(operands[name])
        if name.endswith("_packed"):
            packed = pack_nibbles(np.array(operands[f"{name[0]}_codes"])) if side.packs else np.array(operands[f"{name[0]}_codes"])
            return (packed << 4 | packed >> 4).astype(np.uint8) if self.packing == "high_nibble_first" and side.packs else packed
        if name.endswith("_scales"):
            return self._scales(side, operands[name], operands if name[0] == "a" else {})
        raise OperandError(f"{self.name}: operand {name} is unknown: one of {', '.join(NAMES)}")

    def _scales(self, side: Side, codes: Bits, operands: Arrays) -> Any:
        """Return scale codes in memory: rows and blocks, one row a tile where a tile shares one, or the tiles of a block-scaled unit.

        Of several matrices one after the other; of rows in groups (operands has offsets) each group in whole tiles.
        """
        found = np.ascontiguousarray(codes[..., :: side.rows, :] if side.granularity == "tile" else codes)
        if self.scale_layout != "row_major" and "offsets" in operands:
            found = tiled(found, operands["offsets"][:-1], operands["sizes"], get("layout", LAYOUTS[self.scale_layout]), padding(side))
        elif self.scale_layout != "row_major" and found.ndim == 3:
            return np.stack([self._scales(side, matrix, {}) for matrix in codes])
        elif self.scale_layout != "row_major":
            where = places(found.shape[0], found.shape[1], get("layout", LAYOUTS[self.scale_layout]))
            memory = np.zeros(-(-found.shape[0] // 128) * -(-found.shape[1] // 4) * 512, found.dtype)
            memory[where] = found
            found = memory
        return found.view(np.float32) if isinstance(side.scale and side.scale.facts, FloatFacts) and found.dtype.itemsize == 4 else found

    def answer(self, found: Any, operands: Arrays) -> dict[str, Bits]:
        """Return what the kernel gave as codes [M, N], and flags where it gave any. Raises: TargetError (dtype, shape)."""
        raised: Any = None
        if isinstance(found, Mapping):
            raised = found.get(FLAGS)
            found = found["d"] if "d" in found else next(iter(found.values()), None)
        if isinstance(found, tuple) and len(found) == 2 and np.ndim(found[0]) > 1:
            found, raised = found
        if isinstance(found, tuple | list) and len(found) == 1:
            found = found[0]
        bits, fmt = bits_of("d", found)
        out, wanted = self.pair.out, integer_dtype(self.pair.out)
        if fmt is not None and get("format", fmt).facts_digest != out.facts_digest:
            raise TargetError("dtype", f"{self.name} gave {fmt}, the contract says {out.id}: convert it, or name another result")
        if fmt is None and bits.dtype.itemsize != np.dtype(wanted).itemsize:
            raise TargetError("dtype", f"{self.name} gave {bits.dtype}, the contract says {out.id} values or their bits")
        shape = result_shape(operands)
        if bits.shape != shape:
            raise TargetError("shape", f"{self.name} gave shape {bits.shape}, [{'M' if len(shape) == 2 else 'B, M'}, N] is {shape}")
        told = {} if raised is None else {FLAGS: bits_of(FLAGS, raised)[0]}
        return {"d": np.ascontiguousarray(bits).view(wanted).reshape(-1, shape[-1])} | told


def result_shape(operands: Arrays) -> tuple[int, ...]:
    """Return the shape of the result: of a batch [B, M, N]."""
    return (*operands["a_codes"].shape[:-1], operands["b_codes"].shape[-2])


class PythonGemm(GemmTarget):
    """A callable; see python_gemm."""

    def __init__(
        self, fn: Callable[..., Any], pair: Pair, name: str, names: tuple[str, ...], library: str, device: str, **layout: str
    ) -> None:
        super().__init__(pair, name, names, layout["packing"], layout["scale_layout"])
        self.fn, self.library, self.device = fn, library, device
        self._by_name = set(_parameters(fn)) & set(NAMES)

    def __call__(self, operands: Arrays) -> Arrays:
        """Call the function once. Raises: TargetError (raises, mutates, dtype, shape)."""
        given = {name: self.given(name, operands) for name in self.wants if name in NAMES}
        before = {name: self._bytes(item) for name, item in given.items()}
        positional = [item for name, item in given.items() if name not in self._by_name]
        try:
            with np.errstate(all="ignore"):
                found = self.fn(*positional, **{name: item for name, item in given.items() if name in self._by_name})
        except RAISED as error:
            raise TargetError("raises", f"{self.name} raised {type(error).__name__}: {error}") from error
        for name, item in given.items():
            if self._bytes(item) != before[name]:
                raise TargetError("mutates", f"{self.name} changed its operand {name}")
        return self.answer(found, operands)

    def given(self, name: str, operands: Arrays) -> Any:
        """Return an operand: NumPy or torch."""
        if name not in ("a", "b"):
            found = self.array(name, operands)
            return found if self.library == "numpy" or not isinstance(found, np.ndarray) else self._tensor(found)
        side = self.pair.a if name == "a" else self.pair.b
        scales = operands.get(f"{name}_scales")
        if name == "b" and "offsets" in operands:
            own = {key: array for key, array in operands.items() if key != "offsets"}
            return [
                self.given("b", own | {key: operands[key][at] for key in ("b_codes", "b_scales", "b_level") if key in operands})
                for at in range(len(operands["b_codes"]))
            ]
        codes, tensor = np.array(operands[f"{name}_codes"]), int(operands[f"{name}_level"])
        q = side.quantized(codes, None if scales is None else np.array(scales), tensor)
        return q if self.library == "numpy" else q.with_arrays(self._tensor)

    def _tensor(self, array: Any) -> Any:
        import torch

        array = np.array(array)
        if array.dtype.name == "bfloat16":
            return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16).to(self.device)
        if array.dtype.kind == "u" and array.dtype.itemsize > 1:
            array = array.view(f"i{array.dtype.itemsize}")
        return torch.from_numpy(array).to(self.device)

    def _bytes(self, item: Any) -> list[bytes]:
        if isinstance(item, list):
            return [part for one in item for part in self._bytes(one)]
        if hasattr(item, "levels"):
            return [part for array in (item.codes, *(level.codes for level in item.levels)) for part in self._bytes(array)]
        if type(item).__module__.partition(".")[0] == "torch":
            return [np.ascontiguousarray(bits_of("operand", item)[0]).tobytes()]
        return [np.ascontiguousarray(item).tobytes()]


def _parameters(fn: Callable[..., Any]) -> list[str]:
    try:
        found = inspect.signature(fn).parameters.values()
    except (TypeError, ValueError):
        return []
    return [item.name for item in found if item.kind in (item.KEYWORD_ONLY, item.POSITIONAL_OR_KEYWORD)]


def python_gemm(
    fn: Callable[..., Any],
    contract: str,
    *,
    name: str | None = None,
    takes: str = "numpy",
    packing: str = "low_nibble_first",
    scale_layout: str = "row_major",
    device: str = "cpu",
) -> PythonGemm:
    """Return a callable as a target. takes: numpy or torch.

    Operands go by the names of its parameters (see the module); where it names none of a or b, its first two take them.
    Raises: SpecError (contract), OperandError (a word).
    """
    library = takes.partition(".")[0]
    if library not in ("numpy", "torch"):
        raise OperandError(f"takes {takes!r} is unknown: numpy or torch")
    own = _parameters(fn)
    wants = tuple(item for item in own if item in NAMES)
    if not any(item in SIDES for item in wants):
        wants = ("a", "b", *(item for item in wants if item not in SIDES))
    title = name or getattr(fn, "__qualname__", None) or type(fn).__name__
    return PythonGemm(fn, pair_of(contract), title, wants, library, device, packing=packing, scale_layout=scale_layout)


class CGemm(GemmTarget):
    """A symbol of a shared library; see c_gemm."""

    def __init__(self, library: str, signature: str, pair: Pair, packing: str, scale_layout: str) -> None:
        self.signature = parse_signature(signature)
        names = tuple(item.name for item in self.signature.parameters)
        super().__init__(pair, self.signature.symbol, tuple(name for name in names if name != "d"), packing, scale_layout)
        for item in self.signature.parameters:
            _check(item, pair, bool({*GROUPED[:2]} & set(names)))
        if "d" not in names:
            raise OperandError(f"signature {signature!r}: no d takes the result: add d: float* or uint16_t*")
        try:
            self.function = getattr(ctypes.CDLL(library), self.signature.symbol)
        except OSError as error:
            raise ToolError(f"{library}: cannot be loaded: {error}") from None
        except AttributeError:
            raise ToolError(f"{library}: has no symbol {self.signature.symbol}: name an exported C function") from None
        kinds = [ctypes.c_void_p if item.role != "value" else _CTYPES[item.type] for item in self.signature.parameters]
        self.function.argtypes, self.function.restype = kinds, ctypes.c_int if self.signature.status else None

    def __call__(self, operands: Arrays) -> Arrays:
        """Call the function once. Raises: TargetError (raises, mutates, shape)."""
        shape = result_shape(operands)
        wide = np.dtype(integer_dtype(self.pair.out)).itemsize
        result = np.full(int(np.prod(shape)) * wide + 2 * GUARD, FILL, np.uint8)
        held: dict[str, Any] = {}
        given: list[Any] = []
        for item in self.signature.parameters:
            if item.role == "out":
                given.append(result.ctypes.data + GUARD)
                continue
            found = self.array(item.name, operands)
            if item.role == "in":
                held[item.name] = np.array(found, order="C")
                given.append(held[item.name].ctypes.data)
            else:
                given.append(float(found) if item.type == "float" else int(found))
        before = {name: array.tobytes() for name, array in held.items()}
        status = self.function(*given)
        if self.signature.status and status:
            raise TargetError("raises", f"{self.name} returned {status}")
        changed = next((name for name, array in held.items() if array.tobytes() != before[name]), None)
        if changed is not None:
            raise TargetError("mutates", f"{self.name} changed its operand {changed}")
        if bool((result[:GUARD] != FILL).any() or (result[-GUARD:] != FILL).any()):
            raise TargetError("shape", f"{self.name} wrote outside its answer d")
        return self.answer(result[GUARD:-GUARD].view(integer_dtype(self.pair.out)).reshape(shape), operands)


def _check(item: Parameter, pair: Pair, grouped: bool) -> None:
    """Refuse a parameter that a product does not have. Raises: OperandError."""
    one = ("a_tensor", "beta") if grouped else ("a_tensor", "b_tensor", *SCALARS)  # the experts have a b_tensor and an alpha each
    many = (*(n for n in SIDES if "_" in n), "c", *(("alpha", *GROUPED) if grouped else ()))
    known = {"out": ("d",), "value": (*SIZES, *one), "in": many}[item.role]
    if item.name not in known:
        raise OperandError(f"signature: {item.name} as {item.role} is unknown to {pair.text}: one of {', '.join(known)}")
    if item.role == "value" and item.type not in _CTYPES:
        raise OperandError(f"signature: {item.name} cannot be {item.type}: one of {', '.join(_CTYPES)}")


def c_gemm(library: str, signature: str, contract: str, *, packing: str = "low_nibble_first", scale_layout: str = "row_major") -> CGemm:
    """Return a C symbol as a target: const pointers to a_codes, a_packed, a_scales ..., d for the result, m, n, k and alpha by value.

    Raises: OperandError (signature), ToolError (library or symbol), SpecError (contract).
    """
    return CGemm(library, signature, pair_of(contract), packing, scale_layout)
