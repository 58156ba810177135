"""Where the Triton kernels run: compiled on a CUDA device, or interpreted on the CPU (never evidence about a GPU).

EMU_NEED_TORCH: a missing torch or triton fails instead of being skipped.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from typing import Any

import numpy as np
import pytest


def missing() -> str | None:
    """The name of a package that is not installed, or None."""
    return next((name for name in ("torch", "triton") if importlib.util.find_spec(name) is None), None)


def has_cuda() -> bool:
    import torch

    return torch.cuda.is_available()


@pytest.fixture(scope="session")
def torch() -> Any:
    """torch, with triton beside it; or a skip with the reason."""
    if absent := missing():
        assert not os.environ.get("EMU_NEED_TORCH"), f"no {absent} here"
        pytest.skip(f"no {absent} here (pip install 'fp4emu[torch]')")
    if not has_cuda():
        os.environ["TRITON_INTERPRET"] = "1"  # read when a kernel's module is imported
    return importlib.import_module("torch")


@pytest.fixture(scope="session", params=["interpreted", pytest.param("cuda", marks=pytest.mark.gpu)])
def device(request: pytest.FixtureRequest, torch: Any) -> str:
    """Every test of a kernel runs twice where it can: interpreted on the CPU, compiled on the GPU."""
    if request.param == "cuda" and not has_cuda():
        pytest.skip("no CUDA device")
    if request.param == "interpreted" and has_cuda():
        pytest.skip("this process compiles for its CUDA device; a process without one interprets")
    return "cpu" if request.param == "interpreted" else "cuda"


@pytest.fixture(scope="session")
def tensor(torch: Any, device: str) -> Any:
    """Codes of a source format as a tensor of values on the device."""
    kinds = {"fp32": (np.int32, torch.float32), "bf16": (np.int16, torch.bfloat16), "fp16": (np.int16, torch.float16)}

    def make(codes: Any, source: str) -> Any:
        integer, kind = kinds[source]
        return torch.from_numpy(np.ascontiguousarray(codes).view(integer)).to(device).view(kind)

    return make


@pytest.fixture(scope="session")
def bits() -> Any:
    """A tensor as an array of unsigned codes."""

    def read(found: Any) -> Any:
        import torch

        views = {torch.float32: (torch.int32, np.uint32), torch.bfloat16: (torch.int16, np.uint16)}
        if found.dtype == torch.uint8:
            return found.cpu().numpy()
        kind, unsigned = views[found.dtype]
        return found.view(kind).cpu().numpy().view(unsigned)

    return read


@pytest.fixture(scope="session")
def judge(tensor: Any, bits: Any) -> Any:
    """Compare kernels.quantize with emu.quantize: every code and every level, or the same error."""
    import emu

    def compare(codes: Any, source: str, recipe: str, *, engine: str = "auto", **operands: Any) -> None:
        from emu.engines.torch.triton.quantize import quantize

        amax, random = operands.pop("amax", None), operands.pop("random", None)
        given = {**operands, "tensor_amax": None if amax is None else tensor(np.array([amax], np.uint32), "fp32")}
        if random is not None:
            import torch

            given["random"] = torch.from_numpy(random).to(tensor(codes[:1], source).device)
        plain = {**operands, "tensor_amax": None if amax is None else np.array(amax, np.uint32).view(np.float32), "random": random}
        try:
            want = emu.quantize(codes, recipe, source=source, engine=engine, **plain)
        except emu.EmuError as error:
            with pytest.raises(type(error)):
                quantize(tensor(codes, source), recipe, **given)
            return
        found = quantize(tensor(codes, source), recipe, **given)
        same(want, found, bits)

    return compare


def same(want: Any, found: Any, bits: Any) -> None:
    """Every code and level of a Quantized and of QuantizedTensors."""
    np.testing.assert_array_equal(bits(found.codes), want.codes)
    assert len(found.levels) == len(want.levels)
    for mine, level in zip(found.levels, want.levels, strict=True):
        np.testing.assert_array_equal(bits(mine).reshape(-1), level.codes.reshape(-1))


@pytest.fixture(scope="session")
def equal(bits: Any) -> Any:
    return lambda want, found: same(want, found, bits)
