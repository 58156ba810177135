"""A small decoder-only transformer in plain torch modules; emu.nn turns its products into quantized ones. Not here: text, loss."""

from __future__ import annotations

import math

import torch
from torch import nn
from torch.nn.functional import rms_norm, scaled_dot_product_attention, silu
from torch.nn.utils import skip_init

from research.train.config import Decoder
from research.train.experts import Mixture

EPS = 1e-6
BASE = 10000.0


def linear(inputs: int, outputs: int) -> nn.Linear:
    """Return a layer without bias whose weights are still to be drawn."""
    made: nn.Linear = skip_init(nn.Linear, inputs, outputs, bias=False)
    return made


class Norm(nn.Module):
    """Division by the root mean square, times a gain."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.gain = nn.Parameter(torch.ones(width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map [..., width] to the same shape."""
        found: torch.Tensor = rms_norm(x, x.shape[-1:], self.gain, EPS)
        return found


class Attention(nn.Module):
    """Causal attention with rotary positions; both projections are products that recipes quantize, the rest is not."""

    def __init__(self, model: Decoder, context: int) -> None:
        super().__init__()
        self.heads = model.heads
        self.qkv = linear(model.width, 3 * model.width)
        self.out = linear(model.width, model.width)
        half = model.width // model.heads // 2
        angles = torch.outer(torch.arange(context), BASE ** (-torch.arange(half) / half))
        self.register_buffer("cos", angles.cos(), persistent=False)
        self.register_buffer("sin", angles.sin(), persistent=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map [batch, context, width] to the same shape."""
        batch, context, width = x.shape
        q, k, v = self.qkv(x).view(batch, context, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = scaled_dot_product_attention(self._rotated(q), self._rotated(k), v, is_causal=True)
        found: torch.Tensor = self.out(y.transpose(1, 2).reshape(batch, context, width))
        return found

    def _rotated(self, x: torch.Tensor) -> torch.Tensor:
        a, b = x.chunk(2, dim=-1)
        cos, sin = self.get_buffer("cos"), self.get_buffer("sin")
        return torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)


class FeedForward(nn.Module):
    """down(silu(gate x) * up x)."""

    def __init__(self, model: Decoder) -> None:
        super().__init__()
        self.gate_up = linear(model.width, 2 * model.hidden)
        self.down = linear(model.hidden, model.width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map [batch, context, width] to the same shape."""
        gate, up = self.gate_up(x).chunk(2, dim=-1)
        found: torch.Tensor = self.down(silu(gate) * up)
        return found


class Layer(nn.Module):
    """Attention, then a feed-forward layer or a mixture of experts, each added to what came in."""

    def __init__(self, model: Decoder, context: int) -> None:
        super().__init__()
        self.first, self.second = Norm(model.width), Norm(model.width)
        self.attention = Attention(model, context)
        self.feed = Mixture(model) if model.experts else FeedForward(model)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map [batch, context, width] to the same shape."""
        x = x + self.attention(self.first(x))
        found: torch.Tensor = x + self.feed(self.second(x))
        return found


class Transformer(nn.Module):
    """Bytes to logits. Embedding and head are no products that recipes quantize."""

    def __init__(self, model: Decoder, context: int, vocabulary: int) -> None:
        super().__init__()
        self.embedding: nn.Embedding = skip_init(nn.Embedding, vocabulary, model.width)
        self.layers = nn.ModuleList(Layer(model, context) for _ in range(model.layers))
        self.norm = Norm(model.width)
        self.head = linear(model.width, vocabulary)

    def forward(self, codes: torch.Tensor) -> torch.Tensor:
        """Map [batch, context] to logits [batch, context, vocabulary]."""
        x = self.embedding(codes)
        for layer in self.layers:
            x = layer(x)
        found: torch.Tensor = self.head(self.norm(x))
        return found

    def balance(self) -> torch.Tensor:
        """Return how unevenly the last batch went to experts, summed over layers; 0 for a dense model."""
        parts = [layer.feed.unevenness for layer in self.layers if isinstance(layer.feed, Mixture)]
        return torch.stack(parts).sum() if parts else torch.zeros(())


def draw_weights(model: Transformer, generator: torch.Generator) -> None:
    """Draw every matrix, in the order of the modules: N(0, 1) / sqrt(inputs), smaller by sqrt(2 layers) where it adds to the stream."""
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if weight.ndim < 2:
                continue
            spread = 1.0 if name.startswith("embedding") else 1 / math.sqrt(weight.shape[-1])
            if ".out." in name or ".down." in name:
                spread /= math.sqrt(2 * len(model.layers))
            weight.copy_(spread * torch.randn(weight.shape, generator=generator))
