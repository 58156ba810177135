"""How kernels are launched: devices, tile sizes, operands checked, the same arguments for a run and for an offline compile."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import torch

from emu.base.errors import EngineError, OperandError, ShapeError
from emu.engines.torch.triton.program import decode_facts
from emu.spec.models import Layout
from emu.spec.registry import get

SOURCES: Final = {torch.float32: "fp32", torch.bfloat16: "bf16", torch.float16: "fp16"}
OPTIONS: Final = {"enable_fp_fusion": False}  # a * b + c stays two roundings


@dataclass(frozen=True)
class Launch:
    """One call of a kernel: grid, run-time arguments and compile-time constants by name."""

    kernel: Any
    grid: tuple[int, ...]
    arguments: Mapping[str, Any]
    constants: Mapping[str, Any]
    warps: int = 4

    def run(self) -> None:
        """Launch it. In Triton's interpreter NumPy computes, so its warnings of IEEE exceptions are off."""
        import numpy as np

        with np.errstate(all="ignore"):
            self.kernel[self.grid](**self.arguments, **self.constants, num_warps=self.warps, **OPTIONS)


def interpreted(kernel: Any) -> bool:
    """Tell whether a kernel runs in Triton's interpreter: TRITON_INTERPRET=1 when its module was imported."""
    return type(kernel).__name__ == "InterpretedFunction"


def check_device(x: torch.Tensor, kernel: Any) -> None:
    """Raises: EngineError (a CPU tensor and a compiled kernel, or a device that Triton does not compile for)."""
    if x.device.type == "cpu" and not interpreted(kernel):
        raise EngineError("a Triton kernel needs a CUDA tensor: move x to the GPU, or set TRITON_INTERPRET=1 before importing triton")
    if x.device.type not in ("cpu", "cuda"):
        raise EngineError(f"the Triton kernels run on CUDA devices, not {x.device.type}: move x")


def check_matrix(x: torch.Tensor) -> None:
    """Raises: OperandError (dtype), ShapeError (no matrix, empty)."""
    if x.dtype not in SOURCES:
        raise OperandError(f"x is {x.dtype}: the Triton kernels take float32, bfloat16 and float16")
    if x.ndim != 2 or x.numel() == 0:
        raise ShapeError(f"x has shape {tuple(x.shape)}: the Triton kernels take a matrix with at least one element")


def matrix_bits(x: torch.Tensor) -> tuple[torch.Tensor, tuple[int, ...]]:
    """Return a matrix as signed integers of its bits, row-major, and the facts that decode them.

    x: float32, bfloat16 or float16 [R, C].   Raises: OperandError (dtype), ShapeError (no matrix, empty).
    """
    check_matrix(x)
    facts = decode_facts(get("format", SOURCES[x.dtype]))[1]
    bits = torch.int32 if x.element_size() == 4 else torch.int16
    return x.contiguous().view(bits), (*facts, (1 << 8 * x.element_size()) - 1)


def tile_shape(rows: int, columns: int, lanes: int, kernel: Any) -> tuple[int, int]:
    """Return rows and columns of a tile, powers of two; the interpreter gets large tiles, it pays per program."""
    most = 1 << 16 if interpreted(kernel) else 1 << 11
    width = max(lanes, min(power_of_two(columns), 4096 if interpreted(kernel) else 128))
    return max(1, min(power_of_two(rows), most // width)), width


def power_of_two(n: int) -> int:
    """Return the smallest power of two that is not below n."""
    return 1 << (n - 1).bit_length()


def layout_digits(layout: str | Layout) -> tuple[tuple[bool, int, int], ...]:
    """Return the digits of a scale layout as tiles.layout_place takes them. Raises: SpecError, OperandError (a layout of elements)."""
    chosen: Layout = get("layout", layout)
    if chosen.facts.holds != "scales":
        raise OperandError(f"layout {chosen.id} is for elements: name one for scales")
    if any(digit.order == "down" for digit in chosen.facts.digits):
        raise OperandError(f"layout {chosen.id} has digits that go down: the fused kernels do not write it, emu.to_layout does")
    return tuple((digit.axis == "row", digit.step, digit.count or 0) for digit in chosen.facts.digits)


def layout_size(rows: int, codes: int, digits: tuple[tuple[bool, int, int], ...]) -> int:
    """Return how many codes a layout stores, its padding included."""
    size = 1
    for is_row, step, count in digits:
        size *= count or -(-(rows if is_row else codes) // step)
    return size


def fp32_code(value: torch.Tensor) -> int:
    """Return the bits of one float32 number on any device."""
    return int(value.reshape(1).view(torch.int32).item()) & 0xFFFFFFFF
