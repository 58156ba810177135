"""What chance alone does to the figures of the study: other drawn numbers and other signs of the rotation. Not here: intervals (pages)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from emu.analysis.analyze import tensor_report
from emu.analysis.drawn_tensors import drawn
from research.reproduction import data
from research.reproduction.cells import Pair, Tensor, short
from research.reproduction.depth import Setting, chain
from research.reproduction.gemm import gemm

Row = dict[str, Any]
Figures = Callable[[str, str | None, int | None], Sequence[float | None]]  # of a recipe, a rotation and its signs
MASKS: Final = 4  # sets of signs


def masks(count: int = MASKS) -> list[int]:
    """Return so many sets of signs; the first is that of the study."""
    rng = np.random.default_rng(data.SIGN_SEED + 1)
    return [data.sign_mask(), *(int(word) for word in rng.integers(0, 1 << 16, count - 1))]


def drawn_rows(names: Sequence[str], shape: tuple[int, int], seeds: int, recipes: Sequence[str], count: int = MASKS) -> Iterator[Row]:
    """Yield SQNR and gain of drawn tensors, a row for each seed from 1 on (0 is the study's own) and recipe."""
    for name in names:
        for seed in range(1, seeds + 1):
            tensor = Tensor(name, "drawn", drawn(name, shape, seed))
            yield from ({**row, "seed": seed} for row in tensor_rows(tensor, recipes, count))


def tensor_rows(tensor: Tensor, recipes: Sequence[str], count: int = MASKS) -> Iterator[Row]:
    """Yield [SQNR, alpha] of one tensor as given and under each set of signs, a row for each recipe."""

    def figures(recipe: str, rotation: str | None, signs: int | None) -> Sequence[float | None]:
        found = tensor_report(tensor.values, recipe, rotation, signs=signs)
        gain = found.alpha_minus_1
        return short(found.sqnr_db), None if gain is None else short(1 + gain)

    return _rows(tensor.name, recipes, count, figures)


def gemm_rows(pair: Pair, recipes: Sequence[str], count: int = MASKS) -> Iterator[Row]:
    """Yield [SQNR, eta] of one product as given and under each set of signs, a row for each recipe."""

    def figures(recipe: str, rotation: str | None, signs: int | None) -> Sequence[float | None]:
        found = gemm(pair.a, pair.b, recipe, None, rotation, signs).figures()
        return short(found["sqnr_db"]), short(found["eta"])

    return _rows(pair.name, recipes, count, figures)


def depth_rows(setting: Setting, recipes: Sequence[str], seeds: int, count: int = MASKS) -> Iterator[Row]:
    """Yield [eta, cosine] at the end of rotated chains, a list over sets of signs for each recipe and seed."""
    for recipe in recipes:
        for seed in range(seeds):
            found = [chain(setting, recipe, data.ROTATION, signs, seed).figures(setting.layers) for signs in masks(count)]
            yield {"recipe": recipe, "seed": seed, "rotated": [[short(row["eta"]), short(row["cosine"])] for row in found]}


def _rows(name: str, recipes: Sequence[str], count: int, figures: Figures) -> Iterator[Row]:
    for recipe in recipes:
        rotated = [list(figures(recipe, data.ROTATION, signs)) for signs in masks(count)]
        yield {"data": name, "recipe": recipe, "given": list(figures(recipe, None, None)), "rotated": rotated}
