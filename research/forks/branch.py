"""One stretch of training of a decoder under one training recipe; what it draws comes from Philox keys. Not here: files (runs.py).

Keys: a run of seed s has the key s; its fork f the key s + (f + 1) * 2^32. Streams are named: weights, batches, measured, draws 0, draws 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from emu import nn as quantized
from emu.base import philox
from emu.base.errors import OperandError
from emu.spec.models import Training
from research.forks.config import Forks, Phase, training_of
from research.train.checkpoint import Tensors, restore, state_of
from research.train.corpus import VOCABULARY, read_corpus
from research.train.decoder import BALANCE, kept, spread, windows
from research.train.decoder_model import Transformer, draw_weights
from research.train.experiment import seeded
from research.train.loop import learning_rate, optimizer_of, set_rate

BASE: Final = "bf16"
_NOTHING: Final = torch.Generator()  # what state_of and restore keep of it says nothing here: no branch draws from a generator


def fork_key(seed: int, fork: int) -> int:
    """Return the key of a fork; fork -1: of the run itself."""
    return seed | (fork + 1) << 32


def drawn_seed(key: int, stream: str) -> int:
    """Return 62 bits of a named stream."""
    return int(philox.draw(key, 1, 62, philox.stream_of(stream))[0])


class Branch:
    """A decoder under a training, and its optimizer.

    training: id, or model.   draws: seed of signs and random bits.   state: weights and moments to begin with; None: drawn weights.
    """

    def __init__(
        self, config: Forks, name: str, training: str | Training, draws: int, phase: Phase, state: Tensors | None, key: int
    ) -> None:
        model = Transformer(config.models[name], config.context, VOCABULARY)
        if state is None:
            draw_weights(model, seeded(drawn_seed(key, "weights")))
        known = training if isinstance(training, Training) else training_of(training)
        self.model = quantized.convert_model(model, known, seed=draws, keep=kept(model))
        self.config, self.name, self.key, self.phase = config, name, key, phase
        self.optimizer = optimizer_of(self.model, phase.optimizer)
        if state is not None:
            restore({name: value.clone() for name, value in state.items()}, self.model, self.optimizer, _NOTHING)
        text = read_corpus(config.corpus)
        self.text, self.validation = text.train, text.validation

    def batch(self, step: int, stream: str = "batches") -> torch.Tensor:
        """Return the windows of a step."""
        found = philox.words(self.key, self.config.batch, step * self.config.batch, philox.stream_of(stream)).astype(np.int64)
        return windows(self.text, found % (len(self.text) - self.config.context - 1), self.config.context)

    def loss(self, codes: torch.Tensor) -> torch.Tensor:
        """Return the mean loss of a byte in nats, and what keeps experts even."""
        logits = self.model(codes[:, :-1])
        model: Any = self.model
        return cross_entropy(logits.reshape(-1, VOCABULARY), codes[:, 1:].reshape(-1)) + BALANCE * model.balance()

    def train(self, steps: int, constant: bool = False, at: Sequence[int] = (), measured: Callable[[int], None] = lambda _: None) -> None:
        """Take optimizer steps. constant: at the first rate.   at: numbers of done steps at which `measured` is called."""
        facts = self.phase.optimizer
        for step in range(steps):
            self.model.train()
            set_rate(self.optimizer, facts.lr if constant else learning_rate(step, steps, facts))
            quantized.set_step(self.model, step)
            self.optimizer.zero_grad(set_to_none=True)
            loss = self.loss(self.batch(step))
            loss.backward()
            if not math.isfinite(float(loss.detach())):
                raise OperandError(f"{self.name}: the loss of step {step} is no number: lower the learning rate of {self.config.id}")
            if facts.clip is not None:
                torch.nn.utils.clip_grad_norm_(self.model.parameters(), facts.clip, foreach=False)
            self.optimizer.step()
            if step + 1 in at:
                measured(step + 1)
        quantized.set_step(self.model, steps)

    def state(self) -> Tensors:
        """Return weights and moments."""
        return state_of(self.model, self.optimizer, _NOTHING)

    def held_out(self) -> tuple[float, torch.Tensor]:
        """Return the mean loss of a byte of the held-out windows, and the logarithms of the probabilities, float64 [bytes, 256]."""
        codes = windows(self.validation, spread(self.validation, self.config.held_out, self.config.context), self.config.context)
        self.model.eval()
        with torch.no_grad():
            logits = torch.cat([self.model(part[:, :-1]) for part in codes.split(self.config.batch)])
        found = logits.reshape(-1, VOCABULARY).double().log_softmax(-1)
        return -float(found.gather(1, codes[:, 1:].reshape(-1, 1)).mean()), found


def divergence(of: torch.Tensor, to: torch.Tensor) -> float:
    """Return KL(of || to) in nats, the mean over bytes. of, to: logarithms of probabilities, float64 [bytes, 256]."""
    return float((of.exp() * (of - to)).sum(-1).mean())


def one_ulp_up(state: Tensors) -> Tensors:
    """Return a state whose weights are each one float32 step larger."""
    up = torch.tensor(math.inf)
    return {name: torch.nextafter(value, up) if name.startswith("model.") else value for name, value in state.items()}
