"""A student near its teacher: the quickest training in which the order of recipes shows. Not here: the loop (loop.py)."""

from __future__ import annotations

import math
from typing import Final

import torch
from torch import nn
from torch.nn.functional import mse_loss, rms_norm
from torch.nn.utils import skip_init

from emu.nn import QuantLinear
from research.train.config import Pairs, StudentTeacher
from research.train.experiment import seeded
from research.train.plan import Run

TEACHER: Final = 999  # generators: fact sheet "recipes" 4.7
STUDENT: Final = 1000  # + seed
COLUMNS: Final = 5
HELD_OUT: Final = 2000  # + seed; ours
EPS: Final = 1e-6


class Block(nn.Module):
    """One residual block, x + W2 relu(W1 rms(x))."""

    def __init__(self, width: int, hidden: int, training: str, seed: int, layer: int, gemm: str, label: str) -> None:
        super().__init__()
        about = {"training": training, "seed": seed, "gemm": gemm}
        self.up = skip_init(QuantLinear, width, hidden, layer=layer, label=f"{label}.up", **about)
        self.down = skip_init(QuantLinear, hidden, width, layer=layer + 1, label=f"{label}.down", **about)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Map [rows, width] to the same shape."""
        found: torch.Tensor = x + self.down(torch.relu(self.up(rms_norm(x, x.shape[-1:], eps=EPS))))
        return found


def network(config: StudentTeacher, training: str, seed: int, label: str) -> nn.Sequential:
    """Return the blocks of a teacher or a student; weights are whatever they were made with. label: begins the names of layers."""
    about = (config.width, config.hidden, training, seed)
    return nn.Sequential(*(Block(*about, 2 * place, config.gemm, f"{label}.{place}") for place in range(config.blocks)))


class StudentTeacherRun:
    """The experiment of one run: teacher, student, inputs. See research.train.experiment.Experiment."""

    def __init__(self, run: Run) -> None:
        config, pairs = run.config, run.config.models[run.model]
        assert isinstance(config, StudentTeacher)
        assert isinstance(pairs, Pairs)
        self.config = config
        self.teacher = network(config, "bf16", 0, "teacher").to(config.device).requires_grad_(False)
        self.model = network(config, run.training, run.seed, "student").to(config.device)
        _draw(self.teacher, self.model, config.student_noise, seeded(TEACHER), seeded(STUDENT + run.seed))
        self.columns = torch.exp(pairs.column_spread * torch.randn(config.width, generator=seeded(COLUMNS)))
        self.generator = seeded(run.seed)
        self.held_out = seeded(HELD_OUT + run.seed)

    def _inputs(self, rows: int, generator: torch.Generator) -> torch.Tensor:
        return (torch.randn(rows, self.config.width, generator=generator) * self.columns).to(self.config.device)

    def batch(self) -> torch.Tensor:
        """Draw inputs [batch, width]."""
        return self._inputs(self.config.batch, self.generator)

    def loss(self, batch: torch.Tensor) -> torch.Tensor:
        """Return the mean squared distance to the teacher's answer."""
        with torch.no_grad():
            target = self.teacher(batch)
        return mse_loss(self.model(batch), target)

    def metric(self) -> float:
        """Return the held-out distance, relative to what the teacher adds to its input."""
        x = self._inputs(self.config.held_out, self.held_out)
        target = self.teacher(x)
        return float(mse_loss(self.model(x), target) / (target - x).square().mean())


def _draw(teacher: nn.Module, student: nn.Module, noise: float, first: torch.Generator, second: torch.Generator) -> None:
    """Set the teacher's weights to N(0, 1) / sqrt(inputs), the student's to the teacher's with noise; all first matrices, then all second.

    The order is ours: the sheet does not say it, and others move the figures of all recipes together by a few percent.
    """
    pairs = list(zip(teacher.parameters(), student.parameters(), strict=True))
    with torch.no_grad():
        for mine, other in (*pairs[0::2], *pairs[1::2]):
            drawn = torch.randn(mine.shape, generator=first) / math.sqrt(mine.shape[-1])
            mine.copy_(drawn)
            other.copy_(drawn + noise * drawn.std() * torch.randn(mine.shape, generator=second))
