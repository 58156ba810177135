"""One row of a table each: a tensor, a product or a chain under one recipe, ready for JSON. Not here: which rows a page has (record.py)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from emu.analysis.analyze import tensor_report
from emu.base.errors import EmuError
from research.reproduction import data
from research.reproduction.depth import Chain, Setting, chain, spread
from research.reproduction.gemm import gemm

Array = NDArray[Any]
DIGITS = 6
MARKS = (1, 6, 12, 24)  # layers of a chain that are shown


@dataclass(frozen=True, eq=False)
class Tensor:
    """A matrix that a recipe blocks along its last axis. kind: drawn, weight, activation or gradient, as its source says."""

    name: str
    kind: str
    values: Array


@dataclass(frozen=True, eq=False)
class Pair:
    """A product A B^T. a: [M, K].   b: [N, K]."""

    name: str
    a: Array
    b: Array


def short(number: float | None) -> float | None:
    """Return a number with six significant digits, as it is kept; None and numbers without a place in JSON are None."""
    return float(f"{number:.{DIGITS}g}") if number is not None and np.isfinite(number) else None


def drawn_pairs(names: Sequence[str], shape: tuple[int, int, int], seed: int) -> list[Pair]:
    """Return drawn products, A before B from one generator for each name. shape: M, N, K.   Raises: OperandError (an unknown name)."""
    m, n, k = shape
    found = []
    for name in names:
        rng = np.random.default_rng(seed)
        a = data.draw(name, (m, k), rng)
        found.append(Pair(name, a, data.draw(name, (n, k), rng)))
    return found


def tensor_row(tensor: Tensor, recipe: str, rotated: bool, engine: str = "auto", rotation: str = data.ROTATION) -> dict[str, Any]:
    """Return the figures of one tensor. Raises: as tensor_report, with the name of the tensor."""
    transform, signs = data.rotation_of(rotated, rotation)
    try:
        found = tensor_report(tensor.values, recipe, transform, signs=signs, engine=engine)
    except EmuError as error:
        raise type(error)(f"{tensor.name}: {error}") from None
    gain = found.alpha_minus_1
    return {
        "data": tensor.name,
        "recipe": recipe,
        "transform": transform,
        "elements": found.elements,
        "nmse": short(found.nmse),
        "sqnr_db": short(found.sqnr_db),
        "alpha": None if gain is None else short(1 + gain),
        "coherent_share": short(found.coherent_share),
        "bucket_ratio": short(found.bucket_ratio),
    }


def gemm_row(pair: Pair, recipe: str, rotated: bool, recipe_b: str | None = None, engine: str = "auto") -> dict[str, Any]:
    """Return the figures of one product. Raises: as gemm, with the name of the product."""
    transform, signs = data.rotation_of(rotated)
    try:
        found = gemm(pair.a, pair.b, recipe, recipe_b, transform, signs, engine).figures()
    except EmuError as error:
        raise type(error)(f"{pair.name}: {error}") from None
    numbers = {name: short(found[name]) for name in ("alpha_a", "alpha_b", "alpha_product", "eta", "nmse", "sqnr_db")}
    return {"data": pair.name, "recipe": found["recipes"][0], "recipe_b": found["recipes"][1], "transform": transform, **numbers}


def chains(setting: Setting, recipe: str, rotated: bool, seeds: int, engine: str = "auto", rotation: str = data.ROTATION) -> list[Chain]:
    """Return one chain for each seed from 0 on. Raises: as chain."""
    transform, signs = data.rotation_of(rotated, rotation)
    return [chain(setting, recipe, transform, signs, seed, engine) for seed in range(seeds)]


def depth_rows(setting: Setting, runs: Sequence[Chain]) -> list[dict[str, Any]]:
    """Return the figures of chains of one recipe after 1, 6, 12, 24 layers and at the end: means, and each seed's eta and cosine."""
    found = []
    for layers in sorted({mark for mark in MARKS if mark < setting.layers} | {setting.layers}):
        every = [run.figures(layers) for run in runs]
        means = {name: short(spread([row[name] or 0.0 for row in every]).mean) for name in every[0]}
        head: dict[str, Any] = {"chain": "residual" if setting.residual else "linear", "weights": setting.weights, "recipe": runs[0].recipe}
        head |= {"transform": runs[0].transform, "layers": layers, "seeds": len(runs)}
        each = {f"{name}_each": [short(row[name] or 0.0) for row in every] for name in ("eta", "cosine")}
        found.append({**head, **means, "eta_deviation": short(spread([row["eta"] or 0.0 for row in every]).deviation), **each})
    return found
