"""Experts: one linear layer for each expert of a mixture, weights in one tensor; plain, and quantized as a training recipe says."""

from __future__ import annotations

from typing import Any

import torch

from emu.base.errors import OperandError, ShapeError
from emu.nn.layers import QuantizedLayer
from emu.spec.models import Training


class Experts(torch.nn.Module):
    """y = x W_e^T for the tokens of each expert e. weight: [experts, out_features, in_features]. convert_model quantizes it.

    forward: x [experts, tokens, in_features]; or [tokens, in_features] with `counts`, the tokens of each expert, in the order of experts.
    Raises: ShapeError (features, experts, counts that do not add up).   Tests: tests/nn/test_nn_experts.py.
    """

    def __init__(
        self, experts: int, in_features: int, out_features: int, *, dtype: torch.dtype = torch.float32, device: Any = None
    ) -> None:
        super().__init__()
        self.experts, self.in_features, self.out_features = experts, in_features, out_features
        self.weight = torch.nn.Parameter(torch.empty(experts, out_features, in_features, dtype=dtype, device=device))
        self.label = "experts"
        if self.weight.device.type != "meta":
            for expert in range(experts):
                torch.nn.init.kaiming_uniform_(self.weight[expert], a=5**0.5)

    def forward(self, x: torch.Tensor, counts: Any = None) -> torch.Tensor:
        """Return the outputs, in the shape of x but for the features."""
        parts = self._parts(x, counts)
        found = [self.expert(part, number) for number, part in enumerate(parts)]
        return torch.stack(found) if counts is None else torch.cat(found)

    def expert(self, x: torch.Tensor, number: int) -> torch.Tensor:
        """Return the outputs of one expert. x: [tokens, in_features]."""
        return x @ self.weight[number].T

    def _parts(self, x: torch.Tensor, counts: Any) -> list[torch.Tensor]:
        """Return the tokens of each expert. Raises: ShapeError."""
        if x.shape[-1] != self.in_features:
            raise ShapeError(f"{self.label}: x has {x.shape[-1]} features, not {self.in_features}: give the layer's own inputs")
        if counts is None:
            if x.ndim != 3 or x.shape[0] != self.experts:
                raise ShapeError(f"{self.label}: x has shape {tuple(x.shape)}: give [{self.experts}, tokens, features], or counts=")
            return list(x.unbind(0))
        sizes = [int(count) for count in counts]
        if x.ndim != 2 or len(sizes) != self.experts or sum(sizes) != x.shape[0] or min(sizes) < 0:
            raise ShapeError(
                f"{self.label}: counts are {len(sizes)} numbers of sum {sum(sizes)}, x has {x.shape[0]} tokens, {self.experts} experts"
            )
        return list(torch.split(x, sizes))

    def extra_repr(self) -> str:
        """Return the line that torch prints for the layer."""
        return f"experts={self.experts}, in_features={self.in_features}, out_features={self.out_features}"


class QuantExperts(QuantizedLayer, Experts):
    """Experts with quantized operands: each expert is a layer of its own, with blocks, signs and random bits of its own.

    training, seed, gemm: as QuantLinear.   layer: number of the first expert; the others follow.   An expert without tokens draws nothing.
    Exactness, NaN, Raises: as QuantLinear; messages name the expert, such as `mlp.up[3]`.   Tests: tests/nn/test_nn_experts.py.
    """

    def __init__(
        self,
        experts: int,
        in_features: int,
        out_features: int,
        *,
        training: str | Training = "ufp4",
        seed: int = 0,
        layer: int = 0,
        gemm: str = "fp32",
        dtype: torch.dtype = torch.float32,
        device: Any = None,
        label: str | None = None,
    ) -> None:
        super().__init__(experts, in_features, out_features, dtype=dtype, device=device)
        if experts < 1:
            raise OperandError("experts: there must be at least one")
        self.set_recipe(training, seed, layer, gemm, label, layers=experts)

    def expert(self, x: torch.Tensor, number: int) -> torch.Tensor:
        """Return the outputs of one expert. x: [tokens, in_features]."""
        if not x.shape[0]:
            return x @ self.weight[number].T.to(x.dtype)
        return self.product(x, self.weight[number], f"{self.label}[{number}]", number)
