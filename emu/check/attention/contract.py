"""One attention in facts: formats of Q, K, V and P, the mask, the rule of the running maximum and what the division uses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from emu.base.errors import OperandError, SpecError
from emu.check.matmul.numbers import Bits
from emu.check.matmul.pair import OUTPUTS, Side, side_of
from emu.ops.functions import quantize
from emu.ops.quantized import Quantized, make_quantized
from emu.spec import get
from emu.spec.models import Format, Recipe

ONE: Final = 0x3F800000  # 1 in binary32
MASKS: Final = ("none", "bottom-right", "top-left")
MAXIMA: Final = ("whole row", "running")
AXES: Final = ("dim", "keys")
DENOMINATORS: Final = ("values", "codes")
SEARCHES: Final = {"transform", "sub", "sum", "abs"}  # steps of recipes whose scale follows from more than the maximum of the block


@dataclass(frozen=True, eq=False)
class Attention:
    """The contract.

    q, k, v: operands; q and k are blocked along the head's dimension, v along v_axis.   out: format of the result.
    mask: none; or causal, aligned at the last (bottom-right) or the first (top-left) query and key.
    maximum: what is subtracted from a score: the maximum of the whole row, or of its tiles so far.   tile: keys a tile; 0: not known.
    p: recipe of P, None where it stays in binary32 or p_bits significand bits.   denominator: sum of P's values or of its codes' values.
    p_multiplier: binary32 code of what P's codes are multiplied by beside their scales.
    exp_bits: the kernel's exp has a relative error of at most 2^-exp_bits (1 + |x|).
    """

    q: Side
    k: Side
    v: Side
    out: Format
    text: str
    mask: str = "none"
    maximum: str = "whole row"
    tile: int = 0
    p: Side | None = None
    p_amax: float = 1.0
    p_multiplier: int = ONE
    p_bits: int = 24
    v_axis: str = "dim"
    denominator: str = "values"
    exp_bits: int = 20

    def visible(self, queries: int, keys: int, shift: int = 0, mask: str | None = None) -> Bits:
        """Return which keys a query sees, bool [queries, keys]. shift: keys that it sees beyond the rule."""
        mask = mask or self.mask
        if mask == "none":
            return np.ones((queries, keys), bool)
        ahead = keys - queries if mask == "bottom-right" else 0
        return np.arange(keys)[None, :] <= np.arange(queries)[:, None] + ahead + shift

    def tensor(self, name: str, codes: Bits, scales: Bits | None, level: int) -> Quantized:
        """Return an operand as emu.quantize makes one, from rows [..., K] along its blocks; v is given back as [..., keys, dim]."""
        side: Side = {"q": self.q, "k": self.k, "v": self.v}[name]
        levels = {side.tensor: np.array(level, np.uint32)} if side.tensor else {}
        across = name == "v" and self.v_axis == "keys"
        if scales is not None:
            levels[side.level] = np.array(scales.swapaxes(-1, -2) if across else scales, order="C")
        found = np.array(codes.swapaxes(-1, -2) if across else codes, order="C")
        return make_quantized(found, levels, side.known, found.shape, -2 if across else -1, -1 if across else -2)

    def quantize_p(self, values: Bits) -> Quantized:
        """Return P of binary32 values [..., keys] under its recipe."""
        assert self.p is not None
        amax = np.float32(self.p_amax) if self.p.tensor else None
        return quantize(np.asarray(values, np.float32), self.p.known, tensor_amax=amax)


def attention_of(
    q: str, k: str, v: str, out: str, mask: str, maximum: str, tile: int, p: str | None, p_amax: float, p_bits: int, v_axis: str,
    denominator: str, exp_bits: int,
) -> Attention:  # fmt: skip
    """Return the contract of its words. Raises: SpecError (operands), OperandError (a word, a size)."""
    for name, word, known in (
        ("mask", mask, MASKS), ("maximum", maximum, MAXIMA), ("v_axis", v_axis, AXES), ("denominator", denominator, DENOMINATORS),
        ("out", out, OUTPUTS),
    ):  # fmt: skip
        if word not in known:
            raise OperandError(f"{name} {word!r} is unknown: one of {', '.join(known)}")
    for name, number, low, high in (("tile", tile, 0, 1 << 20), ("p_bits", p_bits, 8, 24), ("exp_bits", exp_bits, 8, 40)):
        if not low <= number <= high:
            raise OperandError(f"{name} {number}: from {low} to {high}")
    sides = {name: side_of(word) for name, word in (("q", q), ("k", k), ("v", v), *((("p", p),) if p else ()))}
    for name, side in sides.items():
        if side.rows != 1:
            raise SpecError(f"attention: block {side.block.id} of {name} shares a scale among rows: name a block of one row")
    if p is not None:
        _check_p(sides["p"])
        if maximum == "running" and not tile:
            raise OperandError("maximum 'running' with a quantized P: the codes depend on the tile: say tile=, the keys of one")
        if tile % (sides["p"].size or 1):
            raise OperandError(f"tile {tile}: P is quantized in blocks of {sides['p'].size} keys: a tile is a multiple of them")
        if not np.isfinite(p_amax) or p_amax <= 0:
            raise OperandError(f"p_amax {p_amax}: the maximum that P is scaled by is a positive number")
    how = [f"causal {mask}" if mask != "none" else "", f"{maximum} maximum" + (f", tiles of {tile}" if tile else "")]
    how.append(f"P in {p}, divided by the sum of its {denominator}" if p else f"P in {p_bits} bits")
    text = f"attention/{q}/{k}/{v}/{out} ({', '.join(part for part in how if part)})"
    return Attention(
        sides["q"], sides["k"], sides["v"], get("format", out), text, mask, maximum, tile, sides.get("p"), p_amax,
        _multiplier(sides["p"], p_amax) if p else ONE, p_bits, v_axis, denominator, exp_bits,
    )  # fmt: skip


def _multiplier(side: Side, amax: float) -> int:
    """Return the binary32 code of P's factor. Raises: OperandError (it is no power of two: sums would depend on where it is multiplied)."""
    if not side.tensor:
        return ONE
    level = quantize(np.ones((1, side.size), np.float32), side.known, tensor_amax=np.float32(amax)).tensor_scale
    code = side.multiplier(int(np.asarray(level).view(np.uint32)))
    if code & 0x7FFFFF:
        raise OperandError(f"p_amax {amax}: recipe {side.known.id} then multiplies P by no power of two: name another, such as 2688")
    return code


def _check_p(side: Side) -> None:
    """Refuse recipes of P whose scale is not a function of the maximum of the block: the rule of the bound holds for those alone."""
    recipe: Recipe = side.known
    steps = [step.op for step in recipe.facts.steps]
    if set(steps) & SEARCHES or steps.count("amax") > 2 or steps.count("emit") > 1 or recipe.facts.block != side.block.id:
        raise SpecError(f"attention: recipe {recipe.id} of P chooses scales by more than the maximum of a block: no bound is known for it")
    if side.scale is None:
        raise SpecError(f"attention: block {side.block.id} of P has no scale")
