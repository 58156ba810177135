"""QuantLinear: a linear layer whose three products are quantized as a training recipe says. Stacks of them: experts.py."""

from __future__ import annotations

from typing import Any

import torch

from emu.base.errors import EmuError, OperandError, ShapeError
from emu.engines.torch.tensors import name_of
from emu.nn import products
from emu.nn.draws import MOST_STEPS, check_place
from emu.nn.operand import refusal
from emu.spec.models import Training
from emu.spec.training import SUMMED, plan_of


class QuantizedLayer(torch.nn.Module):
    """What every layer with quantized products has: its training recipe and the key of what it draws."""

    in_features: int
    out_features: int

    def set_recipe(self, training: str | Training, seed: int, layer: int, gemm: str, label: str | None, layers: int = 1) -> None:
        """Check and keep what a layer is given beside its weight. layers: that it counts as, from number `layer` on.

        Raises: OperandError (seed, layer), ShapeError (features that no block divides), SpecError (training recipe, datapath).
        """
        self.label = label or f"layer {layer}"
        check_place(seed, layer + layers - 1)
        check_features(training, self.in_features, self.out_features, self.label)
        check_gemm(training, gemm, self.label)
        self.recipe, self.seed, self.layer, self.gemm = name_of("training", training), seed, layer, gemm
        self.step = torch.zeros((), dtype=torch.int64)
        self.drawn_at = 0

    def product(self, x: torch.Tensor, weight: torch.Tensor, label: str, number: int = 0) -> torch.Tensor:
        """Return the product of tokens and a weight in the dtype of x. number: of the layer, counted from the first that this counts as.

        Raises: OperandError (activations recomputed in a backward pass at another step than they had).
        """
        if not torch.compiler.is_compiling():
            self._check_recomputed(label)
        y: torch.Tensor = products.linear(x, weight, self.step, self.recipe, label, self.seed, self.layer + number, self.gemm)
        return y.to(x.dtype)

    def _check_recomputed(self, label: str) -> None:
        """Raises: OperandError where a forward pass inside a backward pass would draw otherwise than the one that it stands for."""
        step = int(self.step)
        if torch._C._current_graph_task_id() == -1:  # outside of any backward pass
            self.drawn_at = step
        elif step != self.drawn_at:
            raise OperandError(f"{label}: activations of step {self.drawn_at} are recomputed at step {step}: call set_step after backward")

    def extra_repr(self) -> str:
        """Return the line that torch prints for the layer."""
        return f"{super().extra_repr()}, training={self.recipe}, seed={self.seed}, layer={self.layer}, gemm={self.gemm}"


class QuantLinear(QuantizedLayer, torch.nn.Linear):
    """y = x W^T + b with quantized operands; forward Y = X W^T, backward dX = dY W and dW = dY^T X, each operand as `training` says.

    training: id or model of spec/training.   seed, layer: key of signs and random bits, with the step of `set_step`.
    gemm: fp32: float32 products of the dequantized operands, added in the order of torch's library; or the id of a datapath.
    Weights are kept in `dtype` and quantized anew at each use; gradients go straight through quantization, to x in its own dtype.
    Exactness: codes and levels of all six operands equal the exact engine's; eager, compiled and resumed runs have the same bits.
    NaN, Inf: in a gradient refused with the name of the layer; in x and w as the recipe says.
    Raises: ShapeError (features that no block divides), SpecError, OperandError.   Tests: tests/nn.
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = False,
        *,
        training: str | Training = "ufp4",
        seed: int = 0,
        layer: int = 0,
        gemm: str = "fp32",
        dtype: torch.dtype = torch.float32,
        device: Any = None,
        label: str | None = None,
    ) -> None:
        super().__init__(in_features, out_features, bias, device=device, dtype=dtype)
        self.set_recipe(training, seed, layer, gemm, label)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the outputs. x: [..., in_features].   Returns: dtype of x."""
        if x.shape[-1] != self.in_features:
            raise ShapeError(f"{self.label}: x has {x.shape[-1]} features, not {self.in_features}: give the layer's own inputs")
        y = self.product(x.reshape(-1, self.in_features), self.weight, self.label)
        y = y if self.bias is None else add_bias(y, self.bias)
        return y.reshape(*x.shape[:-1], self.out_features)


def check_features(training: str | Training, inputs: int, outputs: int, label: str) -> None:
    """Check the features of a layer against its blocks. Raises: ShapeError with the name of the layer, SpecError (unknown id)."""
    plan = plan_of(training)
    if plan.training.facts.tail.features != "error":
        return
    lengths = {"in": inputs, "out": outputs}
    for operand in plan.operands.values():
        along = SUMMED[operand.gemm]
        if along != "tokens" and lengths[along] % operand.multiple:
            raise ShapeError(refusal(label, operand, lengths[along]))
        across = outputs if along == "in" else inputs
        if operand.name == "w" and across % operand.rows:
            raise ShapeError(refusal(label, operand, across, operand.rows))


_checked: set[tuple[str, str]] = set()


def check_gemm(training: str | Training, gemm: str, label: str) -> None:
    """Check that products can be made as asked, once for each pair. Raises: SpecError with the name of the layer."""
    key = (name_of("training", training), gemm)
    if gemm == products.FLOAT or key in _checked:
        return
    from emu.nn.datapath import check_datapath, refused

    try:
        check_datapath(training, gemm)
    except EmuError as error:
        raise refused(error, label, gemm) from None
    _checked.add(key)


def set_step(model: torch.nn.Module, step: int) -> None:
    """Set the step of every quantized layer: what stochastic rounding draws next depends on it.

    step: 0 .. 2^32 - 1; set it before each forward pass, and not again before its backward pass is done: activations that are recomputed
    there (torch.utils.checkpoint) would be drawn anew, and are refused.
    Raises: OperandError (a step outside, a model without such layers).
    """
    if not 0 <= step < MOST_STEPS:
        raise OperandError(f"step {step} must be in 0 .. {MOST_STEPS - 1}")
    found = quantized_layers(model)
    if not found:
        raise OperandError("the model has no quantized layers: call convert_model first")
    for module in found:
        module.step.fill_(step)


def quantized_layers(model: torch.nn.Module) -> list[QuantizedLayer]:
    """Return the quantized layers of a model: QuantLinear and QuantExperts."""
    return [module for module in model.modules() if isinstance(module, QuantizedLayer)]


# A bias as operations registered with torch: its gradient, a sum over tokens, is then the same in eager and compiled runs.


@torch.library.custom_op("emu::training_bias", mutates_args=(), schema="(Tensor y, Tensor bias) -> Tensor")
def add_bias(y: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Return y + bias in the dtype of y. y: [tokens, out]; bias: [out]."""
    return y + bias.to(y.dtype)


@add_bias.register_fake
def _(y: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(y)


@torch.library.custom_op("emu::training_bias_backward", mutates_args=(), schema="(Tensor dy, Tensor bias) -> Tensor")
def sum_tokens(dy: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    """Return the sum of dy over tokens, in torch's own order, in the dtype of the bias."""
    with torch.autocast(dy.device.type, enabled=False):
        return dy.sum(0).to(bias.dtype)


@sum_tokens.register_fake
def _(dy: torch.Tensor, bias: torch.Tensor) -> torch.Tensor:
    return torch.empty_like(bias)


def _save(ctx: Any, inputs: tuple[torch.Tensor, torch.Tensor], output: torch.Tensor) -> None:
    ctx.save_for_backward(inputs[1])


def _gradients(ctx: Any, dy: torch.Tensor) -> tuple[torch.Tensor | None, torch.Tensor | None]:
    (bias,) = ctx.saved_tensors
    return dy, sum_tokens(dy, bias) if ctx.needs_input_grad[1] else None


add_bias.register_autograd(_gradients, setup_context=_save)
