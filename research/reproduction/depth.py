"""What is left of a signal after many quantized layers: both operands of every product quantized, beside the same chain without.

Linear: X <- Q(X) Q(W_l)^T: a gain below one of every layer multiplies up. Residual, as in a transformer with the norm in front:
X <- X + Q(n(X)) Q(W_l)^T, n: each row to root mean square one: what a layer loses is lost of its own part alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import prod
from typing import Any, Final, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from emu.base.errors import OperandError
from research.reproduction.gemm import quantized_side
from research.reproduction.likeness import Likeness, likeness

Array = NDArray[Any]
Weights = Literal["orthogonal", "gaussian"]
WEIGHTS: Final = get_args(Weights)
Tick = Callable[[str], None]


@dataclass(frozen=True)
class Setting:
    """A chain. layers: how many.   width: K = N of every layer.   batch: rows of X.   weights: orthogonal, or normal / sqrt(width).

    residual: every layer reads X normalised and adds to X; else its output is the next X.
    """

    layers: int = 24
    width: int = 512
    batch: int = 512
    weights: Weights = "orthogonal"
    residual: bool = False


SMALL: Final = Setting(layers=24, width=128, batch=128)
FULL: Final = Setting()


@dataclass(frozen=True)
class Step:
    """What came out of layer `layer`. alphas: gains of the operands of that layer.   whole: its output beside the exact chain's."""

    layer: int
    alphas: tuple[float, float]
    whole: Likeness


@dataclass(frozen=True)
class Chain:
    """One run. steps: one for each layer, in order."""

    recipe: str
    transform: str | None
    seed: int
    steps: tuple[Step, ...]

    def alpha_product(self, layers: int) -> float:
        """Return the product of the operands' gains over the first layers."""
        return prod(gain for step in self.steps[:layers] for gain in step.alphas)

    def figures(self, layers: int) -> dict[str, float | None]:
        """Return what is left after so many layers."""
        whole = self.steps[layers - 1].whole
        return {
            "eta": whole.gain,
            "alpha_product": self.alpha_product(layers),
            "cosine": whole.cosine,
            "norm_ratio": whole.norm_ratio,
        }


def chain(
    setting: Setting, recipe: str, transform: str | None = None, signs: int | None = None, seed: int = 0, engine: str = "auto"
) -> Chain:
    """Run one chain.

    recipe: of both operands of every layer.   transform, signs: rotate both operands of every layer along K first.   seed: of X and W.
    Returns: Chain.   Raises: OperandError (no layers, nothing finite left), ShapeError (width against the block), as emu.quantize.
    Tests: tests/research/reproduction/test_reproduction_depth.py.
    """
    if min(setting.layers, setting.width, setting.batch) < 1:
        raise OperandError(f"a chain of {setting.layers} layers, width {setting.width}, batch {setting.batch}: each must be at least 1")
    rng = np.random.default_rng(seed)
    exact: Array = rng.standard_normal((setting.batch, setting.width))
    made = exact
    steps = []
    for layer, weight in enumerate(weights(setting, rng), start=1):
        read = _normalised(made) if setting.residual else made
        left, right = (quantized_side(item.astype(np.float32), recipe, transform, signs, None, engine) for item in (read, weight))
        added = left.values @ right.values.T
        if setting.residual:
            exact, made = exact + _normalised(exact) @ weight.T, made + added
        else:
            exact, made = exact @ weight.T, added
        whole, alphas = likeness(made, exact), (left.likeness.gain, right.likeness.gain)
        if whole.gain is None or alphas[0] is None or alphas[1] is None:
            raise OperandError(f"layer {layer} under {recipe}: the signal is zero, Inf or NaN: fewer layers, or other weights")
        steps.append(Step(layer, (alphas[0], alphas[1]), whole))
    return Chain(recipe, transform, seed, tuple(steps))


def _normalised(x: Array) -> Array:
    found: Array = x / np.sqrt((x * x).mean(axis=1, keepdims=True))
    return found


def weights(setting: Setting, rng: np.random.Generator) -> Iterator[Array]:
    """Yield the weight of each layer, binary64 [width, width]."""
    for _ in range(setting.layers):
        drawn = rng.standard_normal((setting.width, setting.width))
        if setting.weights == "gaussian":
            yield drawn / np.sqrt(setting.width)
            continue
        q, r = np.linalg.qr(drawn)
        yield q * np.sign(np.diagonal(r))


@dataclass(frozen=True)
class Spread:
    """Mean and standard deviation (of the sample) over seeds."""

    mean: float
    deviation: float


def spread(numbers: list[float]) -> Spread:
    """Return mean and standard deviation; the deviation of one number is 0."""
    return Spread(float(np.mean(numbers)), float(np.std(numbers, ddof=1)) if len(numbers) > 1 else 0.0)
