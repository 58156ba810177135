"""A kernel of attention: a Python callable by the names of its parameters, given arrays of NumPy or tensors of torch."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from emu.arrays.rows import pack_nibbles
from emu.base.errors import OperandError, TargetError
from emu.check.attention.contract import Attention
from emu.check.matmul.numbers import Bits
from emu.check.model import RAISED
from emu.check.targets.answers import bits_of
from emu.contracts.form import integer_dtype
from emu.ops.quantized import Quantized
from emu.spec import get

PARTS: Final = ("", "_codes", "_packed", "_scales", "_tensor")
NAMES: Final = (*(f"{side}{part}" for side in "qkv" for part in PARTS), "scale", "causal")


class AttentionTarget:
    """wants: names of NAMES that the function takes."""

    def __init__(self, fn: Callable[..., Any], contract: Attention, takes: str = "numpy", name: str | None = None) -> None:
        if takes not in ("numpy", "torch"):
            raise OperandError(f"takes {takes!r} is unknown: numpy or torch")
        try:
            own = list(inspect.signature(fn).parameters)
        except (TypeError, ValueError):
            own = []
        self.fn, self.contract, self.takes = fn, contract, takes
        self.wants = [item for item in own if item in NAMES] or ["q", "k", "v"]
        self.by_name = bool(own)
        self.name = name or getattr(fn, "__qualname__", None) or type(fn).__name__

    def __call__(self, operands: Mapping[str, Quantized], multipliers: Mapping[str, int], scale: float) -> dict[str, Bits]:
        """Call the function once and return bits by name: out, and where it exposes them p_codes, p_scales, p.

        Raises: TargetError (raises, mutates, dtype, shape).
        """
        given = {name: self._given(name, operands, multipliers, scale) for name in self.wants}
        before = {name: _bytes(item) for name, item in given.items()}
        try:
            with np.errstate(all="ignore"):
                found = self.fn(**given) if self.by_name else self.fn(*given.values())
        except RAISED as error:
            raise TargetError("raises", f"{self.name} raised {type(error).__name__}: {error}") from error
        for name, item in given.items():
            if _bytes(item) != before[name]:
                raise TargetError("mutates", f"{self.name} changed its operand {name}")
        return self._answer(found, operands)

    def _given(self, name: str, operands: Mapping[str, Quantized], multipliers: Mapping[str, int], scale: float) -> Any:
        if name == "scale":
            return np.float32(scale)
        if name == "causal":
            return self.contract.mask != "none"
        whole, _, part = name.partition("_")
        q = operands[whole]
        if not part:
            return q if self.takes == "numpy" else q.with_arrays(_tensor)
        if part == "tensor":
            return np.array(multipliers[whole], np.uint32).view(np.float32)[()]
        if part == "packed":
            found = pack_nibbles(np.ascontiguousarray(q.codes.swapaxes(-1, q.axis)))
            found = np.ascontiguousarray(found.swapaxes(-1, q.axis))
        else:
            found = np.array(q.codes if part == "codes" else q.scales)
        return found if self.takes == "numpy" else _tensor(found)

    def _answer(self, found: Any, operands: Mapping[str, Quantized]) -> dict[str, Bits]:
        parts = dict(found) if isinstance(found, Mapping) else {"out": found}
        if "out" not in parts:
            raise TargetError("shape", f"{self.name} gave no out: answer an array, or a dict of out, p_codes, p_scales and p")
        batch, heads, queries, _ = operands["q"].shape
        *_, keys, dim = operands["v"].shape
        answer: dict[str, Bits] = {}
        rows = (batch, heads, queries)
        shapes = {"out": (*rows, dim), "p": (*rows, keys), "p_codes": (*rows, keys)}
        if self.contract.p is not None:
            shapes["p_scales"] = (*rows, -(-keys // self.contract.p.size))
        for name, item in parts.items():
            if name not in shapes:
                raise TargetError("shape", f"{self.name} gave {name!r}: out, p_codes, p_scales and p are known")
            bits, fmt = bits_of(name, item)
            if bits.shape != shapes[name]:
                raise TargetError("shape", f"{self.name} gave {name} of shape {bits.shape}, the contract says {shapes[name]}")
            wanted = {"out": self.contract.out, "p": get("format", "fp32")}.get(name)
            if wanted is not None:
                if fmt is not None and get("format", fmt).facts_digest != wanted.facts_digest:
                    raise TargetError("dtype", f"{self.name} gave {name} in {fmt}, the contract says {wanted.id}")
                if fmt is None and bits.dtype.itemsize != np.dtype(integer_dtype(wanted)).itemsize:
                    raise TargetError("dtype", f"{self.name} gave {name} as {bits.dtype}: answer {wanted.id} values or their bits")
                bits = np.ascontiguousarray(bits).view(integer_dtype(wanted))
            answer[name] = bits
        if ("p_codes" in answer) != ("p_scales" in answer) or ("p_codes" in answer and self.contract.p is None):
            raise TargetError("shape", f"{self.name}: p_codes and p_scales come together, with a recipe of P in the contract")
        return answer


def _tensor(array: Any) -> Any:
    import torch

    array = np.array(array)
    return torch.from_numpy(array.view(f"i{array.dtype.itemsize}") if array.dtype.kind == "u" and array.dtype.itemsize > 1 else array)


def _bytes(item: Any) -> list[bytes]:
    if hasattr(item, "levels"):
        return [part for array in (item.codes, *(level.codes for level in item.levels)) for part in _bytes(array)]
    return [np.ascontiguousarray(bits_of("operand", item)[0] if type(item).__module__.startswith("torch") else item).tobytes()]
