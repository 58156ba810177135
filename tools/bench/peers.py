"""The libraries that emu is measured against, each optional: what is not installed is left out and named."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from emu.bench.jobs import Job


def installed(package: str) -> str | None:
    """Return the version of an installed package, or None."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def memory_copy(x: Any) -> Job:
    """Copy the data into memory that is there."""
    import numpy as np

    there = np.zeros_like(x)
    return lambda: np.copyto(there, x)


def ml_dtypes_convert(x: Any) -> Job:
    """float32 -> E2M1 by ml_dtypes."""
    import ml_dtypes

    return lambda: x.astype(ml_dtypes.float4_e2m1fn)


def ml_dtypes_decode(x: Any) -> Job:
    """E2M1 -> float32 by ml_dtypes."""
    import ml_dtypes
    import numpy as np

    codes = x.astype(ml_dtypes.float4_e2m1fn)
    return lambda: codes.astype(np.float32)


def torchao_convert(x: Any) -> Job | None:
    """float32 -> E2M1, one code a byte, by torchao, eager, one thread; None when it is not installed."""
    if installed("torchao") is None or installed("torch") is None:
        return None
    import torch
    from torchao.prototype.mx_formats.kernels import f32_to_f4_unpacked

    torch.set_num_threads(1)
    tensor = torch.from_numpy(x)
    return lambda: f32_to_f4_unpacked(tensor)


def torchao_nvfp4(x: Any, dtype: str = "float32") -> Job | None:
    """NVFP4 with a tensor scale by torchao, eager, one thread; None when it is not installed. dtype: of the tensor."""
    if installed("torchao") is None or installed("torch") is None:
        return None
    import torch
    from torchao.prototype.mx_formats.nvfp4_tensor import nvfp4_quantize, per_tensor_amax_to_scale

    torch.set_num_threads(1)
    tensor = torch.from_numpy(x).to(getattr(torch, dtype))
    scale = per_tensor_amax_to_scale(tensor.abs().max())
    return lambda: nvfp4_quantize(tensor, 16, scale)


def torchao_mxfp4(x: Any, dtype: str = "float32") -> Job | None:
    """MXFP4 with the floor rule by torchao, eager, one thread; None when it is not installed. dtype: of the tensor."""
    if installed("torchao") is None or installed("torch") is None:
        return None
    import torch
    from torchao.prototype.mx_formats.config import ScaleCalculationMode
    from torchao.prototype.mx_formats.mx_tensor import to_mx

    torch.set_num_threads(1)
    tensor = torch.from_numpy(x).to(getattr(torch, dtype))
    return lambda: to_mx(tensor, torch.float4_e2m1fn_x2, 32, ScaleCalculationMode.FLOOR)


def fouroversix_mse(x: Any, kind: str) -> Job | None:
    """NVFP4 with four over six, or IF4, by least squares, of fouroversix, one thread; None when it is not installed. kind: nvfp4 or if4."""
    if installed("fouroversix") is None or installed("torch") is None:
        return None
    import torch

    words, reference = import_module("fouroversix.utils"), import_module("fouroversix.quantize.pytorch.reference")
    torch.set_num_threads(1)
    tensor = torch.from_numpy(x)
    options = {"fp4_format": words.DataType(kind), "scale_rule": words.ScaleRule("mse"), "use_blackwell_scale_layout": False}
    return lambda: reference.quantize_to_fp4(tensor, tensor.abs().max(), **options)


def mmasim_block_scale(instruction: str, shape: tuple[int, int, int], rng: Any) -> Job | None:
    """One block-scaled FP4 instruction by mmasim, one thread; None when it is not installed. shape: m, n, k."""
    if installed("mmasim") is None or installed("torch") is None:
        return None
    import torch
    from mmasim.nv_ptx import MMABlockScale, TCGen05MMABlockScale

    torch.set_num_threads(1)
    m, n, k = shape
    operation = MMABlockScale("RTX Blackwell", instruction) if m == 16 else TCGen05MMABlockScale("Blackwell", instruction)
    a, b = (torch.from_numpy(rng.integers(0, 256, (rows, k // 2)).astype("uint8")) for rows in (m, n))
    one, kind = (127, torch.float8_e8m0fnu) if instruction.endswith("ue8m0") else (0x38, torch.float8_e4m3fn)
    blocks = k // operation.block_size
    scale_a, scale_b = (torch.from_numpy(rng.integers(one - 3, one + 4, (rows, blocks)).astype("uint8")).view(kind) for rows in (m, n))
    c = torch.zeros((m, n))
    return lambda: operation(a, b.T, c, scale_a, scale_b.T)


def mmasim_wgmma(instruction: str, shape: tuple[int, int, int], rng: Any) -> Job | None:
    """One Hopper FP8 instruction by mmasim, one thread; None when it is not installed. shape: m, n, k."""
    if installed("mmasim") is None or installed("torch") is None:
        return None
    import torch
    from mmasim.nv_ptx import WGMMA

    torch.set_num_threads(1)
    m, n, k = shape
    operation = WGMMA("Hopper", instruction)
    a, b = (torch.from_numpy(rng.integers(0, 127, (rows, k)).astype("uint8")).view(torch.float8_e4m3fn) for rows in (m, n))
    c = torch.zeros((m, n))
    return lambda: operation(a, b.T, c)
