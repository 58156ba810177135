"""Training steps: a small model with quantized layers beside the same model with fake quantization as people write it, in one thread."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from time import process_time
from typing import Any, Final, NamedTuple

from emu.bench.run import SEED
from tools.bench import fake_quantization
from tools.bench.peers import installed
from tools.bench.table import Measurement, rates

TOKENS: Final = 1024
WIDTHS: Final = ((256, 1024), (1024, 256), (256, 1024), (1024, 256))


class TrainingCase(NamedTuple):
    """One row. training: of emu.   peer: what quantizes and dequantizes an operand there; package: what it needs beside torch."""

    training: str
    peer: str
    package: str


CASES: Final = (
    TrainingCase("ufp4", "plain_e2m1", "torch"),
    TrainingCase("e2m1_baseline", "plain_e2m1", "torch"),
    TrainingCase("nvufp4", "torchao_nvfp4", "torchao"),
    TrainingCase("nvfp4_te_train", "torchao_nvfp4", "torchao"),
    TrainingCase("mxfp4_train", "torchao_mxfp4", "torchao"),
    TrainingCase("int4_train", "torchao_nvfp4", "torchao"),
    TrainingCase("bf16", "none", "torch"),
)


def run_training(repeats: int, only: str, progress: Callable[[str], None] | None = None) -> Iterator[Measurement]:
    """Measure every case whose name contains `only`, step by step in turn; nothing where torch is not installed.

    Rates are million operand elements a second of processor time: the ratio is that of step times, products and optimizer included.
    """
    for case in CASES:
        name = f"train {case.training} step"
        if only not in name or installed("torch") is None:
            continue
        if progress is not None:
            progress(name)
        times, peer_times = measure(case, repeats)
        elements = 2 * sum(TOKENS * (a + b) + a * b for a, b in WIDTHS)
        aim = None if case.peer == "none" else 1
        yield Measurement(name, elements, rates(elements, times), case.peer.replace("_", " "), rates(elements, peer_times), aim)


def measure(case: TrainingCase, repeats: int) -> tuple[list[float], list[float]]:
    """Return the processor seconds of steps of emu and of the peer, alternating; none for a peer that is not installed."""
    import torch

    from emu.nn import convert_model, set_step

    torch.set_num_threads(1)
    ours = convert_model(_model(torch), case.training)
    theirs = None
    if installed(case.package) is not None:
        theirs = fake_quantization.with_fake_quantization(_model(torch), getattr(fake_quantization, case.peer))
    generator = torch.Generator().manual_seed(SEED)
    x = torch.randn(TOKENS, WIDTHS[0][0], generator=generator)
    times: tuple[list[float], list[float]] = ([], [])
    for turn in range(repeats + 1):
        set_step(ours, turn)
        for model, kept in ((ours, times[0]), (theirs, times[1])):
            if model is not None:
                seconds = _step(torch, model, x)
                if turn:
                    kept.append(seconds)
    return times


def _model(torch: Any) -> Any:
    """Return a small model; its first layer gets inputs that need no gradient, as in training."""
    torch.manual_seed(SEED)
    layers = [layer for a, b in WIDTHS for layer in (torch.nn.Linear(a, b, bias=False), torch.nn.ReLU())]
    return torch.nn.Sequential(*layers)


def _step(torch: Any, model: Any, x: Any) -> float:
    """Return the processor seconds of one step of plain gradient descent."""
    begin = process_time()
    loss = (model(x) - x).square().mean()
    loss.backward()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.sub_(1e-3 * parameter.grad)
            parameter.grad = None
    return process_time() - begin
