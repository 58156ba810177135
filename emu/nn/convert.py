"""convert_model: the linear layers of a model replaced in place, numbered in the order of its modules; capture: what they quantize."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

import torch

from emu.base.errors import OperandError
from emu.nn.collector import Captured, collecting
from emu.nn.experts import Experts, QuantExperts
from emu.nn.layers import QuantizedLayer, QuantLinear, quantized_layers
from emu.spec.models import Training
from emu.spec.registry import get
from emu.spec.training import kept_layers

PLAIN: Final = (torch.nn.Linear, Experts)
OTHERS: Final = (
    torch.nn.modules.conv._ConvNd,
    torch.nn.Bilinear,
    torch.nn.MultiheadAttention,
    torch.nn.RNNBase,
    torch.nn.RNNCellBase,
    torch.nn.TransformerEncoderLayer,  # in eval mode it multiplies by the weights of its layers without calling them
    torch.jit.ScriptModule,
)
_HOOKS: Final = (
    "_forward_pre_hooks", "_forward_hooks", "_backward_pre_hooks", "_backward_hooks", "_state_dict_pre_hooks", "_state_dict_hooks",
    "_load_state_dict_pre_hooks", "_load_state_dict_post_hooks",
)  # fmt: skip


def convert_model(
    model: torch.nn.Module, training: str | Training = "ufp4", *, seed: int = 0, gemm: str = "fp32", keep: Sequence[str] = ()
) -> torch.nn.Module:
    """Replace every torch.nn.Linear and Experts of a model by its quantized form, in place; weights, biases and their names stay.

    training: id or model.   keep: names of modules, as model.named_modules() gives them, that stay as they are with all below them.
    Layers are numbered in the order of the modules, each expert by itself; those that the training recipe keeps get `bf16`, by module.
    A layer under several names is one layer, and becomes one: each of its names gets the same quantized module.
    Products that no module of its own makes (a forward that multiplies by itself) are not seen here: unquantized_products lists them.
    Returns: the model; where anything is refused it is as it was.
    Raises: OperandError (an unknown name in keep, no linear layer; a convolution or other module with products; a subclass of a linear
    layer; a layer with hooks, a forward or parameters of its own; one that is quantized already), ShapeError (features).
    """
    chosen: Training = get("training", training)
    known = dict(model.named_modules(remove_duplicate=False))
    for name in keep:
        if name not in known:
            raise OperandError(f"keep: the model has no module {name!r}: see model.named_modules()")
    refuse_others(known, keep)
    found = _names_of_layers(known, keep)
    if not found:
        raise OperandError("the model has no torch.nn.Linear and no Experts to convert: nothing was done")
    kept, layer, new = kept_layers(chosen, len(found)), 0, dict[str, torch.nn.Module]()
    for number, (module, names) in enumerate(found.items()):
        about = ("bf16", "fp32") if number in kept else (chosen, gemm)
        new |= dict.fromkeys(names, _converted(module, names[0], seed, layer, *about))
        layer += module.experts if isinstance(module, Experts) else 1
    for name, module in new.items():
        parent, _, own = name.rpartition(".")
        if not own:
            raise OperandError("the model itself is a linear layer: put it into a torch.nn.Sequential first")
        setattr(known[parent], own, module)
    return model


def _is_kept(name: str, keep: Sequence[str]) -> bool:
    return any(name == item or name.startswith(f"{item}.") for item in keep)


def _names_of_layers(modules: dict[str, torch.nn.Module], keep: Sequence[str]) -> dict[torch.nn.Linear | Experts, list[str]]:
    """Return the layers to convert with all names of each. Raises: OperandError (one is kept under some of its names only)."""
    found: dict[torch.nn.Linear | Experts, list[str]] = {}
    for name, module in modules.items():
        if isinstance(module, PLAIN):
            found.setdefault(module, []).append(name)
    for names in found.values():
        kept = [name for name in names if _is_kept(name, keep)]
        if kept and len(kept) < len(names):
            other = next(name for name in names if name not in kept)
            raise OperandError(f"keep: {kept[0]} and {other} are one module: list both, or neither")
    return {module: names for module, names in found.items() if not _is_kept(names[0], keep)}


def refuse_others(modules: dict[str, torch.nn.Module], keep: Sequence[str]) -> None:
    """Refuse modules whose products would stay what they are. Raises: OperandError with the name of the module."""
    for name, module in modules.items():
        why = None if _is_kept(name, keep) else _refusal(module)
        if why is not None:
            raise OperandError(f"{name or 'the model'}: {type(module).__name__} {why}")


def _refusal(module: torch.nn.Module) -> str | None:
    """Return why a module cannot be converted and how to go on; None: it can, or has no product that is known here."""
    if isinstance(module, QuantizedLayer):
        return "is quantized already: convert a plain model once, or list it in keep="
    if isinstance(module, OTHERS):
        return "is not supported: list it in keep=, or build it from torch.nn.Linear"
    if not isinstance(module, PLAIN):
        return None
    if type(module) not in PLAIN:
        base = "torch.nn.Linear" if isinstance(module, torch.nn.Linear) else "Experts"
        return f"is a subclass, and what it multiplies is not known: list it in keep=, or put a plain {base} in its place"
    own = _own(module)
    return own and f"has {own}, which its quantized form would not have: list it in keep=, or add that after convert_model"


def _own(module: torch.nn.Linear | Experts) -> str | None:
    """Return what a plain layer has beside its weight and bias, in words; None: nothing."""
    if any(getattr(module, name) for name in _HOOKS):
        return "hooks"
    if "forward" in vars(module):
        return "a forward of its own"
    extra = [name for name, _ in (*module.named_parameters(), *module.named_buffers()) if name not in ("weight", "bias")]
    extra += [name for name, _ in module.named_children()]
    if extra:
        return f"{extra[0]} beside its weight"
    kind = type(module.weight)
    return None if kind is torch.nn.Parameter else f"a weight of the class {kind.__name__}"


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
