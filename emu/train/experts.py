"""A mixture of experts: each token goes to one, which takes a fixed number of tokens of a batch. Not here: the model (decoder_model.py)."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.functional import one_hot, silu, softmax
from torch.nn.utils import skip_init

from emu.train.config import Decoder


def _linear(inputs: int, outputs: int) -> nn.Linear:
    made: nn.Linear = skip_init(nn.Linear, inputs, outputs, bias=False)
    return made


class Mixture(nn.Module):
    """Experts of the form down(silu(gate x) * up x); what finds no room is passed by, free room is zero.

    unevenness: experts * sum over them of (share of tokens * mean probability), of the last batch; 1 where all are used alike.
    """

    def __init__(self, model: Decoder) -> None:
        super().__init__()
        self.experts, self.capacity = model.experts, model.capacity
        self.router = _linear(model.width, model.experts)
        self.gate_up = nn.ModuleList(_linear(model.width, 2 * model.hidden) for _ in range(model.experts))
        self.down = nn.ModuleList(_linear(model.hidden, model.width) for _ in range(model.experts))
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
        rooms = room.view(self.experts, self.capacity, -1)
        hidden = torch.stack([layer(rooms[place]) for place, layer in enumerate(self.gate_up)])
        gate, up = hidden.chunk(2, dim=-1)
        inner = silu(gate) * up
        answer = torch.stack([layer(inner[place]) for place, layer in enumerate(self.down)]).reshape(room.shape)[slot] * share[kept, None]
        return torch.zeros_like(tokens).index_copy(0, kept, answer).view(x.shape)
