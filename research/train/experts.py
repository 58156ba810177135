"""A mixture of experts: each token goes to one. Not here: the products (emu.nn.Experts), the model around (decoder_model.py)."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.functional import one_hot, silu, softmax
from torch.nn.utils import skip_init

from emu.nn import Experts
from research.train.config import Decoder


class Mixture(nn.Module):
    """Experts of the form down(silu(gate x) * up x); the answer is multiplied by the probability of the choice. No token is left out.

    unevenness: experts * sum over them of (share of tokens * mean probability), of the last batch; 1 where all are used alike.
    """

    def __init__(self, model: Decoder) -> None:
        super().__init__()
        self.router: nn.Linear = skip_init(nn.Linear, model.width, model.experts, bias=False)
        self.gate_up: Experts = skip_init(Experts, model.experts, model.width, 2 * model.hidden)
        self.down: Experts = skip_init(Experts, model.experts, model.hidden, model.width)
        self.unevenness = torch.zeros(())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map [batch, context, width] to the same shape."""
        tokens = x.reshape(-1, x.shape[-1])
        probabilities = softmax(self.router(tokens), dim=-1)
        share, expert = probabilities.max(dim=-1)
        chosen = one_hot(expert, probabilities.shape[-1])
        self.unevenness = probabilities.shape[-1] * (chosen.float().mean(0) * probabilities.mean(0)).sum()
        order, counts = expert.argsort(stable=True), chosen.sum(0).tolist()
        gate, up = self.gate_up(tokens[order], counts).chunk(2, dim=-1)
        answer = self.down(silu(gate) * up, counts) * share[order, None]
        return torch.zeros_like(tokens).index_copy(0, order, answer).view(x.shape)
