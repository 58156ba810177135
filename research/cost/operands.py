"""Operands for simulated netlists: codes of MiniLM's activations and weights as a unit gets them, row after row; drawn codes as control.

One row is one instruction: 64 codes of each side, their four scales each, and C, the sum of the steps before. Two orders of the same
products: along K (both sides change each time), and with the weights held while the activations of one token after another pass.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from emu.base import philox
from emu.engines.datapath import run_dot
from emu.ops import functions as api
from emu.ops.operands import Operand, operand_of
from emu.spec.datapath import DatapathPlan, resolve
from research import minilm
from research.datapath.data import KEY
from research.datapath.errors import ROTATION, SIGNS

K: Final = 64
TOKENS: Final = 16
OUTPUTS: Final = 4
ROWS: Final = 256  # of each product of the model
ORDERS: Final = ("along_k", "weights_held")
RECIPES: Final = {"e2m1": "nvfp4_te_ref", "e1m2": "nvufp4", "e0m3": "nve0m3", "int4": "nve0m3"}
CODES: Final = {"int4_7": "int4"}  # operands of cost.yaml -> format, where the names differ


@dataclass(frozen=True, eq=False)
class Stream:
    """Rows of operands. a, b: [R, 64] codes.   scale_a, scale_b: [R, 4].   c: [R] codes of binary32.   d: [R], what the lane must give."""

    a: NDArray[Any]
    b: NDArray[Any]
    scale_a: NDArray[Any]
    scale_b: NDArray[Any]
    c: NDArray[Any]
    d: NDArray[Any]


def streams(element: str, data: str, model: Path | None, order: str) -> Stream:
    """Return the rows of one element format. data: `given` or `rotated` numbers of the model, or `random` codes.

    element: a format, or int4_7.   model: its folder; not needed for random codes.   order: one of ORDERS.   Raises: FileError.
    """
    element = CODES.get(element, element)
    plan = resolve("nv_like", element, element, "ue4m3", 16)
    sides = _random() if data == "random" else _model(model, RECIPES[element], data == "rotated")
    found = [_rows(*side, plan, element == "int4", order) for side in sides]
    return Stream(*(np.concatenate(parts) for parts in zip(*found, strict=True)))


def _model(model: Path | None, recipe: str, rotated: bool) -> Iterator[tuple[Any, Any, Any, Any]]:
    """Yield codes and scales of the activations and weights of each product."""
    assert model is not None
    for product in _products(model):
        sides = []
        for x, count in ((product.x, TOKENS), (product.w, OUTPUTS)):
            given = api.transform(x, ROTATION, -1, SIGNS) if rotated else x
            whole: Operand = operand_of(api.quantize(given, recipe), "a", -1, None)
            every = len(x) // count
            sides += [whole.codes[::every][:count], whole.scales[::every][:count]]  # type: ignore[index]
        yield sides[0], sides[1], sides[2], sides[3]


@cache
def _products(model: Path) -> list[minilm.Product]:
    return minilm.products(model, minilm.PRODUCTS)


def _random() -> Iterator[tuple[Any, Any, Any, Any]]:
    """Yield uniform codes under scales of 16 neighbouring codes, in the shape of one product of the model for each of its products."""
    for number in range(len(minilm.PRODUCTS)):
        sides = []
        for side, count in (("a", TOKENS), ("b", OUTPUTS)):
            words = philox.words(KEY, count * 384, stream=philox.stream_of(f"cost/{number}/{side}")).astype(np.int64).reshape(count, -1)
            sides += [words % 16, 48 + (words[:, ::16] >> 8) % 16]
        yield sides[0], sides[1], sides[2], sides[3]


def _rows(x: Any, x_scales: Any, w: Any, w_scales: Any, plan: DatapathPlan, integers: bool, order: str) -> tuple[NDArray[Any], ...]:
    """Return the parts of a Stream: each token with each output, step by step along K."""
    if integers:
        x, w = ((np.where(codes > 8, 16 - (codes & 7), codes & 7)) for codes in (x.astype(np.int64), w.astype(np.int64)))
    steps = x.shape[1] // K
    shape = (len(w), len(x), steps)
    a, sa = (np.broadcast_to(side.reshape(len(x), steps, -1), (*shape, width)) for side, width in ((x, K), (x_scales, K // 16)))
    b, sb = (np.broadcast_to(side.reshape(len(w), 1, steps, -1), (*shape, width)) for side, width in ((w, K), (w_scales, K // 16)))
    c = np.zeros((*shape, 2), np.uint32)  # before and after the step
    for step in range(steps):
        parts = [np.ascontiguousarray(part[:, :, step].reshape(-1, part.shape[-1]), np.uint8) for part in (a, b, sa, sb)]
        before = c[:, :, step - 1, 1].reshape(-1) if step else np.zeros(shape[0] * shape[1], np.uint32)
        c[:, :, step, 0] = before.reshape(shape[:2])
        c[:, :, step, 1] = run_dot(parts[0], parts[1], parts[2], parts[3], before, plan, "auto").reshape(shape[:2])
    every: list[NDArray[Any]] = [a, b, sa, sb, c[..., :1], c[..., 1:]]
    if order == "weights_held":
        every = [part.swapaxes(1, 2) for part in every]
    flat = [part.reshape(-1, part.shape[-1])[:ROWS] for part in every]
    return (*flat[:4], flat[4][:, 0], flat[5][:, 0])
