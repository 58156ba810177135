"""convert_model: the linear layers of a model replaced in place, numbered in the order of its modules; capture: what they quantize."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import torch

from emu.base.errors import OperandError
from emu.nn.collector import Captured, collecting
from emu.nn.experts import Experts, QuantExperts
from emu.nn.layers import QuantLinear, quantized_layers
from emu.spec.models import Training
from emu.spec.registry import get
from emu.spec.training import kept_layers

OTHERS: Final = (
    torch.nn.modules.conv._ConvNd,
    torch.nn.Bilinear,
    torch.nn.MultiheadAttention,
    torch.nn.RNNBase,
    torch.nn.RNNCellBase,
)


def convert_model(
    model: torch.nn.Module, training: str | Training = "ufp4", *, seed: int = 0, gemm: str = "fp32", keep: Sequence[str] = ()
) -> torch.nn.Module:
    """Replace every torch.nn.Linear and Experts of a model by its quantized form, in place; weights, biases and their names stay.

    training: id or model.   keep: names of modules, as model.named_modules() gives them, that stay as they are with all below them.
    Layers are numbered in the order of the modules, each expert by itself; those that the training recipe keeps get `bf16`, by module.
    Returns: the model.
    Raises: OperandError (an unknown name in keep, no linear layer, a convolution or other module with products), ShapeError (features).
    """
    chosen: Training = get("training", training)
    known = dict(model.named_modules())
    for name in keep:
        if name not in known:
            raise OperandError(f"keep: the model has no module {name!r}: see model.named_modules()")
    found = [(name, module) for name, module in known.items() if type(module) in (torch.nn.Linear, Experts) and not _is_kept(name, keep)]
    if not found:
        raise OperandError("the model has no torch.nn.Linear and no Experts to convert: nothing was done")
    refuse_others(known, keep)
    kept, layer, new = kept_layers(chosen, len(found)), 0, dict[str, torch.nn.Module]()
    for number, (name, module) in enumerate(found):
        about = ("bf16", "fp32") if number in kept else (chosen, gemm)
        new[name] = _converted(module, name, seed, layer, *about)
        layer += module.experts if isinstance(module, Experts) else 1
    for name, module in new.items():
        parent, _, own = name.rpartition(".")
        if not own:
            raise OperandError("the model itself is a linear layer: put it into a torch.nn.Sequential first")
        setattr(known[parent], own, module)
    return model


def _is_kept(name: str, keep: Sequence[str]) -> bool:
    return any(name == item or name.startswith(f"{item}.") for item in keep)


def refuse_others(modules: dict[str, torch.nn.Module], keep: Sequence[str]) -> None:
    """Refuse modules with matrix products that no training recipe speaks of. Raises: OperandError with the name of the module."""
    for name, module in modules.items():
        if isinstance(module, OTHERS) and not _is_kept(name, keep):
            what = type(module).__name__
            raise OperandError(f"{name or 'the model'}: {what} is not supported: list it in keep=, or build it from torch.nn.Linear")


def _converted(
    module: torch.nn.Linear | Experts, label: str, seed: int, layer: int, training: str | Training, gemm: str
) -> torch.nn.Module:
    """Return the quantized layer with the parameters of a plain one."""
    about = {"training": training, "seed": seed, "layer": layer, "gemm": gemm, "label": label, "dtype": module.weight.dtype}
    if isinstance(module, Experts):
        found = QuantExperts(module.experts, module.in_features, module.out_features, device="meta", **about)
    else:
        found = QuantLinear(module.in_features, module.out_features, module.bias is not None, device="meta", **about)
        found.bias = module.bias
    found.weight = module.weight
    found.train(module.training)
    return found


@contextmanager
def capture(model: torch.nn.Module) -> Iterator[list[Captured]]:
    """Collect every operand that the quantized layers of a model quantize while the context is open, forward and backward."""
    labels = set[str]()
    for module in quantized_layers(model):
        labels |= {f"{module.label}[{number}]" for number in range(module.experts)} if isinstance(module, Experts) else {module.label}
    with collecting(frozenset(labels)) as records:
        yield records
