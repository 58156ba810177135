"""Dot products and matrix products of raw codes and of Quantized tensors."""

from emu.mma.dot import dot
from emu.mma.matmul import matmul
from emu.mma.order import ASCENDING, Order

__all__ = ["ASCENDING", "Order", "dot", "matmul"]
