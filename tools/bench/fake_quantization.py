"""Fake quantization as people write it, for training steps: an operand is quantized to E2M1 blocks and dequantized in plain torch.

None of these rotates or draws, so each does less than the training recipes that it stands beside.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Fake = Callable[[Any], Any]


def plain_e2m1(x: Any) -> Any:
    """Blocks of 16 with a power-of-two scale, rounded by exponent and fraction in float operations, as microxcaling's emulation does."""
    import torch

    blocks = x.reshape(*x.shape[:-1], -1, 16).float()
    amax = blocks.abs().amax(-1, keepdim=True)
    shared = torch.floor(torch.log2(amax + (amax == 0) * 2.0**-126)) - 2
    scaled = blocks / 2**shared
    private = torch.floor(torch.log2(scaled.abs() + (scaled == 0))).clip(min=0)
    fraction = scaled / 2**private * 2
    rounded = torch.sign(fraction) * torch.floor(fraction.abs() + 0.5) / 2 * 2**private
    return (rounded.clamp(-6, 6) * 2**shared).reshape(x.shape)


def torchao_nvfp4(x: Any) -> Any:
    """NVFP4 with a tensor scale by torchao's tensor class, and back."""
    import torch
    from torchao.prototype.mx_formats.nvfp4_tensor import NVFP4Tensor, per_tensor_amax_to_scale

    scale = per_tensor_amax_to_scale(x.abs().max())
    return NVFP4Tensor.to_nvfp4(x, per_tensor_scale=scale).dequantize(torch.float32)


def torchao_mxfp4(x: Any) -> Any:
    """MXFP4 by torchao's tensor class, and back."""
    import torch
    from torchao.prototype.mx_formats.mx_tensor import MXTensor

    return MXTensor.to_mx(x, torch.float4_e2m1fn_x2, 32).dequantize(torch.float32)


def none(x: Any) -> Any:
    """Nothing but bf16."""
    return x.float()


def with_fake_quantization(model: Any, fake: Fake) -> Any:
    """Replace the linear layers of a torch.nn.Sequential by layers whose six operands go through `fake`, each along its summed axis."""
    import torch

    function = _function(torch, fake)

    class FakeLinear(torch.nn.Module):  # type: ignore[misc]
        def __init__(self, weight: Any) -> None:
            super().__init__()
            self.weight = weight

        def forward(self, x: Any) -> Any:
            return function.apply(x, self.weight)

    layers = [FakeLinear(layer.weight) if isinstance(layer, torch.nn.Linear) else layer for layer in model]
    return torch.nn.Sequential(*layers)


def _function(torch: Any, fake: Fake) -> Any:
    """Return the autograd function of a linear layer with fake-quantized operands."""

    def along_rows(x: Any) -> Any:
        return fake(x.to(torch.bfloat16))

    def along_columns(x: Any) -> Any:
        return fake(x.to(torch.bfloat16).T.contiguous())

    class FakeProduct(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any, w: Any) -> Any:
            ctx.save_for_backward(x, w)
            return along_rows(x) @ along_rows(w).T

        @staticmethod
        def backward(ctx: Any, dy: Any) -> Any:
            x, w = ctx.saved_tensors
            dx = along_rows(dy) @ along_columns(w).T if ctx.needs_input_grad[0] else None
            return dx, along_columns(dy) @ along_columns(x).T

    return FakeProduct
