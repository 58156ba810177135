"""Signs of rotations and random bits of roundings: which words of Philox4x32-10 each layer, product, operand and step reads.

The key is the seed. The stream, 64 bits from the lowest: step (32 bits), operand (2: x 0, w 1, dy 2), product (2: fprop 0, dgrad 1,
wgrad 2), purpose (1: 0 random bits, 1 signs), layer (27). Random bits: element i, counted row-major in the matrix of the operand before
padding and rotation, x [tokens, in], w [out, in] or dy [tokens, out], reads the low bits of word i. Signs: the low bits of word 0, with
step and operand 0, so that both operands of a product have the same and no step changes them.
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray

from emu.base import philox
from emu.base.caches import bounded
from emu.base.errors import OperandError
from emu.spec.training import GEMMS, Operand, TrainingPlan, rotation_of

OPERANDS: Final = ("x", "w", "dy")
MOST_STEPS: Final = 1 << 32
MOST_LAYERS: Final = 1 << 27
MOST_SEEDS: Final = 1 << 63


def check_place(seed: int, layer: int) -> None:
    """Raises: OperandError (seed or layer outside what a stream holds)."""
    for what, value, most in (("seed", seed, MOST_SEEDS), ("layer", layer, MOST_LAYERS)):
        if not 0 <= value < most:
            raise OperandError(f"{what} {value} must be in 0 .. {most - 1}")


def stream_of(layer: int, gemm: str, operand: str, step: int) -> int:
    """Return the stream of the random bits of one operand at one step."""
    return step | OPERANDS.index(operand) << 32 | GEMMS.index(gemm) << 34 | layer << 37


def signs_stream(layer: int, gemm: str) -> int:
    """Return the stream of the signs of one product."""
    return GEMMS.index(gemm) << 34 | 1 << 36 | layer << 37


def signs_of(plan: TrainingPlan, operand: Operand, seed: int, layer: int) -> int | None:
    """Return the sign operand of a rotation; None where it has none, or its own. Bit i negates element i."""
    rotation = rotation_of(operand)
    if rotation is None or plan.training.facts.signs != "seed_layer_gemm":
        return None
    return _sign_bits(seed, rotation.facts.size, signs_stream(layer, operand.gemm))


@bounded(1 << 14)
def _sign_bits(seed: int, size: int, stream: int) -> int:
    return int(philox.draw(seed, 1, size, stream)[0])


@bounded(1)
def _has_kernels() -> bool:
    """Tell whether the native kernels are built; they neither come nor go while a process runs."""
    return find_spec("emu.engines.native._kernels") is not None


def random_matrix(shape: torch.Size, operand: Operand, seed: int, stream: int) -> NDArray[Any]:
    """Return one random integer for each element of an operand's matrix, filled up with zeros to what is quantized.

    By the native kernel where it is built and the integers fit a byte; the same integers without it.
    """
    rows, columns = shape
    if operand.random_bits <= 8 and _has_kernels():
        from emu.engines.native.stochastic import random_bytes

        found: NDArray[Any] = random_bytes(seed, stream, rows * columns, operand.random_bits)
    else:
        found = philox.draw(seed, rows * columns, operand.random_bits, stream)
    missing = -shape[operand.axis] % operand.multiple
    padding = ((0, missing), (0, 0)) if operand.axis == 0 else ((0, 0), (0, missing))
    return np.pad(found.reshape(rows, columns), padding) if missing else found.reshape(rows, columns)


def random_tensor(count: int, bits: int, seed: int, stream: int, device: torch.device) -> torch.Tensor:
    """Return the same integers as an int32 tensor on a device, computed there."""
    low = 0xFFFFFFFF
    index = torch.arange(-(-count // 4), dtype=torch.int64, device=device)
    words = [index & low, index >> 32, torch.full_like(index, stream & low), torch.full_like(index, stream >> 32)]
    keys = [seed & low, seed >> 32]
    for _ in range(philox.ROUNDS):
        first, second = (_product(words[2 * place], factor) for place, factor in enumerate(philox.MULTIPLIERS))
        words = [second[0] ^ words[1] ^ keys[0], second[1], first[0] ^ words[3] ^ keys[1], first[1]]
        keys = [(key + weyl) & low for key, weyl in zip(keys, philox.WEYL, strict=True)]
    return (torch.stack(words, 1).reshape(-1)[:count] & ((1 << bits) - 1)).to(torch.int32)


def _product(words: torch.Tensor, factor: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return high and low 32 bits of the products of 32-bit words in int64."""
    whole = words * factor  # wraps modulo 2^64
    return whole >> 32 & 0xFFFFFFFF, whole & 0xFFFFFFFF
