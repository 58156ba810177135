"""The decoder's experiment: windows of text, next-byte loss, loss on held-out files. Not here: the model (decoder_model.py), the loop."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import cross_entropy

from emu.nn import convert_model
from research.train.config import Decoder, Decoders
from research.train.corpus import VOCABULARY, read_corpus
from research.train.decoder_model import Transformer, draw_weights
from research.train.experiment import seeded
from research.train.plan import Run

ORDER: Final = (
    1000  # + seed: generator of the batches; seed alone: of the weights. The same for every training: runs are compared in pairs.
)
BALANCE: Final = 0.01  # weight of the experts' unevenness in the loss
KEPT: Final = ("head", "router")  # last words of the modules whose products stay as they are under every training


def kept(model: torch.nn.Module) -> list[str]:
    """Return the names of the modules that convert_model leaves alone."""
    return [name for name, _ in model.named_modules() if name.rpartition(".")[2] in KEPT]


def windows(text: NDArray[np.uint8], starts: NDArray[np.int64], context: int) -> torch.Tensor:
    """Return int64 [windows, context + 1]: the codes of a text from each start on."""
    return torch.from_numpy(text[starts[:, None] + np.arange(context + 1)].astype(np.int64))


def spread(text: NDArray[np.uint8], count: int, context: int) -> NDArray[np.int64]:
    """Return the starts of so many windows, spread evenly over a text."""
    found: NDArray[np.int64] = np.arange(count) * (len(text) - context - 1) // max(count - 1, 1)
    return found


class DecoderRun:
    """The experiment of one run. See research.train.experiment.Experiment."""

    def __init__(self, run: Run) -> None:
        config, facts = run.config, run.config.models[run.model]
        assert isinstance(config, Decoders)
        assert isinstance(facts, Decoder)
        self.config = config
        model = Transformer(facts, config.context, VOCABULARY)
        draw_weights(model, seeded(run.seed))
        self.model = convert_model(model, run.training, seed=run.seed, gemm=config.gemm, keep=kept(model)).to(config.device)
        self.generator = seeded(ORDER + run.seed)
        text = read_corpus(config.corpus)
        self.train, self.validation = text.train, text.validation

    def _windows(self, text: NDArray[np.uint8], starts: NDArray[np.int64]) -> torch.Tensor:
        return windows(text, starts, self.config.context).to(self.config.device)

    def batch(self) -> torch.Tensor:
        """Draw windows of the training text, anywhere."""
        last = len(self.train) - self.config.context - 1
        starts = torch.randint(last, (self.config.batch,), generator=self.generator)
        return self._windows(self.train, starts.numpy())

    def _entropy(self, windows: torch.Tensor) -> torch.Tensor:
        logits = self.model(windows[:, :-1])
        return cross_entropy(logits.reshape(-1, logits.shape[-1]), windows[:, 1:].reshape(-1))

    def loss(self, batch: torch.Tensor) -> torch.Tensor:
        """Return the mean loss of a byte in nats, and what keeps experts even."""
        entropy = self._entropy(batch)
        model: Any = self.model
        return entropy + BALANCE * model.balance()

    def metric(self) -> float:
        """Return the mean loss of a byte of the held-out files, nats; the quantized forward pass, batch by batch."""
        count = self.config.held_out
        starts = spread(self.validation, count, self.config.context)
        parts = [starts[place : place + self.config.batch] for place in range(0, count, self.config.batch)]
        losses = [float(self._entropy(self._windows(self.validation, part))) * len(part) for part in parts]
        return sum(losses) / count
