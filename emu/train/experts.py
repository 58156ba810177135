"""A mixture of experts: each token goes to one, which takes a fixed number of tokens of a batch. Not here: the model (decoder_model.py)."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.functional import one_hot, silu, softmax
from torch.nn.utils import skip_init

from emu.torch.nn import QuantExperts
from emu.train.config import Decoder


class Mixture(nn.Module):
    """Experts of the form down(silu(gate x) * up x); what finds no room is passed by, free room is zero.

    unevenness: experts * sum over them of (share of tokens * mean probability), of the last batch; 1 where all are used alike.
    """

    def __init__(self, model: Decoder) -> None:
        super().__init__()
        self.experts, self.capacity = model.experts, model.capacity
        self.router: nn.Linear = skip_init(nn.Linear, model.width, model.experts, bias=False)
        self.gate_up = QuantExperts(model.experts, model.width, 2 * model.hidden, training="bf16")
        self.down = QuantExperts(model.experts, model.hidden, model.width, training="bf16")
        self.unevenness = torch.zeros(())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map [batch, context, width] to the same shape."""
        tokens = x.reshape(-1, x.shape[-1])
        probabilities = softmax(self.router(tokens), dim=-1)
        share, expert = probabilities.max(dim=-1)
        chosen = one_hot(expert, self.experts)
        self.unevenness = self.experts * (chosen.float().mean(0) * probabilities.mean(0)).sum()
        place = (chosen.cumsum(0) * chosen).sum(-1) - 1
        kept = (place < self.capacity).nonzero()[:, 0]
        slot = expert[kept] * self.capacity + place[kept]
        room = tokens.new_zeros(self.experts * self.capacity, tokens.shape[-1]).index_copy(0, slot, tokens[kept])
        gate, up = self.gate_up(room.view(self.experts, self.capacity, -1)).chunk(2, dim=-1)
        answer = self.down(silu(gate) * up).reshape(room.shape)[slot] * share[kept, None]
        return torch.zeros_like(tokens).index_copy(0, kept, answer).view(x.shape)
