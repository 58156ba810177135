"""What follows the sum: tensor scales, alpha, beta and C. A finite list of programs, each operation rounded to nearest even in binary32.

The list: every way to multiply the sum and the scales two at a time (each tensor scale alone, or multiplied first), or in binary64 and
rounded once; then beta x C rounded and added, or one of the two products fused with the addition. A kernel that sees the stored scales of
both tensors may multiply those, and the factor of both blocks apart: every such order is in the list too. Beside them, operands that were
scaled before the sum.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from emu.check.matmul.numbers import Bits
from emu.check.matmul.pair import Pair
from emu.engines.exact.arithmetic import round_result
from emu.engines.exact.encode import encode_value
from emu.engines.exact.value import finite
from emu.ops.functions import convert
from emu.spec import derive, get
from emu.spec.ieee import is_binary32
from emu.spec.models import Format

F32 = NDArray[np.float32]
Tree = Any  # a name, or a pair of trees that are multiplied
WORDS: Final = {"S": "sum", "ta": "tensor scale of a", "tb": "tensor scale of b", "alpha": "alpha"}
STORED: Final = ("max a", "max b", "f")  # the stored scales of both tensors, and the product of the factors of both blocks


@dataclass(frozen=True)
class Program:
    """One epilogue. name: as reports say it.   run: values by name (S, ta, tb, alpha, beta, C) -> binary32."""

    name: str
    run: Callable[[Mapping[str, Any]], F32]


def programs(scalars: tuple[str, ...], beta: bool, c: bool, stored: bool = False) -> list[Program]:
    """Return the list for the scales that a kernel takes.

    scalars: of ta, tb, alpha.   beta, c: does it take them.   stored: it sees the stored scales of both tensors (sees_stored).
    """
    found: list[Program] = []
    for tree in _trees(("S", *scalars)):
        found += _with_c(tree, beta, c)
    if stored:
        for tree in _trees(("S", *STORED, *(name for name in scalars if name == "alpha"))):
            found += _with_c(tree, beta, c)
    if scalars:
        found.append(Program("in binary64, rounded once", lambda v: _wide(v, scalars, beta, c)))
    return found


def sees_stored(pair: Pair, wants: tuple[str, ...]) -> bool:
    """Tell whether a kernel sees stored scales of both tensors that are not what the recipes multiply by, such as maxima."""
    return {"a", "b"} <= set(wants) and all(side.stores_apart for side in (pair.a, pair.b))


def stored_values(pair: Pair, codes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of STORED. codes: a and b to the stored binary32 codes, any shape."""
    product = derive.parse_exact(pair.a.block.facts.factor) * derive.parse_exact(pair.b.block.facts.factor)
    fp32: Format = get("format", "fp32")
    factor = encode_value(round_result(finite(product), fp32, get("rounding", "rne")), fp32)
    found = [np.asarray(array, np.uint32) for array in (codes["a"], codes["b"], factor)]
    return {name: array.view(np.float32) for name, array in zip(STORED, found, strict=True)}


def _trees(leaves: tuple[str, ...]) -> list[Tree]:
    """Return every way to multiply the leaves two at a time; the order of two factors does not matter."""
    if len(leaves) == 1:
        return [leaves[0]]
    out: list[Tree] = []
    for chosen in range(1 << (len(leaves) - 1)):
        left = (leaves[0], *(leaf for at, leaf in enumerate(leaves[1:]) if chosen >> at & 1))
        right = tuple(leaf for at, leaf in enumerate(leaves[1:]) if not chosen >> at & 1)
        if right:
            out += [(one, other) for one in _trees(left) for other in _trees(right)]
    return out


def _text(tree: Tree) -> str:
    return tree if isinstance(tree, str) else f"({_text(tree[0])} * {_text(tree[1])})"


def _value(tree: Tree, values: Mapping[str, Any]) -> F32:
    if isinstance(tree, str):
        return np.asarray(values[tree], np.float32)
    return np.asarray(_value(tree[0], values) * _value(tree[1], values), np.float32)


def _with_c(tree: Tree, beta: bool, c: bool) -> list[Program]:
    text = _text(tree)
    plain = text[1:-1] if text.startswith("(") else text
    if not c:
        return [Program(plain, lambda v: _value(tree, v))]
    times = "beta * C" if beta else "C"
    out = [Program(f"{plain}, + {times}", lambda v: np.asarray(_value(tree, v) + _scaled_c(v, beta), np.float32))]
    if beta:
        out.append(Program(f"{plain}, fma(beta, C, .)", lambda v: fma(v["beta"], v["C"], _value(tree, v))))
    if not isinstance(tree, str):
        fused = f"fma({_text(tree[0])}, {_text(tree[1])}, {times})"
        out.append(Program(fused, lambda v: fma(_value(tree[0], v), _value(tree[1], v), _scaled_c(v, beta))))
    return out


def _scaled_c(values: Mapping[str, Any], beta: bool) -> F32:
    return np.asarray(values["C"] * values["beta"] if beta else values["C"], np.float32)


def _wide(values: Mapping[str, Any], scalars: tuple[str, ...], beta: bool, c: bool) -> F32:
    found = np.asarray(values["S"], np.float64)
    for name in scalars:
        found = found * np.float64(values[name])
    if c:
        found = found + np.asarray(values["C"], np.float64) * (np.float64(values["beta"]) if beta else 1)
    return found.astype(np.float32)


def fma(x: Any, y: Any, z: Any) -> F32:
    """Return x y + z of binary32 numbers, rounded once. Overflow and subnormals as binary32 has them."""
    exact = np.asarray(x, np.float64) * np.asarray(y, np.float64)  # 48 bits: exact
    z = np.asarray(z, np.float64)
    total = exact + z
    back = total - exact
    rest = (exact - (total - back)) + (z - back)  # what the addition lost, exactly
    even = (np.ascontiguousarray(total).view(np.int64) & 1) == 0
    odd = np.where((rest != 0) & even, np.nextafter(total, np.where(rest > 0, np.inf, -np.inf)), total)
    return np.asarray(odd, np.float64).astype(np.float32)  # binary64 rounded to odd, then to binary32: as if once


def to_result(values: F32, out: Format) -> Bits:
    """Return binary32 values as codes of the result, nearest even, overflow to infinity."""
    bits = np.ascontiguousarray(values, np.float32).view(np.uint32)
    return bits if is_binary32(out) else np.asarray(convert(bits, out.id, rounding="rne", policy="ieee", source="fp32")).view(np.uint16)
