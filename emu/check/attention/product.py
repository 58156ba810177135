"""Kernels of Q K^T and P V over batches and heads, as kernels of a matrix product: what check_matmul takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from emu.base.errors import OperandError, TargetError
from emu.ops.quantized import Quantized

Product = Callable[..., Any]


def scores_product(kernel: Product, *, batch: int = 2, heads: int = 3, kv_heads: int = 1, causal: bool = False) -> Product:
    """Return a kernel of scores as a product a, b, alpha for check_matmul.

    kernel: (q, k, scale) -> scale Q K^T, [batch, heads, M, N], of Quantized [batch, heads, M, K] and [batch, kv_heads, N, K]. Each head
    gets the rows of a and of b shifted by other amounts, and all heads must give the same product.
    causal: a query sees the keys up to its own place from the end; what it does not see is -Inf. Shapes need M <= N.
    Raises: OperandError (heads that do not share), and at a call TargetError (heads disagree, the mask is not that).
    """
    _check(batch, heads, kv_heads)

    def product(a: Quantized, b: Quantized, alpha: Any) -> Any:
        m, n = len(a.codes), len(b.codes)
        out: Any = None
        filled = np.zeros((m, n), bool)
        for turn in range(m if causal else 1):
            q, k = _stack(a, batch, heads, turn), _stack(b, batch, kv_heads, 0)
            found = np.asarray(kernel(q, k, alpha))
            if found.shape != (batch, heads, m, n):
                raise TargetError("shape", f"scores of shape {found.shape}, [batch, heads, M, N] is {(batch, heads, m, n)}")
            out = np.zeros((m, n), found.dtype) if out is None else out
            sees = np.arange(n)[None, :] <= np.arange(m)[:, None] + n - m if causal else np.ones((m, n), bool)
            for at in np.ndindex(batch, heads):
                kv = at[1] * kv_heads // heads
                one = found[at]
                if causal and not bool(np.isneginf(one[~sees].astype(np.float64)).all()):
                    raise TargetError("shape", "a key that the causal mask hides has a score other than -Inf")
                shifts = (-(at[0] * heads + at[1] + turn), -(at[0] * kv_heads + kv))
                back, known = (np.roll(item, shifts, (0, 1)) for item in (one, sees))
                wrong = known & filled & (back != out)
                before, out = out, np.where(known & ~filled, back, out)
                filled |= known
                if wrong.any():  # heads disagree: the product of one of them is wrong, and is what the check sees
                    return _mixed(before, np.where(known, back, before))
            if filled.all():
                return out
        return out

    return product


def values_product(kernel: Product, *, batch: int = 2, heads: int = 3, kv_heads: int = 1) -> Product:
    """Return a kernel of P V as a product a, b for check_matmul.

    kernel: (p, v) -> [batch, heads, M, D], of Quantized [batch, heads, M, N] and [batch, kv_heads, N, D], both blocked along the N keys.
    Raises: as scores_product.
    """
    _check(batch, heads, kv_heads)

    def product(a: Quantized, b: Quantized) -> Any:
        v = _stack(b, batch, kv_heads, 0).with_arrays(lambda codes: codes.swapaxes(-1, -2) if codes.ndim > 1 else codes)
        v = replace(v, shape=(*v.shape[:-2], v.shape[-1], v.shape[-2]), axis=-2, row_axis=-1)
        found = np.asarray(kernel(_stack(a, batch, heads, 0), v))
        shape = (batch, heads, len(a.codes), len(b.codes))
        if found.shape != shape:
            raise TargetError("shape", f"a product of shape {found.shape}, [batch, heads, M, D] is {shape}")
        first: Any = None
        for at in np.ndindex(batch, heads):
            back = np.roll(found[at], (-(at[0] * heads + at[1]), -(at[0] * kv_heads + at[1] * kv_heads // heads)), (0, 1))
            if first is not None and not np.array_equal(first, back):
                return _mixed(first, back)
            first = back if first is None else first
        return first

    return product


def _mixed(one: Any, other: Any) -> Any:
    """Return two answers of which one is wrong, place after place in turn, so that the check sees both."""
    return np.where(np.indices(one.shape).sum(axis=0) % 2 == 0, one, other)


def _check(batch: int, heads: int, kv_heads: int) -> None:
    if min(batch, heads, kv_heads) < 1 or heads % kv_heads:
        raise OperandError(
            f"batch {batch}, heads {heads}, heads of keys {kv_heads}: at least 1 each, heads a multiple of the heads of keys"
        )


def _stack(q: Quantized, batch: int, heads: int, turn: int) -> Quantized:
    """Return [batch, heads, rows, K]: head after head the rows of a matrix, shifted by one row more."""

    def stacked(codes: Any) -> Any:
        if codes.ndim < 2:
            return codes
        rolled = [np.roll(codes, number + turn, axis=0) for number in range(batch * heads)]
        return np.stack(rolled).reshape(batch, heads, *codes.shape)

    return replace(q.with_arrays(stacked), shape=(batch, heads, *q.shape), axis=-1, row_axis=-2)
