"""Dot products and matrix products of raw codes and of Quantized tensors."""

from emu.ops.dot import dot
from emu.ops.matmul import matmul
from emu.ops.order import ASCENDING, Order

__all__ = ["ASCENDING", "Order", "dot", "matmul"]
