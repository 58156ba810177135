"""The products of a model under one cell of the plan, operands quantized as it says. Not here: the models."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection
from typing import Any

from research.models.data import Weights
from research.models.plan import CHOSEN, E1M2, E2M1, FEEDBACK, Cell
from research.models.quantizers import quantized, sign_mask, through_q4_1, treated

Fed = Callable[[str, int | None], Weights]


class Quantizer:
    """Every product of a model under one cell; activations that several products share are quantized once.

    given: with CHOSEN, the parts that stay in E2M1 as given.   fed: recipe and signs -> weights with FEEDBACK.
    """

    def __init__(self, cell: Cell, weights: Weights, given: Collection[str] = (), fed: Fed = lambda *_: {}) -> None:
        self.cell = cell
        self.weights = weights
        self.given = given
        self.fed = fed
        self._last: tuple[Any, ...] = ()

    def linear(self, layer: int, part: str, x: Any) -> Any:
        """Return x W^T with the operands of the cell quantized. x: torch binary32 [rows, K]."""
        import torch

        w = self.weights[layer, part]
        if self.cell.source:
            w = through_q4_1(w)
        if self.cell.only in ("", part):
            if "w" in self.cell.operands:
                w = self._weights(layer, part, w)
            if "a" in self.cell.operands:
                x = self._shared(x, *self._way(part))
        return x @ torch.from_numpy(w).T

    def cache(self, x: Any) -> Any:
        """Return keys or values quantized, where the cell asks for it. x: torch binary32 [rows, 64]."""
        import torch

        return torch.from_numpy(quantized(x.contiguous().numpy(), *self._way(""))) if "k" in self.cell.operands else x

    def _way(self, part: str) -> tuple[str, int | None]:
        """Return the recipe of activations and the signs of the rotation."""
        if self.cell.recipe == CHOSEN and part in self.given:
            return E2M1, None
        recipe = E1M2 if self.cell.recipe == CHOSEN else self.cell.recipe
        return recipe, None if self.cell.signs is None else sign_mask(self.cell.signs)

    def _weights(self, layer: int, part: str, w: Any) -> Any:
        recipe, mask = self._way(part)
        recipe = self.cell.weights or recipe
        if self.cell.treatment == FEEDBACK:
            return self.fed(recipe, mask)[layer, part]
        return treated(w, quantized(w, recipe, mask), self.cell.treatment, zlib.crc32(f"{layer} {part}".encode()))

    def _shared(self, x: Any, recipe: str, mask: int | None) -> Any:
        import torch

        key = (id(x), recipe, mask)
        if self._last[:1] != (key,):
            self._last = key, x, torch.from_numpy(quantized(x.contiguous().numpy(), recipe, mask))  # x is kept: its id stays its own
        return self._last[2]
