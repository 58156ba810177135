"""What `capture` collects: one record for each operand that is quantized while it is open."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch

from emu.spec.models import Recipe, Transform


@dataclass(frozen=True)
class Captured:
    """One operand of one product of one layer.

    values: the matrix in the operand format, before padding and rotation: x [tokens, in], w [out, in] or dy [tokens, out].
    codes, levels: what the recipe gave, in its orientation, None and {} where nothing is quantized; levels: bits, above a byte signed.
    dequantized: the float32 values that were multiplied; rotated where the operand is.   axis: the one that is summed over.
    signs: operand of the rotation, None: it has none.   seed, stream: key of the random bits (emu/nn/draws.py).
    """

    name: str
    gemm: str
    operand: str
    values: torch.Tensor
    recipe: Recipe | None
    transform: Transform | None
    axis: int
    codes: torch.Tensor | None
    levels: dict[str, torch.Tensor]
    dequantized: torch.Tensor
    signs: int | None
    seed: int
    stream: int
    random_bits: int
    layer: int
    step: int


_open: list[tuple[frozenset[str], list[Captured]]] = []


def note(label: str, operand: Any, place: Any, values: torch.Tensor, found: Any, signs: int | None, stream: int) -> None:
    """Add a record to every open collection that wants this layer."""
    for labels, records in _open:
        if label in labels:
            records.append(
                Captured(
                    label, operand.gemm, operand.name, values.clone(), found.recipe, operand.transform, operand.axis,
                    found.codes, found.levels, found.values, signs, place.seed, stream, operand.random_bits, place.layer, place.step,
                )
            )  # fmt: skip


@contextmanager
def collecting(labels: frozenset[str]) -> Iterator[list[Captured]]:
    """Collect the operands of the layers with these names."""
    entry = (labels, list[Captured]())
    _open.append(entry)
    try:
        yield entry[1]
    finally:
        _open.remove(entry)


def is_open() -> bool:
    """Tell whether anything is collected."""
    return bool(_open)
