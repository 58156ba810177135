"""Evidence from a GPU: kernels timed against a copy, and judged on every pair of a bf16 element and a bf16 block maximum; tensor cores.

`python -m tools.bench.gpu OUT.json [--quick]`; without a CUDA device it refuses.
Not here: CUDA's conversion functions (emu.check.targets.cuda).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from emu.base.atomic import whole_file
from emu.base.errors import EmuError, ToolError

SHAPE: Final = (8192, 8192)
REPEATS: Final = 50
MAXIMA: Final = 1 << 15  # bf16 magnitudes, Inf and NaN among them
SWEPT: Final = ("ufp4", "e1m2_fp32scale", "nvfp4_te_ref", "nvufp4", "mxfp4_te_pow2")
LANES: Final = {"mxfp4_te_pow2": 32}
TENSOR_CORE: Final[dict[str, Any]] = {"takes": "torch.bits", "device": "cuda"}
TENSOR_AMAX: Final = "0x44440000"  # of the recipes that read one: 784


def need_gpu() -> None:
    """Refuse to go on without torch and a CUDA device. Raises: ToolError."""
    try:
        import torch
    except ImportError:
        raise ToolError("torch: not installed: pip install 'fp4emu[torch]' on a machine with a GPU") from None
    if not torch.cuda.is_available():
        raise ToolError("no CUDA device: evidence from a GPU is taken on one; nothing is written")


def pairs(first: int, count: int, lanes: int) -> NDArray[np.uint16]:
    """Return rows of blocks: the maximum `first + r` in lane 0 of each block of row r, every bf16 number once in the other lanes.

    Returns: uint16 [count, blocks * lanes]; the last block is filled up with +0.
    """
    blocks = -(-(1 << 16) // (lanes - 1))
    elements = np.zeros(blocks * (lanes - 1), np.uint16)
    elements[: 1 << 16] = np.arange(1 << 16, dtype=np.uint16)
    out = np.empty((count, blocks, lanes), np.uint16)
    out[:, :, 1:] = elements.reshape(blocks, lanes - 1)
    out[:, :, 0] = np.arange(first, first + count, dtype=np.uint16)[:, None]
    return out.reshape(count, -1)


def differing(recipe: str, codes: NDArray[np.uint16], device: str) -> int:
    """Return how many codes and level codes of a kernel differ from emu.quantize on bf16 codes."""
    import torch

    import emu
    from emu.engines.torch.triton.quantize import quantize

    reads = recipe.startswith("nv")
    amax = np.array(int(TENSOR_AMAX, 16), np.uint32)
    x = torch.from_numpy(codes.view(np.int16)).to(device).view(torch.bfloat16)
    operand = torch.from_numpy(amax.reshape(1).view(np.float32)).to(device) if reads else None
    found = quantize(x, recipe, tensor_amax=operand)
    want = emu.quantize(codes, recipe, source="bf16", tensor_amax=amax.view(np.float32) if reads else None)
    wrong = int((found.codes.cpu().numpy() != want.codes).sum())
    for mine, level in zip(found.levels, want.levels, strict=True):
        bits = mine.cpu().view(torch.int32 if mine.dtype == torch.float32 else torch.uint8).numpy().view(level.codes.dtype)
        wrong += int((bits.reshape(-1) != level.codes.reshape(-1)).sum())
    return wrong


def sweep(recipe: str, device: str, maxima: Iterator[int], rows: int = 64) -> dict[str, Any]:
    """Judge a recipe on every bf16 element beside chosen block maxima. maxima: the first of each `rows` in a row."""
    elements = wrong = 0
    for first in maxima:
        codes = pairs(first, rows, LANES.get(recipe, 16))
        wrong += differing(recipe, codes, device)
        elements += codes.size
    return {"recipe": recipe, "elements": elements, "differing": wrong}


def datapaths() -> list[dict[str, Any]]:
    """Judge the tensor cores on every datapath that one instruction of theirs is said to have; none before or after capability 9.0."""
    import torch

    from emu.check.run import check
    from emu.check.targets.python import python_target
    from emu.engines.torch.triton.wgmma import PRODUCTS, dot

    if torch.cuda.get_device_capability() != (9, 0):
        return []
    found = []
    for datapath, a, b in PRODUCTS:
        contract = f"dot/{datapath}/{a}x{b}"
        target = python_target(partial(dot, datapath=datapath, a_format=a, b_format=b), contract, name=f"wgmma {a} x {b}", **TENSOR_CORE)
        report = check(target, contract)
        found.append({"contract": contract, "verdict": report.verdict, "compared": report.compared, "report": report.text()})
    return found


def milliseconds(work: Callable[[], Any], repeats: int = REPEATS) -> float:
    """Return the median time of a call on the GPU, the cache overwritten before each."""
    import torch

    flush = torch.empty(1 << 28, dtype=torch.uint8, device="cuda")
    times = []
    for turn in range(repeats + 5):
        flush.zero_()
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        work()
        end.record()
        torch.cuda.synchronize()
        if turn >= 5:
            times.append(begin.elapsed_time(end))
    return float(median(times))


def jobs(x: Any) -> dict[str, tuple[Callable[[], Any], float]]:
    """Return name -> (call, bytes that it must move for each element) of the timed kernels. x: bfloat16 on the GPU."""
    from emu.engines.torch.triton.amax import amax
    from emu.engines.torch.triton.quantize import quantize
    from emu.engines.torch.triton.row_and_column import quantize_both
    from emu.engines.torch.triton.transform import transform

    out, most = x.clone(), amax(x)
    plain: dict[str, Any] = {"packed": True, "check": False}
    four_bit, fp32_scale, byte_scale = 1 / 2, 4 / 16, 1 / 16
    return {
        "copy": (lambda: out.copy_(x), 4),
        "quantize e1m2_fp32scale": (lambda: quantize(x, "e1m2_fp32scale", **plain), 2 + four_bit + fp32_scale),
        "rotation and quantize ufp4, fused": (lambda: quantize(x, "ufp4", **plain), 2 + four_bit + fp32_scale),
        "rotation, then quantize": (lambda: quantize(transform(x, "rht16_ufp4"), "e1m2_fp32scale", **plain), 6 + four_bit + fp32_scale),
        "quantize nvfp4_te_ref": (lambda: quantize(x, "nvfp4_te_ref", tensor_amax=most, **plain), 2 + four_bit + byte_scale),
        "amax": (lambda: amax(x), 2),
        "rows and columns ufp4": (lambda: quantize_both(x, "ufp4", **plain), 2 + 2 * (four_bit + fp32_scale)),
    }


def timings() -> dict[str, Any]:
    """Time the kernels. share: bytes a second, of the copy's."""
    import torch

    x = torch.randn(SHAPE, device="cuda", generator=torch.Generator("cuda").manual_seed(1)).to(torch.bfloat16)
    found = {name: (milliseconds(work), moved * x.numel()) for name, (work, moved) in jobs(x).items()}
    return {"shape": list(SHAPE), "repeats": REPEATS, "jobs": shares(found)}


def shares(found: dict[str, tuple[float, float]]) -> list[dict[str, Any]]:
    """Return a line for each job: milliseconds, gigabytes a second, and that as a share of the copy's. found: name -> (ms, bytes)."""
    rates = {name: moved / time / 1e6 for name, (time, moved) in found.items()}
    return [
        {"job": name, "ms": round(found[name][0], 4), "gb_per_s": round(rate, 1), "share_of_copy": round(rate / rates["copy"], 3)}
        for name, rate in rates.items()
    ]


def evidence(quick: bool) -> dict[str, Any]:
    """Take the evidence. Raises: ToolError (no GPU), EngineError (TRITON_INTERPRET is set)."""
    need_gpu()
    import torch

    step = 64
    starts = range(0, MAXIMA, step if not quick else step * 64)
    properties = torch.cuda.get_device_properties(0)
    return {
        "device": properties.name,
        "capability": [properties.major, properties.minor],
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "exhaustive": not quick,
        "sweeps": [sweep(recipe, "cuda", iter(starts), step) for recipe in SWEPT],
        "datapaths": datapaths(),
        "timings": timings(),
    }


def main(words: list[str]) -> int:
    """Run the command; return its exit code: 0, 1 where something differs, 2 for misuse, 5 without a GPU."""
    names = [word for word in words if not word.startswith("--")]
    if len(names) != 1 or set(words) - {*names, "--quick"}:
        print("emu: gpu evidence: name one file: python -m tools.bench.gpu OUT.json [--quick]", file=sys.stderr)
        return 2
    try:
        found = evidence("--quick" in words)
        with whole_file(Path(names[0]), force=True) as stream:
            stream.write((json.dumps(found, indent=1) + "\n").encode("utf-8"))
    except EmuError as error:
        print(f"emu: {error}", file=sys.stderr)
        return 5 if isinstance(error, ToolError) else 2
    return int(any(item["differing"] for item in found["sweeps"]) or any(item["verdict"] != "pass" for item in found["datapaths"]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
