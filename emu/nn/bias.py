"""A bias as operations registered with torch: its gradient, a sum over tokens, is then the same in eager and compiled runs."""

from __future__ import annotations

from typing import Any

import torch


@torch.library.custom_op("emu::training_bias", mutates_args=(), schema="(Tensor y, Tensor bias) -> Tensor")
def add_bias(y: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Return y + bias in the dtype of y. y: [tokens, out]; bias: [out]."""
    return y + bias.to(y.dtype)


@add_bias.register_fake
def _(y: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(y)


@torch.library.custom_op("emu::training_bias_backward", mutates_args=(), schema="(Tensor dy, Tensor bias) -> Tensor")
def sum_tokens(dy: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Return the sum of dy over tokens, in torch's own order, in the dtype of the bias."""
    return dy.sum(0).to(bias.dtype)


@sum_tokens.register_fake
def _(dy: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(bias)


def _save(ctx: Any, inputs: tuple[torch.Tensor, torch.Tensor], output: torch.Tensor) -> None:
    ctx.save_for_backward(inputs[1])


def _gradients(ctx: Any, dy: torch.Tensor) -> tuple[torch.Tensor | None, torch.Tensor | None]:
    (bias,) = ctx.saved_tensors
    return dy, sum_tokens(dy, bias) if ctx.needs_input_grad[1] else None


add_bias.register_autograd(_gradients, setup_context=_save)
