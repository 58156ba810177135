"""Plain C, compiled here with all that this machine has: the ceiling that emu's kernels are measured against."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import emu
from emu.bench.jobs import Job

FLAGS = ("-std=c99", "-O3", "-march=native", "-ffp-contract=off", "-shared", "-fPIC")


@cache
def library() -> ctypes.CDLL | None:
    """Return the compiled functions; None where no C compiler is. Raises: CalledProcessError (it does not compile)."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "plain.so"
        subprocess.run([compiler, *FLAGS, str(Path(__file__).with_suffix(".c")), "-o", str(out)], check=True)
        return ctypes.CDLL(str(out))  # stays mapped when the file is gone


def _beside(wanted: tuple[Any, ...], function: str, *given: Any) -> Job | None:
    """Return a call of plain C that makes new arrays, when they have the bits of `wanted`, which emu gives; None without a compiler.

    given: arguments of the function, its arrays and numbers; None in the place of the new arrays. Raises: AssertionError (other bits).
    """
    found = library()
    if found is None:
        return None
    called = getattr(found, function)

    def work() -> tuple[Any, ...]:
        made = tuple(np.empty(array.shape, array.dtype) for array in wanted)
        arguments = [argument for part in given for argument in (made if part is None else (part,))]
        called(*(ctypes.c_void_p(part.ctypes.data) if isinstance(part, np.ndarray) else part for part in arguments))
        return made

    assert [array.tobytes() for array in work()] == [array.tobytes() for array in wanted], "plain C gives other bits"
    return work


def convert(x: Any) -> Job | None:
    """Return float32 to E2M1, as emu.convert does."""
    return _beside((emu.convert(x, "e2m1"),), "plain_convert", x, None, ctypes.c_size_t(x.size))


def decode(x: Any) -> Job | None:
    """Return E2M1 codes to float32."""
    codes = emu.convert(x, "e2m1")
    return _beside((emu.decode(codes, "e2m1"),), "plain_decode", codes, None, ctypes.c_size_t(codes.size))


def mxfp4(x: Any) -> Job | None:
    """Return MXFP4 of torchao, scale rounded down."""
    return _blocks(x, "mxfp4_torchao_floor", "plain_mxfp4")


def nvfp4(x: Any) -> Job | None:
    """Return NVFP4 of Transformer Engine's reference."""
    return _blocks(x, "nvfp4_te_ref", "plain_nvfp4")


def _blocks(x: Any, recipe: str, function: str) -> Job | None:
    wanted = emu.quantize(x, recipe)
    return _beside((wanted.codes, wanted.scales), function, x, None, ctypes.c_size_t(wanted.scales.size))


def nvfp4_back(x: Any) -> Job | None:
    """Return the values of the codes and scales of NVFP4."""
    given = emu.quantize(x, "nvfp4_te_ref")
    tensor, blocks = ctypes.c_float(float(np.abs(x).max())), ctypes.c_size_t(given.scales.size)
    return _beside((given.dequantize(),), "plain_nvfp4_back", given.codes, given.scales, tensor, None, blocks)
