"""What a training does to the products and the gradient of one batch, at the fork. Not here: training on (branch.py)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from emu import nn as quantized
from emu.engines.torch.tensors import named
from emu.nn.layers import quantized_layers
from emu.nn.operand import OperandContext
from emu.nn.products import FLOAT, multiply
from emu.spec.models import Training
from emu.spec.training import GEMMS, TrainingPlan, plan_of
from research.forks.branch import BASE, Branch
from research.forks.config import training_of

FIGURES = ("nmse", "cosine", "alpha", "coherent")
PAIRS = {"fprop": ("x", "w"), "dgrad": ("dy", "w"), "wgrad": ("dy", "x")}


def compared(true: torch.Tensor, found: torch.Tensor) -> list[float]:
    """Return NMSE, cosine, alpha and coherent share of what was found against what is true, in float64.

    NMSE: |found - true|^2 / |true|^2.   alpha: the factor of the true values that comes nearest (least squares): below 1 is shrinkage.
    Coherent share: (alpha - 1)^2 / NMSE, how much of the error lies along the true values; 0 where there is no error.
    """
    return figures_of(*moments(true, found))


def moments(true: torch.Tensor, found: torch.Tensor) -> tuple[float, float, float, float]:
    """Return <true, true>, <true, found>, <found, found> and |found - true|^2 in float64: those of parts add up to those of the whole."""
    a, b = true.detach().reshape(-1).double(), found.detach().reshape(-1).double()
    return float(a @ a), float(a @ b), float(b @ b), float((b - a) @ (b - a))


def figures_of(power: float, both: float, other: float, error: float) -> list[float]:
    """Return the figures of `compared` that moments give."""
    if not power:
        return [0.0, 1.0, 1.0, 0.0]
    alpha, size = both / power, other**0.5
    return [error / power, both / (power**0.5 * size) if size else 0.0, alpha, (alpha - 1) ** 2 * power / error if error else 0.0]


def backward_only(training: Training) -> Training:
    """Return the training with an exact forward product: as BF16 has it."""
    forward = training_of(BASE).facts.fprop
    return training.model_copy(update={"id": f"{training.id}_backward", "facts": training.facts.model_copy(update={"fprop": forward})})


def gradient(branch: Branch, codes: torch.Tensor) -> tuple[torch.Tensor, list[Any]]:
    """Return the gradient of the weights that products meet, one vector, and the operands of all products."""
    quantized.set_step(branch.model, 0)
    branch.optimizer.zero_grad(set_to_none=True)
    with quantized.capture(branch.model) as records:
        branch.loss(codes).backward()
    weights = [layer.weight for layer in quantized_layers(branch.model)]
    return torch.cat([torch.zeros(weight.numel()) if weight.grad is None else weight.grad.reshape(-1) for weight in weights]), records


def products(training: Training, records: Sequence[Any], layers: set[int], draws: int) -> dict[str, dict[str, list[float]]]:
    """Return product -> layer -> figures: each product of captured operands under a training, against the same under BF16.

    layers: those that the training quantizes.   draws: seed of signs and random bits.
    """
    operands: dict[tuple[int, str], torch.Tensor] = {(item.layer, f"{item.gemm}.{item.operand}"): item.values for item in records}
    plans = plan_of(training_of(BASE)), plan_of(training)
    found: dict[str, dict[str, list[float]]] = {gemm: {} for gemm in GEMMS}
    for layer, label in sorted({(item.layer, item.name) for item in records if item.layer in layers}):
        for gemm, (first, second) in PAIRS.items():
            pair = operands[layer, f"{gemm}.{first}"], operands[layer, f"{gemm}.{second}"]
            true, other = (product(plan, gemm, first, second, pair, label, draws, layer) for plan in plans)
            found[gemm][label] = compared(true, other)
    return found


def product(
    plan: TrainingPlan, gemm: str, first: str, second: str, pair: tuple[torch.Tensor, torch.Tensor], label: str, draws: int, layer: int
) -> torch.Tensor:
    """Return one product under a plan of a training. pair: its operands, as PAIRS names them.   draws: seed of signs and random bits."""
    return multiply(gemm, first, second, *pair, OperandContext(plan, label, draws, layer, 0), FLOAT)


def exact(gemm: str, first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    """Return one product in float32. first, second: its operands, as PAIRS names them."""
    if gemm == "fprop":
        return first @ second.T
    return first @ second if gemm == "dgrad" else first.T @ second


def quantized_numbers(branch: Branch) -> set[int]:
    """Return the numbers of the layers that a branch's training quantizes: it may keep some."""
    found = set()
    for layer in quantized_layers(branch.model):
        if plan_of(named("training", layer.recipe)).operand("wgrad", "x").recipe is not None:
            found |= set(range(layer.layer, layer.layer + getattr(layer, "experts", 1)))
    return found


def mean_of(found: dict[str, dict[str, list[float]]]) -> dict[str, list[float]]:
    """Return product -> figures, the mean over layers."""
    return {gemm: [sum(column) / len(column) for column in zip(*layers.values(), strict=True)] for gemm, layers in found.items() if layers}
