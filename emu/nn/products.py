"""The three products of a layer, and the operations registered with torch: a compiled graph takes a whole layer as one opaque node, so
eager and compiled runs do the very same work."""

from __future__ import annotations

from typing import Any, Final

import torch

from emu.base.errors import EngineError, OperandError
from emu.engines.torch.tensors import named
from emu.nn.operand import OperandContext, quantize_operand
from emu.spec.training import plan_of

FLOAT: Final = "fp32"


def _place(step: torch.Tensor, training: str, label: str, seed: int, layer: int) -> OperandContext:
    return OperandContext(plan_of(named("training", training)), label, seed, layer, int(step))


def check_precision() -> None:
    """Raises: EngineError where torch may multiply float32 numbers in a narrower format."""
    try:
        exact = torch.get_float32_matmul_precision() == "highest"
    except RuntimeError:  # torch's own answer when one of `torch.backends.*.fp32_precision` says something else
        exact = False
    if not exact:
        raise EngineError("torch may multiply float32 in a narrower format: call torch.set_float32_matmul_precision('highest')")


def multiply(gemm: str, first: str, second: str, a: torch.Tensor, b: torch.Tensor, place: OperandContext, datapath: str) -> torch.Tensor:
    """Quantize both operands of a product and multiply them, as float32 values or through a datapath.

    a, b: as in the spec; transposed here as the product needs.   Returns: float32; torch.autocast does not reach in here.
    """
    with torch.autocast(a.device.type, enabled=False):
        return _multiplied(gemm, first, second, a, b, place, datapath)


def _multiplied(gemm: str, first: str, second: str, a: torch.Tensor, b: torch.Tensor, place: OperandContext, datapath: str) -> torch.Tensor:
    operands = place.plan.operand(gemm, first), place.plan.operand(gemm, second)
    left, right = quantize_operand(a, operands[0], place), quantize_operand(b, operands[1], place)
    if datapath != FLOAT and left.recipe is not None and right.recipe is not None:
        from emu.nn.datapath import product

        return product(gemm, (operands[0], left), (operands[1], right), datapath)
    check_precision()
    if gemm == "fprop":
        return left.values @ right.values.T
    return left.values @ right.values if gemm == "dgrad" else left.values.T @ right.values


def all_finite(x: torch.Tensor) -> bool:
    """Tell whether no element is NaN or Inf: either would be seen in the sum; a sum that overflows is looked at element by element."""
    return bool(torch.isfinite(x.sum())) or bool(torch.isfinite(x).all())


# torch reads the schemas of both operations from the signatures. What follows the tensors is the same in both, and in the same order.


@torch.library.custom_op("emu::training_linear", mutates_args=())
def linear(
    x: torch.Tensor, w: torch.Tensor, step: torch.Tensor, training: str, label: str, seed: int, layer: int, gemm: str
) -> torch.Tensor:
    """Return X W^T of quantized operands. x: [tokens, in]; w: [out, in]; step: one int64.   Returns: float32 [tokens, out]."""
    return multiply("fprop", "x", "w", x, w, _place(step, training, label, seed, layer), gemm)


@linear.register_fake
def _(x: torch.Tensor, w: torch.Tensor, *about: Any) -> torch.Tensor:
    return torch.empty(x.shape[0], w.shape[0], dtype=torch.float32, device=x.device)


@torch.library.custom_op("emu::training_linear_backward", mutates_args=())
def linear_backward(
    dy: torch.Tensor, x: torch.Tensor, w: torch.Tensor, for_x: bool, for_w: bool,
    step: torch.Tensor, training: str, label: str, seed: int, layer: int, gemm: str,
) -> tuple[torch.Tensor, torch.Tensor]:  # fmt: skip
    """Return dY W and dY^T X of quantized operands, float32; an empty tensor where one is not wanted. Raises: OperandError (NaN, Inf)."""
    place = _place(step, training, label, seed, layer)
    if not all_finite(dy):
        raise OperandError(f"{label}: NaN or Inf in the gradient of its output at step {place.step}: lower the learning rate or clip")
    nothing = torch.empty(0, dtype=torch.float32, device=dy.device)
    dx = multiply("dgrad", "dy", "w", dy, w, place, gemm) if for_x else nothing
    dw = multiply("wgrad", "dy", "x", dy, x, place, gemm) if for_w else nothing.clone()
    return dx, dw


@linear_backward.register_fake
def _(
    dy: torch.Tensor, x: torch.Tensor, w: torch.Tensor, for_x: bool, for_w: bool, *about: Any
) -> tuple[torch.Tensor, torch.Tensor]:  # fmt: skip
    shapes = (x.shape if for_x else (0,), w.shape if for_w else (0,))
    dx, dw = (torch.empty(shape, dtype=torch.float32, device=dy.device) for shape in shapes)
    return dx, dw


def _save(ctx: Any, inputs: tuple[Any, ...], output: torch.Tensor) -> None:
    x, w, step, *ctx.about = inputs
    ctx.save_for_backward(x, w, step.clone())


def _gradients(ctx: Any, dy: torch.Tensor) -> tuple[Any, ...]:
    x, w, step = ctx.saved_tensors
    wanted = ctx.needs_input_grad
    dx, dw = linear_backward(dy, x, w, wanted[0], wanted[1], step, *ctx.about)
    nothing = (None,) * (1 + len(ctx.about))
    return (dx.to(x.dtype) if wanted[0] else None, dw.to(w.dtype) if wanted[1] else None, *nothing)


linear.register_autograd(_gradients, setup_context=_save)
