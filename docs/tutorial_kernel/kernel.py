"""MXFP4 in Triton, 32 elements and their power of two a program: as one would write it first, then mended, twice."""

import torch
import triton
import triton.language as tl

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"  # without a GPU: TRITON_INTERPRET=1


@triton.jit
def _block(x_at, codes_at, scales_at, even: tl.constexpr, ends: tl.constexpr):
    block = tl.program_id(0)
    lanes = block * 32 + tl.arange(0, 32)
    x = tl.load(x_at + lanes)
    bits = x.to(tl.int32, bitcast=True)
    largest = tl.max(bits & 0x7FFFFFFF, 0)  # magnitudes order as their bits do
    scale = tl.maximum((largest >> 23) - 2, 0)  # E8M0: the exponent of the maximum, less that of 4
    unit = scale
    if ends:  # a NaN makes the scale NaN; the number that divides is never subnormal
        scale = tl.where(largest > 0x7F800000, 255, scale)
        unit = tl.maximum(unit, 1)
    size = tl.abs(x) * ((254 - unit) << 23).to(tl.float32, bitcast=True)
    if even:  # a tie goes to the even code
        code = (size > 0.25).to(tl.int32) + (size >= 0.75) + (size > 1.25) + (size >= 1.75) + (size > 2.5) + (size >= 3.5) + (size > 5.0)
    else:  # a tie goes up
        code = (
            (size >= 0.25).to(tl.int32) + (size >= 0.75) + (size >= 1.25) + (size >= 1.75) + (size >= 2.5) + (size >= 3.5) + (size >= 5.0)
        )
    tl.store(codes_at + lanes, (code | ((bits >> 28) & 8)).to(tl.uint8))
    tl.store(scales_at + block, scale.to(tl.uint8))


def _launch(x: torch.Tensor, even: bool, ends: bool) -> tuple[torch.Tensor, torch.Tensor]:
    x = x.contiguous().to(DEVICE)
    codes = torch.empty(x.shape, dtype=torch.uint8, device=DEVICE)
    scales = torch.empty((*x.shape[:-1], x.shape[-1] // 32), dtype=torch.uint8, device=DEVICE)
    _block[(scales.numel(),)](x, codes, scales, even=even, ends=ends)
    return codes.cpu(), scales.cpu()


def first(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return codes, one a byte, and scales of binary32 values [rows, K]; K is a multiple of 32."""
    return _launch(x, even=False, ends=False)


def second(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The same with ties to even."""
    return _launch(x, even=True, ends=False)


def third(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The same with both ends of the scale as torchao has them."""
    return _launch(x, even=True, ends=True)
