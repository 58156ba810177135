"""Jobs that are timed: an operation by one engine on given data."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from emu.engines.datapath import run_levels_matmul, run_matmul
from emu.engines.exact.encode import code_of_one
from emu.engines.numpy.convert import code_dtype
from emu.spec import derive
from emu.spec.datapath import DatapathPlan
from emu.spec.ieee import binary_format
from emu.spec.levels import LevelsPlan
from emu.spec.models import Format
from emu.spec.reach import frac_bits_of

Job = Callable[[], Any]
MakeJob = Callable[[Any], Job | None]
Shape = tuple[int, int, int]


def convert(to: str, rounding: str, engine: str, jobs: int = 1) -> MakeJob:
    """Conversion of a float32 matrix to 4 bits, one code a byte. jobs: threads."""
    import emu

    return lambda x: lambda: emu.convert(x, to, rounding=rounding, engine=engine, jobs=jobs)


def read_4_write_1(x: Any) -> Job:
    """Read 4 bytes and write 1 an element, into memory that is there: what no conversion to bytes can pass."""
    from emu.engines.native import convert as kernel

    bits, out = x.view(np.uint32).reshape(-1), np.zeros(x.size, np.uint8)
    return lambda: kernel.read_4_write_1(bits, out)


def quantize(recipe: str, engine: str, axis: int = -1, jobs: int = 1) -> MakeJob:
    """Quantization of a float32 matrix along an axis. jobs: threads."""
    import emu

    return lambda x: lambda: emu.quantize(x, recipe, axis=axis, engine=engine, jobs=jobs)


def torch_quantize(recipe: str, dtype: str) -> MakeJob:
    """Return the torch engine on a tensor, eager, one thread; nothing where torch is not installed."""

    def make(x: Any) -> Job | None:
        if find_spec("torch") is None:
            return None
        import torch

        from emu.torch.api import quantize

        torch.set_num_threads(1)
        tensor = torch.from_numpy(x).to(getattr(torch, dtype))
        return lambda: quantize(tensor, recipe)

    return make


def transform(name: str, engine: str) -> MakeJob:
    """Rotation of a float32 matrix."""
    import emu

    return lambda x: lambda: emu.transform(x, name, engine=engine)


def decode(x: Any) -> Job:
    """E2M1 codes to float32."""
    import emu

    codes = emu.convert(x, "e2m1")
    return lambda: emu.decode(codes, "e2m1")


def dequantize(x: Any, jobs: int = 1) -> Job:
    """Codes and scales of `nvfp4_te_ref` to float32. jobs: threads."""
    import emu

    return partial(emu.quantize(x, "nvfp4_te_ref", jobs=jobs).dequantize, jobs=jobs)


def matmul(plan: DatapathPlan | LevelsPlan, shape: Shape, engine: str, jobs: int, rng: np.random.Generator, form: int | None = None) -> Job:
    """Product of random codes, C +0. shape: m, n, k.   jobs: threads.   form: of the kernel's vector instructions, None: the best."""
    from emu.engines.native import datapath as kernel

    m, n, k = shape
    a, b = (_elements(fmt, (rows, k), rng) for fmt, rows in ((plan.a, m), (plan.b, n)))
    scale_a, scale_b = (None, None) if plan.scale is None else (_scales(plan.scale, (rows, k // plan.block), rng) for rows in (m, n))
    if isinstance(plan, LevelsPlan):
        levels, c = plan, None if plan.c is None else np.zeros(m * n, code_dtype(plan.c))
        if form is not None:
            from emu.engines.native import levels as level_kernel

            addend = None if c is None else c.reshape(m, n)
            return lambda: level_kernel.matmul(a, b, scale_a, scale_b, addend, levels, form=form)
        return lambda: run_levels_matmul(a, b, scale_a, scale_b, c, None, levels, engine, jobs)
    if form is not None:
        return lambda: kernel.matmul(a, b, scale_a, scale_b, None, plan, form=form)
    return lambda: run_matmul(a, b, scale_a, scale_b, None, plan, engine, jobs)


def _elements(fmt: Format, shape: tuple[int, int], rng: np.random.Generator) -> Any:
    """Return random finite codes."""
    codes = derive.codes(fmt)
    found = rng.integers(0, codes.max_code + 1, shape) | np.where(rng.random(shape) < 0.5, codes.sign_bit, 0)
    return found.astype(code_dtype(fmt))


def _scales(fmt: Format, shape: tuple[int, int], rng: np.random.Generator) -> Any:
    """Return scales within a factor of 8 around 1."""
    if binary_format(fmt) == "binary32":
        return np.exp2(rng.uniform(-3, 3, shape)).astype(np.float32).view(np.uint32)
    step = 3 << frac_bits_of(fmt)
    one = code_of_one(fmt)
    return rng.integers(one - step, one + step + 1, shape).astype(np.uint8)
