"""What the loop needs of a training: a model, batches, a loss, a metric. Not here: which model (student_teacher.py, decoder.py)."""

from __future__ import annotations

from typing import Any, Protocol

import torch


class Experiment(Protocol):
    """A model under one training of the spec, and its data; made from a seed alone.

    model: quantized layers by emu.nn.   generator: draws the batches; its state is all that they depend on.
    parameters: those of the quantized layers' products.   rows: tokens or inputs of a step.
    """

    model: torch.nn.Module
    generator: torch.Generator

    def batch(self) -> Any:
        """Draw the next batch."""

    def loss(self, batch: Any) -> torch.Tensor:
        """Return the loss of a batch, a scalar that can be differentiated."""

    def metric(self) -> float:
        """Return the figure of the run, on held-out data."""


def seeded(seed: int, device: str = "cpu") -> torch.Generator:
    """Return a generator of a seed."""
    return torch.Generator(device=device).manual_seed(seed)


def weight_count(model: torch.nn.Module) -> int:
    """Return the numbers of all matrices and stacks of matrices but embeddings: what products meet."""
    tables = {id(layer.weight) for layer in model.modules() if isinstance(layer, torch.nn.Embedding)}
    return sum(value.numel() for value in model.parameters() if value.ndim > 1 and id(value) not in tables)
