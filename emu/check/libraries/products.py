"""Products of other libraries as targets of matmul/A/B/OUT: foreign:torch.grouped_mm and so on. Each was run on a CPU.

torch._scaled_mm takes no 4-bit operands on a CPU, so torch is given dequantized ones; torchao's tensors dequantize by themselves there.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from emu.base.errors import OperandError
from emu.check.libraries import lib_torch, lib_torchao
from emu.check.libraries.model import Library, load
from emu.check.matmul.target import PythonGemm, python_gemm


@dataclass(frozen=True)
class Product:
    """A product of a library. call: by the names of its parameters, as emu.check.matmul.target gives them.   what: the library's call."""

    library: Library
    name: str
    call: Callable[..., Any]
    what: str
    batched: bool = False

    @property
    def id(self) -> str:
        """The name with its library: torch.grouped_mm."""
        return f"{self.library.name}.{self.name}"


def _matmul(a: Any, b: Any) -> Any:
    return load("torch").matmul(a.dequantize("float32"), b.dequantize("float32").transpose(-1, -2))


def _grouped_mm(a: Any, b: Any, offsets: Any) -> Any:
    torch = load("torch")
    matrices = torch.stack([matrix.dequantize("float32") for matrix in b])
    return torch.nn.functional.grouped_mm(a.dequantize("float32"), matrices.transpose(-1, -2), offs=offsets[1:])


def _nvfp4(a_packed: Any, a_scales: Any, a_tensor: Any, b_packed: Any, b_scales: Any, b_tensor: Any) -> Any:
    torch = load("torch")
    kind = load("torchao.prototype.mx_formats.nvfp4_tensor").NVFP4Tensor
    sides = [
        kind(packed, scales.view(torch.float8_e4m3fn), 16, torch.float32, torch.tensor(float(factor)))
        for packed, scales, factor in ((a_packed, a_scales, a_tensor), (b_packed, b_scales, b_tensor))
    ]
    return torch.mm(sides[0], sides[1].t())


def _mxfp4(a_packed: Any, a_scales: Any, b_packed: Any, b_scales: Any) -> Any:
    torch = load("torch")
    kind = load("torchao.prototype.mx_formats.mx_tensor").MXTensor
    emulated = load("torchao.quantization.quantize_.common.kernel_preference").KernelPreference.EMULATED
    sides = [
        kind(packed, scales.view(torch.float8_e8m0fnu), torch.float4_e2m1fn_x2, 32, torch.float32, emulated, None, False)
        for packed, scales in ((a_packed, a_scales), (b_packed, b_scales))
    ]
    return torch.mm(sides[0], sides[1].t())


PRODUCTS: Final = (
    Product(lib_torch.LIBRARY, "matmul", _matmul, "torch.matmul(a, b.T) of operands dequantized to float32"),
    Product(lib_torch.LIBRARY, "bmm", _matmul, "torch.matmul of three axes, operands dequantized to float32", batched=True),
    Product(lib_torch.LIBRARY, "grouped_mm", _grouped_mm, "torch.nn.functional.grouped_mm of operands dequantized to float32"),
    Product(lib_torchao.LIBRARY, "nvfp4_mm", _nvfp4, "torch.mm of two NVFP4Tensor, float32"),
    Product(lib_torchao.LIBRARY, "mxfp4_mm", _mxfp4, "torch.mm of two MXTensor, float32, emulated"),
)


def find_product(name: str, contract: str) -> PythonGemm:
    """Return a product of a library as a target. Raises: OperandError (no such product), ToolError (not installed), SpecError."""
    for product in PRODUCTS:
        if product.id == name:
            product.library.demand()
            return python_gemm(product.call, contract, name=f"foreign:{name}", takes="torch")
    known = [product.id for product in PRODUCTS]
    raise OperandError(f"foreign:{name}: no such product: {', '.join(difflib.get_close_matches(name, known, n=3) or known)}")
