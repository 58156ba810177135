"""Kernels whose arithmetic is wrong, for the PTX test: each must be caught. `python faulty.py 90` prints name -> findings as JSON."""

from __future__ import annotations

import json
import sys

import torch
import triton
import triton.language as tl

from emu.engines.torch.triton.bits import divide
from emu.engines.torch.triton.launch import OPTIONS, Launch
from emu.engines.torch.triton.ptx import compile_ptx, findings


@triton.jit
def faulty_kernel(x, out, how: tl.constexpr):
    at = tl.arange(0, 64)
    a = tl.load(x + at)
    b = tl.load(x + at + 64)
    if how == "slash":
        found = a / b
    elif how == "reciprocal":
        found = a * (1.0 / b)
    elif how == "sum of a product":
        found = a * b + a
    elif how == "exponential":
        found = tl.exp2(a)
    elif how == "logarithm":
        found = tl.log2(a)
    elif how == "root":
        found = tl.sqrt(a)
    elif how == "bf16 by instruction":
        found = a.to(tl.bfloat16).to(tl.float32) + b
    elif how == "fp8 by instruction":
        found = a.to(tl.float8e4nv).to(tl.float32) + b
    else:
        found = divide(a, b)
    tl.store(out + at, found)


def main(capability: int) -> dict[str, dict[str, str]]:
    memory = torch.zeros(128)
    hows = ["slash", "reciprocal", "sum of a product", "exponential", "logarithm", "root", "bf16 by instruction", "fp8 by instruction"]
    hows.append("right")
    found = {}
    for how in hows:
        launch = Launch(faulty_kernel, (1,), {"x": memory, "out": memory}, {"how": how})
        fused = {"enable_fp_fusion": True} if how == "sum of a product" else OPTIONS
        found[how] = findings(compile_ptx(launch, capability, options=fused))
        if how == "sum of a product":
            found["the same without fusion"] = findings(compile_ptx(launch, capability))
    return found


if __name__ == "__main__":
    json.dump(main(int(sys.argv[1])), sys.stdout)
