"""unquantized_products: the matrix products of a run that no quantized layer makes, each with the module that made it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Final

import torch
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.utils._python_dispatch import TorchDispatchMode

_WORDS: Final = {
    "mm", "bmm", "addmm", "baddbmm", "addbmm", "mv", "addmv", "dot", "vdot", "matmul", "linear", "bilinear", "trilinear", "einsum",
    "attention", "rnn", "lstm", "gru", "encoder",
}  # fmt: skip


@dataclass(frozen=True)
class Product:
    """One product that is not quantized. name: of the module that made it, "" for the model itself and for a backward pass.

    operation: torch's name, such as aten::bmm.   shapes: of its tensors.   backward: it was made in a backward pass.
    """

    name: str
    operation: str
    shapes: tuple[tuple[int, ...], ...]
    backward: bool


@contextmanager
def unquantized_products(model: torch.nn.Module) -> Iterator[list[Product]]:
    """Collect every matrix product, convolution and attention of eager runs in this context that no quantized layer makes.

    What is found: kept layers, products of activations (Q K^T), products with parameters that are no layer's.   Compiled graphs are not
    looked into: run the model eagerly.   Returns: a list that fills while the model runs, in order.
    Tests: tests/nn/test_nn_unquantized.py.
    """
    names = {module: name for name, module in model.named_modules()}
    inside: list[str] = []
    found: list[Product] = []

    def enter(module: torch.nn.Module, _: Any) -> None:
        if module in names:
            inside.append(names[module])

    def leave(module: torch.nn.Module, _: Any, __: Any) -> None:
        if module in names and inside:
            inside.pop()

    with ExitStack() as stack:
        for handle in (register_module_forward_pre_hook(enter), register_module_forward_hook(leave, always_call=True)):
            stack.callback(handle.remove)
        stack.enter_context(_Watch(inside, found))
        yield found


class _Watch(TorchDispatchMode):
    """Notes operations that multiply. The operations of quantized layers are one node each: what they do inside is not seen."""

    def __init__(self, inside: list[str], found: list[Product]) -> None:
        super().__init__()
        self.inside, self.found = inside, found

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Note an operation and run it."""
        name = func.name().partition(".")[0]
        space, _, plain = name.partition("::")
        words = plain.split("_")
        if space != "emu" and any(word in _WORDS or word.startswith("conv") for word in words):
            backward = torch._C._current_graph_task_id() != -1
            where = "" if backward or not self.inside else self.inside[-1]
            shapes = tuple(tuple(item.shape) for item in args if isinstance(item, torch.Tensor))
            self.found.append(Product(where, name, shapes, backward))
        return func(*args, **(kwargs or {}))
