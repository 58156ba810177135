"""Gradients of SmolLM2-135M under training recipes: each product by itself, and the gradient of all weights. Not here: training it.

One backward pass over a window of held-out text. What is true is computed in binary32 from the weights as they are. Every layer is
quantized, also those that a recipe would keep, so that recipes are compared on the same products; the embedding is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, Final

import numpy as np

from emu.files.record import Record, changed, digests_of, opens
from emu.spec.training import GEMMS
from research.models import data, smollm
from research.models.kept import Kept

RECORD: Final = "docs/evidence/gradients.json"
COMMAND: Final = f"python -m research gradients run --record {RECORD}"
TRAININGS: Final = ("e2m1_baseline", "ufp4", "e1m2_no_rht", "e2m1_rht3", "nvfp4_te_train", "bf16")
TWICE: Final = ("e2m1_baseline", "ufp4")  # drawn again, with other signs and random bits
WINDOWS: Final = 8
FORWARDS: Final = ("exact", "quantized")
Data = dict[str, Any]


@dataclass(frozen=True)
class Cell:
    """One window under one training. draw: number of its set of signs and random bits."""

    training: str
    window: int
    draw: int = 0

    @property
    def name(self) -> str:
        """The key of the cell's line in the record."""
        return f"{self.training}/window{self.window}/draw{self.draw}"


def plan(windows: int = WINDOWS) -> list[Cell]:
    """Return every cell, window by window."""
    return [Cell(name, window, draw) for window in range(windows) for name in TRAININGS for draw in range(1 + (name in TWICE))]


def short_plan() -> list[Cell]:
    """Return the cells of the short run: one window of the two trainings that the main claim is about."""
    return [Cell(name, 0) for name in TWICE]


@lru_cache(maxsize=1)
def _windows() -> list[list[int]]:
    return list(islice(data.windows(), WINDOWS))


Key = tuple[int, str]  # layer and part
Operands = dict[str, Any]  # x, w and dy of a layer


def backward(window: int, product: Callable[[Key, Any, Any], Any]) -> dict[Key, Any]:
    """Return the gradient of the weights of every layer: of the mean loss of a token of a window. product: (layer, x, w) -> x W^T."""
    import torch

    model, ids = data.read_language(), torch.tensor([_windows()[window]])
    weights = {key: torch.from_numpy(w).requires_grad_() for key, w in model.weights.items()}
    logits = smollm.forward(ids, model, lambda layer, part, x: product((layer, part), x, weights[layer, part]))
    torch.nn.functional.cross_entropy(logits[:-1], ids[0, 1:]).backward()
    return {key: w.grad for key, w in weights.items()}


@lru_cache(maxsize=1)
def true_pass(window: int) -> tuple[dict[Key, Any], dict[Key, Operands]]:
    """Return the gradient of a window in binary32, and the operands of the products of every layer."""
    operands: dict[Key, Operands] = {}

    def kept(key: Key, x: Any, w: Any) -> Any:
        y = x @ w.T
        operands[key] = {"x": x.detach(), "w": w.detach()}
        y.register_hook(lambda dy: operands[key].update(dy=dy))
        return y

    return backward(window, kept), operands


def numbered(model: smollm.Model) -> dict[Key, int]:
    """Return the number of every layer: the key of what it draws."""
    return {key: number for number, key in enumerate(model.weights)}


def measured(cell: Cell) -> Data:
    """Return the line of a cell, figures as research.forks.gradients.compared gives them.

    products: product -> part -> figures of each product by itself from its operands in binary32, the mean over layers.
    gradient: forward pass -> part, and all -> figures of the gradient of the weights.   exact: the forward pass of BF16.
    layers: forward pass -> NMSE of the gradient, a layer each.
    """
    import torch

    from emu.engines.torch.tensors import name_of
    from emu.nn.products import FLOAT, linear
    from research.forks.config import training_of
    from research.forks.gradients import backward_only, figures_of, moments

    training, seed = training_of(cell.training), cell.window + WINDOWS * cell.draw
    numbers = numbered(data.read_language())
    true, operands = true_pass(cell.window)
    found: Data = {"products": _products(training, operands, numbers, seed), "gradient": {}, "layers": {}}
    for forward, known in zip(FORWARDS, (backward_only(training), training), strict=True):
        named, step = name_of("training", known), torch.zeros((), dtype=torch.int64)
        own = backward(cell.window, lambda key, x, w: linear(x, w, step, named, "/".join(map(str, key)), seed, numbers[key], FLOAT))  # noqa: B023 - called before the loop goes on
        each = {key: moments(true[key], own[key]) for key in true}
        parts = {part: [value for (_, own), value in each.items() if own == part] for part in smollm.PARTS}
        found["gradient"][forward] = {name: _short(figures_of(*_sum(some))) for name, some in {"all": [*each.values()], **parts}.items()}
        by_layer = ([value for (own, _), value in each.items() if own == layer] for layer in range(smollm.LAYERS))
        found["layers"][forward] = _short([figures_of(*_sum(some))[0] for some in by_layer])
    return found


def _products(training: Any, operands: dict[Key, Operands], numbers: dict[Key, int], seed: int) -> Data:
    from emu.spec.training import plan_of
    from research.forks.gradients import PAIRS, compared, exact, product

    found: Data = {gemm: {part: [] for part in smollm.PARTS} for gemm in GEMMS}
    for (layer, part), own in operands.items():
        for gemm, (first, second) in PAIRS.items():
            pair = own[first], own[second]
            made = product(plan_of(training), gemm, first, second, pair, f"{layer}/{part}", seed, numbers[layer, part])
            found[gemm][part].append(compared(exact(gemm, *pair), made))
    return {gemm: {part: _short(_mean(rows)) for part, rows in parts.items()} for gemm, parts in found.items()}


def _sum(rows: Sequence[Sequence[float]]) -> list[float]:
    return [float(np.sum(column)) for column in zip(*rows, strict=True)]


def _mean(rows: Sequence[Sequence[float]]) -> list[float]:
    return [value / len(rows) for value in _sum(rows)]


def _short(numbers: Sequence[float]) -> list[float]:
    return [float(f"{number:.5g}") for number in numbers]


def facts() -> dict[str, dict[str, str]]:
    """Return the digests of the trainings that the study stands on."""
    return digests_of({"training": TRAININGS})


def new_record(made_with: dict[str, str]) -> Data:
    """Return a record without lines. made_with: the machine, see `pinned.single`."""
    setting = {"model": smollm.FILE, "windows": WINDOWS, "length": data.LENGTH, "held_out": data.HELD_OUT}
    return {"command": COMMAND, "setting": setting, "made_with": made_with, "facts": facts(), "lines": {}}


def run(path: Path, cells: Sequence[Cell], more: Callable[[], bool] = lambda: True, cluster: str | None = None) -> Iterator[str]:
    """Measure the cells that a record lacks; write it whole after each, and yield the name.

    more: asked before each cell; False ends it.   cluster: workers that do it, as emu.base.cluster.
    Raises: as Kept.run; ToolError (a package is missing).
    """
    data.check_tools()
    kept = Kept(KIND, path, COMMAND, new_record, stale)
    yield from kept.run(_asked, [[(cell.name, cell) for cell in cells]], more, cluster)


def _asked(cell: Cell, _: dict[str, Data]) -> Data:
    return measured(cell)


def stale(record: Data) -> list[str]:
    """Return the names of trainings that have changed since the record was made."""
    return changed(record["facts"].get("training", {}), facts()["training"])


KIND: Final = Record("record of gradients", f"run {COMMAND}", opens("lines"), ("command", "setting", "made_with", "facts", "lines"))
