"""What explains the losses of whole models: weight errors as the inputs see them, and a chain with and without residuals."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from research.models.data import TEXTS, exact, lines_of, read_encoder, vectors_of
from research.models.plan import E1M2, E2M1
from research.models.quantizers import quantized, sign_mask
from research.models.study import KIND, read_record
from research.reproduction.likeness import likeness

Array = NDArray[Any]
LAYERS, WIDTH, SEEDS = 24, 256, 3
WAYS: Final = tuple((recipe, signs) for signs in (None, 0) for recipe in (E2M1, E1M2))


def complete(path: Path) -> None:
    """Add both tables to a record that lacks them. Raises: FileError."""
    record = read_record(path)
    lacks = {name: rows for name, rows in (("chain", chain_rows), ("weights", weight_rows)) if name not in record}
    if lacks:
        KIND.write(path, record | {name: rows() for name, rows in lacks.items()})


def weight_rows() -> list[dict[str, Any]]:
    """Return the error of every weight matrix of MiniLM under each way, in dB against the signal, on the study's texts.

    plain: of the matrix.   seen: each column weighs as much as its input channel has energy.   output: of X W^T, X not quantized.
    """
    import torch

    from research.models import encoder

    model = read_encoder()
    weights, plain = model.weights, exact(model.weights)
    ids, _ = vectors_of(tuple(lines_of(TEXTS)))
    inputs: dict[tuple[int, str], Any] = {}

    def keep(layer: int, part: str, x: Any) -> Any:
        inputs[layer, part] = x.numpy().astype(np.float64)
        return plain(layer, part, x)

    with torch.inference_mode():
        encoder.sentence_vectors(ids, model.tensors, keep)
    rows = []
    for (layer, part), w in weights.items():
        second = inputs[layer, part].T @ inputs[layer, part]
        for recipe, signs in WAYS:
            error = quantized(w, recipe, None if signs is None else sign_mask(signs)).astype(np.float64) - w
            wide = w.astype(np.float64)
            figures = {
                "plain_db": _db((wide**2).sum(), (error**2).sum()),
                "seen_db": _db((wide**2 @ second.diagonal()).sum(), (error**2 @ second.diagonal()).sum()),
                "output_db": _db(((wide @ second) * wide).sum(), ((error @ second) * error).sum()),
            }
            rows.append({"layer": layer, "part": part, "recipe": recipe, "signs": signs, **figures})
    return rows


def _db(signal: Any, error: Any) -> float:
    return float(f"{10 * np.log10(signal / error):.6g}")


def chain_rows() -> list[dict[str, Any]]:
    """Return gain and cosine after 24 layers of both operands quantized, without and with the residual path of a network.

    linear: x <- Q(x) Q(W)^T.   residual: x <- x + Q(n(x)) Q(W)^T, n: each row to root mean square 1. W orthogonal, x normal numbers.
    """
    rows = []
    for residual in (False, True):
        for recipe, signs in WAYS:
            found = [_chain(residual, recipe, None if signs is None else sign_mask(signs), seed) for seed in range(SEEDS)]
            gain, cosine = (float(f"{np.mean(column):.6g}") for column in zip(*found, strict=True))
            rows.append(
                {"residual": residual, "recipe": recipe, "signs": signs, "layers": LAYERS, "seeds": SEEDS, "gain": gain, "cosine": cosine}
            )
    return rows


def _chain(residual: bool, recipe: str, mask: int | None, seed: int) -> tuple[float, float]:
    rng = np.random.Generator(np.random.Philox(key=seed))
    x = rng.standard_normal((WIDTH, WIDTH))
    exact = x
    for _ in range(LAYERS):
        w = np.linalg.qr(rng.standard_normal((WIDTH, WIDTH)))[0]
        kept = quantized(w.astype(np.float32), recipe, mask).astype(np.float64)
        inner = quantized((_norm(x) if residual else x).astype(np.float32), recipe, mask).astype(np.float64)
        x = inner @ kept.T + (x if residual else 0)
        exact = (_norm(exact) if residual else exact) @ w.T + (exact if residual else 0)
    found = likeness(x, exact)
    return found.gain or 0.0, float((x * exact).sum() / np.linalg.norm(x) / np.linalg.norm(exact))


def _norm(x: Array) -> Array:
    found: Array = x / np.sqrt((x * x).mean(axis=1, keepdims=True))
    return found
